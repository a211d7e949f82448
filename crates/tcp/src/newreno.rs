//! Loss detection without SACK: each duplicate ACK counts as the SACK of some segment.
//!
//! ```text
//! duplicate ACK:    sacked_out += 1, at most packets_out − max(lost_out, 1)
//! head lost:        before recovery when sacked_out ≥ reordering;  in recovery at each partial ACK
//! n segments acked: one filled the hole, the others were counted: sacked_out −= n − 1
//! more duplicates than that: the path reorders, by as many segments as are out (and were acked)
//! ```
//! Recovery lasts until data above its end is acknowledged. [rfc6582] [linux-6.12 tcp_input.c
//! tcp_add_reno_sack, tcp_remove_reno_sacks, tcp_newreno_mark_lost, tcp_check_reno_reordering]

use tailback_cc::CaState;

use crate::queue::Tags;
use crate::scoreboard::Counted;
use crate::sender::{AckFlags, Sender};

impl Sender {
    /// Counts an ACK that may be a duplicate, before loss detection.
    pub(crate) fn count_duplicate(&mut self, flags: &AckFlags) {
        if self.agreement.sack {
            return;
        }
        if flags.una_advanced && self.flow.ca_state < CaState::Recovery {
            self.scoreboard.forget_duplicates();
        }
        if flags.is_duplicate() {
            self.add_duplicate();
        }
    }

    /// One segment more has arrived. [tcp_add_reno_sack]
    pub(crate) fn add_duplicate(&mut self) {
        let counted = self.scoreboard.count_duplicate();
        self.take_counted(counted, 0);
    }

    /// After `acked` segments were acknowledged, the scoreboard has counted what has arrived.
    pub(crate) fn take_counted(&mut self, counted: Counted, acked: u32) {
        self.flow.delivered += u64::from(counted.fresh);
        if counted.limited {
            let segments = self.scoreboard.packets_out() + acked;
            self.recovery.note_many_duplicates(segments, self.settings.max_reordering);
        }
    }

    /// Marks the head lost after enough duplicates, or at a partial ACK.
    pub(crate) fn newreno_mark_lost(&mut self, una_advanced: bool) {
        let enough = self.flow.ca_state < CaState::Recovery
            && self.scoreboard.sacked_out() >= self.recovery.reordering;
        let partial = self.flow.ca_state == CaState::Recovery && una_advanced;
        let head = self.scoreboard.queue().head();
        if (enough || partial) && !self.scoreboard.get(head).tags.has(Tags::LOST) {
            self.mark_lost(head);
            self.scoreboard.limit_duplicates();
        }
    }
}
