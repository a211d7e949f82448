//! Shared by the tests of this crate: packets, and a test bench of a discipline with its own clock.

use std::collections::BTreeMap;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256StarStar;
use tailback_packet::{ETHERNET_HEADER, Ecn, HostId, Packet, Payload, SocketId};
use tailback_units::{Bytes, Parameters, Rate, SimTime, Span};

use crate::{Attachment, Dequeued, Effects, Enqueued, Inner, Qdisc, Row, registry};

/// A packet of `flow` whose frame has `length` bytes.
pub(crate) fn packet(flow: u32, length: u32) -> Packet {
    Packet {
        from: SocketId(flow),
        to: SocketId(flow),
        source: HostId(0),
        destination: HostId(1),
        ip_length: length - ETHERNET_HEADER,
        segments: 1,
        ecn: Ecn::NotEct,
        tos: 0,
        flow_hash: flow.wrapping_mul(0x9e37_79b1),
        truesize: 2304,
        charged: false,
        queue_length: tailback_packet::QueueLength::NONE,
        enqueued: SimTime::ZERO,
        departure: SimTime::ZERO,
        payload: Payload::EchoRequest { seq: 0 },
    }
}

/// A full frame of `flow` with a number that [`number`] reads.
pub(crate) fn numbered(flow: u32, seq: u32) -> Packet {
    Packet { payload: Payload::EchoRequest { seq }, ..packet(flow, 1514) }
}

/// The number of a [`numbered`] packet.
pub(crate) fn number(packet: &Packet) -> u32 {
    match packet.payload {
        Payload::EchoRequest { seq } => seq,
        _ => unreachable!("tests send numbered packets only"),
    }
}

/// Values for the required parameters of a row.
pub(crate) fn required(row: &Row) -> Parameters {
    let given: &[(&str, u64)] = match row.name {
        "htb" => &[("rate", 1_000_000)],
        "tbf" => &[("rate", 1_000_000), ("burst", 5_000), ("limit", 100_000)],
        "choke" => &[("limit", 400), ("bandwidth", 10_000_000)],
        "red" => &[("limit", 400_000), ("avpkt", 1_000)],
        _ => &[],
    };
    Parameters::new(given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
}

/// A discipline, a clock, random numbers, and the side effects of its calls.
pub(crate) struct Rig {
    pub qdisc: Box<dyn Qdisc>,
    pub now: SimTime,
    pub effects: Effects,
    pub draws: Xoshiro256StarStar,
}

impl Rig {
    /// The discipline `kind` with these parameters on a veth.
    pub fn of(kind: &str, given: &[(&str, u64)]) -> Rig {
        Rig::over(kind, given, None)
    }

    /// A discipline of this kind over a child, with parameters by name.
    pub fn over(kind: &str, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> Rig {
        Rig::over_classes(kind, given, Inner::child(child))
    }

    /// A discipline of this kind over classes or a child, with parameters by name.
    pub fn over_classes(kind: &str, given: &[(&str, u64)], inner: Inner) -> Rig {
        let values: BTreeMap<_, _> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let qdisc = registry::build_over(kind, &Parameters::new(values), &Attachment::default(), inner);
        Rig {
            qdisc: qdisc.unwrap_or_else(|error| panic!("{error}")),
            now: SimTime::ZERO,
            effects: Effects::default(),
            draws: Xoshiro256StarStar::seed_from_u64(1),
        }
    }

    /// Enqueues a packet, and then its copies.
    pub fn enqueue(&mut self, packet: Packet) -> Enqueued {
        let answer = self.hand_over(Box::new(packet), false);
        while let Some(copy) = self.effects.copies.pop() {
            self.hand_over(copy, true);
        }
        answer
    }

    fn hand_over(&mut self, packet: Box<Packet>, is_copy: bool) -> Enqueued {
        let context = self.effects.context(self.now, &mut self.draws);
        let mut context = if is_copy { context.of_copy() } else { context };
        self.qdisc.enqueue(packet, &mut context)
    }

    pub fn fill(&mut self, packets: u32, like: &Packet) {
        for _ in 0..packets {
            self.enqueue(like.clone());
        }
    }

    pub fn dequeue(&mut self) -> Dequeued {
        let mut context = self.effects.context(self.now, &mut self.draws);
        self.qdisc.dequeue(&mut context)
    }

    pub fn advance(&mut self, by: Span) {
        self.now += by;
    }

    /// Dequeues a packet and advances the clock by its transmission time at `bits_per_sec`.
    pub fn serve(&mut self, bits_per_sec: u64) -> Option<Box<Packet>> {
        let Dequeued::Packet(packet) = self.dequeue() else { return None };
        let size = Bytes(u64::from(packet.frame_length()));
        self.advance(Rate::from_bits_per_sec(bits_per_sec).time_for(size));
        Some(packet)
    }

    /// The number of the next packet.
    pub fn next_number(&mut self) -> Option<u32> {
        match self.dequeue() {
            Dequeued::Packet(packet) => Some(number(&packet)),
            _ => None,
        }
    }

    /// The numbers of all packets that can leave now.
    pub fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.next_number()).collect()
    }

    /// A counter that only this kind has.
    pub fn counter(&self, name: &str) -> u64 {
        let mut found = None;
        self.qdisc.own_counters(&mut |each, value| {
            if each == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no counter `{name}`"))
    }
}
