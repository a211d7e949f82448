//! The clocks of TCP: microseconds, and the timestamp option.

use tailback_units::{SimTime, Span};

/// An instant on the µs clock that TCP reads. Times that are compared more often than set are stored so.
/// [linux-6.12 tcp.h tcp_clock_us]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Micros(u64);

impl Micros {
    /// Later than anything that happens.
    pub(crate) const NEVER: Micros = Micros(u64::MAX);

    #[inline]
    pub(crate) fn of(time: SimTime) -> Self {
        Micros(time.as_micros())
    }

    #[inline]
    pub(crate) fn since(self, earlier: Micros) -> Span {
        Span::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// As the timestamp option carries it.
    pub(crate) fn timestamp(self) -> SimTime {
        timestamp(SimTime::ZERO + Span::from_micros(self.0))
    }
}

/// The time of a deadline, or none. It is a single word, so that the first of several deadlines is found quickly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline(SimTime);

impl Default for Deadline {
    fn default() -> Self {
        Deadline::NONE
    }
}

impl Deadline {
    /// Nothing is due.
    pub(crate) const NONE: Deadline = Deadline(SimTime::NEVER);

    pub(crate) fn at(instant: SimTime) -> Self {
        Deadline(instant)
    }

    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Deadline::NONE
    }

    /// It is reached.
    #[inline]
    pub(crate) fn is_over(self, now: SimTime) -> bool {
        now >= self.0
    }

    /// The earlier of both.
    #[inline]
    pub(crate) fn or(self, other: Deadline) -> Deadline {
        Deadline(self.0.min(other.0))
    }

    /// The instant; `SimTime::NEVER` if nothing is due.
    #[inline]
    pub(crate) fn instant(self) -> SimTime {
        self.0
    }
}

/// Time since `earlier` on the µs clock.
#[inline]
pub(crate) fn micros_since(now: SimTime, earlier: Micros) -> Span {
    Micros::of(now).since(earlier)
}

/// Clock of the timestamp option. [linux-6.12 tcp.h TCP_TS_HZ]
pub(crate) const TIMESTAMP_CLOCK: Span = Span::from_millis(1);

/// A time as the timestamp option carries it.
pub(crate) fn timestamp(time: SimTime) -> SimTime {
    SimTime::from_nanos(time.ticks(TIMESTAMP_CLOCK) * TIMESTAMP_CLOCK.as_nanos())
}
