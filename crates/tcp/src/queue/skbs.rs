//! Which records share an skb: SACKed neighbours are merged, and a retransmission divides, splits or joins them.

use std::ops::Range;

use super::{Index, NO_RECORD, RetransmitQueue, SentSegment, Tags};

/// SACKed segments are merged into skbs of less payload than this. [linux-6.12 tcp_input.c tcp_skb_shift]
const MAX_MERGED: u64 = 65_535 * 8;

impl RetransmitQueue {
    /// Two adjacent SACKed records share the skb of the first if their payload is equally long and the skb stays below
    /// [`MAX_MERGED`]: the memory of the second is freed. [linux-6.12 tcp_input.c tcp_shift_skb_data, tcp_skb_shift]
    pub(crate) fn merge_with_earlier(&mut self, index: Index) {
        if index <= self.first || index >= self.end() || !self.both_sacked(index) {
            return;
        }
        let start = self.skb_start(index - 1);
        if self.begins_skb(index) {
            if self.get(self.skb_last(index)).end() - self.get(start).seq >= MAX_MERGED {
                return;
            }
            self.skbs -= 1;
        }
        self.get_mut(index).tags.set(Tags::MERGED);
        self.order().last_merged = (index, start);
    }

    /// The first record of the skb that holds record `index`. Records are mostly SACKed one after the other, so the
    /// answer of the last merge is kept.
    fn skb_start(&self, index: Index) -> Index {
        let mut start = match self.time_order.as_ref().map(|order| order.last_merged) {
            Some((merged, start)) if merged == index => return start.max(self.first),
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
        plain(segment.tags) && plain(earlier.tags) && earlier.length == segment.length
    }

    /// `count` records of one skb, from `index` on, become the skb that is `transmission`, of which there is no other
    /// record.
    pub(crate) fn become_skb(&mut self, index: Index, count: u32, transmission: u64) {
        let (from, to) = (index, index + u64::from(count));
        let before = u32::from(self.begins_skb(from)) + u32::from(self.begins_skb(to));
        for index in from..to {
            self.get_mut(index).transmission = transmission;
        }
        let begins = from == self.first || !self.get(from).tags.has(Tags::MERGED);
        let ends = self.contains(to) && !self.get(to).tags.has(Tags::MERGED);
        self.skbs = self.skbs - before + u32::from(begins) + u32::from(ends);
        debug_assert!(
            self.begins_skb(from) == begins && self.begins_skb(to) == ends,
            "a transmission happened twice"
        );
    }

    /// True if two records were transmitted together and have had the same state since.
    pub(crate) fn shares_skb(&self, index: Index, other: Index) -> bool {
        let (one, other) = (self.get(index), self.get(other));
        one.transmission == other.transmission && one.tags.has_state_of(other.tags)
    }

    /// One past the last record that shares the skb of `index`.
    pub(crate) fn skb_end(&self, index: Index) -> Index {
        (index + 1..self.end).find(|&next| !self.shares_skb(index, next)).unwrap_or(self.end)
    }

    /// The skb that begins at `index` needs no other division for segments of `mss` bytes.
    pub(crate) fn is_cut_for(&self, index: Index, mss: u32) -> bool {
        let length = self.get(index).length;
        length == mss || (length < mss && self.skb_end(index) == index + 1)
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
        self.order().last_merged = (NO_RECORD, NO_RECORD);
        pieces.into_iter().chain(after).for_each(|segment| self.append(segment));
        self.relink(&order, run, count);
        self.skbs = (self.first..self.end).filter(|&index| self.begins_skb(index)).count() as u32;
    }

    /// A record exists here, and the one before it is not of its skb.
    pub(super) fn begins_skb(&self, index: Index) -> bool {
        if !self.contains(index) || index == self.first {
            return self.contains(index);
        }
        let (earlier, segment) = (self.get(index - 1), self.get(index));
        earlier.transmission != segment.transmission && !segment.tags.has(Tags::MERGED)
    }
}
