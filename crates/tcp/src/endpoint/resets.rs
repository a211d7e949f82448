//! A RST arrives.

use tailback_packet::Segment;
use tailback_units::SimTime;

use super::{Endpoint, State};
use crate::sending_half::SendingHalf;
use crate::stack::EmbryonicReset;

/// What a RST does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// The connection ends.
    Ends,
    /// It goes on; a challenge ACK may be to be sent.
    Survives,
}

impl<S: SendingHalf> Endpoint<S> {
    /// A RST arrived. Only one that has the right place in the stream ends a connection, so that a stranger has to know it;
    /// one within the window is challenged, another ignored. [rfc5961 §3.2] [linux-6.12 tcp_input.c tcp_validate_incoming]
    pub fn take_reset(&mut self, reset: &Segment, now: SimTime) -> Reset {
        self.sender.set_now(now);
        if self.state == State::SynReceived {
            return self.take_embryonic_reset(reset, now);
        }
        if self.receiver.ends_by(reset) {
            return Reset::Ends;
        }
        if self.receiver.is_acceptable(reset) {
            self.receiver.challenge(now);
        }
        Reset::Survives
    }

    /// A RST before the handshake ends. Its ACK, if it has one, does not count.
    /// [linux-6.12 tcp_minisocks.c tcp_check_req]
    fn take_embryonic_reset(&mut self, reset: &Segment, now: SimTime) -> Reset {
        let next = self.receiver.rcv_nxt;
        let within = reset.seq >= next && reset.seq <= next + self.receiver.window.left(next);
        let taken = self.sender.settings().stack.embryonic_reset == EmbryonicReset::Taken;
        if reset.seq == next || (within && taken) {
            return Reset::Ends;
        }
        if within {
            self.receiver.challenge(now);
            if std::mem::take(&mut self.receiver.ack_due) {
                let after_syn = Segment { seq: 1, ..self.pure_ack() };
                self.outbox.get_or_insert_default().push_back(after_syn);
            }
        }
        Reset::Survives
    }
}
