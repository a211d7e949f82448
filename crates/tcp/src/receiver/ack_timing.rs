//! When to acknowledge: at once, delayed, or compressed.
//!
//! ```text
//! at once:    more than one full segment is unacknowledged, in quick-ack mode (the first 16 segments, and each that makes
//!             the window grow), when the last hole is filled, for the first three out-of-order segments
//! compressed: later out-of-order segments, one ACK per min(1 ms, RTT/20), at most 44 ACKs; since Linux 4.18 (RTT/3: 6.19)
//! delayed:    otherwise, by `ato`: 40 ms at first, then by the gaps between segments, at most 200 ms, and since Linux
//!             6.11 less than the least retransmission timeout
//! ```
//!
//! FreeBSD 9: at once each second segment, by its read after the first of the next two (an ACK leaves before its segment is
//! read, so that by then the window has moved by two segments), and otherwise after 100 ms. A reader that is awake thus
//! sends two ACKs per three segments. [freebsd-9 tcp_output.c]
//!
//! [linux-6.12 tcp_input.c tcp_event_data_recv, __tcp_ack_snd_check] [linux-6.12 tcp_output.c tcp_send_delayed_ack]

use tailback_packet::{SackBlock, Segment};
use tailback_units::{SimTime, Span, expiry};

use super::Receiver;
use crate::clock::Deadline;
use crate::config::Settings;
use crate::ecn::Reaction;
use crate::one_word::OneWord;
use crate::stack::{DelayedAck, DelayedAckBound, DisorderAcks, QuickAckUse, SackCompression};

/// Minimum and usual delayed-ACK time. [linux-6.12 tcp.h TCP_ATO_MIN, TCP_DELACK_MIN]
pub(super) const ATO_MIN: Span = Span::from_millis(40);
/// Maximum delayed-ACK time. [linux-6.12 tcp.h TCP_DELACK_MAX]
const DELACK_MAX: Span = Span::from_millis(200);
/// `net.inet.tcp.delacktime`. [freebsd-9 tcp_timer.c]
const DELACK_FREEBSD: Span = Span::from_millis(100);
/// Immediate ACKs at the start of data. [linux-6.12 tcp.h TCP_MAX_QUICKACKS]
const QUICKACKS_MAX: u64 = 16;
/// Immediate ACKs after a first CE mark. [linux-6.12 tcp_input.c __tcp_ecn_check_ce]
const QUICKACKS_OF_MARK: u64 = 2;
/// Duplicate ACKs that are never compressed. [linux-6.12 tcp.h TCP_FASTRETRANS_THRESH]
const DUPACKS_UNCOMPRESSED: u32 = 3;
/// A change of this SACK block or a later one is reported at once. [linux-6.12 tcp_input.c TCP_SACK_BLOCKS_EXPECTED]
const SACK_BLOCKS_EXPECTED: usize = 2;

/// Maximum time for which an ACK is delayed. [linux-6.12 tcp_output.c tcp_delack_max]
fn delack_max(settings: &Settings) -> Span {
    match settings.stack.delayed_ack_bound {
        DelayedAckBound::Fixed => DELACK_MAX,
        DelayedAckBound::BelowRtoMin => {
            DELACK_MAX.min(settings.rto_min.max(settings.jiffy * 2) - settings.jiffy)
        }
    }
}

/// State of delayed and quick ACKs. [linux-6.12 inet_connection_sock.h icsk_ack]
#[derive(Clone, Debug, Default)]
pub(super) struct AckEngine {
    pub(super) scheduled: bool,
    pub(super) now: bool,
    /// Data was dropped for want of memory: the window is closed. [linux-6.12 ICSK_ACK_NOMEM]
    pub(super) no_memory: bool,
    pub(super) pushed: u8,
    /// The connection is interactive: nothing is acknowledged quickly. [linux-6.12 inet_csk_in_pingpong_mode]
    pub(super) pingpong: bool,
    /// Answers within `ato`, which make it interactive.
    answers: u8,
    /// When data was last sent by a connection that is not interactive, in jiffies.
    answered: u32,
    pub(super) quick: u32,
    /// Time for which an ACK is delayed; none before the first data.
    pub(super) ato: Span,
    pub(super) last_received: SimTime,
    pub(super) timeout: Deadline,
}

impl AckEngine {
    /// [linux-6.12 inet_connection_sock.h inet_csk_exit_pingpong_mode]
    fn leave_pingpong(&mut self) {
        self.pingpong = false;
        self.answers = 0;
    }
}

/// State of compressed ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Compression {
    pub(super) count: u32,
    pub(super) dupacks: u32,
    pub(super) rcv_nxt: u64,
    /// When the timer fires at the latest, the slack after its soft expiry.
    pub(super) latest: Deadline,
}

impl Compression {
    /// The soft expiry has passed.
    #[inline]
    fn is_due(&self, now: SimTime, settings: &Settings) -> bool {
        self.latest.is_over(now + settings.compression.slack)
    }
}

impl Receiver {
    /// Data (or a FIN) arrived. True if the compressed ACKs must be sent before this segment is processed, followed by
    /// [`Receiver::compression_flushed`].
    pub(crate) fn must_flush_before(&self, segment: &Segment) -> bool {
        self.compression.count > 0 && segment.seq > self.rcv_nxt && self.touches_late_block(segment)
    }

    /// A third or later SACK block would be created or changed.
    fn touches_late_block(&self, segment: &Segment) -> bool {
        let block = SackBlock { start: segment.seq, end: segment.end() };
        self.sacks.first_touched_by(block) >= SACK_BLOCKS_EXPECTED
    }

    /// The compressed ACKs were sent as one.
    pub(crate) fn compression_flushed(&mut self) {
        self.compression.count = 0;
        self.compression.latest = Deadline::NONE;
    }

    /// [linux-6.12 tcp_input.c tcp_enter_quickack_mode]
    pub(super) fn enter_quick_ack(&mut self) {
        self.quick_acks_from_now(QUICKACKS_MAX);
    }

    fn quick_acks_from_now(&mut self, max: u64) {
        self.quick_ack(max);
        self.ack.leave_pingpong();
        self.ack.ato = ATO_MIN;
    }

    /// The segment being processed is acknowledged at once.
    pub(crate) fn acknowledge_now(&mut self) {
        self.ack.scheduled = true;
        self.ack.now = true;
    }

    /// The application sets `TCP_QUICKACK`. [linux-6.12 tcp.c __tcp_sock_set_quickack]
    pub(crate) fn set_quick_ack(&mut self) {
        self.ack.leave_pingpong();
        self.ack_due |= self.ack.scheduled;
    }

    /// Data is sent: if data of the peer arrived within `ato`, the connection is interactive.
    /// [linux-6.12 tcp_output.c tcp_event_data_sent]
    pub(crate) fn answered(&mut self, now: SimTime) {
        if !self.ack.ato.is_zero() && !self.ack.pingpong {
            self.count_answer(now);
        }
    }

    /// From Linux 5.1 to 5.18 three exchanges are needed, and only the first data after that of the peer is an answer.
    #[inline(never)]
    fn count_answer(&mut self, now: SimTime) {
        let threshold = self.settings.pingpong_threshold;
        let jiffies = |at: SimTime| at.ticks(self.settings.jiffy) as u32;
        let again = self.settings.stack.pingpong_threshold > 1
            && self.ack.answered >= jiffies(self.ack.last_received);
        self.ack.answered = jiffies(now);
        if !again && now.since(self.ack.last_received) < self.ack.ato {
            self.ack.answers = self.ack.answers.saturating_add(1);
            self.ack.pingpong = u32::from(self.ack.answers) >= threshold;
        }
    }

    #[inline(always)]
    pub(super) fn adapt_ato(&mut self, now: SimTime) {
        let ato = self.ack.ato;
        if ato.is_zero() {
            self.quick_ack(QUICKACKS_MAX);
            self.ack.ato = ATO_MIN;
            return;
        }
        if now.since(self.ack.last_received).as_nanos() <= u64::from(self.soon) {
            // Nearly always. In whole jiffies it is at most one jiffy more.
            self.ack.ato = ato / 2 + ATO_MIN / 2;
            return;
        }
        self.adapt_ato_after_pause(ato, now);
    }

    #[inline(never)]
    fn adapt_ato_after_pause(&mut self, ato: Span, now: SimTime) {
        let pause = Span::from_nanos(
            (now.ticks(self.settings.jiffy) - self.ack.last_received.ticks(self.settings.jiffy))
                * self.settings.jiffy.as_nanos(),
        );
        if pause <= ATO_MIN / 2 {
            self.ack.ato = ato / 2 + ATO_MIN / 2;
        } else if pause < ato {
            self.ack.ato = (ato / 2 + pause).min(self.rto).min(DELACK_MAX);
        } else if pause > self.rto {
            self.quick_ack(QUICKACKS_MAX);
        }
    }

    fn quick_ack(&mut self, max: u64) {
        let by_window = match self.window.rcv_wnd() / (2 * u64::from(self.window.rcv_mss())) {
            0 => 2,
            some => some,
        };
        self.ack.quick = self.ack.quick.max(by_window.min(max) as u32);
    }

    /// A delayed ACK waits for its timer.
    pub(crate) fn delays_ack(&self) -> bool {
        self.ack.timeout.is_set()
    }

    /// Reacts to the mark of received data.
    #[inline]
    pub(crate) fn react_to_mark(&mut self, reaction: Reaction) {
        match reaction {
            Reaction::None => {}
            Reaction::QuickAcks => {
                let always = self.settings.stack.disorder_acks == DisorderAcks::AfterAnyDisorder;
                self.quick_acks_from_now(if always { QUICKACKS_MAX } else { QUICKACKS_OF_MARK });
            }
            Reaction::AckNow => self.ack.now = true,
        }
    }

    /// After a segment with data: acknowledge now, later, or compressed. [tcp_ack_snd_check]
    #[inline(always)]
    pub(crate) fn decide_ack(&mut self, now: SimTime) {
        if !self.ack.scheduled {
            return;
        }
        let mss = u64::from(self.window.rcv_mss());
        let waiting = self.rcv_nxt - self.window.last_update();
        let by_count = self.delayed_ack == DelayedAck::EverySecond;
        let more_than_one = waiting > mss
            && (by_count
                || self.window.unread(self.rcv_nxt) < u64::from(self.rcvlowat)
                || self.window_has_not_shrunk());
        let quick = self.ack.quick > 0 && !self.ack.pingpong && self.delayed_ack == DelayedAck::Adaptive;
        if more_than_one || quick || self.ack.now {
            self.ack_due = true;
            if self.delayed_ack == DelayedAck::EverySecond {
                self.before_read = OneWord::some(self.select_window());
            }
        } else if self.data.in_order() {
            self.delay_ack(now);
        } else {
            self.compress_ack(now);
        }
    }

    /// The window to advertise is at least as large as the last one.
    fn window_has_not_shrunk(&mut self) -> bool {
        self.select_window() >= self.window.rcv_wnd()
    }

    /// [linux-6.12 tcp_input.c __tcp_ack_snd_check, out-of-order part]
    #[inline(never)]
    fn compress_ack(&mut self, now: SimTime) {
        if self.compression.rcv_nxt != self.rcv_nxt {
            self.compression.rcv_nxt = self.rcv_nxt;
            self.compression.dupacks = 0;
        }
        let uncompressed = self.blocks == 0 || self.sack_compression == SackCompression::None;
        if self.compression.dupacks < DUPACKS_UNCOMPRESSED || uncompressed {
            self.compression.dupacks += 1;
            self.ack_due = true;
            return;
        }
        if self.compression.count >= u32::from(self.settings.compression.acks) {
            self.ack_due = true;
            return;
        }
        self.compression.count += 1;
        if !self.compression.latest.is_set() {
            let limits = self.settings.compression;
            let mut rtt8 = u64::from(self.window.rtt_us8());
            if self.srtt_us8 > 0 {
                rtt8 = rtt8.min(u64::from(self.srtt_us8));
            }
            let delay =
                Span::from_nanos(rtt8 * (1_000 / 8) * u64::from(limits.share) / 100).min(limits.delay);
            self.compression.latest = Deadline::at(now + delay + limits.slack);
        }
    }

    /// [linux-6.12 tcp_output.c tcp_send_delayed_ack]
    #[inline]
    fn delay_ack(&mut self, now: SimTime) {
        // Before the first data there is no delay: a FIN is then acknowledged at the next tick.
        let mut ato = self.ack.ato;
        if ato > ATO_MIN {
            let mut max =
                if self.ack.pushed > 0 || self.ack.pingpong { DELACK_MAX } else { Span::from_millis(500) };
            if self.srtt_us8 > 0 {
                max = max.min(Span::from_micros(u64::from(self.srtt_us8 >> 3)).max(ATO_MIN));
            }
            ato = ato.min(max);
        }
        let ato = match self.delayed_ack {
            DelayedAck::Adaptive => ato.min(delack_max(&self.settings)),
            DelayedAck::EverySecond => DELACK_FREEBSD,
        };
        if self.ack.timeout.is_over(now + ato / 4) {
            self.ack_due = true;
        } else {
            let timeout = expiry(now, ato, (self.settings.jiffy, self.settings.timer_rounding));
            self.ack.timeout = self.ack.timeout.or(Deadline::at(timeout));
        }
    }

    /// When the delayed or compressed ACK is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Deadline {
        self.ack.timeout.or(self.compression.latest)
    }

    /// A deadline passed.
    pub(crate) fn expire(&mut self, now: SimTime) {
        self.forget_ack();
        if self.compression.is_due(now, &self.settings) {
            self.compression.latest = Deadline::NONE;
            if self.compression.count > 0 {
                self.ack_due = true;
            }
        }
        if self.ack.timeout.is_over(now) {
            self.ack.timeout = Deadline::NONE;
            if self.ack.scheduled {
                let interactive = self.ack.pingpong;
                self.ack.leave_pingpong();
                let longer = (self.ack.ato * 2).min(self.rto).min(DELACK_MAX);
                self.ack.ato = if interactive { ATO_MIN } else { longer };
                self.ack_due = true;
            }
        }
    }

    /// The timer of compressed ACKs fires at the first interrupt after its soft expiry.
    pub(crate) fn interrupt(&mut self, now: SimTime) {
        if self.compression.is_due(now, &self.settings) {
            self.expire(now);
        }
    }

    /// [linux-6.12 tcp_output.c tcp_event_ack_sent]
    pub(super) fn ack_sent(&mut self) {
        self.compression.count = 0;
        self.compression.latest = Deadline::NONE;
        if self.ack.quick > 0 {
            let uses = self.ack.scheduled || self.settings.stack.quick_ack_use == QuickAckUse::EveryAck;
            self.ack.quick = self.ack.quick.saturating_sub(u32::from(uses));
            if self.ack.quick == 0 {
                self.ack.ato = ATO_MIN;
            }
        }
        self.ack.scheduled = false;
        self.ack.now = false;
        self.ack.no_memory = false;
        self.ack.pushed = 0;
        self.ack.timeout = Deadline::NONE;
        self.ack_due = false;
    }
}
