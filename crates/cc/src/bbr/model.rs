//! What versions 1, 2 and 3 of BBR share: rounds, the minimum RTT, the detection of a full pipe, PROBE_RTT, the pacing
//! rate, and saving and restoring cwnd. The versions differ in the bandwidth estimate, in the probing cycle and in the
//! bounds of cwnd. [linux-6.12 tcp_bbr.c] [bbr-v2 tcp_bbr2.c]

use tailback_units::{Rate, Segs, Span};

use super::aggregation::{AckAggregation, Acked};
use super::bandwidth::{Bandwidth, Gain};
use crate::{CaState, CwndEvent, Flow, RateSample, Window};

/// 2/ln 2, rounded up: the smallest gain that doubles the rate each round. [linux-6.12 tcp_bbr.c bbr_high_gain]
pub(crate) const HIGH_GAIN: Gain = Gain(256 * 2885 / 1000 + 1);
/// ln 2/2, the inverse of [`HIGH_GAIN`]: the gain that drains its queue. [linux-6.12 tcp_bbr.c bbr_drain_gain]
pub(crate) const DRAIN_GAIN: Gain = Gain(256 * 1000 / 2885);
/// A window of two BDPs tolerates delayed and batched ACKs. [linux-6.12 tcp_bbr.c bbr_cwnd_gain]
pub(crate) const CWND_GAIN: Gain = Gain(256 * 2);
/// Smallest window, in segments. [linux-6.12 tcp_bbr.c bbr_cwnd_min_target]
pub(crate) const MIN_CWND: u32 = 4;
/// Window before the first RTT, in segments. [rfc6928 §2]
pub(crate) const INITIAL_CWND: u32 = 10;
/// skbs that may be queued in the sending and receiving hosts. [linux-6.12 tcp_bbr.c bbr_quantization_budget]
pub(crate) const SKBS_IN_HOSTS: u64 = 3;
/// Fraction bits of factors.
pub(crate) const FACTOR_BITS: u32 = 8;
/// Rounds without [`GROWTH`] after which the pipe is full. [linux-6.12 tcp_bbr.c bbr_full_bw_cnt]
pub(crate) const FULL_ROUNDS: u32 = 3;
/// Growth of the bandwidth while the pipe is not full: 1.25, in 1/256. [linux-6.12 tcp_bbr.c bbr_full_bw_thresh]
const GROWTH: u64 = 256 * 5 / 4;
/// Below this rate in byte/s (1.2 Mbit/s), one segment per skb is enough. [linux-6.12 tcp_bbr.c bbr_min_tso_rate]
const SLOW_RATE: u64 = 1_200_000 / 8;
/// Maximum number of segments per skb. [linux-6.12 tcp_bbr.c bbr_tso_segs_goal]
const MAX_TSO_SEGS: u64 = 0x7f;
/// RTT assumed before the first, in µs. [linux-6.12 tcp_bbr.c bbr_init_pacing_rate_from_rtt]
const ASSUMED_RTT_US: u64 = 1_000;

/// Factors of the bandwidth (pacing) and of the BDP (cwnd).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gains {
    pub(crate) pacing: Gain,
    pub(crate) cwnd: Gain,
}

/// The states that all versions have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Round trips, counted by delivered segments: a round ends when a segment sent after its start is delivered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) count: u64,
    pub(crate) next_delivered: u64,
    /// This ACK began a round.
    pub(crate) start: bool,
}

/// A minimum of the RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinRtt {
    /// `None` before the first sample.
    pub(crate) us: Option<u64>,
    /// When it was measured, in jiffies.
    pub(crate) stamp: u64,
}

/// Detects whether the pipe is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullPipe {
    pub(crate) bandwidth: Bandwidth,
    pub(crate) rounds: u32,
    /// Full, as detected since the last restart.
    pub(crate) now: bool,
    /// Full at any time so far.
    pub(crate) reached: bool,
}

impl FullPipe {
    /// Adds a bandwidth: growth restarts the detection; the pipe is full after rounds without growth.
    pub(crate) fn take(&mut self, bandwidth: Bandwidth, round_start: bool) {
        if bandwidth >= self.bandwidth.scaled(GROWTH, FACTOR_BITS) {
            self.restart(bandwidth);
        } else if round_start {
            self.rounds += 1;
            self.now = self.rounds >= FULL_ROUNDS;
            self.reached |= self.now;
        }
    }

    /// Restarts the detection at `bandwidth`; `reached` does not change.
    pub(crate) fn restart(&mut self, bandwidth: Bandwidth) {
        *self = FullPipe { bandwidth, rounds: 0, now: false, reached: self.reached };
    }
}

/// PROBE_RTT: a small window, to measure the RTT of the empty path.
#[derive(Clone, Debug, Default)]
struct ProbeRtt {
    /// Earliest end in jiffies, once the data in flight has shrunk.
    done: Option<u64>,
    round_done: bool,
}

/// The state that the versions share.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Gains of STARTUP.
    startup: Gains,
    pub(crate) mode: Mode,
    pub(crate) gains: Gains,
    pub(crate) rounds: Rounds,
    pub(crate) min_rtt: MinRtt,
    pub(crate) full_pipe: FullPipe,
    probe_rtt: ProbeRtt,
    pub(crate) aggregation: AckAggregation,
    /// State of loss recovery at the previous ACK.
    pub(crate) previous: CaState,
    /// The window before recovery or PROBE_RTT.
    pub(crate) prior_cwnd: Segs,
    /// The data in flight while no RTT is known.
    pub(crate) initial_cwnd: u32,
    /// The pacing rate is based on a measured RTT.
    has_seen_rtt: bool,
    /// Transmission restarted after idle, and nothing was delivered since.
    pub(crate) idle_restart: bool,
}

impl Model {
    pub(crate) fn new(startup: Gains) -> Self {
        Model {
            startup,
            mode: Mode::Startup,
            gains: startup,
            rounds: Rounds::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            probe_rtt: ProbeRtt::default(),
            aggregation: AckAggregation::default(),
            previous: CaState::default(),
            prior_cwnd: Segs::ZERO,
            initial_cwnd: INITIAL_CWND,
            has_seen_rtt: false,
            idle_restart: false,
        }
    }

    /// The connection is established.
    pub(crate) fn begin(&mut self, flow: &Flow, window: &mut Window) {
        window.ssthresh = Segs::INFINITE;
        self.rounds.next_delivered = flow.delivered;
        self.min_rtt = MinRtt { us: flow.min_rtt.map(Span::as_micros), stamp: flow.jiffies() };
        self.pace_by_rtt(flow, window);
        self.aggregation.restart(flow.now.as_micros());
    }

    /// True if the flow restarts after its application had nothing to send; the phase of its cycle is then outdated.
    pub(crate) fn restarts_after_idle(&mut self, event: CwndEvent, flow: &Flow) -> bool {
        let restarts = event == CwndEvent::TxStart && flow.app_limited != 0;
        if restarts {
            self.idle_restart = true;
            self.aggregation.restart(flow.now.as_micros());
        }
        restarts
    }

    /// Counts rounds; returns the bandwidth of the sample, if it is valid.
    pub(crate) fn start_round(&mut self, sample: &RateSample, flow: &Flow) -> Option<Bandwidth> {
        let (delivered, micros) = self.count_round(sample, flow)?;
        Some(Bandwidth::of(delivered, micros))
    }

    /// Counts rounds; returns packets and µs of the sample, if it is valid.
    pub(crate) fn count_round(&mut self, sample: &RateSample, flow: &Flow) -> Option<(u64, u64)> {
        self.rounds.start = false;
        let (delivered, micros) = measured(sample)?;
        if sample.prior_delivered >= self.rounds.next_delivered {
            self.rounds =
                Rounds { count: self.rounds.count + 1, next_delivered: flow.delivered, start: true };
        }
        Some((delivered, micros))
    }

    /// Updates the estimate of ACK aggregation.
    pub(crate) fn update_ack_aggregation(
        &mut self,
        sample: &RateSample,
        flow: &Flow,
        window: &Window,
        (slot_rounds, bandwidth): (u32, Bandwidth),
    ) {
        if sample.acked_sacked == Segs::ZERO || measured(sample).is_none() {
            return;
        }
        let acked = Acked {
            packets: sample.acked_sacked,
            max: window.cwnd,
            round_start: self.rounds.start,
            slot_rounds,
            at_us: flow.delivered_at.as_micros(),
        };
        self.aggregation.update(&acked, bandwidth);
    }

    /// Enters PROBE_RTT if it is due and the flow is not just restarting; true if it does.
    pub(crate) fn enter_probe_rtt(&mut self, is_due: bool, window: &Window) -> bool {
        let enters = is_due && !self.idle_restart && self.mode != Mode::ProbeRtt;
        if enters {
            // In this order, as in Linux, so that a window saved for recovery is never lowered.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt.done = None;
        }
        enters
    }

    /// One ACK in PROBE_RTT, ending `time` and a round after `min` is in flight. True after the round.
    pub(crate) fn stay_in_probe_rtt(
        &mut self,
        min: Segs,
        time: Span,
        flow: &Flow,
        window: &mut Window,
    ) -> bool {
        // The small window must not lower the bandwidth estimate.
        window.mark_app_limited = true;
        if self.probe_rtt.done.is_some() {
            self.probe_rtt.round_done |= self.rounds.start;
            return self.probe_rtt.round_done;
        }
        if flow.in_flight <= min {
            let done = flow.jiffies() + flow.jiffies_in(time);
            self.probe_rtt = ProbeRtt { done: Some(done), round_done: false };
            self.rounds.next_delivered = flow.delivered;
        }
        false
    }

    /// Restores cwnd if the time of PROBE_RTT is over; true if so.
    pub(crate) fn ends_probe_rtt(&self, flow: &Flow, window: &mut Window) -> bool {
        let over = self.probe_rtt.done.is_some_and(|done| flow.jiffies() > done);
        if over {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        over
    }

    /// Ends the restart after idle once something is delivered.
    pub(crate) fn note_delivery(&mut self, sample: &RateSample) {
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// Saves cwnd, to restore it after recovery or PROBE_RTT.
    pub(crate) fn save_cwnd(&mut self, window: &Window) {
        let intact = self.previous < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let floor = if intact { Segs::ZERO } else { self.prior_cwnd };
        self.prior_cwnd = window.cwnd.max(floor);
    }

    /// Sets the pacing rate of STARTUP from the present cwnd and RTT.
    fn pace_by_rtt(&mut self, flow: &Flow, window: &mut Window) {
        self.has_seen_rtt |= flow.srtt_us8 > 0;
        let rtt_us = match flow.srtt_us8 {
            0 => ASSUMED_RTT_US,
            srtt_us8 => u64::from(srtt_us8 >> 3).max(1),
        };
        let bandwidth = Bandwidth::of(u64::from(window.cwnd.0), rtt_us);
        window.pacing_rate = bandwidth.pacing_rate(flow.mss, self.startup.pacing);
    }

    /// Sets the pacing rate; until the pipe is full it does not decrease.
    pub(crate) fn pace(&mut self, rate: Rate, flow: &Flow, window: &mut Window) {
        if !self.has_seen_rtt && flow.srtt_us8 > 0 {
            self.pace_by_rtt(flow, window);
        }
        if self.full_pipe.reached || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    pub(crate) fn bdp(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.min_rtt.us.map_or(u64::from(self.initial_cwnd), |us| bandwidth.bdp(us, gain))
    }

    /// Packets in flight at the earliest departure time of the next packet: those in flight now, plus an skb of `skb`
    /// segments if the flow probes, minus what a path of `bandwidth` delivers until then.
    pub(crate) fn packets_in_net_at_edt(
        &self,
        inflight: Segs,
        flow: &Flow,
        (skb, bandwidth): (u64, Bandwidth),
    ) -> Segs {
        let micros = flow.departure.max(flow.now).since(flow.now).as_micros();
        let sent = if self.gains.pacing > Gain::UNIT { skb } else { 0 };
        let left = (u64::from(inflight.0) + sent).saturating_sub(bandwidth.packets_in(micros));
        Segs(left.min(u64::from(u32::MAX)) as u32)
    }

    /// The values that `ss` shows for every version.
    pub(crate) fn gauges(&self, bandwidth: Bandwidth, flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        show("bbr_bw", bandwidth.bytes_per_sec(flow.mss) as f64);
        if let Some(us) = self.min_rtt.us {
            show("bbr_min_rtt", us as f64);
        }
        show("bbr_pacing_gain", self.gains.pacing.as_f64());
        show("bbr_cwnd_gain", self.gains.cwnd.as_f64());
    }
}

/// Minimum segments per skb: 1 for slow flows, else 2.
pub(crate) fn min_tso_segs(window: &Window) -> u32 {
    if window.pacing_rate.bytes_per_sec() < SLOW_RATE { 1 } else { 2 }
}

/// Segments of an skb of `bytes`.
pub(crate) fn tso_segs(bytes: u64, flow: &Flow, window: &Window) -> u64 {
    tso_segs_from(min_tso_segs(window), bytes, flow)
}

/// Segments of an skb of `bytes`, at least `min`.
pub(crate) fn tso_segs_from(min: u32, bytes: u64, flow: &Flow) -> u64 {
    let min = u64::from(min);
    (bytes / u64::from(flow.mss)).max(min).min(MAX_TSO_SEGS)
}

/// Converts to the range of a window.
pub(crate) fn segments(wanted: u64) -> Segs {
    Segs(wanted.min(u64::from(Segs::INFINITE.0)) as u32)
}

/// Packets and µs of a sample, if it is valid for the bandwidth.
pub(crate) fn measured(sample: &RateSample) -> Option<(u64, u64)> {
    let micros = sample.interval?.as_micros();
    sample.delivered.filter(|_| micros > 0).map(|delivered| (delivered, micros))
}
