//! One socket: the state of the connection, and the order in which sender and receiver act.

mod application;
mod handshake;
#[cfg(any(test, feature = "fuzzing"))]
pub mod operations;
mod options;
mod reading;
mod segments;

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_cc::PacingStatus;
use tailback_packet::{Ecn, Packet, Segment, SegmentFlags};
use tailback_units::{SimTime, Span};

use self::handshake::Handshake;
use self::segments::ACK_TRUESIZE;
use crate::clock::Deadline;
use crate::config::{TCP_HEADER, TIMESTAMP_OPTION};
use crate::ecn::{Mark, Reaction};
use crate::input::AckRange;
use crate::output::Outgoing;
use crate::output::bursts::Begun;
use crate::receiver::Receiver;
use crate::scoreboard::Counting;
use crate::sender::{Sender, SenderConfig};
use crate::state::gate::{Transmitted, Written};
use crate::{Agreement, EndpointConfig};

/// Wake-ups that the socket requests for its application or its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wakeup {
    /// The application blocked in `send()` can continue: call [`Endpoint::write`].
    pub writable: bool,
    /// Data arrived: call [`Endpoint::read`].
    pub readable: bool,
    /// All data was acknowledged after `close`, or the connection was aborted.
    pub finished: bool,
}

impl Wakeup {
    /// There is no wake-up.
    #[inline]
    pub fn is_none(self) -> bool {
        !(self.writable | self.readable | self.finished)
    }

    /// Wake-ups of both.
    #[inline]
    #[must_use]
    pub fn with(self, other: Wakeup) -> Wakeup {
        Wakeup {
            writable: self.writable | other.writable,
            readable: self.readable | other.readable,
            finished: self.finished | other.finished,
        }
    }
}

/// What is to be sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A full segment of new data that has passed all checks together with others: [`Endpoint::write_of_burst`] writes it
    /// with fewer steps than [`Endpoint::write_next`].
    OfBurst,
    /// Something else, or nothing: [`Endpoint::write_next`] finds out.
    Other,
    /// Nothing.
    Nothing,
}

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// One TCP socket.
#[derive(Debug)]
pub struct Endpoint {
    addresses: Addresses,
    /// Bytes of the headers of a segment without a SYN or SACK blocks, from IP on.
    headers: u32,
    state: State,
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
    /// ACKs whose contents had to be fixed before the next segment was processed; `None` if there are none.
    #[expect(clippy::box_collection, reason = "a socket without them has one word")]
    outbox: Option<Box<VecDeque<Segment>>>,
    closed: bool,
    finished_told: bool,
    continuing: bool,
    /// Where `tcpi_bytes_acked` counts from: the side that opens counts its SYN.
    first_acked: u8,
}

#[derive(Clone, Copy, Debug)]
struct Addresses {
    socket: tailback_packet::SocketId,
    peer: tailback_packet::SocketId,
    peer_host: tailback_packet::HostId,
    flow_hash: u32,
}

impl Endpoint {
    /// The side that opens: sends a SYN at the first `next_packet`.
    pub fn connect(config: EndpointConfig, now: SimTime) -> Self {
        let mut endpoint = Endpoint::new(config, State::SynSent);
        endpoint.handshake.due = true;
        endpoint.sender.flow.now = now;
        endpoint
    }

    /// The side that waits for a SYN.
    pub fn listen(config: EndpointConfig) -> Self {
        Endpoint::new(config, State::Listen)
    }

    fn new(config: EndpointConfig, state: State) -> Self {
        let EndpointConfig { socket, peer, peer_host, flow_hash, settings, small_queue, options, .. } =
            config;
        let paced = config.wants_pacing || options.max_pacing_rate.is_some();
        let pacing = if paced { PacingStatus::Needed } else { PacingStatus::None };
        let receiver = Receiver::new(&settings, &options);
        let headers = settings.ip.header() + TCP_HEADER + TIMESTAMP_OPTION;
        let (control, needs_ecn, sndbuf_factor) = (config.control, config.needs_ecn, config.sndbuf_factor);
        let sender = Sender::new(SenderConfig {
            settings,
            small_queue,
            options,
            control,
            needs_ecn,
            pacing,
            sndbuf_factor,
        });
        Endpoint {
            addresses: Addresses { socket, peer, peer_host, flow_hash },
            headers,
            state,
            handshake: Handshake::default(),
            sender,
            receiver,
            outbox: None,
            closed: false,
            finished_told: false,
            continuing: false,
            first_acked: u8::from(state == State::Listen),
        }
    }

    /// The options of both SYNs are known: call it before the peer's SYN is taken.
    pub fn agree(&mut self, agreement: Agreement) {
        let own_mss = self.sender.settings.full_mss();
        let options = if agreement.timestamps { TIMESTAMP_OPTION } else { 0 };
        self.sender.flow.mss = agreement.peer_mss.min(own_mss).saturating_sub(options).max(1);
        self.headers = self.sender.settings.ip.header() + TCP_HEADER + options;
        self.sender.agreement = agreement;
        self.sender.scoreboard.count(if agreement.sack { Counting::Sacks } else { Counting::Duplicates });
        self.receiver.agree(&agreement, self.sender.settings.offered_mss() - options);
    }

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
        self.sender.flow.now = now;
        if self.state == State::Established || self.completes_handshake(segment, draws) {
            if self.is_predicted_data(segment) {
                return self.take_predicted_data(segment, ecn, truesize);
            }
            if self.only_acknowledges(segment) {
                self.take_only_ack(segment, draws);
            } else {
                self.take_established(segment, ecn, truesize, draws);
                // For example data out of order, each segment of which is acknowledged at once.
                if self.receiver.ack_due && self.has_nothing_but_an_ack() && self.sender.takes_shortcuts() {
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
            && segment.ack > self.sender.flow.snd_una
            && segment.ack <= self.sender.flow.snd_nxt
            && self.receiver.is_in_turn(segment)
            && self.sender.takes_shortcuts()
    }

    /// The steps of [`Endpoint::take_established`] that such a segment needs, in the same order.
    #[inline(always)]
    fn take_only_ack(&mut self, segment: &Segment, draws: &mut dyn Rng) {
        debug_assert!(self.receiver.is_acceptable(segment) && self.receiver.outdated_by(segment).is_none());
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_ack(segment, draws);
        self.sync_receiver();
        self.sender.after_segment();
        self.sender.check_space();
    }

    /// A segment before the connection is established. True if it establishes this side that waited for a SYN: it may
    /// carry data.
    #[cold]
    fn completes_handshake(&mut self, segment: &Segment, draws: &mut dyn Rng) -> bool {
        let now = self.sender.flow.now;
        match self.state {
            State::Listen if segment.flags.contains(SegmentFlags::SYN) => self.take_syn(segment),
            State::Listen => {}
            State::SynReceived if segment.flags.contains(SegmentFlags::SYN) => self.take_syn_again(),
            State::SynSent => self.take_syn_ack(segment, draws),
            State::SynReceived => {
                self.receiver.window.begin_measuring(now);
                // `accept` returns, and the first `recv` reads all available data, however little.
                self.receiver.readable = true;
                self.establish(segment, draws);
                return true;
            }
            State::Established => return true,
        }
        false
    }

    fn sync_receiver(&mut self) {
        self.receiver.srtt_us8 = self.sender.flow.srtt_us8;
        self.receiver.rto = self.sender.rto();
    }

    /// [linux-6.12 tcp_input.c tcp_rcv_established]
    #[inline(always)]
    fn take_established(&mut self, segment: &Segment, ecn: Ecn, truesize: u32, draws: &mut dyn Rng) {
        let now = self.sender.flow.now;
        self.receiver.interrupt(now);
        if segment.flags.contains(SegmentFlags::SYN) {
            // The handshake's last ACK was lost. [rfc5961 §4.2]
            self.receiver.challenge(now);
            return;
        }
        let outdated =
            self.receiver.outdated_by(segment).is_some_and(|age| !self.is_late_duplicate(segment, age));
        if outdated || !self.receiver.is_acceptable(segment) {
            // For example a window probe, which repeats a byte, or an ACK that a later one has overtaken.
            self.receiver.answer_unacceptable(segment, now);
            return;
        }
        let carries = segment.length > 0 || segment.flags.contains(SegmentFlags::FIN);
        match self.sender.judge_ack(segment.ack, u64::from(self.first_acked)) {
            AckRange::Unsent | AckRange::TooOld => return self.discard(segment),
            // A late segment must not update the timestamp to echo.
            AckRange::Old => {}
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
            let mark = Mark { state: &mut self.sender.ecn, code_point: ecn };
            self.receiver.take_data(segment, truesize, mark, now);
            if self.closed && self.receiver.at_end() {
                // No later data will carry the ACK. [linux-6.12 tcp_input.c tcp_fin, FIN_WAIT1 and FIN_WAIT2]
                self.receiver.acknowledge_now();
            }
        }
        self.sender.after_segment();
        self.sender.check_space();
        if carries {
            self.receiver.decide_ack(now);
        }
    }

    /// True for data that follows what was received, in a segment that says nothing else: nearly all data that a pure
    /// receiver gets. [linux-6.12 tcp_input.c tcp_rcv_established, header prediction]
    #[inline(always)]
    fn is_predicted_data(&self, segment: &Segment) -> bool {
        self.is_usual_data(segment) && self.receiver.is_next(segment) && self.sender.takes_shortcuts()
    }

    /// True for data in turn, in a segment that says nothing else, while this side sends nothing.
    #[inline(always)]
    fn is_usual_data(&self, segment: &Segment) -> bool {
        segment.length > 0
            && segment.flags.without(SegmentFlags::PSH) == SegmentFlags::ACK
            && !self.sender.ecn.agreed()
            && self.sender.is_predicted(segment)
            && self.sender.is_silent()
            && self.receiver.is_in_turn(segment)
    }

    /// The steps of [`Endpoint::take_established`] that such a segment needs, in the same order.
    #[inline(never)]
    fn take_predicted_data(&mut self, segment: &Segment, ecn: Ecn, truesize: u32) -> ToSend {
        let now = self.sender.flow.now;
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_window_of_data(segment);
        let mark = Mark { state: &mut self.sender.ecn, code_point: ecn };
        self.receiver.take_next(segment, truesize, mark, now);
        self.sender.check_space();
        self.receiver.decide_ack(now);
        // Everything else to send has left by the end of the step in which it arose.
        let sends_data = self.sender.gate.agenda.pass.is_some() || self.sender.aborted;
        let to_send = match self.receiver.ack_due {
            _ if sends_data => ToSend::Anything,
            true => ToSend::Ack,
            false => ToSend::Nothing,
        };
        debug_assert!(to_send == ToSend::Anything || self.has_nothing_but_an_ack());
        debug_assert!(to_send == ToSend::Anything || (to_send == ToSend::Ack) == self.wants_to_send());
        to_send
    }

    /// As [`Endpoint::take`] for data that the application, which only counts it, reads at once. Send what there is to send;
    /// then [`Endpoint::read_taken`] is all of [`Endpoint::wakeup`] and [`Endpoint::read`], or, if something else comes
    /// before the application, [`Endpoint::leave_taken`] undoes that. `None`, and nothing is done, if this is not the usual
    /// segment of data, or there is more to wake the application for.
    #[inline(always)]
    pub fn take_to_read(&mut self, segment: &Segment, truesize: u32, now: SimTime) -> Option<ToSend> {
        let usual = self.state == State::Established
            && self.is_usual_data(segment)
            && self.receiver.can_be_read_at_once(segment)
            && self.sender.takes_shortcuts();
        let others = self.sender.buffer.writable | self.sender.buffer.app_blocked | self.closed;
        if !usual || others | self.sender.aborted || self.sender.gate.agenda.pass.is_some() {
            return None;
        }
        debug_assert!(self.is_predicted_data(segment));
        self.sender.flow.now = now;
        self.receiver.note_timestamp_in_turn(segment);
        self.sender.take_window_of_data(segment);
        self.receiver.take_to_read(segment, truesize, now);
        self.receiver.decide_ack(now);
        debug_assert!(self.has_nothing_but_an_ack());
        Some(if self.receiver.ack_due { ToSend::Ack } else { ToSend::Nothing })
    }

    /// The application reads the `bytes` of the segment that [`Endpoint::take_to_read`] took.
    #[inline(always)]
    pub fn read_taken(&mut self, bytes: u32, now: SimTime) {
        self.receiver.read_taken(bytes, now);
    }

    /// The application does not read the `bytes` of the segment that [`Endpoint::take_to_read`] took now: it is woken as for any other.
    #[cold]
    pub fn leave_taken(&mut self, bytes: u32) {
        self.receiver.leave_taken(bytes);
    }

    /// Nothing but an ACK may be due.
    fn has_nothing_but_an_ack(&self) -> bool {
        let asked = self.sender.timer.probe_due | self.handshake.due | self.sender.aborted;
        !(asked || self.sender.gate.agenda.has_work() || self.outbox.is_some())
    }

    /// Writes the ACK that is due, and that is all there is to send ([`ToSend::Ack`]), over `packet`. Nothing follows from
    /// how the device handles it.
    #[inline]
    pub fn write_only_ack(&mut self, packet: &mut Packet) {
        debug_assert!(self.receiver.ack_due && self.has_nothing_but_an_ack());
        self.write_ack_inlined(packet);
        self.sender.refresh_route();
    }

    /// A segment that is older than others by `age` is taken all the same if it is a duplicate ACK that does not change
    /// the window: its SACK blocks are of use. [linux-6.12 tcp_input.c tcp_disordered_ack]
    #[cold]
    fn is_late_duplicate(&self, segment: &Segment, age: Span) -> bool {
        let pure = segment.end() == segment.seq && segment.seq == self.receiver.rcv_nxt;
        let duplicate = segment.ack == self.sender.flow.snd_una;
        let changes_window = self.sender.peer.is_newer((segment.seq, segment.window), false);
        pure && duplicate && !changes_window && age <= self.sender.rto() * 12 / 10
    }

    /// Discards a segment whose ACK is invalid. It is answered by a challenge ACK, except on an established connection
    /// if it acknowledges data that was never sent.
    /// [rfc5961 §5.2] [linux-6.12 tcp_input.c tcp_ack, tcp_rcv_state_process]
    #[cold]
    fn discard(&mut self, segment: &Segment) {
        let closing = self.closed || self.receiver.at_end();
        if closing || segment.ack < self.sender.flow.snd_una {
            self.receiver.challenge(self.sender.flow.now);
        }
    }

    /// The sender has reduced its window: data is acknowledged at once. [linux-6.12 tcp_input.c tcp_ecn_accept_cwr]
    #[inline]
    fn take_confirmation(&mut self, segment: &Segment) {
        if segment.flags.contains(SegmentFlags::CWR) {
            self.sender.ecn.take_confirmation();
            if segment.length > 0 {
                self.receiver.react_to_mark(Reaction::AckNow);
            }
        }
    }

    /// The ECN mark has changed: acknowledges earlier data with the old mark first.
    fn flush_before_mark(&mut self, ecn: Ecn) {
        if self.sender.ecn.must_flush_before(ecn) && self.receiver.delays_ack() {
            self.fix_ack();
        }
    }

    /// An ACK with the present contents is to be sent.
    #[cold]
    fn fix_ack(&mut self) {
        let ack = self.pure_ack();
        self.outbox.get_or_insert_default().push_back(ack);
    }

    /// True if [`Endpoint::next_packet`] has work to do; otherwise it returns no packet.
    #[inline]
    pub fn wants_to_send(&self) -> bool {
        // Without branches between: nearly always none of the last is true.
        let asked = self.receiver.ack_due | self.sender.timer.probe_due | self.handshake.due;
        self.sender.gate.agenda.has_work() || asked || self.outbox.is_some()
    }

    /// True if an ACK is to be sent now, after a read for example.
    #[inline]
    pub fn owes_ack(&self) -> bool {
        self.receiver.ack_due
    }

    /// An ACK is all that is to be sent, for example when the timer of a delayed ACK expires ([`ToSend::Ack`]).
    #[inline]
    pub fn owes_only_ack(&self) -> bool {
        self.receiver.ack_due
            && self.state == State::Established
            && self.has_nothing_but_an_ack()
            && self.sender.takes_shortcuts()
    }

    /// The next packet to hand to the device. Follow each with [`Endpoint::handed_over`].
    pub fn next_packet(&mut self, now: SimTime) -> Option<Packet> {
        let mut packet = Packet::empty();
        (self.write_next(&mut packet, now) != Written::Nothing).then_some(packet)
    }

    /// What is to be sent next, as far as it is found without writing it.
    #[inline(always)]
    pub fn look_ahead(&mut self, now: SimTime) -> Next {
        self.sender.flow.now = now;
        if self.sender.continues_burst() {
            return Next::OfBurst;
        }
        let begun = if self.sends_only_data() { self.sender.begin_pass() } else { Begun::Otherwise };
        match begun {
            Begun::Burst => Next::OfBurst,
            Begun::Ended if !self.wants_to_send() => Next::Nothing,
            Begun::Ended | Begun::Otherwise => Next::Other,
        }
    }

    /// Data is the next to be sent, if there is some.
    #[inline(always)]
    fn sends_only_data(&self) -> bool {
        let others = self.handshake.due | self.sender.aborted | self.outbox.is_some();
        self.state == State::Established && !others
    }

    /// Writes a segment of the burst over `packet`. Follow it with [`Endpoint::handed_over_of_burst`].
    #[inline(always)]
    pub fn write_of_burst(&mut self, packet: &mut Packet) {
        let outgoing = self.sender.leave_of_burst();
        if self.receiver.repeats_last_ack() && !self.sender.ecn.is_in_use() {
            self.write_full_segment(packet, &outgoing);
        } else {
            self.write_data(packet, &outgoing);
        }
    }

    /// As [`Endpoint::next_packet`], written over `packet`.
    #[inline]
    pub fn write_next(&mut self, packet: &mut Packet, now: SimTime) -> Written {
        self.sender.flow.now = now;
        if self.handshake.due || self.outbox.is_some() {
            self.write_handshake_or_outbox(packet, now);
            return Written::Packet;
        }
        if self.state != State::Established || self.sender.aborted {
            return Written::Nothing;
        }
        if let Some(outgoing) = self.next_data() {
            self.write_data(packet, &outgoing);
            return Written::Packet;
        }
        self.write_without_data(packet)
    }

    /// A window probe or an ACK, if one is due.
    #[inline(always)]
    fn write_without_data(&mut self, packet: &mut Packet) -> Written {
        if self.sender.timer.probe_due {
            self.write_window_probe(packet);
            return Written::Packet;
        }
        if self.receiver.ack_due {
            self.write_ack(packet);
            return Written::Last;
        }
        Written::Nothing
    }

    /// The next segment of the transmit loop, if it has to run.
    #[inline(always)]
    fn next_data(&mut self) -> Option<Outgoing> {
        if !self.sender.gate.agenda.has_work() {
            return None;
        }
        if self.sender.path.search.is_some() {
            self.sender.path.reports_sack = self.receiver.reports_sack();
        }
        self.sender.next()
    }

    /// A SYN, or an ACK of the outbox.
    #[cold]
    fn write_handshake_or_outbox(&mut self, packet: &mut Packet, now: SimTime) {
        if std::mem::take(&mut self.handshake.due) {
            *packet = self.handshake_packet(now);
        } else if let Some(mut acks) = self.outbox.take() {
            let segment = acks.pop_front().expect("an empty outbox is removed");
            self.outbox = (!acks.is_empty()).then_some(acks);
            *packet = self.packet(segment, ACK_TRUESIZE, now);
        }
    }

    /// A window probe without data: an ACK whose sequence number is one below the next.
    #[cold]
    fn write_window_probe(&mut self, packet: &mut Packet) {
        let mut probe = self.pure_ack();
        probe.seq = self.sender.flow.snd_una - 1;
        *packet = self.packet(probe, ACK_TRUESIZE, self.sender.flow.now);
        self.sender.timer.probe_due = false;
        self.sender.timer.probe_leaves = true;
    }

    /// Reports how the device handled the packet just taken.
    #[inline]
    pub fn handed_over(&mut self, outcome: Transmitted, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.refresh_route();
        if std::mem::take(&mut self.sender.timer.probe_leaves) && outcome == Transmitted::Dropped {
            self.sender.empty_probe_refused();
        }
        if self.sender.gate.agenda.pending.is_some() {
            self.sender.handed_over(outcome);
        }
    }

    /// The device has accepted a segment of a burst. True if there is more to send.
    #[inline(always)]
    pub fn sent_of_burst(&mut self) -> bool {
        self.sender.refresh_route();
        self.sender.sent_of_burst() || self.wants_to_send()
    }

    /// As [`Endpoint::handed_over`] for a segment of a burst. True if there is more to send.
    #[inline(never)]
    pub fn handed_over_of_burst(&mut self, outcome: Transmitted) -> bool {
        if outcome == Transmitted::Queued {
            return self.sent_of_burst();
        }
        self.sender.refresh_route();
        self.sender.refused_of_burst(outcome);
        self.wants_to_send()
    }

    /// A packet charged to this socket left the host or was dropped there (`tcp_wfree`). True if the small-queue
    /// handler must run: the host queues the socket and calls [`Endpoint::small_queue_ran`] once, after the
    /// packets now arriving have been processed.
    pub fn credit(&mut self, truesize: u32) -> bool {
        self.sender.below.credit(truesize)
    }

    /// As [`Endpoint::credit`] if nothing follows from it; false and nothing otherwise.
    #[inline]
    pub fn credit_at_rest(&mut self, truesize: u32) -> bool {
        let rests = !self.sender.below.throttled;
        if rests {
            let scheduled = self.sender.below.credit(truesize);
            debug_assert!(!scheduled, "nothing waits for it");
        }
        rests
    }

    /// A packet charged to this socket was cut into segments below the discipline, whose buffers cost `extra` more.
    /// Their credits come one by one. [linux-6.12 tcp_offload.c tcp_gso_segment]
    pub fn segmented(&mut self, extra: u32) {
        self.sender.below.segmented(extra);
    }

    /// Whether the next credit makes the small-queue handler run; otherwise completions may be batched.
    pub fn awaits_credit(&self) -> bool {
        self.sender.below.throttled
    }

    /// The small-queue handler (`tcp_tsq_handler`): makes the transmit loop run. Drain afterwards.
    pub fn small_queue_ran(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.small_queue_handler();
    }

    /// When [`Endpoint::expire`] must be called.
    pub fn deadline(&self) -> Option<SimTime> {
        Some(self.next_deadline()).filter(|deadline| *deadline < SimTime::NEVER)
    }

    /// As [`Endpoint::deadline`]; `SimTime::NEVER` if there is none.
    #[inline]
    pub fn next_deadline(&self) -> SimTime {
        let sending = self.sender.timer.expires().or(self.sender.gate.pacing_timer);
        sending.or(self.handshake.deadline).or(self.receiver.deadline()).instant()
    }

    /// The host passes the time from one segment of this socket to the next while nothing else happens, until it calls
    /// [`Endpoint::end_paced_burst`]; nothing that is known now happens before `quiet_until`. Its device must not refuse
    /// packets.
    #[inline]
    pub fn begin_paced_burst(&mut self, quiet_until: SimTime) {
        self.sender.gate.quiet_until = quiet_until;
    }

    /// The next segment of a paced burst waits for its departure time.
    #[inline]
    pub fn pauses(&self) -> bool {
        self.sender.pauses()
    }

    /// The time up to which the host may pass the time while the socket pauses, if that has nothing else to do until then.
    #[inline]
    pub fn paused_until(&self) -> Option<SimTime> {
        let departure = self.sender.flow.departure;
        let other = self.sender.timer.expires().or(self.handshake.deadline).or(self.receiver.deadline());
        let only_pauses = self.sender.has_room_below() && !self.awaits_credit() && !self.has_pending_events();
        (only_pauses && departure < other.instant()).then_some(departure)
    }

    /// The host no longer passes the time: the pacing timer runs.
    #[inline]
    pub fn end_paced_burst(&mut self) {
        if self.sender.pauses() {
            self.sender.end_paced_burst();
        }
        self.sender.gate.quiet_until = SimTime::ZERO;
    }

    /// A deadline passed. Drain afterwards.
    pub fn expire(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        if self.handshake.deadline.is_over(now) {
            self.handshake_timed_out();
        }
        if self.sender.timer.expires().is_over(now) {
            self.sender.timer_expired();
        }
        if self.sender.gate.pacing_timer.is_over(now) {
            self.sender.gate.pacing_timer = Deadline::NONE;
            self.sender.kick();
        }
        if self.receiver.deadline().is_over(now) {
            self.receiver.expire(now);
        }
    }

    /// No SYN has arrived, or its SYN-ACK was never acknowledged and the connection request was dropped.
    pub fn is_listening(&self) -> bool {
        self.state == State::Listen
    }
}
