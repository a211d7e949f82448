//! Loss recovery: the reduction of the window, its undo, reordering, timeouts.

use tailback_units::{Segs, SimTime, Span};

use crate::clock::timestamp;
use crate::one_word::OneWord;
use crate::scoreboard::Scoreboard;
use crate::state::prr::Prr;
use crate::state::timer::TailLossProbe;

/// State of loss recovery. [linux-6.12 tcp_sock undo_*]
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub(crate) high_seq: u64,
    pub(crate) prr: Prr,
    /// `None` when an undo is not allowed.
    pub(crate) prior_ssthresh: Option<Segs>,
    pub(crate) undo_marker: OneWord<u64>,
    /// Retransmissions not yet known to be spurious; `None` before the first.
    pub(crate) undo_retrans: Option<u32>,
    /// When the first retransmission of this episode was sent.
    pub(crate) retrans_stamp: OneWord<SimTime>,
    /// The peer has discarded SACKed data: from the timeout that found it to the end of this recovery. An ACK gives no
    /// rate sample then. [linux-6.12 tcp_sock is_sack_reneg]
    pub(crate) sack_reneged: bool,
    /// F-RTO is checking whether the timeout was spurious. [rfc5682]
    pub(crate) frto: bool,
    /// Timeouts in a row.
    pub(crate) retransmits: u32,
    /// Degree of reordering, in segments.
    pub(crate) reordering: u32,
    /// How often reordering was seen.
    pub(crate) reord_seen: u32,
    /// Segments that the peer reported as duplicates.
    pub(crate) dsack_dups: u32,
}

impl Recovery {
    /// At the start; `reordering` is the degree of reordering that is assumed.
    pub(crate) fn new(reordering: u32) -> Self {
        Recovery {
            high_seq: 0,
            prr: Prr::default(),
            prior_ssthresh: None,
            undo_marker: OneWord::NONE,
            undo_retrans: None,
            retrans_stamp: OneWord::NONE,
            sack_reneged: false,
            frto: false,
            retransmits: 0,
            reordering,
            reord_seen: 0,
            dsack_dups: 0,
        }
    }

    /// A reduction begins at `snd_nxt`.
    pub(crate) fn begin_reduction(&mut self, snd_nxt: u64) {
        self.high_seq = snd_nxt;
        self.prr = Prr::default();
    }

    /// Records that `count` segments were retransmitted or attempted, the first of them at `stamp`.
    pub(crate) fn attempted(&mut self, stamp: SimTime, count: u32) {
        self.retrans_stamp.get_or_set(stamp);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + count);
    }

    /// From now on the reduction may be undone, once all of its retransmissions are known to be spurious; those that are out
    /// now count. [linux-6.12 tcp_input.c tcp_init_undo]
    pub(crate) fn allow_undo(&mut self, snd_una: u64, scoreboard: &Scoreboard, tlp: TailLossProbe) {
        let retransmissions = scoreboard.retrans_out() + tlp.retransmissions_out();
        self.undo_marker = OneWord::some(snd_una);
        self.undo_retrans = (retransmissions > 0).then_some(retransmissions);
    }

    /// The peer has received `count` retransmissions, of data up to `end`, for the second time.
    pub(crate) fn count_spurious(&mut self, end: u64, count: u32) {
        if let (Some(marker), Some(left)) = (self.undo_marker.get(), self.undo_retrans)
            && end > marker
        {
            self.undo_retrans = Some(left.saturating_sub(count));
        }
    }

    /// Forgets when the first retransmission was sent, unless one is outstanding. [tcp_retrans_stamp_cleanup]
    pub(crate) fn forget_retrans_stamp_unless(&mut self, any_retransmission_done: bool) {
        if !any_retransmission_done {
            self.retrans_stamp = OneWord::NONE;
        }
    }

    /// `span` has passed since the first retransmission. [linux-6.12 tcp_timer.c retransmits_timed_out]
    pub(crate) fn has_timed_out_after(&self, span: Span, now: SimTime) -> bool {
        let Some(first) = self.retrans_stamp.get() else { return false };
        self.retransmits > 0 && timestamp(now).since(first) >= span
    }

    /// Every retransmission was reported as a duplicate.
    pub(crate) fn was_spurious(&self) -> bool {
        self.undo_marker.is_some() && self.undo_retrans == Some(0)
    }

    /// Data arrived `metric` bytes behind data that was sent later; the degree of reordering is at most `max`.
    /// [linux-6.12 tcp_input.c tcp_check_sack_reordering]
    pub(crate) fn note_reordering(&mut self, metric: u64, mss: u64, max: u32) {
        if metric > u64::from(self.reordering) * mss {
            self.reordering = metric.div_ceil(mss).min(u64::from(max)) as u32;
        }
        self.reord_seen += 1;
    }

    /// Without SACK: as many segments as this are out (and were acknowledged), and more duplicates arrived than there are
    /// beside the holes: the path reorders. [tcp_check_reno_reordering]
    pub(crate) fn note_many_duplicates(&mut self, segments: u32, max: u32) {
        self.reordering = segments.min(max);
        self.reord_seen += 1;
    }
}
