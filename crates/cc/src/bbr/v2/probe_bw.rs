//! The cycle of PROBE_BW in BBR versions 2 and 3: DOWN, CRUISE, REFILL, UP. [bbr-v2 tcp_bbr2.c bbr_update_cycle_phase]

use tailback_units::Segs;

use super::tuning::ProbeEnd;
use super::{Bandwidth, Bbr2, Gain, Mode};
use crate::{Flow, RateSample, Window};

/// Data in flight at which a probe of version 2 ends, in BDPs. [bbr-v2 bbr_bw_probe_pif_gain]
const PROBE_INFLIGHT: Gain = Gain(256 * 5 / 4);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// The phase in which the data that is now acknowledged was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    #[default]
    Initial,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the probe for bandwidth.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// Samples are of data sent during the probe.
    pub(super) samples: bool,
    pub(super) previous_too_high: bool,
    pub(super) stopped_risky: bool,
    pub(super) rounds_since: u32,
    pub(super) wait_us: u64,
    /// ACKed segments per segment of growth of inflight_hi.
    pub(super) up_cnt: u32,
    pub(super) up_acked: u32,
    pub(super) up_rounds: u32,
    pub(super) ack_phase: AckPhase,
    /// Start of the phase, in µs.
    pub(super) start_us: u64,
}

impl Default for Probe {
    fn default() -> Self {
        Probe {
            samples: false,
            previous_too_high: false,
            stopped_risky: false,
            rounds_since: 0,
            wait_us: 0,
            up_cnt: u32::MAX,
            up_acked: 0,
            up_rounds: 0,
            ack_phase: AckPhase::default(),
            start_us: 0,
        }
    }
}

impl Bbr2 {
    /// The phase, if the state is PROBE_BW.
    pub(super) fn phase(&self) -> Option<Phase> {
        (self.model.mode == Mode::ProbeBw).then_some(self.phase)
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.model.mode = Mode::ProbeBw;
        self.phase = phase;
        self.at_target = false;
    }

    pub(super) fn is_probing_bandwidth(&self) -> bool {
        self.model.mode == Mode::Startup || matches!(self.phase(), Some(Phase::Refill | Phase::Up))
    }

    pub(super) fn update_cycle_phase(
        &mut self,
        sample: &RateSample,
        bandwidth: Bandwidth,
        flow: &Flow,
        window: &mut Window,
    ) {
        if !self.model.full_pipe.reached || self.adapt_upper_bounds(sample, flow, window) {
            return;
        }
        let inflight = self.packets_in_net_at_edt(sample.prior_in_flight, flow, window);
        match self.phase() {
            Some(Phase::Cruise) => {
                self.check_time_to_probe(flow, window);
            }
            Some(Phase::Refill) if self.model.rounds.start => {
                self.probe.samples = true;
                self.start_up(bandwidth, flow, window);
            }
            Some(Phase::Up) => self.check_probe_done(inflight, bandwidth, flow, window),
            Some(Phase::Down) => {
                if !self.check_time_to_probe(flow, window) && self.is_time_to_cruise(inflight, flow, window) {
                    self.start_cruise();
                }
            }
            Some(Phase::Refill) | None => {}
        }
    }

    fn check_time_to_probe(&mut self, flow: &Flow, window: &Window) -> bool {
        let elapsed = flow.now.as_micros().saturating_sub(self.probe.start_us);
        let reno_rounds = self.tuning.max_rounds.min(self.target_inflight(flow, window));
        let due = elapsed > self.probe.wait_us || self.probe.rounds_since >= reno_rounds;
        if due {
            self.start_refill(flow);
        }
        due
    }

    /// Target of the data in flight: one BDP, or cwnd if it is smaller.
    pub(super) fn target_inflight(&self, flow: &Flow, window: &Window) -> u32 {
        self.inflight(self.bandwidth(), Gain::UNIT, flow, window).min(window.cwnd).0
    }

    fn is_time_to_cruise(&self, inflight: Segs, flow: &Flow, window: &Window) -> bool {
        inflight <= self.with_headroom()
            && inflight <= self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window)
    }

    fn check_probe_done(&mut self, inflight: Segs, bandwidth: Bandwidth, flow: &Flow, window: &Window) {
        let high = self.bounds.inflight_hi;
        let is_full = high.is_some_and(|high| inflight.0 >= high);
        if self.probe.previous_too_high && is_full {
            self.probe.stopped_risky = true;
        } else if !self.has_probed_enough(inflight, bandwidth, flow, window) {
            return;
        }
        self.probe.previous_too_high = false;
        self.start_down(flow);
    }

    fn has_probed_enough(
        &mut self,
        inflight: Segs,
        bandwidth: Bandwidth,
        flow: &Flow,
        window: &Window,
    ) -> bool {
        match self.profile.probe_end {
            ProbeEnd::Inflight => {
                let elapsed = flow.now.as_micros().saturating_sub(self.probe.start_us);
                let target = self.inflight(self.max_bandwidth(), PROBE_INFLIGHT, flow, window);
                self.model.min_rtt.us.is_some_and(|us| elapsed > us) && inflight >= target
            }
            ProbeEnd::FullPipe => {
                let bounded = self.bounds.inflight_hi.is_some_and(|high| window.cwnd.0 >= high);
                if flow.cwnd_limited && bounded {
                    // inflight_hi, not the path, limits the bandwidth.
                    self.model.full_pipe.restart(bandwidth);
                }
                self.model.full_pipe.now
            }
        }
    }

    /// A round after the probe, when its bandwidth is measured. True if a probe that stopped early is repeated.
    pub(super) fn end_probe_cycle(&mut self, sample: &RateSample, flow: &Flow) -> bool {
        if self.phase().is_none() {
            return false;
        }
        if !sample.is_app_limited && self.max_bandwidth[1] > Bandwidth::ZERO {
            self.max_bandwidth = [self.max_bandwidth[1], Bandwidth::ZERO];
        }
        let repeats = self.probe.stopped_risky && !self.probe.previous_too_high;
        if repeats {
            self.start_refill(flow);
        }
        repeats
    }

    pub(super) fn start_down(&mut self, flow: &Flow) {
        self.enter(Phase::Down);
        self.forget_round();
        self.probe.up_cnt = u32::MAX;
        self.probe.rounds_since = self.random.below(2);
        self.probe.wait_us =
            self.tuning.probe_base_us + u64::from(self.random.below(self.tuning.probe_rand_us));
        self.probe.start_us = flow.now.as_micros();
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.model.rounds.next_delivered = flow.delivered;
    }

    pub(super) fn start_cruise(&mut self) {
        self.enter(Phase::Cruise);
        if let (Some(low), Some(high)) = (self.bounds.inflight_lo, self.bounds.inflight_hi) {
            self.bounds.inflight_lo = Some(low.min(high));
        }
    }

    fn start_refill(&mut self, flow: &Flow) {
        self.enter(Phase::Refill);
        self.forget_lower_bounds();
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0);
        self.probe.stopped_risky = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.model.rounds.next_delivered = flow.delivered;
    }

    fn start_up(&mut self, bandwidth: Bandwidth, flow: &Flow, window: &Window) {
        self.enter(Phase::Up);
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.model.rounds.next_delivered = flow.delivered;
        self.probe.start_us = flow.now.as_micros();
        if self.profile.probe_end == ProbeEnd::FullPipe {
            self.model.full_pipe.restart(bandwidth);
        }
        self.raise_slope(window);
    }
}
