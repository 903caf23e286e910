//! Builds a solver from a request.

use super::auto_device::{gains_from_cuda, is_faster_on_cuda};
use super::models;
use super::perimeter_cache::{PerimeterCache, perimeter_of};
use super::plan::{Facts, HeuristicChoice, HeuristicPlan, ModelFacts, Plan, Request, SearchPlan};
use super::reduction::{Reduction, SharedStages, Stages, build_stage, stage_options};
use super::resolve::resolve;
use super::{LoadedNetwork, Solver};
use crate::error::{Error, Result, SettingError};
use crate::exchange::Alone;
use crate::heuristic::{Heuristic, zero};
use crate::memory;
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::heuristic::NetworkHeuristic;
use crate::neural::model::{Model, other_rules};
use crate::puzzle::Puzzle;
use crate::registry::{Entry, find, with_entry};
use crate::report::Record;
use crate::search::beam::Beam;
use crate::search::best_first::BestFirst;
use crate::search::bidirectional::Bidirectional;
use crate::search::breadth_first::BreadthFirst;
use crate::search::device::{DeviceEngine, RowNetwork};
use crate::search::idastar::IterativeDeepening;
use crate::search::nbs::NearOptimalBidirectional;
use crate::search::perimeter::Perimeter;
use crate::search::prove::{Prove, Widen};
use crate::search::random_walk::RandomWalk;
use crate::search::symmetric_images::ImageSearch;
use crate::search::{Limits, MOST_MOVES, Search};
use crate::waiting::Waiting;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A heuristic, and the network behind it, if it is one.
type Loaded<S> = (Box<dyn Heuristic<S>>, Option<LoadedNetwork>);

/// Builder of a [`Solver`].
pub struct Builder<P: Puzzle> {
    pub(super) entry: Entry<P>,
    pub(super) request: Request,
    pub(super) own_heuristic: Option<Box<dyn Heuristic<P::State>>>,
    pub(super) stop: Arc<AtomicBool>,
}

impl<P: Puzzle> Builder<P> {
    /// A heuristic of the caller, in place of the request's.
    pub fn own_heuristic(mut self, heuristic: impl Heuristic<P::State> + 'static) -> Self {
        self.request.heuristic = HeuristicChoice::Given { has_policy: heuristic.has_policy() };
        Builder { own_heuristic: Some(Box::new(heuristic)), ..self }
    }

    /// The flag that stops a search.
    pub fn stop(self, stop: Arc<AtomicBool>) -> Self {
        Builder { stop, ..self }
    }

    /// The plan, without loading or building anything; refuses what [`Builder::build`] would refuse.
    ///
    /// # Errors
    /// If a setting is refused, or the device that was asked for cannot be used.
    pub fn plan(&self) -> Result<Plan> {
        Ok(self.decide()?.0)
    }

    pub(super) fn decide(&self) -> Result<(Plan, Device)> {
        let Request { model: named, device: choice, .. } = &self.request;
        let puzzle = self.entry.facts();
        let model = models::facts(named.as_deref(), &puzzle.name).map_err(models::missing);
        // A file may have the name of a puzzle that has a model.
        let model = model.and_then(|model| match other_rules(&**self.entry.puzzle(), &model.folder) {
            Ok(Some(refusal)) if named.is_none() => {
                log::debug!("{refusal}");
                Err(SettingError::new("model", refusal))
            }
            _ => Ok(model),
        });
        let reduction_model = match puzzle.reduction.split_first() {
            Some((first, later)) => {
                let has_later = later.iter().try_for_each(|stage| models::facts(None, stage).map(drop));
                has_later.and_then(|()| models::facts(named.as_deref(), first)).map_err(models::missing)
            }
            None => model.clone(),
        };
        // A model that was named must be there, even if it turns out that none is needed.
        if named.is_some() {
            model.as_ref().map_err(Clone::clone)?;
        }
        let memory = self.device_memory(Device::CPU);
        let plan_for = |device: Device| {
            let perimeter_bytes = Perimeter::<P::State>::memory_budget(memory);
            let on_cuda = device.is_cuda();
            let device_bytes = self.device_memory(device).unwrap_or(u64::MAX);
            let model = model.as_ref();
            let reduction_model = reduction_model.as_ref();
            let facts = Facts { puzzle: &puzzle, model, reduction_model, on_cuda, device_bytes, perimeter_bytes };
            Ok::<_, Error>((resolve(&self.request, &facts)?, device))
        };
        let resolved = || Device::resolve(*choice).map_err(in_device);
        if *choice != DeviceChoice::Auto {
            return plan_for(resolved()?);
        }
        let on_cpu = plan_for(Device::CPU)?;
        // Opening CUDA takes seconds.
        if !gains_from_cuda(&on_cpu.0) {
            return Ok(on_cpu);
        }
        let device = resolved()?;
        if !device.is_cuda() {
            return Ok(on_cpu);
        }
        let on_cuda = plan_for(device)?;
        let moves = self.entry.puzzle().move_count();
        let takes_cuda = is_faster_on_cuda(&on_cpu.0, &on_cuda.0, moves, self.request.precision);
        Ok(if takes_cuda { on_cuda } else { on_cpu })
    }

    /// Loads the heuristic, makes the perimeter, and builds the search.
    ///
    /// # Errors
    /// As [`Builder::plan`]; if a model is damaged or of another encoding; if the device fails.
    pub fn build(mut self) -> Result<Solver<P>> {
        let (plan, device) = self.decide()?;
        let stages = self.stages(&plan, device)?;
        let (heuristic, network) = self.load(&plan, device, stages.as_ref())?;
        let mut perimeters = PerimeterCache::default();
        let parts = self.parts(&plan, device, stages.clone())?;
        let (search, perimeter_depth) = build_search(&plan, &self.entry, parts, &mut perimeters, &self.stop)?;
        let mut solver = Solver {
            limits: self.request.search_limits(),
            request: self.request,
            entry: self.entry,
            heuristic,
            search,
            plan,
            perimeter_depth,
            network,
            stages,
            perimeters,
            template: Record::default(),
            stop: self.stop,
            exchange: Arc::new(Alone),
        };
        solver.template = solver.common_fields();
        Ok(solver)
    }

    /// The heuristic of a plan, ready for the search.
    pub(super) fn load(
        &mut self,
        plan: &Plan,
        device: Device,
        stages: Option<&SharedStages>,
    ) -> Result<Loaded<P::State>> {
        if let (Some(stages), HeuristicPlan::Network { name, .. }) = (stages, &plan.heuristic) {
            // The stages ask their own networks.
            let network = stages.lock().unwrap_or_else(PoisonError::into_inner).network();
            let network = network.map(|network| LoadedNetwork { model: name.clone(), ..network });
            let shown = self.request.shows_estimates.then(|| models::facts(None, &self.entry.puzzle().name()));
            let heuristic = match shown {
                Some(Ok(ModelFacts { folder, name, .. })) => {
                    self.read(&HeuristicPlan::Network { folder, name }, device)?.0
                }
                _ => Box::new(zero()),
            };
            return Ok((heuristic, network));
        }
        let (mut heuristic, network) = self.read(&plan.heuristic, device)?;
        if plan.info.asks_heuristic {
            // Neither the search's time nor its memory includes the set-up.
            let _waiting = Waiting::during("evaluating the first states".into());
            heuristic.warm_up()?;
        }
        Ok((heuristic, network))
    }

    /// The networks of a search that does not ask the heuristic. A search on the device reads its network once more: the
    /// weights are small beside a layer.
    pub(super) fn parts(&self, plan: &Plan, device: Device, stages: Option<SharedStages>) -> Result<SearchParts> {
        let (true, HeuristicPlan::Network { folder, .. }) = (plan.search.is_on_device(), &plan.heuristic) else {
            return Ok(SearchParts { stages, ..SearchParts::default() });
        };
        log::debug!("the states of the search lie on {device}");
        let read = |folder: &Path| Model::read(folder, &**self.entry.puzzle(), device, self.request.precision);
        let network = models::read_newest(folder, read)?;
        Ok(SearchParts { network: Some(Box::new(network)), device_memory: self.device_memory(device), stages })
    }

    /// The bytes that a search may take on a device.
    fn device_memory(&self, device: Device) -> Option<u64> {
        if device.is_cuda() { device.cuda_memory() } else { self.request.node_memory().or_else(memory::available) }
    }

    /// The solvers of the stages of a reduction, with this builder's precision, memory and stop flag.
    pub(super) fn stages(&self, plan: &Plan, device: Device) -> Result<Option<SharedStages>> {
        let (SearchPlan::Reduction { .. }, HeuristicPlan::Network { folder, .. }) = (plan.search, &plan.heuristic)
        else {
            return Ok(None);
        };
        let request = |model: Option<&Path>, is_last| Request {
            options: stage_options(is_last),
            model: model.map(|folder| folder.display().to_string()),
            device: device.choice(),
            precision: self.request.precision,
            limits: Limits { memory: self.request.limits.memory, ..Limits::default() },
            memory_of_nodes: self.request.memory_of_nodes,
            ..Request::default()
        };
        let puzzle = self.entry.puzzle();
        let whole = match models::facts(None, &puzzle.name()) {
            Ok(model) => Some(build_stage(self.entry.clone(), request(Some(&model.folder), false), &self.stop)?),
            Err(Error::Setting(_)) => None,
            Err(error) => return Err(error),
        };
        let names = puzzle.reduction();
        let build = |(number, name): (usize, &&str)| {
            let request = request((number == 0).then_some(folder), number + 1 == names.len());
            with_entry!(find(name, None)?, entry => build_stage(entry, request, &self.stop))
        };
        let stages = names.iter().enumerate().map(build).collect::<Result<_>>()?;
        Ok(Some(Arc::new(Mutex::new(Stages { whole, stages }))))
    }

    fn read(&mut self, plan: &HeuristicPlan, device: Device) -> Result<Loaded<P::State>> {
        let puzzle = self.entry.puzzle();
        match plan {
            HeuristicPlan::Network { folder, name } => {
                device.log_choice(self.request.device);
                let _waiting = Waiting::during(format!("loading the network {name}"));
                let read = |folder: &Path| Model::read(folder, &**puzzle, device, self.request.precision);
                let model = models::read_newest(folder, read)?;
                let network = LoadedNetwork {
                    device,
                    precision: model.precision,
                    model: name.clone(),
                    weights_crc32: model.weights_crc32,
                };
                Ok((Box::new(NetworkHeuristic::new(Arc::clone(puzzle), model, device)), Some(network)))
            }
            HeuristicPlan::Named(name) => {
                let missing = || Error::Bug(format!("{} has no heuristic '{name}'", puzzle.name()));
                Ok((self.entry.heuristic(name).ok_or_else(missing)?, None))
            }
            HeuristicPlan::Given => {
                let missing = || SettingError::new("heuristic", "the caller's is missing: give it to the builder");
                Ok((self.own_heuristic.take().ok_or_else(missing)?, None))
            }
        }
    }
}

fn in_device(error: crate::neural::device::NoCuda) -> Error {
    Error::Device(error.to_string())
}

/// The networks of a search that does not ask the solver's heuristic.
#[derive(Default)]
pub(super) struct SearchParts {
    /// The network of a search on the device.
    pub(super) network: Option<Box<dyn RowNetwork>>,
    /// The bytes that it may take on the device.
    pub(super) device_memory: Option<u64>,
    /// The solvers of a reduction.
    pub(super) stages: Option<SharedStages>,
}

/// Builds the search of a plan, `Prove(ImageSearch(Beam))` by default for the cube, and its perimeter; also returns the
/// depth of the perimeter.
pub(super) fn build_search<P: Puzzle>(
    plan: &Plan,
    entry: &Entry<P>,
    parts: SearchParts,
    perimeters: &mut PerimeterCache<P::State>,
    stop: &AtomicBool,
) -> Result<(Arc<dyn Search<P>>, u32)> {
    let mut perimeter = perimeter_of(perimeters, plan.perimeter, entry, stop)?;
    if plan.leaves_out_whole_perimeter && perimeter.is_whole() {
        log::info!(
            "the perimeter holds the whole puzzle, and would give every answer; it is left out, so that the model is asked \
             (`perimeter` {} uses it)",
            perimeter.depth()
        );
        perimeter = Perimeter::none();
    }
    let depth = perimeter.depth();
    let own = if plan.search_uses_perimeter { perimeter.clone() } else { Perimeter::none() };
    let device = match parts.network {
        Some(network) => {
            let engine =
                DeviceEngine::new(&**entry.puzzle(), &entry.goals(), network, own.depth(), parts.device_memory)?;
            engine.map(Arc::new)
        }
        None => None,
    };
    let build = {
        let plan = plan.clone();
        move |factor| -> Box<dyn Search<P>> {
            let search = match (plan.search.widened(factor), &parts.stages) {
                (SearchPlan::Reduction { n }, Some(stages)) => {
                    Box::new(Reduction { n, perimeter: own.clone(), stages: Arc::clone(stages) })
                }
                (search, _) => build_one::<P>(search, own.clone(), device.clone()),
            };
            match plan.symmetries {
                1 => search,
                count => Box::new(ImageSearch { search, count }),
            }
        }
    };
    let search = build(1);
    let search: Arc<dyn Search<P>> = if plan.proof_budget == Some(0) && !plan.widens {
        Arc::from(search)
    } else {
        let widen = plan.widens.then(|| Box::new(build) as Widen<P>);
        Arc::new(Prove { search: Some(search), perimeter, budget: plan.proof_budget, widen })
    };
    Ok((search, depth))
}

/// The search itself, for one image of an instance.
fn build_one<P: Puzzle>(
    plan: SearchPlan,
    perimeter: Perimeter<P::State>,
    device: Option<Arc<DeviceEngine>>,
) -> Box<dyn Search<P>> {
    match plan {
        SearchPlan::Bwas { n, lambda, deferred, policy_weight, max_stale_steps, anytime, .. } => Box::new(BestFirst {
            deferred: deferred.then_some(policy_weight as f32),
            max_stale_steps: (!anytime).then_some(max_stale_steps),
            perimeter,
            device,
            ..BestFirst::bwas(n, lambda as f32)
        }),
        SearchPlan::Beam { n, candidates, policy_weight, hash_slots, .. } => {
            let candidates = usize::try_from(candidates).unwrap_or(usize::MAX);
            Box::new(Beam { n, candidates, policy_weight: policy_weight as f32, perimeter, device, hash_slots })
        }
        SearchPlan::AStar => Box::new(BestFirst::a_star()),
        SearchPlan::IdaStar => Box::new(IterativeDeepening),
        SearchPlan::Nbs => Box::new(NearOptimalBidirectional),
        SearchPlan::BestFirst { lambda } => Box::new(BestFirst::one_by_one(lambda as f32)),
        SearchPlan::Bfs => Box::new(BreadthFirst { perimeter }),
        SearchPlan::Bidirectional => Box::new(Bidirectional { forward: BreadthFirst { perimeter } }),
        SearchPlan::Random { seed } => Box::new(RandomWalk { seed, most_moves: MOST_MOVES }),
        SearchPlan::Reduction { .. } => unreachable!("a reduction is built from its stages"),
        SearchPlan::Exhaustive => Box::new(Prove { search: None, perimeter, budget: None, widen: None }),
    }
}
