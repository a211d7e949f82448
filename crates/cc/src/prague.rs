//! Prague: the scalable control of L4S. It cuts cwnd in proportion to the marks, as [`dctcp`](crate::dctcp) does, and over the
//! Internet: with AccECN and ECT(1), as fast as others at short RTTs, and like Reno after losses.
//!
//! ```text
//! once per round trip:  α = 15/16·α + 1/16·(marked / delivered)                  from 0, after the first mark
//! cut on marks:         cwnd·(1 − α/2), once per round trip                      the first one halves: end of slow start
//! cut on loss:          cwnd/2; no growth until recovery ends
//! growth per ACK:       s·(acknowledged without a mark)/cwnd                     s = min(RTT/25 ms, 1)²
//! pacing:               max(cwnd, in flight)/srtt, twice that in the first half of slow start
//! ```
//! **RTT independence.** From the fourth round trip after slow start on, a flow with a shorter RTT than 25 ms grows as one with
//! 25 ms does, and α and cwnd change at most once per 25 ms. With a cut each 25 ms its rate would be 0.96·(1/p − 1) Mbit/s in a
//! queue that marks segments of 1500 bytes with probability p. The next cut waits for the first mark after a round trip, so
//! that there are two to three marks per 25 ms, not two, and the rate is up to a half higher.
//!
//! cwnd has a fraction; the window that is used is rounded up, at least two segments, and moves by one segment per ACK.
//!
//! **Few segments.** With a window of at most four packets of 1500 bytes, the control is of the rate: growth and cuts change it, cwnd
//! follows from it and a mean RTT over 128 round trips, and it is 3 % higher in the first half of each 25 ms, and 3 % lower in the
//! second.
//!
//! **Fall-back.** Every packet is ECT(1), SYN and ACKs too, and the SYN asks for AccECN whatever `net.ipv4.tcp_ecn` says. If the peer has
//! no more than classic ECN, or none, the flow has no ECN and behaves like Reno. A classic queue, which marks as it would drop, gets a
//! scalable answer, as in version 0.7; `ecn_fallback 1` detects it as version 0.6 does, by long queues and a varying RTT, and answers
//! with at least the cut of CUBIC.
//!
//! Sources: [draft-briscoe-iccrg-prague], [prague-v0.7 tcp_prague.c], [prague-v0.6 tcp_prague.c], [rfc9331 §4.3].
//!
//! Deviations: a segment keeps its size, so that below some 1 Mbit/s at 25 ms the rate is coarser (the module then sends smaller
//! segments); the module is limited to an skb of 244 µs, ours is at least as long as for other controls of this rate.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Rate, Segs, SimTime, Span};

use crate::module_param::number;
use crate::{
    AckSample, CaState, CwndEvent, EcnNeed, Flow, Hooks, ModelControl, Prototype, RateSample, Row, Window,
};

mod classic;
mod window;

use classic::{ClassicQueue, Fallback};

#[cfg(test)]
mod tests;

/// Fraction bits of α. [prague-v0.7 PRAGUE_ALPHA_BITS]
const ALPHA_BITS: u32 = 24;
/// α if all segments are marked.
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// Fraction bits of cwnd. [prague-v0.7 CWND_UNIT]
const CWND_BITS: u32 = 20;
/// One segment.
const SEGMENT: u64 = 1 << CWND_BITS;
/// The lowest rate, in byte/s. [prague-v0.7 MINIMUM_RATE]
const MIN_RATE: u64 = 12_500;
/// Beyond every link; what is computed of a rate fits into 64 bits.
const MAX_RATE: u64 = 1 << 56;
/// Fraction bits of the mean RTT. [prague-v0.7 HSRTT_SHIFT]
const MEAN_RTT_BITS: u32 = 7;
/// An skb lasts 2 to the power of minus this seconds. [prague-v0.7 prague_burst_shift]
const BURST_SHIFT: u32 = 12;
/// µs of a second times eight, the unit of srtt. [prague-v0.7]
const SRTT_PER_SEC: u64 = 8_000_000;

/// Module parameters. [prague-v0.7 module_param] [prague-v0.6 module_param]
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
    number(
        "cwnd_transit",
        4,
        0,
        1_000,
        "window in packets of 1500 bytes up to which the control is of the rate; 0: never",
    ),
    number(
        "ecn_fallback",
        0,
        0,
        2,
        "classic queues: 0 are not detected, 1 detected and answered as CUBIC does, 2 detected only",
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
        transition: get("rtt_transition")?,
        rate_below: get("cwnd_transit")?,
        fallback: Fallback::of(get("ecn_fallback")?),
    };
    Ok(Prototype::model(Prague::new(tuning)))
}

/// The parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    shift: u32,
    starts_at_one: bool,
    target: Span,
    transition: u64,
    rate_below: u64,
    fallback: Fallback,
}

/// The round trip over which marks are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
    delivered: u64,
    marked: u64,
}

/// What growth and cuts change; the other one follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Controlled {
    Window,
    Rate,
}

/// What an undo restores.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: Segs,
    rate: u64,
}

/// State of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    tuning: Tuning,
    controlled: Controlled,
    /// In 2^-20 segments.
    cwnd: u64,
    /// In byte/s.
    rate: u64,
    /// Before the last loss.
    before: Before,
    /// α in 2^-24, times 2^`shift_g`.
    alpha: u64,
    /// Growth of cwnd per round trip, in 2^-20 segments.
    growth: u64,
    round: Round,
    /// Round trips since slow start.
    rounds: u64,
    alpha_updated: SimTime,
    cut: SimTime,
    /// Mean of srtt, in 2^-7 of its unit.
    mean_rtt: u64,
    /// Marks of earlier ACKs.
    marked: u64,
    seen_mark: bool,
    /// A loss was answered, and its recovery has not ended.
    in_loss: bool,
    queue: ClassicQueue,
    /// Segments of an skb.
    burst: u32,
    /// ECN was negotiated; without, it behaves like Reno.
    is_on: bool,
}

impl Hooks for Prague {
    fn init(&mut self, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        self.is_on = flow.ecn_ok;
        self.cwnd = u64::from(window.cwnd.0) << CWND_BITS;
        self.alpha = if self.tuning.starts_at_one { MAX_ALPHA << self.tuning.shift } else { 0 };
        self.alpha_updated = flow.now;
        self.pace(flow, window);
        self.marked = flow.delivered_ce;
        self.seen_mark = flow.delivered_ce > 0;
        self.mean_rtt = u64::from(flow.srtt_us8.max(8)) << MEAN_RTT_BITS;
        self.queue = ClassicQueue::new(flow);
        self.begin_round(flow, window);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, window: &mut Window) {
        if to == flow.ca_state {
            return;
        }
        match to {
            CaState::Recovery => self.answer_loss(flow, window),
            CaState::Cwr if self.is_on => self.answer_marks(flow, window),
            CaState::Cwr => self.answer_loss(flow, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        if event == CwndEvent::Loss {
            self.answer_loss(flow, window);
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, _flow: &Flow, _window: &mut Window) {
        if let (Some(rtt), true) = (sample.rtt, self.tuning.fallback != Fallback::None) {
            self.queue.take(rtt);
        }
    }

    fn min_tso_segs(&self, _window: &Window) -> Option<u32> {
        Some(self.burst)
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
        self.update_cwnd(sample, flow, window);
        if flow.snd_una >= self.round.end
            && !(self.is_independent(window) && self.is_soon(self.alpha_updated, flow.now))
        {
            self.end_round(flow, window);
        }
        self.pace(flow, window);
        self.choose_controlled(flow, window);
    }

    fn state(&self) -> &'static str {
        match (self.is_on, self.seen_mark) {
            (false, _) => "reno",
            (true, false) => "unmarked",
            (true, true) if self.is_classic() => "classic",
            (true, true) => "scalable",
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        self.queue.set_pace(window.ssthresh);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        self.in_loss = false;
        self.rate = self.rate.max(self.before.rate);
        self.cwnd = self.cwnd_of_rate(flow);
        self.before.cwnd.max(window.cwnd)
    }
}

impl Prague {
    fn new(tuning: Tuning) -> Self {
        Prague {
            tuning,
            controlled: Controlled::Window,
            cwnd: 0,
            rate: 0,
            before: Before { cwnd: Segs::ZERO, rate: 0 },
            alpha: 0,
            growth: SEGMENT,
            round: Round::default(),
            rounds: 0,
            alpha_updated: SimTime::ZERO,
            cut: SimTime::ZERO,
            mean_rtt: 0,
            marked: 0,
            seen_mark: false,
            in_loss: false,
            queue: ClassicQueue::default(),
            burst: 1,
            is_on: false,
        }
    }

    fn alpha(&self) -> u64 {
        self.alpha >> self.tuning.shift
    }

    /// Growth does not depend on the RTT where that is below the target.
    fn is_independent(&self, window: &Window) -> bool {
        !window.in_slow_start() && self.rounds >= self.tuning.transition
    }

    /// Less than the target RTT after `last`.
    fn is_soon(&self, last: SimTime, now: SimTime) -> bool {
        now.as_micros().saturating_sub(last.as_micros()) < self.tuning.target.as_micros()
    }

    /// The rate is what growth and cuts change now.
    fn controls_rate(&self, window: &Window) -> bool {
        self.controlled == Controlled::Rate && self.is_independent(window)
    }

    fn is_classic(&self) -> bool {
        self.tuning.fallback == Fallback::Answered && self.queue.least_alpha() > 0
    }

    fn begin_round(&mut self, flow: &Flow, window: &Window) {
        self.round = Round { end: flow.snd_nxt, delivered: flow.delivered, marked: flow.delivered_ce };
        if !window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.scale_growth(flow);
    }

    fn end_round(&mut self, flow: &Flow, window: &Window) {
        if self.seen_mark {
            if self.tuning.fallback != Fallback::None {
                self.queue.judge(flow);
            }
            let delivered = (flow.delivered - self.round.delivered).max(1);
            let share = ((flow.delivered_ce - self.round.marked) << ALPHA_BITS) / delivered;
            self.alpha = (self.alpha - self.alpha() + share).min(MAX_ALPHA << self.tuning.shift);
            self.alpha_updated = flow.now;
        }
        self.mean_rtt = self.mean_rtt + u64::from(flow.srtt_us8) - (self.mean_rtt >> MEAN_RTT_BITS);
        self.begin_round(flow, window);
    }

    fn answer_loss(&mut self, flow: &Flow, window: &Window) {
        self.before = Before { cwnd: window.cwnd, rate: self.rate };
        if self.controls_rate(window) {
            self.rate -= self.rate >> 1;
            self.cwnd = self.cwnd_of_rate(flow);
        } else {
            self.cwnd -= self.cwnd >> 1;
            self.rate = self.rate_of_cwnd(flow);
        }
        self.in_loss = true;
    }

    /// The cut that new marks bring.
    fn answer_marks(&mut self, flow: &Flow, window: &Window) {
        if self.is_independent(window) && self.is_soon(self.cut, flow.now) {
            return;
        }
        self.cut = flow.now;
        let least = if self.is_classic() { self.queue.least_alpha() } else { 0 };
        let alpha = u128::from(self.alpha().max(least));
        if self.controls_rate(window) {
            let less = (u128::from(self.rate) * alpha) >> (ALPHA_BITS + 1);
            self.rate = (self.rate - less as u64).max(MIN_RATE);
            self.cwnd = self.cwnd_of_rate(flow);
        } else {
            // Rounded to the nearest.
            let less = (u128::from(self.cwnd) * alpha + u128::from(MAX_ALPHA)) >> (ALPHA_BITS + 1);
            self.cwnd -= less as u64;
            self.rate = self.rate_of_cwnd(flow);
        }
    }

    /// Sets the pacing rate.
    fn pace(&mut self, flow: &Flow, window: &mut Window) {
        let mut rate = self.rate;
        if self.controls_rate(window) {
            let apart = self.rate * 4 / 128;
            let half = self.virtual_rtt(flow) >> 4;
            let elapsed = flow.now.as_micros().saturating_sub(self.alpha_updated.as_micros());
            rate = if half <= elapsed { rate - apart } else { rate + apart };
        } else {
            let segments = (self.cwnd >> CWND_BITS).max(flow.in_flight.0.into());
            rate = self.rate_of_segment(flow).saturating_mul(segments).clamp(MIN_RATE, MAX_RATE);
            self.rate = rate;
        }
        if window.cwnd.0 < window.ssthresh.0 / 2 {
            rate <<= 1;
        }
        self.burst = ((rate / u64::from(flow.mtu)) >> BURST_SHIFT).clamp(1, u32::MAX.into()) as u32;
        window.pacing_rate = Rate::from_bytes_per_sec(rate);
    }
}
