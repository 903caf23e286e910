//! Files of JSON lines, which a kill may leave with a torn last line.

use crate::error::{Context, Error, Result, ensure, reason};
use crate::files::read_if_there;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Appends a record as one line of JSON. If the disk is full, the file stays as it was.
///
/// # Errors
/// If the file cannot be written.
pub fn append_line(path: &Path, record: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(record).context("a record cannot be written as JSON")?;
    line.push('\n');
    let append = || {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // Fails on a pipe or terminal, where nothing can be truncated.
            let _ = file.set_len(length);
        })
    };
    append().with_context(|| format!("cannot append to {}", path.display()))
}

/// Reads the records of a file of JSON lines. A missing file has none, nor has a terminal or a pipe. A torn last record is cut
/// off the file, and a whole one without an end of line gets it, so that the next record gets a line of its own.
///
/// # Errors
/// If the file cannot be read or written, or a line is not a record: names the line, and leaves the file as it is.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(Vec::new());
    }
    let Some(text) = read_if_there(path)? else { return Ok(Vec::new()) };
    let whole = whole_lines(&text);
    let last = &text[whole..];
    let last = last.strip_prefix(BYTE_ORDER_MARK).unwrap_or(last);
    let is_torn = serde_json::from_slice::<T>(last).is_err_and(|error| error.is_eof());
    let kept = if is_torn { whole } else { text.len() };
    let all = records(&text[..kept], path)?;
    let repair = || {
        let mut file = OpenOptions::new().append(true).open(path)?;
        file.set_len(kept as u64)?;
        if whole < kept { file.write_all(b"\n") } else { Ok(()) }
    };
    if whole < text.len() {
        repair().with_context(|| format!("cannot repair the last line of {}", path.display()))?;
    }
    Ok(all)
}

/// Editors write it at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads the records of JSON lines from the file `path`. A last line without an end is skipped if it is not a record.
///
/// # Errors
/// If there is no record, or a line is not a record: names the line.
pub fn parse_lines<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<Vec<T>> {
    let whole = whole_lines(text);
    let mut all = records(&text[..whole], path)?;
    all.extend(serde_json::from_slice(&text[whole..]).ok());
    ensure!(!all.is_empty(), "{} holds no record", path.display());
    Ok(all)
}

fn records<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<Vec<T>> {
    let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let record = |(i, line): (usize, &[u8])| {
        serde_json::from_slice(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)).map_err(|error| {
            let why = reason(&error).replace("at line 1 column", "at column");
            Error::Data(format!("line {} of {} is not a record of this kind: {why}", i + 1, path.display()))
        })
    };
    lines.map(record).collect()
}

/// The length of a text up to the end of its last whole line.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_cut_and_the_rest_is_read() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lines.jsonl");
        let append = |text: &[u8]| OpenOptions::new().append(true).open(&path)?.write_all(text);
        assert_eq!(read_lines::<[u32; 2]>(&path)?.len(), 0);
        append_line(&path, &[1, 2])?;
        append(b"[3, 4")?;
        assert_eq!(read_lines::<[u32; 2]>(&path)?, [[1, 2]]);
        append(b"[5, 6]")?;
        assert_eq!(read_lines::<[u32; 2]>(&path)?, [[1, 2], [5, 6]]);
        append_line(&path, &[7, 8])?;
        assert_eq!(fs::read_to_string(&path)?, "[1,2]\n[5, 6]\n[7,8]\n");
        for (other, line) in [("[1,2]\nx\n[1", "line 2"), ("[1,2]\nmy notes", "line 2"), ("{\"a\": 1}", "line 1")] {
            fs::write(&path, other)?;
            let error = read_lines::<[u32; 2]>(&path).expect_err("not a record").to_string();
            assert!(error.contains(line), "{error}");
            assert_eq!(fs::read_to_string(&path)?, other, "it stays");
        }
        Ok(())
    }
}
