//! Interrupt mitigation of a radio: received packets wait for an interrupt of the device.
//!
//! interrupt = min(last packet + `quiet`, first packet + `longest`)            [linux-6.12 ath9k/hw.c rimt_last, rimt_first]
//!
//! The interrupt hands over all packets at once, so that a host forwards or acknowledges them in a burst.
//! Deviation: the packets of an aggregate arrive when it ends, so `longest` counts from there; the device counts from
//! its first MPDU, and `quiet` from each.

use std::collections::VecDeque;
use std::collections::vec_deque::Drain;

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};

/// The packets that wait for the interrupt of one radio.
#[derive(Debug)]
pub(crate) struct Moderation {
    quiet: Span,
    longest: Span,
    held: VecDeque<Box<Packet>>,
    first: SimTime,
    due: SimTime,
}

impl Moderation {
    /// No packet waits; with a `quiet` of zero none will.
    pub(crate) fn new(quiet: Span, longest: Span) -> Self {
        Moderation { quiet, longest, held: VecDeque::new(), first: SimTime::NEVER, due: SimTime::NEVER }
    }

    /// Packets are handed over as they arrive.
    pub(crate) fn is_off(&self) -> bool {
        self.quiet == Span::ZERO
    }

    /// Packets that wait.
    pub(crate) fn packets(&self) -> usize {
        self.held.len()
    }

    /// Holds packets that arrive together. Returns when to look for the interrupt, if nothing waited before.
    pub(crate) fn hold(
        &mut self,
        packets: impl Iterator<Item = Box<Packet>>,
        now: SimTime,
    ) -> Option<SimTime> {
        let begins = self.held.is_empty();
        if begins {
            self.first = now;
        }
        self.held.extend(packets);
        self.due = (now + self.quiet).min(self.first + self.longest);
        begins.then_some(self.due)
    }

    /// The packets, if the interrupt is due; else when to look again.
    pub(crate) fn release(&mut self, now: SimTime) -> Result<Drain<'_, Box<Packet>>, SimTime> {
        if now < self.due { Err(self.due) } else { Ok(self.held.drain(..)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> SimTime {
        SimTime::from_nanos(micros * 1_000)
    }

    fn moderation() -> Moderation {
        Moderation::new(Span::from_micros(500), Span::from_micros(2_000))
    }

    fn hold(moderation: &mut Moderation, at: u64) -> Option<SimTime> {
        moderation.hold(std::iter::once(Box::new(Packet::empty())), us(at))
    }

    #[test]
    fn the_interrupt_comes_when_no_packet_has_come_for_a_while() {
        let mut moderation = moderation();
        assert_eq!(hold(&mut moderation, 100), Some(us(600)));
        assert_eq!(hold(&mut moderation, 400), None);
        assert_eq!(moderation.release(us(600)).err(), Some(us(900)));
        assert_eq!(moderation.release(us(900)).map(|packets| packets.len()), Ok(2));
        assert_eq!(hold(&mut moderation, 950), Some(us(1_450)));
    }

    #[test]
    fn a_stream_of_packets_delays_the_interrupt_only_so_long() {
        let mut moderation = moderation();
        let looked: Vec<_> = (0..6).filter_map(|i| hold(&mut moderation, 400 * i)).collect();
        assert_eq!(looked, [us(500)]);
        assert_eq!(moderation.release(us(1_999)).err(), Some(us(2_000)));
        assert_eq!(moderation.release(us(2_000)).map(|packets| packets.len()), Ok(6));
    }
}
