//! How instances stand in a file or on standard input: one a line, or, of puzzles that take several lines, a block
//! each, with blank lines between; and behind a tab, the optimal length where it is known. Of puzzles that take one line,
//! `#` begins a comment, and a line that begins with `//` is one; six lines of nine letters each, with six different
//! letters in the middle, are the faces of one cube: such a line waits for the next.

use anyhow::{Result, anyhow};
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// An instance as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The number of its first line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// Gathers lines to instances.
#[derive(Debug)]
pub(super) struct Gatherer {
    takes_lines: bool,
    line: usize,
    block: Option<Written>,
    /// Lines of nine letters that may be the faces of a cube.
    faces: Vec<Written>,
}

impl Gatherer {
    /// Of a puzzle whose instances take several lines, or one.
    pub(super) fn new(takes_lines: bool) -> Self {
        Gatherer { takes_lines, line: 0, block: None, faces: Vec::new() }
    }

    /// Takes the next line; gives the instances that it completes.
    pub(super) fn add(&mut self, line: &str) -> Vec<Written> {
        self.line += 1;
        if !self.takes_lines {
            return self.add_alone(line);
        }
        let text = line.trim_end();
        if text.is_empty() {
            return self.block.take().into_iter().collect();
        }
        if !text.starts_with(';') {
            match &mut self.block {
                Some(block) => {
                    block.text.push('\n');
                    block.text.push_str(text);
                }
                None => self.block = Some(Written { line: self.line, text: text.into() }),
            }
        }
        Vec::new()
    }

    /// A line that is an instance, or nothing, or a face.
    fn add_alone(&mut self, line: &str) -> Vec<Written> {
        let text = without_comment(line).trim();
        let written = Written { line: self.line, text: text.into() };
        if text.len() == FACELETS && text.bytes().all(|letter| letter.is_ascii_alphabetic()) {
            self.faces.push(written);
            if self.faces.len() < FACES {
                return Vec::new();
            }
            let faces = std::mem::take(&mut self.faces);
            let mut centres: Vec<u8> =
                faces.iter().map(|face| face.text.as_bytes()[FACELETS / 2].to_ascii_uppercase()).collect();
            centres.sort_unstable();
            centres.dedup();
            if centres.len() < FACES {
                return faces;
            }
            let text = faces.iter().map(|face| &*face.text).collect::<Vec<_>>().join(" ");
            return vec![Written { line: faces[0].line, text }];
        }
        let mut instances = std::mem::take(&mut self.faces);
        if !text.is_empty() && !text.starts_with("//") {
            instances.push(written);
        }
        instances
    }

    /// The instances that the end completes.
    pub(super) fn end(&mut self) -> Vec<Written> {
        let mut instances = std::mem::take(&mut self.faces);
        instances.extend(self.block.take());
        instances
    }
}

/// The faces of a cube, and the facelets of each.
const FACES: usize = 6;
const FACELETS: usize = 9;

/// A line up to the `#` that begins a comment: the first character, unless it numbers a scramble (`#1: R U`), or behind a space
/// and before no number.
fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| {
        let behind = &line[at + 1..];
        let numbers = behind.starts_with(|c: char| c.is_ascii_digit());
        let is_title = numbers && behind.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with([':', '.', ')']);
        let is_first = line[..at].trim_start().is_empty() && !is_title;
        is_first || line[..at].ends_with(char::is_whitespace) && !numbers
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// All instances of a text.
pub(super) fn all(text: &str, takes_lines: bool) -> Vec<Written> {
    let mut gatherer = Gatherer::new(takes_lines);
    let mut instances: Vec<Written> = text.lines().flat_map(|line| gatherer.add(line)).collect();
    instances.extend(gatherer.end());
    instances
}

/// The instances of a text that is still being written, read on a thread of their own: a wait for input must not keep a
/// signal waiting.
pub(super) fn stream(mut input: Box<dyn BufRead + Send>, takes_lines: bool) -> Receiver<io::Result<Written>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut gatherer = Gatherer::new(takes_lines);
        let mut bytes = Vec::new();
        let mut at_end = false;
        while !at_end {
            bytes.clear();
            let instances = match input.read_until(b'\n', &mut bytes) {
                Ok(0) => {
                    at_end = true;
                    gatherer.end().into_iter().map(Ok).collect()
                }
                Ok(_) => gatherer.add(&String::from_utf8_lossy(&bytes)).into_iter().map(Ok).collect(),
                Err(error) => {
                    at_end = true;
                    vec![Err(error)]
                }
            };
            if instances.into_iter().any(|instance| sender.send(instance).is_err()) {
                break;
            }
        }
    });
    receiver
}

/// An instance, and its optimal length where that stands behind the only tab of its line; several tabs are spaces, and so is
/// one behind the number of an instance, as in `1.`. An instance that takes several lines has none.
///
/// # Errors
/// If what stands there is no length.
pub(super) fn with_optimum(text: &str, takes_lines: bool) -> Result<(&str, Option<u32>)> {
    let numbers =
        |text: &str| text.trim_end().strip_suffix(['.', ':', ')']).is_some_and(|text| text.parse::<u32>().is_ok());
    let behind_tab = text.split_once('\t').filter(|(_, rest)| !takes_lines && !rest.contains('\t'));
    let optimum = behind_tab.filter(|(instance, _)| !numbers(instance));
    let Some((instance, optimum)) = optimum else { return Ok((text, None)) };
    let optimum = optimum.trim();
    let refusal = || anyhow!("'{optimum}' is not an optimal length: expected a whole number");
    Ok((instance.trim(), Some(optimum.parse().map_err(|_| refusal())?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_part_blocks_and_lines_stand_alone() {
        let written = |line, text: &str| Written { line, text: text.into() };
        let lines = "a b\r\n\n  c\n # d\ne\t3 # 4\n// f\nScramble #3: R #h\n";
        let expected = [written(1, "a b"), written(3, "c"), written(5, "e\t3"), written(7, "Scramble #3: R")];
        assert_eq!(all(lines, false), expected);
        let blocks = "; 0\n ##\n#@#\n\n\n; 1\n#+#\n;x\n##";
        assert_eq!(all(blocks, true), [written(2, " ##\n#@#"), written(7, "#+#\n##")]);
        assert_eq!(all("", true), []);
    }

    #[test]
    fn six_lines_of_nine_letters_are_one_cube() {
        let face = "UURFBLDDD";
        let written = |line, text: &str| Written { line, text: text.into() };
        let faces = ["UUUUUUUUU", "rrrrrrrrr", "FFFFFFFFF", "DDDDDDDDD", "LLLLLLLLL", "BBBBBBBBB"];
        let (cube, lines) = (faces.join(" "), faces.join("\n"));
        assert_eq!(all(&lines, false), [written(1, &cube)]);
        assert_eq!(all(&format!("R\n{lines}\n{face}\nU F\n"), false).len(), 4);
        assert_eq!(
            all(&format!("{face}\n").repeat(6), false).len(),
            6,
            "six scrambles have the same letter in the middle"
        );
        let five = format!("{face}\n").repeat(5);
        let alone: Vec<Written> = (1..=5).map(|line| written(line, face)).collect();
        assert_eq!(all(&five, false), alone);
        assert_eq!(all(&format!("{five}# the end"), false), alone);
        let titled = all("#1: R U\n#2 a comment\n#12) F # another\n", false);
        assert_eq!(titled, [written(1, "#1: R U"), written(3, "#12) F")]);
    }

    #[test]
    fn what_stands_behind_a_tab_is_the_optimal_length() {
        assert_eq!(with_optimum("R U\t2", false).expect("a length"), ("R U", Some(2)));
        assert_eq!(with_optimum("R\tU\tF", false).expect("no length"), ("R\tU\tF", None));
        assert_eq!(with_optimum("1.\tR U", false).expect("no length"), ("1.\tR U", None));
        assert_eq!(with_optimum("#.\t#", true).expect("no length"), ("#.\t#", None));
        assert!(with_optimum("R U\tF", false).is_err());
    }
}
