//! The round-trip time that a receiver measures, for the growth of its buffer.
//!
//! ```text
//! by timestamps: the time since the echoed one, of full segments; smoothed by 1/8, a smaller sample counts at once
//! by windows:    the time in which one advertised window arrives, which is at least an RTT: it only lowers the estimate
//! ```
//! [linux-6.12 tcp_input.c tcp_rcv_rtt_measure_ts, tcp_rcv_rtt_measure, tcp_rcv_rtt_update] [linux-6.12 tcp.h rcv_rtt_est]

use tailback_packet::{Segment, Timestamp};
use tailback_units::{SimTime, Span};

use crate::clock::{TIMESTAMP_CLOCK, timestamp};
use crate::one_word::OneWord;
use crate::stack::{LargerRtt, SameTickEcho, Stack};

/// The estimate, and what the next sample needs.
#[derive(Debug)]
pub(crate) struct ReceiverRtt {
    us8: u32,
    same_tick_echo: SameTickEcho,
    larger_rtt: LargerRtt,
    /// With this byte a whole window has arrived since `time`.
    seq: u64,
    time: OneWord<SimTime>,
    last_echo: Timestamp,
}

impl ReceiverRtt {
    pub(crate) fn new(stack: &Stack) -> Self {
        let &Stack { same_tick_echo, larger_rtt, .. } = stack;
        Self { us8: 0, same_tick_echo, larger_rtt, seq: 0, time: OneWord::NONE, last_echo: Timestamp::NONE }
    }

    /// The estimate in µs times eight; 0: there is none yet.
    pub(crate) fn us8(&self) -> u32 {
        self.us8
    }

    /// An echo that the segment before had, perhaps one without data, is no sample for the next.
    /// [linux-6.12 tcp_input.c tcp_rcv_established]
    pub(crate) fn know_echo(&mut self, echo: Timestamp) {
        self.last_echo = echo;
    }

    /// A segment arrived; full ones have `full` bytes. True if it gave a sample. While data waits to be read, a larger
    /// sample is of a peer whose segments waited for the window, and counts only before Linux 6.16.
    /// [linux-6.12 tcp_input.c tcp_rcv_rtt_measure_ts, tcp_rtt_tsopt_us]
    #[inline(always)]
    pub(crate) fn by_timestamp(
        &mut self,
        segment: &Segment,
        full: u32,
        data_waits: bool,
        now: SimTime,
    ) -> bool {
        if segment.tsecr == self.last_echo {
            return false;
        }
        let Some(echo) = segment.tsecr.time() else { return false };
        self.last_echo = segment.tsecr;
        if segment.length < full {
            return false;
        }
        let sample = match timestamp(now).since(echo) {
            Span::ZERO if self.same_tick_echo == SameTickEcho::NoSample => return false,
            ticks => ticks.max(TIMESTAMP_CLOCK).as_micros() as u32,
        };
        self.us8 = match self.us8 {
            0 => sample << 3,
            old if sample << 3 < old => sample << 3,
            old if data_waits && self.larger_rtt == LargerRtt::WhenAllIsRead => old,
            old => old - (old >> 3) + sample,
        };
        true
    }

    /// All before `rcv_nxt` has arrived, and `rcv_wnd` more may come. True if a window has ended, or the first began.
    /// [linux-6.12 tcp_input.c tcp_rcv_rtt_measure]
    #[inline(always)]
    pub(crate) fn by_window(&mut self, rcv_nxt: u64, rcv_wnd: u64, now: SimTime) -> bool {
        if let Some(start) = self.time.get() {
            if rcv_nxt < self.seq {
                return false;
            }
            let sample = (now.as_micros() - start.as_micros()).max(1).min(u64::from(u32::MAX >> 3)) as u32;
            self.us8 = match self.us8 {
                0 => sample << 3,
                old => old.min(sample << 3),
            };
        }
        self.seq = rcv_nxt + rcv_wnd;
        self.time = OneWord::some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{LINUX_5_10, LINUX_6_12, LINUX_7_3};
    use crate::testing::{self, MSS};

    fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    fn data(tsecr: SimTime) -> Segment {
        Segment { tsval: Timestamp::at(tsecr), tsecr: Timestamp::at(tsecr), ..testing::data() }
    }

    fn of(stack: &crate::Stack) -> ReceiverRtt {
        ReceiverRtt::new(stack)
    }

    /// RTT in µs after data that arrives at given times and echoes timestamps of given times.
    fn rtt_us(stack: crate::Stack, echoes: &[(u64, u64)]) -> u32 {
        let mut rtt = of(&stack);
        for &(now, echo) in echoes {
            rtt.by_timestamp(&data(at(echo)), MSS, false, at(now));
        }
        rtt.us8() >> 3
    }

    #[test]
    fn an_echo_within_its_tick_gives_no_sample_in_6_12_and_one_tick_in_older_stacks() {
        assert_eq!(rtt_us(LINUX_6_12, &[(40, 40)]), 0);
        assert_eq!(rtt_us(LINUX_5_10, &[(40, 40)]), 1_000);
    }

    #[test]
    fn the_echo_of_the_handshake_is_a_sample_like_any_other() {
        assert_eq!(rtt_us(LINUX_6_12, &[(41, 40)]), 1_000);
        assert_eq!(rtt_us(LINUX_6_12, &[(41, 40), (47, 41)]), 1_625);
    }

    #[test]
    fn an_echo_that_an_ack_had_before_is_no_sample() {
        let mut rtt = of(&LINUX_6_12);
        rtt.know_echo(Timestamp::at(at(40)));
        rtt.by_timestamp(&data(at(40)), MSS, false, at(45));
        assert_eq!(rtt.us8(), 0);
        rtt.by_timestamp(&data(at(44)), MSS, false, at(50));
        assert_eq!(rtt.us8() >> 3, 6_000);
    }

    #[test]
    fn a_larger_rtt_does_not_count_on_7_3_while_data_waits_to_be_read() {
        for (stack, us) in [(LINUX_6_12, 1_625), (LINUX_7_3, 1_000)] {
            let mut rtt = of(&stack);
            rtt.by_timestamp(&data(at(40)), MSS, true, at(41));
            rtt.by_timestamp(&data(at(41)), MSS, true, at(47));
            assert_eq!(rtt.us8() >> 3, us, "{}", stack.name);
        }
    }

    #[test]
    fn a_repeated_echo_is_measured_once() {
        assert_eq!(rtt_us(LINUX_6_12, &[(41, 40), (60, 40)]), 1_000);
    }
}
