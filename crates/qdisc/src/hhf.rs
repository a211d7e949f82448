//! `hhf`: a filter finds the flows that send much ("heavy hitters"); they share one queue, all others another one with
//! more weight.
//!
//! ```text
//! filter:  4 arrays of 1024 counters; the places of a flow are 10 bits each of its hash, the fourth their sum mod 2
//!          least = smallest of its 4 counters + length
//!          least > admit_bytes → a heavy hitter; else each counter = max(counter, least)
//!          the counters are cleared when `reset_timeout` has passed since the last time
//! flows:   a heavy hitter is forgotten if it sent nothing for `evict_timeout`; at most `hh_limit` are known
//! queues:  deficit round robin in bytes, a turn of `quantum` for heavy hitters, non_hh_weight · quantum for the others.
//!          A queue that was empty joins the list of new queues, which goes first; that of heavy hitters the old ones
//! full:    over `limit` packets the oldest packet of the heavy hitters is dropped, of the others only if there is none
//! ```
//! Bytes of known heavy hitters are not counted, and counters grow no more than they must: both keep small flows with a
//! common counter from being taken for heavy ones. With the defaults, a flow of 128 KiB in 40 ms (26 Mbit/s) is heavy.
//! When a flow becomes heavy, its next packets may overtake those that wait.
//!
//! [estan2002 §3] [linux-6.12 sch_hhf.c]. Times are in jiffies of 1 ms. Deviation: the counters are cleared for the first
//! time by the start of the run, as if the queue was created then.

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime};

use crate::flow_hash::FlowHash;
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "hhf",
    summary: "flows that send much share one queue, all others another one with more weight",
    source: include_str!("hhf.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MILLISECOND: u64 = 1_000_000;
const MAX: u64 = u32::MAX as u64;
/// Lengths of the table of flows and of the arrays, and their number. [linux-6.12 sch_hhf.c]
const PLACES: usize = 1024;
const ARRAYS: usize = 4;
const PLACE_BITS: u32 = 10;
/// Smallest quantum. [linux-6.12 sch_hhf.c hhf_change]
const LEAST_QUANTUM: u64 = 256;

const PARAMETERS: &[Parameter] = &[
    Parameter::new("limit", ParameterUnit::Packets, Some(1000), (1, MAX), "maximum number of packets"),
    Parameter::new(
        "quantum",
        ParameterUnit::Bytes,
        None,
        (LEAST_QUANTUM, 1 << 20),
        "bytes that the heavy hitters may send per turn; default: MTU + 14",
    ),
    Parameter::new(
        "hh_limit",
        ParameterUnit::Number,
        Some(2 * PLACES as u64),
        (0, 2 * PLACES as u64),
        "maximum number of heavy hitters",
    ),
    Parameter::new(
        "reset_timeout",
        ParameterUnit::Time,
        Some(40 * MILLISECOND),
        (MILLISECOND, 4_000_000 * MILLISECOND),
        "time after which the counters of the filter are cleared",
    ),
    Parameter::new(
        "admit_bytes",
        ParameterUnit::Bytes,
        Some(131_072),
        (0, MAX),
        "bytes in `reset_timeout` that make a flow a heavy hitter",
    ),
    Parameter::new(
        "evict_timeout",
        ParameterUnit::Time,
        Some(1000 * MILLISECOND),
        (MILLISECOND, 4_000_000 * MILLISECOND),
        "time without a packet after which a heavy hitter is forgotten",
    ),
    Parameter::new(
        "non_hh_weight",
        ParameterUnit::Number,
        Some(2),
        (1, 2047),
        "turn of the other flows, in quanta",
    ),
];

/// The queues. [linux-6.12 sch_hhf.c wdrr_bucket_idx]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    Heavy = 0,
    Other = 1,
}

/// A heavy hitter.
#[derive(Clone, Copy, Debug)]
struct HeavyHitter {
    hash: u32,
    /// Jiffy of its last packet.
    seen: u64,
}

#[derive(Default)]
struct Bucket {
    packets: VecDeque<Box<Packet>>,
    deficit: i64,
    listed: bool,
}

struct Settings {
    limit: u32,
    quantum: i64,
    most_heavy_hitters: usize,
    reset: u64,
    admit: u64,
    evict: u64,
    weight: i64,
}

struct Hhf {
    settings: Settings,
    hash: FlowHash,
    /// Heavy hitters by the lower bits of their hash, in the order in which they were found.
    heavy_hitters: Vec<Vec<HeavyHitter>>,
    heavy_hitter_count: usize,
    counters: Box<[[u64; PLACES]; ARRAYS]>,
    cleared: u64,
    buckets: [Bucket; 2],
    new: VecDeque<Share>,
    old: VecDeque<Share>,
    ledger: Ledger,
    own: OwnCounters,
}

/// Counters that only `hhf` has.
#[derive(Clone, Copy, Default)]
struct OwnCounters {
    drop_overlimit: u64,
    hh_overlimit: u64,
    found: u64,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("quantum", u64::from(device.mtu).clamp(LEAST_QUANTUM, 1 << 20));
    Ok(())
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let jiffies = |name| value(name).map(|time| time.div_ceil(MILLISECOND));
    Ok(Box::new(Hhf {
        settings: Settings {
            limit: value("limit")? as u32,
            quantum: value("quantum")? as i64,
            most_heavy_hitters: value("hh_limit")? as usize,
            reset: jiffies("reset_timeout")?,
            admit: value("admit_bytes")?,
            evict: jiffies("evict_timeout")?,
            weight: value("non_hh_weight")? as i64,
        },
        hash: FlowHash::default(),
        heavy_hitters: vec![Vec::new(); PLACES],
        heavy_hitter_count: 0,
        counters: Box::new([[0; PLACES]; ARRAYS]),
        cleared: 0,
        buckets: [Bucket::default(), Bucket::default()],
        new: VecDeque::new(),
        old: VecDeque::new(),
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

impl Qdisc for Hhf {
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        packet.enqueued = context.now;
        let share = self.classify(&packet, context);
        let turn = self.turn(share);
        let bucket = &mut self.buckets[share as usize];
        bucket.packets.push_back(packet);
        if !bucket.listed {
            (bucket.listed, bucket.deficit) = (true, turn);
            match share {
                Share::Heavy => self.old.push_back(share),
                Share::Other => self.new.push_back(share),
            }
        }
        if self.ledger.backlog().packets <= self.settings.limit {
            return Enqueued::Queued;
        }
        self.own.drop_overlimit += 1;
        if self.drop_oldest(context) == share { Enqueued::Congestion } else { Enqueued::Queued }
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Dequeued {
        loop {
            let is_new = !self.new.is_empty();
            let Some(&share) = self.new.front().or(self.old.front()) else { return Dequeued::Empty };
            let turn = self.turn(share);
            let bucket = &mut self.buckets[share as usize];
            if bucket.deficit <= 0 {
                bucket.deficit += turn;
                self.leave_list(is_new);
                self.old.push_back(share);
                continue;
            }
            if let Some(packet) = bucket.packets.pop_front() {
                bucket.deficit -= i64::from(packet.frame_length());
                self.ledger.leave(&packet);
                return Dequeued::Packet(packet);
            }
            self.leave_list(is_new);
            // A new queue that has run empty waits for a round, so that it cannot be new again at once.
            if is_new && !self.old.is_empty() {
                self.old.push_back(share);
            } else {
                self.buckets[share as usize].listed = false;
            }
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
        show("drop_overlimit", self.own.drop_overlimit);
        show("hh_overlimit", self.own.hh_overlimit);
        show("tot_hh", self.own.found);
        show("cur_hh", self.heavy_hitter_count as u64);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl Hhf {
    fn turn(&self, share: Share) -> i64 {
        match share {
            Share::Heavy => self.settings.quantum,
            Share::Other => self.settings.quantum * self.settings.weight,
        }
    }

    fn leave_list(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }

    fn classify(&mut self, packet: &Packet, context: &mut Context<'_>) -> Share {
        let now = jiffy(context.now);
        if self.cleared + self.settings.reset < now {
            self.counters.iter_mut().for_each(|array| array.fill(0));
            self.cleared = now;
        }
        let hash = self.hash.of_headers(packet, context);
        if self.is_heavy_hitter(hash, now) {
            return Share::Heavy;
        }
        let places = places_of(hash);
        let counted = places.iter().zip(self.counters.iter()).map(|(&place, array)| array[place]);
        let least = counted.min().unwrap_or(0) + u64::from(packet.frame_length());
        if least > self.settings.admit {
            return self.remember(hash, now);
        }
        for (place, array) in places.into_iter().zip(self.counters.iter_mut()) {
            array[place] = array[place].max(least);
        }
        Share::Other
    }

    /// Whether the flow is a heavy hitter, which it then remains. Expired ones on the way are forgotten, except the last.
    fn is_heavy_hitter(&mut self, hash: u32, now: u64) -> bool {
        let (evict, flows) = (self.settings.evict, &mut self.heavy_hitters[place_of(hash)]);
        let mut at = 0;
        while at < flows.len() {
            if flows[at].seen + evict < now {
                if at + 1 == flows.len() {
                    return false;
                }
                flows.remove(at);
                self.heavy_hitter_count -= 1;
            } else if flows[at].hash == hash {
                flows[at].seen = now;
                return true;
            } else {
                at += 1;
            }
        }
        false
    }

    /// Adds a heavy hitter, in the place of an expired one if there is one.
    fn remember(&mut self, hash: u32, now: u64) -> Share {
        let (evict, flows) = (self.settings.evict, &mut self.heavy_hitters[place_of(hash)]);
        let flow = HeavyHitter { hash, seen: now };
        match flows.iter_mut().find(|flow| flow.seen + evict < now) {
            Some(expired) => *expired = flow,
            None if self.heavy_hitter_count >= self.settings.most_heavy_hitters => {
                self.own.hh_overlimit += 1;
                return Share::Other;
            }
            None => {
                flows.push(flow);
                self.heavy_hitter_count += 1;
            }
        }
        self.own.found += 1;
        Share::Heavy
    }

    /// Drops a packet of the heavy hitters, or of the others if they have none.
    fn drop_oldest(&mut self, context: &mut Context<'_>) -> Share {
        let heavy = !self.buckets[Share::Heavy as usize].packets.is_empty();
        let share = if heavy { Share::Heavy } else { Share::Other };
        if let Some(packet) = self.buckets[share as usize].packets.pop_front() {
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::Overlimit);
        }
        share
    }
}

fn jiffy(now: SimTime) -> u64 {
    now.as_nanos() / MILLISECOND
}

fn place_of(hash: u32) -> usize {
    hash as usize % PLACES
}

/// The places of a flow in the arrays. [linux-6.12 sch_hhf.c hhf_classify]
fn places_of(hash: u32) -> [usize; ARRAYS] {
    let chunk = |number: u32| place_of(hash >> (number * PLACE_BITS));
    let rest = (hash >> (3 * PLACE_BITS)) as usize;
    [chunk(0), chunk(1), chunk(2), chunk(0) ^ chunk(1) ^ chunk(2) ^ rest]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};
    use tailback_units::Span;

    #[test]
    fn the_fourth_place_of_a_flow_is_the_sum_without_carry_of_the_three_others_and_the_rest() {
        let hash = 0b11 << 30 | 0b01_0000_1111 << 20 | 0b00_0000_0101 << 10 | 0b11_0000_0011;
        assert_eq!(places_of(hash), [0b11_0000_0011, 0b00_0000_0101, 0b01_0000_1111, 0b10_0000_1001 ^ 0b11]);
    }

    /// Sends so many full frames of a flow at once, and serves them.
    fn pass(rig: &mut Rig, flow: u32, packets: u32) {
        for _ in 0..packets {
            rig.enqueue(packet(flow, 1514));
            rig.dequeue();
        }
    }

    #[test]
    fn a_flow_is_heavy_once_more_than_128_kib_arrived_in_40_ms() {
        let mut rig = Rig::of("hhf", &[]);
        // 86 frames are 130,204 bytes, 87 more than 131,072.
        pass(&mut rig, 1, 86);
        assert_eq!(rig.counter("tot_hh"), 0);
        pass(&mut rig, 1, 1);
        assert_eq!((rig.counter("tot_hh"), rig.counter("cur_hh")), (1, 1));
    }

    #[test]
    fn the_counters_are_cleared_after_the_timeout() {
        let mut rig = Rig::of("hhf", &[]);
        for _ in 0..10 {
            pass(&mut rig, 1, 80);
            rig.advance(Span::from_millis(41));
        }
        assert_eq!(rig.counter("tot_hh"), 0);
    }

    #[test]
    fn the_bytes_of_a_heavy_hitter_do_not_make_others_heavy() {
        let mut rig = Rig::of("hhf", &[]);
        pass(&mut rig, 1, 5000);
        // Each of 300 other flows sends less than the threshold, together 68 MB.
        (2..302).for_each(|flow| pass(&mut rig, flow, 50));
        assert!(rig.counter("tot_hh") <= 3, "{}", rig.counter("tot_hh"));
    }

    #[test]
    fn a_heavy_hitter_that_rests_is_forgotten() {
        let mut rig = Rig::of("hhf", &[]);
        pass(&mut rig, 1, 90);
        rig.advance(Span::from_millis(1002));
        pass(&mut rig, 1, 80);
        // It must exceed the threshold again, and takes its own old place.
        assert_eq!((rig.counter("tot_hh"), rig.counter("cur_hh")), (1, 1));
        pass(&mut rig, 1, 10);
        assert_eq!((rig.counter("tot_hh"), rig.counter("cur_hh")), (2, 1));
    }

    #[test]
    fn others_get_their_weight_beside_heavy_hitters() {
        let mut rig = Rig::of("hhf", &[("limit", 4000), ("non_hh_weight", 3)]);
        pass(&mut rig, 1, 90);
        rig.fill(400, &numbered(1, 1));
        // Each of twenty flows stays below the threshold.
        (10..30).for_each(|flow| rig.fill(20, &numbered(flow, 0)));
        let heavy: u32 = (0..400).filter_map(|_| rig.next_number()).sum();
        assert!(heavy.abs_diff(100) <= 2, "{heavy} of 400 are a quarter");
    }

    #[test]
    fn a_full_queue_drops_the_oldest_packet_of_the_heavy_hitters() {
        let mut rig = Rig::of("hhf", &[("limit", 10)]);
        pass(&mut rig, 1, 90);
        for seq in 0..5 {
            rig.enqueue(numbered(1, seq));
        }
        let answers: Vec<_> = (10..18).map(|seq| rig.enqueue(numbered(2, seq))).collect();
        assert_eq!(answers, [Enqueued::Queued; 8]);
        assert_eq!(rig.enqueue(numbered(1, 5)), Enqueued::Congestion);
        assert_eq!(rig.counter("drop_overlimit"), 4);
        // Two of the others, whose queue is new, and then two for each one of the heavy hitters.
        assert_eq!(rig.drain(), [10, 11, 12, 13, 4, 14, 15, 5, 16, 17]);
    }

    #[test]
    fn no_more_heavy_hitters_than_the_limit_are_known() {
        let mut rig = Rig::of("hhf", &[("hh_limit", 1)]);
        pass(&mut rig, 1, 90);
        pass(&mut rig, 2, 90);
        assert_eq!((rig.counter("cur_hh"), rig.counter("hh_overlimit")), (1, 4));
    }
}
