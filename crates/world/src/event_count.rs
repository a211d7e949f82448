//! How many events have happened, and before which of them something else is looked at.
//!
//! Events are counted down to that one: a run asks this before each event, and how many there were only at its end.

/// The events of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventCount {
    /// The number of the event before which something is looked at; the first event is number 1.
    next_check: u64,
    /// So many are left up to that one; it is itself one of them.
    left: u64,
}

impl EventCount {
    /// No event has happened; the first look is before event number `next_check`.
    pub(crate) fn new(next_check: u64) -> Self {
        EventCount { next_check, left: next_check }
    }

    /// An event happens. True if something is to be looked at before.
    pub(crate) fn count(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// The events so far.
    pub(crate) fn number(&self) -> u64 {
        self.next_check - self.left
    }

    /// The next look is before a later event, number `next_check`.
    pub(crate) fn check_before(&mut self, next_check: u64) {
        *self = EventCount { next_check, left: next_check - self.number() };
    }

    /// The next look is before the next event.
    #[inline]
    pub(crate) fn check_soon(&mut self) {
        self.check_before(self.number() + 1);
    }

    /// The next event is one before which something is looked at.
    #[inline]
    pub(crate) fn checks_soon(&self) -> bool {
        self.left == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_is_before_the_event_with_that_number() {
        let mut events = EventCount::new(3);
        assert_eq!([events.count(), events.count(), events.count()], [false, false, true]);
        events.check_before(5);
        assert_eq!((events.number(), events.checks_soon()), (3, false));
        events.check_soon();
        assert!(events.checks_soon() && events.count());
        assert_eq!(events.number(), 4);
    }
}
