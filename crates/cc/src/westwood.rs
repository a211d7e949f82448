//! Westwood+: Reno that reduces cwnd, after a loss, to the estimated bandwidth times the minimum RTT.
//!
//! every max(rtt, 50 ms):  sample = bytes acknowledged / time
//!                         bw_ns = 7/8·bw_ns + 1/8·sample,  bw = 7/8·bw + 1/8·bw_ns  (both start at the first sample)
//! end of a reduction:     cwnd = ssthresh = max(bw·rtt_min / mss, 2)
//! timeout:                ssthresh likewise; rtt_min restarts from the next sample
//!
//! Growth and the first cut are Reno's. Times are in jiffies and bandwidths in whole bytes per jiffy, so an RTT below
//! a jiffy counts as one jiffy. A duplicate ACK counts as one segment, which the next cumulative ACK does not count
//! again.
//! Sources: [westwood, Mascolo et al. 2001; Grieco and Mascolo 2004], [linux-6.12 tcp_westwood.c].
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{ParameterError, Parameters, Segs, Span};

use crate::{
    AckPath, AckSample, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno,
};

/// Minimum length of a bandwidth sample. [linux-6.12 tcp_westwood.c TCP_WESTWOOD_RTT_MIN]
const SHORTEST_SAMPLE: Span = Span::from_millis(50);
/// RTT assumed before the first. [linux-6.12 tcp_westwood.c TCP_WESTWOOD_INIT_RTT]
const ASSUMED_RTT: Span = Span::from_secs(20);
/// Smallest window, in segments. [linux-6.12 tcp_westwood.c tcp_westwood_bw_rttmin]
const MIN_CWND: u64 = 2;

/// The registry row.
pub const ROW: Row = Row {
    name: "westwood",
    summary: "Reno that reduces the window to the measured bandwidth-delay product (Westwood+)",
    source: include_str!("westwood.rs"),
    parameters: &[],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(_: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Westwood::default()))
}

/// State of Westwood+; times in jiffies.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    /// Bytes per jiffy, filtered once and twice.
    once: u64,
    bandwidth: u64,
    sample: Sample,
    rtt: u64,
    rtt_min: u64,
    /// The next RTT becomes `rtt_min`.
    restarts_minimum: bool,
    /// Bytes counted for duplicate ACKs, which a cumulative ACK will acknowledge again.
    accounted: u64,
    /// First unacknowledged byte at the previous ACK; `None` before the first.
    acked_to: Option<u64>,
}

/// Bytes acknowledged since `start`.
#[derive(Clone, Debug, Default)]
struct Sample {
    start: u64,
    bytes: u64,
}

impl Hooks for Westwood {
    fn init(&mut self, flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        let assumed = flow.jiffies_in(ASSUMED_RTT);
        *self = Westwood { rtt: assumed, rtt_min: assumed, restarts_minimum: true, ..Westwood::default() };
        self.sample.start = flow.jiffies();
    }

    fn in_ack_event(&mut self, path: AckPath, flow: &Flow, _window: &mut Window) {
        self.end_sample(flow);
        let acked_to = self.acked_to.replace(flow.snd_una).unwrap_or(flow.snd_una);
        let advanced = flow.snd_una - acked_to;
        self.sample.bytes += match path {
            AckPath::Fast => advanced,
            AckPath::Slow => self.newly_counted(advanced, u64::from(flow.mss)),
        };
        let minimum = if self.restarts_minimum { u64::MAX } else { self.rtt_min };
        self.rtt_min = minimum.min(self.rtt);
        self.restarts_minimum = false;
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, _window: &mut Window) {
        if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = flow.jiffies_in(rtt);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        match event {
            CwndEvent::CompleteCwr => {
                window.ssthresh = self.bdp(flow);
                window.cwnd = window.ssthresh;
            }
            CwndEvent::Loss => {
                window.ssthresh = self.bdp(flow);
                self.restarts_minimum = true;
            }
            _ => {}
        }
    }
}

impl WindowControl for Westwood {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        reno::cong_avoid(acked, flow, window);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        reno::ssthresh(window)
    }
}

impl Westwood {
    /// Segments that fill the path without a queue.
    fn bdp(&self, flow: &Flow) -> Segs {
        let segments = self.bandwidth.saturating_mul(self.rtt_min) / u64::from(flow.mss);
        Segs(segments.clamp(MIN_CWND, u64::from(Segs::INFINITE.0)) as u32)
    }

    fn end_sample(&mut self, flow: &Flow) {
        let now = flow.jiffies();
        let lasted = now - self.sample.start;
        if self.rtt == 0 || lasted <= self.rtt.max(flow.jiffies_in(SHORTEST_SAMPLE)) {
            return;
        }
        let rate = self.sample.bytes / lasted;
        if self.once == 0 && self.bandwidth == 0 {
            (self.once, self.bandwidth) = (rate, rate);
        } else {
            self.once = seven_eighths(self.once, rate);
            self.bandwidth = seven_eighths(self.bandwidth, self.once);
        }
        self.sample = Sample { start: now, bytes: 0 };
    }

    /// Bytes that an ACK acknowledges, without those that were counted for duplicate ACKs.
    fn newly_counted(&mut self, advanced: u64, mss: u64) -> u64 {
        if advanced == 0 {
            self.accounted += mss;
            return mss;
        }
        if advanced <= mss {
            return advanced;
        }
        if self.accounted >= advanced {
            self.accounted -= advanced;
            return mss;
        }
        advanced - std::mem::take(&mut self.accounted)
    }
}

/// [linux-6.12 tcp_westwood.c westwood_do_filter]
fn seven_eighths(old: u64, new: u64) -> u64 {
    (7 * old + new) >> 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_acks::{Acks, MSS};

    const RTT: Span = Span::from_millis(100);

    /// 1000 segments per second for `secs` seconds.
    fn steady(secs: u64) -> Acks<Westwood> {
        let mut acks = Acks::in_avoidance(400, Westwood::default());
        for _ in 0..secs * 1_000 {
            acks.wait(Span::from_millis(1));
            acks.ack(1, RTT);
            acks.window.cwnd = Segs(400);
        }
        acks
    }

    #[test]
    fn a_random_loss_leaves_the_bandwidth_delay_product_and_not_half_the_window() {
        let mut acks = steady(10);
        acks.window.cwnd = Segs(110);
        acks.lose();
        assert!((98..=100).contains(&acks.cwnd()), "{}", acks.cwnd());
        assert_eq!(acks.window.ssthresh, acks.window.cwnd);
    }

    #[test]
    fn after_a_loss_a_large_queue_is_gone_at_once() {
        let mut acks = steady(10);
        acks.lose();
        assert!((98..=100).contains(&acks.cwnd()), "of 400: {}", acks.cwnd());
    }

    #[test]
    fn the_filter_takes_a_sixty_fourth_of_a_new_sample_at_first() {
        let mut acks = steady(10);
        let (before, rate) = (acks.control.bandwidth, acks.control.once);
        assert!(rate.abs_diff(MSS) <= MSS / 20 && before.abs_diff(MSS) <= MSS / 20, "{rate} {before}");
        acks.wait(Span::from_secs(10));
        acks.ack(1, RTT);
        acks.wait(Span::from_secs(10));
        acks.ack(1, RTT);
        assert!(acks.control.bandwidth < before && acks.control.bandwidth > before * 9 / 10);
    }

    #[test]
    fn an_rtt_of_less_than_a_jiffy_counts_as_one() {
        let mut acks = Acks::in_avoidance(10, Westwood::default());
        (0..3).for_each(|_| acks.ack(1, Span::from_micros(200)));
        assert_eq!(acks.control.rtt_min, 1);
    }

    #[test]
    fn duplicate_acks_are_not_counted_twice() {
        let mut westwood = Westwood::default();
        assert_eq!(westwood.newly_counted(0, 1_000), 1_000);
        assert_eq!(westwood.newly_counted(0, 1_000), 1_000);
        assert_eq!(westwood.newly_counted(3_000, 1_000), 1_000, "three arrived, two were counted before");
        assert_eq!(westwood.newly_counted(3_000, 1_000), 3_000);
    }

    #[test]
    fn a_timeout_measures_the_minimum_rtt_again() {
        let mut acks = steady(2);
        acks.time_out();
        acks.ack(1, RTT * 3);
        acks.ack(1, RTT * 3);
        assert!(acks.control.rtt_min >= 100 && !acks.control.restarts_minimum);
        assert!((90..=100).contains(&acks.window.ssthresh.0), "{}", acks.window.ssthresh);
    }
}
