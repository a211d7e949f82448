//! Selective acknowledgements: tagging the scoreboard, DSACK, the reordering metric.
//!
//! Only segments that the blocks of the previous ACK did not cover are walked, so that the cost of an
//! ACK does not grow with the window. [rfc2018] [rfc2883] [linux-6.12 tcp_input.c tcp_sacktag_write_queue,
//! tcp_sacktag_one]

use tailback_cc::CaState;
use tailback_packet::{SackBlock, Segment};

use crate::clock::Micros;
use crate::queue::{Index, Tags};
use crate::sender::{AckFlags, Sender};
use crate::stack::{DsackWidens, ProbeDsack};
use crate::state::rate::SampleInProgress;
use crate::state::sacks::AscendingBlocks;

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
        let mut walk = SackWalk::default();
        self.scoreboard.begin_sacks(self.flow.snd_una);
        let blocks = ack.sack.as_slice();
        let duplicates = self.check_dsack(ack, blocks, prior_una, flags);
        walk.delivered = duplicates;
        let mut usable = AscendingBlocks::default();
        for (number, &block) in blocks.iter().enumerate() {
            if number == 0 && duplicates > 0 {
                self.tag_duplicate(block, &mut walk);
            }
            if block.end > block.start && block.start > self.flow.snd_una && block.end <= self.flow.snd_nxt {
                usable.insert(block);
            }
        }
        let known = self.scoreboard.report(usable);
        for block in usable.as_slice() {
            self.tag_block(*block, known.as_slice(), flags, sample, &mut walk);
        }
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
        if let (Some(marker), Some(left)) = (self.recovery.undo_marker.get(), self.recovery.undo_retrans) {
            // The data has left the queue: it can only be counted.
            if left > 0 && first.end <= prior_una && first.end > marker {
                self.recovery.undo_retrans = Some(left.saturating_sub(counted));
            }
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
        let count = length.div_ceil(u64::from(self.mss())) as u32;
        if count == 1 && self.tlp.high_seq.get() == Some(block.end) {
            flags.dsack_of_probe = true;
        }
        self.recovery.dsack_dups += count;
        if u64::from(self.recovery.dsack_dups) > self.sent.total_retrans {
            return 0;
        }
        self.rack.dsack_seen |=
            self.settings.loss_detection.adapts_window && self.widens_window(flags.dsack_of_probe);
        flags.dsack_of_probe |= self.settings.stack.probe_dsack == ProbeDsack::Any;
        flags.dsack = true;
        count
    }

    /// Whether a DSACK widens RACK's window.
    fn widens_window(&self, is_of_probe: bool) -> bool {
        match self.settings.stack.dsack_widens {
            DsackWidens::OnceReordered => self.recovery.reord_seen > 0 && !is_of_probe,
            DsackWidens::Always => true,
            DsackWidens::Never => false,
        }
    }

    /// A duplicate of data that is still in the queue: its retransmission was spurious. If the first copy was SACKed
    /// before, it was late. [linux-6.12 tcp_input.c tcp_sacktag_one]
    fn tag_duplicate(&mut self, block: SackBlock, walk: &mut SackWalk) {
        let mut index = self.scoreboard.queue().find(block.start).max(self.scoreboard.queue().head());
        while index < self.scoreboard.queue().end() && self.scoreboard.get(index).end() <= block.end {
            let segment = self.scoreboard.get(index);
            let (tags, seq, end) = (segment.tags, segment.seq, segment.end());
            if tags.retransmitted() && tags.has(Tags::SACKED) {
                walk.note_reordered(seq);
            }
            if let (Some(marker), Some(left)) = (self.recovery.undo_marker.get(), self.recovery.undo_retrans)
                && tags.retransmitted()
                && left > 0
                && end > marker
            {
                self.recovery.undo_retrans = Some(left - 1);
            }
            self.scoreboard.end_retransmission(index);
            index += 1;
        }
    }

    /// Tags the part of a block that the previous ACK did not report.
    fn tag_block(
        &mut self,
        block: SackBlock,
        known: &[SackBlock],
        flags: &mut AckFlags,
        sample: &mut SampleInProgress,
        walk: &mut SackWalk,
    ) {
        let mut from = block.start;
        for old in known.iter().filter(|old| old.start < block.end && old.end > block.start) {
            if old.start > from {
                self.tag_range(SackBlock { start: from, end: old.start }, flags, sample, walk);
            }
            from = from.max(old.end);
        }
        if from < block.end {
            self.tag_range(SackBlock { start: from, end: block.end }, flags, sample, walk);
        }
    }

    fn tag_range(
        &mut self,
        range: SackBlock,
        flags: &mut AckFlags,
        sample: &mut SampleInProgress,
        walk: &mut SackWalk,
    ) {
        let mut index = self.scoreboard.find_untagged(range.start);
        while index < self.scoreboard.queue().end() {
            let segment = self.scoreboard.get(index);
            if segment.seq >= range.end {
                break;
            }
            if segment.seq >= range.start && segment.end() <= range.end {
                self.tag_segment(index, flags, walk);
                self.rate.take_delivered(self.scoreboard.get(index), sample);
                self.scoreboard.forget_stamp(index);
            }
            index += 1;
        }
        self.scoreboard.tagged_before(index);
    }

    /// One segment is reported as received. [linux-6.12 tcp_input.c tcp_sacktag_one]
    fn tag_segment(&mut self, index: Index, flags: &mut AckFlags, walk: &mut SackWalk) {
        let segment = self.scoreboard.get(index);
        let (tags, sent_at) = (segment.tags, segment.sent_at);
        let block = SackBlock { start: segment.seq, end: segment.end() };
        if tags.has(Tags::SACKED) || block.end <= self.flow.snd_una {
            return;
        }
        self.rack_advance(tags, block.end, sent_at);
        if !tags.retransmitted() {
            self.note_original(block, sent_at, flags, walk);
        }
        self.scoreboard.sack(index);
        flags.data_sacked = true;
        walk.delivered += 1;
    }

    /// A segment that was never retransmitted arrived: it gives a round-trip time, and shows reordering if it
    /// lies below one that arrived before.
    fn note_original(&self, block: SackBlock, sent_at: Micros, flags: &mut AckFlags, walk: &mut SackWalk) {
        if block.start < self.highest_sack_seq() {
            walk.note_reordered(block.start);
        }
        flags.orig_sack_acked |= block.end <= self.recovery.high_seq;
        walk.first_sent.get_or_insert(sent_at);
        walk.last_sent = Some(sent_at);
    }

    /// End of the highest SACKed segment, or `snd_una`.
    pub(crate) fn highest_sack_seq(&self) -> u64 {
        self.scoreboard.highest_sack(self.flow.snd_una)
    }

    /// Data from `low` on arrived after higher data: updates the degree of reordering.
    /// [linux-6.12 tcp_check_sack_reordering]
    pub(crate) fn check_reordering(&mut self, low: Option<u64>) {
        let highest = self.highest_sack_seq();
        let Some(low) = low.filter(|&low| low < highest) else { return };
        let mss = u64::from(self.mss());
        self.recovery.note_reordering(highest - low, mss, self.settings.max_reordering);
    }
}
