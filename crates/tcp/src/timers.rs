//! The sender's timer: retransmission timeout, tail loss probe, reordering, window probe. One at a time, as in Linux.
//!
//! A timer counts jiffies and the kernel's wheel never fires early: one of n jiffies fires at the (n+1)th tick, and
//! at a multiple of 8, 64 … ticks when it is 63, 504 … jiffies away.
//! [linux-6.12 timer.c calc_wheel_index] [linux-6.12 tcp_timer.c, tcp_output.c tcp_schedule_loss_probe]
//!
//! ```text
//! PTO = 2·srtt + (packets_out = 1 ? rto_min : 2 ms), at most the RTO that is left      [rfc8985 §7.2]
//! ```

use tailback_cc::CaState;
use tailback_units::{Segs, Span};

use crate::clock::{Deadline, micros_since};
use crate::config::RTO_MIN;
use crate::info::{HeldBy, Note};
use crate::one_word::OneWord;
use crate::rtt::RTO_INITIAL;
use crate::sender::Sender;
use crate::stack::ClosedWindowBackoff;
use crate::state::gate::{Pass, Retransmit};
use crate::state::timer::{Expired, TimerKind, bit};

/// Added to the delay of a probe or reordering timer. [linux-6.12 tcp.h TCP_TIMEOUT_MIN_US]
pub(crate) const TIMEOUT_MIN: Span = Span::from_millis(2);
/// Retry after the device refused a retransmission. [linux-6.12 tcp.h TCP_RESOURCE_PROBE_INTERVAL]
pub(crate) const RESOURCE_PROBE_INTERVAL: Span = Span::from_millis(500);

/// Maximum number of doublings of the window-probe timer, which is then the greatest timeout. [linux-6.12 tcp.h tcp_probe0_when]
const PROBE_BACKOFF_MAX: u32 = 10;

/// `net.ipv4.tcp_retries1`: timeouts after which a black hole is suspected.
const RETRIES1: u32 = 3;
/// Timeouts of a thin flow that are not doubled. [linux-6.12 tcp.h TCP_THIN_LINEAR_RETRIES]
const THIN_LINEAR_RETRIES: u32 = 6;
/// A flow with fewer segments in flight is thin. [linux-6.12 tcp.h tcp_stream_is_thin]
const THIN: u32 = 4;

/// Total time of `retries` timeouts that double from RTO_MIN up to `max`. [linux-6.12 tcp_timer.c tcp_model_timeout]
fn total_timeout(retries: u32, max: Span) -> Span {
    let doublings = (max.as_nanos() / RTO_MIN.as_nanos()).ilog2();
    RTO_MIN * ((2 << doublings.min(retries)) - 1) + max * u64::from(retries.saturating_sub(doublings))
}

/// The PTO, if the RTO is not shorter: `longer` is added to two smoothed RTTs (×8, µs). [linux-6.12 tcp_output.c
/// tcp_schedule_loss_probe]
pub(crate) fn loss_probe_timeout(srtt_us8: u32, longer: Span) -> Span {
    if srtt_us8 == 0 { RTO_INITIAL } else { Span::from_micros(u64::from(srtt_us8 >> 2)) + longer }
}

impl Sender {
    /// Time until the head's RTO is over; `None` = past. [linux-6.12 tcp.h tcp_rto_delta_us]
    fn rto_left(&self) -> Option<Span> {
        let head = self.scoreboard.front()?;
        let age = micros_since(self.flow.now, head.sent_at);
        (self.rtt.rto() > age).then(|| self.rtt.rto() - age)
    }

    /// Restarts the retransmission timer. [linux-6.12 tcp_input.c tcp_rearm_rto]
    pub(crate) fn rearm_rto(&mut self) {
        if self.scoreboard.packets_out() == 0 {
            self.timer.disarm();
            return;
        }
        let mut rto = self.rtt.rto();
        if self.timer.is_for(TimerKind::Reordering) || self.timer.is_for(TimerKind::LossProbe) {
            rto = self.rto_left().unwrap_or(Span::from_micros(1));
        }
        self.timer.arm_behind_pacing(TimerKind::Retransmission, rto, &self.flow);
    }

    /// After an ACK of new data that only acknowledges. If the transmit loop sends something, it replaces a loss probe
    /// at its end, so the timer is armed only once.
    #[inline]
    pub(crate) fn set_timer_after_plain_ack(&mut self) {
        let passes = self.gate.work.pass().is_none() && self.has_unsent() && self.allows_loss_probe();
        if passes && self.takes_shortcuts() {
            self.timer.armed_after_pass = true;
        } else {
            self.set_timer_after_ack();
        }
    }

    /// After an ACK of new data. [linux-6.12 tcp_input.c tcp_set_xmit_timer]
    pub(crate) fn set_timer_after_ack(&mut self) {
        if !self.schedule_loss_probe(Rto::Restarting) {
            self.rearm_rto();
        }
    }

    #[inline(always)]
    fn allows_loss_probe(&self) -> bool {
        self.loss_probe_states & bit(self.flow.ca_state) != 0 && self.scoreboard.packets_out() > 0
    }

    /// True if the transmit loop, which has just sent something, will arm a loss probe at its end, so that no other
    /// timer needs to be computed now.
    pub(crate) fn ends_with_loss_probe(&self) -> bool {
        let schedules = self.gate.work.pass().is_some_and(|pass| pass != Pass::LossProbe);
        schedules && self.allows_loss_probe()
    }

    /// Arms the tail loss probe if the state allows one. [linux-6.12 tcp_output.c tcp_schedule_loss_probe]
    #[inline]
    pub(crate) fn schedule_loss_probe(&mut self, rto: Rto) -> bool {
        if !self.allows_loss_probe() {
            return false;
        }
        let longer = if self.scoreboard.packets_out() == 1 { self.settings.rto_min } else { TIMEOUT_MIN };
        let mut timeout = loss_probe_timeout(self.rtt.srtt_us8(), longer);
        let left = match rto {
            Rto::Restarting => Some(self.rtt.rto()),
            Rto::Running => self.rto_left(),
        };
        if let Some(left) = left {
            timeout = timeout.min(left);
        }
        self.timer.arm_behind_pacing(TimerKind::LossProbe, timeout, &self.flow);
        true
    }

    /// [linux-6.12 tcp.h tcp_probe0_when]
    pub(crate) fn arm_window_probe(&mut self) {
        let min = self.rtt.rto().max(RTO_MIN);
        let backoff = self.timer.probe_backoff.min(PROBE_BACKOFF_MAX);
        self.arm_window_probe_after((min * (1 << backoff)).min(self.settings.rto_max));
    }

    /// A user timeout brings the probe forward, to two jiffies from now at the earliest. [linux-6.12 tcp.h TCP_TIMEOUT_MIN]
    fn arm_window_probe_after(&mut self, span: Span) {
        let left = self.options.user_timeout_left(self.timer.probing_since.get(), self.flow.now);
        let span = left.map_or(span, |left| span.min(left.max(self.settings.jiffy * 2)));
        self.timer.arm_behind_pacing(TimerKind::WindowProbe, span, &self.flow);
    }

    /// A window probe was sent. With data it counts as data; without data the time to the next one is doubled.
    /// [linux-6.12 tcp_output.c tcp_send_probe0]
    pub(crate) fn window_probe_sent(&mut self) {
        if self.scoreboard.packets_out() > 0 {
            self.timer.end_probing();
            self.timer.probes_out = 0;
            return;
        }
        self.timer.probes_out += 1;
        if self.gate.held_by() == HeldBy::LocalDrop {
            // The device refused it: the next one is due soon, and the interval is not doubled.
            return self.arm_window_probe_after(RESOURCE_PROBE_INTERVAL);
        }
        self.timer.probe_due = true;
        self.timer.probe_backoff += 1;
        self.arm_window_probe();
    }

    /// The device refused a window probe without data.
    pub(crate) fn empty_probe_refused(&mut self) {
        self.timer.probe_backoff = self.timer.probe_backoff.saturating_sub(1);
        self.arm_window_probe_after(RESOURCE_PROBE_INTERVAL);
    }

    /// Doublings of the retransmission timeout or of the window-probe timer, for which Linux has one counter.
    pub(crate) fn backoff(&self) -> u32 {
        self.rtt.backoff() + self.timer.probe_backoff
    }

    /// An ACK while nothing is outstanding: the window has opened, or probing continues.
    /// [linux-6.12 tcp_input.c tcp_ack_probe]
    pub(crate) fn answer_of_window_probe(&mut self) {
        if !self.has_unsent() {
            return;
        }
        if !self.window_allows_next() {
            self.arm_window_probe();
            return;
        }
        self.timer.end_probing();
        if self.timer.is_for(TimerKind::WindowProbe) {
            self.timer.disarm();
        }
    }

    /// The next segment fits into the peer's window. [linux-6.12 tcp_output.c tcp_snd_wnd_test]
    pub(crate) fn window_allows_next(&self) -> bool {
        self.flow.snd_nxt + u64::from(self.flow.mss).min(self.unsent())
            <= self.peer.window_end(self.flow.snd_una)
    }

    /// The timer fired.
    pub(crate) fn timer_expired(&mut self) -> Expired {
        let Some(kind) = self.timer.armed_for() else { return Expired::Another };
        // It may mark segments lost.
        self.buffer.may_have_space();
        match kind {
            TimerKind::Reordering => self.reordering_timeout(),
            // One probe per flight, also if it was new data. [linux-6.12 tcp_output.c tcp_send_loss_probe]
            TimerKind::LossProbe if self.tlp.high_seq.is_some() => self.rearm_rto(),
            TimerKind::LossProbe => self.gate.work.begin(Pass::LossProbe),
            TimerKind::Retransmission => {
                self.timer.disarm();
                return self.retransmission_timeout();
            }
            TimerKind::WindowProbe => {
                self.timer.disarm();
                self.window_probe_timeout();
            }
        }
        Expired::Another
    }

    /// [linux-6.12 tcp_recovery.c tcp_rack_reo_timeout]
    fn reordering_timeout(&mut self) {
        let (in_flight, lost) = (self.scoreboard.in_flight(), self.flow.lost);
        self.rack_detect_loss();
        if self.scoreboard.in_flight() != in_flight {
            if self.flow.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.control.is_model() {
                    let newly_lost = (self.flow.lost - lost) as u32;
                    self.reduce_cwnd(1, newly_lost, &crate::sender::AckFlags::default());
                }
            }
            self.gate.work.set_retransmit(Retransmit::Lost);
        }
        self.gate.work.rearm_unless_retransmission();
    }

    /// [rfc6298 §5] [linux-6.12 tcp_timer.c tcp_retransmit_timer]
    fn retransmission_timeout(&mut self) -> Expired {
        if self.scoreboard.packets_out() == 0 {
            return Expired::Another;
        }
        if self.peer.snd_wnd == 0 {
            // The head probes the window that the peer took back.
            self.enter_loss();
            self.gate.work.retransmit_head();
            return Expired::Retransmission;
        }
        self.notes.push(Note::RetransmissionTimeout);
        let (now, rto_max) = (self.flow.now, self.settings.rto_max);
        if self.recovery.has_timed_out_after(total_timeout(RETRIES1, rto_max), now) {
            let sizes = self.sizes();
            if self.path.suspect_black_hole(sizes, self.settings.base_mss, now) {
                self.synchronise_mss(self.path.of_mss);
            }
        }
        let patience = self.options.user_timeout.get();
        let patience = patience.unwrap_or_else(|| total_timeout(self.settings.retries, rto_max));
        if self.recovery.has_timed_out_after(patience, now) {
            self.abort();
            return Expired::Another;
        }
        self.enter_loss();
        self.recovery.retransmits += 1;
        self.gate.work.retransmit_head();
        Expired::Retransmission
    }

    /// Aborts the connection, which then sends no more packets. [linux-6.12 tcp_timer.c tcp_write_err]
    pub(crate) fn abort(&mut self) {
        self.notes.push(Note::Aborted);
        self.aborted = true;
        self.timer.disarm();
        self.gate.pacing_timer = Deadline::NONE;
        self.gate.work = Default::default();
    }

    /// The head was sent (or refused) after a timeout: doubles the timeout and restarts the timer.
    pub(crate) fn after_timeout_retransmission(&mut self, refused: bool) {
        if refused {
            self.timer.arm(TimerKind::Retransmission, RESOURCE_PROBE_INTERVAL, &self.flow);
            return;
        }
        if self.stays_linear() {
            self.rtt.stay_linear(&self.settings);
        } else if self.peer.snd_wnd == 0
            && self.settings.stack.closed_window_backoff == ClosedWindowBackoff::Ignored
        {
            self.rtt.double(&self.settings);
        } else {
            self.rtt.back_off(&self.settings);
        }
        let rto = self.rtt.rto();
        let left = self.options.user_timeout_left(self.recovery.retrans_stamp.get(), self.flow.now);
        self.timer.arm(
            TimerKind::Retransmission,
            left.map_or(rto, |left| rto.min(left.max(self.settings.jiffy))),
            &self.flow,
        );
    }

    /// The timeout is not doubled: of a thin flow that this side has not closed. [linux-6.12 tcp_timer.c tcp_retransmit_timer]
    fn stays_linear(&self) -> bool {
        let thin = self.scoreboard.packets_out() < THIN && self.window.ssthresh < Segs::INFINITE;
        let established = !self.stream.fin_queued;
        let linear = thin && established && self.settings.thin_linear_timeouts;
        linear && self.recovery.retransmits <= THIN_LINEAR_RETRIES
    }

    /// The peer's window is closed, or the device refused the only packet. [linux-6.12 tcp_timer.c tcp_probe_timer]
    fn window_probe_timeout(&mut self) {
        if self.scoreboard.packets_out() > 0 || !self.has_unsent() {
            return;
        }
        // ACKs that keep the window closed do not reset it.
        let since = self.timer.probing_since.get_or_set(crate::clock::timestamp(self.flow.now));
        let unanswered = self.timer.probes_out >= self.settings.retries;
        if unanswered || self.options.user_timeout_left(Some(since), self.flow.now) == Some(Span::ZERO) {
            return self.abort();
        }
        self.gate.work.begin(Pass::WindowProbe);
    }

    /// [linux-6.12 tcp_input.c tcp_process_tlp_ack]
    #[inline]
    pub(crate) fn process_probe_ack(&mut self, ack: u64, flags: &crate::sender::AckFlags) {
        if let Some(high) = self.tlp.high_seq.get()
            && ack >= high
        {
            self.end_probe(ack, high, flags);
        }
    }

    #[cold]
    fn end_probe(&mut self, ack: u64, high: u64, flags: &crate::sender::AckFlags) {
        let pure_duplicate = !(flags.una_advanced || flags.not_duplicate() || flags.data_sacked);
        if !self.tlp.is_retransmission || flags.dsack_of_probe {
            self.tlp.high_seq = OneWord::NONE;
        } else if ack > high {
            // The probe repaired a loss: cwnd is reduced as for any loss, without a recovery.
            self.begin_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if pure_duplicate {
            self.tlp.high_seq = OneWord::NONE;
        }
    }
}

/// Whether the RTO counts from now or from the transmission of the head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rto {
    Restarting,
    Running,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RTO_MAX;

    #[test]
    fn fifteen_timeouts_from_200_ms_take_924_seconds_and_three_take_three() {
        assert_eq!(total_timeout(15, RTO_MAX), Span::from_millis(924_600));
        assert_eq!(total_timeout(RETRIES1, RTO_MAX), Span::from_secs(3));
    }
}
