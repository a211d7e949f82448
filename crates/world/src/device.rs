//! One end of a link: root discipline, NIC, and the wire to the other end.
//!
//! ```text
//! transmit → discipline → (queue not stopped) → NIC ring → serialized: credit, wake the queue → wire → peer
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
use tailback_units::{SimTime, Span};

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
    pub(crate) fn transmit(&mut self, packet: Packet, stage: &mut Stage) -> Enqueued {
        stage.cost.packets += 1;
        let Some(root) = &mut self.root else {
            self.enter_wire(packet, stage);
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
        let nic = self.nic.as_mut().expect("only a NIC serializes");
        let (packet, next) = nic.complete(stage.now);
        self.await_completion(next, stage);
        self.enter_wire(packet, stage);
        self.run(stage);
    }

    /// The instant has come at which the discipline wanted to be asked again.
    pub(crate) fn watchdog_fired(&mut self, stage: &mut Stage) {
        if self.watchdog == stage.now {
            self.watchdog = SimTime::NEVER;
            self.run(stage);
        }
    }

    /// Packets have reached the other end.
    pub(crate) fn arrived(&mut self, stage: &mut Stage) {
        while let Some(packet) = self.wire.arrived(stage.now) {
            stage.backlog.push_back((self.peer, packet));
        }
        if let Some(next) = self.wire.next_arrival() {
            stage.wake_at(next, Event::Arrived(self.id));
        }
    }

    /// Packets inside the device and on its wire.
    pub(crate) fn packets(&self) -> usize {
        let queued = self.root.as_ref().map_or(0, |root| root.backlog().packets as usize);
        queued + self.nic.as_ref().map_or(0, Nic::packets) + self.wire.packets()
    }

    /// Moves packets from the discipline to the wire until either stops. [linux-6.12 __qdisc_run]
    fn run(&mut self, stage: &mut Stage) {
        while self.nic.as_ref().is_none_or(Nic::accepts) {
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

    fn hand_to_driver(&mut self, packet: Packet, stage: &mut Stage) {
        if packet.ecn == Ecn::Ce {
            self.note_mark(&packet, stage);
        }
        match &mut self.nic {
            Some(nic) => {
                let started = nic.push(packet, stage.now);
                self.await_completion(started, stage);
            }
            None => self.enter_wire(packet, stage),
        }
    }

    fn await_completion(&self, started: Option<Span>, stage: &mut Stage) {
        if let Some(duration) = started {
            stage.wake_at(stage.now + duration, Event::Transmitted(self.id));
        }
    }

    fn enter_wire(&mut self, mut packet: Packet, stage: &mut Stage) {
        stage.orphan(&mut packet);
        if self.wire.is_instant() {
            stage.backlog.push_back((self.peer, packet));
        } else if let Some(arrival) = self.wire.send(packet, stage.now) {
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
