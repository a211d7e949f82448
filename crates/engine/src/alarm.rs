//! A deadline that changes often, with as few events in the calendar as possible.
//!
//! A TCP socket moves its deadline later on nearly every ACK (the retransmission timer restarts) and earlier now
//! and then (a pacing gap, a delayed ACK). Taking an event out of a calendar for each move would cost more than
//! the packet itself. An alarm never takes one out:
//!
//! - moved *later*: the pending event is kept; when it fires, it is too early and is scheduled anew at the
//!   deadline of that moment ([`Fired::Early`]);
//! - moved *earlier*: one more event is scheduled; the later one stays pending and serves the deadlines after it;
//! - cancelled: the pending event fires and does nothing ([`Fired::Idle`]).
//!
//! So a busy component has one event for the deadline next due, plus at most one for each longer deadline that a
//! shorter one has overtaken. A retransmission timer of 200 ms that restarts 10,000 times a second costs five
//! events a second.
//!
//! The owner keeps the deadline; the alarm only knows what is pending:
//!
//! ```
//! use tailback_engine::{Alarm, Fired};
//! use tailback_units::SimTime;
//!
//! let at = SimTime::from_nanos;
//! let mut alarm = Alarm::default();
//! assert_eq!(alarm.set(Some(at(200))), Some(at(200)), "schedule an event");
//! assert_eq!(alarm.set(Some(at(350))), None, "the event at 200 will look again");
//! assert_eq!(alarm.fired(at(200), Some(at(350))), Fired::Early(at(350)), "schedule it anew");
//! assert_eq!(alarm.fired(at(350), Some(at(350))), Fired::Due, "let the owner act, then `set` what it wants next");
//! ```

use tailback_units::SimTime;

/// How many pending events are remembered; of more, the latest are forgotten, and do nothing when they fire.
const REMEMBERED: usize = 4;

/// Which events are pending in the calendar for one component.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    /// Their instants, earliest first; `NEVER` where there is none.
    pending: [SimTime; REMEMBERED],
}

/// The meaning of an event that fired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fired {
    /// The deadline is reached: the component acts, and its next deadline is [set](Alarm::set).
    Due,
    /// The deadline has moved later: schedule an event at this instant.
    Early(SimTime),
    /// Nothing to do: there is no deadline, or another pending event covers it.
    Idle,
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm { pending: [SimTime::NEVER; REMEMBERED] }
    }
}

impl Alarm {
    /// The component's deadline is now `deadline`. The answer is the instant to schedule an event for, if the
    /// events already pending do not cover it. `SimTime::NEVER` counts as no deadline.
    #[inline]
    pub fn set(&mut self, deadline: Option<SimTime>) -> Option<SimTime> {
        let deadline = deadline.unwrap_or(SimTime::NEVER);
        if self.pending[0] <= deadline {
            return None;
        }
        self.remember(deadline);
        Some(deadline)
    }

    /// The event scheduled for `at` has fired, and the component's deadline is `deadline`.
    #[inline]
    pub fn fired(&mut self, at: SimTime, deadline: Option<SimTime>) -> Fired {
        if self.pending[0] == at {
            self.forget_first();
        }
        if deadline.is_some_and(|deadline| deadline <= at) {
            return Fired::Due;
        }
        self.set(deadline).map_or(Fired::Idle, Fired::Early)
    }

    /// As if the deadline had been set to an instant before all pending events, and its event had fired as the next of all:
    /// the owner has acted at that instant without an event.
    #[inline]
    pub fn pass(&mut self) {
        self.pending[REMEMBERED - 1] = SimTime::NEVER;
    }

    fn remember(&mut self, at: SimTime) {
        self.pending.copy_within(..REMEMBERED - 1, 1);
        self.pending[0] = at;
    }

    fn forget_first(&mut self) {
        self.pending.copy_within(1.., 0);
        self.pending[REMEMBERED - 1] = SimTime::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_properties::cases;
    use tailback_units::Span;

    use super::*;
    use crate::Calendar;

    const fn at(ns: u64) -> SimTime {
        SimTime::from_nanos(ns)
    }

    #[test]
    fn a_deadline_that_only_moves_later_keeps_one_event() {
        let mut run = Run::default();
        for ms in 0..1_000 {
            run.advance(at(ms * 1_000_000));
            run.move_to(Some(at(ms * 1_000_000) + Span::from_millis(200)));
            assert_eq!(run.calendar.len(), 1);
        }
        assert_eq!(run.scheduled, 5);
        assert_eq!(run.due, []);
    }

    #[test]
    fn a_short_deadline_leaves_the_long_ones_event_where_it_is() {
        let mut run = Run::default();
        run.move_to(Some(at(200_000_000)));
        for ms in 1..200 {
            run.move_to(Some(at(ms * 1_000_000)));
            run.advance(at(ms * 1_000_000 + 1));
            run.move_to(Some(at(200_000_000 + ms)));
            assert_eq!(run.calendar.len(), 1);
        }
        assert_eq!(run.due.len(), 199);
    }

    #[test]
    fn the_event_of_a_cancelled_deadline_has_no_effect() {
        let mut alarm = Alarm::default();
        alarm.set(Some(at(10)));
        assert_eq!(alarm.set(None), None);
        assert_eq!(alarm.fired(at(10), None), Fired::Idle);
        assert_eq!(alarm.set(Some(at(20))), Some(at(20)));
    }

    #[test]
    fn a_cancelled_event_does_nothing() {
        let mut run = Run::default();
        for ns in (1..=2 * REMEMBERED as u64).rev() {
            run.move_to(Some(at(ns)));
        }
        run.advance(at(2));
        run.advance(at(100));
        assert_eq!(run.due, [at(1)]);
        assert!(run.calendar.is_empty());
    }

    #[test]
    fn a_deadline_passed_without_an_event_leaves_what_its_event_would_leave() {
        for others in 0..=REMEMBERED as u64 + 1 {
            let mut alarm = Alarm::default();
            for number in 0..others {
                alarm.set(Some(at(100 - number)));
            }
            let mut passed = alarm;
            passed.pass();
            assert_eq!(alarm.set(Some(at(10))), Some(at(10)));
            assert_eq!(alarm.fired(at(10), Some(at(10))), Fired::Due);
            assert_eq!(passed.pending, alarm.pending);
        }
    }

    /// A component that only clears its deadline when it is reached.
    #[derive(Default)]
    struct Run {
        calendar: Calendar<()>,
        alarm: Alarm,
        deadline: Option<SimTime>,
        due: Vec<SimTime>,
        scheduled: usize,
    }

    impl Run {
        fn move_to(&mut self, deadline: Option<SimTime>) {
            self.deadline = deadline;
            let wanted = self.alarm.set(deadline);
            self.schedule(wanted);
        }

        fn schedule(&mut self, wanted: Option<SimTime>) {
            if let Some(at) = wanted {
                self.scheduled += 1;
                self.calendar.schedule(at, ());
            }
        }

        fn advance(&mut self, until: SimTime) {
            while let Some((now, ())) = self.calendar.pop_before(until) {
                match self.alarm.fired(now, self.deadline) {
                    Fired::Due => {
                        self.due.push(now);
                        self.move_to(None);
                    }
                    Fired::Early(at) => self.schedule(Some(at)),
                    Fired::Idle => {}
                }
            }
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn every_armed_deadline_expires_on_time_and_no_other_does(
            moves in prop::collection::vec((0u64..50, prop::option::of(0u64..200)), 1..200)
        ) {
            let mut run = Run::default();
            let (mut now, mut deadline, mut expected) = (at(0), None, Vec::new());
            for (wait, ahead) in moves {
                now += Span::from_nanos(wait);
                run.advance(now);
                expected.extend(deadline.filter(|deadline| *deadline < now));
                deadline = ahead.map(|ahead| now + Span::from_nanos(ahead));
                run.move_to(deadline);
            }
            run.advance(SimTime::NEVER);
            expected.extend(deadline);
            prop_assert_eq!(run.due, expected);
            prop_assert!(run.calendar.is_empty());
        }
    }
}
