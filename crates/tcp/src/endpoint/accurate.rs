//! A connection with accurate ECN: what arrives is counted before it is processed as always, and what leaves tells the counts.
//!
//! Such a connection has a state of its own, in which none of the short ways of arriving segments are taken.

use rand_core::Rng;
use tailback_packet::{Ecn, SackBlocks, Segment, SegmentFlags};

use super::{Endpoint, State};
use crate::accecn::{Failures, Leaving, OptionSeen, Urgency};
use crate::config::{OptionUse, TIMESTAMP_OPTION};
use crate::sending_half::SendingHalf;

/// What `tcp_info` has of ECN since Linux 6.18.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnInfo {
    /// Which kind is in use.
    pub mode: EcnMode,
    /// What is known of the peer's options.
    pub option_seen: OptionSeen,
    /// What does not work.
    pub failures: Failures,
    /// Packets that arrived with CE.
    pub received_ce: u32,
    /// Bytes that the peer has received with ECT(1), CE, ECT(0).
    pub delivered: [u32; 3],
    /// Bytes that arrived with ECT(1), CE, ECT(0).
    pub received: [u32; 3],
}

/// The kind of ECN in use; the numbers of `tcpi_ecn_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    /// None.
    Off,
    /// That of RFC 3168.
    Classic,
    /// Accurate ECN.
    Accurate,
    /// A SYN asks for accurate ECN.
    Pending,
}

impl Endpoint {
    /// `net.ipv4.tcp_ecn_option` has changed: open sockets follow it.
    pub fn set_ecn_option(&mut self, to: OptionUse) {
        self.sender.ecn.set_option_use(to);
        self.sender.synchronise_room();
    }

    /// ECN in `tcp_info`; `None` where Linux does not have it.
    pub fn ecn_info(&self) -> Option<EcnInfo> {
        let ecn = &self.sender.ecn;
        let accurate = ecn.accurate().filter(|_| ecn.agreed());
        let mode = match (self.state, ecn.agreed()) {
            (State::SynSent, _) if ecn.asks_accurate() => EcnMode::Pending,
            (_, false) => EcnMode::Off,
            (_, true) if accurate.is_some() => EcnMode::Accurate,
            (_, true) => EcnMode::Classic,
        };
        let has = self.sender.settings.stack.is_since((6, 18));
        has.then(|| EcnInfo {
            mode,
            option_seen: accurate.map_or(OptionSeen::None, |accurate| accurate.seen),
            failures: accurate.map_or(Failures::default(), |accurate| accurate.failures),
            received_ce: accurate.map_or(0, |accurate| accurate.received_ce),
            delivered: accurate.map_or([0; 3], |accurate| accurate.feedback.delivered),
            received: accurate.map_or([0; 3], |accurate| accurate.received),
        })
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// The handshake is over: whether segments are counted from now on. `last` is the segment that ended it.
    pub(super) fn establish_ecn(&mut self, answers: bool, last: &Segment, arrived: Ecn) {
        let marks = self.sender.ecn_mut().establish(answers, last, arrived);
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.flow.delivered_ce += marks;
        }
        if self.sender.ecn().is_accurate() {
            self.state = State::Accurate;
            self.synchronise_room();
        }
    }

    /// A segment arrived on a connection with accurate ECN.
    #[inline(never)]
    pub(super) fn take_accurate(&mut self, segment: &Segment, ecn: Ecn, truesize: u32, draws: &mut dyn Rng) {
        let outdated =
            self.receiver.outdated_by(segment).is_some_and(|age| !self.is_late_duplicate(segment, age));
        let acceptable = !outdated && self.receiver.is_acceptable(segment);
        if segment.flags.contains(SegmentFlags::SYN) {
            return self.challenge_syn(segment, ecn, acceptable);
        }
        let newer = self.receiver.would_note_newer(segment);
        if let Some(accurate) = self.sender.ecn_mut().accurate_mut() {
            accurate.feedback.set_newer(newer);
        }
        if acceptable {
            self.count(segment, ecn, newer);
        }
        if segment.length > 0 && segment.end() <= self.receiver.rcv_nxt {
            self.note_repetition(segment.seq);
        }
        self.take_established(segment, ecn, truesize, draws);
    }

    /// Counts a packet, in the state in which Linux does: neither side has closed. [linux-7.3 tcp_input.c
    /// tcp_rcv_established]
    fn count(&mut self, segment: &Segment, ecn: Ecn, newer: bool) {
        if self.closed || self.receiver.at_end() {
            return;
        }
        let segments = u32::from(segment.count());
        let urgency = self.sender.ecn_mut().count(ecn, segment.length, segments);
        let progress = newer || segment.ack > self.sender.snd_una();
        let must_tell = self.sender.ecn().accurate().is_some_and(|accurate| accurate.must_tell());
        if urgency == Urgency::AtOnce || (progress && must_tell) {
            self.receiver.next_ack_at_once();
        }
    }

    fn note_repetition(&mut self, seq: u64) {
        if let Some(accurate) = self.sender.ecn_mut().accurate_mut() {
            accurate.came_again(seq);
            self.synchronise_room();
        }
    }

    /// A SYN arrived on an open connection: the challenge ACK tells how.
    #[cold]
    fn challenge_syn(&mut self, segment: &Segment, ecn: Ecn, acceptable: bool) {
        let now = self.sender.now();
        self.receiver.interrupt(now);
        let due_before = self.receiver.ack_due;
        self.receiver.challenge(now);
        if acceptable && self.receiver.ack_due && !due_before {
            if let Some(accurate) = self.sender.ecn_mut().accurate_mut() {
                accurate.challenge(segment, ecn);
            }
            self.synchronise_room();
        }
    }

    /// The circumstances of a segment that leaves now.
    fn leaving(&self) -> Leaving {
        Leaving {
            now: self.sender.now(),
            srtt_us8: self.sender.srtt_us8(),
            rcv_nxt: self.receiver.rcv_nxt,
            other_options: if self.sender.agreement().timestamps { TIMESTAMP_OPTION } else { 0 },
        }
    }

    /// ECN of an ACK without data, with these blocks. The ACK of a time-wait socket tells no counts. [linux-7.3
    /// tcp_ipv4.c tcp_v4_timewait_ack]
    #[inline(never)]
    pub(super) fn complete_ack(&mut self, sacks: SackBlocks) -> (SegmentFlags, SackBlocks) {
        let waits = self.closed && self.receiver.at_end() && self.sender.has_finished();
        if waits && self.sender.ecn().is_accurate() {
            return (SegmentFlags::ACK, sacks);
        }
        let leaving = self.leaving();
        self.sender.ecn_mut().complete_ack(sacks, &leaving)
    }

    /// Accurate ECN of a segment with data.
    #[inline(never)]
    pub(super) fn complete_data(&mut self, segment: &mut Segment) {
        let leaving = self.leaving();
        self.sender.ecn_mut().complete_data(segment, &leaving);
    }
}
