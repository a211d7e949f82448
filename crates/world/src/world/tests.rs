//! Small worlds whose results can be computed by hand.

use proptest::prelude::*;
use tailback_properties::cases;
use tailback_qdisc::{Dequeued, Root};
use tailback_traffic::Machine;
use tailback_units::{SimTime, Span};

use super::*;
use crate::Scenario;
use crate::conversation::{Counts, Sampled};
use crate::device::Way;
use crate::example::{chain, contract};
use crate::socket::Transport;

pub(super) const PING: &str = r#"{"kind": "ping", "name": "ping", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
    "interval_ns": 200000000, "size": 64}"#;
/// 1500-byte packets, two at a time.
const TWO_LARGE_PINGS: &str = r#"
    {"kind": "ping", "name": "first", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1000, "interval_ns": 1000, "size": 1480},
    {"kind": "ping", "name": "second", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1000, "interval_ns": 1000, "size": 1480}"#;

pub(super) fn ran(scenario: &Scenario) -> World {
    let mut world = World::build(scenario).unwrap();
    world.advance(&()).unwrap();
    assert!(world.ledger().balances(), "{}", world.ledger());
    world
}

/// Runs a scenario without the end of an interval, which frees applications that are over.
fn ran_in_one_interval(mut scenario: Scenario) -> World {
    scenario.record.interval_ns = scenario.duration_ns + 1;
    ran(&scenario)
}

pub(super) fn round_trips(world: &World, ping: usize) -> Vec<Option<u64>> {
    let Some(Machine::Ping(ends)) = &world.conversations[ping].machine else { panic!("it is no ping") };
    ends.client().requests().iter().map(|(_, round_trip)| round_trip.map(Span::as_nanos)).collect()
}

/// What a flow of datagrams has counted since its last row.
pub(super) fn datagrams(world: &World, flow: usize) -> Counts {
    let Sampled::Datagrams(counts) = &world.conversations[flow].sampled else {
        panic!("it has no datagrams")
    };
    **counts
}

#[test]
fn a_ping_takes_the_delays_and_the_serialization_of_both_links_twice() {
    let world = ran(&chain(PING));
    let one_way = 97_600 + 1_000_000 + 9_760 + 2_000_000;
    assert_eq!(round_trips(&world, 0), [Some(2 * one_way); 10]);
}

#[test]
fn the_second_of_two_packets_waits_for_the_first_at_the_slow_link_only() {
    let world = ran(&chain(TWO_LARGE_PINGS));
    let (slow, fast) = (1_230_400, 123_040);
    let alone = 2 * (slow + fast + 3_000_000);
    assert_eq!(round_trips(&world, 0), [Some(alone)]);
    assert_eq!(round_trips(&world, 1), [Some(alone + slow)]);
}

#[test]
fn without_rate_and_delay_a_ping_takes_no_time() {
    let mut scenario = chain(PING);
    for link in &mut scenario.links {
        (link.rate_bps, link.delay_ns) = ([None; 2], [0, 0]);
    }
    assert_eq!(round_trips(&ran(&scenario), 0), [Some(0); 10]);
}

#[test]
fn a_packet_bypasses_an_empty_discipline_and_waits_behind_another() {
    let fq_codel = r#"{"kind": "fq_codel", "options": {"quantum": 1514}}"#;
    for discipline in [r#"{"kind": "pfifo_fast", "options": {}}"#, fq_codel] {
        let mut scenario = chain(TWO_LARGE_PINGS);
        scenario.qdiscs = attached(discipline);
        let mut world = World::build(&scenario).unwrap();
        assert_eq!(world.network.devices[0].way, Way::IntoRing);
        world.advance(&()).unwrap();
        let device = &mut world.network.devices[0];
        // The second ping had to wait for the first.
        assert_eq!(device.way, Way::PastIfEmpty);
        device.count_bypassed();
        let root = device.root.as_ref().unwrap();
        let counters = root.counters();
        assert_eq!((counters.sent_packets, counters.sent_bytes), (2, 2 * 1514));
        // The first was in no queue of a flow. [linux-6.12 sch_fq_codel.c new_flow_count]
        root.own_counters(&mut |name, count| assert!(name != "new_flow_count" || count == 1, "{count}"));
    }
}

#[test]
fn a_full_queue_drops_and_the_ledger_still_balances() {
    let mut scenario = chain(TWO_LARGE_PINGS);
    scenario.traffic = (0..20).flat_map(|_| scenario.traffic.clone()).collect();
    scenario.qdiscs = attached(r#"{"kind": "pfifo", "options": {"limit": 5}}"#);
    let world = ran(&scenario);
    // BQL starts at zero bytes: one packet is on the wire, five wait.
    assert_eq!(world.network.devices[0].drops.iter().sum::<u64>(), 34);
    assert_eq!(world.ledger(), Ledger { created: 46, delivered: 12, dropped: 34, inside: 0 });
    let answered: Vec<bool> = (0..40).map(|ping| round_trips(&world, ping)[0].is_some()).collect();
    assert_eq!(answered, (0..40).map(|ping| ping < 6).collect::<Vec<_>>());
}

#[test]
fn packets_still_on_their_way_at_the_end_are_in_the_ledger() {
    let mut scenario = chain(PING);
    scenario.duration_ns = 1_000_000;
    let world = ran(&scenario);
    assert_eq!(world.ledger(), Ledger { created: 1, delivered: 0, dropped: 0, inside: 1 });
    assert_eq!(round_trips(&world, 0), [None]);
}

#[test]
fn a_shaper_on_a_veth_spaces_packets_at_its_rate() {
    let mut scenario = chain(TWO_LARGE_PINGS);
    for link in &mut scenario.links {
        (link.rate_bps, link.delay_ns) = ([None; 2], [0, 0]);
    }
    scenario.traffic = (0..3).flat_map(|_| scenario.traffic.clone()).collect();
    scenario.qdiscs = attached(
        r#"{"kind": "htb", "options": {"rate": 10000000, "burst": 1600}, "child": {"kind": "pfifo_fast", "options": {}}}"#,
    );
    let world = ran(&scenario);
    let times: Vec<u64> = (0..6).map(|ping| round_trips(&world, ping)[0].unwrap()).collect();
    // HTB charges 1514 bytes for each: 1.2112 ms.
    for pair in times[2..].windows(2) {
        assert_eq!(pair[1] - pair[0], 1_211_200, "{times:?}");
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let scenario = chain(PING);
    let tables = || World::build(&scenario).unwrap().run(&()).unwrap().tables;
    assert_eq!(tables(), tables());
}

#[test]
fn a_watcher_is_called_each_hundredth_and_may_stop_the_run() {
    struct StopHalfway;
    impl Watch for StopHalfway {
        fn progress(&self, reached: &Reached) -> Proceed {
            assert_eq!(reached.end, SimTime::from_nanos(2_000_000_000));
            if reached.now.as_nanos() < 1_000_000_000 { Proceed::Continue } else { Proceed::Stop }
        }
    }
    let error = World::build(&chain(PING)).unwrap().run(&StopHalfway).unwrap_err();
    assert_eq!(error, RunError::Stopped { at: SimTime::from_nanos(1_000_000_000) });
}

#[test]
fn a_watcher_is_called_after_a_number_of_events_too_however_long_the_run_is() {
    struct StopAtOnce;
    impl Watch for StopAtOnce {
        fn progress(&self, _: &Reached) -> Proceed {
            Proceed::Stop
        }
    }
    let mut scenario = chain(PING);
    // Its hundredth would be 115 days.
    scenario.duration_ns = 1_000_000_000_000_000_000;
    let mut world = World::build(&scenario).unwrap();
    assert!(matches!(world.advance(&StopAtOnce), Err(RunError::Stopped { .. })));
    assert_eq!(world.events.number(), EVENTS_BETWEEN_CHECKS);
}

#[test]
fn a_run_that_uses_too_much_memory_ends_with_what_it_used() {
    struct AtMost(u64);
    impl Watch for AtMost {
        fn progress(&self, reached: &Reached) -> Proceed {
            if reached.held.get() > self.0 { Proceed::OutOfMemory } else { Proceed::Continue }
        }
    }
    let mut scenario = chain(PING);
    scenario.record.interval_ns = 100_000;
    let error = World::build(&scenario).unwrap().run(&AtMost(1 << 20)).unwrap_err();
    let RunError::OutOfMemory { at, held } = error else { panic!("{error}") };
    assert!(held.get() > 1 << 20 && at < SimTime::from_nanos(scenario.duration_ns));
    assert!(World::build(&scenario).unwrap().run(&AtMost(u64::MAX)).is_ok());
}

#[test]
fn packets_on_their_way_count_as_memory() {
    let mut world = World::build(&chain(PING)).unwrap();
    let before = world.held();
    world.context.ledger.created += 10;
    assert_eq!(world.held().get() - before.get(), 10 * size_of::<Packet>() as u64);
}

#[test]
fn an_unknown_option_of_a_child_is_refused_with_its_path() {
    let mut scenario = chain(PING);
    scenario.qdiscs = attached(
        r#"{"kind": "htb", "options": {"rate": 10000000}, "child": {"kind": "pfifo", "options": {"limits": 5}}}"#,
    );
    let error = World::build(&scenario).err().unwrap();
    assert_eq!(error.path, "qdiscs[0].root.child.options.limits");
    assert!(error.remedy.contains("limit"), "{error}");
}

#[test]
fn an_unknown_discipline_is_refused_with_those_there_are() {
    let mut scenario = chain(PING);
    scenario.qdiscs = attached(r#"{"kind": "fq_coddle", "options": {}}"#);
    let error = World::build(&scenario).err().unwrap();
    assert_eq!(error.path, "qdiscs[0].root.kind");
    assert!(error.remedy.contains("fq_codel"), "{error}");
}

#[test]
fn references_to_missing_hosts_links_or_flows_are_refused() {
    let broken = |change: fn(&mut Scenario)| {
        let mut scenario = chain(PING);
        change(&mut scenario);
        World::build(&scenario).err().unwrap().path
    };
    assert_eq!(broken(|scenario| scenario.links[1].ends = [1, 7]), "links[1].ends");
    assert_eq!(broken(|scenario| scenario.links[0].ends = [1, 1]), "links[0].ends");
    assert_eq!(broken(|scenario| scenario.links.truncate(1)), "traffic[0]");
    assert_eq!(broken(|scenario| scenario.duration_ns = 0), "duration_ns");
    assert_eq!(broken(|scenario| scenario.links[0].rate_bps = [Some(0); 2]), "links[0].rate_bps");
    assert_eq!(broken(|scenario| scenario.hosts[2].stack = "bsd".into()), "hosts[2].stack");
}

#[test]
fn an_unknown_congestion_control_is_refused_with_its_path() {
    let json = contract().replace("\"cubic\"", "\"cubik\"");
    let mut scenario = Scenario::from_json(&json).unwrap();
    let whole = chain(PING);
    (scenario.hosts, scenario.links, scenario.qdiscs) = (whole.hosts, whole.links, Vec::new());
    assert_eq!(World::build(&scenario).err().unwrap().path, "traffic[0].cc.name");
}

/// The discipline of the client's device.
pub(super) fn attached(root: &str) -> Vec<crate::scenario::AttachedQdisc> {
    vec![serde_json::from_str(&format!(r#"{{"host": 0, "link": 0, "root": {root}}}"#)).unwrap()]
}

pub(super) const TCP: &str = r#"{"kind": "tcp", "name": "upload", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 12000000000,
    "bytes": null, "cc": {"name": "reno", "options": {}}, "tsq": {"kind": "time", "shift": 10},
    "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null}}"#;
pub(super) const TCP_200_KB: &str = r#"{"kind": "tcp", "name": "upload", "from": 0, "to": 2, "start_ns": 0, "stop_ns": null,
    "bytes": 200000, "cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10},
    "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null}}"#;

pub(super) fn bytes_read(world: &World, flow: usize) -> u64 {
    let Conversation { read, first_pair: [_, receiver], .. } = world.conversations[flow];
    (read + world.sockets.uncounted(receiver)).get()
}

#[test]
fn data_that_is_read_in_place_of_the_application_gives_the_same_tables() {
    let two = format!("{TCP_200_KB}, {}", TCP_200_KB.replace("upload", "another"));
    let run = |in_place: bool| {
        let mut world = World::build(&chain(&two)).unwrap();
        // As at their start, which is that of the run.
        for id in [ConversationId(0), ConversationId(1)] {
            world.open(id);
        }
        for receiver in [SocketId(1), SocketId(3)].into_iter().filter(|_| !in_place) {
            world.sockets.receiver(receiver).only_counts = false;
        }
        let Outcome { tables, cost, .. } = world.run(&()).unwrap();
        (tables, cost)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_transfer_of_200_kb_arrives_whole_and_ends() {
    let world = ran_in_one_interval(chain(TCP_200_KB));
    assert_eq!(bytes_read(&world, 0), 200_000);
    assert!(world.conversations[0].machine.as_ref().unwrap().is_over());
    assert_eq!(world.ledger().inside, 0, "{:?}", world.ledger());
}

#[test]
fn a_flow_has_sockets_while_it_is_in_progress_only() {
    let later = TCP_200_KB.replace("\"start_ns\": 0", "\"start_ns\": 1000000000");
    let mut world = World::build(&chain(&later)).unwrap();
    let (end, mut there) = (world.end, Vec::new());
    // The flow takes 0.2 s; intervals have 0.1 s.
    for tenth in [5, 11, 15] {
        world.end = SimTime::from_nanos(tenth * 100_000_000 + 50_000_000);
        world.advance(&()).unwrap();
        let is_there =
            |id| matches!(world.sockets.get_mut(id).transport, Transport::Tcp(_) | Transport::Receiver(_));
        there.push([SocketId(0), SocketId(1)].map(is_there));
    }
    assert_eq!(there, [[false; 2], [true; 2], [false; 2]]);
    assert!(world.conversations[0].machine.is_none() && world.present.is_empty());
    world.end = end;
    world.advance(&()).unwrap();
    assert!(world.ledger().balances());
}

#[test]
fn one_flow_fills_a_10_mbit_link_with_9_41_mbit_of_payload() {
    let mut scenario = chain(TCP);
    scenario.duration_ns = 12_000_000_000;
    let world = ran(&scenario);
    // 1448 of 1538 bytes on the wire are payload; the handshake and the last packets on their way are the rest.
    let max = 12 * 10_000_000 / 8 * 1448 / 1538;
    let read = bytes_read(&world, 0);
    assert!(read <= max && read > max * 995 / 1000, "{read} of {max}");
}

#[test]
fn behind_a_shaper_of_10_mbit_a_flow_gets_9_56_mbit() {
    let mut scenario = chain(TCP);
    scenario.duration_ns = 12_000_000_000;
    scenario.links[0].rate_bps = [Some(1_000_000_000); 2];
    scenario.qdiscs = attached(
        r#"{"kind": "htb", "options": {"rate": 10000000}, "child": {"kind": "fq_codel", "options": {}}}"#,
    );
    // HTB counts 1514 bytes for each packet of 1448 payload bytes.
    let max = 12 * 10_000_000 / 8 * 1448 / 1514;
    let read = bytes_read(&ran(&scenario), 0);
    assert!(read <= max && read > max * 995 / 1000, "{read} of {max}");
}

#[test]
fn cake_and_a_short_bucket_of_tbf_queue_the_segments_of_a_train() {
    let frames = |root: &str| {
        let mut scenario = chain(TCP_200_KB);
        for host in &mut scenario.hosts {
            host.offloads = crate::scenario::Offloads::On;
        }
        scenario.links[0].rate_bps = [None; 2];
        scenario.qdiscs = attached(root);
        let world = ran_in_one_interval(scenario);
        assert!(world.ledger().balances() && world.ledger().inside == 0, "{:?}", world.ledger());
        assert_eq!(bytes_read(&world, 0), 200_000);
        world.ledger().created
    };
    let whole = frames(r#"{"kind": "cake", "options": {"bandwidth": 10000000, "split_gso": 0}}"#);
    let split = frames(r#"{"kind": "cake", "options": {"bandwidth": 10000000}}"#);
    // 139 segments, at least half as many ACKs, and the handshake.
    assert!(split > 139 * 3 / 2 && whole < 139, "{split}, {whole}");
    let tbf = |burst| {
        let options = format!(r#"{{"rate": 10000000, "burst": {burst}, "limit": 1000000}}"#);
        frames(&format!(r#"{{"kind": "tbf", "options": {options}}}"#))
    };
    assert!(tbf(2_000) > 139 * 3 / 2 && tbf(100_000) < 139);
}

#[test]
fn with_drops_everywhere_every_byte_still_arrives_and_every_packet_is_accounted_for() {
    let mut scenario = chain(TCP_200_KB);
    scenario.traffic = (0..5).flat_map(|_| scenario.traffic.clone()).collect();
    scenario.duration_ns = 60_000_000_000;
    scenario.qdiscs = attached(r#"{"kind": "pfifo", "options": {"limit": 2}}"#);
    let world = ran_in_one_interval(scenario);
    assert!(world.ledger().dropped > 0);
    assert!(world.ledger().balances(), "{:?}", world.ledger());
    assert_eq!((0..5).map(|flow| bytes_read(&world, flow)).collect::<Vec<_>>(), [200_000; 5]);
}

#[test]
fn without_loss_200_kb_are_139_segments() {
    let world = ran(&chain(TCP_200_KB));
    assert_eq!((world.ledger().dropped, world.context.cost.segments), (0, 139));
}

/// The chain with links without rate and delay.
fn timeless(traffic: &str) -> Scenario {
    let mut scenario = chain(traffic);
    for link in &mut scenario.links {
        (link.rate_bps, link.delay_ns) = ([None; 2], [0, 0]);
    }
    scenario
}

#[test]
fn an_endless_flow_over_a_path_without_delay_is_refused() {
    let error = World::build(&timeless(TCP)).err().unwrap();
    assert_eq!(error.path, "traffic[0]");
    assert!(error.to_string().contains("no time passes on the way from `client` to `server`"), "{error}");
    assert!(error.remedy.contains("`rate` or a `delay`"), "{error}");
}

#[test]
fn a_finite_flow_over_a_path_without_delay_is_accepted() {
    assert_eq!(bytes_read(&ran_in_one_interval(timeless(TCP_200_KB)), 0), 200_000);
}

#[test]
fn a_world_in_which_time_stands_still_ends_with_an_error() {
    let mut scenario = timeless(TCP);
    // A discipline might take time, so this is detected only during the run.
    scenario.qdiscs = attached(r#"{"kind": "pfifo", "options": {"limit": 100}}"#);
    let error = World::build(&scenario).unwrap().run(&()).unwrap_err();
    assert!(error.to_string().contains("time stands still"), "{error}");
}

const FLOOD: &str = r#"{"kind": "udp", "name": "udp", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1000000000,
    "rate_bps": 20000000, "size": 1472, "sndbuf": null}"#;

#[test]
fn udp_above_the_rate_of_a_local_bottleneck_is_held_back_by_its_send_buffer() {
    let mut scenario = chain(FLOOD);
    scenario.record.interval_ns = 10_000_000_000;
    let mut world = ran(&scenario);
    let sent = datagrams(&world, 0).sent;
    // 10 Mbit/s carry 812.7 frames of 1538 bytes per second; 212,992 bytes hold 93 datagrams of 2304.
    assert_eq!(world.network.devices[0].drops.iter().sum::<u64>(), 0);
    assert!((812..=906).contains(&sent), "{sent}");
    let socket = world.sockets.udp(SocketId(0));
    assert!(socket.unsent <= socket.send_buffer + 2_304, "{}", socket.unsent);
}

#[test]
fn udp_below_the_rate_arrives_after_delay_and_serialization() {
    let mut scenario = chain(&FLOOD.replace("20000000,", "5000000,"));
    scenario.record.interval_ns = 10_000_000_000;
    let counts = datagrams(&ran(&scenario), 0);
    assert_eq!((counts.sent, counts.received), (425, 425));
    let one_way = Span::from_nanos(1_230_400 + 1_000_000 + 123_040 + 2_000_000);
    assert_eq!((counts.mean_delay(), counts.longest), (Some(one_way), one_way));
}

#[test]
fn a_code_point_is_in_every_packet_of_two() {
    let marked = PING.replace("\"size\": 64", "\"size\": 64, \"dscp\": 46, \"protocol\": \"udp\"");
    let mut scenario = chain(&marked);
    scenario.qdiscs = attached(r#"{"kind": "pfifo", "options": {"limit": 5}}"#);
    scenario.record.pcap = vec![2];
    let captures = World::build(&scenario).unwrap().run(&()).unwrap().captures;
    // The type-of-service octet is 4 · 46: ten requests and ten answers at the server.
    let marked = captures[0].1.windows(4).filter(|word| *word == [0x08, 0x00, 0x45, 184]).count();
    assert_eq!(marked, 20);
}

/// ACKs that the server has sent, and segments that the client has, of an upload over gigabit links.
fn acks_and_segments(gro: bool, interrupt_ns: u64) -> (u64, u64) {
    let upload = r#"{"kind": "tcp", "name": "upload", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 300000000,
        "bytes": null, "cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10},
        "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null,
        "mss": null}}"#;
    let mut scenario = chain(upload);
    scenario.duration_ns = 300_000_000;
    scenario.hosts[2].gro = gro;
    for link in &mut scenario.links {
        (link.rate_bps, link.interrupt_ns) = ([Some(1_000_000_000); 2], [0, interrupt_ns]);
    }
    let world = ran(&scenario);
    assert!(world.ledger().balances());
    let Cost { packets, segments, .. } = world.context.cost;
    // Each packet has two hops.
    (packets / 2 - segments, segments)
}

#[test]
fn a_server_that_takes_several_segments_per_interrupt_sends_fewer_acks() {
    let (plain, segments) = acks_and_segments(false, 0);
    assert!(plain.abs_diff(segments / 2) < segments / 10, "{plain} ACKs of {segments} segments");
    // Four segments arrive in 50 µs at a gigabit. Without GRO, too, the application reads only after the last of them,
    // and before it does the window does not advance. [linux-6.12 tcp_input.c __tcp_ack_snd_check]
    for gro in [false, true] {
        let (acks, segments) = acks_and_segments(gro, 50_000);
        assert!(acks < segments * 3 / 8, "{acks} ACKs of {segments} segments");
    }
}

#[test]
fn a_ping_waits_for_an_interrupt_only_if_one_came_just_before() {
    let mut scenario = chain(TWO_LARGE_PINGS);
    scenario.links[1].interrupt_ns = [0, 2_000_000];
    let world = ran(&scenario);
    let (slow, fast) = (1_230_400, 123_040);
    let alone = 2 * (slow + fast + 3_000_000);
    assert_eq!(round_trips(&world, 0), [Some(alone)]);
    // The second request is there after `slow`, and waits for the rest of 2 ms.
    assert_eq!(round_trips(&world, 1), [Some(alone + 2_000_000)]);
}

/// Four flows over a link of `rate_bps` with `qdisc`, one of them through a small queue of two packets.
fn four_flows(rate_bps: u64, qdisc: &str) -> Scenario {
    let flow = |number: u32, tsq: &str| {
        format!(
            r#"{{"kind": "tcp", "name": "flow.{number}", "from": 0, "to": 2, "start_ns": {}, "stop_ns": 900000000,
                "bytes": null, "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {tsq},
                "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                    "notsent_lowat": null, "mss": null}}}}"#,
            number * 1000
        )
    };
    let time = r#"{"kind": "time", "shift": 10}"#;
    let flows =
        [flow(0, r#"{"kind": "packets", "packets": 2}"#), flow(1, time), flow(2, time), flow(3, time)];
    let mut scenario = chain(&flows.join(", "));
    scenario.links[1].rate_bps = [Some(rate_bps); 2];
    scenario.qdiscs = attached(qdisc);
    scenario
}

/// The sockets of what is queued at the client's device, in the order in which it leaves.
fn dequeue_all(world: &mut World) -> Vec<SocketId> {
    let (device, context, mut sockets) = (&mut world.network.devices[0], &mut world.context, Vec::new());
    let Some(Root::Other(queue)) = &mut device.root else { panic!("a discipline with a kind") };
    while let Dequeued::Packet(packet) =
        queue.dequeue(&mut context.effects.context(context.now, &mut device.draws))
    {
        sockets.push(packet.from);
    }
    sockets
}

#[test]
fn of_the_sockets_whose_small_queues_have_drained_the_last_one_sends_first() {
    let mut world = World::build(&four_flows(100_000_000, r#"{"kind": "pfifo", "options": {}}"#)).unwrap();
    world.end = SimTime::from_nanos(500_000_000);
    world.advance(&()).unwrap();
    dequeue_all(&mut world);
    let senders = [0, 2, 4, 6].map(SocketId);
    for sender in senders {
        let info = world.sockets.tcp(sender).endpoint.tcp_info(world.context.now);
        let credit = (sender, u32::try_from(info.wmem_alloc.get()).unwrap());
        world.context.effects.credits.push(credit);
    }
    world.return_all_credits();
    assert_eq!(world.waiting.small_queues, senders);
    world.run_small_queues();
    let mut sent = dequeue_all(&mut world);
    sent.dedup();
    assert_eq!(sent, [6, 4, 2, 0].map(SocketId), "each was inserted at the head of the list");
}

/// Both runs record the same, with as many packets and segments.
fn run_alike(one: World, other: World) -> bool {
    let [one, other] = [one, other].map(|world| world.run(&()).unwrap());
    let counts = |cost: &Cost| (cost.packets, cost.segments);
    one.tables == other.tables
        && one.disciplines == other.disciplines
        && counts(&one.cost) == counts(&other.cost)
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn the_short_ways_of_packets_through_devices_change_nothing(
        rate_mbps in 1..40u64,
        qdisc in prop::sample::select(vec!["pfifo_fast", "pfifo", "fq_codel"]),
    ) {
        let scenario = four_flows(rate_mbps * 1_000_000, &format!(r#"{{"kind": "{qdisc}", "options": {{}}}}"#));
        let mut longer = World::build(&scenario).unwrap();
        prop_assert!(longer.network.devices.iter().any(|device| device.way == Way::IntoRing && device.ends_at_host));
        for device in &mut longer.network.devices {
            if device.way == Way::IntoRing {
                (device.way, device.way_when_empty) = (Way::Past, Way::Past);
            }
            (device.only_ring, device.ends_at_host) = (false, false);
        }
        prop_assert!(run_alike(World::build(&scenario).unwrap(), longer));
    }
}

#[test]
fn a_run_that_has_lost_a_packet_fails_by_its_name() {
    let mut world = ran(&chain(PING));
    world.context.ledger.created += 1;
    let leak = world.network.check_conservation(&world.ledger(), &world.context).unwrap_err();
    assert_eq!(leak, "21 were sent, 20 delivered, 0 dropped, and 0 are in the network: 1 have vanished");
    world.context.ledger.created -= 2;
    assert!(
        world
            .network
            .check_conservation(&world.ledger(), &world.context)
            .unwrap_err()
            .ends_with(": 1 too many")
    );
}

#[test]
#[should_panic(expected = "packets are not accounted for")]
fn a_run_that_has_lost_a_packet_gives_no_results() {
    let mut world = ran(&chain(PING));
    world.context.ledger.created += 1;
    world.finish();
}
