//! The transmit side of a NIC: a ring of descriptors in front of a serializer.
//!
//! A frame occupies the wire for `wire bytes · 8 / rate`; the part below a nanosecond is carried to the next frame
//! of the same busy period, so that a billion frames do not drift. Each frame is completed when its last bit has
//! left: zero interrupt delay, one completion per frame.
//!
//! Source: [linux-5.10 drivers' ndo_start_xmit and TX clean-up], byte queue limits in [`crate::bql`].
//! Deviations: real drivers stop a few descriptors before the ring is full and moderate interrupts.

use std::collections::VecDeque;

use tailback_packet::Packet;
use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::bql::ByteQueueLimit;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The transmit queue of one device with a rate.
#[derive(Debug)]
pub(crate) struct Nic {
    serializer: Serializer,
    /// The first packet is on the wire.
    ring: VecDeque<Packet>,
    descriptors: u32,
    limit: Option<ByteQueueLimit>,
    /// When the last transmission ended.
    free_since: SimTime,
}

/// Turns frame lengths into times on the wire.
#[derive(Debug)]
struct Serializer {
    bits_per_sec: u64,
    /// Numerator of the time below a nanosecond that the last frame took too little.
    remainder: u64,
}

impl Nic {
    pub(crate) fn new(rate: Rate, descriptors: u32, byte_limited: bool) -> Self {
        Nic {
            serializer: Serializer { bits_per_sec: rate.bits_per_sec(), remainder: 0 },
            ring: VecDeque::new(),
            descriptors,
            limit: byte_limited.then(ByteQueueLimit::default),
            free_since: SimTime::ZERO,
        }
    }

    /// The queue is not stopped: neither the ring is full nor the byte limit reached.
    pub(crate) fn accepts(&self) -> bool {
        self.ring.len() < self.descriptors as usize && self.limit.as_ref().is_none_or(ByteQueueLimit::open)
    }

    /// Takes a packet. If the wire was idle, its transmission starts and takes the time returned.
    pub(crate) fn push(&mut self, packet: Packet, now: SimTime) -> Option<Span> {
        if let Some(limit) = &mut self.limit {
            limit.add(u64::from(packet.frame_length()));
        }
        self.ring.push_back(packet);
        (self.ring.len() == 1).then(|| {
            if self.free_since != now {
                self.serializer.remainder = 0;
            }
            self.serialize_first()
        })
    }

    /// The first packet has left. If another waits, its transmission starts and takes the time returned.
    pub(crate) fn complete(&mut self, now: SimTime) -> (Packet, Option<Span>) {
        let packet = self.ring.pop_front().expect("a completion is for a packet on the wire");
        if let Some(limit) = &mut self.limit {
            limit.complete(u64::from(packet.frame_length()), now);
        }
        self.free_since = now;
        let next = (!self.ring.is_empty()).then(|| self.serialize_first());
        (packet, next)
    }

    /// Packets in the ring.
    pub(crate) fn packets(&self) -> usize {
        self.ring.len()
    }

    fn serialize_first(&mut self) -> Span {
        let length = self.ring[0].wire_length();
        self.serializer.time_for(length)
    }
}

impl Serializer {
    fn time_for(&mut self, length: Bytes) -> Span {
        let numerator = length.get() * 8 * NANOS_PER_SEC + self.remainder;
        self.remainder = numerator % self.bits_per_sec;
        Span::from_nanos(numerator / self.bits_per_sec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::datagram;

    fn nic(bits_per_sec: u64) -> Nic {
        Nic::new(Rate::from_bits_per_sec(bits_per_sec), 4, false)
    }

    #[test]
    fn a_full_frame_occupies_a_10_mbit_wire_for_1230_4_us() {
        assert_eq!(nic(10_000_000).push(datagram(1500), SimTime::ZERO), Some(Span::from_nanos(1_230_400)));
    }

    #[test]
    fn a_short_frame_is_padded_to_84_bytes_of_wire() {
        assert_eq!(nic(1_000_000_000).push(datagram(28), SimTime::ZERO), Some(Span::from_nanos(672)));
    }

    #[test]
    fn three_frames_of_4101_and_a_third_ns_take_12304_ns_together() {
        let mut nic = nic(3_000_000_000);
        let mut now = SimTime::ZERO;
        let mut spans = Vec::new();
        for _ in 0..3 {
            let span = nic.push(datagram(1500), now).unwrap();
            now += span;
            nic.complete(now);
            spans.push(span.as_nanos());
        }
        assert_eq!(spans, [4_101, 4_101, 4_102]);
    }

    #[test]
    fn after_a_pause_the_fraction_is_forgotten() {
        let mut nic = nic(3_000_000_000);
        for start in [0, 10_000, 20_000].map(SimTime::from_nanos) {
            assert_eq!(nic.push(datagram(1500), start), Some(Span::from_nanos(4_101)));
            nic.complete(start + Span::from_nanos(4_101));
        }
    }

    #[test]
    fn a_full_ring_stops_the_queue_until_a_completion() {
        let mut nic = nic(1_000_000);
        for _ in 0..4 {
            assert!(nic.accepts());
            nic.push(datagram(100), SimTime::ZERO);
        }
        assert!(!nic.accepts());
        nic.complete(SimTime::ZERO);
        assert!(nic.accepts());
    }
}
