//! The memory of the records.

use std::ops::Range;

use super::{Index, SentSegment, Stamp, Tags};

/// Room for the initial window of most stacks, and for a small one to grow in.
const FIRST_SIZE: usize = 16;

/// The records, each at its number modulo the size, which is a power of two (or zero).
#[derive(Debug, Default)]
pub(super) struct Ring(pub(super) Vec<SentSegment>);

impl Ring {
    #[inline]
    pub(super) fn place(&self, index: Index) -> usize {
        index as usize & self.0.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn get(&self, index: Index) -> &SentSegment {
        &self.0[self.place(index)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: Index) -> &mut SentSegment {
        let place = self.place(index);
        &mut self.0[place]
    }

    /// Doubles the capacity; `live` are the present records.
    #[cold]
    pub(super) fn grow(&mut self, live: Range<Index>) {
        let size = (2 * self.0.len()).max(FIRST_SIZE);
        let empty = SentSegment::new((0, 0), Tags::default(), 0, &Stamp::default());
        let mut larger = Ring(vec![empty; size]);
        for index in live {
            *larger.get_mut(index) = self.get(index).clone();
        }
        *self = larger;
    }
}
