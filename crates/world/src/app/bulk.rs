//! An application that sends as much as the socket takes: blocking `send()` of 128 KiB, one after the other.
//!
//! It stops after so many bytes or at an instant, whichever comes first; a message it was blocked in at that
//! instant is not finished. Then it closes the socket.

/// Bytes of one `send()`.
const MESSAGE: u64 = 131_072;

/// Where a bulk application stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Before its start.
    Waiting,
    /// Connected or connecting; sends.
    Sending,
    /// Has closed; data may still be on its way.
    Closed,
    /// All its data was acknowledged.
    Finished,
}

/// One sending application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    pub(crate) phase: Phase,
    /// Bytes of the present `send()` that the socket has not taken.
    message: u64,
    /// Bytes of later messages; `None` = no end.
    later: Option<u64>,
}

impl Bulk {
    /// Sends `bytes`, or for ever.
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        Bulk { phase: Phase::Waiting, message: 0, later: bytes }
    }

    /// What it asks of `send()` now; `None` when all is sent.
    pub(crate) fn wants(&mut self) -> Option<u64> {
        if self.message == 0 {
            self.message = self.later.map_or(MESSAGE, |later| later.min(MESSAGE));
            self.later = self.later.map(|later| later - self.message);
        }
        (self.message > 0).then_some(self.message)
    }

    /// The socket took `bytes` of what it asked.
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.message -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_rest_is_offered_again_before_the_next_message() {
        let mut bulk = Bulk::new(None);
        assert_eq!(bulk.wants(), Some(131_072));
        bulk.sent(100_000);
        assert_eq!(bulk.wants(), Some(31_072));
        bulk.sent(31_072);
        assert_eq!(bulk.wants(), Some(131_072));
    }

    #[test]
    fn a_transfer_of_200_kb_is_two_messages() {
        let mut bulk = Bulk::new(Some(200_000));
        bulk.wants();
        bulk.sent(131_072);
        assert_eq!(bulk.wants(), Some(68_928));
        bulk.sent(68_928);
        assert_eq!(bulk.wants(), None);
    }
}
