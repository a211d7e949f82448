//! From a device to the other end of its link: the NIC's ring and the propagation, in one FIFO.
//!
//! When a packet enters the ring, the departure of its last bit is known, since the ring is a FIFO, and so is its
//! arrival, a propagation delay later. It is therefore inserted once with that time and removed once; there is no event
//! in between unless something waits for its completion.

use std::collections::VecDeque;

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};

/// Packets between a discipline and the other host.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: Span,
    /// Each with the instant at which its last bit leaves.
    packets: VecDeque<(SimTime, Box<Packet>)>,
    /// How many of them have left and been completed; the rest is the ring.
    completed: usize,
    /// When the first packet in the ring has left; `NEVER` if there is none.
    pub(crate) next_departure: SimTime,
    /// When the next packet arrives; `NEVER` if there is none.
    pub(crate) next_arrival: SimTime,
}

impl Wire {
    pub(crate) fn new(delay: Span) -> Self {
        let (next_departure, next_arrival) = (SimTime::NEVER, SimTime::NEVER);
        Wire { delay, packets: VecDeque::new(), completed: 0, next_departure, next_arrival }
    }

    /// Packets arrive when they leave: the propagation delay is zero.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// Appends a packet to the ring; its last bit leaves at `departure`. Returns its arrival time if it is the only
    /// packet; otherwise its arrival follows that of the packet before it.
    #[inline]
    pub(crate) fn push(&mut self, packet: Box<Packet>, departure: SimTime) -> Option<SimTime> {
        if self.next_departure == SimTime::NEVER {
            self.next_departure = departure;
        }
        self.packets.push_back((departure, packet));
        if self.packets.len() > 1 {
            return None;
        }
        self.next_arrival = departure + self.delay;
        Some(self.next_arrival)
    }

    /// Number of packets whose completion is not yet processed.
    #[inline]
    pub(crate) fn in_ring(&self) -> usize {
        self.packets.len() - self.completed
    }

    /// When the first packet in the ring that is charged to a socket has left.
    #[inline]
    pub(crate) fn next_charged_departure(&self) -> Option<SimTime> {
        let charged = self.packets.range(self.completed..).find(|(_, packet)| packet.charged);
        charged.map(|&(departure, _)| departure)
    }

    /// Sets new departure times for the packets behind the one on the wire.
    pub(crate) fn reschedule(&mut self, mut departure_of: impl FnMut(&Packet) -> SimTime) {
        for (departure, packet) in self.packets.iter_mut().skip(self.completed + 1) {
            *departure = departure_of(packet);
        }
    }

    /// The next packet that has left by `now` and not been completed; it is completed by this.
    #[inline]
    pub(crate) fn complete(&mut self, now: SimTime) -> Option<(SimTime, &mut Packet)> {
        let departure = self.next_departure;
        if departure > now {
            return None;
        }
        self.completed += 1;
        self.next_departure = self.packets.get(self.completed).map_or(SimTime::NEVER, |&(next, _)| next);
        self.packets.get_mut(self.completed - 1).map(|(_, packet)| (departure, packet.as_mut()))
    }

    /// Takes the next packet that has arrived by `now`; it was completed.
    #[inline]
    pub(crate) fn arrived(&mut self, now: SimTime) -> Option<Box<Packet>> {
        if self.next_arrival > now {
            return None;
        }
        debug_assert!(self.completed > 0, "a packet leaves before it arrives");
        let (_, packet) = self.packets.pop_front()?;
        self.completed -= 1;
        let following = self.packets.front();
        self.next_arrival = following.map_or(SimTime::NEVER, |&(departure, _)| departure + self.delay);
        Some(packet)
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

    const fn at(ns: u64) -> SimTime {
        SimTime::from_nanos(ns)
    }

    #[test]
    fn packets_arrive_in_order_after_departure_and_delay() {
        let mut wire = Wire::new(Span::from_nanos(100));
        assert_eq!(wire.push(Box::new(datagram(40)), at(5)), Some(at(105)));
        assert_eq!(wire.push(Box::new(datagram(41)), at(7)), None);
        while wire.complete(at(7)).is_some() {}
        assert!(wire.arrived(at(104)).is_none());
        assert_eq!(wire.arrived(at(105)).unwrap().ip_length, 40);
        assert!(wire.arrived(at(105)).is_none());
        assert_eq!(wire.next_arrival, at(107));
    }

    #[test]
    fn a_packet_is_in_the_ring_until_it_is_completed() {
        let mut wire = Wire::new(Span::from_nanos(100));
        wire.push(Box::new(datagram(40)), at(5));
        wire.push(Box::new(datagram(41)), at(7));
        assert!(wire.complete(at(4)).is_none());
        assert_eq!(wire.complete(at(5)).unwrap().1.ip_length, 40);
        assert_eq!((wire.in_ring(), wire.next_departure), (1, at(7)));
    }

    #[test]
    fn the_first_charged_packet_is_found_behind_others() {
        let mut wire = Wire::new(Span::ZERO);
        wire.push(Box::new(datagram(40)), at(5));
        wire.push(Box::new(Packet { charged: true, ..datagram(41) }), at(7));
        assert_eq!(wire.next_charged_departure(), Some(at(7)));
    }
}
