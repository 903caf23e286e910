//! Instances in a file or on standard input.
//!
//! One instance a line. Lines that are a board, a net or another drawing together ([`Notation::block`]) are one instance. For
//! puzzles whose instances always take several lines, other lines and blank lines separate instances. A known optimal length
//! follows a tab.
//!
//! Comments: `#` starts one at the start of a line, unless it numbers a scramble (`#1: R U`), or after white space, unless a
//! number follows it or the word `Scramble` precedes it; `//` starts one at the start of a line. In Sokoban levels `#` is a
//! wall, and `;` at the start of a line starts a comment.
//!
//! The text is UTF-8, or UTF-16 with a byte-order mark.

use super::{Failure, OrInput as _, signal};
use crate::files;
use crate::puzzle::{Block, Notation, Puzzle, is_frame, plain, without_comment};
use anyhow::{Context as _, Result, anyhow};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// An instance as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// Number of its first line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// The text of a file, or of standard input for `-`. A signal ends a wait for a pipe.
///
/// # Errors
/// If it cannot be read, with the system's reason.
pub(super) fn read_file(path: &Path) -> Result<String> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    Ok(decoded(&signal::ends_at_once(|| files::read(path))?))
}

/// All instances of a text.
pub(super) fn all<P: Notation>(text: &str, puzzle: &P) -> Vec<Written> {
    let mut gatherer = Gatherer::new(puzzle);
    let mut instances = gatherer.add(text);
    instances.extend(gatherer.end());
    instances
}

/// The instances of a text that is still being written. A thread reads them, so that a wait for input delays no signal.
pub(super) fn stream<P: Notation>(mut input: Box<dyn BufRead + Send>, puzzle: Arc<P>) -> Receiver<io::Result<Written>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut gatherer = Gatherer::new(&*puzzle);
        let (mut bytes, mut is_start) = (Vec::new(), true);
        loop {
            bytes.clear();
            let is_utf16 =
                std::mem::take(&mut is_start) && input.fill_buf().is_ok_and(|start| utf16_units(start).is_some());
            let read = if is_utf16 { input.read_to_end(&mut bytes) } else { input.read_until(b'\n', &mut bytes) };
            let (instances, is_end) = match read {
                Ok(0) => (gatherer.end().into_iter().map(Ok).collect(), true),
                Ok(_) => {
                    let line = if is_utf16 { decoded(&bytes) } else { String::from_utf8_lossy(&bytes).into() };
                    let line = line.strip_suffix('\n').unwrap_or(&line);
                    (gatherer.add(line.strip_suffix('\r').unwrap_or(line)).into_iter().map(Ok).collect(), false)
                }
                Err(error) => (vec![Err(error)], true),
            };
            if instances.into_iter().any(|instance| sender.send(instance).is_err()) || is_end {
                break;
            }
        }
    });
    receiver
}

/// The next instance of a [`stream`]; `None` at its end, or after a signal.
///
/// # Errors
/// If the input cannot be read.
pub(super) fn next(stream: &Receiver<io::Result<Written>>, stop: &AtomicBool) -> Result<Option<Written>, Failure> {
    while !stop.load(Ordering::Relaxed) {
        match stream.recv_timeout(Duration::from_millis(50)) {
            Ok(instance) => return instance.map(Some).context("the instances cannot be read").or_input(),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}

/// The text of bytes in UTF-8, or in UTF-16 with a byte-order mark, without the mark; other bytes are replaced.
fn decoded(bytes: &[u8]) -> String {
    match utf16_units(bytes) {
        Some(units) => String::from_utf16_lossy(&units),
        None => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    }
}

/// The units after the byte-order mark of a text in UTF-16.
fn utf16_units(bytes: &[u8]) -> Option<Vec<u16>> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    Some(bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect())
}

/// Splits off the optimal length after the only tab of an instance. Several tabs are spaces, and so is a tab after the
/// number of an instance, such as `1.`. An instance of several lines has no length. Moves with own costs have no optimal
/// length: it would be a number of moves, not a cost.
///
/// # Errors
/// If the text after the tab is not a length.
pub(super) fn with_optimum<'a, P: Puzzle>(puzzle: &P, text: &'a str) -> Result<(&'a str, Option<u32>)> {
    let is_number =
        |text: &str| text.trim_end().strip_suffix(['.', ':', ')']).is_some_and(|text| text.parse::<u32>().is_ok());
    let parts = text.split_once('\t').filter(|(_, rest)| !puzzle.takes_lines() && !rest.contains('\t'));
    let Some((instance, optimum)) = parts.filter(|(instance, _)| !is_number(instance)) else { return Ok((text, None)) };
    let optimum = optimum.trim();
    let refusal = || anyhow!("'{optimum}' is not an optimal length: expected a whole number");
    let optimum = optimum.parse().map_err(|_| refusal())?;
    Ok((instance.trim(), Some(optimum).filter(|_| puzzle.own_costs().is_none())))
}

/// Gathers lines into instances.
struct Gatherer<'a, P> {
    puzzle: &'a P,
    line: usize,
    /// Lines that may begin an instance of several lines.
    pending: Vec<Written>,
    /// Whether they certainly do.
    is_drawn: bool,
}

impl<'a, P: Notation> Gatherer<'a, P> {
    fn new(puzzle: &'a P) -> Self {
        Gatherer { puzzle, line: 0, pending: Vec::new(), is_drawn: false }
    }

    /// Takes the next lines; returns the instances that they complete.
    fn add(&mut self, lines: &str) -> Vec<Written> {
        plain(lines).split('\n').flat_map(|line| self.add_line(line.trim_end())).collect()
    }

    fn add_line(&mut self, text: &str) -> Vec<Written> {
        self.line += 1;
        if self.puzzle.takes_lines() && text.starts_with(';') {
            return Vec::new();
        }
        let written = Written { line: self.line, text: text.into() };
        let lines: Vec<&str> = self.pending.iter().map(|line| &*line.text).chain([text]).collect();
        let block = self.puzzle.block(&lines);
        if block != Block::Neither {
            self.pending.push(written);
            self.is_drawn = block == Block::Drawn;
            return if block == Block::Whole { self.take_block().into_iter().collect() } else { Vec::new() };
        }
        let mut instances = self.end();
        match self.puzzle.block(&[text]) {
            begun @ (Block::Part | Block::Drawn) => {
                self.pending.push(written);
                self.is_drawn = begun == Block::Drawn;
            }
            Block::Whole if self.puzzle.takes_lines() => instances.push(written),
            Block::Neither if self.puzzle.takes_lines() => {}
            Block::Whole | Block::Neither => instances.extend(self.alone(written)),
        }
        instances
    }

    /// The instances that the end of the text completes.
    fn end(&mut self) -> Vec<Written> {
        if self.puzzle.takes_lines() || std::mem::take(&mut self.is_drawn) {
            return self.take_block().into_iter().collect();
        }
        std::mem::take(&mut self.pending).into_iter().filter_map(|line| self.alone(line)).collect()
    }

    /// A line that is an instance of its own, without its comment; `None` if nothing is left, or only the frame of a board.
    fn alone(&self, Written { line, text }: Written) -> Option<Written> {
        let is_frame = is_frame(&text) && self.puzzle.block(&[&text]) == Block::Part;
        let text = without_comment(&text).trim();
        let is_nothing = text.is_empty() || text.starts_with("//") || is_frame;
        (!is_nothing).then(|| Written { line, text: text.into() })
    }

    /// The lines that wait, as one instance.
    fn take_block(&mut self) -> Option<Written> {
        let lines = std::mem::take(&mut self.pending);
        let text = lines.iter().map(|line| &*line.text).collect::<Vec<_>>().join("\n");
        lines.first().map(|first| Written { line: first.line, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Style;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::jugs::Jugs;
    use crate::puzzle::lightsout::LightsOut;
    use crate::puzzle::sokoban::Sokoban;
    use crate::puzzle::tiles::{Puzzle8, Puzzle24};

    fn written(line: usize, text: &str) -> Written {
        Written { line, text: text.into() }
    }

    fn cubes(text: &str) -> Vec<Written> {
        all(text, &Cube3)
    }

    #[test]
    fn blank_lines_separate_blocks_and_other_lines_stand_alone() {
        let lines = "a b\r\n\n  c\n # d\ne\t3 # 4\n// f\nScramble #3: R #h\n";
        let expected = [written(1, "a b"), written(3, "c"), written(5, "e\t3"), written(7, "Scramble #3: R")];
        assert_eq!(cubes(lines), expected);
        assert_eq!(cubes(&lines.replace("\r\n", "\r").replace('\n', "\u{2028}")), expected);
        assert_eq!(cubes(&format!("\u{feff}{lines}")), expected);
        let units = |lines: &str| std::iter::once(0xfeff).chain(lines.encode_utf16()).collect::<Vec<u16>>();
        let utf16: Vec<u8> = units(lines).into_iter().flat_map(u16::to_le_bytes).collect();
        assert_eq!(cubes(&decoded(&utf16)), expected);
        let sokoban = Sokoban::by_moves();
        let blocks = "; 0\n ##\n#@#\n\n\nTitle: 1\n#+#\n;x\n##\nAuthor: a\n";
        assert_eq!(all(blocks, &sokoban), [written(2, " ##\n#@#"), written(7, "#+#\n##")]);
        // A line with all rows is a level.
        let lines = "##|#@#\n##\n#@#\n3#|#@#|\n";
        assert_eq!(all(lines, &sokoban), [written(1, "##|#@#"), written(2, "##\n#@#"), written(4, "3#|#@#|")]);
        assert_eq!(all("", &sokoban), []);
    }

    #[test]
    fn a_stream_has_the_instances_of_its_text() {
        let boards = "1 2 3\r\n4 5 0\r\n7 8 6\r\n1 2 3 4 5 6 7 0 8\r\n+-+\r\n";
        let puzzle = Arc::new(Puzzle8::default());
        let bytes = std::io::Cursor::new(boards.as_bytes().to_vec());
        let read: Vec<Written> =
            stream(Box::new(bytes), Arc::clone(&puzzle)).iter().map(|line| line.expect("text")).collect();
        assert_eq!(read, [written(1, "1 2 3\n4 5 0\n7 8 6"), written(4, "1 2 3 4 5 6 7 0 8")]);
        assert_eq!(read, all(boards, &*puzzle));
    }

    #[test]
    fn scrambles_that_look_like_faces_stand_alone() {
        let turns = "R2 U2\nU2 F2\nR2 F2\nF2 U2\nF2 R2\nU2 R2";
        assert_eq!(all(turns, &Cube2).len(), 6);
        assert_eq!(all(&"R U F\t3\n".repeat(6), &Cube2).len(), 6);
        let turns = "R U' F L D B R U' F\nR U' F L U B R U' F\nR U' F L R B R U' F\nR U' F L F B R U' F\n\
                     R U' F L L B R U' F\nR U' F L B B R U' F\n";
        assert_eq!(cubes(turns).len(), 6);
        assert_eq!(cubes(&"RUF\n".repeat(18)).len(), 18);
        let lights = LightsOut::<1>::new(3);
        assert_eq!(all("+ - +\n", &lights).len(), 1, "only boards of tiles have frames");
    }

    #[test]
    fn what_is_drawn_is_read_again() {
        fn check<P: Puzzle>(puzzle: &P, instances: [&str; 2]) {
            let states = instances.map(|text| puzzle.parse(text).expect("an instance"));
            for style in [Style::Plain, Style::Coloured] {
                let drawn = states.map(|state| puzzle.draw(&state, style));
                for text in [drawn.join("\n\n"), drawn.join("\n")] {
                    if puzzle.takes_lines() && !text.contains("\n\n") {
                        continue; // levels are separated by blank lines
                    }
                    let read = all(&text, puzzle);
                    let read: Vec<_> = read.iter().map(|written| puzzle.parse(&written.text)).collect();
                    assert_eq!(read, states.map(Ok), "{text}");
                }
            }
        }
        check(&Cube3, ["R U2 F'", "L' D B"]);
        check(&Cube2, ["R U2 F'", "U R2"]);
        check(&Puzzle8::default(), ["1 2 3 4 5 0 7 8 6", "1 2 3 4 5 6 0 7 8"]);
        check(&Puzzle24::default(), ["U U L L D R", "L L L U"]);
        check(&LightsOut::<1>::new(5), ["1,1 2,3", "5,5"]);
        check(&Jugs::new("8,5,3").expect("jugs"), ["8,0,0", "3,5,0"]);
        check(&Sokoban::by_moves(), ["#####|#@$.#|#####", "######|#.$ @#|######"]);
    }

    #[test]
    fn a_drawing_with_a_fault_is_one_instance() {
        let net = Cube3.draw(&Cube3.parse("R U F'").expect("a scramble"), Style::Plain);
        let faces = ["UUUUUUUUU", "RRRRRRRRR", "FFFFFFFFF", "DDDDDDDDD", "LLLLLLLLL", "BBBBBBBBU"].join("\n");
        let labelled: String = faces.lines().map(|face| format!("{}: {face}\n", &face[..1])).collect();
        let rows: Vec<&str> = net.lines().collect();
        for text in [net.replacen('U', "R", 1), rows[..8].join("\n"), faces, labelled] {
            let read = cubes(&format!("R\n\n{text}\n\nU F\n"));
            assert_eq!(read.len(), 3, "{read:?}");
            assert!(Cube3.parse(&read[1].text).is_err(), "{read:?}");
        }
        assert_eq!(all("1 2 3\n4 5 6\n", &Puzzle8::default()).len(), 1);
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
        let faces = ["UUUUUUUUU", "rrrrrrrrr", "FFFFFFFFF", "DDDDDDDDD", "LLLLLLLLL", "BBBBBBBBB"];
        let lines = faces.join("\n");
        assert_eq!(cubes(&lines), [written(1, &lines)]);
        assert_eq!(cubes(&format!("R\n{lines}\n{face}\nU F\n")).len(), 4);
        assert_eq!(cubes(&format!("{face}\n").repeat(6)).len(), 6, "six scrambles have the same letter in the middle");
        let five = format!("{face}\n").repeat(5);
        let alone: Vec<Written> = (1..=5).map(|line| written(line, face)).collect();
        assert_eq!(cubes(&five), alone);
        assert_eq!(cubes(&format!("{five}# the end")), alone);
        let titled = cubes("#1: R U\n#2 a comment\n#12) F # another\n");
        assert_eq!(titled, [written(1, "#1: R U"), written(3, "#12) F")]);
    }

    #[test]
    fn the_optimal_length_follows_a_tab() {
        assert_eq!(with_optimum(&Cube3, "R U\t2").expect("a length"), ("R U", Some(2)));
        assert_eq!(with_optimum(&Cube3, "R\tU\tF").expect("no length"), ("R\tU\tF", None));
        assert_eq!(with_optimum(&Cube3, "1.\tR U").expect("no length"), ("1.\tR U", None));
        assert_eq!(with_optimum(&Sokoban::by_moves(), "#.\t#").expect("no length"), ("#.\t#", None));
        assert!(with_optimum(&Cube3, "R U\tF").is_err());
    }
}
