//! The lines of a layer: in memory of this process alone, or in a file that all processes read through the page cache.

use super::layer::Line;
use memmap2::Mmap;
use std::ops::Deref;
use std::slice;
use std::sync::Arc;

/// Lines, wherever they are; reading them does not ask where that is.
#[derive(Debug)]
pub(super) struct Lines {
    start: *const Line,
    count: usize,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    This(Vec<Line>),
    /// Keeps the file's pages where they are.
    File(#[expect(dead_code, reason = "it is only held")] Arc<Mmap>),
}

// SAFETY: the lines are only read, except through `as_mut`, which needs the whole for itself.
unsafe impl Send for Lines {}
// SAFETY: see above.
unsafe impl Sync for Lines {}

impl Lines {
    /// Lines of this process.
    pub(super) fn new(lines: Vec<Line>) -> Self {
        Lines { start: lines.as_ptr(), count: lines.len(), owner: Owner::This(lines) }
    }

    /// Lines in a file, from some byte on.
    ///
    /// # Panics
    /// If the file does not have so many, or they do not begin where lines do.
    pub(super) fn in_file(file: Arc<Mmap>, from: usize, count: usize) -> Self {
        let bytes = &file[from..from + count * size_of::<Line>()];
        let start = bytes.as_ptr().cast::<Line>();
        assert!(start.is_aligned(), "layers begin at multiples of a line");
        Lines { start, count, owner: Owner::File(file) }
    }

    /// Whether other processes that read the same file share them.
    pub(super) fn are_shared(&self) -> bool {
        matches!(self.owner, Owner::File(_))
    }

    /// The lines, to be written; none of those in a file.
    pub(super) fn as_mut(&mut self) -> &mut [Line] {
        match &mut self.owner {
            Owner::This(lines) => lines,
            Owner::File(_) => &mut [],
        }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Lines::new(Vec::new())
    }
}

impl Deref for Lines {
    type Target = [Line];

    #[inline]
    fn deref(&self) -> &[Line] {
        // SAFETY: the owner holds so many lines there, and does not move them.
        unsafe { slice::from_raw_parts(self.start, self.count) }
    }
}
