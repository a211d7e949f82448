//! A segment arrives: in which order receiver and sender take it, and the short ways of the usual ones.

use rand_core::Rng;
use tailback_packet::{Ecn, Segment, SegmentFlags, Timestamp};
use tailback_units::{SimTime, Span};

use super::{Endpoint, State};
use crate::ecn::{Mark, Reaction};
use crate::input::AckRange;
use crate::sender::Sender;
use crate::sending_half::SendingHalf;
use crate::stack::{CwrAck, OldAckStamp, OvertakenAck, UnsentAck};

/// What there is to send after a segment was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToSend {
    /// Nothing.
    Nothing,
    /// An ACK and nothing else.
    Ack,
    /// Something, or perhaps nothing.
    Anything,
}

/// Data that [`Endpoint::take_to_read`] took, and that is in no queue until it is read or left: whoever has it owes one
/// [`Endpoint::read_taken`] or [`Endpoint::leave_taken`], which take it.
#[must_use = "the data is read or left"]
#[derive(Debug)]
pub struct Taken {
    bytes: u32,
    sends: ToSend,
}

impl Taken {
    /// How much data.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// What is to be sent before the application is looked at: an ACK or nothing.
    #[inline]
    pub fn sends(&self) -> ToSend {
        self.sends
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// A segment arrived. `truesize` is what its buffer is charged with at the receiver.
    #[inline]
    pub fn take(
        &mut self,
        segment: &Segment,
        ecn: Ecn,
        truesize: u32,
        now: SimTime,
        draws: &mut dyn Rng,
    ) -> ToSend {
        self.sender.set_now(now);
        if self.state == State::Established || self.completes_handshake(segment, ecn, truesize, draws) {
            if self.is_predicted_data(segment) {
                return self.take_predicted_data(segment, ecn, truesize);
            }
            if self.only_acknowledges(segment) {
                self.take_only_ack(segment, draws);
            } else {
                self.take_established(segment, ecn, truesize, draws);
                // For example data out of order, each segment of which is acknowledged at once.
                if self.receiver.ack_due && self.has_nothing_but_an_ack() && self.takes_shortcuts() {
                    return ToSend::Ack;
                }
            }
        }
        if self.wants_to_send() { ToSend::Anything } else { ToSend::Nothing }
    }

    /// True for an ACK of new data that says nothing else and is not late, as nearly all segments that a pure sender gets.
    #[inline(always)]
    fn only_acknowledges(&self, segment: &Segment) -> bool {
        segment.flags == SegmentFlags::ACK
            && segment.length == 0
            && segment.ack > self.sender.snd_una()
            && segment.ack <= self.sender.snd_nxt()
            && self.receiver.is_in_turn(segment)
            && self.takes_shortcuts()
    }

    /// The steps of [`Endpoint::take_established`] that such a segment needs, in the same order.
    #[inline(always)]
    fn take_only_ack(&mut self, segment: &Segment, draws: &mut dyn Rng) {
        debug_assert!(self.receiver.is_acceptable(segment) && self.receiver.outdated_by(segment).is_none());
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_ack(segment, draws);
        self.sync_receiver();
        self.after_ack();
    }

    /// Sends new data after an ACK, and wakes an application that waits for room. [linux-6.12 tcp_data_snd_check]
    #[inline(always)]
    fn after_ack(&mut self) {
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.after_segment();
            sender.check_space();
        }
    }

    /// The range of an ACK. [rfc5961 §5.2] [linux-6.12 tcp_input.c tcp_ack]
    #[inline(always)]
    fn judge_ack(&self, ack: u64) -> AckRange {
        let una = self.sender.snd_una();
        if ack > self.sender.snd_nxt() {
            return AckRange::Unsent;
        }
        if ack >= una {
            return AckRange::Current;
        }
        let acknowledged = una.saturating_sub(u64::from(self.first_acked));
        let acceptable = self.sender.peer().largest().min(acknowledged);
        if ack + acceptable >= una { AckRange::Old } else { AckRange::TooOld }
    }

    /// A segment before the connection is established, or with accurate ECN. True if it establishes this side that waited
    /// for a SYN: it may carry data.
    #[cold]
    fn completes_handshake(
        &mut self,
        segment: &Segment,
        ecn: Ecn,
        truesize: u32,
        draws: &mut dyn Rng,
    ) -> bool {
        let now = self.sender.now();
        match self.state {
            State::Listen if segment.flags.contains(SegmentFlags::SYN) => self.take_syn(segment, ecn),
            State::Listen => {}
            State::SynReceived if segment.flags.contains(SegmentFlags::SYN) => {
                self.take_syn_again(segment, ecn)
            }
            State::SynSent => self.take_syn_ack(segment, ecn, draws),
            State::SynReceived => {
                self.receiver.window.begin_measuring(now);
                // `accept` returns, and the first `recv` reads all available data, however little.
                self.receiver.readable = true;
                self.establish(segment, draws);
                self.establish_ecn(true, segment, ecn);
                if self.state == State::Established {
                    return true;
                }
                self.take_established(segment, ecn, truesize, draws);
            }
            State::Accurate => self.take_accurate(segment, ecn, truesize, draws),
            State::Established => return true,
        }
        false
    }

    pub(super) fn sync_receiver(&mut self) {
        self.receiver.srtt_us8 = self.sender.srtt_us8();
        self.receiver.rto = self.sender.rto();
    }

    /// [linux-6.12 tcp_input.c tcp_rcv_established]
    #[inline(always)]
    pub(super) fn take_established(
        &mut self,
        segment: &Segment,
        ecn: Ecn,
        truesize: u32,
        draws: &mut dyn Rng,
    ) {
        let now = self.sender.now();
        self.receiver.interrupt(now);
        if segment.flags.contains(SegmentFlags::SYN) {
            // The handshake's last ACK was lost. [rfc5961 §4.2]
            self.receiver.challenge(now);
            return;
        }
        let outdated =
            self.receiver.outdated_by(segment).is_some_and(|age| !self.is_late_duplicate(segment, age));
        if outdated || !self.receiver.is_acceptable(segment) {
            if outdated && self.drops_overtaken_ack(segment) {
                return;
            }
            // For example a window probe, which repeats a byte, or an ACK that a later one has overtaken.
            self.receiver.answer_unacceptable(segment, now);
            return;
        }
        let carries = segment.length > 0 || segment.flags.contains(SegmentFlags::FIN);
        if carries {
            self.know_echo();
        }
        match self.judge_ack(segment.ack) {
            AckRange::Unsent | AckRange::TooOld => return self.discard(segment),
            AckRange::Old => self.note_timestamp_of_old_ack(segment),
            AckRange::Current => {
                self.receiver.note_timestamp(segment);
                self.take_confirmation(segment);
            }
        }
        if carries && self.receiver.must_flush_before(segment) {
            self.fix_ack();
            self.receiver.compression_flushed();
        }
        if self.sender.is_predicted(segment) {
            self.sender.take_predicted(segment);
        } else if segment.flags.contains(SegmentFlags::ACK) {
            self.sender.take_ack(segment, draws);
            self.sync_receiver();
        }
        if carries {
            self.flush_before_mark(ecn);
            let mark = Mark { state: self.sender.ecn_mut(), code_point: ecn };
            self.receiver.take_data(segment, truesize, mark, now);
            if self.closed && self.receiver.at_end() {
                // No later data will carry the ACK. [linux-6.12 tcp_input.c tcp_fin, FIN_WAIT1 and FIN_WAIT2]
                self.receiver.acknowledge_now();
            }
        }
        self.after_ack();
        if carries {
            self.receiver.decide_ack(now);
        }
    }

    /// Before data is taken by a side that has sent some: the receiver samples an RTT from an echo only once, and ACKs of
    /// what was sent have echoes, too. The handshake's do not count.
    fn know_echo(&mut self) {
        if self.sender.snd_una() > 1 {
            let echoed = self.sender.as_sender().map_or(Timestamp::NONE, |sender| sender.echoed);
            self.receiver.window.know_echo(echoed);
        }
    }

    /// True for data that follows what was received, in a segment that says nothing else: nearly all data that a pure
    /// receiver gets. [linux-6.12 tcp_input.c tcp_rcv_established, header prediction]
    fn is_predicted_data(&self, segment: &Segment) -> bool {
        self.is_usual_data(segment) && self.receiver.is_next(segment) && self.takes_shortcuts()
    }

    /// True for data in turn, in a segment that says nothing else, while this side sends nothing.
    #[inline(always)]
    fn is_usual_data(&self, segment: &Segment) -> bool {
        segment.length > 0
            && segment.flags.without(SegmentFlags::PSH) == SegmentFlags::ACK
            && !self.sender.ecn().agreed()
            && self.sender.is_predicted(segment)
            && self.is_silent()
            && self.receiver.is_in_turn(segment)
    }

    /// The steps of [`Endpoint::take_established`] that such a segment needs, in the same order.
    #[inline(never)]
    fn take_predicted_data(&mut self, segment: &Segment, ecn: Ecn, truesize: u32) -> ToSend {
        let now = self.sender.now();
        self.know_echo();
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_window_of_data(segment);
        let mark = Mark { state: self.sender.ecn_mut(), code_point: ecn };
        self.receiver.take_next(segment, truesize, mark, now);
        self.check_space();
        self.receiver.decide_ack(now);
        // Everything else to send has left by the end of the step in which it arose.
        let sends_data =
            self.sender.as_sender().is_some_and(|sender| sender.gate.work.pass().is_some() || sender.aborted);
        let to_send = match self.receiver.ack_due {
            _ if sends_data => ToSend::Anything,
            true => ToSend::Ack,
            false => ToSend::Nothing,
        };
        debug_assert!(to_send == ToSend::Anything || self.has_nothing_but_an_ack());
        debug_assert!(to_send == ToSend::Anything || (to_send == ToSend::Ack) == self.wants_to_send());
        to_send
    }

    /// As [`Endpoint::take`] for data that the application, which only counts it, reads at once. `None`, and nothing is done,
    /// if this is not the usual segment of data, or there is more to wake the application for. Send what there is to send
    /// ([`Taken::sends`]), then say what the application does with the data, which is in no queue meanwhile.
    #[inline(always)]
    pub fn take_to_read(&mut self, segment: &Segment, truesize: u32, now: SimTime) -> Option<Taken> {
        let usual = self.state == State::Established
            && self.is_usual_data(segment)
            && self.receiver.can_be_read_at_once(segment)
            && self.takes_shortcuts();
        if !usual || self.closed || self.sender.as_sender().is_some_and(Sender::is_busy_with_application) {
            return None;
        }
        debug_assert!(self.is_predicted_data(segment));
        self.sender.set_now(now);
        self.know_echo();
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_window_of_data(segment);
        self.receiver.take_to_read(segment, truesize, now);
        self.receiver.decide_ack(now);
        debug_assert!(self.has_nothing_but_an_ack());
        let sends = if self.receiver.ack_due { ToSend::Ack } else { ToSend::Nothing };
        Some(Taken { bytes: segment.length, sends })
    }

    /// The application reads what was taken: all of [`Endpoint::wakeup`] and [`Endpoint::read`].
    #[inline(always)]
    pub fn read_taken(&mut self, taken: Taken, now: SimTime) {
        self.receiver.read_taken(taken.bytes, now);
    }

    /// Something else comes before the application: what was taken is queued, and it is woken as for any other data.
    #[cold]
    pub fn leave_taken(&mut self, taken: Taken) {
        self.receiver.leave_taken(taken.bytes);
    }

    /// A segment that is older than others by `age` is taken all the same if it is a duplicate ACK that does not change
    /// the window: its SACK blocks are of use. [linux-6.12 tcp_input.c tcp_disordered_ack]
    #[cold]
    pub(super) fn is_late_duplicate(&self, segment: &Segment, age: Span) -> bool {
        let pure = segment.end() == segment.seq && segment.seq == self.receiver.rcv_nxt;
        let duplicate = segment.ack == self.sender.snd_una();
        let changes_window = self.sender.peer().is_newer((segment.seq, segment.window), false);
        pure && duplicate && !changes_window && age <= self.sender.rto() * 12 / 10
    }

    /// Since Linux 6.16 an ACK without data that was overtaken is not answered. [linux-7.3 tcp_input.c
    /// tcp_disordered_ack_check]
    #[cold]
    fn drops_overtaken_ack(&self, segment: &Segment) -> bool {
        let drops = self.sender.settings().stack.overtaken_ack == OvertakenAck::Dropped;
        drops && segment.end() == segment.seq && segment.seq < self.receiver.rcv_nxt
    }

    /// A segment with an old ACK can carry new data: its timestamp is stored, in stable series of 2026.
    /// [linux-7.3 tcp_input.c tcp_ack]
    #[cold]
    fn note_timestamp_of_old_ack(&mut self, segment: &Segment) {
        if self.sender.settings().stack.old_ack_stamp == OldAckStamp::Stored {
            self.receiver.note_timestamp(segment);
        }
    }

    /// Discards a segment whose ACK is invalid. It is answered by a challenge ACK, except before Linux 6.18 on an
    /// established connection if it acknowledges data that was never sent.
    /// [rfc5961 §5.2] [linux-6.12 tcp_input.c tcp_ack, tcp_rcv_state_process]
    #[cold]
    fn discard(&mut self, segment: &Segment) {
        let closing = self.closed || self.receiver.at_end();
        let challenges = self.sender.settings().stack.unsent_ack == UnsentAck::Challenged;
        if closing || challenges || segment.ack < self.sender.snd_una() {
            self.receiver.challenge(self.sender.now());
        }
    }

    /// The sender has reduced its window: data is acknowledged at once. [linux-6.12 tcp_input.c tcp_ecn_accept_cwr]
    #[inline]
    fn take_confirmation(&mut self, segment: &Segment) {
        if segment.flags.contains(SegmentFlags::CWR) && self.sender.ecn_mut().take_confirmation() {
            let at_once = self.sender.settings().stack.cwr_ack == CwrAck::AtOnce;
            if segment.length > 0 && at_once {
                self.receiver.react_to_mark(Reaction::AckNow);
            }
        }
    }

    /// The ECN mark has changed: acknowledges earlier data with the old mark first.
    fn flush_before_mark(&mut self, ecn: Ecn) {
        if self.sender.ecn().must_flush_before(ecn) && self.receiver.delays_ack() {
            self.fix_ack();
        }
    }

    /// An ACK with the present contents is to be sent.
    #[cold]
    fn fix_ack(&mut self) {
        let ack = self.pure_ack();
        self.outbox.get_or_insert_default().push_back(ack);
    }
}
