//! `cake`: a shaper without bursts over tins, selected by DSCP; in each tin, fair queueing of hosts and flows with
//! COBALT.
//!
//! classify: DSCP → tin · flow (or host) hash → one of 1024 queues, 8-way set-associative to avoid collisions
//! shape:    a packet may leave once t ≤ now; then t += L'/bandwidth. An idle shaper restarts with t = now, so there
//!           are no bursts. L' = L + overhead, at least `mpu`, in ATM cells or with 65/64 of PTM
//! tin:      shaped: among tins with packets, the highest whose own clock is due, else the one with the earliest
//!           clock; unlimited: DRR by the shares of the tins
//! flow:     DRR++; quantum = rate/4096, clamped to 300 … MTU, divided by the bulk flows of the busier of its two hosts
//! head:     COBALT passes, marks or drops it (`aqm/cobalt.rs`), but never drops the last packet of a queue
//! memory:   over `memlimit` (4 · bandwidth · rtt, at least 4 MiB) the head of the longest queue is dropped
//! trains:   `split-gso` queues the segments of a packet that has several
//! acks:     `ack-filter` drops the oldest pure ACK of a flow if two later ones make it redundant
//!
//! Per tin: target = max(1.5 packet times, rtt/20), interval = max(rtt + target − rtt/20, 2 · target).
//! [hoiland2018] [linux-6.12 sch_cake.c] [tc cake(8)]. Tins: diffserv3 has Bulk, Best Effort and Voice with 1/16, all
//! and 1/4 of the rate; diffserv4 adds Video with 1/2; each of the eight of diffserv8 and precedence has 7/8 of the
//! rate of the one before.
//!
//! Deviations: no `nat`; no `autorate-ingress`; no firewall marks (`fwmark`); the tins of
//! diffserv8 follow RFC 4594's classes.

mod ack_filter;
mod isolation;
mod parameters;
mod tins;

use tailback_packet::{DropReason, ETHERNET_HEADER, Packet};
use tailback_units::{Bytes, ParameterError, Parameters, SimTime, Span};

use crate::aqm::Verdict;
use crate::aqm::cobalt::CobaltHead;
use crate::flow_hash::FlowHash;
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Part, Qdisc, Row};

use ack_filter::{AckFilter, superfluous_ack};
use parameters::{PARAMETERS, Settings, derive};
use tins::{QUEUES, Set, Sorting, Tin, TinCounters};

pub(crate) const ROW: Row = Row {
    name: "cake",
    summary: "shaper without bursts, tins by DSCP, fairness of hosts and flows, COBALT, ACK filter",
    source: include_str!("cake.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

struct Cake {
    settings: Settings,
    tins: Vec<Tin>,
    turn: usize,
    hash: FlowHash,
    /// When the next packet may leave, and the latest such time.
    next: SimTime,
    failsafe: SimTime,
    memory: u64,
    longest_memory: u64,
    sizes: Sizes,
    ledger: Ledger,
}

/// Minimum and maximum length of packets, as they arrived and as they were charged.
struct Sizes {
    network: [u32; 2],
    adjusted: [u32; 2],
}

impl Sizes {
    /// Before the first packet. [linux-6.12 sch_cake.c cake_init]
    const NONE: Sizes = Sizes { network: [u16::MAX as u32, 0], adjusted: [u16::MAX as u32, 0] };

    #[inline]
    fn meet(&mut self, network: u32, adjusted: u32) {
        self.network = [self.network[0].min(network), self.network[1].max(network)];
        self.adjusted = [self.adjusted[0].min(adjusted), self.adjusted[1].max(adjusted)];
    }
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let settings = Settings::of(given)?;
    let rtt = Span::from_nanos(given.require("rtt")?);
    let tins = settings
        .sorting
        .shares()
        .iter()
        .map(|share| Tin::new(settings.rate, *share, rtt, device.mtu))
        .collect();
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

    fn queues_segments(&self, _train: &Packet) -> bool {
        self.settings.split_gso
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

    fn parts(&self) -> Vec<Part> {
        // In the order of priority, lowest first, Bulk precedes Best Effort, which is the first tin.
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

impl Cake {
    /// Restarts the clocks after an idle time.
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
        // Counts arrivals, which `tc` shows as sent. [linux-6.12 sch_cake.c cake_enqueue]
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
                // It has used up its quantum and has packets again at once: it is a bulk flow.
                tin.sets[index as usize] = Set::Bulk;
                tin.count_bulk(index, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The tin to serve. Unlimited: by DRR. Shaped: the highest that is due, else the one due first.
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

    /// A packet of this tin; `None` if the law dropped all packets, or the shaper has to be checked again.
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
                    // A dropped packet is charged, but does not change the latest departure of the next one.
                    let failsafe = self.failsafe;
                    self.pay(place, index, &packet, context.now);
                    self.failsafe = failsafe;
                }
                self.ledger.note();
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

    /// Moves a flow that has used up its deficit to the bulk flows and adds its quantum.
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
            // The fraction of a byte is rounded at random.
            _ => (((tin.quantum << 16) / load + i64::from(context.draws.next_u32() >> 16)) >> 16).max(1),
        };
        match tin.sets[index as usize] {
            Set::Decaying => tin.decaying.push_back(&mut tin.links, index),
            _ => tin.old.push_back(&mut tin.links, index),
        }
    }

    /// The decision of the law about the head of a flow; `None` if the flow is empty.
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
        // The last packet of a queue is never dropped.
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
        let idle = tin.flows[index as usize].law.is_idle(now);
        tin.sets[index as usize] = if idle { Set::None } else { Set::Decaying };
        if !idle {
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

    /// Charges the shaper, the tin and the flow for a packet.
    fn pay(&mut self, place: usize, index: u32, packet: &Packet, now: SimTime) {
        let charged = Bytes(u64::from(self.settings.charged(packet)));
        let tin = &mut self.tins[place];
        let length = i64::from(packet.frame_length());
        tin.flows[index as usize].deficit -= length;
        tin.deficit -= length;
        if self.settings.rate.is_unlimited() {
            return;
        }
        // The clock of the tin is ahead by at most this packet. [linux-6.12 sch_cake.c cake_advance_shaper]
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

    /// Drops the head of the longest queue in bytes; returns its tin and queue.
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

    /// Drops an older ACK that the last packet of a queue makes redundant.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use crate::{Class, Filter, Fits};
    use tailback_packet::{Ecn, HostId};

    const TEN_MBIT: (&str, u64) = ("bandwidth", 10_000_000);

    /// Packets per flow that leave within `ms`, with all flows backlogged; flows are given by their hosts.
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
            for (lost, _) in rig.effects.dropped.drain(..) {
                waiting[lost.from.0 as usize] -= 1;
            }
        }
        left
    }

    #[test]
    fn frames_leave_at_exact_gaps_from_the_first_on() {
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
    fn a_flood_is_limited_to_the_memory_limit_and_only_its_packets_are_dropped() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("memlimit", 500_000)]);
        rig.fill(20, &packet(1, 200));
        rig.fill(5_000, &packet(0, 1514));
        assert!(rig.counter("memory_used") < 510_000);
        assert!(
            rig.effects.dropped.iter().all(|(lost, why)| lost.from.0 == 0 && *why == DropReason::Overmemory)
        );
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
    fn capable_flows_are_marked_and_lose_no_packet() {
        let mut rig = Rig::of("cake", &[TEN_MBIT]);
        for _ in 0..2000 {
            rig.enqueue(Packet { ecn: Ecn::Ect0, ..packet(0, 1514) });
            if rig.qdisc.backlog().packets > 40 {
                while !matches!(rig.dequeue(), Dequeued::Packet(_)) {
                    rig.advance(Span::from_micros(500));
                }
            }
        }
        assert!(rig.counter("ecn_mark") > 10 && rig.effects.dropped.is_empty());
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
    fn wash_clears_the_code_point_after_the_tin_is_selected() {
        let mut rig = Rig::of("cake", &[TEN_MBIT, ("wash", 1)]);
        rig.enqueue(Packet { tos: 46 << 2, ..packet(0, 1514) });
        assert!(matches!(rig.dequeue(), Dequeued::Packet(packet) if packet.tos == 0));
    }

    #[test]
    fn besteffort_ignores_the_code_point() {
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

    #[test]
    fn trains_are_segmented_unless_told_otherwise_wherever_cake_is_the_leaf() {
        let train = Packet { segments: 4, ..packet(0, 6056) };
        assert!(!Rig::of("cake", &[("split_gso", 0)]).qdisc.queues_segments(&train));
        assert!(Rig::of("cake", &[]).qdisc.queues_segments(&train));
        let class =
            |minor| Class { minor, parent: 0, parameters: Parameters::default(), child: Some(cake()) };
        let filters = vec![Filter { fits: Fits::From(vec![train.from]), class: 1 }];
        let over_child = [
            ("htb", vec![("rate", 1_000_000)]),
            ("tbf", vec![("rate", 1_000_000), ("burst", 9_000), ("limit", 1)]),
        ];
        for (kind, given) in over_child {
            assert!(Rig::over(kind, &given, Some(cake())).qdisc.queues_segments(&train), "{kind}");
        }
        for kind in ["prio", "drr", "mq"] {
            let inner = Inner { child: None, classes: vec![class(1)], filters: filters.clone() };
            let given: &[(&str, u64)] = if kind == "mq" { &[("queues", 1)] } else { &[] };
            assert!(Rig::over_classes(kind, given, inner).qdisc.queues_segments(&train), "{kind}");
        }
    }

    fn cake() -> Box<dyn Qdisc> {
        Rig::of("cake", &[]).qdisc
    }
}
