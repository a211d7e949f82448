//! Illinois: loss triggers the cut; delay determines how fast the window grows and how much it is cut.
//!
//! d_a = mean RTT of the last round − minimum RTT,  d_m = maximum RTT − minimum RTT,  extremes of the whole connection
//! α (segments per round trip): 10 if d_a ≤ d_m/100 (once d_a was larger, only after 5 such rounds),
//!                              else d_m'·10 / (d_m' + d_a'·(10 − 0.3)/0.3),  d' = d − d_m/100
//! β (share cut on loss):       1/8 if d_a ≤ d_m/10, 1/2 if d_a ≥ 8·d_m/10, linear in between
//! growth: cnt += acknowledged segments; when ⌊cnt·α / cwnd⌋ > 0, cwnd grows by that, and cnt = 0
//! cut:    ssthresh = max(cwnd − cwnd·β, 2)
//!
//! Below 15 segments and after a timeout, α = 1 and β = 1/2. α and β are updated once per round trip, also when cwnd
//! does not limit the flow. α is in 1/128, β in 1/64.
//! Sources: [illinois, Liu, Başar and Srikant 2006], [linux-6.12 tcp_illinois.c].
//!
//! Deviations: none known.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::{number, packets};
use crate::{AckSample, CaState, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Fraction bits of α. [linux-6.12 tcp_illinois.c ALPHA_SHIFT]
const ALPHA_BITS: u32 = 7;
/// 0.3 in 1/128. [linux-6.12 tcp_illinois.c ALPHA_MIN]
const ALPHA_MIN: u64 = 3 * (1 << ALPHA_BITS) / 10;
/// 10. [linux-6.12 tcp_illinois.c ALPHA_MAX]
const ALPHA_MAX: u64 = 10 << ALPHA_BITS;
/// 1, as Reno. [linux-6.12 tcp_illinois.c ALPHA_BASE]
const ALPHA_BASE: u64 = 1 << ALPHA_BITS;
/// Fraction bits of β. [linux-6.12 tcp_illinois.c BETA_SHIFT]
const BETA_BITS: u32 = 6;
/// 1/8. [linux-6.12 tcp_illinois.c BETA_MIN]
const BETA_MIN: u64 = (1 << BETA_BITS) / 8;
/// 1/2, as Reno. [linux-6.12 tcp_illinois.c BETA_MAX]
const BETA_MAX: u64 = (1 << BETA_BITS) / 2;
/// Longer RTTs count as this, in µs. [linux-6.12 tcp_illinois.c RTT_MAX]
const RTT_MAX_US: u64 = u32::MAX as u64 / ALPHA_MAX;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_illinois.c module_param]
const PARAMETERS: &[Parameter] = &[
    packets("win_thresh", 15, 0, "Illinois behaves like Reno below this window"),
    number("theta", 5, 0, 1_000_000, "rounds with little delay before growth is fastest again"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "illinois",
    summary: "Reno with growth and cut that depend on the queueing delay",
    source: include_str!("illinois.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let small = Segs(given.get("win_thresh", PARAMETERS)? as u32);
    let theta = given.get("theta", PARAMETERS)? as u32;
    Ok(Prototype::window(Illinois::new(small, theta)))
}

/// State of Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    /// Below this window it behaves like Reno.
    small: Segs,
    theta: u32,
    delays: Delays,
    round: Round,
    /// In 1/128.
    alpha: u64,
    /// In 1/64.
    beta: u64,
    /// The delay has exceeded the low threshold since growth was last fastest.
    was_above: bool,
    /// Rounds below the threshold since then.
    low_rounds: u32,
    /// Segments of the last ACK.
    acked: u32,
}

/// Extremes of the RTT, in µs.
#[derive(Clone, Debug)]
struct Delays {
    base: u64,
    max: u64,
}

/// RTTs since the round began.
#[derive(Clone, Debug, Default)]
struct Round {
    ends_after: u64,
    samples: u64,
    sum_us: u64,
}

impl Hooks for Illinois {
    fn init(&mut self, flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {
        self.begin_round(flow);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
            (self.was_above, self.low_rounds) = (false, 0);
            self.begin_round(flow);
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, _flow: &Flow, _window: &mut Window) {
        self.acked = sample.packets_acked.0;
        let Some(rtt) = sample.rtt else { return };
        let rtt_us = rtt.as_micros().min(RTT_MAX_US);
        self.delays.base = self.delays.base.min(rtt_us);
        self.delays.max = self.delays.max.max(rtt_us);
        self.round.samples += 1;
        self.round.sum_us += rtt_us;
    }
}

impl WindowControl for Illinois {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if flow.snd_una > self.round.ends_after {
            self.take_measure(window.cwnd);
            self.begin_round(flow);
        }
        if !flow.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        window.cwnd_cnt = window.cwnd_cnt.saturating_add(self.acked);
        self.acked = 1;
        let growth = (u64::from(window.cwnd_cnt) * self.alpha) >> ALPHA_BITS;
        let cwnd = u64::from(window.cwnd.0);
        if growth >= cwnd {
            window.cwnd = Segs((cwnd + growth / cwnd).min(u64::from(window.cwnd_clamp.0)) as u32);
            window.cwnd_cnt = 0;
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = u64::from(window.cwnd.0);
        Segs((cwnd - ((cwnd * self.beta) >> BETA_BITS)).max(MIN_SSTHRESH) as u32)
    }
}

impl Illinois {
    fn new(small: Segs, theta: u32) -> Self {
        Illinois {
            small,
            theta,
            delays: Delays { base: i32::MAX as u64, max: 0 },
            round: Round::default(),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            was_above: false,
            low_rounds: 0,
            acked: 0,
        }
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round = Round { ends_after: flow.snd_nxt, ..Round::default() };
    }

    fn take_measure(&mut self, cwnd: Segs) {
        if cwnd < self.small {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
        } else if let Some(average) = self.round.sum_us.checked_div(self.round.samples) {
            let max = self.delays.max - self.delays.base;
            let average = average - self.delays.base;
            self.alpha = self.alpha_for(average, max);
            self.beta = beta_for(average, max);
        }
    }

    fn alpha_for(&mut self, average: u64, max: u64) -> u64 {
        let low = max / 100;
        if average > low {
            self.was_above = true;
            let (max, average) = (max - low, average - low);
            return max * ALPHA_MAX / (max + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
        }
        if self.was_above {
            self.low_rounds += 1;
            if self.low_rounds < self.theta {
                return self.alpha;
            }
        }
        (self.was_above, self.low_rounds) = (false, 0);
        ALPHA_MAX
    }
}

fn beta_for(average: u64, max: u64) -> u64 {
    let (low, high) = (max / 10, 8 * max / 10);
    if average <= low {
        return BETA_MIN;
    }
    if average >= high || high <= low {
        return BETA_MAX;
    }
    (BETA_MIN * high + (BETA_MAX - BETA_MIN) * average - BETA_MAX * low) / (high - low)
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const IDLE: Span = Span::from_millis(50);
    const FULL: Span = Span::from_millis(150);

    fn illinois() -> Illinois {
        Illinois::new(Segs(15), 5)
    }

    /// Both extremes of the delay are known.
    fn seasoned(cwnd: u32) -> Acks<Illinois> {
        let mut acks = Acks::in_avoidance(cwnd, illinois());
        acks.ack(1, IDLE);
        acks.ack(1, FULL);
        acks.window.cwnd_cnt = 0;
        acks
    }

    #[test]
    fn an_idle_path_gives_ten_segments_per_round_trip() {
        let mut acks = Acks::in_avoidance(100, illinois());
        let cwnd = acks.rounds(3, IDLE);
        assert!(cwnd.windows(2).all(|pair| (9..=10).contains(&(pair[1] - pair[0]))), "{cwnd:?}");
    }

    #[test]
    fn a_full_queue_leaves_three_tenths_of_a_segment_per_round_trip() {
        let mut acks = seasoned(100);
        acks.rounds(2, FULL);
        // The integers of the kernel end at 38/128.
        assert!((38..=39).contains(&acks.control.alpha), "{}", acks.control.alpha);
        let before = acks.cwnd();
        let after = acks.rounds(10, FULL)[9];
        assert!((2..=4).contains(&(after - before)), "{before} {after}");
    }

    #[test]
    fn the_cut_is_an_eighth_of_the_window_with_little_delay_and_half_of_it_with_much() {
        let cut = |rtt| {
            let mut acks = seasoned(100);
            acks.rounds(2, rtt);
            acks.window.cwnd = Segs(160);
            acks.lose();
            acks.cwnd()
        };
        assert_eq!(cut(IDLE + Span::from_millis(5)), 140);
        assert_eq!(cut(FULL), 80);
        // d_a = 45 ms, the middle between 10 and 80: (1/8 + 1/2) / 2.
        assert_eq!(cut(IDLE + Span::from_millis(45)), 160 - 160 * 20 / 64);
    }

    #[test]
    fn growth_is_fastest_again_five_rounds_after_the_delay_has_gone() {
        let mut acks = seasoned(100);
        acks.rounds(2, FULL);
        let slow = acks.control.alpha;
        let mut alphas = Vec::new();
        for _ in 0..7 {
            acks.round(IDLE);
            alphas.push(acks.control.alpha);
        }
        let waited = alphas.iter().filter(|&&alpha| alpha == slow).count();
        assert!((4..=6).contains(&waited) && alphas[6] == ALPHA_MAX, "{alphas:?}");
    }

    #[test]
    fn small_windows_and_windows_after_a_timeout_behave_like_reno() {
        let mut acks = Acks::in_avoidance(10, illinois());
        acks.round(IDLE);
        acks.round(IDLE);
        assert_eq!((acks.control.alpha, acks.control.beta), (ALPHA_BASE, BETA_MAX));
        let mut acks = seasoned(100);
        acks.rounds(2, IDLE);
        acks.time_out();
        assert_eq!((acks.control.alpha, acks.control.beta), (ALPHA_BASE, BETA_MAX));
    }
}
