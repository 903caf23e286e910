//! The stored bytes of the fuzz targets, and mutations of them. Bytes of a failure go to `corpus/TARGET`.

use costar::random::{below, generator};
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
mod targets;

/// Mutations of each file.
const MUTATIONS: u64 = 600;

/// The bytes that are put in.
const BYTES: &[u8] = b"\"{}[],:-0919eE' \n\r\t\xff\x00\xe2";
const PIECES: [&str; 6] = ["null", "1e999", "-1", "18446744073709551616", "\\u0000", "[[[[[[[["];

/// Changes some bytes: flips, removes, repeats or replaces.
fn mutated(bytes: &[u8], file: u64, number: u64) -> Vec<u8> {
    let (mut bytes, mut random) = (bytes.to_vec(), generator(file, number));
    for _ in 0..=below(&mut random, 4) {
        let at = below(&mut random, bytes.len() + 1);
        let end = (at + 1 + below(&mut random, 8)).min(bytes.len());
        match below(&mut random, 6) {
            0 if at < end => bytes[at] ^= 1 << below(&mut random, 8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes.insert(at, BYTES[below(&mut random, BYTES.len())]),
            _ => {
                let piece = PIECES[below(&mut random, PIECES.len())].bytes();
                bytes.splice(at..end, piece);
            }
        }
    }
    bytes
}

#[test]
fn stored_bytes_and_their_mutations_are_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let entries = fs::read_dir(corpus.join(name)).expect("a corpus").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries.collect();
        files.sort();
        assert!(!files.is_empty(), "{name}");
        for (number, file) in files.iter().enumerate() {
            let stored = fs::read(file).expect("a file");
            let all = (0..MUTATIONS).map(|mutation| mutated(&stored, number as u64, mutation));
            for bytes in [stored.clone()].into_iter().chain(all) {
                let failed = catch_unwind(|| target(&bytes)).is_err();
                assert!(!failed, "{}: {:?}", file.display(), String::from_utf8_lossy(&bytes));
            }
        }
    }
}
