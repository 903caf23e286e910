//! How the states of a puzzle travel between processes.

use super::State;

/// States as bytes, so many each, the same in every process of a program.
#[derive(Debug, Clone, Copy)]
pub struct StateBytes<S> {
    /// How many bytes a state is.
    pub size: usize,
    /// Appends a state.
    pub write: fn(&S, &mut Vec<u8>),
    /// Reads a state from so many bytes.
    ///
    /// # Panics
    /// If there are more or fewer.
    pub read: fn(&[u8]) -> S,
}

impl<S: State + bytemuck::Pod> StateBytes<S> {
    /// The bytes that a state has in memory: of a number, an array of numbers, or a struct that derives [`bytemuck::Pod`].
    ///
    /// ```
    /// use costar::puzzle::StateBytes;
    ///
    /// let (bytes, mut written) = (StateBytes::<[u8; 4]>::plain(), Vec::new());
    /// (bytes.write)(&[3, 1, 4, 1], &mut written);
    /// assert_eq!((bytes.size, (bytes.read)(&written)), (4, [3, 1, 4, 1]));
    /// ```
    pub fn plain() -> Self {
        StateBytes {
            size: size_of::<S>(),
            write: |state, bytes| bytes.extend_from_slice(bytemuck::bytes_of(state)),
            read: |bytes| bytemuck::pod_read_unaligned(bytes),
        }
    }
}
