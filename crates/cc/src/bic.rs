//! BIC: after a loss at window `W_max`, cwnd approaches `W_max` by binary search and then grows away from it at an
//! increasing rate.
//!
//! below W_max:  d = (W_max − cwnd)/4 segments per round trip, at most 16; if d ≤ 1, four per smooth_part round trips
//! above W_max:  first four per smooth_part round trips, then (cwnd − W_max)/3 per round trip, at most 16
//! growth:       one segment per cnt acknowledged; cnt ≤ 20 before the first loss; cnt = cwnd (Reno) up to 14 segments
//! cut:          ssthresh = 819/1024·cwnd, or cwnd/2 up to 14 segments
//!               W_max = cwnd, or 0.9·cwnd if cwnd is below the last W_max (fast convergence)
//!
//! cnt is divided by the average number of segments per ACK, initially 2. It is computed again when cwnd has changed or
//! after 1/32 s. A timeout resets all state.
//! Sources: [bic, Xu, Harfoush and Rhee 2004], [linux-6.12 tcp_bic.c bictcp_update].
//!
//! Before Linux 5.7 an ACK counts as one segment, however many it acknowledges (`stretch_acks 0`).
//!
//! Deviations: none known. Additive increase counts segments, not ACKs. With delayed ACKs the division therefore makes
//! growth twice as fast as intended, in Linux as well.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::{STRETCH_ACKS, flag, number, packets};
use crate::{AckSample, CaState, Counted, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Unit of β, per one. [linux-6.12 tcp_bic.c BICTCP_BETA_SCALE]
const BETA_UNIT: u64 = 1024;
/// The search advances by a quarter of the distance. [linux-6.12 tcp_bic.c BICTCP_B]
const SEARCH: u32 = 4;
/// Fraction bits of the segments per ACK. [linux-6.12 tcp_bic.c ACK_RATIO_SHIFT]
const ACK_RATIO_SHIFT: u32 = 4;
/// Slowest growth before any loss, in acknowledgements per segment. [linux-6.12 tcp_bic.c bictcp_update]
const FIRST_CNT: u32 = 20;
/// `cnt` is computed again after 1/32 s if cwnd has not changed. [linux-6.12 tcp_bic.c bictcp_update]
const UPDATES_PER_SEC: u64 = 32;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_bic.c module_param]
const PARAMETERS: &[Parameter] = &[
    number("max_increment", 16, 1, 65_535, "maximum growth per round trip, in segments"),
    flag("fast_convergence", 1, "lower W_max further when a loss comes before cwnd has reached it"),
    number("beta", 819, 1, 1023, "fraction of the window kept after a loss, in 1/1024"),
    packets("initial_ssthresh", 0, 0, "initial slow-start threshold; 0 = infinite"),
    packets("low_window", 14, 0, "BIC behaves like Reno up to this window"),
    number("smooth_part", 20, 1, 65_535, "round trips per four segments of growth near W_max"),
    STRETCH_ACKS,
];

/// The registry row.
pub const ROW: Row = Row {
    name: "bic",
    summary: "binary search for the window of the last loss",
    source: include_str!("bic.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Bic::new(tuning(given)?)))
}

fn tuning(given: &Parameters) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    Ok(Tuning {
        max_increment: get("max_increment")? as u32,
        fast_convergence: get("fast_convergence")? != 0,
        beta: get("beta")?,
        initial_ssthresh: Segs(get("initial_ssthresh")? as u32),
        low_window: get("low_window")? as u32,
        smooth_part: get("smooth_part")? as u32,
        counted: Counted::of(given)?,
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    max_increment: u32,
    fast_convergence: bool,
    /// In 1/1024.
    beta: u64,
    initial_ssthresh: Segs,
    low_window: u32,
    smooth_part: u32,
    counted: Counted,
}

/// State of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    tuning: Tuning,
    /// Acknowledgements per segment of growth, as last computed.
    cnt: u32,
    /// Window before the last reduction; 0 before any.
    w_max: u32,
    last_update: Option<Update>,
    /// Segments per ACK, in 1/16.
    ack_ratio: u32,
}

/// Window and jiffy at which `cnt` was last computed.
#[derive(Clone, Copy, Debug)]
struct Update {
    cwnd: u32,
    jiffies: u64,
}

impl Hooks for Bic {
    fn init(&mut self, _flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        if self.tuning.initial_ssthresh > Segs::ZERO {
            window.ssthresh = self.tuning.initial_ssthresh;
        }
    }

    fn set_state(&mut self, to: CaState, _flow: &Flow, _window: &mut Window) {
        if to == CaState::Loss {
            *self = Bic::new(self.tuning);
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, _window: &mut Window) {
        if flow.ca_state == CaState::Open {
            self.ack_ratio = self.ack_ratio + sample.packets_acked.0 - (self.ack_ratio >> ACK_RATIO_SHIFT);
        }
    }
}

impl WindowControl for Bic {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        let left = self.tuning.counted.after_slow_start(acked, window);
        if left > Segs::ZERO {
            self.update(flow, window.cwnd.0);
            window.cong_avoid_ai(self.cnt, left);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = u64::from(window.cwnd.0);
        let fell = window.cwnd.0 < self.w_max && self.tuning.fast_convergence;
        let w_max = if fell { cwnd * (BETA_UNIT + self.tuning.beta) / (2 * BETA_UNIT) } else { cwnd };
        self.w_max = w_max as u32;
        let small = window.cwnd.0 <= self.tuning.low_window;
        let kept = if small { cwnd / 2 } else { cwnd * self.tuning.beta / BETA_UNIT };
        Segs(kept.max(MIN_SSTHRESH) as u32)
    }
}

impl Bic {
    fn new(tuning: Tuning) -> Self {
        Bic { tuning, cnt: 0, w_max: 0, last_update: None, ack_ratio: 2 << ACK_RATIO_SHIFT }
    }

    fn update(&mut self, flow: &Flow, cwnd: u32) {
        let now = flow.jiffies();
        let recent = |last: Update| last.cwnd == cwnd && now - last.jiffies <= flow.hz() / UPDATES_PER_SEC;
        if self.last_update.is_some_and(recent) {
            return;
        }
        self.last_update = Some(Update { cwnd, jiffies: now });
        if cwnd <= self.tuning.low_window {
            self.cnt = cwnd;
            return;
        }
        let cnt = if cwnd < self.w_max { self.cnt_below(cwnd) } else { self.cnt_above(cwnd) };
        let cnt = if self.w_max == 0 { cnt.min(FIRST_CNT) } else { cnt };
        self.cnt = (u64::from(cnt) << ACK_RATIO_SHIFT).div_euclid(u64::from(self.ack_ratio)).max(1) as u32;
    }

    /// `cnt` below `w_max`: binary search.
    fn cnt_below(&self, cwnd: u32) -> u32 {
        match (self.w_max - cwnd) / SEARCH {
            distance if distance > self.tuning.max_increment => cwnd / self.tuning.max_increment,
            0 | 1 => self.smooth_increment(cwnd),
            distance => cwnd / distance,
        }
    }

    /// `cnt` above `w_max`: search for a new maximum.
    fn cnt_above(&self, cwnd: u32) -> u32 {
        let beyond = cwnd - self.w_max;
        if beyond < SEARCH {
            return self.smooth_increment(cwnd);
        }
        if beyond < self.tuning.max_increment * (SEARCH - 1) {
            return cwnd.saturating_mul(SEARCH - 1) / beyond;
        }
        cwnd / self.tuning.max_increment
    }

    fn smooth_increment(&self, cwnd: u32) -> u32 {
        cwnd.saturating_mul(self.tuning.smooth_part) / SEARCH
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const RTT: Span = Span::from_millis(100);

    fn bic() -> Bic {
        Bic::new(tuning(&Parameters::default()).expect("defaults are in range"))
    }

    /// At `cwnd`, after a loss at `w_max`.
    fn after_loss(w_max: u32, cwnd: u32, per_ack: u32) -> Acks<Bic> {
        let mut acks = Acks { per_ack, ..Acks::in_avoidance(w_max, bic()) };
        acks.control.ack_ratio = per_ack << ACK_RATIO_SHIFT;
        acks.lose();
        (acks.window.cwnd, acks.window.ssthresh) = (Segs(cwnd), Segs(cwnd));
        acks
    }

    #[test]
    fn the_search_takes_a_quarter_of_the_distance_per_round_trip_and_half_of_it_with_delayed_acks() {
        for (per_ack, cnt) in [(1, 16), (2, 8)] {
            let mut acks = after_loss(250, 200, per_ack);
            acks.ack(per_ack, RTT);
            // (250 − 200)/4 = 12 segments of 200: one per 16.
            assert_eq!(acks.control.cnt, cnt, "{per_ack} per ACK");
        }
    }

    #[test]
    fn before_5_7_an_ack_for_two_segments_counts_as_one_so_that_the_division_by_the_ack_ratio_is_right() {
        let grown = |stretch_acks| {
            let mut given = Parameters::default();
            given.set("stretch_acks", stretch_acks);
            let bic = Bic::new(tuning(&given).expect("values are in range"));
            let mut acks = Acks { per_ack: 2, ..Acks::in_avoidance(1_600, bic) };
            acks.lose();
            (acks.window.cwnd, acks.window.ssthresh) = (Segs(800), Segs(800));
            acks.rounds(1, RTT)[0] - 800
        };
        assert!((15..=17).contains(&grown(0)), "{}", grown(0));
        assert!((30..=34).contains(&grown(1)), "{}", grown(1));
    }

    #[test]
    fn far_from_the_maximum_growth_is_sixteen_segments_per_round_trip() {
        let gained = after_loss(1_600, 800, 1).rounds(1, RTT)[0] - 800;
        assert!((15..=17).contains(&gained), "{gained}");
    }

    #[test]
    fn four_segments_beyond_the_maximum_the_search_for_a_new_one_begins() {
        let bic = Bic { w_max: 200, ..bic() };
        assert_eq!((bic.cnt_above(203), bic.cnt_above(204)), (203 * 20 / 4, 204 * 3 / 4));
    }

    #[test]
    fn near_the_maximum_and_just_beyond_it_a_segment_takes_five_round_trips() {
        for cwnd in [197, 201] {
            assert_eq!(after_loss(200, cwnd, 1).rounds(6, RTT)[5], cwnd + 1, "{cwnd}");
        }
    }

    #[test]
    fn beyond_the_maximum_growth_follows_a_third_of_the_distance_up_to_sixteen_segments_per_round_trip() {
        let cnt = |cwnd: u32| {
            let mut acks = after_loss(100, cwnd, 1);
            acks.ack(1, RTT);
            acks.control.cnt
        };
        // A third of 12 segments, of 45, and 16 for a distance of 60.
        assert_eq!((cnt(112), cnt(145), cnt(160)), (112 / 4, 145 / 15, 160 / 16));
    }

    #[test]
    fn a_loss_leaves_four_fifths_of_the_window_and_half_of_a_small_one() {
        let cut = |cwnd| {
            let mut acks = Acks::in_avoidance(cwnd, bic());
            acks.lose();
            acks.cwnd()
        };
        assert_eq!([200, 14, 2].map(cut), [200 * 819 / 1024, 7, 2]);
    }

    #[test]
    fn a_second_loss_below_the_maximum_lowers_it_to_nine_tenths_of_the_window() {
        let mut acks = after_loss(200, 180, 1);
        acks.lose();
        assert_eq!(acks.control.w_max, 180 * (1024 + 819) / 2048);
    }

    #[test]
    fn before_any_loss_growth_is_at_least_a_twentieth_per_round_trip() {
        let mut acks = Acks::in_avoidance(1_000, bic());
        acks.control.ack_ratio = 1 << ACK_RATIO_SHIFT;
        assert!(acks.rounds(1, RTT)[0] >= 1_050);
    }

    #[test]
    fn a_timeout_resets_the_maximum() {
        let mut acks = after_loss(200, 100, 1);
        acks.time_out();
        assert_eq!((acks.control.w_max, acks.control.ack_ratio), (0, 32));
    }
}
