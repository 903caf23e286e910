//! Cubes of any size, as puzzles whose moves permute stickers: `cube4` to `cube11`.
//!
//! | name | moves | solved |
//! | --- | --- | --- |
//! | `cube4` | quarter turns of single layers | in any orientation |
//! | `cube4:htm` | the same, and half turns | in any orientation |
//! | `cube4:obtm` | outer blocks of layers, by 90° or 180° (the metric of competitors) | in any orientation |
//! | `cube4:oriented` | quarter turns of single layers, as contests count them | as it is held |
//! | `cube4:reduction` | the same | where outer turns alone solve it, as it is held: [`stages::reduction`] |
//! | `cube5:centres` | the same, without middle layers | where all centres are solved, as it is held: [`stages::centres`] |
//! | `cube5:edges` | the same | where outer turns alone solve it: [`stages::edges`], a puzzle of its own |
//!
//! If any orientation is solved, the corner DBL stays in its place: a turn of its layer is a turn of all other layers the
//! other way, with the whole cube turned. So a state stands for 24 ways to hold a cube, as on the
//! [2×2×2](super::cube2), and the moves are still permutations. A scramble is played on a cube in the hand, and its solution
//! is named for that cube.
//!
//! | file | content |
//! | --- | --- |
//! | `geometry` | the stickers, what a turn does to them, and the ways to hold a cube |
//! | `notation` | scrambles, facelets and solutions of a cube in the hand |
//! | `contest` | the names of turns and the order of stickers in contests |
//! | `stages` | the puzzles of the search `reduction`, one per file |

use super::Move;
use geometry::{Rotation, Turn, all, kinds, rotations, stickers};

mod contest;
pub(super) mod geometry;
mod notation;
pub mod stages;

/// Supported sizes, in layers.
pub const SIZES: std::ops::RangeInclusive<usize> = 4..=11;

/// The turns that are one move, and the states that are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Quarter turns of single layers; any orientation is solved.
    Quarter,
    /// Turns of single layers by 90° or 180°; any orientation is solved.
    HalfTurn,
    /// Turns of outer blocks by 90° or 180°; any orientation is solved.
    OuterBlock,
    /// Quarter turns of single layers of a cube that is held still.
    Oriented,
    /// The same; a 4×4×4 is solved when it turns like a 3×3×3.
    Reduction,
    /// The same without turns of middle layers; a 5×5×5 is solved when its centres are.
    Centres,
}

/// The metrics, and their name suffixes.
const METRICS: [(Metric, &str); 6] = [
    (Metric::Quarter, ""),
    (Metric::HalfTurn, ":htm"),
    (Metric::OuterBlock, ":obtm"),
    (Metric::Oriented, ":oriented"),
    (Metric::Reduction, ":reduction"),
    (Metric::Centres, ":centres"),
];

/// The name of a cube.
fn name_of(size: usize, metric: Metric) -> String {
    let suffix = METRICS.iter().find(|(other, _)| *other == metric).map_or("", |(_, suffix)| suffix);
    format!("cube{size}{suffix}")
}

impl Metric {
    /// Whether there are cubes with `size` layers of this metric.
    fn has_size(self, size: usize) -> bool {
        match self {
            Metric::Reduction => size == stages::reduction::SIZE,
            Metric::Centres => size == stages::centres::SIZE,
            _ => true,
        }
    }
}

/// A cube of some size: its turns, its ways to be held, and its notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubeN {
    size: usize,
    metric: Metric,
    /// The turns of the moves, followed by the other turns that solve a cube in the hand.
    turns: Vec<Turn>,
    move_count: usize,
    /// All 24, the identity first.
    rotations: Vec<Rotation>,
    /// The pieces by kind: the stickers of a piece, for each way that a piece of this kind can be placed.
    kinds: Vec<Vec<Vec<u16>>>,
}

impl CubeN {
    /// A cube with `size` layers.
    ///
    /// # Panics
    /// Unless the size is from 2 to 11, and that of a stage for its metric.
    pub fn new(size: usize, metric: Metric) -> CubeN {
        assert!((2..=*SIZES.end()).contains(&size) && metric.has_size(size));
        let layers: Vec<u16> = match metric {
            Metric::OuterBlock => (1..size).map(all).collect(),
            Metric::Centres => (0..size).filter(|layer| 2 * layer + 1 != size).map(|layer| 1 << layer).collect(),
            _ => (0..size).map(|layer| 1 << layer).collect(),
        };
        let quarters: &[u8] =
            if matches!(metric, Metric::HalfTurn | Metric::OuterBlock) { &[1, 3, 2] } else { &[1, 3] };
        let each = |layers: u16| {
            (0..3).flat_map(move |face| quarters.iter().map(move |&quarters| Turn { face, layers, quarters }))
        };
        let written: Vec<Turn> = layers.iter().copied().flat_map(each).collect();
        let places = stickers(size);
        let rotations = rotations(size, &places);
        let kinds = kinds(size, &places, &rotations);
        let mut cube = CubeN { size, metric, turns: Vec::new(), move_count: 0, rotations, kinds };
        cube.turns = written.iter().map(|&turn| cube.with_dbl_still(turn).0).collect();
        cube.move_count = cube.turns.len();
        for turn in written {
            let mirrored = Turn::new(size, turn.face + 3, turn.layers, -(turn.quarters as i8));
            for other in [turn, mirrored] {
                if !cube.turns.contains(&other) {
                    cube.turns.push(other);
                }
            }
        }
        cube
    }

    /// The size and the metric of a name, as `cube4:htm`; `None` if there is no such cube.
    pub fn parse_name(name: &str) -> Option<(usize, Metric)> {
        let mut all = SIZES.flat_map(|size| METRICS.map(|(metric, _)| (size, metric)));
        all.find(|&(size, metric)| metric.has_size(size) && name_of(size, metric) == name)
    }

    /// Size and metric as a puzzle's name, such as `cube4:htm`.
    pub fn name(&self) -> String {
        name_of(self.size, self.metric)
    }

    /// Whether every move changes a parity: that of the permutations of corners, wings and middle centres together. A turn of
    /// the whole cube is as many turns as there are layers.
    pub fn moves_change_parity(&self) -> bool {
        match self.metric {
            Metric::Oriented => true,
            Metric::Quarter => self.size.is_multiple_of(2),
            _ => false,
        }
    }

    /// Layers along an edge.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name and the permutation of each turn, moves first.
    pub(super) fn named_turns(&self) -> Vec<(String, Vec<u16>)> {
        let places = stickers(self.size);
        self.turns.iter().map(|turn| (turn.name(self.size), turn.permutation(&places))).collect()
    }

    /// The logarithm of the number of states of a whole cube: corners, with edges in the middle if there are, then 24 pieces
    /// of each other kind, of which centres come in six colours of four.
    fn ln_states_of_whole(&self) -> f64 {
        let has_middle = self.size % 2 == 1;
        let corners = if has_middle { ln_factorial(8) + 7.0 * 3f64.ln() } else { ln_factorial(7) + 6.0 * 3f64.ln() };
        let middle = if has_middle { ln_factorial(12) + 10.0 * 2f64.ln() } else { 0.0 };
        let inner = self.size - 2;
        let (wings, centres) = ((inner / 2) as f64, (inner * inner / 4) as f64);
        let held = if self.is_still() { 24f64.ln() } else { 0.0 };
        corners + middle + wings * ln_factorial(24) + centres * ln_centres() + held
    }

    /// The colours of the solved cube.
    pub(super) fn goal(&self) -> Vec<u8> {
        (0..6).flat_map(|face| std::iter::repeat_n(face, self.size * self.size)).collect()
    }

    fn is_still(&self) -> bool {
        self.is_stage() || self.metric == Metric::Oriented
    }

    /// The pieces with this many stickers.
    fn pieces(&self, stickers: usize) -> &[Vec<u16>] {
        self.kinds.iter().find(|kind| kind[0].len() == stickers).expect("a cube has centres, edges and corners")
    }

    /// A turn that leaves the corner DBL in its place, and the quarters by which the whole cube is turned after it; the turn
    /// itself if the cube is held still.
    fn with_dbl_still(&self, turn: Turn) -> (Turn, u8) {
        let moves_dbl = turn.layers >> (self.size - 1) & 1 == 1;
        if moves_dbl && !self.is_still() { (turn.of_others(self.size), turn.quarters) } else { (turn, 0) }
    }

    fn index(&self, turn: Turn) -> Option<Move> {
        self.turns.iter().position(|&other| other == turn).map(|index| index as Move)
    }
}

fn ln_factorial(n: u32) -> f64 {
    (1..=n).map(|k| f64::from(k).ln()).sum()
}

/// The logarithm of the number of ways to place 24 centres in six colours of four.
fn ln_centres() -> f64 {
    ln_factorial(24) - 6.0 * ln_factorial(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::cube3::{Cube3, FACES};
    use crate::puzzle::permutation::{Description, Permutation};
    use crate::puzzle::{Notation as _, Rules as _, move_names};
    use crate::random::{Generator, below, generator};
    use std::collections::HashSet;
    use std::path::Path;

    fn cube(size: usize, metric: Metric) -> Permutation<256> {
        Permutation::new(Description::of_cube(CubeN::new(size, metric)))
    }

    /// Random words of a scramble that every cube with `size` layers reads.
    fn words(size: usize, count: usize, generator: &mut Generator) -> String {
        let word = |_| {
            let face = FACES[below(generator, 6)];
            let layers = 1 + below(generator, size - 1);
            let turn = match below(generator, if size == 2 { 2 } else { 6 }) {
                0 => face.to_string(),
                1 => ["x", "y", "z"][below(generator, 3)].into(),
                2 if size > 3 => format!("{}{face}", layers + 1),
                3 if size > 3 => format!("{layers}{face}w"),
                4 => face.to_ascii_lowercase().to_string(),
                _ => ["M", "E", "S"][below(generator, 3)].into(),
            };
            turn + ["", "'", "2"][below(generator, 3)]
        };
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_cube_of_two_or_three_layers_is_the_one_that_is_known() {
        let mut generator = generator(1, 0);
        let small = cube(2, Metric::Quarter);
        let large = CubeN::new(3, Metric::Quarter);
        for count in 0..40 {
            let text = words(2, count, &mut generator);
            let read = |text: &str| small.format(&small.parse(text).expect(text));
            // On the one cube a scramble's letters are renamed when the whole cube is turned, so that two texts may differ in a
            // way to hold the cube: the solutions have one length.
            let is_goal = small.is_goal(&small.parse(&text).expect("a scramble"));
            assert_eq!(is_goal, Cube2.is_goal(&Cube2.parse(&text).expect("a scramble")), "{text}");
            let without_rotations: String = text.chars().filter(|c| !"xyz".contains(*c)).collect();
            let without_rotations = without_rotations.split(' ').filter(|word| word.starts_with(char::is_uppercase));
            let turns = without_rotations.collect::<Vec<_>>().join(" ");
            assert_eq!(read(&turns), Cube2.format(&Cube2.parse(&turns).expect("a scramble")), "{turns}");
            let text = words(3, count, &mut generator);
            let (hand, _) = large.hand(&text).expect("a scramble");
            let letters: String = hand.iter().map(|&colour| FACES[usize::from(colour)]).collect();
            // The centres name the faces as the cube is held in the end.
            assert_eq!(Cube3.parse(&letters), Cube3.parse(&text), "{text}");
        }
    }

    /// The states in the first layers around the goal, by some moves.
    fn layers(cube: &Permutation<256>, moves: &[Move], depth: usize) -> Vec<usize> {
        let goal = cube.goals()[0];
        let (mut layer, mut seen, mut counts) = (vec![goal], HashSet::from([goal]), vec![1]);
        for _ in 0..depth {
            let children = layer.iter().flat_map(|state| moves.iter().map(|&action| cube.apply(state, action)));
            let next: Vec<_> = children.flatten().filter(|child| seen.insert(*child)).collect();
            counts.push(next.len());
            layer = next;
        }
        counts
    }

    #[test]
    fn layers_around_the_goal_have_the_known_sizes() {
        let all = |cube: &Permutation<256>| (0..cube.move_count() as Move).collect::<Vec<_>>();
        let small = cube(2, Metric::Quarter);
        assert_eq!(layers(&small, &all(&small), 4), [1, 6, 27, 120, 534]);
        let three = cube(3, Metric::Quarter);
        let faces: Vec<Move> =
            all(&three).into_iter().filter(|&action| !three.move_name(action).starts_with('2')).collect();
        assert_eq!(layers(&three, &faces, 3), [1, 12, 114, 1068]);
        let blocks = cube(3, Metric::OuterBlock);
        assert_eq!(layers(&blocks, &all(&blocks), 2), [1, 18, 243]);
        let four = cube(4, Metric::Quarter);
        assert_eq!(layers(&four, &all(&four), 1), [1, 24]);
    }

    #[test]
    fn facelets_of_another_size_are_counted() {
        let refusal = |size, metric, text: &str| cube(size, metric).parse(text).expect_err(text).to_string();
        let other = |size: usize| "URFDLB".repeat(size * size);
        assert!(refusal(5, Metric::Quarter, &other(3)).contains("54 facelets, a 5×5×5 has 150"));
        assert!(refusal(5, Metric::Oriented, &other(4).replace('L', "C")).contains("96 facelets, a 5×5×5 has 150"));
        let large = Permutation::<768>::new(Description::of_cube(CubeN::new(8, Metric::Quarter)));
        let counted = large.parse(&other(4)).expect_err("a 4×4×4").to_string();
        assert!(counted.contains("96 facelets, an 8×8×8 has 384"), "{counted}");
        let colours = cube(4, Metric::Oriented).format(&cube(4, Metric::Oriented).goals()[0]).replace('U', "W");
        assert!(refusal(4, Metric::Oriented, &colours).starts_with("a facelet is W: a cube that is held still"));
    }

    #[test]
    fn contests_turn_the_same_stickers() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles/cube4.json");
        let file = Permutation::<256>::new(Description::read(&path).expect("a puzzle"));
        let still = cube(4, Metric::Oriented);
        let mut generator = generator(2, 0);
        for count in 0..30 {
            let moves: Vec<Move> = (0..count).map(|_| below(&mut generator, 24) as Move).collect();
            let text = move_names(&file, &moves).join(" ");
            let (theirs, ours) = (file.parse(&text).expect("moves"), still.parse(&text).expect("moves"));
            let listed: Vec<String> = file.format(&theirs).chars().map(String::from).collect();
            for separator in [";", ",", " ", ""] {
                assert_eq!(still.parse(&listed.join(separator)), Ok(ours), "{text}");
            }
            let ours: Vec<Move> = still.parse_moves(&text).expect("moves");
            let again = ours.iter().filter_map(|&action| still.contest_name(action)).collect::<Vec<_>>().join(".");
            assert_eq!(still.parse_moves(&again), Ok(ours), "{again}");
        }
        assert_eq!(still.contest_name(0).as_deref(), Some("-d3"));
        assert_eq!(still.parse("-f0.r2.-d1"), still.parse("F' 3R 3U"));
        assert_eq!(still.parse("-f0.r2.-d1"), still.parse("f0_inv r2 d1_inv"));
        let any = cube(4, Metric::Quarter);
        let refusal = any.parse(&file.format(&file.parse("f0 r1_inv d2").expect("moves"))).expect_err("other faces");
        assert!(refusal.to_string().ends_with("If it is a state of a contest, cube4:oriented reads it"), "{refusal}");
        assert_eq!(any.parse("r2"), any.parse("Rw Rw"), "a wide half turn");
        assert_eq!(any.read_as("r2"), None);
        assert_eq!(still.read_as("r2 f1").as_deref(), Some("moves with the names of contests: r2 is 2L'"));
        assert_eq!(still.read_as("r2 f0"), None, "no other meaning");
        assert_eq!(any.parse("r2 f0"), any.parse("3R F"));
        assert_eq!(any.parse("r2.d1"), any.parse("3R 2D"), "dots join the words of contests");
        for (text, word) in [("f0.r2.d4", "d4"), ("-f0.r2.-d4", "-d4"), ("f0 q7", "q7")] {
            let refusal = still.parse(text).expect_err("no turn").to_string();
            assert!(refusal.contains(&format!("'{word}' is not a turn: expected f0 to f3")), "{text}: {refusal}");
        }
    }

    #[test]
    fn a_cube_is_solved_however_it_is_held() {
        let mut generator = generator(3, 0);
        for (size, metric) in [
            (4, Metric::Quarter),
            (5, Metric::Quarter),
            (4, Metric::HalfTurn),
            (5, Metric::OuterBlock),
            (4, Metric::OuterBlock),
            (4, Metric::Oriented),
        ] {
            let cube = cube(size, metric);
            let is_any = metric != Metric::Oriented;
            assert_eq!(cube.is_goal(&cube.parse("x y' z2 x").expect("turns")), is_any);
            for count in 1..25 {
                let text = words(size, count, &mut generator);
                let state = cube.parse(&text).expect("a scramble");
                let scramble = cube.scramble(&text).expect("a scramble");
                assert_eq!(cube.normalized(&scramble.end()), state, "{text}");
                assert_eq!(cube.normalized(&scramble.start), cube.goals()[0], "{text}");
                // A walk from the state, and its names on the cube in the hand.
                let walk: Vec<Move> = (0..10).map(|_| below(&mut generator, cube.move_count()) as Move).collect();
                let end = walk.iter().fold(state, |state, &action| cube.apply(&state, action).expect("a move"));
                let names = move_names(&cube, &cube.in_hand(&text, &walk)).join(" ");
                assert_eq!(cube.parse(&format!("{text} {names}")), Ok(end), "{text}: {names}");
                assert_eq!(cube.parse_solution(&text, &names), Ok(walk.clone()), "{text}: {names}");
                let facelets = cube.format(&state);
                assert_eq!(cube.parse(&facelets), Ok(state), "{facelets}");
                // As facelets, the cube is played as it is held.
                let drawn = cube.format(&scramble.end());
                let hand = cube.state_in_hand(&drawn).expect("facelets");
                let state = cube.parse(&drawn).expect("facelets");
                assert_eq!(cube.normalized(&hand), state, "{drawn}");
                assert!(size == 5 || cube.format(&hand) == drawn, "{drawn}");
                let play = |start, moves: &[Move]| {
                    moves.iter().fold(start, |state, &action| cube.apply(&state, action).expect("a move"))
                };
                let played = play(hand, &cube.in_hand(&drawn, &walk));
                assert_eq!(cube.normalized(&played), play(state, &walk), "{drawn}");
                // The names of moves, one by one, are read as these moves.
                assert_eq!(cube.parse_moves(&move_names(&cube, &walk).join(" ")), Ok(walk));
            }
        }
    }

    #[test]
    fn impossible_cubes_are_refused_and_parities_of_reduction_are_not() {
        let swapped = |size: usize, pairs: &[(usize, usize)]| {
            let cube = cube(size, Metric::Quarter);
            let mut letters: Vec<char> = cube.format(&cube.goals()[0]).chars().collect();
            pairs.iter().for_each(|&(one, other)| letters.swap(one, other));
            cube.parse(&letters.iter().collect::<String>()).map_err(|refusal| refusal.to_string())
        };
        // UF: two wings exchange their places.
        assert!(swapped(4, &[(13, 14), (33, 34)]).is_ok(), "equal colours");
        assert!(swapped(4, &[(13, 33), (14, 34)]).is_ok(), "a flipped pair of wings");
        let refusal = swapped(4, &[(13, 33)]).expect_err("one wing flipped");
        assert!(refusal.contains("there too often"), "{refusal}");
        // The corner URF turned: its stickers are U 15, R 16, F 35.
        let refusal = swapped(4, &[(15, 16), (16, 35)]).expect_err("a corner twisted");
        assert!(refusal.contains("twisted"), "{refusal}");
        // The same corner in the order of contests, U F R B L D.
        let mut symbols: Vec<char> = ('A'..='F').flat_map(|symbol| std::iter::repeat_n(symbol, 16)).collect();
        symbols.swap(15, 32);
        symbols.swap(32, 19);
        let refusal = cube(4, Metric::Oriented).parse(&String::from_iter(symbols)).expect_err("a corner twisted");
        assert!(refusal.to_string().contains("twisted"), "{refusal}");
        let refusal = swapped(5, &[(22, 52)]).expect_err("a middle edge flipped");
        assert!(refusal.contains("flipped"), "{refusal}");
        let refusal = swapped(4, &[(5, 21)]).map(drop);
        assert!(refusal.is_ok(), "centres may be anywhere: {refusal:?}");
        let refusal = swapped(6, &[(7, 36 + 8)]).expect_err("centres of two kinds");
        assert!(refusal.contains("centre"), "{refusal}");
        let four = cube(4, Metric::Quarter);
        let faces: Vec<String> = FACES.iter().map(|face| face.to_string().repeat(16)).collect();
        for separator in ["", " ", "\n"] {
            assert_eq!(four.parse(&faces.join(separator)), Ok(four.goals()[0]), "six lines are six faces");
        }
        // All corners in two colours.
        let two = faces.concat().replace('U', "1").replace('R', "U").replace('1', "R");
        let corners = |(i, letter): (usize, char)| match (i / 16, [0, 3, 12, 15].contains(&(i % 16))) {
            (0 | 1, _) | (_, false) => letter,
            _ => 'U',
        };
        let text: String = two.chars().enumerate().map(corners).collect();
        assert!(four.parse(&text).is_err());
        let text = format!("RUURUUUUUUUURUURRRRRRUURRUURRRRR{}", faces[2..].concat());
        assert!(four.parse(&text).is_err_and(|refusal| refusal.to_string().contains("six colours")));
    }

    #[test]
    fn the_numbers_of_states_are_the_known_ones() {
        let known = [
            (2, 3_674_160.0),
            (3, 43_252_003_274_489_856_000.0),
            (4, 7.401_196_841_564_902e45),
            (5, 2.828_709_422_777_418_6e74),
            (6, 1.571_528_584_010_314_7e116),
            (7, 1.950_055_118_373_131_4e160),
        ];
        for (size, states) in known {
            let found = CubeN::new(size, Metric::HalfTurn).ln_states();
            assert!((found - f64::ln(states)).abs() < 1e-6, "{size}: e^{found}, not {states}");
        }
    }

    #[test]
    fn turns_have_the_names_that_people_write() {
        let named = |size: usize, metric: Metric| {
            let cube = cube(size, metric);
            move_names(&cube, &(0..cube.move_count() as Move).collect::<Vec<_>>()).join(" ")
        };
        assert_eq!(
            named(4, Metric::Oriented).split(' ').take(6).collect::<Vec<_>>(),
            ["U", "U'", "R", "R'", "F", "F'"]
        );
        assert!(named(4, Metric::Oriented).ends_with("D' D L' L B' B"));
        assert!(named(4, Metric::Quarter).ends_with("3Uw' 3Uw 3Rw' 3Rw 3Fw' 3Fw"), "{}", named(4, Metric::Quarter));
        assert!(named(5, Metric::OuterBlock).contains("Uw Uw' Uw2"));
        let cube = cube(5, Metric::Quarter);
        for (text, same) in [
            ("2-3Rw", "2R 3R"),
            ("3r'", "R' 2R' 3R'"),
            ("M", "3L"),
            ("E2", "3D2"),
            ("S'", "3F'"),
            ("R 2R", "R (2R)"),
            ("R 2-3Rw2", "R 2R2 3R2"),
            ("2-3R'", "2R' 3R'"),
            ("(2R U)2", "2R U 2R U"),
            ("[2R, U]", "2R U 2R' U'"),
            ("2R-1U", "2R' U"),
            ("2R-3 U", "2R U"),
            ("2R⁻²U^-3F", "2R2 U F"),
        ] {
            assert_eq!(cube.parse(text), cube.parse(same), "{text}");
        }
        for text in ["6R", "5Rw", "0R", "2-6Rw", "3-2Rw", "2x", "Q"] {
            assert!(cube.parse(text).is_err(), "{text}");
        }
        for (text, why) in [
            ("2R-3R", "2-3Rw the second and the third"),
            ("U 2Rw-3Rw", "'2Rw-3Rw'"),
            ("R-2R", "'-' is not a face"),
            ("5Rw", "5 layers are the whole cube"),
            ("1-5Rw", "5 layers are the whole cube"),
            ("1-5L", "5 layers are the whole cube"),
        ] {
            assert!(cube.parse(text).is_err_and(|refusal| refusal.0.contains(why)), "{text}");
        }
    }
}
