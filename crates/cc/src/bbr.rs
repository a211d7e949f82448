//! BBR version 1: send at the bottleneck's bandwidth with little more than its delay in flight, both measured.
//!
//! bandwidth = windowed max of delivery rates over 10 rounds      [linux-6.12 tcp_bbr.c bbr_update_bw]
//! min_rtt   = windowed min of RTTs over 10 s                     [linux-6.12 tcp_bbr.c bbr_update_min_rtt]
//! pacing rate = pacing_gain · bandwidth · 0.99                   [linux-6.12 tcp_bbr.c bbr_bw_to_pacing_rate]
//! cwnd        = cwnd_gain · bandwidth · min_rtt + extra acked + 3 skbs, even, at least 4
//!                                                                [linux-6.12 tcp_bbr.c bbr_set_cwnd]
//! STARTUP   2.887 / 2.887 until three rounds bring less than 25 % more bandwidth
//! DRAIN     0.344 / 2.887 until one BDP is in flight
//! PROBE_BW  1.25, 0.75, 1 six times / 2; a phase lasts about min_rtt; the first one is random, never 0.75
//! PROBE_RTT 1 / 1 with a window of 4 for 200 ms and a round, when min_rtt was not seen for 10 s
//!
//! Loss and ECN do not reduce the rate: a loss is taken out of the window, the first round of recovery sends what is
//! acknowledged, then the old window is restored. Two helpers stand in files of their own: [`aggregation`] (room for
//! bursts of ACKs, since Linux 5.1; `ack_aggregation 0`, or an older stack, is without it) and [`policer`] (long-term
//! sampling). [`bbr_dev`](crate::bbr_dev), [`bbrp`](crate::bbrp) and [`bbrplus`](crate::bbrplus) are variants. Sources: [bbr, Cardwell et al. 2016], [linux-6.12 tcp_bbr.c].
//!
//! Deviations from Linux: the random first phase is drawn when the one before is used up, so that no event of the
//! sender needs a draw; bandwidths and extra packets do not wrap at 32 and 16 bits; the sender applies
//! `sk_max_pacing_rate` itself.

pub(crate) mod aggregation;
pub(crate) mod bandwidth;
mod policer;
/// Slow flows send one segment per skb.
fn least_tso_segs(window: &Window) -> u32 {
    if window.pacing_rate.bytes_per_sec() < SLOW_RATE { 1 } else { 2 }
}

#[cfg(test)]
mod tests;

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs, Span};

use self::aggregation::{AckAggregation, Acked, SLOT_ROUNDS};
use self::bandwidth::{Bandwidth, Gain};
use self::policer::{Change, Policer, Seen};
use crate::filters::WindowedMax;
use crate::module_param::flag;
use crate::{CaState, Control, CwndEvent, Flow, GSO_MAX_SIZE, ModelControl, Moments, RateSample, Row, Window};

/// 2/ln 2, a little rounded up: the smallest gain that doubles the rate each round. [linux-6.12 tcp_bbr.c bbr_high_gain]
const HIGH_GAIN: Gain = Gain(256 * 2885 / 1000 + 1);
/// Its inverse. [linux-6.12 tcp_bbr.c bbr_drain_gain]
const DRAIN_GAIN: Gain = Gain(256 * 1000 / 2885);
/// Windows of two BDPs ride out delayed and batched ACKs. [linux-6.12 tcp_bbr.c bbr_cwnd_gain]
const CWND_GAIN: Gain = Gain(256 * 2);
/// Pacing gains of the phases of PROBE_BW. [linux-6.12 tcp_bbr.c bbr_pacing_gain]
const CYCLE: [Gain; 8] =
    [Gain(256 * 5 / 4), Gain(256 * 3 / 4), Gain(256), Gain(256), Gain(256), Gain(256), Gain(256), Gain(256)];
/// Phases among which the one before the first is drawn. [linux-6.12 tcp_bbr.c bbr_cycle_rand]
const CYCLE_CHOICES: u64 = 7;
/// Window of the bandwidth filter in rounds: a cycle and a bit. [linux-6.12 tcp_bbr.c bbr_bw_rtts]
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// Age in seconds at which min_rtt is measured again. [linux-6.12 tcp_bbr.c bbr_min_rtt_win_sec]
const MIN_RTT_SECS: u64 = 10;
/// Time spent with a small window to measure it. [linux-6.12 tcp_bbr.c bbr_probe_rtt_mode_ms]
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// That small window, in segments. [linux-6.12 tcp_bbr.c bbr_cwnd_min_target]
const LEAST_CWND: u32 = 4;
/// Growth of the bandwidth that shows the pipe is not full: 1.25, in 1/256. [linux-6.12 tcp_bbr.c bbr_full_bw_thresh]
const GROWTH: u64 = 256 * 5 / 4;
/// Fraction bits of [`GROWTH`].
const GROWTH_BITS: u32 = 8;
/// Rounds without such growth after which it is full. [linux-6.12 tcp_bbr.c bbr_full_bw_cnt]
const FULL_ROUNDS: u32 = 3;
/// Below this rate in byte/s (1.2 Mbit/s) one segment per skb will do. [linux-6.12 tcp_bbr.c bbr_min_tso_rate]
const SLOW_RATE: u64 = 1_200_000 / 8;
/// Most segments of one skb. [linux-6.12 tcp_bbr.c bbr_tso_segs_goal]
const MOST_TSO_SEGS: u64 = 0x7f;
/// skbs that wait in the hosts on either side of the path. [linux-6.12 tcp_bbr.c bbr_quantization_budget]
const SKBS_IN_HOSTS: u64 = 3;
/// Window before the first RTT, in segments. [rfc6928 §2]
const INITIAL_CWND: u32 = 10;
/// RTT assumed before the first, in µs. [linux-6.12 tcp_bbr.c bbr_init_pacing_rate_from_rtt]
const ASSUMED_RTT_US: u64 = 1_000;

/// The kernel's module has none; this one tells its versions apart.
const PARAMETERS: &[Parameter] =
    &[flag("ack_aggregation", 1, "make room for bursts of ACKs; 0 by default in stacks before Linux 5.1")];

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr",
    summary: "paces at the measured bandwidth, with two bandwidth-delay products in flight (version 1)",
    source: include_str!("bbr.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: false,
    build,
};

fn build(given: &Parameters) -> Result<Control, ParameterError> {
    let ack_aggregation = given.get("ack_aggregation", PARAMETERS)? != 0;
    Ok(Control::Model(Box::new(Bbr::of(Variant { ack_aggregation, ..Variant::default() }))))
}

/// What sets the descendants of BBR apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// Room for bursts of ACKs in the window.
    pub(crate) ack_aggregation: bool,
    /// All pacing gains of PROBE_BW are multiplied by this, in percent.
    pub(crate) cycle_percent: u32,
    /// The pacing rate is multiplied by this once the pipe is full, in percent.
    pub(crate) pacing_percent: u32,
}

impl Default for Variant {
    fn default() -> Self {
        Variant { ack_aggregation: true, cycle_percent: 100, pacing_percent: 100 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Factors on the model's bandwidth (pacing) and BDP (cwnd).
#[derive(Clone, Copy, Debug)]
struct Gains {
    pacing: Gain,
    cwnd: Gain,
}

/// Round trips counted in deliveries: a round ends when what was sent after its start is delivered.
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u64,
    next_delivered: u64,
    /// This ACK began one.
    start: bool,
}

#[derive(Clone, Debug, Default)]
struct MinRtt {
    /// `None` before the first sample.
    us: Option<u64>,
    /// When it was seen, in jiffies.
    stamp: u64,
}

/// Has STARTUP filled the pipe?
#[derive(Clone, Debug, Default)]
struct FullPipe {
    bandwidth: Bandwidth,
    rounds: u32,
    reached: bool,
}

/// The phase of PROBE_BW.
#[derive(Clone, Debug, Default)]
struct Cycle {
    index: usize,
    /// In µs.
    start: u64,
}

#[derive(Clone, Debug, Default)]
struct ProbeRtt {
    /// Earliest end in jiffies, once the window has shrunk.
    done: Option<u64>,
    round_done: bool,
}

/// What recovery does to the window.
#[derive(Clone, Debug, Default)]
struct Recovery {
    previous: CaState,
    packet_conservation: bool,
    prior_cwnd: Segs,
}

/// BBR's model of the path and its state.
#[derive(Clone, Debug)]
pub struct Bbr {
    variant: Variant,
    mode: Mode,
    gains: Gains,
    rounds: Rounds,
    max_bandwidth: WindowedMax,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    recovery: Recovery,
    aggregation: AckAggregation,
    policer: Policer,
    /// The pacing rate rests on an RTT that was measured.
    has_seen_rtt: bool,
    /// Sending restarted after idle, and nothing was delivered since.
    idle_restart: bool,
    /// For the next entry to PROBE_BW.
    drawn_phase: Option<usize>,
}

impl Moments for Bbr {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.draw_phase(draws);
        window.ssthresh = Segs::INFINITE;
        self.rounds.next_delivered = flow.delivered;
        self.min_rtt = MinRtt { us: flow.min_rtt.map(Span::as_micros), stamp: flow.jiffies() };
        self.max_bandwidth.reset(self.rounds.count, 0);
        self.init_pacing_rate_from_rtt(flow, window);
        self.policer.reset(flow);
        self.aggregation.restart(flow.now.as_micros());
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Loss {
            self.recovery.previous = CaState::Loss;
            self.full_pipe.bandwidth = Bandwidth::ZERO;
            self.rounds.start = true;
            self.watch_for_policer(Segs::ONE, false, flow);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        if event != CwndEvent::TxStart || flow.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(flow.now.as_micros());
        // After idle send at the bandwidth itself: the cycle's phase is stale.
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(Gain::UNIT, flow, window),
            Mode::ProbeRtt => self.check_probe_rtt_done(flow, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        Some(least_tso_segs(window))
    }

    fn gauges(&self, flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        show("bbr_bw", self.bandwidth().bytes_per_sec(flow.mss) as f64);
        if let Some(us) = self.min_rtt.us {
            show("bbr_min_rtt", us as f64);
        }
        show("bbr_pacing_gain", self.gains.pacing.as_f64());
        show("bbr_cwnd_gain", self.gains.cwnd.as_f64());
        show("bbr_mode", f64::from(self.mode as u8));
    }
}

impl ModelControl for Bbr {
    fn state(&self) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.draw_phase(draws);
        self.update_model(sample, flow, window);
        self.set_pacing_rate(self.gains.pacing, flow, window);
        self.set_cwnd(sample, flow, window);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        self.full_pipe.bandwidth = Bandwidth::ZERO;
        self.full_pipe.rounds = 0;
        self.policer.reset(flow);
        window.cwnd
    }
}

/// The model.
impl Bbr {
    pub(crate) fn of(variant: Variant) -> Self {
        Bbr {
            variant,
            mode: Mode::Startup,
            gains: Gains { pacing: HIGH_GAIN, cwnd: HIGH_GAIN },
            rounds: Rounds::default(),
            max_bandwidth: WindowedMax::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            recovery: Recovery::default(),
            aggregation: AckAggregation::default(),
            policer: Policer::default(),
            has_seen_rtt: false,
            idle_restart: false,
            drawn_phase: None,
        }
    }

    fn update_model(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        self.update_bandwidth(sample, flow);
        self.update_ack_aggregation(sample, flow, window);
        self.update_cycle_phase(sample, flow, window);
        self.check_full_pipe(sample);
        self.check_drain(flow, window);
        self.update_min_rtt(sample, flow, window);
        self.update_gains();
    }

    /// The bandwidth to send at: the policer's if there is one.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.max_bandwidth())
    }

    fn max_bandwidth(&self) -> Bandwidth {
        Bandwidth::from_raw(self.max_bandwidth.get())
    }

    fn update_bandwidth(&mut self, sample: &RateSample, flow: &Flow) {
        self.rounds.start = false;
        let Some((delivered, micros)) = measured(sample) else { return };
        if sample.prior_delivered >= self.rounds.next_delivered {
            self.rounds =
                Rounds { count: self.rounds.count + 1, next_delivered: flow.delivered, start: true };
            self.recovery.packet_conservation = false;
        }
        self.watch_for_policer(sample.losses, sample.is_app_limited, flow);
        let bandwidth = Bandwidth::of(delivered, micros);
        // A sample short of data says little about the path, unless it is a new record.
        if !sample.is_app_limited || bandwidth >= self.max_bandwidth() {
            self.max_bandwidth.update(BANDWIDTH_ROUNDS, self.rounds.count, bandwidth.raw());
        }
    }

    fn watch_for_policer(&mut self, losses: Segs, app_limited: bool, flow: &Flow) {
        let round_start = self.rounds.start;
        let seen = Seen { losses, app_limited, round_start, probing: self.mode == Mode::ProbeBw };
        match self.policer.take(&seen, flow) {
            Change::None => {}
            Change::Capped => self.gains.pacing = Gain::UNIT,
            Change::Lifted => self.enter_probe_bw(flow),
        }
    }

    fn update_ack_aggregation(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        if sample.acked_sacked == Segs::ZERO || measured(sample).is_none() {
            return;
        }
        let acked = Acked {
            packets: sample.acked_sacked,
            most: window.cwnd,
            round_start: self.rounds.start,
            slot_rounds: SLOT_ROUNDS,
            at_us: flow.delivered_at.as_micros(),
        };
        self.aggregation.update(&acked, self.bandwidth());
    }

    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.full_pipe.reached || !self.rounds.start || sample.is_app_limited {
            return;
        }
        let bandwidth = self.max_bandwidth();
        if bandwidth >= self.full_pipe.bandwidth.scaled(GROWTH, GROWTH_BITS) {
            self.full_pipe = FullPipe { bandwidth, rounds: 0, reached: false };
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.reached = self.full_pipe.rounds >= FULL_ROUNDS;
    }
}

/// The states.
impl Bbr {
    fn draw_phase(&mut self, draws: &mut dyn Rng) {
        if self.drawn_phase.is_none() {
            let drawn = (u64::from(draws.next_u32()) * CYCLE_CHOICES) >> u32::BITS;
            self.drawn_phase = Some(drawn as usize);
        }
    }

    fn update_cycle_phase(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(sample, flow, window) {
            self.advance_cycle_phase(flow);
        }
    }

    fn is_next_cycle_phase(&self, sample: &RateSample, flow: &Flow, window: &Window) -> bool {
        let elapsed = flow.delivered_at.as_micros().saturating_sub(self.cycle.start);
        let full_length = self.min_rtt.us.is_some_and(|us| elapsed > us);
        let gain = self.gains.pacing;
        if gain == Gain::UNIT {
            return full_length;
        }
        let inflight = self.packets_in_net_at_edt(sample.prior_in_flight, flow, window);
        if gain > Gain::UNIT {
            // Probe until the queue holds a quarter BDP or the path refuses it.
            let reached = || inflight >= self.inflight(gain, flow, window);
            return full_length && (sample.losses > Segs::ZERO || reached());
        }
        full_length || inflight <= self.inflight(Gain::UNIT, flow, window)
    }

    fn advance_cycle_phase(&mut self, flow: &Flow) {
        self.cycle.index = (self.cycle.index + 1) % CYCLE.len();
        self.cycle.start = flow.delivered_at.as_micros();
    }

    fn enter_probe_bw(&mut self, flow: &Flow) {
        self.mode = Mode::ProbeBw;
        // Two entries without an ACK between them find no draw; the second then starts with the probing phase.
        self.cycle.index = CYCLE.len() - 1 - self.drawn_phase.take().unwrap_or_default();
        self.advance_cycle_phase(flow);
    }

    fn check_drain(&mut self, flow: &Flow, window: &mut Window) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(Gain::UNIT, flow, window);
        }
        if self.mode == Mode::Drain {
            let inflight = self.packets_in_net_at_edt(flow.in_flight, flow, window);
            if inflight <= self.inflight(Gain::UNIT, flow, window) {
                self.enter_probe_bw(flow);
            }
        }
    }

    fn update_min_rtt(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        let expired = flow.jiffies() > self.min_rtt.stamp + MIN_RTT_SECS * flow.hz();
        if let Some(us) = sample.rtt.map(Span::as_micros) {
            let lower = self.min_rtt.us.is_none_or(|min| us < min);
            if lower || (expired && !sample.is_ack_delayed) {
                self.min_rtt = MinRtt { us: Some(us), stamp: flow.jiffies() };
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // In this order, as in Linux: what was saved for recovery is then never lowered.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt.done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(flow, window);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, flow: &Flow, window: &mut Window) {
        // The small window must not look like a slow path.
        window.mark_app_limited = true;
        if self.probe_rtt.done.is_some() {
            self.probe_rtt.round_done |= self.rounds.start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(flow, window);
            }
        } else if flow.in_flight.0 <= LEAST_CWND {
            let done = flow.jiffies() + flow.jiffies_in(PROBE_RTT_TIME);
            self.probe_rtt = ProbeRtt { done: Some(done), round_done: false };
            self.rounds.next_delivered = flow.delivered;
        }
    }

    fn check_probe_rtt_done(&mut self, flow: &Flow, window: &mut Window) {
        if self.probe_rtt.done.is_none_or(|done| flow.jiffies() <= done) {
            return;
        }
        self.min_rtt.stamp = flow.jiffies();
        window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(flow);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        let probing = if self.policer.bandwidth().is_some() { Gain::UNIT } else { self.cycle_gain() };
        self.gains = match self.mode {
            Mode::Startup => Gains { pacing: HIGH_GAIN, cwnd: HIGH_GAIN },
            Mode::Drain => Gains { pacing: DRAIN_GAIN, cwnd: HIGH_GAIN },
            Mode::ProbeBw => Gains { pacing: probing, cwnd: CWND_GAIN },
            Mode::ProbeRtt => Gains { pacing: Gain::UNIT, cwnd: Gain::UNIT },
        };
    }
}

/// Pacing rate and window.
impl Bbr {
    fn cycle_gain(&self) -> Gain {
        CYCLE[self.cycle.index].percent(self.variant.cycle_percent)
    }

    fn init_pacing_rate_from_rtt(&mut self, flow: &Flow, window: &mut Window) {
        self.has_seen_rtt |= flow.srtt_us8 > 0;
        let rtt_us = match flow.srtt_us8 {
            0 => ASSUMED_RTT_US,
            srtt_us8 => u64::from(srtt_us8 >> 3).max(1),
        };
        let bandwidth = Bandwidth::of(u64::from(window.cwnd.0), rtt_us);
        window.pacing_rate = bandwidth.pacing_rate(flow.mss, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, gain: Gain, flow: &Flow, window: &mut Window) {
        let scale = if self.full_pipe.reached { self.variant.pacing_percent } else { 100 };
        let rate = self.bandwidth().pacing_rate(flow.mss, gain.percent(scale));
        if !self.has_seen_rtt && flow.srtt_us8 > 0 {
            self.init_pacing_rate_from_rtt(flow, window);
        }
        // Until the pipe is full the rate only rises.
        if self.full_pipe.reached || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        if sample.acked_sacked > Segs::ZERO {
            window.cwnd = self.cwnd_after(sample, flow, window);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(Segs(LEAST_CWND));
        }
    }

    fn cwnd_after(&mut self, sample: &RateSample, flow: &Flow, window: &Window) -> Segs {
        let cwnd = self.recover_or_restore(sample, flow, window);
        if self.recovery.packet_conservation {
            return cwnd.max(flow.in_flight + sample.acked_sacked);
        }
        let bandwidth = self.bandwidth();
        let makes_room = self.full_pipe.reached && self.variant.ack_aggregation;
        let extra = if makes_room { self.aggregation.allowance(bandwidth) } else { 0 };
        let target = self.quantized(self.bdp(bandwidth, self.gains.cwnd) + extra, flow, window);
        let grown = Segs(cwnd.0.saturating_add(sample.acked_sacked.0));
        let cwnd = if self.full_pipe.reached {
            grown.min(target)
        } else if cwnd < target || flow.delivered < u64::from(INITIAL_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(Segs(LEAST_CWND))
    }

    /// The window less what was lost; on entering recovery what is in flight, on leaving what it was before.
    fn recover_or_restore(&mut self, sample: &RateSample, flow: &Flow, window: &Window) -> Segs {
        let mut cwnd = window.cwnd;
        if sample.losses > Segs::ZERO {
            cwnd = cwnd.saturating_sub(sample.losses).max(Segs::ONE);
        }
        let previous = std::mem::replace(&mut self.recovery.previous, flow.ca_state);
        if flow.ca_state == CaState::Recovery && previous != CaState::Recovery {
            self.recovery.packet_conservation = true;
            self.rounds.next_delivered = flow.delivered;
            cwnd = flow.in_flight + sample.acked_sacked;
        } else if previous >= CaState::Recovery && flow.ca_state < CaState::Recovery {
            self.recovery.packet_conservation = false;
            cwnd = cwnd.max(self.recovery.prior_cwnd);
        }
        cwnd
    }

    /// Remembers the window for the end of recovery or PROBE_RTT.
    fn save_cwnd(&mut self, window: &Window) {
        let intact = self.recovery.previous < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let floor = if intact { Segs::ZERO } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = window.cwnd.max(floor);
    }

    fn bdp(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.min_rtt.us.map_or(u64::from(INITIAL_CWND), |us| bandwidth.bdp(us, gain))
    }

    /// `packets` plus what waits in the hosts, so that batching on either side does not starve the path.
    fn quantized(&self, packets: u64, flow: &Flow, window: &Window) -> Segs {
        let packets = packets.saturating_add(SKBS_IN_HOSTS * self.tso_segs_goal(flow, window));
        let even = packets.saturating_add(1) & !1;
        // A gain of 1.25 on a small BDP must be more than it rounds to.
        let probing = self.mode == Mode::ProbeBw && self.cycle.index == 0;
        let wanted = even.saturating_add(if probing { 2 } else { 0 });
        Segs(wanted.min(u64::from(Segs::INFINITE.0)) as u32)
    }

    /// What `gain` BDPs of the best bandwidth come to.
    fn inflight(&self, gain: Gain, flow: &Flow, window: &Window) -> Segs {
        self.quantized(self.bdp(self.max_bandwidth(), gain), flow, window)
    }

    /// Segments of an skb at the present pacing rate.
    fn tso_segs_goal(&self, flow: &Flow, window: &Window) -> u64 {
        let bytes = (window.pacing_rate.bytes_per_sec() >> flow.pacing_shift).min(u64::from(GSO_MAX_SIZE));
        let least = u64::from(least_tso_segs(window));
        (bytes / u64::from(flow.mss)).max(least).min(MOST_TSO_SEGS)
    }

    /// What will be in flight when the next packet departs: by then the path has delivered some of it.
    fn packets_in_net_at_edt(&self, inflight: Segs, flow: &Flow, window: &Window) -> Segs {
        let micros = flow.departure.max(flow.now).since(flow.now).as_micros();
        let sent = if self.gains.pacing > Gain::UNIT { self.tso_segs_goal(flow, window) } else { 0 };
        let left = (u64::from(inflight.0) + sent).saturating_sub(self.bandwidth().packets_in(micros));
        Segs(left as u32)
    }
}

/// Packets and µs of a sample, if it says anything about the bandwidth.
fn measured(sample: &RateSample) -> Option<(u64, u64)> {
    let micros = sample.interval?.as_micros();
    sample.delivered.filter(|_| micros > 0).map(|delivered| (delivered, micros))
}
