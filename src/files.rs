//! Atomic writes of files and folders: they appear whole or not at all. And reads of files that may be missing.

use crate::error::{Context, Result};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The content of a file.
///
/// # Errors
/// If it cannot be read, with the system's reason.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The content of a file; `None` if there is no such file.
///
/// # Errors
/// If it cannot be read, with the system's reason.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => Ok(Some(read.with_context(|| format!("cannot read {}", path.display()))?)),
    }
}

/// Writes a file through a temporary one beside it: a reader sees either the whole old content or the whole new content.
///
/// # Errors
/// If writing, syncing or renaming fails; the temporary file is removed then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// The same for content that `write` writes.
///
/// # Errors
/// If writing, syncing or renaming fails; the temporary file is removed then.
pub fn write_whole_with(path: &Path, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    let temporary = temporary_path(path);
    write_synced_with(&temporary, write).and_then(|()| rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Creates a folder: `fill` writes its files under a temporary name, then the folder is synced and renamed to `path`.
///
/// # Errors
/// If `fill` or the file system fails, which leaves nothing behind; if `path` exists.
pub fn create_folder_whole(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = temporary_path(path);
    let create = || {
        match fs::remove_dir_all(&temporary) {
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            removed => removed.with_context(|| format!("cannot remove {}", temporary.display()))?,
        }
        fs::create_dir_all(&temporary).with_context(|| format!("cannot create the folder {}", temporary.display()))?;
        fill(&temporary)?;
        sync_folders(&temporary)?;
        rename(&temporary, path)
    };
    create().inspect_err(|_| {
        let _ = fs::remove_dir_all(&temporary);
    })
}

/// Writes a file and waits until it is on the disk.
///
/// # Errors
/// If it cannot be written, with the system's reason.
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    write_synced_with(path, |file| file.write_all(bytes))
}

fn write_synced_with(path: &Path, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Locks a file for as long as it is open; `false` if another process holds the lock. A file system without locks locks
/// nobody out.
pub fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// The path that a file has until it is whole.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    path.with_file_name(name)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))?;
    // The parent folder holds the new name.
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_folder(parent)
}

/// Syncs a folder and all folders below it, so that the names of their files are on the disk.
fn sync_folders(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        sync_folders(&entry.path())?;
    }
    sync_folder(folder)
}

fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| format!("cannot sync {}", folder.display()))
}
