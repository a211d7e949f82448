//! Counts of lengths of time that differ by less than a hundredth together: a log-linear histogram.
//!
//! ```text
//! cell = the highest bit of the length and the six below it
//! ```
//! The lengths of a cell lie within 1/64 of each other, so that each is within 1/128 (0.8 %) of the middle of its cell;
//! below 64 ns, within 1 ns.

use crate::Span;

/// Bits of a length by which cells differ, below its highest.
const BITS: u32 = 6;

/// Bits of the fraction of a floating-point number, in which its exponent follows. [ieee754]
const FRACTION: u32 = 52;

/// Cells that are looked at together.
const RUN: usize = 32;

/// The first cell, of 0 and 1 ns: the exponent 0 as a floating-point number has it.
const FIRST: u64 = 1023 << BITS;

/// How many lengths of time were about as long as each other. It has memory for the longest of them, from the first on.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    /// Counts `times` lengths.
    pub fn count(&mut self, length: Span, times: u32) {
        let cell = cell_of(length);
        match self.counts.get_mut(cell) {
            Some(count) => *count += times,
            None => self.grow(cell, times),
        }
    }

    #[cold]
    fn grow(&mut self, cell: usize, times: u32) {
        self.counts.resize(cell + 1, 0);
        self.counts[cell] = times;
    }

    /// Takes all counts, the shortest lengths first: the middle of each cell, and how many there were.
    pub fn take(&mut self, mut each: impl FnMut(Span, u64)) {
        for (run, counts) in self.counts.chunks_mut(RUN).enumerate() {
            // Most cells are empty; a run of them is looked at together.
            if counts.iter().fold(0, |any, count| any | count) == 0 {
                continue;
            }
            for (place, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                each(middle_of(run * RUN + place), u64::from(std::mem::take(count)));
            }
        }
    }
}

/// The number of the cell of a length. A floating-point number has its highest bit in its exponent and those below in its
/// fraction; lengths of less than 104 days are converted exactly.
fn cell_of(length: Span) -> usize {
    let number = (length.as_nanos() | 1) as i64 as f64;
    ((number.to_bits() >> (FRACTION - BITS)) - FIRST) as usize
}

fn middle_of(cell: usize) -> Span {
    let start = |cell: u64| f64::from_bits((cell + FIRST) << (FRACTION - BITS)) as u64;
    let (from, to) = (start(cell as u64), start(cell as u64 + 1));
    Span::from_nanos(if cell == 0 { 0 } else { from.midpoint(to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lengths: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
        let (mut histogram, mut found) = (Histogram::default(), Vec::new());
        lengths.into_iter().for_each(|ns| histogram.count(Span::from_nanos(ns), 1));
        histogram.take(|middle, count| found.push((middle.as_nanos(), count)));
        found
    }

    #[test]
    fn a_length_is_within_a_hundred_and_twenty_eighth_of_the_middle_of_its_cell() {
        let lengths = (0..1_000_000).map(|n: u64| n * n * 37 + n).chain(0..5_000);
        for ns in lengths {
            let [(middle, 1)] = counted([ns])[..] else { panic!("{ns} ns is in one cell") };
            assert!(middle.abs_diff(ns) * 128 <= ns.max(128), "{ns} ns are counted as {middle} ns");
        }
    }

    #[test]
    fn no_length_is_lost_and_longer_ones_are_not_in_shorter_cells() {
        let found = counted((0..200_000).map(|n| n * 997));
        assert_eq!(found.iter().map(|&(_, count)| count).sum::<u64>(), 200_000);
        assert!(found.is_sorted_by(|one, next| one.0 < next.0));
    }

    #[test]
    fn nothing_waited_is_zero() {
        assert_eq!(counted([0, 0, 0]), [(0, 3)]);
    }

    #[test]
    fn what_was_taken_is_not_counted_again_and_a_train_counts_as_its_segments() {
        let mut histogram = Histogram::default();
        histogram.count(Span::from_millis(5), 44);
        let mut found = Vec::new();
        histogram.take(|_, count| found.push(count));
        histogram.take(|_, count| found.push(count));
        histogram.count(Span::from_millis(5), 1);
        histogram.take(|_, count| found.push(count));
        assert_eq!(found, [44, 1]);
    }
}
