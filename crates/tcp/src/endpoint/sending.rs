//! What a socket sends next, and what its host tells it about what it has sent.

use tailback_packet::{Packet, SegmentFlags};
use tailback_units::SimTime;

use super::Endpoint;
use super::segments::ACK_TRUESIZE;
use crate::output::bursts::PassStart;
use crate::sending_half::SendingHalf;
use crate::state::gate::{Transmitted, Written};

/// What is to be sent next.
#[derive(PartialEq, Eq, Debug)]
pub enum Next {
    /// A full segment of new data that has passed all checks together with others: [`Endpoint::write_of_burst`] writes it
    /// with fewer steps than [`Endpoint::write_next`].
    OfBurst(OfBurst),
    /// Something else, or nothing: [`Endpoint::write_next`] finds out.
    Other,
    /// Nothing.
    Nothing,
}

/// The next segment of a burst, which is to be written.
#[must_use = "`Endpoint::write_of_burst` takes it"]
#[derive(PartialEq, Eq, Debug)]
pub struct OfBurst(());

/// A segment of a burst that is written: the socket is to be told how the device took it.
#[must_use = "`Endpoint::sent_of_burst` or `Endpoint::handed_over_of_burst` takes it"]
#[derive(Debug)]
pub struct WrittenOfBurst(());

/// The host passes the time from one segment of a socket to the next.
#[must_use = "`Endpoint::end_paced_burst` takes it"]
#[derive(Debug)]
pub struct PacedBurst(());

/// The next segment of a paced burst waits for its departure time. The host passes the time up to it
/// ([`Endpoint::paused_until`]), or leaves it to the pacing timer ([`Endpoint::leave_to_pacing_timer`]).
#[must_use = "the host passes the time, or leaves it to the pacing timer"]
#[derive(Debug)]
pub struct Pause(());

impl<S: SendingHalf> Endpoint<S> {
    /// True if [`Endpoint::next_packet`] has work to do; otherwise it returns no packet.
    #[inline]
    pub fn wants_to_send(&self) -> bool {
        // Without branches between: nearly always none of the last is true.
        let asked = self.receiver.ack_due | self.sender.fin_due() | self.probe_due() | self.handshake.due;
        self.has_work() || asked || self.outbox.is_some()
    }

    /// True if an ACK is to be sent now, after a read for example.
    #[inline]
    pub fn owes_ack(&self) -> bool {
        self.receiver.ack_due
    }

    /// An ACK is all that is to be sent, for example when the timer of a delayed ACK expires ([`ToSend::Ack`]).
    #[inline]
    pub fn owes_only_ack(&self) -> bool {
        self.receiver.ack_due && self.is_open() && self.has_nothing_but_an_ack() && self.takes_shortcuts()
    }

    /// Nothing but an ACK may be due.
    pub(super) fn has_nothing_but_an_ack(&self) -> bool {
        let asked = self.sender.fin_due() | self.probe_due() | self.handshake.due | self.is_aborted();
        !(asked || self.has_work() || self.outbox.is_some())
    }

    /// Writes the ACK that is due, and that is all there is to send ([`ToSend::Ack`]), over `packet`. Nothing follows from
    /// how the device handles it.
    #[inline]
    pub fn write_only_ack(&mut self, packet: &mut Packet) {
        debug_assert!(self.receiver.ack_due && self.has_nothing_but_an_ack());
        self.write_ack_inlined(packet);
        self.refresh_route();
    }

    /// The next packet to hand to the device. Follow each with [`Endpoint::handed_over`].
    pub fn next_packet(&mut self, now: SimTime) -> Option<Packet> {
        let mut packet = Packet::empty();
        (self.write_next(&mut packet, now) != Written::Nothing).then_some(packet)
    }

    /// As [`Endpoint::next_packet`], written over `packet`.
    #[inline]
    pub fn write_next(&mut self, packet: &mut Packet, now: SimTime) -> Written {
        self.sender.set_now(now);
        if self.handshake.due || self.outbox.is_some() {
            self.write_handshake_or_outbox(packet, now);
            return Written::Packet;
        }
        if !self.is_open() || self.is_aborted() {
            return Written::Nothing;
        }
        if let Some(sender) = self.sender.as_sender_mut()
            && let Some(outgoing) = sender.next_data(&self.receiver)
        {
            self.write_data(packet, &outgoing);
            return Written::Packet;
        }
        self.write_without_data(packet)
    }

    /// The FIN of a pure receiver, a window probe or an ACK, if one is due.
    #[inline(always)]
    fn write_without_data(&mut self, packet: &mut Packet) -> Written {
        if self.sender.fin_due() {
            self.write_fin(packet);
            return Written::Last;
        }
        if self.probe_due() {
            self.write_window_probe(packet);
            return Written::Packet;
        }
        if self.receiver.ack_due {
            self.write_ack(packet);
            return Written::Last;
        }
        Written::Nothing
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

    /// The FIN of a pure receiver: an ACK that also says that no data comes.
    #[cold]
    fn write_fin(&mut self, packet: &mut Packet) {
        let mut fin = self.pure_ack();
        fin.seq = self.sender.snd_una();
        fin.flags = fin.flags.with(SegmentFlags::FIN);
        *packet = self.packet(fin, ACK_TRUESIZE, self.sender.now());
        self.sender.fin_written();
    }

    /// A window probe without data: an ACK whose sequence number is one below the next.
    #[cold]
    fn write_window_probe(&mut self, packet: &mut Packet) {
        let mut probe = self.pure_ack();
        probe.seq = self.sender.snd_una() - 1;
        *packet = self.packet(probe, ACK_TRUESIZE, self.sender.now());
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.timer.probe_due = false;
            sender.timer.probe_leaves = true;
        }
    }

    /// Reports how the device handled the packet just taken.
    #[inline]
    pub fn handed_over(&mut self, outcome: Transmitted, now: SimTime) {
        self.sender.set_now(now);
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.after_handing_over(outcome);
        }
    }

    /// Whether the next credit makes the small-queue handler run; otherwise completions may be batched.
    pub fn awaits_credit(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| sender.below.throttled)
    }

    /// The next segment of a paced burst waits for its departure time.
    #[inline]
    pub fn pauses(&self) -> Option<Pause> {
        self.sender.as_sender().is_some_and(|sender| sender.gate.pauses(&sender.flow)).then_some(Pause(()))
    }
}

impl Endpoint {
    /// What is to be sent next, as far as it is found without writing it.
    #[inline(always)]
    pub fn look_ahead(&mut self, now: SimTime) -> Next {
        self.sender.flow.now = now;
        if self.sender.gate.work.continues_burst(&self.sender.below, &self.sender.flow) {
            return Next::OfBurst(OfBurst(()));
        }
        let begun = if self.sends_only_data() { self.sender.begin_pass() } else { PassStart::Otherwise };
        match begun {
            PassStart::Burst => Next::OfBurst(OfBurst(())),
            PassStart::Ended if !self.wants_to_send() => Next::Nothing,
            PassStart::Ended | PassStart::Otherwise => Next::Other,
        }
    }

    /// Data is the next to be sent, if there is some.
    fn sends_only_data(&self) -> bool {
        let others = self.handshake.due | self.sender.aborted | self.outbox.is_some();
        self.is_open() && !others
    }

    /// Writes a segment of the burst over `packet`.
    #[inline(always)]
    pub fn write_of_burst(&mut self, _: OfBurst, packet: &mut Packet) -> WrittenOfBurst {
        if self.receiver.repeats_last_ack() && !self.sender.ecn.is_in_use() {
            let outgoing = self.sender.leave_of_burst();
            self.write_full_segment(packet, &outgoing);
        } else {
            self.write_of_burst_otherwise(packet);
        }
        WrittenOfBurst(())
    }

    /// A segment of a burst that says something else than the one before it.
    fn write_of_burst_otherwise(&mut self, packet: &mut Packet) {
        let outgoing = self.sender.leave_of_burst();
        self.write_data(packet, &outgoing);
    }

    /// The device has accepted a segment of a burst. True if there is more to send.
    #[inline(always)]
    pub fn sent_of_burst(&mut self, _: WrittenOfBurst) -> bool {
        self.sender.refresh_route();
        self.sender.sent_of_burst() || self.wants_to_send()
    }

    /// As [`Endpoint::handed_over`] for a segment of a burst. True if there is more to send.
    #[inline(never)]
    pub fn handed_over_of_burst(&mut self, written: WrittenOfBurst, outcome: Transmitted) -> bool {
        if outcome == Transmitted::Queued {
            return self.sent_of_burst(written);
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

    /// The small-queue handler (`tcp_tsq_handler`): makes the transmit loop run. Drain afterwards.
    pub fn small_queue_ran(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        if self.sender.below.handler_runs() {
            self.sender.kick();
        }
    }

    /// The host passes the time from one segment of this socket to the next while nothing else happens, until it calls
    /// [`Endpoint::end_paced_burst`]; nothing that is known now happens before `quiet_until`. Its device must not refuse
    /// packets.
    #[inline]
    pub fn begin_paced_burst(&mut self, quiet_until: SimTime) -> PacedBurst {
        self.sender.gate.quiet_until = quiet_until;
        PacedBurst(())
    }

    /// The time up to which the host may pass the time while the socket pauses, if that has nothing else to do until then.
    #[inline]
    pub fn paused_until(&self, _: &Pause) -> Option<SimTime> {
        let departure = self.sender.flow.departure;
        let other = self.sender.timer.expires().or(self.handshake.deadline).or(self.receiver.deadline());
        let only_pauses = self.sender.gate.work.progress.burst.has_room(&self.sender.below)
            && !self.awaits_credit()
            && !self.has_pending_events();
        (only_pauses && departure < other.instant()).then_some(departure)
    }

    /// The host has something else to do before the departure time: the pacing timer runs, and the host passes the time no
    /// longer.
    #[inline]
    pub fn leave_to_pacing_timer(&mut self, _: Pause) {
        self.sender.end_paced_burst();
    }

    /// The host passes the time no longer.
    #[inline]
    pub fn end_paced_burst(&mut self, _: PacedBurst) {
        if let Some(pause) = self.pauses() {
            self.leave_to_pacing_timer(pause);
        }
        self.sender.gate.quiet_until = SimTime::ZERO;
    }
}
