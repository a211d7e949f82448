//! When a timer of the kernel fires that counts jiffies.
//!
//! ```text
//! δ = span in jiffies, rounded up     level l: the first with δ < 63 · 8^l, at most 8     granularity 8^l jiffies
//! fires at  ⌊(jiffies + δ + 8^l) / 8^l⌋ · 8^l
//! ```
//! So a short timer fires one jiffy late, and a longer one late by up to an eighth. [linux-6.12 timer.c calc_index]

use crate::{SimTime, Span};

/// How a timer of many jiffies is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerRounding {
    /// As the kernel's timer wheel: up to a multiple of 8, 64 … jiffies, the later the farther.
    Wheel,
    /// Up to a jiffy, as if the wheel had one level.
    Jiffy,
}

/// When a kernel timer of `span` that is armed now fires; one of no time at the next tick.
pub fn expiry(now: SimTime, span: Span, (jiffy, rounding): (Span, TimerRounding)) -> SimTime {
    let delta = span.as_nanos().div_ceil(jiffy.as_nanos());
    let expires = now.ticks(jiffy) + delta;
    let mut level = 0;
    while rounding == TimerRounding::Wheel && level < 8 && delta >= 63 << (3 * level) {
        level += 1;
    }
    let shift = 3 * level;
    let tick = ((expires + (1 << shift)) >> shift) << shift;
    SimTime::from_nanos(tick.saturating_mul(jiffy.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_n_jiffies_fires_at_the_tick_after_them() {
        let jiffy = Span::from_millis(1);
        let now = SimTime::from_nanos(10_400_000);
        assert_eq!(
            expiry(now, Span::from_millis(40), (jiffy, TimerRounding::Wheel)),
            SimTime::from_nanos(51_000_000)
        );
    }

    #[test]
    fn a_timer_of_no_time_fires_at_the_next_tick() {
        let now = SimTime::from_nanos(10_400_000);
        let fires = expiry(now, Span::ZERO, (Span::from_millis(1), TimerRounding::Wheel));
        assert_eq!(fires, SimTime::from_nanos(11_000_000));
    }

    #[test]
    fn a_timer_of_200_ms_fires_at_a_multiple_of_8_ms() {
        let jiffy = Span::from_millis(1);
        let now = SimTime::from_nanos(10_400_000);
        let expires = |rounding| expiry(now, Span::from_millis(201), (jiffy, rounding));
        assert_eq!(expires(TimerRounding::Wheel), SimTime::from_nanos(216_000_000));
        assert_eq!(expires(TimerRounding::Jiffy), SimTime::from_nanos(212_000_000));
    }
}
