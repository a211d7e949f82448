//! In which order what is caused at one time is processed, and what of it waits.
//!
//! ```text
//! credits → packets received → small queues → the socket that is read in its application's place → applications
//! ```

use std::collections::VecDeque;

use tailback_packet::SocketId;
use tailback_tcp::Wakeup;

use crate::context::Context;
use crate::socket::{Drawing, TcpSocket};

/// Data arrived, and nothing else.
const READABLE: Wakeup = Wakeup { readable: true, writable: false, finished: false };

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Turn {
    /// Sockets get back the credits of packets that have left. [linux-6.12 tcp_wfree]
    Credits,
    /// Packets that have reached a host.
    Received,
    /// Sockets whose small queue drained. [linux-6.12 tcp_output.c tcp_tsq_workfn]
    SmallQueues,
    /// The socket whose data is only counted.
    Reader,
    /// Applications that were woken.
    Applications,
    /// The next event.
    NextEvent,
}

/// What waits for its turn, beside what the [`Context`] has: sockets.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Sockets whose small queue drained.
    pub(crate) small_queues: Vec<SocketId>,
    /// A socket that is to be read in the place of its application, before those of `runnable` are.
    pub(crate) reader: Option<SocketId>,
    /// Sockets whose application was woken.
    pub(crate) runnable: VecDeque<SocketId>,
}

impl Waiting {
    /// Something waits whose turn comes before `turn`.
    // The lengths make one condition: nearly always all of them are 0. Those behind a `turn` that is known vanish.
    #[inline(always)]
    fn something_precedes(&self, turn: Turn, context: &Context) -> bool {
        let waiting = [
            (Turn::Credits, context.effects.credits.len()),
            (Turn::Received, context.backlog.len()),
            (Turn::SmallQueues, self.small_queues.len()),
            (Turn::Reader, usize::from(self.reader.is_some())),
            (Turn::Applications, self.runnable.len()),
        ];
        waiting.iter().fold(0, |all, &(each, length)| if each < turn { all | length } else { all }) > 0
    }

    /// Nothing is left to be processed at this time.
    #[inline(always)]
    pub(crate) fn is_settled(&self, context: &Context) -> bool {
        !self.something_precedes(Turn::NextEvent, context)
    }

    /// Nothing is left to be processed, and no socket is still to be charged for the segments of a train.
    #[inline(always)]
    pub(crate) fn is_at_rest(&self, context: &Context) -> bool {
        self.is_settled(context) && context.segmented.is_empty()
    }

    /// No turn comes before that of the socket that is read in its application's place.
    #[inline(always)]
    pub(crate) fn nothing_precedes_reader(&self, context: &Context) -> bool {
        !self.something_precedes(Turn::Reader, context)
    }

    /// As [`Waiting::nothing_precedes_reader`], and no socket is still to be charged for the segments of a train.
    #[inline(always)]
    pub(crate) fn is_turn_of_reader(&self, context: &Context) -> bool {
        self.nothing_precedes_reader(context) && context.segmented.is_empty()
    }

    /// Queues the application of a socket. Data that is only to be counted needs none, if it is its turn: the socket is
    /// then the `reader`.
    #[inline(always)]
    pub(crate) fn wake<S: Drawing>(&mut self, socket: &mut TcpSocket<S>, id: SocketId) {
        let only_counts = socket.only_counts && socket.endpoint.is_only_readable();
        if only_counts && self.reader.is_none() && self.runnable.is_empty() {
            let wakeup = socket.endpoint.wakeup();
            debug_assert_eq!(wakeup, READABLE);
            self.reader = Some(id);
        } else {
            self.wake_otherwise(socket, id);
        }
    }

    /// Wakes the application of a socket that does not become the reader.
    #[inline(never)]
    fn wake_otherwise<S: Drawing>(&mut self, socket: &mut TcpSocket<S>, id: SocketId) {
        let wakeup = socket.endpoint.wakeup();
        let only_counts = wakeup == READABLE && socket.only_counts;
        if !(wakeup.is_none() || only_counts && self.reader == Some(id)) {
            self.queue_application(socket, id);
            socket.woken = socket.woken.with(wakeup);
        }
    }

    /// The application is called in its turn; if its data was to be read before, it is called for that too.
    #[inline(never)]
    fn queue_application<S: Drawing>(&mut self, socket: &mut TcpSocket<S>, id: SocketId) {
        if self.reader == Some(id) {
            self.reader = None;
            socket.woken = READABLE;
            self.runnable.push_front(id);
        } else if socket.woken.is_none() {
            self.runnable.push_back(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::chain;
    use crate::world::World;

    #[test]
    fn what_waits_precedes_all_later_turns_and_no_earlier_one() {
        let later = [Turn::SmallQueues, Turn::Reader, Turn::Applications, Turn::NextEvent];
        let world = World::build(&chain("")).unwrap();
        let (mut waiting, context) = (Waiting::default(), &world.context);
        assert!(waiting.is_settled(context) && waiting.is_at_rest(context));
        assert!(waiting.is_turn_of_reader(context));
        waiting.small_queues.push(SocketId(0));
        let precedes = |waiting: &Waiting| later.map(|turn| waiting.something_precedes(turn, context));
        assert_eq!(precedes(&waiting), [false, true, true, true]);
        waiting.small_queues.clear();
        waiting.reader = Some(SocketId(0));
        assert_eq!(precedes(&waiting), [false, false, true, true]);
        waiting.reader = None;
        waiting.runnable.push_back(SocketId(0));
        assert_eq!(precedes(&waiting), [false, false, false, true]);
        assert!(!waiting.is_settled(context) && waiting.is_turn_of_reader(context));
    }
}
