//! Tins: the mapping of code points to them, the share of each, and its flows.

use std::collections::VecDeque;

use tailback_packet::Packet;
use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::aqm::cobalt::{Cobalt, CobaltSettings};
use crate::double_list::{DoubleList, Neighbours};
use crate::{Part, PartKind};

/// Queues of a tin, and the ways of a set. [linux-6.12 CAKE_QUEUES, CAKE_SET_WAYS]
pub(super) const QUEUES: u32 = 1024;
const WAYS: u32 = 8;
/// Quantum of a tin without a shaper.
const UNLIMITED_QUANTUM: u64 = 1024;

/// The mapping of code points to tins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sorting {
    Three,
    One,
    Four,
    Eight,
    Precedence,
}

pub(super) struct Tin {
    pub(super) rate: Rate,
    pub(super) share: u64,
    pub(super) quantum: i64,
    pub(super) law: CobaltSettings,
    pub(super) flows: Vec<Flow>,
    pub(super) links: Vec<Neighbours>,
    pub(super) tags: Vec<u32>,
    /// Separate from the flows, because each arrival reads eight of them.
    pub(super) sets: Vec<Set>,
    pub(super) hosts: [Vec<u32>; 2],
    pub(super) new: DoubleList,
    pub(super) old: DoubleList,
    pub(super) decaying: DoubleList,
    pub(super) bulk_flows: u32,
    pub(super) packets: u32,
    pub(super) deficit: i64,
    pub(super) next: SimTime,
    pub(super) own: TinCounters,
}

#[derive(Clone, Copy, Default)]
pub(super) struct TinCounters {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) ack_drops: u64,
    pub(super) way_hits: u64,
    pub(super) way_misses: u64,
    pub(super) collisions: u64,
    pub(super) longest: u32,
    pub(super) delays: Delays,
}

/// Moving averages of the sojourn time in ns: peak, average, base.
#[derive(Clone, Copy, Default)]
pub(super) struct Delays {
    pub(super) peak: u64,
    pub(super) average: u64,
    pub(super) base: u64,
}

impl Delays {
    /// Adds a sample with weight 1/256, or 1/4 where it raises the peak or lowers the base.
    /// [linux-6.12 sch_cake.c cake_dequeue]
    #[inline]
    pub(super) fn sample(&mut self, sojourn: u64) {
        let towards = |level: u64, shift: u32| level - (level >> shift) + (sojourn >> shift);
        self.average = towards(self.average, 8);
        self.peak = towards(self.peak, if sojourn > self.peak { 2 } else { 8 });
        self.base = towards(self.base, if sojourn < self.base { 2 } else { 8 });
    }
}

#[derive(Default)]
pub(super) struct Flow {
    pub(super) queue: VecDeque<Box<Packet>>,
    pub(super) bytes: u64,
    pub(super) deficit: i64,
    /// Buckets of its two hosts.
    pub(super) hosts: [u16; 2],
    pub(super) law: Cobalt,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Set {
    #[default]
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

impl Sorting {
    /// Numerator and denominator of the share of each tin in the rate.
    pub(super) fn shares(self) -> &'static [(u64, u64)] {
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
    pub(super) fn tin_of(self, dscp: u8) -> usize {
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
    pub(super) fn new(rate: Rate, (numerator, denominator): (u64, u64), rtt: Span, mtu: u32) -> Tin {
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

    /// The queue of a hash: its own if it has one, else a free one of its set, else one to share.
    pub(super) fn queue_of(&mut self, hash: u32) -> u32 {
        let (set, first) = (hash % QUEUES / WAYS * WAYS, hash % WAYS);
        let ways = (0..WAYS).map(|way| set + (first + way) % WAYS);
        let held = |tin: &Tin, queue: u32| tin.sets[queue as usize] != Set::None;
        // Its queue stays reserved when it is empty, until another flow needs it.
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
}

impl Tin {
    /// The tin as `tc -s -j` shows it.
    pub(super) fn part(&self) -> Part {
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

impl Tin {
    pub(super) fn set_of(&self, index: u32) -> Set {
        self.sets[index as usize]
    }

    /// Removes a flow, which is the first of its list.
    pub(super) fn unlist(&mut self, set: Set, index: u32) {
        let list = match set {
            Set::Decaying => &mut self.decaying,
            _ if self.new.first() == Some(index) => &mut self.new,
            _ => &mut self.old,
        };
        list.remove(&mut self.links, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_tin_are_derived_from_its_rate() {
        let rtt = Span::from_millis(100);
        let tin = |bits| Tin::new(Rate::from_bits_per_sec(bits), (1, 1), rtt, 1514);
        assert_eq!((tin(10_000_000).quantum, tin(100_000_000).quantum), (305, 1514));
        let slow = tin(1_000_000).law;
        assert_eq!((slow.target.as_micros(), slow.interval.as_micros()), (18_168, 113_168));
        assert_eq!(tin(10_000_000).law.target, Span::from_millis(5));
    }
}
