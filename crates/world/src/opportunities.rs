//! A link driven by a trace of delivery opportunities, as cellular links are recorded and shared.
//!
//! A trace is a list of times in milliseconds, at each of which 1500 bytes of IP packets may leave. A packet of 1500
//! bytes takes one opportunity, a longer one several, and several short ones share one. The rest of an opportunity is
//! lost when no packet waits. The trace repeats with a period that is its last time.
//!
//! Source: [mm-link DESCRIPTION]. Deviations: mahimahi counts 4 bytes of its tunnel with each packet, and
//! 1504 an opportunity, which is the same for full packets; the next packet to leave waits in the device and not in the
//! discipline.

use std::sync::Arc;

use tailback_units::SimTime;

/// Bytes of IP packets that one opportunity delivers.
const BYTES: u32 = 1500;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// The opportunities of one direction of a link, and which of them are spent.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    stamps_ms: Arc<[u32]>,
    /// How often the trace has been gone through.
    lap: u64,
    /// The next opportunity of this lap.
    next: usize,
    /// Bytes of it that are spent.
    spent: u32,
}

impl Opportunities {
    /// The opportunities of a trace: instants in ms and in order, the last of them after 0.
    pub(crate) fn new(stamps_ms: Arc<[u32]>) -> Self {
        Opportunities { stamps_ms, lap: 0, next: 0, spent: 0 }
    }

    /// Spends what a packet needs from `now` on; returns when its last byte leaves.
    pub(crate) fn deliver(&mut self, ip_length: u32, now: SimTime) -> SimTime {
        self.skip_until(now);
        let mut left = ip_length;
        while left > BYTES - self.spent {
            left -= BYTES - self.spent;
            self.advance();
        }
        self.spent += left;
        self.at()
    }

    /// The instant of the next opportunity.
    fn at(&self) -> SimTime {
        let ms = self.lap * self.period_ms() + u64::from(self.stamps_ms[self.next]);
        SimTime::from_nanos(ms * NANOS_PER_MILLI)
    }

    fn period_ms(&self) -> u64 {
        self.stamps_ms.last().map_or(1, |&last| u64::from(last))
    }

    fn advance(&mut self) {
        (self.next, self.spent) = (self.next + 1, 0);
        if self.next == self.stamps_ms.len() {
            (self.lap, self.next) = (self.lap + 1, 0);
        }
    }

    /// Opportunities before `now` found no packet.
    fn skip_until(&mut self, now: SimTime) {
        if self.at() >= now {
            return;
        }
        let ms = now.as_nanos().div_ceil(NANOS_PER_MILLI);
        // An instant at the end of a lap may be that of its last opportunity or of one at 0 of the next.
        self.lap = self.lap.max((ms / self.period_ms()).saturating_sub(1));
        self.next = 0;
        self.spent = 0;
        while self.at() < now {
            let within = ms.saturating_sub(self.lap * self.period_ms());
            self.next = self.stamps_ms.partition_point(|&stamp| u64::from(stamp) < within);
            if self.next == self.stamps_ms.len() {
                (self.lap, self.next) = (self.lap + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_properties::cases;

    use super::*;

    fn opportunities(stamps_ms: &[u32]) -> Opportunities {
        Opportunities::new(stamps_ms.into())
    }

    fn ms(ms: u64) -> SimTime {
        SimTime::from_nanos(ms * NANOS_PER_MILLI)
    }

    #[test]
    fn each_full_packet_takes_one_opportunity_and_the_trace_repeats() {
        let mut link = opportunities(&[2, 5, 5, 10]);
        let left: Vec<SimTime> = (0..6).map(|_| link.deliver(1500, SimTime::ZERO)).collect();
        assert_eq!(left, [2, 5, 5, 10, 12, 15].map(ms));
    }

    #[test]
    fn short_packets_share_an_opportunity_and_one_may_go_over_into_the_next() {
        let mut link = opportunities(&[1, 4, 9]);
        let left: Vec<SimTime> = (0..4).map(|_| link.deliver(700, SimTime::ZERO)).collect();
        assert_eq!(left, [1, 1, 4, 4].map(ms));
    }

    #[test]
    fn a_train_of_segments_takes_as_many_as_it_has_bytes_for() {
        assert_eq!(opportunities(&[1, 2, 3, 4]).deliver(4500, SimTime::ZERO), ms(3));
    }

    #[test]
    fn opportunities_that_find_no_packet_are_lost() {
        let mut link = opportunities(&[1, 2, 3, 10]);
        assert_eq!(link.deliver(100, ms(1)), ms(1));
        assert_eq!(link.deliver(1500, SimTime::from_nanos(2_000_001)), ms(3));
        assert_eq!(link.deliver(1500, ms(34)), ms(40));
        assert_eq!(link.deliver(1500, ms(40)), ms(41));
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// Against a list of all opportunities, gone through one by one.
        #[test]
        fn it_agrees_with_the_trace_written_out(
            mut stamps in prop::collection::vec(0_u32..30, 1..12),
            packets in prop::collection::vec((0_u64..40, 1_u32..4000), 1..40),
        ) {
            stamps.sort_unstable();
            stamps.push(stamps.last().copied().unwrap_or(0).max(1));
            let period = u64::from(*stamps.last().unwrap());
            let written_out = (0..3000).flat_map(|lap| stamps.iter().map(move |&at| lap * period + u64::from(at)));
            let mut left: Vec<(u64, u32)> = written_out.map(|at| (at, BYTES)).collect();
            let (mut link, mut now, mut first) = (opportunities(&stamps), 0, 0);
            for (pause, mut length) in packets {
                now += pause;
                let handed_over = link.deliver(length, ms(now));
                while left[first].0 < now || left[first].1 < length {
                    length -= if left[first].0 < now { 0 } else { left[first].1 };
                    first += 1;
                }
                left[first].1 -= length;
                prop_assert_eq!(handed_over, ms(left[first].0));
            }
        }
    }
}
