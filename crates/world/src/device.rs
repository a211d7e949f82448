//! A device of a host: root discipline, and below it the NIC and the wire to the other end, or a radio.
//!
//! ```text
//! transmit → discipline → (queue not stopped) → ring → serialized: credit, wake the queue → propagation → peer
//! ```
//!
//! A completion is an event only if somebody waits for it (a sender whose small queue is full for its credit, a
//! discipline for room); otherwise it is seen to when the device is next used or the sender next acts, as of the
//! instant it happened.
//!
//! Without a rate there is no ring: what the discipline gives up enters the wire at once and its sender is
//! credited then, as on a veth. Without a discipline (`noqueue`) packets go straight on.
//!
//! A train of segments stays one packet where both ends of the link have offloads on: disciplines, routers and the
//! receiver see one skb. It takes the wire time of all its segments and arrives with its last bit, as if GRO merged what
//! one train left (it carries PSH, at which GRO stops). Otherwise it is cut below the discipline.
//!
//! Source: [linux-6.12 dev.c __dev_queue_xmit, sch_generic.c __qdisc_run, drivers/net/veth.c]. Deviations: the
//! quota of 64 packets per run of a discipline is left out, since nothing else waits for the processor; the segments of
//! a train all enter the ring, however full it is; GRO merges neither segments of several skbs nor what an interrupt
//! gathers.

use tailback_engine::Draws;
use tailback_packet::{DropReason, Ecn, HostId, Packet};
use tailback_qdisc::{Dequeued, Desk, Enqueued, Qdisc, visit};
use tailback_units::{Rate, SimTime, Span};

use crate::nic::Nic;
use crate::path::Path;
use crate::radio::Radio;
use crate::stage::Stage;
use crate::wire::Wire;
use crate::{DeviceId, Event};

/// What a device does with a train of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Segmentation {
    /// It passes it on as one packet: TSO here and GRO at the other end, or a veth.
    None,
    /// It gets segments.
    BelowQdisc,
}

/// A path, and the random numbers of what happens on it.
pub(crate) struct OnPath {
    pub(crate) path: Path,
    pub(crate) draws: Draws,
}

/// A network device.
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    /// The host at the other end of the wire. A radio has no wire: it is the radio's own host.
    pub(crate) peer: HostId,
    pub(crate) root: Option<Box<dyn Qdisc>>,
    pub(crate) nic: Option<Nic>,
    pub(crate) segmentation: Segmentation,
    /// Of a Wi-Fi device: its place on the channel. It has neither ring nor wire, and sends to several hosts.
    pub(crate) radio: Option<Radio>,
    pub(crate) wire: Wire,
    /// What follows the wire, on a link that does more than take time; the wire has no delay then.
    pub(crate) path: Option<Box<OnPath>>,
    pub(crate) draws: Draws,
    /// When the discipline is asked again; `NEVER` if it does not wait. Other wake-ups are stale.
    pub(crate) watchdog: SimTime,
    /// When a frame that somebody waits for has left; `NEVER` if nobody waits. Other completions are stale.
    pub(crate) completion: SimTime,
    /// Sockets that can send nothing before a packet of theirs has left.
    pub(crate) awaiting_credit: u32,
    /// Packets dropped here, by reason.
    pub(crate) drops: [u64; DropReason::ALL.len()],
    /// Marks already in the journal.
    pub(crate) marks_noted: u64,
}

impl Device {
    /// A packet leaves its host by this device. [linux-6.12 __dev_queue_xmit]
    #[inline]
    pub(crate) fn transmit(&mut self, mut packet: Box<Packet>, stage: &mut Stage) -> Enqueued {
        stage.cost.packets += 1;
        self.see_to_completions(stage);
        let stopped = self.is_stopped(stage);
        let Some(root) = &mut self.root else {
            self.hand_to_driver(packet, stage);
            return Enqueued::Queued;
        };
        if !stopped && root.bypass(&mut packet, stage.now) {
            self.hand_to_driver(packet, stage);
            return Enqueued::Queued;
        }
        let outcome = root.enqueue(packet, &mut desk(stage, &mut self.draws));
        self.enqueue_copies(stage);
        self.bury_dropped(stage);
        self.run(stage);
        outcome
    }

    /// Copies that a discipline made enter at the root. [linux-6.12 sch_netem.c netem_enqueue]
    #[inline]
    fn enqueue_copies(&mut self, stage: &mut Stage) {
        while let (Some(copy), Some(root)) = (stage.copies.pop(), &mut self.root) {
            stage.ledger.created += 1;
            root.enqueue(copy, &mut Desk { is_copy: true, ..desk(stage, &mut self.draws) });
        }
    }

    /// A frame somebody waits for has left: its sender for the credit, or the discipline for room in the ring.
    pub(crate) fn transmitted(&mut self, stage: &mut Stage) {
        if self.completion == stage.now {
            self.completion = SimTime::NEVER;
            self.run(stage);
            if self.awaiting_credit > 0 {
                self.await_credit(stage);
            }
        }
    }

    /// A small queue is full: its socket waits until a packet of its own has left.
    pub(crate) fn add_waiting_socket(&mut self, stage: &mut Stage) {
        self.awaiting_credit += 1;
        self.await_credit(stage);
    }

    /// The instant has come at which the discipline wanted to be asked again.
    pub(crate) fn watchdog_fired(&mut self, stage: &mut Stage) {
        if self.watchdog == stage.now {
            self.watchdog = SimTime::NEVER;
            self.run(stage);
        }
    }

    /// A packet has reached the other end; more than one if they left at the same instant. The last is returned
    /// for the host to receive, those before it are in the backlog.
    #[inline]
    pub(crate) fn arrived(&mut self, stage: &mut Stage) -> Option<Box<Packet>> {
        self.see_to_completions(stage);
        if self.path.is_some() {
            self.leave_wire(stage);
            return None;
        }
        let mut last = self.wire.arrived(stage.now)?;
        self.capture_received(&last, stage);
        while let Some(packet) = self.wire.arrived(stage.now) {
            self.capture_received(&packet, stage);
            stage.backlog.push_back((self.peer, last));
            last = packet;
        }
        if let Some(next) = self.wire.next_arrival() {
            stage.wake_at(next, Event::Arrived(self.id));
        }
        Some(last)
    }

    /// Packets whose last bit has left go on by the path.
    fn leave_wire(&mut self, stage: &mut Stage) {
        while let Some(packet) = self.wire.arrived(stage.now) {
            self.enter_path(packet, stage);
        }
        if let Some(next) = self.wire.next_arrival() {
            stage.wake_at(next, Event::Arrived(self.id));
        }
    }

    fn enter_path(&mut self, packet: Box<Packet>, stage: &mut Stage) {
        let Some(OnPath { path, draws }) = self.path.as_deref_mut() else { return };
        path.enter(packet, &mut desk(stage, draws));
        while let Some(copy) = stage.copies.pop() {
            stage.ledger.created += 1;
            path.enter(copy, &mut Desk { is_copy: true, ..desk(stage, draws) });
        }
        self.bury_dropped(stage);
        self.emerge(stage);
    }

    /// A packet has come to the end of the path.
    pub(crate) fn emerged(&mut self, stage: &mut Stage) {
        if let Some(on) = &mut self.path
            && on.path.next == stage.now
        {
            on.path.next = SimTime::NEVER;
            self.emerge(stage);
        }
    }

    fn emerge(&mut self, stage: &mut Stage) {
        let Some(mut on) = self.path.take() else { return };
        loop {
            match on.path.emerge(&mut desk(stage, &mut on.draws)) {
                Dequeued::Packet(packet) => {
                    self.capture_received(&packet, stage);
                    stage.backlog.push_back((self.peer, packet));
                }
                Dequeued::NotBefore(at) if at < on.path.next => {
                    on.path.next = at;
                    stage.wake_at(at, Event::Emerged(self.id));
                    break;
                }
                Dequeued::NotBefore(_) | Dequeued::Empty => break,
            }
        }
        self.path = Some(on);
        self.bury_dropped(stage);
    }

    /// The link gets another rate: the frame whose bits are leaving keeps its time, those behind it get others.
    pub(crate) fn change_rate(&mut self, rate: Rate, stage: &mut Stage) {
        self.see_to_completions(stage);
        let Some(nic) = &mut self.nic else { return };
        let leaving = (self.wire.in_ring() > 0).then_some(self.wire.next_departure);
        nic.change_rate(rate, leaving);
        self.wire.reschedule(|packet| nic.occupy(packet.wire_length(), stage.now));
        // Whoever waits for a frame behind it waits for another instant now.
        self.completion = SimTime::NEVER;
        self.run(stage);
        if self.awaiting_credit > 0 {
            self.await_credit(stage);
        }
    }

    /// What came over this wire is seen by the device at its other end.
    #[inline]
    fn capture_received(&self, packet: &Packet, stage: &mut Stage) {
        if !stage.captures.is_off() {
            stage.captures.received((self.id, self.id.at_other_end()), packet, stage.now);
        }
    }

    /// The device that a packet is sent to.
    fn receiver(&self, packet: &Packet, stage: &Stage) -> DeviceId {
        self.radio
            .map_or_else(|| self.id.at_other_end(), |radio| radio.next_device(packet.destination, stage))
    }

    /// Packets inside the device and on its wire.
    pub(crate) fn packets(&self) -> usize {
        let on_path = self.path.as_ref().map_or(0, |on| on.path.packets());
        self.root.as_ref().map_or(0, |root| root.backlog().packets as usize) + self.wire.packets() + on_path
    }

    /// A packet may need time from here to the other end.
    pub(crate) fn takes_time(&self) -> bool {
        let on_the_way = self.path.is_some() || !self.wire.is_instant();
        self.root.is_some() || self.nic.is_some() || self.radio.is_some() || on_the_way
    }

    /// Moves packets from the discipline to the ring until either stops. [linux-6.12 __qdisc_run]
    pub(crate) fn run(&mut self, stage: &mut Stage) {
        self.see_to_completions(stage);
        loop {
            if self.is_stopped(stage) {
                return self.await_room(stage);
            }
            let Some(root) = &mut self.root else { return };
            let dequeued = root.dequeue(&mut desk(stage, &mut self.draws));
            self.enqueue_copies(stage);
            self.bury_dropped(stage);
            match dequeued {
                Dequeued::Packet(packet) => self.hand_to_driver(packet, stage),
                Dequeued::NotBefore(at) => return self.ask_again(at, stage),
                Dequeued::Empty => return,
            }
        }
    }

    #[inline]
    fn is_stopped(&self, stage: &Stage) -> bool {
        if let Some(radio) = &self.radio {
            return !stage.channels[radio.channel()].cell.accepts(radio.from);
        }
        self.nic.as_ref().is_some_and(|nic| !nic.accepts(self.wire.in_ring()))
    }

    /// [linux-6.12 dev.c dev_hard_start_xmit]
    #[inline]
    fn hand_to_driver(&mut self, packet: Box<Packet>, stage: &mut Stage) {
        if packet.segments == 1 || self.segmentation == Segmentation::None {
            return self.start_xmit(packet, stage);
        }
        self.xmit_segments(*packet, stage);
    }

    /// [linux-6.12 dev.c validate_xmit_skb]
    #[cold]
    fn xmit_segments(&mut self, train: Packet, stage: &mut Stage) {
        stage.ledger.created += u64::from(train.segments - 1);
        if train.charged {
            stage.segmented.push((train.from, train.memory_to_segment()));
        }
        for segment in train.into_segments() {
            let segment = stage.in_box(segment);
            self.start_xmit(segment, stage);
        }
    }

    /// [linux-6.12 ndo_start_xmit]
    #[inline]
    fn start_xmit(&mut self, packet: Box<Packet>, stage: &mut Stage) {
        if packet.ecn == Ecn::Ce {
            self.note_mark(&packet, stage);
        }
        if !stage.captures.is_off() {
            let to = self.receiver(&packet, stage);
            stage.captures.sent((self.id, to), &packet, stage.now);
        }
        let Some(nic) = &mut self.nic else { return self.pass_on(packet, stage) };
        let departure = nic.take(&packet, stage.now);
        if self.awaiting_credit > 0 && packet.charged {
            self.await_completion(departure, stage);
        }
        if let Some(arrival) = self.wire.push(packet, departure) {
            stage.wake_at(arrival, Event::Arrived(self.id));
        }
    }

    /// Without a ring a packet leaves its host at once. [linux-6.12 veth_xmit]
    fn pass_on(&mut self, mut packet: Box<Packet>, stage: &mut Stage) {
        if let Some(radio) = self.radio {
            radio.transmit(packet, stage);
            return self.bury_dropped(stage);
        }
        stage.orphan(&mut packet);
        if self.path.is_some() {
            self.enter_path(packet, stage);
        } else if self.wire.is_instant() {
            self.capture_received(&packet, stage);
            stage.backlog.push_back((self.peer, packet));
        } else if let Some(arrival) = self.wire.push(packet, stage.now) {
            stage.wake_at(arrival, Event::Arrived(self.id));
        }
    }

    /// TX completions of what has left by now: bytes out of the ring, credits to the senders.
    #[inline]
    fn see_to_completions(&mut self, stage: &mut Stage) {
        if self.wire.next_departure <= stage.now {
            self.complete(stage.now, stage);
        }
    }

    /// TX completions of what left before now. What leaves at this very instant is an event of its own, if anybody
    /// waits for it.
    #[inline]
    pub(crate) fn see_to_earlier_completions(&mut self, stage: &mut Stage) {
        if self.wire.next_departure < stage.now {
            self.complete(stage.now - Span::from_nanos(1), stage);
        }
    }

    fn complete(&mut self, last: SimTime, stage: &mut Stage) {
        while let Some((departure, packet)) = self.wire.complete(last) {
            if let Some(nic) = &mut self.nic {
                nic.complete(packet.frame_length(), departure);
            }
            stage.orphan(packet);
        }
    }

    /// The queue is stopped; if packets wait for it, the next completion wakes it.
    fn await_room(&mut self, stage: &mut Stage) {
        if self.radio.is_some() {
            // The driver wakes the queue when it takes packets again.
            return;
        }
        if self.root.as_ref().is_some_and(|root| root.backlog().packets > 0) {
            self.await_completion(self.wire.next_departure, stage);
        }
    }

    /// Packets in the ring are charged to sockets; the completion of the first credits its sender.
    fn await_credit(&mut self, stage: &mut Stage) {
        if let Some(departure) = self.wire.next_charged_departure() {
            self.await_completion(departure, stage);
        }
    }

    /// One completion is pending at most, the earliest asked for.
    #[inline]
    fn await_completion(&mut self, departure: SimTime, stage: &mut Stage) {
        if departure < self.completion {
            self.completion = departure;
            stage.wake_at(departure, Event::Transmitted(self.id));
        }
    }

    /// One wake-up is pending at most, the earliest asked for.
    fn ask_again(&mut self, at: SimTime, stage: &mut Stage) {
        debug_assert!(at > stage.now, "a discipline that may send now says so by giving a packet");
        if at < self.watchdog {
            self.watchdog = at;
            stage.wake_at(at, Event::Watchdog(self.id));
        }
    }

    #[inline]
    fn bury_dropped(&mut self, stage: &mut Stage) {
        if !stage.dropped.is_empty() {
            self.bury_all(stage);
        }
    }

    #[cold]
    fn bury_all(&mut self, stage: &mut Stage) {
        let mut dropped = std::mem::take(&mut stage.dropped);
        for (packet, reason) in dropped.drain(..) {
            self.drops[reason as usize] += 1;
            stage.drop_packet(packet, reason, self.id);
        }
        stage.dropped = dropped;
    }

    /// A packet leaves with CE. It was marked here unless it came so: the counters tell how many were.
    fn note_mark(&mut self, packet: &Packet, stage: &mut Stage) {
        if self.marks_noted < self.marked() {
            self.marks_noted += 1;
            stage.journal.packet_marked(stage.now, self.id, packet);
        }
    }

    fn marked(&self) -> u64 {
        let mut marked = 0;
        if let Some(root) = &self.root {
            visit(root.as_ref(), &mut |_, qdisc| marked += qdisc.counters().marked);
        }
        marked
    }
}

/// What a discipline of a device may use.
#[inline]
fn desk<'a>(stage: &'a mut Stage, draws: &'a mut Draws) -> Desk<'a> {
    Desk {
        now: stage.now,
        draws,
        dropped: &mut stage.dropped,
        credits: &mut stage.credits,
        copies: &mut stage.copies,
        is_copy: false,
    }
}
