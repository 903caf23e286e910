//! How instances stand in a file or on standard input: one a line, or, of puzzles that take several lines, a block
//! each, with blank lines between; and behind a tab, the optimal length where it is known. Of puzzles that take one line,
//! `#` begins a comment, and a line that begins with `//` is one.

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
}

impl Gatherer {
    /// Of a puzzle whose instances take several lines, or one.
    pub(super) fn new(takes_lines: bool) -> Self {
        Gatherer { takes_lines, line: 0, block: None }
    }

    /// Takes the next line; gives the instance that it completes.
    pub(super) fn add(&mut self, line: &str) -> Option<Written> {
        self.line += 1;
        if !self.takes_lines {
            let text = without_comment(line).trim();
            let is_instance = !text.is_empty() && !text.starts_with("//");
            return is_instance.then(|| Written { line: self.line, text: text.into() });
        }
        let text = line.trim_end();
        if text.is_empty() {
            return self.block.take();
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
        None
    }

    /// The instance that the end completes.
    pub(super) fn end(&mut self) -> Option<Written> {
        self.block.take()
    }
}

/// A line up to the `#` that begins a comment: the first character, or behind a space and before no number, which names a
/// scramble.
fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| {
        let is_first = line[..at].trim_start().is_empty();
        let numbers = line[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        is_first || line[..at].ends_with(char::is_whitespace) && !numbers
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// All instances of a text.
pub(super) fn all(text: &str, takes_lines: bool) -> Vec<Written> {
    let mut gatherer = Gatherer::new(takes_lines);
    let mut instances: Vec<Written> = text.lines().filter_map(|line| gatherer.add(line)).collect();
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
            let instance = match input.read_until(b'\n', &mut bytes) {
                Ok(0) => {
                    at_end = true;
                    gatherer.end().map(Ok)
                }
                Ok(_) => gatherer.add(&String::from_utf8_lossy(&bytes)).map(Ok),
                Err(error) => {
                    at_end = true;
                    Some(Err(error))
                }
            };
            if instance.is_some_and(|instance| sender.send(instance).is_err()) {
                break;
            }
        }
    });
    receiver
}

/// An instance, and its optimal length where that stands behind the only tab of its line; several tabs are spaces. An
/// instance that takes several lines has none.
///
/// # Errors
/// If what stands there is no length.
pub(super) fn with_optimum(text: &str, takes_lines: bool) -> Result<(&str, Option<u32>)> {
    let optimum = text.split_once('\t').filter(|(_, rest)| !takes_lines && !rest.contains('\t'));
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
}
