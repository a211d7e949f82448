//! Loss recovery: the state machine Open – Disorder – CWR – Recovery – Loss, and proportional rate reduction.
//!
//! PRR, in CWR and Recovery of window controls, per ACK that delivers D segments:
//!
//! ```text
//! in flight > ssthresh:  sndcnt = ⌈ssthresh · prr_delivered / prior_cwnd⌉ − prr_out
//! else:                  sndcnt = min(ssthresh − in_flight, max(prr_delivered − prr_out, D) + g)
//!                        g = 1 if una advanced and nothing was newly lost
//! cwnd = in_flight + max(sndcnt, 1 for the first transmission)
//! ```
//! [rfc6937] [linux-6.12 tcp_input.c tcp_fastretrans_alert, tcp_cwnd_reduction]

use tailback_cc::{CaState, CwndEvent};
use tailback_units::Segs;

use crate::queue::Tags;
use crate::sender::{AckFlags, Sender};
use crate::stack::PrrProgress;
use crate::timers::TimerKind;

/// What the processing of an ACK asks the transmit loop to do first. [linux-6.12 tcp_input.c REXMIT_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Retransmit {
    #[default]
    Nothing,
    Lost,
    /// F-RTO: new data instead of lost data.
    NewData,
}

/// PRR's bound below ssthresh: what was delivered, what is owed, or one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    None,
    Slow,
    Good,
}

impl Sender {
    /// An ACK that is a duplicate, carries SACKs, or arrives outside Open. [tcp_fastretrans_alert]
    pub(crate) fn fast_retransmit_alert(&mut self, prior_una: u64, flags: &mut AckFlags) -> Retransmit {
        if self.flow.packets_out.0 == 0 {
            self.sacked_out = 0;
        }
        if flags.ece {
            self.reduction.prior_ssthresh = None;
        }
        if self.check_reneging(flags) {
            return Retransmit::Nothing;
        }
        if self.flow.ca_state == CaState::Open {
            self.reduction.retrans_stamp = None;
        } else if self.flow.snd_una >= self.reduction.high_seq {
            self.leave_at_high_seq();
        }
        match self.flow.ca_state {
            CaState::Recovery => self.in_recovery(prior_una, flags),
            CaState::Loss => self.in_loss(flags),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.before_recovery(flags),
        }
    }

    /// The window in which recovery began is acknowledged.
    fn leave_at_high_seq(&mut self) {
        match self.flow.ca_state {
            // CWR is held until something above high_seq is acknowledged.
            CaState::Cwr if self.flow.snd_una != self.reduction.high_seq => {
                self.end_cwnd_reduction();
                self.set_ca_state(CaState::Open);
            }
            CaState::Recovery => {
                self.try_undo_recovery();
                self.end_cwnd_reduction();
            }
            _ => {}
        }
    }

    fn in_recovery(&mut self, prior_una: u64, flags: &mut AckFlags) -> Retransmit {
        if flags.una_advanced && self.try_undo_partial(prior_una) {
            return Retransmit::Nothing;
        }
        if self.try_undo_dsack() {
            self.try_to_open(flags);
        }
        self.identify_losses(flags);
        if self.flow.ca_state != CaState::Recovery {
            if self.lost_out == 0 {
                return Retransmit::Nothing;
            }
            // The undo was right, and yet a loss is evident.
            self.enter_recovery(flags.ece);
        }
        Retransmit::Lost
    }

    fn in_loss(&mut self, flags: &mut AckFlags) -> Retransmit {
        let retransmit = self.process_loss(flags);
        self.identify_losses(flags);
        if self.flow.ca_state == CaState::Open || flags.lost_retrans {
            return self.before_recovery_or(flags, retransmit);
        }
        retransmit
    }

    fn before_recovery_or(&mut self, flags: &mut AckFlags, otherwise: Retransmit) -> Retransmit {
        match self.before_recovery(flags) {
            Retransmit::Nothing => otherwise,
            other => other,
        }
    }

    fn before_recovery(&mut self, flags: &mut AckFlags) -> Retransmit {
        if self.flow.ca_state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_losses(flags);
        if self.lost_out == 0 {
            self.try_to_open(flags);
            return Retransmit::Nothing;
        }
        self.enter_recovery(flags.ece);
        Retransmit::Lost
    }

    fn identify_losses(&mut self, flags: &mut AckFlags) {
        if self.queue.is_empty() {
            return;
        }
        let before = self.retrans_out;
        if self.rack_mark_lost() {
            flags.set_timer = false;
        }
        flags.lost_retrans |= before > self.retrans_out;
    }

    /// Open or Disorder, by what is outstanding; ECN enters CWR. [linux-6.12 tcp_input.c tcp_try_to_open]
    fn try_to_open(&mut self, flags: &AckFlags) {
        if !self.any_retransmission_done() {
            self.reduction.retrans_stamp = None;
        }
        if flags.ece {
            self.enter_cwr();
        }
        if self.flow.ca_state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    pub(crate) fn try_keep_open(&mut self) {
        let left_out = self.sacked_out + self.lost_out > 0;
        let state =
            if left_out || self.any_retransmission_done() { CaState::Disorder } else { CaState::Open };
        if self.flow.ca_state != state {
            self.set_ca_state(state);
            self.reduction.high_seq = self.flow.snd_nxt;
        }
    }

    /// The head was retransmitted, or something is. [linux-6.12 tcp_input.c tcp_any_retrans_done]
    pub(crate) fn any_retransmission_done(&self) -> bool {
        self.retrans_out > 0 || self.queue.front().is_some_and(|head| head.tags.has(Tags::EVER_RETRANS))
    }

    /// The head is SACKed and yet not acknowledged: the receiver threw it away. [rfc2018 §8]
    fn check_reneging(&mut self, flags: &mut AckFlags) -> bool {
        if !flags.sack_reneging || !flags.una_advanced {
            return false;
        }
        let soon = (self.rtt.srtt() / 2).max(tailback_units::Span::from_millis(10));
        self.arm(TimerKind::Retransmission, soon);
        flags.set_timer = false;
        true
    }

    /// Fast recovery begins; a reduction already in progress (CWR) is kept. [tcp_enter_recovery]
    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.reduction.prior_ssthresh = None;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !ece {
                self.reduction.prior_ssthresh = Some(self.current_ssthresh());
            }
            self.begin_cwnd_reduction();
        }
        self.set_ca_state(CaState::Recovery);
    }

    /// The window must shrink without a loss: ECN, or a local queue that refused. [tcp_enter_cwr]
    pub(crate) fn enter_cwr(&mut self) {
        self.reduction.prior_ssthresh = None;
        if self.flow.ca_state < CaState::Cwr {
            self.reduction.undo_marker = None;
            self.begin_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
        }
    }

    pub(crate) fn init_undo(&mut self) {
        self.reduction.undo_marker = Some(self.flow.snd_una);
        let mut retrans = self.retrans_out;
        if self.tlp_high_seq.is_some() && self.tlp_retrans {
            retrans += 1;
        }
        self.reduction.undo_retrans = (retrans > 0).then_some(retrans);
    }

    pub(crate) fn begin_cwnd_reduction(&mut self) {
        self.reduction.high_seq = self.flow.snd_nxt;
        self.tlp_high_seq = None;
        self.window.cwnd_cnt = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.reduction.prr_delivered = 0;
        self.reduction.prr_out = 0;
        self.window.ssthresh = self.control_ssthresh();
    }

    /// How well recovery goes, by the ACK in hand: decides PRR's bound below ssthresh.
    pub(crate) fn recovery_progress(&self, newly_lost: u32, flags: &AckFlags) -> Progress {
        match self.settings.stack.prr_progress {
            PrrProgress::UnaAdvanced if flags.una_advanced && newly_lost == 0 => Progress::Good,
            PrrProgress::UnaAdvanced => Progress::Slow,
            PrrProgress::RetransmissionAcked if flags.retrans_data_acked && !flags.lost_retrans => {
                Progress::Good
            }
            PrrProgress::RetransmissionAcked => Progress::None,
        }
    }

    /// One ACK of a reduction; see the head of this file.
    pub(crate) fn reduce_cwnd(&mut self, delivered: u32, progress: Progress) {
        let prior = u64::from(self.window.prior_cwnd.0);
        if delivered == 0 || prior == 0 {
            return;
        }
        self.reduction.prr_delivered += delivered;
        let (ssthresh, in_flight) = (self.window.ssthresh.0, self.in_flight());
        let (prr_delivered, prr_out) = (self.reduction.prr_delivered, self.reduction.prr_out);
        let count = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(prr_delivered)).div_ceil(prior);
            share.saturating_sub(u64::from(prr_out)) as u32
        } else {
            let owed = prr_delivered.saturating_sub(prr_out).max(delivered);
            let bound = match progress {
                Progress::Good => owed + 1,
                Progress::Slow => owed,
                Progress::None => delivered,
            };
            bound.min(ssthresh - in_flight)
        };
        let count = count.max(u32::from(prr_out == 0));
        self.window.cwnd = Segs(in_flight + count);
    }

    pub(crate) fn end_cwnd_reduction(&mut self) {
        if self.is_model() {
            return;
        }
        let finite = self.window.ssthresh < Segs::INFINITE;
        if finite && (self.flow.ca_state == CaState::Cwr || self.reduction.undo_marker.is_some()) {
            self.window.cwnd = self.window.ssthresh;
            self.usage.stamp = self.flow.now;
        }
        self.cwnd_event(CwndEvent::CompleteCwr);
    }

    /// An ACK after a timeout: F-RTO, undo, or more to retransmit. [rfc5682 §3.1] [tcp_process_loss]
    fn process_loss(&mut self, flags: &mut AckFlags) -> Retransmit {
        let recovered = self.flow.snd_una >= self.reduction.high_seq;
        if flags.una_advanced && self.try_undo_loss(false) {
            return Retransmit::Nothing;
        }
        if self.reduction.frto {
            // Data sent before the timeout and never again arrived: nothing was lost.
            if flags.orig_sack_acked && self.try_undo_loss(true) {
                return Retransmit::Nothing;
            }
            if self.flow.snd_nxt > self.reduction.high_seq {
                if flags.data_sacked || !(flags.una_advanced || flags.not_duplicate() || flags.dsack) {
                    self.reduction.frto = false;
                }
            } else if flags.una_advanced && !recovered {
                self.reduction.high_seq = self.flow.snd_nxt;
                if self.has_unsent() && self.window_end() > self.flow.snd_nxt {
                    return Retransmit::NewData;
                }
                self.reduction.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Retransmit::Nothing;
        }
        Retransmit::Lost
    }

    /// After a timeout: everything that is not recent is lost, cwnd starts over. [rfc5681 §3.1]
    /// [linux-6.12 tcp_input.c tcp_enter_loss]
    pub(crate) fn enter_loss(&mut self) {
        let new_recovery = self.flow.ca_state < CaState::Recovery;
        self.mark_all_lost();
        let again = self.flow.ca_state == CaState::Loss && self.retransmits == 0;
        if self.flow.ca_state <= CaState::Disorder || self.reduction.high_seq <= self.flow.snd_una || again {
            self.reduction.prior_ssthresh = Some(self.current_ssthresh());
            self.window.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.control_ssthresh();
            self.cwnd_event(CwndEvent::Loss);
            self.init_undo();
        }
        self.window.cwnd = Segs(self.in_flight() + 1);
        self.window.cwnd_cnt = 0;
        self.usage.stamp = self.flow.now;
        if self.flow.ca_state == CaState::Disorder && self.sacked_out >= crate::sender::INITIAL_REORDERING {
            self.reordering = self.reordering.min(crate::sender::INITIAL_REORDERING);
        }
        self.set_ca_state(CaState::Loss);
        self.reduction.high_seq = self.flow.snd_nxt;
        // The timeout answers for the probe: an ACK of it must not cut again.
        self.tlp_high_seq = None;
        self.reduction.frto = new_recovery || self.retransmits > 0;
    }

    /// Marks all but segments too young to be lost. [linux-6.12 tcp_input.c tcp_timeout_mark_lost]
    fn mark_all_lost(&mut self) {
        let head = self.queue.head();
        let reneged = self.queue.front().is_some_and(|segment| segment.tags.has(Tags::SACKED));
        if reneged {
            self.sacked_out = 0;
            self.sack_cache.clear();
        }
        for index in head..self.queue.end() {
            if reneged {
                self.queue.get_mut(index).tags.clear(Tags::SACKED);
            } else if index != head && self.rack_time_left(index, tailback_units::Span::ZERO).is_some() {
                continue;
            }
            self.mark_lost(index);
        }
        self.retransmit_hint = head;
    }
}
