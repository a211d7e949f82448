//! The state machine of BBR version 1, which the head of [`bbr`](crate::bbr) describes.

use rand_core::Rng;
use tailback_units::{Segs, Span};

use super::aggregation::SLOT_ROUNDS;
use super::bandwidth::{Bandwidth, Gain};
use super::model::{
    CWND_GAIN, DRAIN_GAIN, Gains, HIGH_GAIN, INITIAL_CWND, MIN_CWND, MinRtt, Mode, Model, SKBS_IN_HOSTS,
    min_tso_segs, segments, tso_segs,
};
use super::policer::{Change, Policer, Sample};
use crate::filters::WindowedMax;
use crate::{CaState, CwndEvent, Flow, GSO_MAX_SIZE, Hooks, ModelControl, RateSample, Window};

#[cfg(test)]
mod tests;

/// Pacing gains of the phases of PROBE_BW. [linux-6.12 tcp_bbr.c bbr_pacing_gain]
const CYCLE: [Gain; 8] =
    [Gain(256 * 5 / 4), Gain(256 * 3 / 4), Gain(256), Gain(256), Gain(256), Gain(256), Gain(256), Gain(256)];
/// Number of phases among which the one before the first is drawn. [linux-6.12 tcp_bbr.c bbr_cycle_rand]
const CYCLE_CHOICES: u64 = 7;
/// Window of the bandwidth filter in rounds: a cycle plus two. [linux-6.12 tcp_bbr.c bbr_bw_rtts]
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// Age in seconds at which min_rtt is measured again. [linux-6.12 tcp_bbr.c bbr_min_rtt_win_sec]
const MIN_RTT_SECS: u64 = 10;
/// Time spent with a small window to measure it. [linux-6.12 tcp_bbr.c bbr_probe_rtt_mode_ms]
const PROBE_RTT_TIME: Span = Span::from_millis(200);

/// The size of the three skbs that cwnd makes room for in the hosts. [linux-4.16 tcp_bbr.c bbr_tso_segs_goal]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SkbRoom {
    /// What the pacing rate sends within the time of the pacing shift, whether the device takes skbs of that size or not.
    PacingShift,
    /// No more than the device takes: one segment with offloads off.
    Device,
}

/// The differences between the variants of version 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// cwnd makes room for bursts of ACKs.
    pub(crate) ack_aggregation: bool,
    /// The size of the skbs that cwnd makes room for.
    pub(crate) skb_room: SkbRoom,
    /// Factor of the pacing gains of PROBE_BW, in percent.
    pub(crate) cycle_percent: u32,
    /// Factor of the pacing rate once the pipe is full, in percent.
    pub(crate) pacing_percent: u32,
}

impl Default for Variant {
    fn default() -> Self {
        Variant {
            ack_aggregation: true,
            skb_room: SkbRoom::PacingShift,
            cycle_percent: 100,
            pacing_percent: 100,
        }
    }
}

/// The phase of PROBE_BW.
#[derive(Clone, Debug, Default)]
struct Cycle {
    index: usize,
    /// In µs.
    start: u64,
}

/// BBR's model of the path and its state.
#[derive(Clone, Debug)]
pub struct Bbr {
    variant: Variant,
    model: Model,
    max_bandwidth: WindowedMax,
    cycle: Cycle,
    policer: Policer,
    /// In the first round of recovery: send one segment per segment delivered.
    packet_conservation: bool,
    /// Drawn for the next entry to PROBE_BW.
    drawn_phase: Option<usize>,
}

impl Hooks for Bbr {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.draw_phase(draws);
        self.model.begin(flow, window);
        self.max_bandwidth.reset(self.model.rounds.count, 0);
        self.policer.reset(flow);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Loss {
            self.model.previous = CaState::Loss;
            self.model.full_pipe.bandwidth = Bandwidth::ZERO;
            self.model.rounds.start = true;
            self.detect_policer(Segs::ONE, false, flow);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        if !self.model.restarts_after_idle(event, flow) {
            return;
        }
        // After idle, pace at the bandwidth itself; the phase of the cycle is outdated.
        match self.model.mode {
            Mode::ProbeBw => self.set_pacing_rate(Gain::UNIT, flow, window),
            Mode::ProbeRtt => self.check_probe_rtt_done(flow, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        Some(min_tso_segs(window))
    }

    fn gauges(&self, flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        self.model.gauges(self.bandwidth(), flow, show);
        show("bbr_mode", f64::from(self.model.mode as u8));
    }
}

impl ModelControl for Bbr {
    fn state(&self) -> &'static str {
        match self.model.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.draw_phase(draws);
        self.update_model(sample, flow, window);
        self.set_pacing_rate(self.model.gains.pacing, flow, window);
        self.set_cwnd(sample, flow, window);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        self.model.save_cwnd(window);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        self.model.full_pipe.bandwidth = Bandwidth::ZERO;
        self.model.full_pipe.rounds = 0;
        self.policer.reset(flow);
        window.cwnd
    }
}

/// The model.
impl Bbr {
    pub(crate) fn of(variant: Variant) -> Self {
        Bbr {
            variant,
            model: Model::new(Gains { pacing: HIGH_GAIN, cwnd: HIGH_GAIN }),
            max_bandwidth: WindowedMax::default(),
            cycle: Cycle::default(),
            policer: Policer::default(),
            packet_conservation: false,
            drawn_phase: None,
        }
    }

    fn update_model(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        self.update_bandwidth(sample, flow);
        self.model.update_ack_aggregation(sample, flow, window, (SLOT_ROUNDS, self.bandwidth()));
        self.update_cycle_phase(sample, flow, window);
        self.check_full_pipe(sample);
        self.check_drain(flow, window);
        self.update_min_rtt(sample, flow, window);
        self.update_gains();
    }

    /// The bandwidth to use: that of the policer if there is one.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.max_bandwidth())
    }

    fn max_bandwidth(&self) -> Bandwidth {
        Bandwidth::from_raw(self.max_bandwidth.get())
    }

    fn update_bandwidth(&mut self, sample: &RateSample, flow: &Flow) {
        let Some(bandwidth) = self.model.start_round(sample, flow) else { return };
        if self.model.rounds.start {
            self.packet_conservation = false;
        }
        self.detect_policer(sample.losses, sample.is_app_limited, flow);
        // A sample limited by the application counts only if it is a new maximum.
        if !sample.is_app_limited || bandwidth >= self.max_bandwidth() {
            self.max_bandwidth.update(BANDWIDTH_ROUNDS, self.model.rounds.count, bandwidth.raw());
        }
    }

    fn detect_policer(&mut self, losses: Segs, app_limited: bool, flow: &Flow) {
        let round_start = self.model.rounds.start;
        let sample = Sample { losses, app_limited, round_start, probing: self.model.mode == Mode::ProbeBw };
        match self.policer.take(&sample, flow) {
            Change::None => {}
            Change::Capped => self.model.gains.pacing = Gain::UNIT,
            Change::Lifted => self.enter_probe_bw(flow),
        }
    }

    fn check_full_pipe(&mut self, sample: &RateSample) {
        let round_start = self.model.rounds.start;
        if !self.model.full_pipe.reached && round_start && !sample.is_app_limited {
            self.model.full_pipe.take(self.max_bandwidth(), round_start);
        }
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
        if self.model.mode == Mode::ProbeBw && self.is_next_cycle_phase(sample, flow, window) {
            self.advance_cycle_phase(flow);
        }
    }

    fn is_next_cycle_phase(&self, sample: &RateSample, flow: &Flow, window: &Window) -> bool {
        let elapsed = flow.delivered_at.as_micros().saturating_sub(self.cycle.start);
        let full_length = self.model.min_rtt.us.is_some_and(|us| elapsed > us);
        let gain = self.model.gains.pacing;
        if gain == Gain::UNIT {
            return full_length;
        }
        let inflight = self.packets_in_net_at_edt(sample.prior_in_flight, flow, window);
        if gain > Gain::UNIT {
            // Probe until a quarter of a BDP is queued or packets are lost.
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
        self.model.mode = Mode::ProbeBw;
        // A second entry without an ACK in between has no draw; it starts with the probing phase.
        self.cycle.index = CYCLE.len() - 1 - self.drawn_phase.take().unwrap_or_default();
        self.advance_cycle_phase(flow);
    }

    fn check_drain(&mut self, flow: &Flow, window: &mut Window) {
        if self.model.mode == Mode::Startup && self.model.full_pipe.reached {
            self.model.mode = Mode::Drain;
            window.ssthresh = self.inflight(Gain::UNIT, flow, window);
        }
        if self.model.mode == Mode::Drain {
            let inflight = self.packets_in_net_at_edt(flow.in_flight, flow, window);
            if inflight <= self.inflight(Gain::UNIT, flow, window) {
                self.enter_probe_bw(flow);
            }
        }
    }

    fn update_min_rtt(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        let expired = flow.jiffies() > self.model.min_rtt.stamp + MIN_RTT_SECS * flow.hz();
        if let Some(us) = sample.rtt.map(Span::as_micros) {
            let lower = self.model.min_rtt.us.is_none_or(|min| us < min);
            if lower || (expired && !sample.is_ack_delayed) {
                self.model.min_rtt = MinRtt { us: Some(us), stamp: flow.jiffies() };
            }
        }
        self.model.enter_probe_rtt(expired, window);
        if self.model.mode == Mode::ProbeRtt
            && self.model.stay_in_probe_rtt(Segs(MIN_CWND), PROBE_RTT_TIME, flow, window)
        {
            self.check_probe_rtt_done(flow, window);
        }
        self.model.note_delivery(sample);
    }

    fn check_probe_rtt_done(&mut self, flow: &Flow, window: &mut Window) {
        if !self.model.ends_probe_rtt(flow, window) {
            return;
        }
        self.model.min_rtt.stamp = flow.jiffies();
        if self.model.full_pipe.reached {
            self.enter_probe_bw(flow);
        } else {
            self.model.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        let probing = if self.policer.bandwidth().is_some() { Gain::UNIT } else { self.cycle_gain() };
        self.model.gains = match self.model.mode {
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

    fn set_pacing_rate(&mut self, gain: Gain, flow: &Flow, window: &mut Window) {
        let scale = if self.model.full_pipe.reached { self.variant.pacing_percent } else { 100 };
        let rate = self.bandwidth().pacing_rate(flow.mss, gain.percent(scale));
        self.model.pace(rate, flow, window);
    }

    fn set_cwnd(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        if sample.acked_sacked > Segs::ZERO {
            window.cwnd = self.cwnd_after(sample, flow, window);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        if self.model.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(Segs(MIN_CWND));
        }
    }

    fn cwnd_after(&mut self, sample: &RateSample, flow: &Flow, window: &Window) -> Segs {
        let cwnd = self.recover_or_restore(sample, flow, window);
        if self.packet_conservation {
            return cwnd.max(flow.in_flight + sample.acked_sacked);
        }
        let bandwidth = self.bandwidth();
        let makes_room = self.model.full_pipe.reached && self.variant.ack_aggregation;
        let extra = if makes_room { self.model.aggregation.extra_cwnd(bandwidth) } else { 0 };
        let target = self.quantized(self.model.bdp(bandwidth, self.model.gains.cwnd) + extra, flow, window);
        let grown = Segs(cwnd.0.saturating_add(sample.acked_sacked.0));
        let cwnd = if self.model.full_pipe.reached {
            grown.min(target)
        } else if cwnd < target || flow.delivered < u64::from(INITIAL_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(Segs(MIN_CWND))
    }

    /// cwnd minus lost segments; on entering recovery, the data in flight; on leaving it, the saved cwnd.
    fn recover_or_restore(&mut self, sample: &RateSample, flow: &Flow, window: &Window) -> Segs {
        let mut cwnd = window.cwnd;
        if sample.losses > Segs::ZERO {
            cwnd = cwnd.saturating_sub(sample.losses).max(Segs::ONE);
        }
        let previous = std::mem::replace(&mut self.model.previous, flow.ca_state);
        if flow.ca_state == CaState::Recovery && previous != CaState::Recovery {
            self.packet_conservation = true;
            self.model.rounds.next_delivered = flow.delivered;
            cwnd = flow.in_flight + sample.acked_sacked;
        } else if previous >= CaState::Recovery && flow.ca_state < CaState::Recovery {
            self.packet_conservation = false;
            cwnd = cwnd.max(self.model.prior_cwnd);
        }
        cwnd
    }

    /// `packets` plus an allowance for skbs queued in the hosts, so that batching does not leave the path idle.
    fn quantized(&self, packets: u64, flow: &Flow, window: &Window) -> Segs {
        let packets = packets.saturating_add(SKBS_IN_HOSTS * self.tso_segs_goal(flow, window));
        let even = packets.saturating_add(1) & !1;
        // Two more packets, since a gain of 1.25 may round to nothing for a small BDP.
        let probing = self.model.mode == Mode::ProbeBw && self.cycle.index == 0;
        let wanted = even.saturating_add(if probing { 2 } else { 0 });
        segments(wanted)
    }

    /// The target of the data in flight: `gain` BDPs of the maximum bandwidth, quantized.
    fn inflight(&self, gain: Gain, flow: &Flow, window: &Window) -> Segs {
        self.quantized(self.model.bdp(self.max_bandwidth(), gain), flow, window)
    }

    /// Segments of an skb at the present pacing rate.
    fn tso_segs_goal(&self, flow: &Flow, window: &Window) -> u64 {
        let bytes = window.pacing_rate.bytes_per_sec() >> flow.pacing_shift;
        let segments = tso_segs(bytes.min(u64::from(GSO_MAX_SIZE)), flow, window);
        match self.variant.skb_room {
            SkbRoom::PacingShift => segments,
            SkbRoom::Device => segments.min(u64::from(flow.gso_max_segs)),
        }
    }

    fn packets_in_net_at_edt(&self, inflight: Segs, flow: &Flow, window: &Window) -> Segs {
        self.model.packets_in_net_at_edt(inflight, flow, (self.tso_segs_goal(flow, window), self.bandwidth()))
    }
}
