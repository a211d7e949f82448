//! An application that has no data at times: a stream at a rate, one that pauses, or both.
//!
//! ```text
//! message k of b bytes is due when the source has been on for 8 · b · k / rate     without a rate: whenever it is on
//! the source is on for `on`, then off for `off`, again and again, from the first message on
//! ```
//! What is due while the socket has no room waits in the application and is sent as soon as there is room, as data of an
//! encoder or a log does; `iperf3 -b` catches up so, too.

use serde::Deserialize;
use tailback_units::{SimTime, Span};

use crate::check::{Checked, ensure, positive};

/// When an application has data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Data while it is on; none: as much as the socket takes.
    #[serde(default)]
    pub rate_bps: Option<u64>,
    /// Bytes of a `send()`.
    pub message: u64,
    /// How long it is on; none: always.
    #[serde(default)]
    pub on_ns: Option<u64>,
    /// How long it is off after that.
    #[serde(default)]
    pub off_ns: u64,
}

impl Source {
    pub(crate) fn check(self) -> Checked {
        positive(self.rate_bps.unwrap_or(1), "writes.rate_bps")?;
        positive(self.message, "writes.message")?;
        positive(self.on_ns.unwrap_or(1), "writes.on_ns")?;
        let pauses = self.on_ns.is_some() || self.off_ns == 0;
        ensure(pauses, "writes.off_ns", "it is never on", "write on_ns, too")
    }

    /// How long the source has been on when a message is due, in ns: the `number`-th, counted from 0.
    fn on_before(self, number: u64) -> Option<u128> {
        let bits = u128::from(number) * u128::from(self.message) * 8;
        self.rate_bps.map(|rate| (bits * 1_000_000_000).div_ceil(u128::from(rate)))
    }

    /// When the source has been on for this long, in ns from the first message on.
    fn after(self, on: u128) -> u128 {
        match self.on_ns.map(u128::from) {
            Some(each) => on + on / each * u128::from(self.off_ns),
            None => on,
        }
    }

    /// The earliest time from `since` on at which it is on, both in ns from the first message on.
    fn on_from(self, since: u128) -> u128 {
        let Some(on) = self.on_ns.map(u128::from) else { return since };
        let cycle = on + u128::from(self.off_ns);
        if since % cycle < on { since } else { (since / cycle + 1) * cycle }
    }
}

/// When the messages of a source are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    source: Source,
    /// When the first was sent.
    first: Option<SimTime>,
    /// Those that were due.
    messages: u64,
}

impl Due {
    pub(crate) fn of(source: Source) -> Self {
        Due { source, first: None, messages: 0 }
    }

    /// When the next message is due if that is later than now. If not, it is taken.
    pub(crate) fn later_than(&mut self, now: SimTime) -> Option<SimTime> {
        let first = *self.first.get_or_insert(now);
        let since = u128::from(now.since(first).as_nanos());
        let due = match self.source.on_before(self.messages) {
            Some(on) => self.source.after(on),
            None => self.source.on_from(since),
        };
        if due > since {
            return Some(first + Span::from_nanos(u64::try_from(due).unwrap_or(u64::MAX)));
        }
        self.messages += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The first times at which a source that is asked whenever it says has a message, in ms.
    fn times(source: Source, count: usize) -> Vec<u64> {
        let (mut due, mut now, mut found) = (Due::of(source), SimTime::from_nanos(7 * MS), Vec::new());
        while found.len() < count {
            match due.later_than(now) {
                Some(later) => now = later,
                None => found.push(now.as_nanos() / MS - 7),
            }
        }
        found
    }

    fn source(rate_bps: Option<u64>, on_ns: Option<u64>, off_ns: u64) -> Source {
        Source { rate_bps, message: 1_250, on_ns, off_ns }
    }

    #[test]
    fn messages_are_due_at_the_rate_from_the_first_on() {
        assert_eq!(times(source(Some(1_000_000), None, 0), 4), [0, 10, 20, 30]);
    }

    #[test]
    fn while_the_source_is_off_no_message_becomes_due() {
        assert_eq!(times(source(Some(1_000_000), Some(20 * MS), 100 * MS), 5), [0, 10, 120, 130, 240]);
    }

    #[test]
    fn without_a_rate_a_message_is_due_whenever_the_source_is_on() {
        let mut due = Due::of(source(None, Some(2 * MS), 3 * MS));
        let at = |ms| SimTime::from_nanos(ms * MS);
        assert_eq!([due.later_than(at(7)), due.later_than(at(8))], [None, None]);
        assert_eq!([due.later_than(at(9)), due.later_than(at(11))], [Some(at(12)); 2]);
        assert_eq!(due.later_than(at(12)), None);
    }

    #[test]
    fn what_was_due_while_the_socket_had_no_room_is_due_at_once() {
        let mut due = Due::of(source(Some(1_000_000), None, 0));
        let at = |ms| SimTime::from_nanos(ms * MS);
        assert_eq!(due.later_than(at(0)), None);
        assert_eq!([(); 3].map(|()| due.later_than(at(35))), [None, None, None]);
        assert_eq!(due.later_than(at(35)), Some(at(40)));
    }
}
