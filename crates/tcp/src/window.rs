//! Windows: the peer's window, the use of cwnd, restart after idle time, the send buffer.

use tailback_cc::CwndEvent;
use tailback_units::Segs;

use crate::config::INITIAL_WINDOW;
use crate::queue::Index;
use crate::sender::Sender;
use crate::state::clocks::Chrono;
use crate::state::gate::Pass;

impl Sender {
    /// After a run of the transmit loop, records whether cwnd was used: otherwise cwnd must not grow.
    /// [linux-6.12 tcp_output.c tcp_cwnd_validate]
    #[inline(always)]
    pub(crate) fn validate_cwnd(&mut self, limited: bool) {
        let packets_out = self.scoreboard.packets_out();
        let by = self.settings.stack.cwnd_use;
        self.usage.note_run(limited, packets_out, &self.flow, by);
        if self.usage.is_limited_by(&self.window, by) {
            self.usage.used = 0;
            self.usage.stamp = self.flow.now;
            return;
        }
        self.usage.used = self.usage.used.max(packets_out);
        let unused_for = self.flow.now.since(self.usage.stamp);
        if self.settings.slow_start_after_idle && unused_for >= self.rtt.rto() && !self.control.is_model() {
            self.decay_unused_cwnd();
        }
        // All buffered data was sent, cwnd has room, and the application waits: the buffer is too small.
        if self.buffer.app_blocked && !self.has_unsent() {
            self.clocks.start(Chrono::SendBuffer, self.flow.now);
        }
    }

    /// Reduces cwnd half-way to what was used. [rfc2861] [linux-6.12 tcp_output.c tcp_cwnd_application_limited]
    fn decay_unused_cwnd(&mut self) {
        if self.flow.ca_state == tailback_cc::CaState::Open && !self.buffer.app_blocked {
            let used = self.usage.used.max(INITIAL_WINDOW);
            if used < self.window.cwnd.0 {
                self.window.ssthresh = self.window.current_ssthresh(self.flow.ca_state);
                self.window.cwnd = Segs((self.window.cwnd.0 + used) >> 1);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.flow.now;
    }

    /// New data after a pause: cwnd is halved for each RTO of it. [linux-6.12 tcp_output.c tcp_cwnd_restart]
    pub(crate) fn restart_after_idle(&mut self) {
        if !self.settings.slow_start_after_idle
            || self.scoreboard.packets_out() > 0
            || self.control.is_model()
        {
            return;
        }
        let mut idle = self.flow.now.since(self.flow.last_sent);
        let rto = self.rtt.rto();
        if self.sent.data_segs_out == 0 || idle <= rto {
            return;
        }
        self.cwnd_event(CwndEvent::CwndRestart);
        let floor = self.window.cwnd.0.min(INITIAL_WINDOW);
        self.window.ssthresh = self.window.current_ssthresh(self.flow.ca_state);
        let mut cwnd = self.window.cwnd.0;
        while idle > rto && cwnd > floor {
            idle = idle.saturating_sub(rto);
            cwnd >>= 1;
        }
        self.window.cwnd = Segs(cwnd.max(floor));
        self.usage.stamp = self.flow.now;
        self.usage.used = 0;
    }

    /// The window of an ACK, if it is newer. True if it was taken. [rfc9293 §3.10.7.4]
    /// [linux-6.12 tcp_input.c tcp_ack_update_window]
    #[inline]
    pub(crate) fn update_send_window(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        let Some(before) = self.peer.take((seq, window), ack > self.flow.snd_una) else { return false };
        if before != window && self.unsent() > 0 {
            // After idle time, an opened window must not be filled at once.
            self.restart_after_idle();
        }
        true
    }

    /// Truesize of everything written and not acknowledged.
    pub(crate) fn wmem_queued(&self) -> u64 {
        let unsent_skbs = match self.settings.builds_trains() {
            true => self.stream.unsent_skbs.len() as u64,
            false => self.unsent().div_ceil(u64::from(self.flow.mss)),
        };
        (u64::from(self.scoreboard.queue().skbs()) + unsent_skbs)
            * u64::from(self.settings.stack.skb_overhead)
            + self.scoreboard.payload()
            + self.unsent()
    }

    /// Grows the buffer to hold twice cwnd, with the kernel's overhead per segment. [linux-6.12 tcp_input.c
    /// tcp_sndbuf_expand]
    pub(crate) fn expand_sndbuf(&mut self) {
        if self.buffer.is_locked {
            return;
        }
        let segments = INITIAL_WINDOW.max(self.window.cwnd.0).max(self.recovery.reordering + 1);
        let mss = self.sizes().clamp.max(self.flow.mss);
        if self.buffer.covers(self.flow.mss, segments) {
            let most = self.buffer.wanted(segments, mss).min(self.settings.wmem[2]);
            debug_assert!(most <= self.buffer.sndbuf, "the buffer would grow");
            return;
        }
        let wanted = self.buffer.wanted(segments, mss);
        if wanted > self.buffer.sndbuf {
            self.buffer.sndbuf = wanted.min(self.settings.wmem[2]);
            self.buffer.may_have_space();
        }
        self.buffer.found_to_cover(self.flow.mss, segments);
    }

    /// After an ACK: the buffer may grow, and a blocked application may continue once a third of it is free.
    /// [linux-6.12 tcp_input.c tcp_check_space, stream.c sk_stream_write_space]
    #[inline]
    pub(crate) fn check_space(&mut self) {
        if self.buffer.has_waiter() {
            self.new_space();
        }
    }

    /// After a transmission: as [`check_space`](Self::check_space). A transmission that joins no skbs leaves the data
    /// where it is, so that a buffer without room at this instant has none now; and more is in flight than before.
    #[inline]
    pub(crate) fn check_space_after_sending(&mut self) {
        if self.buffer.is_still_full(self.flow.now) {
            debug_assert!(
                !self.buffer.has_waiter() || !self.buffer.has_space(self.wmem_queued()),
                "a transmission made room in the send buffer"
            );
            return;
        }
        self.check_space();
    }

    /// As [`Sender::check_space`] if there was no room at the transmission before, and nothing but transmissions since.
    #[inline]
    pub(crate) fn still_has_no_space(&mut self) {
        if self.buffer.has_waiter() {
            if self.scoreboard.in_flight() < self.window.cwnd.0 {
                self.usage.stamp = self.flow.now;
            }
            debug_assert!(
                !self.buffer.has_space(self.wmem_queued()),
                "a transmission made room in the send buffer"
            );
            self.buffer.found_full(self.flow.now);
        }
    }

    fn new_space(&mut self) {
        if self.scoreboard.in_flight() < self.window.cwnd.0 {
            self.expand_sndbuf();
            self.usage.stamp = self.flow.now;
        }
        // Since there was last no room, too few segments have been acknowledged to make some.
        let waits_for_more = self.buffer.is_full_with(self.scoreboard.queue().head());
        if waits_for_more && self.scoreboard.sacked_out() == 0 && self.takes_shortcuts() {
            debug_assert!(!self.buffer.has_space(self.wmem_queued()), "there is room before it was expected");
            self.buffer.found_full(self.flow.now);
        } else {
            self.write_space();
        }
    }

    #[inline(never)]
    fn write_space(&mut self) {
        if !self.buffer.has_space(self.wmem_queued()) {
            self.buffer.found_full(self.flow.now);
            self.buffer.full_until(self.full_until());
            return;
        }
        self.buffer.may_have_space();
        if 2 * self.unsent() < self.options.notsent_lowat {
            self.buffer.wake();
            self.clocks.stop(Chrono::SendBuffer, self.is_busy(), self.flow.now);
        }
    }

    /// The record that is the head of the retransmit queue when there may be room. No record frees more than a full
    /// segment with its overhead, and transmissions free nothing; but skbs of several segments, and those that SACKs make,
    /// are freed in other ways.
    fn full_until(&self) -> Index {
        if self.settings.builds_trains() || self.scoreboard.sacked_out() > 0 {
            return 0;
        }
        let largest = u64::from(self.agreement.peer_mss.max(self.flow.mss));
        let at_most = largest + u64::from(self.settings.stack.skb_overhead);
        match self.wmem_queued().checked_sub(self.buffer.most_with_room() + 1) {
            Some(excess) => self.scoreboard.queue().head() + 1 + excess / at_most,
            None => 0,
        }
    }

    /// Another skb may be written. [linux-6.12 sock.h sk_stream_memory_free]
    pub(crate) fn has_memory(&self) -> bool {
        self.wmem_queued() < self.buffer.sndbuf && self.unsent() < self.options.notsent_lowat
    }

    /// An application waits, and the buffer counts as full though it has room: no transmission would look for it.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn overlooks_space(&self) -> bool {
        let counts_as_full = self.buffer.has_waiter() && self.buffer.is_still_full(self.flow.now);
        counts_as_full && self.buffer.has_space(self.wmem_queued())
    }
}

impl Sender {
    /// Data is to be sent or to be acknowledged.
    pub(crate) fn is_busy(&self) -> bool {
        self.scoreboard.packets_out() > 0 || self.has_unsent()
    }

    /// Accepts as many of `bytes` as fit into the send buffer: another skb is allocated while the queued data is
    /// below the limit. [linux-6.12 tcp.c tcp_sendmsg_locked, sk_stream_memory_free]
    pub(crate) fn fill(&mut self, bytes: u64) -> u64 {
        if self.settings.builds_trains() {
            return self.fill_skb(bytes);
        }
        let mss = u64::from(self.flow.mss);
        let mut accepted = 0;
        let tail = self.unsent() % mss;
        if tail > 0 {
            accepted = (mss - tail).min(bytes);
        }
        self.stream.write_seq += accepted;
        let skb = mss + u64::from(self.settings.stack.skb_overhead);
        while accepted < bytes {
            let (queued, unsent) = (self.wmem_queued(), self.unsent());
            if queued >= self.buffer.sndbuf || unsent >= self.options.notsent_lowat {
                break;
            }
            let skbs = (self.buffer.sndbuf - queued)
                .div_ceil(skb)
                .min((self.options.notsent_lowat - unsent).div_ceil(mss));
            let more = (skbs * mss).min(bytes - accepted);
            self.stream.write_seq += more;
            accepted += more;
        }
        accepted
    }

    /// The reason to run the transmit loop when `accepted` of `bytes` are queued: `ending` if these are all.
    /// [linux-6.12 tcp.c tcp_sendmsg_locked, tcp_push]
    pub(crate) fn push_after_filling(&mut self, accepted: u64, bytes: u64, ending: Pass) -> Option<Pass> {
        if ending == Pass::PushOne || (self.settings.builds_trains() && 0 < accepted && accepted < bytes) {
            return self.push_filled_skb();
        }
        self.buffer.app_blocked = accepted < bytes;
        self.buffer.may_have_space();
        if self.buffer.app_blocked && self.wmem_queued() >= self.buffer.sndbuf {
            // Each full skb leaves while the next is written: when the application blocks, no transmission is left that
            // would look for room. The next ACK does.
            self.buffer.found_full(self.flow.now);
        }
        let pass = match ending {
            _ if self.buffer.app_blocked => Pass::Push,
            Pass::Normal if self.ends_short_after_full_segments() => Pass::Autocork,
            _ => ending,
        };
        let (before, half) = (self.stream.write_seq - accepted, self.peer.largest() / 2);
        self.stream.mark_pushes(before, (self.flow.snd_nxt, self.flow.mss), half, pass != Pass::More);
        (self.has_unsent() && (self.buffer.app_blocked || !self.autocorked())).then_some(pass)
    }

    /// A new `send()` appends to the short segment at the tail, which is then no longer the end of a write.
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub(crate) fn reopen_tail(&mut self) {
        let open = match self.settings.builds_trains() {
            true => self.stream.tail_is_open(self.flow.snd_nxt, self.size_goal()),
            false => !self.unsent().is_multiple_of(u64::from(self.flow.mss)),
        };
        if open && self.stream.push_marks.back() == Some(&self.stream.write_seq) {
            self.stream.push_marks.pop_back();
        }
    }

    fn ends_short_after_full_segments(&self) -> bool {
        let mss = u64::from(self.flow.mss);
        !self.settings.builds_trains() && self.unsent() > mss && !self.unsent().is_multiple_of(mss)
    }

    /// True if a short write waits for a transmit completion. [linux-6.12 tcp.c tcp_should_autocork]
    pub(crate) fn autocorked(&mut self) -> bool {
        if !self.settings.autocorking {
            return false;
        }
        // The last skb, if it is not full; without trains it must be all that is not sent.
        let (tail, full) = match self.settings.builds_trains() {
            true => (self.stream.tail_length(self.flow.snd_nxt), self.size_goal()),
            false => (self.unsent(), u64::from(self.flow.mss)),
        };
        let corked = (1..full).contains(&tail)
            && !self.scoreboard.is_empty()
            && self.below.wmem_alloc > u64::from(self.settings.truesize(tail as u32));
        self.below.throttled |= corked;
        corked
    }
}
