//! The event engine of a run: a [`Calendar`] of events, an [`Alarm`] for each component that waits, and the [`Streams`]
//! of random numbers. It is independent of any protocol.
//!
//! **Time is an integer and moves only here.** A world takes the earliest event from the calendar, passes its
//! instant to a machine as `now`, and schedules the events that the machine requests. Events of one instant come out
//! in the order in which they were scheduled, so a run is a function of its scenario and its seed, to the bit.
//!
//! **One event per busy component.** The calendar holds neither packets nor the timers of sockets. Packets wait in
//! the queue of their link, whose one event is the arrival of the first of them; a socket has one event for whichever
//! of its deadlines is next. The calendar is therefore as small as the number of things that are busy, and its cost does
//! not grow with the packets in flight. TCP moves its retransmission deadline later on nearly every ACK; an
//! [`Alarm`] keeps the event that is already in the calendar and checks the deadline when it fires.
//!
//! **Random streams have names.** A consumer draws from the stream of its part and purpose. Other consumers do not
//! affect it: adding a host or a discipline never shifts the random numbers of another.
//!
//! ```
//! use rand_core::Rng;
//! use tailback_engine::{Calendar, Streams};
//! use tailback_units::{SimTime, Span};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum Event {
//!     Arrival,
//!     Sample,
//! }
//!
//! let mut calendar = Calendar::new();
//! let mut jitter = Streams::new(1).stream("link 0", "jitter");
//! let later = calendar.now() + Span::from_nanos(jitter.next_u64() % 1_000);
//! calendar.schedule(later, Event::Arrival);
//! calendar.schedule(SimTime::from_nanos(1_000), Event::Sample);
//! assert_eq!(calendar.pop(), Some((later, Event::Arrival)));
//! assert_eq!(calendar.now(), later);
//! ```

mod alarm;
mod calendar;
mod streams;

pub use alarm::{Alarm, Fired};
pub use calendar::Calendar;
pub use streams::{Draws, Streams};
