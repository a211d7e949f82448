//! Explicit congestion notification: queues mark instead of dropping, the receiver echoes, the sender reduces.
//!
//! ```text
//! handshake   SYN with ECE and CWR requests ECN, SYN-ACK with ECE accepts it                     [rfc3168 §6.1.1]
//! data        ECT(0); retransmissions, pure ACKs and the handshake are not ECN-capable          [rfc3168 §6.1.4-5]
//! CE seen     ECE on every ACK until CWR arrives, two quick ACKs                                 [rfc3168 §6.1.3]
//! ECE seen    one reduction per window; the next new data carries CWR                            [rfc3168 §6.1.2]
//! CWR seen    its data is acknowledged at once, because the sender's window may be small
//! not ECT     two quick ACKs, if earlier data was ECN-capable: it is probably a retransmission
//! ```
//! With a control that needs ECN (DCTCP), every packet is ECN-capable and the receiver echoes the mark of each segment:
//! when the mark changes, the receiver first sends a delayed ACK with the old mark, then acknowledges the new segment
//! at once; CWR ends no echo. [rfc8257 §3.2] [linux-6.12 tcp_dctcp.h dctcp_ece_ack_update]
//!
//! Sources: [rfc3168], [linux-6.12 tcp_input.c __tcp_ecn_check_ce, tcp_ecn_accept_cwr], [linux-6.12 tcp_output.c
//! tcp_ecn_send]. A retransmitted SYN still requests ECN (no fallback).

use tailback_packet::{Ecn, SegmentFlags};

use crate::config::EcnUse;

/// ECN of one socket, both halves.
#[derive(Clone, Debug)]
pub struct EcnState {
    asks: bool,
    answers: bool,
    /// Every packet is ECN-capable, and each mark is echoed individually.
    is_accurate: bool,
    agreed: bool,
    /// Agreed, or accurate: asked for each packet.
    in_use: bool,
    /// Echo until CWR, or the newest mark.
    echoes: bool,
    /// The next new data carries CWR.
    cwr_due: bool,
    /// The newest segment was marked.
    ce_before: bool,
    /// ECN-capable data has arrived.
    seen: bool,
}

/// The reaction of the receiver to the mark of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reaction {
    /// Nothing.
    None,
    /// Some quick ACKs: the sender's window may be small.
    QuickAcks,
    /// An ACK at once.
    AckNow,
}

/// The code point of an arriving segment. If the segment is received, the state takes it.
pub(crate) struct Mark<'a> {
    pub(crate) state: &'a mut EcnState,
    pub(crate) code_point: Ecn,
}

impl Mark<'_> {
    /// The segment is received.
    #[inline]
    pub(crate) fn take(self) -> Reaction {
        self.state.take_data(self.code_point)
    }
}

impl EcnState {
    pub(crate) fn new(sysctl: EcnUse, needed: bool) -> Self {
        EcnState {
            asks: needed || sysctl == EcnUse::Always,
            answers: needed || sysctl != EcnUse::Never,
            is_accurate: needed,
            agreed: false,
            in_use: needed,
            echoes: false,
            cwr_due: false,
            ce_before: false,
            seen: false,
        }
    }

    /// ECN was negotiated.
    pub(crate) fn agreed(&self) -> bool {
        self.agreed
    }

    /// Something may have to be said about ECN; otherwise packets have neither its flags nor its code points.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        debug_assert_eq!(self.in_use, self.agreed | self.is_accurate);
        self.in_use
    }

    fn agree(&mut self, agreed: bool) {
        self.agreed = agreed;
        self.in_use = agreed | self.is_accurate;
    }

    /// A SYN arrived.
    pub(crate) fn take_syn(&mut self, flags: SegmentFlags) {
        self.agree(self.answers && flags.contains(SegmentFlags::ECE.with(SegmentFlags::CWR)));
    }

    /// The answer to this side's SYN arrived.
    pub(crate) fn take_syn_ack(&mut self, flags: SegmentFlags) {
        self.agree(self.asks && flags.contains(SegmentFlags::ECE) && !flags.contains(SegmentFlags::CWR));
    }

    /// ECN flags of a SYN, or of a SYN-ACK if `answers`.
    pub(crate) fn handshake_flags(&self, flags: SegmentFlags) -> SegmentFlags {
        let answers = flags.contains(SegmentFlags::ACK);
        match (answers, self.agreed, self.asks) {
            (true, true, _) => flags.with(SegmentFlags::ECE),
            (false, _, true) => flags.with(SegmentFlags::ECE).with(SegmentFlags::CWR),
            _ => flags,
        }
    }

    /// Code point of a packet; only new data is ECN-capable, unless the control needs ECN.
    pub(crate) fn code_point(&self, is_new_data: bool) -> Ecn {
        if !(self.agreed | self.is_accurate) {
            return Ecn::NotEct;
        }
        let wanted = if self.is_accurate { self.agreed || self.asks } else { is_new_data };
        if wanted { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Adds ECE to an ACK.
    pub(crate) fn echo(&self, flags: SegmentFlags) -> SegmentFlags {
        if self.agreed && self.echoes { flags.with(SegmentFlags::ECE) } else { flags }
    }

    /// Adds CWR to new data, once after each reduction.
    pub(crate) fn confirm(&mut self, flags: SegmentFlags) -> SegmentFlags {
        if !self.cwr_due {
            return flags;
        }
        self.cwr_due = false;
        if self.agreed { flags.with(SegmentFlags::CWR) } else { flags }
    }

    /// The window was reduced.
    pub(crate) fn reduced(&mut self) {
        self.cwr_due = self.agreed;
    }

    /// The reduction was undone. [linux-6.12 tcp_input.c tcp_ecn_withdraw_cwr]
    pub(crate) fn withdraw_reduction(&mut self) {
        self.cwr_due = false;
    }

    /// A delayed ACK must leave before data with this mark is taken.
    pub(crate) fn must_flush_before(&self, mark: Ecn) -> bool {
        self.agreed && self.is_accurate && mark != Ecn::NotEct && (mark == Ecn::Ce) != self.ce_before
    }

    /// CWR arrived: the sender has reduced its window. An accurate receiver echoes each mark without it.
    #[cold]
    pub(crate) fn take_confirmation(&mut self) {
        self.echoes &= self.is_accurate;
    }

    /// Data arrived.
    pub(crate) fn take_data(&mut self, mark: Ecn) -> Reaction {
        if !self.agreed {
            return Reaction::None;
        }
        let seen_before = self.seen;
        self.seen |= mark != Ecn::NotEct;
        match (mark, self.is_accurate) {
            (Ecn::NotEct, _) if seen_before => Reaction::QuickAcks,
            (Ecn::NotEct, _) => Reaction::None,
            (_, true) => self.echo_exactly(mark == Ecn::Ce),
            (_, false) => self.echo_until_confirmed(mark == Ecn::Ce),
        }
    }

    /// [linux-6.12 tcp_dctcp.h dctcp_ece_ack_update]
    fn echo_exactly(&mut self, marked: bool) -> Reaction {
        let was_marked = std::mem::replace(&mut self.ce_before, marked);
        self.echoes = marked;
        if marked == was_marked { Reaction::None } else { Reaction::AckNow }
    }

    fn echo_until_confirmed(&mut self, marked: bool) -> Reaction {
        let first = marked && !self.echoes;
        self.echoes |= marked;
        if first { Reaction::QuickAcks } else { Reaction::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: SegmentFlags = SegmentFlags::SYN.with(SegmentFlags::ECE).with(SegmentFlags::CWR);

    fn negotiated(client: EcnUse, server: EcnUse) -> (EcnState, EcnState) {
        let (mut client, mut server) = (EcnState::new(client, false), EcnState::new(server, false));
        server.take_syn(client.handshake_flags(SegmentFlags::SYN));
        client.take_syn_ack(server.handshake_flags(SegmentFlags::SYN.with(SegmentFlags::ACK)));
        (client, server)
    }

    #[test]
    fn a_reduction_that_is_undone_is_not_confirmed() {
        let (mut client, _) = negotiated(EcnUse::Always, EcnUse::Always);
        client.reduced();
        client.withdraw_reduction();
        assert_eq!(client.confirm(SegmentFlags::ACK), SegmentFlags::ACK);
        client.reduced();
        assert!(client.confirm(SegmentFlags::ACK).contains(SegmentFlags::CWR));
    }

    #[test]
    fn ecn_is_used_if_one_side_requests_it_and_the_other_accepts() {
        use EcnUse::{Always, Never, WhenAsked};
        for (client, server, agreed) in [
            (Always, Always, true),
            (Always, WhenAsked, true),
            (Always, Never, false),
            (WhenAsked, Always, false),
            (Never, Always, false),
        ] {
            let (client, server) = negotiated(client, server);
            assert_eq!((client.agreed(), server.agreed()), (agreed, agreed), "{client:?} {server:?}");
        }
    }

    #[test]
    fn only_new_data_is_ecn_capable_unless_the_control_needs_ecn() {
        let (client, _) = negotiated(EcnUse::Always, EcnUse::WhenAsked);
        assert_eq!((client.code_point(true), client.code_point(false)), (Ecn::Ect0, Ecn::NotEct));
        let mut needs = EcnState::new(EcnUse::Never, true);
        assert_eq!(needs.code_point(false), Ecn::Ect0, "the SYN too");
        needs.take_syn(ASK);
        assert_eq!(needs.code_point(false), Ecn::Ect0);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_confirms() {
        let (_, mut server) = negotiated(EcnUse::Always, EcnUse::WhenAsked);
        assert_eq!(server.take_data(Ecn::Ce), Reaction::QuickAcks);
        assert_eq!(server.take_data(Ecn::Ect0), Reaction::None);
        assert!(server.echo(SegmentFlags::ACK).contains(SegmentFlags::ECE));
        server.take_confirmation();
        assert_eq!(server.take_data(Ecn::Ect0), Reaction::None);
        assert!(!server.echo(SegmentFlags::ACK).contains(SegmentFlags::ECE));
    }

    #[test]
    fn a_mark_that_comes_with_the_confirmation_is_a_new_one() {
        let (_, mut server) = negotiated(EcnUse::Always, EcnUse::WhenAsked);
        assert_eq!(server.take_data(Ecn::Ce), Reaction::QuickAcks);
        server.take_confirmation();
        assert_eq!(server.take_data(Ecn::Ce), Reaction::QuickAcks);
        assert!(server.echo(SegmentFlags::ACK).contains(SegmentFlags::ECE));
    }

    #[test]
    fn data_that_is_not_ecn_capable_among_data_that_is_gets_quick_acks() {
        let (_, mut server) = negotiated(EcnUse::Always, EcnUse::WhenAsked);
        let reactions = [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct].map(|mark| server.take_data(mark));
        assert_eq!(reactions, [Reaction::None, Reaction::None, Reaction::QuickAcks]);
    }

    #[test]
    fn an_accurate_receiver_echoes_the_newest_mark_and_acknowledges_each_change() {
        let mut state = EcnState::new(EcnUse::Never, true);
        state.take_syn(ASK);
        let mut seen = Vec::new();
        for mark in [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0] {
            let flushes = state.must_flush_before(mark);
            state.take_confirmation();
            let reaction = state.take_data(mark);
            seen.push((flushes, reaction, state.echo(SegmentFlags::ACK).contains(SegmentFlags::ECE)));
        }
        let (same, change) = ((false, Reaction::None), (true, Reaction::AckNow));
        assert_eq!(
            seen,
            [
                (same.0, same.1, false),
                (change.0, change.1, true),
                (same.0, same.1, true),
                (change.0, change.1, false)
            ]
        );
    }

    #[test]
    fn a_reduction_is_confirmed_once() {
        let (mut client, _) = negotiated(EcnUse::Always, EcnUse::WhenAsked);
        client.reduced();
        assert!(client.confirm(SegmentFlags::ACK).contains(SegmentFlags::CWR));
        assert!(!client.confirm(SegmentFlags::ACK).contains(SegmentFlags::CWR));
    }
}
