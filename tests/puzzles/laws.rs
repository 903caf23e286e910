//! The laws of every puzzle, and what is special about each.

use costar::heuristic::zero;
use costar::puzzle::cube_n::stages::edges::Edges;
use costar::puzzle::cube_n::{CubeN, Metric};
use costar::puzzle::cube2::Cube2;
use costar::puzzle::laws::exact_distances;
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::sokoban::Sokoban;
use costar::puzzle::tiles::{Puzzle8, Puzzle15, Puzzle24, Puzzle35, Puzzle48};
use costar::puzzle::{Notation as _, Puzzle, Rules, laws};
use costar::random::generator;
use costar::registry::Entry;
use costar::sampler::Walker;
use proptest::prelude::*;
use std::path::Path;

fn description(name: &str) -> Description {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles");
    Description::read(&folder.join(name)).expect("a puzzle that comes with costar")
}

#[test]
fn the_laws_hold_for_every_size_of_sliding_tiles() {
    laws::check(&Puzzle8::default(), &[1, 2, 4, 8, 16, 20, 39, 62, 116]);
    let outward = Puzzle8::with_goal("0 1 2 3 4 5 6 7 8").expect("a board");
    laws::check(&outward, &[1, 2, 4, 8, 16, 20, 39, 62, 116]);
    let aside = Puzzle8::with_goal("1 0 2 3 4 5 6 7 8").expect("a board");
    assert!(
        aside.symmetric_images(&aside.goal()).next().is_none(),
        "a blank that is off the diagonal has no mirror image"
    );
    laws::check(&Puzzle15::default(), &[1, 2, 4, 10, 24, 54, 107, 212, 446]);
    laws::check(&Puzzle24::default(), &[1, 2, 4, 10, 26, 64, 159, 366, 862]);
    laws::check(&Puzzle35::default(), &[1, 2, 4, 10, 26, 66, 171, 440]);
    laws::check(&Puzzle48::default(), &[1, 2, 4, 10, 26, 66, 173, 454]);
}

#[test]
fn the_laws_hold_for_the_small_cube_and_the_files() {
    let corners = [1, 6, 27, 120, 534, 2256, 8969];
    laws::check(&Cube2, &corners);
    laws::check(&Permutation::<64>::new(description("cube2.json")), &corners);
    // Without its tips, 1, 8, 48, 288 (J. Scherphuis, "Pyraminx"); each tip is home (1) or not (2), by itself: times (1 + 2x)⁴.
    laws::check(&Permutation::<64>::new(description("pyraminx.json")), &[1, 16, 136, 896]);
    let lrx = Permutation::<16>::new(description("lrx9.json"));
    assert_eq!(exact_distances(&lrx, 255).len(), 362_880, "9! states");
    laws::check(&lrx, &[1, 3, 6, 12]);
    // Turns of 12 faces by 72°, of which the 6 that do not touch one commute with it.
    laws::check(&Permutation::<128>::new(description("megaminx.json")), &[1, 24, 408, 6208]);
    laws::check(&Permutation::<128>::new(description("professor-tetraminx.json")), &[1, 24, 408, 6592]);
    laws::check(&Permutation::<64>::new(description("hungarian-rings.json")), &[1, 4, 12, 36]);
    laws::check(&Permutation::<64>::new(description("periodic15.json")), &[1, 16, 184, 2032]);
    laws::check(&Permutation::<128>::new(description("supercube3.json")), &[1, 18]);
}

#[test]
fn a_word_of_many_primes_is_refused() {
    let pyraminx = Permutation::<64>::new(description("pyraminx.json"));
    assert!(pyraminx.parse(&format!("R{}", "'".repeat(100_000))).is_err());
    assert_eq!(pyraminx.parse("R2'"), pyraminx.parse("R' R'"));
}

/// J. Scherphuis, "Skewb": 3,149,280 positions, of which the last are 11 turns away.
#[test]
fn the_laws_hold_for_the_skewb() {
    let skewb = Permutation::<64>::new(description("skewb.json"));
    laws::check(&skewb, &[1, 8, 48, 288, 1728]);
    assert_eq!(exact_distances(&skewb, 255).len(), 3_149_280);
}

#[test]
fn the_laws_hold_for_larger_cubes() {
    let cube = |size, metric| Permutation::<256>::new(Description::of_cube(CubeN::new(size, metric)));
    // 24 · 24, without 24 undone, 72 in another order about one axis, and 12 half turns the other way.
    laws::check(&cube(4, Metric::Oriented), &[1, 24, 468]);
    laws::check(&cube(4, Metric::Quarter), &[1, 24]);
    let stage = |size, metric| Permutation::<64>::new(Description::of_cube(CubeN::new(size, metric)));
    laws::check(&stage(4, Metric::Reduction), &[1, 12]);
    // Outer turns keep the goal of a stage.
    laws::check(&stage(5, Metric::Centres), &[1, 12]);
    laws::check(&Edges::default(), &[1, 12]);
    laws::check(&cube(5, Metric::OuterBlock), &[1, 36]);
    laws::check(&cube(6, Metric::HalfTurn), &[1, 54]);
}

#[test]
fn the_solids_of_the_files_turn_as_rigid_bodies() {
    for (name, solid) in
        [("pyraminx.json", true), ("skewb.json", true), ("cuboid223.json", true), ("topspin20.json", false)]
    {
        let puzzle = Permutation::<64>::new(description(name));
        let geometry = puzzle.geometry().expect("a shape");
        let of = |polygon: &Vec<Vec<f64>>, axis: usize| polygon.iter().map(|point| point[axis]).sum::<f64>();
        let centre = |polygon: &Vec<Vec<f64>>| -> Vec<f64> {
            (0..polygon[0].len()).map(|axis| of(polygon, axis) / polygon.len() as f64).collect()
        };
        let centres: Vec<Vec<f64>> = geometry.polygons.iter().map(centre).collect();
        assert_eq!(centres[0].len() == 3, solid, "{name}");
        assert_eq!(geometry.moves.len(), puzzle.move_count());
        let distance =
            |i: usize, j: usize| centres[i].iter().zip(&centres[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        for action in geometry.moves.iter().filter(|_| solid) {
            let moved: Vec<usize> = (0..centres.len()).filter(|&i| usize::from(action.from[i]) != i).collect();
            for (&i, &j) in moved.iter().flat_map(|i| moved.iter().map(move |j| (i, j))) {
                let before = distance(action.from[i].into(), action.from[j].into());
                assert!((before - distance(i, j)).abs() < 2e-3, "{name}, {}: {i} and {j}", action.name);
            }
        }
    }
}

#[test]
fn unsolvable_boards_and_broken_texts_are_refused_by_name() {
    let puzzle = Puzzle8::default();
    for (text, named) in [
        ("1 2 3 4 5 6 8 7 0", "parity"),
        ("1 2 3 4 5 6 7 8", "8 tiles"),
        ("1 2 3 4 5 6 7 8 10", "'10'"),
        ("1 2 3 4 5 6 7 7 0", "twice"),
        ("1 2 3 4 5 6 7 x 0", "two blanks"),
        ("1 2 3 4 5 6 7 y 0", "'y'"),
    ] {
        let refusal = puzzle.parse(text).expect_err(text).to_string();
        assert!(refusal.contains(named), "{text}: {refusal}");
    }
    for (scramble, named) in [
        ("U U U", "move 3, 'U', is not legal there: expected one of D L"),
        ("L d", "move 2, 'D', is not legal there: expected one of U R L"),
    ] {
        let refusal = puzzle.parse(scramble).expect_err(scramble).to_string();
        assert!(refusal.contains(named), "{scramble}: {refusal}");
    }
    assert_eq!(puzzle.parse_moves("UdR L"), Ok(vec![0, 1, 2, 3]));
    assert!(Puzzle8::with_goal("0 1").is_err());
    let periodic = Permutation::<64>::new(description("periodic15.json"));
    let refusal = periodic.parse("1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15").expect_err("a blank").to_string();
    assert!(refusal.starts_with("'0' is not a symbol of a state: expected 1 2 3"), "{refusal}");
    let refusal = periodic.parse("1, 2, 3, 4").expect_err("few tiles").to_string();
    assert_eq!(refusal, "a state with 4 symbols: expected 16");
    // Its symbols are moves, too.
    let supercube = Permutation::<128>::new(description("supercube3.json"));
    for (count, separator) in [(71, " "), (71, ","), (73, " ")] {
        let refusal = supercube.parse(&vec!["U"; count].join(separator)).expect_err("symbols").to_string();
        assert_eq!(refusal, format!("a state with {count} symbols: expected 72"));
    }
    assert!(supercube.parse(&"U ".repeat(36)).is_ok(), "a scramble");
}

#[test]
fn manhattan_and_linear_conflict_are_admissible_and_ordered() {
    let puzzle = Puzzle8::with_goal("0 1 2 3 4 5 6 7 8").expect("a goal");
    let table = exact_distances(&puzzle, 31);
    assert_eq!(table.len(), 181_440);
    let entry = Entry::from(puzzle.clone());
    let mut manhattan = entry.heuristic("manhattan").expect("it has it");
    let mut conflict = entry.heuristic("linear-conflict").expect("it has it");
    let mut better = 0;
    for (board, &distance) in &table {
        let (low, high) = (manhattan.estimate(board).expect("a number"), conflict.estimate(board).expect("a number"));
        assert!(low <= high && high <= f32::from(distance), "{board:?}: {low}, {high}, {distance}");
        better += u32::from(high > low);
    }
    assert!(better > 10_000);
    assert_eq!(zero::<<Puzzle8 as Rules>::State>().estimate(&puzzle.goal()).ok(), Some(0.0));
}

use costar::heuristic::Heuristic as _;

#[test]
fn the_small_cube_is_the_large_ones_corners_held_at_one() {
    let whole = exact_distances(&Cube2, 3);
    // All twelve turns are read, as turns of a cube in the hand.
    for (scramble, same) in [("L", "R"), ("D'", "U'"), ("B", "F"), ("L R'", ""), ("U D'", ""), ("F' B", "")] {
        assert_eq!(Cube2.parse(scramble), Cube2.parse(same), "{scramble}");
    }
    assert_ne!(Cube2.parse("L U"), Cube2.parse("R U"), "after L the cube is held another way");
    for state in whole.keys() {
        assert_eq!(Cube2.parse(&Cube2.format(state)), Ok(*state));
    }
    assert!(Cube2.parse("RUUUURRRFFFFDDDDLLLLBBBB").is_err());
    assert_eq!(Cube2.parse(&"Ri Ui Fi ".repeat(3)), Cube2.parse(&"R' U' F' ".repeat(3)), "primes are not facelets");
    assert_eq!(Cube2.parse("Scramble R U F R U F R U F R"), Cube2.parse("R U F R U F R U F R"));
    // Any six letters, any case, spaces; the cube may be held in any way.
    let state = Cube2.parse("R U' F R2 U").expect("a scramble");
    let text = Cube2.format(&state);
    let renamed = |names: &str| -> String {
        let name = |letter| names.chars().nth("URFDLB".find(letter).expect("a face")).expect("six letters");
        text.chars().map(name).collect()
    };
    for same in
        [text.to_lowercase(), text.chars().flat_map(|c| [c, ' ']).collect(), renamed("WRGYOB"), renamed("RFUBDL")]
    {
        assert_eq!(Cube2.parse(&same), Ok(state), "{same}");
    }
    for (some, named) in [
        (&text[1..], "23 facelets, a 2×2×2 has 24"),
        (&format!("{text}U"), "25 facelets"),
        (&"U".repeat(54), "54 facelets"),
        (&"U".repeat(24), "4 of each letter"),
        (&"R U ".repeat(9), "18 facelets"),
        ("UUUURRRRFFFFDDUDLLLLBBBB", "5 facelets are U"),
        // Two facelets of a corner are exchanged.
        ("UUUUFRRRFRFFDDDDLLLLBBBB", "the corner at URF reads UFR"),
        ("UUUURRRRFFFFDBDDLLLLBBBD", "the corner at DBL reads DDL"),
        ("E", "no slice"),
        ("U R F U R F U R F U R F U R F U R F", "18 facelets"),
        ("M", "no slice"),
        ("R S'", "no slice"),
        ("Rw", "no wide turn"),
        ("r", "no wide turn"),
        ("Q", "24 facelets"),
    ] {
        let refusal = Cube2.parse(some).expect_err(some).to_string();
        assert!(refusal.contains(named) && !refusal.contains("the 54"), "{some}: {refusal}");
    }
    assert_eq!(Cube2.parse(&"R".repeat(17)), Cube2.parse("R"), "17 letters are a scramble");
    assert_eq!(Cube2.parse("x y R"), Cube2.parse("R"));
    assert!(Cube2.parse_moves("L").expect_err("DBL stays").to_string().contains("'L'"));
}

#[test]
fn the_files_small_cube_agrees_with_the_built_in_one() {
    let file = Permutation::<64>::new(description("cube2.json"));
    let mut generator = generator(3, 0);
    let mut walker = Walker::new(&Cube2, Cube2.goals()[0]);
    let mut state = file.goals()[0];
    for _ in 0..2000 {
        let action = walker.step(&mut generator).expect("a cube can be turned");
        let name = Cube2.move_name(action);
        let same = file.parse_moves(&name).expect("the same names")[0];
        state = file.apply(&state, same).expect("legal");
        assert_eq!(file.format(&state), Cube2.format(&walker.state));
    }
}

#[test]
fn a_malformed_file_is_refused_with_line_and_reason() {
    let good = r#"{
  "name": "toy",
  "goal": "ABC",
  "moves": {
    "L": [1, 2, 0]
  },
  "symmetric": true
}"#;
    let toy = Description::parse(good).expect("a puzzle");
    assert!(toy.is_reversible() && toy.positions() == 3);
    let toy = Permutation::<16>::new(toy);
    assert_eq!((toy.move_count(), toy.move_name(1)), (2, "L'".into()), "the inverse was derived");
    assert_eq!(toy.parse("L L").map(|state| toy.format(&state)), Ok("CAB".into()), "new[i] = old[p[i]]");
    assert!(!Description::parse(&good.replace("true", "false")).expect("a puzzle").is_reversible());
    for (from, to, line, named) in [
        ("[1, 2, 0]", "[1, 2]", 5, "has 2 positions"),
        ("[1, 2, 0]", "[1, 2, 3]", 5, "holds 3"),
        ("[1, 2, 0]", "[1, 1, 0]", 5, "twice"),
        ("[1, 2, 0]", "[1, 2, -1]", 5, "-1"),
        ("[1, 2, 0]", "7", 5, "not an array"),
        ("\"ABC\"", "\"A\"", 3, "1 positions"),
        ("\"ABC\"", "[0, 1, 300]", 3, "0 to 255"),
        ("\"ABC\"", "\"A C\"", 3, "space"),
        ("\"toy\"", "7", 2, "name"),
        ("\"toy\",\n  \"goal\": \"ABC\"", "\"goal\",\n  \"goal\": \"A\"", 3, "1 positions"),
        ("true", "1", 7, "symmetric"),
        ("\"symmetric\"", "\"symetric\"", 7, "symetric"),
        ("\"ABC\",", "\"ABC\"", 4, "JSON"),
    ] {
        assert!(good.contains(from));
        let refusal = Description::parse(&good.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(refusal.contains(&format!("line {line}")) && refusal.contains(named), "{to}: {refusal}");
    }
}

/// Any text either is read to a state that formats back, or is refused.
fn read_or_refused<P: Puzzle>(puzzle: &P, text: &str) -> Result<(), TestCaseError> {
    if let Ok(state) = puzzle.parse(text) {
        prop_assert_eq!(puzzle.parse(&puzzle.format(&state)), Ok(state));
    }
    let _ = puzzle.parse_moves(text);
    Ok(())
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,60}", numbers in "[0-9 ,]{0,40}", letters in "[URFDLB'2 ]{0,30}") {
        for text in [&text, &numbers, &letters] {
            read_or_refused(&Puzzle8::default(), text)?;
            read_or_refused(&Puzzle15::default(), text)?;
            read_or_refused(&Cube2, text)?;
            read_or_refused(&costar::puzzle::lightsout::LightsOut::<1>::new(3), text)?;
            read_or_refused(&costar::puzzle::jugs::Jugs::new("8,5,3").expect("three jugs"), text)?;
            read_or_refused(&Permutation::<64>::new(description("pyraminx.json")), text)?;
            read_or_refused(&Sokoban::by_moves(), text)?;
            let _ = Description::parse(text);
            let _ = costar::puzzle::jugs::Jugs::new(text);
        }
    }

    #[test]
    fn levels_are_read_or_refused(inside in proptest::collection::vec("[# .$*@+]{5}", 1..5)) {
        let rows: Vec<String> = inside.iter().map(|row| format!("#{row}#")).collect();
        read_or_refused(&Sokoban::by_moves(), &format!("#######\n{}\n#######", rows.join("\n")))?;
        read_or_refused(&Sokoban::by_pushes(), &rows.join("\n"))?;
    }

    #[test]
    fn shuffled_boards_are_read_or_refused_for_their_parity(tiles in Just((0..9u8).collect::<Vec<_>>()).prop_shuffle()) {
        let text: Vec<String> = tiles.iter().map(u8::to_string).collect();
        let puzzle = Puzzle8::default();
        match puzzle.parse(&text.join(" ")) {
            Ok(board) => prop_assert_eq!(puzzle.format(&board), text.join(" ")),
            Err(refusal) => prop_assert!(refusal.to_string().contains("parity")),
        }
    }
}
