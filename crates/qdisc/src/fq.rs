//! `fq`: a FIFO per socket, served by DRR++; each packet is held until its departure time.
//!
//! classify: a packet of a local connected socket by the socket, others by hash & `orphan_mask`, as do pings and SYN-ACKs;
//!           the band by the type of service
//! enqueue:  drop over `limit` per band, over `flow_limit` per flow, or if due later than `horizon`; else insert in the
//!           order of departure times; if due now and no flow holds packets that may leave, append to the
//!           fast path, which marks nothing
//! dequeue:  the fast path first; flows whose time has come join the old ones; bands share by `weights`; in a band, new
//!           flows go before old ones, each with a quantum of credit; a head that is not due throttles its flow
//! defect:   a flow joins the new ones of the band of its packet before. One that never had a packet joins those of band
//!           0, and under load waits until the credit of the other bands is used up                   [fq_enqueue]
//! maxrate:  after a packet its flow waits L / rate. After one without a departure time, up to `low_rate_threshold` its
//!           turn ends; above it waits max(L, quantum) / rate, once its credit is used up. A late packet shortens
//!           the next wait by at most half
//! ce:       a packet that leaves `ce_threshold` late is marked if it can be; `ce_mark` counts it in any case
//!
//! TCP gives each packet its earliest departure time. Above `fq`, TCP sets no pacing timer, whatever its control; `fq`
//! holds the packets.                                                      [linux-6.12 sch_fq.c] [rfc8290 §4.2]
//!
//! Deviations: flows are not garbage-collected, which Linux does if one has been idle for 3 s and another is looked up in
//! the same of `buckets` trees; no `SO_MAX_PACING_RATE` per socket; `timer_slack`, `buckets` and `offload_horizon` are
//! accepted and have no effect; no packet leaves before its time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tailback_packet::{DropReason, HostId, Packet, Payload, Segment, SegmentFlags};
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate, SimTime, Span};

use crate::flow_hash::FlowHash;
use crate::index_list::{IndexList, NONE};
use crate::ledger::Ledger;
use crate::priority::{self, PRIOMAP, Priomap};
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "fq",
    summary: "a queue per socket; each packet is held until its departure time",
    source: include_str!("fq.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const U32_MAX: u64 = u32::MAX as u64;
const MAX_RATE: u64 = 10_000_000_000_000;
/// Maximum of `maxrate`: the kernel has 32 bits of bytes per second.
const LARGEST_MAXRATE: u64 = (u32::MAX as u64 - 1) * 8;
const BANDS: usize = 3;
/// Maximum delay of a flow after a packet. [linux-6.12 sch_fq.c fq_dequeue]
const LONGEST_GAP: u64 = SECOND;
/// [linux-6.12 pkt_sched.h FQ_MIN_WEIGHT]
const MIN_WEIGHT: u64 = 16_384;
/// The fast path holds fewer packets than this.
const FAST_PATH: usize = 8;

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(10_000),
        (0, U32_MAX),
        "maximum number of packets per band",
    ),
    Parameter::new(
        "flow_limit",
        ParameterUnit::Packets,
        Some(100),
        (0, U32_MAX),
        "maximum number of packets per flow",
    ),
    Parameter::new(
        "quantum",
        ParameterUnit::Bytes,
        None,
        (1, 1 << 20),
        "bytes per turn; default: 2 · (MTU + 14)",
    ),
    Parameter::new(
        "initial_quantum",
        ParameterUnit::Bytes,
        None,
        (0, i32::MAX as u64),
        "bytes that a new flow may send in its first turn; default: 10 · (MTU + 14)",
    ),
    Parameter::new(
        "maxrate",
        ParameterUnit::Rate,
        None,
        (8, LARGEST_MAXRATE),
        "maximum rate of each flow; default: none",
    ),
    Parameter::new(
        "buckets",
        ParameterUnit::Number,
        Some(1024),
        (2, 1 << 18),
        "no effect: flows are found without a hash table",
    ),
    Parameter::flag("pacing", true, "limit flows to the rates of their sockets and to `maxrate`"),
    Parameter::new(
        "refill_delay",
        ParameterUnit::Time,
        Some(40 * MS),
        (0, 4 * SECOND),
        "idle time after which a flow has at least a quantum of credit",
    ),
    Parameter::new(
        "low_rate_threshold",
        ParameterUnit::Rate,
        Some(550_000),
        (0, MAX_RATE),
        "below this rate each packet is paced individually",
    ),
    Parameter::new(
        "orphan_mask",
        ParameterUnit::Number,
        Some(1023),
        (0, U32_MAX),
        "mask of the hash of packets without a socket",
    ),
    Parameter::new(
        "timer_slack",
        ParameterUnit::Time,
        Some(10 * US),
        (0, SECOND),
        "no effect: timers are exact",
    ),
    Parameter::new(
        "ce_threshold",
        ParameterUnit::Time,
        None,
        (0, 4 * SECOND),
        "mark every ECN-capable packet that leaves later; default: none",
    ),
    Parameter::new(
        "horizon",
        ParameterUnit::Time,
        Some(10 * SECOND),
        (0, 4000 * SECOND),
        "maximum time from now to the departure of a packet",
    ),
    Parameter::choice(
        "horizon_action",
        &["drop", "cap"],
        "treatment of a packet that is due later than `horizon`",
    ),
    Parameter::new(
        "weight_0",
        ParameterUnit::Bytes,
        Some(589_824),
        (MIN_WEIGHT, 1 << 30),
        "bytes of band 0 per round",
    ),
    Parameter::new(
        "weight_1",
        ParameterUnit::Bytes,
        Some(196_608),
        (MIN_WEIGHT, 1 << 30),
        "bytes of band 1 per round",
    ),
    Parameter::new(
        "weight_2",
        ParameterUnit::Bytes,
        Some(65_536),
        (MIN_WEIGHT, 1 << 30),
        "bytes of band 2 per round",
    ),
    PRIOMAP,
    Parameter::new(
        "offload_horizon",
        ParameterUnit::Time,
        Some(0),
        (0, 10 * SECOND),
        "no effect: NICs here do not hold packets",
    ),
];

struct Fq {
    settings: Settings,
    flows: Vec<Flow>,
    links: Vec<u32>,
    /// The flow of each local socket, and of each hash.
    by_socket: Vec<u32>,
    by_hash: BTreeMap<u32, u32>,
    fast: VecDeque<Box<Packet>>,
    bands: [Band; BANDS],
    band: usize,
    throttled: BTreeSet<(SimTime, u32)>,
    /// Number of flows on a list of new or old ones that hold packets.
    active: u32,
    hash: FlowHash,
    ledger: Ledger,
    own: OwnCounters,
}

struct Settings {
    limit: u32,
    flow_limit: usize,
    quantum: i64,
    initial_quantum: i64,
    maxrate: Rate,
    pacing: bool,
    refill_delay: Span,
    low_rate: Rate,
    orphan_mask: u32,
    ce_threshold: Option<Span>,
    horizon: Span,
    caps: bool,
    priomap: Priomap,
    host: HostId,
}

#[derive(Default)]
struct Band {
    new: IndexList,
    old: IndexList,
    packets: u32,
    credit: i64,
    weight: i64,
}

impl Band {
    fn may_send(&self) -> bool {
        self.credit > 0 && !(self.new.is_empty() && self.old.is_empty())
    }
}

struct Flow {
    queue: VecDeque<(SimTime, Box<Packet>)>,
    credit: i64,
    next: SimTime,
    place: Place,
    /// Of its newest packet, at first 0: whose lists it joins next.
    band: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Detached { since: SimTime },
    Listed,
    Throttled,
}

#[derive(Clone, Copy, Default)]
struct OwnCounters {
    fast_path: u64,
    throttled: u64,
    /// Packets over `ce_threshold`, ECN-capable or not.
    ce_marks: u64,
    flow_limit_drops: u64,
    too_long: u64,
    horizon_drops: u64,
    horizon_caps: u64,
    band_drops: [u64; BANDS],
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set("buckets", given.require("buckets")?.next_power_of_two());
    given.set_default("quantum", 2 * u64::from(device.mtu));
    given.set_default("initial_quantum", 10 * u64::from(device.mtu));
    priority::check(given.require("priomap")?, BANDS as u64)
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let span = |name| given.require(name).map(Span::from_nanos);
    let weights = [value("weight_0")?, value("weight_1")?, value("weight_2")?];
    let orphan_mask = value("orphan_mask")? as u32;
    Ok(Box::new(Fq {
        settings: Settings {
            limit: value("limit")? as u32,
            flow_limit: value("flow_limit")? as usize,
            quantum: value("quantum")? as i64,
            initial_quantum: value("initial_quantum")? as i64,
            maxrate: given.given("maxrate").map_or(Rate::UNLIMITED, Rate::from_bits_per_sec),
            pacing: value("pacing")? == 1,
            refill_delay: span("refill_delay")?,
            low_rate: Rate::from_bits_per_sec(value("low_rate_threshold")?),
            orphan_mask,
            ce_threshold: given.given("ce_threshold").map(Span::from_nanos),
            horizon: span("horizon")?,
            caps: value("horizon_action")? == 1,
            priomap: Priomap(value("priomap")?),
            host: device.host,
        },
        flows: Vec::new(),
        links: Vec::new(),
        by_socket: Vec::new(),
        by_hash: BTreeMap::new(),
        fast: VecDeque::new(),
        bands: weights.map(|weight| Band { weight: weight as i64, credit: weight as i64, ..Band::default() }),
        band: 0,
        throttled: BTreeSet::new(),
        active: 0,
        hash: FlowHash::default(),
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

impl Qdisc for Fq {
    #[inline]
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        let band = self.settings.priomap.band_of(packet.tos);
        if self.bands[band].packets >= self.settings.limit {
            self.own.band_drops[band] += 1;
            return self.refuse(packet, DropReason::TailFull, context);
        }
        let Some(due) = self.due_time(&packet, context.now) else {
            self.own.horizon_drops += 1;
            return self.refuse(packet, DropReason::Horizon, context);
        };
        if self.may_pass(due, context.now) {
            packet.enqueued = context.now;
            self.own.fast_path += 1;
            self.fast.push_back(packet);
            return Enqueued::Queued;
        }
        let flow = self.flow_of(&packet, context);
        if self.flows[flow as usize].queue.len() >= self.settings.flow_limit {
            self.own.flow_limit_drops += 1;
            return self.refuse(packet, DropReason::FlowFull, context);
        }
        packet.enqueued = context.now;
        self.append(flow, band, (due, packet), context.now);
        Enqueued::Queued
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        if let Some(packet) = self.fast.pop_front() {
            self.ledger.leave(&packet);
            return Dequeued::Packet(packet);
        }
        if self.ledger.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        self.wake_throttled(context.now);
        while let Some(band) = self.next_band() {
            if let Some(packet) = self.take_from(band, context.now) {
                self.ledger.leave(&packet);
                return Dequeued::Packet(packet);
            }
        }
        match self.throttled.first() {
            Some((at, _)) => Dequeued::NotBefore(*at),
            None => Dequeued::Empty,
        }
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
        let flows = self.flows.len() as u64;
        let throttled = self.throttled.len() as u64;
        show("flows", flows);
        show("inactive", flows - throttled - u64::from(self.active));
        show("throttled_flows", throttled);
        show("gc", 0);
        show("fastpath", self.own.fast_path);
        show("throttled", self.own.throttled);
        show("ce_mark", self.own.ce_marks);
        show("flows_plimit", self.own.flow_limit_drops);
        show("pkts_too_long", self.own.too_long);
        show("horizon_drops", self.own.horizon_drops);
        show("horizon_caps", self.own.horizon_caps);
        show("band0_drops", self.own.band_drops[0]);
        show("band1_drops", self.own.band_drops[1]);
        show("band2_drops", self.own.band_drops[2]);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn takes_over_pacing(&self) -> bool {
        self.settings.pacing
    }
}

impl Fq {
    fn refuse(&mut self, packet: Box<Packet>, reason: DropReason, context: &mut Context<'_>) -> Enqueued {
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
        Enqueued::Dropped
    }

    /// When the packet may leave; `None` if it is dropped because that is beyond the horizon.
    fn due_time(&mut self, packet: &Packet, now: SimTime) -> Option<SimTime> {
        let latest = now + self.settings.horizon;
        if packet.departure <= latest {
            return Some(packet.departure.max(now));
        }
        if !self.settings.caps {
            return None;
        }
        self.own.horizon_caps += 1;
        Some(latest)
    }

    /// True if no packet is before this one, and it is due. [linux-6.12 sch_fq.c fq_fastpath_check]
    #[inline]
    fn may_pass(&self, due: SimTime, now: SimTime) -> bool {
        if due > now || !self.settings.maxrate.is_unlimited() {
            return false;
        }
        let none_due = self.throttled.first().is_none_or(|(at, _)| *at > now);
        self.ledger.backlog().packets == 1 || (self.active == 0 && self.fast.len() < FAST_PATH && none_due)
    }

    /// [linux-6.12 sch_fq.c fq_classify]
    fn has_socket(&self, packet: &Packet) -> bool {
        let is_syn_ack =
            |segment: &Segment| segment.flags.contains(SegmentFlags::SYN.with(SegmentFlags::ACK));
        match &packet.payload {
            Payload::Tcp(segment) => packet.source == self.settings.host && !is_syn_ack(segment),
            _ => packet.charged,
        }
    }

    fn flow_of(&mut self, packet: &Packet, context: &mut Context<'_>) -> u32 {
        let known = if self.has_socket(packet) {
            let key = packet.from.0 as usize;
            if self.by_socket.len() <= key {
                self.by_socket.resize(key + 1, NONE);
            }
            &mut self.by_socket[key]
        } else {
            let hash = self.hash.of(packet, context);
            self.by_hash.entry(hash & self.settings.orphan_mask).or_insert(NONE)
        };
        if *known == NONE {
            *known = self.flows.len() as u32;
            self.links.push(NONE);
            self.flows.push(Flow {
                queue: VecDeque::new(),
                credit: self.settings.initial_quantum,
                next: SimTime::ZERO,
                place: Place::Detached { since: context.now },
                band: 0,
            });
        }
        *known
    }

    fn append(&mut self, index: u32, band: usize, item: (SimTime, Box<Packet>), now: SimTime) {
        let flow = &mut self.flows[index as usize];
        if let Place::Detached { since } = flow.place {
            if now.since(since) > self.settings.refill_delay {
                flow.credit = flow.credit.max(self.settings.quantum);
            }
            flow.place = Place::Listed;
            self.bands[flow.band].new.push_back(&mut self.links, index);
        }
        flow.band = band;
        self.bands[band].packets += 1;
        self.active += u32::from(flow.queue.is_empty());
        let place = match flow.queue.back() {
            Some((last, _)) if *last > item.0 => flow.queue.partition_point(|(other, _)| *other <= item.0),
            _ => flow.queue.len(),
        };
        flow.queue.insert(place, item);
    }

    fn wake_throttled(&mut self, now: SimTime) {
        while let Some(&(at, index)) = self.throttled.first().filter(|(at, _)| *at <= now) {
            self.throttled.remove(&(at, index));
            let flow = &mut self.flows[index as usize];
            flow.place = Place::Listed;
            self.bands[flow.band].old.push_back(&mut self.links, index);
            self.active += 1;
        }
    }

    /// The band to serve. Bands gain credit also if all flows wait for their times. [linux-6.12 sch_fq.c fq_dequeue]
    fn next_band(&mut self) -> Option<usize> {
        let mut idle = 0;
        while !self.bands[self.band].may_send() {
            if idle == BANDS {
                return None;
            }
            self.band = (self.band + 1) % BANDS;
            let band = &mut self.bands[self.band];
            band.credit = (band.credit + band.weight).min(band.weight);
            idle = if band.credit > 0 { idle + 1 } else { 0 };
        }
        Some(self.band)
    }

    /// A packet of the band that may leave now.
    fn take_from(&mut self, band: usize, now: SimTime) -> Option<Box<Packet>> {
        loop {
            let from_new = !self.bands[band].new.is_empty();
            let lists = &mut self.bands[band];
            let list = if from_new { &mut lists.new } else { &mut lists.old };
            let index = list.first()?;
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += self.settings.quantum;
                list.pop_front(&self.links);
                let joins = flow.band;
                self.bands[joins].old.push_back(&mut self.links, index);
                continue;
            }
            let Some((due, _)) = flow.queue.front() else {
                self.emptied(index, band, from_new, now);
                continue;
            };
            let at = flow.next.max(*due);
            if at > now {
                list.pop_front(&self.links);
                self.throttle(index, at);
                continue;
            }
            return self.send(index, band, now);
        }
    }

    fn emptied(&mut self, index: u32, band: usize, from_new: bool, now: SimTime) {
        if from_new {
            self.bands[band].new.pop_front(&self.links);
            let joins = self.flows[index as usize].band;
            self.bands[joins].old.push_back(&mut self.links, index);
            return;
        }
        self.bands[band].old.pop_front(&self.links);
        self.flows[index as usize].place = Place::Detached { since: now };
    }

    fn throttle(&mut self, index: u32, at: SimTime) {
        self.own.throttled += 1;
        self.active -= 1;
        let flow = &mut self.flows[index as usize];
        (flow.place, flow.next) = (Place::Throttled, at);
        self.throttled.insert((at, index));
    }

    fn send(&mut self, index: u32, band: usize, now: SimTime) -> Option<Box<Packet>> {
        let flow = &mut self.flows[index as usize];
        let (due, mut packet) = flow.queue.pop_front()?;
        self.active -= u32::from(flow.queue.is_empty());
        let late = now.since(due.max(flow.next));
        if self.settings.ce_threshold.is_some_and(|threshold| late > threshold) {
            // It counts, capable of ECN or not.
            packet.mark();
            self.own.ce_marks += 1;
            self.ledger.marked += 1;
        }
        let length = i64::from(packet.frame_length());
        flow.credit -= length;
        self.bands[self.settings.priomap.band_of(packet.tos)].packets -= 1;
        self.bands[band].credit -= length;
        self.pace(index, &packet, now);
        Some(packet)
    }

    /// Sets the next departure time of the flow.
    fn pace(&mut self, index: u32, packet: &Packet, now: SimTime) {
        let (settings, flow) = (&self.settings, &mut self.flows[index as usize]);
        let rate = settings.maxrate;
        if !settings.pacing || rate.is_unlimited() {
            return;
        }
        let mut charged = u64::from(packet.frame_length());
        if packet.departure == SimTime::ZERO {
            if rate <= settings.low_rate {
                flow.credit = 0;
            } else {
                charged = charged.max(settings.quantum as u64);
                if flow.credit > 0 {
                    return;
                }
            }
        }
        let mut gap = rate.time_for(Bytes(charged)).as_nanos();
        if gap > LONGEST_GAP {
            (gap, self.own.too_long) = (LONGEST_GAP, self.own.too_long + 1);
        }
        if flow.next > SimTime::ZERO {
            gap -= (gap / 2).min(now.since(flow.next).as_nanos());
        }
        flow.next = now + Span::from_nanos(gap);
    }
}

#[cfg(test)]
mod tests;
