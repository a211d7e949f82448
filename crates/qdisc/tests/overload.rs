//! All disciplines under the same overload: an unresponsive source of 20 Mbit/s in full frames, a link of 10 Mbit/s,
//! 30 seconds. The expected backlogs and drops are computed from the rules of each discipline.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256StarStar;
use tailback_packet::{DropReason, Ecn, HostId, Packet, Payload, SocketId};
use tailback_qdisc::{Attachment, Dequeued, Effects, Qdisc, registry};
use tailback_units::{Parameters, SimTime, Span};

/// A full frame at 20 Mbit/s.
const ARRIVAL_GAP: Span = Span::from_nanos(605_600);
const RUN: Span = Span::from_secs(30);

fn frame() -> Packet {
    Packet {
        from: SocketId(0),
        to: SocketId(1),
        source: HostId(0),
        destination: HostId(1),
        ip_length: 1500,
        segments: 1,
        ecn: Ecn::NotEct,
        tos: 0,
        flow_hash: 1,
        truesize: 2304,
        charged: false,
        queue_length: tailback_packet::QueueLength::NONE,
        enqueued: SimTime::ZERO,
        departure: SimTime::ZERO,
        payload: Payload::EchoRequest { seq: 0 },
    }
}

/// Measurements during the overload.
struct Course {
    /// Backlog in packets, second by second.
    backlog: Vec<u32>,
    /// The longest queue, and when.
    peak: (u32, SimTime),
    /// Sojourn time of the last packet delivered.
    last_sojourn: Span,
    drops: Vec<(SimTime, DropReason)>,
    arrived: usize,
}

impl Course {
    fn loss(&self) -> f64 {
        self.drops.len() as f64 / self.arrived as f64
    }

    fn reasons(&self) -> Vec<DropReason> {
        let mut reasons: Vec<_> = self.drops.iter().map(|(_, reason)| *reason).collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }
}

fn build(kind: &str, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> Box<dyn Qdisc> {
    let mut values = Parameters::default();
    given.iter().for_each(|(name, value)| values.set(name, *value));
    registry::build(kind, &values, &Attachment::default(), child).expect("a discipline of the matrix")
}

/// The discipline under `htb rate 10mbit` while the source sends.
fn overload(kind: &str, given: &[(&str, u64)]) -> Course {
    let mut qdisc = build("htb", &[("rate", 10_000_000)], Some(build(kind, given, None)));
    let mut draws = Xoshiro256StarStar::seed_from_u64(1);
    let mut effects = Effects::default();
    let (mut arrival, mut departure) = (SimTime::ZERO, SimTime::ZERO);
    let (backlog, drops) = (Vec::new(), Vec::new());
    let (peak, last_sojourn) = ((0, SimTime::ZERO), Span::ZERO);
    let mut course = Course { backlog, peak, last_sojourn, drops, arrived: 0 };
    while arrival < SimTime::ZERO + RUN {
        let now = arrival.min(departure);
        let mut context = effects.context(now, &mut draws);
        if arrival <= departure {
            qdisc.enqueue(Box::new(frame()), &mut context);
            course.arrived += 1;
            arrival += ARRIVAL_GAP;
        }
        departure = match qdisc.dequeue(&mut context) {
            Dequeued::Packet(packet) => {
                course.last_sojourn = now.since(packet.enqueued);
                now
            }
            Dequeued::NotBefore(t) => t,
            Dequeued::Empty => SimTime::NEVER,
        };
        course.drops.extend(effects.dropped.drain(..).map(|(_, reason)| (now, reason)));
        let held = qdisc.backlog().packets;
        course.peak = course.peak.max((held, now));
        if now.as_nanos() / 1_000_000_000 > course.backlog.len() as u64 {
            course.backlog.push(held);
        }
    }
    course
}

#[test]
fn pfifo_of_180_holds_180_packets_for_218_ms_and_loses_half_at_its_tail() {
    let course = overload("pfifo", &[("limit", 180)]);
    assert!(course.backlog[1..].iter().all(|&held| held >= 179), "{:?}", course.backlog);
    let sojourn = course.last_sojourn.as_nanos() as f64 / 1e6;
    assert!((sojourn - 218.0).abs() < 1.3, "{sojourn}");
    assert!((course.loss() - 0.5).abs() < 0.01, "{}", course.loss());
    assert_eq!(course.reasons(), [DropReason::TailFull]);
}

#[test]
fn bfifo_of_as_many_bytes_does_the_same() {
    let course = overload("bfifo", &[("limit", 180 * 1514)]);
    let packets = overload("pfifo", &[("limit", 180)]);
    assert_eq!((course.backlog, course.drops), (packets.backlog, packets.drops));
}

#[test]
fn pfifo_fast_holds_txqueuelen_packets_less_the_slots_not_yet_freed_for_1_2_s() {
    let course = overload("pfifo_fast", &[]);
    // A batch of 16 slots, and a packet that has just left.
    assert!(course.backlog[2..].iter().all(|&held| (984..=1000).contains(&held)), "{:?}", course.backlog);
    let sojourn = course.last_sojourn.as_nanos() as f64 / 1e6;
    assert!((984.0 * 1.2112..1000.0 * 1.2112 + 0.1).contains(&sojourn), "{sojourn}");
    assert_eq!(course.reasons(), [DropReason::TailFull]);
}

#[test]
fn fq_codel_lets_the_queue_grow_until_its_drops_catch_up_with_the_excess() {
    let course = overload("fq_codel", &[]);
    let (held, at) = course.peak;
    // 826 packets/s too many, 50·T drops per s after T s: they meet after 16.5 s, with 826·T − 25·T² packets queued.
    assert!((15.5..=17.5).contains(&at.as_secs_f64()), "{at}");
    assert!((6400..=7200).contains(&held), "{held}");
    assert!(course.backlog[20..].is_sorted_by(|a, b| a >= b), "{:?}", course.backlog);
    assert_eq!(course.reasons(), [DropReason::Aqm], "neither limit is reached");
}

#[test]
fn fq_codel_of_1000_packets_drops_in_batches_once_full() {
    let course = overload("fq_codel", &[("limit", 1000)]);
    assert_eq!(course.peak.0, 1000);
    assert_eq!(course.reasons(), [DropReason::Overlimit, DropReason::Aqm]);
    let first = course.drops.iter().position(|(_, reason)| *reason == DropReason::Overlimit);
    let batch = &course.drops[first.expect("a batch")..][..64];
    assert!(batch.iter().all(|drop| *drop == batch[0]), "64 at one instant");
    let full = batch[0].0.as_secs_f64();
    assert!((full - 1.25).abs() < 0.1, "826·t − 25·t² = 1000 at 1.26 s: {full}");
}

#[test]
fn pfifo_head_drop_holds_as_much_as_pfifo_and_loses_it_at_its_head() {
    let course = overload("pfifo_head_drop", &[("limit", 180)]);
    assert!(course.backlog[1..].iter().all(|&held| held >= 179), "{:?}", course.backlog);
    assert_eq!(course.reasons(), [DropReason::Overlimit]);
}

#[test]
fn sfq_holds_127_packets_for_154_ms_and_loses_half_at_the_tail_of_its_longest_slot() {
    let course = overload("sfq", &[]);
    assert!(course.backlog[1..].iter().all(|&held| held >= 126), "{:?}", course.backlog);
    let sojourn = course.last_sojourn.as_nanos() as f64 / 1e6;
    assert!((sojourn - 153.8).abs() < 1.3, "{sojourn}");
    // The slot is full when the queue is: its depth and the limit are the same 127.
    assert_eq!(course.reasons(), [DropReason::FlowFull]);
    assert!((course.loss() - 0.5).abs() < 0.01, "{}", course.loss());
}

#[test]
fn codel_of_1000_packets_is_full_from_1_3_s_on_until_its_drops_catch_up() {
    let course = overload("codel", &[]);
    assert!(course.backlog[1..15].iter().all(|&held| held >= 990), "{:?}", course.backlog);
    // 50·T drops per s are 826 at 16.5 s: from then on it drains.
    assert!(course.backlog[17..22].is_sorted_by(|a, b| a > b), "{:?}", course.backlog);
    let full = course.drops.iter().find(|(_, reason)| *reason == DropReason::TailFull);
    let full = full.expect("tail drops").0.as_secs_f64();
    assert!((full - 1.26).abs() < 0.15, "826·t − 25·t² = 1000 at 1.26 s: {full}");
    assert_eq!(course.reasons(), [DropReason::TailFull, DropReason::Aqm]);
}

#[test]
fn pie_brings_the_delay_to_15_ms_once_it_drops_half() {
    let course = overload("pie", &[]);
    let settled = &course.backlog[10..];
    let mean = settled.iter().sum::<u32>() as f64 / settled.len() as f64 * 1.2112;
    assert!((8.0..25.0).contains(&mean), "{mean} ms: {:?}", course.backlog);
    assert_eq!(course.reasons(), [DropReason::Aqm], "{:?}", course.peak);
}

#[test]
fn the_pie_of_2013_settles_at_20_ms() {
    let course = overload("pie", &[("generation", 2), ("limit", 2000)]);
    let settled = &course.backlog[10..];
    let mean = settled.iter().sum::<u32>() as f64 / settled.len() as f64 * 1.2112;
    assert!((12.0..35.0).contains(&mean), "{mean} ms: {:?}", course.backlog);
}

#[test]
fn fq_pie_holds_the_one_flow_to_its_target() {
    let course = overload("fq_pie", &[]);
    let settled = &course.backlog[10..];
    let mean = settled.iter().sum::<u32>() as f64 / settled.len() as f64 * 1.2112;
    assert!((8.0..25.0).contains(&mean), "{mean} ms: {:?}", course.backlog);
}

#[test]
fn red_holds_the_average_at_its_upper_threshold() {
    let course = overload("red", &[("limit", 400_000), ("avpkt", 1000)]);
    let upper = 100_000 / 1514;
    assert!(course.backlog[5..].iter().all(|&held| held.abs_diff(upper) < upper / 4), "{:?}", course.backlog);
    assert_eq!(course.reasons(), [DropReason::Aqm]);
}

#[test]
fn cake_fills_its_memory_first_and_then_blue_prunes_the_flood() {
    let course = overload("cake", &[("bandwidth", 10_000_000)]);
    let memory = (4 << 20) / 2304;
    assert!(course.peak.0 <= memory + 1, "{:?}", course.peak);
    assert!(course.peak.0 > memory * 9 / 10, "{:?}", course.peak);
    assert!(
        course.reasons().contains(&DropReason::Aqm) && course.reasons().contains(&DropReason::Overmemory)
    );
    assert!(course.backlog[28] < memory, "{:?}", course.backlog);
}

#[test]
fn fq_lets_one_flow_hold_100_packets() {
    let course = overload("fq", &[]);
    assert!(course.peak.0 <= 101, "{:?}", course.peak);
    assert_eq!(course.reasons(), [DropReason::FlowFull]);
}

#[test]
fn tbf_holds_what_its_latency_allows() {
    let course = overload("tbf", &[("rate", 10_000_000), ("burst", 5_120), ("latency", 50_000_000)]);
    assert!(course.backlog[1..].iter().all(|&held| (43..=45).contains(&held)), "{:?}", course.backlog);
}

#[test]
fn dualpi2_holds_a_classic_flood_near_its_target() {
    let course = overload("dualpi2", &[]);
    let settled = &course.backlog[10..];
    // It drops at departures: a packet waits while those before it leave or are dropped, at the rate of their arrival.
    let mean = settled.iter().sum::<u32>() as f64 / settled.len() as f64 * 0.6056;
    assert!((8.0..25.0).contains(&mean), "{mean} ms: {:?}", course.backlog);
}
