//! The retransmit queue: segments sent and not cumulatively acknowledged, one record each.
//!
//! Records are found by sequence number (binary search), and are linked in the order of their last transmission, in
//! which RACK examines them. [linux-6.12 tcp.h tcp_rtx_queue, tcp_tsorted_sent_queue]
//! While nothing is SACKed, lost or retransmitted, that is the order of their numbers, and there are no links. They are
//! created when a record leaves this order, and removed when all records of that time have left the queue. An skb of
//! several segments is one transmission of several records, so that a SACK, an ACK or a retransmission of a part needs
//! no splitting: adjacent records of one transmission are one skb, and [`RetransmitQueue::skbs`] counts these.

use std::ops::Range;

use crate::clock::Micros;

/// Absolute number of a record, which unlike its place in the ring never wraps.
pub(crate) type Index = u64;

const NOWHERE: Index = Index::MAX;

/// SACKed segments are merged into skbs of less payload than this. [linux-6.12 tcp_input.c tcp_skb_shift]
const MERGED_MOST: u64 = 65_535 * 8;

/// The scoreboard's tags of one segment. [linux-6.12 tcp.h TCPCB_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tags(u16);

impl Tags {
    pub(crate) const SACKED: Tags = Tags(1);
    pub(crate) const LOST: Tags = Tags(2);
    /// Retransmitted, and the retransmission counts as in flight.
    pub(crate) const RETRANS: Tags = Tags(4);
    /// Was ever retransmitted.
    pub(crate) const EVER_RETRANS: Tags = Tags(8);
    /// Sent while the application limited the rate.
    pub(crate) const APP_LIMITED: Tags = Tags(16);
    /// Carries PSH.
    pub(crate) const PUSH: Tags = Tags(32);
    /// Carries FIN.
    pub(crate) const FIN: Tags = Tags(64);
    /// Shares the skb of the record before it.
    pub(crate) const MERGED: Tags = Tags(128);
    /// Its last byte ends a record of the application (`MSG_EOR`): no segment is merged into it.
    pub(crate) const RECORD_END: Tags = Tags(256);

    pub(crate) const fn has(self, tag: Tags) -> bool {
        self.0 & tag.0 != 0
    }

    /// Neither SACKed, lost nor retransmitted.
    pub(crate) const fn is_untouched(self) -> bool {
        self.0 & (Tags::SACKED.0 | Tags::LOST.0 | Tags::RETRANS.0 | Tags::EVER_RETRANS.0) == 0
    }

    /// Sent once, never SACKed, and still in the skb in which it was sent.
    const fn is_plain(self) -> bool {
        self.is_untouched() && !self.has(Tags::MERGED)
    }

    pub(crate) fn set(&mut self, tag: Tags) {
        self.0 |= tag.0;
    }

    pub(crate) fn clear(&mut self, tag: Tags) {
        self.0 &= !tag.0;
    }

    /// The tags of a part that is not the last.
    const fn without_end(self) -> Self {
        Tags(self.0 & !(Tags::PUSH.0 | Tags::FIN.0 | Tags::RECORD_END.0))
    }

    /// The tags of a record that no longer shares the skb of the one before it.
    const fn alone(self) -> Self {
        Tags(self.0 & !Tags::MERGED.0)
    }

    /// The tags after merging a record with the tags `next`. [linux-6.12 tcp_output.c tcp_collapse_retrans]
    const fn joined_by(self, next: Tags) -> Self {
        const TAKEN: u16 = Tags::PUSH.0 | Tags::FIN.0 | Tags::RECORD_END.0 | Tags::EVER_RETRANS.0;
        Tags(self.0 | next.0 & TAKEN)
    }

    /// Marked lost, and neither received nor retransmitted since.
    pub(crate) const fn is_lost_and_not_sent_again(self) -> bool {
        self.0 & (Tags::LOST.0 | Tags::SACKED.0 | Tags::RETRANS.0) == Tags::LOST.0
    }

    /// True if both have the same state in loss recovery.
    const fn fared_like(self, other: Tags) -> bool {
        const FATE: u16 = Tags::SACKED.0 | Tags::LOST.0 | Tags::RETRANS.0;
        self.0 & FATE == other.0 & FATE
    }

    /// Retransmitted now or earlier.
    pub(crate) const fn retransmitted(self) -> bool {
        self.has(Tags(Tags::RETRANS.0 | Tags::EVER_RETRANS.0))
    }
}

/// One segment that was sent.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    pub(crate) seq: u64,
    pub(crate) length: u32,
    pub(crate) tags: Tags,
    /// Departure time of the newest transmission.
    pub(crate) sent_at: Micros,
    /// Send time of the segment that was newest acknowledged when this one was sent. [linux-6.12 tcp_rate.c]
    pub(crate) first_sent_at: Micros,
    /// When `delivered` was counted; `NEVER` once the record has been used for a rate sample by SACK.
    pub(crate) delivered_at: Micros,
    /// Segments delivered when this one was sent.
    pub(crate) delivered: u64,
    /// Segments marked lost when this one was sent.
    pub(crate) lost: u64,
    /// Segments in flight when this one was sent, itself included.
    pub(crate) in_flight: u32,
    /// Number of its last transmission among all of the socket. It shows whether the segment is still in the host, and
    /// with which neighbours it shares an skb.
    pub(crate) transmission: u64,
    earlier: Index,
    later: Index,
}

/// The state at the time a segment was sent, for rate samples. [linux-6.12 tcp_rate.c tcp_rate_skb_sent]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) sent_at: Micros,
    pub(crate) first_sent_at: Micros,
    pub(crate) delivered_at: Micros,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: u32,
    /// `APP_LIMITED` or empty.
    pub(crate) limited: Tags,
}

impl SentSegment {
    /// A segment that was just sent, `(seq, length)`.
    #[inline]
    pub(crate) fn new((seq, length): (u64, u32), mut tags: Tags, transmission: u64, stamp: &Stamp) -> Self {
        tags.set(stamp.limited);
        SentSegment {
            seq,
            length,
            tags,
            sent_at: stamp.sent_at,
            first_sent_at: stamp.first_sent_at,
            delivered_at: stamp.delivered_at,
            delivered: stamp.delivered,
            lost: stamp.lost,
            in_flight: stamp.in_flight,
            transmission,
            earlier: NOWHERE,
            later: NOWHERE,
        }
    }

    /// Records a retransmission.
    pub(crate) fn take_stamp(&mut self, stamp: &Stamp) {
        self.sent_at = stamp.sent_at;
        self.first_sent_at = stamp.first_sent_at;
        self.delivered_at = stamp.delivered_at;
        self.delivered = stamp.delivered;
        (self.lost, self.in_flight) = (stamp.lost, stamp.in_flight);
        self.tags.clear(Tags::APP_LIMITED);
        self.tags.set(stamp.limited);
    }

    /// Excludes it from further rate samples.
    pub(crate) fn forget_stamp(&mut self) {
        self.delivered_at = Micros::NEVER;
    }

    /// One past its last sequence number.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.length) + u64::from(self.tags.has(Tags::FIN))
    }
}

/// Sent later, or at the same time with a higher sequence number. [linux-6.12 tcp.h tcp_skb_sent_after]
#[inline]
pub(crate) fn sent_after(a: (Micros, u64), b: (Micros, u64)) -> bool {
    a > b
}

/// Records at the head of the queue that were sent once and have not changed since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainHead {
    pub(crate) count: u64,
    /// The number of skbs by which their removal shortens the queue.
    skbs: u32,
    /// Bytes of their payload.
    pub(crate) payload: u64,
    /// No other record is acknowledged.
    pub(crate) is_all: bool,
}

/// All records, by sequence number and by time.
#[derive(Debug)]
pub(crate) struct RetransmitQueue {
    ring: Ring,
    first: Index,
    end: Index,
    skbs: u32,
    /// Records before this one were in the queue when the time order last differed from the order of numbers. Once they
    /// have left, the two orders are the same again.
    linked_before: Index,
    oldest: Index,
    newest: Index,
    /// The record that was merged last, and the first record of its skb.
    last_merged: (Index, Index),
}

/// The records, each at its number modulo the size, which is a power of two (or zero).
#[derive(Debug, Default)]
struct Ring(Vec<SentSegment>);

impl Ring {
    #[inline]
    fn place(&self, index: Index) -> usize {
        index as usize & self.0.len().wrapping_sub(1)
    }

    #[inline]
    fn get(&self, index: Index) -> &SentSegment {
        &self.0[self.place(index)]
    }

    #[inline]
    fn get_mut(&mut self, index: Index) -> &mut SentSegment {
        let place = self.place(index);
        &mut self.0[place]
    }

    /// Doubles the capacity; `live` are the present records.
    #[cold]
    fn grow(&mut self, live: Range<Index>) {
        let size = (2 * self.0.len()).max(4);
        let empty = SentSegment::new((0, 0), Tags::default(), 0, &Stamp::default());
        let mut larger = Ring(vec![empty; size]);
        for index in live {
            *larger.get_mut(index) = self.get(index).clone();
        }
        *self = larger;
    }
}

impl RetransmitQueue {
    pub(crate) fn new() -> Self {
        RetransmitQueue {
            ring: Ring::default(),
            first: 0,
            end: 0,
            skbs: 0,
            linked_before: 0,
            oldest: NOWHERE,
            newest: NOWHERE,
            last_merged: (NOWHERE, NOWHERE),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// Buffers that hold the records.
    #[inline]
    pub(crate) fn skbs(&self) -> u32 {
        self.skbs
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Number of the head.
    #[inline]
    pub(crate) fn head(&self) -> Index {
        self.first
    }

    /// One past the number of the tail.
    #[inline]
    pub(crate) fn end(&self) -> Index {
        self.end
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&SentSegment> {
        (!self.is_empty()).then(|| self.ring.get(self.first))
    }

    #[inline]
    pub(crate) fn contains(&self, index: Index) -> bool {
        index >= self.first && index < self.end
    }

    #[inline]
    pub(crate) fn get(&self, index: Index) -> &SentSegment {
        debug_assert!(self.contains(index), "record {index} is not here");
        self.ring.get(index)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: Index) -> &mut SentSegment {
        debug_assert!(self.contains(index), "record {index} is not here");
        self.ring.get_mut(index)
    }

    /// The first record that ends after `seq`.
    pub(crate) fn find(&self, seq: u64) -> Index {
        let (mut from, mut to) = (self.first, self.end);
        while from < to {
            let middle = from + (to - from) / 2;
            if self.get(middle).end() <= seq {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Appends a record; it is the newest transmission.
    #[inline(always)]
    pub(crate) fn push(&mut self, segment: SentSegment) -> Index {
        let index = self.end;
        let begins = self.is_empty() || self.get(index - 1).transmission != segment.transmission;
        self.skbs += u32::from(begins);
        self.append(segment);
        if self.is_linked() {
            self.link_newest(index);
        }
        index
    }

    #[inline]
    fn append(&mut self, segment: SentSegment) {
        if self.len() == self.ring.0.len() {
            self.ring.grow(self.first..self.end);
        }
        *self.ring.get_mut(self.end) = segment;
        self.end += 1;
    }

    /// Removes the head, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(!self.is_empty(), "there is a head");
        let all_apart = self.skbs as usize == self.len();
        let shared = !all_apart && self.contains(self.first + 1) && !self.begins_skb(self.first + 1);
        if self.is_linked() {
            self.unlink(self.first);
        }
        self.first += 1;
        if !all_apart && !self.is_empty() {
            // The rest of a shared skb is an skb of its own.
            self.get_mut(self.first).tags.clear(Tags::MERGED);
        }
        self.skbs -= u32::from(!shared);
    }

    /// The records at the head, acknowledged up to `una`, that were sent once and have not changed since: none while
    /// the order of transmission differs from the order of numbers.
    #[inline]
    pub(crate) fn plain_head(&self, una: u64) -> PlainHead {
        let mut head = PlainHead { count: 0, skbs: 0, payload: 0, is_all: true };
        if self.is_linked() {
            head.is_all = false;
            return head;
        }
        let mut before = None;
        while self.first + head.count < self.end {
            let record = self.ring.get(self.first + head.count);
            let shares = before == Some(record.transmission) || record.tags.has(Tags::MERGED);
            let is_plain = record.tags.is_plain() && record.delivered_at != Micros::NEVER;
            if record.end() > una || !is_plain {
                head.is_all = record.end() > una;
                // The rest of a shared skb counts as an skb.
                head.skbs -= u32::from(shares && head.count > 0);
                break;
            }
            before = Some(record.transmission);
            head.count += 1;
            head.skbs += u32::from(!shares);
            head.payload += u64::from(record.length);
        }
        head
    }

    /// Removes what [`RetransmitQueue::plain_head`] found.
    #[inline]
    pub(crate) fn pop_plain(&mut self, head: &PlainHead) {
        self.first += head.count;
        self.skbs -= head.skbs;
        if !self.is_empty() {
            self.get_mut(self.first).tags.clear(Tags::MERGED);
        }
    }

    /// Two adjacent SACKed records share the skb of the first if their payload is equally long and the skb stays below
    /// [`MERGED_MOST`]: the memory of the second is freed. [linux-6.12 tcp_input.c tcp_shift_skb_data, tcp_skb_shift]
    pub(crate) fn merge_with_earlier(&mut self, index: Index) {
        if index <= self.first || index >= self.end() || !self.both_sacked(index) {
            return;
        }
        let start = self.skb_start(index - 1);
        if self.begins_skb(index) {
            if self.get(self.skb_last(index)).end() - self.get(start).seq >= MERGED_MOST {
                return;
            }
            self.skbs -= 1;
        }
        self.get_mut(index).tags.set(Tags::MERGED);
        self.last_merged = (index, start);
    }

    /// The first record of the skb that holds record `index`. Records are mostly SACKed one after the other, so the
    /// answer of the last merge is kept.
    fn skb_start(&self, index: Index) -> Index {
        let mut start = match self.last_merged {
            (merged, start) if merged == index => return start.max(self.first),
            _ => index,
        };
        while start > self.first && !self.begins_skb(start) {
            start -= 1;
        }
        start
    }

    /// The last record of the skb that begins with record `index`.
    fn skb_last(&self, index: Index) -> Index {
        let mut last = index;
        while last + 1 < self.end && !self.begins_skb(last + 1) {
            last += 1;
        }
        last
    }

    fn both_sacked(&self, index: Index) -> bool {
        let (earlier, segment) = (self.get(index - 1), self.get(index));
        let plain = |tags: Tags| tags.has(Tags::SACKED) && !tags.has(Tags::RETRANS) && !tags.has(Tags::LOST);
        earlier.length == segment.length && plain(earlier.tags) && plain(segment.tags)
    }

    /// Moves a retransmitted record to the end of the time order.
    pub(crate) fn move_to_newest(&mut self, index: Index) {
        self.leave_time_order(index);
        self.link_newest(index);
    }

    /// Removes a record from the time order when it is SACKed or marked lost.
    pub(crate) fn leave_time_order(&mut self, index: Index) {
        if !self.is_linked() {
            self.link_all();
        }
        self.linked_before = self.end;
        self.unlink(index);
    }

    /// The time order is kept by links.
    #[inline]
    fn is_linked(&self) -> bool {
        self.first < self.linked_before
    }

    /// Links all records in the order of their numbers.
    fn link_all(&mut self) {
        (self.oldest, self.newest) = (NOWHERE, NOWHERE);
        for index in self.first..self.end {
            self.link_newest(index);
        }
    }

    /// `count` records of one skb, from `index` on, become the skb that is `transmission`.
    pub(crate) fn become_skb(&mut self, index: Index, count: u32, transmission: u64) {
        let (from, to) = (index, index + u64::from(count));
        self.skbs -= u32::from(self.begins_skb(from)) + u32::from(self.begins_skb(to));
        for index in from..to {
            self.get_mut(index).transmission = transmission;
        }
        self.skbs += u32::from(self.begins_skb(from)) + u32::from(self.begins_skb(to));
    }

    /// True if two records were transmitted together and have had the same state since.
    pub(crate) fn shares_skb(&self, index: Index, other: Index) -> bool {
        let (one, other) = (self.get(index), self.get(other));
        one.transmission == other.transmission && one.tags.fared_like(other.tags)
    }

    /// The records of one skb, divided into segments of `mss` bytes.
    pub(crate) fn cut(&self, run: Range<Index>, mss: u32) -> Vec<SentSegment> {
        let (first, last) = (self.get(run.start), self.get(run.end - 1));
        let payload = last.seq + u64::from(last.length) - first.seq;
        let count = payload.div_ceil(u64::from(mss)).max(1);
        let piece = |number: u64| {
            let seq = first.seq + number * u64::from(mss);
            let length = (payload - number * u64::from(mss)).min(u64::from(mss)) as u32;
            let tags = if number + 1 == count { last.tags } else { first.tags.without_end() };
            SentSegment { seq, length, tags: tags.alone(), ..first.clone() }
        };
        (0..count).map(piece).collect()
    }

    /// A record split after `length` bytes.
    pub(crate) fn halves(&self, index: Index, length: u32) -> Vec<SentSegment> {
        let whole = self.get(index);
        let (front, back) = (whole.tags.without_end().alone(), whole.tags.alone());
        vec![
            SentSegment { length, tags: front, ..whole.clone() },
            SentSegment {
                seq: whole.seq + u64::from(length),
                length: whole.length - length,
                tags: back,
                ..whole.clone()
            },
        ]
    }

    /// A record merged with the next one, with the flags that end the next one.
    pub(crate) fn joined(&self, index: Index) -> SentSegment {
        let (first, next) = (self.get(index), self.get(index + 1));
        SentSegment {
            length: first.length + next.length,
            tags: first.tags.joined_by(next.tags),
            ..first.clone()
        }
    }

    /// Replaces the records of `run` by `pieces`.
    pub(crate) fn replace(&mut self, run: Range<Index>, pieces: Vec<SentSegment>) {
        let order: Vec<Index> =
            std::iter::successors(self.oldest(), |&index| self.after_in_time(index)).collect();
        let count = pieces.len() as u64;
        let after: Vec<SentSegment> = (run.end..self.end).map(|index| self.get(index).clone()).collect();
        self.end = run.start;
        self.last_merged = (NOWHERE, NOWHERE);
        pieces.into_iter().chain(after).for_each(|segment| self.append(segment));
        self.relink(&order, run, count);
        self.skbs = (self.first..self.end).filter(|&index| self.begins_skb(index)).count() as u32;
    }

    /// Restores the time order after the records of `run` have become `count`.
    fn relink(&mut self, order: &[Index], run: Range<Index>, count: u64) {
        for index in self.first..self.end {
            let segment = self.get_mut(index);
            (segment.earlier, segment.later) = (NOWHERE, NOWHERE);
        }
        (self.oldest, self.newest) = (NOWHERE, NOWHERE);
        self.linked_before = self.end;
        for &index in order {
            if index == run.start {
                (run.start..run.start + count).for_each(|index| self.link_newest(index));
            } else if index >= run.end {
                self.link_newest(index - run.end + run.start + count);
            } else if index < run.start {
                self.link_newest(index);
            }
        }
    }

    /// A record exists here, and the one before it is not of its skb.
    fn begins_skb(&self, index: Index) -> bool {
        if !self.contains(index) || index == self.first {
            return self.contains(index);
        }
        let (earlier, segment) = (self.get(index - 1), self.get(index));
        earlier.transmission != segment.transmission && !segment.tags.has(Tags::MERGED)
    }

    fn unlink(&mut self, index: Index) {
        let (earlier, later) = (self.get(index).earlier, self.get(index).later);
        if earlier == NOWHERE && later == NOWHERE && self.oldest != index {
            return;
        }
        match earlier {
            NOWHERE => self.oldest = later,
            other => self.get_mut(other).later = later,
        }
        match later {
            NOWHERE => self.newest = earlier,
            other => self.get_mut(other).earlier = earlier,
        }
        let segment = self.get_mut(index);
        segment.earlier = NOWHERE;
        segment.later = NOWHERE;
    }

    #[inline(never)]
    fn link_newest(&mut self, index: Index) {
        let newest = self.newest;
        let segment = self.get_mut(index);
        segment.earlier = newest;
        segment.later = NOWHERE;
        match newest {
            NOWHERE => self.oldest = index,
            other => self.get_mut(other).later = index,
        }
        self.newest = index;
    }

    /// The record transmitted longest ago.
    pub(crate) fn oldest(&self) -> Option<Index> {
        match self.is_linked() {
            true => (self.oldest != NOWHERE).then_some(self.oldest),
            false => (!self.is_empty()).then_some(self.first),
        }
    }

    /// The record transmitted next after `index`.
    pub(crate) fn after_in_time(&self, index: Index) -> Option<Index> {
        let later = if self.is_linked() { self.get(index).later } else { index + 1 };
        (later < self.end).then_some(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64, transmission: u64) -> SentSegment {
        SentSegment::new((number * 100, 100), Tags::default(), transmission, &Stamp::default())
    }

    fn filled(count: u64) -> RetransmitQueue {
        let mut queue = RetransmitQueue::new();
        for number in 0..count {
            queue.push(segment(number, 1 + number));
        }
        queue
    }

    /// Two skbs of three segments each.
    fn two_skbs() -> RetransmitQueue {
        let mut queue = RetransmitQueue::new();
        for number in 0..6 {
            queue.push(segment(number, 1 + number / 3));
        }
        queue
    }

    fn in_time_order(queue: &RetransmitQueue) -> Vec<Index> {
        std::iter::successors(queue.oldest(), |&index| queue.after_in_time(index)).collect()
    }

    #[test]
    fn a_retransmission_moves_to_the_end_of_the_time_order() {
        let mut queue = filled(4);
        queue.move_to_newest(1);
        assert_eq!(in_time_order(&queue), [0, 2, 3, 1]);
    }

    #[test]
    fn segments_sent_after_a_retransmission_follow_it_until_all_earlier_ones_have_left() {
        let mut queue = filled(3);
        queue.move_to_newest(0);
        queue.push(segment(3, 4));
        assert_eq!(in_time_order(&queue), [1, 2, 0, 3]);
        queue.pop();
        queue.push(segment(4, 5));
        assert_eq!(in_time_order(&queue), [1, 2, 3, 4]);
        queue.pop();
        queue.pop();
        queue.push(segment(5, 6));
        assert_eq!(in_time_order(&queue), [3, 4, 5]);
        queue.leave_time_order(4);
        assert_eq!(in_time_order(&queue), [3, 5]);
    }

    #[test]
    fn the_ring_grows_around_its_records() {
        let mut queue = filled(4);
        queue.pop();
        queue.pop();
        for number in 4..9 {
            queue.push(segment(number, 1 + number));
        }
        let numbers: Vec<u64> = (queue.head()..queue.end()).map(|index| queue.get(index).seq / 100).collect();
        assert_eq!(numbers, [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((queue.find(250), queue.find(899), queue.find(900)), (2, 8, 9));
    }

    #[test]
    fn a_segment_taken_out_of_the_time_order_can_be_taken_out_again() {
        let mut queue = filled(3);
        queue.leave_time_order(1);
        queue.leave_time_order(1);
        assert_eq!(in_time_order(&queue), [0, 2]);
        queue.leave_time_order(0);
        queue.leave_time_order(2);
        assert_eq!(in_time_order(&queue), [0u64; 0]);
        queue.move_to_newest(1);
        assert_eq!(in_time_order(&queue), [1]);
    }

    #[test]
    fn sacked_neighbours_share_an_skb_until_the_first_of_them_leaves() {
        let mut queue = filled(4);
        for index in [1, 2, 3] {
            queue.get_mut(index).tags.set(Tags::SACKED);
            queue.merge_with_earlier(index);
        }
        assert_eq!((queue.len(), queue.skbs()), (4, 2));
        queue.pop();
        assert_eq!((queue.len(), queue.skbs()), (3, 1));
        queue.pop();
        assert_eq!((queue.len(), queue.skbs()), (2, 1));
    }

    #[test]
    fn sacked_segments_share_an_skb_of_less_than_524_280_bytes() {
        let mut queue = RetransmitQueue::new();
        for n in 0..400 {
            queue.push(SentSegment::new((n * 1448, 1448), Tags::SACKED, n, &Stamp::default()));
        }
        for index in 1..400 {
            queue.merge_with_earlier(index);
        }
        assert_eq!(queue.skbs(), 2, "362 segments and the rest");
        assert!(!queue.begins_skb(361) && queue.begins_skb(362));
    }

    #[test]
    fn a_hole_that_is_filled_joins_two_skbs_only_if_both_fit_in_one() {
        for (others, skbs) in [(180, 1), (181, 2)] {
            let mut queue = RetransmitQueue::new();
            for n in 0..2 * others + 1 {
                queue.push(SentSegment::new((n * 1448, 1448), Tags::SACKED, n, &Stamp::default()));
            }
            (1..others).for_each(|index| queue.merge_with_earlier(index));
            (others + 2..2 * others + 1).for_each(|index| queue.merge_with_earlier(index));
            queue.merge_with_earlier(others);
            queue.merge_with_earlier(others + 1);
            assert_eq!(queue.skbs(), skbs);
        }
    }

    #[test]
    fn a_short_or_retransmitted_segment_keeps_its_own_skb() {
        let mut queue = filled(2);
        queue.push(SentSegment::new((200, 60), Tags::default(), 0, &Stamp::default()));
        for index in 0..3 {
            queue.get_mut(index).tags.set(Tags::SACKED);
        }
        queue.get_mut(0).tags.set(Tags::RETRANS);
        queue.merge_with_earlier(1);
        queue.merge_with_earlier(2);
        assert_eq!(queue.skbs(), 3);
    }

    #[test]
    fn records_keep_their_numbers_when_the_head_leaves() {
        let mut queue = filled(4);
        queue.pop();
        queue.pop();
        assert_eq!(queue.head(), 2);
        assert_eq!(queue.get(3).seq, 300);
        assert_eq!(queue.find(250), 2);
        assert_eq!(queue.find(300), 3);
        assert_eq!(in_time_order(&queue), [2, 3]);
    }

    #[test]
    fn an_skb_leaves_with_its_last_segment() {
        let mut queue = two_skbs();
        let counts = [(); 6].map(|()| {
            queue.pop();
            queue.skbs()
        });
        assert_eq!(counts, [2, 2, 1, 1, 1, 0]);
    }

    fn cut(queue: &mut RetransmitQueue, run: Range<Index>, mss: u32) -> usize {
        let pieces = queue.cut(run.clone(), mss);
        let count = pieces.len();
        queue.replace(run, pieces);
        count
    }

    #[test]
    fn an_skb_cut_anew_keeps_its_bytes_its_flags_and_its_place_in_time() {
        let mut queue = two_skbs();
        queue.get_mut(2).tags.set(Tags::PUSH);
        queue.move_to_newest(4);
        assert_eq!(cut(&mut queue, 0..3, 140), 3);
        assert_eq!(cut(&mut queue, 0..3, 60), 5);
        let at = |index| (queue.get(index).seq, queue.get(index).length, queue.get(index).tags);
        let push = Tags::PUSH;
        assert_eq!(at(0), (0, 60, Tags::default()));
        assert_eq!((at(4), at(5).0), ((240, 60, push), 300));
        assert_eq!(in_time_order(&queue), [0, 1, 2, 3, 4, 5, 7, 6]);
        assert_eq!((queue.len(), queue.skbs()), (8, 2));
        assert_eq!(cut(&mut queue, 0..5, 1000), 1);
        assert_eq!((queue.len(), queue.get(0).length, queue.get(1).seq), (4, 300, 300));
    }

    #[test]
    fn a_piece_sent_again_from_the_middle_of_an_skb_leaves_three() {
        let mut queue = two_skbs();
        queue.become_skb(1, 1, 9);
        assert_eq!(queue.skbs(), 4);
        queue.become_skb(3, 3, 10);
        assert_eq!(queue.skbs(), 4, "an skb sent again as a whole is one");
        queue.become_skb(5, 1, 11);
        assert_eq!(queue.skbs(), 5);
    }
}
