//! One end of a link: root discipline, NIC, and the wire to the other end.
//!
//! ```text
//! transmit → discipline → (queue not stopped) → ring → serialized: credit, wake the queue → propagation → peer
//! ```
//!
//! Without a rate there is no ring: what the discipline gives up enters the wire at once and its sender is
//! credited then, as on a veth. Without a discipline (`noqueue`) packets go straight on.
//!
//! Source: [linux-6.12 dev.c __dev_queue_xmit, sch_generic.c __qdisc_run, drivers/net/veth.c]. Deviations: the
//! quota of 64 packets per run of a discipline is left out, since nothing else waits for the processor.

use tailback_engine::Draws;
use tailback_packet::{DropReason, Ecn, HostId, Packet};
use tailback_qdisc::{Dequeued, Desk, Enqueued, Qdisc};
use tailback_units::SimTime;

use crate::nic::Nic;
use crate::stage::Stage;
use crate::wire::Wire;
use crate::{DeviceId, Event};

/// A network device.
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    /// The host at the other end.
    pub(crate) peer: HostId,
    pub(crate) root: Option<Box<dyn Qdisc>>,
    pub(crate) nic: Option<Nic>,
    pub(crate) wire: Wire,
    pub(crate) draws: Draws,
    /// When the discipline is asked again; `NEVER` if it does not wait. Other wake-ups are stale.
    pub(crate) watchdog: SimTime,
    /// Packets dropped here, by reason.
    pub(crate) drops: [u64; DropReason::ALL.len()],
    /// Marks already in the journal.
    pub(crate) marks_noted: u64,
}

impl Device {
    /// A packet leaves its host by this device. [linux-6.12 __dev_queue_xmit]
    #[inline]
    pub(crate) fn transmit(&mut self, packet: Packet, stage: &mut Stage) -> Enqueued {
        stage.cost.packets += 1;
        let Some(root) = &mut self.root else {
            self.wire.push(packet);
            self.set_out(stage);
            return Enqueued::Queued;
        };
        let mut desk = Desk { now: stage.now, draws: &mut self.draws, dropped: &mut stage.dropped };
        let outcome = root.enqueue(packet, &mut desk);
        self.bury_dropped(stage);
        self.run(stage);
        outcome
    }

    /// The frame on the wire has been serialized: the TX completion.
    pub(crate) fn transmitted(&mut self, stage: &mut Stage) {
        if let (Some(nic), Some(packet)) = (&mut self.nic, self.wire.first_in_ring()) {
            nic.complete(packet.frame_length(), stage.now);
        }
        self.set_out(stage);
        if self.wire.in_ring() > 0 {
            self.serialize_first(stage);
        }
        self.run(stage);
    }

    /// The instant has come at which the discipline wanted to be asked again.
    pub(crate) fn watchdog_fired(&mut self, stage: &mut Stage) {
        if self.watchdog == stage.now {
            self.watchdog = SimTime::NEVER;
            self.run(stage);
        }
    }

    /// A packet has reached the other end; more than one if they set out at the same instant. The last is
    /// returned for the host to receive, those before it are in the backlog.
    #[inline]
    pub(crate) fn arrived(&mut self, stage: &mut Stage) -> Option<Packet> {
        let mut last = self.wire.arrived(stage.now)?;
        while let Some(packet) = self.wire.arrived(stage.now) {
            stage.backlog.push_back((self.peer, last));
            last = packet;
        }
        if let Some(next) = self.wire.next_arrival() {
            stage.wake_at(next, Event::Arrived(self.id));
        }
        Some(last)
    }

    /// Packets inside the device and on its wire.
    pub(crate) fn packets(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.backlog().packets as usize) + self.wire.packets()
    }

    /// Moves packets from the discipline to the ring until either stops. [linux-6.12 __qdisc_run]
    fn run(&mut self, stage: &mut Stage) {
        while self.nic.as_ref().is_none_or(|nic| nic.accepts(self.wire.in_ring())) {
            let Some(root) = &mut self.root else { return };
            let mut desk = Desk { now: stage.now, draws: &mut self.draws, dropped: &mut stage.dropped };
            let dequeued = root.dequeue(&mut desk);
            self.bury_dropped(stage);
            match dequeued {
                Dequeued::Packet(packet) => self.hand_to_driver(packet, stage),
                Dequeued::NotBefore(at) => return self.ask_again(at, stage),
                Dequeued::Empty => return,
            }
        }
    }

    #[inline]
    fn hand_to_driver(&mut self, packet: Packet, stage: &mut Stage) {
        if packet.ecn == Ecn::Ce {
            self.note_mark(&packet, stage);
        }
        let length = packet.frame_length();
        self.wire.push(packet);
        let Some(nic) = &mut self.nic else { return self.set_out(stage) };
        nic.take(length);
        if self.wire.in_ring() == 1 {
            self.serialize_first(stage);
        }
    }

    /// The first frame in the ring is put on the wire.
    fn serialize_first(&mut self, stage: &mut Stage) {
        if let (Some(nic), Some(packet)) = (&mut self.nic, self.wire.first_in_ring()) {
            let duration = nic.serialize(packet.wire_length(), stage.now);
            stage.wake_at(stage.now + duration, Event::Transmitted(self.id));
        }
    }

    /// The first packet in the ring leaves the host.
    fn set_out(&mut self, stage: &mut Stage) {
        if let Some(packet) = self.wire.first_in_ring() {
            stage.orphan(packet);
        }
        let arrival = self.wire.set_out(stage.now);
        if self.wire.is_instant() {
            stage.backlog.extend(self.wire.arrived(stage.now).map(|packet| (self.peer, packet)));
        } else if let Some(arrival) = arrival {
            stage.wake_at(arrival, Event::Arrived(self.id));
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

    fn bury_dropped(&mut self, stage: &mut Stage) {
        if stage.dropped.is_empty() {
            return;
        }
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
        disciplines(self.root.as_deref()).map(|qdisc| qdisc.counters().marked).sum()
    }
}

/// A discipline, its child, its child's child …
pub(crate) fn disciplines(root: Option<&dyn Qdisc>) -> impl Iterator<Item = &dyn Qdisc> {
    std::iter::successors(root, |qdisc| qdisc.child())
}
