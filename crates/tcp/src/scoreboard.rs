//! The scoreboard: segments sent and not acknowledged, and how many of them are SACKed, lost or retransmitted.
//!
//! Tags and counters change only by the operations of this file, so that they always agree:
//!
//! ```text
//! packets_out = segments in the queue
//! sacked_out  = of them SACKed;  from a peer without SACK: duplicate ACKs
//! lost_out    = of them marked lost, none of which is SACKed
//! retrans_out = of them sent again, and that transmission is thought to be in flight
//! in_flight   = packets_out − (sacked_out + lost_out) + retrans_out
//! ```
//! Builds with debug assertions check this after each operation.
//! [linux-6.12 tcp.h tcp_packets_in_flight] [linux-6.12 tcp_input.c tcp_verify_left_out]

use std::ops::Range;

use crate::queue::{Index, PlainHead, RetransmitQueue, SentSegment, Stamp, Tags};
use crate::sack_blocks::AscendingBlocks;

/// With debug assertions on, queues up to this length are checked in full: longer ones would make a run quadratic.
const COUNTED_THROUGH: u32 = 64;

/// What `sacked_out` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counting {
    /// Segments that the peer has SACKed.
    Sacks,
    /// Duplicate ACKs of a peer without SACK, each as if it were the SACK of some segment.
    Duplicates,
}

/// What an ACK tells without SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    /// Segments delivered that were not counted before.
    pub(crate) fresh: u32,
    /// There were more duplicates than segments that can have caused them.
    pub(crate) limited: bool,
}

/// The retransmit queue with its counters.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    queue: RetransmitQueue,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    counting: Counting,
    payload: u64,
    /// End of the highest SACKed segment.
    highest_sack: u64,
    /// No segment before this one is lost and waits to be sent again.
    retransmit_hint: Index,
    /// The segment after those tagged last, with which the next block often begins.
    next_to_tag: Index,
    /// Blocks of the previous ACK: these need not be walked again.
    reported: Option<Box<AscendingBlocks>>,
}

/// Queries.
impl Scoreboard {
    pub(crate) fn new() -> Self {
        Scoreboard {
            queue: RetransmitQueue::new(),
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            counting: Counting::Sacks,
            payload: 0,
            highest_sack: 0,
            retransmit_hint: 0,
            next_to_tag: 0,
            reported: None,
        }
    }

    /// The records, read-only.
    #[inline]
    pub(crate) fn queue(&self) -> &RetransmitQueue {
        &self.queue
    }

    #[inline]
    pub(crate) fn get(&self, index: Index) -> &SentSegment {
        self.queue.get(index)
    }

    /// The oldest segment that is not acknowledged.
    #[inline]
    pub(crate) fn front(&self) -> Option<&SentSegment> {
        self.queue.front()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    pub(crate) fn packets_out(&self) -> u32 {
        self.queue.len() as u32
    }

    #[inline]
    pub(crate) fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Payload of the segments that are SACKed.
    #[cold]
    pub(crate) fn sacked_bytes(&self) -> u64 {
        let sent = (self.queue().head()..self.queue().end()).map(|index| self.get(index));
        sent.filter(|one| one.tags.has(Tags::SACKED)).map(|one| u64::from(one.length)).sum()
    }

    #[inline]
    pub(crate) fn lost_out(&self) -> u32 {
        self.lost_out
    }

    #[inline]
    pub(crate) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// [linux-6.12 tcp.h tcp_packets_in_flight]
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.packets_out() + self.retrans_out - (self.sacked_out + self.lost_out)
    }

    /// Bytes of payload of all segments.
    #[inline]
    pub(crate) fn payload(&self) -> u64 {
        self.payload
    }

    /// End of the highest SACKed segment, or `una`. [linux-6.12 tcp.h tcp_highest_sack_seq]
    pub(crate) fn highest_sack(&self, una: u64) -> u64 {
        if self.sacked_out == 0 { una } else { self.highest_sack }
    }

    /// True if no segment is SACKed, lost or retransmitted.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    /// True if the head is SACKed but not acknowledged: the receiver has discarded it (reneging). [rfc2018 §8]
    pub(crate) fn is_reneged(&self) -> bool {
        self.front().is_some_and(|head| head.tags.has(Tags::SACKED))
    }

    /// True if the head was ever retransmitted, or a retransmission is in flight.
    /// [linux-6.12 tcp_input.c tcp_any_retrans_done]
    pub(crate) fn any_retransmission_done(&self) -> bool {
        self.retrans_out > 0 || self.front().is_some_and(|head| head.tags.has(Tags::EVER_RETRANS))
    }
}

/// Sending.
impl Scoreboard {
    /// A segment was sent for the first time; one past its last sequence number.
    #[inline]
    pub(crate) fn send(&mut self, segment: SentSegment) -> u64 {
        let end = segment.end();
        self.payload += u64::from(segment.length);
        self.queue.push(segment);
        self.check();
        end
    }

    /// An skb of several segments of `mss` bytes was sent for the first time.
    #[inline(never)]
    pub(crate) fn send_train(&mut self, mut train: SentSegment, mss: u32) -> u64 {
        while train.length > mss {
            let first = train.take_first(mss);
            self.send(first);
        }
        self.send(train)
    }

    /// A segment that is an skb of its own was sent for the first time.
    pub(crate) fn send_alone(&mut self, segment: SentSegment) {
        self.payload += u64::from(segment.length);
        self.queue.push_alone(segment);
        self.check();
    }

    /// Adjacent records were retransmitted as one skb.
    pub(crate) fn send_again(&mut self, run: Range<Index>, transmission: u64, stamp: &Stamp) {
        self.queue.become_skb(run.start, (run.end - run.start) as u32, transmission);
        for index in run {
            let segment = self.queue.get_mut(index);
            segment.tags.set(Tags::EVER_RETRANS);
            segment.take_stamp(stamp);
            self.queue.move_to_newest(index);
        }
        self.check();
    }

    /// The device refused the retransmission of adjacent records. A stamp of a transmission that may never have
    /// happened must not give an RTT.
    pub(crate) fn retransmission_refused(&mut self, run: Range<Index>) {
        for index in run {
            self.queue.get_mut(index).tags.set(Tags::EVER_RETRANS);
        }
        self.check();
    }

    /// Counts a retransmission as in flight. After an undone timeout the head may still carry the tag.
    pub(crate) fn count_retransmissions(&mut self, run: Range<Index>) {
        for index in run {
            let tags = &mut self.queue.get_mut(index).tags;
            self.retrans_out += u32::from(!tags.has(Tags::RETRANS));
            tags.set(Tags::RETRANS);
        }
        self.check();
    }

    /// Divides the skb that begins at `index`, which was sent with another MSS, into segments of `mss` bytes before a
    /// retransmission. [linux-6.12 tcp_output.c __tcp_retransmit_skb, tcp_fragment, tcp_set_skb_tso_segs]
    pub(crate) fn cut_skb_anew(&mut self, index: Index, mss: u32) {
        if !self.queue.is_cut_for(index, mss) {
            self.cut_anew(index..self.queue.skb_end(index), mss);
        }
    }

    /// Divides the last skb, whose last segment is `last`, into segments of `mss` bytes, if it has others, and returns the
    /// last of these for a loss probe. [linux-6.12 tcp_output.c tcp_send_loss_probe]
    pub(crate) fn cut_tail_anew(&mut self, last: Index, mss: u32) -> Option<Index> {
        let queue = &self.queue;
        let first = (queue.head()..last).rev().take_while(|&index| queue.shares_skb(index, last)).last();
        let first = first.unwrap_or(last);
        if queue.is_cut_for(first, mss) {
            return None;
        }
        let (start, tail) = (queue.get(first).seq, queue.get(last));
        let end = tail.seq + u64::from(tail.length);
        let probe = start + (last - first) * u64::from(mss);
        self.cut_anew(first..last + 1, mss);
        Some(if probe < end { self.queue.find(probe) } else { first })
    }

    /// Divides the records of one skb into segments of `mss` bytes, and updates the counters.
    fn cut_anew(&mut self, run: Range<Index>, mss: u32) {
        let pieces = self.queue.cut(run.clone(), mss);
        self.replace(run, pieces);
    }

    /// Adjacent records that one retransmission can carry, at most `max`: of one skb, lost, neither SACKed nor
    /// retransmitted.
    pub(crate) fn lost_run(&self, index: Index, max: u32) -> u32 {
        let transmission = self.get(index).transmission;
        let run = (index..self.queue.end()).take(max as usize).take_while(|&next| {
            let segment = self.get(next);
            segment.transmission == transmission && segment.tags.is_lost_and_not_sent_again()
        });
        run.count() as u32
    }

    /// Divides a record after `length` bytes.
    pub(crate) fn split(&mut self, index: Index, length: u32) {
        let pieces = self.queue.halves(index, length);
        self.replace(index..index + 1, pieces);
    }

    /// Merges the next record into this one.
    pub(crate) fn join_next(&mut self, index: Index) {
        let joined = self.queue.joined(index);
        self.replace(index..index + 2, vec![joined]);
    }

    /// Replaces the records of `run` by `pieces`, and updates the counters by their tags.
    /// [linux-6.12 tcp_output.c tcp_adjust_pcount]
    fn replace(&mut self, run: Range<Index>, pieces: Vec<SentSegment>) {
        let (before, after) = ((run.end - run.start) as u32, pieces.len() as u32);
        let tagged = |tag: Tags| {
            let gone = run.clone().filter(|&index| self.queue.get(index).tags.has(tag)).count() as u32;
            (gone, pieces.iter().filter(|piece| piece.tags.has(tag)).count() as u32)
        };
        let counted = |count: u32, (gone, new): (u32, u32)| count - gone + new;
        self.lost_out = counted(self.lost_out, tagged(Tags::LOST));
        self.retrans_out = counted(self.retrans_out, tagged(Tags::RETRANS));
        match self.counting {
            Counting::Sacks => self.sacked_out = counted(self.sacked_out, tagged(Tags::SACKED)),
            Counting::Duplicates => {
                self.sacked_out = self.sacked_out.saturating_sub(before.saturating_sub(after))
            }
        }
        if self.retransmit_hint >= run.end {
            self.retransmit_hint = self.retransmit_hint - u64::from(before) + u64::from(after);
        } else {
            self.retransmit_hint = self.retransmit_hint.min(run.start);
        }
        self.queue.replace(run, pieces);
        self.check();
    }

    /// Where the search for lost segments continues; `None` at the end of the queue.
    pub(crate) fn retransmit_from(&mut self) -> Option<Index> {
        let from = self.retransmit_hint.max(self.queue.head());
        if from >= self.queue.end() {
            return None;
        }
        self.retransmit_hint = from;
        Some(from)
    }

    /// The first lost segment from `from` on that waits for its retransmission; `from` is in the queue.
    pub(crate) fn find_lost(&mut self, from: Index) -> Option<Index> {
        let found =
            (from..self.queue.end()).find(|&index| self.queue.get(index).tags.is_lost_and_not_sent_again());
        self.retransmit_hint = found.unwrap_or(self.queue.end() - 1);
        found
    }

    /// The search for lost segments begins at the head.
    pub(crate) fn retransmit_from_head(&mut self) {
        self.retransmit_hint = self.queue.head();
    }
}

/// Acknowledgements.
impl Scoreboard {
    /// The head, if all of it is acknowledged.
    #[inline]
    pub(crate) fn acked(&self, una: u64) -> Option<&SentSegment> {
        self.front().filter(|head| head.end() <= una)
    }

    /// Removes the records that [`RetransmitQueue::plain_head`] found.
    #[inline]
    pub(crate) fn remove_plain(&mut self, head: &PlainHead) {
        self.queue.pop_plain(head);
        self.payload -= head.payload;
        self.check();
    }

    /// Removes the head, which is acknowledged.
    #[inline]
    pub(crate) fn remove_acked(&mut self) {
        let head = self.queue.get(self.queue.head());
        let (tags, length) = (head.tags, head.length);
        self.queue.pop();
        if !tags.is_untouched() {
            self.sacked_out -= u32::from(tags.has(Tags::SACKED));
            self.lost_out -= u32::from(tags.has(Tags::LOST));
            self.retrans_out -= u32::from(tags.has(Tags::RETRANS));
        }
        self.payload -= u64::from(length);
        self.check();
    }

    /// The first segment that ends after `seq`, where tagging begins.
    #[inline]
    pub(crate) fn find_untagged(&self, seq: u64) -> Index {
        let next = self.next_to_tag;
        if self.queue.contains(next) && self.queue.get(next).seq == seq {
            debug_assert_eq!(self.queue.find(seq), next, "segments follow one another without a gap");
            return next;
        }
        self.queue.find(seq)
    }

    /// Tagging ended before this segment.
    #[inline]
    pub(crate) fn tagged_before(&mut self, index: Index) {
        self.next_to_tag = index;
    }

    /// The blocks of an ACK, in place of those of the previous one, which are returned: none before the first.
    pub(crate) fn report(&mut self, blocks: AscendingBlocks) -> AscendingBlocks {
        std::mem::replace(self.reported.get_or_insert_default(), blocks)
    }

    /// Called before the SACK blocks of an ACK are processed.
    pub(crate) fn begin_sacks(&mut self, una: u64) {
        if self.sacked_out == 0 {
            self.highest_sack = una;
        }
    }

    /// A segment was received. A retransmission of it that is not marked lost still counts as in flight.
    /// [linux-6.12 tcp_input.c tcp_sacktag_one]
    pub(crate) fn sack(&mut self, index: Index) {
        let segment = self.queue.get_mut(index);
        if segment.tags.has(Tags::LOST) {
            self.lost_out -= 1;
            self.retrans_out -= u32::from(segment.tags.has(Tags::RETRANS));
            segment.tags.clear(Tags::LOST);
            segment.tags.clear(Tags::RETRANS);
        }
        segment.tags.set(Tags::SACKED);
        self.highest_sack = self.highest_sack.max(segment.end());
        self.sacked_out += 1;
        self.queue.leave_time_order(index);
        self.merge_sacked(index);
        self.check();
    }

    /// Merges a segment into the SACKed one below it and, if that succeeds, also the one above: the hole is filled.
    /// [linux-6.12 tcp_input.c tcp_shift_skb_data]
    fn merge_sacked(&mut self, index: Index) {
        self.queue.merge_with_earlier(index);
        if self.queue.get(index).tags.has(Tags::MERGED) {
            self.queue.merge_with_earlier(index + 1);
        }
    }

    /// A SACKed segment has been used for a rate sample: its stamp is not used for another one.
    pub(crate) fn forget_stamp(&mut self, index: Index) {
        let segment = self.queue.get_mut(index);
        if segment.tags.has(Tags::SACKED) {
            segment.forget_stamp();
        }
    }

    /// The peer had a segment before its retransmission, which is therefore not in flight.
    pub(crate) fn end_retransmission(&mut self, index: Index) {
        let tags = &mut self.queue.get_mut(index).tags;
        self.retrans_out -= u32::from(tags.has(Tags::RETRANS));
        tags.clear(Tags::RETRANS);
        self.check();
    }

    /// The receiver has discarded data that it had SACKed (reneging).
    pub(crate) fn forget_sacks(&mut self) {
        for index in self.queue.head()..self.queue.end() {
            self.queue.get_mut(index).tags.clear(Tags::SACKED);
        }
        self.sacked_out = 0;
        self.reported = None;
        self.check();
    }
}

/// Losses.
impl Scoreboard {
    /// Marks a segment lost, or its retransmission. True if it was not marked before.
    /// [linux-6.12 tcp_input.c tcp_mark_skb_lost]
    pub(crate) fn mark_lost(&mut self, index: Index) -> bool {
        let tags = &mut self.queue.get_mut(index).tags;
        if tags.has(Tags::SACKED) {
            return false;
        }
        let before = *tags;
        tags.set(Tags::LOST);
        self.retransmit_hint = self.retransmit_hint.min(index);
        if !before.has(Tags::LOST) {
            self.lost_out += 1;
        } else if before.has(Tags::RETRANS) {
            tags.clear(Tags::RETRANS);
            self.retrans_out -= 1;
        } else {
            return false;
        }
        self.check();
        true
    }

    /// Skips this segment in the search for losses until it is retransmitted.
    pub(crate) fn leave_time_order(&mut self, index: Index) {
        self.queue.leave_time_order(index);
    }

    /// Clears all loss marks: no segment was lost.
    pub(crate) fn unmark_losses(&mut self) {
        for index in self.queue.head()..self.queue.end() {
            self.queue.get_mut(index).tags.clear(Tags::LOST);
        }
        self.lost_out = 0;
        self.retransmit_hint = self.queue.end();
        self.check();
    }
}

/// A peer without SACK. [rfc6582]
impl Scoreboard {
    /// Sets what `sacked_out` counts, as negotiated by the SYNs.
    pub(crate) fn count(&mut self, counting: Counting) {
        self.counting = counting;
    }

    /// A duplicate ACK; fresh is by how much `sacked_out` grew. [linux-6.12 tcp_input.c tcp_add_reno_sack]
    pub(crate) fn count_duplicate(&mut self) -> Counted {
        let before = self.sacked_out;
        self.sacked_out += 1;
        let limited = self.limit_duplicates();
        Counted { fresh: self.sacked_out.saturating_sub(before), limited }
    }

    /// `acked` segments were acknowledged: one filled the hole, the others were counted by duplicate ACKs. Fresh
    /// are those that were not counted. [linux-6.12 tcp_input.c tcp_remove_reno_sacks]
    pub(crate) fn take_duplicates(&mut self, acked: u32) -> Counted {
        let mut fresh = 0;
        if acked > 0 {
            fresh = acked.saturating_sub(self.sacked_out).max(1);
            self.sacked_out = self.sacked_out.saturating_sub(acked - 1);
        }
        Counted { fresh, limited: self.limit_duplicates() }
    }

    /// There cannot be more duplicates than segments beside the holes. True if there were. [linux-6.12 tcp_input.c
    /// tcp_limit_reno_sacked]
    pub(crate) fn limit_duplicates(&mut self) -> bool {
        let packets_out = self.packets_out();
        let most = packets_out - self.lost_out.max(1).min(packets_out);
        let limited = self.sacked_out > most;
        self.sacked_out = self.sacked_out.min(most);
        self.check();
        limited
    }

    /// Resets the count of duplicate ACKs.
    pub(crate) fn forget_duplicates(&mut self) {
        self.sacked_out = 0;
        self.check();
    }
}

/// The invariant.
impl Scoreboard {
    #[inline]
    fn check(&self) {
        debug_assert!(self.counters_agree(), "counters and tags differ: {self:?}");
    }

    fn counters_agree(&self) -> bool {
        let packets_out = self.packets_out();
        let bounded = self.retrans_out <= packets_out && self.lost_out <= packets_out;
        bounded && (packets_out > COUNTED_THROUGH || self.tags_agree())
    }

    fn tags_agree(&self) -> bool {
        let records = || (self.queue.head()..self.queue.end()).map(|index| self.queue.get(index));
        let tagged = |tag: Tags| records().filter(|record| record.tags.has(tag)).count() as u32;
        let exclusive =
            |record: &SentSegment| !(record.tags.has(Tags::SACKED) && record.tags.has(Tags::LOST));
        tagged(Tags::LOST) == self.lost_out
            && tagged(Tags::RETRANS) == self.retrans_out
            && (self.counting == Counting::Duplicates || tagged(Tags::SACKED) == self.sacked_out)
            && records().map(|record| u64::from(record.length)).sum::<u64>() == self.payload
            && records().all(exclusive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Micros;

    /// `count` segments of 100 bytes, each in its own skb.
    fn sent(count: u64) -> Scoreboard {
        let mut scoreboard = Scoreboard::new();
        for number in 0..count {
            scoreboard.send(SentSegment::new(
                (number * 100, 100),
                Tags::default(),
                1 + number,
                &Stamp::default(),
            ));
        }
        scoreboard
    }

    fn counters(scoreboard: &Scoreboard) -> [u32; 5] {
        let Scoreboard { sacked_out, lost_out, retrans_out, .. } = *scoreboard;
        [scoreboard.packets_out(), sacked_out, lost_out, retrans_out, scoreboard.in_flight()]
    }

    #[test]
    fn a_loss_that_is_retransmitted_and_received_leaves_only_the_sack() {
        let mut scoreboard = sent(4);
        assert!(scoreboard.mark_lost(1));
        assert_eq!(counters(&scoreboard), [4, 0, 1, 0, 3]);
        scoreboard.send_again(1..2, 9, &Stamp::default());
        scoreboard.count_retransmissions(1..2);
        assert_eq!(counters(&scoreboard), [4, 0, 1, 1, 4]);
        scoreboard.sack(1);
        assert_eq!(counters(&scoreboard), [4, 1, 0, 0, 3]);
    }

    #[test]
    fn a_lost_retransmission_is_counted_again_and_a_loss_not_yet_retransmitted_is_not() {
        let mut scoreboard = sent(2);
        assert!(scoreboard.mark_lost(0));
        assert!(!scoreboard.mark_lost(0), "it was known");
        scoreboard.count_retransmissions(0..1);
        assert!(scoreboard.mark_lost(0), "the retransmission is lost too");
        assert_eq!(counters(&scoreboard), [2, 0, 1, 0, 1]);
    }

    #[test]
    fn a_sacked_segment_is_never_lost() {
        let mut scoreboard = sent(2);
        scoreboard.sack(1);
        assert!(!scoreboard.mark_lost(1));
        assert_eq!(counters(&scoreboard), [2, 1, 0, 0, 1]);
    }

    #[test]
    fn an_acknowledgement_removes_tags_and_payload() {
        let mut scoreboard = sent(3);
        scoreboard.mark_lost(0);
        scoreboard.count_retransmissions(0..1);
        scoreboard.sack(1);
        let mut take = || {
            let seq = scoreboard.acked(250)?.seq;
            scoreboard.remove_acked();
            Some(seq)
        };
        let taken: Vec<u64> = std::iter::from_fn(&mut take).collect();
        assert_eq!((taken, scoreboard.payload()), (vec![0, 100], 100));
        assert_eq!(counters(&scoreboard), [1, 0, 0, 0, 1]);
    }

    #[test]
    fn an_undo_unmarks_all_losses_and_the_search_begins_behind_them() {
        let mut scoreboard = sent(3);
        scoreboard.mark_lost(0);
        scoreboard.mark_lost(2);
        scoreboard.unmark_losses();
        assert_eq!((counters(&scoreboard), scoreboard.retransmit_from()), ([3, 0, 0, 0, 3], None));
    }

    #[test]
    fn the_search_for_losses_continues_where_it_was_and_returns_for_an_earlier_loss() {
        let mut scoreboard = sent(5);
        scoreboard.retransmit_from_head();
        scoreboard.mark_lost(3);
        let mut next = || scoreboard.retransmit_from().and_then(|from| scoreboard.find_lost(from));
        assert_eq!(next(), Some(3));
        scoreboard.count_retransmissions(3..4);
        scoreboard.mark_lost(1);
        let from = scoreboard.retransmit_from().expect("the queue is not empty");
        assert_eq!(scoreboard.find_lost(from), Some(1));
    }

    #[test]
    fn duplicates_are_never_more_than_the_segments_beside_the_hole() {
        let mut scoreboard = sent(3);
        scoreboard.count(Counting::Duplicates);
        let grown: Vec<u32> = (0..4).map(|_| scoreboard.count_duplicate().fresh).collect();
        assert_eq!((grown, counters(&scoreboard)), (vec![1, 1, 0, 0], [3, 2, 0, 0, 1]));
    }

    #[test]
    fn data_that_a_receiver_discarded_is_in_flight_until_it_is_marked_lost() {
        let mut scoreboard = sent(3);
        scoreboard.sack(0);
        scoreboard.sack(1);
        assert!(scoreboard.is_reneged());
        scoreboard.forget_sacks();
        assert_eq!((counters(&scoreboard), scoreboard.is_reneged()), ([3, 0, 0, 0, 3], false));
    }

    #[test]
    fn a_stamp_of_a_sacked_segment_gives_one_sample() {
        let mut scoreboard = sent(1);
        scoreboard.forget_stamp(0);
        assert_eq!(scoreboard.get(0).delivered_at, Micros::default(), "it is not SACKed");
        scoreboard.sack(0);
        scoreboard.forget_stamp(0);
        assert_eq!(scoreboard.get(0).delivered_at, Micros::NEVER);
    }

    #[test]
    fn a_tail_cut_for_a_smaller_mss_is_probed_at_the_segment_that_its_last_one_would_be() {
        let mut scoreboard = sent(2);
        for number in 2..5 {
            scoreboard.send(SentSegment::new((number * 100, 100), Tags::default(), 3, &Stamp::default()));
        }
        let probe = scoreboard.cut_tail_anew(4, 50).expect("it is cut");
        assert_eq!((scoreboard.get(probe).seq, scoreboard.packets_out()), (300, 8));
        assert_eq!(scoreboard.cut_tail_anew(7, 50), None, "it was");
    }
}
