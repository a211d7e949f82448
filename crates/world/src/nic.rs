//! The transmit side of a NIC: when it takes packets, and how long each occupies the wire.
//!
//! A frame occupies the wire for `wire bytes · 8 / rate`; the part below a nanosecond is carried to the next frame
//! of the same busy period, so that a billion frames do not drift. Each frame is completed when its last bit has
//! left: zero interrupt delay, one completion per frame. The packets themselves are in `wire`.
//!
//! Source: [linux-5.10 drivers' ndo_start_xmit and TX clean-up], byte queue limits in `bql`.
//! Deviations: real drivers stop a few descriptors before the ring is full and coalesce interrupts.

use tailback_packet::Packet;
use tailback_units::{Rate, SimTime, Span};

use crate::bql::ByteQueueLimit;
use crate::opportunities::Opportunities;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The transmit queue of one device with a rate, or with a trace in its place.
#[derive(Debug)]
pub(crate) struct Nic {
    bits_per_sec: u64,
    /// Bytes on the wire that each packet has in addition: the headers of a tunnel.
    overhead: u32,
    /// In the place of the rate.
    opportunities: Option<Box<Opportunities>>,
    descriptors: usize,
    limit: Option<ByteQueueLimit>,
    /// Numerator of the time below a nanosecond by which the frames in the ring leave later than computed.
    remainder: u64,
    /// The frame before.
    frame: Frame,
    /// When all frames in the ring have left.
    free_at: SimTime,
}

/// What the NIC knows of a frame. It is cached: most frames are as long as the one before, and a division costs more than
/// the rest of the computation.
#[derive(Debug, Default)]
struct Frame {
    ip_length: u32,
    segments: u16,
    /// Bytes without FCS, which the byte limit counts.
    length: u64,
    /// How long it occupies the wire.
    nanos: Span,
    /// Numerator of what is below a nanosecond.
    remainder: u64,
}

impl Frame {
    #[inline(never)]
    fn of(packet: &Packet, bits_per_sec: u64, overhead: u32) -> Self {
        let around = u64::from(overhead) * u64::from(packet.segments);
        let numerator = (packet.wire_length().get() + around) * 8 * NANOS_PER_SEC;
        Frame {
            ip_length: packet.ip_length,
            segments: packet.segments,
            length: u64::from(packet.frame_length()),
            nanos: Span::from_nanos(numerator / bits_per_sec),
            remainder: numerator % bits_per_sec,
        }
    }

    /// True if a frame with this packet is the same in all of this.
    #[inline]
    fn is_like(&self, packet: &Packet) -> bool {
        self.ip_length == packet.ip_length && self.segments == packet.segments
    }
}

impl Nic {
    pub(crate) fn new(rate: Rate, descriptors: u32, byte_limited: bool) -> Self {
        Nic {
            bits_per_sec: rate.bits_per_sec(),
            overhead: 0,
            opportunities: None,
            descriptors: descriptors as usize,
            limit: byte_limited.then(ByteQueueLimit::default),
            remainder: 0,
            frame: Frame::default(),
            free_at: SimTime::ZERO,
        }
    }

    /// With so many bytes on the wire in addition to each frame.
    pub(crate) fn with_overhead(self, overhead: u32) -> Self {
        Nic { overhead, ..self }
    }

    /// A queue that sends by a trace. It holds one packet: all others wait in the discipline.
    pub(crate) fn with_opportunities(opportunities: Opportunities) -> Self {
        Nic { opportunities: Some(Box::new(opportunities)), ..Nic::new(Rate::UNLIMITED, 1, false) }
    }

    /// The queue is not stopped: neither the ring, which holds `in_ring`, is full, nor the byte limit reached.
    #[inline]
    pub(crate) fn accepts(&self, in_ring: usize) -> bool {
        in_ring < self.descriptors && self.limit.as_ref().is_none_or(ByteQueueLimit::open)
    }

    /// It takes no further packet. It always takes one while the ring is empty, also if the packet before, which was alone,
    /// has not left yet.
    #[inline]
    pub(crate) fn is_full(&self, in_ring: usize) -> bool {
        in_ring > 0 && !self.accepts(in_ring)
    }

    /// A packet entered the ring of a queue that sends by a trace and has no byte limit. Returns when its last bit leaves.
    pub(crate) fn take_by_trace(&mut self, packet: &Packet, now: SimTime) -> SimTime {
        self.opportunities.as_mut().map_or(now, |opportunities| opportunities.deliver(packet.ip_length, now))
    }

    /// A packet entered the ring of a queue that sends at a rate. Returns when its last bit leaves.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet, now: SimTime) -> SimTime {
        debug_assert!(self.has_rate(), "a trace has no frames");
        let departure = self.occupy(packet, now);
        if let Some(limit) = &mut self.limit {
            limit.add(self.frame.length);
        }
        departure
    }

    /// A frame of which only the departure matters entered the ring of a queue that sends at a rate. Returns when its
    /// last bit leaves. The ring is empty, and if this frame has left before the next one comes, its completion changes
    /// nothing. `None` and nothing for any other. If the next one comes before, call [`Nic::count_alone`] first.
    #[inline(always)]
    pub(crate) fn take_alone(&mut self, packet: &Packet, now: SimTime) -> Option<SimTime> {
        if self.free_at >= now {
            return None;
        }
        if !self.frame.is_like(packet) {
            self.frame = Frame::of(packet, self.bits_per_sec, self.overhead);
        }
        let is_calm = self.limit.as_ref().is_none_or(|limit| limit.is_calm_with(self.frame.length));
        if !is_calm || self.descriptors == 1 {
            return None;
        }
        // As in `occupy` after a pause.
        self.remainder = self.frame.remainder;
        self.free_at = now + self.frame.nanos;
        Some(self.free_at)
    }

    /// Another frame comes, and the one before it, which was alone, has not left: it is counted now. Returns when it
    /// leaves.
    pub(crate) fn count_alone(&mut self) -> SimTime {
        if let Some(limit) = &mut self.limit {
            limit.add(self.frame.length);
        }
        self.free_at
    }

    /// Bytes of the frame taken last, without FCS.
    #[inline]
    pub(crate) fn last_length(&self) -> u64 {
        self.frame.length
    }

    /// The last frame has not left yet.
    #[inline]
    pub(crate) fn is_busy(&self, now: SimTime) -> bool {
        self.free_at > now
    }

    /// It sends at a rate, not by a trace.
    pub(crate) fn has_rate(&self) -> bool {
        self.opportunities.is_none()
    }

    /// From now on frames are sent at `rate`. The one on the wire, whose last bit leaves at `departure`, keeps its
    /// own; those behind it get other times, from `occupy`.
    pub(crate) fn change_rate(&mut self, rate: Rate, departure: Option<SimTime>) {
        self.bits_per_sec = rate.bits_per_sec();
        self.frame = Frame::default();
        self.remainder = 0;
        self.free_at = departure.unwrap_or(SimTime::ZERO);
    }

    /// The frame of a packet occupies the wire as soon as the wire is free. Returns when its last bit leaves.
    #[inline]
    pub(crate) fn occupy(&mut self, packet: &Packet, now: SimTime) -> SimTime {
        if self.free_at < now {
            (self.free_at, self.remainder) = (now, 0);
        }
        if !self.frame.is_like(packet) {
            self.frame = Frame::of(packet, self.bits_per_sec, self.overhead);
        }
        self.free_at += self.frame.nanos;
        self.remainder += self.frame.remainder;
        if self.remainder >= self.bits_per_sec {
            self.remainder -= self.bits_per_sec;
            self.free_at += Span::from_nanos(1);
        }
        self.free_at
    }

    /// The one or two frames in the ring have left. False if the byte limit must be adapted: nothing was done then.
    #[inline]
    pub(crate) fn complete_few(&mut self, frames: usize) -> bool {
        self.limit.as_mut().is_none_or(|limit| limit.complete_few(frames))
    }

    /// A frame of `length` left at `departure`.
    #[inline]
    pub(crate) fn complete(&mut self, length: u32, departure: SimTime) {
        if let Some(limit) = &mut self.limit {
            limit.complete(u64::from(length), departure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::datagram;

    fn nic(bits_per_sec: u64) -> Nic {
        Nic::new(Rate::from_bits_per_sec(bits_per_sec), 4, false)
    }

    fn departures(bits_per_sec: u64, ip_lengths: &[u32]) -> Vec<u64> {
        let mut nic = nic(bits_per_sec);
        ip_lengths.iter().map(|&length| nic.take(&datagram(length), SimTime::ZERO).as_nanos()).collect()
    }

    #[test]
    fn a_full_frame_occupies_a_10_mbit_wire_for_1230_4_us() {
        assert_eq!(departures(10_000_000, &[1500]), [1_230_400]);
    }

    #[test]
    fn a_short_frame_is_padded_to_84_bytes_of_wire() {
        assert_eq!(departures(1_000_000_000, &[28]), [672]);
    }

    #[test]
    fn three_frames_of_4101_and_a_third_ns_take_12304_ns_together() {
        assert_eq!(departures(3_000_000_000, &[1500; 3]), [4_101, 8_202, 12_304]);
    }

    #[test]
    fn after_a_pause_the_fraction_is_forgotten() {
        let mut nic = nic(3_000_000_000);
        for start in [0, 10_000, 20_000].map(SimTime::from_nanos) {
            assert_eq!(nic.take(&datagram(1500), start), start + Span::from_nanos(4_101));
        }
    }

    #[test]
    fn a_full_ring_stops_the_queue() {
        assert!(nic(1).accepts(3));
        assert!(!nic(1).accepts(4));
    }

    /// A NIC whose byte limit has grown to several frames, with an empty ring, and the present time.
    fn busy_before() -> (Nic, SimTime) {
        let mut nic = Nic::new(Rate::from_bits_per_sec(3_000_000_000), 64, true);
        let mut now = SimTime::ZERO;
        for _ in 0..8 {
            let packet = datagram(1500);
            let mut departures = Vec::new();
            while nic.accepts(departures.len()) {
                departures.push(nic.take(&packet, now));
            }
            for departure in departures {
                nic.complete(packet.frame_length(), departure);
                now = departure;
            }
        }
        (nic, now + Span::from_nanos(1_000_000))
    }

    #[test]
    fn a_frame_alone_in_the_ring_leaves_the_same_without_being_counted() {
        let (mut counted, start) = busy_before();
        let (mut alone, _) = busy_before();
        let mut taken_alone = 0;
        for (number, length) in [1500, 28, 40, 1500, 1500, 9000].into_iter().enumerate() {
            let (packet, now) = (datagram(length), start + Span::from_nanos(100_000 * number as u64));
            let departure = counted.take(&packet, now);
            match alone.take_alone(&packet, now) {
                Some(early) => {
                    assert_eq!(early, departure);
                    taken_alone += 1;
                    if number == 3 {
                        // Another frame comes before it has left: both are in the ring.
                        assert_eq!(alone.count_alone(), departure);
                        let next = datagram(1500);
                        assert_eq!(alone.take(&next, now), counted.take(&next, now));
                        for nic in [&mut alone, &mut counted] {
                            nic.complete(packet.frame_length(), departure);
                            nic.complete(next.frame_length(), nic.free_at);
                        }
                        continue;
                    }
                }
                None => {
                    assert_eq!(alone.take(&packet, now), departure);
                    alone.complete(packet.frame_length(), departure);
                }
            }
            counted.complete(packet.frame_length(), departure);
        }
        assert!(taken_alone >= 4, "{taken_alone}");
        let after = start + Span::from_nanos(1_000_000);
        let fill = |nic: &mut Nic| -> Vec<_> {
            let mut departures = Vec::new();
            while nic.accepts(departures.len()) {
                departures.push(nic.take(&datagram(1500), after));
            }
            departures
        };
        assert_eq!(fill(&mut alone), fill(&mut counted));
    }
}
