//! Scalable TCP: the window grows and shrinks in proportion to itself, so that recovery takes the same number of round
//! trips at any rate.
//!
//! growth: one segment per min(cwnd, 100) acknowledged: Reno below 100 segments, 1 % per round trip above
//! cut:    ssthresh = max(cwnd − cwnd/8, 2)
//!
//! Sources: [scalable, Kelly 2003], [linux-6.12 tcp_scalable.c tcp_scalable_cong_avoid, tcp_scalable_ssthresh].
//!
//! Before Linux 5.7 an ACK counts as one segment however many it acknowledges, and growth is one per min(cwnd, 50)
//! (`stretch_acks 0`).
//!
//! Deviations: none known.

use tailback_units::{ParameterError, Parameters, Segs};

use crate::module_param::STRETCH_ACKS;
use crate::{Counted, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Acknowledgements per segment of growth at most: 1/a with a = 0.01. [linux-6.12 tcp_scalable.c TCP_SCALABLE_AI_CNT]
pub(crate) const MAX_CNT: u32 = 100;
/// Acknowledgements per segment of growth at most where an ACK counts as one segment: half of [`MAX_CNT`], on account
/// of delayed ACKs. [linux-5.4 tcp_scalable.c TCP_SCALABLE_AI_CNT]
const MAX_CNT_OF_ACKS: u32 = 50;
/// The cut is 2⁻³ of the window. [linux-6.12 tcp_scalable.c TCP_SCALABLE_MD_SCALE]
const CUT_SHIFT: u32 = 3;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u32 = 2;

/// The registry row.
pub const ROW: Row = Row {
    name: "scalable",
    summary: "grows by 1 % of the window per round trip, is cut by an eighth on loss",
    source: include_str!("scalable.rs"),
    parameters: &[STRETCH_ACKS],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Scalable { counted: Counted::of(given)? }))
}

/// Scalable TCP has no state of its own.
#[derive(Clone, Copy, Debug)]
pub struct Scalable {
    counted: Counted,
}

impl Hooks for Scalable {}

impl WindowControl for Scalable {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        let left = self.counted.after_slow_start(acked, window);
        if left > Segs::ZERO {
            let max = match self.counted {
                Counted::Segments => MAX_CNT,
                Counted::Acks => MAX_CNT_OF_ACKS,
            };
            window.cong_avoid_ai(window.cwnd.0.min(max), left);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = window.cwnd.0;
        Segs((cwnd - (cwnd >> CUT_SHIFT)).max(MIN_SSTHRESH))
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const SCALABLE: Scalable = Scalable { counted: Counted::Segments };

    #[test]
    fn before_5_7_an_ack_for_four_segments_counts_as_one_of_half_as_many() {
        let mut acks = Acks { per_ack: 4, ..Acks::in_avoidance(400, Scalable { counted: Counted::Acks }) };
        assert_eq!(acks.rounds(2, Span::from_millis(100)), [402, 404]);
        let mut acks = Acks { per_ack: 4, ..Acks::in_avoidance(400, SCALABLE) };
        assert_eq!(acks.rounds(2, Span::from_millis(100)), [404, 408]);
    }

    #[test]
    fn a_loss_at_400_leaves_350_and_each_round_trip_adds_one_percent() {
        let mut acks = Acks::in_avoidance(400, SCALABLE);
        assert_eq!(acks.rounds(2, Span::from_millis(100)), [404, 408]);
        acks.window.cwnd = Segs(400);
        acks.lose();
        assert_eq!(acks.cwnd(), 350);
    }

    #[test]
    fn small_windows_grow_like_reno() {
        let mut acks = Acks::in_avoidance(50, SCALABLE);
        assert_eq!(acks.rounds(3, Span::from_millis(100)), [51, 52, 53]);
    }

    #[test]
    fn two_segments_remain_after_any_loss() {
        let cut = |cwnd| {
            Acks::in_avoidance(cwnd, SCALABLE)
                .control
                .ssthresh(&Flow::established(1448, Span::from_millis(1)), &Window::initial(Segs(cwnd)))
        };
        assert_eq!([1, 2, 8].map(cut), [2, 2, 7].map(Segs));
    }
}
