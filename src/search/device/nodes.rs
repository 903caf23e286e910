//! The nodes of a best-first search on a device.

use super::near_goals::{both, nearest, unique};
use super::{Chunk, DeviceEngine, EngineParts, check_estimate, count_of, on_device};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Cost, Move};
use crate::search::Limit;
use crate::search::limits::{Interrupt, stop_at};
use crate::tensors::{caught, host_numbers, host_values, is_out_of_memory, no_grad};
use std::sync::MutexGuard;
use tch::{Kind, Tensor};

/// The capacity in nodes at first.
const MIN_CAPACITY: i64 = 1 << 14;

/// Slots of the table of stored states, for each node of the capacity.
const SLOTS_PER_NODE: i64 = 4;

/// Children that are made at a time: while they are, no limit is checked, and each takes 150 bytes.
const CHILDREN_AT_ONCE_ON_CPU: i64 = 1 << 16;
const CHILDREN_AT_ONCE_ON_CUDA: i64 = 1 << 20;

/// Children near the goals that are checked of those made at a time, the cheapest solutions first.
const MAX_HITS: i64 = 16;

/// The children of some nodes.
pub(in crate::search) struct StepChildren {
    pub(in crate::search) generated: u64,
    /// The moves from the start to those near the goals, the cheapest solutions first.
    pub(in crate::search) near: Vec<Vec<Move>>,
    /// The hashes of these.
    near_hashes: Tensor,
    /// The others, to be stored.
    pub(in crate::search) far: FarChildren,
}

/// Children that are not near the goals, as columns. Their states are made when they are stored.
pub(in crate::search) struct FarChildren {
    /// The nodes of stored states that are reached more cheaply, and their new path costs, parents and moves.
    again: [Tensor; 4],
    /// The hashes, path costs, parents and moves of those whose states are not stored yet.
    new: [Tensor; 4],
}

/// The children, as columns with the path cost as the second, that cost less than `too_costly`.
fn cheaper(columns: &[Tensor; 4], too_costly: Cost) -> [Tensor; 4] {
    let is_cheaper = columns[1].less(i64::from(too_costly)).nonzero().flatten(0, 1);
    columns.each_ref().map(|column| column.index_select(0, &is_cheaper))
}

/// Nodes that were taken from the open list.
pub(in crate::search) struct Taken {
    nodes: Tensor,
    pub(in crate::search) count: u64,
    /// The least priority.
    pub(in crate::search) least_f: f32,
}

impl Taken {
    /// The nodes from the one with an index on, at most `count`.
    pub(in crate::search) fn part(&self, first: u64, count: u64) -> Taken {
        let count = count.min(self.count - first);
        Taken { nodes: self.nodes.narrow(0, first as i64, count as i64), count, ..*self }
    }
}

/// All nodes of a search: columns of one number each, in the order in which they were stored, and a table of their hashes.
/// Every move costs 1.
pub(in crate::search) struct DeviceNodes<'a> {
    parts: MutexGuard<'a, EngineParts>,
    lambda: f64,
    /// The nodes stored; the columns have capacity for more.
    count: i64,
    /// `nodes × cells`.
    rows: Tensor,
    hashes: Tensor,
    /// The path cost, i64.
    costs: Tensor,
    /// The cost-to-go, f32.
    estimates: Tensor,
    /// f, f32; infinite for nodes that are not open.
    priorities: Tensor,
    /// The parent, -1 for the start, and the move from there, i64.
    parents: Tensor,
    actions: Tensor,
    /// The node of each slot, -1 for none: a hash table with open addressing.
    table: Tensor,
    /// The hashes of the states that were counted without being stored.
    counted: Tensor,
    chunk: Chunk,
    /// The least cost-to-go so far, and the path cost of its node.
    pub(in crate::search) nearest: Option<(f32, Cost)>,
}

impl DeviceEngine {
    /// The nodes of a search that weighs the path cost with λ: the start alone.
    ///
    /// # Errors
    /// If the device fails, or its memory is full.
    pub(in crate::search) fn nodes(&self, row: &[u8], lambda: f32) -> Result<DeviceNodes<'_>, HeuristicError> {
        let parts = self.parts();
        let (mut nodes, numbers) = on_device(|| {
            let device = parts.network.device();
            let row = Tensor::from_slice(row).view([1, -1]).to_device(device);
            let numbers = |kind| Tensor::zeros([0], (kind, device));
            let mut nodes = DeviceNodes {
                lambda: f64::from(lambda),
                count: 0,
                rows: row.narrow(0, 0, 0),
                hashes: numbers(Kind::Int64),
                costs: numbers(Kind::Int64),
                estimates: numbers(Kind::Float),
                priorities: numbers(Kind::Float),
                parents: numbers(Kind::Int64),
                actions: numbers(Kind::Int64),
                table: numbers(Kind::Int64),
                counted: numbers(Kind::Int64),
                chunk: Chunk(parts.network.chunk() as i64),
                nearest: None,
                parts,
            };
            let zero = Tensor::zeros([1], (Kind::Int64, device));
            let hashes = nodes.parts.moves.hashes(&row);
            let start = [hashes, zero.shallow_clone(), &zero - 1, zero];
            let estimates = nodes.parts.network.evaluate(&row, false).0.clamp_min(0.0);
            let numbers = nodes.append(&start, &row, &estimates);
            (nodes, numbers)
        })?;
        nodes.note_nearest(numbers).map(|()| nodes)
    }
}

/// Runs operations of libtorch; if memory is short, the limit of memory is reached.
fn within_memory<T>(run: impl FnOnce() -> T) -> Result<T, Interrupt> {
    caught(|| no_grad(run)).map_err(|message| match is_out_of_memory(&message) {
        true => Interrupt::Limit(Limit::Memory),
        false => HeuristicError(message).into(),
    })
}

impl DeviceNodes<'_> {
    /// The number of nodes.
    pub(in crate::search) fn len(&self) -> u64 {
        self.count as u64
    }

    /// Memory on the host, in bytes.
    pub(in crate::search) fn host_bytes(&self) -> u64 {
        if self.rows.device().is_cuda() { 0 } else { self.bytes() }
    }

    /// Nodes that are expanded at a time.
    pub(in crate::search) fn at_once(&self) -> u64 {
        let is_cuda = self.rows.device().is_cuda();
        let children = if is_cuda { CHILDREN_AT_ONCE_ON_CUDA } else { CHILDREN_AT_ONCE_ON_CPU };
        (children / self.parts.moves.count.max(1)).max(1) as u64
    }

    /// Whether they take half of a GPU's memory: the network and the children of a step need space, too.
    pub(in crate::search) fn are_too_many(&self) -> bool {
        self.rows.device().is_cuda() && self.parts.memory.is_some_and(|memory| self.bytes() > memory / 2)
    }

    /// Memory on the device, in bytes, also while the capacity doubles: one column after the other is copied, the rows first.
    fn bytes(&self) -> u64 {
        let cells = self.rows.size()[1];
        (self.count * (2 * (cells + 4 * 8 + 2 * 4 + 8 * SLOTS_PER_NODE) + cells)) as u64
    }

    /// States within this many moves of the goals are known.
    pub(in crate::search) fn near_depth(&self) -> u32 {
        self.parts.near_goals.depth
    }

    /// Takes the `n` open nodes of least priority, or all; `None` if none is open.
    ///
    /// # Errors
    /// If the device fails, or its memory is full.
    pub(in crate::search) fn take(&mut self, n: usize) -> Result<Option<Taken>, Interrupt> {
        within_memory(|| {
            if self.count == 0 {
                return None;
            }
            let n = i64::try_from(n.max(1)).unwrap_or(i64::MAX).min(self.count);
            let (priorities, nodes) = self.stored(&self.priorities).topk(n, 0, false, true);
            let is_open = priorities.isfinite();
            let (least_f, count) = (host_values(&priorities.narrow(0, 0, 1))[0], count_of(&is_open));
            let nodes = nodes.narrow(0, 0, count);
            let _ = self.priorities.index_fill_(0, &nodes, f64::INFINITY);
            (count > 0).then_some(Taken { nodes, count: count as u64, least_f })
        })
    }

    /// Whether any node is open.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn has_open(&self) -> Result<bool, HeuristicError> {
        on_device(|| self.open_count() > 0)
    }

    fn open_count(&self) -> i64 {
        count_of(&self.stored(&self.priorities).isfinite())
    }

    /// Puts nodes back into the open list.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn put_back(&mut self, taken: &Taken) -> Result<(), HeuristicError> {
        on_device(|| self.open(&taken.nodes))
    }

    /// Makes the children of nodes. Leaves out a child whose state is stored at no greater cost. Returns the children near the
    /// goals apart.
    ///
    /// # Errors
    /// If the device fails, or its memory is full.
    pub(in crate::search) fn expand(&self, taken: &Taken) -> Result<StepChildren, Interrupt> {
        within_memory(|| {
            let moves = self.parts.moves.count;
            let rows = self.rows.index_select(0, &taken.nodes);
            let hashes = self.parts.moves.changes_hashes().then(|| self.hashes.index_select(0, &taken.nodes));
            let (hashes, legal) = self.parts.moves.child_hashes(&rows, hashes.as_ref());
            let costs = (self.costs.index_select(0, &taken.nodes) + 1).repeat_interleave_self_int(moves, 0, None);
            let (known, is_known) = self.find(&hashes);
            let is_in = is_known.logical_not().logical_or(&costs.less_tensor(&self.costs.index_select(0, &known)));
            let generated = legal.as_ref().map_or(hashes.size()[0], count_of) as u64;
            // `unique` keeps the first child of each state, so the cheapest comes first.
            let children = both(is_in, legal.as_ref()).nonzero().flatten(0, 1);
            let (_, order) = costs.index_select(0, &children).sort_stable(true, 0, false);
            let children = children.index_select(0, &order);
            let (children, hashes) = unique(&children, &hashes.index_select(0, &children));
            let costs = costs.index_select(0, &children);
            let at = children.divide_scalar_mode(moves, "floor");
            let (parents, actions) = (taken.nodes.index_select(0, &at), children.remainder(moves));
            let (is_near, depths) = self.parts.near_goals.depths(&hashes);
            let best = nearest(&is_near, |near| (&costs + depths).index_select(0, near), MAX_HITS);
            let [ends, lasts] = [&parents, &actions].map(|column| host_numbers::<i64>(&column.index_select(0, &best)));
            let path = |(parent, action)| [self.path_to(parent), vec![action as Move]].concat();
            let near = ends.into_iter().zip(lasts).map(path).collect();
            let near_hashes = hashes.index_select(0, &best);
            let [known, is_known] = [known, is_known].map(|all| all.index_select(0, &children));
            let is_far = is_near.logical_not();
            let again = is_known.logical_and(&is_far).nonzero().flatten(0, 1);
            let again = [&known, &costs, &parents, &actions].map(|all| all.index_select(0, &again));
            let new = is_known.logical_not().logical_and(&is_far).nonzero().flatten(0, 1);
            let new = [hashes, costs, parents, actions].map(|all| all.index_select(0, &new));
            StepChildren { generated, near, near_hashes, far: FarChildren { again, new } }
        })
    }

    /// Counts the new states among children that are not stored because a solution is known; each state counts once.
    ///
    /// # Errors
    /// If the device fails, or its memory is full.
    pub(in crate::search) fn count_new(&mut self, children: &StepChildren) -> Result<u64, Interrupt> {
        within_memory(|| {
            let before = self.counted.size()[0];
            let all = Tensor::cat(&[&self.counted, &children.near_hashes, &children.far.new[0]], 0);
            self.counted = unique(&all, &all).0;
            (self.counted.size()[0] - before) as u64
        })
    }

    /// Takes in the children that cost less than `too_costly`: opens the stored states again, makes and evaluates the new ones
    /// in chunks, and stores them. `reached` is asked before each chunk, with what is evaluated.
    ///
    /// # Errors
    /// At a limit, with the rest not stored; if the device fails, or an estimate is not finite.
    pub(in crate::search) fn store(
        &mut self,
        children: &FarChildren,
        too_costly: Cost,
        evaluated: &mut u64,
        mut reached: impl FnMut(u64) -> Option<Limit>,
    ) -> Result<(), Interrupt> {
        let new = within_memory(|| {
            self.reach_again(cheaper(&children.again, too_costly));
            cheaper(&children.new, too_costly)
        })?;
        let (count, mut first) = (new[0].size()[0], 0);
        while first < count {
            stop_at(reached(*evaluated))?;
            let length = self.chunk.0.min(count - first);
            let chunk = new.each_ref().map(|all| all.narrow(0, first, length));
            let [_, _, parents, actions] = &chunk;
            let made = caught(|| {
                no_grad(|| {
                    let rows = self.parts.moves.children(&self.rows.index_select(0, parents), actions);
                    (self.parts.network.evaluate(&rows, false).0.clamp_min(0.0), rows)
                })
            });
            match made {
                Ok((estimates, rows)) => {
                    *evaluated += length as u64;
                    first += length;
                    match within_memory(|| self.append(&chunk, &rows, &estimates)) {
                        Ok(nearest) => self.note_nearest(nearest)?,
                        Err(interrupt) => {
                            // Without what was entered of the chunk.
                            on_device(|| self.enter_all(self.capacity()))?;
                            return Err(interrupt);
                        }
                    }
                }
                Err(message) => self.chunk.halve(length, message)?,
            }
        }
        Ok(())
    }

    /// Gives nodes their new path costs, parents and moves, and puts them into the open list.
    fn reach_again(&mut self, [nodes, costs, parents, actions]: [Tensor; 4]) {
        for (column, numbers) in [(&mut self.costs, costs), (&mut self.parents, parents), (&mut self.actions, actions)]
        {
            let _ = column.index_copy_(0, &nodes, &numbers);
        }
        self.open(&nodes);
    }

    /// Notes the least estimate of a chunk, and its path cost; refuses one that is not finite.
    fn note_nearest(&mut self, [sum, least, cost]: [f32; 3]) -> Result<(), HeuristicError> {
        check_estimate(sum)?;
        if self.nearest.is_none_or(|(before, _)| least < before) {
            self.nearest = Some((least, cost as Cost));
        }
        Ok(())
    }

    /// Stores new nodes with their estimates; returns the sum of these, the least, and its path cost.
    fn append(&mut self, new: &[Tensor; 4], rows: &Tensor, estimates: &Tensor) -> [f32; 3] {
        let [hashes, costs, parents, actions] = new;
        let more = rows.size()[0];
        if self.count + more > self.capacity() {
            self.reserve((self.count + more).max(MIN_CAPACITY) as u64);
        }
        let first = self.count;
        let priorities = costs * self.lambda + estimates;
        let numbers = [rows, hashes, costs, estimates, &priorities, parents, actions];
        for (column, numbers) in self.columns().into_iter().zip(numbers) {
            column.narrow(0, first, more).copy_(numbers);
        }
        let nodes = Tensor::arange_start(first, first + more, (Kind::Int64, self.table.device()));
        self.enter(hashes, &nodes);
        let (least, at) = estimates.min_dim(0, true);
        let cost = costs.index_select(0, &at).to_kind(Kind::Float);
        let numbers = host_values(&Tensor::cat(&[estimates.sum(Kind::Float).view([1]), least, cost], 0));
        self.count += more;
        [numbers[0], numbers[1], numbers[2]]
    }

    /// The nodes that all columns have space for: those of the last one, which grows last.
    fn capacity(&self) -> i64 {
        self.actions.size()[0]
    }

    /// Gives the columns capacity for at least as many nodes, a power of two, and rebuilds the table.
    fn reserve(&mut self, nodes: u64) {
        let (count, capacity) = (self.count, nodes.next_power_of_two() as i64);
        for column in self.columns() {
            let mut size = column.size();
            size[0] = capacity;
            let wider = Tensor::zeros(&size, (column.kind(), column.device()));
            wider.narrow(0, 0, count).copy_(&column.narrow(0, 0, count));
            *column = wider;
        }
        self.enter_all(capacity);
    }

    /// Enters all nodes into a new table for a capacity. The old one is freed before.
    fn enter_all(&mut self, capacity: i64) {
        let slots = (SLOTS_PER_NODE * capacity).max(2) as u64;
        let options = (Kind::Int64, self.hashes.device());
        self.table = Tensor::empty([0], options);
        self.table = Tensor::full([slots.next_power_of_two() as i64], -1, options);
        let hashes = self.stored(&self.hashes);
        self.enter(&hashes, &Tensor::arange(self.count, (Kind::Int64, hashes.device())));
    }

    fn columns(&mut self) -> [&mut Tensor; 7] {
        let DeviceNodes { rows, hashes, costs, estimates, priorities, parents, actions, .. } = self;
        [rows, hashes, costs, estimates, priorities, parents, actions]
    }

    /// The part of a column that is in use.
    fn stored(&self, column: &Tensor) -> Tensor {
        column.narrow(0, 0, self.count)
    }

    /// Enters nodes into the table by linear probing. If several want one slot, the last gets it, whatever the order in which a
    /// device writes them.
    fn enter(&mut self, hashes: &Tensor, nodes: &Tensor) {
        let (mut slots, mut nodes) = (self.slots(hashes), nodes.shallow_clone());
        while nodes.size()[0] > 0 {
            let is_free = self.table.index_select(0, &slots).less(0);
            let entries = nodes.where_scalarother(&is_free, -1);
            let _ = self.table.internal_scatter_reduce_(0, &slots, &entries, "amax", true);
            let is_entered = self.table.index_select(0, &slots).eq_tensor(&nodes);
            let left = is_entered.logical_not().nonzero().flatten(0, 1);
            slots = self.next_slots(&slots.index_select(0, &left));
            nodes = nodes.index_select(0, &left);
        }
    }

    fn slots(&self, hashes: &Tensor) -> Tensor {
        hashes.bitwise_right_shift_tensor_scalar(20).bitwise_and(self.table.size()[0] - 1)
    }

    fn next_slots(&self, slots: &Tensor) -> Tensor {
        (slots + 1).bitwise_and(self.table.size()[0] - 1)
    }

    /// The nodes with these hashes (undefined for misses), and whether each was found.
    fn find(&self, hashes: &Tensor) -> (Tensor, Tensor) {
        let options = (Kind::Int64, hashes.device());
        let mut left = Tensor::arange(hashes.size()[0], options);
        let (mut slots, mut wanted) = (self.slots(hashes), hashes.shallow_clone());
        let (mut nodes, mut is_known) = (left.zeros_like(), left.zeros_like().to_kind(Kind::Bool));
        while left.size()[0] > 0 {
            let found = self.table.index_select(0, &slots);
            let (is_taken, found) = (found.ge(0), found.clamp_min(0));
            let is_same = is_taken.logical_and(&self.hashes.index_select(0, &found).eq_tensor(&wanted));
            let _ = nodes.index_copy_(0, &left, &found);
            let _ = is_known.index_copy_(0, &left, &is_same);
            let goes_on = is_taken.logical_and(&is_same.logical_not()).nonzero().flatten(0, 1);
            left = left.index_select(0, &goes_on);
            wanted = wanted.index_select(0, &goes_on);
            slots = self.next_slots(&slots.index_select(0, &goes_on));
        }
        (nodes, is_known)
    }

    /// Puts nodes into the open list.
    fn open(&mut self, nodes: &Tensor) {
        let costs = self.costs.index_select(0, nodes) * self.lambda;
        let priorities = (costs + self.estimates.index_select(0, nodes)).to_kind(Kind::Float);
        let _ = self.priorities.index_copy_(0, nodes, &priorities);
    }

    /// The moves from the start to a node.
    fn path_to(&self, node: i64) -> Vec<Move> {
        let (mut node, mut moves) = (node, Vec::new());
        loop {
            let [parent, action] = [&self.parents, &self.actions].map(|column| column.narrow(0, node, 1));
            let numbers: Vec<i64> = host_numbers(&Tensor::cat(&[parent, action], 0));
            if numbers[0] < 0 {
                break;
            }
            moves.push(numbers[1] as Move);
            node = numbers[0];
        }
        moves.reverse();
        moves
    }

    /// Prunes the worse half of the open nodes, and all nodes that lead to none of the others; returns how many.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::search) fn prune_open(&mut self) -> Result<u64, HeuristicError> {
        on_device(|| {
            let before = self.count;
            let open = self.open_count();
            if open < 2 {
                return 0;
            }
            let (_, mut nodes) = self.stored(&self.priorities).topk(open / 2, 0, false, false);
            let mut stays = Tensor::zeros([self.count], (Kind::Bool, self.table.device()));
            while nodes.size()[0] > 0 {
                let _ = stays.index_fill_(0, &nodes, 1);
                let parents = self.parents.index_select(0, &nodes);
                let parents = parents.masked_select(&parents.ge(0));
                let parents = parents.masked_select(&stays.index_select(0, &parents).logical_not());
                nodes = unique(&parents, &parents).0;
            }
            let kept = stays.nonzero().flatten(0, 1);
            let numbers = stays.cumsum(0, Kind::Int64) - 1;
            for column in self.columns() {
                *column = column.index_select(0, &kept);
            }
            self.count = kept.size()[0];
            let parents = numbers.index_select(0, &self.parents.clamp_min(0));
            self.parents = parents.where_self(&self.parents.ge(0), &self.parents);
            self.enter_all(self.count);
            (before - self.count) as u64
        })
    }
}
