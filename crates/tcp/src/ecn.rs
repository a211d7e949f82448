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
//! Since Linux 6.18 a host may ask for accurate ECN, which has a file of its own ([`crate::accecn`]). From the first
//! retransmission of a SYN on, and with accurate ECN from the second, it does not ask any more (`tcp_ecn_fallback`, since
//! Linux 4.1). [rfc3168 §6.1.1.1] [rfc9768 §3.1.4]
//!
//! Sources: [rfc3168], [linux-6.12 tcp_input.c __tcp_ecn_check_ce, tcp_ecn_accept_cwr], [linux-6.12 tcp_output.c
//! tcp_ecn_send, tcp_ecn_clear_syn].

use tailback_cc::EcnNeed;
use tailback_packet::{Ecn, SackBlocks, Segment, SegmentFlags};

use crate::accecn::{AccEcn, Leaving, Urgency};
use crate::config::{EcnUse, OptionUse, Settings};

/// ECN of one socket, both halves.
#[derive(Clone, Debug)]
pub struct EcnState {
    /// Accurate ECN: while the handshake lasts, it may be agreed on; then, it is.
    accurate: Option<Box<AccEcn>>,
    sysctl: EcnUse,
    /// Every packet is ECN-capable, and each mark is echoed individually.
    is_exact: bool,
    agreed: bool,
    /// Agreed, or exact: asked for each packet.
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

/// A SYN or SYN-ACK that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandshakePacket {
    /// It is a SYN-ACK.
    pub(crate) answers: bool,
    /// How many have left before.
    pub(crate) transmission: u16,
    pub(crate) timeouts: u16,
    /// A SYN that is sent again asks no more.
    pub(crate) falls_back: bool,
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
    pub(crate) fn new(settings: &Settings, need: EcnNeed) -> Self {
        let scalable = need == EcnNeed::L4s;
        let sysctl = if scalable { EcnUse::Scalable } else { settings.ecn };
        let needed = need == EcnNeed::Classic;
        EcnState {
            accurate: sysctl.accepts_accurate().then(|| Box::new(AccEcn::new(settings))),
            sysctl,
            is_exact: needed,
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

    /// This side asks for ECN of some kind.
    fn asks(&self) -> bool {
        self.is_exact || self.sysctl.asks()
    }

    /// Something may have to be said about ECN; otherwise packets have neither its flags nor its code points.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        debug_assert_eq!(self.in_use, self.agreed | self.is_exact);
        self.in_use
    }

    fn agree(&mut self, agreed: bool) {
        self.agreed = agreed;
        self.in_use = agreed | self.is_exact;
    }

    /// A SYN arrived.
    pub(crate) fn take_syn(&mut self, flags: SegmentFlags, arrived: Ecn) {
        if let Some(accurate) = self.accurate.as_mut().filter(|_| AccEcn::is_asked_by(flags)) {
            accurate.answer(arrived);
            return self.agree(true);
        }
        let answers = self.is_exact || !matches!(self.sysctl, EcnUse::Never | EcnUse::Scalable);
        self.agree(answers && flags.contains(SegmentFlags::ECE.with(SegmentFlags::CWR)));
    }

    /// A SYN arrived again before the handshake ended.
    pub(crate) fn take_syn_again(&mut self, flags: SegmentFlags, arrived: Ecn) {
        if let Some(accurate) = self.accurate.as_mut().filter(|accurate| accurate.is_agreed()) {
            accurate.answer_again(flags, arrived);
        }
    }

    /// The answer to this side's SYN arrived.
    pub(crate) fn take_syn_ack(&mut self, segment: &Segment, arrived: Ecn) {
        let told = segment.flags.ace();
        if self.asks_accurate() && !matches!(told, 0b000 | 0b001 | 0b111) {
            let sent = self.handshake_code_point();
            if let Some(accurate) = &mut self.accurate {
                accurate.take_syn_ack(segment, sent, arrived);
                return self.agree(true);
            }
        }
        let broken = self.asks_accurate() && told == 0b111;
        let flags = segment.flags;
        let echoes = flags.contains(SegmentFlags::ECE) && !flags.contains(SegmentFlags::CWR);
        self.agree(self.asks() && self.sysctl != EcnUse::Scalable && echoes && !broken);
    }

    /// The handshake is over. Returns the marks that its last ACK, which came with `arrived`, tells.
    pub(crate) fn establish(&mut self, answers: bool, last: &Segment, arrived: Ecn) -> u64 {
        let sent = self.handshake_code_point();
        let Some(accurate) = self.accurate.as_mut().filter(|accurate| accurate.is_agreed()) else {
            self.accurate = None;
            return 0;
        };
        match answers {
            true => accurate.take_last_ack(last, sent, arrived),
            false => {
                accurate.begin();
                0
            }
        }
    }

    /// The connection request is dropped.
    pub(crate) fn forget_request(&mut self, settings: &Settings) {
        if let Some(accurate) = &mut self.accurate {
            accurate.forget(settings);
        }
    }

    /// ECN flags and option of a SYN-ACK, if that is `sent`, or of a SYN.
    pub(crate) fn handshake(&mut self, sent: &HandshakePacket) -> (SegmentFlags, SackBlocks) {
        let &HandshakePacket { answers, transmission, timeouts, falls_back } = sent;
        let asked = SegmentFlags::ECE.with(SegmentFlags::CWR);
        let kept = if self.asks_accurate() { 1 } else { 0 };
        let gives_up = falls_back && timeouts > kept;
        let flags = match (answers, self.agreed, self.asks()) {
            (true, true, _) => match self.accurate.as_mut().filter(|accurate| accurate.is_agreed()) {
                Some(accurate) => return accurate.syn_ack(transmission, timeouts),
                None => SegmentFlags::ECE,
            },
            (false, _, true) if gives_up => SegmentFlags::NONE,
            (false, _, true) if self.asks_accurate() => asked.with(SegmentFlags::AE),
            (false, _, true) => asked,
            _ => SegmentFlags::NONE,
        };
        (flags, SackBlocks::NONE)
    }

    /// Code point of SYN and SYN-ACK.
    pub(crate) fn handshake_code_point(&self) -> Ecn {
        if self.sysctl == EcnUse::Scalable {
            return Ecn::Ect1;
        }
        if self.is_exact && (self.agreed || self.asks()) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Code point of a packet; only new data is ECN-capable, unless the control needs ECN or ECN is accurate.
    pub(crate) fn code_point(&self, is_new_data: bool) -> Ecn {
        if !(self.agreed | self.is_exact) {
            return Ecn::NotEct;
        }
        if let Some(accurate) = &self.accurate {
            let scalable = self.sysctl == EcnUse::Scalable;
            return accurate.code_point(if scalable { Ecn::Ect1 } else { Ecn::Ect0 });
        }
        let wanted = if self.is_exact { self.agreed || self.asks() } else { is_new_data };
        if wanted { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Adds ECE to an ACK without accurate ECN.
    pub(crate) fn echo(&self, flags: SegmentFlags) -> SegmentFlags {
        if self.agreed && self.echoes { flags.with(SegmentFlags::ECE) } else { flags }
    }

    /// Adds ECE, or ACE and the option of accurate ECN, to an ACK without data.
    pub(crate) fn complete_ack(
        &mut self,
        sacks: SackBlocks,
        leaving: &Leaving,
    ) -> (SegmentFlags, SackBlocks) {
        let Some(accurate) = &mut self.accurate else { return (self.echo(SegmentFlags::ACK), sacks) };
        (SegmentFlags::ACK.with(accurate.ace(true)), accurate.attach(sacks, leaving))
    }

    /// Adds ECE, or ACE and the option of accurate ECN, to a segment with data.
    pub(crate) fn complete_data(&mut self, segment: &mut Segment, leaving: &Leaving) {
        let Some(accurate) = &mut self.accurate else {
            segment.flags = self.echo(segment.flags);
            return;
        };
        segment.flags = segment.flags.with(accurate.ace(false));
        segment.sack = accurate.attach(std::mem::take(&mut segment.sack), leaving);
    }

    /// Accurate ECN is in use, or, while the handshake lasts, may be agreed on.
    #[inline]
    pub(crate) fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    /// This side asks for accurate ECN.
    pub(crate) fn asks_accurate(&self) -> bool {
        matches!(self.sysctl, EcnUse::Accurate | EcnUse::Scalable)
    }

    /// Accurate ECN.
    pub(crate) fn accurate(&self) -> Option<&AccEcn> {
        self.accurate.as_deref()
    }

    /// Accurate ECN, to change it.
    pub(crate) fn accurate_mut(&mut self) -> Option<&mut AccEcn> {
        self.accurate.as_deref_mut()
    }

    /// Bytes of a header that full segments leave for the option of accurate ECN.
    pub(crate) fn reserved(&self) -> u32 {
        self.accurate.as_ref().map_or(0, |accurate| accurate.reserved)
    }

    /// Bytes that they are to leave.
    pub(crate) fn room(&self) -> u32 {
        self.accurate.as_ref().map_or(0, |accurate| accurate.room())
    }

    /// They leave so many.
    pub(crate) fn reserve(&mut self, bytes: u32) {
        if let Some(accurate) = &mut self.accurate {
            accurate.reserved = bytes;
        }
    }

    /// `net.ipv4.tcp_ecn_option` has changed.
    pub(crate) fn set_option_use(&mut self, to: OptionUse) {
        if let Some(accurate) = &mut self.accurate {
            accurate.set_option_use(to);
        }
    }

    /// The flags of an arriving ACK say that packets were marked.
    #[inline]
    pub(crate) fn echoes_marks(&self, flags: SegmentFlags) -> bool {
        self.agreed && flags.contains(SegmentFlags::ECE) && self.accurate.is_none()
    }

    /// The flags of an arriving ACK may say that packets were marked.
    #[inline]
    pub(crate) fn may_tell_marks(&self, flags: SegmentFlags) -> bool {
        self.agreed && (flags.contains(SegmentFlags::ECE) || self.accurate.is_some())
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
        self.cwr_due = self.agreed && self.accurate.is_none();
    }

    /// The reduction was undone. [linux-6.12 tcp_input.c tcp_ecn_withdraw_cwr]
    pub(crate) fn withdraw_reduction(&mut self) {
        self.cwr_due = false;
    }

    /// A delayed ACK must leave before data with this mark is taken.
    pub(crate) fn must_flush_before(&self, mark: Ecn) -> bool {
        self.agreed && self.is_exact && mark != Ecn::NotEct && (mark == Ecn::Ce) != self.ce_before
    }

    /// CWR arrived: the sender has reduced its window. An accurate receiver echoes each mark without it.
    /// False if it did not: CWR is part of a number.
    #[cold]
    pub(crate) fn take_confirmation(&mut self) -> bool {
        self.echoes &= self.is_exact;
        self.accurate.is_none()
    }

    /// Data arrived.
    pub(crate) fn take_data(&mut self, mark: Ecn) -> Reaction {
        if !self.agreed {
            return Reaction::None;
        }
        let seen_before = self.seen;
        self.seen |= mark != Ecn::NotEct;
        match (mark, self.is_exact) {
            (Ecn::NotEct, _) if seen_before => Reaction::QuickAcks,
            (Ecn::NotEct, _) => Reaction::None,
            (_, true) => self.echo_exactly(mark == Ecn::Ce),
            (_, false) if self.accurate.is_some() => Reaction::None,
            (_, false) => self.echo_until_confirmed(mark == Ecn::Ce),
        }
    }

    /// A packet of `segments` arrived, while accurate ECN is in use.
    pub(crate) fn count(&mut self, arrived: Ecn, payload: u32, segments: u32) -> Urgency {
        self.seen |= arrived != Ecn::NotEct;
        self.accurate.as_mut().map_or(Urgency::Usual, |accurate| accurate.count(arrived, payload, segments))
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

    fn state(ecn: EcnUse, needed: bool) -> EcnState {
        let need = if needed { EcnNeed::Classic } else { EcnNeed::No };
        EcnState::new(&Settings { ecn, ..Settings::default() }, need)
    }

    fn answer(flags: SegmentFlags) -> Segment {
        let segment = Segment { length: 0, ..crate::testing::data() };
        Segment { flags: flags.with(SegmentFlags::SYN).with(SegmentFlags::ACK), ..segment }
    }

    fn packet(answers: bool, timeouts: u16) -> HandshakePacket {
        HandshakePacket { answers, transmission: timeouts, timeouts, falls_back: true }
    }

    fn negotiated(client: EcnUse, server: EcnUse) -> (EcnState, EcnState) {
        let (mut client, mut server) = (state(client, false), state(server, false));
        server.take_syn(client.handshake(&packet(false, 0)).0, Ecn::NotEct);
        client.take_syn_ack(&answer(server.handshake(&packet(true, 0)).0), Ecn::NotEct);
        (client, server)
    }

    #[test]
    fn a_syn_that_is_sent_again_asks_no_more_and_one_that_asks_for_accurate_ecn_asks_twice() {
        let all = SegmentFlags::ACE;
        for (ecn, asked) in [
            (EcnUse::Always, [ASK, SegmentFlags::SYN, SegmentFlags::SYN]),
            (EcnUse::Accurate, [all, all, SegmentFlags::NONE]),
        ] {
            let flags = [0, 1, 2].map(|timeouts| state(ecn, false).handshake(&packet(false, timeouts)).0);
            assert_eq!(flags, asked.map(|flags| flags.without(SegmentFlags::SYN)), "{ecn:?}");
        }
        let stays = HandshakePacket { falls_back: false, ..packet(false, 3) };
        assert_eq!(state(EcnUse::Accurate, false).handshake(&stays).0, all);
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
        let mut needs = state(EcnUse::Never, true);
        assert_eq!(needs.code_point(false), Ecn::Ect0, "the SYN too");
        needs.take_syn(ASK, Ecn::NotEct);
        assert_eq!(needs.code_point(false), Ecn::Ect0);
    }

    #[test]
    fn a_scalable_control_uses_ect1_and_accurate_ecn_whatever_the_sysctl_says_or_no_ecn() {
        let scalable =
            || EcnState::new(&Settings { ecn: EcnUse::Never, ..Settings::default() }, EcnNeed::L4s);
        let (mut client, mut server) = (scalable(), scalable());
        assert_eq!(client.handshake_code_point(), Ecn::Ect1);
        let (syn, _) = client.handshake(&packet(false, 0));
        server.take_syn(syn, Ecn::Ect1);
        client.take_syn_ack(&answer(server.handshake(&packet(true, 0)).0), Ecn::Ect1);
        assert!(client.agreed() && client.is_accurate());
        assert_eq!((client.code_point(false), server.code_point(true)), (Ecn::Ect1, Ecn::Ect1));
        let mut classic = scalable();
        classic.take_syn_ack(&answer(SegmentFlags::ECE), Ecn::NotEct);
        assert!(!classic.agreed(), "it does not fall back to classic ECN");
        let mut asked = scalable();
        asked.take_syn(ASK, Ecn::NotEct);
        assert!(!asked.agreed());
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
        let mut state = state(EcnUse::Never, true);
        state.take_syn(ASK, Ecn::NotEct);
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
