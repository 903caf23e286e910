//! Files and folders that appear whole or not at all.

use crate::error::{Context, Result};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes a file through a temporary one beside it: a reader sees the old text or the new one, whole.
///
/// # Errors
/// If writing, syncing or renaming fails; the temporary file is removed then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// The same, of what `write` writes.
///
/// # Errors
/// If writing, syncing or renaming fails; the temporary file is removed then.
pub fn write_whole_with(path: &Path, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    let temporary = beside(path);
    let written = write_synced_with(&temporary, write).and_then(|()| rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes a folder: `fill` writes its files under a temporary name, then all is synced and renamed to `path` at once.
///
/// # Errors
/// If `fill` or the file system fails; nothing is left then. `path` must not be there yet.
pub fn create_folder_whole(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = beside(path);
    let made = remove_if_there(&temporary)
        .and_then(|()| {
            fs::create_dir_all(&temporary).with_context(|| format!("cannot make the folder {}", temporary.display()))
        })
        .and_then(|()| fill(&temporary))
        .and_then(|()| sync_folders(&temporary))
        .and_then(|()| rename(&temporary, path));
    if made.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    made
}

/// Writes a file and waits until it is on the disk.
///
/// # Errors
/// If it cannot be written: a full disk is named as such by the system.
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

/// Takes the lock of a file, for as long as it is open; `false` where another process has it. Some file systems have no locks:
/// then nobody is kept out.
pub fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    path.with_file_name(name)
}

fn remove_if_there(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))?;
    // The rename is in the folder above: sync that, where the system lets us.
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_folder(parent)
}

/// Syncs a folder and all below it: the names of their files are on the disk then.
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
