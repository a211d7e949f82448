//! `sfq`: stochastic fair queueing: flows are hashed into slots, which are served in turn, a quantum of bytes each.
//!
//! enqueue: bucket = hash mod `divisor` → slot; a slot holds at most `depth` packets; over `limit` packets in total,
//!          the last packet of the longest slot (in packets) is dropped, or the first with `headdrop`
//! dequeue: from the slot whose turn it is, until its allotment is used up; a new slot joins at the end of the round
//! perturb: the hash changes at this interval, and all queued packets are classified again
//! RED:     with `redflowlimit`, RED decides by the bytes of each slot (`aqm/red.rs`); with `headdrop`, it marks the first
//!          packet of the slot, or the arriving one if that cannot be marked
//! headdrop: a packet that RED drops, or one over `depth`, takes the place of the first of its slot, which is dropped; the
//!          slot keeps its place in the round and its allotment
//!
//! [mckenney1990] [linux-6.12 sch_sfq.c]. New flows have no priority. Packets of more than `flows` flows at a time are
//! dropped. The timer of `perturb` takes effect at the next arrival or departure.

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime, Span};

use crate::aqm::red::{Red, RedSettings, RedVerdict, weight_for};
use crate::flow_hash::FlowHash;
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "sfq",
    summary: "flows are hashed into slots that are served in turn, optionally with RED on each",
    source: include_str!("sfq.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MAX: u64 = 1 << 30;
/// Maximum number of slots. [linux-6.12 SFQ_MAX_FLOWS]
const MAX_FLOWS: u64 = 0x1_0000 - 128;
const NO_SLOT: u32 = u32::MAX;

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(127),
        (2, MAX),
        "maximum number of packets in all slots",
    ),
    Parameter::new(
        "quantum",
        ParameterUnit::Bytes,
        None,
        (1, MAX),
        "bytes that a slot may send per turn; default: MTU + 14",
    ),
    Parameter::new(
        "perturb",
        ParameterUnit::Number,
        Some(0),
        (0, 1 << 20),
        "seconds between changes of the hash; 0: never",
    ),
    Parameter::new(
        "divisor",
        ParameterUnit::Number,
        Some(1024),
        (1, 65_536),
        "number of buckets of the hash, a power of two",
    ),
    Parameter::new("flows", ParameterUnit::Number, Some(128), (1, MAX_FLOWS), "slots: flows held at a time"),
    Parameter::new(
        "depth",
        ParameterUnit::Packets,
        Some(127),
        (1, 127),
        "maximum number of packets per slot",
    ),
    Parameter::flag("headdrop", false, "drop the oldest packet of a slot, not the newest"),
    Parameter::new(
        "redflowlimit",
        ParameterUnit::Bytes,
        None,
        (1, MAX),
        "maximum number of bytes in a slot under RED; default: no RED",
    ),
    Parameter::new("min", ParameterUnit::Bytes, None, (1, MAX), "RED: lower threshold; default: max / 3"),
    Parameter::new(
        "max",
        ParameterUnit::Bytes,
        None,
        (1, MAX),
        "RED: upper threshold; default: redflowlimit / 4",
    ),
    Parameter::new("avpkt", ParameterUnit::Bytes, Some(1000), (1, 65_535), "RED: average packet"),
    Parameter::new(
        "burst",
        ParameterUnit::Packets,
        None,
        (1, 1_000_000),
        "RED: packets that pass when they arrive at an idle slot; default: (2 · min + max) / (3 · avpkt)",
    ),
    Parameter::new(
        "probability",
        ParameterUnit::Fraction,
        Some(85_899_345),
        (0, u32::MAX as u64),
        "RED: probability at the upper threshold",
    ),
    Parameter::flag("ecn", false, "RED: mark ECN-capable packets instead of dropping them"),
    Parameter::flag("harddrop", false, "RED: above `max` drop ECN-capable packets, too"),
];

struct Sfq {
    limits: Limits,
    quantum: i64,
    hash: FlowHash,
    perturb: Option<Span>,
    next_perturb: SimTime,
    /// The slot of each bucket.
    buckets: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots in the order of service.
    round: VecDeque<u32>,
    red: Option<SlotRed>,
    /// Counts changes of slots, to find the one changed last.
    changes: u64,
    ledger: Ledger,
    own: OwnCounters,
}

#[derive(Clone, Copy)]
struct Limits {
    packets: u32,
    depth: usize,
    headdrop: bool,
}

struct SlotRed {
    settings: RedSettings,
    probability: u64,
    ecn: bool,
    harddrop: bool,
}

#[derive(Default)]
struct Slot {
    packets: VecDeque<Box<Packet>>,
    bytes: u64,
    bucket: u32,
    allot: i64,
    changed: u64,
    red: Option<Red>,
}

#[derive(Clone, Copy, Default)]
struct OwnCounters {
    prob_mark: u64,
    prob_mark_head: u64,
    prob_drop: u64,
    forced_mark: u64,
    forced_mark_head: u64,
    forced_drop: u64,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("quantum", u64::from(device.mtu));
    if !given.require("divisor")?.is_power_of_two() {
        let why = "is not a power of two: write 128, 1024, 4096 ...".to_owned();
        return Err(ParameterError::Conflict { name: "divisor", why });
    }
    let max = given.require("depth")? * given.require("flows")?;
    let limit = given.require("limit")?.min(max);
    given.set("limit", limit);
    match given.given("redflowlimit") {
        Some(limit) => derive_red(given, limit),
        None => Ok(()),
    }
}

fn derive_red(given: &mut Parameters, limit: u64) -> Result<(), ParameterError> {
    given.set_default("max", (limit / 4).max(1));
    let max = given.require("max")?;
    given.set_default("min", max / 3);
    let (min, packet) = (given.require("min")?, given.require("avpkt")?);
    given.set_default("burst", (2 * min + max) / (3 * packet));
    let burst = given.require("burst")?;
    if min >= max || weight_for(min, burst, packet).is_none() {
        let why = format!(
            "({min} to {max} b, burst {burst}) is too small for RED: give a larger `redflowlimit`, or `burst`"
        );
        return Err(ParameterError::Conflict { name: "min", why });
    }
    Ok(())
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let flows = value("flows")? as u32;
    let perturb = Some(value("perturb")?).filter(|&secs| secs > 0).map(Span::from_secs);
    Ok(Box::new(Sfq {
        limits: Limits {
            packets: value("limit")? as u32,
            depth: value("depth")? as usize,
            headdrop: value("headdrop")? == 1,
        },
        quantum: value("quantum")? as i64,
        hash: FlowHash::default(),
        next_perturb: SimTime::ZERO + perturb.unwrap_or(Span::ZERO),
        perturb,
        buckets: vec![NO_SLOT; value("divisor")? as usize],
        slots: (0..flows).map(|_| Slot::default()).collect(),
        free: (0..flows).rev().collect(),
        round: VecDeque::new(),
        red: red_of(given)?,
        changes: 0,
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

fn red_of(given: &Parameters) -> Result<Option<SlotRed>, ParameterError> {
    if given.given("redflowlimit").is_none() {
        return Ok(None);
    }
    let value = |name| given.require(name);
    let (min, packet) = (value("min")?, value("avpkt")?);
    let weight = weight_for(min, value("burst")?, packet).unwrap_or(1);
    Ok(Some(SlotRed {
        settings: RedSettings::new(min, value("max")?, weight, Span::from_micros(packet * 8 / 10)),
        probability: value("probability")?,
        ecn: value("ecn")? == 1,
        harddrop: value("harddrop")? == 1,
    }))
}

impl Qdisc for Sfq {
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.perturb_if_due(context);
        self.ledger.arrive(&packet);
        let bucket = self.bucket_of(&packet, context);
        let Some(slot) = self.slot_of(bucket) else {
            return self.refuse(packet, DropReason::FlowFull, context);
        };
        if let Some(reason) = self.congestion(slot, &mut packet, context) {
            if !self.limits.headdrop {
                return self.refuse(packet, reason, context);
            }
            return self.replace_head(slot, packet, reason, context);
        }
        packet.enqueued = context.now;
        self.append(slot, packet);
        if self.ledger.backlog().packets > self.limits.packets
            && self.drop_from_longest(context) == Some(slot)
        {
            return Enqueued::Congestion;
        }
        Enqueued::Queued
    }

    fn can_bypass(&self) -> bool {
        self.limits.packets > 0
    }

    fn count_bypassed(&mut self, bypassed: Bypassed) {
        self.ledger.bypass(bypassed);
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        self.perturb_if_due(context);
        while let Some(&slot) = self.round.front() {
            if self.slots[slot as usize].allot <= 0 {
                self.slots[slot as usize].allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let Some(packet) = self.take(slot, End::Head) else { break };
            self.ledger.leave(&packet);
            self.slots[slot as usize].allot -= i64::from(packet.frame_length());
            return Dequeued::Packet(packet);
        }
        debug_assert_eq!(self.backlog().packets, 0, "a packet is unaccounted for");
        Dequeued::Empty
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.ledger.keep(length);
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

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        if self.red.is_some() {
            show("prob_mark", self.own.prob_mark);
            show("prob_mark_head", self.own.prob_mark_head);
            show("prob_drop", self.own.prob_drop);
            show("forced_mark", self.own.forced_mark);
            show("forced_mark_head", self.own.forced_mark_head);
            show("forced_drop", self.own.forced_drop);
        }
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

/// The end of a queue from which a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

impl Sfq {
    fn bucket_of(&mut self, packet: &Packet, context: &mut Context<'_>) -> u32 {
        self.hash.of_headers(packet, context) & (self.buckets.len() as u32 - 1)
    }

    /// The slot of the bucket, a free one if it has none.
    fn slot_of(&mut self, bucket: u32) -> Option<u32> {
        let slot = self.buckets[bucket as usize];
        if slot != NO_SLOT {
            return Some(slot);
        }
        let slot = self.free.pop()?;
        self.buckets[bucket as usize] = slot;
        let red = self.red.as_ref().map(|red| Red::new(red.probability));
        self.slots[slot as usize] = Slot { bucket, red, ..Slot::default() };
        Some(slot)
    }

    fn append(&mut self, slot: u32, packet: Box<Packet>) {
        self.changes += 1;
        let queue = &mut self.slots[slot as usize];
        queue.bytes += u64::from(packet.frame_length());
        queue.packets.push_back(packet);
        queue.changed = self.changes;
        if queue.packets.len() == 1 {
            queue.allot = self.quantum;
            self.round.push_back(slot);
        }
    }

    fn take(&mut self, slot: u32, end: End) -> Option<Box<Packet>> {
        self.changes += 1;
        let queue = &mut self.slots[slot as usize];
        let packet = if end == End::Head { queue.packets.pop_front() } else { queue.packets.pop_back() }?;
        queue.bytes -= u64::from(packet.frame_length());
        queue.changed = self.changes;
        self.leave_if_empty(slot);
        Some(packet)
    }

    fn leave_if_empty(&mut self, slot: u32) {
        if self.slots[slot as usize].packets.is_empty() {
            self.buckets[self.slots[slot as usize].bucket as usize] = NO_SLOT;
            self.free.push(slot);
            self.leave_round(slot);
        }
    }

    /// Removes a slot that has just been served, the first of the round.
    fn leave_round(&mut self, slot: u32) {
        if self.round.front() == Some(&slot) {
            self.round.pop_front();
        } else {
            self.round.retain(|&other| other != slot);
        }
    }

    fn refuse(&mut self, packet: Box<Packet>, reason: DropReason, context: &mut Context<'_>) -> Enqueued {
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
        Enqueued::Dropped
    }

    /// Why the slot takes a packet only in exchange for its first; `None` if it takes one more.
    fn congestion(
        &mut self,
        slot: u32,
        packet: &mut Packet,
        context: &mut Context<'_>,
    ) -> Option<DropReason> {
        if self.red_hits(slot, packet, context) {
            return Some(DropReason::Aqm);
        }
        let full = self.slots[slot as usize].packets.len() >= self.limits.depth;
        full.then_some(DropReason::FlowFull)
    }

    /// Appends a packet to a slot and drops its first; the slot keeps its place in the round and its allotment.
    fn replace_head(
        &mut self,
        slot: u32,
        mut packet: Box<Packet>,
        reason: DropReason,
        context: &mut Context<'_>,
    ) -> Enqueued {
        packet.enqueued = context.now;
        let queue = &mut self.slots[slot as usize];
        queue.bytes += u64::from(packet.frame_length());
        queue.packets.push_back(packet);
        if let Some(head) = queue.packets.pop_front() {
            queue.bytes -= u64::from(head.frame_length());
            self.refuse(head, reason, context);
        }
        Enqueued::Congestion
    }

    /// Drops a packet from the longest slot, the one changed last among equals; if no slot holds two, from the
    /// next to be served.
    fn drop_from_longest(&mut self, context: &mut Context<'_>) -> Option<u32> {
        let length = |slot: &u32| self.slots[*slot as usize].packets.len();
        let longest = self
            .round
            .iter()
            .copied()
            .max_by_key(|slot| (length(slot), self.slots[*slot as usize].changed))?;
        let victim = if length(&longest) > 1 { longest } else { *self.round.front()? };
        let end = if self.limits.headdrop { End::Head } else { End::Tail };
        let packet = self.take(victim, end)?;
        self.refuse(packet, DropReason::Overlimit, context);
        Some(victim)
    }

    /// True if RED drops a packet of this slot.
    fn red_hits(&mut self, slot: u32, packet: &mut Packet, context: &mut Context<'_>) -> bool {
        let Some(red) = &self.red else { return false };
        let queue = &mut self.slots[slot as usize];
        let Some(law) = queue.red.as_mut().filter(|_| !queue.packets.is_empty()) else { return false };
        let verdict = law.arrive(queue.bytes, &red.settings, context.now, context.draws);
        let (marked, marked_head, dropped) = match verdict {
            RedVerdict::Pass => return false,
            RedVerdict::ByChance => {
                (&mut self.own.prob_mark, &mut self.own.prob_mark_head, &mut self.own.prob_drop)
            }
            RedVerdict::Forced => {
                (&mut self.own.forced_mark, &mut self.own.forced_mark_head, &mut self.own.forced_drop)
            }
        };
        self.ledger.overlimits += 1;
        let spared = red.ecn && !(verdict == RedVerdict::Forced && red.harddrop);
        let head = queue.packets.front_mut().filter(|_| self.limits.headdrop);
        let head = head.map(|head| (&mut **head, marked_head));
        for (target, counter) in head.into_iter().chain([(packet, marked)]) {
            if spared && target.mark() {
                *counter += 1;
                self.ledger.marked += 1;
                return false;
            }
        }
        *dropped += 1;
        true
    }

    fn perturb_if_due(&mut self, context: &mut Context<'_>) {
        let Some(period) = self.perturb.filter(|_| self.next_perturb <= context.now) else { return };
        self.next_perturb = next_after(context.now, self.next_perturb, period);
        self.hash.perturb(context);
        self.rehash(context);
    }

    fn rehash(&mut self, context: &mut Context<'_>) {
        self.ledger.note();
        let mut waiting = Vec::new();
        for slot in std::mem::take(&mut self.round) {
            waiting.extend(std::mem::take(&mut self.slots[slot as usize].packets));
            self.slots[slot as usize].bytes = 0;
            self.leave_if_empty(slot);
        }
        for packet in waiting {
            let bucket = self.bucket_of(&packet, context);
            match self.slot_of(bucket) {
                Some(slot) if self.slots[slot as usize].packets.len() < self.limits.depth => {
                    self.append(slot, packet)
                }
                _ => drop(self.refuse(packet, DropReason::FlowFull, context)),
            }
        }
    }
}

/// The first instant after `now` that is a whole number of periods after `due`.
fn next_after(now: SimTime, due: SimTime, period: Span) -> SimTime {
    due + period * (now.since(due).as_nanos() / period.as_nanos() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};
    use tailback_packet::Ecn;

    #[test]
    fn all_flows_together_hold_127_packets_and_one_alone_may_hold_them_all() {
        let mut rig = Rig::of("sfq", &[]);
        rig.fill(200, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().packets, 127);
    }

    #[test]
    fn two_flows_under_overload_hold_half_each() {
        let mut rig = Rig::of("sfq", &[]);
        for _ in 0..200 {
            rig.enqueue(packet(0, 1514));
            rig.enqueue(packet(1, 1514));
        }
        let held = (0..127).filter_map(|_| rig.serve(10_000_000)).filter(|sent| sent.from.0 == 0).count();
        assert!((63..=64).contains(&held), "{held}");
    }

    #[test]
    fn a_sparse_flow_loses_no_packet_beside_a_bulk_flow() {
        let mut rig = Rig::of("sfq", &[]);
        rig.fill(300, &packet(0, 1514));
        (0..10).for_each(|_| assert_eq!(rig.enqueue(packet(1, 200)), Enqueued::Queued));
        assert!(rig.effects.dropped.iter().all(|(lost, _)| lost.from.0 == 0));
    }

    #[test]
    fn flows_get_equal_bytes_and_a_new_one_waits_for_its_turn() {
        let mut rig = Rig::of("sfq", &[("quantum", 3028)]);
        rig.fill(20, &packet(0, 1514));
        rig.serve(10_000_000);
        rig.fill(2, &packet(1, 1514));
        let order: Vec<u32> = (0..6).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.from.0).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn packets_of_more_flows_than_slots_are_dropped() {
        let mut rig = Rig::of("sfq", &[("flows", 4), ("divisor", 65_536)]);
        let answers: Vec<_> = (0..6).map(|flow| rig.enqueue(packet(flow, 100))).collect();
        assert_eq!(answers.iter().filter(|&&answer| answer == Enqueued::Dropped).count(), 2);
    }

    #[test]
    fn the_tail_is_dropped_unless_headdrop_is_set() {
        for (headdrop, lost) in [(0, 10), (1, 0)] {
            let mut rig = Rig::of("sfq", &[("limit", 10), ("headdrop", headdrop)]);
            for n in 0..11 {
                rig.enqueue(numbered(0, n));
            }
            assert_eq!(crate::testing::number(&rig.effects.dropped[0].0), lost);
        }
    }

    #[test]
    fn a_packet_costs_its_slot_its_bytes_without_rounding() {
        let mut rig = Rig::of("sfq", &[("quantum", 144)]);
        rig.fill(4, &packet(0, 66));
        rig.fill(4, &packet(1, 66));
        let order: Vec<u32> = std::iter::from_fn(|| rig.serve(10_000_000)).map(|sent| sent.from.0).collect();
        assert_eq!(order, [0, 0, 0, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn a_slot_whose_only_packet_is_replaced_keeps_its_place_in_the_round() {
        let mut rig = Rig::of("sfq", &[("depth", 1), ("headdrop", 1)]);
        for (flow, n) in [(0, 1), (1, 2)] {
            rig.enqueue(numbered(flow, n));
        }
        assert_eq!(rig.enqueue(numbered(0, 3)), Enqueued::Congestion);
        assert_eq!(crate::testing::number(&rig.effects.dropped[0].0), 1);
        assert_eq!(rig.drain(), [3, 2]);
        assert_eq!(rig.qdisc.backlog().bytes, 0);
    }

    #[test]
    fn with_headdrop_red_marks_the_arriving_packet_if_the_first_cannot_be_marked() {
        let mut rig = Rig::of("sfq", &[("redflowlimit", 40_000), ("ecn", 1), ("headdrop", 1)]);
        rig.enqueue(packet(0, 1514));
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        rig.fill(100, &capable);
        let heads = rig.counter("prob_mark_head") + rig.counter("forced_mark_head");
        assert!(rig.counter("forced_mark") > 10 && heads == 0);
        assert_eq!((rig.counter("forced_drop"), rig.effects.dropped.len()), (0, 0));
    }

    #[test]
    fn a_change_of_the_hash_keeps_the_queued_packets() {
        let mut rig = Rig::of("sfq", &[("perturb", 10)]);
        for n in 0..60 {
            rig.enqueue(packet(n % 6, 500));
        }
        rig.advance(Span::from_secs(35));
        assert_eq!(std::iter::from_fn(|| rig.serve(10_000_000)).count(), 60);
    }

    #[test]
    fn red_marks_within_a_slot() {
        let mut rig = Rig::of(
            "sfq",
            &[("redflowlimit", 100_000), ("ecn", 1), ("probability", u64::from(u32::MAX) / 10)],
        );
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        for _ in 0..2000 {
            rig.enqueue(capable.clone());
            while rig.qdisc.backlog().packets > 12 {
                rig.serve(10_000_000);
            }
        }
        assert!(rig.counter("prob_mark") > 20 && rig.effects.dropped.is_empty());
    }

    #[test]
    fn a_hash_that_nobody_asked_for_a_while_changes_next_when_it_would_have_anyway() {
        let at = |secs| SimTime::ZERO + Span::from_secs(secs);
        let next = |now| next_after(at(now), at(10), Span::from_secs(10));
        assert_eq!([10, 19, 20, 35].map(next), [20, 20, 30, 40].map(at));
    }
}
