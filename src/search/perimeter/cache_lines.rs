//! The lines of a layer: in memory of this process alone, or in a file that all processes read through the page cache.

use super::layer::Line;
use crate::memory;
use bytemuck::{cast_slice, cast_slice_mut};
use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::io;
use std::ops::Deref;

/// Lines in memory or in a file; reading them does not ask where.
#[derive(Debug)]
pub(super) struct Lines {
    memory: MmapMut,
    /// Whether other processes that read the same file share them.
    pub(super) are_shared: bool,
}

impl Lines {
    /// At least one empty line, of this process alone, in large pages. The system clears a page when it is first written to.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn empty(count: usize) -> io::Result<Self> {
        let memory = MmapMut::map_anon(count * size_of::<Line>())?;
        memory::use_large_pages(&memory);
        Ok(Lines { memory, are_shared: false })
    }

    /// Lines in a file, from the byte `from` on, a multiple of a line.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub(super) fn in_file(file: &File, from: u64, count: usize) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        options.offset(from).len(count * size_of::<Line>()).no_reserve_swap();
        // SAFETY: files are written under another name and then renamed; nobody writes to one that has its final name.
        let memory = unsafe { options.map_copy(file)? };
        Ok(Lines { memory, are_shared: true })
    }

    /// The lines for writing; empty if they are in a file.
    pub(super) fn as_mut(&mut self) -> &mut [Line] {
        if self.are_shared { &mut [] } else { cast_slice_mut(&mut self.memory) }
    }
}

impl Deref for Lines {
    type Target = [Line];

    #[inline]
    fn deref(&self) -> &[Line] {
        cast_slice(&self.memory)
    }
}
