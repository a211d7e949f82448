//! One direction of a link: packets on their way to the other end, in the order they were sent.

use std::collections::VecDeque;

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};

/// Packets in flight, with the instant each arrives.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: Span,
    in_flight: VecDeque<(SimTime, Packet)>,
}

impl Wire {
    pub(crate) fn new(delay: Span) -> Self {
        Wire { delay, in_flight: VecDeque::new() }
    }

    /// A packet handed to this wire arrives at the same instant.
    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// A packet sets out. Returns when it arrives if it is the only one: the others' arrivals follow each other.
    pub(crate) fn send(&mut self, packet: Packet, now: SimTime) -> Option<SimTime> {
        let arrival = now + self.delay;
        self.in_flight.push_back((arrival, packet));
        (self.in_flight.len() == 1).then_some(arrival)
    }

    /// The next packet that has arrived by `now`.
    pub(crate) fn arrived(&mut self, now: SimTime) -> Option<Packet> {
        if self.next_arrival()? > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, packet)| packet)
    }

    /// When the next packet arrives.
    pub(crate) fn next_arrival(&self) -> Option<SimTime> {
        self.in_flight.front().map(|&(arrival, _)| arrival)
    }

    /// Packets in flight.
    pub(crate) fn packets(&self) -> usize {
        self.in_flight.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::datagram;

    #[test]
    fn packets_arrive_in_order_after_the_delay() {
        let mut wire = Wire::new(Span::from_nanos(100));
        assert_eq!(wire.send(datagram(40), SimTime::from_nanos(5)), Some(SimTime::from_nanos(105)));
        assert_eq!(wire.send(datagram(41), SimTime::from_nanos(7)), None);
        assert!(wire.arrived(SimTime::from_nanos(104)).is_none());
        assert_eq!(wire.arrived(SimTime::from_nanos(105)).unwrap().ip_length, 40);
        assert!(wire.arrived(SimTime::from_nanos(105)).is_none());
        assert_eq!(wire.next_arrival(), Some(SimTime::from_nanos(107)));
    }
}
