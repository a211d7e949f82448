//! Cost of one packet in a discipline: an enqueue and a dequeue, with a standing queue of one packet per flow and at
//! least a hundred packets.
//!
//! Goals: at most 60 ns for the FIFOs, at most 120 ns for `fq_codel`, `fq` and `cake`, at 1 flow as at 1000. `drr` is
//! left out, because it accepts no packets without filters. All flows run between two hosts; in `1000 of as many hosts`
//! each flow has its own hosts, which matters only to `cake`: it divides a flow's quantum by the bulk flows of its
//! host, and so reads more flows per packet.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256StarStar;
use tailback_packet::{Ecn, HostId, Packet, Payload, SackBlocks, Segment, SegmentFlags, SocketId, Timestamp};
use tailback_qdisc::{Attachment, Dequeued, Effects, Enqueued, Qdisc, registry};
use tailback_units::{Parameters, SimTime, Span};

/// Below this, CoDel never acts: the bench measures the path of a packet that passes.
const STEP: Span = Span::from_micros(1);
const MIN_STANDING: u32 = 100;

fn segment(flow: u32) -> Packet {
    Packet {
        from: SocketId(flow),
        to: SocketId(flow),
        source: HostId(0),
        destination: HostId(1),
        ip_length: 1500,
        segments: 1,
        ecn: Ecn::NotEct,
        tos: 0,
        flow_hash: flow.wrapping_mul(0x9e37_79b1),
        truesize: 2304,
        charged: true,
        queue_length: tailback_packet::QueueLength::NONE,
        enqueued: SimTime::ZERO,
        departure: SimTime::ZERO,
        payload: Payload::Tcp(Segment {
            seq: 1,
            length: 1448,
            ack: 1,
            window: 65_535,
            flags: SegmentFlags::ACK,
            mss: 1448,
            tsval: Timestamp::at(SimTime::ZERO),
            tsecr: Timestamp::at(SimTime::ZERO),
            sack: SackBlocks::NONE,
        }),
    }
}

fn discipline(kind: &str) -> Box<dyn Qdisc> {
    let mut given = Parameters::default();
    let values: &[(&str, u64)] = match kind {
        "htb" => &[("rate", 10_000_000_000_000)],
        "tbf" => &[("rate", 10_000_000_000_000), ("burst", 100_000_000), ("limit", 100_000_000)],
        "choke" => &[("limit", 100_000), ("bandwidth", 10_000_000_000)],
        "red" => &[("limit", 100_000_000), ("avpkt", 1_000)],
        "sfq" => &[("limit", 127_000), ("flows", 1024)],
        _ => &[],
    };
    values.iter().for_each(|(name, value)| given.set(name, *value));
    let device = Attachment { queue_length: 10_000, ..Attachment::default() };
    registry::build(kind, &given, &device, None).expect("every kind has defaults here")
}

/// A discipline that handles one packet at a time.
struct Bench {
    qdisc: Box<dyn Qdisc>,
    draws: Xoshiro256StarStar,
    effects: Effects,
    now: SimTime,
    flows: u32,
    flow: u32,
    hosts: Hosts,
}

/// The hosts of the flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hosts {
    Two,
    OneEach,
}

impl Bench {
    fn with_standing_queue(kind: &str, flows: u32, hosts: Hosts) -> Bench {
        let draws = Xoshiro256StarStar::seed_from_u64(1);
        let qdisc = discipline(kind);
        let effects = Effects::default();
        let (now, flow) = (SimTime::ZERO, 0);
        let mut bench = Bench { qdisc, draws, effects, now, flows, flow, hosts };
        (0..flows.max(MIN_STANDING)).for_each(|_| assert_eq!(bench.enqueue(), Enqueued::Queued));
        bench
    }

    fn enqueue(&mut self) -> Enqueued {
        self.flow = (self.flow + 1) % self.flows;
        let mut context = self.effects.context(self.now, &mut self.draws);
        let mut packet = segment(self.flow);
        if self.hosts == Hosts::OneEach {
            (packet.source, packet.destination) = (HostId(self.flow as u16), HostId(1000 + self.flow as u16));
        }
        self.qdisc.enqueue(Box::new(packet), &mut context)
    }

    fn dequeue(&mut self) -> Dequeued {
        let mut context = self.effects.context(self.now, &mut self.draws);
        self.qdisc.dequeue(&mut context)
    }

    fn pass_one(&mut self) {
        self.now += STEP;
        black_box(self.enqueue());
        black_box(self.dequeue());
    }
}

fn disciplines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue_dequeue");
    for row in registry::ROWS.iter().filter(|row| row.name != "drr") {
        for flows in [1, 1000] {
            let mut bench = Bench::with_standing_queue(row.name, flows, Hosts::Two);
            group
                .bench_function(format!("{}/{flows}", row.name), |bencher| bencher.iter(|| bench.pass_one()));
        }
    }
    let mut bench = Bench::with_standing_queue("cake", 1000, Hosts::OneEach);
    group.bench_function("cake/1000 of as many hosts", |bencher| bencher.iter(|| bench.pass_one()));
    group.finish();
}

criterion_group!(benches, disciplines);
criterion_main!(benches);
