//! `pfifo_fast`: three FIFO bands in strict priority; the default discipline of the kernel.
//!
//! TOS bits 0x18 → socket priority: 0x00 → 0 · 0x08 → 2 · 0x10 → 6 · 0x18 → 4   [linux-6.12 route.c ip_tos2prio]
//! priority → band: 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1                        [linux-6.12 sch_generic.c prio2band]
//! enqueue: append if the band's ring has a free slot of `txqueuelen`, else drop the arrival
//! dequeue: the oldest packet of the lowest non-empty band
//! slots:   are freed 16 at a time, and when the last slot of the ring is read; a full ring of 1000 under load
//!          therefore holds 985 to 1000 packets                          [linux-6.12 ptr_ring.h __ptr_ring_discard_one]
//! A packet is not queued if all bands are empty and the device can send (TCQ_F_CAN_BYPASS).
//!
//! Since 4.16 each band has its own ring, so the three can hold 3 · `txqueuelen` packets.
//! Deviations: no `SO_PRIORITY`; the limit of all bands together before 4.16 is not modelled; a `txqueuelen` of 0 gives
//! rings of 1, with which the kernel refuses to attach the discipline.

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet};
use tailback_units::{ParameterError, Parameters, SimTime};

use crate::ledger::Ledger;
use crate::priority::{self, Priomap};
use crate::{
    Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Effects, Enqueued, Inner, Peeked, Qdisc, Row,
    nothing_derived,
};

pub(crate) const ROW: Row = Row {
    name: "pfifo_fast",
    summary: "three FIFO bands in strict priority, chosen by the type of service",
    source: include_str!("pfifo_fast.rs"),
    parameters: &[],
    classful: false,
    classes: None,
    derive: nothing_derived,
    build,
};

/// Slots freed at once: the pointers in two cache lines of 64 bytes. [linux-6.12 ptr_ring.h __ptr_ring_set_size]
const BATCH: usize = 16;

/// The packets of one band, and the slots that are read but not yet free.
struct Ring {
    packets: VecDeque<Box<Packet>>,
    /// The first slot of the batch that is read.
    first: usize,
    /// Its slots; they are freed together.
    batch: usize,
    /// Those of them that were read.
    stale: usize,
}

impl Ring {
    fn of(slots: usize) -> Self {
        Ring { packets: VecDeque::new(), first: 0, batch: Ring::batch_at(0, slots), stale: 0 }
    }

    /// The slots of the batch that begins with `first`. A ring of less than two batches frees its slots one by one.
    fn batch_at(first: usize, slots: usize) -> usize {
        if slots < 2 * BATCH { 1 } else { BATCH.min(slots - first) }
    }

    fn is_full(&self, slots: usize) -> bool {
        self.packets.len() + self.stale >= slots
    }

    fn pop(&mut self, slots: usize) -> Option<Box<Packet>> {
        let packet = self.packets.pop_front()?;
        self.stale += 1;
        if self.stale == self.batch {
            self.free(slots);
        }
        Some(packet)
    }

    /// Frees the slots of the batch, all of which were read; the next one begins behind them.
    #[inline(never)]
    fn free(&mut self, slots: usize) {
        let next = self.first + self.batch;
        self.first = if next >= slots { 0 } else { next };
        self.batch = Ring::batch_at(self.first, slots);
        self.stale = 0;
    }
}

/// Three rings.
pub struct PfifoFast {
    bands: [Ring; 3],
    slots: usize,
    ledger: Ledger,
}

fn build(_given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    Ok(on(device))
}

/// The default discipline of a device; it has no parameters.
pub(crate) fn on(device: &Attachment) -> Box<dyn Qdisc> {
    Box::new(PfifoFast::on(device))
}

/// The band of each value of the TOS bits 0x18.
const BANDS: [usize; 4] = Priomap(priority::DEFAULT).bands();

#[inline]
fn band_of(tos: u8) -> usize {
    BANDS[usize::from(tos >> 3 & 3)]
}

impl Qdisc for PfifoFast {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.put(packet, context.now, context.effects)
    }

    fn can_bypass(&self) -> bool {
        true
    }

    fn count_bypassed(&mut self, bypassed: Bypassed) {
        self.ledger.bypass(bypassed);
    }

    #[inline]
    fn dequeue(&mut self, _context: &mut Context<'_>) -> Dequeued {
        self.take().map_or(Dequeued::Empty, Dequeued::Packet)
    }

    fn peek(&mut self, _context: &mut Context<'_>) -> Option<Peeked> {
        let next = self.bands.iter().find_map(|band| band.packets.front());
        Some(next.map_or(Peeked::Empty, |packet| Peeked::Frame(packet.frame_length())))
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.ledger.high_water()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl PfifoFast {
    /// The default discipline of a device.
    pub(crate) fn on(device: &Attachment) -> Self {
        let slots = device.queue_length.max(1) as usize;
        PfifoFast { bands: [(); 3].map(|()| Ring::of(slots)), slots, ledger: Ledger::default() }
    }

    /// Enqueues a packet at `now`, or drops it.
    #[inline(always)]
    pub fn put(&mut self, mut packet: Box<Packet>, now: SimTime, effects: &mut Effects) -> Enqueued {
        let band = &mut self.bands[band_of(packet.tos)];
        self.ledger.arrive(&packet);
        if band.is_full(self.slots) {
            self.ledger.drop(&packet);
            effects.dropped.push((packet, DropReason::TailFull));
            return Enqueued::Dropped;
        }
        packet.enqueued = now;
        band.packets.push_back(packet);
        Enqueued::Queued
    }

    /// The next packet.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Box<Packet>> {
        let packet = self.bands.iter_mut().find_map(|band| band.pop(self.slots))?;
        self.ledger.leave(&packet);
        debug_assert_eq!(self.held(), self.backlog().packets as usize, "a packet is unaccounted for");
        Some(packet)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ledger.is_empty()
    }

    fn held(&self) -> usize {
        self.bands.iter().map(|band| band.packets.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};
    use tailback_units::Span;

    const LOW_DELAY: u8 = 0x10;
    const THROUGHPUT: u8 = 0x08;

    fn with_tos(tos: u8, packet: Packet) -> Packet {
        Packet { tos, ..packet }
    }

    #[test]
    fn the_band_follows_two_bits_of_the_type_of_service() {
        assert_eq!([0x00, THROUGHPUT, LOW_DELAY, 0x18].map(band_of), [1, 2, 0, 1]);
        let (expedited, class_1, class_6) = (0xb8, 0x20, 0xc0);
        assert_eq!([expedited, class_1, class_6].map(band_of), [1, 1, 1]);
    }

    #[test]
    fn a_low_delay_packet_overtakes_any_backlog() {
        let mut rig = Rig::of("pfifo_fast", &[]);
        for n in 0..3 {
            rig.enqueue(numbered(0, n));
        }
        rig.enqueue(with_tos(LOW_DELAY, numbered(1, 3)));
        assert_eq!(rig.drain(), [3, 0, 1, 2]);
    }

    #[test]
    fn a_throughput_packet_starves_while_best_effort_waits() {
        let mut rig = Rig::of("pfifo_fast", &[]);
        rig.enqueue(with_tos(THROUGHPUT, numbered(1, 99)));
        rig.enqueue(numbered(0, 0));
        for n in 1..50 {
            rig.enqueue(numbered(0, n));
            assert_eq!(rig.next_number(), Some(n - 1));
        }
        assert_eq!(rig.drain(), [49, 99]);
    }

    #[test]
    fn saturated_best_effort_holds_txqueuelen_packets_and_waits_1_21_s_at_10_mbit() {
        let mut rig = Rig::of("pfifo_fast", &[]);
        rig.fill(1500, &packet(0, 1514));
        assert_eq!((rig.qdisc.backlog().packets, rig.effects.dropped.len()), (1000, 500));
        (1..1000).for_each(|_| drop(rig.serve(10_000_000)));
        let last = rig.serve(10_000_000).expect("the last packet");
        assert_eq!(rig.now.since(last.enqueued), Span::from_micros(1_211_200));
    }

    /// How many packets of a flood a full ring accepts for each one that leaves.
    fn taken_per_packet_that_leaves(leaving: usize) -> Vec<u64> {
        let mut rig = Rig::of("pfifo_fast", &[]);
        rig.fill(1000, &packet(0, 1514));
        let mut taken = Vec::new();
        for _ in 0..leaving {
            rig.serve(10_000_000);
            let before = rig.qdisc.backlog().packets;
            rig.fill(20, &packet(0, 1514));
            taken.push(u64::from(rig.qdisc.backlog().packets - before));
        }
        taken
    }

    #[test]
    fn slots_are_freed_sixteen_at_a_time() {
        let batch: Vec<u64> = [[0; 15].as_slice(), &[16]].concat();
        assert_eq!(taken_per_packet_that_leaves(48), batch.repeat(3));
    }

    #[test]
    fn the_last_slot_of_the_ring_frees_the_rest_of_its_batch() {
        let taken = taken_per_packet_that_leaves(1016);
        // 62 batches of 16 end at slot 992; the next is one of 8.
        assert_eq!(taken[992..1000], [0, 0, 0, 0, 0, 0, 0, 8]);
        assert_eq!(taken[1000..], [[0; 15].as_slice(), &[16]].concat());
    }

    #[test]
    fn packets_that_bypass_the_queue_count_as_sent() {
        let mut rig = Rig::of("pfifo_fast", &[]);
        let mut bypassed = Bypassed::default();
        bypassed.add(&packet(0, 1514));
        bypassed.add(&Packet { segments: 3, ..packet(0, 4542) });
        rig.qdisc.count_bypassed(bypassed);
        let counters = rig.qdisc.counters();
        assert!(rig.qdisc.can_bypass());
        assert_eq!((rig.qdisc.backlog().packets, counters.sent_packets), (0, 4));
    }

    #[test]
    fn each_band_has_a_ring_of_its_own() {
        let mut rig = Rig::of("pfifo_fast", &[]);
        for tos in [0x00, THROUGHPUT, LOW_DELAY] {
            rig.fill(1001, &with_tos(tos, packet(0, 100)));
        }
        assert_eq!((rig.qdisc.backlog().packets, rig.effects.dropped.len()), (3000, 3));
    }
}
