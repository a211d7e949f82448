//! From a device to the other end of its link: the NIC's ring and the propagation, in one FIFO.
//!
//! When a packet enters the ring, the departure of its last bit is known, since the ring is a FIFO, and so is its
//! arrival, a propagation delay later. It is therefore inserted once with that time and removed once; there is no event
//! in between unless something waits for its completion.

use tailback_packet::Packet;
use tailback_units::{SimTime, Span};

/// Packets between a discipline and the other host, by number: each has a slot at its number modulo the number of slots,
/// which is a power of two (or zero).
///
/// ```text
/// first ≤ on their way < completed ≤ in the ring < end
/// ```
#[derive(Debug)]
pub(crate) struct Wire {
    delay: Span,
    slots: Vec<Slot>,
    first: usize,
    completed: usize,
    end: usize,
    /// When the first packet in the ring has left; `NEVER` if there is none.
    pub(crate) next_departure: SimTime,
    /// When the next packet arrives; `NEVER` if there is none.
    pub(crate) next_arrival: SimTime,
}

/// A packet, with the instant at which its last bit leaves.
#[derive(Debug)]
pub(crate) struct Slot {
    departure: SimTime,
    packet: Option<Box<Packet>>,
}

impl Slot {
    /// `None` once it was taken.
    #[inline]
    pub(crate) fn packet(&self) -> Option<&Packet> {
        self.packet.as_deref()
    }
}

impl Wire {
    pub(crate) fn new(delay: Span) -> Self {
        let (next_departure, next_arrival) = (SimTime::NEVER, SimTime::NEVER);
        Wire { delay, slots: Vec::new(), first: 0, completed: 0, end: 0, next_departure, next_arrival }
    }

    /// Packets arrive when they leave: the propagation delay is zero.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// Appends a packet to the ring; its last bit leaves at `departure`. Returns its arrival time if it is the only
    /// packet; otherwise its arrival follows that of the packet before it.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Box<Packet>, departure: SimTime) -> Option<SimTime> {
        if self.completed == self.end {
            self.next_departure = departure;
        }
        self.append(packet, departure)
    }

    /// Appends a packet to the empty ring; its completion would do nothing, so that it counts as completed. Returns its
    /// arrival time if it is the only packet.
    #[inline(always)]
    pub(crate) fn push_completed(&mut self, packet: Box<Packet>, departure: SimTime) -> Option<SimTime> {
        debug_assert_eq!(self.in_ring(), 0, "a ring completes its packets in order");
        let arrival = self.append(packet, departure);
        self.completed = self.end;
        arrival
    }

    /// The last packet, which counts as completed, is in the ring after all; its last bit leaves at `departure`.
    pub(crate) fn uncomplete_last(&mut self, departure: SimTime) {
        debug_assert!(self.in_ring() == 0 && self.packets() > 0, "it has not arrived");
        debug_assert_eq!(self.slot(self.end - 1).departure, departure);
        self.completed -= 1;
        self.next_departure = departure;
    }

    #[inline(always)]
    fn append(&mut self, packet: Box<Packet>, departure: SimTime) -> Option<SimTime> {
        if self.packets() == self.slots.len() {
            self.grow();
        }
        let is_only = self.first == self.end;
        let slot = self.slot_mut(self.end);
        slot.departure = departure;
        let before = slot.packet.replace(packet);
        debug_assert!(before.is_none(), "the slot is free");
        // There is nothing to drop.
        std::mem::forget(before);
        self.end += 1;
        if !is_only {
            return None;
        }
        self.next_arrival = departure + self.delay;
        Some(self.next_arrival)
    }

    /// When the packet that was put in last leaves, if any is on its way.
    pub(crate) fn last_departure(&self) -> Option<SimTime> {
        (self.packets() > 0).then(|| self.slot(self.end - 1).departure)
    }

    /// Number of packets whose completion is not yet processed.
    #[inline]
    pub(crate) fn in_ring(&self) -> usize {
        self.end - self.completed
    }

    /// When the first packet in the ring that is charged to a socket has left.
    #[inline]
    pub(crate) fn next_charged_departure(&self) -> Option<SimTime> {
        let mut ring = (self.completed..self.end).map(|number| self.slot(number));
        let charged = ring.find(|slot| slot.packet.as_ref().is_some_and(|packet| packet.charged));
        charged.map(|slot| slot.departure)
    }

    /// Sets new departure times for the packets behind the one on the wire.
    pub(crate) fn reschedule(&mut self, mut departure_of: impl FnMut(&Packet) -> SimTime) {
        for number in self.completed + 1..self.end {
            let slot = self.slot_mut(number);
            if let Some(packet) = &slot.packet {
                slot.departure = departure_of(packet);
            }
        }
    }

    /// The next packet that has left by `now` and not been completed, with the time at which it left.
    #[inline]
    pub(crate) fn leaving(&mut self, now: SimTime) -> Option<(SimTime, &mut Packet)> {
        let departure = self.next_departure;
        if departure > now {
            return None;
        }
        let packet = self.slot_mut(self.completed).packet.as_deref_mut()?;
        Some((departure, packet))
    }

    /// The first packet in the ring is completed.
    #[inline]
    pub(crate) fn complete_first(&mut self) {
        debug_assert!(self.in_ring() > 0, "there is one");
        self.completed += 1;
        self.next_departure = match self.completed == self.end {
            true => SimTime::NEVER,
            false => self.slot(self.completed).departure,
        };
    }

    /// Completes all packets in the ring. Returns the first and last of them.
    #[inline]
    pub(crate) fn complete_ring(&mut self) -> (usize, usize) {
        let first = std::mem::replace(&mut self.completed, self.end);
        debug_assert!(first < self.end, "there is one");
        self.next_departure = SimTime::NEVER;
        (first, self.end - 1)
    }

    /// A packet on the wire.
    #[inline]
    pub(crate) fn packet_mut(&mut self, number: usize) -> Option<&mut Packet> {
        self.slot_mut(number).packet.as_deref_mut()
    }

    /// Completes the next packet that has left by `now`, and returns it with its departure; `None` if there is none.
    #[inline]
    pub(crate) fn complete(&mut self, now: SimTime) -> Option<(SimTime, &mut Packet)> {
        let departure = self.next_departure;
        if departure > now {
            return None;
        }
        let number = self.completed;
        self.complete_first();
        let packet = self.slot_mut(number).packet.as_deref_mut()?;
        Some((departure, packet))
    }

    /// All packets in the ring, of which there are any, have left by `now`.
    #[inline]
    pub(crate) fn all_left(&self, now: SimTime) -> bool {
        self.slot(self.end - 1).departure <= now
    }

    /// Takes the next packet that has arrived by `now`; it was completed.
    #[inline]
    pub(crate) fn arrived(&mut self, now: SimTime) -> Option<Box<Packet>> {
        if self.next_arrival > now { None } else { self.take_first() }
    }

    /// Takes the first packet, which has arrived.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<Box<Packet>> {
        debug_assert!(self.completed > self.first, "a packet leaves before it arrives");
        let packet = self.slot_mut(self.first).packet.take();
        self.first += 1;
        self.next_arrival = match self.first == self.end {
            true => SimTime::NEVER,
            false => self.slot(self.first).departure + self.delay,
        };
        packet
    }

    /// The slots of packets that have not arrived yet, in ascending order: the first packet is number 0. `None` if there
    /// are not so many.
    #[inline]
    pub(crate) fn slots_of_next<const COUNT: usize>(
        &self,
        numbers: [usize; COUNT],
    ) -> Option<[&Slot; COUNT]> {
        let last = *numbers.last()?;
        (last < self.packets()).then(|| numbers.map(|number| self.slot(self.first + number)))
    }

    /// Packets in the ring and on their way.
    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.end - self.first
    }

    /// Each of these packets is there.
    pub(crate) fn holds_all(&self) -> bool {
        self.slots.iter().filter(|slot| slot.packet.is_some()).count() == self.packets()
    }

    #[inline]
    fn place(&self, number: usize) -> usize {
        number & self.slots.len().wrapping_sub(1)
    }

    #[inline]
    fn slot(&self, number: usize) -> &Slot {
        &self.slots[self.place(number)]
    }

    #[inline]
    fn slot_mut(&mut self, number: usize) -> &mut Slot {
        let place = self.place(number);
        &mut self.slots[place]
    }

    /// Doubles the number of slots where they are: each packet stays in its slot or moves to the same one of the new half.
    #[cold]
    fn grow(&mut self) {
        let before = self.slots.len();
        let empty = || Slot { departure: SimTime::NEVER, packet: None };
        self.slots.resize_with((2 * before).max(4), empty);
        // All slots were in use.
        for number in self.first..self.first + before {
            let (old, new) = (number & before.wrapping_sub(1), self.place(number));
            self.slots.swap(old, new);
        }
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
    fn the_packets_that_arrive_next_are_known() {
        let mut wire = Wire::new(Span::from_nanos(100));
        for number in 0..5 {
            wire.push_completed(Box::new(datagram(40 + number)), at(5));
        }
        assert_eq!(wire.take_first().unwrap().ip_length, 40);
        let next = wire.slots_of_next([0, 3]).unwrap();
        assert_eq!(next.map(|slot| slot.packet().unwrap().ip_length), [41, 44]);
        assert!(wire.slots_of_next([0, 4]).is_none());
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

    #[test]
    fn packets_keep_their_order_while_the_number_of_slots_grows() {
        let mut wire = Wire::new(Span::from_nanos(1_000));
        let mut taken = Vec::new();
        for number in 0..100 {
            wire.push(Box::new(datagram(40 + number)), at(10 * u64::from(number)));
            while wire.complete(at(10 * u64::from(number))).is_some() {}
            if number % 3 == 0 {
                taken.extend(wire.arrived(at(5_000)).map(|packet| packet.ip_length));
            }
        }
        taken.extend(std::iter::from_fn(|| wire.arrived(at(5_000))).map(|packet| packet.ip_length));
        assert_eq!(taken, (40..140).collect::<Vec<_>>());
        assert_eq!((wire.packets(), wire.in_ring()), (0, 0));
    }
}
