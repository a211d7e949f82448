use rand_core::Rng;
use tailback_packet::{Ecn, SackBlocks, Timestamp};

use super::*;
use crate::testing::{Rig, numbered, packet};

fn charged(flow: u32, length: u32) -> Packet {
    Packet { charged: true, ..packet(flow, length) }
}

fn at(us: u64, packet: Packet) -> Packet {
    Packet { departure: SimTime::ZERO + Span::from_micros(us), ..packet }
}

/// All packets that leave, with their times in µs.
fn departures(rig: &mut Rig) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    loop {
        match rig.dequeue() {
            Dequeued::Packet(packet) => left.push((packet.from.0, rig.now.as_micros())),
            Dequeued::NotBefore(t) => rig.now = t,
            Dequeued::Empty => return left,
        }
    }
}

#[test]
fn packets_leave_at_their_departure_times() {
    let mut rig = Rig::of("fq", &[]);
    for n in 1..=20 {
        rig.enqueue(at(n * 150, charged(0, 1514)));
    }
    let expected: Vec<_> = (1..=20).map(|n| (0, n * 150)).collect();
    assert_eq!(departures(&mut rig), expected);
}

#[test]
fn a_packet_with_an_earlier_departure_time_goes_first() {
    let mut rig = Rig::of("fq", &[]);
    for (n, us) in [(0, 300), (1, 100), (2, 200)] {
        rig.enqueue(at(us, Packet { charged: true, ..numbered(0, n) }));
    }
    rig.now = SimTime::ZERO + Span::from_millis(1);
    assert_eq!(rig.drain(), [1, 2, 0]);
}

#[test]
fn a_packet_that_is_due_passes_an_idle_queue_at_once() {
    let mut rig = Rig::of("fq", &[]);
    rig.enqueue(charged(0, 1514));
    assert_eq!((rig.counter("fastpath"), rig.counter("flows")), (1, 0));
}

#[test]
fn packets_take_the_fast_path_as_soon_as_the_flows_are_empty() {
    let mut rig = Rig::of("fq", &[]);
    // The last two wait in the queue of their flow.
    rig.fill(10, &packet(0, 1514));
    assert_eq!((rig.counter("fastpath"), rig.counter("inactive")), (8, 0));
    (0..10).for_each(|_| assert!(rig.next_number().is_some()));
    // The flow is still on a list, but inactive.
    rig.fill(2, &packet(0, 1514));
    assert_eq!((rig.counter("fastpath"), rig.counter("inactive")), (10, 1));
}

#[test]
fn a_new_flow_sends_ten_packets_before_its_turn_ends() {
    let mut rig = Rig::of("fq", &[("maxrate", 30_000_000_000), ("pacing", 0)]);
    rig.fill(30, &charged(0, 1514));
    rig.fill(30, &charged(1, 1514));
    let order: Vec<u32> = departures(&mut rig).iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order[..22], [[0; 10].as_slice(), &[1; 10], &[0; 2]].concat());
}

#[test]
fn sockets_share_bytes_equally() {
    let mut rig = Rig::of("fq", &[("maxrate", 30_000_000_000), ("pacing", 0), ("flow_limit", 1000)]);
    rig.fill(100, &charged(0, 1514));
    rig.fill(750, &charged(1, 200));
    let left = departures(&mut rig);
    let bytes = |flow, length: usize| left[..400].iter().filter(|(from, _)| *from == flow).count() * length;
    assert!(bytes(0, 1514).abs_diff(bytes(1, 200)) < 20_000, "{} {}", bytes(0, 1514), bytes(1, 200));
}

#[test]
fn maxrate_limits_each_socket_in_bursts_of_a_quantum() {
    let mut rig = Rig::of("fq", &[("maxrate", 10_000_000), ("initial_quantum", 3028)]);
    rig.fill(60, &charged(0, 1514));
    let left = departures(&mut rig);
    let last = left.last().unwrap().1;
    assert!(last.abs_diff(29 * 2422) < 300, "{last}");
    assert!(left.chunks(2).all(|pair| pair[0].1 == pair[1].1), "{left:?}");
}

#[test]
fn below_550_kbit_each_packet_is_paced() {
    let mut rig = Rig::of("fq", &[("maxrate", 500_000)]);
    rig.fill(5, &charged(0, 1514));
    let left = departures(&mut rig);
    assert!(left.windows(2).all(|pair| pair[1].1 - pair[0].1 == 24_224), "{left:?}");
}

#[test]
fn a_packet_that_waited_for_its_departure_time_does_not_halve_the_next_gap() {
    let mut rig = Rig::of("fq", &[("maxrate", 10_000_000)]);
    for us in [1, 2_000, 2_001] {
        rig.enqueue(at(us, charged(0, 1514)));
    }
    let times: Vec<u64> = departures(&mut rig).into_iter().map(|(_, us)| us).collect();
    assert_eq!(times[2] - times[1], 1_211, "the time of 1514 bytes at 10 Mbit/s: {times:?}");
}

#[test]
fn which_packets_of_no_socket_share_a_queue_depends_on_the_secret_of_the_run() {
    let together = |secrets_before: u32| {
        let mut rig = Rig::of("fq", &[("orphan_mask", 1)]);
        for _ in 0..secrets_before {
            rig.draws.next_u32();
        }
        [0, 1].iter().for_each(|&flow| rig.fill(1, &at(1000, packet(flow, 100))));
        rig.counter("flows") == 1
    };
    let shared = (0..64).filter(|&before| together(before)).count();
    assert!((16..48).contains(&shared), "{shared} of 64");
}

#[test]
fn below_550_kbit_a_packet_with_a_departure_time_does_not_end_the_turn_of_its_flow() {
    let mut rig = Rig::of("fq", &[("maxrate", 500_000)]);
    [0, 1].iter().for_each(|&flow| rig.fill(4, &at(1, charged(flow, 1514))));
    rig.advance(Span::from_millis(1));
    let order: Vec<u32> = std::iter::from_fn(|| rig.serve(400_000)).map(|sent| sent.from.0).collect();
    assert_eq!(order, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn a_packet_that_waited_for_its_departure_time_is_not_late_and_leaves_the_next_gap_whole() {
    let mut rig = Rig::of("fq", &[("maxrate", 1_000_000)]);
    [10, 50_000, 50_000].iter().for_each(|&us| rig.fill(1, &at(us, charged(0, 1514))));
    assert_eq!(departures(&mut rig), [(0, 10), (0, 50_000), (0, 62_112)]);
}

#[test]
fn packets_that_cannot_be_marked_count_as_marked_too() {
    let given = [("maxrate", 30_000_000_000), ("pacing", 0), ("ce_threshold", 1_000_000)];
    let mut rig = Rig::of("fq", &given);
    rig.fill(3, &Packet { ecn: Ecn::Ect0, ..charged(0, 100) });
    rig.fill(2, &charged(0, 100));
    rig.advance(Span::from_millis(2));
    assert_eq!(rig.drain().len(), 5);
    assert_eq!((rig.counter("ce_mark"), rig.qdisc.counters().marked), (5, 5));
}

#[test]
fn a_weight_of_less_than_16384_bytes_is_refused() {
    for name in ["weight_0", "weight_1", "weight_2"] {
        let built = |weight| {
            let given = Parameters::new([(name.to_owned(), weight)].into());
            crate::registry::build("fq", &given, &Attachment::default(), None)
        };
        assert!(built(16_383).is_err() && built(16_384).is_ok(), "{name}");
    }
}

#[test]
fn bands_that_are_all_in_debt_after_a_long_train_gain_their_weights_until_one_may_send() {
    const TRAIN: u64 = 65_000;
    let weights = [("weight_0", 16_384), ("weight_1", 16_384), ("weight_2", 16_384)];
    let unpaced =
        [("maxrate", 30_000_000_000), ("pacing", 0), ("quantum", TRAIN), ("initial_quantum", TRAIN)];
    let mut rig = Rig::of("fq", &[weights.as_slice(), &unpaced].concat());
    for (flow, tos) in [(0, 0x10), (1, 0), (2, 0x08)] {
        rig.fill(20, &Packet { tos, ..charged(flow, TRAIN as u32) });
    }
    let order: Vec<u32> = departures(&mut rig).iter().map(|(flow, _)| *flow).collect();
    // Flows 1 and 2 join band 0 at first; from the tenth train on, each has a band of its own.
    assert_eq!(order[..12], [0, 1, 2, 1, 1, 0, 2, 1, 2, 0, 1, 2]);
}

#[test]
fn a_burst_of_200_packets_of_one_flow_loses_100() {
    let mut rig = Rig::of("fq", &[]);
    rig.enqueue(charged(1, 100));
    for _ in 0..200 {
        rig.enqueue(at(1000, charged(0, 1514)));
    }
    assert_eq!((rig.counter("flows_plimit"), rig.effects.dropped[0].1), (100, DropReason::FlowFull));
}

#[test]
fn a_packet_due_beyond_the_horizon_is_dropped_or_capped() {
    let far = at(11_000_000, charged(0, 1514));
    let mut rig = Rig::of("fq", &[]);
    assert_eq!(rig.enqueue(far.clone()), Enqueued::Dropped);
    let mut capping = Rig::of("fq", &[("horizon_action", 1)]);
    capping.enqueue(far);
    assert_eq!(departures(&mut capping), [(0, 10_000_000)]);
}

#[test]
fn it_takes_over_pacing_unless_pacing_is_off() {
    assert!(Rig::of("fq", &[]).qdisc.takes_over_pacing());
    assert!(!Rig::of("fq", &[("pacing", 0)]).qdisc.takes_over_pacing());
    let below = Rig::of("fq", &[]).qdisc;
    assert!(Rig::over("htb", &[("rate", 1_000_000)], Some(below)).qdisc.takes_over_pacing());
}

#[test]
fn packets_of_no_socket_share_1024_queues() {
    let mut rig = Rig::of("fq", &[]);
    (0..5000).for_each(|flow| rig.fill(1, &at(1000, packet(flow, 100))));
    assert!((900..=1024).contains(&rig.counter("flows")), "{}", rig.counter("flows"));
    let shared = rig.counter("flows");
    (0..100).for_each(|flow| rig.fill(1, &at(1000, charged(flow, 100))));
    assert_eq!(rig.counter("flows"), shared + 100, "sockets have queues of their own");
}

#[test]
fn a_flow_back_after_the_refill_delay_has_a_quantum_again_if_a_turn_of_it_had_come_meanwhile() {
    for (idle_ms, others, in_its_turn) in [(30, 10, 1), (50, 10, 2), (50, 0, 1)] {
        let given = [("maxrate", 30_000_000_000), ("pacing", 0), ("initial_quantum", 1)];
        let mut rig = Rig::of("fq", &given);
        [0, 1].iter().for_each(|&flow| rig.fill(1, &charged(flow, 1515)));
        rig.fill(others, &charged(2, 1515));
        departures(&mut rig);
        rig.advance(Span::from_millis(idle_ms));
        [0, 1].iter().for_each(|&flow| rig.fill(4, &charged(flow, 1515)));
        let left = departures(&mut rig);
        let together = left.iter().take_while(|(flow, _)| *flow == 0).count();
        assert_eq!(together, in_its_turn, "after {idle_ms} ms, with {others} packets of another flow before");
    }
}

#[test]
fn a_flow_that_never_had_a_packet_waits_for_the_credit_of_its_band_but_later_does_not() {
    let mut rig = Rig::of("fq", &[("flow_limit", 1000)]);
    // Flow 0 is new, too: it sends from the fast path and its initial quantum before it joins band 1.
    rig.fill(400, &charged(0, 1514));
    (0..8 + 10).for_each(|_| assert!(rig.next_number().is_some()));
    let before_flow_1 = |rig: &mut Rig| {
        rig.enqueue(charged(1, 100));
        let next = || match rig.dequeue() {
            Dequeued::Packet(packet) => Some(packet.from.0),
            Dequeued::NotBefore(_) | Dequeued::Empty => None,
        };
        std::iter::from_fn(next).take_while(|flow| *flow == 0).count()
    };
    assert_eq!(rig.next_number(), Some(0));
    assert_eq!(before_flow_1(&mut rig), 196_608_usize.div_ceil(1514) - 1);
    assert!(before_flow_1(&mut rig) <= 2);
}

/// A segment without data of a socket on host 0.
fn bare(flags: SegmentFlags) -> Packet {
    let segment = Segment {
        seq: 1,
        length: 0,
        ack: 1,
        window: 65_535,
        flags,
        mss: 0,
        tsval: Timestamp::NONE,
        tsecr: Timestamp::NONE,
        sack: SackBlocks::NONE,
    };
    at(1000, Packet { payload: Payload::Tcp(segment), ..packet(0, 66) })
}

#[test]
fn all_packets_of_a_local_connection_share_a_flow_except_its_syn_ack() {
    let flows = |host: HostId, flags: [SegmentFlags; 3]| {
        let device = Attachment { host, ..Attachment::default() };
        let fq = crate::registry::build("fq", &Parameters::default(), &device, None);
        let mut rig = Rig { qdisc: fq.unwrap(), ..Rig::of("fq", &[]) };
        flags.iter().for_each(|flags| rig.fill(1, &bare(*flags)));
        rig.counter("flows")
    };
    let syn_ack = SegmentFlags::SYN.with(SegmentFlags::ACK);
    assert_eq!(flows(HostId(0), [SegmentFlags::SYN, SegmentFlags::ACK, SegmentFlags::FIN]), 1);
    assert_eq!(flows(HostId(0), [syn_ack, SegmentFlags::ACK, SegmentFlags::ACK]), 2);
    assert_eq!(
        flows(HostId(5), [syn_ack, SegmentFlags::ACK, SegmentFlags::ACK]),
        1,
        "of another host, by its hash"
    );
}
