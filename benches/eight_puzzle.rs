//! The 8-puzzle by breadth-first search, made fast step by step: `cargo bench --bench eight_puzzle [-- --all]`.
//!
//! Prints the table of test-data/eight-puzzle.tsv with the time of each step (a list of boards, a list of packed boards, a
//! table by index, the crate's `bfs` and `bidirectional`), then searches of whole puzzles, then the crate's searches beside
//! those of the crate `pathfinding`, on the same boards in the same run. Times are medians. Long scans of lists are left
//! out, unless `--all` is given.

use costar::heuristic::exact::Exact;
use costar::heuristic::tiles::distance;
use costar::heuristic::{Heuristic, zero};
use costar::puzzle::cube2::Cube2;
use costar::puzzle::tiles::{Board as _, Packed8, Puzzle8};
use costar::puzzle::{Indexed, Move, Notation as _, Rules as _};
use costar::search::best_first::BestFirst;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::idastar::IterativeDeepening;
use costar::search::{Control, Limits, Search, SearchResult};
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const START: &str = "0 1 2 3 4 5 6 7 8";

/// The most boards of a list that is scanned for duplicates by default: unpacked and packed.
const SCANNED: [u64; 2] = [40_000, 120_000];

/// The most runs of each search beside another.
const MAX_ROUNDS: usize = 101;

fn main() -> anyhow::Result<()> {
    let all = std::env::args().any(|word| word == "--all");
    let rows = rows()?;
    steps(&rows, all);
    wholes();
    beside_pathfinding(&rows);
    Ok(())
}

/// A row of the table: the goal, and the known counts.
struct Row {
    board: String,
    puzzle: Puzzle8,
    start: Packed8,
    moves: u64,
    one_way: [u64; 2],
    both_ways: [u64; 2],
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let lines = include_str!("../test-data/eight-puzzle.tsv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let (board, numbers) = line.split_once('\t').ok_or_else(|| anyhow::anyhow!("no tab in '{line}'"))?;
        let numbers = numbers.split('\t').map(str::parse).collect::<Result<Vec<u64>, _>>()?;
        anyhow::ensure!(numbers.len() == 5, "five numbers belong into '{line}'");
        let puzzle = Puzzle8::with_goal(board)?;
        let start = puzzle.parse(START)?;
        Ok(Row {
            board: board.replace(' ', ""),
            puzzle,
            start,
            moves: numbers[0],
            one_way: [numbers[1], numbers[2]],
            both_ways: [numbers[3], numbers[4]],
        })
    };
    lines.map(row).collect()
}

/// The median time of runs that together take 0.2 s, and the last result.
fn median<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let (started, mut times) = (Instant::now(), Vec::new());
    loop {
        let run_started = Instant::now();
        let result = black_box(run());
        times.push(run_started.elapsed().as_secs_f64());
        if times.len() >= 101 || started.elapsed() > Duration::from_millis(200) {
            times.sort_by(f64::total_cmp);
            return (times[times.len() / 2], result);
        }
    }
}

/// Moves, boards enumerated, and boards examined.
type Counts = (u64, [u64; 2]);

/// Breadth-first search on a list of boards; `is_new` tells whether a board is not in the list yet.
fn breadth_first<B: Copy + PartialEq>(
    start: B,
    goal: B,
    slide: impl Fn(B, Move) -> Option<B>,
    mut is_new: impl FnMut(&[B], B) -> bool,
) -> Counts {
    is_new(&[], start);
    let (mut boards, mut moves, mut next) = (vec![start], vec![0], 0);
    while boards[next] != goal {
        let board = boards[next];
        for child in (0..4).filter_map(|action| slide(board, action)) {
            if is_new(&boards, child) {
                boards.push(child);
                moves.push(moves[next] + 1);
            }
        }
        next += 1;
    }
    (moves[next], [boards.len() as u64, next as u64 + 1])
}

type Unpacked = [u8; 9];

fn slide_unpacked(board: Unpacked, action: Move) -> Option<Unpacked> {
    let blank = board.iter().position(|&tile| tile == 0)?;
    let target = match action {
        0 => blank.checked_sub(3)?,
        1 => Some(blank + 3).filter(|&cell| cell < 9)?,
        2 => Some(blank + 1).filter(|&cell| cell % 3 != 0)?,
        _ => blank.checked_sub(1).filter(|&cell| cell % 3 != 2)?,
    };
    let mut next = board;
    next.swap(blank, target);
    Some(next)
}

fn unpacked_list(row: &Row) -> Counts {
    let unpack = |board: Packed8| <Unpacked>::try_from(board.tiles()).expect("nine cells");
    breadth_first(unpack(row.start), unpack(row.puzzle.goal()), slide_unpacked, |boards, board| {
        !boards.contains(&board)
    })
}

fn packed_list(row: &Row) -> Counts {
    let (start, goal) = (row.start.0, row.puzzle.goal().0);
    let slide = |board, action| Packed8(board).slide(action).map(|board| board.0);
    breadth_first(start, goal, slide, |boards, board| !boards.contains(&board))
}

fn numbered(row: &Row) -> Counts {
    let mut seen = vec![false; row.puzzle.count()];
    let is_new = |_: &[Packed8], board| !std::mem::replace(&mut seen[row.puzzle.index(&board)], true);
    breadth_first(row.start, row.puzzle.goal(), |board, action| board.slide(action), is_new)
}

fn run(row: &Row, search: &dyn Search<Puzzle8>, heuristic: &mut dyn Heuristic<Packed8>) -> SearchResult {
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let result = search.run(&row.puzzle, &row.start, heuristic, &mut Control::new(&limits, &stop, &mut watch));
    let result = result.expect("no heuristic here fails");
    assert_eq!(result.cost.map(u64::from), Some(row.moves), "to {}", row.board);
    result
}

fn by_search(row: &Row, search: &dyn Search<Puzzle8>) -> Counts {
    let stats = run(row, search, &mut zero()).stats;
    (row.moves, [stats.stored, stats.expanded])
}

/// A step: its name, its search, the most boards that it takes by default, and whether it searches from both ends.
struct Step {
    name: &'static str,
    search: fn(&Row) -> Counts,
    most: u64,
    both_ways: bool,
}

const STEPS: [Step; 5] = [
    Step { name: "list", search: unpacked_list, most: SCANNED[0], both_ways: false },
    Step { name: "packed list", search: packed_list, most: SCANNED[1], both_ways: false },
    Step { name: "numbered", search: numbered, most: u64::MAX, both_ways: false },
    Step { name: "bfs", search: |row| by_search(row, &BreadthFirst::default()), most: u64::MAX, both_ways: false },
    Step {
        name: "bidirectional",
        search: |row| by_search(row, &Bidirectional::default()),
        most: u64::MAX,
        both_ways: true,
    },
];

/// The table, with the time of every step.
fn steps(rows: &[Row], all: bool) {
    println!("From {}: boards enumerated and examined, and milliseconds of each step\n", START.replace(' ', ""));
    print!("goal      moves  enumerated  examined  both ways  examined");
    STEPS.iter().for_each(|step| print!("  {:>13}", step.name));
    println!();
    let mut times: Vec<[Option<f64>; 5]> = Vec::new();
    for row in rows {
        let [[stored, examined], [both_stored, both_examined]] = [row.one_way, row.both_ways];
        print!("{} {:>5} {stored:>11} {examined:>9} {both_stored:>10} {both_examined:>9}", row.board, row.moves);
        times.push(STEPS.each_ref().map(|step| {
            if stored > step.most && !all {
                print!("  {:>13}", "-");
                return None;
            }
            let (seconds, counts) = median(|| (step.search)(row));
            assert_eq!(counts, (row.moves, if step.both_ways { row.both_ways } else { row.one_way }), "{}", step.name);
            print!("  {:>13.3}", 1e3 * seconds);
            Some(seconds)
        }));
        println!();
    }
    if !all {
        println!(
            "-: left out, because scanning a list of more than {} boards, or {} packed ones, takes long: -- --all does it",
            SCANNED[0], SCANNED[1]
        );
    }
    println!("\nGain of each step, on the last row that both did");
    for (i, pair) in STEPS.windows(2).enumerate() {
        let mut both = rows.iter().zip(&times).filter_map(|(row, times)| Some((row, times[i]?, times[i + 1]?)));
        if let Some((row, before, after)) = both.next_back() {
            let [before_name, after_name] = [pair[0].name, pair[1].name];
            println!(
                "{before_name:>13} -> {after_name:<13} {:>8.1} x  ({}, {} moves)",
                before / after,
                row.board,
                row.moves
            );
        }
    }
}

/// Every state of a puzzle, by index.
fn wholes() {
    println!("\nAll states of a puzzle by number, milliseconds on one core");
    let (seconds, counts) = median(|| Exact::of(&Puzzle8::default()).counts());
    assert_eq!((counts.iter().sum::<usize>(), counts.len()), (181_440, 32));
    println!("puzzle8    181,440 boards  {:>8.2}", 1e3 * seconds);
    let (seconds, counts) = median(|| Exact::of(&Cube2).counts());
    assert_eq!((counts.iter().sum::<usize>(), counts.len()), (3_674_160, 15));
    println!("cube2    3,674,160 states  {:>8.2}", 1e3 * seconds);
}

fn beside_pathfinding(rows: &[Row]) {
    println!("\nBeside the crate pathfinding: milliseconds for all {} rows, sums of medians", rows.len());
    println!("                  costar  pathfinding  ratio");
    let children = |board: &Packed8| {
        let board = *board;
        (0..4).filter_map(move |action| board.slide(action))
    };
    let costly = |board: &Packed8| children(board).map(|child| (child, 1u32));
    compare(
        "bfs",
        rows,
        |row| by_search(row, &BreadthFirst::default()).0,
        |row| {
            let path = pathfinding::prelude::bfs(&row.start, children, |board| row.puzzle.is_goal(board));
            path.map(|path| path.len() as u64 - 1)
        },
    );
    let unpacked = |row: &Row| -> [u8; 9] { row.start.tiles().try_into().expect("nine tiles") };
    compare(
        "bfs, [u8; 9]",
        rows,
        |row| by_search(row, &BreadthFirst::default()).0,
        |row| {
            let goal: [u8; 9] = row.puzzle.goal().tiles().try_into().expect("nine tiles");
            let path = pathfinding::prelude::bfs(&unpacked(row), unpacked_children, |board| *board == goal);
            path.map(|path| path.len() as u64 - 1)
        },
    );
    compare(
        "all boards",
        &rows[..1],
        |row| {
            let all: usize = Exact::of(&row.puzzle).counts().iter().sum();
            row.moves + u64::from(all != 181_440)
        },
        |row| {
            let all = pathfinding::prelude::bfs_reach(row.puzzle.goal(), children).count();
            Some(row.moves + u64::from(all != 181_440))
        },
    );
    let with = |row: &Row, search: &dyn Search<Puzzle8>| {
        run(row, search, &mut distance::manhattan(&row.puzzle)).cost.map_or(0, u64::from)
    };
    compare(
        "A*, Manhattan",
        rows,
        |row| with(row, &BestFirst::a_star()),
        |row| {
            let manhattan = distance::Manhattan::of(&row.puzzle);
            let h = |board: &Packed8| manhattan.distance(board);
            let path = pathfinding::prelude::astar(&row.start, costly, h, |board| row.puzzle.is_goal(board));
            path.map(|(_, cost)| cost.into())
        },
    );
    compare(
        "A*, [u8; 9]",
        rows,
        |row| with(row, &BestFirst::a_star()),
        |row| {
            let goal: [u8; 9] = row.puzzle.goal().tiles().try_into().expect("nine tiles");
            let children = |board: &[u8; 9]| unpacked_children(board).into_iter().map(|child| (child, 1u32));
            let h = |board: &[u8; 9]| unpacked_manhattan(board, &goal);
            let path = pathfinding::prelude::astar(&unpacked(row), children, h, |board| *board == goal);
            path.map(|(_, cost)| cost.into())
        },
    );
    compare(
        "IDA*, Manhattan",
        rows,
        |row| with(row, &IterativeDeepening),
        |row| {
            let manhattan = distance::Manhattan::of(&row.puzzle);
            let h = |board: &Packed8| manhattan.distance(board);
            let path = pathfinding::prelude::idastar(&row.start, costly, h, |board| row.puzzle.is_goal(board));
            path.map(|(_, cost)| cost.into())
        },
    );
    compare(
        "IDA*, [u8; 9]",
        rows,
        |row| with(row, &IterativeDeepening),
        |row| {
            let goal: [u8; 9] = row.puzzle.goal().tiles().try_into().expect("nine tiles");
            let children = |board: &[u8; 9]| unpacked_children(board).into_iter().map(|child| (child, 1u32));
            let h = |board: &[u8; 9]| unpacked_manhattan(board, &goal);
            let path = pathfinding::prelude::idastar(&unpacked(row), children, h, |board| *board == goal);
            path.map(|(_, cost)| cost.into())
        },
    );
}

/// The Manhattan distance of an unpacked board.
fn unpacked_manhattan(board: &[u8; 9], goal: &[u8; 9]) -> u32 {
    let apart = |a: usize, b: usize| (a / 3).abs_diff(b / 3) + (a % 3).abs_diff(b % 3);
    let home = |tile: u8| goal.iter().position(|&other| other == tile).expect("the goal has every tile");
    let tiles = board.iter().enumerate().filter(|(_, tile)| **tile != 0);
    tiles.map(|(cell, &tile)| apart(cell, home(tile)) as u32).sum()
}

/// The boards one move on, without packing.
fn unpacked_children(board: &[u8; 9]) -> Vec<[u8; 9]> {
    let blank = board.iter().position(|&tile| tile == 0).expect("a board has a blank");
    let steps = [(blank >= 3, -3), (blank < 6, 3), (blank % 3 < 2, 1), (blank % 3 > 0, -1)];
    let legal = steps.into_iter().filter(|(is_legal, _)| *is_legal);
    let swapped = |(_, step)| {
        let mut next = *board;
        next.swap(blank, blank.wrapping_add_signed(step));
        next
    };
    legal.map(swapped).collect()
}

/// Runs two searches on every row, in turns, so that a drifting machine is as fast for both; both must find the fewest
/// moves.
fn compare(name: &str, rows: &[Row], ours: impl Fn(&Row) -> u64, theirs: impl Fn(&Row) -> Option<u64>) {
    let mut sums = [0.0; 2];
    for row in rows {
        let mut times = [Vec::new(), Vec::new()];
        let started = Instant::now();
        while times[0].len() < MAX_ROUNDS && (times[0].len() < 3 || started.elapsed() < Duration::from_secs(1)) {
            let start = Instant::now();
            let moves = black_box(ours(row));
            times[0].push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let other_moves = black_box(theirs(row));
            times[1].push(start.elapsed().as_secs_f64());
            assert_eq!((moves, other_moves), (row.moves, Some(row.moves)), "{name} to {}", row.board);
        }
        for (sum, times) in sums.iter_mut().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            *sum += 1e3 * times[times.len() / 2];
        }
    }
    println!("{name:<16} {:>8.2} {:>12.2} {:>6.1}", sums[0], sums[1], sums[1] / sums[0]);
}
