//! Tables that take a while to build, kept on the disk from one run to the next.
//!
//! A table is there whole or not at all: it is written beside its place and renamed, and read only if its length and
//! checksum are right. Whatever goes wrong with the disk costs time, never an answer: the table is then built again,
//! or kept in memory alone, and a log message says why.

use crate::error::{Context as _, Result, ensure};
use crate::files::write_whole;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a table is: a cache gives back only what was built as the same thing.
#[derive(Debug, Clone)]
pub struct Table {
    /// The name of its file; without spaces.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Changes whenever the same name would stand for other bytes.
    pub version: u32,
    /// How many bytes it has.
    pub length: usize,
}

/// Where tables are kept: `$COSTAR_CACHE`, else `costar` in `$XDG_CACHE_HOME`, else `.cache/costar` in `$HOME`.
pub fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("COSTAR_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("costar")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/costar")))
}

impl Table {
    /// Reads the table, or builds and keeps it; `build` gives [`Table::length`] bytes.
    pub fn get(&self, folder: Option<&Path>, build: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let Some(folder) = folder else {
            log::info!(
                "building {}; it will not be kept, for none of COSTAR_CACHE, XDG_CACHE_HOME and HOME is set",
                self.title
            );
            return build();
        };
        if let Some(bytes) = self.read_or_log(folder) {
            return bytes;
        }
        // Of several processes at once one builds, the others wait for it.
        let lock = self.lock(folder);
        if lock.is_ok()
            && let Ok(Some(bytes)) = self.read(folder)
        {
            return bytes;
        }
        log::info!("building {}, once", self.title);
        let bytes = build();
        match lock.and_then(|_held| self.write(folder, &bytes)) {
            Ok(()) => log::info!("kept in {}", self.path(folder).display()),
            Err(error) => log::warn!("it is not kept: {error}"),
        }
        bytes
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.table", self.name))
    }

    /// The table, if it is there and right; logs why not if it is there and wrong.
    fn read_or_log(&self, folder: &Path) -> Option<Vec<u8>> {
        match self.read(folder) {
            Ok(bytes) => bytes,
            Err(error) => {
                log::warn!("{error}");
                None
            }
        }
    }

    /// The table, or nothing if it is not there.
    fn read(&self, folder: &Path) -> Result<Option<Vec<u8>>> {
        let path = self.path(folder);
        let mut bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let start = self.checked(&bytes).with_context(|| format!("{} is not used", path.display()))?;
        bytes.drain(..start);
        Ok(Some(bytes))
    }

    /// Where the table begins in the bytes of its file.
    fn checked(&self, bytes: &[u8]) -> Result<usize> {
        let header = self.header();
        ensure!(bytes.starts_with(header.as_bytes()), "it is of another version, or no table of costar");
        let sum = bytes.get(header.len()..header.len() + SUM).context("it is cut off")?;
        let start = header.len() + SUM;
        let body = &bytes[start..];
        ensure!(body.len() == self.length, "it has {} bytes and should have {}", body.len(), self.length);
        ensure!(sum == checksum(body).as_bytes(), "it is damaged: its checksum is another");
        Ok(start)
    }

    fn write(&self, folder: &Path, table: &[u8]) -> Result<()> {
        let mut bytes = self.header().into_bytes();
        bytes.extend_from_slice(checksum(table).as_bytes());
        bytes.extend_from_slice(table);
        write_whole(&self.path(folder), &bytes)
    }

    /// What the file begins with, before the checksum.
    fn header(&self) -> String {
        format!("costar table 1\n{} version {}, {} bytes, CRC-32 ", self.name, self.version, self.length)
    }

    /// Waits until no other process builds this table.
    fn lock(&self, folder: &Path) -> Result<File> {
        lock(folder, &self.name, &self.title)
    }
}

/// Waits until no other process builds what is kept under a name in a folder; others wait until the file is dropped.
///
/// # Errors
/// If the folder cannot be made, or the lock cannot be written.
pub fn lock(folder: &Path, name: &str, title: &str) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            log::info!("waiting for another process that builds {title}");
            file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        }
        locked => locked.map_err(io::Error::from).with_context(|| format!("cannot lock {}", path.display()))?,
    }
    Ok(file)
}

/// Bytes of a checksum in a file, its line break included.
const SUM: usize = 9;

fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}\n", crc32fast::hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn table(version: u32) -> Table {
        Table { name: "squares".into(), title: "the table of squares".into(), version, length: 16 }
    }

    fn squares() -> Vec<u8> {
        (0..16u8).map(|i| i.wrapping_mul(i)).collect()
    }

    #[test]
    fn a_table_is_built_once_and_again_whenever_its_file_is_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let builds = AtomicUsize::new(0);
        let get = |version| {
            let build = || {
                builds.fetch_add(1, Ordering::Relaxed);
                squares()
            };
            assert_eq!(table(version).get(Some(folder.path()), build), squares());
            builds.load(Ordering::Relaxed)
        };
        assert_eq!((get(1), get(1)), (1, 1), "built once");
        assert_eq!((get(2), get(2)), (2, 2), "outdated");
        let path = table(2).path(folder.path());
        let whole = fs::read(&path).expect("it is kept");
        for (i, cut) in [(3, whole.len()), (4, whole.len() - 1), (5, 20), (6, 0)] {
            let mut wrong = whole[..cut].to_vec();
            if cut == whole.len() {
                wrong[cut - 3] ^= 4;
            }
            fs::write(&path, wrong).expect("it can be written");
            assert_eq!((get(2), get(2)), (i, i), "cut off after {cut} of {}", whole.len());
        }
        assert_eq!(fs::read(&path).expect("it is kept"), whole);
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_only_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "no folder").expect("it can be written");
        assert_eq!(table(1).get(Some(&file.join("below")), squares), squares());
        assert_eq!(table(1).get(None, squares), squares());
    }

    #[test]
    fn several_at_once_build_it_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let builds = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let bytes = table(1).get(Some(folder.path()), || {
                        builds.fetch_add(1, Ordering::Relaxed);
                        squares()
                    });
                    assert_eq!(bytes, squares());
                });
            }
        });
        assert_eq!(builds.into_inner(), 1);
    }
}
