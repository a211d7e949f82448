//! The send queue as the application's writes fill it: where buffers end and what memory they cost. The `tcp` crate
//! decides what leaves, when, how many segments at once, and which of them carry PSH.
//!
//! ```text
//! write:    appended to the last unsent buffer up to the size goal, then to new ones;
//!           size goal = largest multiple of mss in min(64 kB, max_window/2)
//! ```
//! [linux-6.12 tcp.c tcp_sendmsg_locked] [linux-6.12 tcp_output.c tcp_xmit_size_goal]

use std::collections::VecDeque;

use tailback_cc::GSO_MAX_SIZE;

/// Windows up to this are not halved. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const SMALL_WINDOW: u64 = 536;

/// How a write ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// The last byte of the write is pushed.
    Pushed,
    /// More follows (`MSG_MORE`): a short segment waits.
    More,
    /// A record ends (`MSG_EOR`): a short segment waits.
    Record,
}

/// A buffer of the send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Skb {
    start: u64,
    end: u64,
    /// The write ends a record: no more data is added to its last skb.
    closed: bool,
}

/// The send queue.
#[derive(Clone, Debug)]
pub(crate) struct Skbs {
    mss: u64,
    offload: bool,
    max_window: u64,
    write_seq: u64,
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
        let max = u64::from(GSO_MAX_SIZE).min(self.half_window().max(1));
        if self.offload { (max / self.mss * self.mss).max(self.mss) } else { self.mss }
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

    /// Records a write that [`Skbs::room`] allowed.
    pub(crate) fn append(&mut self, bytes: u64) {
        let goal = self.size_goal();
        let full = self.unsent.back().is_none_or(|skb| skb.closed || skb.end - skb.start >= goal);
        if full {
            self.unsent.push_back(Skb { start: self.write_seq, end: self.write_seq, closed: false });
        }
        self.write_seq += bytes;
        if let Some(last) = self.unsent.back_mut() {
            last.end = self.write_seq;
        }
    }

    /// The last byte ends a record: what is written next goes into a buffer of its own.
    pub(crate) fn end_record(&mut self) {
        if let Some(last) = self.unsent.back_mut() {
            last.closed = true;
        }
    }

    /// The bytes `start..end` leave as one packet, new or again.
    pub(crate) fn leave(&mut self, start: u64, end: u64) {
        let first_new = self.unsent.front().map_or(self.write_seq, |skb| skb.start);
        if start < first_new {
            self.split(start);
            self.split(end);
        } else {
            self.leave_new(start, end);
        }
    }

    fn leave_new(&mut self, start: u64, end: u64) {
        while let Some(skb) = self.unsent.front_mut().filter(|skb| skb.start < end) {
            if skb.end > end {
                skb.start = end;
                break;
            }
            self.unsent.pop_front();
        }
        self.sent.push_back(Skb { start, end, closed: false });
    }

    /// A buffer that has been sent is cut here, by a SACK or because only a part of it is sent again.
    pub(crate) fn split(&mut self, at: u64) {
        let Some(index) = self.sent.iter().position(|skb| skb.start < at && at < skb.end) else { return };
        let rest = Skb { start: at, ..self.sent[index] };
        self.sent[index].end = at;
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
    }

    #[test]
    fn a_buffer_may_leave_with_part_of_the_next_one() {
        let mut skbs = queue();
        write(&mut skbs, 1000);
        write(&mut skbs, 1000);
        skbs.leave(1, 2001);
        assert_eq!(skbs.memory(960), 2960);
    }

    #[test]
    fn data_in_the_same_buffer_as_later_data_is_not_in_a_full_buffer() {
        let mut skbs = queue();
        assert_eq!((skbs.in_full_buffers(15_999), skbs.in_full_buffers(33_000)), (0, 32_000));
        write(&mut skbs, 1000);
        assert_eq!((skbs.in_full_buffers(14_999), skbs.in_full_buffers(15_000)), (0, 15_000));
    }

    #[test]
    fn another_buffer_is_begun_while_memory_is_below_the_limit() {
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
