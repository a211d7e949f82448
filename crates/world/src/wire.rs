//! The way from a device to the other end of its link: the NIC's ring, then the propagation, in one FIFO.
//!
//! A packet is put in once and taken out once. In between it waits in the ring until it [sets out](Wire::set_out);
//! those that have set out are the first in the FIFO, each with the instant of its arrival.

use std::collections::VecDeque;

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};

/// Packets between a discipline and the other host.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: Span,
    packets: VecDeque<Packet>,
    /// When each packet that has set out arrives.
    arrivals: VecDeque<SimTime>,
}

impl Wire {
    pub(crate) fn new(delay: Span) -> Self {
        Wire { delay, packets: VecDeque::new(), arrivals: VecDeque::new() }
    }

    /// A packet handed to this wire arrives at the same instant.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// Puts a packet last in the ring.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// Packets that have not set out.
    #[inline]
    pub(crate) fn in_ring(&self) -> usize {
        self.packets.len() - self.arrivals.len()
    }

    /// The packet that sets out next.
    #[inline]
    pub(crate) fn first_in_ring(&mut self) -> Option<&mut Packet> {
        self.packets.get_mut(self.arrivals.len())
    }

    /// The first packet in the ring sets out. Returns when it arrives if it is the only one on its way: the
    /// others' arrivals follow each other.
    #[inline]
    pub(crate) fn set_out(&mut self, now: SimTime) -> Option<SimTime> {
        debug_assert!(self.in_ring() > 0, "only a packet in the ring sets out");
        let arrival = now + self.delay;
        self.arrivals.push_back(arrival);
        (self.arrivals.len() == 1).then_some(arrival)
    }

    /// Takes the next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn arrived(&mut self, now: SimTime) -> Option<Packet> {
        if self.next_arrival()? > now {
            return None;
        }
        self.arrivals.pop_front();
        self.packets.pop_front()
    }

    /// When the next packet arrives.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<SimTime> {
        self.arrivals.front().copied()
    }

    /// Packets in the ring and on their way.
    pub(crate) fn packets(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::datagram;

    #[test]
    fn packets_arrive_in_order_after_the_delay() {
        let mut wire = Wire::new(Span::from_nanos(100));
        wire.push(datagram(40));
        wire.push(datagram(41));
        assert_eq!(wire.set_out(SimTime::from_nanos(5)), Some(SimTime::from_nanos(105)));
        assert_eq!(wire.set_out(SimTime::from_nanos(7)), None);
        assert!(wire.arrived(SimTime::from_nanos(104)).is_none());
        assert_eq!(wire.arrived(SimTime::from_nanos(105)).unwrap().ip_length, 40);
        assert!(wire.arrived(SimTime::from_nanos(105)).is_none());
        assert_eq!(wire.next_arrival(), Some(SimTime::from_nanos(107)));
    }

    #[test]
    fn a_packet_in_the_ring_does_not_arrive() {
        let mut wire = Wire::new(Span::ZERO);
        wire.push(datagram(40));
        assert!(wire.arrived(SimTime::NEVER).is_none());
        assert_eq!((wire.in_ring(), wire.first_in_ring().unwrap().ip_length), (1, 40));
    }
}
