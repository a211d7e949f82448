//! How a host takes what arrives on a wire: by interrupts of its NIC, and with or without GRO.
//!
//! interrupt = max(arrival, last interrupt + interval)      [linux-6.12 intel/e1000e/netdev.c e1000_set_itr, E1000_ITR]
//!
//! One poll takes all packets that have arrived by then. With generic receive offload (GRO) it merges consecutive
//! segments of a flow, so that TCP receives fewer and larger ones and sends fewer ACKs; the end of a poll ends every
//! merge. What GRO does not hold goes up at once, before what it holds. [linux-6.12 gro.c dev_gro_receive, dev.c
//! napi_complete_done]
//!
//! Deviations: the interval is constant, where drivers adapt it to the traffic (e1000e and igb keep their 50 µs while
//! fewer than 10 kB arrive per interrupt, which is all that a gigabit link carries meanwhile); a poll takes no time and has
//! no budget; packets that the host forwards are not merged; the number of flows that GRO holds at once has no limit.

use tailback_packet::{HostId, Merged, Packet};
use tailback_units::{SimTime, Span};

/// Whether consecutive segments are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReceiveOffload {
    /// They are.
    Gro,
    /// Each is passed on by itself.
    Off,
}

/// The packets that wait for the next interrupt of one NIC.
#[derive(Debug)]
pub(crate) struct Napi {
    interval: Span,
    offload: ReceiveOffload,
    #[expect(clippy::vec_box, reason = "packets travel in boxes")]
    waiting: Vec<Box<Packet>>,
    /// The next interrupt is not before this.
    not_before: SimTime,
}

impl Napi {
    /// NAPI of a NIC; none if each packet is an interrupt and nothing is merged.
    pub(crate) fn new(interval: Span, offload: ReceiveOffload) -> Option<Self> {
        let plain = interval.is_zero() && offload == ReceiveOffload::Off;
        let napi = Napi { interval, offload, waiting: Vec::new(), not_before: SimTime::ZERO };
        (!plain).then_some(napi)
    }

    /// Packets that wait.
    pub(crate) fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// A packet arrives. Returns when its interrupt comes, unless packets before it wait for the same.
    pub(crate) fn hold(&mut self, packet: Box<Packet>, now: SimTime) -> Option<SimTime> {
        let is_first = self.waiting.is_empty();
        self.waiting.push(packet);
        is_first.then_some(self.not_before.max(now))
    }

    /// The interrupt comes: what the host receives, in order, and the packets that were merged into others.
    pub(crate) fn poll(&mut self, host: HostId, now: SimTime) -> Polled {
        self.not_before = now + self.interval;
        let waiting = std::mem::take(&mut self.waiting);
        match self.offload {
            ReceiveOffload::Off => Polled { received: waiting, merged: Vec::new() },
            ReceiveOffload::Gro => Polled::with_gro(waiting, host),
        }
    }
}

/// The result of one poll.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "packets travel in boxes")]
pub(crate) struct Polled {
    /// The packets that the host receives.
    pub(crate) received: Vec<Box<Packet>>,
    /// Their content is part of those.
    pub(crate) merged: Vec<Box<Packet>>,
}

impl Polled {
    #[expect(clippy::vec_box, reason = "packets travel in boxes")]
    fn with_gro(waiting: Vec<Box<Packet>>, host: HostId) -> Self {
        let mut polled = Polled::default();
        let mut held: Vec<Box<Packet>> = Vec::new();
        for packet in waiting {
            if let Some(place) = held.iter().position(|one| one.is_of_same_flow(&packet)) {
                let merged = held[place].merge(&packet);
                if merged != Merged::Open {
                    polled.received.push(held.remove(place));
                }
                if merged != Merged::No {
                    polled.merged.push(packet);
                    continue;
                }
            }
            let grows = packet.destination == host && packet.begins_merge();
            if grows { &mut held } else { &mut polled.received }.push(packet);
        }
        polled.received.append(&mut held);
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::datagram;
    use tailback_packet::{Payload, SackBlocks, Segment, SegmentFlags, SocketId, Timestamp};

    const INTERVAL: Span = Span::from_micros(50);

    fn us(micros: u64) -> SimTime {
        SimTime::from_nanos(1_000 * micros)
    }

    /// A segment of a flow to host 1.
    fn segment(flow: u32, number: u64) -> Box<Packet> {
        let segment = Segment {
            seq: 1 + number * 1448,
            length: 1448,
            ack: 1,
            window: 65_536,
            flags: SegmentFlags::ACK,
            mss: 1448,
            tsval: Timestamp::NONE,
            tsecr: Timestamp::NONE,
            sack: SackBlocks::NONE,
        };
        Box::new(Packet { from: SocketId(flow), payload: Payload::Tcp(segment), ..datagram(1500) })
    }

    fn gro() -> Napi {
        Napi::new(INTERVAL, ReceiveOffload::Gro).expect("it merges")
    }

    /// The flow and the number of segments of each packet received.
    fn received(packets: impl IntoIterator<Item = Box<Packet>>) -> Vec<(u32, u16)> {
        let mut napi = gro();
        for packet in packets {
            napi.hold(packet, us(0));
        }
        let polled = napi.poll(HostId(1), us(0));
        polled.received.iter().map(|packet| (packet.from.0, packet.segments)).collect()
    }

    #[test]
    fn the_first_packet_after_a_pause_interrupts_at_once_and_the_next_after_the_interval() {
        let mut napi = gro();
        assert_eq!(napi.hold(segment(0, 0), us(100)), Some(us(100)));
        assert_eq!(napi.poll(HostId(1), us(100)).received.len(), 1);
        assert_eq!(napi.hold(segment(0, 1), us(112)), Some(us(150)));
        assert_eq!(napi.hold(segment(0, 2), us(124)), None);
        assert_eq!(napi.packets(), 2);
        assert_eq!(napi.poll(HostId(1), us(150)).received.len(), 1);
        assert_eq!(napi.hold(segment(0, 3), us(300)), Some(us(300)));
    }

    #[test]
    fn a_nic_without_either_holds_nothing() {
        assert!(Napi::new(Span::ZERO, ReceiveOffload::Off).is_none());
    }

    #[test]
    fn without_gro_a_poll_passes_on_each_packet() {
        let mut napi = Napi::new(INTERVAL, ReceiveOffload::Off).expect("it has an interval");
        for number in 0..3 {
            napi.hold(segment(0, number), us(0));
        }
        assert_eq!(napi.poll(HostId(1), us(0)).received.len(), 3);
    }

    #[test]
    fn the_segments_of_each_flow_are_merged() {
        let packets = [segment(0, 0), segment(2, 0), segment(0, 1), segment(2, 1), segment(0, 2)];
        assert_eq!(received(packets), [(0, 3), (2, 2)]);
    }

    #[test]
    fn a_gap_ends_a_merge_and_begins_another() {
        let packets = [segment(0, 0), segment(0, 1), segment(0, 3), segment(0, 4)];
        assert_eq!(received(packets), [(0, 2), (0, 2)]);
    }

    #[test]
    fn what_is_not_merged_goes_up_before_what_is() {
        let ping = Box::new(Packet { from: SocketId(9), ..datagram(84) });
        assert_eq!(received([segment(0, 0), segment(0, 1), ping]), [(9, 1), (0, 2)]);
    }

    #[test]
    fn segments_for_another_host_are_not_merged() {
        let elsewhere = |number| Box::new(Packet { destination: HostId(2), ..*segment(0, number) });
        assert_eq!(received([elsewhere(0), elsewhere(1)]), [(0, 1), (0, 1)]);
    }
}
