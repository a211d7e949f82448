//! The ACK filter: which ACKs of a queue are redundant because of later ones. [linux-6.12 sch_cake.c cake_ack_filter]

use std::collections::VecDeque;

use tailback_packet::{Packet, Payload, Segment, SegmentFlags};

/// How many ACKs are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AckFilter {
    Off,
    Normal,
    Aggressive,
}

/// The first of the older pure ACKs that the last packet of a queue makes redundant, if there is a second one or, with
/// `ack-filter-aggressive`, if it is the packet before.
pub(super) fn superfluous_ack(queue: &VecDeque<Box<Packet>>, filter: AckFilter) -> Option<usize> {
    let last = queue.back()?;
    let newest = acknowledgement(last)?;
    let covered = |packet: &Packet| {
        let same = packet.from == last.from && packet.to == last.to;
        same && pure_ack(packet).is_some_and(|older| is_superseded_by(older, newest))
    };
    let before = queue.len() - 1;
    let mut older = (0..before).filter(|&place| covered(&queue[place]));
    let first = older.next()?;
    let spared = match filter {
        AckFilter::Aggressive => older.next().is_none() && first + 1 != before,
        _ => older.next().is_none(),
    };
    (!spared).then_some(first)
}

fn acknowledgement(packet: &Packet) -> Option<&Segment> {
    let Payload::Tcp(segment) = &packet.payload else { return None };
    let unsafe_flags = [SegmentFlags::SYN, SegmentFlags::FIN, SegmentFlags::RST];
    let plain = !unsafe_flags.iter().any(|&flag| segment.flags.contains(flag));
    (plain && segment.flags.contains(SegmentFlags::ACK)).then_some(segment)
}

fn pure_ack(packet: &Packet) -> Option<&Segment> {
    acknowledgement(packet).filter(|segment| segment.length == 0)
}

/// True if the newer ACK acknowledges, echoes and reports at least what the older one does.
fn is_superseded_by(older: &Segment, newer: &Segment) -> bool {
    let echo =
        |segment: &Segment| [SegmentFlags::ECE, SegmentFlags::CWR].map(|flag| segment.flags.contains(flag));
    let reported = |start: u64, end: u64| {
        end <= newer.ack || newer.sack.as_slice().iter().any(|block| block.start <= start && end <= block.end)
    };
    older.ack <= newer.ack
        && older.tsval <= newer.tsval
        && echo(older) == echo(newer)
        && older.sack.as_slice().iter().all(|block| reported(block.start, block.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Enqueued;
    use crate::testing::{Rig, packet};
    use tailback_packet::{DropReason, SackBlocks, Timestamp};
    use tailback_units::SimTime;

    const TEN_MBIT: (&str, u64) = ("bandwidth", 10_000_000);

    fn ack(number: u64) -> Packet {
        let segment = Segment {
            seq: 1,
            length: 0,
            ack: number,
            window: 65_535,
            flags: SegmentFlags::ACK,
            mss: 1448,
            tsval: Timestamp::at(SimTime::ZERO),
            tsecr: Timestamp::NONE,
            sack: SackBlocks::NONE,
        };
        Packet { payload: Payload::Tcp(segment), ..packet(0, 66) }
    }

    #[test]
    fn of_three_acks_the_first_is_redundant_and_of_two_none() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 1)]);
        rig.enqueue(ack(1000));
        rig.enqueue(ack(2000));
        assert_eq!(rig.counter("ack_drops"), 0);
        for number in 3..=10 {
            rig.enqueue(ack(number * 1000));
        }
        assert_eq!((rig.counter("ack_drops"), rig.qdisc.backlog().packets), (8, 2));
        assert!(rig.effects.dropped.iter().all(|(_, why)| *why == DropReason::AckFiltered));
    }

    #[test]
    fn an_aggressive_filter_keeps_one_ack() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 2)]);
        (1..=5).for_each(|number| assert_eq!(rig.enqueue(ack(number * 1000)), Enqueued::Queued));
        assert_eq!(rig.qdisc.backlog().packets, 1);
    }

    #[test]
    fn an_ack_that_echoes_congestion_is_kept() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 1)]);
        let Payload::Tcp(segment) = ack(1500).payload else { unreachable!("an ACK") };
        let flags = segment.flags.with(SegmentFlags::ECE);
        rig.enqueue(Packet { payload: Payload::Tcp(Segment { flags, ..segment }), ..ack(1500) });
        rig.enqueue(ack(2000));
        rig.enqueue(ack(3000));
        assert_eq!(rig.counter("ack_drops"), 0);
    }
}
