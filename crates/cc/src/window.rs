//! The values that a control may change, and the two ways of growth that nearly all controls share.

use tailback_units::{ParameterError, Parameters, Rate, Segs};

use crate::CaState;
use crate::module_param::STRETCH_ACKS;

/// The values that a control may change.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: Segs,
    /// Slow-start threshold; [`Segs::INFINITE`] before any loss.
    pub ssthresh: Segs,
    /// Acknowledged segments not yet turned into window growth (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// cwnd before the last reduction.
    pub prior_cwnd: Segs,
    /// Maximum cwnd.
    pub cwnd_clamp: Segs,
    /// Pacing rate. A window control does not set it; the sender derives it from cwnd and srtt.
    pub pacing_rate: Rate,
    /// Set by a control to mark the data in flight as limited by the application (BBR's PROBE_RTT).
    pub mark_app_limited: bool,
    /// Set by a control to enter CWR without a loss (`tcp_enter_cwr`; CDG's backoff).
    pub enter_cwr: bool,
}

impl Window {
    /// The window of a new connection: ssthresh and clamp infinite, no pacing.
    pub fn initial(cwnd: Segs) -> Self {
        Window {
            cwnd,
            ssthresh: Segs::INFINITE,
            cwnd_cnt: 0,
            prior_cwnd: Segs::ZERO,
            cwnd_clamp: Segs(u32::MAX),
            pacing_rate: Rate::UNLIMITED,
            mark_app_limited: false,
            enter_cwr: false,
        }
    }

    /// cwnd is below ssthresh. [linux-6.12 tcp_in_slow_start]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Three quarters of cwnd, or ssthresh if higher; ssthresh while cwnd is reduced: slow start may return to this value.
    /// [linux-6.12 tcp.h tcp_current_ssthresh]
    pub fn current_ssthresh(&self, state: CaState) -> Segs {
        if state.reduces_cwnd() {
            return self.ssthresh;
        }
        let cwnd = self.cwnd.0;
        self.ssthresh.max(Segs((cwnd >> 1) + (cwnd >> 2)))
    }

    /// Grows cwnd by `acked`, up to ssthresh, and returns the rest; to be called in slow start.
    /// [linux-6.12 tcp_slow_start]
    pub fn slow_start(&mut self, acked: Segs) -> Segs {
        let cwnd = Segs(self.cwnd.0.saturating_add(acked.0).min(self.ssthresh.0));
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Additive increase: one segment for each `per` acknowledged. [linux-6.12 tcp_cong_avoid_ai]
    pub fn cong_avoid_ai(&mut self, per: u32, acked: Segs) {
        if self.cwnd_cnt >= per {
            self.cwnd_cnt = 0;
            self.cwnd += Segs::ONE;
        }
        self.cwnd_cnt += acked.0;
        if self.cwnd_cnt >= per {
            let grown = self.cwnd_cnt / per;
            self.cwnd_cnt -= grown * per;
            self.cwnd += Segs(grown);
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

/// What additive increase counts, in BIC, Scalable TCP, Veno and YeAH.
/// [linux-5.7 tcp_bic.c, tcp_scalable.c, tcp_veno.c, tcp_yeah.c: stretch ACKs]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// The segments that an ACK acknowledges.
    Segments,
    /// The ACK, however many segments it acknowledges.
    Acks,
}

impl Counted {
    /// As the parameter `stretch_acks` says.
    ///
    /// # Errors
    /// The value of `stretch_acks` is out of range.
    pub(crate) fn of(given: &Parameters) -> Result<Self, ParameterError> {
        Ok([Counted::Acks, Counted::Segments][given.get(STRETCH_ACKS.name, &[STRETCH_ACKS])? as usize])
    }

    /// Lets slow start grow `window`, and returns how much of the ACK counts for additive increase.
    pub(crate) fn after_slow_start(self, acked: Segs, window: &mut Window) -> Segs {
        match (self, window.in_slow_start()) {
            (Counted::Segments, true) => window.slow_start(acked),
            (Counted::Segments, false) => acked,
            (Counted::Acks, true) => {
                window.slow_start(acked);
                Segs::ZERO
            }
            (Counted::Acks, false) => Segs::ONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_for_several_segments_counts_as_all_of_them_or_as_one() {
        let left = |counted: Counted, ssthresh| {
            let mut window = Window { ssthresh: Segs(ssthresh), ..Window::initial(Segs(10)) };
            (counted.after_slow_start(Segs(5), &mut window), window.cwnd)
        };
        assert_eq!(
            [10, 12].map(|at| left(Counted::Segments, at)),
            [(Segs(5), Segs(10)), (Segs(3), Segs(12))]
        );
        assert_eq!([10, 12].map(|at| left(Counted::Acks, at)), [(Segs(1), Segs(10)), (Segs(0), Segs(12))]);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut window = Window { ssthresh: Segs(12), ..Window::initial(Segs(10)) };
        assert_eq!(window.slow_start(Segs(5)), Segs(3));
        assert_eq!(window.cwnd, Segs(12));
    }

    #[test]
    fn additive_increase_keeps_the_acknowledgements_that_did_not_make_a_segment() {
        let mut window = Window::initial(Segs(10));
        window.cong_avoid_ai(10, Segs(7));
        assert_eq!((window.cwnd, window.cwnd_cnt), (Segs(10), 7));
        window.cong_avoid_ai(10, Segs(7));
        assert_eq!((window.cwnd, window.cwnd_cnt), (Segs(11), 4));
    }

    #[test]
    fn acknowledgements_left_over_from_slower_growth_add_one_segment_when_growth_quickens() {
        let mut window = Window { cwnd_cnt: 90, ..Window::initial(Segs(10)) };
        window.cong_avoid_ai(10, Segs(1));
        assert_eq!((window.cwnd, window.cwnd_cnt), (Segs(11), 1), "the other eighty are lost");
    }

    #[test]
    fn neither_way_of_growing_passes_the_clamp() {
        let mut window = Window { cwnd_clamp: Segs(11), ..Window::initial(Segs(10)) };
        window.slow_start(Segs(10));
        assert_eq!(window.cwnd, Segs(11));
        window.cong_avoid_ai(1, Segs(10));
        assert_eq!(window.cwnd, Segs(11));
    }
}
