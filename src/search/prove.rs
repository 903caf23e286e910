//! Proof that no shorter solution exists: exhaustive search forward against the [`Perimeter`] (Dillenburg and Nelson 1994;
//! BIDA*, Manzini 1995).
//!
//! - Lengths are excluded one after the other, the least first. Every sequence of so many moves less than a length as the
//!   perimeter is deep is made from the start, but for copies by moves that commute, and its end is looked up. If one
//!   reaches the perimeter, it is a shortest solution; if none does, there is no solution of that length.
//! - The states of an early layer are the roots of subtrees, which all cores take one after the other. Of states that are
//!   images of each other under the puzzle's symmetries, one is a root.
//! - A heuristic gives the order of the subtrees: a shorter solution is met earlier, and what it costs is one evaluation a
//!   root. Without one, they are taken as they come.
//! - Where the proof of an answer takes no longer than looking on would, the search before it ends with that answer.
//! - With a limit to the sequences, a proof that needs no more is made. Of one that needs more, the first 3 % of the
//!   sequences of the greatest length are made, if the limit allows for them: what is not found there is seldom found soon.

use super::chunk_queue::ChunkQueue;
use super::exhaustive::{Exhaustive, sequences};
use super::limits::Interrupt;
use super::perimeter::Perimeter;
use super::result::{Proof, ProofProgress};
use super::{Control, End, Incumbent, Limit, Progress, Search, SearchResult, Stats};
use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::workers::{Job, Own, beside, cores};
use hashbrown::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Moves of a subtree: 73,000 sequences on the cube, some milliseconds.
const SUBTREE: usize = 5;
/// The most moves of an early layer: 879,000 states on the cube.
const MOST_EARLY: usize = 6;
/// Fewer sequences than these are not worth an evaluation of their roots.
const WORTH_ORDER: u64 = 4_000_000;
/// Where not all sequences of a length may be made, one in so many is. In the network's order of an early layer, the state
/// that is on a shortest path is among the first 3 % for half of all cubes.
const FIRST: u64 = 32;
/// Sequences that are made in two or three seconds on two cores.
const SOON: u64 = 100_000_000;
/// Time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// A search, and then the proof that nothing shorter exists, or a shorter solution.
pub struct Prove<P: Puzzle> {
    /// The search that gives the first answer; without one, the proof starts from nothing.
    pub search: Option<Box<dyn Search<P>>>,
    /// The perimeter; where it is empty, nothing is added to the search.
    pub perimeter: Perimeter<P::State>,
    /// The most sequences, about; `None`: until it is proven. After an answer, fewer are made where they do not prove it, and
    /// none where even the most promising would be more.
    pub sequences: Option<u64>,
}

impl<P: Puzzle> Prove<P> {
    /// How many sequences there are that may be shorter than an answer: those of the greatest length, and all the others.
    fn needed(&self, puzzle: &P, cost: Cost) -> [u64; 2] {
        let step = self.perimeter.step();
        let moves = cost.saturating_sub(step + self.perimeter.depth()) as usize;
        let count = |moves| sequences(&self.perimeter, moves, puzzle.move_count()).last().copied().unwrap_or(u64::MAX);
        let others = (1..moves).rev().skip(step as usize - 1).step_by(step as usize);
        [count(moves), others.map(count).fold(0, u64::saturating_add)]
    }

    /// The greatest cost of an answer whose proof takes so few sequences that it is made at once: the search need not look for
    /// a better one.
    fn enough(&self, puzzle: &P, nodes: Option<u64>) -> Option<Cost> {
        let room = self.sequences.unwrap_or(SOON).min(SOON).min(nodes.unwrap_or(SOON));
        if self.perimeter.is_empty() || room == 0 {
            return None;
        }
        let inside = self.perimeter.depth() + self.perimeter.step();
        let all = |[longest, others]: [u64; 2]| longest.saturating_add(others);
        let is_soon = |cost: &Cost| all(self.needed(puzzle, *cost)) <= room;
        (inside..inside + SOON.ilog2()).take_while(is_soon).last()
    }

    /// The most sequences that are made after an answer; `None`: all.
    fn room(&self, puzzle: &P, cost: Option<Cost>) -> Option<u64> {
        let Some((most, cost)) = self.sequences.zip(cost) else { return self.sequences };
        let [longest, others] = self.needed(puzzle, cost);
        let all = others.saturating_add(longest);
        let some = others.saturating_add(longest / FIRST);
        Some(match most {
            _ if all <= most => most,
            _ if some <= most => some,
            _ => 0,
        })
    }
}

impl<P: Puzzle> Search<P> for Prove<P> {
    fn name(&self) -> &'static str {
        self.search.as_ref().map_or("exhaustive", |search| search.name())
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        let first = match &self.search {
            Some(search) => {
                let limits = control.limits();
                let enough = self.enough(puzzle, limits.nodes);
                let mut control = control.child(limits, None, |answer| Some(answer.clone())).with_enough(enough);
                search.run(puzzle, start, heuristic, &mut control)?
            }
            None => SearchResult::none(),
        };
        if control.exchange().rank() > 0 {
            return Ok(first); // what follows is the first rank's alone
        }
        let is_decided = first.proven_optimal || (first.end == End::NoSolution && self.search.is_some());
        if is_decided || control.was_stopped() || self.perimeter.is_empty() {
            return Ok(first);
        }
        let room = self.room(puzzle, first.cost);
        if room == Some(0) {
            return Ok(first);
        }
        let begun = control.seconds();
        let mut run = Run {
            puzzle,
            perimeter: &self.perimeter,
            start: *start,
            heuristic: self.search.is_some().then_some(heuristic),
            room,
            best: first.moves.zip(first.cost).map(|(moves, cost)| Incumbent { moves, cost }),
            stats: first.stats,
            excluded: None,
            current: None,
            sequences: 0,
        };
        let ended = run.run(control);
        let proven = match ended {
            Err(Interrupt::Failed(error)) => return Err(error),
            Err(Interrupt::Limit(_)) => false,
            Ok(proven) => proven,
        };
        let end = match (&run.best, ended) {
            (Some(_), _) => End::Solved,
            (None, Err(Interrupt::Limit(limit))) => End::Limit(limit),
            (None, _) => first.end,
        };
        let seconds = control.seconds();
        let proof = Proof {
            excluded: run.excluded,
            target: run.current.map(|(target, _)| target).filter(|_| !proven),
            share: run.current.map_or(0.0, |(_, share)| share),
            sequences: run.sequences,
            seconds: seconds - begun,
        };
        let (moves, cost) = run.best.map(|answer| (answer.moves, answer.cost)).unzip();
        let stats = Stats { seconds, ..run.stats };
        Ok(SearchResult { end, moves, cost, proven_optimal: proven, stats, proof: Some(proof) })
    }
}

/// A running proof.
struct Run<'a, P: Puzzle> {
    puzzle: &'a P,
    perimeter: &'a Perimeter<P::State>,
    start: P::State,
    heuristic: Option<&'a mut dyn Heuristic<P::State>>,
    /// How many sequences are left; `None`: as many as it takes.
    room: Option<u64>,
    best: Option<Incumbent>,
    stats: Stats,
    /// The greatest cost of which it is proven that there is no solution of it, nor of less.
    excluded: Option<Cost>,
    /// The cost that is being excluded, and the share of its sequences that were made.
    current: Option<(Cost, f64)>,
    sequences: u64,
}

/// The states of an early layer, and how they were reached.
struct Early<S> {
    /// Of each layer, for each state: its parent in the layer before, and the move. The last layer's states are the roots.
    behind: Vec<Vec<(u32, Move)>>,
    roots: Vec<Root<S>>,
}

#[derive(Clone, Copy)]
struct Root<S> {
    state: S,
    /// Its number in its layer.
    number: u32,
    /// The move that led to it, where what may follow depends on it.
    last: Option<Move>,
}

impl<P: Puzzle> Run<'_, P> {
    /// Excludes one cost after the other; whether the best answer is proven to be optimal.
    fn run(&mut self, control: &mut Control<'_>) -> Result<bool, Interrupt> {
        if let Some(moves) = self.perimeter.path_to_goal(self.puzzle, &self.start) {
            self.take(moves, control);
            return Ok(true);
        }
        let (depth, step) = (self.perimeter.depth(), self.perimeter.step());
        let mut target = depth + 1;
        // Where the parity of the length is known, half of the lengths need no search.
        let known = self.best.as_ref().map(|best| best.cost).or(self.puzzle.length_parity(&self.start));
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
            if let Some(moves) = self.exclude(target, (target - depth) as usize, control)? {
                self.take(moves, control);
                return Ok(true);
            }
            if self.room == Some(0) {
                return Ok(false);
            }
            self.excluded = Some(target);
            target += step;
        }
        Ok(true)
    }

    fn take(&mut self, moves: Vec<Move>, control: &mut Control<'_>) {
        let answer = Incumbent { cost: moves.len() as Cost, moves };
        if self.best.as_ref().is_none_or(|best| answer.cost < best.cost) {
            control.answer(&answer);
            self.best = Some(answer);
        }
    }

    /// Looks for a solution that reaches the perimeter after so many moves.
    fn exclude(
        &mut self,
        target: Cost,
        moves: usize,
        control: &mut Control<'_>,
    ) -> Result<Option<Vec<Move>>, Interrupt> {
        let early = moves.saturating_sub(SUBTREE).max(moves.min(3)).min(MOST_EARLY);
        let rest = moves - early;
        let Early { behind, mut roots } = self.early(early, control)?;
        let counts = sequences(self.perimeter, rest, self.puzzle.move_count());
        let size = |root: &Root<P::State>| counts[root.last.map_or(counts.len() - 1, usize::from)];
        let all: u64 = roots.iter().map(size).sum();
        if all >= WORTH_ORDER {
            self.order(&mut roots, control)?;
        }
        let (mut room, mut nodes) = (self.room.unwrap_or(u64::MAX), control.nodes_left(self.stats.generated));
        let taken = roots.iter().take_while(|root| {
            let size = size(root);
            let fits = room > 0 && size <= nodes;
            if fits {
                (room, nodes) = (room.saturating_sub(size), nodes - size);
            }
            fits
        });
        let taken = taken.count();
        let are_nodes_short = taken < roots.len() && room > 0;
        self.room = self.room.map(|_| room);
        if taken < roots.len() {
            self.room = Some(0);
        }
        let found = self.search_all(&roots[..taken], rest, all, target, control)?;
        if found.is_none() && are_nodes_short {
            return Err(Limit::Nodes.into());
        }
        Ok(found.map(|(at, path)| {
            let mut moves = path_to(&behind, roots[at].number);
            moves.extend(path);
            moves
        }))
    }

    /// The states after so many moves; of those of a class, one.
    fn early(&mut self, moves: usize, control: &mut Control<'_>) -> Result<Early<P::State>, Interrupt> {
        let symmetries = self.puzzle.symmetries();
        let class = |state: &P::State| symmetries.as_ref().map_or(*state, |symmetries| symmetries.class(state).state);
        let mut roots = vec![Root { state: self.start, number: 0, last: None }];
        let mut behind = Vec::new();
        for _ in 0..moves {
            let mut places: HashMap<P::State, usize, foldhash::fast::FixedState> = HashMap::default();
            let mut next: Vec<Root<P::State>> = Vec::new();
            let mut origins: Vec<(u32, Move)> = Vec::new();
            for (i, root) in roots.iter().enumerate() {
                if i.is_multiple_of(1 << 12)
                    && let Some(limit) = control.reached(&|| (next.len() * 3 * size_of::<Root<P::State>>()) as u64)
                {
                    return Err(limit.into());
                }
                if control.too_many(self.stats.generated + next.len() as u64) {
                    return Err(Limit::Nodes.into());
                }
                for &action in self.perimeter.following(root.last) {
                    let Some(child) = self.puzzle.apply(&root.state, action) else { continue };
                    let place = *places.entry(class(&child)).or_insert(next.len());
                    match next.get_mut(place) {
                        // Reached in two ways, or an image of another: any move may come next.
                        Some(there) => there.last = None,
                        None => {
                            next.push(Root { state: child, number: next.len() as u32, last: Some(action) });
                            origins.push((i as u32, action));
                        }
                    }
                }
            }
            self.stats.generated += next.len() as u64;
            if control.too_many(self.stats.generated) {
                return Err(Limit::Nodes.into());
            }
            behind.push(origins);
            roots = next;
        }
        Ok(Early { behind, roots })
    }

    /// Puts the roots into the order of their estimates.
    fn order(&mut self, roots: &mut [Root<P::State>], control: &mut Control<'_>) -> Result<(), Interrupt> {
        let Some(heuristic) = &mut self.heuristic else { return Ok(()) };
        let mut values = Vec::with_capacity(roots.len());
        let states: Vec<P::State> = roots.iter().map(|root| root.state).collect();
        let mut queue = ChunkQueue::new(&mut **heuristic, Query::Values);
        let mut take = |estimates: Estimates| values.extend(estimates.values);
        while (queue.next as usize) < states.len() {
            if let Some(limit) = control.reached(&|| 0) {
                return Err(limit.into());
            }
            queue.advance(&states, &mut self.stats.evaluated, &mut take)?;
        }
        queue.finish(&states, &mut self.stats.evaluated, &mut take)?;
        drop(queue);
        let mut ranked: Vec<(f32, Root<P::State>)> = values.into_iter().zip(roots.iter().copied()).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        roots.iter_mut().zip(ranked).for_each(|(root, (_, ranked))| *root = ranked);
        Ok(())
    }

    /// Searches subtrees on all cores; the first, in their order, that has a solution: its number, and the path from its
    /// root.
    fn search_all(
        &mut self,
        roots: &[Root<P::State>],
        rest: usize,
        all: u64,
        target: Cost,
        control: &mut Control<'_>,
    ) -> Result<Option<(usize, Vec<Move>)>, Interrupt> {
        let cores = cores().min(roots.len()).max(1);
        let next = AtomicUsize::new(0);
        // Subtrees from this one on are not needed any more.
        let until = AtomicUsize::new(roots.len());
        let made = AtomicU64::new(0);
        let found: Mutex<Option<(usize, Vec<Move>)>> = Mutex::new(None);
        let (puzzle, perimeter) = (self.puzzle, self.perimeter);
        let work = || {
            let mut search = Exhaustive::new(puzzle, perimeter, &until);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= until.load(Ordering::Relaxed) {
                    break;
                }
                let path = search.search(&roots[at].state, roots[at].last, rest, at);
                made.fetch_add(std::mem::take(&mut search.generated), Ordering::Relaxed);
                if let Some(path) = path {
                    until.fetch_min(at, Ordering::Relaxed);
                    let mut found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    if found.as_ref().is_none_or(|(other, _)| at < *other) {
                        *found = Some((at, path));
                    }
                }
            }
        };
        let begun = Instant::now();
        let before = self.stats.generated;
        let mut ended = None;
        let jobs = (0..cores).map(|_| Box::new(&work) as Job<'_>).collect();
        let wait: Own<'_> = Box::new(|all_ended| {
            let mut reported = Instant::now();
            while !all_ended() {
                thread::sleep(Duration::from_micros(200));
                if reported.elapsed() < REPORT_EVERY {
                    continue;
                }
                reported = Instant::now();
                let now = made.load(Ordering::Relaxed);
                self.stats.generated = before + now;
                let share = now as f64 / all.max(1) as f64;
                let left = begun.elapsed().as_secs_f64() * (all.saturating_sub(now)) as f64 / now.max(1) as f64;
                self.report(target, share, left, control);
                ended = control.reached(&|| 0).or(control.too_many(self.stats.generated).then_some(Limit::Nodes));
                if ended.is_some() {
                    until.store(0, Ordering::Relaxed);
                    break;
                }
            }
        });
        beside(jobs, wait);
        let now = made.into_inner();
        self.stats.generated = before + now;
        self.sequences += now;
        self.current = Some((target, now as f64 / all.max(1) as f64));
        let found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        match (found, ended) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(limit)) => Err(limit.into()),
            (None, None) => Ok(None),
        }
    }

    fn report(&self, target: Cost, share: f64, seconds_left: f64, control: &mut Control<'_>) {
        let stats = Stats { seconds: control.seconds(), ..self.stats };
        let best = self.best.as_ref().map(|best| best.cost);
        let proof = ProofProgress { best, excluded: self.excluded, target, share, seconds_left };
        control.report(&Progress { stats, best: None, least_f: None, proof: Some(proof) });
    }
}

/// The moves from the start to a state of the last layer.
fn path_to(behind: &[Vec<(u32, Move)>], number: u32) -> Vec<Move> {
    let mut moves = Vec::with_capacity(behind.len());
    let mut at = number;
    for origins in behind.iter().rev() {
        let (parent, action) = origins[at as usize];
        moves.push(action);
        at = parent;
    }
    moves.reverse();
    moves
}
