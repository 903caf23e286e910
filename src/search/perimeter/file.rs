//! Perimeters on the disk: made once, kept in the cache whole or not at all, and refused by name if damaged.
//!
//! A file begins with a line of text, a line of JSON (puzzle, depth, symmetries, sizes and checksums), and a
//! checksum of that. The layers follow, nearest first, so that the file of a deep perimeter serves for a shallow one.

use super::cache_lines::Lines;
use super::classes::{ClassTable, Count};
use super::layer::{ClassLayer, Line, PARTS};
use super::{Extent, OnProgress, Perimeter};
use crate::cache;
use crate::error::{Context as _, Error, Result, ensure};
use crate::files::write_whole_with;
use crate::memory;
use crate::puzzle::{Move, Puzzle, Symmetries};
use crate::workers::{cores, on_own_threads};
use bytemuck::{cast_slice, cast_slice_mut};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The first line of a file.
const MAGIC: &str = "costar perimeter 1\n";
/// Each layer begins at a multiple of this in a file.
const PAGE: u64 = 4096;
/// Lines of a piece, which has its own checksum: 16 MiB.
const PIECE: usize = 1 << 18;

/// A perimeter that takes more than this part of the memory budget is read in place.
const LARGE: u64 = 4;

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    #[serde(flatten)]
    identity: Identity,
    depth: u32,
    whole: bool,
    /// Whether a time limit decided the depth.
    #[serde(default)]
    in_time: bool,
    /// By distance.
    layers: Vec<LayerHeader>,
}

/// The part of a header that must match the puzzle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Identity {
    puzzle: String,
    /// A checksum of what the moves do, each at a cost of 1. Their names do not matter.
    rules: u32,
    symmetries: u32,
    symmetry_version: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LayerHeader {
    #[serde(flatten)]
    count: Count,
    lines: usize,
    /// CRC-32 of each piece.
    crc32: Vec<u32>,
}

impl LayerHeader {
    fn bytes(&self) -> u64 {
        (self.lines as u64).saturating_mul(size_of::<Line>() as u64)
    }
}

/// A new perimeter, and its file or why it could not be saved.
pub type SavedPerimeter<S> = (Perimeter<S>, Result<PathBuf>);

/// A perimeter on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerimeterFile {
    /// The depth.
    pub depth: u32,
    /// The file.
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
}

/// The perimeters of a puzzle in a cache folder.
pub struct PerimeterFolder<'a, P: Puzzle> {
    puzzle: &'a P,
    symmetries: Arc<dyn Symmetries<P::State>>,
    identity: Identity,
    folder: Option<PathBuf>,
}

impl<'a, P: Puzzle> PerimeterFolder<'a, P> {
    /// The perimeters in a folder, by default [`cache::folder`]; `None` for a puzzle that is not reversible, or has no known
    /// symmetries.
    pub fn new(puzzle: &'a P, folder: Option<PathBuf>) -> Option<Self> {
        let symmetries = puzzle.is_reversible().then(|| puzzle.symmetries()).flatten()?;
        let identity = Identity {
            puzzle: puzzle.name(),
            rules: rules(puzzle),
            symmetries: symmetries.count(),
            symmetry_version: symmetries.version(),
        };
        Some(PerimeterFolder { puzzle, symmetries, identity, folder: folder.or_else(cache::folder) })
    }

    /// The files that are there, the deepest first.
    pub fn files(&self) -> Vec<PerimeterFile> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let [prefix, suffix] = self.identity.affixes();
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name();
            let depth = name.to_str()?.strip_prefix(&prefix)?.strip_suffix(&suffix)?.parse().ok()?;
            Some(PerimeterFile { depth, path: entry.path(), bytes: entry.metadata().ok()?.len() })
        };
        let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(file).collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.depth));
        files
    }

    /// The perimeter to `depth`, or else the deepest, from a file, if it takes at most `bytes`. Logs which files are not
    /// used, and why.
    pub fn load(&self, depth: u32, bytes: u64) -> Option<Perimeter<P::State>> {
        let files = self.files();
        // The shallowest file that is deep enough is read soonest.
        let deep_enough = files.iter().rev().filter(|file| file.depth >= depth);
        let others = files.iter().filter(|file| file.depth < depth);
        deep_enough.chain(others).find_map(|file| self.load_file(file, depth, bytes))
    }

    /// Makes and saves a perimeter, or waits for another process that does so and reads that one. `None` once `stop` is
    /// set.
    pub fn make(
        &self,
        extent: Extent,
        stop: &AtomicBool,
        on_progress: OnProgress<'_>,
    ) -> Option<SavedPerimeter<P::State>> {
        let title = format!("the perimeter of {}", self.puzzle.name());
        let [prefix, _] = self.identity.affixes();
        let lock = self.folder.as_ref().map(|folder| (folder, cache::lock(folder, &prefix, &title, stop)));
        for file in self.files().into_iter().rev().filter(|file| file.depth >= extent.depth) {
            if let Some(perimeter) = self.load_file(&file, extent.depth, extent.bytes) {
                return Some((perimeter, Ok(file.path)));
            }
        }
        let perimeter = self.make_unsaved(extent, stop, on_progress)?;
        let saved = match lock {
            None => Err(Error::Data("none of COSTAR_CACHE, XDG_CACHE_HOME and HOME is set".into())),
            Some((folder, lock)) => lock.and_then(|_held| {
                let of_states = || Error::Bug("a perimeter by states is not kept".into());
                self.identity.write(folder, perimeter.classes().ok_or_else(of_states)?)
            }),
        };
        Some((perimeter, saved))
    }

    /// Makes a perimeter for this process alone; `None` once `stop` is set.
    pub fn make_unsaved(
        &self,
        extent: Extent,
        stop: &AtomicBool,
        on_progress: OnProgress<'_>,
    ) -> Option<Perimeter<P::State>> {
        Perimeter::of_classes(self.puzzle, Arc::clone(&self.symmetries), extent, stop, on_progress)
    }

    /// The puzzle's symmetries.
    pub fn symmetries(&self) -> &dyn Symmetries<P::State> {
        &*self.symmetries
    }

    /// The layers of a file within `depth`; `None` if they take more than `bytes`, or the log says why the file is not used.
    fn load_file(&self, file: &PerimeterFile, depth: u32, bytes: u64) -> Option<Perimeter<P::State>> {
        let read = self.identity.read(&file.path, depth, bytes);
        let table = read.unwrap_or_else(|error| {
            let path = file.path.display();
            log::warn!("the perimeter {path} is not used, and made again when it is needed: {error}");
            None
        })?;
        Some(Perimeter::from_classes(self.puzzle, Arc::clone(&self.symmetries), table))
    }
}

impl Identity {
    /// The parts of a file's name before and after the depth.
    fn affixes(&self) -> [String; 2] {
        let Identity { puzzle, rules, symmetry_version, .. } = self;
        let plain: String = puzzle.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        [format!("perimeter-{plain}-{rules:08x}-depth"), format!("-symmetries{symmetry_version}.bin")]
    }

    fn write(&self, folder: &Path, table: &ClassTable) -> Result<PathBuf> {
        let layer = |(layer, &count): (&ClassLayer, &Count)| LayerHeader {
            count,
            lines: layer.lines.len(),
            crc32: checksums(&layer.lines),
        };
        let header = Header {
            identity: self.clone(),
            depth: table.depth(),
            whole: table.whole,
            in_time: table.in_time,
            layers: table.layers.iter().zip(&table.counts).map(layer).collect(),
        };
        let header = serde_json::to_string(&header).map_err(|error| Error::Bug(error.to_string()))?;
        let [prefix, suffix] = self.affixes();
        let path = folder.join(format!("{prefix}{}{suffix}", table.depth()));
        write_whole_with(&path, |file| {
            let mut text = format!("{MAGIC}{header}\n{:08x}\n", crc32fast::hash(header.as_bytes())).into_bytes();
            text.resize(text.len().next_multiple_of(PAGE as usize), b' ');
            file.write_all(&text)?;
            table.layers.iter().try_for_each(|layer| file.write_all(cast_slice(&layer.lines)))
        })?;
        Ok(path)
    }

    /// Reads a file's layers within `depth`; `None` if they take more than `bytes`.
    fn read(&self, path: &Path, depth: u32, bytes: u64) -> Result<Option<ClassTable>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.with_context(|| format!("cannot open {}", path.display()))?,
        };
        let (header, start) = read_header(&file)?;
        let is_same = header.identity == *self && header.layers.len() == header.depth as usize + 1;
        ensure!(is_same, "it is of another puzzle or version");
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let expected = header.layers.iter().map(LayerHeader::bytes).fold(start, u64::saturating_add);
        ensure!(length == expected, "it has {length} bytes and should have {expected}");
        let layers = &header.layers[..=(depth.min(header.depth)) as usize];
        let needed: u64 = layers.iter().map(LayerHeader::bytes).sum();
        // A copy in large pages is read sooner. If it would take much of the memory, or each of several processes of this
        // task would have one, all read the file's own pages.
        let processes = memory::processes();
        if needed > bytes.saturating_mul(processes) {
            return Ok(None);
        }
        let is_shared = processes > 1 || needed > bytes / LARGE;
        let mut table = ClassTable {
            whole: header.whole && depth >= header.depth,
            in_time: header.in_time,
            counts: layers.iter().map(|layer| layer.count).collect(),
            ..ClassTable::default()
        };
        let mut at = start;
        for layer in layers {
            ensure!(layer.lines > 0 && layer.lines.is_multiple_of(PARTS), "a layer has no lines");
            let lines = if is_shared {
                Lines::in_file(&file, at, layer.lines).with_context(|| format!("cannot map {}", path.display()))?
            } else {
                read_lines(&file, at, layer)?
            };
            // In a mapped file, this also reads the pages.
            ensure!(!is_shared || checksums(&lines) == layer.crc32, "it is damaged: a checksum is another");
            table.layers.push(ClassLayer::from_lines(lines));
            at += layer.bytes();
        }
        Ok(Some(table))
    }
}

/// The header of a file, and where its layers begin.
fn read_header(file: &File) -> Result<(Header, u64)> {
    let mut reader = BufReader::new(file);
    let mut line = || -> Result<String> {
        let mut bytes = Vec::new();
        // No perimeter has a longer header; another file may have no line break at all.
        std::io::Read::take(&mut reader, 1 << 22).read_until(b'\n', &mut bytes).context("it cannot be read")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (magic, header, sum) = (line()?, line()?, line()?);
    ensure!(magic == MAGIC, "it is of another version, or no perimeter of costar");
    let header = header.trim_end_matches('\n');
    ensure!(sum == format!("{:08x}\n", crc32fast::hash(header.as_bytes())), "its header is damaged or cut off");
    let header: Header = serde_json::from_str(header).context("its header")?;
    let end = reader.stream_position().context("it cannot be read")?;
    Ok((header, end.next_multiple_of(PAGE)))
}

/// The lines of a layer, read on all cores.
fn read_lines(file: &File, at: u64, layer: &LayerHeader) -> Result<Lines> {
    let mut lines = Lines::empty(layer.lines).map_err(|_| Error::Device("there is no memory for it".into()))?;
    let read = |(i, piece): (usize, &mut [Line])| -> Result<()> {
        let from = at + (i * PIECE * size_of::<Line>()) as u64;
        file.read_exact_at(cast_slice_mut(piece), from).context("it cannot be read")?;
        ensure!(
            layer.crc32.get(i) == Some(&crc32fast::hash(cast_slice(piece))),
            "it is damaged: a checksum is another"
        );
        Ok(())
    };
    let pieces = lines.as_mut().chunks_mut(PIECE).enumerate().collect();
    on_own_threads(cores(), pieces, read).into_iter().collect::<Result<()>>()?;
    Ok(lines)
}

/// The checksum of each piece.
fn checksums(lines: &[Line]) -> Vec<u32> {
    on_own_threads(cores(), lines.chunks(PIECE).collect(), |piece: &[Line]| crc32fast::hash(cast_slice(piece)))
}

/// A checksum of what some moves, one after the other, do to each goal: it tells two puzzles of one name apart.
///
/// [`Rules::rules_crc32`](crate::puzzle::Rules::rules_crc32) cannot take its place: only a puzzle from a file has that
/// one, and result files of all other puzzles record that there is none.
fn rules<P: Puzzle>(puzzle: &P) -> u32 {
    const STEPS: usize = 64;
    let mut row = vec![0; puzzle.encoding().cells];
    let mut sum = crc32fast::Hasher::new();
    for goal in puzzle.goals() {
        let mut state = goal;
        for step in 0..STEPS.max(2 * puzzle.move_count()) {
            puzzle.encode(&state, &mut row);
            sum.update(&row);
            state = puzzle.apply(&state, (step % puzzle.move_count()) as Move).unwrap_or(state);
        }
    }
    sum.finalize()
}
