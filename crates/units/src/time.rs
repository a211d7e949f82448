//! Points in time and durations, both in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

/// A length of time in nanoseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than anything that happens.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// The instant `ns` nanoseconds into the run.
    pub const fn from_nanos(ns: u64) -> Self {
        SimTime(ns)
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the run began: the clock TCP measures round trips with.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since the run began, for tables and messages only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time from `earlier` to `self`; zero if `earlier` lies in the future.
    pub const fn since(self, earlier: SimTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The first multiple of `grain` at or after `self`: when a timer of that resolution fires.
    pub const fn round_up_to(self, grain: Span) -> SimTime {
        SimTime(self.0.div_ceil(grain.0) * grain.0)
    }

    /// How many whole `grain`s have passed since the run began (jiffies, for a grain of 1/HZ).
    pub const fn ticks(self, grain: Span) -> u64 {
        self.0 / grain.0
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Span(us * 1_000)
    }

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * 1_000_000_000)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for tables and messages only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// True for [`Span::ZERO`].
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Span> for SimTime {
    type Output = SimTime;
    fn add(self, span: Span) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for SimTime {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for SimTime {
    type Output = SimTime;
    /// Saturates at the start of the run.
    fn sub(self, span: Span) -> SimTime {
        SimTime(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    /// Panics when `other` is longer: a negative span is a defect of the caller.
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("a span is never negative"))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, by: u64) -> Span {
        Span(self.0 / by)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0s"),
            ns if ns % 1_000_000_000 == 0 => write!(f, "{}s", ns / 1_000_000_000),
            ns if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
            ns if ns % 1_000 == 0 => write!(f, "{}us", ns / 1_000),
            ns => write!(f, "{ns}ns"),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_prints_in_the_largest_unit_that_divides_it() {
        assert_eq!(Span::from_micros(1_500).to_string(), "1500us");
        assert_eq!(Span::from_millis(5).to_string(), "5ms");
        assert_eq!(Span::from_nanos(1_001).to_string(), "1001ns");
    }

    #[test]
    fn rounding_up_keeps_a_time_that_lies_on_the_grain() {
        let jiffy = Span::from_millis(1);
        assert_eq!(SimTime::from_nanos(2_000_000).round_up_to(jiffy), SimTime::from_nanos(2_000_000));
        assert_eq!(SimTime::from_nanos(2_000_001).round_up_to(jiffy), SimTime::from_nanos(3_000_000));
    }

    #[test]
    fn time_since_a_later_instant_is_zero() {
        assert_eq!(SimTime::from_nanos(1).since(SimTime::from_nanos(2)), Span::ZERO);
    }
}
