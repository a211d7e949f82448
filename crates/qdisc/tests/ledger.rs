//! Properties of all disciplines: every packet is accounted for, none overtakes another of its flow, and `NotBefore` is
//! right. Random arrivals, departures and waits for every row of the registry with random parameters.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256StarStar;
use tailback_packet::{
    DropReason, Ecn, HostId, Packet, Payload, SackBlocks, Segment, SegmentFlags, SocketId, Timestamp,
};
use tailback_properties::cases;
use tailback_qdisc::registry::BuildError;
use tailback_qdisc::{
    Attachment, Backlog, Class, Dequeued, Effects, Enqueued, Filter, Fits, Inner, Qdisc, Row, Series,
    check_conservation, registry,
};
use tailback_units::{Parameter, ParameterError, Parameters, SimTime, Span};

const FLOWS: u32 = 6;
/// The segments of a train carry its number.
const SEQ_PER_PACKET: u64 = 1_000_000;
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// An operation on a discipline.
#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u32, ip_length: u32, ecn: usize },
    ArriveTrain { flow: u32, segments: u16 },
    Depart,
    Wait { ns: u64 },
}

/// Packets and bytes, counted outside the discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Tally {
    packets: u64,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.frame_length());
    }
}

/// A discipline under observation.
struct Watched {
    qdisc: Box<dyn Qdisc>,
    now: SimTime,
    draws: Xoshiro256StarStar,
    effects: Effects,
    /// ECN bits of every packet as it arrived, by number.
    arrivals: Vec<Ecn>,
    last_number: BTreeMap<SocketId, u32>,
    /// netem with jitter may reorder, and so may two queues for a flow that mixes code points, or for one that has become
    /// a heavy hitter while packets of it wait among those of the others.
    may_reorder: bool,
    /// sfq changes its hash now and then, and drops packets for which a queue that two flows now share has no room.
    may_rehash: bool,
    arrived: Tally,
    left: Tally,
    segments_left: u64,
}

impl Watched {
    fn new(qdisc: Box<dyn Qdisc>, seed: u64) -> Self {
        Watched {
            qdisc,
            now: SimTime::ZERO,
            draws: Xoshiro256StarStar::seed_from_u64(seed),
            effects: Effects::default(),
            arrivals: Vec::new(),
            last_number: BTreeMap::new(),
            may_reorder: false,
            may_rehash: false,
            arrived: Tally::default(),
            left: Tally::default(),
            segments_left: 0,
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Arrive { flow, ip_length, ecn } => self.arrive(flow, ip_length, ECN[ecn]),
            Step::ArriveTrain { flow, segments } => self.arrive_train(flow, segments),
            Step::Depart => drop(self.depart()),
            Step::Wait { ns } => self.now += Span::from_nanos(ns),
        }
        self.check_ledger();
    }

    fn arrive(&mut self, flow: u32, ip_length: u32, ecn: Ecn) {
        let packet = self.packet(flow, ip_length, ecn);
        self.arrivals.push(ecn);
        let before = self.effects.dropped.len();
        let answer = self.hand_over(Box::new(packet), false);
        self.check_answer(answer, before);
        self.hand_over_copies();
    }

    /// A packet of several segments, or the segments one by one where the discipline queues those.
    fn arrive_train(&mut self, flow: u32, segments: u16) {
        let train = self.train(flow, segments);
        self.arrivals.push(train.ecn);
        let cut = self.qdisc.queues_segments(&train);
        for packet in if cut { train.into_segments() } else { vec![train] } {
            self.hand_over(Box::new(packet), false);
            self.hand_over_copies();
        }
    }

    fn hand_over_copies(&mut self) {
        while let Some(copy) = self.effects.copies.pop() {
            self.hand_over(copy, true);
        }
    }

    fn hand_over(&mut self, packet: Box<Packet>, is_copy: bool) -> Enqueued {
        self.arrived.add(&packet);
        let context = self.effects.context(self.now, &mut self.draws);
        let mut context = if is_copy { context.of_copy() } else { context };
        self.qdisc.enqueue(packet, &mut context)
    }

    /// Checks that the result of an enqueue agrees with what was dropped.
    fn check_answer(&self, answer: Enqueued, before: usize) {
        let newest = self.arrivals.len() as u32 - 1;
        let drops = &self.effects.dropped[before..];
        let lost_itself =
            drops.iter().any(|(packet, _)| number(packet).is_none_or(|number| number == newest));
        match answer {
            Enqueued::Queued => assert!(!lost_itself, "the result is `Queued`, but it was dropped"),
            Enqueued::Dropped => {
                let alone = drops.len() == 1 || self.may_rehash;
                assert!(lost_itself && alone, "the result is `Dropped`, but it was not")
            }
            Enqueued::Congestion => {
                assert!(!drops.is_empty(), "the result is `Congestion`, but nothing was dropped")
            }
            Enqueued::Lost => assert!(lost_itself, "the result is `Lost`, but it was not dropped"),
        }
    }

    fn depart(&mut self) -> Dequeued {
        let mut context = self.effects.context(self.now, &mut self.draws);
        let answer = self.qdisc.dequeue(&mut context);
        match &answer {
            Dequeued::Packet(packet) => self.check_packet(packet),
            Dequeued::NotBefore(t) => assert!(*t > self.now, "`not before` {t} is not after {}", self.now),
            Dequeued::Empty => {
                assert_eq!(self.qdisc.backlog(), Backlog::default(), "empty, but it holds packets")
            }
        }
        self.hand_over_copies();
        answer
    }

    fn check_packet(&mut self, packet: &Packet) {
        self.left.add(packet);
        self.segments_left += u64::from(packet.segments);
        assert!(packet.enqueued <= self.now, "it has not been queued yet");
        let Some(number) = number(packet) else { return };
        let last = self.last_number.insert(packet.from, number);
        let of_one_train = last == Some(number) && matches!(packet.payload, Payload::Tcp(_));
        assert!(
            last < Some(number) || of_one_train || self.may_reorder,
            "flow {:?}: {last:?} left before",
            packet.from
        );
        let ecn = self.arrivals[number as usize];
        let may_be_ce = packet.ecn == Ecn::Ce && ecn != Ecn::NotEct;
        assert!(packet.ecn == ecn || may_be_ce, "{ecn:?} became {:?}", packet.ecn);
    }

    fn check_ledger(&self) {
        let (mut dropped, mut cut) = (Tally::default(), 0);
        for (packet, reason) in &self.effects.dropped {
            match reason {
                DropReason::Segmented => cut += u64::from(packet.segments) - 1,
                _ => dropped.add(packet),
            }
        }
        let backlog = self.qdisc.backlog();
        assert_eq!(
            self.arrived.packets + cut,
            self.left.packets + dropped.packets + u64::from(backlog.packets)
        );
        assert_eq!(self.arrived.bytes, self.left.bytes + dropped.bytes + backlog.bytes);
        let counters = self.qdisc.counters();
        assert_eq!((counters.sent_packets, counters.sent_bytes), (self.segments_left, self.left.bytes));
        assert_eq!(counters.dropped, dropped.packets);
    }

    /// Dequeues all packets, waiting as long as `NotBefore` says; fails if that does not end.
    fn drain(&mut self) {
        let calls = 10 * self.qdisc.backlog().packets + 1;
        for _ in 0..=calls {
            match self.depart() {
                Dequeued::Packet(_) => {}
                Dequeued::NotBefore(t) => self.now = t,
                Dequeued::Empty => return self.check_ledger(),
            }
        }
        panic!("{:?} are left after {calls} calls", self.qdisc.backlog());
    }

    fn train(&self, flow: u32, segments: u16) -> Packet {
        let number = self.arrivals.len() as u64;
        let train = Segment {
            seq: number * SEQ_PER_PACKET,
            length: u32::from(segments) * 1448,
            ack: 1,
            window: 65_536,
            flags: SegmentFlags::ACK,
            mss: 1448,
            tsval: Timestamp::NONE,
            tsecr: Timestamp::NONE,
            sack: SackBlocks::NONE,
        };
        let ip_length = u32::from(segments) * 1500;
        Packet { segments, payload: Payload::Tcp(train), ..self.packet(flow, ip_length, Ecn::NotEct) }
    }

    fn packet(&self, flow: u32, ip_length: u32, ecn: Ecn) -> Packet {
        Packet {
            from: SocketId(flow),
            to: SocketId(flow),
            source: HostId(flow as u16 / 2),
            destination: HostId(100 + flow as u16 % 2),
            ip_length,
            segments: 1,
            ecn,
            tos: [0x00, 0x08, 0x10, 0x18][flow as usize % 4],
            flow_hash: flow.wrapping_mul(0x9e37_79b1),
            truesize: ip_length + 768,
            charged: false,
            queue_length: tailback_packet::QueueLength::NONE,
            enqueued: SimTime::NEVER,
            departure: SimTime::ZERO,
            payload: Payload::EchoRequest { seq: self.arrivals.len() as u32 },
        }
    }
}

/// The number of a packet, which no discipline reads; `None` if `netem` has damaged it.
fn number(packet: &Packet) -> Option<u32> {
    match packet.payload {
        Payload::EchoRequest { seq } => Some(seq),
        Payload::Tcp(ref segment) => Some((segment.seq / SEQ_PER_PACKET) as u32),
        _ => None,
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..FLOWS, 20..=1500u32, 0..4usize).prop_map(|(flow, ip_length, ecn)| Step::Arrive { flow, ip_length, ecn }),
        1 => (0..FLOWS, 2..=8u16).prop_map(|(flow, segments)| Step::ArriveTrain { flow, segments }),
        3 => Just(Step::Depart),
        2 => log_uniform(1, 1_000_000_000).prop_map(|ns| Step::Wait { ns }),
    ]
}

/// A number with a uniformly distributed logarithm.
fn log_uniform(min: u64, max: u64) -> impl Strategy<Value = u64> {
    let bounds = ((min as f64 + 1.0).ln(), (max as f64 + 1.0).ln());
    (0.0..=1.0f64).prop_map(move |at| {
        let value = (bounds.0 + at * (bounds.1 - bounds.0)).exp() - 1.0;
        (value as u64).clamp(min, max)
    })
}

/// Values for some of the parameters, and for all required ones.
fn parameters(row: &'static Row) -> impl Strategy<Value = Parameters> {
    let value = |row: &'static Parameter| (any::<bool>(), log_uniform(row.min, row.max));
    let table = row.parameters;
    table.iter().map(value).collect::<Vec<_>>().prop_map(move |drawn| {
        let mut given = required(row);
        for (parameter, (chosen, value)) in table.iter().zip(drawn) {
            if chosen {
                given.set(parameter.name, value);
            }
        }
        given
    })
}

/// The kinds that may change the order of the packets of a flow.
const REORDERING: [&str; 3] = ["netem", "dualpi2", "hhf"];

/// Values for the required parameters of a row.
fn required(row: &Row) -> Parameters {
    let given: &[(&str, u64)] = match row.name {
        "htb" => &[("rate", 1_000_000)],
        "tbf" => &[("rate", 1_000_000), ("burst", 5_000), ("limit", 100_000)],
        "choke" => &[("limit", 400), ("bandwidth", 10_000_000)],
        "red" => &[("limit", 400_000), ("avpkt", 1_000)],
        _ => &[],
    };
    Parameters::new(given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
}

/// A discipline of this row; a classful one with a short `pfifo` or another row as its child.
fn build(
    row: &Row,
    given: &Parameters,
    child: &Row,
    queue_length: u32,
) -> Result<Box<dyn Qdisc>, BuildError> {
    let device = Attachment { queue_length, ..Attachment::default() };
    let child = row.classful.then(|| {
        let child = if child.classful { registry::find("pfifo").expect("a row") } else { child };
        registry::build(child.name, &required(child), &device, None).expect("a child without parameters")
    });
    registry::build(row.name, given, &device, child)
}

fn any_row() -> impl Strategy<Value = &'static Row> {
    proptest::sample::select(registry::ROWS.iter().collect::<Vec<_>>())
}

fn row_with_parameters() -> impl Strategy<Value = (&'static Row, Parameters)> {
    any_row().prop_flat_map(|row| (Just(row), parameters(row)))
}

/// The discipline under test; `None` if values within their ranges exclude each other and were refused.
fn watched(built: Result<Box<dyn Qdisc>, BuildError>, row: &Row, child: &Row, seed: u64) -> Option<Watched> {
    match built {
        Ok(qdisc) => {
            let may_reorder = [row.name, child.name].iter().any(|name| REORDERING.contains(name));
            let may_rehash = [row.name, child.name].contains(&"sfq");
            Some(Watched { may_reorder, may_rehash, ..Watched::new(qdisc, seed) })
        }
        Err(BuildError::Parameter { error: ParameterError::Conflict { .. }, .. }) => None,
        Err(error) => panic!("parameters within their ranges: {error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..cases(600) })]

    #[test]
    fn every_packet_that_arrived_has_left_was_dropped_or_waits(
        (row, given) in row_with_parameters(),
        child in any_row(),
        queue_length in 0..40u32,
        steps in proptest::collection::vec(step(), 1..400),
        seed: u64,
    ) {
        let Some(mut watched) = watched(build(row, &given, child, queue_length), row, child, seed) else { return Ok(()) };
        steps.iter().for_each(|step| watched.take(step));
        watched.drain();
    }

    #[test]
    fn emptied_at_any_time_a_discipline_gives_what_its_ledger_says_waits(
        (row, given) in row_with_parameters(),
        child in any_row(),
        steps in proptest::collection::vec(step(), 1..200),
        seed: u64,
    ) {
        let Some(mut watched) = watched(build(row, &given, child, 20), row, child, seed) else { return Ok(()) };
        steps.iter().for_each(|step| watched.take(step));
        prop_assert_eq!(check_conservation(watched.qdisc.as_mut(), watched.now, &mut watched.draws), Ok(()));
    }

    #[test]
    fn the_same_random_numbers_give_the_same_departures(
        (row, given) in row_with_parameters(),
        steps in proptest::collection::vec(step(), 1..200),
        seed: u64,
    ) {
        let run = || {
            let pfifo = registry::find("pfifo").expect("a row");
            let mut watched = watched(build(row, &given, pfifo, 20), row, pfifo, seed)?;
            steps.iter().for_each(|step| watched.take(step));
            Some((watched.left, watched.last_number, watched.effects.dropped))
        };
        prop_assert_eq!(run(), run());
    }
}

/// A row by its name with a few parameters.
fn made(kind: &str, given: &[(&str, u64)], inner: Inner) -> Box<dyn Qdisc> {
    let values = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let device = Attachment { queue_length: 20, ..Attachment::default() };
    registry::build_over(kind, &Parameters::new(values), &device, inner).expect("a discipline of the list")
}

fn class(minor: u16, parent: u16, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> Class {
    let parameters = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Class { minor, parent, parameters: Parameters::new(parameters), child }
}

/// Flows 0 and 1 to class 16, 2 and 3 to class 17, the others to none.
fn filters() -> Vec<Filter> {
    let flows = |first: u32| Fits::From(vec![SocketId(first), SocketId(first + 1)]);
    vec![Filter { fits: flows(0), class: 16 }, Filter { fits: flows(2), class: 17 }]
}

/// Trees and series, by number.
fn composition(number: usize) -> Box<dyn Qdisc> {
    let plain = |kind: &str| made(kind, &[], Inner::default());
    let rate = |rate: u64, ceil: u64| [("rate", rate), ("ceil", ceil)];
    match number {
        0 => {
            let shaped = made("htb", &[("rate", 8_000_000)], Inner::child(Some(plain("codel"))));
            Box::new(Series::new(vec![made("netem", &[("delay", 3_000_000)], Inner::default()), shaped]))
        }
        1 => {
            let lossy = [("delay", 1_000_000), ("loss", 1 << 28), ("duplicate", 1 << 28)];
            let fair =
                made("tbf", &[("rate", 8_000_000), ("burst", 2000), ("limit", 20_000)], Inner::default());
            Box::new(Series::new(vec![fair, made("netem", &lossy, Inner::default()), plain("fq")]))
        }
        2 => {
            let classes = vec![
                class(1, 0, &rate(8_000_000, 8_000_000), None),
                class(16, 1, &rate(2_000_000, 8_000_000), Some(plain("fq_codel"))),
                class(17, 1, &rate(100_000, 8_000_000), Some(plain("pie"))),
            ];
            made("htb", &[("direct_qlen", 5)], Inner { child: None, classes, filters: filters() })
        }
        3 => {
            let classes =
                vec![class(16, 0, &[], Some(plain("sfq"))), class(17, 0, &[("quantum", 300)], None)];
            made("drr", &[], Inner { child: None, classes, filters: filters() })
        }
        4 => {
            let shaper = made("htb", &[("rate", 4_000_000)], Inner::default());
            let classes = vec![class(1, 0, &[], Some(shaper)), class(2, 0, &[], Some(plain("cake")))];
            made("prio", &[], Inner { child: None, classes, filters: Vec::new() })
        }
        5 => made(
            "mq",
            &[("queues", 3)],
            Inner { classes: vec![class(1, 0, &[], Some(plain("fq")))], ..Inner::default() },
        ),
        _ => {
            let below = made("htb", &[("rate", 8_000_000)], Inner::child(Some(plain("fq_pie"))));
            made("netem", &[("delay", 2_000_000), ("jitter", 1_000_000)], Inner::child(Some(below)))
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn packets_in_trees_and_series_are_accounted_for(
        number in 0..7usize,
        steps in proptest::collection::vec(step(), 1..300),
        seed: u64,
    ) {
        let mut watched = Watched { may_reorder: true, ..Watched::new(composition(number), seed) };
        steps.iter().for_each(|step| watched.take(step));
        watched.drain();
    }

    #[test]
    fn a_train_that_is_damaged_is_cut_below_any_parent_and_nothing_is_lost(
        depth in 0..6usize,
        trains in proptest::collection::vec((0..FLOWS, 2..=8u16), 1..40),
        seed: u64,
    ) {
        let netem = made("netem", &[("delay", 3_000_000), ("corrupt", 1 << 31)], Inner::default());
        let qdisc = match depth {
            0 => netem,
            1 => made("htb", &[("rate", 8_000_000)], Inner::child(Some(netem))),
            2 => {
                let bucket = [("rate", 8_000_000), ("burst", 20_000), ("limit", 100_000)];
                made("tbf", &bucket, Inner::child(Some(netem)))
            }
            3 => made("netem", &[("delay", 1_000_000), ("corrupt", 1 << 31)], Inner::child(Some(netem))),
            4 => made("prio", &[], Inner { classes: vec![class(2, 0, &[], Some(netem))], ..Inner::default() }),
            _ => Box::new(Series::new(vec![made("pfifo", &[], Inner::default()), netem])),
        };
        let mut watched = Watched { may_reorder: true, ..Watched::new(qdisc, seed) };
        trains.iter().for_each(|&(flow, segments)| watched.take(&Step::ArriveTrain { flow, segments }));
        watched.drain();
        prop_assert_eq!(watched.qdisc.backlog(), Backlog::default());
    }
}

/// Fills every row up to its limit and drains it.
#[test]
fn every_row_fills_up_and_drains() {
    for row in registry::ROWS {
        let pfifo = registry::find("pfifo").expect("a row");
        let built = build(row, &required(row), pfifo, 1000).expect("what is required");
        let may_reorder = REORDERING.contains(&row.name);
        let mut watched = Watched { may_reorder, ..Watched::new(built, 1) };
        for n in 0..20_000 {
            watched.arrive(n % FLOWS, 1500, Ecn::NotEct);
        }
        watched.check_ledger();
        assert!(!watched.effects.dropped.is_empty(), "{} has no limit", row.name);
        watched.drain();
    }
}

/// From 8 bit/s to 100 Gbit/s, with packets of minimum and maximum size.
#[test]
fn a_shaper_works_from_8_bit_to_100_gbit_per_second() {
    for rate in [8, 9, 1000, 64_000, 1_000_000_000, 100_000_000_000] {
        let row = registry::find("htb").expect("a row");
        let mut given = Parameters::default();
        given.set("rate", rate);
        let pfifo = registry::find("pfifo").expect("a row");
        let mut watched = Watched::new(build(row, &given, pfifo, 1000).expect("a shaper"), 1);
        for n in 0..500 {
            watched.arrive(0, if n % 2 == 0 { 20 } else { 65_535 }, Ecn::NotEct);
        }
        watched.drain();
        assert_eq!(watched.left.packets, 500, "at {rate} bit/s");
    }
}

/// Each option of each row at its minimum and at its maximum, the others at their defaults.
#[test]
fn every_option_at_its_extremes_is_refused_or_packets_are_accounted_for() {
    let pfifo = registry::find("pfifo").expect("a row");
    for row in registry::ROWS {
        for parameter in row.parameters {
            for value in [parameter.min, parameter.max] {
                let mut given = required(row);
                given.set(parameter.name, value);
                let Ok(qdisc) = build(row, &given, pfifo, 1000) else { continue };
                let mut watched = Watched { may_reorder: true, ..Watched::new(qdisc, 1) };
                for n in 0..100 {
                    watched.arrive(n % FLOWS, 40 + n * 13, ECN[n as usize % ECN.len()]);
                    watched.take(&Step::Wait { ns: 1_000_000 });
                    watched.take(&Step::Depart);
                }
                watched.check_ledger();
            }
        }
    }
}
