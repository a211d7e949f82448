//! The machine of BBR versions 2 and 3; what it does is told at the heads of [`bbr2`](crate::bbr2) and
//! [`bbr3`](crate::bbr3), which give it their [`Profile`].

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs, Span};

use super::aggregation::SLOT_ROUNDS;
use super::bandwidth::{Bandwidth, Gain};
use super::model::{
    CWND_GAIN, FACTOR_BITS, Gains, INITIAL_CWND, MIN_CWND, MinRtt, Mode, Model, SKBS_IN_HOSTS,
    least_tso_segs, measured, segments, tso_segs,
};
use crate::random::RandomNumbers;
use crate::{
    CaState, CwndEvent, Flow, GSO_LEGACY_MAX_SIZE, GSO_MAX_SIZE, Hooks, LostSegment, ModelControl,
    RateSample, Window,
};

#[cfg(test)]
mod tests;

/// Age at which the minimum RTT is given up. [bbr-v2 bbr_min_rtt_win_sec]
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Rounds are counted up to this. [bbr-v2 bbr_update_round_start]
const MAX_ROUNDS: u32 = 255;
/// Loss events of a round are counted up to this. [bbr-v2 bbr_check_loss_too_high_in_startup]
const MAX_LOSS_EVENTS: u32 = 15;
/// inflight_hi rises by at most 2 to this per round. [bbr-v2 bbr_raise_inflight_hi_slope]
const STEEPEST_SLOPE: u32 = 30;
/// skbs are larger the shorter the path: 64 KiB halved for each 2^9 µs. [bbr-v2 bbr_tso_rtt_shift]
const TSO_RTT_SHIFT: u64 = 9;
/// How much more than a BDP a probe of version 2 puts in flight. [bbr-v2 bbr_bw_probe_pif_gain]
const PROBE_INFLIGHT: Gain = Gain(256 * 5 / 4);

pub(crate) fn tuning(given: &Parameters, table: &[Parameter]) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, table);
    let count = |name| get(name).map(|value| value as u32);
    Ok(Tuning {
        loss_thresh: get("loss_thresh")?,
        keep: 256 - get("beta")?,
        headroom: get("inflight_headroom")?,
        probe_rtt_win: Span::from_millis(get("probe_rtt_win_ms")?),
        probe_rtt_mode: Span::from_millis(get("probe_rtt_mode_ms")?),
        probe_rtt_gain: Gain(count("probe_rtt_cwnd_gain")?),
        max_rounds: count("bw_probe_max_rounds")?,
        probe_base_us: get("bw_probe_base_us")?,
        probe_rand_us: count("bw_probe_rand_us")?,
        full_loss_cnt: count("full_loss_cnt")?,
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    loss_thresh: u64,
    /// 1 − β, in 1/256.
    keep: u64,
    headroom: u64,
    probe_rtt_win: Span,
    probe_rtt_mode: Span,
    probe_rtt_gain: Gain,
    max_rounds: u32,
    probe_base_us: u64,
    probe_rand_us: u32,
    full_loss_cnt: u32,
}

/// What ends the probe for bandwidth, besides loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProbeEnd {
    /// A quarter of a BDP more than one is in flight.
    Inflight,
    /// Three rounds brought no more bandwidth.
    FullPipe,
}

/// The differences between the versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    pub(crate) startup: Gains,
    pub(crate) drain: Gains,
    pub(crate) down: Gains,
    pub(crate) up: Gains,
    pub(crate) probe_end: ProbeEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// Which phase the ACKs that now arrive belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum AckPhase {
    #[default]
    Initial,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Bounds learnt from loss; `None` = no bound.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    bw_lo: Option<Bandwidth>,
    inflight_lo: Option<u32>,
    inflight_hi: Option<u32>,
}

/// What was seen in the round that is going on.
#[derive(Clone, Debug, Default)]
struct Latest {
    bandwidth: Bandwidth,
    delivered: u64,
    loss: bool,
    loss_events: u32,
    /// A loss round ends when this is delivered.
    round_delivered: u64,
    /// This ACK ended one.
    round_start: bool,
}

/// The probe for bandwidth.
#[derive(Clone, Debug)]
struct Probe {
    /// Samples now tell of it.
    samples: bool,
    previous_too_high: bool,
    stopped_risky: bool,
    rounds_since: u32,
    wait_us: u64,
    /// ACKed segments per segment of growth of inflight_hi.
    up_cnt: u32,
    up_acked: u32,
    up_rounds: u32,
    ack_phase: AckPhase,
    /// When the phase that is timed began, in µs.
    start_us: u64,
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

/// The model of versions 2 and 3 and its state.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    profile: Profile,
    tuning: Tuning,
    random: RandomNumbers,
    model: Model,
    /// Of PROBE_BW.
    phase: Phase,
    /// Largest of the previous and of this cycle.
    max_bandwidth: [Bandwidth; 2],
    bounds: Bounds,
    latest: Latest,
    /// The minimum whose age decides on PROBE_RTT; that of the model is kept longer.
    probe_rtt_min: MinRtt,
    probe: Probe,
    /// Bounds that an undo gives back.
    saved: Bounds,
}

impl Hooks for Bbr2 {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.random = RandomNumbers::from(draws);
        self.model.begin(flow, window);
        self.latest.round_delivered = flow.delivered + 1;
        self.probe_rtt_min = self.model.min_rtt;
        self.model.prior_cwnd = window.cwnd;
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
        if self.probe.samples && self.is_too_high(segment.lost, segment.tx_in_flight) {
            let level = self.level_of_too_much(segment);
            self.handle_too_high(level, segment.is_app_limited, flow, window);
        }
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        Some(least_tso_segs(window))
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

    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        let bandwidth = self.start_round(sample, flow);
        self.take_latest(sample, bandwidth, flow);
        self.take_congestion(sample, bandwidth, window);
        self.update_ack_aggregation(sample, flow, window);
        self.check_loss_in_startup(sample, flow, window);
        self.check_full_pipe(sample, bandwidth);
        self.check_drain(flow, window);
        self.update_cycle_phase(sample, bandwidth, flow, window);
        self.update_min_rtt(sample, flow, window);
        self.model.gains = self.gains_of_mode();
        self.set_pacing_rate(self.model.gains.pacing, flow, window);
        self.set_cwnd(sample, flow, window);
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

    fn undo_cwnd(&mut self, _flow: &Flow, window: &mut Window) -> Segs {
        self.model.full_pipe.restart(Bandwidth::ZERO);
        self.latest.loss = false;
        self.bounds = self.bounds.widest(&self.saved);
        window.cwnd.max(self.model.prior_cwnd)
    }
}

/// What the ACK says.
impl Bbr2 {
    pub(crate) fn new(profile: Profile, tuning: Tuning) -> Self {
        Bbr2 {
            profile,
            tuning,
            random: RandomNumbers::default(),
            model: Model::new(profile.startup),
            phase: Phase::Down,
            max_bandwidth: [Bandwidth::ZERO; 2],
            bounds: Bounds::default(),
            latest: Latest::default(),
            probe_rtt_min: MinRtt::default(),
            probe: Probe::default(),
            saved: Bounds::default(),
        }
    }

    fn max_bandwidth(&self) -> Bandwidth {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    fn bandwidth(&self) -> Bandwidth {
        self.bounds.bw_lo.map_or(self.max_bandwidth(), |low| low.min(self.max_bandwidth()))
    }

    /// Counts rounds; the bandwidth of the sample, zero if it says nothing.
    fn start_round(&mut self, sample: &RateSample, flow: &Flow) -> Bandwidth {
        let bandwidth = self.model.start_round(sample, flow);
        if self.model.rounds.start {
            self.probe.rounds_since = (self.probe.rounds_since + 1).min(MAX_ROUNDS);
        }
        bandwidth.unwrap_or(Bandwidth::ZERO)
    }

    fn take_latest(&mut self, sample: &RateSample, bandwidth: Bandwidth, flow: &Flow) {
        self.latest.round_start = false;
        let Some((delivered, _)) = measured(sample).filter(|_| sample.acked_sacked > Segs::ZERO) else {
            return;
        };
        self.latest.bandwidth = self.latest.bandwidth.max(bandwidth);
        self.latest.delivered = self.latest.delivered.max(delivered);
        if sample.prior_delivered >= self.latest.round_delivered {
            self.latest.round_delivered = flow.delivered;
            self.latest.round_start = true;
        }
    }

    fn take_congestion(&mut self, sample: &RateSample, bandwidth: Bandwidth, window: &Window) {
        if measured(sample).is_none() || sample.acked_sacked == Segs::ZERO {
            return;
        }
        if !sample.is_app_limited || bandwidth >= self.max_bandwidth() {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(bandwidth);
        }
        self.latest.loss |= sample.losses > Segs::ZERO;
        if self.latest.round_start {
            if self.latest.loss && !self.is_probing_bandwidth() {
                self.lower_bounds(window);
            }
            self.latest.loss = false;
        }
    }

    /// Once per round with loss: not below what was just delivered.
    fn lower_bounds(&mut self, window: &Window) {
        let keep = self.tuning.keep;
        let bandwidth = self.bounds.bw_lo.unwrap_or(self.max_bandwidth()).scaled(keep, FACTOR_BITS);
        self.bounds.bw_lo = Some(bandwidth.max(self.latest.bandwidth));
        let inflight = scaled(self.bounds.inflight_lo.unwrap_or(window.cwnd.0), keep);
        self.bounds.inflight_lo = Some(inflight.max(self.latest.delivered.min(u64::from(u32::MAX)) as u32));
    }

    fn update_ack_aggregation(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        let slot_rounds = if self.model.full_pipe.reached { SLOT_ROUNDS } else { 1 };
        self.model.update_ack_aggregation(sample, flow, window, (slot_rounds, self.bandwidth()));
    }

    fn is_too_high(&self, lost: u64, tx_in_flight: Segs) -> bool {
        lost > 0 && lost > (u64::from(tx_in_flight.0) * self.tuning.loss_thresh) >> FACTOR_BITS
    }

    /// The flight at which the losses became too many.
    fn level_of_too_much(&self, segment: &LostSegment) -> Segs {
        let thresh = self.tuning.loss_thresh;
        let before = u64::from(segment.tx_in_flight.0.saturating_sub(1));
        let allowed = (before * thresh).div_ceil(1 << FACTOR_BITS);
        let missing = allowed.saturating_sub(segment.lost - 1);
        let further = (missing << FACTOR_BITS).checked_div((1 << FACTOR_BITS) - thresh).unwrap_or(0);
        Segs((before + further).min(u64::from(u32::MAX)) as u32)
    }
}

impl Bounds {
    fn widest(&self, other: &Bounds) -> Bounds {
        Bounds {
            bw_lo: self.bw_lo.zip(other.bw_lo).map(|(a, b)| a.max(b)),
            inflight_lo: self.inflight_lo.zip(other.inflight_lo).map(|(a, b)| a.max(b)),
            inflight_hi: self.inflight_hi.zip(other.inflight_hi).map(|(a, b)| a.max(b)),
        }
    }
}

/// The states.
impl Bbr2 {
    /// The phase of PROBE_BW, if the flow is in it.
    fn phase(&self) -> Option<Phase> {
        (self.model.mode == Mode::ProbeBw).then_some(self.phase)
    }

    fn enter(&mut self, phase: Phase) {
        self.model.mode = Mode::ProbeBw;
        self.phase = phase;
    }

    fn is_probing_bandwidth(&self) -> bool {
        self.model.mode == Mode::Startup || matches!(self.phase(), Some(Phase::Refill | Phase::Up))
    }

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
        if many && flow.ca_state == CaState::Recovery && self.is_too_high(sample.lost, sample.tx_in_flight) {
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
            window.ssthresh = self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window);
            self.forget_round();
        }
        if self.model.mode == Mode::Drain {
            let inflight = self.packets_in_net_at_edt(flow.in_flight, flow, window);
            if inflight <= self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window) {
                self.start_down(flow);
            }
        }
    }

    fn forget_round(&mut self) {
        self.latest.loss = false;
        (self.latest.bandwidth, self.latest.delivered) = (Bandwidth::ZERO, 0);
    }

    fn update_cycle_phase(
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
                if !self.check_time_to_probe(flow, window) && self.may_cruise(inflight, flow, window) {
                    self.start_cruise();
                }
            }
            Some(Phase::Refill) | None => {}
        }
    }

    /// True if a new phase has begun.
    fn adapt_upper_bounds(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) -> bool {
        if self.model.rounds.start && self.probe.ack_phase == AckPhase::ProbeStarting {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        } else if self.model.rounds.start && self.probe.ack_phase == AckPhase::ProbeStopping {
            self.probe.samples = false;
            self.probe.ack_phase = AckPhase::Initial;
            if self.end_probe_cycle(sample, flow) {
                return true;
            }
        }
        if self.is_too_high(sample.lost, sample.tx_in_flight) {
            if self.probe.samples {
                self.handle_too_high(sample.tx_in_flight, sample.is_app_limited, flow, window);
            }
        } else if let Some(high) = self.bounds.inflight_hi {
            self.bounds.inflight_hi = Some(high.max(sample.tx_in_flight.0));
            if self.phase() == Some(Phase::Up) {
                self.raise_upper_bound(sample, flow, window);
            }
        }
        false
    }

    /// A round after the probe: its bandwidth is known. True if a risky probe that found room is repeated.
    fn end_probe_cycle(&mut self, sample: &RateSample, flow: &Flow) -> bool {
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

    fn handle_too_high(&mut self, level: Segs, app_limited: bool, flow: &Flow, window: &Window) {
        self.probe.previous_too_high = true;
        self.probe.samples = false;
        if !app_limited {
            let least = scaled(self.target_inflight(flow, window), self.tuning.keep);
            self.bounds.inflight_hi = Some(level.0.max(least).max(1));
        }
        if self.phase() == Some(Phase::Up) {
            self.start_down(flow);
        }
    }

    fn raise_upper_bound(&mut self, sample: &RateSample, flow: &Flow, window: &Window) {
        let Some(high) = self.bounds.inflight_hi else { return };
        if !flow.cwnd_limited || window.cwnd.0 < high {
            if self.profile.probe_end == ProbeEnd::Inflight {
                self.probe.up_acked = 0;
            }
            return;
        }
        self.probe.up_acked = self.probe.up_acked.saturating_add(sample.acked_sacked.0);
        let grown = self.probe.up_acked / self.probe.up_cnt;
        self.probe.up_acked -= grown * self.probe.up_cnt;
        self.bounds.inflight_hi = Some(high.saturating_add(grown));
        if self.model.rounds.start {
            self.raise_slope(window);
        }
    }

    fn raise_slope(&mut self, window: &Window) {
        self.probe.up_cnt = (window.cwnd.0 >> self.probe.up_rounds).max(1);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(STEEPEST_SLOPE);
    }

    /// The flight that the path should hold: one BDP, or the window if it is smaller.
    fn target_inflight(&self, flow: &Flow, window: &Window) -> u32 {
        self.inflight(self.bandwidth(), Gain::UNIT, flow, window).min(window.cwnd).0
    }

    fn check_time_to_probe(&mut self, flow: &Flow, window: &Window) -> bool {
        let elapsed = flow.delivered_at.as_micros().saturating_sub(self.probe.start_us);
        let reno_rounds = self.tuning.max_rounds.min(self.target_inflight(flow, window));
        let due = elapsed > self.probe.wait_us || self.probe.rounds_since >= reno_rounds;
        if due {
            self.start_refill(flow);
        }
        due
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
                let elapsed = flow.delivered_at.as_micros().saturating_sub(self.probe.start_us);
                let target = self.inflight(self.max_bandwidth(), PROBE_INFLIGHT, flow, window);
                self.model.min_rtt.us.is_some_and(|us| elapsed > us) && inflight >= target
            }
            ProbeEnd::FullPipe => {
                let bounded = self.bounds.inflight_hi.is_some_and(|high| window.cwnd.0 >= high);
                if flow.cwnd_limited && bounded {
                    // The bound and not the path keeps the bandwidth down.
                    self.model.full_pipe.restart(bandwidth);
                }
                self.model.full_pipe.now
            }
        }
    }

    fn may_cruise(&self, inflight: Segs, flow: &Flow, window: &Window) -> bool {
        inflight <= self.with_headroom()
            && inflight <= self.inflight(self.max_bandwidth(), Gain::UNIT, flow, window)
    }

    fn with_headroom(&self) -> Segs {
        let Some(high) = self.bounds.inflight_hi else { return Segs(u32::MAX) };
        let headroom = scaled(high, self.tuning.headroom).max(1);
        Segs(high.saturating_sub(headroom).max(MIN_CWND))
    }

    fn start_down(&mut self, flow: &Flow) {
        self.enter(Phase::Down);
        self.forget_round();
        self.probe.up_cnt = u32::MAX;
        self.probe.rounds_since = self.random.below(2);
        self.probe.wait_us =
            self.tuning.probe_base_us + u64::from(self.random.below(self.tuning.probe_rand_us));
        self.probe.start_us = flow.delivered_at.as_micros();
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.model.rounds.next_delivered = flow.delivered;
    }

    fn start_cruise(&mut self) {
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
        self.probe.start_us = flow.delivered_at.as_micros();
        if self.profile.probe_end == ProbeEnd::FullPipe {
            self.model.full_pipe.restart(bandwidth);
        }
        self.raise_slope(window);
    }

    fn forget_lower_bounds(&mut self) {
        (self.bounds.bw_lo, self.bounds.inflight_lo) = (None, None);
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

/// The delay.
impl Bbr2 {
    fn update_min_rtt(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        let now = flow.jiffies();
        let old = |stamp: u64, age: Span| now > stamp + flow.jiffies_in(age);
        let due = old(self.probe_rtt_min.stamp, self.tuning.probe_rtt_win);
        if let Some(us) = sample.rtt.map(Span::as_micros) {
            let as_good = self.probe_rtt_min.us.is_none_or(|min| match self.profile.probe_end {
                ProbeEnd::Inflight => us <= min,
                ProbeEnd::FullPipe => us < min,
            });
            if as_good || (due && !sample.is_ack_delayed) {
                self.probe_rtt_min = MinRtt { us: Some(us), stamp: now };
            }
        }
        let lower = self.probe_rtt_min.us.is_some_and(|us| self.model.min_rtt.us.is_none_or(|min| us <= min));
        if lower || old(self.model.min_rtt.stamp, MIN_RTT_WINDOW) {
            self.model.min_rtt = self.probe_rtt_min;
        }
        if self.model.enter_probe_rtt(due, window) {
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.model.rounds.next_delivered = flow.delivered;
        }
        if self.model.mode == Mode::ProbeRtt {
            let (least, time) = (self.probe_rtt_cwnd(), self.tuning.probe_rtt_mode);
            if self.model.stay_in_probe_rtt(least, time, flow, window) {
                self.check_probe_rtt_done(flow, window);
            }
        }
        self.model.note_delivery(sample);
    }

    fn probe_rtt_cwnd(&self) -> Segs {
        let bdp = self.model.bdp(self.bandwidth(), self.tuning.probe_rtt_gain);
        Segs(bdp.clamp(u64::from(MIN_CWND), u64::from(u32::MAX)) as u32)
    }

    fn check_probe_rtt_done(&mut self, flow: &Flow, window: &mut Window) {
        if !self.model.ends_probe_rtt(flow, window) {
            return;
        }
        self.probe_rtt_min.stamp = flow.jiffies();
        self.forget_lower_bounds();
        if self.model.full_pipe.reached {
            self.start_down(flow);
            self.start_cruise();
        } else {
            self.model.mode = Mode::Startup;
        }
    }
}

/// Pacing rate and window.
impl Bbr2 {
    fn set_pacing_rate(&mut self, gain: Gain, flow: &Flow, window: &mut Window) {
        let rate = self.bandwidth().pacing_rate(flow.mss, gain);
        self.model.pace(rate, flow, window);
    }

    fn set_cwnd(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        if sample.acked_sacked > Segs::ZERO {
            let bandwidth = self.bandwidth();
            let wanted = self.model.bdp(bandwidth, self.model.gains.cwnd)
                + self.model.aggregation.allowance(bandwidth);
            let target = self.quantized(wanted, flow, window);
            let grown = Segs(window.cwnd.0.saturating_add(sample.acked_sacked.0));
            if self.model.full_pipe.reached {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || window.cwnd.0 < 2 * INITIAL_CWND {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(Segs(MIN_CWND));
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        if self.model.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.bound_of_mode()).min(window.cwnd_clamp);
    }

    fn bound_of_mode(&self) -> Segs {
        let high = match (self.model.mode, self.phase) {
            (Mode::ProbeBw, Phase::Cruise) | (Mode::ProbeRtt, _) => self.with_headroom(),
            (Mode::ProbeBw, _) => Segs(self.bounds.inflight_hi.unwrap_or(u32::MAX)),
            (Mode::Startup | Mode::Drain, _) => Segs(u32::MAX),
        };
        let low = Segs(self.bounds.inflight_lo.unwrap_or(u32::MAX));
        high.min(low).max(Segs(MIN_CWND))
    }

    /// `packets`, or room for what waits in the hosts.
    fn quantized(&self, packets: u64, flow: &Flow, window: &Window) -> Segs {
        let least = (SKBS_IN_HOSTS * self.tso_segs_goal(flow, window)).max(u64::from(MIN_CWND));
        let probing = if self.phase() == Some(Phase::Up) { 2 } else { 0 };
        let wanted = packets.max(least).saturating_add(probing);
        segments(wanted)
    }

    fn inflight(&self, bandwidth: Bandwidth, gain: Gain, flow: &Flow, window: &Window) -> Segs {
        self.quantized(self.model.bdp(bandwidth, gain), flow, window)
    }

    /// Segments of an skb at the present pacing rate and RTT.
    fn tso_segs_goal(&self, flow: &Flow, window: &Window) -> u64 {
        let halvings = self.model.min_rtt.us.map_or(u64::from(u32::BITS), |us| us >> TSO_RTT_SHIFT);
        let near = u64::from(GSO_LEGACY_MAX_SIZE)
            .checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX))
            .unwrap_or(0);
        let paced = window.pacing_rate.bytes_per_sec() >> flow.pacing_shift;
        let bytes = paced.saturating_add(near).min(u64::from(GSO_MAX_SIZE));
        tso_segs(bytes, flow, window)
    }

    fn packets_in_net_at_edt(&self, inflight: Segs, flow: &Flow, window: &Window) -> Segs {
        self.model.packets_in_net_at_edt(inflight, flow, (self.tso_segs_goal(flow, window), self.bandwidth()))
    }
}

/// `count` times `factor`/256.
fn scaled(count: u32, factor: u64) -> u32 {
    ((u64::from(count) * factor) >> FACTOR_BITS) as u32
}
