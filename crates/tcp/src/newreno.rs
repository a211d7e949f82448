//! A peer without SACK: duplicate ACKs are counted as if each were a SACK of some segment.
//!
//! ```text
//! duplicate ACK:    sacked_out += 1, at most packets_out − max(lost_out, 1)
//! head lost:        before recovery when sacked_out ≥ reordering;  in recovery at each partial ACK
//! n segments acked: one filled the hole, the others were counted: sacked_out −= n − 1
//! ```
//! Recovery is held until something above its end is acknowledged. [rfc6582] [linux-6.12 tcp_input.c
//! tcp_add_reno_sack, tcp_remove_reno_sacks, tcp_newreno_mark_lost, tcp_limit_reno_sacked]

use tailback_cc::CaState;

use crate::queue::Tags;
use crate::sender::{AckFlags, Sender};

impl Sender {
    pub(crate) fn is_reno(&self) -> bool {
        !self.agreement.sack
    }

    /// An ACK that may be a duplicate, before losses are looked for.
    pub(crate) fn count_duplicate(&mut self, flags: &AckFlags) {
        if !self.is_reno() {
            return;
        }
        if flags.una_advanced && self.flow.ca_state < CaState::Recovery {
            self.sacked_out = 0;
        }
        if flags.una_advanced || flags.not_duplicate() || flags.dsack {
            return;
        }
        let before = self.sacked_out;
        self.sacked_out += 1;
        self.limit_duplicates();
        self.flow.delivered += u64::from(self.sacked_out.saturating_sub(before));
    }

    /// There cannot be more duplicates than segments beside the holes.
    fn limit_duplicates(&mut self) {
        let packets_out = self.flow.packets_out.0;
        let holes = self.lost_out.max(1).min(packets_out);
        self.sacked_out = self.sacked_out.min(packets_out - holes);
    }

    /// So many segments were acknowledged; returns how many of them no duplicate ACK had told of.
    pub(crate) fn forget_duplicates(&mut self, acked: u32) -> u32 {
        if acked == 0 {
            return 0;
        }
        let fresh = acked.saturating_sub(self.sacked_out).max(1);
        self.sacked_out = self.sacked_out.saturating_sub(acked - 1);
        self.limit_duplicates();
        fresh
    }

    /// The head is lost after enough duplicates, or at a partial ACK.
    pub(crate) fn newreno_mark_lost(&mut self, una_advanced: bool) {
        let enough = self.flow.ca_state < CaState::Recovery && self.sacked_out >= self.reordering;
        let partial = self.flow.ca_state >= CaState::Recovery && una_advanced;
        let head = self.queue.head();
        if (enough || partial) && !self.queue.get(head).tags.has(Tags::LOST) {
            self.mark_lost(head);
            self.limit_duplicates();
        }
    }
}
