//! The order in which timers of one tick expire: the one armed last goes first.
//!
//! The timer wheel of the kernel inserts a timer at the head of its bucket and processes buckets from the head. Setting
//! a timer to the time that it already has does not move it. All timers of a tick run in one soft interrupt, before any
//! of their consequences. Three delayed ACKs that are due at the same tick therefore leave in reverse order, and so do
//! the segments that they clock out. [linux-6.12 timer.c enqueue_timer, __mod_timer, expire_timers]
//!
//! Known deviation: high-resolution timers (pacing, compressed ACKs) that are due at the same nanosecond have the same
//! order here; the kernel runs the one armed first.

use tailback_packet::SocketId;
use tailback_units::SimTime;

/// When a timer was armed last, counted over the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Arming(u64);

/// The position of a timer in the wheel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    expires: SimTime,
    arming: Arming,
}

impl Default for Place {
    fn default() -> Self {
        Place { expires: SimTime::NEVER, arming: Arming(0) }
    }
}

/// The timers that are due now, and the count of armings.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    last: Arming,
    due: Vec<(Arming, SocketId)>,
}

impl Timers {
    /// Sets the timer at `place` to expire at `expires`; if that is `NEVER`, the timer keeps its place.
    #[inline]
    pub(crate) fn arm(&mut self, place: &mut Place, expires: SimTime) {
        if expires != place.expires && expires != SimTime::NEVER {
            self.last.0 += 1;
            *place = Place { expires, arming: self.last };
        }
    }

    /// The timer of `socket` has run out.
    pub(crate) fn ran_out(&mut self, socket: SocketId, place: Place) {
        self.due.push((place.arming, socket));
    }

    #[inline]
    pub(crate) fn is_any_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The timers that ran out, in the order in which they expire; return the list with `expired`.
    pub(crate) fn take_due(&mut self) -> Vec<(Arming, SocketId)> {
        self.due.sort_unstable_by(|one, other| other.cmp(one));
        // A timer may have run out twice.
        self.due.dedup();
        std::mem::take(&mut self.due)
    }

    /// Keeps the memory of the list for the next tick.
    pub(crate) fn expired(&mut self, mut due: Vec<(Arming, SocketId)>) {
        due.clear();
        self.due = due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: SimTime = SimTime::from_nanos(41_000_000);
    const LATER: SimTime = SimTime::from_nanos(42_000_000);

    /// Sockets 0, 1, 2 … armed in this order for these deadlines; all of them run out.
    fn order(timers: &mut Timers, places: &[Place]) -> Vec<u32> {
        for (socket, place) in (0..).zip(places) {
            timers.ran_out(SocketId(socket), *place);
        }
        timers.take_due().into_iter().map(|(_, socket)| socket.0).collect()
    }

    #[test]
    fn the_timer_armed_last_expires_first() {
        let (mut timers, mut places) = (Timers::default(), [Place::default(); 3]);
        for place in &mut places {
            timers.arm(place, TICK);
        }
        assert_eq!(order(&mut timers, &places), [2, 1, 0]);
        assert!(!timers.is_any_due());
    }

    #[test]
    fn a_timer_moved_to_where_it_is_keeps_its_place() {
        let (mut timers, mut places) = (Timers::default(), [Place::default(); 2]);
        for socket in [0, 1, 0] {
            timers.arm(&mut places[socket], TICK);
            timers.arm(&mut places[socket], SimTime::NEVER);
        }
        assert_eq!(order(&mut timers, &places), [1, 0]);
    }

    #[test]
    fn a_timer_moved_away_and_back_goes_to_the_head() {
        let (mut timers, mut places) = (Timers::default(), [Place::default(); 2]);
        for (socket, deadline) in [(0, TICK), (1, TICK), (0, LATER), (0, TICK)] {
            timers.arm(&mut places[socket], deadline);
        }
        assert_eq!(order(&mut timers, &places), [0, 1]);
    }

    #[test]
    fn a_timer_that_ran_out_twice_expires_once() {
        let (mut timers, mut place) = (Timers::default(), Place::default());
        timers.arm(&mut place, TICK);
        timers.ran_out(SocketId(7), place);
        assert_eq!(order(&mut timers, &[]), [7]);
        timers.ran_out(SocketId(0), place);
        assert_eq!(order(&mut timers, &[place]), [0]);
    }
}
