//! The transmit side of a NIC: when it takes packets, and how long each occupies the wire.
//!
//! A frame occupies the wire for `wire bytes · 8 / rate`; the part below a nanosecond is carried to the next frame
//! of the same busy period, so that a billion frames do not drift. Each frame is completed when its last bit has
//! left: zero interrupt delay, one completion per frame. The packets themselves are in [`crate::wire`].
//!
//! Source: [linux-5.10 drivers' ndo_start_xmit and TX clean-up], byte queue limits in [`crate::bql`].
//! Deviations: real drivers stop a few descriptors before the ring is full and moderate interrupts.

use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::bql::ByteQueueLimit;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The transmit queue of one device with a rate.
#[derive(Debug)]
pub(crate) struct Nic {
    bits_per_sec: u64,
    descriptors: usize,
    limit: Option<ByteQueueLimit>,
    /// Numerator of the time below a nanosecond that the last frame took too little.
    remainder: u64,
    /// When the last transmission ended.
    free_since: SimTime,
}

impl Nic {
    pub(crate) fn new(rate: Rate, descriptors: u32, byte_limited: bool) -> Self {
        Nic {
            bits_per_sec: rate.bits_per_sec(),
            descriptors: descriptors as usize,
            limit: byte_limited.then(ByteQueueLimit::default),
            remainder: 0,
            free_since: SimTime::ZERO,
        }
    }

    /// The queue is not stopped: neither the ring, which holds `in_ring`, is full, nor the byte limit reached.
    #[inline]
    pub(crate) fn accepts(&self, in_ring: usize) -> bool {
        in_ring < self.descriptors && self.limit.as_ref().is_none_or(ByteQueueLimit::open)
    }

    /// A frame of `length` entered the ring.
    #[inline]
    pub(crate) fn take(&mut self, length: u32) {
        if let Some(limit) = &mut self.limit {
            limit.add(u64::from(length));
        }
    }

    /// A frame of `length` has left.
    #[inline]
    pub(crate) fn complete(&mut self, length: u32, now: SimTime) {
        self.free_since = now;
        if let Some(limit) = &mut self.limit {
            limit.complete(u64::from(length), now);
        }
    }

    /// How long the frame now put on the wire occupies it.
    #[inline]
    pub(crate) fn serialize(&mut self, on_wire: Bytes, now: SimTime) -> Span {
        let carried = if self.free_since == now { self.remainder } else { 0 };
        let numerator = on_wire.get() * 8 * NANOS_PER_SEC + carried;
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

    fn time_on_wire(bits_per_sec: u64, ip_length: u32) -> u64 {
        nic(bits_per_sec).serialize(datagram(ip_length).wire_length(), SimTime::ZERO).as_nanos()
    }

    #[test]
    fn a_full_frame_occupies_a_10_mbit_wire_for_1230_4_us() {
        assert_eq!(time_on_wire(10_000_000, 1500), 1_230_400);
    }

    #[test]
    fn a_short_frame_is_padded_to_84_bytes_of_wire() {
        assert_eq!(time_on_wire(1_000_000_000, 28), 672);
    }

    #[test]
    fn three_frames_of_4101_and_a_third_ns_take_12304_ns_together() {
        let mut nic = nic(3_000_000_000);
        let mut now = SimTime::ZERO;
        let spans = [(); 3].map(|()| {
            let span = nic.serialize(Bytes(1538), now);
            now += span;
            nic.complete(1514, now);
            span.as_nanos()
        });
        assert_eq!(spans, [4_101, 4_101, 4_102]);
    }

    #[test]
    fn after_a_pause_the_fraction_is_forgotten() {
        let mut nic = nic(3_000_000_000);
        for start in [0, 10_000, 20_000].map(SimTime::from_nanos) {
            assert_eq!(nic.serialize(Bytes(1538), start), Span::from_nanos(4_101));
            nic.complete(1514, start + Span::from_nanos(4_101));
        }
    }

    #[test]
    fn a_full_ring_stops_the_queue() {
        assert!(nic(1).accepts(3));
        assert!(!nic(1).accepts(4));
    }
}
