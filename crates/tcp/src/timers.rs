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
use tailback_units::{SimTime, Span};

use crate::config::TimerRounding;
use crate::info::{HeldBy, Note};
use crate::output::{Pass, Role};
use crate::rate_sample::micros_since;
use crate::recovery::Retransmit;
use crate::rtt::{RTO_INITIAL, RTO_MAX, RTO_MIN, in_jiffies};
use crate::sender::Sender;

/// Least delay of a probe or reordering timer: two jiffies, at least 2 ms. [linux-6.12 tcp.h TCP_TIMEOUT_MIN_US]
pub(crate) const TIMEOUT_MIN: Span = Span::from_millis(2);
/// Retry after the device refused a retransmission. [linux-6.12 tcp.h TCP_RESOURCE_PROBE_INTERVAL]
pub(crate) const RESOURCE_PROBE_INTERVAL: Span = Span::from_millis(500);

/// Doublings of a window probe's timer at most: beyond them it is [`RTO_MAX`] anyhow. [linux-6.12 tcp.h tcp_probe0_when]
const PROBE_BACKOFF_MAX: u32 = 10;

/// `net.ipv4.tcp_retries2`: timeouts after which a connection is given up.
const RETRIES: u32 = 15;

/// Time of so many timeouts that double from the least RTO up to the longest: 924.6 s.
fn patience() -> Span {
    let doublings = (RTO_MAX.as_nanos() / RTO_MIN.as_nanos()).ilog2();
    RTO_MIN * ((2 << doublings.min(RETRIES)) - 1) + RTO_MAX * u64::from(RETRIES.saturating_sub(doublings))
}

/// What the timer is armed for. [linux-6.12 inet_connection_sock.h ICSK_TIME_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimerKind {
    Retransmission,
    LossProbe,
    Reordering,
    WindowProbe,
}

/// The timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RetransmitTimer {
    pub(crate) armed: Option<(TimerKind, SimTime)>,
    /// Doublings of the time to the next window probe.
    probe_backoff: u32,
    /// Window probes since the last ACK.
    probes_out: u32,
    /// When the first window probe was due since the window closed.
    probing_since: Option<SimTime>,
    /// A window probe without data is to be sent.
    pub(crate) probe_due: bool,
    /// It was given to the device, whose answer is awaited.
    pub(crate) probe_leaves: bool,
}

impl RetransmitTimer {
    /// Window probes since the last ACK.
    pub(crate) fn probes_out(&self) -> u32 {
        self.probes_out
    }

    /// An ACK came: whoever sent it is alive. [linux-6.12 tcp_input.c tcp_ack]
    pub(crate) fn peer_answered(&mut self) {
        self.probes_out = 0;
    }
}

/// When a kernel timer of `span` that is armed now fires; one of no time at the next tick.
pub(crate) fn expiry(now: SimTime, span: Span, (jiffy, rounding): (Span, TimerRounding)) -> SimTime {
    let delta = span.as_nanos().div_ceil(jiffy.as_nanos());
    let expires = now.ticks(jiffy) + delta;
    let mut level = 0;
    while rounding == TimerRounding::Wheel && level < 8 && delta >= 63 << (3 * level) {
        level += 1;
    }
    let shift = 3 * level;
    let tick = ((expires + (1 << shift)) >> shift) << shift;
    SimTime::from_nanos(tick.saturating_mul(jiffy.as_nanos()))
}

impl Sender {
    pub(crate) fn arm(&mut self, kind: TimerKind, span: Span) {
        self.timer.armed =
            Some((kind, expiry(self.flow.now, span, (self.flow.jiffy, self.settings.timer_rounding))));
    }

    /// Arms and adds the time that pacing holds the last packet back. [linux-6.12 tcp.h tcp_reset_xmit_timer]
    fn arm_behind_pacing(&mut self, kind: TimerKind, span: Span) {
        let held = self.flow.departure.since(self.flow.now);
        self.arm(kind, in_jiffies(span, self.flow.jiffy) + Span::from_millis(held.as_millis()));
    }

    pub(crate) fn armed_for(&self, kind: TimerKind) -> bool {
        self.timer.armed.is_some_and(|(armed, _)| armed == kind)
    }

    /// Time until the head's RTO is over; `None` = past. [linux-6.12 tcp.h tcp_rto_delta_us]
    fn rto_left(&self) -> Option<Span> {
        let head = self.queue.front()?;
        let age = micros_since(self.flow.now, head.sent_at);
        (self.rto() > age).then(|| self.rto() - age)
    }

    /// Restarts the retransmission timer. [linux-6.12 tcp_input.c tcp_rearm_rto]
    pub(crate) fn rearm_rto(&mut self) {
        if self.flow.packets_out.0 == 0 {
            self.timer.armed = None;
            return;
        }
        let mut rto = self.rto();
        if self.armed_for(TimerKind::Reordering) || self.armed_for(TimerKind::LossProbe) {
            rto = self.rto_left().unwrap_or(Span::from_micros(1));
        }
        self.arm_behind_pacing(TimerKind::Retransmission, rto);
    }

    /// A full RTO from now. [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue, at its end]
    pub(crate) fn restart_rto(&mut self) {
        self.arm_behind_pacing(TimerKind::Retransmission, self.rto());
    }

    /// After an ACK of new data. [linux-6.12 tcp_input.c tcp_set_xmit_timer]
    pub(crate) fn set_timer_after_ack(&mut self) {
        if !self.schedule_loss_probe(Rto::Restarting) {
            self.rearm_rto();
        }
    }

    /// Arms the tail loss probe if the state allows one. [linux-6.12 tcp_output.c tcp_schedule_loss_probe]
    pub(crate) fn schedule_loss_probe(&mut self, rto: Rto) -> bool {
        let calm = matches!(self.flow.ca_state, CaState::Open | CaState::Cwr);
        if self.flow.packets_out.0 == 0 || !calm || !self.settings.tail_loss_probe {
            return false;
        }
        let mut timeout = RTO_INITIAL;
        if self.rtt.srtt_us8() > 0 {
            let two_rtt = Span::from_micros(u64::from(self.rtt.srtt_us8() >> 2));
            timeout = two_rtt + if self.flow.packets_out.0 == 1 { RTO_MIN } else { TIMEOUT_MIN };
        }
        let left = match rto {
            Rto::Restarting => Some(self.rto()),
            Rto::Running => self.rto_left(),
        };
        if let Some(left) = left {
            timeout = timeout.min(left);
        }
        self.arm_behind_pacing(TimerKind::LossProbe, timeout);
        true
    }

    /// Nothing is in flight, data waits and could not be sent. [linux-6.12 tcp.h tcp_check_probe_timer]
    pub(crate) fn check_probe_timer(&mut self) {
        if self.flow.packets_out.0 == 0 && self.timer.armed.is_none() {
            self.arm_window_probe();
        }
    }

    /// [linux-6.12 tcp.h tcp_probe0_when]
    fn arm_window_probe(&mut self) {
        let least = self.rto().max(RTO_MIN);
        let span = (least * (1 << self.timer.probe_backoff.min(PROBE_BACKOFF_MAX))).min(RTO_MAX);
        let left = self.patience_left(self.timer.probing_since).map_or(span, |left| left.max(TIMEOUT_MIN));
        self.arm_behind_pacing(TimerKind::WindowProbe, span.min(left));
    }

    /// What is left of `TCP_USER_TIMEOUT`, if there is one and it runs since `since`: no timer is set for later.
    /// [linux-6.12 tcp_timer.c tcp_clamp_rto_to_user_timeout, tcp_clamp_probe0_to_user_timeout]
    fn patience_left(&self, since: Option<SimTime>) -> Option<Span> {
        let (timeout, since) = (self.options.user_timeout?, since?);
        let passed = crate::undo::timestamp(self.flow.now).since(since);
        Some(if passed < timeout { timeout - passed } else { Span::ZERO })
    }

    /// A window probe went out: with data, it is like any data; without, the next one waits twice as long.
    /// [linux-6.12 tcp_output.c tcp_send_probe0]
    pub(crate) fn window_probe_sent(&mut self) {
        if self.flow.packets_out.0 > 0 {
            self.timer.probe_backoff = 0;
            self.timer.probes_out = 0;
            self.timer.probing_since = None;
            return;
        }
        self.timer.probes_out += 1;
        if self.held_by == HeldBy::LocalDrop {
            return self.retry_window_probe();
        }
        self.timer.probe_due = true;
        self.timer.probe_backoff += 1;
        self.arm_window_probe();
    }

    /// The device refused a window probe: the next one is due soon, and the time between them does not grow.
    /// [linux-6.12 tcp_output.c tcp_send_probe0]
    fn retry_window_probe(&mut self) {
        let left = self.patience_left(self.timer.probing_since).map(|left| left.max(TIMEOUT_MIN));
        let span = left.map_or(RESOURCE_PROBE_INTERVAL, |left| left.min(RESOURCE_PROBE_INTERVAL));
        self.arm_behind_pacing(TimerKind::WindowProbe, span);
    }

    /// The device refused a window probe without data.
    pub(crate) fn empty_probe_refused(&mut self) {
        self.timer.probe_backoff = self.timer.probe_backoff.saturating_sub(1);
        self.retry_window_probe();
    }

    /// Doublings of the retransmission timeout, or of the time to the next window probe: Linux counts them as one.
    pub(crate) fn backoff(&self) -> u32 {
        self.rtt.backoff() + self.timer.probe_backoff
    }

    /// An ACK while nothing is outstanding: the window has opened, or probing goes on.
    /// [linux-6.12 tcp_input.c tcp_ack_probe]
    pub(crate) fn answer_of_window_probe(&mut self) {
        if !self.has_unsent() {
            return;
        }
        if self.flow.snd_nxt + u64::from(self.mss()).min(self.unsent()) > self.window_end() {
            self.arm_window_probe();
            return;
        }
        self.timer.probe_backoff = 0;
        self.timer.probing_since = None;
        if self.armed_for(TimerKind::WindowProbe) {
            self.timer.armed = None;
        }
    }

    /// The timer fired.
    pub(crate) fn timer_expired(&mut self) {
        let Some((kind, _)) = self.timer.armed else { return };
        match kind {
            TimerKind::Reordering => self.reordering_timeout(),
            // One probe per flight, be it new data. [linux-6.12 tcp_output.c tcp_send_loss_probe]
            TimerKind::LossProbe if self.tlp_high_seq.is_some() => self.rearm_rto(),
            TimerKind::LossProbe => self.agenda.begin(Pass::LossProbe),
            TimerKind::Retransmission => {
                self.timer.armed = None;
                self.retransmission_timeout();
            }
            TimerKind::WindowProbe => {
                self.timer.armed = None;
                self.window_probe_timeout();
            }
        }
    }

    /// [linux-6.12 tcp_recovery.c tcp_rack_reo_timeout]
    fn reordering_timeout(&mut self) {
        let (in_flight, lost) = (self.in_flight(), self.flow.lost);
        self.rack_detect_loss();
        if self.in_flight() != in_flight {
            if self.flow.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if self.window_control() {
                    let newly_lost = (self.flow.lost - lost) as u32;
                    let progress = self.recovery_progress(newly_lost, &crate::sender::AckFlags::default());
                    self.reduce_cwnd(1, progress);
                }
            }
            self.agenda.retransmit = Retransmit::Lost;
        }
        self.agenda.rearm_unless_retransmission = true;
    }

    /// [rfc6298 §5] [linux-6.12 tcp_timer.c tcp_retransmit_timer]
    fn retransmission_timeout(&mut self) {
        if self.flow.packets_out.0 == 0 {
            return;
        }
        self.notes.push(Note::RetransmissionTimeout);
        if self.has_tried_too_long() {
            return self.abort();
        }
        self.enter_loss();
        self.retransmits += 1;
        self.agenda.head = Some(Role::AfterTimeout);
    }

    /// `net.ipv4.tcp_retries2` timeouts of a connection whose RTO began at its minimum would have passed since the first
    /// retransmission, or `TCP_USER_TIMEOUT` has. [linux-6.12 tcp_timer.c retransmits_timed_out]
    fn has_tried_too_long(&self) -> bool {
        let Some(first) = self.reduction.retrans_stamp else { return false };
        let most = self.options.user_timeout.unwrap_or_else(patience);
        self.retransmits > 0 && crate::undo::timestamp(self.flow.now).since(first) >= most
    }

    /// The connection is given up: nothing is sent any more. [linux-6.12 tcp_timer.c tcp_write_err]
    pub(crate) fn abort(&mut self) {
        self.notes.push(Note::Aborted);
        self.aborted = true;
        self.timer.armed = None;
        self.pacing_timer = None;
        self.agenda = Default::default();
    }

    /// The head went out (or was refused) after a timeout: back off and start again.
    pub(crate) fn after_timeout_retransmission(&mut self, refused: bool) {
        if refused {
            self.arm(TimerKind::Retransmission, RESOURCE_PROBE_INTERVAL);
            return;
        }
        self.rtt.back_off();
        let rto = self.rto();
        let left = self.patience_left(self.reduction.retrans_stamp);
        self.arm(TimerKind::Retransmission, left.map_or(rto, |left| rto.min(left.max(self.settings.jiffy))));
    }

    /// The peer's window is closed, or the device refused the only packet. [linux-6.12 tcp_timer.c tcp_probe_timer]
    fn window_probe_timeout(&mut self) {
        if self.flow.packets_out.0 > 0 || !self.has_unsent() {
            return;
        }
        // Answers that keep the window closed do not count.
        let since = *self.timer.probing_since.get_or_insert(crate::undo::timestamp(self.flow.now));
        if self.patience_left(Some(since)) == Some(Span::ZERO) {
            return self.abort();
        }
        self.agenda.begin(Pass::WindowProbe);
    }

    /// [linux-6.12 tcp_input.c tcp_process_tlp_ack]
    pub(crate) fn process_probe_ack(&mut self, ack: u64, flags: &crate::sender::AckFlags) {
        let Some(high) = self.tlp_high_seq.filter(|&high| ack >= high) else { return };
        let pure_duplicate = !(flags.una_advanced || flags.not_duplicate() || flags.data_sacked);
        if !self.tlp_retrans || flags.dsack_of_probe {
            self.tlp_high_seq = None;
        } else if ack > high {
            // The probe repaired a loss: cut as for any loss, but there is nothing left to recover.
            self.begin_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if pure_duplicate {
            self.tlp_high_seq = None;
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

    #[test]
    fn a_timer_of_n_jiffies_fires_at_the_tick_after_them() {
        let jiffy = Span::from_millis(1);
        let now = SimTime::from_nanos(10_400_000);
        assert_eq!(
            expiry(now, Span::from_millis(40), (jiffy, TimerRounding::Wheel)),
            SimTime::from_nanos(51_000_000)
        );
    }

    #[test]
    fn a_timer_of_no_time_fires_at_the_next_tick() {
        let now = SimTime::from_nanos(10_400_000);
        let fires = expiry(now, Span::ZERO, (Span::from_millis(1), TimerRounding::Wheel));
        assert_eq!(fires, SimTime::from_nanos(11_000_000));
    }

    #[test]
    fn fifteen_timeouts_from_200_ms_take_924_seconds() {
        assert_eq!(patience(), Span::from_millis(924_600));
    }

    #[test]
    fn a_timer_of_200_ms_fires_at_a_multiple_of_8_ms() {
        let jiffy = Span::from_millis(1);
        let now = SimTime::from_nanos(10_400_000);
        let expires = |rounding| expiry(now, Span::from_millis(201), (jiffy, rounding));
        assert_eq!(expires(TimerRounding::Wheel), SimTime::from_nanos(216_000_000));
        assert_eq!(expires(TimerRounding::Jiffy), SimTime::from_nanos(212_000_000));
    }
}
