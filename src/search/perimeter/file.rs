//! Perimeters on the disk: made once, kept in the cache whole or not at all, and refused by name if they are damaged.
//!
//! A file begins with a line of text, a line of JSON (puzzle, moves, depth, symmetries, sizes and checksums), and a
//! checksum of that. The layers follow, nearest first, so that the file of a deep perimeter serves for a shallow one.

use super::classes::{ClassTable, Count};
use super::layer::{Layer, Line, PARTS};
use super::lines::Lines;
use super::{Extent, Making, Perimeter};
use crate::cache;
use crate::error::{Context as _, Error, Result, ensure};
use crate::files::write_whole_with;
use crate::memory;
use crate::puzzle::{Move, Puzzle, Reversible, Symmetries, move_names};
use crate::workers::{cores, on_own_threads};
use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a file begins with.
const MAGIC: &str = "costar perimeter 1\n";
/// Where the layers begin in a file, and each of them, is a multiple of this.
const PAGE: u64 = 4096;
/// Lines of a piece, which has a checksum of its own: 16 MiB.
const PIECE: usize = 1 << 18;

/// A perimeter of more than this part of the room for it is read where it is.
const LARGE: u64 = 4;

/// What a file is, and how long its layers are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    puzzle: String,
    /// The names of the moves: each costs 1.
    moves: String,
    /// A checksum of what the moves do to the goals: two puzzles of a name are told apart.
    rules: u32,
    symmetries: u32,
    symmetry_version: u32,
    depth: u32,
    whole: bool,
    by_parity: bool,
    /// Whether it is as deep as some time allowed.
    #[serde(default)]
    in_time: bool,
    /// By distance.
    layers: Vec<LayerHeader>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LayerHeader {
    #[serde(flatten)]
    count: Count,
    lines: usize,
    /// CRC-32 of each piece.
    crc32: Vec<u32>,
}

/// Where a perimeter is looked for and kept: a puzzle's files in a folder.
pub struct Shelf<'a, P: Puzzle> {
    puzzle: &'a P,
    symmetries: Arc<dyn Symmetries<P::State>>,
    folder: Option<PathBuf>,
}

/// A perimeter that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// How deep it is.
    pub depth: u32,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of its file.
    pub bytes: u64,
}

/// [`Shelf`], for those who do not know that the puzzle is reversible.
pub trait PerimeterShelf<S> {
    /// Those that are there, the deepest first.
    fn kept(&self) -> Vec<Kept>;

    /// The deepest perimeter that is there and takes at most so many bytes, down to `depth` of it. Says in the log what is
    /// not used, and why.
    fn load(&self, depth: u32, bytes: u64) -> Option<Perimeter<S>>;

    /// Makes a perimeter and keeps it; another process that makes one waits, and reads this one. `None` once `stop` is set.
    ///
    /// # Errors
    /// If it cannot be written: the perimeter that was made is given too.
    fn make(&self, extent: Extent, stop: &AtomicBool, watch: &mut dyn FnMut(Making)) -> Option<Made<S>>;

    /// Makes a perimeter for this process alone; `None` once `stop` is set.
    fn make_unkept(&self, extent: Extent, stop: &AtomicBool, watch: &mut dyn FnMut(Making)) -> Option<Perimeter<S>>;

    /// How many symmetries the puzzle has.
    fn symmetries(&self) -> u32;

    /// Whether inversion is one of them.
    fn has_inversion(&self) -> bool;
}

/// A perimeter that was made, and the file that it is kept in, or why it is not.
pub type Made<S> = (Perimeter<S>, Result<PathBuf>);

impl<'a, P: Reversible> Shelf<'a, P> {
    /// The perimeters of a puzzle in a folder, by default that of [`cache::folder`]; `None` of a puzzle that knows no
    /// symmetries.
    pub fn new(puzzle: &'a P, folder: Option<PathBuf>) -> Option<Self> {
        Some(Shelf { puzzle, symmetries: puzzle.symmetries()?, folder: folder.or_else(cache::folder) })
    }

    fn prefix(&self) -> String {
        let name = self.puzzle.name();
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("perimeter-{plain}-{:08x}-depth", rules(self.puzzle))
    }

    fn suffix(&self) -> String {
        format!("-symmetries{}.bin", self.symmetries.version())
    }

    fn path(&self, folder: &Path, depth: u32) -> PathBuf {
        folder.join(format!("{}{depth}{}", self.prefix(), self.suffix()))
    }

    fn header(&self, table: &ClassTable) -> Header {
        let moves: Vec<Move> = (0..self.puzzle.move_count() as Move).collect();
        let layer = |(layer, count): (&Layer, &Count)| LayerHeader {
            count: *count,
            lines: layer.lines().len(),
            crc32: on_own_threads(cores(), layer.lines().chunks(PIECE).collect(), |piece: &[Line]| {
                crc32fast::hash(bytes_of(piece))
            }),
        };
        Header {
            puzzle: self.puzzle.name(),
            moves: move_names(self.puzzle, &moves).join(" "),
            rules: rules(self.puzzle),
            symmetries: self.symmetries.count(),
            symmetry_version: self.symmetries.version(),
            depth: table.depth(),
            whole: table.whole,
            by_parity: table.by_parity,
            in_time: table.in_time,
            layers: table.layers.iter().zip(&table.counts).map(layer).collect(),
        }
    }

    fn write(&self, folder: &Path, perimeter: &Perimeter<P::State>) -> Result<PathBuf> {
        let Some(table) = perimeter.classes() else {
            return Err(Error::Bug("a perimeter by states is not kept".into()));
        };
        let header = serde_json::to_string(&self.header(table)).map_err(|error| Error::Bug(error.to_string()))?;
        let path = self.path(folder, table.depth());
        write_whole_with(&path, |file| {
            let mut text = format!("{MAGIC}{header}\n{:08x}\n", crc32fast::hash(header.as_bytes())).into_bytes();
            text.resize(text.len().next_multiple_of(PAGE as usize), b' ');
            file.write_all(&text)?;
            table.layers.iter().try_for_each(|layer| file.write_all(bytes_of(layer.lines())))
        })?;
        Ok(path)
    }

    /// Reads a file's layers within `depth`; `None` if they take more than so many bytes.
    fn read(&self, path: &Path, depth: u32, bytes: u64) -> Result<Option<Perimeter<P::State>>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.with_context(|| format!("cannot open {}", path.display()))?,
        };
        let (header, start) = read_header(&file)?;
        let own = self.header(&ClassTable::default());
        let same = header.puzzle == own.puzzle
            && header.moves == own.moves
            && header.rules == own.rules
            && (header.symmetries, header.symmetry_version) == (own.symmetries, own.symmetry_version)
            && header.layers.len() == header.depth as usize + 1;
        ensure!(same, "it is of another puzzle or version");
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let lines: usize = header.layers.iter().map(|layer| layer.lines).sum();
        let expected = start + (lines * size_of::<Line>()) as u64;
        ensure!(length == expected, "it has {length} bytes and should have {expected}");
        let is_cut = depth < header.depth;
        let layers = &header.layers[..=(depth.min(header.depth)) as usize];
        let needed: usize = layers.iter().map(|layer| layer.lines * size_of::<Line>()).sum();
        // A copy in large pages is read sooner. Where it would take much of the memory, or several processes of this task
        // would each have one, all read the file's own pages.
        let processes = memory::processes();
        let shared = processes > 1 || needed as u64 > bytes / LARGE;
        if needed as u64 > bytes.saturating_mul(processes) {
            return Ok(None);
        }
        // SAFETY: files are written under another name and then renamed; nobody writes to one that has this name.
        let map = shared.then(|| unsafe { Mmap::map(&file) }).transpose();
        let map = map.with_context(|| format!("cannot map {}", path.display()))?.map(Arc::new);
        let mut table = ClassTable {
            whole: header.whole && !is_cut,
            by_parity: header.by_parity,
            in_time: header.in_time,
            counts: layers.iter().map(|layer| layer.count).collect(),
            ..ClassTable::default()
        };
        let mut at = start;
        for layer in layers {
            ensure!(layer.lines > 0 && layer.lines.is_multiple_of(PARTS), "a layer has no lines");
            let lines = match &map {
                Some(map) => map_lines(map, at, layer)?,
                None => read_lines(&file, at, layer)?,
            };
            table.layers.push(Layer::from_lines(lines));
            at += (layer.lines * size_of::<Line>()) as u64;
        }
        Ok(Some(Perimeter::from_classes(self.puzzle, Arc::clone(&self.symmetries), table)))
    }
}

impl<P: Reversible> Shelf<'_, P> {
    /// [`Shelf::read`]; says in the log why a file is not used.
    fn read_or_log(&self, kept: &Kept, depth: u32, bytes: u64) -> Option<Perimeter<P::State>> {
        self.read(&kept.path, depth, bytes).unwrap_or_else(|error| {
            let path = kept.path.display();
            log::warn!("the perimeter {path} is not used, and made again when it is needed: {error}");
            None
        })
    }
}

impl<P: Reversible> PerimeterShelf<P::State> for Shelf<'_, P> {
    fn kept(&self) -> Vec<Kept> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let (prefix, suffix) = (self.prefix(), self.suffix());
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut kept: Vec<Kept> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let depth = name.to_str()?.strip_prefix(&prefix)?.strip_suffix(&suffix)?.parse().ok()?;
                Some(Kept { depth, path: entry.path(), bytes: entry.metadata().ok()?.len() })
            })
            .collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.depth));
        kept
    }

    fn load(&self, depth: u32, bytes: u64) -> Option<Perimeter<P::State>> {
        let kept = self.kept();
        // Of those that are deep enough, the shallowest: it is read soonest.
        let deep_enough = kept.iter().rev().filter(|kept| kept.depth >= depth);
        let others = kept.iter().filter(|kept| kept.depth < depth);
        deep_enough.chain(others).find_map(|kept| self.read_or_log(kept, depth, bytes))
    }

    fn make(&self, extent: Extent, stop: &AtomicBool, watch: &mut dyn FnMut(Making)) -> Option<Made<P::State>> {
        let title = format!("the perimeter of {}", self.puzzle.name());
        let lock = self.folder.as_ref().map(|folder| cache::lock(folder, &self.prefix(), &title));
        let there = self.kept().into_iter().rev().filter(|kept| kept.depth >= extent.depth).find_map(|kept| {
            let perimeter = self.read_or_log(&kept, extent.depth, extent.bytes)?;
            Some((perimeter, Ok(kept.path)))
        });
        if there.is_some() {
            return there;
        }
        let perimeter = self.make_unkept(extent, stop, watch)?;
        let kept = match (&self.folder, lock) {
            (None, _) | (_, None) => {
                Err(Error::Data("none of COSTAR_CACHE, XDG_CACHE_HOME and HOME is set, so it is not kept".into()))
            }
            (Some(_), Some(Err(error))) => Err(error),
            (Some(folder), Some(Ok(_held))) => self.write(folder, &perimeter),
        };
        Some((perimeter, kept))
    }

    fn make_unkept(
        &self,
        extent: Extent,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Making),
    ) -> Option<Perimeter<P::State>> {
        Perimeter::of_classes(self.puzzle, Arc::clone(&self.symmetries), extent, stop, watch)
    }

    fn symmetries(&self) -> u32 {
        self.symmetries.count()
    }

    fn has_inversion(&self) -> bool {
        self.symmetries.has_inversion()
    }
}

/// The header of a file, and where its layers begin.
fn read_header(file: &File) -> Result<(Header, u64)> {
    let mut reader = BufReader::new(file);
    let mut line = || -> Result<String> {
        let mut bytes = Vec::new();
        // No file of ours has a longer header; another may have no line break at all.
        std::io::Read::take(&mut reader, 1 << 22).read_until(b'\n', &mut bytes).context("it cannot be read")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (magic, header, sum) = (line()?, line()?, line()?);
    ensure!(magic == MAGIC, "it is of another version, or no perimeter of costar");
    let header = header.trim_end_matches('\n');
    ensure!(sum == format!("{:08x}\n", crc32fast::hash(header.as_bytes())), "its header is damaged or cut off");
    let header: Header = serde_json::from_str(header).map_err(|error| Error::Data(format!("its header: {error}")))?;
    let end = reader.stream_position().context("it cannot be read")?;
    Ok((header, end.next_multiple_of(PAGE)))
}

/// The lines of a layer, read on all cores.
fn read_lines(file: &File, at: u64, layer: &LayerHeader) -> Result<Lines> {
    let mut lines = Lines::empty(layer.lines).map_err(|_| Error::Device("there is no memory for it".into()))?;
    let read = |(i, piece): (usize, &mut [Line])| -> Result<()> {
        let place = at + (i * PIECE * size_of::<Line>()) as u64;
        file.read_exact_at(bytes_of_mut(piece), place).context("it cannot be read")?;
        ensure!(layer.crc32.get(i) == Some(&crc32fast::hash(bytes_of(piece))), "it is damaged: a checksum is another");
        Ok(())
    };
    on_own_threads(cores(), lines.as_mut().chunks_mut(PIECE).enumerate().collect(), read)
        .into_iter()
        .collect::<Result<()>>()?;
    Ok(lines)
}

/// The lines of a layer in a file that is mapped; looking at the checksums also has them read.
fn map_lines(map: &Arc<Mmap>, at: u64, layer: &LayerHeader) -> Result<Lines> {
    let lines = Lines::in_file(Arc::clone(map), at as usize, layer.lines);
    let sums =
        on_own_threads(cores(), lines.chunks(PIECE).collect(), |piece: &[Line]| crc32fast::hash(bytes_of(piece)));
    ensure!(sums == layer.crc32, "it is damaged: a checksum is another");
    Ok(lines)
}

/// A checksum of the rules: of what some moves, one after the other, do to each goal.
fn rules<P: Reversible>(puzzle: &P) -> u32 {
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

fn bytes_of(lines: &[Line]) -> &[u8] {
    // SAFETY: a line is 64 bytes without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines)) }
}

fn bytes_of_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: a line is 64 bytes without padding, and any bytes are a line.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size_of_val(lines)) }
}
