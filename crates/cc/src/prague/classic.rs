//! Detects queues that mark as they would drop: a classic one is long, and the RTT in it varies; one of L4S is short and steady.
//!
//! ```text
//! once per round trip:  score += ½·lg(v/750 µs) + ½·max(lg(d/2 ms), 0)       within 0 … 17
//!                       v = mean deviation of the RTT, d = mean RTT − minimum RTT
//! score ≤ 8:            the queue is one of L4S
//! score 8 … 9:          α is at least 0.625·(score − 8)
//! score ≥ 9:            α is at least 0.625, a cut of 31 %, as CUBIC's
//! ```
//! The means are over about 2·ssthresh^1.5 samples, which is longer than a sawtooth. [prague-v0.6 tcp_prague.c
//! prague_classic_ecn_detection, prague_classic_ecn_fallback, prague_rtt_estimator]

use tailback_units::{Segs, Span};

use super::ALPHA_BITS;
use crate::Flow;

/// Fraction bits of a score.
const SCORE_BITS: u32 = 20;
/// A score of 1.
const ONE: i64 = 1 << SCORE_BITS;
/// Up to this score the queue is one of L4S.
const L4S: i64 = 8 * ONE;
/// From this score on the queue is classic.
const CLASSIC: i64 = 9 * ONE;
/// The highest score.
const MAX: i64 = 17 * ONE;
/// A deviation above this speaks for a classic queue, in µs.
const DEVIATION_US: u64 = 750;
/// A queue longer than this speaks for a classic queue, in µs.
const DEPTH_US: u64 = 2_000;
/// The longest means are over 2 to the power of this many samples.
const SLOWEST: u32 = 18;

/// What is done about classic queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fallback {
    None,
    Answered,
    Detected,
}

impl Fallback {
    pub(super) fn of(parameter: u64) -> Self {
        [Fallback::None, Fallback::Answered, Fallback::Detected][parameter.min(2) as usize]
    }
}

/// The means of the RTT, and the score.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassicQueue {
    /// The mean RTT is over 2 to the power of this many samples, its deviation over twice as many.
    pace: u32,
    /// In µs, times 2^pace.
    rtt: u64,
    /// In µs, times 2^(pace + 1).
    deviation: u64,
    score: i64,
}

impl ClassicQueue {
    pub(super) fn new(flow: &Flow) -> Self {
        let rtt = u64::from(flow.srtt_us8 >> 3) << SLOWEST;
        ClassicQueue { pace: SLOWEST, rtt, deviation: 1 << (SLOWEST + 1), score: 0 }
    }

    /// Adds a sample of the RTT.
    pub(super) fn take(&mut self, rtt: Span) {
        let sample = rtt.as_micros();
        if self.rtt == 0 {
            (self.rtt, self.deviation) = (sample << self.pace, 1 << (self.pace + 1));
            return;
        }
        let mean = self.rtt >> self.pace;
        self.rtt = (self.rtt + sample - mean).max(1);
        self.deviation += sample.abs_diff(mean);
        self.deviation -= (self.deviation >> (self.pace + 1)).min(self.deviation);
    }

    /// The pace follows the length of a sawtooth: ssthresh^1.5 samples, twice.
    pub(super) fn set_pace(&mut self, ssthresh: Segs) {
        let lg = ssthresh.0.max(1).ilog2();
        let pace = (lg + lg / 2 + 1).min(SLOWEST);
        let rescaled = |value: u64| match pace >= self.pace {
            true => value << (pace - self.pace),
            false => value >> (self.pace - pace),
        };
        (self.rtt, self.deviation) = (rescaled(self.rtt), rescaled(self.deviation));
        self.pace = pace;
    }

    /// A round trip has passed: changes the score.
    pub(super) fn judge(&mut self, flow: &Flow) {
        let Some(min) = flow.min_rtt.map(Span::as_micros) else { return };
        if self.rtt >> self.pace == 0 {
            return;
        }
        let deviation = lg(self.deviation) - i64::from(self.pace + 1) * ONE;
        let mut change = (deviation.max(0) - lg(DEVIATION_US)) / 2;
        let depth = self.rtt.saturating_sub(min << self.pace);
        let depth = lg(depth.max(1)) - i64::from(self.pace) * ONE;
        change += (depth - lg(DEPTH_US)).max(0) / 2;
        self.score = (self.score + change).clamp(0, MAX);
    }

    /// The α that a cut uses at least, in its unit; 0 in a queue of L4S.
    pub(super) fn least_alpha(&self) -> u64 {
        let over = (self.score.min(CLASSIC) - L4S).max(0) as u64;
        (over * 5 / 8) << (ALPHA_BITS - SCORE_BITS)
    }
}

/// The logarithm to base 2, with [`SCORE_BITS`] fraction bits; of a number above 0.
fn lg(number: u64) -> i64 {
    let whole = number.ilog2();
    // 1 to 2 with 63 fraction bits: each squaring yields one more bit.
    let mut rest = u128::from(number) << (63 - whole);
    let mut fraction = 0;
    for _ in 0..SCORE_BITS {
        rest = (rest * rest) >> 63;
        let bit = (rest >> 64) as i64;
        fraction = fraction << 1 | bit;
        rest >>= bit;
    }
    i64::from(whole) << SCORE_BITS | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithm_has_twenty_bits() {
        for number in [1, 2, 3, 750, 2_000, 1 << 40] {
            let exact = (number as f64).log2() * ONE as f64;
            assert!((lg(number) as f64 - exact).abs() <= 1.5, "{number}: {} {exact}", lg(number));
        }
    }

    /// The score after `rounds` of 100 samples of an RTT that swings around `mean` by `swing`, both in µs.
    fn score(mean: u64, swing: u64, rounds: u64) -> ClassicQueue {
        let mut flow = Flow { srtt_us8: 8 * mean as u32, ..Flow::established(1448, Span::from_millis(1)) };
        flow.min_rtt = Some(Span::from_millis(20));
        let mut queue = ClassicQueue::new(&flow);
        queue.set_pace(Segs(50));
        for round in 0..rounds {
            for _ in 0..100 {
                let by = if round % 2 == 0 { mean + swing } else { mean - swing };
                queue.take(Span::from_micros(by));
            }
            queue.judge(&flow);
        }
        queue
    }

    #[test]
    fn a_short_and_steady_queue_is_one_of_l4s_and_a_long_one_that_varies_is_classic() {
        assert_eq!(score(20_500, 300, 100).least_alpha(), 0);
        let classic = score(30_000, 4_000, 100).least_alpha();
        assert_eq!(classic, 5 << (ALPHA_BITS - 3), "0.625");
    }

    #[test]
    fn of_two_queues_that_vary_alike_the_deep_one_is_classic() {
        assert_eq!(score(20_500, 300, 100).least_alpha(), 0);
        assert!(score(60_000, 300, 100).least_alpha() > 0);
    }

    #[test]
    fn a_queue_that_becomes_short_is_one_of_l4s_again() {
        let mut queue = score(30_000, 4_000, 100);
        let mut flow = Flow::established(1448, Span::from_millis(1));
        flow.min_rtt = Some(Span::from_millis(20));
        for _ in 0..400 {
            for _ in 0..100 {
                queue.take(Span::from_micros(20_300));
            }
            queue.judge(&flow);
        }
        assert_eq!(queue.least_alpha(), 0);
    }
}
