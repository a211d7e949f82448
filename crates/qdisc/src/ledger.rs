//! Counts of packets that wait, left and were dropped. What arrived is their sum, so each packet is accounted for.

use std::cell::Cell;

use tailback_packet::{DropReason, Packet};

use crate::{Backlog, Bypassed, Counters, Dequeued};

/// Packets and their frame bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Tally {
    packets: u64,
    bytes: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.frame_length());
    }

    #[inline]
    fn take_of(&mut self, length: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(length);
    }
}

/// The largest backlog since it was last asked for: of packets, and of bytes, which need not be of the same moment.
///
/// A backlog is largest just before it shrinks, so that it is looked at when packets leave and are dropped, and not when
/// they arrive. A packet that was refused never waited.
#[derive(Clone, Debug, Default)]
pub(crate) struct HighWater {
    packets: Cell<u64>,
    bytes: Cell<u64>,
}

impl HighWater {
    #[inline]
    pub fn note(&self, packets: u64, bytes: u64) {
        if packets > self.packets.get() {
            self.packets.set(packets);
        }
        if bytes > self.bytes.get() {
            self.bytes.set(bytes);
        }
    }

    /// The largest backlog up to the present one, with which it begins anew.
    pub fn take(&self, present: Backlog) -> Backlog {
        self.note(u64::from(present.packets), present.bytes);
        let packets = self.packets.replace(u64::from(present.packets));
        Backlog { packets: packets as u32, bytes: self.bytes.replace(present.bytes) }
    }
}

/// The packet counts of one discipline: *arrived = left + dropped + backlog*.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    waiting: Tally,
    high: HighWater,
    /// Frame length of a packet that left for a look of the parent and still counts as waiting.
    peeked: Option<u32>,
    /// Frame bytes of the packets that left.
    bytes_left: u64,
    segments_left: u64,
    /// Packets.
    dropped: u64,
    /// Times a shaper ran out of tokens.
    pub overlimits: u64,
    /// Packets marked CE.
    pub marked: u64,
}

impl Ledger {
    #[inline]
    pub fn arrive(&mut self, packet: &Packet) {
        self.waiting.add(packet);
    }

    #[inline]
    pub fn leave(&mut self, packet: &Packet) {
        self.leave_of(packet, packet.frame_length());
    }

    /// A packet, whose frame has `length` bytes, leaves.
    #[inline]
    pub fn leave_of(&mut self, packet: &Packet, length: u32) {
        self.note();
        self.waiting.take_of(length);
        self.pass(packet, length);
    }

    #[inline]
    fn pass(&mut self, packet: &Packet, length: u32) {
        self.bytes_left += u64::from(length);
        self.segments_left += u64::from(packet.segments);
    }

    /// Counts packets that bypassed the queue.
    pub fn bypass(&mut self, bypassed: Bypassed) {
        self.bytes_left += bypassed.bytes;
        self.segments_left += u64::from(bypassed.segments);
    }

    /// A packet is dropped at an arrival: this one, or another for it. What waited before it did counts as high water.
    #[inline]
    pub fn drop(&mut self, packet: &Packet) {
        self.waiting.take_of(packet.frame_length());
        self.dropped += 1;
        self.note();
    }

    /// Looks at the backlog, which shrinks next. A discipline calls it before it drops packets that have waited.
    #[inline]
    pub fn note(&self) {
        self.high.note(self.waiting.packets, self.waiting.bytes);
    }

    /// Counts packets that a child has dropped for an arrival since `before` of them were.
    #[inline]
    pub fn drop_since(&mut self, before: usize, dropped: &[(Box<Packet>, DropReason)]) {
        if dropped.len() > before {
            self.drop_all(&dropped[before..]);
        }
    }

    /// Counts packets that a child has dropped since `before` of them were, when it was asked for a packet.
    #[inline]
    pub fn drop_waiting_since(&mut self, before: usize, dropped: &[(Box<Packet>, DropReason)]) {
        if dropped.len() > before {
            self.note();
            self.drop_all(&dropped[before..]);
        }
    }

    /// Counts packets that a child has dropped or cut into segments.
    #[cold]
    pub fn drop_all(&mut self, dropped: &[(Box<Packet>, DropReason)]) {
        for (packet, reason) in dropped {
            match reason {
                DropReason::Segmented => self.segmented(packet),
                _ => self.drop(packet),
            }
        }
    }

    /// The segments of a train wait in its place; together their frames are as long as it was.
    pub fn segmented(&mut self, train: &Packet) {
        self.waiting.packets += u64::from(train.segments) - 1;
    }

    /// Counts what a dequeue from children has done: the packets that they dropped, and the packet that leaves.
    #[inline]
    pub fn settle(&mut self, answer: &Dequeued, dropped: &[(Box<Packet>, DropReason)]) {
        if !dropped.is_empty() {
            self.note();
            self.drop_all(dropped);
        }
        if let Dequeued::Packet(packet) = answer {
            self.leave(packet);
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.packets == 0
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting.packets as u32 + u32::from(self.peeked.is_some()),
            bytes: self.waiting.bytes + u64::from(self.peeked.unwrap_or(0)),
        }
    }

    /// As [`Qdisc::high_water`](crate::Qdisc::high_water).
    pub fn high_water(&self) -> Backlog {
        self.high.take(self.backlog())
    }

    /// Notes a packet that a parent keeps, which counts as queued.
    pub fn keep(&mut self, length: Option<u32>) {
        let held = self.backlog();
        self.high.note(u64::from(held.packets), held.bytes);
        self.peeked = length;
    }

    pub fn counters(&self) -> Counters {
        Counters {
            sent_bytes: self.bytes_left,
            sent_packets: self.segments_left,
            dropped: self.dropped,
            overlimits: self.overlimits,
            requeues: 0,
            marked: self.marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;

    #[test]
    fn the_backlog_is_what_arrived_and_neither_left_nor_was_dropped() {
        let mut ledger = Ledger::default();
        for length in [100, 200, 300] {
            ledger.arrive(&packet(0, length));
        }
        ledger.leave(&packet(0, 100));
        ledger.drop_all(&[(Box::new(packet(0, 200)), DropReason::Aqm)]);
        assert_eq!(ledger.backlog(), Backlog { packets: 1, bytes: 300 });
        assert_eq!((ledger.counters().sent_bytes, ledger.counters().dropped), (100, 1));
    }

    #[test]
    fn the_high_water_is_the_largest_backlog_between_two_looks_without_what_was_refused() {
        let of = |packets: u32| Backlog { packets, bytes: 100 * u64::from(packets) };
        let (one, mut ledger) = (packet(0, 100), Ledger::default());
        (0..3).for_each(|_| ledger.arrive(&one));
        ledger.arrive(&one);
        ledger.drop(&one);
        (0..2).for_each(|_| ledger.leave(&one));
        assert_eq!((ledger.high_water(), ledger.high_water()), (of(3), of(1)));
        ledger.arrive(&one);
        assert_eq!(ledger.high_water(), of(2), "what waits now counts");
        ledger.settle(&Dequeued::Packet(Box::new(one)), &[(Box::new(packet(0, 100)), DropReason::Aqm)]);
        assert_eq!((ledger.high_water(), ledger.high_water()), (of(2), of(0)), "dropped after it had waited");
    }

    #[test]
    fn a_train_counts_its_segments_as_sent_and_itself_as_one_packet_of_backlog() {
        let train = Packet { segments: 3, ..packet(0, 4542) };
        let mut ledger = Ledger::default();
        ledger.arrive(&train);
        assert_eq!(ledger.backlog().packets, 1);
        ledger.leave(&train);
        assert_eq!((ledger.backlog().packets, ledger.counters().sent_packets), (0, 3));
    }
}
