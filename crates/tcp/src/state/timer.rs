//! The sender's timer and its loss probe.

use tailback_cc::{CaState, Flow};
use tailback_units::{SimTime, Span, TimerRounding, expiry};

use crate::clock::Deadline;
use crate::config::{Agreement, Settings};
use crate::one_word::OneWord;
use crate::rtt::in_jiffies;
use crate::stack::LossProbe;

/// Which deadline of a sending half passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired {
    /// The retransmission timeout: everything in flight is lost, and is sent again.
    Retransmission,
    /// Another deadline, or a retransmission timeout after which there was nothing to send again.
    Another,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmitTimer {
    /// The purpose for which it is armed.
    kind: Option<TimerKind>,
    expires: Deadline,
    rounding: TimerRounding,
    /// Doublings of the time to the next window probe.
    pub(crate) probe_backoff: u32,
    /// Window probes since the last ACK.
    pub(crate) probes_out: u32,
    /// When the first window probe was due since the window closed.
    pub(crate) probing_since: OneWord<SimTime>,
    /// A window probe without data is to be sent.
    pub(crate) probe_due: bool,
    /// It was passed to the device, whose result is not known yet.
    pub(crate) probe_leaves: bool,
    /// An ACK has not armed it, because the run of the transmit loop that follows arms it at its end.
    pub(crate) armed_after_pass: bool,
}

impl RetransmitTimer {
    pub(crate) fn new(rounding: TimerRounding) -> Self {
        RetransmitTimer {
            kind: None,
            expires: Deadline::NONE,
            rounding,
            probe_backoff: 0,
            probes_out: 0,
            probing_since: OneWord::NONE,
            probe_due: false,
            probe_leaves: false,
            armed_after_pass: false,
        }
    }

    /// Arms it for a time from now on, in place of what it was armed for.
    #[inline]
    pub(crate) fn arm(&mut self, kind: TimerKind, span: Span, flow: &Flow) {
        self.kind = Some(kind);
        self.expires = Deadline::at(expiry(flow.now, span, (flow.jiffy, self.rounding)));
    }

    /// Arms and adds the time that pacing holds the last packet back. [linux-6.12 tcp.h tcp_reset_xmit_timer]
    #[inline(always)]
    pub(crate) fn arm_behind_pacing(&mut self, kind: TimerKind, span: Span, flow: &Flow) {
        let held = flow.departure.since(flow.now);
        if held.is_zero() {
            // A timer has a resolution of a jiffy.
            return self.arm(kind, span, flow);
        }
        self.arm(kind, in_jiffies(span, flow.jiffy) + Span::from_millis(held.as_millis()), flow);
    }

    pub(crate) fn disarm(&mut self) {
        self.kind = None;
        self.expires = Deadline::NONE;
    }

    /// The purpose for which it is armed.
    #[inline]
    pub(crate) fn armed_for(&self) -> Option<TimerKind> {
        self.kind
    }

    #[inline]
    pub(crate) fn expires(&self) -> Deadline {
        self.expires
    }

    /// It is armed for this purpose.
    #[inline]
    pub(crate) fn is_for(&self, kind: TimerKind) -> bool {
        self.kind == Some(kind)
    }

    /// No window probe is needed any more.
    pub(crate) fn end_probing(&mut self) {
        self.probe_backoff = 0;
        self.probing_since = OneWord::NONE;
    }

    /// An ACK arrived: the peer is alive. [linux-6.12 tcp_input.c tcp_ack]
    pub(crate) fn peer_answered(&mut self) {
        self.probes_out = 0;
    }
}

/// The bit of a state in the set of [`loss_probe_states`].
pub(crate) fn bit(state: CaState) -> u8 {
    1 << state as u8
}

/// A bit for each state of recovery in which a loss probe may be sent. [linux-6.12 tcp_output.c tcp_schedule_loss_probe]
pub(crate) fn loss_probe_states(settings: &Settings, agreement: &Agreement) -> u8 {
    if !(settings.tail_loss_probe && agreement.sack) {
        return 0;
    }
    match settings.stack.loss_probe {
        LossProbe::Open => bit(CaState::Open),
        // Since Linux 5.1.
        LossProbe::OpenOrCwr => bit(CaState::Open) | bit(CaState::Cwr),
    }
}

/// The outstanding tail loss probe. [rfc8985 §7]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TailLossProbe {
    /// `snd_nxt` when it was sent.
    pub(crate) high_seq: OneWord<u64>,
    /// The probe was a retransmission.
    pub(crate) is_retransmission: bool,
}

impl TailLossProbe {
    /// Retransmissions that are outstanding as a probe.
    pub(crate) fn retransmissions_out(&self) -> u32 {
        u32::from(self.high_seq.is_some() && self.is_retransmission)
    }
}
