//! The layers of one search on a device.

use super::near_goals::{firsts, nearest};
use super::ranks::{deliver, fetch, least, owners};
use super::timings::Timings;
use super::{Chunk, DeviceEngine, EngineParts, check_estimate, count_of, on_device, too_wide};
use crate::error::Result;
use crate::exchange::Exchange;
use crate::puzzle::Move;
use crate::search::Limit;
use crate::search::limits::{Interrupt, stop_at};
use crate::search::nodes::{BackPointers, NodeId};
use crate::tensors::operations::AsyncDownload;
use crate::tensors::{caught, host_numbers, host_values, no_grad};
use crate::workers::{GRAIN, cores, extend};
use serde::{Deserialize, Serialize};
use std::sync::MutexGuard;
use tch::{Kind, Tensor};

mod memory;

/// The fewest and the most slots of the table of evaluated states, 8 bytes each.
const MIN_SLOTS: u64 = 1 << 10;
const MAX_SLOTS: u64 = 1 << 32;

/// Hits near the goals that are checked per layer: nearly every hit is genuine, so the first few suffice.
const MAX_HITS: i64 = 64;

/// How a layer is scored and cut. With a policy prior q = −c·ln p of the move of probability p, the score of a child is
/// h + `path` · (its parent's score + `prior` · q), and candidates are chosen by h(parent) + q.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::search) struct BeamWeights {
    /// Width of the beam: states kept per layer, over all ranks.
    pub(in crate::search) n: usize,
    /// Slots for the hashes of evaluated states.
    pub(in crate::search) slots: u64,
    /// Children evaluated in a layer, in widths; 0: all.
    pub(in crate::search) candidates: usize,
    /// c, in moves.
    pub(in crate::search) policy: f32,
    /// The least probability that counts.
    pub(in crate::search) min_probability: f32,
    pub(in crate::search) prior: f32,
    pub(in crate::search) path: f32,
}

/// A child within some moves of a goal. Hits are ordered by how near they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::search) struct Hit {
    depth: i64,
    hash: i64,
    /// The rank of the parent, and its index there.
    pub(in crate::search) rank: u16,
    pub(in crate::search) parent: NodeId,
    pub(in crate::search) action: Move,
}

/// The children that were chosen, on this rank.
pub(in crate::search) struct Chosen {
    /// The candidates, duplicates included; all legal children if all are candidates.
    pub(in crate::search) generated: u64,
    /// Those that are kept, each state once.
    pub(in crate::search) count: u64,
    /// The children nearest to a goal, if any is near one.
    pub(in crate::search) hits: Vec<Hit>,
    /// True if some were cut by the candidate score.
    pub(in crate::search) cut_off: bool,
}

/// The cut of the evaluated children, on this rank.
pub(in crate::search) struct Kept {
    /// The least value.
    pub(in crate::search) nearest: Option<f32>,
    /// True if some were cut by the score.
    pub(in crate::search) cut_off: bool,
}

/// Children, as columns.
struct ChildColumns {
    /// `parent · moves + move`; empty if that is the child's own index.
    ids: Tensor,
    /// The rank of the parent; empty if no other rank shares the search.
    ranks: Tensor,
    hashes: Tensor,
    /// The parent's score plus `prior` · q. The score of a child is its value plus `path` times this.
    shares: Tensor,
}

impl ChildColumns {
    fn each(&self, column: impl Fn(&Tensor) -> Tensor) -> Self {
        let ChildColumns { ids, ranks, hashes, shares } = self;
        let [ids, ranks] = [ids, ranks].map(|part| if part.numel() > 0 { column(part) } else { part.shallow_clone() });
        ChildColumns { ids, ranks, hashes: column(hashes), shares: column(shares) }
    }

    fn pick(&self, indices: &Tensor) -> Self {
        let picked = self.each(|column| column.index_select(0, indices));
        if self.ids.numel() > 0 { picked } else { ChildColumns { ids: indices.shallow_clone(), ..picked } }
    }
}

/// The current layer of a search, its children that are chosen, and the states evaluated so far. All are states that this rank
/// owns.
pub(in crate::search) struct DeviceLayers<'a> {
    parts: MutexGuard<'a, EngineParts>,
    exchange: &'a dyn Exchange,
    weights: BeamWeights,
    /// `width × cells`.
    rows: Tensor,
    /// The hashes of the rows, if those of the children follow from them.
    hashes: Option<Tensor>,
    /// Values and scores, f32.
    values: Tensor,
    scores: Tensor,
    /// ln p of the moves, `width × moves`; in half precision on CUDA.
    policies: Option<Tensor>,
    /// `parent · moves + move`, and the rank of the parent if several ranks share the search, on the way to the host.
    download: Option<(AsyncDownload, Option<AsyncDownload>)>,
    /// The factors of the scores, on the device: −c, −c · `prior`, and `path`.
    factors: [Tensor; 3],
    chosen: ChildColumns,
    /// The rows of their parents, if several ranks share the search.
    fetched: Option<Tensor>,
    /// Their rows, if one chunk holds them all; otherwise, the rows that are kept are made again.
    made: Option<Tensor>,
    /// Their values and policies, chunk by chunk.
    evaluated: Vec<(Tensor, Option<Tensor>)>,
    /// The hashes of evaluated states, by slot; 0 in an empty slot.
    known: Tensor,
    chunk: Chunk,
    pub(super) timings: Timings,
}

impl DeviceEngine {
    /// The first layer of a search: the state of a row, on the rank that owns it.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn layers<'a>(
        &'a self,
        row: &[u8],
        weights: BeamWeights,
        exchange: &'a dyn Exchange,
    ) -> Result<DeviceLayers<'a>> {
        let parts = self.parts();
        on_device(|| {
            let device = parts.network.device();
            let rows = Tensor::from_slice(row).view([1, -1]).to_device(device);
            let hashes = parts.moves.hashes(&rows);
            let (values, policies) = estimates(&parts, weights, &rows);
            check_estimate(host_values(&values)[0])?;
            let is_own = host_numbers::<i64>(&owners(exchange, &hashes))[0] == exchange.rank() as i64;
            let own = |all: &Tensor| all.narrow(0, 0, is_own.into());
            let slots = 1i64 << weights.slots.clamp(MIN_SLOTS, MAX_SLOTS).ilog2();
            let none = |kind| Tensor::zeros([0], (kind, device));
            let factor = |factor: f32| Tensor::from(factor).to_device(device);
            let mut layers = DeviceLayers {
                scores: own(&Tensor::zeros([1], (Kind::Float, device))),
                values: own(&values),
                policies: policies.as_ref().map(own),
                download: None,
                factors: [-weights.policy, -weights.policy * weights.prior, weights.path].map(factor),
                chosen: ChildColumns {
                    ids: none(Kind::Int64),
                    ranks: none(Kind::Int64),
                    hashes: none(Kind::Int64),
                    shares: none(Kind::Float),
                },
                fetched: None,
                made: None,
                evaluated: Vec::new(),
                known: Tensor::zeros([slots], (Kind::Int64, device)),
                chunk: Chunk(parts.network.chunk() as i64),
                timings: Timings::new(device),
                rows: own(&rows),
                hashes: parts.moves.changes_hashes().then(|| own(&hashes)),
                weights,
                exchange,
                parts,
            };
            layers.note_known(&hashes);
            Ok(layers)
        })?
    }
}

impl DeviceLayers<'_> {
    /// The number of states in the layer.
    pub(in crate::search) fn width(&self) -> u64 {
        self.rows.size()[0] as u64
    }

    /// Children that are evaluated in a layer, at most, over all ranks.
    fn most_chosen(&self) -> u64 {
        let BeamWeights { n, candidates, .. } = self.weights;
        if candidates > 0 && self.policies.is_some() { candidates.saturating_mul(n) as u64 } else { u64::MAX }
    }

    /// Chooses at most `budget` children to evaluate; none once `is_over` holds (asked on a single rank only). Adds the
    /// parents and moves of the layer to `back_pointers`. All ranks must call it.
    ///
    /// # Errors
    /// If the device or the exchange fails.
    pub(in crate::search) fn choose(
        &mut self,
        back_pointers: &mut Vec<BackPointers>,
        budget: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Chosen> {
        let is_alone = self.exchange.is_alone();
        let is_over = || is_alone && is_over();
        let none = Chosen { generated: 0, count: 0, hits: Vec::new(), cut_off: true };
        on_device(|| {
            let most = self.most_chosen();
            let is_limited = most < u64::MAX;
            self.timings.restart();
            let Some((hashes, legal)) = self.child_hashes(&is_over) else { return Ok(none) };
            self.timings.end("hash children");
            if is_over() {
                return Ok(none);
            }
            let (children, candidate_scores) = self.children(hashes);
            // The device works meanwhile.
            self.end_download(back_pointers)?;
            let (children, candidate_scores, is_out, made) = if is_alone {
                // Counting waits for the device.
                let made = legal
                    .as_ref()
                    .filter(|_| !is_limited)
                    .map_or(candidate_scores.numel() as u64, |legal| count_of(legal) as u64);
                let is_known = self.is_known(&children.hashes);
                // A child is left out if it is known or not legal.
                let is_out = match legal {
                    Some(legal) => is_known.view_as(&legal).ge_tensor(&legal).flatten(0, 1),
                    None => is_known,
                };
                (children, candidate_scores, is_out, made)
            } else {
                let (children, candidate_scores) = self.delivered(&children, &candidate_scores, legal)?;
                let (is_known, made) = (self.is_known(&children.hashes), candidate_scores.numel() as u64);
                (children, candidate_scores, is_known, made)
            };
            let left = candidate_scores.numel() as u64 - count_of(&is_out) as u64;
            if is_over() {
                return Ok(none);
            }
            let scores = candidate_scores.masked_fill(&is_out, f64::INFINITY);
            drop((candidate_scores, is_out)); // a layer has many children
            let (order, _, cut_off) = least(self.exchange, (&scores, left), &children.hashes, most, true)?;
            drop(scores);
            self.timings.end("choose candidates");
            if is_over() {
                return Ok(none);
            }
            let generated = if is_limited { order.size()[0] as u64 } else { made };
            let firsts = firsts(&children.hashes.index_select(0, &order));
            let children = children.pick(&order.index_select(0, &firsts));
            let count = children.ids.size()[0].min(i64::try_from(budget).unwrap_or(i64::MAX));
            self.chosen = children.each(|column| column.narrow(0, 0, count));
            self.timings.end("drop equal ones");
            if is_over() {
                return Ok(none);
            }
            let hits = self.hits();
            self.timings.end("look up goals");
            self.note_known(&self.chosen.hashes.shallow_clone());
            self.timings.end("note hashes");
            Ok(Chosen { generated, count: count as u64, hits, cut_off })
        })?
    }

    /// Adds a width whose children a single GPU can hash to an out-of-memory error.
    pub(in crate::search) fn with_fitting_width(&self, interrupt: Interrupt) -> Interrupt {
        // A system that promises more memory than it has would kill the process on the way.
        let can_try = self.rows.device().is_cuda() && self.exchange.is_alone();
        let fits = |&width: &i64| {
            let part = |column: &Tensor| column.narrow(0, 0, width);
            let (rows, hashes) = (part(&self.rows), self.hashes.as_ref().map(part));
            caught(|| no_grad(|| drop(self.parts.moves.child_hashes(&rows, hashes.as_ref())))).is_ok()
        };
        match interrupt {
            Interrupt::Failed(error) if can_try => too_wide(error, self.rows.size()[0], fits).into(),
            other => other,
        }
    }

    /// Waits for the parents and moves of the layer, unless the host has them.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn end_download(&mut self, into: &mut Vec<BackPointers>) -> Result<()> {
        let Some((ids, owners)) = self.download.take() else { return Ok(()) };
        let (ids, ranks) = on_device(|| {
            let numbers = |download: &AsyncDownload| host_numbers::<i64>(&download.end());
            (numbers(&ids), owners.as_ref().map_or_else(Vec::new, numbers))
        })?;
        let (mut parents, mut moves) = (Vec::new(), Vec::new());
        let count = self.parts.moves.count;
        extend(cores(), &mut parents, ids.len(), GRAIN, |i| (ids[i] / count) as NodeId);
        extend(cores(), &mut moves, ids.len(), GRAIN, |i| (ids[i] % count) as Move);
        into.push(BackPointers { parents, owners: ranks.into_iter().map(|rank| rank as u16).collect(), moves });
        Ok(())
    }

    /// All children of the layer, legal or not, and their candidate scores: h(parent) − c·ln p, or the parent's score without
    /// move probabilities.
    fn children(&self, hashes: Tensor) -> (ChildColumns, Tensor) {
        let (values, scores) = (self.values.unsqueeze(1), self.scores.unsqueeze(1));
        let [prior, share, _] = &self.factors;
        let (candidate_scores, shares) = match &self.policies {
            Some(policies) => (values.addcmul(policies, prior), scores.addcmul(policies, share)),
            None => {
                let scores = scores.repeat([1, self.parts.moves.count]);
                (scores.shallow_clone(), scores)
            }
        };
        let none = hashes.narrow(0, 0, 0);
        let shares = shares.flatten(0, 1);
        (ChildColumns { ids: none.shallow_clone(), ranks: none, hashes, shares }, candidate_scores.flatten(0, 1))
    }

    /// The legal children of all ranks whose states this rank owns, and their candidate scores.
    fn delivered(
        &self,
        children: &ChildColumns,
        candidate_scores: &Tensor,
        legal: Option<Tensor>,
    ) -> Result<(ChildColumns, Tensor)> {
        let all = || children.hashes.ones_like();
        let legal = legal.map_or_else(all, |legal| legal.flatten(0, 1)).nonzero().flatten(0, 1);
        let ChildColumns { ids, hashes, shares, .. } = children.pick(&legal);
        let candidate_scores = candidate_scores.index_select(0, &legal);
        let numbers = Tensor::stack(&[candidate_scores, shares], 1).view_dtype(Kind::Int64).flatten(0, 1);
        let to = owners(self.exchange, &hashes);
        let (records, ranks) = deliver(self.exchange, &Tensor::stack(&[ids, hashes, numbers], 1), &to)?;
        let numbers = records.narrow(1, 2, 1).contiguous().view_dtype(Kind::Float);
        let [ids, hashes] = [0, 1].map(|column| records.select(1, column));
        let [candidate_scores, shares] = [0, 1].map(|column| numbers.select(1, column));
        Ok((ChildColumns { ids, ranks, hashes, shares }, candidate_scores))
    }

    /// The chosen children near a goal.
    fn hits(&self) -> Vec<Hit> {
        let ChildColumns { ids, ranks, hashes, .. } = &self.chosen;
        let near_goals = &self.parts.near_goals;
        let (is_near, places) = near_goals.find(hashes);
        let depths = |of: &Tensor| near_goals.depths.index_select(0, &places.index_select(0, of));
        let hits = nearest(&is_near, depths, MAX_HITS);
        let count = hits.size()[0] as usize;
        if count == 0 {
            return Vec::new();
        }
        let ranks = if ranks.numel() > 0 { ranks } else { &hashes.zeros_like() };
        let depths = depths(&hits).to_kind(Kind::Int64);
        let [hashes, ranks, ids] = [hashes, ranks, ids].map(|column| column.index_select(0, &hits));
        let numbers: Vec<i64> = host_numbers(&Tensor::stack(&[depths, hashes, ranks, ids], 0));
        let hit = |i: usize| {
            let [depth, hash, rank, id] = [0, 1, 2, 3].map(|row| numbers[row * count + i]);
            let (parent, action) = (id / self.parts.moves.count, id % self.parts.moves.count);
            Hit { depth, hash, rank: rank as u16, parent: parent as NodeId, action: action as Move }
        };
        (0..count).map(hit).collect()
    }

    /// Makes and evaluates the chosen children; all ranks must. `reached` is asked before each chunk, with what is evaluated.
    ///
    /// # Errors
    /// At a limit; if the device or the exchange fails.
    pub(in crate::search) fn evaluate(
        &mut self,
        evaluated: &mut u64,
        mut reached: impl FnMut(u64) -> Option<Limit>,
    ) -> Result<(), Interrupt> {
        self.timings.restart();
        self.fetched = match self.exchange.is_alone() {
            true => None,
            false => Some(on_device(|| {
                fetch(self.exchange, &self.rows, &self.chosen.ranks, &self.parents(&self.chosen.ids).0)
            })??),
        };
        self.timings.end("fetch parents");
        let count = self.chosen.hashes.size()[0];
        (self.made, self.evaluated) = (None, Vec::new());
        let mut done = 0;
        while done < count {
            stop_at(reached(*evaluated))?;
            let length = self.chunk.0.min(count - done);
            let rows = caught(|| no_grad(|| self.chosen_rows(|column| column.narrow(0, done, length))));
            self.timings.end("make children");
            let evaluate = |rows: Tensor| (estimates(&self.parts, self.weights, &rows), rows);
            let estimates = rows.and_then(|rows| caught(|| no_grad(|| evaluate(rows))));
            self.timings.end("evaluate");
            match estimates {
                Ok((estimates, rows)) => {
                    self.evaluated.push(estimates);
                    self.made = (length == count).then_some(rows);
                    done += length;
                    *evaluated += length as u64;
                }
                Err(message) => self.chunk.halve(length, message)?,
            }
        }
        Ok(())
    }

    /// The index of the parent of each child, and the move.
    fn parents(&self, ids: &Tensor) -> (Tensor, Tensor) {
        let moves = self.parts.moves.count;
        (ids.divide_scalar_mode(moves, "floor"), ids.remainder(moves))
    }

    /// Makes some of the chosen children.
    fn chosen_rows(&self, part: impl Fn(&Tensor) -> Tensor) -> Tensor {
        let (parents, actions) = self.parents(&part(&self.chosen.ids));
        let rows = match &self.fetched {
            Some(rows) => part(rows),
            None => self.rows.index_select(0, &parents),
        };
        self.parts.moves.children(&rows, &actions)
    }

    /// Keeps the best of the evaluated children as the next layer. All ranks must call it. A single rank asks `reached` on the
    /// way.
    ///
    /// # Errors
    /// At a limit, after which the search must end; if the device or the exchange fails, or an estimate is not finite.
    pub(in crate::search) fn keep(&mut self, reached: impl Fn() -> Option<Limit>) -> Result<Kept, Interrupt> {
        let is_alone = self.exchange.is_alone();
        let check = || stop_at(if is_alone { reached() } else { None });
        on_device(|| -> Result<Kept, Interrupt> {
            let (values, policies): (Vec<_>, Vec<_>) = self.evaluated.drain(..).unzip();
            let values = joined(values, &self.values);
            let policies = self.policies.as_ref().map(|like| joined(policies.into_iter().flatten().collect(), like));
            let nearest = (values.numel() > 0).then(|| {
                let (least, most) = values.aminmax(0, false);
                let [least, most] = [least, most].map(|value| AsyncDownload::begin(&value));
                let [least, most] = [least, most].map(|value| host_values(&value.end())[0]);
                if most.is_finite() { least } else { most }
            });
            nearest.map_or(Ok(()), check_estimate)?;
            let scores = values.addcmul(&self.chosen.shares, &self.factors[2]);
            let (n, all) = (self.weights.n.max(1) as u64, scores.numel() as u64);
            check()?;
            let (kept, scores, cut_off) = least(self.exchange, (&scores, all), &self.chosen.hashes, n, false)?;
            check()?;
            let part = |all: &Tensor| all.index_select(0, &kept);
            let begin = |column: &Tensor| AsyncDownload::begin(&part(column));
            let ranks = (!self.exchange.is_alone()).then(|| begin(&self.chosen.ranks));
            self.download = Some((begin(&self.chosen.ids), ranks));
            self.rows = match self.made.take() {
                Some(made) => part(&made),
                None => self.kept_rows(&kept, check)?,
            };
            self.hashes = self.hashes.take().map(|_| part(&self.chosen.hashes));
            self.values = part(&values);
            self.scores = scores;
            self.policies = policies.map(|policies| part(&policies));
            self.timings.end("keep the best");
            Ok(Kept { nearest, cut_off })
        })?
    }

    /// The slot of each hash, by its lower bits; the rank that owns it follows from the others.
    fn slots(&self, hashes: &Tensor) -> Tensor {
        hashes.bitwise_and(self.known.size()[0] - 1)
    }

    /// Whether states with these hashes are known to be evaluated.
    fn is_known(&self, hashes: &Tensor) -> Tensor {
        self.known.index_select(0, &self.slots(hashes)).eq_tensor(hashes)
    }

    /// Adds hashes, all different, to the evaluated states. The greatest of several in one slot stays, whatever the order in
    /// which a device writes them.
    fn note_known(&mut self, hashes: &Tensor) {
        let slots = self.slots(hashes);
        let _ = self.known.internal_scatter_reduce_(0, &slots, hashes, "amax", false);
    }
}

/// Values of rows, never negative, and ln p of the moves, if the network has move probabilities and they are used.
fn estimates(
    EngineParts { network, .. }: &EngineParts,
    weights: BeamWeights,
    rows: &Tensor,
) -> (Tensor, Option<Tensor>) {
    let (values, policies) = network.evaluate(rows, weights.candidates > 0 && network.has_policy());
    let kind = if network.device().is_cuda() { Kind::Half } else { Kind::Float };
    let least = f64::from(weights.min_probability).ln();
    (values.clamp_min(0.0), policies.map(|policies| policies.clamp_min(least).to_kind(kind)))
}

/// All chunks as one tensor; without any, an empty one like another.
fn joined(mut chunks: Vec<Tensor>, like: &Tensor) -> Tensor {
    match chunks.len() {
        0 => like.narrow(0, 0, 0),
        1 => chunks.swap_remove(0),
        _ => Tensor::cat(&chunks, 0),
    }
}
