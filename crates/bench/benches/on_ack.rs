//! Cost of one ACK in each control: all calls of a sender to it, in congestion avoidance at 100 segments.
//!
//! A window control answers `in_ack_event`, `pkts_acked` and `cong_avoid`, a model control the first two and
//! `cong_control`. Results: `docs/congestion-controls.md`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{AckPath, AckSample, Control, Flow, ROWS, RateSample, Row, Timestamps, Window, build};
use tailback_units::{Parameters, Segs, SimTime, Span};

/// Segments in flight.
const WINDOW: u32 = 100;
/// Time between two ACKs: a full frame at 100 Mbit/s.
const GAP: Span = Span::from_nanos(121_120);

struct Bench {
    control: Control,
    flow: Flow,
    window: Window,
    draws: Xoshiro256PlusPlus,
}

impl Bench {
    fn new(row: &Row) -> Self {
        let control = build(row.name, &Parameters::default()).expect("defaults are accepted");
        let mut flow = Flow::established(1448, Span::from_millis(1));
        let rtt = GAP * u64::from(WINDOW);
        flow.srtt_us8 = rtt.as_micros() as u32 * 8;
        flow.min_rtt = Some(rtt);
        flow.cwnd_limited = true;
        flow.ecn_ok = true;
        flow.in_flight = Segs(WINDOW);
        flow.now = SimTime::ZERO + Span::from_secs(1);
        let mut window = Window::initial(Segs(WINDOW));
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut bench = Bench { control, flow, window: window.clone(), draws: draws.clone() };
        bench.control.hooks_mut().init(&bench.flow, &mut window, &mut draws);
        window.ssthresh = Segs(WINDOW / 2);
        Bench { window, ..bench }
    }

    fn ack(&mut self) -> Segs {
        let rtt = GAP * u64::from(WINDOW);
        self.flow.now += GAP;
        self.flow.snd_una += 1448;
        self.flow.snd_nxt = self.flow.snd_una + u64::from(WINDOW) * 1448;
        self.flow.delivered += 1;
        self.flow.delivered_at = self.flow.now;
        let acked = AckSample { packets_acked: Segs::ONE, rtt: Some(rtt), in_flight: 144_800 };
        let echo = self.flow.now - rtt;
        self.flow.timestamps = Some(Timestamps { value: self.flow.now - rtt / 2, echo });
        self.control.hooks_mut().in_ack_event(AckPath::Fast, &self.flow, &mut self.window);
        self.control.hooks_mut().pkts_acked(&acked, &self.flow, &mut self.window);
        match &mut self.control {
            Control::Window(control) => control.cong_avoid(Segs::ONE, &self.flow, &mut self.window),
            Control::Model(control) => {
                let sample = rate_sample(&self.flow, rtt);
                control.cong_control(&sample, &self.flow, &mut self.window, &mut self.draws);
            }
        }
        // The window does not change, so that all ACKs are the same case.
        std::mem::replace(&mut self.window.cwnd, Segs(WINDOW))
    }
}

fn rate_sample(flow: &Flow, rtt: Span) -> RateSample {
    RateSample {
        prior_delivered: flow.delivered.saturating_sub(u64::from(WINDOW)),
        delivered: Some(u64::from(WINDOW)),
        interval: Some(rtt),
        rtt: Some(rtt),
        losses: Segs::ZERO,
        acked_sacked: Segs::ONE,
        tx_in_flight: Segs(WINDOW),
        lost: 0,
        prior_in_flight: Segs(WINDOW),
        is_app_limited: false,
        is_retrans: false,
        is_ack_delayed: false,
    }
}

fn on_ack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("on_ack");
    group.throughput(Throughput::Elements(1));
    for row in ROWS {
        let mut bench = Bench::new(row);
        group.bench_function(row.name, |bencher| bencher.iter(|| black_box(bench.ack())));
    }
    group.finish();
}

criterion_group!(benches, on_ack);
criterion_main!(benches);
