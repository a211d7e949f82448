//! Compares the calendar with a sorted list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailback_properties::cases;
use tailback_units::{SimTime, Span};

use super::Calendar;

#[test]
fn events_come_out_in_the_order_of_their_instants() {
    let mut calendar = Calendar::new();
    for ns in [5_000_000_000, 3, 70_000, 4, 1 << 60, 2_000_000] {
        calendar.schedule(SimTime::from_nanos(ns), ns);
    }
    let order: Vec<_> = std::iter::from_fn(|| calendar.pop()).map(|(_, event)| event).collect();
    assert_eq!(order, [3, 4, 70_000, 2_000_000, 5_000_000_000, 1 << 60]);
}

#[test]
fn events_of_one_instant_come_out_in_the_order_of_scheduling_however_far_ahead_they_were_scheduled() {
    let instant = SimTime::from_nanos(20_000_000_000);
    let mut calendar = Calendar::new();
    calendar.schedule(instant, 0);
    for (event, ahead) in [18_000_000_000, 3_000_000, 900, 100, 0].into_iter().enumerate() {
        calendar.schedule(instant - Span::from_nanos(ahead), 100);
        assert_eq!(calendar.pop().map(|(_, event)| event), if ahead == 0 { Some(0) } else { Some(100) });
        calendar.schedule(instant, event + 1);
    }
    let order: Vec<_> = std::iter::from_fn(|| calendar.pop()).map(|(_, event)| event).collect();
    assert_eq!(order, [1, 2, 3, 4, 100, 5]);
}

#[test]
fn the_first_and_the_last_instant_can_be_scheduled() {
    let mut calendar = Calendar::new();
    calendar.schedule(SimTime::NEVER, "end");
    calendar.schedule(SimTime::ZERO, "start");
    calendar.schedule(SimTime::NEVER, "after the end");
    assert_eq!(calendar.pop(), Some((SimTime::ZERO, "start")));
    assert_eq!(calendar.pop_before(SimTime::NEVER), None);
    assert_eq!(calendar.peek_time(), Some(SimTime::NEVER));
    assert_eq!(calendar.pop(), Some((SimTime::NEVER, "end")));
    calendar.schedule(SimTime::NEVER, "at the end");
    assert_eq!(calendar.pop(), Some((SimTime::NEVER, "after the end")));
    assert_eq!(calendar.pop(), Some((SimTime::NEVER, "at the end")));
    assert_eq!(calendar.pop(), None);
}

#[test]
fn a_limit_is_excluded_and_leaves_the_time_alone() {
    let mut calendar = Calendar::new();
    calendar.schedule(SimTime::from_nanos(100), "event");
    assert_eq!(calendar.pop_before(SimTime::from_nanos(100)), None);
    assert_eq!(calendar.now(), SimTime::ZERO);
    calendar.schedule(SimTime::from_nanos(50), "earlier");
    assert_eq!(calendar.pop_before(SimTime::from_nanos(101)), Some((SimTime::from_nanos(50), "earlier")));
    assert_eq!(calendar.pop_before(SimTime::from_nanos(101)), Some((SimTime::from_nanos(100), "event")));
}

#[test]
fn time_passes_without_an_event_up_to_the_earliest_one() {
    for ns in [100, 1 << 40] {
        let mut calendar = Calendar::new();
        calendar.schedule(SimTime::from_nanos(ns), "event");
        assert!(!calendar.pass_to(SimTime::from_nanos(ns)));
        assert!(calendar.pass_to(SimTime::from_nanos(ns - 1)));
        assert_eq!(calendar.now(), SimTime::from_nanos(ns - 1));
        assert_eq!(calendar.pop(), Some((SimTime::from_nanos(ns), "event")));
    }
}

#[test]
#[should_panic(expected = "after it should have happened")]
fn the_past_cannot_be_scheduled() {
    let mut calendar = Calendar::new();
    calendar.schedule(SimTime::from_nanos(10), ());
    calendar.pop();
    calendar.schedule(SimTime::from_nanos(9), ());
}

#[test]
fn memory_is_reused() {
    let mut calendar = Calendar::new();
    for ns in 0..10 {
        calendar.schedule(SimTime::from_nanos(ns * 5_000_000), ());
    }
    for _ in 0..10_000 {
        let (now, ()) = calendar.pop().unwrap();
        calendar.schedule(now + Span::from_millis(50), ());
    }
    assert!(calendar.notes.entries.len() <= 10);
    assert!(calendar.front.entries.capacity() <= 2 * super::FRONT_SLOTS);
}

#[test]
fn a_tick_of_many_timers_stays_on_its_wheel_until_it_comes() {
    let (mut calendar, tick) = (Calendar::new(), SimTime::from_nanos(3_000_000));
    (0..1_000).for_each(|timer| calendar.schedule(tick, timer));
    calendar.schedule(SimTime::from_nanos(10), 1_000);
    assert_eq!(calendar.pop().map(|(_, event)| event), Some(1_000));
    assert!(calendar.front.len() < super::FRONT_SLOTS);
    assert!((0..1_000).all(|timer| calendar.pop() == Some((tick, timer))));
}

#[test]
fn what_a_tick_of_many_timers_schedules_does_not_lengthen_the_front() {
    let (mut calendar, tick) = (Calendar::new(), SimTime::from_nanos(3_000_000));
    (0..1_000).for_each(|timer| calendar.schedule(tick, timer));
    for timer in 0..1_000_u32 {
        assert_eq!(calendar.pop(), Some((tick, timer)));
        calendar.schedule(tick + Span::from_micros(u64::from(timer % 7) + 2), timer);
        let still_due = 999 - timer as usize;
        assert!(calendar.front.len() <= still_due + super::FRONT_SLOTS);
    }
    let later: Vec<_> = std::iter::from_fn(|| calendar.pop()).collect();
    let expected = (0..7).flat_map(|after| (0..1_000).filter(move |timer| timer % 7 == after));
    assert!(later.iter().map(|&(_, timer)| timer).eq(expected));
}

/// The reference: a map sorted by (instant, order of scheduling).
#[derive(Default)]
struct Model {
    pending: BTreeMap<(SimTime, usize), usize>,
    scheduled: usize,
}

impl Model {
    fn schedule(&mut self, at: SimTime) -> usize {
        self.scheduled += 1;
        self.pending.insert((at, self.scheduled), self.scheduled);
        self.scheduled
    }

    fn peek_time(&self) -> Option<SimTime> {
        self.pending.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the first event and schedules it again, unless that is never.
    fn repeat(&mut self, at: SimTime) {
        if let Some((_, event)) = self.pop()
            && at < SimTime::NEVER
        {
            self.scheduled += 1;
            self.pending.insert((at, self.scheduled), event);
        }
    }

    fn pop_before(&mut self, limit: SimTime) -> Option<(SimTime, usize)> {
        if self.peek_time()? >= limit { None } else { self.pop() }
    }

    fn pop(&mut self) -> Option<(SimTime, usize)> {
        self.pending.pop_first().map(|((at, _), event)| (at, event))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Schedule { ahead: u64 },
    ScheduleWithAnother { which: usize },
    Pop,
    PopWithin { ahead: u64 },
    Repeat { ahead: u64 },
    RepeatWithAnother { which: usize },
}

/// Spans from nothing to the end of time, each order of magnitude as likely as the next.
fn ahead() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0),
        1 => Just(u64::MAX),
        8 => (0u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
        // Spans around the width of a bucket and of the wheels.
        4 => (prop_oneof![Just(10u32), Just(22), Just(34), Just(46), Just(58)], -2i64..3)
            .prop_map(|(bits, off)| (1u64 << bits).saturating_add_signed(off)),
        8 => 0u64..20_000_000,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => ahead().prop_map(|ahead| Step::Schedule { ahead }),
        3 => any::<usize>().prop_map(|which| Step::ScheduleWithAnother { which }),
        5 => Just(Step::Pop),
        3 => ahead().prop_map(|ahead| Step::PopWithin { ahead }),
        3 => ahead().prop_map(|ahead| Step::Repeat { ahead }),
        2 => any::<usize>().prop_map(|which| Step::RepeatWithAnother { which }),
    ]
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn it_agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 1..300)) {
        let (mut calendar, mut model) = (Calendar::new(), Model::default());
        for step in steps {
            apply(step, &mut calendar, &mut model);
            prop_assert_eq!(calendar.len(), model.pending.len());
            prop_assert_eq!(calendar.is_empty(), model.pending.is_empty());
            prop_assert_eq!(calendar.peek_time(), model.peek_time());
        }
        while let Some(expected) = model.pop() {
            prop_assert_eq!(calendar.pop(), Some(expected));
            prop_assert_eq!(calendar.now(), expected.0);
        }
        prop_assert_eq!(calendar.pop(), None);
    }
}

fn apply(step: Step, calendar: &mut Calendar<usize>, model: &mut Model) {
    let now = calendar.now();
    match step {
        Step::Schedule { ahead } => {
            let at = now + Span::from_nanos(ahead);
            calendar.schedule(at, model.schedule(at));
        }
        Step::ScheduleWithAnother { which } => {
            let pending = model.pending.len().max(1);
            let at = model.pending.keys().nth(which % pending).map_or(now, |(at, _)| *at);
            calendar.schedule(at, model.schedule(at));
        }
        Step::Pop => assert_eq!(calendar.pop(), model.pop()),
        Step::PopWithin { ahead } => {
            let limit = now + Span::from_nanos(ahead);
            assert_eq!(calendar.pop_before(limit), model.pop_before(limit));
        }
        Step::Repeat { ahead } => {
            if calendar.pass_to_next(SimTime::NEVER) {
                repeat(calendar.now() + Span::from_nanos(ahead), calendar, model);
            }
        }
        Step::RepeatWithAnother { which } => {
            if calendar.pass_to_next(SimTime::NEVER) {
                let pending = model.pending.len();
                let at = model.pending.keys().nth(which % pending).map_or(now, |(at, _)| *at);
                repeat(at, calendar, model);
            }
        }
    }
}

fn repeat(at: SimTime, calendar: &mut Calendar<usize>, model: &mut Model) {
    assert_eq!(calendar.present(), model.pending.values().next().copied());
    calendar.repeat(at);
    model.repeat(at);
}
