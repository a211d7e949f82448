//! The state of the send checks: what the transmit loop has to do, and what limits it.

use std::ops::Range;

use tailback_cc::{Flow, PacingStatus};
use tailback_units::SimTime;

use crate::clock::Deadline;
use crate::info::{HeldBy, HeldTimes};
use crate::queue::{Index, Tags};
use crate::scoreboard::Scoreboard;
use crate::state::small_queue::SmallQueue;
use crate::state::stream::segments_of;

/// What the transmit loop does first after an ACK. [linux-6.12 tcp_input.c REXMIT_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Retransmit {
    #[default]
    Nothing,
    Lost,
    /// F-RTO: new data instead of lost data.
    NewData,
}

/// The result of passing a packet to the device. [linux-6.12 NET_XMIT_SUCCESS, _DROP, _CN]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmitted {
    /// Accepted.
    Queued,
    /// This packet was dropped.
    Dropped,
    /// Accepted; another packet of this flow was dropped for it.
    Congestion,
}

/// What [`crate::Endpoint::write_next`] has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// Nothing: there is nothing to send.
    Nothing,
    /// A packet; there may be more.
    Packet,
    /// An ACK, after which there is nothing more.
    Last,
}

/// A run of the transmit loop, by what started it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// An ACK, a credit, the pacing timer or the end of a write.
    Normal,
    /// The end of a write of full segments and a short one, which waits for a transmit completion if data of this
    /// socket is below TCP by then (`net.ipv4.tcp_autocorking`).
    Autocork,
    /// The end of a write that more follows (`MSG_MORE`): a short segment waits (TCP_NAGLE_CORK).
    More,
    /// A write that filled the send buffer, or a FIN: Nagle does not hold (TCP_NAGLE_PUSH, TCP_NAGLE_OFF).
    Push,
    /// A write has filled an skb and continues: the skb is sent and does not wait to grow (tcp_push_one).
    PushOne,
    /// F-RTO sends new data.
    Frto,
    /// Tail loss probe: one segment, cwnd does not count.
    LossProbe,
    /// Window probe: one segment.
    WindowProbe,
}

impl Pass {
    /// An skb of several segments may be put off for a larger one.
    pub(crate) fn defers(self) -> bool {
        !matches!(self, Pass::LossProbe | Pass::PushOne)
    }

    /// New data leaves while cwnd has room, and the run ends with nothing else.
    #[inline]
    pub(crate) fn obeys_cwnd(self) -> bool {
        matches!(self, Pass::Normal | Pass::Autocork | Pass::More | Pass::Push)
    }

    pub(crate) fn sends_one(self) -> bool {
        matches!(self, Pass::LossProbe | Pass::WindowProbe | Pass::PushOne)
    }
}

/// A run of the transmit loop that is over, and whose end is still to be worked up: cwnd validation, PRR, loss probe.
/// `Sender::end_pass` takes it, so that no run ends without that.
#[must_use = "`Sender::end_pass` does what follows a pass"]
#[derive(Debug)]
pub(crate) struct EndedPass(Pass);

impl EndedPass {
    #[inline]
    pub(crate) fn pass(&self) -> Pass {
        self.0
    }
}

/// Why a segment is retransmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Marked lost.
    Lost,
    /// The head, after a timeout.
    AfterTimeout,
    /// The tail, as a loss probe.
    Probe,
}

/// A packet that was returned and waits for the result of the device.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    New { length: u32, tags: Tags, before: SimTime, kind: NewKind },
    Again { run: Range<Index>, role: Role, before: SimTime },
}

/// What new data leaves as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NewKind {
    /// Segments of the MSS.
    Segments,
    /// One segment that is longer than the MSS.
    MtuProbe,
}

impl NewKind {
    /// Number of segments for `length` bytes.
    #[inline]
    pub(crate) fn segments(self, length: u32, mss: u32) -> u32 {
        match self {
            NewKind::Segments => segments_of(length, mss),
            NewKind::MtuProbe => 1,
        }
    }
}

/// What goes before new data, in one byte, so that one comparison finds that there is nothing: bits 0 and 1 are
/// [`Retransmit`], the others flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct First(u8);

impl First {
    const LOST: u8 = 1;
    const NEW_DATA: u8 = 2;
    const RETRANSMIT: u8 = First::LOST | First::NEW_DATA;
    const HEAD: u8 = 4;
    const REARM: u8 = 8;

    fn take(&mut self, flag: u8) -> bool {
        let was_set = self.0 & flag != 0;
        self.0 &= !flag;
        was_set
    }
}

/// What the sender still has to do.
#[derive(Debug, Default)]
pub(crate) struct PendingWork {
    first: First,
    pub(crate) head_retransmitted: bool,
    /// The run of the transmit loop that is requested or in progress; only [`PendingWork::end`] ends it.
    pass: Option<Pass>,
    /// Of a pass of a write: the bytes that the kernel has still to write when it next tries to send; 0 if it is the end.
    pub(crate) to_write: u32,
    pub(crate) progress: Progress,
    pub(crate) pending: Option<Pending>,
}

/// The progress of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) sent: u32,
    pub(crate) cwnd_limited: bool,
    pub(crate) window_limited: bool,
    pub(crate) stopped: bool,
    pub(crate) begun: bool,
    pub(crate) burst: Burst,
}

/// Full segments that leave one after another in one pass: all send checks let them pass when the burst began, except for
/// that of the small queue. Those of a paced burst leave one by one, each at its departure time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    /// Segments that are still to be sent.
    pub(crate) left: u32,
    /// After them cwnd is full, there is more data, and the flow is not paced: the pass ends.
    pub(crate) fills_cwnd: bool,
    /// After the first of them, room in the send buffer is to be looked for, which has not been done at this instant.
    pub(crate) checks_space: bool,
    /// The small queue holds less than this, or the burst ends.
    pub(crate) small_queue_limit: u64,
}

impl Burst {
    /// The small queue has room for the next segment.
    #[inline]
    pub(crate) fn has_room(&self, below: &SmallQueue) -> bool {
        below.wmem_alloc < self.small_queue_limit
    }
}

impl PendingWork {
    /// There is a next segment of a burst, and the small queue has room for it; otherwise the burst ends.
    #[inline(always)]
    pub(crate) fn continues_burst(&mut self, below: &SmallQueue, flow: &Flow) -> bool {
        if self.progress.burst.left == 0 {
            return false;
        }
        let continues = self.progress.burst.has_room(below) && flow.departure <= flow.now;
        if !continues {
            self.progress.burst = Burst::default();
        }
        continues
    }

    /// True if the transmit loop has to run, even if nothing can be sent.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.pass.is_some() || self.precedes_new_data()
    }

    /// True if there is work to do before new data is sent.
    #[inline]
    pub(crate) fn precedes_new_data(&self) -> bool {
        self.first != First::default()
    }

    /// Lost segments, and nothing else, precede new data.
    #[inline]
    pub(crate) fn only_retransmits_lost(&self) -> bool {
        self.first == First(First::LOST)
    }

    /// What is retransmitted.
    #[inline]
    pub(crate) fn retransmit(&self) -> Retransmit {
        match self.first.0 & First::RETRANSMIT {
            0 => Retransmit::Nothing,
            First::LOST => Retransmit::Lost,
            _ => Retransmit::NewData,
        }
    }

    #[inline]
    pub(crate) fn set_retransmit(&mut self, what: Retransmit) {
        let bits = match what {
            Retransmit::Nothing => 0,
            Retransmit::Lost => First::LOST,
            Retransmit::NewData => First::NEW_DATA,
        };
        self.first.0 = self.first.0 & !First::RETRANSMIT | bits;
    }

    /// The head is retransmitted after a timeout.
    pub(crate) fn retransmit_head(&mut self) {
        self.first.0 |= First::HEAD;
    }

    /// Whether the head is to be retransmitted after a timeout; clears the request.
    pub(crate) fn take_head(&mut self) -> bool {
        self.first.take(First::HEAD)
    }

    /// The retransmission timer is armed unless it is after the retransmissions.
    pub(crate) fn rearm_unless_retransmission(&mut self) {
        self.first.0 |= First::REARM;
    }

    /// Whether the retransmission timer is to be armed unless it is after the retransmissions; clears the request.
    pub(crate) fn take_rearming(&mut self) -> bool {
        self.first.take(First::REARM)
    }

    /// The run of the transmit loop that is requested or in progress.
    #[inline]
    pub(crate) fn pass(&self) -> Option<Pass> {
        self.pass
    }

    /// The run of the transmit loop, which is `pass`, is over.
    #[inline]
    pub(crate) fn end(&mut self, pass: Pass) -> EndedPass {
        self.pass = None;
        EndedPass(pass)
    }

    /// Requests a run of the transmit loop. If one is requested already, the more urgent reason applies.
    pub(crate) fn begin(&mut self, pass: Pass) {
        if matches!(self.pass, None | Some(Pass::Normal | Pass::Autocork | Pass::More)) {
            self.pass = Some(pass);
            self.to_write = 0;
            self.progress = Progress::default();
        }
    }
}

/// The state of the checks for new data.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) work: PendingWork,
    pub(crate) pacing_timer: Deadline,
    /// Up to this time the host may pass the time to the next departure in place of the pacing timer, so that bursts may be
    /// paced; `ZERO`: it does not.
    pub(crate) quiet_until: SimTime,
    /// End of the newest segment shorter than mss that was sent (`snd_sml`).
    pub(crate) small_sent: u64,
    held_by: HeldBy,
    /// Touched only when the reason changes.
    held_for: Box<HeldTimes>,
    /// `TCP_NODELAY`.
    pub(crate) no_delay: bool,
    /// `TCP_CORK`.
    pub(crate) corked: bool,
}

impl Gate {
    /// Why new data was last refused.
    pub(crate) fn held_by(&self) -> HeldBy {
        self.held_by
    }

    /// The socket must wait for its departure time; arms the pacing timer. [linux-6.12 tcp_pacing_check]
    #[inline]
    pub(crate) fn held_by_pacing(&mut self, flow: &Flow) -> bool {
        if flow.pacing_status != PacingStatus::Needed || flow.departure <= flow.now {
            return false;
        }
        if !self.pacing_timer.is_set() {
            self.pacing_timer = Deadline::at(flow.departure);
        }
        true
    }

    /// Pacing holds the next segment of a burst.
    #[inline]
    pub(crate) fn pauses(&self, flow: &Flow) -> bool {
        self.quiet_until > SimTime::ZERO && self.work.progress.burst.left > 0 && flow.departure > flow.now
    }

    /// A short segment waits for more if the application said that more comes, or while another short one is
    /// unacknowledged (Minshall's rule). [linux-6.12 tcp_output.c tcp_nagle_check]
    pub(crate) fn held_by_nagle(&self, pass: Pass, flow: &Flow, scoreboard: &Scoreboard) -> bool {
        let short_one_is_out = || {
            let unacknowledged = flow.snd_una < self.small_sent && self.small_sent <= flow.snd_nxt;
            unacknowledged && scoreboard.packets_out() > 0
        };
        match pass {
            Pass::More => true,
            Pass::Normal | Pass::Autocork => self.corked || (!self.no_delay && short_one_is_out()),
            _ => false,
        }
    }

    /// New data is refused.
    pub(crate) fn hold(&mut self, reason: HeldBy, now: SimTime) {
        if reason != self.held_by {
            self.hold_otherwise(reason, now);
        }
    }

    #[inline(never)]
    fn hold_otherwise(&mut self, reason: HeldBy, now: SimTime) {
        self.held_for.end(self.held_by, now);
        self.held_by = reason;
    }

    /// For how long it was held by what until now.
    pub(crate) fn held_for(&self, now: SimTime) -> HeldTimes {
        let mut held = HeldTimes::clone(&self.held_for);
        held.end(self.held_by, now);
        held
    }
}
