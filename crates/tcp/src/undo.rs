//! Undo: taking back a reduction that turned out wrong.
//!
//! A recovery was needless if every retransmission was reported as a duplicate (DSACK), or if the ACK echoes a
//! timestamp older than the first retransmission (Eifel). Then cwnd and ssthresh return to what they were.
//! [rfc3522] [rfc3708] [linux-6.12 tcp_input.c tcp_may_undo, tcp_undo_cwnd_reduction]

use tailback_cc::CaState;
use tailback_units::{SimTime, Span};

use crate::info::Note;
use crate::queue::Tags;
use crate::sender::Sender;

/// Clock of the timestamp option. [linux-6.12 tcp.h TCP_TS_HZ]
pub(crate) const TIMESTAMP_CLOCK: Span = Span::from_millis(1);

/// A time as the timestamp option carries it.
pub(crate) fn timestamp(time: SimTime) -> SimTime {
    SimTime::from_nanos(time.ticks(TIMESTAMP_CLOCK) * TIMESTAMP_CLOCK.as_nanos())
}

impl Sender {
    /// The ACK being processed answers something sent before the first retransmission.
    fn packet_was_delayed(&self) -> bool {
        match self.reduction.retrans_stamp {
            Some(stamp) => self.echoed.is_some_and(|echo| echo < stamp),
            // Nothing was retransmitted yet, and una advanced: it was merely late.
            None => true,
        }
    }

    fn may_undo(&self) -> bool {
        self.reduction.undo_marker.is_some()
            && (self.reduction.undo_retrans == Some(0) || self.packet_was_delayed())
    }

    fn undo(&mut self, unmark_losses: Unmark) {
        if unmark_losses == Unmark::Losses {
            for index in self.queue.head()..self.queue.end() {
                self.queue.get_mut(index).tags.clear(Tags::LOST);
            }
            self.lost_out = 0;
            self.retransmit_hint = self.queue.end();
        }
        if let Some(prior) = self.reduction.prior_ssthresh {
            self.window.cwnd = self.control_undo_cwnd();
            self.window.ssthresh = self.window.ssthresh.max(prior);
        }
        self.usage.stamp = self.flow.now;
        self.reduction.undo_marker = None;
        self.rack.advanced = true;
        self.notes.push(Note::Undo);
    }

    /// Recovery is over; was it needed? [tcp_try_undo_recovery]
    pub(crate) fn try_undo_recovery(&mut self) {
        if self.may_undo() {
            self.undo(Unmark::Nothing);
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        self.set_ca_state(CaState::Open);
    }

    /// Every retransmission was a duplicate. [tcp_try_undo_dsack]
    pub(crate) fn try_undo_dsack(&mut self) -> bool {
        let needless = self.reduction.undo_marker.is_some() && self.reduction.undo_retrans == Some(0);
        if needless {
            self.rack.renew_persist();
            self.undo(Unmark::Nothing);
        }
        needless
    }

    /// A timeout was spurious. [tcp_try_undo_loss]
    pub(crate) fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo(Unmark::Losses);
        self.retransmits = 0;
        self.set_ca_state(CaState::Open);
        true
    }

    /// A hole was filled by a late packet, not by a retransmission. True if nothing else should be done with the
    /// ACK: retransmissions are still out. [tcp_try_undo_partial]
    pub(crate) fn try_undo_partial(&mut self, prior_una: u64) -> bool {
        if self.reduction.undo_marker.is_none() || !self.packet_was_delayed() {
            return false;
        }
        self.check_reordering(Some(prior_una));
        if self.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_done() {
            self.reduction.retrans_stamp = None;
        }
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
