//! Whether an arriving segment is taken: its timestamp, its place in the window, and the memory for it.
//!
//! What is not acceptable is answered with an ACK, at a limited rate. [rfc9293 §3.10.7.4] [rfc5961 §5]
//! [linux-6.12 tcp_input.c tcp_validate_incoming, tcp_try_rmem_schedule] [linux-7.3 tcp_input.c tcp_sequence]

use tailback_packet::{SackBlock, Segment};
use tailback_units::{SimTime, Span};

use super::Receiver;
use crate::clock::TIMESTAMP_CLOCK;
use crate::one_word::OneWord;
use crate::stack::{BareFin, EndBeyondWindow, FullBuffer, Pruning};

impl Receiver {
    /// By how much a segment is older than the timestamp to echo: it was overtaken, or is a duplicate of long ago. `None`
    /// within a tick of the peer's clock.
    /// [rfc7323 §5.2] [linux-6.12 tcp.h tcp_paws_check]
    #[inline]
    pub(crate) fn outdated_by(&self, segment: &Segment) -> Option<Span> {
        let (recent, sent) = (self.ts_recent.time()?, segment.tsval.time()?);
        (recent > sent + TIMESTAMP_CLOCK).then(|| recent.since(sent))
    }

    /// False if all of the segment is before the last acknowledged byte, or it begins beyond the window; it is then
    /// ignored.
    /// [rfc9293 §3.10.7.4] [linux-6.12 tcp_input.c tcp_sequence]
    pub(crate) fn is_acceptable(&self, segment: &Segment) -> bool {
        let beyond = segment.seq > self.rcv_nxt + self.window.left(self.rcv_nxt);
        segment.end() >= self.window.last_update() && !(beyond || self.end_is_beyond_window(segment))
    }

    /// Since Linux 6.17 a segment that ends beyond the window, or since 7.1 beyond any window that was ever advertised, is
    /// taken only if no data waits to be read; a FIN does not count. [linux-7.3 tcp_input.c tcp_sequence]
    #[inline]
    pub(super) fn end_is_beyond_window(&self, segment: &Segment) -> bool {
        let ends = segment.seq + u64::from(segment.length);
        self.settings.stack.end_beyond_window == EndBeyondWindow::TakenIfDrained
            && ends > self.window.furthest_edge().max(self.rcv_nxt)
            && self.data.ready_bytes() > 0
    }

    /// Acknowledges an unacceptable segment; without data, with a rate limit. [linux-6.12 tcp_input.c tcp_send_dupack]
    #[cold]
    pub(crate) fn answer_unacceptable(&mut self, segment: &Segment, now: SimTime) {
        let beyond = segment.end() >= self.window.last_update();
        self.beyond_window = self.beyond_window.saturating_add(beyond.into());
        if segment.end() == segment.seq {
            return self.challenge(now);
        }
        self.forget_ack();
        if segment.seq < self.rcv_nxt {
            self.enter_quick_ack();
            self.sacks.set_duplicate(SackBlock { start: segment.seq, end: segment.end().min(self.rcv_nxt) });
        }
        self.ack_due = true;
    }

    /// The RST has the place of the next byte, of the peer's FIN after it, or of what follows the highest byte received.
    /// [rfc5961 §3.2] [linux-6.12 tcp_input.c tcp_validate_incoming, tcp_reset_check]
    pub(crate) fn ends_by(&self, reset: &Segment) -> bool {
        let after_fin = self.at_end() && reset.seq + 1 == self.rcv_nxt;
        let next = reset.seq == self.rcv_nxt || self.sacks.highest() == Some(reset.seq);
        after_fin || (next && self.is_acceptable(reset))
    }

    /// A challenge ACK; at most one per [`Settings::invalid_ratelimit`]. [rfc5961 §7] [linux-6.12 tcp_input.c
    /// tcp_send_challenge_ack, __tcp_oow_rate_limited]
    #[cold]
    pub(crate) fn challenge(&mut self, now: SimTime) {
        self.ack_due |= self.may_answer_unacceptable(now);
    }

    /// True if an unacceptable segment, or a repeated SYN, is answered now.
    #[cold]
    pub(crate) fn may_answer_unacceptable(&mut self, now: SimTime) -> bool {
        let soon = |last: SimTime| {
            now.ticks(self.settings.jiffy)
                < (last + self.settings.invalid_ratelimit).ticks(self.settings.jiffy)
        };
        let may = !self.answered_unacceptable.get().is_some_and(soon);
        if may {
            self.answered_unacceptable = OneWord::some(now);
        }
        may
    }

    /// A connection begins: what was answered before does not count. [linux-6.12 tcp_minisocks.c
    /// tcp_create_openreq_child]
    pub(crate) fn forget_answers(&mut self) {
        self.answered_unacceptable = OneWord::NONE;
    }

    /// True if the segment begins at the end of the window, or the window is closed. The next FIN without data passes a
    /// closed window, since some peers retransmit it forever. Data that was received before is reported by a DSACK.
    pub(super) fn is_beyond_window(&mut self, segment: &Segment) -> bool {
        let left = self.window.left(self.rcv_nxt);
        if segment.seq < self.rcv_nxt {
            self.sacks.set_duplicate(SackBlock { start: segment.seq, end: self.rcv_nxt });
        }
        let takes_fin = self.settings.stack.bare_fin == BareFin::Taken;
        let bare_fin = takes_fin && segment.seq == self.rcv_nxt && segment.length == 0;
        if bare_fin { false } else { left == 0 || segment.seq >= self.rcv_nxt + left }
    }

    /// True if the buffer has memory for a segment at `seq`, if necessary after pruning; false if it stays overfull.
    /// [linux-6.12 tcp_input.c tcp_try_rmem_schedule, tcp_prune_queue]
    #[inline]
    pub(super) fn has_memory(&mut self, seq: u64, in_order: bool) -> bool {
        !self.window.exceeds_limit() || self.makes_room(seq, in_order)
    }

    #[cold]
    pub(super) fn makes_room(&mut self, seq: u64, in_order: bool) -> bool {
        if in_order && self.drops_when_full() && self.data.ready_bytes() == 0 {
            return true;
        }
        let seq = if self.settings.stack.pruning == Pruning::BehindTheNew { seq } else { 0 };
        self.ack.quick = 0;
        self.window.clamp_to_memory();
        if self.window.exceeds_limit() && self.data.forget_late(seq, self.window.rcvbuf()) {
            self.charge();
            self.sacks.clear();
        }
        !self.window.exceeds_limit()
    }

    /// The buffer is overfull: out-of-order data is dropped silently; in-order data is dropped, and a closed window is
    /// advertised at once, since Linux 6.7. In-order data is accepted if no data is unread, and so is a FIN without data.
    #[cold]
    pub(super) fn lacks_room(&mut self, segment: &Segment, in_order: bool) -> bool {
        self.readable = true;
        if self.drops_when_full() {
            return true;
        }
        if in_order {
            self.ack.no_memory = true;
            self.acknowledge_now();
        }
        !in_order || (segment.length > 0 && self.data.ready_bytes() > 0)
    }

    pub(super) fn drops_when_full(&self) -> bool {
        self.settings.stack.full_buffer == FullBuffer::Drops
    }
}
