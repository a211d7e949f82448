//! Splits a packet of several segments.
//!
//! The headers are repeated, PSH and FIN go to the last segment. Each has a buffer of its own, so that together they
//! cost more memory than the train did. [linux-6.12 tcp_offload.c tcp_gso_segment]

use crate::{Packet, Payload, Segment, SegmentFlags};

impl Packet {
    /// The segments of a train; the packet itself if it is not a train.
    pub fn into_segments(self) -> Vec<Packet> {
        let Payload::Tcp(train) = &self.payload else { return vec![self] };
        let count = u32::from(self.segments);
        let headers = (self.ip_length - train.length) / count;
        let memory = self.memory_beside_payload(train.length);
        let one = |number| {
            let segment = segment_of(train, number, number + 1 == count);
            Packet {
                ip_length: headers + segment.length,
                segments: 1,
                truesize: memory + segment.length,
                payload: Payload::Tcp(segment),
                ..self.clone()
            }
        };
        (0..count).map(one).collect()
    }

    /// Memory that its segments cost in addition to its own.
    pub fn memory_to_segment(&self) -> u32 {
        match &self.payload {
            Payload::Tcp(train) => u32::from(self.segments - 1) * self.memory_beside_payload(train.length),
            _ => 0,
        }
    }

    fn memory_beside_payload(&self, length: u32) -> u32 {
        self.truesize.saturating_sub(length)
    }
}

/// Segment `number` of a train.
fn segment_of(train: &Segment, number: u32, last: bool) -> Segment {
    let before = number * u32::from(train.mss);
    let length = (train.length - before).min(u32::from(train.mss));
    let ends = SegmentFlags::PSH.with(SegmentFlags::FIN);
    let flags = if last { train.flags } else { train.flags.without(ends) };
    Segment { seq: train.seq + u64::from(before), length, mss: length as u16, flags, ..train.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, HostId, SackBlocks, SocketId, Timestamp};
    use tailback_units::SimTime;

    fn train() -> Packet {
        let segment = Segment {
            seq: 1,
            length: 3 * 1448 + 100,
            ack: 1,
            window: 65_536,
            flags: SegmentFlags::ACK.with(SegmentFlags::PSH),
            mss: 1448,
            tsval: Timestamp::NONE,
            tsecr: Timestamp::NONE,
            sack: SackBlocks::NONE,
        };
        Packet {
            from: SocketId(0),
            to: SocketId(1),
            source: HostId(0),
            destination: HostId(1),
            ip_length: segment.length + 4 * 52,
            segments: segment.count(),
            ecn: Ecn::NotEct,
            tos: 0,
            flow_hash: 0,
            truesize: 960 + segment.length,
            charged: true,
            queue_length: crate::QueueLength::NONE,
            enqueued: SimTime::ZERO,
            departure: SimTime::ZERO,
            payload: Payload::Tcp(segment),
        }
    }

    fn segment(packet: &Packet) -> &Segment {
        let Payload::Tcp(segment) = &packet.payload else { panic!("a train is TCP") };
        segment
    }

    #[test]
    fn a_train_is_cut_into_full_segments_and_a_rest() {
        let packets = train().into_segments();
        let lengths: Vec<_> =
            packets.iter().map(|packet| (packet.ip_length, segment(packet).length)).collect();
        assert_eq!(lengths, [(1500, 1448), (1500, 1448), (1500, 1448), (152, 100)]);
        assert_eq!(segment(&packets[2]).seq, 1 + 2 * 1448);
        let frames: u32 = packets.iter().map(Packet::frame_length).sum();
        assert_eq!(frames, train().frame_length());
    }

    #[test]
    fn only_the_last_segment_pushes() {
        let pushes = |packet: &Packet| segment(packet).flags.contains(SegmentFlags::PSH);
        let packets = train().into_segments();
        assert_eq!(packets.iter().map(pushes).collect::<Vec<_>>(), [false, false, false, true]);
    }

    #[test]
    fn segments_cost_the_memory_of_the_train_and_a_head_for_each_but_one() {
        let together: u32 = train().into_segments().iter().map(|packet| packet.truesize).sum();
        assert_eq!(together, train().truesize + train().memory_to_segment());
        assert_eq!(train().memory_to_segment(), 3 * 960);
    }
}
