//! The page that plays a solution: one HTML file that needs neither a server nor a network.
//!
//! A [`Playback`] is the data of the page: the names of the moves, and a [`Picture`] of the state before the first move and
//! after each. [`page`] embeds it. If the page knows the puzzle, it plays the moves by its own rules, compares every state
//! with the picture, and shows whether both agree. `view/player.js` documents its interface for programs
//! (`window.costar`).

use crate::puzzle::{Geometry, Move, ParseError, Picture, Puzzle, move_names};
use serde::Serialize;

/// The most moves that a page plays.
pub const MAX_MOVES: usize = 10_000;

const PAGE: &str = include_str!("page.html");
/// The style of the page.
pub const STYLE: &str = include_str!("page.css");
/// The script of the page: rules of the puzzles, drawing (`cube`, `boards`, and `shape` of a puzzle's file), texts, and the
/// player.
pub const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("rules.js"),
    include_str!("cube.js"),
    include_str!("boards.js"),
    include_str!("shape.js"),
    include_str!("texts.js"),
    include_str!("player.js"),
    "})();\n"
);

/// The panel of a server's page: elements, style and script. An instance is painted (`cube_net`) or set up by clicking
/// (`board_editor`); `search` asks the server, `chart` and `search_words` show the search, and `address` keeps all in the
/// page's address.
const SOLVER: &str = include_str!("solver.html");
const SOLVER_STYLE: &str = include_str!("solver.css");
const SOLVER_SCRIPT: &str = concat!(
    "(() => {\n",
    include_str!("cube_net.js"),
    include_str!("board_editor.js"),
    include_str!("chart.js"),
    include_str!("search_words.js"),
    include_str!("address.js"),
    include_str!("search.js"),
    include_str!("solver.js"),
    "})();\n"
);

/// An instance and a solution, as the page plays them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Playback {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// The names of all moves. Those of the scramble come first if the instance is written as moves.
    pub moves: Vec<String>,
    /// Number of moves of the scramble.
    pub scramble: usize,
    /// The words of the scramble, and those of the solution, as they are written: each with the number of its moves.
    pub words: [Vec<(String, usize)>; 2],
    /// The length of the solution in words: [`Notation::counted`](crate::puzzle::Notation::counted).
    pub counted: String,
    /// The states before the first move and after each, up to the first illegal move.
    pub pictures: Vec<Picture>,
    /// The states that count as solved, if they are known and few.
    pub goals: Vec<Picture>,
    /// The shape of the puzzle, if its file has one.
    pub geometry: Option<Geometry>,
    /// Whether all moves are legal and lead to a goal.
    pub solves: bool,
}

impl Playback {
    /// Plays a solution from an instance. `goals` are the states that count as solved, if they are known.
    ///
    /// # Errors
    /// If the instance is refused, or there are more than [`MAX_MOVES`] moves. A solution that does not solve is no
    /// error: see [`Playback::solves`].
    pub fn new<P: Puzzle>(
        puzzle: &P,
        goals: &[P::State],
        instance: &str,
        solution: &[Move],
    ) -> Result<Playback, ParseError> {
        // The puzzle is played as it is in the hand.
        let in_hand = puzzle.state_in_hand(instance)?;
        let (first, scramble) =
            puzzle.scramble(instance).map_or((in_hand, Vec::new()), |scramble| (scramble.start, scramble.moves));
        let count = scramble.len() + solution.len();
        if count > MAX_MOVES {
            return Err(ParseError(format!("{count} moves are too many for a page: expected at most {MAX_MOVES}")));
        }
        let mut pictures = vec![puzzle.picture(&first)];
        pictures.extend(scramble.iter().map(|(_, state)| puzzle.picture(state)));
        let mut moves: Vec<String> = scramble.into_iter().map(|(name, _)| name).collect();
        let scramble = moves.len();
        let solution = puzzle.in_hand(instance, solution);
        moves.extend(move_names(puzzle, &solution));
        let end = solution.iter().try_fold(in_hand, |state, &action| {
            let next = puzzle.apply(&state, action)?;
            pictures.push(puzzle.picture(&next));
            Some(next)
        });
        let scrambled = words(instance, &moves[..scramble], |word| Some(puzzle.scramble(word)?.moves.len()));
        let playback = Playback {
            puzzle: puzzle.name(),
            instance: instance.to_owned(),
            moves,
            scramble,
            words: [scrambled, Vec::new()],
            counted: puzzle.counted(&solution),
            pictures,
            goals: goals.iter().map(|goal| puzzle.picture(goal)).collect(),
            geometry: puzzle.geometry().cloned(),
            solves: end.is_some_and(|end| puzzle.is_goal(&puzzle.normalized(&end))),
        };
        Ok(playback.written_as(puzzle, &puzzle.written(&solution).join(" ")))
    }

    /// Takes the words of the solution from the text that it was read from.
    #[must_use]
    pub fn written_as<P: Puzzle>(mut self, puzzle: &P, solution: &str) -> Playback {
        let count = |word: &str| Some(puzzle.parse_moves(word).ok()?.len());
        self.words[1] = words(solution, &self.moves[self.scramble..], count);
        self
    }

    /// Number of moves of the solution.
    pub fn length(&self) -> usize {
        self.moves.len() - self.scramble
    }

    /// Number of the first illegal move of the solution, from 1.
    pub fn illegal(&self) -> Option<usize> {
        let legal = self.pictures.len() - 1 - self.scramble;
        (legal < self.length()).then_some(legal + 1)
    }
}

/// The words of a text that stand for moves, each with the number of its moves. If the words are not all of them, as in a
/// group that is repeated, each move is a word.
fn words(text: &str, moves: &[String], count: impl Fn(&str) -> Option<usize>) -> Vec<(String, usize)> {
    let counted = |word: &str| Some((word.to_owned(), count(word)?));
    let words: Option<Vec<_>> = text.split_whitespace().map(counted).collect();
    let are_all = |words: &Vec<(String, usize)>| words.iter().map(|(_, count)| count).sum::<usize>() == moves.len();
    words.filter(are_all).unwrap_or_else(|| moves.iter().map(|name| (name.clone(), 1)).collect())
}

/// The page that plays this.
///
/// # Errors
/// If the playback cannot be written as JSON, which no playback is known to cause.
pub fn page(playback: &Playback) -> serde_json::Result<String> {
    // The data are inserted last: a placeholder in them stays as it is.
    let page = PAGE.replacen("/*style*/", STYLE, 1).replacen("/*script*/", SCRIPT, 1);
    Ok(page.replacen("/*playback*/", &embedded(playback)?, 1))
}

/// The page of a server: the same player, and a panel that sends requests to the server. `view/solver.js` documents its
/// interface for programs (`window.costarSolver`).
pub fn solver_page() -> String {
    PAGE.replacen("/*playback*/", "", 1)
        .replacen("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
        .replacen("<main>", &format!("<main class=\"with-solver\">\n{SOLVER}"), 1)
        .replacen("/*style*/", &format!("{STYLE}\n{SOLVER_STYLE}"), 1)
        .replacen("/*script*/", &format!("{SCRIPT}\n{SOLVER_SCRIPT}"), 1)
}

/// JSON that is safe in a script element: characters with a meaning in HTML or JavaScript are escaped.
fn embedded(record: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(record)?;
    let escaped = |text: String, sign| text.replace(sign, &format!("\\u{:04x}", u32::from(sign)));
    Ok(['<', '>', '&', '\u{2028}', '\u{2029}'].into_iter().fold(text, escaped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::jugs::Jugs;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Notation as _, Rules as _, Scramble};

    fn play<P: Puzzle>(puzzle: &P, goals: &[P::State], instance: &str, solution: &str) -> Playback {
        let moves = puzzle.parse_solution(instance, solution).expect("moves");
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
    fn a_small_cube_is_solved_as_it_is_in_the_hand() {
        for scramble in ["L", "D B' L2", "R U F", "B B L D'", "L R' D U B"] {
            let end = Cube2.scramble(scramble).as_ref().map(Scramble::end);
            assert_eq!(end.map(|end| Cube2.normalized(&end)), Cube2.parse(scramble).ok(), "{scramble}");
        }
        for (scramble, solution) in [("L", "R'"), ("L", "L'"), ("D R", "R' U'"), ("D R", "R' D'"), ("D R", "x R' F'")] {
            let playback = play(&Cube2, &Cube2.goals(), scramble, solution);
            assert!(playback.solves && playback.moves.len() > playback.scramble, "{scramble}: {:?}", playback.moves);
            let named = Cube2.in_hand(scramble, &Cube2.parse_solution(scramble, solution).expect("moves"));
            let named = Cube2.written(&named).join(" ");
            assert!(play(&Cube2, &Cube2.goals(), scramble, &named).solves, "{scramble}: {named}");
        }
        assert!(!play(&Cube2, &Cube2.goals(), "D R", "F' U'").solves, "it was right after a turn of the whole cube");
        assert!(play(&Cube3, &Cube3.goals(), "F", "x U'").solves, "x takes the front to the top");
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
    fn a_word_stands_for_all_its_moves() {
        let words = |pairs: &[(&str, usize)]| -> Vec<(String, usize)> {
            pairs.iter().map(|&(word, count)| (word.to_owned(), count)).collect()
        };
        let playback = play(&Cube3, &[], "R U2 x", "U U R");
        assert_eq!(playback.words, [words(&[("R", 1), ("U2", 2), ("x", 0)]), words(&[("U2", 2), ("R", 1)])]);
        let playback = play(&Cube3, &[], "(R U)2", "M2 U R'").written_as(&Cube3, "M2 U R'");
        let each = words(&[("R", 1), ("U", 1), ("R", 1), ("U", 1)]);
        assert_eq!(playback.words, [each, words(&[("M2", 4), ("U", 1), ("R'", 1)])]);
        let jugs = Jugs::new("8,5,3").expect("jugs");
        assert_eq!(play(&jugs, &[], "", "(0,1)").words, [words(&[]), words(&[("(0,1)", 1)])]);
    }

    #[test]
    fn a_page_has_a_limit() {
        let refusal = Playback::new(&Cube3, &[], "(R)1000 ((U)1000)10", &[]).expect_err("too many").to_string();
        assert!(refusal.contains("11000") && refusal.contains("10000"), "{refusal}");
    }

    #[test]
    fn the_text_of_an_instance_stays_data() {
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
    fn a_servers_page_has_all_its_parts_and_connects_to_its_server_only() {
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
