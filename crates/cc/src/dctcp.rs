//! DCTCP: reduces cwnd in proportion to the fraction of ECN-marked segments.
//!
//! once per round trip:  α = 15/16·α + 1/16·(marked / delivered)
//! cut on marks:         ssthresh = max(cwnd·(1 − α/2), 2)
//! cut on loss:          ssthresh = max(cwnd/2, 2)
//! growth:               Reno's
//!
//! The receiver echoes each mark: an ACK covers either marked or unmarked segments, never both. All packets are
//! ECN-capable. α is in 1/1024 and starts at 1. Without ECN on both sides it behaves like Reno.
//! Sources: [rfc8257], [linux-6.12 tcp_dctcp.c].
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::number;
use crate::{AckPath, CaState, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno};

/// α if all segments are marked. [linux-6.12 tcp_dctcp.c DCTCP_MAX_ALPHA]
const MAX_ALPHA: u64 = 1024;
/// Fraction bits of α.
const ALPHA_BITS: u32 = 10;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_dctcp.c module_param]
const PARAMETERS: &[Parameter] = &[
    number("dctcp_shift_g", 4, 0, 10, "weight of a round trip in α, as a negative power of 2"),
    number("dctcp_alpha_on_init", 1_024, 0, MAX_ALPHA, "initial α, in 1/1024"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "dctcp",
    summary: "cuts the window in proportion to the marked segments; needs ECN (Data Center TCP)",
    source: include_str!("dctcp.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::Classic,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let shift = given.get("dctcp_shift_g", PARAMETERS)? as u32;
    let alpha = given.get("dctcp_alpha_on_init", PARAMETERS)?;
    Ok(Prototype::window(Dctcp::new(shift, alpha)))
}

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    shift: u32,
    /// In 1/1024.
    alpha: u64,
    round_end: u64,
    delivered: u64,
    delivered_ce: u64,
    /// Window before the last cut.
    cwnd_before: Segs,
    /// ECN was negotiated.
    is_on: bool,
}

impl Hooks for Dctcp {
    fn init(&mut self, flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        self.is_on = flow.ecn_ok;
        self.begin_round(flow);
    }

    fn in_ack_event(&mut self, _path: AckPath, flow: &Flow, _window: &mut Window) {
        if self.is_on && flow.snd_una >= self.round_end {
            self.update_alpha(flow);
            self.begin_round(flow);
        }
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, window: &mut Window) {
        if self.is_on && to == CaState::Recovery && flow.ca_state != CaState::Recovery {
            self.react_to_loss(window);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, _flow: &Flow, window: &mut Window) {
        if self.is_on && event == CwndEvent::Loss {
            self.react_to_loss(window);
        }
    }

    fn gauges(&self, _flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        if self.is_on {
            show("dctcp_alpha", self.alpha as f64 / MAX_ALPHA as f64);
        }
    }
}

impl WindowControl for Dctcp {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        reno::cong_avoid(acked, flow, window);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        if !self.is_on {
            return reno::ssthresh(window);
        }
        self.cwnd_before = window.cwnd;
        let cwnd = u64::from(window.cwnd.0);
        Segs((cwnd - ((cwnd * self.alpha) >> (ALPHA_BITS + 1))).max(MIN_SSTHRESH) as u32)
    }

    fn undo_cwnd(&mut self, _flow: &Flow, window: &Window) -> Segs {
        window.cwnd.max(if self.is_on { self.cwnd_before } else { window.prior_cwnd })
    }
}

impl Dctcp {
    fn new(shift: u32, alpha: u64) -> Self {
        Dctcp {
            shift,
            alpha,
            round_end: 0,
            delivered: 0,
            delivered_ce: 0,
            cwnd_before: Segs::ZERO,
            is_on: false,
        }
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round_end = flow.snd_nxt;
        (self.delivered, self.delivered_ce) = (flow.delivered, flow.delivered_ce);
    }

    fn update_alpha(&mut self, flow: &Flow) {
        let (delivered, marked) = (flow.delivered - self.delivered, flow.delivered_ce - self.delivered_ce);
        // Once the decrement rounds to zero, α becomes 0.
        let share = self.alpha >> self.shift;
        self.alpha -= if share == 0 { self.alpha } else { share };
        let gained = (marked << (ALPHA_BITS - self.shift)) / delivered.max(1);
        self.alpha = (self.alpha + gained).min(MAX_ALPHA);
    }

    fn react_to_loss(&mut self, window: &mut Window) {
        // `ssthresh` has already computed a cut by α; a loss replaces it by half of the window.
        self.cwnd_before = window.cwnd;
        window.ssthresh = reno::ssthresh(window);
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const RTT: Span = Span::from_millis(1);

    fn with_ecn(cwnd: u32, alpha: u64) -> Acks<Dctcp> {
        let mut acks = Acks::in_avoidance(cwnd, Dctcp::new(4, alpha));
        acks.flow.ecn_ok = true;
        acks.control.init(&acks.flow, &mut acks.window, &mut crate::test_path::Zeros);
        acks
    }

    /// Round trips in which every `n`-th segment is marked; 0 = none.
    fn rounds(acks: &mut Acks<Dctcp>, count: usize, n: u64) {
        for _ in 0..count {
            for _ in 0..acks.cwnd() {
                let next = acks.flow.delivered + 1;
                acks.flow.delivered_ce += u64::from(n > 0 && next.is_multiple_of(n));
                acks.ack(1, RTT);
            }
        }
    }

    /// A cut as ECE brings it.
    fn cut(acks: &mut Acks<Dctcp>) -> u32 {
        acks.control.ssthresh(&acks.flow, &acks.window).0
    }

    #[test]
    fn without_marks_alpha_falls_by_a_sixteenth_per_round_trip_to_nothing() {
        let mut acks = with_ecn(10, 1024);
        rounds(&mut acks, 2, 0);
        assert!([1024 * 15 / 16, 900].contains(&acks.control.alpha), "{}", acks.control.alpha);
        rounds(&mut acks, 120, 0);
        assert_eq!(acks.control.alpha, 0);
    }

    #[test]
    fn if_all_segments_are_marked_alpha_is_one_and_a_cut_halves_the_window() {
        let mut acks = with_ecn(100, 0);
        rounds(&mut acks, 100, 1);
        assert!(acks.control.alpha >= 1_000, "{}", acks.control.alpha);
        acks.window.cwnd = Segs(100);
        assert!((50..=52).contains(&cut(&mut acks)));
    }

    #[test]
    fn a_tenth_of_the_segments_marked_cuts_a_twentieth_of_the_window() {
        let mut acks = with_ecn(100, 1024);
        rounds(&mut acks, 100, 10);
        acks.window.cwnd = Segs(1_000);
        let left = cut(&mut acks);
        assert!((940..=960).contains(&left), "{left}");
    }

    #[test]
    fn a_loss_halves_the_window_whatever_was_marked() {
        let mut acks = with_ecn(100, 0);
        acks.lose();
        assert_eq!(acks.cwnd(), 50);
        let mut acks = with_ecn(100, 0);
        acks.time_out();
        assert_eq!(acks.window.ssthresh, Segs(50));
    }

    #[test]
    fn without_ecn_it_behaves_like_reno() {
        let mut acks = Acks::in_avoidance(100, Dctcp::new(4, 0));
        assert_eq!(acks.rounds(2, RTT), [101, 102]);
        assert_eq!(cut(&mut acks), 51);
    }
}
