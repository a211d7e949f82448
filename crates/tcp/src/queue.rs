//! The retransmit queue: segments sent and not cumulatively acknowledged, one record each.
//!
//! Records are found by sequence number (binary search), and are linked in the order of their last transmission, in
//! which RACK examines them. [linux-6.12 tcp.h tcp_rtx_queue, tcp_tsorted_sent_queue]
//! While nothing is SACKed, lost or retransmitted, that is the order of their numbers, and there are no links. They are
//! created when a record leaves this order, and count until all records of that time have left the queue. An skb of
//! several segments is one transmission of several records, so that a SACK, an ACK or a retransmission of a part needs
//! no splitting: adjacent records of one transmission are one skb, and [`RetransmitQueue::skbs`] counts these.

mod ring;
mod segment;
mod skbs;
mod tags;
#[cfg(test)]
mod tests;
mod time_order;

use ring::Ring;
pub(crate) use segment::{SentSegment, Stamp, sent_after};
pub(crate) use tags::Tags;
use time_order::TimeOrder;

use crate::clock::Micros;

/// Absolute number of a record, which unlike its place in the ring never wraps.
pub(crate) type Index = u64;

const NO_RECORD: Index = Index::MAX;

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
    /// The order of transmission; none while it was always that of the numbers.
    time_order: Option<Box<TimeOrder>>,
    first: Index,
    end: Index,
    skbs: u32,
    /// Records before this one were in the queue when the time order last differed from the order of numbers. Once they
    /// have left, the two orders are the same again.
    linked_before: Index,
}

impl RetransmitQueue {
    pub(crate) fn new() -> Self {
        RetransmitQueue {
            ring: Ring::default(),
            time_order: None,
            first: 0,
            end: 0,
            skbs: 0,
            linked_before: 0,
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
        self.push_beginning(begins, segment);
        index
    }

    /// Appends a record that shares no skb with the one before; it is the newest transmission.
    #[inline(always)]
    pub(crate) fn push_alone(&mut self, segment: SentSegment) {
        debug_assert!(self.is_empty() || self.get(self.end - 1).transmission != segment.transmission);
        self.push_beginning(true, segment);
    }

    #[inline(always)]
    fn push_beginning(&mut self, begins_skb: bool, segment: SentSegment) {
        let index = self.end;
        self.skbs += u32::from(begins_skb);
        self.append(segment);
        if self.is_linked() {
            self.link_newest(index);
        }
    }

    #[inline]
    fn append(&mut self, segment: SentSegment) {
        if self.len() == self.ring.0.len() {
            self.ring.grow(self.first..self.end);
            if self.is_linked() {
                self.enlarge_links();
            }
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
    #[inline(always)]
    pub(crate) fn plain_head(&self, una: u64) -> PlainHead {
        let mut head = PlainHead { count: 0, skbs: 0, payload: 0, is_all: true };
        if self.is_linked() {
            head.is_all = false;
            return head;
        }
        if self.skbs as usize == self.len() {
            return self.plain_head_of_skbs(una);
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

    /// The records at the head, acknowledged up to `una`, that were sent once and have not changed since, while each
    /// record is an skb.
    #[inline(always)]
    fn plain_head_of_skbs(&self, una: u64) -> PlainHead {
        let (mut index, mut payload, mut is_all) = (self.first, 0, true);
        while index < self.end {
            let record = self.ring.get(index);
            if record.end() > una {
                break;
            }
            if !record.tags.is_plain() || record.delivered_at == Micros::NEVER {
                is_all = false;
                break;
            }
            payload += u64::from(record.length);
            index += 1;
        }
        let count = index - self.first;
        PlainHead { count, skbs: count as u32, payload, is_all }
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
}
