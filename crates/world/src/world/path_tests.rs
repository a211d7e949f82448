//! Links with impairments, and topologies that are not trees.

use proptest::prelude::*;
use tailback_packet::DropReason;
use tailback_properties::cases;

use super::tests::{PING, TCP, TCP_200_KB, bytes_read, ran, round_trips};
use super::*;
use crate::Scenario;
use crate::example::chain;
use crate::scenario::{Change, Link, Police, RouteSpec, Trace};

/// 100 %, in netem's unit.
const WHOLE: u64 = u32::MAX as u64;
const MS: u64 = 1_000_000;

fn percent(share: u64) -> u64 {
    WHOLE / 100 * share
}

fn change(at_ms: u64, end: usize) -> Change {
    Change { at_ns: at_ms * MS, end, rate_bps: None, delay_ns: None, netem: None, up: None }
}

fn netem(options: &[(&str, u64)]) -> std::collections::BTreeMap<String, u64> {
    options.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn drops(world: &World, reason: DropReason) -> u64 {
    world.network.devices.iter().map(|device| device.drops[reason as usize]).sum()
}

fn police(rate_bps: u64, burst: u64) -> Police {
    Police { rate_bps, burst, mtu: 2040, peakrate_bps: None }
}

/// Pings of 1500 bytes from client to server at these milliseconds.
fn large_pings(at_ms: &[u64]) -> String {
    let ping = |at: &u64| {
        let start = at * MS;
        let stop = start + 1;
        format!(
            r#"{{"kind": "ping", "name": "at {at}", "from": 0, "to": 2, "start_ns": {start}, "stop_ns": {stop},
                "interval_ns": 1000, "size": 1480}}"#
        )
    };
    at_ms.iter().map(ping).collect::<Vec<_>>().join(",")
}

fn first_round_trip(world: &World, ping: usize) -> u64 {
    round_trips(world, ping)[0].expect("it was answered")
}

#[test]
fn each_direction_has_its_own_rate() {
    let mut scenario = chain(&large_pings(&[0]));
    scenario.links[0].rate_bps = [Some(10_000_000), Some(1_000_000)];
    let (up, down, fast) = (1_230_400, 12_304_000, 123_040);
    assert_eq!(first_round_trip(&ran(&scenario), 0), up + down + 2 * fast + 6 * MS);
}

#[test]
fn the_headers_of_a_tunnel_take_time_on_the_wire() {
    let mut scenario = chain(&large_pings(&[0]));
    scenario.links[0].overhead = 60;
    let (there, back, fast) = (1_230_400 + 48_000, 1_230_400 + 48_000, 123_040);
    assert_eq!(first_round_trip(&ran(&scenario), 0), there + back + 2 * fast + 6 * MS);
}

#[test]
fn a_policer_passes_what_its_bucket_holds_at_once_and_drops_the_rest() {
    let mut scenario = chain(&large_pings(&[0, 1, 2, 3]));
    scenario.links[0].rate_bps = [Some(100_000_000); 2];
    scenario.links[0].police = [Some(police(1_000_000, 3000)), None];
    let world = ran(&scenario);
    assert_eq!(
        world.network.devices[0].drops[DropReason::Policed as usize],
        2,
        "two packets of four fit the bucket"
    );
    assert_eq!(drops(&world, DropReason::Policed), 2);
    let unpoliced = chain(&large_pings(&[0, 1, 2, 3]));
    let with = |scenario: &Scenario| first_round_trip(&ran(scenario), 0);
    scenario.links[0].rate_bps = unpoliced.links[0].rate_bps;
    assert_eq!(with(&scenario), with(&unpoliced), "nothing waits");
}

#[test]
fn an_upload_behind_a_policer_gets_no_more_than_its_rate_and_its_bucket() {
    let mut scenario = chain(TCP);
    scenario.links[0].rate_bps = [Some(100_000_000); 2];
    scenario.links[0].police = [Some(police(5_000_000, 20_000)), None];
    let world = ran(&scenario);
    assert!(drops(&world, DropReason::Policed) > 0);
    let most = scenario.duration_ns / 1000 * 5 / 8 + 20_000;
    let read = bytes_read(&world, 0);
    assert!(read < most && read > most / 4, "{read} of {most}");
}

#[test]
fn a_policer_has_a_rate_and_a_bucket() {
    for wrong in [police(0, 1), police(1, 0)] {
        let mut scenario = chain(TCP);
        scenario.links[0].police[1] = Some(wrong);
        let Err(error) = World::build(&scenario) else { panic!("{wrong:?} was built") };
        assert!(error.path.starts_with("links[0].police[1]."), "{error}");
    }
}

#[test]
fn a_change_of_rate_applies_to_frames_that_are_not_yet_on_the_wire() {
    let mut scenario = chain(&large_pings(&[0, 1, 2]));
    scenario.links[0].bql = [false; 2];
    // The first takes 12.304 ms; the change happens while its bits leave.
    scenario.links[0].rate_bps = [Some(1_000_000), Some(1_000_000_000)];
    scenario.links[0].schedule = vec![Change { rate_bps: Some(10_000_000), ..change(5, 0) }];
    let world = ran(&scenario);
    let back = 123_040 + 12_304 + 3 * MS;
    let rest = 3 * MS + 123_040 + back;
    assert_eq!(first_round_trip(&world, 0), 12_304_000 + rest);
    assert_eq!(first_round_trip(&world, 1), 12_304_000 + 1_230_400 - MS + rest);
    assert_eq!(first_round_trip(&world, 2), 12_304_000 + 2 * 1_230_400 - 2 * MS + rest);
}

#[test]
fn a_shorter_delay_lets_no_packet_overtake_those_on_their_way() {
    let mut scenario = chain(&large_pings(&[0, 60]));
    scenario.links[0].delay_ns = [100 * MS, MS];
    scenario.links[0].schedule = vec![Change { delay_ns: Some(10 * MS), ..change(50, 0) }];
    let world = ran(&scenario);
    let rest = 2 * 1_230_400 + 2 * 123_040 + 5 * MS;
    assert_eq!(first_round_trip(&world, 0), 100 * MS + rest);
    // Without the one before it, it would need 10 ms. Both reach the router at 101.2 ms, and the second waits there.
    assert_eq!(first_round_trip(&world, 1), 100 * MS - 60 * MS + rest + 1_230_400);
}

#[test]
fn packets_that_leave_while_a_link_is_down_are_dropped_with_that_reason() {
    let mut scenario = chain(PING);
    scenario.links[1].schedule =
        vec![Change { up: Some(false), ..change(300, 0) }, Change { up: Some(true), ..change(700, 0) }];
    let world = ran(&scenario);
    let lost: Vec<bool> = round_trips(&world, 0).iter().map(Option::is_none).collect();
    assert_eq!(lost, [false, false, true, true, false, false, false, false, false, false]);
    assert_eq!(drops(&world, DropReason::LinkDown), 2);
}

#[test]
fn jitter_spreads_round_trips_and_keeps_the_order() {
    let at: Vec<u64> = (0..400).collect();
    let mut scenario = chain(&large_pings(&at));
    scenario.links[0].rate_bps = [Some(1_000_000_000); 2];
    scenario.links[0].netem[0] = netem(&[("jitter", 20 * MS)]);
    scenario.links[0].delay_ns[0] = 30 * MS;
    let world = ran(&scenario);
    let trips: Vec<u64> = (0..400).map(|ping| first_round_trip(&world, ping)).collect();
    let arrivals: Vec<u64> = trips.iter().zip(&at).map(|(trip, at)| trip + at * MS).collect();
    assert!(arrivals.is_sorted());
    let (min, max) = (trips.iter().min().unwrap(), trips.iter().max().unwrap());
    assert!(max - min > 15 * MS, "{min} to {max}");
}

#[test]
fn loss_of_a_tenth_loses_a_tenth_and_is_counted_at_the_sending_device() {
    let mut scenario = chain(&large_pings(&(0..1500).collect::<Vec<_>>()));
    scenario.links[0].rate_bps = [Some(1_000_000_000); 2];
    scenario.links[0].netem[0] = netem(&[("loss", percent(10))]);
    let world = ran(&scenario);
    let lost = world.network.devices[0].drops[DropReason::RandomLoss as usize];
    assert!((110..190).contains(&lost), "{lost}");
    assert_eq!(drops(&world, DropReason::RandomLoss), lost);
}

#[test]
fn a_trace_delivers_a_packet_at_each_of_its_instants() {
    let mut scenario = chain(&large_pings(&[0, 0, 0, 0]));
    scenario.traces = vec![Trace { sha256: String::new(), stamps_ms: vec![3, 7, 7, 20] }];
    let link = &mut scenario.links[0];
    (link.rate_bps[0], link.trace[0], link.delay_ns[0]) = (None, Some(0), 0);
    let rest = 1_230_400 + 2 * 123_040 + 5 * MS;
    let world = ran(&scenario);
    let trips: Vec<u64> = (0..4).map(|ping| first_round_trip(&world, ping)).collect();
    // The third leaves with the second, and waits behind it at the router and behind its reply.
    assert_eq!(trips, [3 * MS + rest, 7 * MS + rest, 7 * MS + rest + 1_230_400, 20 * MS + rest]);
}

#[test]
fn a_flow_fills_a_trace_of_12_mbit() {
    let mut scenario = chain(TCP);
    scenario.duration_ns = 12_000_000_000;
    scenario.traces = vec![Trace { sha256: String::new(), stamps_ms: (1..=1000).collect() }];
    let link = &mut scenario.links[0];
    (link.rate_bps[0], link.trace[0]) = (None, Some(0));
    let read = bytes_read(&ran(&scenario), 0);
    let max = 12_000 * 1448;
    assert!(read <= max && read > max * 98 / 100, "{read} of {max}");
}

#[test]
fn segments_fit_the_smallest_link_on_the_way() {
    let mut scenario = chain(TCP_200_KB);
    scenario.links[0].mtu = 9000;
    assert_eq!(ran(&scenario).context.cost.segments, 139);
    scenario.links[1].mtu = 9000;
    assert_eq!(ran(&scenario).context.cost.segments, 23);
}

/// A client, two parallel routers, and a server.
fn diamond(traffic: &str) -> Scenario {
    let mut scenario = chain(traffic);
    scenario.hosts.push(scenario.hosts[1].clone());
    scenario.hosts[3].name = "detour".into();
    let (near, far) = (scenario.links[0].clone(), scenario.links[1].clone());
    scenario.links.push(Link { ends: [0, 3], delay_ns: [5 * MS; 2], ..near });
    scenario.links.push(Link { ends: [3, 2], delay_ns: [5 * MS; 2], ..far });
    scenario
}

#[test]
fn packets_take_the_routes_of_the_scenario_which_may_differ_per_direction() {
    let plain = first_round_trip(&ran(&diamond(&large_pings(&[0]))), 0);
    let mut scenario = diamond(&large_pings(&[0]));
    scenario.routes = vec![RouteSpec { host: 2, to: 0, link: 3 }];
    assert_eq!(first_round_trip(&ran(&scenario), 0), plain + 7 * MS);
}

#[test]
fn routes_that_go_in_a_circle_are_refused() {
    let mut scenario = diamond(PING);
    scenario.routes = vec![RouteSpec { host: 0, to: 2, link: 2 }, RouteSpec { host: 3, to: 2, link: 2 }];
    let error = World::build(&scenario).err().unwrap();
    assert_eq!(error.path, "traffic[0]");
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn invalid_properties_of_a_link_are_refused_with_their_path() {
    let broken = |change_it: fn(&mut Scenario)| {
        let mut scenario = chain(PING);
        change_it(&mut scenario);
        World::build(&scenario).err().unwrap().path
    };
    assert_eq!(broken(|scenario| scenario.links[0].trace[1] = Some(0)), "links[0].trace[1]");
    assert_eq!(
        broken(|scenario| scenario.traces = vec![Trace { sha256: String::new(), stamps_ms: vec![0] }]),
        "traces[0]"
    );
    assert_eq!(broken(|scenario| scenario.links[0].netem[1] = netem(&[("los", 1)])), "links[0].netem[1].los");
    assert_eq!(
        broken(|scenario| scenario.links[0].schedule = vec![change(2, 0), change(1, 0)]),
        "links[0].schedule[1].at_ns"
    );
    assert_eq!(
        broken(|scenario| {
            scenario.links[0].rate_bps = [None; 2];
            scenario.links[0].schedule = vec![Change { rate_bps: Some(1_000_000), ..change(2, 0) }];
        }),
        "links[0].schedule[0].rate_bps"
    );
}

fn any_netem() -> impl Strategy<Value = std::collections::BTreeMap<String, u64>> {
    let share = || prop_oneof![Just(0), 0..WHOLE / 5];
    (0..20 * MS, share(), share(), share(), share()).prop_map(
        |(jitter, loss, duplicate, corrupt, reorder)| {
            netem(&[
                ("jitter", jitter),
                ("loss", loss),
                ("duplicate", duplicate),
                ("corrupt", corrupt),
                ("reorder", reorder),
            ])
        },
    )
}

fn any_change() -> impl Strategy<Value = Change> {
    let rate = prop::option::of(100_000_u64..100_000_000);
    let parts = (0_u64..1500, 0_usize..2, rate, prop::option::of(MS..30 * MS));
    let rest = (prop::option::of(any_netem()), prop::option::weighted(0.2, any::<bool>()));
    (parts, rest).prop_map(|((at, end, rate_bps, delay_ns), (netem, up))| Change {
        rate_bps,
        delay_ns,
        netem,
        up,
        ..change(at, end)
    })
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn with_any_impairment_every_packet_is_accounted_for_and_runs_repeat(
        netem in [any_netem(), any_netem()],
        rate in 200_000_u64..50_000_000,
        mut schedule in prop::collection::vec(any_change(), 0..6),
        mut stamps in prop::collection::vec(0_u32..400, 0..60),
        seed in any::<u64>(),
    ) {
        let mut scenario = chain(&[TCP_200_KB, PING].join(","));
        scenario.seed = seed;
        schedule.sort_by_key(|change| change.at_ns);
        scenario.links[0].rate_bps = [Some(rate); 2];
        scenario.links[0].netem = netem;
        scenario.links[0].schedule = schedule;
        if !stamps.is_empty() {
            stamps.push(400);
            stamps.sort_unstable();
            scenario.traces = vec![Trace { sha256: String::new(), stamps_ms: stamps }];
            (scenario.links[1].rate_bps[0], scenario.links[1].trace[0]) = (None, Some(0));
        }
        let world = ran(&scenario);
        prop_assert!(world.ledger().balances(), "{:?}", world.ledger());
        let (again, ledger) = (ran(&scenario), world.ledger());
        prop_assert_eq!((again.ledger(), again.events.number()), (ledger, world.events.number()));
    }
}
