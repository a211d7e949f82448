//! Veno: Reno that distinguishes random losses from congestion by Vegas' estimate of the queue.
//!
//! N = cwnd·(1 − base/rtt): segments in the queue; rtt = minimum RTT since the last ACK that could grow cwnd
//! growth: N < 3: one segment per window (Reno), else one per two windows
//! cut:    N < 3: ssthresh = 4/5·cwnd (a random loss), else cwnd/2
//!
//! N is in halves of a segment. Outside state Open, and with fewer than three RTT samples, it behaves like Reno. base
//! is reset when a transmission starts with nothing in flight.
//! Sources: [veno, Fu and Liew 2003], [linux-6.12 tcp_veno.c].
//!
//! Before Linux 5.7 an ACK counts as one segment, however many it acknowledges (`stretch_acks 0`).
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{ParameterError, Parameters, Segs};

use crate::module_param::STRETCH_ACKS;
use crate::{
    AckSample, CaState, Counted, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno,
};

/// Stands for an RTT that was not measured, in µs. [linux-6.12 tcp_veno.c veno_enable]
const NO_RTT_US: u64 = 0x7fff_ffff;
/// Length of the queue that indicates congestion: 3 segments, in halves. [linux-6.12 tcp_veno.c beta]
const CONGESTED: u64 = 3 << 1;
/// With at most this many RTT samples the queue is not estimated. [linux-6.12 tcp_veno.c tcp_veno_cong_avoid]
const FEW_SAMPLES: u64 = 2;
/// Smallest window and threshold, in segments.
const MIN_CWND: u32 = 2;

/// The registry row.
pub const ROW: Row = Row {
    name: "veno",
    summary: "Reno that distinguishes random loss from congestion by the RTT",
    source: include_str!("veno.rs"),
    parameters: &[STRETCH_ACKS],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Veno::new(Counted::of(given)?)))
}

/// State of Veno; RTTs in µs.
#[derive(Clone, Debug)]
pub struct Veno {
    counted: Counted,
    base: u64,
    min: u64,
    samples: u64,
    /// Segments in the queue, in halves.
    queue: u64,
    /// In congestion, cwnd grows after every second window of ACKs: after the present one.
    is_second_window: bool,
}

impl Veno {
    fn new(counted: Counted) -> Self {
        // As in the kernel the estimate starts at 0, so a loss before the first measurement counts as random.
        Veno { counted, base: NO_RTT_US, min: NO_RTT_US, samples: 0, queue: 0, is_second_window: true }
    }
}

impl Hooks for Veno {
    fn init(&mut self, _flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        *self = Veno::new(self.counted);
    }

    fn set_state(&mut self, to: CaState, _flow: &Flow, _window: &mut Window) {
        if to == CaState::Open {
            self.min = NO_RTT_US;
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, _flow: &Flow, _window: &mut Window) {
        if matches!(event, CwndEvent::TxStart | CwndEvent::CwndRestart) {
            *self = Veno { samples: self.samples, queue: self.queue, ..Veno::new(self.counted) };
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, _flow: &Flow, _window: &mut Window) {
        let Some(rtt) = sample.rtt else { return };
        // Never zero. [linux-6.12 tcp_veno.c tcp_veno_pkts_acked]
        let rtt = rtt.as_micros() + 1;
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples += 1;
    }
}

impl WindowControl for Veno {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if flow.ca_state != CaState::Open {
            reno::cong_avoid(acked, flow, window);
            return;
        }
        if !flow.cwnd_limited {
            return;
        }
        if self.samples <= FEW_SAMPLES {
            reno::cong_avoid(acked, flow, window);
        } else {
            self.measure(window);
            self.grow(acked, window);
            window.cwnd = window.cwnd.max(Segs(MIN_CWND)).min(window.cwnd_clamp);
        }
        self.min = NO_RTT_US;
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = u64::from(window.cwnd.0);
        let kept = if self.queue < CONGESTED { cwnd * 4 / 5 } else { cwnd / 2 };
        Segs((kept as u32).max(MIN_CWND))
    }
}

impl Veno {
    fn measure(&mut self, window: &Window) {
        let halves = u64::from(window.cwnd.0) << 1;
        self.queue = halves - (halves * self.base / self.min).min(halves);
    }

    fn grow(&mut self, acked: Segs, window: &mut Window) {
        let left = self.counted.after_slow_start(acked, window);
        if left == Segs::ZERO {
            return;
        }
        if self.queue < CONGESTED {
            window.cong_avoid_ai(window.cwnd.0, left);
        } else if window.cwnd_cnt >= window.cwnd.0 {
            if self.is_second_window && window.cwnd < window.cwnd_clamp {
                window.cwnd += Segs::ONE;
                self.is_second_window = false;
            } else {
                self.is_second_window = true;
            }
            window.cwnd_cnt = 0;
        } else {
            window.cwnd_cnt = window.cwnd_cnt.saturating_add(left.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const BASE: Span = Span::from_millis(100);
    /// A tenth of the RTT is queue.
    const QUEUED: Span = Span::from_micros(111_111);

    fn seasoned(cwnd: u32) -> Acks<Veno> {
        let mut acks = Acks::in_avoidance(cwnd, Veno::new(Counted::Segments));
        (0..3).for_each(|_| acks.ack(1, BASE));
        acks.window.cwnd_cnt = 0;
        acks
    }

    #[test]
    fn without_a_queue_it_grows_like_reno_and_a_loss_counts_as_random() {
        let mut acks = seasoned(100);
        assert_eq!(acks.rounds(2, BASE), [101, 102]);
        acks.lose();
        assert_eq!(acks.cwnd(), 102 * 4 / 5);
    }

    #[test]
    fn with_a_queue_it_grows_every_other_round_trip_and_a_loss_halves_the_window() {
        let mut acks = seasoned(100);
        let grown = acks.rounds(8, QUEUED)[7] - 100;
        assert!((3..=4).contains(&grown), "{grown}");
        let cwnd = acks.cwnd();
        acks.lose();
        assert_eq!(acks.cwnd(), cwnd / 2);
    }

    #[test]
    fn before_5_7_an_ack_for_four_segments_counts_as_one() {
        let grown = |counted| {
            let mut acks = seasoned(100);
            (acks.per_ack, acks.control.counted) = (4, counted);
            acks.rounds(8, BASE)[7] - 100
        };
        assert_eq!([Counted::Segments, Counted::Acks].map(grown), [8, 2]);
    }

    #[test]
    fn fewer_than_three_segments_in_the_queue_do_not_count_as_congestion() {
        let mut acks = seasoned(100);
        acks.ack(1, Span::from_micros(102_500));
        assert!(acks.control.queue < CONGESTED, "{}", acks.control.queue);
        acks.ack(1, Span::from_micros(103_300));
        assert!(acks.control.queue >= CONGESTED, "{}", acks.control.queue);
    }

    #[test]
    fn a_transmission_with_nothing_in_flight_resets_the_base() {
        let mut acks = seasoned(100);
        acks.control.cwnd_event(CwndEvent::TxStart, &acks.flow, &mut acks.window);
        assert_eq!(acks.control.base, NO_RTT_US);
    }
}
