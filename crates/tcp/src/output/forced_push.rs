//! A write goes on when a local queue has refused one of its segments.
//!
//! ```text
//! a full segment is written and the first that is unsent             → it is sent
//! more than half of the largest window is written since the last PSH → everything is sent
//! the write ends, or waits for room in the send buffer               → everything is sent
//! ```
//! Each of these tries a segment again that the local queue has refused in this write: a write of many segments counts
//! several drops of one segment. [linux-6.12 tcp.c tcp_sendmsg_locked, forced_push, tcp_push]
//!
//! Here a write is accepted as a whole, then one pass sends it. [`PendingWork::to_write`](crate::state::gate::PendingWork)
//! is how much the kernel has still to write when it tries next. With offloads a call of `write` accepts no more than
//! an skb, so that the passes are those of the kernel.

use crate::sender::Sender;
use crate::state::gate::Pass;

impl Sender {
    /// Begins the pass of a write of what comes after `before`.
    pub(crate) fn begin_pass_of_write(&mut self, pass: Pass, before: u64) {
        self.gate.work.begin(pass);
        let is_of_write = pass.obeys_cwnd() && self.gate.work.pass() == Some(pass);
        if self.settings.builds_trains() || !is_of_write {
            return;
        }
        // Behind data that waits, the first try is that of a forced push.
        let waits = self.flow.snd_nxt < before;
        self.tries_next(if waits { self.next_push(before) } else { before });
    }

    /// The write tries the refused segment, which ends with `end`, again.
    pub(super) fn is_pushed_again(&mut self, end: u64) -> bool {
        let left = self.gate.work.to_write;
        if left == 0 {
            return false;
        }
        let write_seq = self.stream.write_seq;
        let written = end.max(write_seq - u64::from(left));
        self.tries_next(self.next_push(written));
        // A write that waits for room has tried its last full segment before.
        let tries_at_end = written < write_seq || self.buffer.app_blocked;
        self.gate.work.to_write > 0 || (tries_at_end && !self.tail_waits())
    }

    /// The next try is when this much is written.
    fn tries_next(&mut self, written: u64) {
        self.gate.work.to_write = (self.stream.write_seq - written).min(u64::from(u32::MAX)) as u32;
    }

    /// Up to where the kernel writes from `written` on until it pushes everything: at the end if not before.
    fn next_push(&self, written: u64) -> u64 {
        let marks = self.stream.push_marks.iter();
        marks.copied().find(|&mark| written < mark).unwrap_or(u64::MAX).min(self.stream.write_seq)
    }

    /// The short segment at the end of the write waits for a completion, so that the end pushes nothing.
    /// [linux-6.12 tcp.c tcp_should_autocork]
    fn tail_waits(&mut self) -> bool {
        let tail = (self.unsent() % u64::from(self.flow.mss)) as u32;
        let waits = self.settings.autocorking
            && tail > 0
            && !self.scoreboard.is_empty()
            && self.below.wmem_alloc > u64::from(self.settings.truesize(tail));
        self.below.throttled |= waits;
        waits
    }
}
