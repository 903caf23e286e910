//! Instances in a file or on standard input.
//!
//! One instance per line; for puzzles whose instances take several lines, one block per instance, separated by blank
//! lines. A known optimal length follows a tab.
//!
//! Comments: `#` starts one at the start of a line, unless it numbers a scramble (`#1: R U`), or after white space, unless a
//! number follows it or the word `Scramble` precedes it; `//` starts one at the start of a line. In Sokoban levels `#` is a
//! wall, and `;` at the start of a line starts a comment.
//!
//! Six lines of nine letters each, with six different letters in the middle, are the faces of one cube.

use crate::puzzle::without_comment;
use anyhow::{Result, anyhow};
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// An instance as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// Number of its first line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// All instances of a text.
pub(super) fn all(text: &str, takes_lines: bool) -> Vec<Written> {
    let mut gatherer = Gatherer::new(takes_lines);
    let mut instances: Vec<Written> = text.lines().flat_map(|line| gatherer.add(line)).collect();
    instances.extend(gatherer.end());
    instances
}

/// The instances of a text that is still being written. A thread reads them, so that a wait for input delays no signal.
pub(super) fn stream(mut input: Box<dyn BufRead + Send>, takes_lines: bool) -> Receiver<io::Result<Written>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut gatherer = Gatherer::new(takes_lines);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let (instances, is_end) = match input.read_until(b'\n', &mut bytes) {
                Ok(0) => (gatherer.end().into_iter().map(Ok).collect(), true),
                Ok(_) => (gatherer.add(&String::from_utf8_lossy(&bytes)).into_iter().map(Ok).collect(), false),
                Err(error) => (vec![Err(error)], true),
            };
            if instances.into_iter().any(|instance| sender.send(instance).is_err()) || is_end {
                break;
            }
        }
    });
    receiver
}

/// Splits off the optimal length after the only tab of an instance. Several tabs are spaces, and so is a tab after the
/// number of an instance, such as `1.`. An instance of several lines has no length.
///
/// # Errors
/// If the text after the tab is no length.
pub(super) fn with_optimum(text: &str, takes_lines: bool) -> Result<(&str, Option<u32>)> {
    let is_number =
        |text: &str| text.trim_end().strip_suffix(['.', ':', ')']).is_some_and(|text| text.parse::<u32>().is_ok());
    let parts = text.split_once('\t').filter(|(_, rest)| !takes_lines && !rest.contains('\t'));
    let Some((instance, optimum)) = parts.filter(|(instance, _)| !is_number(instance)) else { return Ok((text, None)) };
    let optimum = optimum.trim();
    let refusal = || anyhow!("'{optimum}' is not an optimal length: expected a whole number");
    Ok((instance.trim(), Some(optimum.parse().map_err(|_| refusal())?)))
}

/// Facelets of a face of the 3×3×3.
const FACELETS: usize = 9;
const FACES: usize = 6;

/// Gathers lines into instances.
#[derive(Debug)]
struct Gatherer {
    takes_lines: bool,
    line: usize,
    block: Option<Written>,
    /// Lines of nine letters that may be the faces of a cube.
    faces: Vec<Written>,
}

impl Gatherer {
    fn new(takes_lines: bool) -> Self {
        Gatherer { takes_lines, line: 0, block: None, faces: Vec::new() }
    }

    /// Takes the next line; returns the instances that it completes.
    fn add(&mut self, line: &str) -> Vec<Written> {
        self.line += 1;
        if self.takes_lines { self.add_to_block(line.trim_end()) } else { self.add_alone(without_comment(line).trim()) }
    }

    fn add_to_block(&mut self, text: &str) -> Vec<Written> {
        if text.is_empty() {
            return self.block.take().into_iter().collect();
        }
        match &mut self.block {
            _ if text.starts_with(';') => {}
            Some(block) => block.text += &format!("\n{text}"),
            None => self.block = Some(Written { line: self.line, text: text.into() }),
        }
        Vec::new()
    }

    fn add_alone(&mut self, text: &str) -> Vec<Written> {
        let written = Written { line: self.line, text: text.into() };
        if text.len() == FACELETS && text.bytes().all(|letter| letter.is_ascii_alphabetic()) {
            self.faces.push(written);
            return if self.faces.len() < FACES { Vec::new() } else { self.take_cube() };
        }
        let mut instances = std::mem::take(&mut self.faces);
        if !text.is_empty() && !text.starts_with("//") {
            instances.push(written);
        }
        instances
    }

    /// Six faces as one cube, or as the six scrambles that they are if two centres are the same.
    fn take_cube(&mut self) -> Vec<Written> {
        let faces = std::mem::take(&mut self.faces);
        let mut centres: Vec<u8> =
            faces.iter().map(|face| face.text.as_bytes()[FACELETS / 2].to_ascii_uppercase()).collect();
        centres.sort_unstable();
        centres.dedup();
        if centres.len() < FACES {
            return faces;
        }
        let text = faces.iter().map(|face| &*face.text).collect::<Vec<_>>().join(" ");
        vec![Written { line: faces[0].line, text }]
    }

    /// The instances that the end of the text completes.
    fn end(&mut self) -> Vec<Written> {
        let mut instances = std::mem::take(&mut self.faces);
        instances.extend(self.block.take());
        instances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_separate_blocks_and_other_lines_stand_alone() {
        let written = |line, text: &str| Written { line, text: text.into() };
        let lines = "a b\r\n\n  c\n # d\ne\t3 # 4\n// f\nScramble #3: R #h\n";
        let expected = [written(1, "a b"), written(3, "c"), written(5, "e\t3"), written(7, "Scramble #3: R")];
        assert_eq!(all(lines, false), expected);
        let blocks = "; 0\n ##\n#@#\n\n\n; 1\n#+#\n;x\n##";
        assert_eq!(all(blocks, true), [written(2, " ##\n#@#"), written(7, "#+#\n##")]);
        assert_eq!(all("", true), []);
    }

    #[test]
    fn a_comment_starts_at_a_line_or_after_white_space_and_a_title_is_none() {
        for (line, expected) in [
            ("R U # by hand", "R U "),
            ("R U\t# 12 of the file", "R U\t"),
            ("R U #12", "R U #12"),
            ("#12 of the file", ""),
            ("# 12: R", ""),
            ("a#b", "a#b"),
            ("#12) F # 13", "#12) F "),
            ("no #3: R # 4: U", "no #3: R "),
        ] {
            assert_eq!(without_comment(line), expected);
        }
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
    fn the_optimal_length_follows_a_tab() {
        assert_eq!(with_optimum("R U\t2", false).expect("a length"), ("R U", Some(2)));
        assert_eq!(with_optimum("R\tU\tF", false).expect("no length"), ("R\tU\tF", None));
        assert_eq!(with_optimum("1.\tR U", false).expect("no length"), ("1.\tR U", None));
        assert_eq!(with_optimum("#.\t#", true).expect("no length"), ("#.\t#", None));
        assert!(with_optimum("R U\tF", false).is_err());
    }
}
