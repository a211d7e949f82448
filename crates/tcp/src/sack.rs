//! Selective acknowledgements: tagging the scoreboard, DSACK, the reordering metric.
//!
//! Only segments that the blocks of the previous ACK did not cover are walked, so that the cost of an
//! ACK does not grow with the window. [rfc2018] [rfc2883] [linux-6.12 tcp_input.c tcp_sacktag_write_queue,
//! tcp_sacktag_one]

use tailback_cc::{CaState, Flow};
use tailback_packet::{SackBlock, Segment};

use crate::clock::Micros;
use crate::queue::{Index, Tags};
use crate::sack_blocks::AscendingBlocks;
use crate::scoreboard::Scoreboard;
use crate::sender::{AckFlags, Sender};
use crate::stack::{DsackWidens, ProbeDsack};
use crate::state::rack::Rack;
use crate::state::rate::{DeliveryRate, SampleInProgress};
use crate::state::recovery::Recovery;

/// The results of processing the SACK blocks of one ACK.
#[derive(Debug, Default)]
pub(crate) struct SackWalk {
    /// Send times of the first and last newly SACKed segments that were never retransmitted.
    pub(crate) first_sent: Option<Micros>,
    pub(crate) last_sent: Option<Micros>,
    /// Segments that these blocks report, whether newly received or received twice.
    pub(crate) delivered: u32,
    /// Lowest sequence number that arrived after a higher one.
    reordered_from: Option<u64>,
}

impl SackWalk {
    fn note_reordered(&mut self, seq: u64) {
        self.reordered_from = Some(self.reordered_from.map_or(seq, |low| low.min(seq)));
    }
}

impl Sender {
    /// Tags the segments that the blocks of an ACK cover.
    #[inline(never)]
    pub(crate) fn tag_sacked(
        &mut self,
        ack: &Segment,
        prior_una: u64,
        flags: &mut AckFlags,
        sample: &mut SampleInProgress,
    ) -> SackWalk {
        self.scoreboard.begin_sacks(self.flow.snd_una);
        let blocks = ack.sack.as_slice();
        let duplicates = self.check_dsack(ack, blocks, prior_una, flags);
        let Sender { scoreboard, recovery, rack, rate, flow, .. } = self;
        let walk = SackWalk { delivered: duplicates, ..SackWalk::default() };
        let mut tagging = Tagging { scoreboard, recovery, rack, rate, flow, flags, sample, walk };
        let mut usable = AscendingBlocks::default();
        for (number, &block) in blocks.iter().enumerate() {
            if number == 0 && duplicates > 0 {
                tagging.tag_duplicate(block);
            }
            if block.end > block.start && block.start > flow.snd_una && block.end <= flow.snd_nxt {
                usable.insert(block);
            }
        }
        let known = tagging.scoreboard.report(usable);
        for block in usable.as_slice() {
            tagging.tag_block(*block, known.as_slice());
        }
        let walk = tagging.walk;
        if self.flow.ca_state != CaState::Loss || self.recovery.undo_marker.is_some() {
            self.check_reordering(walk.reordered_from);
        }
        walk
    }

    /// The first block may report duplicates, below the ACK or inside the second block; returns how many. [rfc2883 §4]
    /// [linux-6.12 tcp_input.c tcp_check_dsack]
    fn check_dsack(
        &mut self,
        ack: &Segment,
        blocks: &[SackBlock],
        prior_una: u64,
        flags: &mut AckFlags,
    ) -> u32 {
        let Some(&first) = blocks.first() else { return 0 };
        let inside = blocks.get(1).is_some_and(|next| first.start >= next.start && first.end <= next.end);
        if first.start >= ack.ack && !inside {
            return 0;
        }
        let counted = self.count_dsack(first, flags);
        if first.end <= prior_una {
            // The data has left the queue: it can only be counted.
            self.recovery.count_spurious(first.end, counted);
        }
        counted
    }

    /// Counts the duplicates of a DSACK; zero if it is not credible: empty, larger than any window, or fewer segments
    /// were retransmitted. RACK's window grows only if reordering was seen. [linux-6.12 tcp_input.c tcp_dsack_seen]
    fn count_dsack(&mut self, block: SackBlock, flags: &mut AckFlags) -> u32 {
        let length = block.end.saturating_sub(block.start);
        if length == 0 || length > self.peer.largest() {
            return 0;
        }
        let count = length.div_ceil(u64::from(self.flow.mss)) as u32;
        if count == 1 && self.tlp.high_seq.get() == Some(block.end) {
            flags.dsack_of_probe = true;
        }
        self.recovery.dsack_dups += count;
        if u64::from(self.recovery.dsack_dups) > self.sent.total_retrans {
            return 0;
        }
        let widens = match self.settings.stack.dsack_widens {
            DsackWidens::OnceReordered => self.recovery.reord_seen > 0 && !flags.dsack_of_probe,
            DsackWidens::Always => true,
            DsackWidens::Never => false,
        };
        self.rack.dsack_seen |= widens && self.settings.loss_detection.adapts_window;
        flags.dsack_of_probe |= self.settings.stack.probe_dsack == ProbeDsack::Any;
        flags.dsack = true;
        count
    }

    /// Data from `low` on arrived after higher data: updates the degree of reordering.
    /// [linux-6.12 tcp_check_sack_reordering]
    pub(crate) fn check_reordering(&mut self, low: Option<u64>) {
        let highest = self.scoreboard.highest_sack(self.flow.snd_una);
        let Some(low) = low.filter(|&low| low < highest) else { return };
        let mss = u64::from(self.flow.mss);
        self.recovery.note_reordering(highest - low, mss, self.settings.max_reordering);
    }
}

/// Tags what the blocks of one ACK report, and collects what that shows.
struct Tagging<'a> {
    scoreboard: &'a mut Scoreboard,
    recovery: &'a mut Recovery,
    rack: &'a mut Rack,
    rate: &'a mut DeliveryRate,
    flow: &'a Flow,
    flags: &'a mut AckFlags,
    sample: &'a mut SampleInProgress,
    walk: SackWalk,
}

impl Tagging<'_> {
    /// A duplicate of data that is still in the queue: its retransmission was spurious. If the first copy was SACKed
    /// before, it was late. [linux-6.12 tcp_input.c tcp_sacktag_one]
    fn tag_duplicate(&mut self, block: SackBlock) {
        let mut index = self.scoreboard.queue().find(block.start).max(self.scoreboard.queue().head());
        while index < self.scoreboard.queue().end() && self.scoreboard.get(index).end() <= block.end {
            let segment = self.scoreboard.get(index);
            let (tags, seq, end) = (segment.tags, segment.seq, segment.end());
            if tags.retransmitted() && tags.has(Tags::SACKED) {
                self.walk.note_reordered(seq);
            }
            if tags.retransmitted() {
                self.recovery.count_spurious(end, 1);
            }
            self.scoreboard.end_retransmission(index);
            index += 1;
        }
    }

    /// Tags the part of a block that the previous ACK did not report.
    fn tag_block(&mut self, block: SackBlock, known: &[SackBlock]) {
        let mut from = block.start;
        for old in known.iter().filter(|old| old.start < block.end && old.end > block.start) {
            if old.start > from {
                self.tag_range(SackBlock { start: from, end: old.start });
            }
            from = from.max(old.end);
        }
        if from < block.end {
            self.tag_range(SackBlock { start: from, end: block.end });
        }
    }

    fn tag_range(&mut self, range: SackBlock) {
        let mut index = self.scoreboard.find_untagged(range.start);
        while index < self.scoreboard.queue().end() {
            let segment = self.scoreboard.get(index);
            if segment.seq >= range.end {
                break;
            }
            if segment.seq >= range.start && segment.end() <= range.end {
                self.tag_segment(index);
                self.rate.take_delivered(self.scoreboard.get(index), self.sample);
                self.scoreboard.forget_stamp(index);
            }
            index += 1;
        }
        self.scoreboard.tagged_before(index);
    }

    /// One segment is reported as received. [linux-6.12 tcp_input.c tcp_sacktag_one]
    fn tag_segment(&mut self, index: Index) {
        let segment = self.scoreboard.get(index);
        let (tags, sent_at) = (segment.tags, segment.sent_at);
        let block = SackBlock { start: segment.seq, end: segment.end() };
        if tags.has(Tags::SACKED) || block.end <= self.flow.snd_una {
            return;
        }
        self.rack.advance(tags, (sent_at, block.end), self.flow);
        if !tags.retransmitted() {
            self.note_original(block, sent_at);
        }
        self.scoreboard.sack(index);
        self.flags.data_sacked = true;
        self.walk.delivered += 1;
    }

    /// A segment that was never retransmitted arrived: it gives a round-trip time, and shows reordering if it
    /// lies below one that arrived before.
    fn note_original(&mut self, block: SackBlock, sent_at: Micros) {
        if block.start < self.scoreboard.highest_sack(self.flow.snd_una) {
            self.walk.note_reordered(block.start);
        }
        self.flags.orig_sack_acked |= block.end <= self.recovery.high_seq;
        self.walk.first_sent.get_or_insert(sent_at);
        self.walk.last_sent = Some(sent_at);
    }
}
