//! Received data as the kernel stores it: skbs in order, and ranges of skbs beyond a hole.
//!
//! A segment that follows the last one is merged into its skb, up to 17 fragments, and then needs no head. A segment or
//! train has one fragment for each page of 32 KiB that it touches. This matters because the receive buffer is adjusted
//! after each *skb* that the application reads.
//! [linux-6.12 tcp_input.c tcp_try_coalesce, tcp_ofo_queue]

use std::ops::Range;

use tailback_packet::SackBlock;

use crate::tun::TunBuffer;

/// Payload fragments that one skb can hold. [linux-6.12 skbuff.h MAX_SKB_FRAGS]
const FRAGMENTS_PER_SKB: u32 = 17;
/// Size of the pages that `sendmsg` copies to. [linux-6.12 sock.c SKB_FRAG_PAGE_ORDER]
const PAGE_FRAGMENT: u64 = 32_768;

/// A buffer with the payload of some segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Skb {
    bytes: u32,
    /// Bytes of them that the application has read.
    read: u32,
    fragments: u32,
    /// Memory in addition to what [`Skb::truesize`] adds for the payload.
    memory: u32,
    place: Place,
}

/// Where the payload is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In fragments of pages, each accounted with the bytes that are in it.
    Fragments,
    /// As stored by `tun`, with `room` free bytes in the head.
    Tun { room: u32 },
}

impl Skb {
    /// The last `fresh` bytes of a segment or a train of `bytes` from `seq` on: its fragments are pages of the sender's
    /// stream, whose first byte is 1.
    pub(crate) fn of_stream(seq: u64, bytes: u32, fresh: u32, truesize: u32) -> Self {
        let page = |byte: u64| byte.saturating_sub(1) / PAGE_FRAGMENT;
        let fragments = (page(seq + u64::from(bytes) - 1) - page(seq)) as u32 + 1;
        let memory = truesize.saturating_sub(fresh);
        Skb { bytes: fresh, read: 0, fragments, memory, place: Place::Fragments }
    }

    /// The last `fresh` bytes of a packet that was written into a TUN device.
    pub(crate) fn of_tun(fresh: u32, buffer: TunBuffer) -> Self {
        let TunBuffer { truesize, room } = buffer;
        Skb { bytes: fresh, read: 0, fragments: 0, memory: truesize, place: Place::Tun { room } }
    }

    fn unread(self) -> u32 {
        self.bytes - self.read
    }

    /// Memory it is accounted with.
    pub(crate) fn truesize(self) -> u64 {
        let payload = if self.place == Place::Fragments { self.bytes } else { 0 };
        u64::from(self.memory + payload)
    }

    /// Merges `next` if it fits; true if so. Then only the growth of this skb is accounted for.
    fn merge(&mut self, next: Skb) -> bool {
        let fits = match &mut self.place {
            Place::Fragments => self.fragments + next.fragments <= FRAGMENTS_PER_SKB,
            Place::Tun { room } => next.bytes <= *room,
        };
        if !fits {
            return false;
        }
        if let Place::Tun { room } = &mut self.place {
            *room -= next.bytes;
        }
        self.bytes += next.bytes;
        self.fragments += next.fragments;
        true
    }
}

/// A run of out-of-order bytes without a gap.
///
/// Up to 17 segments are one skb, so that most runs have no more than the first, and need no memory of their own.
#[derive(Clone, Debug)]
struct OutOfOrderRange {
    block: SackBlock,
    first: Skb,
    others: Vec<Skb>,
}

impl OutOfOrderRange {
    fn of(block: SackBlock, skb: Skb) -> Self {
        OutOfOrderRange { block, first: skb, others: Vec::new() }
    }

    fn last(&self) -> Skb {
        *self.others.last().unwrap_or(&self.first)
    }

    /// Appends a segment; returns the memory saved by merging.
    fn append(&mut self, skb: Skb) -> u64 {
        let last = self.others.last_mut().unwrap_or(&mut self.first);
        if let Some(saved) = saved_by_merging(last, skb) {
            return saved;
        }
        self.others.push(skb);
        0
    }

    /// Appends all that another run holds, without merging.
    fn extend(&mut self, other: OutOfOrderRange) {
        self.others.push(other.first);
        self.others.extend(other.others);
    }
}

/// What the application has not read, in order.
///
/// The newest skb is stored apart: an application that keeps up never leaves more than one.
#[derive(Debug, Default)]
struct ReceiveQueue {
    /// The newest one, with which the next segment may be merged.
    newest: Option<Skb>,
    /// The skbs before the newest; none until there was one.
    older: Option<Box<OlderSkbs>>,
}

/// Skbs before the newest one.
#[derive(Debug, Default)]
struct OlderSkbs {
    skbs: Vec<Skb>,
    /// The first of them that is not freed.
    first: usize,
}

impl OlderSkbs {
    /// Freed skbs at the front at most before the others move up.
    const FREED: usize = 64;

    #[inline(never)]
    fn pop_front(&mut self) {
        self.first += 1;
        if self.first == self.skbs.len() {
            self.skbs.clear();
            self.first = 0;
        } else if self.first >= Self::FREED {
            self.skbs.drain(..self.first);
            self.first = 0;
        }
    }
}

impl ReceiveQueue {
    /// The newest is the only one, or there is none.
    fn has_no_older(&self) -> bool {
        self.older.as_ref().is_none_or(|older| older.skbs.is_empty())
    }

    fn front_mut(&mut self) -> Option<&mut Skb> {
        match &mut self.older {
            Some(older) if !older.skbs.is_empty() => older.skbs.get_mut(older.first),
            _ => self.newest.as_mut(),
        }
    }

    fn push_back(&mut self, skb: Skb) {
        if self.newest.is_some() {
            self.push_newest_to_older();
        }
        self.newest = Some(skb);
    }

    #[inline(never)]
    fn push_newest_to_older(&mut self) {
        self.older.get_or_insert_default().skbs.extend(self.newest);
    }

    /// Frees the only one, if there is one.
    fn take_only(&mut self) -> Option<Skb> {
        if self.has_no_older() { self.newest.take() } else { None }
    }

    /// Frees the first one, which is there.
    fn pop_front(&mut self) {
        match &mut self.older {
            Some(older) if !older.skbs.is_empty() => older.pop_front(),
            _ => self.newest = None,
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Skb> {
        let older = self.older.as_ref().map_or(&[][..], |older| &older.skbs[older.first..]);
        older.iter().chain(&self.newest)
    }
}

/// The receive queue and the out-of-order queue.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    ready: ReceiveQueue,
    ranges: Vec<OutOfOrderRange>,
    /// Memory of all.
    pub(crate) truesize: u64,
}

impl Reassembly {
    /// A segment that is next in order.
    #[inline]
    pub(crate) fn push(&mut self, skb: Skb) {
        self.truesize += skb.truesize();
        self.queue(skb);
    }

    fn queue(&mut self, skb: Skb) {
        let saved = self.ready.newest.as_mut().and_then(|newest| saved_by_merging(newest, skb));
        match saved {
            Some(memory) => self.truesize -= memory,
            None => self.ready.push_back(skb),
        }
    }

    /// Reads all there is, if that is a single skb.
    pub(crate) fn take_only(&mut self) -> Option<u32> {
        let skb = self.ready.take_only()?;
        self.truesize -= skb.truesize();
        Some(skb.unread())
    }

    /// Reads at most `max` bytes of the next skb. An skb is freed when all of it was read.
    #[inline]
    pub(crate) fn take(&mut self, max: u64) -> Option<u32> {
        let skb = self.ready.front_mut()?;
        let bytes = u64::from(skb.unread()).min(max) as u32;
        if bytes == 0 {
            return None;
        }
        skb.read += bytes;
        if skb.unread() == 0 {
            self.truesize -= skb.truesize();
            self.ready.pop_front();
        }
        Some(bytes)
    }

    /// Bytes that the application may read.
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.ready.iter().map(|skb| u64::from(skb.unread())).sum()
    }

    /// No data is out of order.
    pub(crate) fn in_order(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The run of out-of-order bytes that contains all of `block`.
    pub(crate) fn covering(&self, block: SackBlock) -> Option<SackBlock> {
        let covers = |run: &SackBlock| run.start <= block.start && run.end >= block.end;
        self.ranges.iter().map(|range| range.block).find(covers)
    }

    /// Data from `start` on comes after all data that is out of order, or directly behind it.
    #[inline]
    pub(crate) fn is_behind_all(&self, start: u64) -> bool {
        self.ranges.last().is_none_or(|last| last.block.end <= start)
    }

    /// As [`Reassembly::insert`] for such a segment.
    #[inline]
    pub(crate) fn insert_last(&mut self, block: SackBlock, skb: Skb) -> SackBlock {
        self.truesize += skb.truesize();
        if let Some(run) = self.ranges.last_mut().filter(|run| run.block.end == block.start) {
            run.block.end = block.end;
            self.truesize -= run.append(skb);
            return run.block;
        }
        self.ranges.push(OutOfOrderRange::of(block, skb));
        block
    }

    /// Adds an out-of-order segment; returns the run of bytes that contains it.
    pub(crate) fn insert(&mut self, block: SackBlock, skb: Skb) -> SackBlock {
        let from = self.ranges.partition_point(|range| range.block.end < block.start);
        let to = self.ranges.partition_point(|range| range.block.start <= block.end);
        self.truesize += skb.truesize();
        if to == from + 1 && self.ranges[from].block.start < block.start {
            let run = &mut self.ranges[from];
            run.block.end = run.block.end.max(block.end);
            self.truesize -= run.append(skb);
            return run.block;
        }
        if from == to {
            self.ranges.insert(from, OutOfOrderRange::of(block, skb));
            return block;
        }
        self.join_neighbours(from..to, block, skb)
    }

    /// Replaces the given ranges, at least one, and the segment between them by one range; returns its bytes.
    fn join_neighbours(
        &mut self,
        Range { start: from, end: to }: Range<usize>,
        block: SackBlock,
        skb: Skb,
    ) -> SackBlock {
        let precedes = self.ranges[from].block.start >= block.start;
        let mut run = match precedes {
            true => OutOfOrderRange::of(block, skb),
            false => self.ranges.remove(from),
        };
        let mut placed = precedes;
        let others = if precedes { from..to } else { from..to - 1 };
        for range in self.ranges.drain(others) {
            if range.block.start >= block.start && !placed {
                self.truesize -= run.append(skb);
                placed = true;
            }
            run.block.end = run.block.end.max(range.block.end);
            run.extend(range);
        }
        if !placed {
            self.truesize -= run.append(skb);
        }
        run.block.start = run.block.start.min(block.start);
        run.block.end = run.block.end.max(block.end);
        let bytes = run.block;
        self.ranges.insert(from, run);
        bytes
    }

    /// Data of the out-of-order queue below `rcv_nxt`, which has arrived twice. [linux-6.12 tcp_input.c tcp_ofo_queue]
    pub(crate) fn overlap(&self, rcv_nxt: u64) -> Option<SackBlock> {
        let first = self.ranges.first()?.block;
        (first.start < rcv_nxt).then(|| SackBlock { start: first.start, end: first.end.min(rcv_nxt) })
    }

    /// Moves data that is now in order to the receive queue; returns the new `rcv_nxt`.
    pub(crate) fn join(&mut self, mut rcv_nxt: u64) -> u64 {
        while self.ranges.first().is_some_and(|range| range.block.start <= rcv_nxt) {
            let range = self.ranges.remove(0);
            let mut at = range.block.start;
            for skb in std::iter::once(range.first).chain(range.others) {
                let end = at + u64::from(skb.bytes);
                self.queue_after(rcv_nxt, at, skb);
                at = end;
            }
            rcv_nxt = rcv_nxt.max(range.block.end);
        }
        rcv_nxt
    }

    /// Queues the part of the skb at `at` that is not below `rcv_nxt`, and frees the rest.
    fn queue_after(&mut self, rcv_nxt: u64, at: u64, mut skb: Skb) {
        let known = rcv_nxt.saturating_sub(at).min(u64::from(skb.bytes)) as u32;
        if known == skb.bytes {
            self.truesize -= skb.truesize();
            return;
        }
        let before = skb.truesize();
        skb.bytes -= known;
        self.truesize -= before - skb.truesize();
        self.queue(skb);
    }

    /// Frees out-of-order data, the last first and an eighth of `limit` at a time, until the rest fits into `limit` or
    /// begins before `seq`. True if something was freed.
    /// [linux-6.12 tcp_input.c tcp_prune_ofo_queue]
    pub(crate) fn forget_late(&mut self, seq: u64, limit: u64) -> bool {
        let before = self.truesize;
        let mut goal = before.saturating_sub(limit / 8);
        while let Some(range) = self.ranges.last_mut() {
            let last = range.last();
            let start = range.block.end - u64::from(last.bytes);
            if seq > start {
                break;
            }
            range.block.end = start;
            self.truesize -= last.truesize();
            if range.others.pop().is_none() {
                self.ranges.pop();
            }
            if self.truesize <= goal || self.ranges.is_empty() {
                if self.truesize <= limit {
                    break;
                }
                goal = self.truesize.saturating_sub(limit / 8);
            }
        }
        self.truesize < before
    }

    /// End of the out-of-order data; 0: there is none.
    pub(crate) fn late_end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.block.end)
    }

    /// Bytes of `block` that are already in the out-of-order queue.
    pub(crate) fn waiting_in(&self, block: SackBlock) -> u64 {
        let from = self.ranges.partition_point(|range| range.block.end <= block.start);
        let others = self.ranges[from..].iter().map(|range| range.block);
        let overlapping = others.take_while(|other| other.start < block.end);
        overlapping.map(|other| other.end.min(block.end) - other.start.max(block.start)).sum()
    }
}

/// Merges `next` into `skb` if it fits; how much less memory both take then.
fn saved_by_merging(skb: &mut Skb, next: Skb) -> Option<u64> {
    let apart = skb.truesize() + next.truesize();
    skb.merge(next).then(|| apart - skb.truesize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64) -> (SackBlock, Skb) {
        let block = SackBlock { start: number * 100, end: (number + 1) * 100 };
        (block, Skb::of_stream(block.start, 100, 100, 1060))
    }

    #[test]
    fn seventeen_segments_share_one_skb() {
        let mut data = Reassembly::default();
        for number in 1..=18 {
            let (block, skb) = segment(number);
            data.insert(block, skb);
        }
        assert_eq!(data.truesize, 2 * 960 + 1800);
    }

    #[test]
    fn filling_a_hole_joins_two_runs_and_frees_all_memory_when_read() {
        let mut data = Reassembly::default();
        for number in [1, 2, 4, 5] {
            let (block, skb) = segment(number);
            data.insert(block, skb);
        }
        let (block, skb) = segment(3);
        assert_eq!(data.insert(block, skb), SackBlock { start: 100, end: 600 });
        data.push(Skb::of_stream(1, 100, 100, 1060));
        assert_eq!(data.join(100), 600);
        assert!(data.in_order());
        let read: u32 = std::iter::from_fn(|| data.take(u64::MAX)).sum();
        assert_eq!((read, data.truesize), (600, 0));
    }

    #[test]
    fn a_train_that_overlaps_queued_data_is_read_once() {
        let mut data = Reassembly::default();
        for number in [2, 5] {
            let (block, skb) = segment(number);
            data.insert(block, skb);
        }
        data.push(Skb::of_stream(1, 550, 550, 1510));
        assert_eq!(data.join(550), 600);
        let read: u32 = std::iter::from_fn(|| data.take(u64::MAX)).sum();
        assert_eq!((read, data.truesize), (600, 0));
    }

    #[test]
    fn a_queued_train_counts_its_new_bytes() {
        let mut data = Reassembly::default();
        let (block, skb) = segment(3);
        data.insert(block, skb);
        assert_eq!(data.waiting_in(SackBlock { start: 100, end: 350 }), 50);
        assert_eq!(data.waiting_in(SackBlock { start: 100, end: 600 }), 100);
        assert_eq!(data.waiting_in(SackBlock { start: 400, end: 600 }), 0);
    }

    #[test]
    fn a_buffer_over_its_limit_discards_the_last_queued_data_until_it_fits() {
        let mut data = Reassembly::default();
        for number in [1, 3, 5, 7] {
            let (block, skb) = segment(number);
            data.insert(block, skb);
        }
        assert!(!data.forget_late(800, 1000), "what comes now would be the last");
        assert!(data.forget_late(50, 2500));
        assert_eq!(data.truesize, 2 * 1060);
        assert_eq!(data.waiting_in(SackBlock { start: 0, end: 1000 }), 200);
    }

    #[test]
    fn a_segment_or_train_is_a_fragment_per_page_of_the_stream() {
        let fragments = |seq, bytes| Skb::of_stream(seq, bytes, bytes, bytes + 960).fragments;
        assert_eq!((fragments(1, 2896), fragments(32_000, 2896), fragments(1, 65_160)), (1, 2, 2));
        assert_eq!((fragments(31_857, 912), fragments(31_857, 1448), fragments(32_769, 1448)), (1, 2, 1));
    }

    #[test]
    fn a_full_run_does_not_merge_with_the_segment_that_filled_the_hole() {
        let mut data = Reassembly::default();
        for number in 1..=17 {
            let (block, skb) = segment(number);
            data.insert(block, skb);
        }
        data.push(Skb::of_stream(1, 100, 100, 1060));
        data.join(100);
        assert_eq!(data.take(u64::MAX), Some(100));
        assert_eq!(data.take(u64::MAX), Some(1700));
    }
}
