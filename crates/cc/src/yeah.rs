//! YeAH: Scalable TCP while the queue is short; Reno, with an early cut, when it is long.
//!
//! growth:  one segment per min(cwnd, 100) acknowledged in fast mode, per cwnd in slow mode
//! once per round trip of three RTTs or more: queue = cwnd·(rtt − base)/rtt
//!   queue > 80 or rtt − base > base/8:  slow mode; with queue > 80 and cwnd > reno_count
//!                                       cwnd −= min(queue, cwnd/2), not below reno_count; ssthresh = cwnd
//!                                       reno_count (window of a competing Reno flow) starts at cwnd/2, then += 1
//!   else:                               fast mode; after 50 such rounds reno_count is reset
//! cut:     ssthresh = cwnd − max(min(queue, cwnd/2), cwnd/8) after fewer than 16 rounds of slow mode, else cwnd/2
//!
//! RTTs are measured as in Vegas.
//! Sources: [yeah, Baiocchi, Castellani and Vacirca 2007], [linux-6.12 tcp_yeah.c].
//!
//! Before Linux 5.7 an ACK counts as one segment in slow mode, however many it acknowledges, and adds one segment at most
//! in fast mode (`stretch_acks 0`).
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{ParameterError, Parameters, Segs};

use crate::module_param::STRETCH_ACKS;
use crate::scalable::MAX_CNT;
use crate::vegas::RoundTrips;
use crate::{
    AckSample, CaState, Counted, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl,
};

/// Longest queue in segments. [linux-6.12 tcp_yeah.c TCP_YEAH_ALPHA]
const LONGEST_QUEUE: u64 = 80;
/// Largest queueing delay in fast mode, as a share of base: 1/8. [linux-6.12 tcp_yeah.c TCP_YEAH_PHY]
const DELAY_SHARE: u64 = 8;
/// Smallest cut: 2⁻³. [linux-6.12 tcp_yeah.c TCP_YEAH_DELTA]
const MIN_CUT_SHIFT: u32 = 3;
/// Rounds of slow mode after which a loss halves cwnd. [linux-6.12 tcp_yeah.c TCP_YEAH_RHO]
const LONG_IN_SLOW_MODE: u32 = 16;
/// Rounds of fast mode after which no Reno flow competes. [linux-6.12 tcp_yeah.c TCP_YEAH_ZETA]
const LONG_IN_FAST_MODE: u32 = 50;
/// Minimum of reno_count and of ssthresh, in segments.
const MIN_CWND: u32 = 2;
/// Largest window. [linux-6.12 tcp_yeah.c tcp_yeah_init]
const CLAMP: Segs = Segs(u32::MAX / 128);

/// The registry row.
pub const ROW: Row = Row {
    name: "yeah",
    summary: "Scalable TCP while the queue is short; Reno, with an early cut, when it is long",
    source: include_str!("yeah.rs"),
    parameters: &[STRETCH_ACKS],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Yeah::new(Counted::of(given)?)))
}

/// State of YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    counted: Counted,
    rtts: RoundTrips,
    /// Segments that the newest ACK in state Open acknowledged and fast mode has not counted, at least 1.
    acked: u32,
    /// Segments in the queue in the last round.
    queue: u64,
    /// Rounds in slow mode; 0 = fast mode.
    slow_rounds: u32,
    /// Rounds in fast mode.
    fast_rounds: u32,
    /// Estimated window of a competing Reno flow.
    reno_count: u32,
}

impl Yeah {
    fn new(counted: Counted) -> Self {
        let rtts = RoundTrips::default();
        Yeah { counted, rtts, acked: 0, queue: 0, slow_rounds: 0, fast_rounds: 0, reno_count: MIN_CWND }
    }
}

impl Hooks for Yeah {
    fn init(&mut self, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        self.rtts.restart(flow);
        window.cwnd_clamp = window.cwnd_clamp.min(CLAMP);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Open {
            self.rtts.begin(flow);
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, _window: &mut Window) {
        self.rtts.event(event, flow);
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, _window: &mut Window) {
        if flow.ca_state == CaState::Open {
            self.acked = sample.packets_acked.0;
        }
        self.rtts.take(sample);
    }
}

impl WindowControl for Yeah {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        let left = self.counted.after_slow_start(acked, window);
        if left > Segs::ZERO {
            self.grow(left, window);
        }
        if self.rtts.is_over(flow) {
            if self.rtts.has_enough_samples() {
                self.judge(window);
            }
            self.rtts.begin(flow);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = window.cwnd.0;
        let half = (cwnd >> 1).max(MIN_CWND);
        let cut = if self.slow_rounds < LONG_IN_SLOW_MODE {
            (self.queue.min(u64::from(half)) as u32).max(cwnd >> MIN_CUT_SHIFT)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count >> 1).max(MIN_CWND);
        Segs(cwnd.saturating_sub(cut).max(MIN_CWND))
    }
}

impl Yeah {
    fn grow(&mut self, left: Segs, window: &mut Window) {
        let slow = window.cwnd.0;
        match (self.slow_rounds, self.counted) {
            (0, Counted::Segments) => window.cong_avoid_ai(slow.min(MAX_CNT), left),
            (0, Counted::Acks) => self.grow_by_one_at_most(window),
            _ => window.cong_avoid_ai(slow, left),
        }
    }

    /// Fast mode before Linux 5.7. [linux-5.4 tcp_yeah.c tcp_yeah_cong_avoid]
    fn grow_by_one_at_most(&mut self, window: &mut Window) {
        window.cwnd_cnt = window.cwnd_cnt.saturating_add(self.acked);
        if window.cwnd_cnt > window.cwnd.0.min(MAX_CNT) {
            window.cwnd = (window.cwnd + Segs::ONE).min(window.cwnd_clamp);
            window.cwnd_cnt = 0;
        }
        self.acked = 1;
    }

    /// Selects the mode, and cuts cwnd early if the queue is long.
    fn judge(&mut self, window: &mut Window) {
        let (rtt, base) = (self.rtts.min, self.rtts.base);
        self.queue = u64::from(window.cwnd.0) * (rtt - base) / rtt;
        if self.queue > LONGEST_QUEUE || rtt - base > base / DELAY_SHARE {
            if self.queue > LONGEST_QUEUE && window.cwnd.0 > self.reno_count {
                self.reduce_queue(window);
            }
            self.reno_count = if self.reno_count <= MIN_CWND {
                (window.cwnd.0 >> 1).max(MIN_CWND)
            } else {
                self.reno_count + 1
            };
            self.slow_rounds += 1;
            return;
        }
        self.fast_rounds += 1;
        if self.fast_rounds > LONG_IN_FAST_MODE {
            (self.reno_count, self.fast_rounds) = (MIN_CWND, 0);
        }
        self.slow_rounds = 0;
    }

    fn reduce_queue(&self, window: &mut Window) {
        let cwnd = window.cwnd.0;
        let cut = self.queue.min(u64::from(cwnd >> 1)) as u32;
        window.cwnd = Segs((cwnd - cut).max(self.reno_count));
        window.ssthresh = window.cwnd;
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const BASE: Span = Span::from_millis(50);

    /// A flow that has measured the base RTT.
    fn seasoned(cwnd: u32) -> Acks<Yeah> {
        let mut acks = Acks::in_avoidance(cwnd, Yeah::new(Counted::Segments));
        acks.rounds(2, BASE);
        acks.window.cwnd = Segs(cwnd);
        acks
    }

    #[test]
    fn a_short_queue_grows_by_one_percent_per_round_trip() {
        let gained = seasoned(400).rounds(1, BASE)[0] - 400;
        assert!((4..=5).contains(&gained), "{gained}");
    }

    #[test]
    fn a_queue_of_more_than_eighty_segments_is_taken_out_of_the_window() {
        let mut acks = seasoned(400);
        // A third of the RTT is queue: 133 of 400 segments.
        acks.rounds(2, BASE + BASE / 2);
        assert!((400 - 140..=400 - 125).contains(&acks.cwnd()), "{}", acks.cwnd());
        assert!(acks.control.slow_rounds > 0);
        assert!(acks.control.reno_count >= acks.cwnd() / 2);
    }

    #[test]
    fn a_window_that_is_not_above_the_count_of_reno_is_not_cut() {
        let cut_at = |reno_count| {
            let mut yeah = Yeah::new(Counted::Segments);
            (yeah.rtts.min, yeah.rtts.base, yeah.reno_count) = (75_000, 50_000, reno_count);
            let mut window = Window::initial(Segs(400));
            yeah.judge(&mut window);
            (window.cwnd.0, window.ssthresh < Segs::INFINITE)
        };
        assert_eq!(cut_at(400), (400, false));
        assert_eq!(cut_at(399), (399, true));
    }

    #[test]
    fn a_queue_of_eighty_segments_is_not_cut_and_one_of_eighty_one_is() {
        let cwnd_after = |cwnd| {
            let mut yeah = Yeah::new(Counted::Segments);
            // A third of the RTT is queue.
            (yeah.rtts.min, yeah.rtts.base) = (75_000, 50_000);
            let mut window = Window::initial(Segs(cwnd));
            yeah.judge(&mut window);
            (yeah.queue, window.cwnd.0)
        };
        assert_eq!([240, 243].map(cwnd_after), [(80, 240), (81, 243 - 81)]);
    }

    #[test]
    fn before_5_7_an_ack_for_eight_segments_counts_as_one_in_slow_mode() {
        let grown = |counted| {
            let mut acks = seasoned(200);
            (acks.per_ack, acks.control.counted) = (8, counted);
            // Slow mode, with a queue that is not long enough to be cut.
            acks.rounds(2, BASE + BASE / 4);
            let cwnd = acks.cwnd();
            acks.rounds(8, BASE + BASE / 4)[7] - cwnd
        };
        assert_eq!([Counted::Segments, Counted::Acks].map(grown), [8, 1]);
    }

    #[test]
    fn before_5_7_an_ack_adds_one_segment_at_most_in_fast_mode() {
        let mut acks = seasoned(50);
        acks.control.counted = Counted::Acks;
        acks.ack(500, BASE);
        assert_eq!(acks.cwnd(), 51);
        acks.ack(51, BASE);
        assert_eq!(acks.cwnd(), 51, "more than cwnd are needed");
        acks.ack(1, BASE);
        assert_eq!(acks.cwnd(), 52);
    }

    #[test]
    fn an_early_cut_is_at_most_half_of_the_window() {
        let mut acks = seasoned(1_000);
        acks.rounds(2, BASE * 10);
        assert!((490..=510).contains(&acks.cwnd()), "{}", acks.cwnd());
    }

    #[test]
    fn delay_above_an_eighth_of_the_base_means_slow_mode() {
        let mut acks = seasoned(100);
        acks.rounds(2, BASE + Span::from_millis(7));
        assert!(acks.control.slow_rounds > 0);
        acks.rounds(2, BASE + Span::from_millis(6));
        assert_eq!(acks.control.slow_rounds, 0);
    }

    #[test]
    fn a_loss_with_a_short_queue_cuts_an_eighth_and_after_sixteen_slow_rounds_half() {
        let mut acks = seasoned(400);
        acks.lose();
        assert_eq!(acks.cwnd(), 350);
        let mut acks = seasoned(60);
        acks.rounds(20, BASE + Span::from_millis(10));
        let cwnd = acks.cwnd();
        acks.lose();
        assert_eq!(acks.cwnd(), cwnd - cwnd / 2);
    }
}
