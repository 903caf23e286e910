//! Proof that no shorter solution exists: exhaustive search forward against the [`Perimeter`] (Dillenburg and Nelson 1994;
//! BIDA*, Manzini 1995).
//!
//! - Lengths are excluded one after the other, the least first. With a perimeter of depth D, for a length T every
//!   sequence of T − D moves is made from the start, commuting moves in one order only, and its end is looked up. An
//!   end in the perimeter gives a shortest solution; without one, no solution has that length.
//! - The states of an early layer are the roots of subtrees, and each core takes the next one when it is free. Only one
//!   of several symmetric images is a root.
//! - A heuristic orders the subtrees, so that a shorter solution is met earlier; this costs one evaluation per root.
//!   Without one, they are searched as they come.
//! - The search before the proof ends early at a solution whose proof takes no longer than looking on would.
//! - A budget, in move sequences, limits the proof. A proof that fits is made whole. Otherwise the first 3 % of the
//!   sequences of the greatest length are made, if they fit: a solution that is not among them is seldom found soon.
//! - Where nothing is proven and time is left, wider searches look for something shorter, each twice as wide as the one
//!   before; a shorter solution begins a new proof.

use super::chunk_queue::ChunkQueue;
use super::exhaustive::{Exhaustive, sequences};
use super::limits::{Interrupt, stop_at, unless_failed};
use super::perimeter::Perimeter;
use super::result::{Proof, ProofProgress};
use super::{End, Incumbent, Limit, Progress, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::heuristic::Query;
use crate::puzzle::{Cost, Move, Puzzle};
use crate::workers::{Own, Work, beside, cores};
use hashbrown::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Moves of a subtree: 73,000 sequences on the cube, some milliseconds.
const SUBTREE_MOVES: usize = 5;
/// The most moves of an early layer: 879,000 states on the cube.
const MAX_EARLY_MOVES: usize = 6;
/// Below this number of sequences, evaluating the roots does not pay.
const MIN_ORDERED: u64 = 4_000_000;
/// The part of the greatest length's sequences that are made if not all fit. In the network's order of an early layer,
/// the state on a shortest path is among the first 3 % for half of all cubes.
const FIRST_PART: u64 = 32;
/// Sequences that are made in two or three seconds on two cores.
const QUICK_PROOF: u64 = 100_000_000;
/// More doublings of the width than any run makes.
const MAX_DOUBLINGS: u32 = 30;
/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// Makes a search that is wider by a factor.
pub type Widen<P> = Box<dyn Fn(usize) -> Box<dyn Search<P>> + Send + Sync>;

/// A search, and then the proof that nothing shorter exists, or a shorter solution.
pub struct Prove<P: Puzzle> {
    /// The search that gives the first solution; without one, the proof starts from nothing.
    pub search: Option<Box<dyn Search<P>>>,
    /// The perimeter; if it is empty, the search is not followed by a proof.
    pub perimeter: Perimeter<P::State>,
    /// Approximate limit in move sequences; `None` is unlimited. After a solution it shrinks to the number that can still
    /// help: see the module.
    pub budget: Option<u64>,
    /// Makes the wider searches that use up the time limit.
    pub widen: Option<Widen<P>>,
}

impl<P: Puzzle> Prove<P> {
    /// Counts of the move sequences shorter than a solution: the longest, and the rest.
    fn needed(&self, puzzle: &P, cost: Cost) -> [u64; 2] {
        let step = self.perimeter.step();
        let moves = cost.saturating_sub(step + self.perimeter.depth()) as usize;
        let count = |moves| sequences(&self.perimeter, moves, puzzle.move_count()).last().copied().unwrap_or(u64::MAX);
        let others = (1..moves).rev().skip(step as usize - 1).step_by(step as usize);
        [count(moves), others.map(count).fold(0, u64::saturating_add)]
    }

    /// The greatest cost of a solution with so quick a proof that the search need not look for a better one.
    fn good_enough(&self, puzzle: &P, nodes: Option<u64>) -> Option<Cost> {
        let budget = QUICK_PROOF.min(self.budget.unwrap_or(u64::MAX)).min(nodes.unwrap_or(u64::MAX));
        if self.perimeter.is_empty() || budget == 0 {
            return None;
        }
        let least = self.perimeter.depth() + self.perimeter.step();
        let is_quick = |cost: &Cost| {
            let [longest, others] = self.needed(puzzle, *cost);
            longest.saturating_add(others) <= budget
        };
        (least..least + QUICK_PROOF.ilog2()).take_while(is_quick).last()
    }

    /// The budget after a solution of this cost; `None`: unlimited.
    fn budget_after(&self, puzzle: &P, cost: Option<Cost>) -> Option<u64> {
        let Some((budget, cost)) = self.budget.zip(cost) else { return self.budget };
        let [longest, others] = self.needed(puzzle, cost);
        let (all, first) = (others.saturating_add(longest), others.saturating_add(longest / FIRST_PART));
        Some(match budget {
            _ if all <= budget => budget,
            _ if first <= budget => first,
            _ => 0,
        })
    }
}

impl<P: Puzzle> Search<P> for Prove<P> {
    fn solve(&self, mut task: Task<'_, '_, P>) -> Result<SearchResult> {
        let first = match &self.search {
            Some(search) => {
                let Task { puzzle, start, heuristic, control } = task.again();
                let limits = control.limits;
                let good_enough = self.good_enough(puzzle, limits.nodes);
                let mut control = control.child(limits, None, |incumbent| Some(incumbent.clone()));
                control.good_enough = good_enough;
                search.run(puzzle, start, heuristic, &mut control)?
            }
            None => SearchResult::new(End::NoSolution, None, false, Stats::default()),
        };
        if task.control.exchange.rank() > 0 {
            return Ok(first); // only rank 0 makes the proof
        }
        let mut best = self.prove(first, task.again())?;
        let Some(widen) = self.widen.as_ref().filter(|_| task.control.exchange.is_alone()) else { return Ok(best) };
        for doublings in 1..MAX_DOUBLINGS {
            let is_decided = best.proven_optimal || best.end == End::NoSolution;
            let Task { puzzle, start, heuristic, control } = task.again();
            if is_decided || control.limits.time.is_none() || control.reached(&|| 0).is_some() {
                break;
            }
            let limits = control.limits.after(best.stats.generated);
            let wider = {
                let mut inner = control.child(&limits, best.cost, |incumbent| Some(incumbent.clone()));
                widen(1 << doublings).run(puzzle, start, heuristic, &mut inner)
            };
            let wider = match wider {
                Err(error) if best.cost.is_some() => {
                    log::warn!("{error}: the search ends with what it has found"); // a wider layer may not fit
                    break;
                }
                wider => wider?,
            };
            let stats = best.stats.and(&wider.stats);
            let can_go_on = matches!(wider.end, End::Solved | End::Limit(Limit::Width | Limit::Time));
            best = if wider.cost.is_some_and(|cost| best.cost.is_none_or(|before| cost < before)) {
                let before = best.proof;
                let mut shorter = self.prove(SearchResult { stats, ..wider }, task.again())?;
                // Keep the lengths that an earlier proof excluded.
                shorter.proof =
                    shorter.proof.filter(|now| before.is_none_or(|before| now.excluded >= before.excluded)).or(before);
                shorter
            } else {
                let end = if best.cost.is_some() { best.end } else { wider.end };
                SearchResult { stats, end, ..best }
            };
            if !can_go_on {
                break;
            }
        }
        Ok(best)
    }
}

impl<P: Puzzle> Prove<P> {
    /// Proves the solution of a search, or finds a shorter one, within the budget.
    fn prove(&self, first: SearchResult, mut task: Task<'_, '_, P>) -> Result<SearchResult> {
        let is_decided = first.proven_optimal || (first.end == End::NoSolution && self.search.is_some());
        if is_decided || task.control.was_stopped() || self.perimeter.is_empty() {
            return Ok(first);
        }
        let budget = self.budget_after(task.puzzle, first.cost);
        if budget == Some(0) {
            return Ok(first);
        }
        let started = task.control.seconds();
        let mut run = ProofRun {
            task: task.again(),
            perimeter: &self.perimeter,
            orders_roots: self.search.is_some(),
            budget,
            best: first.moves.zip(first.cost).map(|(moves, cost)| Incumbent { moves, cost }),
            stats: first.stats,
            excluded: None,
            current: None,
            sequences: 0,
        };
        let (proven, unsolved_end) = match unless_failed(run.run())? {
            Err(limit) => (false, End::Limit(limit)),
            Ok(proven) => (proven, first.end),
        };
        let proof = Proof {
            excluded: run.excluded,
            target: run.current.map(|(target, _)| target).filter(|_| !proven),
            share: run.current.map_or(0.0, |(_, share)| share),
            sequences: run.sequences,
            seconds: run.task.control.seconds() - started,
        };
        Ok(SearchResult { proof: Some(proof), ..SearchResult::new(unsolved_end, run.best, proven, run.stats) })
    }
}

/// A running proof.
struct ProofRun<'a, 'c, P: Puzzle> {
    task: Task<'a, 'c, P>,
    perimeter: &'a Perimeter<P::State>,
    /// Whether the heuristic orders the subtrees.
    orders_roots: bool,
    /// Sequences that may still be made; `None`: unlimited.
    budget: Option<u64>,
    best: Option<Incumbent>,
    stats: Stats,
    /// No solution costs this much or less.
    excluded: Option<Cost>,
    /// The cost that is being excluded, and the share of its sequences that were made.
    current: Option<(Cost, f64)>,
    sequences: u64,
}

/// The root of a subtree: a state of an early layer.
#[derive(Clone, Copy)]
struct ProofRoot<S> {
    state: S,
    /// The moves that lead to it; as many count as its layer has.
    moves: [Move; MAX_EARLY_MOVES],
    /// The last of them, if the moves that may follow depend on it.
    last: Option<Move>,
}

impl<P: Puzzle> ProofRun<'_, '_, P> {
    /// Excludes one cost after the other; gives whether the best solution is proven optimal.
    fn run(&mut self) -> Result<bool, Interrupt> {
        let Task { puzzle, start, .. } = self.task;
        if let Some(moves) = self.perimeter.path_to_goal(puzzle, start) {
            self.take(moves);
            return Ok(true);
        }
        let (depth, step) = (self.perimeter.depth(), self.perimeter.step());
        let mut target = depth + 1;
        // If the parity of the length is known, half of the lengths need no search.
        let known = self.best.as_ref().map(|best| best.cost).or(puzzle.length_parity(start));
        if let Some(known) = known.filter(|_| step == 2) {
            target += (target + known) % 2;
        }
        let step = if known.is_some() { step } else { 1 };
        self.excluded = Some(target - 1);
        while self.best.as_ref().is_none_or(|best| target < best.cost) {
            if self.perimeter.is_whole() {
                return Ok(false); // outside, and no solution: the classical searches say so
            }
            self.current = Some((target, 0.0));
            if let Some(moves) = self.exclude(target, (target - depth) as usize)? {
                self.take(moves);
                return Ok(true);
            }
            if self.budget == Some(0) {
                return Ok(false);
            }
            self.excluded = Some(target);
            target += step;
        }
        Ok(true)
    }

    fn take(&mut self, moves: Vec<Move>) {
        let incumbent = Incumbent { cost: moves.len() as Cost, moves };
        if self.best.as_ref().is_none_or(|best| incumbent.cost < best.cost) {
            self.task.control.report_incumbent(&incumbent);
            self.best = Some(incumbent);
        }
    }

    /// Looks for a solution that reaches the perimeter after exactly `moves` moves.
    fn exclude(&mut self, target: Cost, moves: usize) -> Result<Option<Vec<Move>>, Interrupt> {
        let early = moves.saturating_sub(SUBTREE_MOVES).max(moves.min(3)).min(MAX_EARLY_MOVES);
        let rest = moves - early;
        let mut roots = self.roots(early)?;
        let counts = sequences(self.perimeter, rest, self.task.puzzle.move_count());
        let size = |root: &ProofRoot<P::State>| counts[root.last.map_or(counts.len() - 1, usize::from)];
        let all: u64 = roots.iter().map(size).sum();
        if self.orders_roots && all >= MIN_ORDERED {
            self.order(&mut roots)?;
        }
        let nodes_left = self.task.control.nodes_left(self.stats.generated);
        let (mut budget, mut nodes) = (self.budget.unwrap_or(u64::MAX), nodes_left);
        let fits = |root: &&ProofRoot<P::State>| {
            let size = size(root);
            let fits = budget > 0 && size <= nodes;
            if fits {
                (budget, nodes) = (budget.saturating_sub(size), nodes - size);
            }
            fits
        };
        let fitting = roots.iter().take_while(fits).count();
        let is_whole = fitting == roots.len();
        let nodes_are_short = !is_whole && budget > 0;
        self.budget = if is_whole { self.budget.map(|_| budget) } else { Some(0) };
        let found = self.search_all(&roots[..fitting], rest, all, target)?;
        stop_at((found.is_none() && nodes_are_short).then_some(Limit::Nodes))?;
        Ok(found.map(|(at, path)| [&roots[at].moves[..early], &path].concat()))
    }

    /// Makes the layers up to `moves` moves, with one state per class; returns the last.
    fn roots(&mut self, moves: usize) -> Result<Vec<ProofRoot<P::State>>, Interrupt> {
        let Task { puzzle, start, ref control, .. } = self.task;
        let symmetries = puzzle.symmetries();
        let class = |state: &P::State| symmetries.as_ref().map_or(*state, |symmetries| symmetries.class(state).state);
        let mut roots = vec![ProofRoot { state: *start, moves: [0; MAX_EARLY_MOVES], last: None }];
        for layer in 0..moves {
            let mut indices: HashMap<P::State, usize, foldhash::fast::FixedState> = HashMap::default();
            let mut next: Vec<ProofRoot<P::State>> = Vec::new();
            for (i, root) in roots.iter().enumerate() {
                if i.is_multiple_of(1 << 12) {
                    stop_at(control.reached(&|| (next.len() * 3 * size_of::<ProofRoot<P::State>>()) as u64))?;
                }
                let most = self.stats.generated + (next.len() + puzzle.move_count()) as u64;
                stop_at(control.too_many(most).then_some(Limit::Nodes))?;
                for &action in self.perimeter.following(root.last) {
                    let Some(child) = puzzle.apply(&root.state, action) else { continue };
                    let index = *indices.entry(class(&child)).or_insert(next.len());
                    match next.get_mut(index) {
                        // Reached in two ways, or an image of another: any move may come next.
                        Some(known) => known.last = None,
                        None => {
                            let mut moves = root.moves;
                            moves[layer] = action;
                            next.push(ProofRoot { state: child, moves, last: Some(action) });
                        }
                    }
                }
            }
            self.stats.generated += next.len() as u64;
            roots = next;
        }
        Ok(roots)
    }

    /// Sorts the roots by their estimates.
    fn order(&mut self, roots: &mut Vec<ProofRoot<P::State>>) -> Result<(), Interrupt> {
        let mut values = Vec::with_capacity(roots.len());
        let states: Vec<P::State> = roots.iter().map(|root| root.state).collect();
        let Task { heuristic, control, .. } = self.task.again();
        let mut queue = ChunkQueue::new(heuristic, Query::Values);
        while let Some(estimates) = queue.finish(&states, &mut self.stats.evaluated)? {
            stop_at(control.reached(&|| 0))?;
            values.extend(estimates.values);
        }
        drop(queue);
        assert_eq!(values.len(), roots.len(), "a heuristic gives each state a value");
        // Values are never negative, and the sum makes -0 to 0: their bits have their order.
        let mut order: Vec<(u32, u32)> = values.iter().map(|value| (value + 0.0).to_bits()).zip(0..).collect();
        order.sort_unstable();
        *roots = order.into_iter().map(|(_, i)| roots[i as usize]).collect();
        Ok(())
    }

    /// Searches subtrees on all cores. Gives the first, in their order, with a solution: its position, and the path from its
    /// root.
    fn search_all(
        &mut self,
        roots: &[ProofRoot<P::State>],
        rest: usize,
        all: u64,
        target: Cost,
    ) -> Result<Option<(usize, Vec<Move>)>, Interrupt> {
        let cores = cores().min(roots.len()).max(1);
        let next = AtomicUsize::new(0);
        // Subtrees from this one on are not needed any more.
        let until = AtomicUsize::new(roots.len());
        let generated = AtomicU64::new(0);
        let found: Mutex<Option<(usize, Vec<Move>)>> = Mutex::new(None);
        let (puzzle, perimeter) = (self.task.puzzle, self.perimeter);
        let work = || {
            let root = |at: usize| (&roots[at].state, roots[at].last);
            Exhaustive::new(puzzle, perimeter, &until).search_roots(&next, root, rest, |at, count, path| {
                generated.fetch_add(count, Ordering::Relaxed);
                let Some(path) = path else { return };
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if found.as_ref().is_none_or(|(other, _)| at < *other) {
                    *found = Some((at, path));
                }
            });
        };
        let started = Instant::now();
        let before = self.stats.generated;
        let mut ended = None;
        let jobs = (0..cores).map(|_| Box::new(&work) as Work<'_>).collect();
        let wait: Own<'_> = Box::new(|all_ended| {
            let mut reported = Instant::now();
            while !all_ended() {
                thread::sleep(Duration::from_micros(200));
                if reported.elapsed() < REPORT_INTERVAL {
                    continue;
                }
                reported = Instant::now();
                let now = generated.load(Ordering::Relaxed);
                self.stats.generated = before + now;
                let share = now as f64 / all.max(1) as f64;
                let seconds_left =
                    started.elapsed().as_secs_f64() * (all.saturating_sub(now)) as f64 / now.max(1) as f64;
                let (best, excluded) = (self.best.as_ref().map(|best| best.cost), self.excluded);
                let proof = Some(ProofProgress { best, excluded, target, share, seconds_left });
                self.task.control.report(&Progress { stats: self.stats, best: None, least_f: None, proof });
                let control = &self.task.control;
                ended = control.reached(&|| 0).or(control.too_many(self.stats.generated).then_some(Limit::Nodes));
                if ended.is_some() {
                    until.store(0, Ordering::Relaxed);
                    break;
                }
            }
        });
        beside(jobs, wait);
        let now = generated.into_inner();
        self.stats.generated = before + now;
        self.sequences += now;
        self.current = Some((target, now as f64 / all.max(1) as f64));
        match (found.into_inner().unwrap_or_else(PoisonError::into_inner), ended) {
            (None, Some(limit)) => Err(Interrupt::Limit(limit)),
            (found, _) => Ok(found),
        }
    }
}
