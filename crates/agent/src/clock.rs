//! The clock of a run: ns since its start on CLOCK_MONOTONIC, and waiting until a time on it.

use crate::sys;

const TICK_NS: u64 = 1_000_000;

/// Time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose zero is at least `lead_ns` from now, and on a whole millisecond: a tick of the kernel's timers
    /// and of its timestamps, as the start of a simulated run is.
    pub fn starting_in(lead_ns: u64) -> Self {
        Self { origin_ns: (sys::monotonic_ns() + lead_ns).next_multiple_of(TICK_NS) }
    }

    /// Now; 0 before the start.
    pub fn now_ns(self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// Sleeps until `at_ns`; returns at once if that is past.
    pub fn sleep_until(self, at_ns: u64) {
        sys::sleep_until_monotonic(self.origin_ns + at_ns);
    }
}
