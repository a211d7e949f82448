//! The clock of a run: ns since its start on CLOCK_MONOTONIC, and waiting until a time on it.

use crate::sys;

/// 512 jiffies at HZ 1000.
const PERIOD_NS: u64 = 512_000_000;
/// Jiffies at boot, modulo 512: they begin five minutes before their lower half wraps.
/// [linux-6.12 jiffies.h INITIAL_JIFFIES]
const INITIAL_JIFFIES_NS: u64 = ((1 << 32) - 300_000) % 512 * 1_000_000;

/// Time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose zero is at least `lead_ns` from now, and where the start of a simulated run is: on a tick of the
    /// kernel's timers and timestamps, and at a multiple of 512 jiffies, so that longer timers, which expire at
    /// multiples of 8, 64 or 512 jiffies, meet the same times of the run.
    pub fn starting_in(lead_ns: u64) -> Self {
        let jiffies_ns = sys::monotonic_ns() + lead_ns + INITIAL_JIFFIES_NS;
        Self { origin_ns: jiffies_ns.next_multiple_of(PERIOD_NS) - INITIAL_JIFFIES_NS }
    }

    /// A clock whose zero is when CLOCK_MONOTONIC shows `origin_ns`.
    pub fn starting_at(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Now; 0 before the start.
    pub fn now_ns(self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// What CLOCK_MONOTONIC shows at `at_ns`.
    pub fn on_monotonic(self, at_ns: u64) -> u64 {
        self.origin_ns + at_ns
    }

    /// What CLOCK_REALTIME shows at `at_ns`, if nobody sets it.
    pub fn on_realtime(self, at_ns: u64) -> u64 {
        sys::realtime_ns().saturating_sub(sys::monotonic_ns()) + self.origin_ns + at_ns
    }

    /// From now until `at_ns`; 0 if that is past.
    pub fn left_ns(self, at_ns: u64) -> u64 {
        (self.origin_ns + at_ns).saturating_sub(sys::monotonic_ns())
    }

    /// Sleeps until `at_ns`; returns at once if that is past.
    pub fn sleep_until(self, at_ns: u64) {
        sys::sleep_until_monotonic(self.origin_ns + at_ns);
    }
}
