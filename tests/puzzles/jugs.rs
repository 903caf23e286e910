//! The water jugs of the article on search: every row of its table.

use costar::heuristic::{Heuristic, zero};
use costar::puzzle::jugs::{Jugs, Volumes};
use costar::puzzle::{Notation as _, Rules as _, laws, move_names, replay};
use costar::registry::Entry;
use costar::search::beam::Beam;
use costar::search::best_first::BestFirst;
use costar::search::breadth_first::BreadthFirst;
use costar::search::random_walk::RandomWalk;
use costar::search::{Control, End, Limits, Search};
use std::sync::atomic::AtomicBool;

/// The moves of a solution, as the article writes them.
fn solve(search: &dyn Search<Jugs>, heuristic: &mut dyn Heuristic<Volumes>) -> String {
    let jugs = Jugs::new("8,5,3").expect("three jugs");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = search.run(&jugs, &jugs.start(), heuristic, &mut control).expect("no heuristic fails");
    let moves = result.moves.expect("solved");
    let (end, _) = replay(&jugs, &jugs.start(), &moves).expect("legal moves");
    assert!(jugs.is_goal(&end));
    move_names(&jugs, &moves).join(" ")
}

/// The first score without its moves, as a cost: Σ over jugs of (10 if volume mod 4 = 0) − |4 − volume|.
fn first_score() -> Box<dyn Heuristic<Volumes>> {
    Entry::from(Jugs::new("8,5,3").expect("three jugs")).heuristic("sum").expect("it has it")
}

/// The second: the least |4 − volume|.
fn second_score() -> Box<dyn Heuristic<Volumes>> {
    Entry::from(Jugs::new("8,5,3").expect("three jugs")).heuristic("nearest").expect("it has it")
}

const SIX: &str = "(0,1) (1,2) (2,0) (1,2) (0,1) (1,2)";
const SEVEN: &str = "(0,2) (2,1) (0,2) (2,1) (1,0) (2,1) (0,2)";

#[test]
fn the_laws_hold() {
    let jugs = Jugs::new("8,5,3").expect("three jugs");
    // By hand: (3,5,0) (5,0,3); (0,5,3) (3,2,3) (5,3,0).
    laws::check_from(&jugs, &[jugs.start()], &[1, 2, 3]);
}

#[test]
fn breadth_first_search_needs_six_moves() {
    assert_eq!(solve(&BreadthFirst::default(), &mut zero()), SIX);
}

#[test]
fn best_first_search_depends_on_its_score() {
    // Minus the number of moves, and the score: f = g + h.
    let best_first = BestFirst::one_by_one(1.0);
    assert_eq!(solve(&best_first, &mut *first_score()), SEVEN);
    assert_eq!(solve(&best_first, &mut *second_score()).split(' ').count(), 6);
    assert_eq!(solve(&best_first, &mut zero()), SIX, "it is breadth-first search");
}

#[test]
fn beam_search_depends_on_its_width() {
    assert_eq!(solve(&Beam::new(2), &mut *first_score()), SEVEN);
    assert_eq!(solve(&Beam::new(3), &mut *first_score()).split(' ').count(), 6);
    assert_eq!(solve(&Beam::new(2), &mut *second_score()).split(' ').count(), 6);
}

#[test]
fn a_random_walk_gets_there() {
    let walk = |seed| solve(&RandomWalk { seed, most_moves: 10_000 }, &mut zero());
    assert_eq!(walk(1), walk(1));
    assert!((1..6).any(|seed| walk(seed) != walk(seed + 1)));
}

#[test]
fn half_of_an_odd_jug_has_no_solution() {
    let jugs = Jugs::new("7,5,3").expect("three jugs");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let result =
        BreadthFirst::default().run(&jugs, &jugs.start(), &mut zero(), &mut Control::new(&limits, &stop, &mut watch));
    assert_eq!(result.expect("nothing fails").end, End::NoSolution);
}

#[test]
fn jugs_and_volumes_are_read_or_refused_by_name() {
    for (text, named) in
        [("", "a list"), ("8,0", "a list"), ("8,x", "'x'"), ("256", "'256'"), ("1,1,1,1,1,1,1,1,1", "a list")]
    {
        let refusal = Jugs::new(text).expect_err(text).to_string();
        assert!(refusal.contains(named), "{text}: {refusal}");
    }
    let jugs = Jugs::new("8,5,3").expect("three jugs");
    assert_eq!(jugs.parse(""), Ok(jugs.start()));
    assert_eq!(jugs.parse(&jugs.format(&jugs.start())), Ok(jugs.start()));
    for (text, named) in [("9,0,0", "jug 0"), ("1,2", "2 volumes"), ("a", "'a'")] {
        let refusal = jugs.parse(text).expect_err(text).to_string();
        assert!(refusal.contains(named), "{text}: {refusal}");
    }
    assert_eq!(
        jugs.parse_moves("(0,1) (1,2)").map(|moves| move_names(&jugs, &moves).join(" ")),
        Ok("(0,1) (1,2)".into())
    );
    assert!(jugs.parse_moves("(0,0)").expect_err("a jug into itself").to_string().contains("'0,0'"));
    let exact = jugs.clone().with_goal("2,3,3").expect("volumes");
    assert!(exact.is_goal(&exact.parse("2,3,3").expect("volumes")) && !exact.is_goal(&exact.start()));
    let two = jugs.with_goal("2").expect("a volume");
    assert!(two.is_goal(&two.parse("1,5,2").expect("volumes")));
}
