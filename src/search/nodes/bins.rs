//! Entries in the order of bins: what is to go to different places is sorted by place first, each range of it by a thread, so
//! that no thread passes over what others take.

/// How many bins there are.
pub(in crate::search) const BINS: usize = 64;

/// Entries by bin, and within a bin, as they came.
#[derive(Debug)]
pub(in crate::search) struct Bins<T = u64> {
    entries: Vec<T>,
    /// Where those of each bin begin, and where the last ones end.
    starts: [u32; BINS + 1],
}

impl<T> Default for Bins<T> {
    fn default() -> Self {
        Bins { entries: Vec::new(), starts: [0; BINS + 1] }
    }
}

impl<T: Copy + Default> Bins<T> {
    /// Sorts entries, each with its bin.
    ///
    /// # Panics
    /// If there are not so many bins.
    pub(in crate::search) fn new(entries: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = [0; BINS + 1];
        entries.clone().for_each(|(bin, _)| starts[bin + 1] += 1);
        for bin in 0..BINS {
            starts[bin + 1] += starts[bin];
        }
        let (mut sorted, mut next) = (vec![T::default(); starts[BINS] as usize], starts);
        for (bin, entry) in entries {
            let place = &mut next[bin];
            sorted[*place as usize] = entry;
            *place += 1;
        }
        Bins { entries: sorted, starts }
    }
}

impl<T> Bins<T> {
    /// The entries of a bin.
    ///
    /// # Panics
    /// If there are not so many bins.
    pub(in crate::search) fn of(&self, bin: usize) -> &[T] {
        &self.entries[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }

    /// All entries.
    pub(in crate::search) fn all(&self) -> &[T] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_order_within_a_bin() {
        let numbers = || (0..1000u64).map(|i| ((i * i % 61) as usize, i));
        let bins = Bins::new(numbers());
        for bin in 0..BINS {
            let expected: Vec<u64> = numbers().filter(|(of, _)| *of == bin).map(|(_, number)| number).collect();
            assert_eq!(bins.of(bin), expected);
        }
        assert_eq!(bins.all().len(), 1000);
        assert!(Bins::<u64>::new([].into_iter()).all().is_empty());
    }
}
