//! The state machine of BBR versions 2 and 3. The heads of [`bbr2`](crate::bbr2) and [`bbr3`](crate::bbr3) describe
//! it; each of them is a [`Profile`] of it.
//!
//! STARTUP and DRAIN are in this file. The cycle of PROBE_BW is in [`probe_bw`], PROBE_RTT in [`probe_rtt`], the bounds
//! that loss sets in [`bounds`], pacing rate and cwnd in [`window`].

use rand_core::Rng;
use tailback_units::Segs;

use super::aggregation::SLOT_ROUNDS;
use super::bandwidth::{Bandwidth, Gain};
use super::model::{
    CWND_GAIN, FACTOR_BITS, Gains, MIN_CWND, MinRtt, Mode, Model, SKBS_IN_HOSTS, measured, min_tso_segs,
    segments, tso_segs_from,
};
use crate::Draws;
use crate::{CaState, CwndEvent, Flow, Hooks, LostSegment, ModelControl, RateSample, Window};

mod bounds;
mod probe_bw;
mod probe_rtt;
mod tuning;
mod window;

use bounds::{Bounds, Latest};
use probe_bw::{AckPhase, Phase, Probe};
pub(crate) use tuning::{ProbeEnd, Profile, Tuning, parameters, tuning};

#[cfg(test)]
mod tests;

/// Rounds are counted up to this. [bbr-v2 bbr_update_round_start]
const MAX_ROUNDS: u32 = 255;
/// The first window is remembered up to this. [bbr-v2 bbr2_init]
const MAX_INITIAL_CWND: u32 = 127;
/// [bbr-v3 bbr_tso_segs_generic]
const MIN_TSO_SEGS: u32 = 2;
/// Loss events of a round are counted up to this. [bbr-v2 bbr_check_loss_too_high_in_startup]
const MAX_LOSS_EVENTS: u32 = 15;

/// State of versions 2 and 3.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    profile: Profile,
    tuning: Tuning,
    random: Draws,
    model: Model,
    /// Phase of PROBE_BW.
    phase: Phase,
    /// Maxima of the previous and of the present cycle.
    max_bandwidth: [Bandwidth; 2],
    bounds: Bounds,
    latest: Latest,
    /// The minimum RTT whose age triggers PROBE_RTT; that of the model has a longer window.
    probe_rtt_min: MinRtt,
    probe: Probe,
    /// Bounds that an undo restores.
    saved: Bounds,
    /// The round trip in which DRAIN began.
    drain_began: u64,
    /// cwnd has reached its target, and nothing that sets the target has changed since.
    at_target: bool,
}

impl Hooks for Bbr2 {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.random.draw_ahead(draws);
        self.model.begin(flow, window);
        self.latest.round_delivered = flow.delivered + 1;
        self.probe_rtt_min = self.model.min_rtt;
        self.model.initial_cwnd = window.cwnd.0.min(MAX_INITIAL_CWND);
    }

    fn set_state(&mut self, to: CaState, _flow: &Flow, window: &mut Window) {
        if to == CaState::Loss {
            self.model.previous = CaState::Loss;
            self.model.full_pipe.restart(Bandwidth::ZERO);
            if !self.is_probing_bandwidth() && self.bounds.inflight_lo.is_none() {
                self.bounds.inflight_lo = Some(window.cwnd.max(self.model.prior_cwnd).0);
            }
        } else if self.model.previous == CaState::Loss {
            window.cwnd = window.cwnd.max(self.model.prior_cwnd);
            self.at_target = false;
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        if !self.model.restarts_after_idle(event, flow) {
            return;
        }
        match self.model.mode {
            Mode::ProbeBw => self.set_pacing_rate(Gain::UNIT, flow, window),
            Mode::ProbeRtt => self.check_probe_rtt_done(flow, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn segment_lost(&mut self, segment: &LostSegment, flow: &Flow, window: &mut Window) {
        if !self.latest.loss {
            self.latest.round_delivered = flow.delivered;
        }
        self.latest.loss = true;
        if self.probe.samples && self.is_inflight_too_high(segment.lost, segment.tx_in_flight) {
            let level = self.inflight_at_loss_thresh(segment);
            self.handle_inflight_too_high(level, segment.is_app_limited, flow, window);
        }
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        Some(self.least_segs(window))
    }

    fn gauges(&self, flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        self.model.gauges(self.bandwidth(), flow, show);
    }
}

impl ModelControl for Bbr2 {
    fn state(&self) -> &'static str {
        match (self.model.mode, self.phase) {
            (Mode::Startup, _) => "startup",
            (Mode::Drain, _) => "drain",
            (Mode::ProbeBw, Phase::Down) => "probe_bw_down",
            (Mode::ProbeBw, Phase::Cruise) => "probe_bw_cruise",
            (Mode::ProbeBw, Phase::Refill) => "probe_bw_refill",
            (Mode::ProbeBw, Phase::Up) => "probe_bw_up",
            (Mode::ProbeRtt, _) => "probe_rtt",
        }
    }

    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.random.draw_ahead(draws);
        let bandwidth = self.start_round(sample, flow);
        self.update_latest(sample, bandwidth, flow);
        if !self.takes_fast_path(sample, bandwidth, flow, window) {
            self.model.gains = self.gains_of_mode();
            self.set_pacing_rate(self.model.gains.pacing, flow, window);
            self.set_cwnd(sample, flow, window);
        }
        self.model.previous = flow.ca_state;
        if self.latest.round_start {
            (self.latest.bandwidth, self.latest.delivered) = (bandwidth, sample.delivered.unwrap_or(0));
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        self.model.save_cwnd(window);
        self.saved = self.bounds;
        window.ssthresh
    }

    fn undo_cwnd(&mut self, _flow: &Flow, _window: &mut Window) -> Segs {
        self.model.full_pipe.restart(Bandwidth::ZERO);
        self.latest.loss = false;
        self.bounds = self.bounds.widest(&self.saved);
        self.at_target = false;
        self.model.prior_cwnd
    }
}

impl Bbr2 {
    pub(crate) fn new(profile: Profile, tuning: Tuning) -> Self {
        Bbr2 {
            profile,
            tuning,
            random: Draws::seeded(0),
            model: Model::new(profile.startup),
            phase: Phase::Down,
            max_bandwidth: [Bandwidth::ZERO; 2],
            bounds: Bounds::default(),
            latest: Latest::default(),
            probe_rtt_min: MinRtt::default(),
            probe: Probe::default(),
            saved: Bounds::default(),
            drain_began: 0,
            at_target: false,
        }
    }

    /// Updates the model. While the application limits the flow and nothing but the application changes, an ACK changes
    /// neither the model nor the window: true then. [bbr-v3 bbr_run_fast_path]
    fn takes_fast_path(
        &mut self,
        sample: &RateSample,
        bandwidth: Bandwidth,
        flow: &Flow,
        window: &mut Window,
    ) -> bool {
        let is_fast =
            self.at_target && sample.is_app_limited && bandwidth < self.max_bandwidth() && !self.latest.loss;
        let before = (self.model.mode, self.model.min_rtt.us);
        if !is_fast {
            self.update_congestion(sample, bandwidth, window);
            self.update_ack_aggregation(sample, flow, window);
            self.check_loss_in_startup(sample, flow, window);
            self.check_full_pipe(sample, bandwidth);
        }
        self.check_drain(flow, window);
        self.update_cycle_phase(sample, bandwidth, flow, window);
        self.update_min_rtt(sample, flow, window);
        is_fast && self.at_target && before == (self.model.mode, self.model.min_rtt.us)
    }

    /// Least number of segments of an skb: version 3 has that of all controls (`net.ipv4.tcp_min_tso_segs`).
    fn least_segs(&self, window: &Window) -> u32 {
        match self.profile.probe_end {
            ProbeEnd::Inflight => min_tso_segs(window),
            ProbeEnd::FullPipe => MIN_TSO_SEGS,
        }
    }

    fn max_bandwidth(&self) -> Bandwidth {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    fn bandwidth(&self) -> Bandwidth {
        self.bounds.bw_lo.map_or(self.max_bandwidth(), |low| low.min(self.max_bandwidth()))
    }

    /// Counts rounds; returns the bandwidth of the sample, zero if it is invalid.
    fn start_round(&mut self, sample: &RateSample, flow: &Flow) -> Bandwidth {
        let measured = self.model.count_round(sample, flow);
        let bandwidth = measured.map(|(delivered, micros)| Bandwidth::of_rounded_up(delivered, micros));
        if self.model.rounds.start {
            self.probe.rounds_since = (self.probe.rounds_since + 1).min(MAX_ROUNDS);
        }
        bandwidth.unwrap_or(Bandwidth::ZERO)
    }

    fn update_ack_aggregation(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        let slot_rounds = if self.model.full_pipe.reached { SLOT_ROUNDS } else { 1 };
        self.model.update_ack_aggregation(sample, flow, window, (slot_rounds, self.bandwidth()));
    }
}

/// STARTUP and DRAIN, and the gains of all states.
impl Bbr2 {
    fn check_loss_in_startup(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        if self.model.full_pipe.reached {
            return;
        }
        if sample.losses > Segs::ZERO {
            self.latest.loss_events = (self.latest.loss_events + 1).min(MAX_LOSS_EVENTS);
        }
        if !self.latest.round_start {
            return;
        }
        let many = self.latest.loss_events >= self.tuning.full_loss_cnt;
        if many
            && flow.ca_state == CaState::Recovery
            && self.is_inflight_too_high(sample.lost, sample.tx_in_flight)
        {
            self.model.full_pipe.reached = true;
            let inflight = self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window);
            let latest = match self.profile.probe_end {
                ProbeEnd::Inflight => 0,
                ProbeEnd::FullPipe => self.latest.delivered.min(u64::from(u32::MAX)) as u32,
            };
            self.bounds.inflight_hi = Some(inflight.0.max(latest));
            return;
        }
        self.latest.loss_events = 0;
    }

    fn check_full_pipe(&mut self, sample: &RateSample, bandwidth: Bandwidth) {
        let done = match self.profile.probe_end {
            ProbeEnd::Inflight => self.model.full_pipe.reached || !self.model.rounds.start,
            ProbeEnd::FullPipe => self.model.full_pipe.now,
        };
        if done || sample.is_app_limited {
            return;
        }
        let bandwidth = match self.profile.probe_end {
            ProbeEnd::Inflight => self.max_bandwidth(),
            ProbeEnd::FullPipe => bandwidth,
        };
        self.model.full_pipe.take(bandwidth, self.model.rounds.start);
    }

    fn check_drain(&mut self, flow: &Flow, window: &mut Window) {
        if self.model.mode == Mode::Startup && self.model.full_pipe.reached {
            self.model.mode = Mode::Drain;
            self.drain_began = self.model.rounds.count;
            window.ssthresh = self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window);
            self.forget_round();
        }
        if self.model.mode == Mode::Drain {
            let inflight = self.packets_in_net_at_edt(flow.in_flight, flow, window);
            let drained = inflight <= self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window);
            let rounds = self.model.rounds.count - self.drain_began;
            let limit = self.profile.drain_rounds.into();
            if drained || (limit > 0 && rounds >= limit) {
                self.start_down(flow);
            }
        }
    }

    fn gains_of_mode(&self) -> Gains {
        match (self.model.mode, self.phase) {
            (Mode::Startup, _) => self.profile.startup,
            (Mode::Drain, _) => self.profile.drain,
            (Mode::ProbeBw, Phase::Down) => self.profile.down,
            (Mode::ProbeBw, Phase::Up) => self.profile.up,
            (Mode::ProbeBw, Phase::Cruise | Phase::Refill) => Gains { pacing: Gain::UNIT, cwnd: CWND_GAIN },
            (Mode::ProbeRtt, _) => Gains { pacing: Gain::UNIT, cwnd: Gain::UNIT },
        }
    }
}
