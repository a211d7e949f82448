//! A network device: the root discipline, and below it a NIC with the wire to the other end, or a radio. Here is how packets
//! enter and leave the discipline; from there to the wire they go in `device/driver.rs`. What has left the ring is in
//! `device/completion.rs`, what arrives at the other end in `device/arrival.rs`.
//!
//! ```text
//! transmit → discipline → (queue not stopped) → ring → serialized: credit, wake the queue → propagation → arrival
//! ```
//!
//! Without a rate there is no ring: a packet enters the wire when it leaves the discipline, and its sender is credited
//! at that time, as on a veth. Without a discipline (`noqueue`) packets bypass it.
//!
//! A train of segments stays one packet if both ends of the link have offloads on: disciplines, routers and the
//! receiver see one skb. It takes the wire time of all its segments and arrives with its last bit, as if GRO merged
//! exactly the segments of one train (PSH ends a merge in GRO). Otherwise it is segmented below the discipline.
//! Segments that arrive one by one are merged where the receiving host has GRO (`napi`).
//!
//! Source: [linux-6.12 dev.c __dev_queue_xmit, sch_generic.c __qdisc_run, drivers/net/veth.c]. Deviations: the
//! quota of 64 packets per run of a discipline is not modelled, since processing takes no time; all segments of a train
//! enter the ring, however full it is.

mod arrival;
mod completion;
mod driver;

use tailback_engine::Draws;
use tailback_packet::{DropReason, Ecn, HostId, Packet};
use tailback_qdisc::{Bypassed, Dequeued, Enqueued, Leak, Policer, Root, check_conservation};
use tailback_units::SimTime;

use driver::enter;

use crate::context::Context;
use crate::napi::Napi;
use crate::nic::Nic;
use crate::path::Path;
use crate::radio::Radio;
use crate::sojourns::Sojourns;
use crate::wire::Wire;
use crate::{DeviceId, Event};

/// How a device treats a train of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Segmentation {
    /// It stays one packet: TSO here and GRO at the other end, or a veth.
    None,
    /// It is segmented before the driver.
    BelowQdisc,
}

/// The way of a packet that the device could send at once. [linux-6.12 TCQ_F_CAN_BYPASS]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Through the discipline.
    Through,
    /// Past the discipline if it is empty.
    PastIfEmpty,
    /// Past the discipline, which is empty, or there is none.
    Past,
    /// Past the discipline and straight into the ring of a NIC with a rate: nothing is captured.
    IntoRing,
}

/// What a discipline waits for after a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// For nothing but packets.
    No,
    /// For room in the ring, or the driver of a radio.
    ForRoom,
    /// Until this time.
    Until(SimTime),
}

/// A path with its random numbers.
pub(crate) struct OnPath {
    pub(crate) path: Path,
    pub(crate) draws: Draws,
    /// Drops what exceeds a rate, before the path.
    pub(crate) policer: Option<Policer>,
}

/// A network device.
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    /// The host at the other end of the wire. A radio has no wire: it is the radio's own host.
    pub(crate) peer: HostId,
    pub(crate) root: Option<Root>,
    pub(crate) way: Way,
    /// The way of packets while the discipline is empty.
    pub(crate) way_when_empty: Way,
    /// Packets that bypassed the discipline since it was last told.
    pub(crate) bypassed: Bypassed,
    pub(crate) nic: Option<Nic>,
    /// Below the discipline there is only the ring of a NIC with a rate: nothing is captured.
    pub(crate) only_ring: bool,
    pub(crate) segmentation: Segmentation,
    /// Of a Wi-Fi device: its place on the channel. It has neither ring nor wire, and sends to several hosts.
    pub(crate) radio: Option<Radio>,
    pub(crate) wire: Wire,
    /// Packets go from the wire to the host, without a path, NAPI or a capture between.
    pub(crate) ends_at_host: bool,
    /// The path after the wire, on a link with more than a constant delay; the wire then has no delay.
    pub(crate) path: Option<Box<OnPath>>,
    /// How the other end takes what arrives, if not packet by packet.
    pub(crate) napi: Option<Box<Napi>>,
    pub(crate) draws: Draws,
    /// When the discipline is next dequeued; `NEVER` if it does not wait. Other wake-ups are stale.
    pub(crate) watchdog: SimTime,
    /// The discipline sends nothing before this time, whatever arrives; the watchdog wakes it by then.
    pub(crate) closed_until: SimTime,
    /// The next completion that something waits for, or `NEVER`. Other completions are stale.
    pub(crate) completion: SimTime,
    /// Number of sockets that wait until one of their packets has left.
    pub(crate) awaiting_credit: u32,
    /// Packets dropped here, by reason.
    pub(crate) drops: [u64; DropReason::ALL.len()],
    /// Marks already in the journal.
    pub(crate) marks_noted: u64,
    /// Of the packets that left the discipline in this slot.
    pub(crate) sojourns: Sojourns,
}

impl Device {
    /// A packet leaves its host by this device. [linux-6.12 __dev_queue_xmit]
    #[inline(always)]
    pub(crate) fn transmit(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        context.cost.packets += 1;
        self.process_completions(context);
        match self.put_into_ring(packet, context) {
            None => Enqueued::Queued,
            Some(packet) => self.transmit_otherwise(packet, context),
        }
    }

    /// Transmits a packet that its host forwards: nearly all of them are at a bottleneck, where they wait.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: Box<Packet>, context: &mut Context) {
        context.cost.packets += 1;
        self.process_completions(context);
        if self.way == Way::Through {
            self.enqueue(packet, context);
            return;
        }
        let Some(packet) = self.put_into_ring(packet, context) else { return };
        if self.way == Way::PastIfEmpty
            && is_busy(&self.nic, &self.wire)
            && let Some(Root::Default(root)) = &mut self.root
        {
            root.put(packet, context.now, &mut context.effects);
            self.process_effects(context);
            self.await_room(context);
        } else {
            self.transmit_otherwise(packet, context);
        }
    }

    /// A single segment, which was not marked here, goes straight into a ring that has room: the steps of
    /// [`Device::transmit_otherwise`] that it needs, in the same order. Any other packet is returned.
    #[inline(always)]
    fn put_into_ring(&mut self, mut packet: Box<Packet>, context: &mut Context) -> Option<Box<Packet>> {
        let may_go = self.way == Way::IntoRing && packet.segments == 1 && packet.ecn != Ecn::Ce;
        let in_ring = self.wire.in_ring();
        let Some(nic) = self.nic.as_mut().filter(|nic| may_go && !nic.is_full(in_ring)) else {
            return Some(packet);
        };
        packet.enqueued = context.now;
        let charged = packet.charged;
        let entered = enter(nic, &mut self.wire, packet, context.now);
        self.bypassed.add_frame(nic.last_length());
        self.await_next(charged, entered, context);
        None
    }

    /// A packet that does not go straight into the ring, or a train, or one that may have been marked here.
    #[inline(never)]
    fn transmit_otherwise(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        if self.way == Way::Through {
            return self.enqueue(packet, context);
        }
        if self.way == Way::PastIfEmpty && is_busy(&self.nic, &self.wire) {
            return self.enqueue_behind_ring(packet, context);
        }
        self.bypass_or_enqueue(packet, context)
    }

    /// As [`Device::transmit_otherwise`] for a packet that may bypass the discipline.
    #[inline(never)]
    fn bypass_or_enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context) -> Enqueued {
        if self.must_enqueue(context) {
            return self.enqueue(packet, context);
        }
        packet.enqueued = context.now;
        self.bypassed.add(&packet);
        self.hand_to_driver(packet, context);
        Enqueued::Queued
    }

    /// Whether a packet must be enqueued: it cannot bypass the discipline.
    #[inline]
    fn must_enqueue(&mut self, context: &Context) -> bool {
        let Some(root) = &self.root else { return false };
        let queues = self.is_stopped(context) || root.has_backlog();
        self.way = if queues { Way::PastIfEmpty } else { self.way_when_empty };
        queues
    }

    /// Tells the discipline of the packets that bypassed it. Call it before its counters are read.
    pub(crate) fn count_bypassed(&mut self) {
        let bypassed = std::mem::take(&mut self.bypassed);
        self.sojourns.pass(u64::from(bypassed.segments));
        if let Some(root) = &mut self.root {
            root.count_bypassed(bypassed);
        }
    }

    /// Enqueues a packet while the ring is full.
    #[inline(never)]
    fn enqueue_behind_ring(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        let outcome = self.enqueue_only(packet, context);
        self.await_room(context);
        outcome
    }

    fn enqueue_only(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        let Some(root) = &mut self.root else { return Enqueued::Queued };
        let outcome = root.enqueue(packet, context.now, &mut context.effects, &mut self.draws);
        self.process_effects(context);
        outcome
    }

    /// Enqueues a packet.
    #[inline(never)]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        let Some(Root::Other(root)) = &mut self.root else { return self.enqueue_by_default(packet, context) };
        if packet.segments != 1 && root.queues_segments(&packet) {
            return self.enqueue_segments(*packet, context);
        }
        let outcome = root.enqueue(packet, &mut context.effects.context(context.now, &mut self.draws));
        self.process_effects(context);
        self.go_on(context);
        outcome
    }

    /// Enqueues the segments of a packet before any of them leaves. The outcome is the worst of theirs, but the packet
    /// counts as dropped only if all of them were. [linux-6.12 sch_cake.c cake_enqueue, sch_tbf.c tbf_segment]
    #[cold]
    fn enqueue_segments(&mut self, train: Packet, context: &mut Context) -> Enqueued {
        let mut outcomes = Vec::new();
        for segment in self.segments_of(train, context) {
            let segment = context.in_box(segment);
            outcomes.push(self.enqueue_only(segment, context));
        }
        self.go_on(context);
        let any = |outcome| outcomes.contains(&outcome);
        match () {
            () if any(Enqueued::Congestion) => Enqueued::Congestion,
            () if any(Enqueued::Queued) => Enqueued::Queued,
            () if any(Enqueued::Lost) => Enqueued::Lost,
            () => Enqueued::Dropped,
        }
    }

    /// Enqueues a packet at the kernel's default discipline; then packets leave.
    #[inline(never)]
    fn enqueue_by_default(&mut self, packet: Box<Packet>, context: &mut Context) -> Enqueued {
        let outcome = self.enqueue_only(packet, context);
        self.go_on(context);
        outcome
    }

    /// After a packet was enqueued: packets leave, or wait for room in the ring.
    #[inline(always)]
    fn go_on(&mut self, context: &mut Context) {
        if self.is_stopped(context) {
            self.await_room(context);
        } else if self.closed_until <= context.now {
            self.dequeue(context);
        }
    }

    /// What a discipline has dropped is accounted for, and the copies that it made are enqueued.
    fn process_effects(&mut self, context: &mut Context) {
        if context.effects.copies.len() | context.effects.dropped.len() != 0 {
            self.process_all_effects(context);
        }
    }

    #[cold]
    fn process_all_effects(&mut self, context: &mut Context) {
        self.enqueue_copies(context);
        self.account_for_dropped(context);
    }

    /// Copies that a discipline made enter at the root. [linux-6.12 sch_netem.c netem_enqueue]
    fn enqueue_copies(&mut self, context: &mut Context) {
        while let (Some(copy), Some(root)) = (context.effects.copies.pop(), &mut self.root) {
            context.enters(&copy, 1);
            root.enqueue_copy(copy, context.now, &mut context.effects, &mut self.draws);
        }
    }

    /// A frame has left for which its sender (for the credit) or the discipline (for room in the ring) waits. This is the
    /// present event of the calendar.
    #[inline]
    pub(crate) fn transmitted(&mut self, context: &mut Context) {
        if self.completion != context.now {
            context.calendar.take();
            return;
        }
        self.completion = SimTime::NEVER;
        match self.run(context) {
            Waits::ForRoom if self.needs_completion() => {
                self.completion = self.wire.next_departure;
                context.calendar.repeat(self.completion);
            }
            waits => {
                context.calendar.take();
                self.wait(waits, context);
            }
        }
        if self.awaiting_credit > 0 {
            self.await_credit(context);
        }
    }

    /// A small queue is full: its socket waits until one of its packets has left.
    pub(crate) fn add_waiting_socket(&mut self, context: &mut Context) {
        self.awaiting_credit += 1;
        self.await_credit(context);
    }

    /// The watchdog of the discipline has expired. This is the present event of the calendar.
    #[inline]
    pub(crate) fn watchdog_fired(&mut self, context: &mut Context) {
        if self.watchdog != context.now {
            context.calendar.take();
            return;
        }
        self.watchdog = SimTime::NEVER;
        match self.run(context) {
            Waits::Until(at) if at < SimTime::NEVER => {
                self.watchdog = at;
                context.calendar.repeat(at);
            }
            waits => {
                context.calendar.take();
                self.wait(waits, context);
            }
        }
    }

    /// Packets inside the device and on its wire.
    pub(crate) fn packets(&self) -> usize {
        let on_path = self.path.as_ref().map_or(0, |on| on.path.packets());
        let waiting = self.napi.as_ref().map_or(0, |napi| napi.packets());
        self.root.as_ref().map_or(0, |root| root.backlog().packets as usize)
            + self.wire.packets()
            + on_path
            + waiting
    }

    /// What waits in the disciplines here is what their ledgers say. Empties them.
    pub(crate) fn check_conservation(&mut self, now: SimTime) -> Result<(), Leak> {
        if let Some(on) = &mut self.path {
            on.path.check_conservation(now, &mut on.draws)?;
        }
        self.root.as_mut().map_or(Ok(()), |root| check_conservation(&mut **root, now, &mut self.draws))
    }

    /// True if a packet may need time from here to the other end.
    pub(crate) fn takes_time(&self) -> bool {
        let on_the_way = self.path.is_some() || !self.wire.is_instant();
        self.root.is_some() || self.nic.is_some() || self.radio.is_some() || on_the_way
    }

    /// Moves packets from the discipline to the ring until either stops. [linux-6.12 __qdisc_run]
    #[inline(never)]
    pub(crate) fn run(&mut self, context: &mut Context) -> Waits {
        if !self.complete_uncharged(context.now) {
            self.complete(context.now, context);
        }
        if self.is_stopped(context) { Waits::ForRoom } else { self.dequeue_while_open(context) }
    }

    /// As [`Device::run`] where it is known that the queue is not stopped and that there are no completions.
    #[inline(never)]
    fn dequeue(&mut self, context: &mut Context) {
        let waits = self.dequeue_while_open(context);
        self.wait(waits, context);
    }

    /// A discipline that is closed is not dequeued.
    #[inline(always)]
    fn dequeue_while_open(&mut self, context: &mut Context) -> Waits {
        while let Some(Root::Default(root)) = &mut self.root {
            // It neither closes nor drops what it has queued.
            let Some(packet) = root.take() else { return Waits::No };
            self.send_dequeued(packet, context);
            if self.is_stopped(context) {
                return Waits::ForRoom;
            }
        }
        loop {
            let Some(Root::Other(root)) = &mut self.root else { return Waits::No };
            let dequeued = root.dequeue(&mut context.effects.context(context.now, &mut self.draws));
            self.process_effects(context);
            match dequeued {
                Dequeued::Packet(packet) => self.send_dequeued(packet, context),
                Dequeued::NotBefore(at) => return Waits::Until(at),
                Dequeued::Empty => return Waits::No,
            }
            if self.is_stopped(context) {
                return Waits::ForRoom;
            }
            let Some(Root::Other(root)) = &self.root else { return Waits::No };
            let closed_until = root.closed_until();
            if closed_until > context.now {
                self.closed_until = closed_until;
                return Waits::Until(closed_until);
            }
        }
    }

    /// A packet leaves the discipline; a single segment that has not been marked has a short way into the ring.
    #[inline(always)]
    fn send_dequeued(&mut self, packet: Box<Packet>, context: &mut Context) {
        self.sojourns.count(&packet, context.now);
        if self.only_ring && packet.segments == 1 && packet.ecn != Ecn::Ce {
            self.enter_ring(packet, context);
        } else {
            self.send_dequeued_otherwise(packet, context);
        }
    }

    #[inline(never)]
    fn send_dequeued_otherwise(&mut self, packet: Box<Packet>, context: &mut Context) {
        self.hand_to_driver(packet, context);
    }

    /// Waits after a run.
    #[inline]
    pub(crate) fn wait(&mut self, waits: Waits, context: &mut Context) {
        match waits {
            Waits::No => {}
            Waits::ForRoom => self.await_room(context),
            Waits::Until(at) => self.ask_again(at, context),
        }
    }

    #[inline]
    fn is_stopped(&self, context: &Context) -> bool {
        match (&self.nic, &self.radio) {
            (Some(nic), _) => nic.is_full(self.wire.in_ring()),
            (None, Some(radio)) => !context.channels[radio.channel()].channel.accepts(radio.from),
            (None, None) => false,
        }
    }

    /// Schedules a wake-up, unless an earlier one is pending.
    fn ask_again(&mut self, at: SimTime, context: &mut Context) {
        debug_assert!(at > context.now, "a discipline that may send now returns a packet");
        if at < self.watchdog {
            self.watchdog = at;
            context.wake_at(at, Event::Watchdog(self.id));
        }
    }

    #[inline]
    fn account_for_dropped(&mut self, context: &mut Context) {
        if !context.effects.dropped.is_empty() {
            self.account_for_all(context);
        }
    }

    #[cold]
    fn account_for_all(&mut self, context: &mut Context) {
        let mut dropped = std::mem::take(&mut context.effects.dropped);
        for (packet, reason) in dropped.drain(..) {
            if reason == DropReason::Segmented {
                context.segmented_in_queue(packet);
                continue;
            }
            self.drops[reason as usize] += 1;
            context.drop_packet(packet, reason, self.id);
        }
        context.effects.dropped = dropped;
    }
}

/// There is a NIC, which takes no further packet.
fn is_busy(nic: &Option<Nic>, wire: &Wire) -> bool {
    nic.as_ref().is_some_and(|nic| nic.is_full(wire.in_ring()))
}
