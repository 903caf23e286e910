//! Cache on disk for tables that take seconds to build.
//!
//! A table is written atomically, and read only if its length and checksum are right. A failure of the disk costs time, never
//! a result: the table is built again, or kept in memory only, and a log message gives the reason.

use crate::error::{Context as _, Result, ensure};
use crate::files::{read_if_there, write_whole};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long to wait before a lock is tried again.
const POLL: Duration = Duration::from_millis(20);

/// Identity of a cached table: the cache returns only bytes that were stored under the same identity.
#[derive(Debug, Clone)]
pub struct CachedTable {
    /// The name of its file, without spaces.
    pub name: String,
    /// Its name in messages.
    pub title: String,
    /// Changes whenever the content of the same name changes.
    pub version: u32,
    /// The number of bytes.
    pub length: usize,
}

/// The folder of the cache: `$COSTAR_CACHE`, else `costar` in `$XDG_CACHE_HOME`, else `.cache/costar` in `$HOME`.
pub fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("COSTAR_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("costar")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/costar")))
}

impl CachedTable {
    /// Reads the table, or builds and stores it; `build` returns [`CachedTable::length`] bytes.
    pub fn get(&self, folder: Option<&Path>, build: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let Some(folder) = folder else {
            log::info!("building {}, not kept: none of COSTAR_CACHE, XDG_CACHE_HOME and HOME is set", self.title);
            return build();
        };
        match self.read(folder) {
            Ok(Some(bytes)) => return bytes,
            Ok(None) => (),
            Err(error) => log::warn!("{error}"),
        }
        // One process builds; others wait for it.
        let lock = lock(folder, &self.name, &self.title, &AtomicBool::new(false));
        if lock.is_ok()
            && let Ok(Some(bytes)) = self.read(folder)
        {
            return bytes;
        }
        log::info!("building {}, once", self.title);
        let bytes = build();
        match lock.and_then(|_held| self.write(folder, &bytes)) {
            Ok(()) => log::info!("kept in {}", self.path(folder).display()),
            Err(error) => log::warn!("{}: not kept: {error}", self.title),
        }
        bytes
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.table", self.name))
    }

    /// The table, if its file exists.
    fn read(&self, folder: &Path) -> Result<Option<Vec<u8>>> {
        let path = self.path(folder);
        let Some(mut bytes) = read_if_there(&path)? else { return Ok(None) };
        let table = self.table_in(&bytes).with_context(|| format!("{} is not used", path.display()))?;
        bytes.drain(..bytes.len() - table.len());
        Ok(Some(bytes))
    }

    /// The table in the bytes of its file.
    fn table_in<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let rest =
            bytes.strip_prefix(self.header().as_bytes()).context("it has another version, or is not a costar table")?;
        let (sum, table) = rest.split_at_checked(CHECKSUM_BYTES).context("it is cut off")?;
        ensure!(table.len() == self.length, "it has {} bytes and should have {}", table.len(), self.length);
        ensure!(sum == checksum(table).as_bytes(), "it is damaged: its checksum is wrong");
        Ok(table)
    }

    fn write(&self, folder: &Path, table: &[u8]) -> Result<()> {
        let bytes = [self.header().as_bytes(), checksum(table).as_bytes(), table].concat();
        write_whole(&self.path(folder), &bytes)
    }

    /// The start of the file, before the checksum.
    fn header(&self) -> String {
        format!("costar table 1\n{} version {}, {} bytes, CRC-32 ", self.name, self.version, self.length)
    }
}

/// Locks a name in a folder, so that one process at a time builds its content; waits while another process holds the lock,
/// until `stop` is set. Dropping the file releases it.
///
/// # Errors
/// If the folder cannot be created, the file cannot be written or locked, or `stop` is set while it waits.
pub fn lock(folder: &Path, name: &str, title: &str, stop: &AtomicBool) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let path = folder.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut is_waiting = false;
    while let Err(error) = file.try_lock() {
        match error {
            TryLockError::Error(error) => Err(error).with_context(|| format!("cannot lock {}", path.display()))?,
            TryLockError::WouldBlock if !is_waiting => log::info!("waiting for another process that builds {title}"),
            TryLockError::WouldBlock => ensure!(!stop.load(Ordering::Relaxed), "stopped"),
        }
        is_waiting = true;
        std::thread::sleep(POLL);
    }
    Ok(file)
}

/// Length of a checksum in a file, including its line break.
const CHECKSUM_BYTES: usize = 9;

fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}\n", crc32fast::hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn table(version: u32) -> CachedTable {
        CachedTable { name: "squares".into(), title: "the table of squares".into(), version, length: 16 }
    }

    fn squares() -> Vec<u8> {
        (0..16u8).map(|i| i.wrapping_mul(i)).collect()
    }

    #[test]
    fn a_table_is_built_once_unless_its_file_is_wrong() {
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
    fn an_unwritable_folder_costs_only_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "no folder").expect("it can be written");
        assert_eq!(table(1).get(Some(&file.join("below")), squares), squares());
        assert_eq!(table(1).get(None, squares), squares());
    }

    #[test]
    fn a_stop_ends_the_wait_for_a_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let _held = lock(folder.path(), "squares", "it", &AtomicBool::new(false)).expect("nobody holds it");
        let refusal = lock(folder.path(), "squares", "it", &AtomicBool::new(true)).expect_err("it is held");
        assert!(refusal.to_string().contains("stopped"), "{refusal}");
    }

    #[test]
    fn threads_at_once_build_it_once() {
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
