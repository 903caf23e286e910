//! What a solver is asked for, and how one is made of it.

use super::config::SearchConfig;
use super::models;
use super::parts::Parts;
use super::plan::{Facts, HeuristicChoice, HeuristicPlan, PerimeterPlan, Plan, Request};
use super::resolve::{asks_heuristic, resolve};
use super::{Network, OnIncumbent, OnProgress, Settings, Solver, effective, template};
use crate::error::{Error, Result};
use crate::heuristic::Heuristic;
use crate::memory;
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::heuristic::NetworkHeuristic;
use crate::neural::model::Model;
use crate::neural::precision::Precision;
use crate::puzzle::{Puzzle, State};
use crate::quantity;
use crate::registry::Entry;
use crate::search::exchange::Alone;
use crate::search::perimeter::{Extent, Perimeter, PerimeterShelf};
use crate::search::prove::Prove;
use crate::search::settings::Common;
use crate::search::symmetry::Symmetries;
use crate::search::{Incumbent, Limits, Progress, Search};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A heuristic, and the network behind it, if it is one.
type Loaded<S> = (Box<dyn Heuristic<S>>, Option<Network>);

/// Without a perimeter in the cache, the first solver makes what takes no longer than this.
const PERIMETER_TIME: Duration = Duration::from_secs(5);

/// A kept perimeter of fewer classes than this was asked for on purpose once; a default one is made, in a second.
const WORTH_KEEPING: usize = 500_000;

/// What a [`Solver`] is made from.
pub struct Builder<P: Puzzle> {
    entry: Entry<P>,
    request: Request,
    own_heuristic: Option<Box<dyn Heuristic<P::State>>>,
    model: Option<String>,
    device: DeviceChoice,
    precision: Option<Precision>,
    limits: Limits,
    stop: Arc<AtomicBool>,
    on_progress: OnProgress,
    on_incumbent: OnIncumbent,
}

impl<P: Puzzle> Builder<P> {
    pub(super) fn new(entry: Entry<P>) -> Self {
        Builder {
            entry,
            request: Request::default(),
            own_heuristic: None,
            model: None,
            device: DeviceChoice::Auto,
            precision: None,
            limits: Limits::default(),
            stop: Arc::default(),
            on_progress: Box::new(|_| ()),
            on_incumbent: Box::new(|_| ()),
        }
    }

    /// What was asked for before, with another search and other limits.
    pub(super) fn again(entry: Entry<P>, before: Settings, search: SearchConfig, limits: Limits) -> Self {
        let Settings { request, model, device, precision, .. } = before;
        Builder { request: Request { search, ..request }, model, device, precision, limits, ..Builder::new(entry) }
    }

    /// The search and its settings; by default, what measured best.
    pub fn search(self, search: SearchConfig) -> Self {
        Builder { request: Request { search, ..self.request }, ..self }
    }

    /// What estimates the cost-to-go, by name: `auto`, `network`, or one of [`Entry::heuristics`].
    pub fn heuristic(self, name: &str) -> Self {
        let heuristic = match name {
            "auto" => HeuristicChoice::Auto,
            name => HeuristicChoice::Named(name.into()),
        };
        Builder { request: Request { heuristic, ..self.request }, own_heuristic: None, ..self }
    }

    /// A heuristic of one's own.
    pub fn own_heuristic(self, heuristic: impl Heuristic<P::State> + 'static) -> Self {
        let choice = HeuristicChoice::Given { has_policy: heuristic.has_policy() };
        let own_heuristic = Some(Box::new(heuristic) as Box<dyn Heuristic<P::State>>);
        Builder { request: Request { heuristic: choice, ..self.request }, own_heuristic, ..self }
    }

    /// The model: a folder, or a name on the [search path](models::search_path); by default, the puzzle's own.
    pub fn model(self, name: impl Into<String>) -> Self {
        let request = Request { names_model: true, ..self.request };
        Builder { model: Some(name.into()), request, ..self }
    }

    /// Where the network runs.
    pub fn device(self, device: DeviceChoice) -> Self {
        Builder { device, ..self }
    }

    /// How the network's products are done; by default, what is fastest.
    pub fn precision(self, precision: Precision) -> Self {
        Builder { precision: Some(precision), ..self }
    }

    /// When a search gives up. Without a limit of memory, it takes at most 80 % of what is available; a given one is
    /// that of the whole process.
    pub fn limits(self, limits: Limits) -> Self {
        Builder { limits, ..self }
    }

    /// A flag that ends a search soon once it is set.
    pub fn stop(self, stop: Arc<AtomicBool>) -> Self {
        Builder { stop, ..self }
    }

    /// Is told now and then where a search is.
    pub fn on_progress(self, watch: impl FnMut(&Progress) + Send + 'static) -> Self {
        Builder { on_progress: Box::new(watch), ..self }
    }

    /// Is told of each answer that is better than those before, by searches that go on after the first.
    pub fn on_incumbent(self, watch: impl FnMut(&Incumbent) + Send + 'static) -> Self {
        Builder { on_incumbent: Box::new(watch), ..self }
    }

    /// Decides what will be done. Nothing is loaded or built: what [`Builder::build`] would refuse is refused here.
    ///
    /// # Errors
    /// If a setting is refused, or the device that was asked for cannot be used.
    pub fn plan(&self) -> Result<Plan> {
        Ok(self.decide()?.0)
    }

    pub(super) fn decide(&self) -> Result<(Plan, Device)> {
        let puzzle = self.entry.facts();
        let model = models::facts(self.model.as_deref(), &puzzle.name).map_err(models::missing);
        // A model that was named must be there, even where it turns out that none is needed.
        if self.model.is_some() {
            model.as_ref().map_err(Clone::clone)?;
        }
        let memory = self.limits.memory.or_else(memory::available);
        let plan_for = |device: Device| {
            let room = Perimeter::<P::State>::room_in(memory);
            let facts = Facts { puzzle: &puzzle, model: model.as_ref(), on_cuda: device.is_cuda(), room };
            Ok::<_, Error>((resolve(&self.request, &facts)?, device))
        };
        if self.device == DeviceChoice::Auto {
            let planned = plan_for(Device::CPU)?;
            if !gains_from_cuda(&planned.0) {
                return Ok(planned);
            }
        }
        plan_for(Device::resolve(self.device).map_err(in_device)?)
    }

    /// Loads the heuristic, makes the perimeter, and builds the search.
    ///
    /// # Errors
    /// As [`Builder::plan`]; if a model is damaged or of another encoding; if the device fails.
    pub fn build(mut self) -> Result<Solver<P>> {
        let (plan, device) = self.decide()?;
        let (heuristic, network) = self.load(&plan, device)?;
        let mut perimeters = PerimeterCache::default();
        let (plan, search) = build_search(plan, &self.entry, &mut perimeters, &self.stop)?;
        let template = template(&self.entry, &*heuristic, network.as_ref(), &plan.search, &self.limits);
        Ok(Solver {
            limits: effective(&self.limits),
            settings: Settings {
                request: self.request,
                model: self.model,
                device: self.device,
                precision: self.precision,
                limits: self.limits,
            },
            entry: self.entry,
            heuristic,
            search,
            plan,
            network,
            perimeters,
            template,
            stop: self.stop,
            exchange: Arc::new(Alone),
            on_progress: self.on_progress,
            on_incumbent: self.on_incumbent,
        })
    }

    /// The heuristic of a plan, ready for the search.
    pub(super) fn load(&mut self, plan: &Plan, device: Device) -> Result<Loaded<P::State>> {
        let (mut heuristic, network) = self.read(&plan.heuristic, device)?;
        if asks_heuristic(plan.search.name()) {
            // What the first estimate sets up is neither the search's time nor its memory.
            heuristic.warm_up()?;
        }
        Ok((heuristic, network))
    }

    fn read(&mut self, plan: &HeuristicPlan, device: Device) -> Result<Loaded<P::State>> {
        let puzzle = self.entry.puzzle();
        match plan {
            HeuristicPlan::Network { folder, name } => {
                device.log_choice(self.device);
                let model = Model::read(folder, &**puzzle, device, self.precision)?;
                let network = Network {
                    device,
                    precision: model.precision,
                    model: name.clone(),
                    weights_crc32: model.weights_crc32,
                };
                Ok((Box::new(NetworkHeuristic::new(Arc::clone(puzzle), model, device)), Some(network)))
            }
            HeuristicPlan::Named(name) => {
                let missing = || Error::Bug(format!("{} has no heuristic '{name}' after all", puzzle.name()));
                Ok((self.entry.heuristic(name).ok_or_else(missing)?, None))
            }
            HeuristicPlan::Given => {
                let missing = || Error::Bug("the heuristic was not given after all".into());
                Ok((self.own_heuristic.take().ok_or_else(missing)?, None))
            }
        }
    }
}

/// Whether `auto` looks for a GPU: not where no network is used, nor where states are asked for a few at a time, for which a GPU takes
/// as long as for thousands.
fn gains_from_cuda(plan: &Plan) -> bool {
    let in_batches = SearchConfig::needs_of(plan.search.name()).is_some_and(|needs| needs.batches);
    in_batches && matches!(plan.heuristic, HeuristicPlan::Network { .. })
}

fn in_device(error: crate::neural::device::NoCuda) -> Error {
    Error::Device(error.to_string())
}

/// The last perimeter that was made: the next search may want the same.
#[derive(Clone)]
pub(super) struct PerimeterCache<S> {
    last: Option<(PerimeterPlan, Perimeter<S>)>,
}

impl<S> Default for PerimeterCache<S> {
    fn default() -> Self {
        PerimeterCache { last: None }
    }
}

/// Makes the perimeter of a plan, or reads it, and builds its search; the plan then says how deep the perimeter is.
pub(super) fn build_search<P: Puzzle>(
    plan: Plan,
    entry: &Entry<P>,
    perimeters: &mut PerimeterCache<P::State>,
    stop: &AtomicBool,
) -> Result<(Plan, Arc<dyn Search<P>>)> {
    let mut perimeter = match (&perimeters.last, entry.reverse(), plan.perimeter) {
        (_, None, _) | (_, _, PerimeterPlan::NONE) => Perimeter::none(),
        (Some((present, perimeter)), _, wanted)
            if present.is_same_table(&wanted) && (wanted.only_kept || !perimeter.is_empty()) =>
        {
            perimeter.clone()
        }
        (_, Some(reverse), wanted) => {
            let made = match reverse.shelf(entry.puzzle()).filter(|_| wanted.bytes > 0) {
                Some(shelf) => from_shelf(&*shelf, &entry.puzzle().name(), wanted, stop),
                None => reverse.perimeter(entry.puzzle(), wanted.depth, wanted.states, stop),
            };
            perimeters.last.insert((wanted, made)).1.clone()
        }
    };
    if plan.perimeter.asked {
        perimeter.check_reached(plan.perimeter.depth)?;
    }
    let mut plan = plan;
    if plan.perimeter.not_whole && perimeter.is_whole() {
        log::info!(
            "the perimeter holds the whole puzzle, and would give every answer; it is left out, so that the model is asked \
             (`perimeter` {} uses it)",
            perimeter.depth()
        );
        perimeter = Perimeter::none();
    }
    let depth = Some(perimeter.depth()).filter(|depth| *depth > 0);
    let common = plan.search.common();
    plan.search.set_common(Common { perimeter: depth, ..common });
    let of_search = if plan.perimeter.for_search { perimeter.clone() } else { Perimeter::none() };
    let search = plan.search.build(&Parts { entry, perimeter: of_search });
    let search: Box<dyn Search<P>> = match common.symmetries {
        Some(count) if count.get() > 1 => {
            Box::new(Symmetries { search, count: count.get(), together: plan.images_together })
        }
        _ => search,
    };
    let search: Arc<dyn Search<P>> = match (common.prove, common.sequences) {
        (None, None) => Arc::from(search),
        // Without a number of sequences, until it is proven: a resolved configuration has one of the two.
        (_, sequences) => Arc::new(Prove { search: Some(search), perimeter, sequences }),
    };
    Ok((plan, search))
}

/// The perimeter by classes that a plan wants: the deepest that is kept, or else one that is made now: of the depth that
/// was asked for, or what some seconds make.
fn from_shelf<S: State>(
    shelf: &dyn PerimeterShelf<S>,
    puzzle: &str,
    wanted: PerimeterPlan,
    stop: &AtomicBool,
) -> Perimeter<S> {
    let kept = shelf.load(wanted.depth, wanted.bytes);
    let is_enough = |kept: &Perimeter<S>| match wanted.asked {
        true => kept.depth() == wanted.depth || kept.is_whole(),
        false => kept.was_made_in_time() || kept.len() >= WORTH_KEEPING || kept.is_whole(),
    };
    if let Some(kept) = kept.filter(is_enough) {
        return kept;
    }
    if wanted.only_kept {
        return Perimeter::none();
    }
    let time = (!wanted.asked).then_some(PERIMETER_TIME);
    let extent = Extent { depth: wanted.depth, bytes: wanted.bytes, time, count_last: false };
    let begun = Instant::now();
    let Some((perimeter, kept)) = shelf.make(extent, stop, &mut |_| ()) else { return Perimeter::none() };
    let (depth, size) = (perimeter.depth(), quantity::bytes(perimeter.bytes()));
    let place = match kept {
        Ok(path) => format!("kept in {}", path.display()),
        Err(error) => format!("not kept: {error}"),
    };
    log::info!(
        "made the perimeter of {puzzle}: exact distances of all states within {depth} moves of the goal ({size}, {:.1} s, \
         {place}); a deeper one finds more of the shortest solutions and proves them sooner: see `costar perimeter`",
        begun.elapsed().as_secs_f64()
    );
    perimeter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_takes_the_cpu_for_a_few_states_at_a_time() {
        let network = HeuristicPlan::Network { folder: "models/cube3".into(), name: "cube3".into() };
        for (name, is_gpu) in [("beam", true), ("bwas", true), ("astar", false), ("idastar", false), ("nbs", false)] {
            let search = SearchConfig::from_given(name, serde_json::Map::new()).expect("a search");
            let plan = |heuristic| Plan {
                search: search.clone(),
                heuristic,
                perimeter: PerimeterPlan::NONE,
                images_together: false,
            };
            assert_eq!(gains_from_cuda(&plan(network.clone())), is_gpu, "{name}");
            assert!(!gains_from_cuda(&plan(HeuristicPlan::Named("zero".into()))), "{name} without a network");
        }
    }
}
