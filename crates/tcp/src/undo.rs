//! Undo: reverses a reduction of cwnd that was unnecessary.
//!
//! A recovery was spurious if every retransmission was reported as a duplicate (DSACK), or if the ACK echoes a
//! timestamp older than the first retransmission (Eifel). cwnd and ssthresh are then restored.
//! [rfc3522] [rfc3708] [linux-6.12 tcp_input.c tcp_may_undo, tcp_undo_cwnd_reduction]

use crate::info::Note;
use crate::one_word::OneWord;
use crate::sender::Sender;
use tailback_cc::CaState;

impl Sender {
    /// The ACK being processed is for a segment sent before the first retransmission.
    fn packet_was_delayed(&self) -> bool {
        match self.recovery.retrans_stamp.get() {
            Some(stamp) => self.echoed.time().is_some_and(|echo| echo < stamp),
            // Nothing was retransmitted yet, and una advanced: the segment was only late. Without SACK the time is also
            // forgotten at the end of the recovery.
            None => self.agreement.sack || self.flow.snd_una < self.recovery.high_seq,
        }
    }

    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == Some(0) || self.packet_was_delayed())
    }

    fn undo(&mut self, unmark_losses: Unmark) {
        if unmark_losses == Unmark::Losses {
            self.scoreboard.unmark_losses();
        }
        if let Some(prior) = self.recovery.prior_ssthresh {
            self.refresh_flow();
            self.window.cwnd = self.control.undo_cwnd(&self.flow, &mut self.window);
            if prior > self.window.ssthresh {
                self.window.ssthresh = prior;
                self.ecn.withdraw_reduction();
            }
        }
        self.usage.stamp = self.flow.now;
        self.recovery.undo_marker = OneWord::NONE;
        self.rack.advanced = true;
        self.notes.push(Note::Undo);
    }

    /// Without SACK a recovery lasts until data above its end is acknowledged: a late duplicate would begin another one.
    /// [rfc6582 §3.2] [tcp_is_non_sack_preventing_reopen]
    fn stays_at_high_seq(&mut self) -> bool {
        let stays = !self.agreement.sack && self.flow.snd_una == self.recovery.high_seq;
        if stays {
            self.recovery.forget_retrans_stamp_unless(self.scoreboard.any_retransmission_done());
        }
        stays
    }

    /// At the end of recovery, undoes it if it was spurious. True if its state stays. [tcp_try_undo_recovery]
    pub(crate) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo(Unmark::Nothing);
        } else {
            self.rack.count_recovery();
        }
        if self.stays_at_high_seq() {
            return true;
        }
        self.set_ca_state(CaState::Open);
        self.recovery.sack_reneged = false;
        false
    }

    /// Undoes a reduction if every retransmission was a duplicate. [tcp_try_undo_dsack]
    pub(crate) fn try_undo_dsack(&mut self) -> bool {
        let needless = self.recovery.was_spurious();
        if needless {
            self.rack.renew_persist();
            self.undo(Unmark::Nothing);
        }
        needless
    }

    /// Undoes a spurious timeout. [tcp_try_undo_loss]
    pub(crate) fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo(Unmark::Losses);
        self.recovery.retransmits = 0;
        if !self.stays_at_high_seq() && (by_frto || self.agreement.sack) {
            self.set_ca_state(CaState::Open);
            self.recovery.sack_reneged = false;
        }
        true
    }

    /// Undoes a reduction if a late packet, not a retransmission, filled a hole. True if the ACK needs no further
    /// processing, since retransmissions are still outstanding. [tcp_try_undo_partial]
    pub(crate) fn try_undo_partial(&mut self, prior_una: u64) -> bool {
        if self.recovery.undo_marker.is_none() || !self.packet_was_delayed() {
            return false;
        }
        self.check_reordering(Some(prior_una));
        if self.scoreboard.retrans_out() > 0 {
            return true;
        }
        self.recovery.forget_retrans_stamp_unless(self.scoreboard.any_retransmission_done());
        self.undo(Unmark::Losses);
        self.try_keep_open();
        false
    }
}

/// What an undo does with the marks of the scoreboard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unmark {
    Nothing,
    Losses,
}
