//! A radio is one device, whatever the number of its stations.

use super::tests::{datagrams, ran};
use super::*;
use crate::Scenario;
use crate::example::cell;
use crate::scenario::SignalChange;

/// The access point's device: the first after the two of the wire.
const ACCESS_POINT: usize = 2;

/// From station 1 to the server, skbs of several segments.
const TRAINS: &str = r#"
    {"kind": "tcp", "name": "up", "from": 1, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
     "bytes": null, "cc": {"name": "reno", "options": {}}, "tsq": {"kind": "time", "shift": 7},
     "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null,
         "mss": null}}"#;

/// From the server to stations 1 and 2, more than the channel can carry; the rates differ so that the gaps shift.
const FLOODS: &str = r#"
    {"kind": "udp", "name": "one", "from": 3, "to": 1, "start_ns": 0, "stop_ns": 2000000000,
     "rate_bps": 100000000, "size": 1472, "sndbuf": null},
    {"kind": "udp", "name": "two", "from": 3, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
     "rate_bps": 99000000, "size": 1472, "sndbuf": null}"#;
const PINGS: &str = r#"
    {"kind": "ping", "name": "one", "from": 3, "to": 1, "start_ns": 0, "stop_ns": 2000000000,
     "interval_ns": 200000000, "size": 64},
    {"kind": "ping", "name": "two", "from": 2, "to": 1, "start_ns": 0, "stop_ns": 2000000000,
     "interval_ns": 200000000, "size": 64}"#;

const PING: &str = r#"
    {"kind": "ping", "name": "one", "from": 2, "to": 1, "start_ns": 0, "stop_ns": 2000000000,
     "interval_ns": 200000000, "size": 64}"#;

#[test]
fn two_stations_share_one_pfifo_fast_and_neither_is_favoured_by_its_number() {
    let mut scenario = cell(2, "ath9k_htc", FLOODS);
    scenario.record.interval_ns = 10_000_000_000;
    let world = ran(&scenario);
    let kinds = world.network.devices.iter().map(|device| device.root.as_ref().map(|root| root.kind()));
    assert_eq!(kinds.collect::<Vec<_>>(), [Some("pfifo_fast"); 5]);
    assert!(world.network.devices[ACCESS_POINT].drops.iter().sum::<u64>() > 1000, "the one queue overflows");
    let received = [0, 1].map(|flow| datagrams(&world, flow).received as f64);
    let share = received[0] / (received[0] + received[1]);
    assert!((0.4..0.6).contains(&share), "{received:?}");
}

#[test]
fn above_queues_per_station_a_radio_has_no_discipline_of_its_own() {
    let world = ran(&cell(2, "ath9k", FLOODS));
    assert!(world.network.devices[ACCESS_POINT..].iter().all(|device| device.root.is_none()));
}

#[test]
fn a_packet_from_one_station_to_another_goes_through_the_radio_of_their_access_point_twice() {
    let mut scenario = cell(2, "ath9k", PINGS);
    scenario.record.pcap = vec![0, 2];
    let captures = World::build(&scenario).unwrap().run(&()).unwrap().captures;
    // Destination, source, the type of IPv4: the addresses of the devices end with their numbers.
    let frames = |capture: usize, receiver: u8, sender: u8| {
        let addresses = [2, 0, 0, 0, 0, receiver, 2, 0, 0, 0, 0, sender, 8, 0];
        captures[capture].1.windows(14).filter(|window| *window == addresses).count()
    };
    let (access_point, one, two) = (2, 3, 4);
    // Station 2 pings station 1 ten times: each request and reply comes in at the access point and goes out again. The
    // ten pings of the server go out to station 1, and their replies come in.
    assert_eq!([frames(0, access_point, two), frames(0, one, access_point)], [10, 20]);
    assert_eq!([frames(0, access_point, one), frames(0, two, access_point)], [20, 10]);
    assert_eq!([frames(1, access_point, two), frames(1, two, access_point)], [10, 10]);
    assert_eq!([frames(1, one, access_point), frames(1, access_point, one)], [0, 0]);
}

#[test]
fn the_discipline_of_a_radio_is_attached_once_by_any_of_its_links() {
    let attached = |links: &[u16]| {
        let mut scenario = cell(2, "ath9k_htc", PINGS);
        let root = r#"{"kind": "fq_codel", "options": {}}"#;
        let one = |link| format!(r#"{{"host": 0, "link": {link}, "root": {root}}}"#);
        let json = format!("[{}]", links.iter().map(one).collect::<Vec<_>>().join(", "));
        scenario.qdiscs = serde_json::from_str(&json).unwrap();
        scenario
    };
    for link in [1, 2] {
        let world = World::build(&attached(&[link])).unwrap();
        assert_eq!(world.network.devices[ACCESS_POINT].root.as_ref().unwrap().kind(), "fq_codel");
    }
    let error = World::build(&attached(&[1, 2])).err().unwrap();
    assert_eq!(
        (error.path.as_str(), error.problem.as_str()),
        ("qdiscs[1]", "this device has a discipline already")
    );
}

#[test]
fn a_socket_is_charged_for_the_segments_of_an_skb_as_soon_as_the_radio_has_segmented_it() {
    let mut scenario = cell(1, "ath9k", TRAINS);
    for host in &mut scenario.hosts {
        host.offloads = crate::scenario::Offloads::Gso;
    }
    let segment = 2_408;
    // From 57 ms on there are short segments, too, at the ends of writes.
    let below: Vec<u64> = (50..57)
        .map(|ms| {
            scenario.duration_ns = ms * 1_000_000;
            let mut world = ran(&scenario);
            let sender = tailback_packet::SocketId(0);
            world.return_credits_to(sender);
            world.sockets.tcp(sender).endpoint.tcp_info(world.context.now).wmem_alloc.get()
        })
        .collect();
    assert!(below.iter().any(|bytes| *bytes > 20 * segment), "{below:?}");
    assert!(below.iter().all(|bytes| bytes.is_multiple_of(segment)), "{below:?}");
}

/// Above a small queue of two segments, which it gets back only when the radio reports them, a flow waits for reports.
#[test]
fn a_radio_that_reports_completions_late_holds_a_flow_above_a_small_queue() {
    let sent = |options: &[(&str, u64)], small_queue| {
        let mut scenario = cell(1, "ath9k", &TRAINS.replace(r#"{"kind": "time", "shift": 7}"#, small_queue));
        scenario.cells[0].stations[0].driver.options =
            options.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        ran(&scenario).ledger().delivered
    };
    let (two, none) = (r#"{"kind": "packets", "packets": 2}"#, r#"{"kind": "off"}"#);
    let late = [("tx_quiet", 5_000_000), ("tx_longest", 5_000_000)];
    assert!(sent(&late, two) * 3 < sent(&[], two));
    assert!(sent(&late, none) * 10 > sent(&[], none) * 9);
}

/// Over 1 ms of wire each way a ping takes about 2.4 ms; its request and its reply wait for an interrupt of 0.5 ms each.
#[test]
fn a_radio_that_mitigates_interrupts_delays_what_it_receives() {
    let delivered = |options: &[(&str, u64)]| {
        let mut scenario = cell(1, "ath9k", PING);
        scenario.duration_ns = 3_000_000;
        let cell = &mut scenario.cells[0];
        for driver in [&mut cell.driver, &mut cell.stations[0].driver] {
            driver.options = options.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        }
        let ledger = ran(&scenario).ledger();
        (ledger.delivered, ledger.inside)
    };
    assert_eq!(delivered(&[]), (2, 0));
    assert_eq!(delivered(&[("rx_quiet", 500_000)]), (1, 1));
    assert_eq!(delivered(&[("rx_quiet", 500_000), ("rx_longest", 50_000)]), (2, 0));
}

/// A cell of two stations, of which the first fades at 500 ms, where no mode gets through, until 1 s.
fn fading(length_ms: u64) -> Scenario {
    let mut scenario = cell(2, "ath9k", FLOODS);
    (scenario.duration_ns, scenario.record.interval_ns) = (length_ms * 1_000_000, 10_000_000_000);
    let station = &mut scenario.cells[0].stations[0];
    station.snr_cdb = Some(4000);
    let change =
        |at_ms: u64, snr| SignalChange { at_ns: at_ms * 1_000_000, loss_ppm: None, snr_cdb: Some(snr) };
    station.schedule = vec![change(500, -2000), change(1000, 4000)];
    scenario
}

#[test]
fn in_a_fade_nothing_arrives_at_the_station_and_afterwards_as_much_as_before() {
    let arrived = |length_ms| {
        let world = ran(&fading(length_ms));
        [0, 1].map(|flow| datagrams(&world, flow).received)
    };
    let [first, faded, last] = [500, 1000, 1500].map(arrived);
    // What ends on the air in the first instants of the fade is one aggregate of at most 32 MPDUs.
    assert!(first[0] > 500 && faded[0] - first[0] <= 32, "{first:?} {faded:?}");
    assert!((last[0] - faded[0]) * 10 > first[0] * 7, "{faded:?} {last:?}");
    assert!(faded[1] - first[1] > 500, "the other station goes on: {first:?} {faded:?}");
}

#[test]
fn a_share_of_lost_mpdus_changes_too() {
    let arrived = |schedule: Vec<SignalChange>| {
        let mut scenario = fading(2000);
        scenario.cells[0].stations[0].schedule = schedule;
        datagrams(&ran(&scenario), 0).received
    };
    let change = SignalChange { at_ns: 0, loss_ppm: Some(1_000_000), snr_cdb: None };
    assert_eq!(arrived(vec![change]), 0);
    assert!(arrived(vec![]) > 1000);
}

#[test]
fn changes_of_a_signal_that_are_not_in_the_order_of_time_are_an_error() {
    let mut scenario = fading(1500);
    scenario.cells[0].stations[0].schedule.reverse();
    let error = World::build(&scenario).err().unwrap();
    assert_eq!(error.path, "cells[0].stations[0].schedule");
}
