//! New Vegas: cwnd follows the product of the maximum rate and the minimum RTT, plus a small queue.
//!
//! per RTT sample:  avg = (sample + last avg) / 2;  rate = bytes in flight / avg, of which the maximum is kept
//! once per round:  ideal = rate · min_rtt / mss,  limit = ideal + 10
//!   cwnd > limit:      (after enough rounds and samples) growth stops; ssthresh = limit; cwnd −= 30 % of the excess
//!   cwnd ≤ limit − 2:  (after 20 samples) growth is allowed
//! growth:  Reno's, one segment per max(4, cwnd·2^−f); f falls with each timeout, to −8, and rises after quiet rounds
//! cut:     ssthresh = 0.8·cwnd; a reduction restarts all measurements, so a standing queue becomes part of min_rtt
//!
//! min_rtt is the minimum of the last 5 s (± 25 %, at random). A round with a single sample means that a window has too
//! few ACKs; cwnd may then grow until there are more.
//! Sources: [nv, Brakmo 2010], [linux-6.12 tcp_nv.c tcpnv_acked].
//!
//! Deviations: a BPF program cannot set the base RTT.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::{number, packets};
use crate::random::RandomNumbers;
use crate::{AckSample, CaState, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// 100 bit/s in one byte per µs. [linux-6.12 tcp_nv.c tcpnv_acked]
const RATE_UNITS: u64 = 80_000;
/// Initial value of the window that has enough ACKs. [linux-6.12 tcp_nv.c NV_MIN_CWND]
const MIN_CWND: u32 = 4;
/// Increment of that window. [linux-6.12 tcp_nv.c NV_MIN_CWND_GROW]
const MIN_CWND_STEP: u32 = 2;
/// Maximum of that window. [linux-6.12 tcp_nv.c NV_TSO_CWND_BOUND]
const MIN_CWND_BOUND: u32 = 81;
/// Samples are counted up to this. [linux-6.12 tcp_nv.c tcpnv_acked]
const MAX_COUNTED: u32 = 255;
/// Slowest growth: one segment per 2^8 windows. [linux-6.12 tcp_nv.c tcpnv_state]
const MIN_GROWTH_FACTOR: i32 = -8;
/// Fastest growth: the limit of a shift of 32 bits. [linux-6.12 tcp_nv.c tcpnv_cong_avoid]
const MAX_GROWTH_FACTOR: i32 = 31;
/// Minimum number of acknowledged segments per segment of growth. [linux-6.12 tcp_nv.c tcpnv_cong_avoid]
const MIN_CNT: u32 = 4;
/// Seconds until min_rtt is first measured again. [linux-6.12 tcp_nv.c tcpnv_init]
const FIRST_RESET_SECS: u64 = 2;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_nv.c module_param]
const PARAMETERS: &[Parameter] = &[
    packets("nv_pad", 10, 0, "maximum number of segments in the queue"),
    packets("nv_pad_buffer", 2, 0, "growth stops this many segments below nv_pad"),
    number("nv_reset_period", 5, 1, 3_600, "window of min_rtt, in s"),
    packets("nv_min_cwnd", 2, 1, "minimum of cwnd"),
    number("nv_cong_dec_mult", 38, 0, 128, "share of the excess by which cwnd is reduced, in 1/128"),
    number("nv_ssthresh_factor", 8, 1, 64, "ssthresh in terms of the ideal window, in 1/8"),
    number("nv_rtt_factor", 128, 0, 256, "weight of a new RTT, in 1/256; 0 = no average"),
    number("nv_loss_dec_factor", 819, 0, 1_024, "fraction of the window kept after a loss, in 1/1024"),
    number("nv_cwnd_growth_rate_neg", 8, 0, 65_535, "quiet rounds until slowed growth doubles"),
    number("nv_cwnd_growth_rate_pos", 0, 0, 65_535, "quiet rounds until normal growth doubles; 0 = never"),
    number("nv_dec_eval_min_calls", 60, 0, 255, "samples before cwnd is reduced"),
    number("nv_inc_eval_min_calls", 20, 0, 255, "samples before growth is allowed"),
    number("nv_ssthresh_eval_min_calls", 30, 0, 255, "samples before slow start is left"),
    number("nv_stop_rtt_cnt", 10, 0, 255, "rounds without a decision after which growth stops"),
    number("nv_rtt_min_cnt", 2, 0, 255, "rounds before cwnd is reduced"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "nv",
    summary: "the window is the maximum rate times the minimum RTT, plus ten segments (New Vegas)",
    source: include_str!("nv.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Nv::new(tuning(given)?)))
}

fn tuning(given: &Parameters) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    let count = |name| get(name).map(|value| value as u32);
    Ok(Tuning {
        pad: get("nv_pad")?,
        pad_buffer: get("nv_pad_buffer")?,
        reset_period: get("nv_reset_period")?,
        min_cwnd: Segs(count("nv_min_cwnd")?),
        cong_dec_mult: get("nv_cong_dec_mult")?,
        ssthresh_factor: get("nv_ssthresh_factor")?,
        rtt_factor: get("nv_rtt_factor")?,
        loss_dec_factor: get("nv_loss_dec_factor")?,
        growth_rate_neg: count("nv_cwnd_growth_rate_neg")?,
        growth_rate_pos: count("nv_cwnd_growth_rate_pos")?,
        dec_eval_min: count("nv_dec_eval_min_calls")?,
        inc_eval_min: count("nv_inc_eval_min_calls")?,
        ssthresh_eval_min: count("nv_ssthresh_eval_min_calls")?,
        stop_rounds: count("nv_stop_rtt_cnt")?,
        min_rounds: count("nv_rtt_min_cnt")?,
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    pad: u64,
    pad_buffer: u64,
    reset_period: u64,
    min_cwnd: Segs,
    cong_dec_mult: u64,
    ssthresh_factor: u64,
    rtt_factor: u64,
    loss_dec_factor: u64,
    growth_rate_neg: u32,
    growth_rate_pos: u32,
    dec_eval_min: u32,
    inc_eval_min: u32,
    ssthresh_eval_min: u32,
    stop_rounds: u32,
    min_rounds: u32,
}

/// Measurements since the last decision.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// In 100 bit/s.
    max_rate: u64,
    samples: u32,
    rounds: u32,
}

/// RTTs in µs; `None` = not measured.
#[derive(Clone, Debug, Default)]
struct Rtts {
    /// Moving average.
    last: Option<u64>,
    min: Option<u64>,
    /// Minimum since the last reset, which becomes the next `min`.
    min_new: Option<u64>,
    /// Time of the next reset, in jiffies.
    reset_at: u64,
}

/// State of New Vegas.
#[derive(Clone, Debug)]
pub struct Nv {
    tuning: Tuning,
    random: RandomNumbers,
    rtts: Rtts,
    evidence: Samples,
    round_start: u64,
    last_una: u64,
    /// Window that has enough ACKs.
    min_cwnd: u32,
    may_grow: bool,
    /// Growth is one segment per cwnd·2^−factor.
    growth_factor: i32,
    quiet_rounds: u32,
    /// A reduction is in progress; all measurements restart after it.
    reset_pending: bool,
}

impl Hooks for Nv {
    fn init(&mut self, flow: &Flow, _window: &mut Window, draws: &mut dyn Rng) {
        self.random = RandomNumbers::from(draws);
        self.reset(flow);
        self.rtts.reset_at = flow.jiffies() + FIRST_RESET_SECS * flow.hz();
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        match to {
            CaState::Open if self.reset_pending => self.reset(flow),
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.reset_pending = true;
                self.may_grow = false;
            }
            _ => {}
        }
        if to == CaState::Loss {
            self.growth_factor = self.growth_factor.min(0);
            if self.tuning.growth_rate_neg > 0 {
                self.growth_factor = (self.growth_factor - 1).max(MIN_GROWTH_FACTOR);
            }
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, window: &mut Window) {
        let Some(rtt) = sample.rtt else { return };
        if !matches!(flow.ca_state, CaState::Open | CaState::Disorder) {
            return;
        }
        let acked = flow.snd_una - self.last_una;
        self.last_una = flow.snd_una;
        if sample.in_flight == 0 {
            return;
        }
        let average = self.average(rtt.as_micros());
        self.take_rate(sample.in_flight, average);
        self.take_min(average, flow);
        if flow.snd_una > self.round_start {
            self.end_round(acked, flow, window);
        }
    }
}

impl WindowControl for Nv {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited || !self.may_grow {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > Segs::ZERO {
            window.cong_avoid_ai(self.cnt(window.cwnd), left);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let kept = (u64::from(window.cwnd.0) * self.tuning.loss_dec_factor) >> 10;
        Segs(kept.max(MIN_SSTHRESH) as u32)
    }
}

/// Measurements.
impl Nv {
    fn new(tuning: Tuning) -> Self {
        Nv {
            tuning,
            random: RandomNumbers::default(),
            rtts: Rtts::default(),
            evidence: Samples::default(),
            round_start: 0,
            last_una: 0,
            min_cwnd: MIN_CWND,
            may_grow: true,
            growth_factor: 0,
            quiet_rounds: 0,
            reset_pending: false,
        }
    }

    fn reset(&mut self, flow: &Flow) {
        self.reset_pending = false;
        self.quiet_rounds = 0;
        self.evidence = Samples::default();
        self.rtts.last = None;
        self.round_start = flow.snd_una;
        self.last_una = flow.snd_una;
    }

    /// Updates the moving average of the RTT; the first sample after a reset also restarts the minimum.
    fn average(&mut self, rtt_us: u64) -> u64 {
        let weight = self.tuning.rtt_factor;
        if weight == 0 {
            return rtt_us;
        }
        let average = match self.rtts.last {
            Some(last) => (rtt_us * weight + last * (256 - weight)) >> 8,
            None => {
                self.rtts.min = Some(rtt_us * 2);
                rtt_us
            }
        };
        self.rtts.last = Some(average).filter(|&average| average > 0);
        average
    }

    fn take_rate(&mut self, in_flight: u64, average: u64) {
        let rate = in_flight.saturating_mul(RATE_UNITS) / average.max(1);
        self.evidence.max_rate = self.evidence.max_rate.max(rate.min(u64::from(u32::MAX)));
        self.evidence.samples = (self.evidence.samples + 1).min(MAX_COUNTED);
    }

    fn take_min(&mut self, average: u64, flow: &Flow) {
        let rtts = &mut self.rtts;
        rtts.min = Some(rtts.min.map_or(average, |min| min.min(average)));
        rtts.min_new = Some(rtts.min_new.map_or(average, |min| min.min(average)));
        if flow.jiffies() >= rtts.reset_at {
            rtts.min = rtts.min_new.take();
            let spread = 384 + u64::from(self.random.below(256));
            rtts.reset_at = flow.jiffies() + ((self.tuning.reset_period * spread * flow.hz()) >> 9);
            // The number of ACKs per window may have changed too.
            self.min_cwnd = (self.min_cwnd / 2).max(MIN_CWND);
        }
    }
}

/// Decisions.
impl Nv {
    fn end_round(&mut self, acked: u64, flow: &Flow, window: &mut Window) {
        self.round_start = flow.snd_nxt;
        self.evidence.rounds = (self.evidence.rounds + 1).min(MAX_COUNTED);
        if self.has_too_few_acks(acked, flow) {
            self.min_cwnd = (self.min_cwnd + MIN_CWND_STEP).min(MIN_CWND_BOUND);
            self.round_start = flow.snd_nxt + u64::from(self.min_cwnd) * u64::from(flow.mss);
            self.evidence.samples = 0;
            self.may_grow = true;
            return;
        }
        let (cwnd, max) = (u64::from(window.cwnd.0), self.largest_window(flow));
        let decided = if cwnd > max {
            self.shrink(max, window)
        } else {
            cwnd + self.tuning.pad_buffer <= max && self.allow_growth()
        };
        if decided {
            self.evidence = Samples::default();
            window.cwnd = window.cwnd.max(self.tuning.min_cwnd);
        }
    }

    /// A whole round had one sample, because the receiver or a host batches.
    fn has_too_few_acks(&self, acked: u64, flow: &Flow) -> bool {
        let window = u64::from(self.min_cwnd - 1) * u64::from(flow.mss);
        self.evidence.samples == 1 && acked >= window && self.min_cwnd < MIN_CWND_BOUND
    }

    fn largest_window(&self, flow: &Flow) -> u64 {
        let min = u128::from(self.rtts.min.unwrap_or(0));
        let ideal = u128::from(self.evidence.max_rate) * min / u128::from(RATE_UNITS * u64::from(flow.mss));
        u64::try_from(ideal).unwrap_or(u64::MAX).saturating_add(self.tuning.pad)
    }

    /// Reduces cwnd if there are enough rounds and samples; true if so.
    fn shrink(&mut self, max: u64, window: &mut Window) -> bool {
        if self.evidence.rounds < self.tuning.min_rounds {
            return false;
        }
        let first = window.ssthresh >= Segs::INFINITE;
        let wanted = if first { self.tuning.ssthresh_eval_min } else { self.tuning.dec_eval_min };
        if self.evidence.samples < wanted {
            self.may_grow &= first || self.evidence.rounds <= self.tuning.stop_rounds;
            return false;
        }
        self.may_grow = false;
        let ssthresh = (self.tuning.ssthresh_factor * max) >> 3;
        window.ssthresh = Segs(ssthresh.clamp(MIN_SSTHRESH, u64::from(Segs::INFINITE.0)) as u32);
        window.cwnd = self.lowered(u64::from(window.cwnd.0), max);
        self.growth_factor = self.growth_factor.min(0);
        self.quiet_rounds = 0;
        true
    }

    fn lowered(&self, cwnd: u64, max: u64) -> Segs {
        let excess = cwnd - max;
        let cut = if excess > 2 {
            ((excess * self.tuning.cong_dec_mult) >> 7).max(2)
        } else if self.tuning.cong_dec_mult > 0 {
            excess
        } else {
            0
        };
        Segs((cwnd - cut).max(1) as u32)
    }

    /// Allows growth if there are enough samples; true if so.
    fn allow_growth(&mut self) -> bool {
        if self.evidence.samples < self.tuning.inc_eval_min {
            return false;
        }
        self.may_grow = true;
        self.quiet_rounds += 1;
        let wait = match self.growth_factor {
            ..0 => self.tuning.growth_rate_neg,
            _ => self.tuning.growth_rate_pos,
        };
        if wait > 0 && self.quiet_rounds > wait {
            self.growth_factor = (self.growth_factor + 1).min(MAX_GROWTH_FACTOR);
            self.quiet_rounds = 0;
        }
        true
    }

    /// Acknowledgements per segment of growth.
    fn cnt(&self, cwnd: Segs) -> u32 {
        match self.growth_factor {
            factor @ ..0 => u32::try_from(u64::from(cwnd.0) << -factor).unwrap_or(u32::MAX),
            factor => (cwnd.0 >> factor).max(MIN_CNT),
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const BASE_US: u64 = 20_000;
    /// Segments that fill the path.
    const BDP: u32 = 100;

    fn nv() -> Nv {
        Nv::new(tuning(&Parameters::default()).expect("defaults are in range"))
    }

    fn rtt(cwnd: u32) -> Span {
        Span::from_micros(BASE_US * u64::from(cwnd.max(BDP)) / u64::from(BDP))
    }

    fn settled() -> Acks<Nv> {
        let mut acks = Acks::after_handshake(10, rtt(1), nv());
        (0..100).for_each(|_| acks.round(rtt(acks.cwnd())));
        acks
    }

    #[test]
    fn a_flow_alone_settles_ten_segments_above_the_bdp() {
        let cwnd = settled().cwnd();
        assert!((BDP + 6..=BDP + 13).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn when_the_minimum_begins_anew_the_window_that_has_enough_acks_is_halved() {
        let mut nv = Nv { min_cwnd: 40, ..nv() };
        nv.take_min(BASE_US, &Flow::established(1448, Span::from_millis(1)));
        assert_eq!(nv.min_cwnd, 20);
        nv.min_cwnd = 5;
        nv.rtts.reset_at = 0;
        nv.take_min(BASE_US, &Flow::established(1448, Span::from_millis(1)));
        assert_eq!(nv.min_cwnd, MIN_CWND);
    }

    #[test]
    fn a_decision_reduces_the_excess_by_three_tenths() {
        let nv = nv();
        assert_eq!(nv.lowered(200, 100), Segs(200 - 100 * 38 / 128));
        assert_eq!(nv.lowered(102, 100), Segs(100));
        assert_eq!(nv.lowered(103, 100), Segs(101), "at least two");
    }

    #[test]
    fn a_loss_leaves_four_fifths_of_the_window() {
        let mut acks = settled();
        acks.window.cwnd = Segs(100);
        acks.lose();
        assert_eq!(acks.cwnd(), 79);
    }

    #[test]
    fn after_recovery_a_standing_queue_is_part_of_the_minimum_rtt() {
        let mut acks = settled();
        acks.lose();
        acks.ack(1, rtt(3 * BDP));
        acks.ack(1, rtt(3 * BDP));
        assert_eq!(acks.control.rtts.min, Some(3 * BASE_US));
    }

    #[test]
    fn each_timeout_halves_the_growth_and_nine_quiet_decisions_double_it() {
        let mut acks = Acks::after_handshake(10, rtt(1), nv());
        acks.time_out();
        acks.enter(CaState::Open);
        assert_eq!((acks.control.growth_factor, acks.control.cnt(Segs(10))), (-1, 20));
        acks.control.evidence.samples = 255;
        (0..9).for_each(|_| assert!(acks.control.allow_growth()));
        assert_eq!((acks.control.growth_factor, acks.control.cnt(Segs(10))), (0, 10));
    }

    #[test]
    fn the_minimum_rtt_is_measured_again_about_every_five_seconds() {
        let mut acks = settled();
        let (low, now) = (acks.control.rtts.min, acks.flow.jiffies());
        assert!((3_750..=6_250).contains(&(acks.control.rtts.reset_at.saturating_sub(now))) || low.is_some());
        for _ in 0..200 {
            acks.window.cwnd = Segs(50);
            acks.round(Span::from_micros(3 * BASE_US));
        }
        assert!(acks.control.rtts.min.is_some_and(|min| min >= 3 * BASE_US - 1), "{:?}", acks.control.rtts);
    }
}
