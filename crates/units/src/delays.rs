//! The distribution of delays over time, in little memory: what is alike is counted together.
//!
//! ```text
//! slot = arrival / 10 ms       cell = slot, the delay to its upper eight bits
//! ```
//! The delays of a cell lie within 1/128 of each other. A flow with a datagram per slot or less has a cell for each, and
//! is recorded exactly; one of 100,000 per second has some hundred cells per second if its delay changes slowly.

use crate::{SimTime, Span};

/// Bits of a delay by which cells differ, below its highest.
const BITS: u32 = 7;

/// Delays of one slot that are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayCell {
    /// The time of the last of them.
    pub last: SimTime,
    /// How many.
    pub count: u64,
    /// Their sum in ns; that between two clocks may be negative.
    pub sum_ns: i64,
    /// The shortest in ns.
    pub shortest_ns: i64,
    /// The longest in ns.
    pub longest_ns: i64,
}

impl DelayCell {
    /// Their mean in ns.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count as f64
    }
}

/// Counts delays; a slot is over when a later one begins.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    slot: u64,
    cells: Vec<(i64, DelayCell)>,
}

impl Delays {
    /// The length of a slot. Slots begin with the run, whatever its samples do.
    pub const SLOT: Span = Span::from_millis(10);

    /// Counts a delay; `over` gets the cells of the slot that is over by now, in order of their times.
    #[inline]
    pub fn count(&mut self, now: SimTime, delay_ns: i64, over: impl FnMut(DelayCell)) {
        self.take_before(now, over);
        self.slot = slot_of(now);
        let kind = kind_of(delay_ns);
        match self.cells.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, cell)) => cell.add(now, delay_ns),
            None => self.cells.push((kind, DelayCell::of(now, delay_ns))),
        }
    }

    /// Takes the cells of the slot in progress if it is over by `now`.
    #[inline]
    pub fn take_before(&mut self, now: SimTime, over: impl FnMut(DelayCell)) {
        if slot_of(now) != self.slot {
            self.take(over);
        }
    }

    /// Takes the cells of the slot in progress.
    pub fn take(&mut self, over: impl FnMut(DelayCell)) {
        // The order of equal times is that of the delays, so that the same run has the same rows.
        self.cells.sort_unstable_by_key(|(kind, cell)| (cell.last, *kind));
        self.cells.drain(..).map(|(_, cell)| cell).for_each(over);
    }
}

impl DelayCell {
    fn of(at: SimTime, delay_ns: i64) -> Self {
        DelayCell { last: at, count: 1, sum_ns: delay_ns, shortest_ns: delay_ns, longest_ns: delay_ns }
    }

    #[inline]
    fn add(&mut self, at: SimTime, delay_ns: i64) {
        self.last = at;
        self.count += 1;
        self.sum_ns += delay_ns;
        self.shortest_ns = self.shortest_ns.min(delay_ns);
        self.longest_ns = self.longest_ns.max(delay_ns);
    }
}

fn slot_of(at: SimTime) -> u64 {
    at.as_nanos() / Delays::SLOT.as_nanos()
}

/// The number of a delay among those that are told apart; that of a negative one is negative.
fn kind_of(delay_ns: i64) -> i64 {
    let length = delay_ns.unsigned_abs();
    let dropped = (u64::BITS - length.leading_zeros()).saturating_sub(BITS + 1);
    let kind = (i64::from(dropped) << BITS) + (length >> dropped) as i64;
    if delay_ns < 0 { -kind } else { kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> SimTime {
        SimTime::ZERO + Span::from_micros(micros)
    }

    /// The cells of datagrams that arrive at these µs with these delays in ns.
    fn cells(arrivals: impl IntoIterator<Item = (u64, i64)>) -> Vec<DelayCell> {
        let (mut delays, mut found) = (Delays::default(), Vec::new());
        for (micros, delay_ns) in arrivals {
            delays.count(at(micros), delay_ns, |cell| found.push(cell));
        }
        delays.take(|cell| found.push(cell));
        found
    }

    #[test]
    fn delays_of_a_cell_lie_within_an_hundred_and_twenty_eighth_of_each_other() {
        let spread: Vec<(u64, i64)> = (0..200_000).map(|n: i64| (5, 1 + n * n / 7)).collect();
        for cell in cells(spread) {
            let width = cell.longest_ns - cell.shortest_ns;
            assert!(width * 128 <= cell.shortest_ns, "{cell:?}");
        }
    }

    #[test]
    fn no_delay_is_lost_and_the_extremes_and_the_sum_are_exact() {
        let delays: Vec<i64> = (-3_000..5_000).map(|n| n * 40_507).collect();
        let found = cells(delays.iter().map(|&delay| (1, delay)));
        assert_eq!(found.iter().map(|cell| cell.count).sum::<u64>(), delays.len() as u64);
        assert_eq!(found.iter().map(|cell| cell.sum_ns).sum::<i64>(), delays.iter().sum());
        assert_eq!(found.iter().map(|cell| cell.shortest_ns).min(), delays.iter().min().copied());
        assert_eq!(found.iter().map(|cell| cell.longest_ns).max(), delays.iter().max().copied());
    }

    #[test]
    fn a_datagram_per_slot_is_recorded_exactly_at_its_time() {
        let arrivals = (0..50).map(|n| (1 + n * 15_625, 1_000_000 + n as i64));
        let found = cells(arrivals.clone());
        let exact: Vec<_> = arrivals.map(|(micros, delay)| DelayCell::of(at(micros), delay)).collect();
        assert_eq!(found, exact);
    }

    #[test]
    fn a_steady_flood_needs_a_cell_per_slot() {
        assert_eq!(cells((0..85_000).map(|n| (n * 1_000_000 / 85_000, 40_000_000))).len(), 100);
    }

    #[test]
    fn cells_are_in_order_of_their_last_datagrams() {
        let found = cells([(1, 500), (2, 9_000), (3, 500), (4, 70), (10_001, 5)]);
        assert_eq!(found.iter().map(|cell| cell.last).collect::<Vec<_>>(), [2, 3, 4, 10_001].map(at));
    }
}
