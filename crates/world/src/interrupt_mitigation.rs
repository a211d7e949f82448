//! Interrupt mitigation of a radio: received packets wait for an interrupt of the device.
//!
//! interrupt = min(last packet + `quiet`, first packet + `longest`)            [linux-6.12 ath9k/hw.c rimt_last, rimt_first]
//!
//! Each MPDU of an aggregate is a packet to the device: it has a descriptor of its own, and begins `quiet` anew. So the
//! aggregates of a sender with less than `quiet` between them wait for `longest`. The interrupt hands over all packets
//! at once, so that a host forwards or acknowledges them in a burst. [linux-6.12 ath9k/ar9003_mac.c ath9k_hw_process_rxdesc_edma]
//! Deviations: the MPDUs of a PPDU are evenly spaced, lost ones left out; an interrupt within a PPDU hands over what has
//! come of it only when it ends.

use std::collections::VecDeque;
use std::collections::vec_deque::Drain;

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};
use tailback_wifi::Arriving;

/// The packets that wait for the interrupt of one radio.
#[derive(Debug)]
pub(crate) struct InterruptMitigation {
    quiet: Span,
    longest: Span,
    held: VecDeque<Box<Packet>>,
    /// Of these so many, the first ones, came before the last interrupt, in a PPDU that had not ended by then.
    interrupted: usize,
    /// When the first of the others came.
    first: SimTime,
    due: SimTime,
    /// The last interrupt.
    last: SimTime,
}

impl InterruptMitigation {
    /// No packet waits; with a `quiet` of zero none will.
    pub(crate) fn new(quiet: Span, longest: Span) -> Self {
        InterruptMitigation {
            quiet,
            longest,
            held: VecDeque::new(),
            interrupted: 0,
            first: SimTime::NEVER,
            due: SimTime::NEVER,
            last: SimTime::ZERO,
        }
    }

    /// Packets are handed over as they arrive.
    pub(crate) fn is_off(&self) -> bool {
        self.quiet == Span::ZERO
    }

    /// Packets that wait.
    pub(crate) fn packets(&self) -> usize {
        self.held.len()
    }

    /// Holds packets that came evenly spaced, the first at `first` and the last `now`. Returns when to look for their
    /// interrupt, unless one is awaited. Those whose interrupt has been are [`interrupted`](Self::interrupted).
    pub(crate) fn hold(
        &mut self,
        packets: impl ExactSizeIterator<Item = Box<Packet>>,
        first: SimTime,
        now: SimTime,
    ) -> Option<SimTime> {
        let awaited = !self.held.is_empty();
        let steps = packets.len().saturating_sub(1) as u64;
        for (step, packet) in (0..).zip(packets) {
            let until_last = if steps == 0 { Span::ZERO } else { now.since(first) * (steps - step) / steps };
            self.came(now - until_last);
            self.held.push_back(packet);
        }
        (!awaited).then_some(self.due)
    }

    /// A packet came; at the instant of an interrupt it comes too late for it.
    fn came(&mut self, at: SimTime) {
        let waits = self.held.len() > self.interrupted;
        if !waits && at < self.last {
            self.interrupted += 1;
            return;
        }
        if waits && self.due <= at {
            self.last = self.due;
            self.interrupted = self.held.len();
        }
        if self.held.len() == self.interrupted {
            self.first = at;
        }
        self.due = (at + self.quiet).min(self.first + self.longest);
    }

    /// The packets whose interrupt was within the PPDU that has just ended.
    pub(crate) fn interrupted(&mut self) -> Drain<'_, Box<Packet>> {
        self.held.drain(..std::mem::take(&mut self.interrupted))
    }

    /// The packets, if the interrupt is due; else when to look again. An MPDU of the PPDU that arrives may have come.
    pub(crate) fn release(
        &mut self,
        arriving: Option<Arriving>,
        now: SimTime,
    ) -> Result<Drain<'_, Box<Packet>>, SimTime> {
        if now == self.due
            && let Some(ppdu) = arriving.filter(|ppdu| ppdu.first < now)
        {
            self.due = (ppdu.until + self.quiet).min(self.first + self.longest);
        }
        if now < self.due {
            return Err(self.due);
        }
        self.last = now;
        Ok(self.held.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> SimTime {
        SimTime::from_nanos(micros * 1_000)
    }

    fn mitigation() -> InterruptMitigation {
        InterruptMitigation::new(Span::from_micros(500), Span::from_micros(2_000))
    }

    fn packets(count: usize) -> impl ExactSizeIterator<Item = Box<Packet>> {
        (0..count).map(|_| Box::new(Packet::empty()))
    }

    fn hold(mitigation: &mut InterruptMitigation, at: u64) -> Option<SimTime> {
        mitigation.hold(packets(1), us(at), us(at))
    }

    fn released(mitigation: &mut InterruptMitigation, at: u64) -> Result<usize, SimTime> {
        mitigation.release(None, us(at)).map(|packets| packets.len())
    }

    #[test]
    fn the_interrupt_comes_when_no_packet_has_come_for_a_while() {
        let mut mitigation = mitigation();
        assert_eq!(hold(&mut mitigation, 100), Some(us(600)));
        assert_eq!(hold(&mut mitigation, 400), None);
        assert_eq!(released(&mut mitigation, 600), Err(us(900)));
        assert_eq!(released(&mut mitigation, 900), Ok(2));
        assert_eq!(hold(&mut mitigation, 950), Some(us(1_450)));
    }

    #[test]
    fn a_stream_of_packets_delays_the_interrupt_only_so_long() {
        let mut mitigation = mitigation();
        let looked: Vec<_> = (0..6).filter_map(|i| hold(&mut mitigation, 390 * i)).collect();
        assert_eq!(looked, [us(500)]);
        assert_eq!(released(&mut mitigation, 1_999), Err(us(2_000)));
        assert_eq!(released(&mut mitigation, 2_000), Ok(6));
    }

    /// Aggregates of 0.4 ms, 0.7 ms from end to end: the first MPDU of the next comes 0.35 ms after the last one.
    #[test]
    fn an_mpdu_of_a_ppdu_that_has_not_ended_begins_the_quiet_time_anew() {
        let mut mitigation = mitigation();
        assert_eq!(mitigation.hold(packets(9), us(50), us(400)), Some(us(900)));
        let next = Arriving { first: us(750), until: us(1_100) };
        assert_eq!(mitigation.release(Some(next), us(900)).err(), Some(us(1_600)));
        assert_eq!(mitigation.hold(packets(9), us(750), us(1_100)), None);
        let next = Arriving { first: us(1_450), until: us(1_800) };
        assert_eq!(mitigation.release(Some(next), us(1_600)).err(), Some(us(2_050)), "the first at 50 us");
    }

    #[test]
    fn a_ppdu_whose_first_mpdu_has_not_come_does_not_delay_the_interrupt() {
        let mut mitigation = mitigation();
        assert_eq!(hold(&mut mitigation, 100), Some(us(600)));
        let later = Arriving { first: us(650), until: us(900) };
        assert_eq!(mitigation.release(Some(later), us(600)).map(|packets| packets.len()), Ok(1));
    }

    #[test]
    fn packets_that_came_before_an_interrupt_within_their_ppdu_do_not_wait_for_the_next() {
        let mut mitigation = mitigation();
        assert_eq!(hold(&mut mitigation, 0), Some(us(500)));
        assert_eq!(hold(&mut mitigation, 450), None);
        let arriving = Arriving { first: us(500), until: us(2_100) };
        assert_eq!(released(&mut mitigation, 500), Err(us(950)));
        assert_eq!(mitigation.release(Some(arriving), us(950)).err(), Some(us(2_000)));
        assert_eq!(mitigation.release(Some(arriving), us(2_000)).map(|packets| packets.len()), Ok(2));
        // Each 400 us: the interrupt of 2000 us has handed over all but the last one.
        assert_eq!(mitigation.hold(packets(5), us(500), us(2_100)), Some(us(2_600)));
        assert_eq!(mitigation.interrupted().len(), 4);
        assert_eq!(released(&mut mitigation, 2_600), Ok(1));
    }

    #[test]
    fn a_long_ppdu_has_interrupts_within_it() {
        let mut mitigation = InterruptMitigation::new(Span::from_micros(250), Span::from_micros(700));
        // Each 100 us: at 700 us the first interrupt, for the first seven; the last four wait.
        assert_eq!(mitigation.hold(packets(11), us(0), us(1_000)), Some(us(1_250)));
        assert_eq!(mitigation.interrupted().len(), 7);
        assert_eq!(released(&mut mitigation, 1_250), Ok(4));
    }
}
