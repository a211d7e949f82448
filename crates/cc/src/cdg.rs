//! CDG (CAIA delay gradient): backs off at random when the RTT rises. A shadow window keeps it from losing its share
//! to loss-based controls.
//!
//! gradient g: change of the minimum RTT per round (of the maximum, if the minimum does not rise), summed over 8 rounds
//! backoff:    once per round with probability 1 − e^(−42·g), g in s; cwnd becomes 0.7071·cwnd (CWR, PRR)
//!             after five backoffs without a falling RTT, further ones are suppressed as ineffective
//! growth:     Reno's; the shadow window grows with it and is not reduced by a backoff
//! loss:       shadow = min(shadow/2, cwnd), ssthresh = max(shadow, cwnd/2, 2)
//! slow start: ends when an ACK train (gaps < 3 ms) lasts half the minimum RTT, or when, after 8 ACKs, the minimum RTT
//!             of the round exceeds 9/8 of the overall minimum
//!
//! The RTT of a delayed ACK of one segment counts only towards the minimum of its round.
//! Sources: [cdg, Hayes and Armitage 2011], [linux-6.12 tcp_cdg.c].
//!
//! Deviations: e^(−x) is computed to 2⁻³²; the kernel multiplies entries of a table.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::{flag, number};
use crate::random::RandomNumbers;
use crate::{AckSample, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno};

/// Largest gap within an ACK train, in µs. [linux-6.12 tcp_cdg.c tcp_cdg_hystart_update]
const TRAIN_GAP_US: u64 = 3_000;
/// Minimum length of a train and minimum delay threshold, in µs. [linux-6.12 tcp_cdg.c tcp_cdg_hystart_update]
const MIN_THRESHOLD_US: u64 = 125;
/// ACKs of a round that the delay detector skips. [linux-6.12 tcp_cdg.c tcp_cdg_hystart_update]
const MIN_SAMPLES: u32 = 8;
/// A sum of gradients up to this shows that a backoff was effective, in µs. [linux-6.12 tcp_cdg.c tcp_cdg_grad]
const EFFECT_US: i64 = -32;
/// Maximum of the counter of delayed ACKs. [linux-6.12 tcp_cdg.c tcp_cdg_acked]
const MAX_DELAYED: u32 = 5;
/// Unit of the gradients from which the state of the queue is inferred. [linux-6.12 tcp_cdg.c tcp_cdg_grad]
const TOLERANCE_US: i64 = 64;
/// Maximum number of rounds in the window of gradients. [linux-6.12 tcp_cdg.c tcp_cdg_register]
const MAX_ROUNDS: usize = 256;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u32 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_cdg.c module_param]
const PARAMETERS: &[Parameter] = &[
    number("window", 8, 1, MAX_ROUNDS as u64, "rounds over which gradients are summed; a power of two"),
    number("backoff_beta", 724, 0, 1_024, "fraction of the window kept after a backoff, in 1/1024"),
    number("backoff_factor", 42, 0, 100_000, "backoff probability per ms of gradient, in 1/1000"),
    number("hystart_detect", 3, 0, 3, "leave slow start by 1 = ACK train, 2 = delay, 3 = both"),
    number(
        "use_ineff",
        5,
        0,
        1_000_000,
        "ineffective backoffs after which further ones are suppressed; 0 = no limit",
    ),
    flag("use_shadow", 1, "on loss, cut the shadow window instead of cwnd"),
    flag("use_tolerance", 0, "do not cut on a loss while the queue is not full"),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "cdg",
    summary: "backs off at random when the RTT rises (CAIA delay gradient)",
    source: include_str!("cdg.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Cdg::new(tuning(given)?)))
}

fn tuning(given: &Parameters) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    let detect = get("hystart_detect")?;
    Ok(Tuning {
        // The kernel rounds down to a power of two because it uses a mask.
        rounds: 1 << get("window")?.ilog2(),
        backoff_beta: get("backoff_beta")?,
        backoff_factor: get("backoff_factor")?,
        ack_train: detect & 1 != 0,
        delay: detect & 2 != 0,
        ineffective: get("use_ineff")? as u32,
        shadow: get("use_shadow")? != 0,
        tolerance: get("use_tolerance")? != 0,
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rounds: usize,
    backoff_beta: u64,
    backoff_factor: u64,
    ack_train: bool,
    delay: bool,
    ineffective: u32,
    shadow: bool,
    tolerance: bool,
}

/// Inferred state of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// A backoff is pending or in progress.
    Backoff,
}

/// Minimum and maximum: of RTTs in µs, or of their changes.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    min: i64,
    max: i64,
}

/// The last gradients and their sum.
#[derive(Clone, Debug)]
struct Gradients {
    last: Vec<Extremes>,
    sum: Extremes,
    next: usize,
    is_filled: bool,
}

/// The ACK train and the count of samples of a round.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    start_us: u64,
    last_ack_us: Option<u64>,
    samples: u32,
}

/// State of CDG.
#[derive(Clone, Debug)]
pub struct Cdg {
    tuning: Tuning,
    random: RandomNumbers,
    /// RTTs of this round and of the one before; `None` = no sample.
    rtt: Option<Extremes>,
    previous_rtt: Option<Extremes>,
    gradients: Gradients,
    round_end: u64,
    shadow: u32,
    queue: Queue,
    /// Backoffs since the last one that was effective.
    backoffs: u32,
    /// ACKs of several segments minus ACKs of one.
    delayed: u32,
    delay_min_us: Option<i64>,
    train: Train,
}

impl Hooks for Cdg {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        self.random = RandomNumbers::from(draws);
        self.round_end = flow.snd_nxt;
        self.shadow = window.cwnd.0;
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        match event {
            CwndEvent::CwndRestart => {
                let random = self.random.clone();
                *self = Cdg { random, ..Cdg::new(self.tuning) };
                self.round_end = flow.snd_nxt;
                self.shadow = window.cwnd.0;
            }
            CwndEvent::CompleteCwr => {
                self.queue = Queue::Unknown;
                self.round_end = flow.snd_nxt;
                self.previous_rtt = self.rtt.take();
            }
            _ => {}
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, _window: &mut Window) {
        let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        let rtt = i64::try_from(rtt.as_micros()).unwrap_or(i64::MAX).min(i64::MAX >> 16);
        if flow.sacked_out == Segs::ZERO {
            if sample.packets_acked == Segs::ONE && self.delayed > 0 {
                // This ACK may have been delayed, so its RTT counts only towards a minimum that there is already.
                self.delayed -= 1;
                self.rtt = self.rtt.map(|known| Extremes { min: known.min.min(rtt), ..known });
                return;
            }
            if sample.packets_acked > Segs::ONE && self.delayed < MAX_DELAYED {
                self.delayed += 1;
            }
        }
        let known = self.rtt.unwrap_or(Extremes { min: rtt, max: rtt });
        self.rtt = Some(Extremes { min: known.min.min(rtt), max: known.max.max(rtt) });
    }
}

impl WindowControl for Cdg {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if window.in_slow_start() {
            self.hystart_update(flow, window);
        }
        if flow.snd_una > self.round_end && self.rtt.is_some() {
            let gradient = self.end_round(flow);
            if gradient > 0 && self.backs_off(gradient) {
                self.shadow = self.shadow.max(window.cwnd.0);
                self.queue = Queue::Backoff;
                window.enter_cwr = true;
                return;
            }
        }
        if !flow.cwnd_limited {
            self.shadow = self.shadow.min(window.cwnd.0);
            return;
        }
        let before = window.cwnd.0;
        reno::cong_avoid(acked, flow, window);
        self.shadow = self.shadow.saturating_add(window.cwnd.0.saturating_sub(before));
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = window.cwnd.0;
        if self.queue == Queue::Backoff {
            let kept = (u64::from(cwnd) * self.tuning.backoff_beta) >> 10;
            return Segs((kept as u32).max(MIN_SSTHRESH));
        }
        if self.queue == Queue::NotFull && self.tuning.tolerance {
            return Segs(cwnd.max(MIN_SSTHRESH));
        }
        self.shadow = (self.shadow >> 1).min(cwnd);
        let shadow = if self.tuning.shadow { self.shadow } else { 0 };
        Segs(MIN_SSTHRESH.max(shadow).max(cwnd >> 1))
    }

    fn undo_cwnd(&mut self, _flow: &Flow, window: &Window) -> Segs {
        window.cwnd.max(window.prior_cwnd)
    }
}

impl Cdg {
    fn new(tuning: Tuning) -> Self {
        Cdg {
            tuning,
            random: RandomNumbers::default(),
            rtt: None,
            previous_rtt: None,
            gradients: Gradients::over(tuning.rounds),
            round_end: 0,
            shadow: 0,
            queue: Queue::default(),
            backoffs: 0,
            delayed: 0,
            delay_min_us: None,
            train: Train::default(),
        }
    }

    /// Ends a round; returns its gradient in µs.
    fn end_round(&mut self, flow: &Flow) -> i64 {
        let rtt = self.rtt.take();
        let gradient = match (rtt, self.previous_rtt) {
            (Some(rtt), Some(previous)) => self.gradient(rtt, previous),
            _ => 0,
        };
        self.round_end = flow.snd_nxt;
        self.previous_rtt = rtt;
        self.train = Train::default();
        gradient
    }

    fn gradient(&mut self, rtt: Extremes, previous: Extremes) -> i64 {
        let change = Extremes { min: rtt.min - previous.min, max: rtt.max - previous.max };
        let (sum, gradient) = self.gradients.add(change);
        if sum.min <= EFFECT_US || sum.max <= EFFECT_US {
            self.backoffs = 0;
        }
        if self.tuning.tolerance {
            self.estimate_queue(sum);
        }
        gradient
    }

    /// The queue is full when the minimum RTT still rises and the maximum no longer does.
    fn estimate_queue(&mut self, sum: Extremes) {
        let coarse = |us: i64| (us + us.signum() * TOLERANCE_US / 2) / TOLERANCE_US;
        let (min, max) = (coarse(sum.min), coarse(sum.max));
        if min > 0 && max <= 0 {
            self.queue = Queue::Full;
        } else if (min > 0 && max > 0) || max < 0 {
            self.queue = Queue::NotFull;
        }
    }

    fn backs_off(&mut self, gradient: i64) -> bool {
        let exponent = (gradient as u64).saturating_mul(self.tuning.backoff_factor);
        if self.random.any() <= exp_of_minus(exponent) {
            return false;
        }
        if self.tuning.ineffective > 0 {
            self.backoffs = self.backoffs.saturating_add(1);
            return self.backoffs <= self.tuning.ineffective;
        }
        true
    }

    /// CDG's own HyStart. [linux-6.12 tcp_cdg.c tcp_cdg_hystart_update]
    fn hystart_update(&mut self, flow: &Flow, window: &mut Window) {
        let min = [self.delay_min_us, self.rtt.map(|rtt| rtt.min)].into_iter().flatten().min();
        self.delay_min_us = min;
        let Some(min) = min.filter(|_| self.tuning.ack_train || self.tuning.delay) else { return };
        let train = self.tuning.ack_train && self.train_is_long(min as u64, flow);
        if train || (self.tuning.delay && self.delay_has_grown(min as u64)) {
            window.ssthresh = window.cwnd.max(Segs(MIN_SSTHRESH));
        }
    }

    fn train_is_long(&mut self, min: u64, flow: &Flow) -> bool {
        let now = flow.now.as_micros();
        let Some(last) = self.train.last_ack_us.filter(|_| flow.cwnd_limited) else {
            (self.train.last_ack_us, self.train.start_us) = (Some(now), now);
            return false;
        };
        if now >= last + TRAIN_GAP_US {
            return false;
        }
        self.train.last_ack_us = Some(now);
        now > self.train.start_us + (min / 2).max(MIN_THRESHOLD_US)
    }

    fn delay_has_grown(&mut self, min: u64) -> bool {
        if self.train.samples < MIN_SAMPLES {
            self.train.samples += 1;
            return false;
        }
        let threshold = (min + min / 8).max(MIN_THRESHOLD_US);
        self.rtt.is_some_and(|rtt| rtt.min as u64 > threshold)
    }
}

impl Gradients {
    fn over(rounds: usize) -> Self {
        let last = vec![Extremes::default(); rounds];
        Gradients { last, sum: Extremes::default(), next: 0, is_filled: false }
    }

    /// Returns the sums, and the gradient, extrapolated until the window is full.
    fn add(&mut self, change: Extremes) -> (Extremes, i64) {
        let old = std::mem::replace(&mut self.last[self.next], change);
        self.sum.min += change.min - old.min;
        self.sum.max += change.max - old.max;
        self.next = (self.next + 1) % self.last.len();
        let gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if self.is_filled {
            return (self.sum, gradient);
        }
        if self.next == 0 {
            self.is_filled = true;
            return (self.sum, gradient);
        }
        (self.sum, gradient * self.last.len() as i64 / self.next as i64)
    }
}

/// e^(−x), x in millionths, in 2⁻³².
fn exp_of_minus(millionths: u64) -> u32 {
    /// 1/e in 2⁻³².
    const INVERSE_E: u64 = 0x5e2d_58d9;
    /// e^(−23) is less than 2⁻³².
    const NOTHING: u64 = 23;
    let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
    if whole >= NOTHING {
        return 0;
    }
    let x = (rest << 32) / 1_000_000;
    // e^(−x) = 1 − x(1 − x/2(1 − x/3(…))), to 13 terms.
    let series = (1..=13).rev().fold(1u64 << 32, |inner, term| (1 << 32) - ((x * inner) >> 32) / term);
    let power = (0..whole).fold(series, |product, _| (product * INVERSE_E) >> 32);
    u32::try_from(power).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::CaState;
    use crate::test_acks::Acks;

    const BASE_US: u64 = 100_000;

    fn cdg(given: &[(&str, u64)]) -> Cdg {
        let mut parameters = Parameters::default();
        given.iter().for_each(|&(name, value)| parameters.set(name, value));
        Cdg::new(tuning(&parameters).expect("they are in range"))
    }

    #[test]
    fn ten_milliseconds_of_gradient_back_off_with_a_probability_of_a_third() {
        let mut cdg = cdg(&[("use_ineff", 0)]);
        let times = (0..10_000).filter(|_| cdg.backs_off(10_000)).count();
        assert!((3_200..3_660).contains(&times), "1 − e^(−0.42) = 0.343: {times}");
    }

    #[test]
    fn the_exponential_is_exact_to_the_last_bits() {
        for x in [0.0f64, 0.001, 0.42, 0.999_999, 1.0, 2.5, 10.0, 21.9, 30.0] {
            let (found, ideal) = (f64::from(exp_of_minus((x * 1e6) as u64)), (-x).exp() * 4_294_967_296.0);
            assert!((found - ideal).abs() < 64.0, "{x}: {found} is not {ideal}");
        }
    }

    #[test]
    fn a_backoff_keeps_0_7071_of_the_window_and_the_shadow_keeps_it_all() {
        let mut acks = Acks::in_avoidance(100, cdg(&[("backoff_factor", 100_000)]));
        let mut rtt = BASE_US;
        while !acks.window.enter_cwr {
            rtt += 1_000;
            acks.round(Span::from_micros(rtt));
        }
        acks.window.cwnd = Segs(100);
        acks.lose();
        assert_eq!(acks.cwnd(), 70);
        assert!(acks.control.shadow >= 100, "{}", acks.control.shadow);
        acks.lose();
        assert_eq!(acks.cwnd(), 50, "half of the shadow window, not of the window");
    }

    #[test]
    fn after_five_ineffective_backoffs_none_follows_until_the_rtt_falls() {
        let mut cdg = cdg(&[("backoff_factor", 100_000)]);
        let times = (0..20).filter(|_| cdg.backs_off(1_000_000)).count();
        assert_eq!(times, 5);
        cdg.gradient(Extremes { min: 0, max: 0 }, Extremes { min: 100, max: 100 });
        assert!(cdg.backs_off(1_000_000));
    }

    #[test]
    fn the_gradient_of_few_rounds_is_extrapolated_to_eight() {
        let mut gradients = Gradients::over(8);
        let found: Vec<i64> = (0..10).map(|_| gradients.add(Extremes { min: 10, max: 10 }).1).collect();
        assert_eq!(found, [80; 10]);
    }

    #[test]
    fn slow_start_ends_when_the_rtt_of_a_round_is_an_eighth_above_the_minimum() {
        let mut acks = Acks::after_handshake(10, Span::from_micros(BASE_US), cdg(&[("hystart_detect", 2)]));
        acks.round(Span::from_micros(BASE_US));
        acks.round(Span::from_micros(BASE_US * 110 / 100));
        assert_eq!(acks.window.ssthresh, Segs::INFINITE);
        acks.rounds(2, Span::from_micros(BASE_US * 115 / 100));
        assert!(acks.window.ssthresh < Segs::INFINITE);
    }

    #[test]
    fn an_ack_of_one_segment_after_delayed_acks_can_only_lower_the_rtt() {
        let mut acks = Acks::in_avoidance(100, cdg(&[]));
        acks.ack(1, Span::from_millis(50));
        acks.ack(2, Span::from_millis(50));
        acks.ack(1, Span::from_millis(90));
        assert_eq!(acks.control.rtt.map(|rtt| rtt.max), Some(50_000));
        acks.ack(1, Span::from_millis(90));
        assert_eq!(acks.control.rtt.map(|rtt| rtt.max), Some(90_000));
    }

    #[test]
    fn a_round_does_not_begin_with_an_ack_that_may_have_been_delayed() {
        let mut acks = Acks::in_avoidance(100, cdg(&[]));
        acks.ack(2, Span::from_millis(50));
        acks.control.rtt = None;
        acks.ack(1, Span::from_millis(90));
        assert!(acks.control.rtt.is_none());
        acks.ack(1, Span::from_millis(60));
        assert_eq!(acks.control.rtt.map(|rtt| (rtt.min, rtt.max)), Some((60_000, 60_000)));
    }

    #[test]
    fn the_shadow_window_shrinks_to_cwnd_when_cwnd_does_not_limit_the_flow() {
        let mut acks = Acks::in_avoidance(100, cdg(&[]));
        acks.control.shadow = 300;
        acks.flow.cwnd_limited = false;
        acks.ack(1, Span::from_micros(BASE_US));
        assert_eq!(acks.control.shadow, 100);
    }

    #[test]
    fn the_queue_is_full_when_the_minimum_still_rises_and_the_maximum_does_not_by_half_of_64_us() {
        let judged = |min, max| {
            let mut cdg = cdg(&[]);
            cdg.estimate_queue(Extremes { min, max });
            cdg.queue
        };
        assert!(judged(31, 0) == Queue::Unknown && judged(32, 31) == Queue::Full);
        assert!(judged(32, 32) == Queue::NotFull && judged(0, -32) == Queue::NotFull);
        assert!(judged(0, -31) == Queue::Unknown);
    }

    #[test]
    fn it_ignores_changes_of_the_recovery_state() {
        let mut acks = Acks::in_avoidance(100, cdg(&[]));
        acks.enter(CaState::Disorder);
        acks.round(Span::from_micros(BASE_US));
        assert_eq!(acks.cwnd(), 101);
    }
}
