//! Random rooms played backward: training samples for Sokoban.
//!
//! A random walk with brushes of up to five squares carves a room out of the wall (after Racanière et al. 2017,
//! "Imagination-augmented agents", appendix, which describes the levels of Boxoban). All boxes begin on goals; the player
//! then walks the shortest way to a box and pulls it a few squares, again and again, for as many moves as the sample is
//! deep. Played forward, these moves solve the level: their cost is the label, an upper bound of the cheapest. It is much
//! nearer to the cheapest than the cost of random steps.

use super::{Batch, Samples, Source};
use crate::puzzle::Move;
use crate::puzzle::sokoban::{LETTERS, SIDE, WALL, symbol_of};
use crate::random::{Generator, below};
use std::sync::Arc;

/// Steps of the carving brush.
const CARVED: usize = 34;
/// Steps of the brush out of ten that keep the direction.
const STRAIGHT: usize = 6;
/// Samples per room.
const SAMPLES_PER_ROOM: usize = 16;
/// Boxes of most samples; a fourth has fewer.
const BOXES: usize = 4;
/// Most squares that a box is pulled at once.
const MAX_PULL: usize = 5;
/// Fewest squares of a room.
const MIN_SQUARES: usize = 14;
/// Moves that solve all but the hardest levels.
const DEFAULT_DEPTH: u32 = 100;
/// More moves make no harder level.
const MAX_DEPTH: u32 = 10_000;

const SQUARES: usize = SIDE * SIDE;
/// Up, down, right, left.
const STEPS: [isize; 4] = [-(SIDE as isize), SIDE as isize, 1, -1];

/// Squares that each brush carves, as offsets from its middle.
const BRUSHES: [&[isize]; 5] = {
    const DOWN: isize = SIDE as isize;
    [&[-1, 0, 1], &[-DOWN, 0, DOWN], &[-1, 0, DOWN], &[-1, 0, DOWN - 1, DOWN], &[0, 1, DOWN]]
};

/// Samples from random rooms; with `pushes`, only pulls count.
pub fn sokoban(pushes: bool) -> Source {
    Source { samples: Arc::new(RoomSamples { pushes }), default_depth: DEFAULT_DEPTH }
}

/// A random level in XSB that is solved by this many moves or pushes, fewer if no box can be pulled any more.
pub fn random_level(moves: Option<u64>, pushes: bool, generator: &mut Generator) -> String {
    let depth = moves.map_or(DEFAULT_DEPTH, |moves| u32::try_from(moves).unwrap_or(u32::MAX).clamp(1, MAX_DEPTH));
    let room = Room::random(generator);
    let mut row = [0; SQUARES];
    room.encode(&room.play(depth, pushes, generator), &mut row);
    let line = |row: &[u8]| row.iter().map(|&symbol| char::from(LETTERS[usize::from(symbol)])).collect();
    row.chunks(SIDE).map(line).collect::<Vec<String>>().join("\n")
}

struct RoomSamples {
    /// Whether only pulls count.
    pushes: bool,
}

impl Samples for RoomSamples {
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let mut room = Room::random(generator);
        for (i, (&depth, (mut row, label, mut back))) in depths.iter().zip(batch.samples_mut()).enumerate() {
            if i.is_multiple_of(SAMPLES_PER_ROOM) {
                room = Room::random(generator);
            }
            let play = room.play(depth, self.pushes, generator);
            room.encode(&play, row.as_slice_mut().expect("rows are contiguous"));
            *label = play.cost as f32;
            back[usize::from(play.back)] = 1;
        }
    }
}

/// A floor plan with a border of walls.
struct Room {
    floor: [bool; SQUARES],
    squares: Vec<usize>,
}

/// A level that is played backward.
struct Play {
    goals: [bool; SQUARES],
    boxes: [bool; SQUARES],
    player: usize,
    /// Cost of the moves from here to the solved level.
    cost: u32,
    /// The first of these moves.
    back: Move,
}

/// A pull: the player stands on `from` and steps in `direction`, and the box behind follows.
#[derive(Clone, Copy, PartialEq)]
struct Pull {
    from: usize,
    direction: usize,
}

impl Room {
    fn random(generator: &mut Generator) -> Self {
        loop {
            let floor = carve(generator);
            let squares: Vec<usize> = (0..SQUARES).filter(|&square| floor[square]).collect();
            if squares.len() >= MIN_SQUARES {
                return Room { floor, squares };
            }
        }
    }

    /// Plays `depth` moves or pulls backward from the solved level, fewer if no box can be pulled any more.
    fn play(&self, depth: u32, pushes: bool, generator: &mut Generator) -> Play {
        loop {
            let mut play = self.solved(generator);
            // The last move of a solution is a push: the player stands where it can pull at once.
            let Some(first) = self.pick(&self.pulls(&play, |_| true), None, generator) else { continue };
            play.player = first.from;
            let mut pull = first;
            while play.cost < depth {
                let length = 1 + below(generator, MAX_PULL);
                self.pull(&mut play, pull, length, depth);
                let steps = self.last_steps(&play);
                let reachable = self.pulls(&play, |square| steps[square] != UNREACHED);
                // Pulling the same box straight back would be for nothing.
                let the_box = behind(play.player, pull.direction);
                let undone = Pull { from: behind(the_box, pull.direction), direction: pull.direction ^ 1 };
                let Some(next) = self.pick(&reachable, Some(undone), generator) else { break };
                if play.cost < depth {
                    self.walk(&mut play, next.from, &steps, depth, pushes);
                }
                pull = next;
            }
            if play.cost > 0 {
                return play;
            }
        }
    }

    /// The solved level: all boxes on goals.
    fn solved(&self, generator: &mut Generator) -> Play {
        let count = if below(generator, 4) > 0 { BOXES } else { 1 + below(generator, BOXES - 1) };
        let mut goals = [false; SQUARES];
        let mut placed = 0;
        while placed < count {
            let square = self.squares[below(generator, self.squares.len())];
            placed += usize::from(!std::mem::replace(&mut goals[square], true));
        }
        Play { goals, boxes: goals, player: 0, cost: 0, back: 0 }
    }

    /// Every pull from a square that the player can stand on.
    fn pulls(&self, play: &Play, can_stand: impl Fn(usize) -> bool) -> Vec<Pull> {
        let is_free = |square: usize| self.floor[square] && !play.boxes[square];
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

    /// A random pull, other than `undone` if there is another.
    fn pick(&self, pulls: &[Pull], undone: Option<Pull>, generator: &mut Generator) -> Option<Pull> {
        let others: Vec<Pull> = pulls.iter().copied().filter(|&pull| Some(pull) != undone).collect();
        let choice = if others.is_empty() { pulls } else { &others };
        (!choice.is_empty()).then(|| choice[below(generator, choice.len())])
    }

    /// Pulls a box up to `length` squares, as far as walls, boxes and `depth` allow.
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

    /// Walks the shortest way to a square, as far as `depth` allows; steps are free if only pulls count.
    fn walk(&self, play: &mut Play, target: usize, steps: &[u8; SQUARES], depth: u32, pushes: bool) {
        let mut directions = Vec::with_capacity(32);
        let mut square = target;
        while square != play.player {
            let direction = usize::from(steps[square]);
            directions.push(direction);
            square = behind(square, direction);
        }
        for &direction in directions.iter().rev() {
            if play.cost == depth {
                break;
            }
            play.player = ahead(play.player, direction);
            play.cost += u32::from(!pushes);
            play.back = (direction ^ 1) as Move;
        }
    }

    /// Direction of the last step to each square that the player can walk to; [`UNREACHED`] elsewhere.
    fn last_steps(&self, play: &Play) -> [u8; SQUARES] {
        let mut steps = [UNREACHED; SQUARES];
        let mut queue = [0u8; SQUARES];
        (queue[0], steps[play.player]) = (play.player as u8, 0);
        let (mut next, mut end) = (0, 1);
        while next < end {
            let square = usize::from(queue[next]);
            next += 1;
            for direction in 0..4 {
                let to = ahead(square, direction);
                if self.floor[to] && !play.boxes[to] && steps[to] == UNREACHED {
                    steps[to] = direction as u8;
                    queue[end] = to as u8;
                    end += 1;
                }
            }
        }
        steps
    }

    fn encode(&self, play: &Play, row: &mut [u8]) {
        row.fill(WALL);
        for &square in &self.squares {
            row[square] = symbol_of(play.goals[square], play.boxes[square], play.player == square);
        }
    }
}

const UNREACHED: u8 = u8::MAX;

fn ahead(square: usize, direction: usize) -> usize {
    square.wrapping_add_signed(STEPS[direction])
}

fn behind(square: usize, direction: usize) -> usize {
    square.wrapping_add_signed(-STEPS[direction])
}

/// The floor that the brush carves; it never touches the border.
fn carve(generator: &mut Generator) -> [bool; SQUARES] {
    let inside = |square: usize| {
        let (row, column) = (square / SIDE, square % SIDE);
        (1..SIDE - 1).contains(&row) && (1..SIDE - 1).contains(&column)
    };
    let mut floor = [false; SQUARES];
    let mut square = SIDE * (1 + below(generator, SIDE - 2)) + 1 + below(generator, SIDE - 2);
    let mut direction = below(generator, 4);
    for _ in 0..CARVED {
        if below(generator, 10) >= STRAIGHT {
            direction = below(generator, 4);
        }
        if inside(ahead(square, direction)) {
            square = ahead(square, direction);
        }
        for &offset in BRUSHES[below(generator, BRUSHES.len())] {
            let carved = square.wrapping_add_signed(offset);
            floor[carved] |= inside(carved);
        }
    }
    floor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::sokoban::{LETTERS, Sokoban};
    use crate::puzzle::{Encode as _, Notation as _, Rules as _};
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
