//! What a socket asks and tells only a sender: a pure receiver has nothing to send, nothing waits for room, and it never
//! gives up.

use super::Endpoint;
use crate::sender::Sender;
use crate::sending_half::SendingHalf;

impl<S: SendingHalf> Endpoint<S> {
    /// For tests: the shortcuts for common ACKs, data and transmissions are taken.
    #[inline]
    pub(super) fn takes_shortcuts(&self) -> bool {
        self.sender.as_sender().is_none_or(Sender::takes_shortcuts)
    }

    /// The connection was aborted after too many timeouts (`ETIMEDOUT`).
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| sender.aborted)
    }

    /// Nothing is to be sent, and no loss probe is out.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.sender.as_sender().is_none_or(|sender| !sender.has_unsent() && sender.tlp.high_seq.is_none())
    }

    /// The transmit loop is to run.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| sender.gate.work.has_work())
    }

    /// A window probe without data is to be sent.
    #[inline]
    pub(super) fn probe_due(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| sender.timer.probe_due)
    }

    /// The application is to be woken, since the send buffer has room.
    #[inline]
    pub(super) fn is_writable(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| sender.buffer.writable)
    }

    /// Wakes an application that waits for room in the send buffer, if there is some.
    #[inline]
    pub(super) fn check_space(&mut self) {
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.check_space();
        }
    }

    /// The room that data leaves for the option of accurate ECN may have changed.
    pub(super) fn synchronise_room(&mut self) {
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.synchronise_room();
        }
    }

    /// A packet was sent: looks up an outdated route again.
    #[inline]
    pub(super) fn refresh_route(&mut self) {
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.refresh_route();
        }
    }
}
