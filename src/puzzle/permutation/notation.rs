//! Texts of permutation puzzles: moves, scrambles, and states as symbols or facelets.

use super::{Permutation, PermutationGroup, description, filled, wca};
use crate::puzzle::cube3::facelets;
use crate::puzzle::notation::{bail_parse, ensure_parse, members, unquoted};
use crate::puzzle::{Block, Geometry, Instance, Move, Notation, ParseError, Picture, plain};

impl<const N: usize> Permutation<N> {
    /// Reads the normal form of a move's name; in another case, if no two moves differ in case alone.
    fn read_move(&self, word: &str) -> Result<Move, ParseError> {
        let names = || self.description.moves.iter().map(|(name, _)| name.as_str());
        let in_any_case = || {
            let mut same = names().enumerate().filter(|(_, name)| name.to_lowercase() == word.to_lowercase());
            same.next().filter(|_| same.next().is_none()).map(|(action, _)| action)
        };
        let in_contest = || names().position(|name| self.description.contest_name(name) == word);
        let found = names().position(|name| name == word).or_else(in_any_case).or_else(in_contest);
        let Some(action) = found else {
            let (count, names) = (self.description.positions(), names().collect::<Vec<_>>().join(" "));
            bail_parse!("'{word}' is neither a move nor the {count} symbols of a state: expected {names}");
        };
        Ok(action as Move)
    }

    /// Names the first word of a scramble that names a move as contests do, since people may mean another turn by it.
    fn renamed(&self, text: &str) -> Option<String> {
        if self.is_of_wca(text) {
            return Some("a scramble of the WCA; moves such as M_U name faces as they were before it".into());
        }
        let own = |word: &str| Some(&self.names[usize::from(self.read_move(word).ok()?)]);
        let text = self.spaced(text);
        let words = text.split_whitespace().map(|word| word.trim_end_matches(['\'', '2']));
        let (word, own) =
            words.filter_map(|word| Some((word, own(word)?))).find(|(a, b)| a.to_lowercase() != b.to_lowercase())?;
        Some(format!("moves with the names of contests: {word} is {own}"))
    }

    /// Whether a text is a scramble of the Megaminx in the WCA's notation.
    fn is_of_wca(&self, text: &str) -> bool {
        self.description.is_megaminx() && wca::is_scramble(text)
    }

    /// The normal form of a scramble, with a space for each dot, as contests have them; but if the name of a move has a dot,
    /// dots stay.
    fn spaced(&self, text: &str) -> String {
        let normal = description::normal_name(text);
        if self.names_have_dots { normal } else { normal.replace('.', " ") }
    }

    /// Reads a move, also followed by `'` or preceded by `-` for its inverse, or followed by `2` for twice, if no move has that
    /// name itself.
    fn read_word(&self, word: &str) -> Result<Vec<Move>, ParseError> {
        let refusal = match self.read_move(word) {
            Ok(action) => return Ok(vec![action]),
            Err(refusal) => refusal,
        };
        let inverse = |action: &Move| self.description.inverses[usize::from(*action)];
        let inverted = word.strip_suffix('\'').or_else(|| word.strip_prefix('-'));
        let (bare, is_inverse) = inverted.map_or((word, false), |bare| (bare, true));
        let twice = || self.read_move(bare.strip_suffix('2')?).ok().map(|action| vec![action; 2]);
        let moves = self.read_move(bare).ok().map(|action| vec![action]).or_else(twice).ok_or(refusal.clone())?;
        if !is_inverse {
            return Ok(moves);
        }
        moves.iter().rev().map(inverse).collect::<Option<_>>().ok_or(refusal)
    }

    fn symbol(&self, index: u8) -> &str {
        &self.description.symbols[usize::from(index)]
    }

    /// Whether every symbol is one letter: states are then written without spaces.
    fn has_letters(&self) -> bool {
        self.description.symbols.iter().all(|symbol| symbol.chars().count() == 1)
    }

    /// Reads the symbols of a state, of any counts: without separators, with spaces, or as a list. `None` if the text is a
    /// scramble, or those of a whole cube: they are read as facelets.
    fn read_symbols(&self, text: &str) -> Option<[u8; N]> {
        if self.description.cube.as_ref().is_some_and(|cube| !cube.is_stage()) {
            return None;
        }
        let has_letters = self.has_letters();
        let letters = text.split("").filter(|letter| !letter.trim().is_empty());
        let words = text.split_whitespace();
        let listed = members(text).map(unquoted).flat_map(|word| word.split_inclusive(move |_: char| has_letters));
        // A separator may be a symbol of the puzzle.
        let joined = has_letters.then(|| self.state_of(letters)).flatten();
        joined.or_else(|| self.state_of(words)).or_else(|| self.state_of(listed))
    }

    /// The state with these symbols, if there are as many as positions.
    fn state_of<'a>(&self, symbols: impl Iterator<Item = &'a str>) -> Option<[u8; N]> {
        let index = |word: &str| self.description.symbols.iter().position(|symbol| symbol == word).map(|i| i as u8);
        let read: Vec<u8> = symbols.map(index).collect::<Option<_>>()?;
        (read.len() == self.description.positions()).then(|| filled(&read))
    }

    /// Refuses symbols that are too many or too few for a state. If they are moves, too, they are a scramble unless one or two
    /// are too many or too few.
    fn wrong_count(&self, text: &str, are_moves: bool) -> Option<ParseError> {
        let (symbols, positions) = (&self.description.symbols, self.description.positions());
        let (count, mut words) = (members(text).count(), members(text).map(unquoted));
        let is_state = if are_moves { count.abs_diff(positions) <= 2 } else { count > 1 };
        let is_wrong = is_state && count != positions && words.all(|word| symbols.iter().any(|symbol| symbol == word));
        is_wrong.then(|| ParseError(format!("a state with {count} symbols: expected {positions}")))
    }

    /// Names the first word that is neither a symbol nor a move, of as many words as a state has.
    fn wrong_symbol(&self, text: &str) -> Option<ParseError> {
        let (words, symbols) = (text.split_whitespace(), &self.description.symbols);
        let is_wrong = |word: &&str| !symbols.iter().any(|symbol| symbol == word) && self.read_word(word).is_err();
        let wrong = words.clone().find(is_wrong).filter(|_| words.count() == self.description.positions())?;
        Some(ParseError(format!("'{wrong}' is not a symbol of a state: expected {}", symbols.join(" "))))
    }

    /// A state that was read from its symbols, with free names in order.
    ///
    /// # Errors
    /// If no moves lead from it to the goal.
    fn checked(&self, state: [u8; N]) -> Result<[u8; N], ParseError> {
        let sorted = |mut symbols: [u8; N]| {
            symbols.sort_unstable();
            symbols
        };
        let has_symbols = sorted(state) == sorted(self.goal);
        ensure_parse!(has_symbols, "this state does not have the symbols of the goal, each as often");
        let positions = self.description.positions();
        if PermutationGroup::is_small(&self.description)
            && !self.group().reaches(&self.goal[..positions], &state[..positions])
        {
            bail_parse!(
                "no moves lead from this state to the goal: two pieces may be swapped, or one turned in its place"
            );
        }
        Ok(self.named(state))
    }
}

impl<const N: usize> Notation for Permutation<N> {
    fn notation(&self) -> &'static str {
        match &self.description.cube {
            None if self.description.is_megaminx() => {
                "a scramble of moves with spaces between, or as the WCA writes it (R++ D-- … U'), or the symbols of a state"
            }
            None => "a scramble of the moves in the puzzle's file, with spaces between, or the symbols of a state",
            Some(cube) if cube.is_stage() => "a scramble from solved in turns, the facelets, or the symbols of a state",
            Some(_) => {
                "a scramble from solved in turns (R, Rw or r, 3Rw, 2R, M, x, with ' and 2, or f0 -r1.d2), or the facelets in the \
                        order U R F D L B"
            }
        }
    }

    fn move_name(&self, action: Move) -> String {
        self.names[usize::from(action)].clone()
    }

    fn contest_name(&self, action: Move) -> Option<String> {
        match &self.description.cube {
            Some(cube) => cube.contest_name(action),
            None => Some(self.description.contest_name(&self.names[usize::from(action)])),
        }
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        if let Some(cube) = &self.description.cube {
            return cube.read_moves(text);
        }
        let text = self.spaced(text);
        if self.is_of_wca(&text) {
            return wca::moves(&text)?.iter().map(|name| self.read_move(name)).collect();
        }
        let words: Vec<_> = text.split_whitespace().map(|word| self.read_word(word)).collect::<Result<_, _>>()?;
        Ok(words.concat())
    }

    fn read(&self, text: &str) -> Result<Instance<[u8; N]>, ParseError> {
        if let Some(state) = self.read_symbols(text) {
            return self.checked(state).map(Instance::from);
        }
        let Some(cube) = &self.description.cube else {
            let moves = self.read_moves(text).map_err(|refusal| self.wrong_symbol(text).unwrap_or(refusal));
            let moves = self.wrong_count(text, moves.is_ok()).map_or(moves, Err)?;
            return Ok(Instance { read_as: self.renamed(text), ..Instance::scramble(self.goal, moves) });
        };
        let instance = match cube.scramble(text) {
            Some((start, moves)) => Instance::scramble(self.of_colours(cube, &start), moves),
            None => self.of_colours(cube, &cube.hand(text)?.0).into(),
        };
        Ok(Instance { read_as: cube.read_as(text), ..instance })
    }

    fn format(&self, state: &[u8; N]) -> String {
        let symbols: Vec<&str> = state[..self.description.positions()].iter().map(|&i| self.symbol(i)).collect();
        symbols.join(if self.has_letters() { "" } else { " " })
    }

    fn block(&self, lines: &[&str]) -> Block {
        match (&self.description.cube, lines) {
            (Some(cube), _) => facelets::block(lines, cube.size()),
            // Signs of a comment may be symbols.
            (None, [line]) if line.contains(['#', '/']) => {
                let state = line.split('\t').next().unwrap_or(line); // the optimal length may follow
                if self.read_symbols(state).is_some() { Block::Whole } else { Block::Neither }
            }
            _ => Block::Neither,
        }
    }

    fn normalized(&self, state: &[u8; N]) -> [u8; N] {
        let positions = self.description.positions();
        self.description.cube.as_ref().map_or(*state, |cube| filled(&cube.held(&state[..positions]).0))
    }

    fn in_hand(&self, instance: &str, moves: &[Move]) -> Vec<Move> {
        let hand = self.description.cube.as_ref().and_then(|cube| Some((cube, cube.hand(&plain(instance)).ok()?.0)));
        hand.map_or_else(|| moves.to_vec(), |(cube, hand)| cube.in_hand(&hand, moves))
    }

    fn parse_solution(&self, instance: &str, solution: &str) -> Result<Vec<Move>, ParseError> {
        let [instance, solution] = [instance, solution].map(plain);
        match &self.description.cube {
            Some(cube) if !cube.is_stage() => cube.parse_solution(&cube.hand(&instance)?.0, &solution),
            // The puzzle is held as the scramble leaves it.
            None if self.is_of_wca(&instance) && self.is_of_wca(&solution) => {
                let scramble = self.read_moves(&instance)?;
                Ok(self.read_moves(&format!("{instance} {solution}"))?.split_off(scramble.len()))
            }
            _ => self.read_moves(&solution),
        }
    }

    fn picture(&self, state: &[u8; N]) -> Picture {
        if let Some(cube) = self.description.cube.as_ref().filter(|cube| !cube.is_stage()) {
            return Picture::Cube { size: cube.size(), facelets: self.format(state) };
        }
        let symbols = state[..self.description.positions()].iter().map(|&index| self.symbol(index).to_owned());
        Picture::Row { symbols: symbols.collect() }
    }

    fn geometry(&self) -> Option<&Geometry> {
        self.description.geometry.as_ref()
    }
}
