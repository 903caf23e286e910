//! The layers of one search on a device.

use super::laps::Laps;
use super::near_goals::unique;
use super::{Chunk, DeviceEngine, Parts, check_estimate, on_device};
use crate::heuristic::HeuristicError;
use crate::puzzle::Move;
use crate::search::Limit;
use crate::search::limits::Interrupt;
use crate::search::nodes::NodeId;
use crate::tensors::operations::AsyncDownload;
use crate::tensors::{caught, host_numbers, host_values, no_grad};
use std::sync::MutexGuard;
use tch::{Kind, Tensor};

/// Slots of the table of evaluated states, for each state of the width: a search rarely has more layers than half of this.
const SLOTS_PER_WIDTH: usize = 256;

/// The fewest and the most slots, 8 bytes each.
const MIN_SLOTS: usize = 1 << 16;
const MAX_SLOTS: usize = 1 << 27;

/// The bits of a hash above this one tell its slot.
const SLOT_SHIFT: i64 = 32;

/// Hits near the goals that are looked at in one layer: nearly every hit is one, so the first few suffice.
const MAX_HITS: i64 = 64;

/// How a layer is scored and cut.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::search) struct Weights {
    /// The width.
    pub(in crate::search) n: usize,
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

/// A child within some moves of a goal.
#[derive(Debug, Clone, Copy)]
pub(in crate::search) struct Hit {
    pub(in crate::search) parent: NodeId,
    pub(in crate::search) action: Move,
}

/// The children that were chosen.
pub(in crate::search) struct Chosen {
    pub(in crate::search) count: u64,
    /// Those near a goal, the nearest first.
    pub(in crate::search) hits: Vec<Hit>,
    /// Whether others were left out for lack of promise.
    pub(in crate::search) cut_off: bool,
}

/// The next layer.
pub(in crate::search) struct Kept {
    /// Parent and move of each state.
    pub(in crate::search) parents: Vec<NodeId>,
    pub(in crate::search) moves: Vec<Move>,
    /// The least value.
    pub(in crate::search) nearest: Option<f32>,
    /// Whether others were left out.
    pub(in crate::search) cut_off: bool,
}

/// The current layer of a search, its children that are chosen, and the states evaluated so far.
pub(in crate::search) struct DeviceLayers<'a> {
    parts: MutexGuard<'a, Parts>,
    weights: Weights,
    /// `width × cells`.
    rows: Tensor,
    /// Values and scores, f32, the best score first.
    values: Tensor,
    scores: Tensor,
    /// The policy priors, `width × moves`, in moves; in half precision on CUDA.
    priors: Option<Tensor>,
    /// The chosen children: parent times the number of moves, plus move; and these two alone.
    chosen: Tensor,
    parents: Tensor,
    actions: Tensor,
    /// The hashes of evaluated states, by slot; 0 where there is none.
    evaluated: Tensor,
    chunk: Chunk,
    /// The number of bits by which a hash is shifted for its slot.
    shift: Tensor,
    laps: Laps,
}

impl DeviceEngine {
    /// The first layer of a search: the state of a row.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn layers(&self, row: &[u8], weights: Weights) -> Result<DeviceLayers<'_>, HeuristicError> {
        let parts = self.parts();
        on_device(|| {
            let device = parts.network.device();
            let rows = Tensor::from_slice(row).view([1, -1]).to_device(device);
            let slots = weights.n.saturating_mul(SLOTS_PER_WIDTH).next_power_of_two().clamp(MIN_SLOTS, MAX_SLOTS);
            let mut layers = DeviceLayers {
                values: Tensor::zeros([0], (Kind::Float, device)),
                scores: Tensor::zeros([1], (Kind::Float, device)),
                priors: None,
                chosen: Tensor::zeros([0], (Kind::Int64, device)),
                parents: Tensor::zeros([0], (Kind::Int64, device)),
                actions: Tensor::zeros([0], (Kind::Int64, device)),
                evaluated: Tensor::zeros([slots as i64], (Kind::Int64, device)),
                chunk: Chunk(parts.network.chunk() as i64),
                shift: Tensor::from(SLOT_SHIFT).to_device(device),
                laps: Laps::new(device),
                rows,
                weights,
                parts,
            };
            let (values, priors) = layers.estimates(&layers.rows);
            (layers.values, layers.priors) = (values, priors);
            layers.note_evaluated(&layers.parts.moves.hashes(&layers.rows));
            layers
        })
    }
}

impl DeviceLayers<'_> {
    /// The number of states in the layer.
    pub(in crate::search) fn width(&self) -> u64 {
        self.rows.size()[0] as u64
    }

    /// Memory on the device, in bytes, roughly.
    pub(in crate::search) fn bytes(&self) -> u64 {
        let numbers = self.evaluated.numel() + 2 * self.priors.as_ref().map_or(0, Tensor::numel);
        (8 * numbers + 2 * self.rows.numel()) as u64
    }

    /// Chooses the children that are worth an evaluation, of at most `budget`.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn choose(&mut self, budget: u64) -> Result<Chosen, HeuristicError> {
        on_device(|| {
            let Weights { n, candidates, .. } = self.weights;
            self.laps.restart();
            let (hashes, illegal) = self.parts.moves.child_hashes(&self.rows);
            let hashes = hashes.flatten(0, 1);
            let is_known = self.evaluated.index_select(0, &self.slots(&hashes)).eq_tensor(&hashes);
            let is_out = match illegal {
                Some(illegal) => is_known.logical_or(&illegal.flatten(0, 1)),
                None => is_known,
            };
            self.laps.end("hash children");
            let (children, cut_off) = match &self.priors {
                Some(priors) if candidates > 0 => {
                    let keys = (self.values.unsqueeze(1) + priors).flatten(0, 1).masked_fill(&is_out, f64::INFINITY);
                    let count = i64::try_from(candidates.saturating_mul(n)).unwrap_or(i64::MAX);
                    let (best, order) = match count < keys.size()[0] {
                        true => keys.topk(count, 0, false, true),
                        false => keys.sort_stable(true, 0, false),
                    };
                    let is_last_in = host_values(&best.narrow(0, best.size()[0] - 1, 1))[0].is_finite();
                    (order.masked_select(&best.less(f64::INFINITY)), count < keys.size()[0] && is_last_in)
                }
                _ => (is_out.logical_not().nonzero().flatten(0, 1), false),
            };
            self.laps.end("choose candidates");
            let (children, hashes) = unique(&children, &hashes.index_select(0, &children));
            let count = children.size()[0].min(i64::try_from(budget).unwrap_or(i64::MAX));
            let (children, hashes) = (children.narrow(0, 0, count), hashes.narrow(0, 0, count));
            self.laps.end("drop equal ones");
            let hits = self.parts.near_goals.hits(&hashes, MAX_HITS);
            let near = if hits.numel() > 0 { host_numbers(&children.index_select(0, &hits)) } else { Vec::new() };
            let moves = self.parts.moves.count;
            let hit = |child: i64| Hit { parent: (child / moves) as NodeId, action: (child % moves) as Move };
            let hits = near.into_iter().map(hit).collect();
            self.laps.end("look up goals");
            self.note_evaluated(&hashes);
            self.laps.end("note hashes");
            self.parents = children.divide_scalar_mode(moves, "floor");
            self.actions = children.remainder(moves);
            self.chosen = children;
            Chosen { count: count as u64, hits, cut_off }
        })
    }

    /// Makes and evaluates the chosen children, and keeps the best as the next layer. `reached` is asked before each chunk.
    ///
    /// # Errors
    /// At a limit; if the device fails, or an estimate is not finite.
    pub(in crate::search) fn keep(
        &mut self,
        evaluated: &mut u64,
        mut reached: impl FnMut() -> Option<Limit>,
    ) -> Result<Kept, Interrupt> {
        let count = self.chosen.size()[0];
        let (mut rows, mut values, mut priors) = (Vec::new(), Vec::new(), Vec::new());
        self.laps.restart();
        let mut done = 0;
        while done < count {
            if let Some(limit) = reached() {
                return Err(limit.into());
            }
            let length = self.chunk.0.min(count - done);
            let estimates = caught(|| {
                no_grad(|| {
                    let [parents, actions] = [&self.parents, &self.actions].map(|all| all.narrow(0, done, length));
                    let children = self.parts.moves.children(&self.rows.index_select(0, &parents), &actions);
                    self.laps.end("make children");
                    let estimates = self.estimates(&children);
                    self.laps.end("evaluate");
                    (children, estimates)
                })
            });
            match estimates {
                Ok((children, (chunk, prior))) => {
                    rows.push(children);
                    values.push(chunk);
                    priors.extend(prior);
                    done += length;
                    *evaluated += length as u64;
                }
                Err(message) => self.chunk.halve(length, message)?,
            }
        }
        if count == 0 {
            self.rows = self.rows.narrow(0, 0, 0);
            return Ok(Kept { parents: Vec::new(), moves: Vec::new(), nearest: None, cut_off: false });
        }
        let kept = on_device(|| {
            let priors = (!priors.is_empty()).then(|| joined(priors));
            self.cut(&joined(rows), &joined(values), priors)
        })?;
        self.laps.end("keep the best");
        kept.nearest.map_or(Ok(()), check_estimate)?;
        Ok(kept)
    }

    /// Keeps the best of the chosen children.
    fn cut(&mut self, rows: &Tensor, values: &Tensor, priors: Option<Tensor>) -> Kept {
        let Weights { n, prior, path, .. } = self.weights;
        let mut scores = values + self.scores.index_select(0, &self.parents) * f64::from(path);
        if let Some(own) = &self.priors {
            let own = own.flatten(0, 1).index_select(0, &self.chosen).to_kind(Kind::Float);
            scores += own * f64::from(prior);
        }
        let count = scores.size()[0];
        let width = count.min(n.max(1) as i64);
        let (scores, kept) = scores.topk(width, 0, false, true);
        let (parents, actions) = (self.parents.index_select(0, &kept), self.actions.index_select(0, &kept));
        self.rows = rows.index_select(0, &kept);
        let parents = AsyncDownload::begin(&parents.to_kind(Kind::Int));
        let actions = AsyncDownload::begin(&actions.to_kind(Kind::Uint8));
        // The sum finds any value that is not finite.
        let nearest = Tensor::stack(&[values.min(), values.sum(Kind::Double).to_kind(Kind::Float)], 0);
        self.values = values.index_select(0, &kept);
        self.scores = scores;
        self.priors = priors.map(|priors| priors.index_select(0, &kept));
        let nearest = host_values(&nearest);
        let ids: Vec<i32> = host_numbers(&parents.end());
        Kept {
            parents: ids.into_iter().map(|id| id as NodeId).collect(),
            moves: host_numbers(&actions.end()),
            nearest: nearest.into_iter().reduce(|nearest, sum| if sum.is_finite() { nearest } else { sum }),
            cut_off: width < count,
        }
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
        hashes.bitwise_right_shift(&self.shift).bitwise_and(self.evaluated.size()[0] - 1)
    }

    /// Adds hashes, all different, to the evaluated states. Of several in one slot, the greatest stays, whatever the order in
    /// which a device writes them.
    fn note_evaluated(&mut self, hashes: &Tensor) {
        let slots = self.slots(hashes);
        let _ = self.evaluated.internal_scatter_reduce_(0, &slots, hashes, "amax", false);
    }
}

/// The rows of all chunks, at least one.
fn joined(mut chunks: Vec<Tensor>) -> Tensor {
    if chunks.len() == 1 { chunks.swap_remove(0) } else { Tensor::cat(&chunks, 0) }
}
