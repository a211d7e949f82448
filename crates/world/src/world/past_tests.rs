//! No event is scheduled for the past: the calendar refuses it, in every build. Random runs of all that computes the time of
//! an event from one that it remembers: completions that nobody waited for, alarms, beacons, schedules, traces, pauses of
//! paced bursts, interrupts, pauses of applications.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailback_properties::cases;

use super::tests::ran;
use crate::Scenario;
use crate::example::{cell, chain};
use crate::scenario::{Change, Offloads, SignalChange, SysctlValue, Trace};

const MS: u64 = 1_000_000;

/// What TCP connections have in common.
fn socket(pacing_bps: Option<u64>) -> String {
    let pacing = pacing_bps.map_or("null".to_owned(), |rate| rate.to_string());
    format!(
        r#""cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
            "socket": {{"max_pacing_rate_bps": {pacing}, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
            "notsent_lowat": null, "mss": null}}"#
    )
}

/// An application between hosts `ends`, from `start` on.
fn entry(kind: usize, number: usize, ends: [u16; 2], start: u64, pause: u64, pacing: Option<u64>) -> String {
    let [from, to] = ends;
    let (stop, socket) = (start + 400 * MS, socket(pacing));
    let head = format!(r#""name": "n{number}", "from": {from}, "to": {to}, "start_ns": {start}"#);
    match kind {
        0 => format!(r#"{{"kind": "tcp", {head}, "stop_ns": {stop}, "bytes": null, {socket}}}"#),
        1 => format!(r#"{{"kind": "tcp", {head}, "stop_ns": null, "bytes": 30000, {socket}}}"#),
        2 => format!(
            r#"{{"kind": "request", {head}, "stop_ns": {stop}, "size": 3000, "answers": [20000, 400],
                "pauses_ns": [{pause}, 0], {socket}}}"#
        ),
        3 => format!(
            r#"{{"kind": "page", {head}, "size": 300, "connections": 3, "multiplexing": "one", {socket},
                "objects": [{{"bytes": 9000, "after": null}}, {{"bytes": 30000, "after": 0}},
                    {{"bytes": 20000, "after": 0}}, {{"bytes": 5000, "after": 1}}]}}"#
        ),
        4 => format!(
            r#"{{"kind": "udp", {head}, "stop_ns": {stop}, "rate_bps": 3000000, "size": 900, "sndbuf": 3000}}"#
        ),
        _ => format!(
            r#"{{"kind": "video", {head}, "stop_ns": {stop}, "size": 300, "ladder_bps": [300000, 900000],
                "segment_ns": 50000000, "buffer_ns": 200000000, "startup_ns": 50000000, "rule": "bola", {socket}}}"#
        ),
    }
}

type Entry = (usize, bool, u64, u64, Option<u64>);

fn any_entry() -> impl Strategy<Value = Entry> {
    let pacing = prop::option::weighted(0.3, 100_000_u64..4_000_000);
    (0..6_usize, any::<bool>(), 0..300 * MS, 0..20 * MS, pacing)
}

/// The entries between two hosts.
fn traffic(entries: &[Entry], [near, far]: [u16; 2]) -> String {
    let written = |(number, &(kind, up, start, pause, pacing)): (usize, &Entry)| {
        entry(kind, number, if up { [near, far] } else { [far, near] }, start, pause, pacing)
    };
    entries.iter().enumerate().map(written).collect::<Vec<_>>().join(",")
}

/// Small queues of `bytes`, and offloads.
fn set_hosts(scenario: &mut Scenario, bytes: Option<u64>, offloads: Offloads, gro: bool) {
    for host in &mut scenario.hosts {
        (host.offloads, host.gro) = (offloads, gro);
        if let Some(bytes) = bytes {
            host.sysctl.insert("net.ipv4.tcp_limit_output_bytes".to_owned(), SysctlValue::Number(bytes));
        }
    }
}

fn any_offloads() -> impl Strategy<Value = Offloads> {
    prop_oneof![Just(Offloads::Off), Just(Offloads::Gso), Just(Offloads::On)]
}

fn any_limit() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), Just(Some(1)), (1_u64..20_000).prop_map(Some)]
}

fn any_change() -> impl Strategy<Value = Change> {
    let shares = (0..u64::from(u32::MAX) / 4, 0..5 * MS);
    let netem = shares.prop_map(|(corrupt, jitter)| {
        BTreeMap::from([("corrupt".to_owned(), corrupt), ("jitter".to_owned(), jitter)])
    });
    let parts = (0_u64..500, 0..2_usize, prop::option::of(200_000_u64..20_000_000));
    (parts, prop::option::of(MS..20 * MS), prop::option::of(netem)).prop_map(
        |((at, end, rate), delay, netem)| Change {
            at_ns: at * MS,
            end,
            rate_bps: rate,
            delay_ns: delay,
            netem,
            up: None,
        },
    )
}

fn any_fade() -> impl Strategy<Value = SignalChange> {
    let parts = (0_u64..500, prop::option::of(0_u32..1_000_000), prop::option::of(-1000_i32..4000));
    parts.prop_map(|(at, loss_ppm, snr_cdb)| SignalChange { at_ns: at * MS, loss_ppm, snr_cdb })
}

fn any_driver() -> impl Strategy<Value = &'static str> {
    prop::sample::select(tailback_wifi::driver::PROFILES.iter().map(|driver| driver.name).collect::<Vec<_>>())
}

/// The run reaches its end, and its packets are accounted for.
fn check(scenario: &Scenario) -> Result<(), TestCaseError> {
    let mut world = ran(scenario);
    prop_assert_eq!(world.network.check_conservation(&world.ledger(), &world.context), Ok(()));
    Ok(())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn on_wires(
        entries in prop::collection::vec(any_entry(), 1..5),
        (limit, offloads, gro) in (any_limit(), any_offloads(), any::<bool>()),
        rates in [300_000_u64..20_000_000, 300_000_u64..20_000_000],
        interrupts in prop_oneof![Just(0), 0..2 * MS],
        mut schedule in prop::collection::vec(any_change(), 0..4),
        stamps in prop::collection::vec(0_u32..200, 0..20),
        seed in any::<u64>(),
    ) {
        let mut scenario = chain(&traffic(&entries, [0, 2]));
        (scenario.seed, scenario.duration_ns) = (seed, 800 * MS);
        set_hosts(&mut scenario, limit, offloads, gro);
        schedule.sort_by_key(|change| change.at_ns);
        (scenario.links[0].rate_bps, scenario.links[0].schedule) = (rates.map(Some), schedule);
        scenario.links[1].interrupt_ns = [interrupts; 2];
        if stamps.len() > 1 {
            let stamps_ms = stamps.iter().scan(0, |at, gap| { *at += gap % 20; Some(*at) }).chain([300]).collect();
            scenario.traces = vec![Trace { sha256: String::new(), stamps_ms }];
            (scenario.links[1].rate_bps, scenario.links[1].trace) = ([None; 2], [Some(0); 2]);
        }
        check(&scenario)?;
    }

    #[test]
    fn over_the_air(
        entries in prop::collection::vec(any_entry(), 1..4),
        (limit, offloads) in (any_limit(), any_offloads()),
        driver in any_driver(),
        (beacons, rts, later) in (any::<bool>(), any::<bool>(), 0..300 * MS),
        (loss, quiet, hidden) in (0_u32..400_000, prop_oneof![Just(0), 0..MS], any::<bool>()),
        corrupt in 0..u64::from(u32::MAX) / 4,
        mut fades in prop::collection::vec(any_fade(), 0..4),
        seed in any::<u64>(),
    ) {
        let entries: Vec<Entry> = entries.iter().map(|&(kind, up, at, pause, pacing)| {
            (kind, up, at + later, pause, pacing)
        }).collect();
        let mut scenario = cell(2, driver, &traffic(&entries, [1, 3]));
        (scenario.seed, scenario.duration_ns) = (seed, 800 * MS);
        set_hosts(&mut scenario, limit, offloads, false);
        scenario.links[0].netem = [(); 2].map(|()| BTreeMap::from([("corrupt".to_owned(), corrupt)]));
        let cell = &mut scenario.cells[0];
        (cell.beacon_bps, cell.rts) = (beacons.then_some(6_000_000), rts);
        cell.hidden = if hidden { vec![[1, 2]] } else { Vec::new() };
        for station in &mut cell.stations {
            station.loss_ppm = loss;
        }
        fades.sort_by_key(|fade| fade.at_ns);
        cell.stations[0].schedule = fades;
        for driver in [&mut cell.driver, &mut cell.stations[0].driver] {
            driver.options = [("rx_quiet".to_owned(), quiet)].into();
        }
        check(&scenario)?;
    }
}

/// Nobody has a packet to send in the first half second, and the first beacon is due before.
#[test]
fn beacons_are_sent_before_anybody_has_a_packet_to_send() {
    let mut scenario = cell(1, "generic", &entry(0, 0, [1, 2], 500 * MS, 0, None));
    scenario.cells[0].beacon_bps = Some(6_000_000);
    let world = ran(&scenario);
    assert!(world.ledger().delivered > 100);
}

/// The driver cuts a train when the ring has room again: its sender is charged for the segments before any has left.
#[test]
fn the_sender_of_a_train_is_charged_for_its_segments_before_they_are_credited() {
    let mut scenario = chain(&entry(0, 0, [0, 2], 0, 0, None));
    set_hosts(&mut scenario, None, Offloads::Gso, false);
    scenario.traces =
        vec![Trace { sha256: String::new(), stamps_ms: vec![0, 0, 3, 7, 7, 20, 21, 22, 40, 80] }];
    (scenario.links[0].rate_bps, scenario.links[0].trace) = ([None; 2], [Some(0); 2]);
    let world = ran(&scenario);
    assert!(world.ledger().delivered > 50);
}

/// A server that thinks acts by a timer, and waits for a packet that has left: its credit must be there.
#[test]
fn a_socket_that_acts_by_a_timer_has_the_credit_of_what_has_left() {
    let mut scenario = chain(&entry(3, 0, [0, 2], 0, 0, None));
    set_hosts(&mut scenario, Some(1), Offloads::On, false);
    scenario.links[0].rate_bps = [Some(5_000_000); 2];
    let mut world = ran(&scenario);
    assert_eq!(world.network.check_conservation(&world.ledger(), &world.context), Ok(()));
}
