//! Prague on a path without loss.

use super::*;
use crate::test_path::{Zeros, void};

const TUNING: Tuning = Tuning {
    shift: 4,
    starts_at_one: false,
    target: Span::from_millis(25),
    transition: 4,
    rate_below: 4,
    fallback: Fallback::None,
};

/// A sender whose window is always full, in a queue that marks each `n`-th segment.
struct Path {
    flow: Flow,
    window: Window,
    control: Prague,
    rtt: Span,
    sent_of_mark: u64,
}

fn sample_of(acked_sacked: Segs) -> RateSample {
    RateSample { acked_sacked, ..void() }
}

impl Path {
    fn new(tuning: Tuning, rtt: Span, ecn: bool) -> Self {
        let mut flow =
            Flow { cwnd_limited: true, ecn_ok: ecn, ..Flow::established(1448, Span::from_millis(1)) };
        flow.now = SimTime::ZERO + Span::from_secs(1);
        flow.srtt_us8 = rtt.as_micros() as u32 * 8;
        let mut path = Path {
            flow,
            window: Window::initial(Segs(10)),
            control: Prague::new(tuning),
            rtt,
            sent_of_mark: 0,
        };
        path.flow.snd_nxt = 10 * 1448;
        path.control.init(&path.flow, &mut path.window, &mut Zeros);
        path
    }

    fn enter(&mut self, to: CaState) {
        if to > CaState::Disorder {
            self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
        }
        self.control.set_state(to, &self.flow, &mut self.window);
        self.flow.ca_state = to;
    }

    /// One ACK of a segment; `marked`: with a mark.
    fn ack(&mut self, marked: bool) {
        self.flow.now += self.rtt / u64::from(self.window.cwnd.0);
        self.flow.snd_una += 1448;
        self.flow.delivered += 1;
        if marked {
            self.flow.delivered_ce += 1;
            if self.flow.ca_state == CaState::Open {
                self.enter(CaState::Cwr);
                self.sent_of_mark = self.flow.snd_nxt;
            }
        }
        if self.flow.ca_state == CaState::Cwr && self.flow.snd_una >= self.sent_of_mark {
            self.enter(CaState::Open);
        }
        let sample = sample_of(Segs(1));
        self.control.cong_control(&sample, &self.flow, &mut self.window, &mut Zeros);
        let in_flight = u64::from(self.window.cwnd.0) * 1448;
        self.flow.snd_nxt = self.flow.snd_nxt.max(self.flow.snd_una + in_flight);
    }

    /// The mean of cwnd over the second half of `acks`, each `n`-th of them marked.
    fn mean_cwnd(&mut self, n: u64, acks: u64) -> f64 {
        let mut sum = 0.0;
        for number in 1..=acks {
            self.ack(number.is_multiple_of(n));
            if number > acks / 2 {
                sum += self.control.cwnd as f64 / SEGMENT as f64;
            }
        }
        sum / (acks - acks / 2) as f64
    }
}

#[test]
fn there_are_two_to_three_marks_per_round_trip_whatever_their_share() {
    // cwnd = 2·(1 − p)/p if a cut came each round trip; it waits for the first mark after one.
    for n in [5, 10, 20, 50] {
        let p = 1.0 / n as f64;
        let cwnd = Path::new(TUNING, Span::from_millis(25), true).mean_cwnd(n, 40_000);
        let marks = cwnd * p / (1.0 - p);
        assert!((2.0..3.1).contains(&marks), "1/{n}: {cwnd} {marks}");
    }
}

#[test]
fn below_25_ms_the_rate_hardly_depends_on_the_rtt() {
    let rate = |ms: u64| Path::new(TUNING, Span::from_millis(ms), true).mean_cwnd(20, 60_000) / ms as f64;
    let (short, long) = (rate(10), rate(25));
    // At 10 ms a cut is due after 25 ms, and comes after three round trips.
    assert!((1.0..1.5).contains(&(short / long)), "{short} {long}");
    let published = 19.0 / 12.0;
    assert!((long / published - 1.0).abs() < 0.05, "1/p − 1 Mbit/s: {long}");
    let dependent = Tuning { target: Span::ZERO, ..TUNING };
    let rate = |ms: u64| Path::new(dependent, Span::from_millis(ms), true).mean_cwnd(20, 60_000) / ms as f64;
    let ratio = rate(10) / rate(25);
    assert!((2.3..2.7).contains(&ratio), "{ratio}");
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let mut path = Path::new(TUNING, Span::from_millis(25), true);
    for _ in 0..90 {
        path.ack(false);
    }
    assert_eq!(path.window.cwnd, Segs(100));
    path.ack(true);
    assert_eq!((path.control.alpha, path.window.ssthresh), (0, Segs(99)));
    assert!(!path.window.in_slow_start());
    for _ in 0..60 {
        path.ack(false);
    }
    assert!((50..=52).contains(&path.window.cwnd.0), "by one segment per ACK: {}", path.window.cwnd.0);
}

#[test]
fn a_loss_halves_the_window_and_nothing_grows_until_recovery_ends() {
    let mut path = Path::new(TUNING, Span::from_millis(25), true);
    let before = path.mean_cwnd(20, 20_000);
    let cwnd = path.control.cwnd;
    path.enter(CaState::Open);
    path.enter(CaState::Recovery);
    assert_eq!(path.control.cwnd, cwnd - cwnd / 2);
    for _ in 0..100 {
        path.ack(false);
    }
    assert_eq!(path.control.cwnd, cwnd - cwnd / 2, "{before}");
    path.enter(CaState::Open);
    path.ack(false);
    assert!(path.control.cwnd > cwnd - cwnd / 2);
}

#[test]
fn a_spurious_cut_is_undone() {
    let mut path = Path::new(TUNING, Span::from_millis(25), true);
    path.mean_cwnd(20, 20_000);
    path.enter(CaState::Open);
    let cwnd = path.control.cwnd;
    path.enter(CaState::Recovery);
    path.control.undo_cwnd(&path.flow, &mut path.window);
    // cwnd comes back from the rate, by units of a second of which there are 2^23 / 8,000,000.
    let undone = path.control.cwnd as f64 / cwnd as f64;
    assert!((undone - 8e6 / f64::from(1 << 23)).abs() < 0.01, "{undone}");
}

#[test]
fn without_ecn_it_is_reno() {
    let mut path = Path::new(TUNING, Span::from_millis(10), false);
    path.window.ssthresh = Segs(10);
    let cwnd = path.control.cwnd;
    for _ in 0..10 {
        path.ack(false);
    }
    let grown = (path.control.cwnd - cwnd) as f64 / SEGMENT as f64;
    assert!((0.9..1.0).contains(&grown), "one segment per round trip: {grown}");
    assert_eq!(path.control.state(), "reno");
}

#[test]
fn a_few_segments_are_controlled_by_their_rate() {
    let mut path = Path::new(TUNING, Span::from_millis(10), true);
    path.mean_cwnd(2, 4_000);
    assert_eq!(path.control.controlled, Controlled::Rate);
    let (rate, paced) = (path.control.rate, path.window.pacing_rate.bytes_per_sec());
    let apart = paced as f64 / rate as f64 - 1.0;
    assert!((apart.abs() - 1.0 / 32.0).abs() < 0.001, "3 % above or below: {apart}");
    let unscaled = Tuning { rate_below: 0, ..TUNING };
    let mut path = Path::new(unscaled, Span::from_millis(10), true);
    path.mean_cwnd(2, 4_000);
    assert_eq!(path.control.controlled, Controlled::Window);
}

#[test]
fn in_a_classic_queue_the_fall_back_cuts_as_cubic_does_and_without_it_prague_cuts_little() {
    let cut = |fallback| {
        let mut path = Path::new(Tuning { fallback, ..TUNING }, Span::from_millis(25), true);
        path.flow.min_rtt = Some(Span::from_millis(10));
        path.mean_cwnd(100, 20_000);
        for round in 0..200_u64 {
            for _ in 0..50 {
                path.control.queue.take(Span::from_millis(if round % 2 == 0 { 35 } else { 20 }));
            }
            path.control.queue.judge(&path.flow);
        }
        path.enter(CaState::Open);
        path.flow.now += Span::from_millis(30);
        let before = path.control.cwnd as f64;
        path.enter(CaState::Cwr);
        (1.0 - path.control.cwnd as f64 / before, path.control.state())
    };
    let (answered, state) = cut(Fallback::Answered);
    assert!((answered - 0.3125).abs() < 0.001, "{answered}");
    assert_eq!(state, "classic");
    for fallback in [Fallback::None, Fallback::Detected] {
        let (cut, state) = cut(fallback);
        assert!(cut < 0.1, "{cut}");
        assert_eq!(state, "scalable");
    }
}

#[test]
fn without_a_target_a_few_segments_do_not_starve() {
    let dependent = Tuning { target: Span::ZERO, ..TUNING };
    let cwnd = Path::new(dependent, Span::from_millis(10), true).mean_cwnd(2, 4_000);
    assert!((2.0..6.0).contains(&cwnd), "cwnd = 2·(1 − p)/p at p = 1/2: {cwnd}");
}
