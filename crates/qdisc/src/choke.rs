//! `choke`: RED on the number of packets, and each arrival is compared with a packet drawn from the queue: if both are of
//! the same flow, both are dropped. A flow with many packets in the queue is hit often, without any state of flows.
//!
//! enqueue: RED's average of the queue in packets (`aqm/red.rs`); if avg > min, draw a packet of the queue: of the same
//!          flow → drop both; else if avg > max → mark or drop the arrival; else RED decides
//!          over `limit` packets drop the arrival
//! draw:    a place between head and tail, uniform; a place from which a packet was dropped is a hole: drawn again, at
//!          most three times in total, then the head
//! dequeue: the oldest; idle time starts when the queue is found empty
//! defaults: max = limit/4 · min = max/3 · burst = (2 · min + max)/3 · avpkt 1000 · probability 2 %
//!
//! [pan2000 §2] [linux-6.12 sch_choke.c] [tc q_choke.c]. A match returns congestion to the sender, as every drop by RED.
//! Deviation: a flow is a pair of sockets; the kernel takes pings of the same two hosts for one flow.

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate};

use crate::aqm::red::{Red, RedSettings, RedVerdict, weight_for};
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "choke",
    summary: "RED that drops an arrival and a packet drawn from the queue if they are of the same flow",
    source: include_str!("choke.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

/// [linux-6.12 sch_choke.c CHOKE_MAX_QUEUE]
const MAX: u64 = 128 * 1024 - 1;
/// [tc q_choke.c]
const AVERAGE_PACKET: u64 = 1000;
/// Draws until the head is taken. [linux-6.12 sch_choke.c choke_peek_random]
const DRAWS: u32 = 3;

const PARAMETERS: &[Parameter] = &[
    Parameter::required("limit", ParameterUnit::Packets, (1, MAX), "maximum number of packets"),
    Parameter::required(
        "bandwidth",
        ParameterUnit::Rate,
        (8, 10_000_000_000_000),
        "rate at which the average of an idle queue decays",
    ),
    Parameter::new(
        "min",
        ParameterUnit::Packets,
        None,
        (1, MAX),
        "average queue up to which all packets pass; default: max / 3",
    ),
    Parameter::new(
        "max",
        ParameterUnit::Packets,
        None,
        (1, MAX),
        "average queue above which every packet is hit; default: limit / 4",
    ),
    Parameter::new(
        "burst",
        ParameterUnit::Packets,
        None,
        (1, 1_000_000),
        "packets that pass when they arrive at an idle queue; default: (2 · min + max) / 3",
    ),
    Parameter::new("avpkt", ParameterUnit::Bytes, Some(AVERAGE_PACKET), (1, 65_535), "average packet"),
    Parameter::new(
        "probability",
        ParameterUnit::Fraction,
        Some(85_899_345),
        (1, u32::MAX as u64),
        "probability at the upper threshold",
    ),
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
];

struct Choke {
    law: Red,
    settings: RedSettings,
    limit: u32,
    ecn: bool,
    /// The packets in order; a hole is where one was dropped. The first and the last place are never holes.
    queue: VecDeque<Option<Box<Packet>>>,
    ledger: Ledger,
    own: OwnCounters,
}

/// Counters that only `choke` has.
#[derive(Clone, Copy, Default)]
struct OwnCounters {
    early: u64,
    pdrop: u64,
    marked: u64,
    matched: u64,
}

fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    let limit = given.require("limit")?;
    let max = given.given("max").unwrap_or(limit / 4);
    let min = given.given("min").unwrap_or(max / 3);
    let burst = given.given("burst").unwrap_or((2 * min + max) / 3);
    if max > limit {
        let why = format!("({max}) is above `limit` ({limit}): give less");
        return Err(ParameterError::Conflict { name: "max", why });
    }
    if min >= max {
        let why = format!("({min}) is not below `max` ({max}): give both, or a larger `limit`");
        return Err(ParameterError::Conflict { name: "min", why });
    }
    if weight_for(min, burst, 1).is_none() {
        let why = format!("({burst} packets) does not go with `min` ({min}): give more");
        return Err(ParameterError::Conflict { name: "burst", why });
    }
    [("max", max), ("min", min), ("burst", burst)].iter().for_each(|(name, value)| given.set(name, *value));
    Ok(())
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let weight = weight_for(value("min")?, value("burst")?, 1).unwrap_or(1);
    let sample = Rate::from_bits_per_sec(value("bandwidth")?).time_for(Bytes(value("avpkt")?));
    Ok(Box::new(Choke {
        law: Red::new(value("probability")?),
        settings: RedSettings::new(value("min")?, value("max")?, weight, sample),
        limit: value("limit")? as u32,
        ecn: value("ecn")? == 1,
        queue: VecDeque::new(),
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

impl Qdisc for Choke {
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        // The packets before this one: it is already in the ledger.
        let queued = self.ledger.backlog().packets - 1;
        self.law.sample(queued.into(), &self.settings, context.now);
        if !self.law.is_above(self.settings.min, &self.settings) {
            self.law.end_gap();
        } else if self.is_hit(&mut packet, context) {
            return self.drop(packet, DropReason::Aqm, Enqueued::Congestion, context);
        }
        // A match is a hit, so that the queue is as long as before.
        if queued >= self.limit {
            self.own.pdrop += 1;
            return self.drop(packet, DropReason::TailFull, Enqueued::Dropped, context);
        }
        packet.enqueued = context.now;
        self.queue.push_back(Some(packet));
        Enqueued::Queued
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let Some(packet) = self.queue.pop_front().flatten() else {
            self.law.ran_empty(context.now);
            return Dequeued::Empty;
        };
        self.close_holes();
        self.ledger.leave(&packet);
        Dequeued::Packet(packet)
    }

    fn peek(&mut self, _context: &mut Context<'_>) -> Option<Peeked> {
        let head = self.queue.front().and_then(Option::as_ref);
        Some(head.map_or(Peeked::Empty, |packet| Peeked::Frame(packet.frame_length())))
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
        show("marked", self.own.marked);
        show("early", self.own.early);
        show("pdrop", self.own.pdrop);
        show("other", 0);
        show("matched", self.own.matched);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl Choke {
    /// Whether an arrival above the lower threshold is dropped.
    fn is_hit(&mut self, packet: &mut Packet, context: &mut Context<'_>) -> bool {
        if self.drops_a_match(packet, context) {
            return true;
        }
        if self.law.is_above(self.settings.max, &self.settings) {
            self.law.end_gap();
        } else if self.law.decide(&self.settings, context.draws) == RedVerdict::Pass {
            return false;
        }
        self.ledger.overlimits += 1;
        if self.ecn && packet.mark() {
            self.own.marked += 1;
            self.ledger.marked += 1;
            return false;
        }
        self.own.early += 1;
        true
    }

    /// Draws a packet of the queue and drops it if it is of the same flow.
    fn drops_a_match(&mut self, packet: &Packet, context: &mut Context<'_>) -> bool {
        let Some(place) = self.drawn(context.draws) else { return false };
        let of_flow = |drawn: &mut Box<Packet>| (drawn.from, drawn.to) == (packet.from, packet.to);
        let Some(victim) = self.queue[place].take_if(of_flow) else { return false };
        self.close_holes();
        self.own.matched += 1;
        self.ledger.drop(&victim);
        context.refuse(victim, DropReason::Aqm);
        true
    }

    /// The place of a packet drawn at random; `None` if the queue is empty.
    fn drawn(&self, draws: &mut dyn Rng) -> Option<usize> {
        let places = self.queue.len() as u64;
        (places > 0).then(|| {
            let mut draw = || ((u64::from(draws.next_u32()) * places) >> 32) as usize;
            (0..DRAWS).map(|_| draw()).find(|&place| self.queue[place].is_some()).unwrap_or(0)
        })
    }

    /// Removes the holes at both ends.
    fn close_holes(&mut self) {
        while matches!(self.queue.front(), Some(None)) {
            self.queue.pop_front();
        }
        while matches!(self.queue.back(), Some(None)) {
            self.queue.pop_back();
        }
    }

    fn drop(
        &mut self,
        packet: Box<Packet>,
        reason: DropReason,
        answer: Enqueued,
        context: &mut Context<'_>,
    ) -> Enqueued {
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use tailback_packet::Ecn;

    const GIVEN: [(&str, u64); 2] = [("limit", 400), ("bandwidth", 10_000_000)];

    #[test]
    fn the_defaults_are_those_of_tc() {
        let given = Parameters::new(GIVEN.map(|(name, value)| (name.to_owned(), value)).into());
        let resolved = crate::registry::resolve("choke", &given, &Attachment::default()).unwrap();
        let of = |name| resolved.given(name).unwrap();
        assert_eq!(["max", "min", "burst", "avpkt"].map(of), [100, 33, 55, 1000]);
    }

    #[test]
    fn below_the_lower_threshold_every_packet_passes() {
        let mut rig = Rig::of("choke", &GIVEN);
        for _ in 0..4000 {
            rig.enqueue(packet(0, 1000));
            while rig.qdisc.backlog().packets > 20 {
                rig.dequeue();
            }
        }
        assert_eq!((rig.qdisc.counters().dropped, rig.qdisc.counters().sent_packets), (0, 3980));
    }

    #[test]
    fn a_match_drops_both_and_congestion_is_returned() {
        let mut rig = Rig::of("choke", &GIVEN);
        let answers: Vec<_> = (0..500).map(|_| rig.enqueue(packet(0, 1000))).collect();
        let hit = answers.iter().filter(|answer| **answer == Enqueued::Congestion).count() as u64;
        let (matched, early) = (rig.counter("matched"), rig.counter("early"));
        assert!(matched > 0 && hit == matched + early);
        assert_eq!(rig.qdisc.counters().dropped, 2 * matched + early);
    }

    #[test]
    fn a_flow_that_sends_too_much_loses_what_the_others_do_not() {
        // Service is 1. The large flow sends 3/2, many others 1/2 together, so that 1/2 is left for it: of its packets a
        // third. With a share h of the queue, an arrival matches with probability h and costs two packets:
        // 1 - 2h = 1/3, h = 1/3. RED hits few in addition.
        let mut rig = Rig::of("choke", &[("limit", 1200), GIVEN[1], ("min", 30), ("max", 1200)]);
        let (mut left, rounds) = ([0_u32; 2], 40_000);
        for round in 0..rounds {
            for flow in [0, 0, 0, 1 + round % 64] {
                rig.enqueue(packet(flow, 1000));
            }
            for _ in 0..2 {
                if let Dequeued::Packet(packet) = rig.dequeue() {
                    left[usize::from(packet.from.0 > 0)] += 1;
                }
            }
        }
        let matched = rig.counter("matched") as f64 / f64::from(3 * rounds);
        assert!((matched - 1.0 / 3.0).abs() < 0.03, "{matched}");
        assert!(f64::from(left[1]) > 0.95 * f64::from(rounds), "{left:?}");
        assert!((f64::from(left[0]) / f64::from(rounds) - 1.0).abs() < 0.05, "{left:?}");
    }

    #[test]
    fn marks_spare_capable_packets_of_other_flows() {
        let mut rig = Rig::of("choke", &[GIVEN[0], GIVEN[1], ("ecn", 1)]);
        for flow in 0..3000 {
            rig.enqueue(Packet { ecn: Ecn::Ect0, ..packet(flow, 1000) });
            while rig.qdisc.backlog().packets > 90 {
                rig.dequeue();
            }
        }
        assert_eq!((rig.counter("early"), rig.counter("matched")), (0, 0));
        assert!(rig.counter("marked") > 20 && rig.qdisc.counters().marked == rig.counter("marked"));
    }

    #[test]
    fn the_limit_holds_before_the_average_has_risen() {
        let given = [("limit", 30), ("bandwidth", 10_000_000), ("min", 20), ("max", 30), ("burst", 5000)];
        let mut rig = Rig::of("choke", &given);
        (0..50).for_each(|flow| rig.fill(1, &packet(flow, 1000)));
        assert_eq!((rig.counter("pdrop"), rig.qdisc.backlog().packets), (20, 30));
    }

    #[test]
    fn a_hole_at_the_head_is_passed_over() {
        let mut rig = Rig::of("choke", &GIVEN);
        rig.fill(300, &packet(0, 1000));
        let mut left = 0;
        while let Dequeued::Packet(_) = rig.dequeue() {
            left += 1;
        }
        assert_eq!((left, rig.qdisc.backlog()), (rig.qdisc.counters().sent_packets, Backlog::default()));
    }
}
