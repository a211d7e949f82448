//! Vegas: keeps two to four segments of the flow in the bottleneck's queue, as estimated from the RTT.
//!
//! once per round trip, with rtt = its minimum RTT and base = the minimum RTT so far:
//!   diff = cwnd·(rtt − base)/base                     segments in the queue
//!   slow start, diff > γ:   cwnd = min(cwnd, cwnd·base/rtt + 1), ssthresh = min(ssthresh, cwnd)
//!   avoidance:              diff > β: cwnd −= 1, ssthresh = min(ssthresh, cwnd);  diff < α: cwnd += 1
//!   then cwnd ≥ 2, ssthresh ≥ ¾ cwnd
//! α, β, γ = 2, 4, 1. Between these updates cwnd grows only in slow start. Outside state Open, and after a round with
//! at most two RTT samples, it behaves like Reno. base is reset when a transmission starts with nothing in flight.
//!
//! Sources: [vegas, Brakmo and Peterson 1995], [linux-6.12 tcp_vegas.c tcp_vegas_cong_avoid].
//!
//! Deviations: none known. As in Linux cwnd also changes when it does not limit the flow.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::packets;
use crate::{
    AckSample, CaState, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno,
};

/// Stands for an RTT that was not measured, in µs. [linux-6.12 tcp_vegas.c vegas_enable]
const NO_RTT_US: u64 = 0x7fff_ffff;
/// A round with at most this many RTT samples is not evaluated. [linux-6.12 tcp_vegas.c tcp_vegas_cong_avoid]
const FEW_SAMPLES: u64 = 2;
/// Smallest window, in segments.
const MIN_CWND: Segs = Segs(2);

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_vegas.c module_param]
const PARAMETERS: &[Parameter] = &[
    packets("alpha", 2, 0, "grow with fewer segments than this in the queue"),
    packets("beta", 4, 0, "shrink with more segments than this in the queue"),
    packets("gamma", 1, 0, "leave slow start with more segments than this in the queue"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "vegas",
    summary: "keeps two to four segments of the flow in the queue, by the RTT",
    source: include_str!("vegas.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    let queue = Queue { alpha: get("alpha")?, beta: get("beta")?, gamma: get("gamma")? };
    Ok(Prototype::window(Vegas { queue, rtts: RoundTrips::default() }))
}

/// Thresholds of the number of segments in the queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    alpha: u64,
    beta: u64,
    gamma: u64,
}

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    queue: Queue,
    rtts: RoundTrips,
}

/// RTTs in µs, per round trip; shared with YeAH.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips {
    /// Minimum so far.
    pub(crate) base: u64,
    /// Minimum of this round.
    pub(crate) min: u64,
    samples: u64,
    ends_after: u64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        RoundTrips { base: NO_RTT_US, min: NO_RTT_US, samples: 0, ends_after: 0 }
    }
}

impl RoundTrips {
    /// Resets all measurements.
    pub(crate) fn restart(&mut self, flow: &Flow) {
        self.base = NO_RTT_US;
        self.begin(flow);
    }

    /// Begins a round.
    pub(crate) fn begin(&mut self, flow: &Flow) {
        *self = RoundTrips { base: self.base, ends_after: flow.snd_nxt, ..RoundTrips::default() };
    }

    /// Resets the measurements when a transmission starts with nothing in flight, or after idle.
    pub(crate) fn event(&mut self, event: CwndEvent, flow: &Flow) {
        if matches!(event, CwndEvent::TxStart | CwndEvent::CwndRestart) {
            self.restart(flow);
        }
    }

    pub(crate) fn take(&mut self, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        // Never zero. [linux-6.12 tcp_vegas.c tcp_vegas_pkts_acked]
        let rtt = rtt.as_micros() + 1;
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples += 1;
    }

    pub(crate) fn is_over(&self, flow: &Flow) -> bool {
        flow.snd_una > self.ends_after
    }

    pub(crate) fn has_enough_samples(&self) -> bool {
        self.samples > FEW_SAMPLES
    }
}

impl Hooks for Vegas {
    fn init(&mut self, flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        self.rtts.restart(flow);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Open {
            self.rtts.begin(flow);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, _window: &mut Window) {
        self.rtts.event(event, flow);
    }

    fn pkts_acked(&mut self, sample: &AckSample, _flow: &Flow, _window: &mut Window) {
        self.rtts.take(sample);
    }
}

impl WindowControl for Vegas {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if flow.ca_state != CaState::Open {
            reno::cong_avoid(acked, flow, window);
        } else if self.rtts.is_over(flow) {
            if self.rtts.has_enough_samples() {
                self.adjust(acked, window);
            } else {
                reno::cong_avoid(acked, flow, window);
            }
            self.rtts.begin(flow);
        } else if window.in_slow_start() {
            window.slow_start(acked);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        reno::ssthresh(window)
    }
}

impl Vegas {
    fn adjust(&self, acked: Segs, window: &mut Window) {
        let (cwnd, rtt, base) = (u64::from(window.cwnd.0), self.rtts.min, self.rtts.base);
        let diff = cwnd * (rtt - base) / base;
        if window.in_slow_start() {
            if diff > self.queue.gamma {
                let target = Segs((cwnd * base / rtt) as u32 + 1);
                window.cwnd = window.cwnd.min(target);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(acked);
            }
        } else if diff > self.queue.beta {
            window.cwnd = window.cwnd.saturating_sub(Segs::ONE);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < self.queue.alpha {
            window.cwnd += Segs::ONE;
        }
        window.cwnd = window.cwnd.max(MIN_CWND).min(window.cwnd_clamp);
        let cwnd = window.cwnd.0;
        window.ssthresh = window.ssthresh.max(Segs((cwnd >> 1) + (cwnd >> 2)));
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const BASE_US: u64 = 50_000;

    fn vegas() -> Vegas {
        Vegas { queue: Queue { alpha: 2, beta: 4, gamma: 1 }, rtts: RoundTrips::default() }
    }

    /// The RTT of a path that holds 100 segments, with `cwnd` in flight.
    fn rtt(cwnd: u32) -> Span {
        Span::from_micros(BASE_US * u64::from(cwnd.max(100)) / 100)
    }

    #[test]
    fn the_queue_settles_between_two_and_four_segments_and_changes_by_one_per_round_trip() {
        for start in [90, 120] {
            let mut acks = Acks::in_avoidance(start, vegas());
            acks.ack(1, rtt(1));
            let mut before = acks.cwnd();
            for _ in 0..40 {
                acks.round(rtt(acks.cwnd()));
                assert!(acks.cwnd().abs_diff(before) <= 1);
                before = acks.cwnd();
            }
            assert!((102..=105).contains(&before), "from {start}: {before}");
        }
    }

    #[test]
    fn slow_start_ends_at_the_rate_of_the_path_when_more_than_one_segment_waits() {
        let mut acks = Acks::after_handshake(10, rtt(1), vegas());
        while acks.window.ssthresh == Segs::INFINITE {
            acks.round(rtt(acks.cwnd()));
        }
        assert_eq!(acks.window.ssthresh, acks.window.cwnd);
        // The RTT has doubled while the window quadrupled: twice the BDP, plus one segment.
        assert_eq!(acks.cwnd(), 2 * 100 + 1);
    }

    #[test]
    fn after_a_round_of_two_samples_it_behaves_like_reno() {
        let mut acks = Acks { per_ack: 5, ..Acks::in_avoidance(10, vegas()) };
        let cwnd = acks.rounds(4, rtt(1));
        assert_eq!(cwnd, [10, 11, 11, 12], "only the second of two ACKs, of five segments each, counts");
    }

    #[test]
    fn a_transmission_with_nothing_in_flight_resets_the_base() {
        let mut acks = Acks::in_avoidance(50, vegas());
        acks.ack(1, rtt(1));
        acks.control.cwnd_event(CwndEvent::TxStart, &acks.flow, &mut acks.window);
        assert_eq!(acks.control.rtts.base, NO_RTT_US);
    }

    #[test]
    fn outside_open_it_behaves_like_reno() {
        let mut acks = Acks::in_avoidance(10, vegas());
        acks.enter(CaState::Disorder);
        assert_eq!(acks.rounds(2, rtt(1_000)), [11, 12]);
    }
}
