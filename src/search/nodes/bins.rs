//! Entries sorted by bin: threads sort ranges of them, then each thread reads only its own bins.

/// The number of bins.
pub const BINS: usize = 64;

/// Entries by bin; within a bin they keep their order.
#[derive(Debug)]
pub struct Bins<T = u64> {
    entries: Vec<T>,
    /// Where each bin starts, and where the last one ends.
    starts: [u32; BINS + 1],
}

impl<T: Copy + Default> Bins<T> {
    /// Sorts entries, each given with its bin.
    ///
    /// # Panics
    /// If a bin is not below [`BINS`].
    pub fn new(entries: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = [0; BINS + 1];
        entries.clone().for_each(|(bin, _)| starts[bin + 1] += 1);
        for bin in 0..BINS {
            starts[bin + 1] += starts[bin];
        }
        let (mut sorted, mut next) = (vec![T::default(); starts[BINS] as usize], starts);
        for (bin, entry) in entries {
            let slot = &mut next[bin];
            sorted[*slot as usize] = entry;
            *slot += 1;
        }
        Bins { entries: sorted, starts }
    }
}

impl<T> Bins<T> {
    /// The entries of a bin.
    ///
    /// # Panics
    /// If the bin is not below [`BINS`].
    pub fn of(&self, bin: usize) -> &[T] {
        &self.entries[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }

    /// All entries.
    pub fn all(&self) -> &[T] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_within_a_bin() {
        let numbers = || (0..1000u64).map(|i| ((i * i % 61) as usize, i));
        let bins = Bins::new(numbers());
        for bin in 0..BINS {
            let expected: Vec<u64> =
                numbers().filter(|(its_bin, _)| *its_bin == bin).map(|(_, number)| number).collect();
            assert_eq!(bins.of(bin), expected);
        }
        assert_eq!(bins.all().len(), 1000);
        assert!(Bins::<u64>::new([].into_iter()).all().is_empty());
    }
}
