use proptest::prelude::*;
use tailback_packet::DropReason;
use tailback_properties::cases;

use super::*;
use crate::Class;
use crate::registry;
use crate::testing::{Rig, packet};

const TEN_MBIT: u64 = 10_000_000;

/// Departure times in ns of full frames that are all queued at the start.
fn departures(given: &[(&str, u64)], packets: u32) -> Vec<u64> {
    let mut rig = Rig::of("htb", given);
    rig.fill(packets, &packet(0, 1514));
    drain_times(&mut rig)
}

fn drain_times(rig: &mut Rig) -> Vec<u64> {
    let mut times = Vec::new();
    loop {
        match rig.dequeue() {
            Dequeued::Packet(_) => times.push(rig.now.as_nanos()),
            Dequeued::NotBefore(t) => {
                assert!(t > rig.now, "`not before` must lie in the future");
                rig.now = t;
            }
            Dequeued::Empty => return times,
        }
    }
}

fn kinds_below(rig: &Rig) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    rig.qdisc.visit_children(&mut |child| kinds.push(child.kind()));
    kinds
}

fn level(rig: &Rig, name: &str) -> i64 {
    let mut found = 0;
    rig.qdisc.own_levels(&mut |each, value| {
        if each == name {
            found = value;
        }
    });
    found
}

#[test]
fn two_full_frames_leave_at_once_and_then_one_each_1_2112_ms() {
    let times = departures(&[("rate", TEN_MBIT)], 6);
    assert_eq!(times[..3], [0, 0, 1_142_400], "1600 − 2 · 1514 = −1428 B");
    assert!(times[2..].windows(2).all(|pair| pair[1] - pair[0] == 1_211_200));
}

#[test]
fn while_it_is_closed_it_says_until_when_and_gives_nothing() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    rig.fill(6, &packet(0, 1514));
    (0..2).for_each(|_| assert!(matches!(rig.dequeue(), Dequeued::Packet(_))));
    let closed_until = rig.qdisc.closed_until();
    assert!(closed_until > rig.now);
    assert!(matches!(rig.dequeue(), Dequeued::NotBefore(at) if at == closed_until));
    rig.now = closed_until;
    assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
}

#[test]
fn the_long_run_rate_is_exact_in_frame_bytes() {
    let last = *departures(&[("rate", TEN_MBIT)], 1000).last().unwrap();
    assert_eq!(last, (1000 * 1514 - 1514 - 1600) * 800);
}

#[test]
fn a_rate_that_does_not_divide_a_second_is_exact_to_a_nanosecond_per_packet() {
    let last = *departures(&[("rate", 30_000_000)], 1000).last().unwrap() as f64;
    let exact = f64::from(1000 * 1514 - 1514 - 1600) * 8.0 / 0.03;
    assert!((last - exact).abs() < 1100.0, "{last} {exact}");
}

#[test]
fn a_burst_of_15k_in_both_buckets_lets_eleven_frames_through() {
    let burst = [("rate", TEN_MBIT), ("burst", 15_360), ("cburst", 15_360)];
    assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 11);
}

#[test]
fn a_burst_without_cburst_still_lets_only_two_through() {
    let burst = [("rate", TEN_MBIT), ("burst", 15_360)];
    assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 2);
}

#[test]
fn a_ceiling_above_the_rate_adds_nothing_without_a_parent() {
    let times = departures(&[("rate", TEN_MBIT), ("ceil", 10 * TEN_MBIT)], 100);
    assert_eq!(times[3..].windows(2).map(|pair| pair[1] - pair[0]).max(), Some(1_211_200));
}

#[test]
fn the_next_departure_is_when_the_tokens_reach_zero() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    rig.fill(3, &packet(0, 1514));
    (0..2).for_each(|_| drop(rig.dequeue()));
    for asked_at in [0, 1_142_399] {
        rig.now = SimTime::from_nanos(asked_at);
        assert!(matches!(rig.dequeue(), Dequeued::NotBefore(t) if t == SimTime::from_nanos(1_142_400)));
    }
    rig.now = SimTime::from_nanos(1_142_400);
    assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
}

#[test]
fn an_idle_bucket_fills_to_its_burst_and_no_further() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    for start in [0, 1_000_000_000, 100_000_000_000] {
        rig.now = SimTime::from_nanos(start);
        rig.fill(4, &packet(0, 1514));
        let times = drain_times(&mut rig);
        assert_eq!(times.iter().filter(|&&at| at == start).count(), 2);
    }
}

/// An only class whose buckets are alike.
fn uniform_class(bits_per_sec: u64) -> Node {
    let mut given = Parameters::default();
    given.set("rate", bits_per_sec);
    given.fill(CLASS_PARAMETERS);
    let class = only_class(&given, None).expect("it has a rate");
    let node = tree(vec![class], 10, &Attachment::default()).expect("a class").remove(0);
    assert!(node.is_uniform);
    node
}

/// What later packets depend on.
fn meaning(node: &Node) -> (i64, i64, SimTime, Mode, SimTime, u64) {
    let until = if node.mode == Mode::CanSend { SimTime::ZERO } else { node.until };
    (node.rate.tokens, node.ceil.tokens, node.checkpoint, node.mode, until, node.lended)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn two_buckets_that_are_alike_are_charged_as_one(
        mbit in 1..1_000_u64,
        packets in prop::collection::vec((60..9_000_u32, 0..20_000_000_u64), 1..100)
    ) {
        let (mut short, mut whole) = (uniform_class(mbit * 1_000_000), uniform_class(mbit * 1_000_000));
        let mut now = SimTime::ZERO;
        for (length, pause) in packets {
            now += Span::from_nanos(pause);
            if whole.mode != Mode::CanSend {
                now = now.max(whole.until);
                prop_assert!(!whole.change_mode(now), "it could not send before");
                short.debt_is_paid(now);
            }
            prop_assert_eq!(meaning(&short), meaning(&whole));
            prop_assert_eq!(short.charge_uniform(length, now), whole.charge(0, length, now));
            prop_assert_eq!(meaning(&short), meaning(&whole));
        }
    }
}

#[test]
fn the_default_burst_is_1600_bytes_up_to_8_gbit() {
    for rate in [1_000_000, 1_000_000_000, 7_999_999_999] {
        let exact = Rate::from_bytes_per_sec(rate / 8).time_for(Bytes(1600)).as_nanos() as i64;
        let depth = Bucket::full(rate, 1600).depth;
        assert!(depth >= exact && depth < exact + 64, "{depth} {exact}");
    }
    let given = Parameters::new([("rate".into(), 80_000_000_000)].into());
    let resolved = registry::resolve("htb", &given, &Attachment::default()).unwrap();
    let burst = resolved.given("burst").unwrap();
    assert_eq!((burst, Bucket::full(80_000_000_000, burst).depth), (1610, 192), "161 ns: three ticks");
}

#[test]
fn tokens_are_those_that_a_kernel_prints() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    assert_eq!((level(&rig, "tokens"), level(&rig, "ctokens")), (20_000, 20_000));
    rig.fill(3, &packet(0, 1514));
    drain_times(&mut rig);
    assert_eq!(level(&rig, "tokens"), -18_925, "one frame in debt: 1 211 200 ns");
}

#[test]
fn overlimits_count_the_changes_to_cannot_send() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    rig.fill(100, &packet(0, 1514));
    drain_times(&mut rig);
    assert_eq!(rig.qdisc.counters().overlimits, 99, "tokens remained only after the first packet");
    assert_eq!((rig.counter("lended"), rig.counter("borrowed")), (100, 0));
}

#[test]
fn a_drop_of_the_child_counts_as_a_drop_of_the_class() {
    let child = registry::build(
        "pfifo",
        &Parameters::new([("limit".into(), 5)].into()),
        &Attachment::default(),
        None,
    );
    let mut rig = Rig::over("htb", &[("rate", TEN_MBIT)], child.ok());
    let answers: Vec<_> = (0..7).map(|_| rig.enqueue(packet(0, 1514))).collect();
    assert_eq!(answers[5..], [Enqueued::Dropped; 2]);
    assert_eq!((rig.qdisc.counters().dropped, rig.qdisc.backlog().packets), (2, 5));
    assert_eq!(rig.effects.dropped[0].1, DropReason::TailFull);
}

#[test]
fn the_default_child_holds_txqueuelen_packets() {
    let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
    rig.fill(1001, &packet(0, 1514));
    assert_eq!(rig.qdisc.backlog().packets, 1000);
    assert_eq!(kinds_below(&rig), ["pfifo"]);
}

#[test]
fn tcp_behind_10_mbit_gets_9_564() {
    let times = departures(&[("rate", TEN_MBIT)], 1000);
    let payload_bits = (998 * 1448 * 8) as f64;
    let goodput = payload_bits / (times[999] - times[1]) as f64 * 1e3;
    assert!((goodput - 9.564).abs() < 0.01, "{goodput}");
}

#[test]
fn debt_is_at_most_a_minute_however_slow_the_rate() {
    let times = departures(&[("rate", 8), ("burst", 1)], 3);
    assert_eq!(times[0], 0);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= HORIZON as u64), "{times:?}");
}

#[test]
fn without_a_rate_and_without_classes_nothing_is_shaped() {
    assert_eq!(departures(&[], 100), vec![0; 100]);
}

const MBIT: u64 = 1_000_000;

/// A class of a tree: its number, that of its parent, and its parameters.
type Given<'a> = (u16, u16, &'a [(&'a str, u64)]);

/// A tree in which flow n goes to class 10 + n.
fn tree_of(classes: &[Given<'_>]) -> Rig {
    let class = |&(minor, parent, given): &Given<'_>| Class {
        minor,
        parent,
        parameters: Parameters::new(given.iter().map(|(name, value)| ((*name).into(), *value)).collect()),
        child: None,
    };
    let filter = |flow: u16| Filter {
        fits: crate::Fits::From(vec![tailback_packet::SocketId(flow.into())]),
        class: 10 + flow,
    };
    let inner = Inner {
        child: None,
        classes: classes.iter().map(class).collect(),
        filters: (0..8).map(filter).collect(),
    };
    Rig::over_classes("htb", &[], inner)
}

/// Throughput of each flow in Mbit/s over five seconds, with all flows backlogged.
fn shares(rig: &mut Rig, flows: u32) -> Vec<f64> {
    let (mut bits, mut waiting) = (vec![0.0; flows as usize], vec![0; flows as usize]);
    while rig.now < SimTime::ZERO + Span::from_secs(5) {
        for flow in 0..flows {
            while waiting[flow as usize] < 20 {
                rig.enqueue(packet(flow, 1514));
                waiting[flow as usize] += 1;
            }
        }
        match rig.dequeue() {
            Dequeued::Packet(sent) => {
                waiting[sent.from.0 as usize] -= 1;
                bits[sent.from.0 as usize] += f64::from(sent.frame_length() * 8);
            }
            Dequeued::NotBefore(t) => rig.now = t,
            Dequeued::Empty => unreachable!("backlogged"),
        }
    }
    bits.iter().map(|bits| bits / 5e6).collect()
}

fn assert_shares(got: &[f64], expected: &[f64]) {
    assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.15), "{got:?}");
}

#[test]
fn siblings_get_their_rates_and_borrow_that_of_an_idle_one() {
    let classes: [Given<'_>; 3] = [
        (1, 0, &[("rate", 10 * MBIT)]),
        (10, 1, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
        (11, 1, &[("rate", 7 * MBIT), ("ceil", 10 * MBIT)]),
    ];
    assert_shares(&shares(&mut tree_of(&classes), 2), &[3.0, 7.0]);
    assert_shares(&shares(&mut tree_of(&classes), 1), &[10.0]);
}

#[test]
fn excess_bandwidth_is_shared_by_quantum() {
    let leaf = |quantum| [("rate", MBIT), ("ceil", 10 * MBIT), ("quantum", quantum)];
    let mut rig = tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(3000)), (11, 1, &leaf(9000))]);
    assert_shares(&shares(&mut rig, 2), &[1.0 + 2.0, 1.0 + 6.0]);
}

#[test]
fn excess_bandwidth_goes_to_the_lowest_prio_and_rates_are_kept() {
    let leaf = |prio| [("rate", 2 * MBIT), ("ceil", 10 * MBIT), ("prio", prio)];
    let mut rig = tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(1)), (11, 1, &leaf(0))]);
    assert_shares(&shares(&mut rig, 2), &[2.0, 8.0]);
}

#[test]
fn a_ceiling_limits_borrowing() {
    let leaf = |ceil| [("rate", 2 * MBIT), ("ceil", ceil), ("quantum", 1514)];
    let mut rig =
        tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(4 * MBIT)), (11, 1, &leaf(10 * MBIT))]);
    assert_shares(&shares(&mut rig, 2), &[4.0, 6.0]);
}

#[test]
fn a_class_borrows_over_several_levels() {
    let classes: [Given<'_>; 6] = [
        (1, 0, &[("rate", 10 * MBIT)]),
        (2, 1, &[("rate", 6 * MBIT), ("ceil", 10 * MBIT)]),
        (3, 1, &[("rate", 4 * MBIT), ("ceil", 10 * MBIT)]),
        (10, 2, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
        (11, 2, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
        (12, 3, &[("rate", 4 * MBIT), ("ceil", 10 * MBIT)]),
    ];
    assert_shares(&shares(&mut tree_of(&classes), 3), &[3.0, 3.0, 4.0]);
    assert_shares(&shares(&mut tree_of(&classes), 1), &[10.0]);
    let mut rig = tree_of(&classes);
    shares(&mut rig, 2);
    assert!(rig.counter("borrowed") > 0);
}

#[test]
fn packets_without_a_class_use_the_direct_queue_and_overtake_all() {
    let mut rig = tree_of(&[(10, 0, &[("rate", MBIT)])]);
    rig.fill(5, &packet(0, 1514));
    rig.fill(3, &packet(7, 1514));
    let first: Vec<u32> = (0..3).map(|_| rig.serve(1_000_000_000).unwrap().from.0).collect();
    assert_eq!((first, rig.counter("direct_packets_stat")), (vec![7, 7, 7], 3));
}

#[test]
fn overhead_is_charged_as_sent() {
    let times = departures(&[("rate", TEN_MBIT), ("overhead", 24)], 10);
    assert_eq!(times[9] - times[8], (1514 + 24) * 800);
}
