//! The packets that a socket sends: handshake, data, ACKs.

use tailback_packet::{Ecn, Packet, Payload, SackBlocks, Segment, SegmentFlags, Timestamp};
use tailback_units::SimTime;

use super::Endpoint;
use crate::accecn::options_length;
use crate::clock::timestamp;
use crate::output::Outgoing;
use crate::sending_half::SendingHalf;

/// Truesize of a pure ACK, which is charged only at its receiver.
pub(super) const ACK_TRUESIZE: u32 = 768;

impl<S: SendingHalf> Endpoint<S> {
    /// An ACK without data.
    #[inline(never)]
    pub(super) fn pure_ack(&mut self) -> Segment {
        let (window, sacks) = self.receiver.acknowledge();
        let (flags, sacks) = self.complete_ack(sacks);
        self.acknowledgement(self.sender.now(), (window, sacks), flags)
    }

    /// Writes an ACK without data over `packet`.
    #[inline(never)]
    pub(super) fn write_ack(&mut self, packet: &mut Packet) {
        self.write_ack_inlined(packet);
    }

    /// Writes an ACK without data over `packet`, inlined for receivers: nearly all ACKs are written here.
    #[inline(always)]
    pub(super) fn write_ack_inlined(&mut self, packet: &mut Packet) {
        let now = self.sender.now();
        let (window, sacks) = self.receiver.acknowledge_inlined();
        let (flags, sacks, ecn) = match self.sender.ecn().is_in_use() {
            true => {
                let (flags, sacks) = self.complete_ack(sacks);
                (flags, sacks, self.sender.ecn().code_point(false))
            }
            false => (SegmentFlags::ACK, sacks, Ecn::NotEct),
        };
        let segment = self.acknowledgement(now, (window, sacks), flags);
        packet.ecn = ecn;
        packet.charged = false;
        self.write_over(packet, segment, 1, ACK_TRUESIZE, now);
    }

    /// A segment without data that leaves at `departure`, with a window, SACK blocks and flags.
    #[inline(always)]
    fn acknowledgement(
        &self,
        departure: SimTime,
        (window, sack): (u64, SackBlocks),
        flags: SegmentFlags,
    ) -> Segment {
        let seq = self.sender.snd_nxt();
        Segment {
            seq,
            length: 0,
            ack: self.receiver.rcv_nxt,
            window,
            flags,
            mss: 0,
            tsval: match self.sender.agreement().timestamps {
                true => Timestamp::at(timestamp(departure)),
                false => Timestamp::NONE,
            },
            tsecr: self.receiver.timestamp_echo(),
            sack,
        }
    }

    /// Writes a packet with data, or with FIN alone, over `packet`.
    #[inline(never)]
    pub(super) fn write_data(&mut self, packet: &mut Packet, outgoing: &Outgoing) {
        let &Outgoing { seq, length, mss, truesize, push, fin, departure } = outgoing;
        if length > 0 {
            self.receiver.answered(self.sender.now());
        }
        let told = self.receiver.acknowledge();
        let mut segment = self.acknowledgement(departure, told, SegmentFlags::ACK);
        segment.seq = seq;
        segment.length = length;
        segment.mss = length.min(mss) as u16;
        if push {
            segment.flags = segment.flags.with(SegmentFlags::PSH);
        }
        if fin {
            segment.flags = segment.flags.with(SegmentFlags::FIN);
        }
        packet.ecn = Ecn::NotEct;
        if self.sender.ecn().is_in_use() {
            // A FIN alone is no data. [linux-6.12 tcp_output.c tcp_ecn_send]
            let is_new = length > 0 && seq >= self.sender.snd_nxt();
            self.complete_data(&mut segment);
            if is_new {
                segment.flags = self.sender.ecn_mut().confirm(segment.flags);
            }
            packet.ecn = self.sender.ecn().code_point(is_new);
        }
        packet.charged = true;
        let segments = if length <= mss { 1 } else { segment.count() };
        self.write_over(packet, segment, segments, truesize, departure);
    }

    /// As [`Endpoint::write_data`] for a full segment without flags that repeats the last ACK, as nearly all data is, while
    /// ECN is not in use.
    #[inline(always)]
    pub(super) fn write_full_segment(&mut self, packet: &mut Packet, outgoing: &Outgoing) {
        let &Outgoing { seq, length, mss, truesize, push, fin, departure } = outgoing;
        debug_assert!(length == mss && !push && !fin);
        self.receiver.answered(self.sender.now());
        let told = (self.receiver.repeat_ack(), SackBlocks::NONE);
        let mut segment = self.acknowledgement(departure, told, SegmentFlags::ACK);
        (segment.seq, segment.length, segment.mss) = (seq, length, length as u16);
        packet.ecn = Ecn::NotEct;
        packet.charged = true;
        self.write_over(packet, segment, 1, truesize, departure);
    }

    #[cold]
    pub(super) fn packet(&self, segment: Segment, truesize: u32, departure: SimTime) -> Packet {
        let mut packet = Packet::empty();
        let carries_syn = segment.flags.contains(SegmentFlags::SYN);
        packet.ecn = match carries_syn {
            true => self.sender.ecn().handshake_code_point(),
            false => self.sender.ecn().code_point(false),
        };
        let segments = segment.count();
        self.write_over(&mut packet, segment, segments, truesize, departure);
        if carries_syn {
            packet.ip_length += self.handshake_options().length();
            packet.ip_length -= self.timestamp_option();
        }
        packet
    }

    /// Writes a packet with `segment`, which has no SYN and represents `segments`, over `packet`, except its ECN bits and
    /// whether it is charged, and except what the host fills in: its number and the type of service. The fields are
    /// written one by one because copying a whole packet is expensive.
    #[inline(always)]
    fn write_over(
        &self,
        packet: &mut Packet,
        segment: Segment,
        segments: u16,
        truesize: u32,
        departure: SimTime,
    ) {
        debug_assert_eq!(segments, segment.count());
        let headers = self.headers + options_length(&segment.sack);
        packet.from = self.addresses.socket;
        packet.to = self.addresses.peer;
        packet.destination = self.addresses.peer_host;
        packet.ip_length = headers * u32::from(segments) + segment.length;
        packet.segments = segments;
        packet.flow_hash = self.addresses.flow_hash;
        packet.truesize = truesize;
        packet.enqueued = SimTime::ZERO;
        packet.departure = departure;
        overwrite(segment_of(packet), segment);
    }

    fn timestamp_option(&self) -> u32 {
        self.sender.agreement().timestamp_option()
    }
}

/// The segment that a packet carries; one that carries something else gets an empty one.
#[inline]
fn segment_of(packet: &mut Packet) -> &mut Segment {
    if !matches!(packet.payload, Payload::Tcp(_)) {
        make_segment(packet);
    }
    match &mut packet.payload {
        Payload::Tcp(segment) => segment,
        _ => unreachable!("it was made one"),
    }
}

#[cold]
fn make_segment(packet: &mut Packet) {
    packet.payload = Payload::Tcp(Segment::default());
}

/// Replaces a segment field by field; that its SACK blocks may have to be freed would otherwise make a copy of all of them.
fn overwrite(before: &mut Segment, segment: Segment) {
    let Segment { seq, length, ack, window, flags, mss, tsval, tsecr, sack } = segment;
    (before.seq, before.length, before.ack, before.window) = (seq, length, ack, window);
    (before.flags, before.mss, before.tsval, before.tsecr) = (flags, mss, tsval, tsecr);
    before.sack = sack;
}
