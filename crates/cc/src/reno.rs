//! Reno: cwnd grows by one segment per round trip and is halved on loss.
//!
//! slow start: cwnd grows by the acknowledged segments, up to ssthresh  [rfc5681 §3.1, rfc3465]
//! avoidance:  one segment per cwnd segments acknowledged               [linux-6.12 tcp_cong.c tcp_reno_cong_avoid]
//! cut:        ssthresh = max(cwnd / 2, 2)                              [linux-6.12 tcp_cong.c tcp_reno_ssthresh]
//!
//! Deviations: none known. Like Linux it counts segments, not bytes, and halves cwnd, not the data in flight.

use tailback_units::{ParameterError, Parameters, Segs};

use crate::{EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Smallest slow-start threshold, in segments. [rfc5681 §3.1 eq. 4]
const MIN_SSTHRESH: u32 = 2;

/// The registry row.
pub const ROW: Row = Row {
    name: "reno",
    summary: "adds one segment per round trip, halves the window on loss",
    source: include_str!("reno.rs"),
    parameters: &[],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(_: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Reno))
}

/// Reno has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Hooks for Reno {
    fn ignores_acks(&self) -> bool {
        true
    }
}

impl WindowControl for Reno {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        cong_avoid(acked, flow, window);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        ssthresh(window)
    }
}

/// Reno's growth, for the controls that fall back to it.
pub(crate) fn cong_avoid(acked: Segs, flow: &Flow, window: &mut Window) {
    if !flow.cwnd_limited {
        return;
    }
    let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
    if left > Segs::ZERO {
        window.cong_avoid_ai(window.cwnd.0, left);
    }
}

/// Reno's cut, for the controls that fall back to it.
pub(crate) fn ssthresh(window: &Window) -> Segs {
    Segs((window.cwnd.0 / 2).max(MIN_SSTHRESH))
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;

    fn limited() -> Flow {
        Flow { cwnd_limited: true, ..Flow::established(1448, Span::from_millis(1)) }
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip_also_with_delayed_acks() {
        for segments_per_ack in [1, 2, 4] {
            let mut window = Window::initial(Segs(20));
            for _ in 0..20 / segments_per_ack {
                Reno.cong_avoid(Segs(segments_per_ack), &limited(), &mut window);
            }
            assert_eq!(window.cwnd, Segs(40), "one ACK per {segments_per_ack} segments");
        }
    }

    #[test]
    fn avoidance_adds_one_segment_per_window_acknowledged() {
        let mut window = Window { ssthresh: Segs(10), ..Window::initial(Segs(10)) };
        let mut per_round_trip = Vec::new();
        for _ in 0..4 {
            for _ in 0..window.cwnd.0 {
                Reno.cong_avoid(Segs(1), &limited(), &mut window);
            }
            per_round_trip.push(window.cwnd.0);
        }
        assert_eq!(per_round_trip, [11, 12, 13, 14]);
    }

    #[test]
    fn acknowledged_segments_beyond_ssthresh_count_for_avoidance() {
        let mut window = Window { ssthresh: Segs(12), ..Window::initial(Segs(10)) };
        Reno.cong_avoid(Segs(14), &limited(), &mut window);
        assert_eq!((window.cwnd, window.cwnd_cnt), (Segs(13), 0));
    }

    #[test]
    fn a_flow_not_limited_by_its_window_does_not_grow() {
        let mut window = Window::initial(Segs(10));
        let flow = Flow { cwnd_limited: false, ..limited() };
        Reno.cong_avoid(Segs(10), &flow, &mut window);
        assert_eq!((window.cwnd, window.cwnd_cnt), (Segs(10), 0));
    }

    #[test]
    fn a_loss_halves_the_window_but_leaves_two_segments() {
        let cut = |cwnd| Reno.ssthresh(&limited(), &Window::initial(Segs(cwnd))).0;
        assert_eq!([10, 11, 4, 3, 1].map(cut), [5, 5, 2, 2, 2]);
    }

    #[test]
    fn an_undone_reduction_restores_the_window() {
        let window = Window { prior_cwnd: Segs(40), ..Window::initial(Segs(20)) };
        assert_eq!(Reno.undo_cwnd(&limited(), &window), Segs(40));
    }
}
