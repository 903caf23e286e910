//! The lines of a layer: in memory of this process alone, or in a file that all processes read through the page cache.

use super::layer::Line;
use crate::memory;
use memmap2::{Mmap, MmapMut};
use std::io;
use std::ops::Deref;
use std::slice;
use std::sync::Arc;

/// Lines in memory or in a file; reading them does not ask where.
#[derive(Debug)]
pub(super) struct Lines {
    /// Written only if the memory is this process's own.
    start: *mut Line,
    count: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// Keeps the memory where it is.
    Memory(#[expect(dead_code, reason = "it is only held")] MmapMut),
    /// Keeps the file's pages where they are.
    File(#[expect(dead_code, reason = "it is only held")] Arc<Mmap>),
}

// SAFETY: the lines are only read, except through `as_mut`, which borrows all of them exclusively.
unsafe impl Send for Lines {}
// SAFETY: see above.
unsafe impl Sync for Lines {}

impl Lines {
    /// At least one empty line, of this process alone, in large pages. The system clears a page when it is first written to.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn empty(count: usize) -> io::Result<Self> {
        let mut memory = MmapMut::map_anon(count * size_of::<Line>())?;
        memory::use_large_pages(&memory);
        let start = memory.as_mut_ptr().cast::<Line>();
        assert!(start.is_aligned(), "a page begins where a line does");
        Ok(Lines { start, count, backing: Backing::Memory(memory) })
    }

    /// Lines in a file, from the byte `from` on.
    ///
    /// # Panics
    /// If the file has fewer, or they are not aligned.
    pub(super) fn in_file(file: Arc<Mmap>, from: usize, count: usize) -> Self {
        let bytes = &file[from..from + count * size_of::<Line>()];
        let start = bytes.as_ptr().cast_mut().cast::<Line>();
        assert!(start.is_aligned(), "layers begin at multiples of a line");
        Lines { start, count, backing: Backing::File(file) }
    }

    /// Whether other processes that read the same file share them.
    pub(super) fn are_shared(&self) -> bool {
        matches!(self.backing, Backing::File(_))
    }

    /// The lines for writing; empty if they are in a file.
    pub(super) fn as_mut(&mut self) -> &mut [Line] {
        match self.backing {
            // SAFETY: the memory holds `count` lines, any bytes are a line, and nobody else has them.
            Backing::Memory(_) => unsafe { slice::from_raw_parts_mut(self.start, self.count) },
            Backing::File(_) => &mut [],
        }
    }
}

impl Deref for Lines {
    type Target = [Line];

    #[inline]
    fn deref(&self) -> &[Line] {
        // SAFETY: the backing holds `count` lines there, and does not move them.
        unsafe { slice::from_raw_parts(self.start, self.count) }
    }
}
