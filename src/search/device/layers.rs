//! The layers of one search on a device.

use super::laps::Laps;
use super::near_goals::{both, firsts};
use super::sharing::{deliver, fetch, least, owners};
use super::{Chunk, DeviceEngine, Parts, check_estimate, on_device};
use crate::heuristic::HeuristicError;
use crate::puzzle::Move;
use crate::search::Limit;
use crate::search::exchange::Exchange;
use crate::search::limits::Interrupt;
use crate::search::nodes::NodeId;
use crate::tensors::operations::AsyncDownload;
use crate::tensors::{caught, host_numbers, host_values, no_grad};
use serde::{Deserialize, Serialize};
use std::sync::MutexGuard;
use tch::{Kind, Tensor};

/// The fewest and the most slots of the table of evaluated states, 8 bytes each.
const MIN_SLOTS: u64 = 1 << 10;
const MAX_SLOTS: u64 = 1 << SLOT_SHIFT;

/// The bits of a hash above this one tell its slot.
const SLOT_SHIFT: i64 = 32;

/// Hits near the goals that are looked at in one layer: nearly every hit is one, so the first few suffice.
const MAX_HITS: i64 = 64;

/// How a layer is scored and cut.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::search) struct Weights {
    /// The width.
    pub(in crate::search) n: usize,
    /// Slots for the hashes of evaluated states.
    pub(in crate::search) slots: u64,
    /// Children evaluated in a layer, in widths; 0: all.
    pub(in crate::search) candidates: usize,
    /// The weight of −ln p, in moves.
    pub(in crate::search) policy: f32,
    /// The least probability that counts.
    pub(in crate::search) min_probability: f32,
    /// The shares of the policy prior and of the parent's score in the score of a child.
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
    pub(in crate::search) count: u64,
    /// Those near a goal, the nearest ones.
    pub(in crate::search) hits: Vec<Hit>,
    /// Whether others were left out for lack of promise.
    pub(in crate::search) cut_off: bool,
}

/// The next layer, on this rank.
pub(in crate::search) struct Kept {
    /// Parent and move of each state.
    pub(in crate::search) parents: Vec<NodeId>,
    pub(in crate::search) moves: Vec<Move>,
    /// The rank of each parent; empty where no other rank shares the search.
    pub(in crate::search) owners: Vec<u16>,
    /// The least value.
    pub(in crate::search) nearest: Option<f32>,
    /// Whether others were left out.
    pub(in crate::search) cut_off: bool,
}

/// Children, as columns.
struct Children {
    /// Parent times the number of moves, plus move.
    ids: Tensor,
    /// The rank of the parent; empty where no other rank shares the search.
    ranks: Tensor,
    hashes: Tensor,
    /// The part of a child's score that comes from the policy prior and from its parent's score.
    shares: Tensor,
}

impl Children {
    fn each(&self, column: impl Fn(&Tensor) -> Tensor) -> Self {
        let Children { ids, ranks, hashes, shares } = self;
        let ranks = if ranks.numel() > 0 { column(ranks) } else { ranks.shallow_clone() };
        Children { ids: column(ids), ranks, hashes: column(hashes), shares: column(shares) }
    }

    fn pick(&self, indices: &Tensor) -> Self {
        self.each(|column| column.index_select(0, indices))
    }
}

/// The current layer of a search, its children that are chosen, and the states evaluated so far. All are states that this rank owns.
pub(in crate::search) struct DeviceLayers<'a> {
    parts: MutexGuard<'a, Parts>,
    exchange: &'a dyn Exchange,
    weights: Weights,
    /// `width × cells`.
    rows: Tensor,
    /// Values and scores, f32.
    values: Tensor,
    scores: Tensor,
    /// The policy priors, `width × moves`, in moves; in half precision on CUDA.
    priors: Option<Tensor>,
    chosen: Children,
    /// The parents of the chosen children, on the parents' ranks, and their moves.
    parents: Tensor,
    actions: Tensor,
    /// Their rows, and their values and priors, chunk by chunk.
    made: Tensor,
    evaluated: Vec<(Tensor, Option<Tensor>)>,
    /// The hashes of evaluated states, by slot; 0 where there is none.
    known: Tensor,
    chunk: Chunk,
    /// The number of bits by which a hash is shifted for its slot.
    shift: Tensor,
    laps: Laps,
}

impl DeviceEngine {
    /// The first layer of a search: the state of a row, on the rank that owns it.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn layers<'a>(
        &'a self,
        row: &[u8],
        weights: Weights,
        exchange: &'a dyn Exchange,
    ) -> Result<DeviceLayers<'a>, HeuristicError> {
        let parts = self.parts();
        on_device(|| {
            let device = parts.network.device();
            let rows = Tensor::from_slice(row).view([1, -1]).to_device(device);
            let hashes = parts.moves.hashes(&rows);
            let is_own = exchange.owner(host_numbers::<i64>(&hashes)[0] as u64) == exchange.rank();
            let slots = 1i64 << weights.slots.clamp(MIN_SLOTS, MAX_SLOTS).ilog2();
            let none = |kind| Tensor::zeros([0], (kind, device));
            let mut layers = DeviceLayers {
                values: none(Kind::Float),
                scores: Tensor::zeros([1], (Kind::Float, device)),
                priors: None,
                chosen: Children {
                    ids: none(Kind::Int64),
                    ranks: none(Kind::Int64),
                    hashes: none(Kind::Int64),
                    shares: none(Kind::Float),
                },
                parents: none(Kind::Int64),
                actions: none(Kind::Int64),
                made: rows.narrow(0, 0, 0),
                evaluated: Vec::new(),
                known: Tensor::zeros([slots], (Kind::Int64, device)),
                chunk: Chunk(parts.network.chunk() as i64),
                shift: Tensor::from(SLOT_SHIFT).to_device(device),
                laps: Laps::new(device),
                rows,
                weights,
                exchange,
                parts,
            };
            (layers.values, layers.priors) = layers.estimates(&layers.rows);
            layers.note_known(&hashes);
            if !is_own {
                layers.rows = layers.rows.narrow(0, 0, 0);
                layers.values = layers.values.narrow(0, 0, 0);
                layers.scores = layers.scores.narrow(0, 0, 0);
                layers.priors = layers.priors.map(|priors| priors.narrow(0, 0, 0));
            }
            layers
        })
    }
}

impl DeviceLayers<'_> {
    /// The number of states in the layer.
    pub(in crate::search) fn width(&self) -> u64 {
        self.rows.size()[0] as u64
    }

    /// Memory on the host, in bytes, roughly.
    pub(in crate::search) fn host_bytes(&self) -> u64 {
        if self.rows.device().is_cuda() {
            return 0;
        }
        let numbers = self.known.numel() + 2 * self.priors.as_ref().map_or(0, Tensor::numel);
        (8 * numbers + 2 * self.rows.numel()) as u64
    }

    /// Chooses the children that are worth an evaluation, of at most `budget`. All ranks must call it.
    ///
    /// # Errors
    /// If the device or the exchange fails.
    pub(in crate::search) fn choose(&mut self, budget: u64) -> Result<Chosen, HeuristicError> {
        on_device(|| {
            let Weights { n, candidates, .. } = self.weights;
            self.laps.restart();
            let (hashes, legal) = self.parts.moves.child_hashes(&self.rows);
            self.laps.end("hash children");
            let (children, promises) = if self.exchange.is_alone() {
                self.children(&hashes, &both(self.is_new(&hashes), legal.as_ref()))
            } else {
                let is_legal = legal.unwrap_or_else(|| hashes.not_equal(0));
                let (children, promises) = self.delivered(self.children(&hashes, &is_legal))?;
                let new = self.is_new(&children.hashes).nonzero().flatten(0, 1);
                (children.pick(&new), promises.index_select(0, &new))
            };
            let is_limited = candidates > 0 && self.priors.is_some();
            let count = if is_limited { candidates.saturating_mul(n) as u64 } else { u64::MAX };
            let (order, cut_off) = least(self.exchange, &promises, &children.hashes, count, true)?;
            self.laps.end("choose candidates");
            let firsts = firsts(&children.hashes.index_select(0, &order));
            let children = children.pick(&order.index_select(0, &firsts));
            let count = children.ids.size()[0].min(i64::try_from(budget).unwrap_or(i64::MAX));
            self.chosen = children.each(|column| column.narrow(0, 0, count));
            let moves = self.parts.moves.count;
            self.parents = self.chosen.ids.divide_scalar_mode(moves, "floor");
            self.actions = self.chosen.ids.remainder(moves);
            self.laps.end("drop equal ones");
            let hits = self.hits();
            self.laps.end("look up goals");
            self.note_known(&self.chosen.hashes.shallow_clone());
            self.laps.end("note hashes");
            Ok(Chosen { count: count as u64, hits, cut_off })
        })?
    }

    /// The children of the layer for which a mask holds, and what candidates are chosen by: h(parent) − c·ln p, or the parent's
    /// score without move probabilities.
    fn children(&self, hashes: &Tensor, mask: &Tensor) -> (Children, Tensor) {
        let Weights { prior, path, .. } = self.weights;
        let (scores, moves) = (self.scores.unsqueeze(1), self.parts.moves.count);
        let (promises, shares) = match &self.priors {
            Some(priors) => (self.values.unsqueeze(1) + priors, &scores * f64::from(path) + priors * f64::from(prior)),
            None => (scores.repeat([1, moves]), (scores * f64::from(path)).repeat([1, moves])),
        };
        let ids = mask.nonzero().flatten(0, 1);
        let part = |all: &Tensor| all.index_select(0, &ids);
        let (promises, shares) = (part(&promises.flatten(0, 1)), part(&shares.flatten(0, 1)));
        (Children { ranks: ids.narrow(0, 0, 0), hashes: part(hashes), shares, ids }, promises)
    }

    /// The children of all ranks whose states this rank owns, and what candidates are chosen by.
    fn delivered(&self, (children, promises): (Children, Tensor)) -> Result<(Children, Tensor), HeuristicError> {
        let Children { ids, hashes, shares, .. } = children;
        let numbers = Tensor::stack(&[promises, shares], 1).view_dtype(Kind::Int64).flatten(0, 1);
        let to = owners(self.exchange, &hashes);
        let (records, ranks) = deliver(self.exchange, &Tensor::stack(&[ids, hashes, numbers], 1), &to)?;
        let numbers = records.narrow(1, 2, 1).contiguous().view_dtype(Kind::Float);
        let [ids, hashes] = [0, 1].map(|column| records.select(1, column));
        let [promises, shares] = [0, 1].map(|column| numbers.select(1, column));
        Ok((Children { ids, ranks, hashes, shares }, promises))
    }

    /// The chosen children near a goal.
    fn hits(&self) -> Vec<Hit> {
        let Children { ids, ranks, hashes, .. } = &self.chosen;
        let (hits, depths) = self.parts.near_goals.hits(hashes, MAX_HITS);
        let count = hits.size()[0] as usize;
        if count == 0 {
            return Vec::new();
        }
        let ranks = if ranks.numel() > 0 { ranks } else { &hashes.zeros_like() };
        let part = |column: &Tensor| column.index_select(0, &hits);
        let numbers: Vec<i64> = host_numbers(&Tensor::stack(&[&depths, &part(hashes), &part(ranks), &part(ids)], 0));
        let hit = |i: usize| {
            let [depth, hash, rank, id] = [0, 1, 2, 3].map(|row| numbers[row * count + i]);
            let (parent, action) = (id / self.parts.moves.count, id % self.parts.moves.count);
            Hit { depth, hash, rank: rank as u16, parent: parent as NodeId, action: action as Move }
        };
        (0..count).map(hit).collect()
    }

    /// Makes and evaluates the chosen children. `reached` is asked before each chunk. All ranks must call it.
    ///
    /// # Errors
    /// At a limit; if the device or the exchange fails.
    pub(in crate::search) fn evaluate(
        &mut self,
        evaluated: &mut u64,
        mut reached: impl FnMut() -> Option<Limit>,
    ) -> Result<(), Interrupt> {
        self.laps.restart();
        self.made = on_device(|| {
            let rows = match self.exchange.is_alone() {
                true => self.rows.index_select(0, &self.parents),
                false => fetch(self.exchange, &self.rows, &self.chosen.ranks, &self.parents)?,
            };
            Ok::<_, HeuristicError>(self.parts.moves.children(&rows, &self.actions))
        })??;
        self.laps.end("make children");
        let count = self.made.size()[0];
        self.evaluated.clear();
        let mut done = 0;
        while done < count {
            if let Some(limit) = reached() {
                return Err(limit.into());
            }
            let length = self.chunk.0.min(count - done);
            let estimates = caught(|| no_grad(|| self.estimates(&self.made.narrow(0, done, length))));
            self.laps.end("evaluate");
            match estimates {
                Ok(estimates) => {
                    self.evaluated.push(estimates);
                    done += length;
                    *evaluated += length as u64;
                }
                Err(message) => self.chunk.halve(length, message)?,
            }
        }
        Ok(())
    }

    /// Keeps the best of the evaluated children as the next layer. All ranks must call it.
    ///
    /// # Errors
    /// If the device or the exchange fails, or an estimate is not finite.
    pub(in crate::search) fn keep(&mut self) -> Result<Kept, HeuristicError> {
        on_device(|| {
            let (values, priors): (Vec<_>, Vec<_>) = self.evaluated.drain(..).unzip();
            let values = joined(values, &self.values);
            let priors = self.priors.as_ref().map(|like| joined(priors.into_iter().flatten().collect(), like));
            let nearest = match values.size()[0] {
                0 => None,
                // The sum finds any value that is not finite.
                _ => {
                    let numbers = Tensor::stack(&[values.min(), values.sum(Kind::Double).to_kind(Kind::Float)], 0);
                    host_values(&numbers).into_iter().reduce(|least, sum| if sum.is_finite() { least } else { sum })
                }
            };
            nearest.map_or(Ok(()), check_estimate)?;
            let scores = &values + &self.chosen.shares;
            let (kept, cut_off) =
                least(self.exchange, &scores, &self.chosen.hashes, self.weights.n.max(1) as u64, false)?;
            let part = |all: &Tensor| all.index_select(0, &kept);
            let parents = AsyncDownload::begin(&part(&self.parents).to_kind(Kind::Int));
            let actions = AsyncDownload::begin(&part(&self.actions).to_kind(Kind::Uint8));
            let owners: Vec<i64> = match self.exchange.is_alone() {
                true => Vec::new(),
                false => host_numbers(&part(&self.chosen.ranks)),
            };
            self.rows = part(&self.made);
            self.values = part(&values);
            self.scores = part(&scores);
            self.priors = priors.map(|priors| part(&priors));
            let parents: Vec<i32> = host_numbers(&parents.end());
            self.laps.end("keep the best");
            Ok(Kept {
                parents: parents.into_iter().map(|parent| parent as NodeId).collect(),
                moves: host_numbers(&actions.end()),
                owners: owners.into_iter().map(|rank| rank as u16).collect(),
                nearest,
                cut_off,
            })
        })?
    }

    /// Values of rows, never negative, and policy priors, if the network has move probabilities and they are used.
    fn estimates(&self, rows: &Tensor) -> (Tensor, Option<Tensor>) {
        let network = &self.parts.network;
        let Weights { candidates, policy, min_probability, .. } = self.weights;
        let (values, policies) = network.evaluate(rows, candidates > 0 && network.has_policy());
        let kind = if network.device().is_cuda() { Kind::Half } else { Kind::Float };
        let prior = |p: Tensor| (p.clamp_min(f64::from(min_probability)).log() * -f64::from(policy)).to_kind(kind);
        (values.clamp_min(0.0), policies.map(prior))
    }

    /// The slot of each hash, by its upper half.
    fn slots(&self, hashes: &Tensor) -> Tensor {
        hashes.bitwise_right_shift(&self.shift).bitwise_and(self.known.size()[0] - 1)
    }

    /// Whether states with these hashes are not known to be evaluated.
    fn is_new(&self, hashes: &Tensor) -> Tensor {
        self.known.index_select(0, &self.slots(hashes)).ne_tensor(hashes)
    }

    /// Adds hashes, all different, to the evaluated states. Of several in one slot, the greatest stays, whatever the order in
    /// which a device writes them.
    fn note_known(&mut self, hashes: &Tensor) {
        let slots = self.slots(hashes);
        let _ = self.known.internal_scatter_reduce_(0, &slots, hashes, "amax", false);
    }
}

/// All chunks as one tensor; without any, an empty one like another.
fn joined(mut chunks: Vec<Tensor>, like: &Tensor) -> Tensor {
    match chunks.len() {
        0 => like.narrow(0, 0, 0),
        1 => chunks.swap_remove(0),
        _ => Tensor::cat(&chunks, 0),
    }
}
