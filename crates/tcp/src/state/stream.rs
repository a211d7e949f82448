//! The data that the application has written, and its skbs.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// The written bytes that are not sent, by sequence numbers.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SendStream {
    /// One past the last byte the application has written.
    pub(crate) write_seq: u64,
    pub(crate) pushed_seq: u64,
    pub(crate) fin_queued: bool,
    /// Ends of the application's writes that are not sent: their segment carries PSH.
    pub(crate) push_marks: VecDeque<u64>,
    /// Ends of the skbs that hold unsent data, with offloads on.
    pub(crate) unsent_skbs: RareMarks,
    /// Ends of unsent records (`MSG_EOR`), across which no skb extends.
    pub(crate) record_ends: RareMarks,
}

/// A queue of sequence numbers that most sockets never use: it has memory only from its first use on.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "an unused queue takes one word")]
pub(crate) struct RareMarks(Option<Box<VecDeque<u64>>>);

static NO_MARKS: VecDeque<u64> = VecDeque::new();

impl RareMarks {
    /// The first mark.
    #[inline]
    pub(crate) fn first(&self) -> Option<u64> {
        self.0.as_ref()?.front().copied()
    }
}

impl Deref for RareMarks {
    type Target = VecDeque<u64>;

    #[inline]
    fn deref(&self) -> &VecDeque<u64> {
        self.0.as_deref().unwrap_or(&NO_MARKS)
    }
}

impl DerefMut for RareMarks {
    fn deref_mut(&mut self) -> &mut VecDeque<u64> {
        self.0.get_or_insert_default()
    }
}

/// Number of segments for `length` bytes; a FIN alone is one.
#[inline]
pub(crate) fn segments_of(length: u32, mss: u32) -> u32 {
    if length <= mss { 1 } else { length.div_ceil(mss) }
}

impl SendStream {
    /// The segment that ends with byte `end` carries PSH.
    pub(crate) fn mark_push(&mut self, end: u64) {
        if self.push_marks.back() != Some(&end) {
            self.push_marks.push_back(end);
        }
        self.pushed_seq = end;
    }

    /// Sets PSH on the last segment written since `before`, and on the first one more than `half` of the largest window after
    /// the last PSH. Unless this `ends` the write, only on the latter. Segments begin at `next` and have `mss` bytes.
    /// [linux-6.12 tcp.c forced_push, tcp_mark_push, tcp_push]
    pub(crate) fn mark_pushes(&mut self, before: u64, (next, mss): (u64, u32), half: u64, ends: bool) {
        if self.write_seq == before {
            return;
        }
        let mss = u64::from(mss);
        let first = before + (mss - (before - next) % mss);
        loop {
            let past = (self.pushed_seq + half + 1).max(first);
            let end = first + (past - first).next_multiple_of(mss);
            if end >= self.write_seq {
                break;
            }
            self.mark_push(end);
        }
        if ends || self.write_seq > self.pushed_seq + half {
            self.mark_push(self.write_seq);
        }
    }

    /// The skb that ended at `from` now ends at `to`, and PSH moves with its end.
    /// [linux-6.12 tcp_output.c tcp_grow_skb]
    pub(crate) fn move_push_mark(&mut self, from: u64, to: u64) {
        let Ok(place) = self.push_marks.binary_search(&from) else { return };
        self.push_marks.remove(place);
        if let Err(place) = self.push_marks.binary_search(&to) {
            self.push_marks.insert(place, to);
        }
    }

    /// All data up to `end` is sent; true if it carries PSH.
    #[inline]
    pub(crate) fn take_push_mark(&mut self, end: u64) -> bool {
        take_up_to(&mut self.push_marks, end)
    }

    /// Data up to `end` was sent as an skb; the rest of the first skb is now the first one.
    #[inline]
    pub(crate) fn skb_left(&mut self, end: u64) {
        if let Some(ends) = &mut self.unsent_skbs.0 {
            take_up_to(ends, end);
        }
    }

    /// The records up to `end` are sent.
    #[inline]
    pub(crate) fn records_left(&mut self, end: u64) {
        if let Some(ends) = &mut self.record_ends.0 {
            take_up_to(ends, end);
        }
    }

    /// A record ends before this byte.
    pub(crate) fn ends_record(&self, at: u64) -> bool {
        self.record_ends.binary_search(&at).is_ok()
    }

    /// What ends at `end` is the last of the data, and the FIN goes with it.
    #[inline]
    pub(crate) fn fin_follows(&self, end: u64) -> bool {
        self.fin_queued && end == self.write_seq
    }

    /// Length of the first unsent skb; 0 if only a FIN is left.
    pub(crate) fn head_length(&self, next: u64) -> u32 {
        self.unsent_skbs.front().map_or(0, |&end| (end - next) as u32)
    }

    /// The first unsent skb, of `head` bytes, is the last one too, and shorter than a segment.
    pub(crate) fn is_short_tail(&self, head: u32, mss: u32) -> bool {
        head < mss && self.unsent_skbs.len() == 1 && !self.fin_queued
    }

    /// Takes bytes from the second unsent skb into the first, up to `wanted`. True if the second has given all it had and is
    /// freed. [linux-6.10 tcp_output.c tcp_grow_skb]
    pub(crate) fn grow_head(&mut self, wanted: u64) -> bool {
        let (Some(&first), Some(&second)) = (self.unsent_skbs.front(), self.unsent_skbs.get(1)) else {
            return false;
        };
        if first >= wanted || self.ends_record(first) {
            return false;
        }
        self.unsent_skbs.pop_front();
        if wanted < second {
            self.unsent_skbs.push_front(wanted);
        }
        self.move_push_mark(first, wanted.min(second));
        wanted >= second
    }

    /// The last unsent skb has fewer bytes than `goal`, and may be appended to.
    pub(crate) fn tail_is_open(&self, next: u64, goal: u64) -> bool {
        let tail = self.tail_length(next);
        tail > 0 && tail < goal && !self.ends_record(self.write_seq)
    }

    /// Length of the last unsent skb; `next` is the first byte that is not sent.
    pub(crate) fn tail_length(&self, next: u64) -> u64 {
        let start = match self.unsent_skbs.len() {
            0 => return 0,
            1 => next,
            several => self.unsent_skbs[several - 2],
        };
        self.write_seq - start
    }
}

/// Removes the marks up to `end`; true if there was one.
#[inline]
fn take_up_to(marks: &mut VecDeque<u64>, end: u64) -> bool {
    let mut taken = false;
    while marks.front().is_some_and(|&mark| mark <= end) {
        marks.pop_front();
        taken = true;
    }
    taken
}
