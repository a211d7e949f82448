//! The clock of a run: ns since its start on CLOCK_MONOTONIC, and waiting until a time on it.

use crate::sys;

/// Time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose zero is `lead_ns` from now.
    pub fn starting_in(lead_ns: u64) -> Self {
        Self { origin_ns: sys::monotonic_ns() + lead_ns }
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
