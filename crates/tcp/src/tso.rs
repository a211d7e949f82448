//! TSO: how many segments one skb carries, and when it waits for more. Without offloads every skb is one segment.
//!
//! ```text
//! filled:   the application's bytes go into skbs of size_goal = min(gso_max_size, max_window/2), in whole segments
//! max_segs = max((pacing_rate >> shift + gso_max_size >> (min_rtt/512 µs)) / mss, min_tso_segs)     at most gso_max_size
//! quota    = min(cwnd/2, cwnd − in_flight, max_segs)             cwnd/2, so that at least two skbs are in flight
//! the head of the queue grows from the next skb, or is split, to quota segments, within the peer's window
//! ```
//! An skb of several segments is deferred if less than a third of the window is open, the last skb was sent within
//! 1 ms, and an ACK is expected soon: within srtt/2 and, since the stable series of 6.12, within 1 ms.
//! [linux-6.12 tcp_output.c tcp_tso_autosize, tcp_cwnd_test, tcp_grow_skb, tcp_mss_split_point, tcp_tso_should_defer]
//! [linux-6.12 tcp.c tcp_xmit_size_goal, tcp_should_autocork]
//!
//! Deviation: the 17 fragments of an skb are never the limit, since pages of 32 KiB hold its payload.

use tailback_cc::GSO_MAX_SIZE;
use tailback_units::Span;

use crate::clock::micros_since;
use crate::info::HeldBy;
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::stack::{LastFin, QueuedSkb, TsoDeferral};
use crate::state::gate::Pass;
use crate::state::stream::segments_of;

/// Segments that are not deferred if no share of the window is set. [linux-6.12 tcp.h tcp_max_tso_deferred_mss]
const MAX_DEFERRED_SEGMENTS: u64 = 3;
/// An skb is deferred only if the last one was sent within this time. [linux-6.12 tcp_output.c tcp_tso_should_defer]
const RECENTLY: Span = Span::from_millis(1);

/// The skb at the head of the unsent data, as it may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    pub(crate) length: u32,
    pub(crate) fin: bool,
}

/// Additional bytes per skb on paths with a short RTT, which halve with each 2^`log` µs of it.
/// [linux-5.18 tcp_output.c tcp_tso_autosize]
fn bytes_by_rtt(log: Option<u32>, min_rtt: Option<Span>) -> u64 {
    let (Some(log), Some(rtt)) = (log, min_rtt) else { return 0 };
    let halvings = rtt.as_micros() >> log;
    if halvings < 32 { u64::from(GSO_MAX_SIZE >> halvings) } else { 0 }
}

impl Sender {
    /// Maximum number of segments per skb at the present pacing rate. [linux-6.12 tcp_output.c tcp_tso_autosize]
    pub(crate) fn tso_segs(&self) -> u32 {
        if !self.settings.builds_trains() {
            return 1;
        }
        let by_rate = self.window.pacing_rate.bytes_per_sec() >> self.flow.pacing_shift;
        let by_rtt = bytes_by_rtt(self.settings.stack.tso_rtt_log, self.flow.min_rtt);
        let bytes = by_rate.saturating_add(by_rtt).min(u64::from(GSO_MAX_SIZE));
        let min = self.control.hooks().min_tso_segs(&self.window).unwrap_or(self.settings.min_tso_segs);
        ((bytes / u64::from(self.flow.mss)) as u32).max(min).min(self.settings.gso_max_segs)
    }

    /// The send checks for an skb of several segments: forms the head of the unsent data, or returns what limits it.
    /// [linux-6.12 tcp_output.c tcp_write_xmit]
    #[inline(never)]
    pub(crate) fn next_train(&mut self, pass: Pass) -> Result<Offer, HeldBy> {
        if self.gate.held_by_pacing(&self.flow) {
            return Err(HeldBy::Pacing);
        }
        let max_segs = self.tso_segs();
        let quota = self.cwnd_quota(pass).ok_or(HeldBy::Cwnd)?.min(max_segs);
        let (next, mss) = (self.flow.snd_nxt, self.flow.mss);
        let grows = self.settings.stack.queued_skb != QueuedSkb::StaysAsFilled;
        if grows && self.stream.grow_head(next + u64::from(quota * mss)) {
            self.buffer.may_have_space();
        }
        let head = self.stream.head_length(next);
        if next + u64::from(head.min(mss)) > self.peer.window_end(self.flow.snd_una) {
            self.gate.work.progress.window_limited = true;
            return Err(HeldBy::ReceiveWindow);
        }
        if segments_of(head, mss) == 1 {
            if self.stream.is_short_tail(head, mss)
                && self.gate.held_by_nagle(pass, &self.flow, &self.scoreboard)
            {
                return Err(HeldBy::Nagle);
            }
        } else if pass.defers() && self.should_defer(head, max_segs) {
            return Err(HeldBy::TsoDeferral);
        }
        let length = self.split_point(head, quota, pass);
        let end = next + u64::from(length);
        if length < head {
            self.stream.unsent_skbs.push_front(end);
        }
        if self.held_by_small_queue(length, Urgency::NewData) {
            return Err(HeldBy::SmallQueue);
        }
        Ok(Offer { length, fin: self.stream.fin_follows(end) })
    }

    /// Segments that cwnd allows at once; a probe is always allowed, and in older stacks a last segment with FIN.
    fn cwnd_quota(&self, pass: Pass) -> Option<u32> {
        let (cwnd, in_flight) = (self.window.cwnd.0, self.scoreboard.in_flight());
        if in_flight < cwnd {
            return Some((cwnd / 2).max(1).min(cwnd - in_flight));
        }
        let last = self.stream.fin_queued && self.unsent() <= u64::from(self.flow.mss);
        let exempt = last && self.settings.stack.last_fin == LastFin::Exempt;
        (pass == Pass::LossProbe || exempt).then_some(1)
    }

    /// Where the head is split: at `quota` segments or the peer's window; a short rest stays if Nagle would hold it.
    fn split_point(&self, head: u32, quota: u32, pass: Pass) -> u32 {
        if segments_of(head, self.flow.mss) == 1 {
            return head;
        }
        let room = self.peer.window_end(self.flow.snd_una) - self.flow.snd_nxt;
        let max = u64::from(quota * self.flow.mss);
        let needed = u64::from(head).min(room);
        if max <= needed {
            return max as u32;
        }
        let rest = needed % u64::from(self.flow.mss);
        let held = rest > 0 && self.gate.held_by_nagle(pass, &self.flow, &self.scoreboard);
        (needed - if held { rest } else { 0 }) as u32
    }

    /// True if the skb should wait for an ACK that lets it grow. [linux-6.12 tcp_output.c tcp_tso_should_defer]
    fn should_defer(&mut self, head: u32, max_segs: u32) -> bool {
        let mss = u64::from(self.flow.mss);
        let (cwnd, in_flight) = (self.window.cwnd.0, self.scoreboard.in_flight());
        let recovering = self.flow.ca_state >= tailback_cc::CaState::Recovery;
        if recovering || self.flow.now.since(self.flow.departure) > RECENTLY || in_flight >= cwnd {
            return false;
        }
        let window = self.peer.window_end(self.flow.snd_una) - self.flow.snd_nxt;
        let congestion = u64::from(cwnd - in_flight) * mss;
        let limit = window.min(congestion);
        let whole = self.stream.unsent_skbs.len() > 1 && limit >= u64::from(head);
        let worth = match self.settings.tso_win_divisor {
            0 => MAX_DEFERRED_SEGMENTS * mss + 1,
            divisor => self.peer.snd_wnd.min(u64::from(cwnd) * mss) / u64::from(divisor),
        };
        if limit >= u64::from(max_segs) * mss || whole || limit >= worth || !self.ack_is_near() {
            return false;
        }
        let end = self.flow.snd_nxt + u64::from(head);
        // The deferral counts as a limit of cwnd or of the peer's window, if that has no room for all of the skb.
        let limited = limit <= u64::from(head);
        self.gate.work.progress.cwnd_limited |= limited && congestion < window;
        self.gate.work.progress.window_limited |= limited && congestion >= window;
        limited || !(self.stream.fin_follows(end) || self.stream.ends_record(end))
    }

    /// The ACK of the oldest skb is expected within half a round trip (and 1 ms).
    fn ack_is_near(&self) -> bool {
        let Some(oldest) = self.scoreboard.front() else { return false };
        let srtt = self.rtt.srtt();
        let threshold = match self.settings.stack.tso_deferral {
            TsoDeferral::HalfRtt => srtt / 2,
            TsoDeferral::HalfRttAtMostOneMs => (srtt / 2).min(Span::from_millis(1)),
        };
        micros_since(self.flow.now, oldest.sent_at) + threshold >= srtt
    }

    /// Size of the skbs for data of the application. [linux-6.12 tcp.c tcp_xmit_size_goal, tcp.h tcp_bound_to_half_wnd]
    pub(crate) fn size_goal(&self) -> u64 {
        let mss = u64::from(self.flow.mss);
        let half = self.peer.half_of_largest();
        let bytes = u64::from(GSO_MAX_SIZE).min(if half > 0 { half } else { u64::MAX });
        (bytes / mss).clamp(1, u64::from(self.settings.gso_max_segs)) * mss
    }

    /// Accepts the part of `bytes` that fills the last unsent skb, or another skb if the queued data is below the limit.
    /// A last skb that is not full is always filled: the limit is not checked while each full skb leaves at once and
    /// only a remainder stays. [linux-6.12 tcp.c tcp_sendmsg_locked, sk_stream_memory_free]
    pub(crate) fn fill_skb(&mut self, bytes: u64) -> u64 {
        let goal = self.size_goal();
        let appends = self.stream.tail_is_open(self.flow.snd_nxt, goal);
        let tail = self.stream.tail_length(self.flow.snd_nxt);
        if !appends
            && (self.wmem_queued() >= self.buffer.sndbuf || self.unsent() >= self.options.notsent_lowat)
        {
            return 0;
        }
        let accepted = if appends { goal - tail } else { goal }.min(bytes);
        if appends {
            self.stream.move_push_mark(self.stream.write_seq, self.stream.write_seq + accepted);
        }
        self.stream.write_seq += accepted;
        match self.stream.unsent_skbs.back_mut() {
            Some(end) if appends => *end = self.stream.write_seq,
            _ => self.stream.unsent_skbs.push_back(self.stream.write_seq),
        }
        accepted
    }

    /// An skb is full and the application has more data: all data is sent if half a window was written since the last
    /// PSH; the skb alone is sent if it is the first. [linux-6.12 tcp.c tcp_sendmsg_locked, forced_push]
    pub(crate) fn push_filled_skb(&mut self) -> Option<Pass> {
        if self.stream.tail_length(self.flow.snd_nxt) < self.size_goal() {
            return None;
        }
        if self.stream.write_seq > self.stream.pushed_seq + self.peer.largest() / 2 {
            self.stream.mark_push(self.stream.write_seq);
            return Some(Pass::Push);
        }
        (self.stream.unsent_skbs.len() == 1).then_some(Pass::PushOne)
    }

    /// The last write ended a record. [linux-6.12 tcp.c tcp_sendmsg_locked, MSG_EOR]
    pub(crate) fn end_record(&mut self) {
        if self.unsent() > 0 && !self.stream.ends_record(self.stream.write_seq) {
            self.stream.record_ends.push_back(self.stream.write_seq);
            self.routine = false;
        }
    }
}
