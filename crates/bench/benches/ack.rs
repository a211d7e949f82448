//! Cost of one ACK at a sender, with the segment that it releases: cumulative ACKs in order, and SACKs above one hole.
//! The device sends at once and the window control does not change the window, so only the socket is measured. The cost
//! must not depend on the window.
//!
//! The device sends at once, the window control neither grows nor shrinks: only the machine is measured. The cost
//! must not depend on the window.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{Control, EcnNeed, Flow, Hooks, Window, WindowControl};
use tailback_packet::{Ecn, HostId, SackBlock, SackBlocks, Segment, SegmentFlags, SocketId, Timestamp};
use tailback_tcp::{Endpoint, EndpointConfig, Settings, SmallQueueLimit, SocketOptions, Transmitted};
use tailback_units::{Segs, SimTime, Span};

const MSS: u64 = 1448;
const RTT: Span = Span::from_millis(10);
/// ACKs of one measurement.
const ACKS: u64 = 50;
/// Time between two ACKs: a full frame at 1 Gbit/s.
const GAP: Span = Span::from_nanos(12_112);

struct Fixed(u32);

impl Hooks for Fixed {
    fn init(&mut self, _: &Flow, window: &mut Window, _: &mut dyn Rng) {
        window.cwnd = Segs(self.0);
        window.ssthresh = Segs(self.0);
    }
}

impl WindowControl for Fixed {
    fn cong_avoid(&mut self, _: Segs, _: &Flow, _: &mut Window) {}

    fn ssthresh(&mut self, _: &Flow, _: &Window) -> Segs {
        Segs(self.0)
    }
}

/// A sender with a full window in flight.
struct Bench {
    endpoint: Endpoint,
    draws: Xoshiro256PlusPlus,
    now: SimTime,
}

impl Bench {
    fn new(window: u32) -> Self {
        let settings = Settings { wmem: [4096, 1 << 30, 1 << 30], ..Settings::default() };
        let config = EndpointConfig {
            socket: SocketId(0),
            peer: SocketId(1),
            peer_host: HostId(1),
            flow_hash: 0,
            settings: settings.into(),
            small_queue: SmallQueueLimit::Off,
            options: SocketOptions::default(),
            control: Control::Window(Box::new(Fixed(window))),
            wants_pacing: false,
            needs_ecn: EcnNeed::No,
            sndbuf_factor: 2,
        };
        let endpoint = Endpoint::connect(config, SimTime::ZERO);
        let mut bench = Bench { endpoint, draws: Xoshiro256PlusPlus::seed_from_u64(1), now: SimTime::ZERO };
        bench.drain();
        bench.now += RTT;
        bench.take(Segment { seq: 0, flags: SegmentFlags::SYN.with(SegmentFlags::ACK), ..bench.ack(0) });
        bench.endpoint.write((u64::from(window) + ACKS + 1) * MSS, bench.now);
        bench.drain();
        assert_eq!(bench.endpoint.tcp_info(bench.now).unacked, Segs(window));
        bench.now += RTT;
        bench
    }

    fn ack(&self, segment: u64) -> Segment {
        Segment {
            seq: 1,
            length: 0,
            ack: 1 + segment * MSS,
            window: 1 << 30,
            flags: SegmentFlags::ACK,
            mss: 1460,
            tsval: Timestamp::at(self.now),
            tsecr: Timestamp::at(self.now - RTT),
            sack: SackBlocks::NONE,
        }
    }

    fn take(&mut self, segment: Segment) {
        self.endpoint.take(&segment, Ecn::NotEct, 0, self.now, &mut self.draws);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(packet) = self.endpoint.next_packet(self.now) {
            if packet.charged {
                self.endpoint.credit(packet.truesize);
            }
            self.endpoint.handed_over(Transmitted::Queued, self.now);
        }
    }

    fn in_order(&mut self) {
        for segment in 1..=ACKS {
            self.now += GAP;
            self.take(self.ack(segment));
        }
    }

    /// Segment 0 is missing; each ACK reports one more behind it.
    fn above_a_hole(&mut self) {
        for segment in 2..=ACKS + 1 {
            self.now += GAP;
            let block = SackBlock { start: 1 + MSS, end: 1 + segment * MSS };
            self.take(Segment { sack: SackBlocks::new(vec![block]), ..self.ack(0) });
        }
    }
}

fn measure(criterion: &mut Criterion, name: &str, acks: fn(&mut Bench)) {
    let mut group = criterion.benchmark_group(format!("ack/{name}"));
    group.throughput(Throughput::Elements(ACKS));
    for window in [100, 1000, 10_000] {
        group.bench_function(BenchmarkId::from_parameter(window), |bencher| {
            // The sender is returned, because dropping it is not part of an ACK.
            let measured = |mut bench: Bench| {
                acks(&mut bench);
                bench
            };
            bencher.iter_batched(|| Bench::new(window), measured, BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn ack(criterion: &mut Criterion) {
    measure(criterion, "in_order", Bench::in_order);
    measure(criterion, "one_hole", Bench::above_a_hole);
}

criterion_group!(benches, ack);
criterion_main!(benches);
