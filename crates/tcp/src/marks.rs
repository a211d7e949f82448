//! The marks that an ACK tells by accurate ECN, and the room that data leaves for its option.

use tailback_cc::CaState;
use tailback_packet::Segment;

use crate::accecn::feedback::{Around, Delivered};
use crate::sender::{AckFlags, Sender};

/// The sender before an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeMarks {
    pub(crate) una: u64,
    pub(crate) delivered: u64,
    pub(crate) sacked: u64,
}

impl Sender {
    /// What the marks of an ACK are computed from.
    #[inline(never)]
    pub(crate) fn before_marks(&self) -> BeforeMarks {
        let sacked = if self.scoreboard.sacked_out() == 0 { 0 } else { self.scoreboard.sacked_bytes() };
        BeforeMarks { una: self.flow.snd_una, delivered: self.flow.delivered, sacked }
    }

    /// The marks that an ACK tells, which count from now on.
    #[inline(never)]
    pub(crate) fn take_marks(&mut self, ack: &Segment, before: &BeforeMarks, flags: &mut AckFlags) {
        let after = self.before_marks();
        let mss = u64::from(self.flow.mss + self.ecn.reserved());
        let progress = flags.data_acked || flags.data_sacked;
        let around = Around {
            mss,
            sent: self.sent.bytes_sent,
            marks: self.flow.delivered_ce,
            exact: self.agreement.sack || matches!(self.flow.ca_state, CaState::Open | CaState::Cwr),
        };
        let Some(accurate) = self.ecn.accurate_mut() else { return };
        if !(progress || accurate.feedback.is_newer()) {
            return;
        }
        let bytes = (after.una - before.una + after.sacked).saturating_sub(before.sacked);
        let delivered = Delivered { packets: after.delivered - before.delivered, bytes };
        let marks = accurate.marks_of(ack, delivered, &around);
        self.flow.delivered_ce += marks;
        flags.ece |= marks > 0;
        self.synchronise_room();
    }

    /// The room for the option has changed: full segments are larger or smaller from now on.
    pub(crate) fn synchronise_room(&mut self) {
        let (before, room) = (self.ecn.reserved(), self.ecn.room());
        if before != room {
            self.flow.mss = (self.flow.mss + before).saturating_sub(room).max(1);
            self.ecn.reserve(room);
            self.routine = false;
            self.buffer.may_have_space();
        }
    }
}
