//! Measures how late timers are: a thread sleeps until regular times and records how much later it wakes.
//!
//! In real time, all timers of the experiment (HTB, netem, pacing, retransmission) run on the same processors as this
//! one; if it is late, they may be late, too.

use std::path::Path;
use std::thread::{self, JoinHandle};

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::table::Table;

/// Between two wake-ups.
const PERIOD_NS: u64 = 5_000_000;

/// The running thread.
pub struct Lateness(JoinHandle<Vec<u64>>);

impl Lateness {
    /// Measures from the start of the run to its end.
    pub fn watch(clock: Clock, duration_ns: u64) -> Result<Self, Failure> {
        let work = move || due(duration_ns).map(|due_ns| lateness(clock, due_ns)).collect();
        thread::Builder::new().name("lateness".into()).spawn(work).map(Self).doing("starting a thread")
    }

    /// Waits for the end, and writes the results.
    pub fn write(self, folder: &Path) -> Result<(), Failure> {
        let late = self.0.join().map_err(|_| Failure::new("the thread that watches timers has panicked"))?;
        let mut table = Table::new("lateness", &["t_ns", "late_ns"]);
        for (number, late_ns) in late.into_iter().enumerate() {
            table.row().cell((number as u64 + 1) * PERIOD_NS).cell(late_ns);
        }
        table.write(folder)
    }
}

fn due(duration_ns: u64) -> impl Iterator<Item = u64> {
    (1..=duration_ns / PERIOD_NS).map(|number| number * PERIOD_NS)
}

/// A wake-up that was missed altogether counts with all its delay.
fn lateness(clock: Clock, due_ns: u64) -> u64 {
    clock.sleep_until(due_ns);
    clock.now_ns().saturating_sub(due_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_wake_up_each_period_to_the_end() {
        assert_eq!(due(17_000_000).collect::<Vec<_>>(), [5_000_000, 10_000_000, 15_000_000]);
    }

    #[test]
    fn a_missed_wake_up_is_late_by_the_time_since_it_was_due() {
        let clock = Clock::starting_in(0);
        clock.sleep_until(3_000_000);
        assert!(lateness(clock, 1_000_000) >= 2_000_000);
    }
}
