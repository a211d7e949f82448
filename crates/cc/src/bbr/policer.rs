//! Long-term sampling detects a token-bucket policer on the path: two consecutive intervals that lose at least a fifth
//! of the packets and deliver at nearly the same rate. That rate is then used for 48 rounds.
//!
//! An interval begins and ends with a loss and lasts 4 to 16 rounds. [linux-6.12 tcp_bbr.c bbr_lt_bw_sampling]

use tailback_units::Segs;

use super::bandwidth::{Bandwidth, Gain};
use crate::Flow;

/// Shortest interval, in rounds. [linux-6.12 tcp_bbr.c bbr_lt_intvl_min_rtts]
const MIN_ROUNDS: u32 = 4;
/// Longest interval, in rounds. [linux-6.12 tcp_bbr.c bbr_lt_bw_sampling]
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Share of loss, in 1/256, that indicates a policer. [linux-6.12 tcp_bbr.c bbr_lt_loss_thresh]
const LOSS_SHARE: u64 = 50;
/// Two rates are consistent within this share, in 1/256. [linux-6.12 tcp_bbr.c bbr_lt_bw_ratio]
const CONSISTENT_SHARE: u64 = 32;
/// Two rates are consistent within this many byte/s. [linux-6.12 tcp_bbr.c bbr_lt_bw_diff]
const CONSISTENT_BYTES_PER_SEC: u64 = 4_000 / 8;
/// Rounds for which the rate is used. [linux-6.12 tcp_bbr.c bbr_lt_bw_max_rtts]
const USED_ROUNDS: u32 = 48;
/// An interval longer than this, in ms, is invalid: its length in µs exceeds 32 bits. [linux-6.12 tcp_bbr.c]
const LONGEST_MS: u64 = u32::MAX as u64 / 1_000;

/// One ACK.
pub struct Sample {
    /// Segments it marked lost.
    pub losses: Segs,
    /// The rate sample of the ACK was limited by the application.
    pub app_limited: bool,
    /// The ACK began a round.
    pub round_start: bool,
    /// The flow probes for bandwidth (PROBE_BW).
    pub probing: bool,
}

/// Result of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// No change.
    None,
    /// A policer was detected; its rate is used from now on.
    Capped,
    /// The rate of the policer is no longer used.
    Lifted,
}

/// Policer detection of one flow.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    sampling: bool,
    in_use: bool,
    /// Bandwidth of the last interval or of the policer; zero = none yet.
    bandwidth: Bandwidth,
    rounds: u32,
    start: Start,
}

/// Counters at the start of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    at_ms: u64,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate of the policer, if one was detected.
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Resets the detection.
    pub fn reset(&mut self, flow: &Flow) {
        *self = Policer::default();
        self.start_interval(flow);
    }

    /// Processes one ACK.
    pub fn take(&mut self, sample: &Sample, flow: &Flow) -> Change {
        if self.in_use {
            return self.count_use(sample, flow);
        }
        if !self.sampling {
            if sample.losses == Segs::ZERO {
                return Change::None;
            }
            self.start_interval(flow);
            self.sampling = true;
        }
        self.rounds += u32::from(sample.round_start && !sample.app_limited);
        if sample.app_limited || self.rounds > MAX_ROUNDS {
            self.reset(flow);
        } else if self.rounds >= MIN_ROUNDS && sample.losses > Segs::ZERO {
            return self.end_interval(flow);
        }
        Change::None
    }

    fn count_use(&mut self, sample: &Sample, flow: &Flow) -> Change {
        if sample.probing && sample.round_start {
            self.rounds += 1;
            if self.rounds >= USED_ROUNDS {
                self.reset(flow);
                return Change::Lifted;
            }
        }
        Change::None
    }

    fn start_interval(&mut self, flow: &Flow) {
        let at_ms = flow.delivered_at.as_micros() / 1_000;
        self.start = Start { at_ms, delivered: flow.delivered, lost: flow.lost };
        self.rounds = 0;
    }

    fn end_interval(&mut self, flow: &Flow) -> Change {
        let lost = flow.lost.saturating_sub(self.start.lost);
        let delivered = flow.delivered.saturating_sub(self.start.delivered);
        if delivered == 0 || lost << 8 < LOSS_SHARE * delivered {
            return Change::None;
        }
        let ms = (flow.delivered_at.as_micros() / 1_000).saturating_sub(self.start.at_ms);
        if ms >= LONGEST_MS {
            self.reset(flow);
        }
        if ms == 0 || ms >= LONGEST_MS {
            return Change::None;
        }
        self.judge(Bandwidth::of(delivered, ms * 1_000), flow)
    }

    fn judge(&mut self, bandwidth: Bandwidth, flow: &Flow) -> Change {
        if self.bandwidth > Bandwidth::ZERO && self.is_consistent(bandwidth, flow.mss) {
            self.bandwidth = self.bandwidth.mean(bandwidth);
            self.in_use = true;
            self.rounds = 0;
            return Change::Capped;
        }
        self.bandwidth = bandwidth;
        self.start_interval(flow);
        Change::None
    }

    fn is_consistent(&self, other: Bandwidth, mss: u32) -> bool {
        let difference = self.bandwidth.difference(other);
        difference.raw() << 8 <= CONSISTENT_SHARE * self.bandwidth.raw()
            || difference.pacing_rate(mss, Gain::UNIT).bytes_per_sec() <= CONSISTENT_BYTES_PER_SEC
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::{SimTime, Span};

    use super::*;

    /// A flow whose rounds last 10 ms, deliver 100 packets and lose `lost` each.
    struct Rounds {
        flow: Flow,
        policer: Policer,
    }

    impl Rounds {
        fn new() -> Self {
            Rounds { flow: Flow::established(1448, Span::from_millis(1)), policer: Policer::default() }
        }

        fn round(&mut self, lost: u32, app_limited: bool) -> Change {
            self.flow.delivered += 100;
            self.flow.lost += u64::from(lost);
            self.flow.delivered_at += Span::from_millis(10);
            let sample = Sample { losses: Segs(lost), app_limited, round_start: true, probing: true };
            self.policer.take(&sample, &self.flow)
        }
    }

    #[test]
    fn two_consistent_intervals_with_a_fifth_lost_reveal_a_policer_for_forty_eight_rounds() {
        let mut rounds = Rounds::new();
        let found = (1..=20).find(|_| rounds.round(20, false) == Change::Capped);
        assert_eq!(found, Some(8), "4 rounds per interval, the first begins within a round");
        assert_eq!(rounds.policer.bandwidth(), Some(Bandwidth::of(100, 10_000)));
        let lifted = (1..=60).find(|_| rounds.round(20, false) == Change::Lifted);
        assert_eq!((lifted, rounds.policer.bandwidth()), (Some(48), None));
    }

    #[test]
    fn less_than_a_fifth_of_loss_is_no_policer() {
        let mut rounds = Rounds::new();
        assert!((0..100).all(|_| rounds.round(19, false) == Change::None));
    }

    #[test]
    fn an_application_limited_sample_invalidates_the_interval() {
        let mut rounds = Rounds::new();
        assert!((0..100).all(|i| rounds.round(20, i % 4 == 3) == Change::None));
    }

    #[test]
    fn an_interval_longer_than_an_hour_is_invalid() {
        let mut rounds = Rounds::new();
        (0..3).for_each(|_| assert_eq!(rounds.round(20, false), Change::None));
        rounds.flow.delivered_at = SimTime::from_nanos(2 * 3_600_000_000_000);
        assert_eq!(rounds.round(2_000, false), Change::None);
        assert_eq!(rounds.policer.bandwidth, Bandwidth::ZERO);
    }
}
