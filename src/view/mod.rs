//! The page that plays a solution: one HTML file that needs nothing else, neither a server nor a network.
//!
//! A [`Playback`] is all that the page shows, as data: the moves by name, and a [`Picture`] of the state before the
//! first and after each. [`page`] puts it into the page. The page plays the moves by rules of its own where it knows
//! the puzzle, compares every state with the picture, and shows whether both agree: `view/player.js` documents
//! what a program can ask it (`window.costar`).

use crate::puzzle::{Geometry, Move, ParseError, Picture, Puzzle, move_names};
use serde::Serialize;

/// The most moves that a page plays.
pub const MOST_MOVES: usize = 10_000;

const PAGE: &str = include_str!("page.html");
/// How the page looks.
pub const STYLE: &str = include_str!("page.css");
/// What the page does, in one script: the puzzles' rules, the drawing of cubes and of flat boards, the words beside
/// them, the player.
pub const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("rules.js"),
    include_str!("cube.js"),
    include_str!("boards.js"),
    include_str!("shape.js"),
    include_str!("panel.js"),
    include_str!("player.js"),
    "})();\n"
);

/// The panel of a server's page: its elements, how they look, and what they do.
const SOLVER: &str = include_str!("solver.html");
const SOLVER_STYLE: &str = include_str!("solver.css");
const SOLVER_SCRIPT: &str = concat!(
    "(() => {\n",
    include_str!("net.js"),
    include_str!("setup.js"),
    include_str!("chart.js"),
    include_str!("words.js"),
    include_str!("address.js"),
    include_str!("search.js"),
    include_str!("solver.js"),
    "})();\n"
);

/// An instance and a solution, played.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Playback {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// The names of all moves: first those of the scramble, where the instance is written as moves.
    pub moves: Vec<String>,
    /// How many of the moves are the scramble.
    pub scramble: usize,
    /// How long the solution is, in words: [`Puzzle::counted`].
    pub counted: String,
    /// Before the first move and after each; they end before the first move that is not legal where it is made.
    pub pictures: Vec<Picture>,
    /// The states that count as solved, where they are known and few.
    pub goals: Vec<Picture>,
    /// Where the positions are, if the puzzle's file says so.
    pub geometry: Option<Geometry>,
    /// Whether all moves are legal, and the last state counts as solved.
    pub solves: bool,
}

impl Playback {
    /// Plays a solution from an instance. `goals` are the states that count as solved, where they are known.
    ///
    /// # Errors
    /// If the instance is refused, or there are more than [`MOST_MOVES`] moves. A solution that does not solve is no
    /// error: see [`Playback::solves`].
    pub fn new<P: Puzzle>(
        puzzle: &P,
        goals: &[P::State],
        instance: &str,
        solution: &[Move],
    ) -> Result<Playback, ParseError> {
        let begin = puzzle.parse(instance)?;
        let (mut moves, mut pictures) = match puzzle.scramble(instance) {
            Some(scramble) => {
                check_count(scramble.moves.len() + solution.len())?;
                let first = puzzle.picture(&scramble.start);
                let rest = scramble.moves.iter().map(|(_, state)| puzzle.picture(state));
                let pictures = std::iter::once(first).chain(rest).collect();
                (scramble.moves.into_iter().map(|(name, _)| name).collect(), pictures)
            }
            None => (Vec::new(), vec![puzzle.picture(&begin)]),
        };
        check_count(moves.len() + solution.len())?;
        let scramble = moves.len();
        moves.extend(move_names(puzzle, solution));
        let end = solution.iter().try_fold(begin, |state, &action| {
            let next = puzzle.apply(&state, action)?;
            pictures.push(puzzle.picture(&next));
            Some(next)
        });
        Ok(Playback {
            puzzle: puzzle.name(),
            instance: instance.to_owned(),
            moves,
            scramble,
            counted: puzzle.counted(solution),
            pictures,
            goals: goals.iter().map(|goal| puzzle.picture(goal)).collect(),
            geometry: puzzle.geometry().cloned(),
            solves: end.is_some_and(|end| puzzle.is_goal(&end)),
        })
    }

    /// How many moves the solution has.
    pub fn length(&self) -> usize {
        self.moves.len() - self.scramble
    }

    /// The first move of the solution that is not legal where it is made, from 1.
    pub fn illegal(&self) -> Option<usize> {
        let legal = self.pictures.len() - 1 - self.scramble;
        (legal < self.length()).then_some(legal + 1)
    }
}

fn check_count(moves: usize) -> Result<(), ParseError> {
    match moves {
        0..=MOST_MOVES => Ok(()),
        _ => Err(ParseError(format!("{moves} moves are too many for a page: expected at most {MOST_MOVES}"))),
    }
}

/// The whole page, playing this.
///
/// # Errors
/// If the playback cannot be written as JSON, which no playback is known to cause.
pub fn page(playback: &Playback) -> serde_json::Result<String> {
    // The data come last: a text in them that looks like one of the places to fill is left alone.
    let page = PAGE.replacen("/*style*/", STYLE, 1).replacen("/*script*/", SCRIPT, 1);
    Ok(page.replacen("/*playback*/", &embedded(playback)?, 1))
}

/// The page of a server: the same player, and beside it a panel that asks the server to solve. It waits for the first
/// answer to play; `view/solver.js` documents what a program can ask it (`window.costarSolver`).
pub fn solver_page() -> String {
    PAGE.replacen("/*playback*/", "", 1)
        .replacen("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
        .replacen("<main>", &format!("<main class=\"with-solver\">\n{SOLVER}"), 1)
        .replacen("/*style*/", &format!("{STYLE}\n{SOLVER_STYLE}"), 1)
        .replacen("/*script*/", &format!("{SCRIPT}\n{SOLVER_SCRIPT}"), 1)
}

/// JSON that can stand in a script element whatever its texts are: all that HTML or JavaScript could take for its own
/// is written as an escape.
fn embedded(record: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(record)?;
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe += &format!("\\u{:04x}", u32::from(character)),
            _ => safe.push(character),
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::jugs::Jugs;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Reversible, Scramble};

    fn play<P: Puzzle>(puzzle: &P, goals: &[P::State], instance: &str, solution: &str) -> Playback {
        let moves = puzzle.parse_moves(solution).expect("moves");
        Playback::new(puzzle, goals, instance, &moves).expect("an instance")
    }

    #[test]
    fn a_scramble_is_played_before_its_solution() {
        let playback = play(&Cube3, &Cube3.goals(), "R U2", "U U R'");
        assert_eq!((playback.moves.join(" "), playback.scramble), ("R U U U U R'".into(), 3));
        assert_eq!((playback.pictures.len(), playback.length(), playback.solves), (7, 3, true));
        assert_eq!(playback.pictures[6], playback.goals[0]);
        assert!(!play(&Cube3, &[], "R", "U").solves);
    }

    #[test]
    fn facelets_have_no_scramble() {
        let facelets = Cube3.format(&Cube3.parse("R").expect("a scramble"));
        let playback = play(&Cube3, &[], &facelets, "R'");
        assert_eq!((playback.scramble, playback.pictures.len(), playback.solves), (0, 2, true));
    }

    #[test]
    fn a_small_cube_is_held_as_the_solver_holds_it() {
        for scramble in ["L", "D B' L2", "R U F", "B B L D'", "L R' D U B"] {
            let end = Cube2.scramble(scramble).as_ref().map(Scramble::end);
            assert_eq!(end, Cube2.parse(scramble).ok(), "{scramble}");
        }
        let playback = play(&Cube2, &Cube2.goals(), "L", "R'");
        assert!(playback.solves && playback.moves.len() == playback.scramble + 1, "{:?}", playback.moves);
    }

    #[test]
    fn a_move_that_cannot_be_made_ends_the_pictures() {
        let playback = play(&Puzzle8::default(), &[], "1 2 3 4 5 6 7 0 8", "R D R");
        assert_eq!((playback.illegal(), playback.pictures.len(), playback.solves), (Some(2), 2, false));
        let jugs = Jugs::new("8,5,3").expect("jugs");
        assert_eq!(play(&jugs, &[], "", "(1,0)").illegal(), Some(1));
        assert_eq!(play(&jugs, &[], "", "(0,1)").illegal(), None);
    }

    #[test]
    fn a_page_has_a_limit() {
        let refusal = Playback::new(&Cube3, &[], "(R)1000 ((U)1000)10", &[]).expect_err("too many").to_string();
        assert!(refusal.contains("11000") && refusal.contains("10000"), "{refusal}");
    }

    #[test]
    fn whatever_an_instance_says_stays_data() {
        for place in ["/*style*/", "/*script*/", "/*playback*/"] {
            assert_eq!(PAGE.matches(place).count(), 1, "{place}");
            assert!(!STYLE.contains(place) && !SCRIPT.contains(place));
        }
        assert!(!SCRIPT.contains("</script"));
        let mut playback = play(&Cube3, &[], "R", "R'");
        playback.instance = "</script><!--&\u{2028}\u{2029}/*script*/\"'\\\u{0}".into();
        let json = embedded(&playback).expect("JSON");
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        let back: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back["instance"], playback.instance);
        assert!(page(&playback).expect("a page").contains(&json));
    }

    #[test]
    fn a_servers_page_has_all_its_parts_and_asks_its_server_alone() {
        let page = solver_page();
        for part in [STYLE, SCRIPT, SOLVER, SOLVER_STYLE, SOLVER_SCRIPT, "default-src 'none'; connect-src 'self';"] {
            assert!(page.contains(part), "{}", part.lines().next().unwrap_or_default());
        }
        for place in ["/*style*/", "/*script*/", "/*playback*/", "http://", "https://"] {
            assert!(!page.contains(place), "{place}");
        }
        assert_eq!(page.matches("</script").count(), 2);
    }
}
