//! What an ACK costs in a control of the user, and in ours of the same name.
//!
//! ```text
//! cargo run --release -p tailback-module --example cost -- tcp_cubic.so cubic
//! ```
//! Each ACK calls `pkts_acked` and `cong_avoid`, 24 µs after the last one (1 Gbit/s), with facts that change as they do
//! in a run. The least of several rounds is printed: others run on the same machine. A number of ACKs behind the name
//! makes it short enough for callgrind.

use std::time::Instant;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{AckPath, AckSample, Control, Flow, Window};
use tailback_module::ModuleFile;
use tailback_units::{Parameters, Segs, Span};

const ACKS: &str = "2000000";
const ROUNDS: u32 = 9;
const APART: Span = Span::from_micros(24);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [library, name, rest @ ..] = words.as_slice() else {
        eprintln!("usage: cost LIBRARY NAME [ACKS]");
        std::process::exit(2);
    };
    let acks = rest.first().map_or(ACKS, String::as_str).parse().unwrap();
    let file = ModuleFile::open(library, &[]).unwrap_or_else(|error| panic!("{error}"));
    let ours = || tailback_cc::build(name, &Parameters::default()).unwrap();
    let (built_in, module) = (least_ns(acks, ours), least_ns(acks, || file.control()));
    println!(
        "per ACK: {built_in:.1} ns built in, {module:.1} ns as a module, {:.1} ns more",
        module - built_in
    );
}

fn least_ns(acks: u32, mut control: impl FnMut() -> Control) -> f64 {
    (0..ROUNDS).map(|_| ns_per_ack(acks, control())).fold(f64::INFINITY, f64::min)
}

#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn ns_per_ack(acks: u32, mut control: Control) -> f64 {
    let Control::Window(control) = &mut control else { panic!("it is no window control") };
    let mut flow = Flow::established(1448, Span::from_millis(1));
    let mut window = Window::initial(Segs(10));
    let mut draws = SplitMix64::seed_from_u64(1);
    control.init(&flow, &mut window, &mut draws);
    window.ssthresh = Segs(100);
    window.cwnd = Segs(100);
    let begun = Instant::now();
    for _ in 0..acks {
        advance(&mut flow);
        control.in_ack_event(AckPath::Fast, &flow, &mut window);
        let sample =
            AckSample { packets_acked: Segs(2), rtt: Some(Span::from_millis(20)), in_flight: 144_800 };
        control.pkts_acked(&sample, &flow, &mut window);
        control.cong_avoid(Segs(2), &flow, &mut window);
        window.cwnd = Segs(window.cwnd.0.min(1000));
    }
    begun.elapsed().as_nanos() as f64 / f64::from(acks)
}

fn advance(flow: &mut Flow) {
    flow.now += APART;
    flow.last_sent = flow.now;
    flow.departure = flow.now;
    flow.delivered_at = flow.now;
    flow.delivered += 2;
    flow.snd_una += 2896;
    flow.snd_nxt = flow.snd_una + 144_800;
    flow.packets_out = Segs(100);
    flow.in_flight = Segs(100);
    flow.srtt_us8 = 160_000;
    flow.min_rtt = Some(Span::from_millis(20));
    flow.cwnd_limited = true;
}
