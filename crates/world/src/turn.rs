//! In which order what is caused at one time is processed, and what of it waits.
//!
//! ```text
//! credits → packets received → small queues → the socket that is read in its application's place → applications
//! ```

use crate::world::World;

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

impl World {
    /// Something waits whose turn comes before `turn`.
    // The lengths make one condition: nearly always all of them are 0. Those behind a `turn` that is known vanish.
    #[inline(always)]
    fn something_precedes(&self, turn: Turn) -> bool {
        let waiting = [
            (Turn::Credits, self.context.effects.credits.len()),
            (Turn::Received, self.context.backlog.len()),
            (Turn::SmallQueues, self.small_queues.len()),
            (Turn::Reader, usize::from(self.reader.is_some())),
            (Turn::Applications, self.runnable.len()),
        ];
        waiting.iter().fold(0, |all, &(each, length)| if each < turn { all | length } else { all }) > 0
    }

    /// Nothing is left to be processed at this time.
    #[inline(always)]
    pub(crate) fn is_settled(&self) -> bool {
        !self.something_precedes(Turn::NextEvent)
    }

    /// Nothing is left to be processed, and no socket is still to be charged for the segments of a train.
    #[inline(always)]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_settled() && self.context.segmented.is_empty()
    }

    /// No turn comes before that of the socket that is read in its application's place.
    #[inline(always)]
    pub(crate) fn nothing_precedes_reader(&self) -> bool {
        !self.something_precedes(Turn::Reader)
    }

    /// As [`World::nothing_precedes_reader`], and no socket is still to be charged for the segments of a train.
    #[inline(always)]
    pub(crate) fn is_turn_of_reader(&self) -> bool {
        self.nothing_precedes_reader() && self.context.segmented.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use tailback_packet::SocketId;

    use super::*;
    use crate::example::chain;

    #[test]
    fn what_waits_precedes_all_later_turns_and_no_earlier_one() {
        let later = [Turn::SmallQueues, Turn::Reader, Turn::Applications, Turn::NextEvent];
        let mut world = World::build(&chain("")).unwrap();
        assert!(world.is_settled() && world.is_at_rest() && world.is_turn_of_reader());
        world.small_queues.push(SocketId(0));
        let precedes = |world: &World| later.map(|turn| world.something_precedes(turn));
        assert_eq!(precedes(&world), [false, true, true, true]);
        world.small_queues.clear();
        world.reader = Some(SocketId(0));
        assert_eq!(precedes(&world), [false, false, true, true]);
        world.reader = None;
        world.runnable.push_back(SocketId(0));
        assert_eq!(precedes(&world), [false, false, false, true]);
        assert!(!world.is_settled() && world.is_turn_of_reader());
    }
}
