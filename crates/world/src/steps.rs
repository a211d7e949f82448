//! Notices a run that stands still: one whose steps at one instant never end, as with a flow over a path without delay.

use tailback_units::SimTime;

use crate::RunError;

/// More than any experiment needs at one time: 10,000 flows that start together need a million.
const MOST: u32 = 20_000_000;

/// The last instant at which something had to be settled, and the steps processed then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steps {
    at: SimTime,
    count: u32,
}

impl Steps {
    /// Something has to be settled at this time.
    pub(crate) fn begin(&mut self, now: SimTime) {
        if self.at != now {
            *self = Steps { at: now, count: 0 };
        }
    }

    /// One more step.
    pub(crate) fn count(&mut self) {
        self.count += 1;
    }

    /// There were more than any experiment needs.
    #[inline]
    pub(crate) fn never_end(&self) -> bool {
        self.count >= MOST
    }

    /// The run stops if it stands still.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if self.never_end() { Err(RunError::StandsStill { at: self.at }) } else { Ok(()) }
    }
}
