//! The bounds that BBR versions 2 and 3 derive from loss: inflight_hi, from the probes for bandwidth; bw_lo and
//! inflight_lo, from rounds with loss between the probes. [bbr-v2 tcp_bbr2.c bbr_adapt_lower_bounds, bbr_adapt_upper_bounds]

use tailback_units::Segs;

use super::tuning::ProbeEnd;
use super::{AckPhase, Bandwidth, Bbr2, FACTOR_BITS, MIN_CWND, Mode, Phase, measured};
use crate::{Flow, LostSegment, RateSample, Window};

/// inflight_hi rises by at most 2 to the power of this per round. [bbr-v2 bbr_raise_inflight_hi_slope]
const STEEPEST_SLOPE: u32 = 30;

/// Bounds derived from loss; `None` = no bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) bw_lo: Option<Bandwidth>,
    pub(super) inflight_lo: Option<u32>,
    pub(super) inflight_hi: Option<u32>,
}

impl Bounds {
    pub(super) fn widest(&self, other: &Bounds) -> Bounds {
        Bounds {
            bw_lo: self.bw_lo.zip(other.bw_lo).map(|(a, b)| a.max(b)),
            inflight_lo: self.inflight_lo.zip(other.inflight_lo).map(|(a, b)| a.max(b)),
            inflight_hi: self.inflight_hi.zip(other.inflight_hi).map(|(a, b)| a.max(b)),
        }
    }
}

/// Measurements of the present round.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    pub(super) bandwidth: Bandwidth,
    pub(super) delivered: u64,
    pub(super) loss: bool,
    pub(super) loss_events: u32,
    /// The loss round ends when this many segments are delivered.
    pub(super) round_delivered: u64,
    /// This ACK ended a loss round.
    pub(super) round_start: bool,
}

impl Bbr2 {
    pub(super) fn update_latest(&mut self, sample: &RateSample, bandwidth: Bandwidth, flow: &Flow) {
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

    pub(super) fn forget_round(&mut self) {
        self.latest.loss = false;
        (self.latest.bandwidth, self.latest.delivered) = (Bandwidth::ZERO, 0);
    }

    pub(super) fn update_congestion(&mut self, sample: &RateSample, bandwidth: Bandwidth, window: &Window) {
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

    /// Lowers bw_lo and inflight_lo, once per round with loss, but not below what was delivered in it.
    pub(super) fn lower_bounds(&mut self, window: &Window) {
        let keep = self.tuning.keep;
        let bandwidth = self.bounds.bw_lo.unwrap_or(self.max_bandwidth()).scaled(keep, FACTOR_BITS);
        self.bounds.bw_lo = Some(bandwidth.max(self.latest.bandwidth));
        let inflight = scaled(self.bounds.inflight_lo.unwrap_or(window.cwnd.0), keep);
        self.bounds.inflight_lo = Some(inflight.max(self.latest.delivered.min(u64::from(u32::MAX)) as u32));
    }

    pub(super) fn forget_lower_bounds(&mut self) {
        (self.bounds.bw_lo, self.bounds.inflight_lo) = (None, None);
    }

    pub(super) fn is_inflight_too_high(&self, lost: u64, tx_in_flight: Segs) -> bool {
        lost > 0
            && tx_in_flight > Segs::ZERO
            && lost > (u64::from(tx_in_flight.0) * self.tuning.loss_thresh) >> FACTOR_BITS
    }

    /// The data in flight at which the loss rate exceeded `loss_thresh`, interpolated within the lost skb.
    pub(super) fn inflight_at_loss_thresh(&self, segment: &LostSegment) -> Segs {
        let thresh = self.tuning.loss_thresh;
        let before = u64::from(segment.tx_in_flight.0.saturating_sub(1));
        let allowed = (before * thresh).div_ceil(1 << FACTOR_BITS);
        let missing = allowed.saturating_sub(segment.lost - 1);
        let further = (missing << FACTOR_BITS).checked_div((1 << FACTOR_BITS) - thresh).unwrap_or(0);
        Segs((before + further).min(u64::from(u32::MAX)) as u32)
    }

    /// True if a phase has begun.
    pub(super) fn adapt_upper_bounds(
        &mut self,
        sample: &RateSample,
        flow: &Flow,
        window: &mut Window,
    ) -> bool {
        if self.model.rounds.start && self.probe.ack_phase == AckPhase::ProbeStarting {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        } else if self.model.rounds.start && self.probe.ack_phase == AckPhase::ProbeStopping {
            self.probe.samples = false;
            self.probe.ack_phase = AckPhase::Initial;
            if self.end_probe_cycle(sample, flow) {
                return true;
            }
        }
        if self.is_inflight_too_high(sample.lost, sample.tx_in_flight) {
            if self.probe.samples {
                self.handle_inflight_too_high(sample.tx_in_flight, sample.is_app_limited, flow, window);
            }
        } else if let Some(high) = self.bounds.inflight_hi {
            self.bounds.inflight_hi = Some(high.max(sample.tx_in_flight.0));
            if self.phase() == Some(Phase::Up) {
                self.raise_upper_bound(sample, flow, window);
            }
        }
        false
    }

    pub(super) fn handle_inflight_too_high(
        &mut self,
        level: Segs,
        app_limited: bool,
        flow: &Flow,
        window: &Window,
    ) {
        self.probe.previous_too_high = true;
        self.probe.samples = false;
        if !app_limited {
            let min = scaled(self.target_inflight(flow, window), self.tuning.keep);
            self.bounds.inflight_hi = Some(level.0.max(min).max(1));
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
        self.at_target &= grown == 0;
        if self.model.rounds.start {
            self.raise_slope(window);
        }
    }

    pub(super) fn raise_slope(&mut self, window: &Window) {
        self.probe.up_cnt = (window.cwnd.0 >> self.probe.up_rounds).max(1);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(STEEPEST_SLOPE);
    }

    pub(super) fn with_headroom(&self) -> Segs {
        let Some(high) = self.bounds.inflight_hi else { return Segs(u32::MAX) };
        let headroom = scaled(high, self.tuning.headroom).max(1);
        Segs(high.saturating_sub(headroom).max(MIN_CWND))
    }

    pub(super) fn bound_of_mode(&self) -> Segs {
        let high = match (self.model.mode, self.phase) {
            (Mode::ProbeBw, Phase::Cruise) | (Mode::ProbeRtt, _) => self.with_headroom(),
            (Mode::ProbeBw, _) => Segs(self.bounds.inflight_hi.unwrap_or(u32::MAX)),
            (Mode::Startup | Mode::Drain, _) => Segs(u32::MAX),
        };
        let low = Segs(self.bounds.inflight_lo.unwrap_or(u32::MAX));
        high.min(low).max(Segs(MIN_CWND))
    }
}

/// `count` times `factor`/256.
fn scaled(count: u32, factor: u64) -> u32 {
    ((u64::from(count) * factor) >> FACTOR_BITS) as u32
}
