//! `cake`: a shaper without bursts over tins by DSCP, in each fair queueing of hosts and flows under COBALT.
//!
//! classify: DSCP → tin · flow (or host) hash → one of 1024 queues, eight ways to avoid a collision
//! shape:    a packet may leave once t ≤ now; then t += L'/bandwidth. An idle shaper starts again at now, so nothing
//!           leaves in a burst. L' = L + overhead, at least `mpu`, in ATM cells or with PTM's 65/64
//! tin:      shaped: of the tins with packets whose own clock is due the highest, else the earliest clock;
//!           unlimited: DRR by the tins' shares
//! flow:     DRR++; quantum = rate/4096 within 300 … MTU, divided by the bulk flows of the busier of its two hosts
//! head:     COBALT passes, marks or drops it (`aqm/cobalt.rs`), but never drops the last packet of a queue
//! memory:   over `memlimit` (4 · bandwidth · rtt, at least 4 MiB) the longest queue loses its head
//! acks:     `ack-filter` drops the oldest pure ACK that two later ones of its flow make superfluous
//!
//! Per tin: target = max(1.5 packet times, rtt/20), interval = max(rtt + target − rtt/20, 2 · target).
//! [hoiland2018] [linux-6.12 sch_cake.c] [tc cake(8)]. Tins: diffserv3 1/16, all, 1/4 of the rate for Bulk, Best
//! Effort, Voice; diffserv4 adds Video at 1/2; the eight of diffserv8 and precedence have 7/8 of the one before.
//!
//! Deviations: no `nat`; no `autorate-ingress`; no firewall marks (`fwmark`); trains are not split; the tins of
//! diffserv8 follow RFC 4594's classes.

use std::collections::VecDeque;

use tailback_packet::{DropReason, ETHERNET_HEADER, Packet, Payload, Segment, SegmentFlags};
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate, SimTime, Span};

use crate::aqm::Verdict;
use crate::aqm::cobalt::{Cobalt, CobaltHead, CobaltSettings};
use crate::double_list::{DoubleList, Neighbours};
use crate::flow_hash::FlowHash;
use crate::framing;
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Part, PartKind, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "cake",
    summary: "burst-free shaper, tins, fairness of hosts and flows, COBALT, ACK filter",
    source: include_str!("cake.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MS: u64 = 1_000_000;
/// Queues of a tin, and how many a flow may choose from. [linux-6.12 CAKE_QUEUES, CAKE_SET_WAYS]
const QUEUES: u32 = 1024;
const WAYS: u32 = 8;
/// Packets for which there is memory unless `memlimit` is given.
const MOST_PACKETS: u64 = 10_240;
const LEAST_MEMORY: u64 = 4 << 20;
const RATE_MOST: u64 = 10_000_000_000_000;
/// Share of a tin when nothing is shaped.
const UNLIMITED_QUANTUM: u64 = 1024;

const TINS: &[&str] = &["diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence"];
const ISOLATIONS: &[&str] =
    &["triple-isolate", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost"];

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "bandwidth",
        ParameterUnit::Rate,
        None,
        (8, RATE_MOST),
        "rate of the shaper; not given: unlimited",
    ),
    Parameter::new(
        "rtt",
        ParameterUnit::Time,
        Some(100 * MS),
        (1_000, 10_000_000 * MS),
        "round trip it is tuned for",
    ),
    Parameter::choice("tins", TINS, "how DSCPs are sorted"),
    Parameter::choice("isolation", ISOLATIONS, "between whom it is fair"),
    Parameter::choice(
        "ack_filter",
        &["no-ack-filter", "ack-filter", "ack-filter-aggressive"],
        "whether superfluous ACKs are dropped",
    ),
    Parameter::flag(
        "ingress",
        false,
        "count dropped packets as sent: the bottleneck lies before this shaper",
    ),
    Parameter::flag("nat", false, "without effect: there is no address translation here"),
    Parameter::flag("wash", false, "clear the code point of each packet after its tin was chosen"),
    Parameter::flag("split_gso", true, "without effect"),
    Parameter::new(
        "fwmark",
        ParameterUnit::Number,
        Some(0),
        (0, u32::MAX as u64),
        "without effect: packets have no firewall marks here",
    ),
    Parameter::new(
        "memlimit",
        ParameterUnit::Bytes,
        None,
        (1, u32::MAX as u64),
        "bytes of kernel memory (truesize) held at most",
    ),
    Parameter::new(
        "overhead",
        ParameterUnit::Number,
        None,
        (0, 256),
        "bytes charged for each packet beside its IP length",
    ),
    framing::undercharge("undercharge"),
    Parameter::flag("raw", false, "charge the frame as the kernel sees it; so unless `overhead` is given"),
    Parameter::new("mpu", ParameterUnit::Number, Some(0), (0, 256), "bytes charged at least"),
    Parameter::choice("framing", &["noatm", "atm", "ptm"], "atm: whole cells; ptm: 65 bytes for 64"),
];

struct Cake {
    settings: Settings,
    tins: Vec<Tin>,
    turn: usize,
    hash: FlowHash,
    /// When the next packet may leave, and by when at the latest.
    next: SimTime,
    failsafe: SimTime,
    memory: u64,
    longest_memory: u64,
    sizes: Sizes,
    ledger: Ledger,
}

/// Shortest and longest packets met, as they came and as they were charged for.
struct Sizes {
    network: [u32; 2],
    adjusted: [u32; 2],
}

impl Sizes {
    /// None met yet. [linux-6.12 sch_cake.c cake_init]
    const NONE: Sizes = Sizes { network: [u16::MAX as u32, 0], adjusted: [u16::MAX as u32, 0] };

    #[inline]
    fn meet(&mut self, network: u32, adjusted: u32) {
        self.network = [self.network[0].min(network), self.network[1].max(network)];
        self.adjusted = [self.adjusted[0].min(adjusted), self.adjusted[1].max(adjusted)];
    }
}

struct Settings {
    rate: Rate,
    sorting: Sorting,
    isolation: Isolation,
    ack_filter: AckFilter,
    ingress: bool,
    memory: u64,
    overhead: u32,
    undercharge: u32,
    wash: bool,
    raw: bool,
    mpu: u32,
    framing: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sorting {
    Three,
    One,
    Four,
    Eight,
    Precedence,
}

/// What makes a queue, and whose bulk flows share.
#[derive(Clone, Copy, Debug)]
struct Isolation {
    by_flow: bool,
    by_source: bool,
    by_destination: bool,
    source_shares: bool,
    destination_shares: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AckFilter {
    Off,
    Normal,
    Aggressive,
}

struct Tin {
    rate: Rate,
    share: u64,
    quantum: i64,
    law: CobaltSettings,
    flows: Vec<Flow>,
    links: Vec<Neighbours>,
    tags: Vec<u32>,
    /// Apart from the flows: eight of them are looked at for each arrival.
    sets: Vec<Set>,
    hosts: [Vec<u32>; 2],
    new: DoubleList,
    old: DoubleList,
    decaying: DoubleList,
    bulk_flows: u32,
    packets: u32,
    deficit: i64,
    next: SimTime,
    own: TinCounters,
}

#[derive(Clone, Copy, Default)]
struct TinCounters {
    packets: u64,
    bytes: u64,
    drops: u64,
    marks: u64,
    ack_drops: u64,
    way_hits: u64,
    way_misses: u64,
    collisions: u64,
    longest: u32,
    delays: Delays,
}

/// Moving averages of the sojourn time in ns: of the highest, of all, of the lowest.
#[derive(Clone, Copy, Default)]
struct Delays {
    peak: u64,
    average: u64,
    base: u64,
}

impl Delays {
    /// A sample weighs 1/256, but 1/4 where it moves the peak up or the base down. [linux-6.12 sch_cake.c cake_dequeue]
    #[inline]
    fn sample(&mut self, sojourn: u64) {
        let towards = |level: u64, shift: u32| level - (level >> shift) + (sojourn >> shift);
        self.average = towards(self.average, 8);
        self.peak = towards(self.peak, if sojourn > self.peak { 2 } else { 8 });
        self.base = towards(self.base, if sojourn < self.base { 2 } else { 8 });
    }
}

#[derive(Default)]
struct Flow {
    queue: VecDeque<Box<Packet>>,
    bytes: u64,
    deficit: i64,
    /// Buckets of its two hosts.
    hosts: [u16; 2],
    law: Cobalt,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Set {
    #[default]
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    if given.given("overhead").is_none() {
        given.set("overhead", 0);
        given.set("raw", u64::from(given.given("undercharge").unwrap_or(0) == 0));
    }
    let most = MOST_PACKETS * u64::from(device.mtu);
    let shaped = given.given("bandwidth").zip(given.given("rtt")).map(|(rate, rtt)| {
        let product = u128::from(rate / 8) * u128::from(rtt) / 1_000_000_000 * 4;
        (product.min(u128::from(u32::MAX)) as u64).max(LEAST_MEMORY).min(most)
    });
    given.set_default("memlimit", shaped.unwrap_or(most));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let rate = given.given("bandwidth").map_or(Rate::UNLIMITED, Rate::from_bits_per_sec);
    let sorting = [Sorting::Three, Sorting::One, Sorting::Four, Sorting::Eight, Sorting::Precedence];
    let sorting = sorting[value("tins")? as usize];
    let settings = Settings {
        rate,
        sorting,
        isolation: Isolation::of(value("isolation")?),
        ack_filter: [AckFilter::Off, AckFilter::Normal, AckFilter::Aggressive][value("ack_filter")? as usize],
        ingress: value("ingress")? == 1,
        memory: value("memlimit")?,
        overhead: value("overhead")? as u32,
        undercharge: value("undercharge")? as u32,
        wash: value("wash")? == 1,
        raw: value("raw")? == 1,
        mpu: value("mpu")? as u32,
        framing: value("framing")?,
    };
    let rtt = Span::from_nanos(value("rtt")?);
    let tins = sorting.shares().iter().map(|share| Tin::new(rate, *share, rtt, device.mtu)).collect();
    Ok(Box::new(Cake {
        settings,
        tins,
        turn: 0,
        hash: FlowHash::default(),
        next: SimTime::ZERO,
        failsafe: SimTime::ZERO,
        memory: 0,
        longest_memory: 0,
        sizes: Sizes::NONE,
        ledger: Ledger::default(),
    }))
}

impl Isolation {
    fn of(index: u64) -> Self {
        let is = |list: &[u64]| list.contains(&index);
        Isolation {
            by_flow: is(&[0, 5, 6, 7]),
            by_source: is(&[2, 4]),
            by_destination: is(&[3, 4]),
            source_shares: is(&[0, 6]),
            destination_shares: is(&[0, 7]),
        }
    }
}

impl Sorting {
    /// Numerator and denominator of each tin's share of the rate.
    fn shares(self) -> &'static [(u64, u64)] {
        const EIGHT: [(u64, u64); 8] = [
            (1, 1),
            (7, 8),
            (49, 64),
            (343, 512),
            (2401, 4096),
            (16_807, 32_768),
            (117_649, 262_144),
            (823_543, 2_097_152),
        ];
        match self {
            Sorting::One => &[(1, 1)],
            Sorting::Three => &[(1, 1), (1, 16), (1, 4)],
            Sorting::Four => &[(1, 1), (1, 16), (1, 2), (1, 4)],
            Sorting::Eight | Sorting::Precedence => &EIGHT,
        }
    }

    /// The tin of a code point. [tc cake(8)] [rfc4594 §4]
    fn tin_of(self, dscp: u8) -> usize {
        const LE: u8 = 1;
        let class = dscp >> 3;
        match self {
            Sorting::One => 0,
            Sorting::Precedence => usize::from(class),
            Sorting::Three => match dscp {
                8 | LE => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Sorting::Four => match dscp {
                8 | LE => 1,
                44 | 46 | 48 | 56 | 40 | 32 => 3,
                4 | 2 | 16..=31 | 34..=39 => 2,
                _ => 0,
            },
            Sorting::Eight => match (dscp, class) {
                (LE, _) => 0,
                (8, _) => 1,
                (4, _) | (44 | 46, _) => 6,
                (_, 0 | 1) => 2,
                (_, class) => usize::from(class).min(7),
            },
        }
    }
}

impl Tin {
    fn new(rate: Rate, (numerator, denominator): (u64, u64), rtt: Span, mtu: u32) -> Tin {
        let unlimited = rate.is_unlimited();
        let bytes = if unlimited { 0 } else { (rate.bytes_per_sec() * numerator / denominator).max(1) };
        let rate = if unlimited { rate } else { Rate::from_bytes_per_sec(bytes) };
        let packet_time = if unlimited { Span::ZERO } else { rate.time_for(Bytes(u64::from(mtu))) };
        let twentieth = Span::from_nanos(rtt.as_nanos() / 20);
        let target = Span::from_nanos(packet_time.as_nanos() * 3 / 2).max(twentieth);
        let interval = (rtt + target.saturating_sub(twentieth)).max(target * 2);
        let quantum =
            if unlimited { u64::from(mtu) } else { (bytes >> 12).clamp(300, u64::from(mtu).max(300)) };
        Tin {
            rate,
            share: (UNLIMITED_QUANTUM * numerator / denominator).max(1),
            quantum: quantum as i64,
            law: CobaltSettings { target, interval, packet_time },
            flows: (0..QUEUES).map(|_| Flow::default()).collect(),
            links: vec![Neighbours::NOBODY; QUEUES as usize],
            tags: vec![0; QUEUES as usize],
            sets: vec![Set::None; QUEUES as usize],
            hosts: [vec![0; QUEUES as usize], vec![0; QUEUES as usize]],
            new: DoubleList::default(),
            old: DoubleList::default(),
            decaying: DoubleList::default(),
            bulk_flows: 0,
            packets: 0,
            deficit: 0,
            next: SimTime::ZERO,
            own: TinCounters::default(),
        }
    }

    /// The queue of a hash: its own if it has one, else a free one among eight, else one it must share.
    fn queue_of(&mut self, hash: u32) -> u32 {
        let (set, first) = (hash % QUEUES / WAYS * WAYS, hash % WAYS);
        let ways = (0..WAYS).map(|way| set + (first + way) % WAYS);
        let held = |tin: &Tin, queue: u32| tin.sets[queue as usize] != Set::None;
        // Its own stays reserved for it when it has run empty, until another flow needs it.
        if let Some(own) = ways.clone().find(|&queue| self.tags[queue as usize] == hash) {
            self.own.way_hits += u64::from(own != set + first);
            return own;
        }
        match ways.clone().find(|&queue| !held(self, queue)) {
            Some(free) => {
                self.own.way_misses += 1;
                self.tags[free as usize] = hash;
                free
            }
            None => {
                self.own.collisions += 1;
                set + first
            }
        }
    }

    fn host_load(&self, flow: &Flow, isolation: &Isolation) -> i64 {
        let of = |side: usize, shares: bool| {
            if shares { self.hosts[side][usize::from(flow.hosts[side])] } else { 0 }
        };
        i64::from(of(0, isolation.source_shares).max(of(1, isolation.destination_shares)).max(1))
    }

    fn count_bulk(&mut self, index: u32, more: bool) {
        for side in 0..2 {
            let count = &mut self.hosts[side][usize::from(self.flows[index as usize].hosts[side])];
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        }
        self.bulk_flows = if more { self.bulk_flows + 1 } else { self.bulk_flows - 1 };
    }
}

impl Qdisc for Cake {
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.start_clocks(context.now);
        self.ledger.arrive(&packet);
        let tin = self.settings.sorting.tin_of(packet.tos >> 2);
        if self.settings.wash {
            packet.tos = 0;
        }
        let flow = self.flow_of(tin, &packet, context);
        self.memory += u64::from(packet.truesize);
        packet.enqueued = context.now;
        self.append(tin, flow, packet, context.now);
        self.filter_acks(tin, flow, context);
        self.longest_memory = self.longest_memory.max(self.memory);
        let mut own_lost = false;
        while self.memory > self.settings.memory {
            own_lost |= self.drop_from_longest(context) == Some((tin, flow));
        }
        if own_lost { Enqueued::Congestion } else { Enqueued::Queued }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        while self.ledger.backlog().packets > 0 {
            if self.next > context.now && self.failsafe > context.now {
                self.ledger.overlimits += 1;
                return Dequeued::NotBefore(self.next.min(self.failsafe));
            }
            let tin = self.choose_tin(context.now);
            if let Some(packet) = self.take_from(tin, context) {
                self.ledger.leave(&packet);
                return Dequeued::Packet(packet);
            }
        }
        Dequeued::Empty
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn parts(&self) -> Vec<Part> {
        // The order of the ranks, lowest first: Bulk comes before Best Effort, which is the first tin.
        let bulk_first = matches!(self.settings.sorting, Sorting::Three | Sorting::Four);
        let order = |rank: usize| if bulk_first && rank < 2 { 1 - rank } else { rank };
        (0..self.tins.len()).map(|rank| self.tins[order(rank)].part()).collect()
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        let [smallest, largest] = self.sizes.network;
        let [smallest_adjusted, largest_adjusted] = self.sizes.adjusted;
        let total = |of: fn(&TinCounters) -> u64| self.tins.iter().map(|tin| of(&tin.own)).sum::<u64>();
        show("memory_used", self.longest_memory);
        show("memory_limit", self.settings.memory);
        let rate = self.settings.rate;
        show("capacity_estimate", if rate.is_unlimited() { 0 } else { rate.bytes_per_sec() });
        show("min_network_size", u64::from(smallest));
        show("max_network_size", u64::from(largest));
        show("min_adj_size", u64::from(smallest_adjusted));
        show("max_adj_size", u64::from(largest_adjusted));
        show("avg_hdr_offset", if largest > 0 { u64::from(ETHERNET_HEADER) } else { 0 });
        show("ecn_mark", total(|own| own.marks));
        show("ack_drops", total(|own| own.ack_drops));
        show("bulk_flows", self.tins.iter().map(|tin| u64::from(tin.bulk_flows)).sum());
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl Tin {
    /// The tin as `tc -s -j` shows it.
    fn part(&self) -> Part {
        let rate = if self.rate.is_unlimited() { 0 } else { self.rate.bytes_per_sec() };
        let sets = |wanted: &[Set]| self.sets.iter().filter(|set| wanted.contains(set)).count() as i64;
        let unresponsive = self.flows.iter().filter(|flow| flow.law.blue() > 0).count() as i64;
        let own = &self.own;
        let counters = [
            ("threshold_rate", rate as i64),
            ("sent_bytes", own.bytes as i64),
            ("backlog_bytes", self.flows.iter().map(|flow| flow.bytes as i64).sum()),
            ("target_us", self.law.target.as_micros() as i64),
            ("interval_us", self.law.interval.as_micros() as i64),
            ("peak_delay_us", (own.delays.peak / 1000) as i64),
            ("avg_delay_us", (own.delays.average / 1000) as i64),
            ("base_delay_us", (own.delays.base / 1000) as i64),
            ("sent_packets", own.packets as i64),
            ("way_indirect_hits", own.way_hits as i64),
            ("way_misses", own.way_misses as i64),
            ("way_collisions", own.collisions as i64),
            ("drops", own.drops as i64),
            ("ecn_mark", own.marks as i64),
            ("ack_drops", own.ack_drops as i64),
            ("sparse_flows", sets(&[Set::Sparse, Set::SparseWait, Set::Decaying])),
            ("bulk_flows", i64::from(self.bulk_flows)),
            ("unresponsive_flows", unresponsive),
            ("max_pkt_len", i64::from(own.longest)),
            ("flow_quantum", self.quantum),
        ];
        Part { kind: PartKind::Tin, counters: counters.to_vec() }
    }
}

impl Cake {
    /// After an idle time the shaper owes nothing and is owed nothing.
    fn start_clocks(&mut self, now: SimTime) {
        if self.ledger.backlog().packets == 0 && self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    fn flow_of(&mut self, tin: usize, packet: &Packet, context: &mut Context<'_>) -> u32 {
        let isolation = self.settings.isolation;
        let (source, destination) = (u32::from(packet.source.0), u32::from(packet.destination.0));
        let hosts = [source, destination].map(|host| (self.hash.of_value(host, context) % QUEUES) as u16);
        let hash = if isolation.by_flow {
            self.hash.of(packet, context)
        } else {
            let part = |counts: bool, host: u32| if counts { host + 1 } else { 0 };
            let key = part(isolation.by_source, source) << 16 | part(isolation.by_destination, destination);
            self.hash.of_value(key, context)
        };
        let tin = &mut self.tins[tin];
        let queue = tin.queue_of(hash);
        if tin.sets[queue as usize] == Set::None {
            tin.flows[queue as usize].hosts = hosts;
        }
        queue
    }

    fn append(&mut self, tin: usize, index: u32, packet: Box<Packet>, now: SimTime) {
        self.sizes.meet(self.settings.counted(&packet), self.settings.charged(&packet));
        let tin = &mut self.tins[tin];
        if tin.packets == 0 && tin.next < now {
            tin.next = now;
        }
        tin.own.longest = tin.own.longest.max(packet.frame_length());
        // What arrived, although `tc` calls it sent. [linux-6.12 sch_cake.c cake_enqueue]
        tin.own.packets += u64::from(packet.segments);
        tin.own.bytes += u64::from(packet.frame_length());
        tin.packets += 1;
        let flow = &mut tin.flows[index as usize];
        flow.bytes += u64::from(packet.frame_length());
        flow.queue.push_back(packet);
        match tin.sets[index as usize] {
            set @ (Set::None | Set::Decaying) => {
                tin.sets[index as usize] = Set::Sparse;
                let load = tin.host_load(&tin.flows[index as usize], &self.settings.isolation);
                tin.flows[index as usize].deficit = tin.quantum / load;
                if set == Set::Decaying {
                    tin.decaying.remove(&mut tin.links, index);
                }
                tin.new.push_back(&mut tin.links, index);
            }
            Set::SparseWait => {
                // It used its quantum up and came back at once: it is bulk.
                tin.sets[index as usize] = Set::Bulk;
                tin.count_bulk(index, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Unlimited: the tin whose turn it is. Shaped: the highest that is due, else the one due first.
    fn choose_tin(&mut self, now: SimTime) -> usize {
        if self.tins.len() == 1 {
            return 0;
        }
        if self.settings.rate.is_unlimited() {
            loop {
                let tin = &mut self.tins[self.turn];
                if tin.packets > 0 && tin.deficit > 0 {
                    return self.turn;
                }
                self.turn = (self.turn + 1) % self.tins.len();
                let tin = &mut self.tins[self.turn];
                tin.deficit = (tin.deficit + tin.share as i64).min(tin.share as i64);
            }
        }
        let backlogged = |place: &usize| self.tins[*place].packets > 0;
        let due = (0..self.tins.len()).rev().filter(backlogged).find(|&place| self.tins[place].next <= now);
        let first = || (0..self.tins.len()).filter(backlogged).min_by_key(|&place| self.tins[place].next);
        due.or_else(first).unwrap_or(0)
    }

    /// A packet of this tin; none if the law dropped what there was, or the shaper must be asked again.
    fn take_from(&mut self, place: usize, context: &mut Context<'_>) -> Option<Box<Packet>> {
        let mut first_look = true;
        loop {
            let tin = &mut self.tins[place];
            let decaying = tin.decaying.first().filter(|_| first_look);
            let index = decaying.or(tin.new.first()).or(tin.old.first()).or(tin.decaying.first())?;
            first_look = false;
            if tin.flows[index as usize].deficit <= 0 {
                self.next_turn(place, index, context);
                continue;
            }
            let Some(verdict) = self.judge_head(place, index, context) else {
                self.emptied(place, index, context.now);
                if self.tins[place].packets == 0 {
                    return None;
                }
                continue;
            };
            let mut packet = self.pop(place, index)?;
            if verdict == Verdict::Drop {
                self.tins[place].own.drops += 1;
                if self.settings.ingress {
                    // It has come through the bottleneck, but does not put off the latest departure of the next one.
                    let failsafe = self.failsafe;
                    self.pay(place, index, &packet, context.now);
                    self.failsafe = failsafe;
                }
                self.dispose(packet, DropReason::Aqm, context);
                if self.tins[place].packets == 0 {
                    return None;
                }
                continue;
            }
            if verdict == Verdict::Mark && packet.mark() {
                self.tins[place].own.marks += 1;
                self.ledger.marked += 1;
            }
            self.pay(place, index, &packet, context.now);
            let own = &mut self.tins[place].own;
            own.delays.sample(context.now.since(packet.enqueued).as_nanos());
            return Some(packet);
        }
    }

    /// A flow that used its deficit up is bulk from now on, and waits for its next turn.
    fn next_turn(&mut self, place: usize, index: u32, context: &mut Context<'_>) {
        let isolation = self.settings.isolation;
        let tin = &mut self.tins[place];
        let list = tin.set_of(index);
        tin.unlist(list, index);
        if list == Set::Sparse || list == Set::SparseWait {
            let waiting = !tin.flows[index as usize].queue.is_empty();
            tin.sets[index as usize] = if waiting { Set::Bulk } else { Set::SparseWait };
            if waiting {
                tin.count_bulk(index, true);
            }
        }
        let load = tin.host_load(&tin.flows[index as usize], &isolation);
        tin.flows[index as usize].deficit += match load {
            1 => tin.quantum,
            // The part below a byte is made up for by chance.
            _ => (((tin.quantum << 16) / load + i64::from(context.draws.next_u32() >> 16)) >> 16).max(1),
        };
        match tin.sets[index as usize] {
            Set::Decaying => tin.decaying.push_back(&mut tin.links, index),
            _ => tin.old.push_back(&mut tin.links, index),
        }
    }

    /// What the law says of the head of a flow; none if there is no head.
    fn judge_head(&mut self, place: usize, index: u32, context: &mut Context<'_>) -> Option<Verdict> {
        let ingress = self.settings.ingress;
        let tin = &mut self.tins[place];
        let bulk_flows = if ingress { tin.bulk_flows } else { 0 };
        let flow = &mut tin.flows[index as usize];
        let head = flow.queue.front()?;
        let head = CobaltHead {
            sojourn: context.now.since(head.enqueued),
            markable: head.is_markable(),
            bulk_flows,
        };
        let verdict = flow.law.judge(&head, &tin.law, context.now, context.draws);
        // The last packet of a queue is let go.
        Some(if verdict == Verdict::Drop && flow.queue.len() == 1 { Verdict::Pass } else { verdict })
    }

    fn emptied(&mut self, place: usize, index: u32, now: SimTime) {
        let tin = &mut self.tins[place];
        tin.flows[index as usize].law.ran_empty(&tin.law, now);
        let set = tin.set_of(index);
        tin.unlist(set, index);
        if set == Set::Bulk {
            tin.count_bulk(index, false);
        }
        let at_rest = tin.flows[index as usize].law.is_at_rest(now);
        tin.sets[index as usize] = if at_rest { Set::None } else { Set::Decaying };
        if !at_rest {
            tin.decaying.push_back(&mut tin.links, index);
        }
    }

    fn pop(&mut self, place: usize, index: u32) -> Option<Box<Packet>> {
        let tin = &mut self.tins[place];
        let flow = &mut tin.flows[index as usize];
        let packet = flow.queue.pop_front()?;
        flow.bytes -= u64::from(packet.frame_length());
        tin.packets -= 1;
        self.memory -= u64::from(packet.truesize);
        Some(packet)
    }

    /// The shaper, the tin and the flow pay for a packet.
    fn pay(&mut self, place: usize, index: u32, packet: &Packet, now: SimTime) {
        let charged = Bytes(u64::from(self.settings.charged(packet)));
        let tin = &mut self.tins[place];
        let length = i64::from(packet.frame_length());
        tin.flows[index as usize].deficit -= length;
        tin.deficit -= length;
        if self.settings.rate.is_unlimited() {
            return;
        }
        // The tin's clock never runs ahead by more than this packet. [linux-6.12 sch_cake.c cake_advance_shaper]
        let time = tin.rate.time_for(charged);
        tin.next = if tin.next < now { tin.next + time } else { tin.next.max(now + time) };
        let time = self.settings.rate.time_for(charged);
        self.next += time;
        self.failsafe += time + Span::from_nanos(time.as_nanos() / 2);
    }

    fn dispose(&mut self, packet: Box<Packet>, reason: DropReason, context: &mut Context<'_>) {
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
    }

    /// The longest queue in bytes loses its head; which tin and queue that was.
    #[cold]
    fn drop_from_longest(&mut self, context: &mut Context<'_>) -> Option<(usize, u32)> {
        let all = self.tins.iter().enumerate().flat_map(|(place, tin)| {
            tin.flows.iter().enumerate().map(move |(index, flow)| (flow.bytes, place, index as u32))
        });
        let (_, place, index) =
            all.max_by_key(|(bytes, place, index)| (*bytes, std::cmp::Reverse((*place, *index))))?;
        let packet = self.pop(place, index)?;
        let tin = &mut self.tins[place];
        tin.flows[index as usize].law.overflowed(&tin.law, context.now);
        tin.own.drops += 1;
        self.dispose(packet, DropReason::Overmemory, context);
        Some((place, index))
    }

    /// The last packet of a queue may make an older ACK superfluous.
    fn filter_acks(&mut self, place: usize, index: u32, context: &mut Context<'_>) {
        if self.settings.ack_filter == AckFilter::Off {
            return;
        }
        let flow = &mut self.tins[place].flows[index as usize];
        let Some(superfluous) = superfluous_ack(&flow.queue, self.settings.ack_filter) else { return };
        let Some(packet) = flow.queue.remove(superfluous) else { return };
        flow.bytes -= u64::from(packet.frame_length());
        let tin = &mut self.tins[place];
        tin.packets -= 1;
        tin.own.ack_drops += 1;
        self.memory -= u64::from(packet.truesize);
        self.dispose(packet, DropReason::AckFiltered, context);
    }
}

impl Tin {
    fn set_of(&self, index: u32) -> Set {
        self.sets[index as usize]
    }

    /// Takes a flow, which is the first of its list, off it.
    fn unlist(&mut self, set: Set, index: u32) {
        let list = match set {
            Set::Decaying => &mut self.decaying,
            _ if self.new.first() == Some(index) => &mut self.new,
            _ => &mut self.old,
        };
        list.remove(&mut self.links, index);
    }
}

impl Settings {
    /// The length before anything is added.
    #[inline]
    fn counted(&self, packet: &Packet) -> u32 {
        if self.raw { packet.frame_length() } else { packet.ip_length }
    }

    /// Bytes that a packet is charged for. [linux-6.12 sch_cake.c cake_calc_overhead]
    fn charged(&self, packet: &Packet) -> u32 {
        let length = (self.counted(packet) + self.overhead).saturating_sub(self.undercharge).max(self.mpu);
        match self.framing {
            1 => length.div_ceil(48) * 53,
            2 => length + length.div_ceil(64),
            _ => length,
        }
    }
}

/// The first of the older pure ACKs that the last packet of a queue makes superfluous: if there is a second one, or,
/// aggressively, if it comes right before.
fn superfluous_ack(queue: &VecDeque<Box<Packet>>, filter: AckFilter) -> Option<usize> {
    let last = queue.back()?;
    let newest = acknowledgement(last)?;
    let covered = |packet: &Packet| {
        let same = packet.from == last.from && packet.to == last.to;
        same && pure_ack(packet).is_some_and(|older| says_less(older, newest))
    };
    let before = queue.len() - 1;
    let mut older = (0..before).filter(|&place| covered(&queue[place]));
    let first = older.next()?;
    let spared = match filter {
        AckFilter::Aggressive => older.next().is_none() && first + 1 != before,
        _ => older.next().is_none(),
    };
    (!spared).then_some(first)
}

fn acknowledgement(packet: &Packet) -> Option<&Segment> {
    let Payload::Tcp(segment) = &packet.payload else { return None };
    let unsafe_flags = [SegmentFlags::SYN, SegmentFlags::FIN, SegmentFlags::RST];
    let plain = !unsafe_flags.iter().any(|&flag| segment.flags.contains(flag));
    (plain && segment.flags.contains(SegmentFlags::ACK)).then_some(segment)
}

fn pure_ack(packet: &Packet) -> Option<&Segment> {
    acknowledgement(packet).filter(|segment| segment.length == 0)
}

/// The newer acknowledges, echoes and reports at least what the older does.
fn says_less(older: &Segment, newer: &Segment) -> bool {
    let echo =
        |segment: &Segment| [SegmentFlags::ECE, SegmentFlags::CWR].map(|flag| segment.flags.contains(flag));
    let reported = |start: u64, end: u64| {
        end <= newer.ack || newer.sack.as_slice().iter().any(|block| block.start <= start && end <= block.end)
    };
    older.ack <= newer.ack
        && older.tsval <= newer.tsval
        && echo(older) == echo(newer)
        && older.sack.as_slice().iter().all(|block| reported(block.start, block.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use tailback_packet::{Ecn, HostId, SackBlocks};

    const TEN_MBIT: (&str, u64) = ("bandwidth", 10_000_000);

    /// Packets per flow that leave within `ms` while the flows, given with their hosts, are kept backlogged.
    fn shares(rig: &mut Rig, flows: &[(u16, u16)], ms: u64) -> Vec<u32> {
        let mut left = vec![0; flows.len()];
        let end = rig.now + Span::from_millis(ms);
        let mut waiting = vec![0; flows.len()];
        while rig.now < end {
            for (flow, &(source, destination)) in flows.iter().enumerate() {
                while waiting[flow] < 8 {
                    let hosts = (HostId(source), HostId(destination));
                    rig.enqueue(Packet {
                        source: hosts.0,
                        destination: hosts.1,
                        ..packet(flow as u32, 1514)
                    });
                    waiting[flow] += 1;
                }
            }
            match rig.dequeue() {
                Dequeued::Packet(sent) => {
                    left[sent.from.0 as usize] += 1;
                    waiting[sent.from.0 as usize] -= 1;
                }
                Dequeued::NotBefore(t) => rig.now = t,
                Dequeued::Empty => unreachable!("backlogged"),
            }
            for (lost, _) in rig.dropped.drain(..) {
                waiting[lost.from.0 as usize] -= 1;
            }
        }
        left
    }

    fn ack(number: u64) -> Packet {
        let segment = Segment {
            seq: 1,
            length: 0,
            ack: number,
            window: 65_535,
            flags: SegmentFlags::ACK,
            mss: 1448,
            tsval: Some(SimTime::ZERO),
            tsecr: None,
            sack: SackBlocks::NONE,
        };
        Packet { payload: Payload::Tcp(segment), ..packet(0, 66) }
    }

    #[test]
    fn frames_leave_exactly_apart_from_the_first_on() {
        let mut rig = Rig::of("cake", &[TEN_MBIT]);
        rig.advance(Span::from_secs(1));
        rig.fill(10, &packet(0, 1514));
        let mut times = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(_) => times.push(rig.now.as_nanos()),
                Dequeued::NotBefore(t) => rig.now = t,
                Dequeued::Empty => break,
            }
        }
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1_211_200), "{times:?}");
    }

    #[test]
    fn a_host_with_one_flow_gets_as_much_as_one_with_ten() {
        let flows: Vec<(u16, u16)> = std::iter::once((1, 9)).chain((0..10).map(|_| (2, 8))).collect();
        for (isolation, expected) in [(0, 0.5), (6, 0.5), (5, 1.0 / 11.0)] {
            let mut rig = Rig::of("cake", &[TEN_MBIT, ("isolation", isolation)]);
            let left = shares(&mut rig, &flows, 5_000);
            let share = f64::from(left[0]) / f64::from(left.iter().sum::<u32>());
            assert!((share - expected).abs() < 0.06, "isolation {isolation}: {share}");
        }
    }

    #[test]
    fn the_parameters_of_a_tin_follow_its_rate() {
        let rtt = Span::from_millis(100);
        let tin = |bits| Tin::new(Rate::from_bits_per_sec(bits), (1, 1), rtt, 1514);
        assert_eq!((tin(10_000_000).quantum, tin(100_000_000).quantum), (305, 1514));
        let slow = tin(1_000_000).law;
        assert_eq!((slow.target.as_micros(), slow.interval.as_micros()), (18_168, 113_168));
        assert_eq!(tin(10_000_000).law.target, Span::from_millis(5));
    }

    #[test]
    fn a_flood_is_held_to_the_memory_limit_and_its_packets_alone_are_lost() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("memlimit", 500_000)]);
        rig.fill(20, &packet(1, 200));
        rig.fill(5_000, &packet(0, 1514));
        assert!(rig.counter("memory_used") < 510_000);
        assert!(rig.dropped.iter().all(|(lost, why)| lost.from.0 == 0 && *why == DropReason::Overmemory));
    }

    #[test]
    fn voice_goes_before_the_rest_while_it_is_within_its_share() {
        let mut rig = Rig::of("cake", &[TEN_MBIT]);
        rig.fill(20, &packet(0, 1514));
        rig.serve(10_000_000);
        rig.enqueue(Packet { tos: 46 << 2, ..packet(1, 200) });
        rig.now += Span::from_millis(2);
        assert_eq!(rig.serve(10_000_000).map(|sent| sent.from.0), Some(1));
        let mut plain = Rig::of("cake", &[TEN_MBIT, ("tins", 1)]);
        plain.fill(20, &Packet { tos: 46 << 2, ..packet(0, 1514) });
        assert_eq!(plain.counter("bulk_flows"), 0);
    }

    #[test]
    fn a_sparse_flow_waits_for_one_packet_at_most() {
        let mut rig = Rig::of("cake", &[TEN_MBIT]);
        rig.fill(50, &packet(0, 1514));
        (0..20).for_each(|_| drop(rig.serve(10_000_000)));
        rig.enqueue(packet(1, 98));
        rig.advance(Span::from_millis(2));
        assert_eq!(rig.serve(10_000_000).map(|sent| sent.from.0), Some(1));
    }

    #[test]
    fn of_three_acks_the_first_is_superfluous_and_of_two_none() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 1)]);
        rig.enqueue(ack(1000));
        rig.enqueue(ack(2000));
        assert_eq!(rig.counter("ack_drops"), 0);
        for number in 3..=10 {
            rig.enqueue(ack(number * 1000));
        }
        assert_eq!((rig.counter("ack_drops"), rig.qdisc.backlog().packets), (8, 2));
        assert!(rig.dropped.iter().all(|(_, why)| *why == DropReason::AckFiltered));
    }

    #[test]
    fn an_aggressive_filter_keeps_one_ack() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 2)]);
        (1..=5).for_each(|number| assert_eq!(rig.enqueue(ack(number * 1000)), Enqueued::Queued));
        assert_eq!(rig.qdisc.backlog().packets, 1);
    }

    #[test]
    fn an_ack_that_echoes_congestion_is_kept() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("ack_filter", 1)]);
        let Payload::Tcp(segment) = ack(1500).payload else { unreachable!("an ACK") };
        let flags = segment.flags.with(SegmentFlags::ECE);
        rig.enqueue(Packet { payload: Payload::Tcp(Segment { flags, ..segment }), ..ack(1500) });
        rig.enqueue(ack(2000));
        rig.enqueue(ack(3000));
        assert_eq!(rig.counter("ack_drops"), 0);
    }

    #[test]
    fn capable_flows_are_marked_and_lose_nothing() {
        let mut rig = Rig::of("cake", &[TEN_MBIT]);
        for _ in 0..2000 {
            rig.enqueue(Packet { ecn: Ecn::Ect0, ..packet(0, 1514) });
            if rig.qdisc.backlog().packets > 40 {
                while !matches!(rig.dequeue(), Dequeued::Packet(_)) {
                    rig.advance(Span::from_micros(500));
                }
            }
        }
        assert!(rig.counter("ecn_mark") > 10 && rig.dropped.is_empty());
    }

    #[test]
    fn atm_cells_and_overhead_are_charged() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("overhead", 40), ("framing", 1)]);
        rig.fill(2, &packet(0, 1514));
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
        assert!(matches!(rig.dequeue(), Dequeued::NotBefore(t) if t.as_nanos() == 33 * 53 * 800));
    }

    #[test]
    fn a_negative_overhead_charges_less_than_the_ip_packet() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("undercharge", 50)]);
        rig.fill(2, &packet(0, 1514));
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
        assert!(matches!(rig.dequeue(), Dequeued::NotBefore(t) if t.as_nanos() == (1500 - 50) * 800));
    }

    #[test]
    fn wash_clears_the_code_point_after_the_tin_was_chosen() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("wash", 1)]);
        rig.enqueue(Packet { tos: 46 << 2, ..packet(0, 1514) });
        assert!(matches!(rig.dequeue(), Dequeued::Packet(packet) if packet.tos == 0));
    }

    #[test]
    fn besteffort_sorts_nothing_by_its_code_point() {
        let voice = |flow| Packet { tos: 46 << 2, ..packet(flow, 1514) };
        for (tins, sorted) in [(0, true), (1, false)] {
            let mut rig = Rig::of("cake", &[TEN_MBIT, ("tins", tins), ("isolation", 1)]);
            rig.fill(3, &packet(0, 1514));
            rig.enqueue(voice(1));
            rig.advance(Span::from_secs(1));
            let first = rig.serve(10_000_000).map(|sent| sent.from.0);
            assert_eq!(first == Some(1), sorted, "{first:?}");
        }
    }

    #[test]
    fn without_a_bandwidth_it_is_fair_and_never_waits() {
        let mut rig = Rig::of("cake", &[("tins", 1)]);
        rig.fill(20, &packet(0, 1514));
        rig.fill(20, &packet(1, 1514));
        let sent = |dequeued| match dequeued {
            Dequeued::Packet(sent) => sent.from.0,
            _ => panic!("a packet can always leave"),
        };
        let order: Vec<u32> = (0..40).map(|_| sent(rig.dequeue())).collect();
        assert!(order.chunks(2).all(|pair| pair[0] != pair[1]), "{order:?}");
    }
}
