//! H-TCP: growth accelerates with the time since the last congestion event; the cut is just large enough to empty the
//! queue.
//!
//! growth: α segments per round trip, Δ seconds after the last congestion:
//!         f = 1 for Δ ≤ 1, else 1 + 10(Δ − 1) + ((Δ − 1)/2)²
//!         RTT scaling: f is divided by 0.1 s / RTT_min, clamped to 1/2 … 10;   α = 2·f·(1 − β)
//! cut:    ssthresh = β·cwnd, β = RTT_min / RTT_max clamped to 0.5 … 0.8; β = 0.5 if RTT_min ≤ 10 ms, at the first
//!         cut, and after the throughput changed by more than a fifth between two cuts (adaptive reset)
//! RTT_max rises by at most 20 ms per sample; at each cut its distance to RTT_min shrinks by 5 %.
//!
//! α and β are in 1/128, times in jiffies. Sources: [htcp, Leith and Shorten 2004], [linux-6.12 tcp_htcp.c].
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs, Span};

use crate::module_param::flag;
use crate::{AckSample, CaState, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Fraction bits of α and β. [linux-6.12 tcp_htcp.c ALPHA_BASE]
const SHIFT: u32 = 7;
/// One segment per round trip.
const ALPHA_BASE: u64 = 1 << SHIFT;
/// 0.5. [linux-6.12 tcp_htcp.c BETA_MIN]
const BETA_MIN: u64 = 1 << (SHIFT - 1);
/// 0.8. [linux-6.12 tcp_htcp.c BETA_MAX]
const BETA_MAX: u64 = 102;
/// Maximum by which one sample raises RTT_max. [linux-6.12 tcp_htcp.c measure_rtt]
const MAX_RTT_STEP: Span = Span::from_millis(20);
/// RTTs up to this are too short to measure the queue. [linux-6.12 tcp_htcp.c htcp_beta_update]
const SHORT_RTT: Span = Span::from_millis(10);
/// Round trips after a cut in which the throughput is not averaged. [linux-6.12 tcp_htcp.c measure_achieved_throughput]
const FRESH_ROUNDS: u64 = 3;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_htcp.c module_param]
const PARAMETERS: &[Parameter] = &[
    flag("use_rtt_scaling", 1, "grow faster with a long RTT, slower with a short one"),
    flag("use_bandwidth_switch", 1, "halve the window if the throughput has changed by more than a fifth"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "htcp",
    summary: "grows faster with the time since the last congestion event (Hamilton TCP)",
    source: include_str!("htcp.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let tuning = Tuning {
        rtt_scaling: given.get("use_rtt_scaling", PARAMETERS)? != 0,
        bandwidth_switch: given.get("use_bandwidth_switch", PARAMETERS)? != 0,
    };
    Ok(Prototype::window(Htcp::new(tuning)))
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rtt_scaling: bool,
    bandwidth_switch: bool,
}

/// State of H-TCP; times in jiffies.
#[derive(Clone, Debug)]
pub struct Htcp {
    tuning: Tuning,
    alpha: u64,
    beta: u64,
    /// β follows the RTTs: this is not the first cut, and the throughput has not changed much.
    adapts: bool,
    /// Segments of the last ACK.
    acked: u32,
    last_congestion: u64,
    rtts: Rtts,
    throughput: Throughput,
    before: Option<Before>,
}

/// In jiffies.
#[derive(Clone, Copy, Debug, Default)]
struct Rtts {
    min: Option<u64>,
    max: u64,
}

/// In segments per second.
#[derive(Clone, Debug, Default)]
struct Throughput {
    smoothed: u64,
    largest: u64,
    /// `largest` at the last cut.
    largest_before: u64,
    /// Segments since `since`.
    count: u64,
    since: u64,
}

/// Values that an undo restores.
#[derive(Clone, Copy, Debug)]
struct Before {
    last_congestion: u64,
    max_rtt: u64,
    largest: u64,
}

impl Hooks for Htcp {
    fn init(&mut self, flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        self.last_congestion = flow.jiffies();
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        match to {
            CaState::Open if self.before.is_some() => {
                self.last_congestion = flow.jiffies();
                self.before = None;
            }
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(Before {
                    last_congestion: self.last_congestion,
                    max_rtt: self.rtts.max,
                    largest: self.throughput.largest_before,
                });
                self.last_congestion = flow.jiffies();
            }
            _ => {}
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, window: &mut Window) {
        if flow.ca_state == CaState::Open {
            self.acked = sample.packets_acked.0;
        }
        if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtts.take(flow.jiffies_in(rtt), flow);
        }
        if self.tuning.bandwidth_switch {
            self.measure_throughput(sample, flow, window.cwnd);
        }
    }
}

impl WindowControl for Htcp {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        let earned = (u64::from(window.cwnd_cnt) * self.alpha) >> SHIFT;
        if earned >= u64::from(window.cwnd.0) {
            window.cwnd = Segs(window.cwnd.0.saturating_add(1)).min(window.cwnd_clamp);
            window.cwnd_cnt = 0;
            self.update_alpha(flow);
        } else {
            window.cwnd_cnt = window.cwnd_cnt.saturating_add(self.acked);
        }
        self.acked = 1;
    }

    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.update_beta(flow);
        self.update_alpha(flow);
        self.rtts.decay_max();
        let kept = (u64::from(window.cwnd.0) * self.beta) >> SHIFT;
        Segs(kept.max(MIN_SSTHRESH) as u32)
    }

    fn undo_cwnd(&mut self, _flow: &Flow, window: &Window) -> Segs {
        if let Some(before) = self.before.take() {
            self.last_congestion = before.last_congestion;
            self.rtts.max = before.max_rtt;
            self.throughput.largest_before = before.largest;
        }
        window.cwnd.max(window.prior_cwnd)
    }
}

impl Rtts {
    fn take(&mut self, rtt: u64, flow: &Flow) {
        let min = self.min.map_or(rtt, |min| min.min(rtt));
        self.min = Some(min);
        if flow.ca_state == CaState::Open {
            self.max = self.max.max(min);
            if rtt <= self.max + flow.jiffies_in(MAX_RTT_STEP) {
                self.max = self.max.max(rtt);
            }
        }
    }

    /// Lowers the maximum RTT a little, since the route may change.
    fn decay_max(&mut self) {
        if let Some(min) = self.min.filter(|&min| self.max > min) {
            self.max = min + (self.max - min) * 95 / 100;
        }
    }
}

impl Htcp {
    fn new(tuning: Tuning) -> Self {
        Htcp {
            tuning,
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            last_congestion: 0,
            rtts: Rtts::default(),
            throughput: Throughput::default(),
            before: None,
        }
    }

    fn measure_throughput(&mut self, sample: &AckSample, flow: &Flow, cwnd: Segs) {
        let now = flow.jiffies();
        let throughput = &mut self.throughput;
        if !matches!(flow.ca_state, CaState::Open | CaState::Disorder) {
            (throughput.count, throughput.since) = (0, now);
            return;
        }
        throughput.count += u64::from(sample.packets_acked.0);
        let window = u64::from(cwnd.0).saturating_sub((self.alpha >> SHIFT).max(1));
        let elapsed = now - throughput.since;
        let Some(min) = self.rtts.min.filter(|&min| min > 0 && elapsed >= min) else { return };
        if throughput.count < window {
            return;
        }
        let rate = throughput.count * flow.hz() / elapsed;
        if (now - self.last_congestion) / min <= FRESH_ROUNDS {
            (throughput.smoothed, throughput.largest) = (rate, rate);
        } else {
            throughput.smoothed = (3 * throughput.smoothed + rate) / 4;
            throughput.largest = throughput.largest.max(throughput.smoothed);
        }
        (throughput.count, throughput.since) = (0, now);
    }

    fn update_beta(&mut self, flow: &Flow) {
        let (largest, before) = (self.throughput.largest, self.throughput.largest_before);
        self.throughput.largest_before = largest;
        if self.tuning.bandwidth_switch && !(4 * before..=6 * before).contains(&(5 * largest)) {
            (self.beta, self.adapts) = (BETA_MIN, false);
            return;
        }
        let short = flow.jiffies_in(SHORT_RTT);
        match self.rtts.min.filter(|&min| self.adapts && min > short && self.rtts.max > 0) {
            Some(min) => self.beta = ((min << SHIFT) / self.rtts.max).clamp(BETA_MIN, BETA_MAX),
            None => (self.beta, self.adapts) = (BETA_MIN, true),
        }
    }

    fn update_alpha(&mut self, flow: &Flow) {
        let hz = flow.hz();
        let mut factor = 1;
        let past = (flow.jiffies() - self.last_congestion).min(1 << 31);
        if past > hz {
            let past = past - hz;
            factor = 1 + (10 * past + (past / 2) * (past / 2) / hz) / hz;
        }
        if let Some(min) = self.rtts.min.filter(|&min| self.tuning.rtt_scaling && min > 0) {
            // The ratio in eighths.
            let scale = ((hz << 3) / (10 * min)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = match 2 * factor * ((1 << SHIFT) - self.beta) {
            0 => ALPHA_BASE,
            // As in the kernel α has 32 bits, which two hours without a loss exhaust.
            alpha => alpha.min(u64::from(u32::MAX)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_acks::Acks;

    const RTT: Span = Span::from_millis(100);

    fn htcp() -> Htcp {
        Htcp::new(Tuning { rtt_scaling: true, bandwidth_switch: true })
    }

    #[test]
    fn growth_rises_with_the_time_since_the_last_congestion() {
        let mut acks = Acks::in_avoidance(100, htcp());
        acks.ack(1, RTT);
        let mut alpha = |after: Span| {
            let flow = Flow { now: acks.flow.now + after, ..acks.flow.clone() };
            acks.control.update_alpha(&flow);
            acks.control.alpha as f64 / 128.0
        };
        assert_eq!(alpha(Span::from_millis(500)), 1.0);
        assert_eq!(alpha(Span::from_secs(2)), 11.0, "11.25 in whole numbers");
        assert_eq!(alpha(Span::from_secs(5)), 45.0);
    }

    #[test]
    fn a_short_round_trip_grows_no_slower_than_reno() {
        let mut acks = Acks::in_avoidance(100, htcp());
        let gained: Vec<u32> = acks.rounds(3, Span::from_millis(1));
        assert!(gained[2] - 100 <= 3 && gained[2] > 100, "{gained:?}");
    }

    #[test]
    fn the_first_cut_halves_and_a_later_one_leaves_the_queue_empty() {
        let mut acks = Acks::in_avoidance(100, htcp());
        let mut cuts = Vec::new();
        for _ in 0..4 {
            for rtt_ms in [100, 110, 120, 130] {
                for _ in 0..3 {
                    acks.window.cwnd = Segs(100);
                    acks.round(Span::from_millis(rtt_ms));
                }
            }
            acks.window.cwnd = Segs(100);
            acks.lose();
            cuts.push(acks.cwnd());
        }
        assert_eq!(cuts[0], 50);
        // 100/130 of the window, and RTT_max has faded a little in between.
        assert!((76..=79).contains(&cuts[3]), "{cuts:?}");
    }

    #[test]
    fn a_sudden_change_of_throughput_halves_the_window() {
        let mut acks = Acks::in_avoidance(100, htcp());
        acks.control.adapts = true;
        acks.control.rtts = Rtts { min: Some(100), max: 125 };
        (acks.control.throughput.largest, acks.control.throughput.largest_before) = (1_000, 1_000);
        acks.lose();
        assert_eq!(acks.cwnd(), 79, "102/128");
        acks.control.throughput.largest = 1_300;
        acks.window.cwnd = Segs(100);
        acks.lose();
        assert_eq!(acks.cwnd(), 50);
    }

    #[test]
    fn undoing_a_cut_restores_the_time_since_the_last_congestion() {
        let mut acks = Acks::in_avoidance(100, htcp());
        let before = acks.control.last_congestion;
        acks.wait(Span::from_secs(3));
        acks.window.prior_cwnd = acks.window.cwnd;
        acks.window.cwnd = acks.control.ssthresh(&acks.flow, &acks.window);
        acks.enter(CaState::Recovery);
        assert_eq!(acks.control.last_congestion, before + 3_000);
        assert_eq!(acks.control.undo_cwnd(&acks.flow, &acks.window), Segs(100));
        assert_eq!(acks.control.last_congestion, before);
    }
}
