//! The tags of the scoreboard.

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
    /// The last byte of the record ends a record of the application (`MSG_EOR`): no segment is merged into it.
    pub(crate) const RECORD_END: Tags = Tags(256);

    pub(crate) const fn has(self, tag: Tags) -> bool {
        self.0 & tag.0 != 0
    }

    /// Neither SACKed, lost nor retransmitted.
    pub(crate) const fn is_untouched(self) -> bool {
        self.0 & (Tags::SACKED.0 | Tags::LOST.0 | Tags::RETRANS.0 | Tags::EVER_RETRANS.0) == 0
    }

    /// Sent once, never SACKed, and still in the skb in which it was sent.
    pub(super) const fn is_plain(self) -> bool {
        self.is_untouched() && !self.has(Tags::MERGED)
    }

    pub(crate) fn set(&mut self, tag: Tags) {
        self.0 |= tag.0;
    }

    pub(crate) fn clear(&mut self, tag: Tags) {
        self.0 &= !tag.0;
    }

    /// The tags of a part that is not the last.
    pub(super) const fn without_end(self) -> Self {
        Tags(self.0 & !(Tags::PUSH.0 | Tags::FIN.0 | Tags::RECORD_END.0))
    }

    /// The tags of a record that no longer shares the skb of the one before it.
    pub(super) const fn alone(self) -> Self {
        Tags(self.0 & !Tags::MERGED.0)
    }

    /// The tags after merging a record with the tags `next`. [linux-6.12 tcp_output.c tcp_collapse_retrans]
    pub(super) const fn joined_by(self, next: Tags) -> Self {
        const TAKEN: u16 = Tags::PUSH.0 | Tags::FIN.0 | Tags::RECORD_END.0 | Tags::EVER_RETRANS.0;
        Tags(self.0 | next.0 & TAKEN)
    }

    /// Marked lost, and neither received nor retransmitted since.
    pub(crate) const fn is_lost_and_not_sent_again(self) -> bool {
        self.0 & (Tags::LOST.0 | Tags::SACKED.0 | Tags::RETRANS.0) == Tags::LOST.0
    }

    /// True if both have the same state in loss recovery.
    pub(super) const fn has_state_of(self, other: Tags) -> bool {
        const FATE: u16 = Tags::SACKED.0 | Tags::LOST.0 | Tags::RETRANS.0;
        self.0 & FATE == other.0 & FATE
    }

    /// Retransmitted now or earlier.
    pub(crate) const fn retransmitted(self) -> bool {
        self.has(Tags(Tags::RETRANS.0 | Tags::EVER_RETRANS.0))
    }
}
