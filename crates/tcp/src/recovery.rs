//! Loss recovery: the state machine Open – Disorder – CWR – Recovery – Loss. What one ACK does to cwnd in a reduction is
//! in `state/prr.rs`. [linux-6.12 tcp_input.c tcp_fastretrans_alert]

use tailback_cc::{CaState, CwndEvent};
use tailback_units::{Segs, Span};

use crate::one_word::OneWord;
use crate::sender::{AckFlags, Sender};
use crate::stack::{PrrProgress, TimeoutMarks};
use crate::state::gate::Retransmit;
use crate::state::prr::Progress;
use crate::state::timer::TimerKind;

/// The bound of PRR below ssthresh for the ACK being processed, which shows so many new losses.
fn progress(by: PrrProgress, newly_lost: u32, flags: &AckFlags) -> Progress {
    match by {
        PrrProgress::UnaAdvanced if flags.una_advanced && newly_lost == 0 => Progress::Good,
        PrrProgress::UnaAdvanced => Progress::Slow,
        PrrProgress::RetransmissionAcked if flags.retrans_data_acked && !flags.lost_retrans => Progress::Good,
        PrrProgress::RetransmissionAcked => Progress::None,
    }
}

impl Sender {
    /// An ACK that is a duplicate, carries SACKs, or arrives outside Open. [tcp_fastretrans_alert]
    #[inline(never)]
    pub(crate) fn fast_retransmit_alert(&mut self, prior_una: u64, flags: &mut AckFlags) -> Retransmit {
        if self.scoreboard.is_empty() {
            self.scoreboard.forget_duplicates();
        }
        if flags.ece {
            self.recovery.prior_ssthresh = None;
        }
        if self.check_reneging(flags) {
            return Retransmit::Nothing;
        }
        if self.flow.ca_state == CaState::Open {
            self.recovery.retrans_stamp = OneWord::NONE;
        } else if self.flow.snd_una >= self.recovery.high_seq && self.stays_at_the_end() {
            return Retransmit::Nothing;
        }
        match self.flow.ca_state {
            CaState::Recovery => self.in_recovery(prior_una, flags),
            CaState::Loss => self.in_loss(flags),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.before_recovery(flags),
        }
    }

    /// The window in which recovery began is acknowledged. True if recovery is not over nonetheless.
    fn stays_at_the_end(&mut self) -> bool {
        match self.flow.ca_state {
            // CWR lasts until data above high_seq is acknowledged.
            CaState::Cwr if self.flow.snd_una != self.recovery.high_seq => {
                self.end_cwnd_reduction();
                self.set_ca_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.agreement.sack {
                    self.scoreboard.forget_duplicates();
                }
                if self.try_undo_recovery() {
                    return true;
                }
                self.end_cwnd_reduction();
            }
            _ => {}
        }
        false
    }

    fn in_recovery(&mut self, prior_una: u64, flags: &mut AckFlags) -> Retransmit {
        if flags.una_advanced && self.try_undo_partial(prior_una) {
            return Retransmit::Nothing;
        }
        self.count_duplicate(flags);
        if self.try_undo_dsack() {
            self.try_to_open(flags);
        }
        self.identify_losses(flags);
        if self.flow.ca_state != CaState::Recovery {
            if self.scoreboard.lost_out() == 0 {
                return Retransmit::Nothing;
            }
            // The reduction was undone, but another loss was detected.
            self.enter_recovery(flags.ece);
        }
        Retransmit::Lost
    }

    fn in_loss(&mut self, flags: &mut AckFlags) -> Retransmit {
        let retransmit = self.process_loss(flags);
        self.identify_losses(flags);
        if self.flow.ca_state != CaState::Open && !flags.lost_retrans {
            return retransmit;
        }
        match self.before_recovery(flags) {
            Retransmit::Nothing => retransmit,
            other => other,
        }
    }

    fn before_recovery(&mut self, flags: &mut AckFlags) -> Retransmit {
        self.count_duplicate(flags);
        if self.flow.ca_state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_losses(flags);
        if self.scoreboard.lost_out() == 0 {
            self.try_to_open(flags);
            return Retransmit::Nothing;
        }
        if !self.mtu_probe_failed() {
            self.enter_recovery(flags.ece);
        }
        Retransmit::Lost
    }

    /// Only RACK tells that a retransmission was lost. [linux-6.12 tcp_input.c tcp_identify_packet_loss]
    fn identify_losses(&mut self, flags: &mut AckFlags) {
        if self.scoreboard.is_empty() {
            return;
        }
        if !self.agreement.sack {
            return self.newreno_mark_lost(flags.una_advanced);
        }
        let before = self.scoreboard.retrans_out();
        if self.rack_mark_lost() {
            flags.set_timer = false;
        }
        flags.lost_retrans |= before > self.scoreboard.retrans_out();
    }

    /// Enters Open or Disorder, by what is outstanding, or CWR after ECE. [linux-6.12 tcp_input.c tcp_try_to_open]
    fn try_to_open(&mut self, flags: &AckFlags) {
        self.recovery.forget_retrans_stamp_unless(self.scoreboard.any_retransmission_done());
        if flags.ece {
            self.enter_cwr();
        }
        if self.flow.ca_state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    pub(crate) fn try_keep_open(&mut self) {
        let left_out = self.scoreboard.sacked_out() + self.scoreboard.lost_out() > 0;
        let state = if left_out || self.scoreboard.any_retransmission_done() {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.flow.ca_state != state {
            self.set_ca_state(state);
            self.recovery.high_seq = self.flow.snd_nxt;
        }
    }

    /// The head is SACKed but not acknowledged: the receiver has discarded it (reneging). [rfc2018 §8]
    fn check_reneging(&mut self, flags: &mut AckFlags) -> bool {
        if !flags.sack_reneging || !flags.una_advanced {
            return false;
        }
        let soon = (self.rtt.srtt() / 2).max(Span::from_millis(10));
        self.timer.arm(TimerKind::Retransmission, soon, &self.flow);
        flags.set_timer = false;
        true
    }

    /// Enters fast recovery; a reduction in progress (CWR) continues. [tcp_enter_recovery]
    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.recovery.forget_retrans_stamp_unless(self.scoreboard.any_retransmission_done());
        self.recovery.prior_ssthresh = None;
        self.recovery.allow_undo(self.flow.snd_una, &self.scoreboard, self.tlp);
        if !self.flow.ca_state.reduces_cwnd() {
            if !ece {
                self.recovery.prior_ssthresh = Some(self.window.current_ssthresh(self.flow.ca_state));
            }
            self.begin_cwnd_reduction();
        }
        self.set_ca_state(CaState::Recovery);
    }

    /// Enters CWR, a reduction without loss: after ECE, or after a drop by the local queue. [tcp_enter_cwr]
    pub(crate) fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = None;
        if self.flow.ca_state < CaState::Cwr {
            self.recovery.undo_marker = OneWord::NONE;
            self.begin_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
        }
    }

    pub(crate) fn begin_cwnd_reduction(&mut self) {
        self.recovery.begin_reduction(self.flow.snd_nxt);
        self.tlp.high_seq = OneWord::NONE;
        self.window.cwnd_cnt = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.refresh_flow();
        self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
        self.ecn.reduced();
    }

    /// An ACK of a reduction delivers so many segments, and shows so many new losses.
    pub(crate) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, flags: &AckFlags) {
        let progress = progress(self.settings.stack.prr_progress, newly_lost, flags);
        self.recovery.prr.reduce(&mut self.window, self.scoreboard.in_flight(), delivered, progress);
    }

    pub(crate) fn end_cwnd_reduction(&mut self) {
        if self.control.is_model() {
            return;
        }
        let finite = self.window.ssthresh < Segs::INFINITE;
        if finite && (self.flow.ca_state == CaState::Cwr || self.recovery.undo_marker.is_some()) {
            self.window.cwnd = self.window.ssthresh;
            self.usage.stamp = self.flow.now;
        }
        self.cwnd_event(CwndEvent::CompleteCwr);
    }

    /// An ACK after a timeout: F-RTO, undo, or more to retransmit. [rfc5682 §3.1] [tcp_process_loss]
    fn process_loss(&mut self, flags: &mut AckFlags) -> Retransmit {
        let recovered = self.flow.snd_una >= self.recovery.high_seq;
        if flags.una_advanced && self.try_undo_loss(false) {
            return Retransmit::Nothing;
        }
        if self.recovery.frto {
            // Data that was sent before the timeout and not retransmitted has arrived: nothing was lost.
            if flags.orig_sack_acked && self.try_undo_loss(true) {
                return Retransmit::Nothing;
            }
            if self.flow.snd_nxt > self.recovery.high_seq {
                if flags.data_sacked || flags.is_duplicate() {
                    self.recovery.frto = false;
                }
            } else if flags.una_advanced && !recovered {
                self.recovery.high_seq = self.flow.snd_nxt;
                if self.has_unsent() && self.peer.window_end(self.flow.snd_una) > self.flow.snd_nxt {
                    return Retransmit::NewData;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Retransmit::Nothing;
        }
        if !self.agreement.sack {
            // New data of F-RTO has arrived, and clocks out retransmissions.
            if self.flow.snd_nxt > self.recovery.high_seq && flags.is_duplicate() {
                self.add_duplicate();
            } else if flags.una_advanced {
                self.scoreboard.forget_duplicates();
            }
        }
        Retransmit::Lost
    }

    /// After a timeout, marks everything lost that is not recent, and sets cwnd to one segment. [rfc5681 §3.1]
    /// [linux-6.12 tcp_input.c tcp_enter_loss]
    pub(crate) fn enter_loss(&mut self) {
        let new_recovery = self.flow.ca_state < CaState::Recovery;
        self.mark_all_lost();
        let again = self.flow.ca_state == CaState::Loss && self.recovery.retransmits == 0;
        if self.flow.ca_state <= CaState::Disorder || self.recovery.high_seq <= self.flow.snd_una || again {
            self.recovery.prior_ssthresh = Some(self.window.current_ssthresh(self.flow.ca_state));
            self.window.prior_cwnd = self.window.cwnd;
            self.refresh_flow();
            self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
            self.cwnd_event(CwndEvent::Loss);
            self.recovery.allow_undo(self.flow.snd_una, &self.scoreboard, self.tlp);
        }
        self.window.cwnd = Segs(self.scoreboard.in_flight() + 1);
        self.window.cwnd_cnt = 0;
        self.usage.stamp = self.flow.now;
        let initial = self.settings.reordering;
        if self.flow.ca_state == CaState::Disorder && self.scoreboard.sacked_out() >= initial {
            self.recovery.reordering = self.recovery.reordering.min(initial);
        }
        self.set_ca_state(CaState::Loss);
        self.ecn.reduced();
        self.recovery.high_seq = self.flow.snd_nxt;
        // The timeout has already reduced cwnd for the probe: an ACK of it must not reduce it again.
        self.tlp.high_seq = OneWord::NONE;
        let first = new_recovery || self.recovery.retransmits > 0;
        self.recovery.frto = self.settings.frto && first && !self.path.probe_is_out();
    }

    /// Marks all but segments too young to be lost; before Linux 4.18 also these. [linux-6.12 tcp_input.c
    /// tcp_timeout_mark_lost]
    fn mark_all_lost(&mut self) {
        if !self.agreement.sack {
            self.scoreboard.forget_duplicates();
        }
        let reneged = self.scoreboard.is_reneged();
        if reneged {
            self.recovery.sack_reneged = true;
            self.scoreboard.forget_sacks();
        }
        let (head, end) = (self.scoreboard.queue().head(), self.scoreboard.queue().end());
        let spares = self.settings.stack.timeout_marks == TimeoutMarks::OldEnough;
        for index in head..end {
            let left =
                |index| self.rack.time_left(self.scoreboard.get(index).sent_at, Span::ZERO, self.flow.now);
            let young = spares && index != head && left(index).is_some();
            if reneged || !young {
                self.mark_lost(index);
            }
        }
        self.scoreboard.retransmit_from_head();
    }
}
