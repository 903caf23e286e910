//! The lines of a layer: in memory of this process alone, or in a file that all processes read through the page cache.

use super::layer::Line;
use crate::memory;
use memmap2::{Mmap, MmapMut};
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// Lines, wherever they are; reading them does not ask where that is.
#[derive(Debug)]
pub(super) struct Lines {
    /// Only of this process's own lines are any written.
    start: *mut Line,
    count: usize,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Nobody,
    /// Keeps the memory where it is.
    This(#[expect(dead_code, reason = "it is only held")] MmapMut),
    /// Keeps the file's pages where they are.
    File(#[expect(dead_code, reason = "it is only held")] Arc<Mmap>),
}

// SAFETY: the lines are only read, except through `as_mut`, which needs the whole for itself.
unsafe impl Send for Lines {}
// SAFETY: see above.
unsafe impl Sync for Lines {}

impl Lines {
    /// So many empty lines, of this process alone, in large pages. The system clears a page when it is first written to.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn empty(count: usize) -> io::Result<Self> {
        if count == 0 {
            return Ok(Lines::default());
        }
        let mut memory = MmapMut::map_anon(count * size_of::<Line>())?;
        memory::use_large_pages(&memory);
        let start = memory.as_mut_ptr().cast::<Line>();
        assert!(start.is_aligned(), "a page begins where a line does");
        Ok(Lines { start, count, owner: Owner::This(memory) })
    }

    /// Lines in a file, from some byte on.
    ///
    /// # Panics
    /// If the file does not have so many, or they do not begin where lines do.
    pub(super) fn in_file(file: Arc<Mmap>, from: usize, count: usize) -> Self {
        let bytes = &file[from..from + count * size_of::<Line>()];
        let start = bytes.as_ptr().cast_mut().cast::<Line>();
        assert!(start.is_aligned(), "layers begin at multiples of a line");
        Lines { start, count, owner: Owner::File(file) }
    }

    /// Whether other processes that read the same file share them.
    pub(super) fn are_shared(&self) -> bool {
        matches!(self.owner, Owner::File(_))
    }

    /// The lines, to be written; none of those in a file.
    pub(super) fn as_mut(&mut self) -> &mut [Line] {
        match self.owner {
            // SAFETY: so many lines are there, any bytes are a line, and nobody else has them.
            Owner::This(_) => unsafe { slice::from_raw_parts_mut(self.start, self.count) },
            Owner::Nobody | Owner::File(_) => &mut [],
        }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Lines { start: NonNull::dangling().as_ptr(), count: 0, owner: Owner::Nobody }
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
