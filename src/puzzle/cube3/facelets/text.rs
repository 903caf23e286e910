//! The facelets of a cube of any size as people and programs write them: in a row, face by face, or as a net.

use super::impossible;
use crate::puzzle::cube3::notation::{inside, is_space};
use crate::puzzle::cube3::{FACES, face_with_letter};
use crate::puzzle::notation::{bail_parse, ensure_parse, is_prime, is_separator};
use crate::puzzle::rules::distinct;
use crate::puzzle::{Block, ParseError};
use std::collections::{BTreeMap, BTreeSet};

/// A text of at least this many facelets, and nothing else, is meant as facelets: a scramble of 40 turns has
/// counter-clockwise turns, which are not letters alone. A 2×2×2 needs the same share of its facelets.
const MIN_FACELETS: usize = 40;

/// costar's order of faces, as indices of [`FACES`].
const USUAL_ORDER: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// Other orders of faces that people and programs write.
const OTHER_ORDERS: [&str; 8] = ["ULFRBD", "UFRBLD", "UFLBRD", "FRBLUD", "LFRBUD", "UDLRFB", "UDFBLR", "FBUDLR"];

/// Facelets as they are written.
pub(super) struct Sheet {
    /// Face after face in the order that is written, each row by row.
    facelets: Vec<char>,
    /// Facelets of a face.
    each: usize,
    /// The order of the faces, if a net or labels tell it.
    order: Option<[usize; 6]>,
}

impl Sheet {
    /// The facelets of a text, in upper case; `None` if the text is not facelets, for example if it has `Ri` or `Rwi`.
    ///
    /// # Errors
    /// If there are more or fewer than six times `size²`, or a letter does not stand on as many facelets as a face has.
    pub(super) fn read(text: &str, size: usize) -> Option<Result<Sheet, ParseError>> {
        let text = inside(text);
        let (labels, parts) = labelled(&text);
        let facelets = facelets_of(&parts)?;
        let each = size * size;
        let is_short = facelets.len() < (MIN_FACELETS * each).div_ceil(9).min(MIN_FACELETS);
        if is_short || has_primes(&text) || has_written_i(&facelets) {
            return None;
        }
        let distinct = |letters: &[char]| BTreeSet::from_iter(letters).len();
        let upper: Vec<char> = facelets.iter().map(char::to_ascii_uppercase).collect();
        // Two colours may differ in case alone.
        let facelets = if distinct(&facelets) == 6 && distinct(&upper) < 6 { facelets } else { upper };
        let is_net = |separator: fn(char) -> bool| {
            let counts = parts.split(separator).map(|part| part.chars().filter(|&c| !is_filler(c)).count());
            let rows: Vec<usize> = counts.filter(|&count| count > 0).collect();
            let wide = [vec![each], vec![4 * size; size], vec![each]].concat();
            // The faces of a 4×4×4, one a line, have as many facelets as the rows of a wide net.
            rows == net_rows(size) || rows == wide && wide != [each; 6]
        };
        let sheet = if labels.is_none() && (is_net(|c| c == '\n') || is_net(char::is_whitespace)) {
            Sheet { facelets: from_net(&facelets, size), each, order: Some(USUAL_ORDER) }
        } else {
            Sheet { facelets, each, order: labels }
        };
        let cube = match size {
            3 => "a cube".into(),
            8 | 11 => format!("an {size}×{size}×{size}"),
            _ => format!("a {size}×{size}×{size}"),
        };
        Some(check_counts(&sheet.facelets, &cube, each).map(|()| sheet))
    }

    /// Checks that the colours are the letters of faces, which alone tell how a cube is held.
    ///
    /// # Errors
    /// Names the first one that is not.
    pub(super) fn check_faces(&self) -> Result<(), ParseError> {
        let Some(other) = self.facelets.iter().find(|letter| !FACES.contains(letter)) else { return Ok(()) };
        let faces = String::from_iter(FACES);
        bail_parse!("a facelet is {other}: a cube that is held still is read in the letters of its faces, {faces}");
    }

    /// The facelets in the order U R F D L B, if they are written in another one.
    fn reordered(&self, order: &[usize; 6]) -> Vec<char> {
        let block = |face| order.iter().position(|&other| other == face).expect("an order has every face");
        (0..6).flat_map(|face| &self.facelets[self.each * block(face)..][..self.each]).copied().collect()
    }

    /// The order that centres tell which are letters of faces. Those of larger cubes move.
    fn order_of_centres(&self) -> Option<[usize; 6]> {
        if self.each != 9 {
            return None;
        }
        let centres = self.facelets.chunks(self.each).map(|face| face[self.each / 2]);
        order_of(centres.map(face_with_letter))
    }

    /// The cube in the one order of faces that is certain, and that order if it is not U R F D L B.
    pub(super) fn cube<C: PartialEq>(
        &self,
        make: impl Fn(&[char]) -> Result<C, String>,
    ) -> Result<(C, Option<String>), ParseError> {
        let make = |facelets: &[char]| make(facelets).map_err(impossible);
        let said =
            |order: &[usize; 6]| (*order != USUAL_ORDER).then(|| format!("the faces in the order {}", in_words(order)));
        if let Some(order) = self.order {
            let in_order = |ParseError(why)| {
                let order = in_words(&order);
                ParseError(format!("{why}. The faces were read in the order {order}, which the net or the labels tell"))
            };
            return Ok((make(&self.reordered(&order)).map_err(in_order)?, said(&order)));
        }
        let as_usual = make(&self.facelets);
        let by_centres = self.order_of_centres().filter(|order| *order != USUAL_ORDER);
        let in_their_order = by_centres.map(|order| (order, make(&self.reordered(&order))));
        match (as_usual, in_their_order) {
            (Ok(cube), Some((order, Ok(other)))) if cube != other => bail_parse!(
                "these facelets are one cube in the order U R F D L B, held another way, and another cube in the order {} that the \
                 centres name: write the faces in the order U R F D L B",
                in_words(&order)
            ),
            (Ok(cube), _) => Ok((cube, None)),
            (Err(_), Some((order, Ok(cube)))) => Ok((cube, said(&order))),
            (Err(ParseError(why)), _) => {
                let solved: Vec<char> = FACES.iter().flat_map(|&face| vec![face; self.each]).collect();
                let is_solved = |order: &[usize; 6]| self.reordered(order) == solved;
                let fits = |order: &[usize; 6]| make(&self.reordered(order)).is_ok();
                let seems = all_orders().find(is_solved).or_else(|| all_orders().find(fits));
                let seems = seems
                    .map_or_else(String::new, |order| format!("; in the order {} they are a cube", in_words(&order)));
                bail_parse!("{why}. The faces are expected in the order U R F D L B{seems}")
            }
        }
    }
}

/// Whether lines are the faces of a cube of `size` layers, one a line, or the rows of its net.
pub(in crate::puzzle) fn block(lines: &[&str], size: usize) -> Block {
    let each = size * size;
    let patterns = [vec![each; 6], net_rows(size)];
    fn after_label(line: &str) -> Option<&str> {
        line.split_once([':', '=']).and_then(|(label, facelets)| face_named(label).map(|_| facelets))
    }
    let row = |line: &&str| {
        let facelets = after_label(line).unwrap_or(line);
        let all = facelets_of(facelets)?;
        // Turns of a scramble have spaces between them; the rows of a drawn net are indented, or long.
        let is_spaced = facelets.contains(char::is_whitespace) && !line.starts_with(' ') && all.len() != 4 * size;
        let is_scramble =
            after_label(line).is_none() && (is_spaced || facelets.contains(is_prime) || facelets.contains('\t'));
        (!is_scramble).then_some(all)
    };
    let Some(rows) = lines.iter().map(row).collect::<Option<Vec<_>>>() else { return Block::Neither };
    let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
    if !patterns.iter().any(|pattern| pattern.starts_with(&counts)) {
        return Block::Neither;
    }
    // A label shows a drawing, and so does a long row after `size` short ones.
    let is_drawn =
        lines.iter().any(|line| after_label(line).is_some()) || size > 2 && counts.get(size) == Some(&(4 * size));
    if !patterns.contains(&counts) {
        return if is_drawn { Block::Drawn } else { Block::Part };
    }
    if is_drawn || misplaced(&rows.concat(), each) <= each / 4 { Block::Whole } else { Block::Neither }
}

/// How many facelets would have to change for six colours that stand on `each` facelets.
fn misplaced(facelets: &[char], each: usize) -> usize {
    let mut counts = BTreeMap::new();
    facelets.iter().for_each(|colour| *counts.entry(colour.to_ascii_uppercase()).or_insert(0usize) += 1);
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.iter().enumerate().map(|(i, &count)| if i < 6 { count.saturating_sub(each) } else { count }).sum()
}

/// The facelets in each row of a net: U, then L F R B side by side, then D.
fn net_rows(size: usize) -> Vec<usize> {
    [vec![size; size], vec![4 * size; size], vec![size; size]].concat()
}

/// Whether a character between facelets has no meaning.
fn is_filler(character: char) -> bool {
    is_space(character) || is_separator(character) || is_prime(character)
}

/// A character that stands for a facelet: a letter, a digit, or a square, circle or heart of a colour.
fn facelet(character: char) -> Option<char> {
    let is_coloured = "🟥🟧🟨🟩🟦🟪🟫⬛⬜🔴🟠🟡🟢🔵🟣🟤⚫⚪◻◼□■❤🧡💛💚💙💜🤍🖤".contains(character);
    (character.is_ascii_alphanumeric() || is_coloured).then_some(character)
}

/// The facelets of a text without other characters, all of them digits or none.
fn facelets_of(text: &str) -> Option<Vec<char>> {
    let facelets: Vec<char> = text.chars().filter(|&c| !is_filler(c)).map(facelet).collect::<Option<_>>()?;
    let digits = facelets.iter().filter(|c| c.is_ascii_digit()).count();
    (digits == 0 || digits == facelets.len()).then_some(facelets)
}

/// The index of a face by its letter or its name.
fn face_named(name: &str) -> Option<usize> {
    let word = name.rsplit(is_filler).find(|word| !word.is_empty())?.to_ascii_lowercase();
    let names = ["up", "right", "front", "down", "left", "back"];
    let letters = FACES.iter().position(|face| word == face.to_ascii_lowercase().to_string());
    letters.or_else(|| names.iter().position(|name| word == *name)).or(match &*word {
        "top" | "upper" => Some(0),
        "bottom" | "lower" => Some(3),
        _ => None,
    })
}

/// All orders of six faces, the usual ones first.
fn all_orders() -> impl Iterator<Item = [usize; 6]> {
    let number = |code: usize| (0..6).map(move |i| Some(code / 6usize.pow(i) % 6));
    let usual = OTHER_ORDERS.iter().filter_map(|letters| order_of(letters.chars().map(face_with_letter)));
    usual.chain((0..6usize.pow(6)).filter_map(move |code| order_of(number(code))))
}

/// The letters of faces in an order.
fn in_words(order: &[usize; 6]) -> String {
    order.map(|face| FACES[face].to_string()).join(" ")
}

/// The order that six labels tell, as in `U: …`, and the text without them.
fn labelled(text: &str) -> (Option<[usize; 6]>, String) {
    let parts: Vec<&str> = text.split([':', '=']).collect();
    let [labels @ .., last] = &parts[..] else { return (None, text.into()) };
    let Some(order) = order_of(labels.iter().map(|part| face_named(part))) else { return (None, text.into()) };
    let without_label = |part: &&str| {
        let bare = part.trim_end_matches(is_filler);
        bare.rfind(is_filler).map_or("", |at| &bare[..at]).to_owned() + "\n"
    };
    (Some(order), labels.iter().map(without_label).chain([format!("{last}\n")]).collect())
}

/// Six faces as an order, if each is there.
fn order_of(faces: impl Iterator<Item = Option<usize>>) -> Option<[usize; 6]> {
    let order: [usize; 6] = faces.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    (0..6).all(|face| order.contains(&face)).then_some(order)
}

/// The facelets of a net, row by row, as faces in the order U R F D L B.
fn from_net(net: &[char], size: usize) -> Vec<char> {
    let each = size * size;
    let side = |column: usize| (0..each).map(move |i| net[each + i / size * 4 * size + column * size + i % size]);
    let (up, down) = (&net[..each], &net[5 * each..]);
    // Beside each other are L F R B.
    let [left, front, right, back] = [0, 1, 2, 3].map(side);
    up.iter().copied().chain(right).chain(front).chain(down.iter().copied()).chain(left).chain(back).collect()
}

/// Whether a text has primes that are not pairs of quotation marks around facelets.
fn has_primes(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let is_outside = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_none_or(|&c| facelet(c).is_none());
    let marks = (0..characters.len()).filter(|&at| is_prime(characters[at]));
    let beside = marks.enumerate().map(|(i, at)| if i % 2 == 0 { at.checked_sub(1) } else { Some(at + 1) });
    beside.clone().count() % 2 == 1 || !beside.into_iter().all(is_outside)
}

/// Whether letters have the i of `Ri` or `Rwi`, which is written for a prime.
fn has_written_i(letters: &[char]) -> bool {
    let is_face = |letter: Option<&char>| letter.is_some_and(|letter| FACES.contains(letter));
    (0..letters.len()).any(|at| {
        let wide = usize::from(letters[..at].last() == Some(&'w'));
        letters[at] == 'i' && is_face(letters[..at - wide].last())
    })
}

/// Refuses more or fewer facelets than a cube has, and letters that do not occur once per facelet of a face. The letters of
/// the faces are checked first.
fn check_counts(facelets: &[char], cube: &str, each: usize) -> Result<(), ParseError> {
    ensure_parse!(facelets.len() == 6 * each, "{} facelets, {cube} has {}", facelets.len(), 6 * each);
    let count = |letter: &char| facelets.iter().filter(|facelet| *facelet == letter).count();
    let letters = FACES.iter().copied().chain(BTreeSet::from_iter(facelets.iter().copied()));
    let wrong = distinct(letters.filter(|letter| ![0, each].contains(&count(letter))));
    if let [first, others @ ..] = &wrong[..] {
        let others: String = others.iter().map(|letter| format!(", {} {letter}", count(letter))).collect();
        let first = format!("{} facelets are {first}", count(first));
        return Err(impossible(format!("{first}{others}, and {each} of each letter are needed")));
    }
    Ok(())
}
