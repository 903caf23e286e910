//! Files that commands write: pages, pictures, and results that a later run resumes.

use super::signal;
use crate::files;
use anyhow::{Context as _, Result, ensure};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Refuses a path that cannot be written, before any work is done for it. `kind` names the file in the message.
pub(super) fn check_path(kind: &str, path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.display();
    ensure!(folder.is_dir(), "the {kind} {name} cannot be written: there is no folder {}", folder.display());
    ensure!(!path.is_dir() && path.file_name().is_some(), "the {kind} {name} cannot be written: it is a folder");
    Ok(())
}

/// Refuses a path where no page or picture can be written, as [`check_path`].
pub(super) fn check_writable(kind: &str, path: &Path) -> Result<()> {
    check_path(kind, path)?;
    if is_device(path) {
        return Ok(());
    }
    let probe = files::temporary_path(path);
    let written = File::create(&probe).and_then(|_| std::fs::remove_file(&probe));
    written.with_context(|| format!("the {kind} {} cannot be written", path.display()))
}

/// [`check_writable`] of a page, whose name must end in `.html`: no other file is replaced.
pub(super) fn check_page(path: &Path) -> Result<()> {
    check_writable("page", path)?;
    let is_page = path.extension().is_some_and(|extension| extension == "html") || is_device(path);
    ensure!(is_page, "the page {} cannot be written: expected a name in .html", path.display());
    Ok(())
}

/// Whether a path is that of a pipe or a device, which is written to, not replaced.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// Opens a file that a later run resumes, and locks it against other writers. Creates it if it is missing.
pub(super) fn open_locked(command: &str, path: &Path) -> Result<File> {
    check_path("file", path)?;
    // A pipe without a reader waits for one.
    let file = signal::ends_at_once(|| File::options().create(true).append(true).open(path));
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    ensure!(
        !is_file || files::try_lock(&file),
        "another {command} is writing {}: wait for it, or choose another file",
        path.display()
    );
    Ok(file)
}

/// Replaces the content of a file from [`open_locked`] at once. The new file is locked before it takes the place of the old
/// one, which the caller then drops.
pub(super) fn replace_locked(path: &Path, bytes: &[u8]) -> Result<File> {
    let mut lock = None;
    files::write_whole_with(path, |file| {
        file.write_all(bytes)?;
        files::try_lock(file);
        lock = Some(file.try_clone()?);
        Ok(())
    })?;
    Ok(lock.expect("the file was written"))
}

/// Writes a file whole, or to a pipe or a device.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_device(path) {
        return std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()));
    }
    Ok(files::write_whole(path, bytes)?)
}
