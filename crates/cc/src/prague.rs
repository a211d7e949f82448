//! Prague: the scalable control of L4S. It cuts cwnd in proportion to the marks, as [`dctcp`](crate::dctcp) does, and over the
//! Internet: with AccECN and ECT(1), as fast as others at short RTTs, and like Reno after losses.
//!
//! ```text
//! once per round trip:  α = 15/16·α + 1/16·(marked / delivered)                  from 0, after the first mark
//! cut on marks:         cwnd·(1 − α/2), once per round trip                      the first one halves: end of slow start
//! cut on loss:          cwnd/2; no growth until recovery ends
//! growth per ACK:       s·(acknowledged without a mark)/cwnd                     s = min(RTT/25 ms, 1)²
//! pacing:               cwnd/srtt, twice that in the first half of slow start
//! ```
//! **RTT independence.** From the fourth round trip after slow start on, a flow with a shorter RTT than 25 ms grows as one with
//! 25 ms does, and α and cwnd change at most once per 25 ms. With a cut each 25 ms its rate would be 0.96·(1/p − 1) Mbit/s in a
//! queue that marks segments of 1500 bytes with probability p. The next cut waits for the first mark after a round trip, so
//! that there are two to three marks per 25 ms, not two, and the rate is up to a half higher.
//!
//! cwnd has a fraction; the window that is used is rounded up, at least two segments, and moves by one segment per ACK.
//!
//! **Fall-back.** Every packet is ECT(1), SYN and ACKs too, and the SYN asks for AccECN whatever `net.ipv4.tcp_ecn` says. If the peer has
//! no more than classic ECN, or none, the flow has no ECN and behaves like Reno. A classic queue, which marks as it would drop, gets a
//! scalable answer: nothing detects it.
//!
//! Sources: [draft-briscoe-iccrg-prague], [prague-v0.7 tcp_prague.c], [rfc9331 §4.3].
//!
//! Deviations: no window below two segments, so that below some 1 Mbit/s at 25 ms it does not slow down further (the module
//! then sets a rate and sends smaller segments); an skb is as long as for other controls (the module limits it to 244 µs);
//! pacing does not alternate by 3 %.

use std::cmp::Ordering;

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Rate, Segs, SimTime, Span};

use crate::module_param::number;
use crate::{CaState, EcnNeed, Flow, Hooks, ModelControl, Prototype, RateSample, Row, Window};

/// Fraction bits of α. [prague-v0.7 PRAGUE_ALPHA_BITS]
const ALPHA_BITS: u32 = 24;
/// α if all segments are marked.
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// Fraction bits of cwnd. [prague-v0.7 CWND_UNIT]
const CWND_BITS: u32 = 20;
/// One segment.
const SEGMENT: u64 = 1 << CWND_BITS;
/// Fraction bits of the factor of growth.
const SCALE_BITS: u32 = 16;
/// The least window, in segments. [prague-v0.7 MIN_CWND_VIRT]
const MIN_CWND: u64 = 2;

/// Module parameters. [prague-v0.7 module_param]
const PARAMETERS: &[Parameter] = &[
    number("shift_g", 4, 0, 10, "weight of a round trip in α, as a negative power of 2"),
    number("alpha_mode", 0, 0, 1, "at the first mark: 0 cwnd is halved and α begins at 0, 1 α begins at 1"),
    number(
        "rtt_target_us",
        25_000,
        0,
        1_000_000,
        "RTT below which growth does not depend on the RTT, in µs; 0: it always does",
    ),
    number(
        "rtt_transition",
        4,
        0,
        100_000,
        "round trips after slow start until growth is independent of the RTT",
    ),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "prague",
    summary: "the scalable control of L4S: cuts in proportion to the marks, needs AccECN (TCP Prague)",
    source: include_str!("prague.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: true,
    needs_ecn: EcnNeed::L4s,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    let tuning = Tuning {
        shift: get("shift_g")? as u32,
        starts_at_one: get("alpha_mode")? == 1,
        target: Span::from_micros(get("rtt_target_us")?),
        transition: get("rtt_transition")? as u32,
    };
    Ok(Prototype::model(Prague::new(tuning)))
}

/// The parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    shift: u32,
    starts_at_one: bool,
    target: Span,
    transition: u32,
}

/// The round trip over which marks are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
    delivered: u64,
    marked: u64,
}

/// State of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    tuning: Tuning,
    /// In 2^-20 segments.
    cwnd: u64,
    /// Before the last cut.
    before: u64,
    /// α in 2^-24, times 2^`shift_g`.
    alpha: u64,
    round: Round,
    /// Round trips since slow start, as far as they are counted.
    rounds: u32,
    alpha_updated: SimTime,
    cut: SimTime,
    /// Marks of earlier ACKs.
    marked: u64,
    seen_mark: bool,
    /// ECN was negotiated; without, it behaves like Reno.
    is_on: bool,
}

impl Hooks for Prague {
    fn init(&mut self, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        self.is_on = flow.ecn_ok;
        self.cwnd = u64::from(window.cwnd.0) << CWND_BITS;
        self.before = self.cwnd;
        self.marked = flow.delivered_ce;
        self.begin_round(flow);
        self.pace(flow, window);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, window: &mut Window) {
        match to {
            CaState::Cwr if flow.ca_state < CaState::Cwr => self.answer_marks(flow),
            CaState::Recovery | CaState::Loss if flow.ca_state < CaState::Recovery => {
                self.cwnd = self.before / 2
            }
            _ => return,
        }
        self.cwnd = self.cwnd.max(MIN_CWND << CWND_BITS);
        window.ssthresh = self.rounded_up();
    }

    fn gauges(&self, _flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        if self.is_on {
            show("prague_alpha", self.alpha() as f64 / MAX_ALPHA as f64);
            show("prague_cwnd", self.cwnd as f64 / SEGMENT as f64);
        }
    }
}

impl ModelControl for Prague {
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        let marks = flow.delivered_ce - self.marked;
        self.marked = flow.delivered_ce;
        if flow.snd_una >= self.round.end {
            self.end_round(flow, window);
        }
        let unmarked = u64::from(sample.acked_sacked.0).saturating_sub(marks);
        self.grow(unmarked, flow, window);
        self.apply(window);
        self.pace(flow, window);
    }

    fn state(&self) -> &'static str {
        match (self.is_on, self.seen_mark) {
            (false, _) => "reno",
            (true, false) => "unmarked",
            (true, true) => "scalable",
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, _window: &Window) -> Segs {
        self.before = self.cwnd;
        self.rounded_up()
    }

    fn undo_cwnd(&mut self, _flow: &Flow, window: &mut Window) -> Segs {
        self.cwnd = self.cwnd.max(self.before);
        window.cwnd.max(self.rounded_up())
    }
}

impl Prague {
    fn new(tuning: Tuning) -> Self {
        Prague {
            tuning,
            cwnd: 0,
            before: 0,
            alpha: 0,
            round: Round::default(),
            rounds: 0,
            alpha_updated: SimTime::ZERO,
            cut: SimTime::ZERO,
            marked: 0,
            seen_mark: false,
            is_on: false,
        }
    }

    fn alpha(&self) -> u64 {
        self.alpha >> self.tuning.shift
    }

    fn rounded_up(&self) -> Segs {
        Segs(self.cwnd.div_ceil(SEGMENT).clamp(MIN_CWND, u64::from(u32::MAX)) as u32)
    }

    /// Growth does not depend on the RTT.
    fn is_independent(&self) -> bool {
        self.is_on && self.seen_mark && self.rounds >= self.tuning.transition && !self.tuning.target.is_zero()
    }

    /// Too soon after `last`: changes come once per target RTT.
    fn is_soon(&self, last: SimTime, now: SimTime) -> bool {
        self.is_independent() && now.since(last) < self.tuning.target
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round = Round { end: flow.snd_nxt, delivered: flow.delivered, marked: flow.delivered_ce };
    }

    fn end_round(&mut self, flow: &Flow, window: &Window) {
        if !window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        if !self.seen_mark {
            return self.begin_round(flow);
        }
        if self.is_soon(self.alpha_updated, flow.now) {
            self.round.end = flow.snd_nxt;
            return;
        }
        let (delivered, marked) =
            (flow.delivered - self.round.delivered, flow.delivered_ce - self.round.marked);
        let share = (marked.min(delivered) << ALPHA_BITS) / delivered.max(1);
        self.alpha = self.alpha - self.alpha() + share;
        self.alpha_updated = flow.now;
        self.begin_round(flow);
    }

    /// The cut that new marks bring.
    fn answer_marks(&mut self, flow: &Flow) {
        if !self.is_on {
            self.cwnd = self.before / 2;
            return;
        }
        if !std::mem::replace(&mut self.seen_mark, true) {
            // Slow start has found the rate of the path.
            self.cwnd = self.before / 2;
            self.alpha = if self.tuning.starts_at_one { MAX_ALPHA << self.tuning.shift } else { 0 };
            self.begin_round(flow);
        } else if !self.is_soon(self.cut, flow.now) {
            let share = u128::from(self.before) * u128::from(self.alpha());
            self.cwnd = self.before - (share >> (ALPHA_BITS + 1)) as u64;
        } else {
            return;
        }
        self.cut = flow.now;
    }

    fn grow(&mut self, unmarked: u64, flow: &Flow, window: &Window) {
        if unmarked == 0 || !flow.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            let most = u64::from(window.ssthresh.0) << CWND_BITS;
            if flow.ca_state == CaState::Loss {
                // cwnd itself was cut to one segment, and catches up.
                return;
            }
            self.cwnd = (self.cwnd + (unmarked << CWND_BITS)).min(most);
        } else if flow.ca_state < CaState::Recovery {
            let per_cwnd = (u128::from(unmarked) << (2 * CWND_BITS)) / u128::from(self.cwnd.max(SEGMENT));
            self.cwnd += ((per_cwnd * self.scale(flow)) >> SCALE_BITS) as u64;
        }
    }

    /// The factor of growth, in 2^-16: (RTT / target)², at most 1.
    fn scale(&self, flow: &Flow) -> u128 {
        let target = u128::from(self.tuning.target.as_micros());
        let rtt = u128::from(flow.srtt_us8 >> 3);
        if !self.is_independent() || rtt >= target {
            return 1 << SCALE_BITS;
        }
        ((rtt * rtt) << SCALE_BITS) / (target * target)
    }

    /// The window that is used follows by one segment per ACK; in slow start at once.
    fn apply(&self, window: &mut Window) {
        let wanted = self.rounded_up().min(window.cwnd_clamp);
        window.cwnd = match wanted.cmp(&window.cwnd) {
            Ordering::Greater if window.in_slow_start() => wanted.min(window.ssthresh),
            Ordering::Greater => Segs(window.cwnd.0 + 1),
            Ordering::Less => Segs(window.cwnd.0 - 1),
            Ordering::Equal => window.cwnd,
        };
    }

    fn pace(&self, flow: &Flow, window: &mut Window) {
        if flow.srtt_us8 == 0 {
            return;
        }
        let twice = window.cwnd.0 < window.ssthresh.0 / 2;
        let segments = u128::from(window.cwnd.max(flow.packets_out).0) << u32::from(twice);
        let rate = segments * u128::from(flow.mss) * 8_000_000 / u128::from(flow.srtt_us8);
        window.pacing_rate = Rate::from_bytes_per_sec(u64::try_from(rate).unwrap_or(u64::MAX / 8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_path::Zeros;

    const TUNING: Tuning =
        Tuning { shift: 4, starts_at_one: false, target: Span::from_millis(25), transition: 4 };

    /// A sender whose window is always full, in a queue that marks each `n`-th segment.
    struct Path {
        flow: Flow,
        window: Window,
        control: Prague,
        rtt: Span,
        sent_of_mark: u64,
    }

    fn sample_of(acked_sacked: Segs) -> RateSample {
        RateSample {
            prior_delivered: 0,
            delivered: None,
            interval: None,
            rtt: None,
            losses: Segs::ZERO,
            acked_sacked,
            tx_in_flight: Segs::ZERO,
            lost: 0,
            prior_in_flight: Segs::ZERO,
            is_app_limited: false,
            is_retrans: false,
            is_ack_delayed: false,
        }
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
        assert!((short / long - 1.0).abs() < 0.2, "{short} {long}");
        let dependent = Tuning { target: Span::ZERO, ..TUNING };
        let rate =
            |ms: u64| Path::new(dependent, Span::from_millis(ms), true).mean_cwnd(20, 60_000) / ms as f64;
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
        assert_eq!((path.control.alpha, path.window.ssthresh), (0, Segs(50)));
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
        assert_eq!(path.control.cwnd, cwnd / 2);
        for _ in 0..100 {
            path.ack(false);
        }
        assert_eq!(path.control.cwnd, cwnd / 2, "{before}");
        path.enter(CaState::Open);
        path.ack(false);
        assert!(path.control.cwnd > cwnd / 2);
    }

    #[test]
    fn a_spurious_cut_is_undone() {
        let mut path = Path::new(TUNING, Span::from_millis(25), true);
        path.mean_cwnd(20, 20_000);
        path.enter(CaState::Open);
        let cwnd = path.control.cwnd;
        path.enter(CaState::Recovery);
        path.control.undo_cwnd(&path.flow, &mut path.window);
        assert_eq!(path.control.cwnd, cwnd);
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
}
