//! Merges a segment with the ones that follow it, as generic receive offload (GRO) does.
//!
//! Segments of one flow become one packet while each is the next in sequence, no longer than the first, and has the same
//! acknowledgement number, options, flags and IP octets. A segment that is shorter or carries PSH or FIN is the last. A
//! pure ACK is never merged. [linux-6.12 tcp_offload.c tcp_gro_receive, gro.c skb_gro_receive]

use crate::{Packet, Payload, Segment, SegmentFlags};

/// Longest merged packet in bytes. [linux-6.12 netdevice.h GRO_LEGACY_MAX_SIZE]
const LONGEST: u32 = 65_536;

/// Whether a segment was merged with the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merged {
    /// It was, and the next one can be.
    Open,
    /// It was, as the last one.
    Complete,
    /// It was not.
    No,
}

impl Packet {
    /// Whether GRO holds it for the segments that follow it: data that neither pushes nor ends the stream.
    pub fn begins_merge(&self) -> bool {
        let Payload::Tcp(segment) = &self.payload else { return false };
        segment.length > 0 && !ends_merge(segment)
    }

    /// Both belong to the same direction of the same connection.
    pub fn is_of_same_flow(&self, other: &Packet) -> bool {
        (self.from, self.to) == (other.from, other.to)
    }

    /// Merges the segment that was received after it, if GRO does.
    pub fn merge(&mut self, next: &Packet) -> Merged {
        let alike = (self.ecn, self.tos) == (next.ecn, next.tos);
        let fits = self.ip_length + next.ip_length < LONGEST;
        let (Payload::Tcp(held), Payload::Tcp(segment)) = (&mut self.payload, &next.payload) else {
            return Merged::No;
        };
        if !(alike && fits && follows(held, segment)) {
            return Merged::No;
        }
        let is_last = segment.length < u32::from(held.mss) || ends_merge(segment);
        held.length += segment.length;
        held.flags = held.flags.with(segment.flags);
        self.ip_length += next.ip_length;
        self.segments += next.segments;
        self.truesize += next.truesize;
        if is_last { Merged::Complete } else { Merged::Open }
    }
}

/// `next` continues what is held, with the same header but for PSH and FIN.
fn follows(held: &Segment, next: &Segment) -> bool {
    let may_differ = SegmentFlags::PSH.with(SegmentFlags::FIN);
    let sized = (1..=u32::from(held.mss)).contains(&next.length);
    sized
        && next.seq == held.seq + u64::from(held.length)
        && next.ack == held.ack
        && next.flags.without(may_differ) == held.flags
        && !next.flags.contains(SegmentFlags::CWR)
        && (next.tsval, next.tsecr) == (held.tsval, held.tsecr)
        && next.sack == held.sack
}

fn ends_merge(segment: &Segment) -> bool {
    [SegmentFlags::PSH, SegmentFlags::FIN, SegmentFlags::SYN, SegmentFlags::RST]
        .iter()
        .any(|&flag| segment.flags.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, SackBlock, SackBlocks, SocketId, Timestamp};
    use tailback_units::SimTime;

    const MSS: u32 = 1448;

    /// Segment `number` of a stream of full segments.
    fn segment(number: u64) -> Segment {
        Segment {
            seq: 1 + number * u64::from(MSS),
            length: MSS,
            ack: 1,
            window: 65_536,
            flags: SegmentFlags::ACK,
            mss: MSS as u16,
            tsval: Timestamp::at(SimTime::from_nanos(1_000_000)),
            tsecr: Timestamp::at(SimTime::from_nanos(2_000_000)),
            sack: SackBlocks::NONE,
        }
    }

    fn packet(segment: Segment) -> Packet {
        Packet {
            from: SocketId(0),
            to: SocketId(1),
            ip_length: segment.length + 52,
            segments: 1,
            truesize: segment.length + 856,
            payload: Payload::Tcp(segment),
            ..Packet::empty()
        }
    }

    fn numbered(number: u64) -> Packet {
        packet(segment(number))
    }

    fn merged(change: impl FnOnce(&mut Segment)) -> Merged {
        let mut next = segment(1);
        change(&mut next);
        numbered(0).merge(&packet(next))
    }

    #[test]
    fn consecutive_segments_become_one_packet() {
        let mut packet = numbered(0);
        assert!(packet.begins_merge());
        assert_eq!(packet.merge(&numbered(1)), Merged::Open);
        assert_eq!(packet.merge(&numbered(2)), Merged::Open);
        assert_eq!((packet.segments, packet.ip_length, packet.truesize), (3, 3 * 1500, 3 * 2304));
        let Payload::Tcp(held) = &packet.payload else { panic!("it is TCP") };
        assert_eq!((held.seq, held.length, held.mss), (1, 3 * MSS, MSS as u16));
    }

    #[test]
    fn a_gap_another_header_or_a_longer_segment_is_not_merged() {
        assert_eq!(numbered(0).merge(&numbered(2)), Merged::No);
        assert_eq!(merged(|next| next.ack = 2), Merged::No);
        assert_eq!(merged(|next| next.tsval = Timestamp::at(SimTime::from_nanos(3_000_000))), Merged::No);
        assert_eq!(merged(|next| next.flags = next.flags.with(SegmentFlags::ECE)), Merged::No);
        assert_eq!(merged(|next| next.flags = next.flags.with(SegmentFlags::CWR)), Merged::No);
        assert_eq!(merged(|next| next.length += 1), Merged::No);
        let block = SackBlock { start: 5, end: 9 };
        assert_eq!(merged(|next| next.sack = SackBlocks::new(vec![block])), Merged::No);
        assert_eq!(merged(|next| next.window = 1), Merged::Open);
    }

    #[test]
    fn a_marked_segment_is_not_merged_with_one_that_is_not() {
        let marked = Packet { ecn: Ecn::Ce, ..numbered(1) };
        assert_eq!(numbered(0).merge(&marked), Merged::No);
    }

    #[test]
    fn a_short_segment_and_one_that_pushes_are_the_last() {
        assert_eq!(merged(|next| next.length = 100), Merged::Complete);
        assert_eq!(merged(|next| next.flags = next.flags.with(SegmentFlags::PSH)), Merged::Complete);
        assert_eq!(merged(|next| next.flags = next.flags.with(SegmentFlags::FIN)), Merged::Complete);
    }

    #[test]
    fn pure_acks_and_segments_that_push_begin_nothing() {
        assert!(!packet(Segment { length: 0, mss: 0, ..segment(0) }).begins_merge());
        let flags = SegmentFlags::ACK.with(SegmentFlags::PSH);
        assert!(!packet(Segment { flags, ..segment(0) }).begins_merge());
        assert_eq!(merged(|next| next.length = 0), Merged::No);
    }

    #[test]
    fn a_merged_packet_is_shorter_than_64_kib() {
        let mut packet = numbered(0);
        let count = (1..100).take_while(|&number| packet.merge(&numbered(number)) == Merged::Open).count();
        assert_eq!((count + 1, packet.ip_length), (43, 64_500));
    }
}
