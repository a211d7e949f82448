//! Retransmissions: which lost segments are sent again, as which skb, and what is counted then.
//! [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue, __tcp_retransmit_skb]

use std::ops::Range;

use tailback_cc::{CwndEvent, GSO_MAX_SIZE};
use tailback_units::SimTime;

use super::{Outgoing, Probe};
use crate::queue::{Index, Tags};
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::state::gate::{Pending, Retransmit, Role};
use crate::state::stream::segments_of;
use crate::state::timer::TimerKind;

impl Sender {
    /// The next lost segment that cwnd allows. [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue]
    #[inline(never)]
    pub(super) fn next_lost(&mut self) -> Option<Outgoing> {
        let from = self.lost_from()?;
        let index = self.scoreboard.find_lost(from)?;
        self.refresh_mss();
        self.scoreboard.cut_skb_anew(index, self.flow.mss);
        let (length, count) = self.lost_skb(index);
        if self.held_by_small_queue(length, Urgency::Retransmission) {
            return None;
        }
        self.retransmit(index, count, Role::Lost)
    }

    /// Where the search for a lost segment to be sent again begins; `None` if there is none, or cwnd or pacing holds it.
    #[inline]
    fn lost_from(&mut self) -> Option<Index> {
        let from = self.scoreboard.retransmit_from()?;
        let held = self.gate.held_by_pacing(&self.flow)
            || self.scoreboard.in_flight() >= self.window.cwnd.0
            || self.scoreboard.retrans_out() >= self.scoreboard.lost_out();
        (!held).then_some(from)
    }

    /// Ends the retransmissions of lost segments if no segment may be sent again now, as after most ACKs in recovery. True
    /// if nothing else precedes new data.
    #[inline(never)]
    pub(super) fn ends_retransmissions_at_once(&mut self) -> bool {
        let ends = self.gate.work.only_retransmits_lost() && self.lost_from().is_none();
        if ends {
            self.end_retransmissions();
        }
        ends
    }

    /// Payload of the lost skb that begins at `index`, and how many of its segments may be sent again now.
    fn lost_skb(&self, index: Index) -> (u32, u32) {
        if !self.settings.builds_trains() {
            return (self.scoreboard.get(index).length, 1);
        }
        let run = self.scoreboard.lost_run(index, GSO_MAX_SIZE / self.flow.mss);
        let last = self.scoreboard.get(index + u64::from(run) - 1);
        let bytes = last.seq + u64::from(last.length) - self.scoreboard.get(index).seq;
        let allowed = (self.window.cwnd.0 - self.scoreboard.in_flight()).min(self.tso_segs());
        (bytes as u32, run.min(allowed))
    }

    pub(super) fn end_retransmissions(&mut self) {
        self.gate.work.set_retransmit(Retransmit::Nothing);
        if std::mem::take(&mut self.gate.work.head_retransmitted) {
            // A full RTO from now. [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue, at its end]
            self.timer.arm_behind_pacing(TimerKind::Retransmission, self.rtt.rto(), &self.flow);
        }
    }

    /// Retransmits `count` segments of one skb, unless their last transmission is still queued in this host: then the
    /// next credit runs the transmit loop. [linux-6.12 tcp_output.c __tcp_retransmit_skb]
    #[inline(never)]
    pub(super) fn retransmit(&mut self, index: Index, count: u32, role: Role) -> Option<Outgoing> {
        if !self.scoreboard.queue().contains(index) {
            return None;
        }
        self.path.forget_probe();
        if self.waits_in_host(index) {
            self.attempted(index, count);
            return None;
        }
        self.buffer.may_have_space();
        self.scoreboard.cut_skb_anew(index, self.flow.mss);
        let Some(count) = self.fit_to_window(index, count) else {
            self.attempted(index, count);
            return None;
        };
        let seq = self.scoreboard.get(index).seq;
        let last = self.scoreboard.get(index + u64::from(count) - 1);
        let (length, tags) = ((last.seq - seq) as u32 + last.length, last.tags);
        let before = self.flow.take_departure();
        let truesize = self.count_sent(length, segments_of(length, self.flow.mss));
        self.sent.total_retrans += u64::from(count);
        self.sent.bytes_retrans += u64::from(length);
        if self.scoreboard.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        let run = index..index + u64::from(count);
        self.gate.work.pending = Some(Pending::Again { run, role, before });
        Some(self.outgoing((seq, length), truesize, tags, count))
    }

    /// How many of `count` segments from `index` on fit into the peer's window. The first of them is split at the end
    /// of the window, and a short one is merged with its successors. None if the window has shrunk and ends before
    /// them: then only the head is retransmitted, as a window probe. [linux-6.12 tcp_output.c __tcp_retransmit_skb]
    fn fit_to_window(&mut self, index: Index, count: u32) -> Option<u32> {
        let (mss, first) = (u64::from(self.flow.mss), self.scoreboard.get(index));
        let (seq, length) = (first.seq, u64::from(first.length));
        let room = match self.peer.window_end(self.flow.snd_una).saturating_sub(seq) {
            0 if index != self.scoreboard.queue().head() => return None,
            0 => mss,
            room => room,
        };
        if length > room {
            self.scoreboard.split(index, room as u32);
            return Some(1);
        }
        if count == 1 && length < room.min(mss) {
            // [linux-6.12 tcp_output.c tcp_retrans_try_collapse, tcp_can_collapse]
            while self.takes_next(index, room.min(mss)) {
                self.scoreboard.join_next(index);
            }
        }
        Some(count.min((room / mss) as u32).max(1))
    }

    /// A segment and the one that follows it fit into `room` bytes and the peer's window, and may be merged.
    fn takes_next(&mut self, index: Index, room: u64) -> bool {
        let next = index + 1;
        if !self.scoreboard.queue().contains(next) || self.waits_in_host(next) {
            return false;
        }
        let (first, follower) = (self.scoreboard.get(index), self.scoreboard.get(next));
        let joinable = !first.tags.has(Tags::RECORD_END) && !follower.tags.has(Tags::SACKED);
        let fits = u64::from(first.length) + u64::from(follower.length) <= room;
        joinable
            && fits
            && follower.end() <= self.peer.window_end(self.flow.snd_una)
            && self.scoreboard.queue().skb_end(index) == next
            && self.scoreboard.queue().skb_end(next) == next + 1
    }

    #[inline(never)]
    pub(super) fn sent_again(&mut self, run: Range<Index>, role: Role, before: SimTime, refused: bool) {
        if refused {
            self.scoreboard.retransmission_refused(run.clone());
        } else {
            let sent_at = self.flow.departure;
            let stamp = self.stamp(sent_at);
            self.scoreboard.send_again(run.clone(), self.below.transmitted, &stamp);
            let bytes = run.clone().map(|index| self.scoreboard.get(index).length).sum();
            self.space_after(bytes, before);
        }
        match role {
            Role::Probe if refused => self.rearm_rto(),
            Role::Probe => self.probe_sent(Probe::Retransmission),
            Role::Lost | Role::AfterTimeout => self.count_retransmission(run, role, refused),
        }
    }

    /// Records a retransmission that was attempted or sent. An attempt that failed keeps the stamp of the first
    /// transmission, and no echo is older than that: a timeout while the data was still queued in this host is not
    /// undone by timestamps, and one DSACK too few arrives to undo it. [linux-6.12 tcp_output.c tcp_retransmit_skb]
    fn attempted(&mut self, index: Index, count: u32) {
        let stamp = self.scoreboard.get(index).sent_at.timestamp();
        self.recovery.attempted(stamp, count);
    }

    fn count_retransmission(&mut self, run: Range<Index>, role: Role, refused: bool) {
        let (index, count) = (run.start, (run.end - run.start) as u32);
        self.attempted(index, count);
        if !refused {
            self.scoreboard.count_retransmissions(run);
        }
        if role == Role::AfterTimeout {
            self.after_timeout_retransmission(refused);
        } else if refused {
            self.end_retransmissions();
        } else {
            if self.flow.ca_state.reduces_cwnd() {
                self.recovery.prr.sent(count);
            }
            let head = index == self.scoreboard.queue().head();
            self.gate.work.head_retransmitted |= head && !self.timer.is_for(TimerKind::Reordering);
        }
    }
}
