//! How long packets were in the root discipline of each device, by slots of time. Slots depend on nothing but the length of
//! the run, so that what is sampled and how often changes none of these rows.
//!
//! ```text
//! slot = the largest of 1, 2, 5 · 10^n ns that fits into the run eight times, at most 1 s
//! ```
//! A packet that leaves the discipline is counted by its length of stay, to 1/128 ([`Histogram`]); one that passed an empty
//! discipline stayed for no time. What was dropped did not leave.

use tailback_packet::Packet;
use tailback_units::{Histogram, SimTime, Span};

/// The longest slot.
const LONGEST: Span = Span::from_millis(1_000);

/// Slots of a short run, at least.
const FEWEST: u64 = 8;

/// What is known of one slot by now.
#[derive(Debug, Default)]
pub(crate) struct Sojourns {
    stayed: Histogram,
    /// Segments of packets that did not enter the discipline.
    passed: u64,
}

impl Sojourns {
    /// A packet leaves.
    pub(crate) fn count(&mut self, packet: &Packet, now: SimTime) {
        let stay = Span::from_nanos(now.as_nanos() - packet.enqueued.as_nanos());
        self.stayed.count(stay, u32::from(packet.segments));
    }

    /// Segments passed the empty discipline.
    pub(crate) fn pass(&mut self, segments: u64) {
        self.passed += segments;
    }

    /// Takes the counts of the slot that is over, the shortest stays first.
    pub(crate) fn take(&mut self, mut each: impl FnMut(Span, u64)) {
        let mut passed = std::mem::take(&mut self.passed);
        self.stayed.take(|stay, count| {
            // Those that stayed for no time are the first.
            let more = if stay == Span::ZERO { std::mem::take(&mut passed) } else { 0 };
            if passed > 0 {
                each(Span::ZERO, std::mem::take(&mut passed));
            }
            each(stay, count + more);
        });
        if passed > 0 {
            each(Span::ZERO, passed);
        }
    }
}

/// The slot in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) begun: SimTime,
    pub(crate) length: Span,
}

impl Slot {
    /// The first slot of a run that ends at `end`.
    pub(crate) fn first(end: SimTime) -> Self {
        let fits = |ns: u64| ns.saturating_mul(FEWEST) <= end.as_nanos();
        let steps = (0..=8).rev().flat_map(|power| [5, 2, 1].map(|step| step * 10_u64.pow(power)));
        let length = std::iter::once(LONGEST.as_nanos()).chain(steps).find(|&ns| fits(ns)).unwrap_or(1);
        Slot { begun: SimTime::ZERO, length: Span::from_nanos(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_round_and_at_least_eight_fit_into_a_run() {
        let of = |millis| Slot::first(SimTime::ZERO + Span::from_millis(millis)).length;
        assert_eq!([30_000, 8_000].map(of), [Span::from_millis(1_000); 2]);
        assert_eq!([7_999, 4_000].map(of), [Span::from_millis(500); 2]);
        assert_eq!([2_000, 1_000, 100].map(of), [200, 100, 10].map(Span::from_millis));
        assert_eq!(Slot::first(SimTime::from_nanos(3)).length, Span::from_nanos(1));
    }

    #[test]
    fn those_that_passed_an_empty_discipline_stayed_for_no_time() {
        let taken = |sojourns: &mut Sojourns| {
            let mut found = Vec::new();
            sojourns.take(|stay, count| found.push((stay.as_micros(), count)));
            found
        };
        let mut sojourns = Sojourns::default();
        sojourns.pass(3);
        assert_eq!(taken(&mut sojourns), [(0, 3)]);
        sojourns.pass(2);
        sojourns.stayed.count(Span::ZERO, 4);
        assert_eq!(taken(&mut sojourns), [(0, 6)]);
        sojourns.pass(1);
        sojourns.stayed.count(Span::from_micros(64), 5);
        assert_eq!(taken(&mut sojourns), [(0, 1), (64, 5)]);
        assert_eq!(taken(&mut sojourns), []);
    }
}
