//! Random rooms played backward: training samples for Sokoban.
//!
//! A room is carved out of the wall by a random walk with brushes of up to five squares (after Racanière et al. 2017,
//! "Imagination-augmented agents", appendix, as the levels of Boxoban were made). All boxes stand on goals at
//! first; then the player walks the shortest way to some box and pulls it a few squares, again and again, until as
//! many moves are made as the sample's depth asks for. Forward, those moves solve the level: their cost is the label,
//! an upper bound of the cheapest. Walking straight to the next box keeps it much nearer to that than random steps would.

use super::{Batch, Samples, Source};
use crate::puzzle::Move;
use crate::puzzle::sokoban::{LETTERS, SIDE, Symbol};
use crate::random::{Generator, below};
use std::sync::Arc;

/// Random walks of the carving brush.
const CARVED: usize = 34;
/// Of ten steps of the brush, how many go on in the same direction.
const STRAIGHT: usize = 6;
/// Samples that share a room.
const SHARED: usize = 16;
/// Boxes of most samples; a fourth has fewer.
const BOXES: usize = 4;
/// A box is pulled up to so many squares at once.
const LONGEST_PULL: usize = 5;
/// Fewer squares are no room.
const LEAST_SQUARES: usize = 14;
/// Moves that all but the hardest levels need.
const DEFAULT_DEPTH: u32 = 100;
/// More moves make no harder level.
const MOST_DEPTH: u32 = 10_000;

const PLACES: usize = SIDE * SIDE;
/// Up, down, right, left.
const STEPS: [isize; 4] = [-(SIDE as isize), SIDE as isize, 1, -1];

/// What the brush carves, as offsets from its middle.
const BRUSHES: [&[isize]; 5] = {
    const DOWN: isize = SIDE as isize;
    [&[-1, 0, 1], &[-DOWN, 0, DOWN], &[-1, 0, DOWN], &[-1, 0, DOWN - 1, DOWN], &[0, 1, DOWN]]
};

/// Random rooms; with `pushes`, only pulls count.
pub fn sokoban(pushes: bool) -> Source {
    Source { samples: Arc::new(Rooms { pushes }), default_depth: DEFAULT_DEPTH }
}

/// A random level in XSB that so many moves solve, or pushes; fewer where no box can be pulled any more.
pub fn random_level(moves: Option<u64>, pushes: bool, generator: &mut Generator) -> String {
    let depth = moves.map_or(DEFAULT_DEPTH, |moves| u32::try_from(moves).unwrap_or(u32::MAX).clamp(1, MOST_DEPTH));
    let room = Room::random(generator);
    let mut row = [0; PLACES];
    room.encode(&room.play(depth, pushes, generator), &mut row);
    let line = |row: &[u8]| row.iter().map(|&symbol| char::from(LETTERS[usize::from(symbol)])).collect();
    row.chunks(SIDE).map(line).collect::<Vec<String>>().join("\n")
}

struct Rooms {
    /// Whether only pulls count.
    pushes: bool,
}

impl Samples for Rooms {
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let mut room = Room::random(generator);
        for (i, (&depth, (mut row, label, mut back))) in depths.iter().zip(batch.samples_mut()).enumerate() {
            if i.is_multiple_of(SHARED) {
                room = Room::random(generator);
            }
            let play = room.play(depth, self.pushes, generator);
            room.encode(&play, row.as_slice_mut().expect("rows are contiguous"));
            *label = play.cost as f32;
            back[usize::from(play.back)] = 1;
        }
    }
}

/// Walls, with a border all around.
struct Room {
    floor: [bool; PLACES],
    squares: Vec<usize>,
}

/// A level in the making.
struct Play {
    goals: [bool; PLACES],
    boxes: [bool; PLACES],
    player: usize,
    /// What the moves cost that lead from here to the solved level.
    cost: u32,
    /// The first of them.
    back: Move,
}

/// A way to pull: stand on `from`, the box behind is pulled along.
#[derive(Clone, Copy)]
struct Pull {
    from: usize,
    /// The way the player goes.
    direction: usize,
}

impl Room {
    fn random(generator: &mut Generator) -> Self {
        loop {
            let floor = carve(generator);
            let squares: Vec<usize> = (0..PLACES).filter(|&place| floor[place]).collect();
            if squares.len() >= LEAST_SQUARES {
                return Room { floor, squares };
            }
        }
    }

    /// Plays backward from the solved level, `depth` moves or pulls; fewer where no box can be pulled any more.
    fn play(&self, depth: u32, pushes: bool, generator: &mut Generator) -> Play {
        loop {
            let mut play = self.solved(generator);
            // The last move of a solution is a push: the player stands where it can pull at once.
            let Some(first) = self.pick(&self.pulls(&play, |_| true), None, generator) else { continue };
            play.player = first.from;
            let mut pull = first;
            while play.cost < depth {
                let length = 1 + below(generator, LONGEST_PULL);
                self.pull(&mut play, pull, length, depth);
                let ways = self.ways(&play);
                let reachable = self.pulls(&play, |place| ways[place] != UNSEEN);
                // Pulling the box that was just pulled straight back again would be for nothing.
                let the_box = behind(play.player, pull.direction);
                let undone = Pull { from: behind(the_box, pull.direction), direction: pull.direction ^ 1 };
                let Some(next) = self.pick(&reachable, Some(undone), generator) else { break };
                if play.cost < depth {
                    self.walk(&mut play, next.from, &ways, depth, pushes);
                }
                pull = next;
            }
            if play.cost > 0 {
                return play;
            }
        }
    }

    /// All boxes on goals.
    fn solved(&self, generator: &mut Generator) -> Play {
        let count = if below(generator, 4) > 0 { BOXES } else { 1 + below(generator, BOXES - 1) };
        let mut goals = [false; PLACES];
        let mut placed = 0;
        while placed < count {
            let place = self.squares[below(generator, self.squares.len())];
            placed += usize::from(!std::mem::replace(&mut goals[place], true));
        }
        Play { goals, boxes: goals, player: 0, cost: 0, back: 0 }
    }

    /// Every way to pull from a place that `can_stand` names.
    fn pulls(&self, play: &Play, can_stand: impl Fn(usize) -> bool) -> Vec<Pull> {
        let is_free = |place: usize| self.floor[place] && !play.boxes[place];
        let mut pulls = Vec::with_capacity(16);
        for &square in self.squares.iter().filter(|&&square| play.boxes[square]) {
            for direction in 0..4 {
                let from = ahead(square, direction);
                if is_free(from) && can_stand(from) && is_free(ahead(from, direction)) {
                    pulls.push(Pull { from, direction });
                }
            }
        }
        pulls
    }

    /// One of the pulls, another than `undone` if there is one.
    fn pick(&self, pulls: &[Pull], undone: Option<Pull>, generator: &mut Generator) -> Option<Pull> {
        let is_undone =
            |pull: &Pull| undone.is_some_and(|undone| undone.from == pull.from && undone.direction == pull.direction);
        let others: Vec<Pull> = pulls.iter().copied().filter(|pull| !is_undone(pull)).collect();
        let of = if others.is_empty() { pulls } else { &others };
        (!of.is_empty()).then(|| of[below(generator, of.len())])
    }

    /// Pulls a box up to `length` squares, while there is room and `depth` allows.
    fn pull(&self, play: &mut Play, pull: Pull, length: usize, depth: u32) {
        for _ in 0..length {
            let to = ahead(play.player, pull.direction);
            if play.cost == depth || !self.floor[to] || play.boxes[to] {
                break;
            }
            play.boxes[behind(play.player, pull.direction)] = false;
            play.boxes[play.player] = true;
            play.player = to;
            play.cost += 1;
            play.back = (pull.direction ^ 1) as Move;
        }
    }

    /// Walks the shortest way, as far as `depth` allows; steps are free where only pulls count.
    fn walk(&self, play: &mut Play, target: usize, ways: &[u8; PLACES], depth: u32, pushes: bool) {
        let mut steps = Vec::with_capacity(32);
        let mut place = target;
        while place != play.player {
            let direction = usize::from(ways[place]);
            steps.push(direction);
            place = behind(place, direction);
        }
        for &direction in steps.iter().rev() {
            if play.cost == depth {
                break;
            }
            play.player = ahead(play.player, direction);
            play.cost += u32::from(!pushes);
            play.back = (direction ^ 1) as Move;
        }
    }

    /// For each place that the player can walk to, the direction of the last step; [`UNSEEN`] elsewhere.
    fn ways(&self, play: &Play) -> [u8; PLACES] {
        let mut ways = [UNSEEN; PLACES];
        let mut queue = [0u8; PLACES];
        (queue[0], ways[play.player]) = (play.player as u8, 0);
        let (mut next, mut end) = (0, 1);
        while next < end {
            let place = usize::from(queue[next]);
            next += 1;
            for direction in 0..4 {
                let to = ahead(place, direction);
                if self.floor[to] && !play.boxes[to] && ways[to] == UNSEEN {
                    ways[to] = direction as u8;
                    queue[end] = to as u8;
                    end += 1;
                }
            }
        }
        ways
    }

    fn encode(&self, play: &Play, row: &mut [u8]) {
        row.fill(Symbol::Wall as u8);
        for &place in &self.squares {
            row[place] = Symbol::of(play.goals[place], play.boxes[place], play.player == place) as u8;
        }
    }
}

const UNSEEN: u8 = u8::MAX;

fn ahead(place: usize, direction: usize) -> usize {
    place.wrapping_add_signed(STEPS[direction])
}

fn behind(place: usize, direction: usize) -> usize {
    place.wrapping_add_signed(-STEPS[direction])
}

/// Floor where the brush went; it never touches the border.
fn carve(generator: &mut Generator) -> [bool; PLACES] {
    let inside = |place: usize| {
        let (row, column) = (place / SIDE, place % SIDE);
        (1..SIDE - 1).contains(&row) && (1..SIDE - 1).contains(&column)
    };
    let mut floor = [false; PLACES];
    let mut place = SIDE * (1 + below(generator, SIDE - 2)) + 1 + below(generator, SIDE - 2);
    let mut direction = below(generator, 4);
    for _ in 0..CARVED {
        if below(generator, 10) >= STRAIGHT {
            direction = below(generator, 4);
        }
        if inside(ahead(place, direction)) {
            place = ahead(place, direction);
        }
        for &offset in BRUSHES[below(generator, BRUSHES.len())] {
            let carved = place.wrapping_add_signed(offset);
            floor[carved] |= inside(carved);
        }
    }
    floor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Puzzle;
    use crate::puzzle::sokoban::{LETTERS, Sokoban};
    use crate::sampler::{Sampler, known_costs};

    /// The text of an encoded level.
    fn text(row: &[u8]) -> String {
        let letters: String = row.iter().map(|&symbol| LETTERS[usize::from(symbol)] as char).collect();
        letters.as_bytes().chunks(SIDE).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect()
    }

    #[test]
    fn every_sample_is_a_level_that_its_label_bounds() {
        for puzzle in [Sokoban::by_moves(), Sokoban::by_pushes()] {
            let source = sokoban(puzzle.counts_pushes());
            let batch = Sampler::new(source.samples, (100, 4), 1, 12, 120).batch(0);
            let mut nearer = 0;
            for (i, row) in batch.states.outer_iter().enumerate() {
                let row = row.as_slice().expect("contiguous").to_vec();
                let state = puzzle.parse(&text(&row)).expect("a level");
                let mut again = vec![0; 100];
                puzzle.encode(&state, &mut again);
                assert_eq!(again, row, "the sampler and the puzzle write the same rows");
                let known = known_costs(&puzzle, &state);
                let (_, cost, _) = known.iter().find(|(other, ..)| *other == state).expect("it can be solved");
                assert!(
                    *cost as f32 <= batch.labels[i],
                    "{cost}, and the label is {}\n{}",
                    batch.labels[i],
                    text(&row)
                );
                let targets = (0..4).filter(|&action| batch.policy_targets[[i, usize::from(action)]] == 1);
                assert!(
                    targets.clone().count() == 1
                        && targets.clone().all(|action| puzzle.apply(&state, action).is_some())
                );
                nearer += u32::from(*cost as f32 == batch.labels[i]);
            }
            assert!(nearer > 60, "labels are near the costs: {nearer} of 120 are exact");
        }
    }

    #[test]
    fn batches_depend_on_seed_and_number_only() {
        let sampler = |seed| Sampler::new(sokoban(false).samples, (100, 4), seed, 50, 64);
        assert_eq!(sampler(1).batch(5), sampler(1).batch(5));
        assert_ne!(sampler(1).batch(5), sampler(2).batch(5));
    }
}
