//! The send queue as the application's writes fill it: where buffers end, what they cost, and which bytes carry PSH.
//! What leaves, when, and how many segments at once is decided by the TCP machine.
//!
//! ```text
//! write:    appended to the last unsent buffer up to the size goal, then to new ones;
//!           size goal = largest multiple of mss in min(64 kB, max_window/2)
//!           PSH on the last buffer of a write, and on a full one that is more than max_window/2 past the last PSH
//! packet:   PSH if more than one segment, or if it ends a buffer that has it
//! ```
//! [linux-6.12 tcp.c tcp_sendmsg_locked, tcp_push] [linux-6.12 tcp_output.c __tcp_transmit_skb, tcp_xmit_size_goal]

use std::collections::VecDeque;

use tailback_cc::GSO_MAX_SIZE;

/// Windows up to this are not halved. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const SMALL_WINDOW: u64 = 536;

/// How a write ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Its last byte is pushed.
    Pushed,
    /// More follows (`MSG_MORE`): a short segment waits.
    More,
    /// So does a record (`MSG_EOR`).
    Record,
}

/// A buffer of the send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Skb {
    start: u64,
    end: u64,
    push: bool,
    /// It ends a record: nothing more goes into it.
    closed: bool,
}

/// The send queue.
#[derive(Clone, Debug)]
pub(crate) struct Skbs {
    mss: u64,
    offload: bool,
    max_window: u64,
    write_seq: u64,
    pushed_seq: u64,
    unsent: VecDeque<Skb>,
    sent: VecDeque<Skb>,
    acknowledged: u64,
}

impl Skbs {
    pub(crate) fn new(mss: u64, offload: bool) -> Self {
        Skbs {
            mss,
            offload,
            max_window: 0,
            write_seq: 1,
            pushed_seq: 1,
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
            acknowledged: 1,
        }
    }

    /// Payload of a full segment from now on.
    pub(crate) fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    /// The peer advertised this window.
    pub(crate) fn window_seen(&mut self, window: u64) {
        self.max_window = self.max_window.max(window);
    }

    fn half_window(&self) -> u64 {
        if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window }
    }

    fn size_goal(&self) -> u64 {
        let most = u64::from(GSO_MAX_SIZE).min(self.half_window().max(1));
        if self.offload { (most / self.mss * self.mss).max(self.mss) } else { self.mss }
    }

    /// Memory of all buffers: `overhead` beside the payload of each.
    pub(crate) fn memory(&self, overhead: u64) -> u64 {
        let of = |skb: &Skb| skb.end - skb.start + overhead;
        self.unsent.iter().chain(&self.sent).map(of).sum()
    }

    /// How many of `bytes` go into one buffer, the last unsent or a new one; 0 if there may be no new one because the
    /// memory of all has reached `limit`.
    pub(crate) fn room(&self, bytes: u64, limit: u64, overhead: u64) -> u64 {
        let goal = self.size_goal();
        let open = self.unsent.back().filter(|skb| !skb.closed);
        let last = open.map_or(0, |skb| goal.saturating_sub(skb.end - skb.start));
        if last == 0 && self.memory(overhead) >= limit {
            return 0;
        }
        bytes.min(if last > 0 { last } else { goal })
    }

    /// How many of `bytes` fill their buffers: what is left over is copied together with what comes after it.
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub(crate) fn in_full_buffers(&self, bytes: u64) -> u64 {
        let goal = self.size_goal();
        let open = self.unsent.back().filter(|skb| !skb.closed);
        let last = open.map_or(0, |skb| goal.saturating_sub(skb.end - skb.start));
        if bytes < last { 0 } else { last + (bytes - last) / goal * goal }
    }

    /// What [`Skbs::room`] allowed was written.
    pub(crate) fn append(&mut self, bytes: u64) {
        let goal = self.size_goal();
        let full = self.unsent.back().is_none_or(|skb| skb.closed || skb.end - skb.start >= goal);
        if full {
            self.unsent.push_back(Skb {
                start: self.write_seq,
                end: self.write_seq,
                push: false,
                closed: false,
            });
        }
        self.write_seq += bytes;
        if let Some(last) = self.unsent.back_mut() {
            last.end = self.write_seq;
        }
        let full = self.unsent.back().is_some_and(|skb| skb.end - skb.start >= goal);
        if full && self.write_seq > self.pushed_seq + self.max_window / 2 {
            self.push_last();
        }
    }

    /// A write of `bytes` begins: it goes on in the last buffer, if that is not full, which ends no write then.
    pub(crate) fn reopen_last(&mut self, bytes: u64) {
        let goal = self.size_goal();
        if let Some(last) = self.unsent.back_mut()
            && bytes > 0
            && last.end - last.start < goal
            && !last.closed
        {
            last.push = false;
        }
    }

    /// A write ends: its last byte is pushed, if it has not left. If more follows, only when half a window has passed.
    pub(crate) fn end_write(&mut self, ending: Ending) {
        if ending != Ending::More || self.write_seq > self.pushed_seq + self.max_window / 2 {
            self.push_last();
        }
    }

    /// The last byte ends a record: what is written next goes into a buffer of its own.
    pub(crate) fn end_record(&mut self) {
        if let Some(last) = self.unsent.back_mut() {
            last.closed = true;
        }
    }

    /// What has not left up to `end` is pushed.
    pub(crate) fn push_up_to(&mut self, end: u64) {
        let Some(first) = self.unsent.front_mut() else { return };
        if first.start < end && end < first.end {
            let rest = Skb { start: end, ..*first };
            first.end = end;
            self.unsent.insert(1, rest);
        }
        if let Some(first) = self.unsent.front_mut().filter(|first| first.end == end) {
            first.push = true;
        }
    }

    fn push_last(&mut self) {
        if let Some(last) = self.unsent.back_mut() {
            last.push = true;
            self.pushed_seq = self.write_seq;
        }
    }

    /// The bytes `start..end` leave as one packet of so many segments, new or again; true if it carries PSH.
    pub(crate) fn leave(&mut self, start: u64, end: u64, segments: u16) -> bool {
        let first_new = self.unsent.front().map_or(self.write_seq, |skb| skb.start);
        let push = if start < first_new { self.leave_again(start, end) } else { self.leave_new(start, end) };
        push || segments > 1
    }

    fn leave_new(&mut self, start: u64, end: u64) -> bool {
        let mut push = false;
        while let Some(skb) = self.unsent.front_mut().filter(|skb| skb.start < end) {
            if skb.end > end {
                skb.start = end;
                break;
            }
            push = skb.end == end && skb.push;
            self.unsent.pop_front();
        }
        self.sent.push_back(Skb { start, end, push, closed: false });
        push
    }

    fn leave_again(&mut self, start: u64, end: u64) -> bool {
        self.split(start);
        self.split(end);
        self.sent.iter().any(|skb| skb.end == end && skb.push)
    }

    /// A buffer that has been sent is cut here, by a SACK or because only a part of it is sent again.
    pub(crate) fn split(&mut self, at: u64) {
        let Some(index) = self.sent.iter().position(|skb| skb.start < at && at < skb.end) else { return };
        let rest = Skb { start: at, ..self.sent[index] };
        let front = &mut self.sent[index];
        (front.end, front.push) = (at, false);
        self.sent.insert(index + 1, rest);
    }

    /// The first byte that is not acknowledged, and the next one to be written.
    pub(crate) fn edges(&self) -> (u64, u64) {
        (self.acknowledged, self.write_seq)
    }

    /// The last buffer, unsent or sent: where it begins and ends.
    pub(crate) fn tail(&self) -> Option<(u64, u64)> {
        let last = self.unsent.back().or(self.sent.back())?;
        Some((last.start, last.end))
    }

    /// Everything before `una` is acknowledged.
    pub(crate) fn acked(&mut self, una: u64) {
        self.acknowledged = self.acknowledged.max(una);
        self.split(una);
        while self.sent.front().is_some_and(|skb| skb.end <= una) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Skbs {
        let mut skbs = Skbs::new(1000, true);
        skbs.window_seen(32_896);
        skbs
    }

    /// A write of `bytes` in one go.
    fn write(skbs: &mut Skbs, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let room = skbs.room(left, u64::MAX, 960);
            skbs.append(room);
            left -= room;
        }
        skbs.end_write(Ending::Pushed);
    }

    #[test]
    fn a_write_that_more_follows_is_not_pushed_and_the_next_one_goes_on_in_its_buffer() {
        let mut skbs = queue();
        skbs.append(40);
        skbs.end_write(Ending::More);
        skbs.reopen_last(60);
        skbs.append(60);
        skbs.end_write(Ending::Pushed);
        assert!(skbs.leave(1, 101, 1));
        skbs.append(40);
        skbs.end_write(Ending::More);
        assert!(!skbs.leave(101, 141, 1));
    }

    #[test]
    fn packets_of_several_segments_and_the_end_of_a_write_carry_push() {
        let mut skbs = queue();
        write(&mut skbs, 4000);
        assert!(skbs.leave(1, 2001, 2));
        assert!(!skbs.leave(2001, 3001, 1));
        assert!(skbs.leave(3001, 4001, 1));
    }

    #[test]
    fn a_full_buffer_is_pushed_if_half_a_window_has_passed() {
        let mut skbs = queue();
        write(&mut skbs, 200_000);
        assert!(!skbs.leave(1, 1001, 1));
        // The size goal is 16 segments; the second buffer ends more than 16448 bytes past the first byte.
        for start in (1001..31_001).step_by(1000) {
            assert!(!skbs.leave(start, start + 1000, 1));
        }
        assert!(skbs.leave(31_001, 32_001, 1));
    }

    #[test]
    fn a_buffer_may_leave_with_part_of_the_next_one() {
        let mut skbs = queue();
        write(&mut skbs, 1000);
        write(&mut skbs, 1000);
        assert!(!Skbs::new(1000, true).leave(1, 1, 1));
        assert!(skbs.leave(1, 2001, 2));
        assert_eq!(skbs.memory(960), 2960);
    }

    #[test]
    fn what_shares_a_buffer_with_what_comes_after_it_is_not_in_a_full_one() {
        let mut skbs = queue();
        assert_eq!((skbs.in_full_buffers(15_999), skbs.in_full_buffers(33_000)), (0, 32_000));
        write(&mut skbs, 1000);
        assert_eq!((skbs.in_full_buffers(14_999), skbs.in_full_buffers(15_000)), (0, 15_000));
    }

    #[test]
    fn what_leaves_again_carries_push_where_it_did() {
        let mut skbs = queue();
        write(&mut skbs, 4000);
        skbs.leave(1, 2001, 2);
        skbs.leave(2001, 4001, 2);
        assert!(!skbs.leave(2001, 3001, 1));
        assert!(skbs.leave(3001, 4001, 1));
        assert!(skbs.leave(1, 2001, 2));
    }

    #[test]
    fn a_buffer_more_is_begun_as_long_as_memory_is_below_the_limit() {
        let mut skbs = queue();
        let mut taken = 0;
        loop {
            let room = skbs.room(100_000 - taken, 40_000, 960);
            if room == 0 {
                break;
            }
            skbs.append(room);
            taken += room;
        }
        assert_eq!(taken, 48_000);
    }
}
