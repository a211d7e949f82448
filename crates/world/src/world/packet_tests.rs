//! The log of packets says where each is, and changes nothing else.

use tailback_record::{Cells, Tables};

use super::tests::attached;
use super::*;
use crate::example::{cell, chain};
use crate::scenario::Scenario;

const PING: &str = r#"{"kind": "ping", "name": "ping", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
    "interval_ns": 500000000, "size": 64}"#;
const FLOOD: &str = r#"{"kind": "udp", "name": "flood", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
    "rate_bps": 20000000, "size": 1472, "sndbuf": null}"#;
const UPLOAD: &str = r#"{"kind": "tcp", "name": "upload", "from": 1, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
    "bytes": null, "cc": {"name": "reno", "options": {}}, "tsq": {"kind": "time", "shift": 10},
    "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null,
        "mss": null}}"#;

fn tables(mut scenario: Scenario, window: Option<[u64; 2]>) -> Tables {
    scenario.record.packets_ns = window;
    World::build(&scenario).unwrap().run(&()).unwrap().tables
}

/// More than the client's queue holds.
fn overflowing() -> Scenario {
    let qdiscs = attached(r#"{"kind": "pfifo", "options": {"limit": 5}}"#);
    Scenario { qdiscs, ..chain(FLOOD) }
}

/// A column of a table as numbers.
fn numbers(tables: &Tables, table: &str, column: &str) -> Vec<Option<f64>> {
    let cells: &Cells = tables.get(table).unwrap().column(column).unwrap();
    (0..cells.len()).map(|row| cells.number(row)).collect()
}

/// A column of a table as text.
fn texts<'a>(tables: &'a Tables, table: &str, column: &str) -> Vec<&'a str> {
    let cells = tables.get(table).unwrap().column(column).unwrap();
    (0..cells.len()).map(|row| tables.text(cells, row).unwrap_or("")).collect()
}

#[test]
fn a_packet_has_one_number_at_all_its_devices_and_the_times_of_each_step() {
    let found = tables(chain(PING), Some([0, 400_000_000]));
    assert_eq!(
        texts(&found, "packets", "device"),
        ["client -> router", "router -> server", "server -> router", "router -> client"]
    );
    assert_eq!(texts(&found, "packets", "what"), ["ping", "ping", "pong", "pong"]);
    assert_eq!(numbers(&found, "packets", "packet"), [1.0, 1.0, 2.0, 2.0].map(Some));
    let milliseconds = |column: &str| -> Vec<_> {
        let all = numbers(&found, "packets", column);
        all.into_iter().map(|at| (at.unwrap() * 1e6).round() as u64).collect()
    };
    // 84 bytes and 38 around them: 98 µs at 10 Mbit/s, 10 µs at 100 Mbit/s, in µs.
    assert_eq!(milliseconds("t"), [0, 1_098, 3_107, 5_117]);
    assert_eq!(milliseconds("dequeued"), milliseconds("t"));
    assert_eq!(milliseconds("sent"), [98, 1_107, 3_117, 5_215]);
    assert_eq!(milliseconds("ended"), [1_098, 3_107, 5_117, 6_215]);
    assert_eq!(texts(&found, "packets", "end"), ["arrived"; 4]);
}

#[test]
fn what_is_dropped_in_a_queue_did_not_leave_it_and_each_drop_has_its_row() {
    let found = tables(overflowing(), Some([0, 2_000_000_000]));
    let ends = texts(&found, "packets", "end");
    let dropped = ends.iter().filter(|end| **end == "tail_full").count();
    let events = texts(&found, "events", "what").iter().filter(|what| **what == "drop").count();
    assert!(dropped > 0);
    assert_eq!(dropped, events);
    let dequeued = numbers(&found, "packets", "dequeued");
    assert!(ends.iter().zip(&dequeued).all(|(end, at)| (*end == "tail_full") == at.is_none()));
    // A full queue drops what arrives: it waited for no time.
    let (t, ended) = (numbers(&found, "packets", "t"), numbers(&found, "packets", "ended"));
    assert!((0..ends.len()).filter(|&row| ends[row] == "tail_full").all(|row| t[row] == ended[row]));
}

#[test]
fn a_window_has_the_packets_whose_way_has_time_in_common_with_it() {
    let [begin, end] = [0.5, 0.6];
    let whole = tables(overflowing(), Some([0, 2_000_000_000]));
    let part = tables(overflowing(), Some([500_000_000, 600_000_000]));
    let ways = |tables: &Tables, all: bool| -> Vec<_> {
        let (t, ended) = (numbers(tables, "packets", "t"), numbers(tables, "packets", "ended"));
        let inside = |row: &usize| all || t[*row].unwrap() < end && ended[*row].is_none_or(|at| at >= begin);
        (0..t.len())
            .filter(inside)
            .map(|row| (t[row].map(f64::to_bits), ended[row].map(f64::to_bits)))
            .collect()
    };
    let expected = ways(&whole, false);
    assert!(expected.len() > 100);
    assert_eq!(ways(&part, true), expected);
}

#[test]
fn each_packet_that_arrives_over_the_air_was_in_a_ppdu_before() {
    let mut scenario = cell(1, "ath9k", UPLOAD);
    scenario.cells[0].stations[0].loss_ppm = 100_000;
    let found = tables(scenario, Some([500_000_000, 700_000_000]));
    let (packets, devices) = (numbers(&found, "packets", "packet"), texts(&found, "packets", "device"));
    let (ends, ended) = (texts(&found, "packets", "end"), numbers(&found, "packets", "ended"));
    let (inside, received) = (numbers(&found, "mpdus", "packet"), numbers(&found, "mpdus", "received"));
    let begun = numbers(&found, "mpdus", "t");
    let mut seen = 0;
    for row in (0..packets.len()).filter(|&row| devices[row].ends_with("-> air") && ends[row] == "arrived") {
        let arrived =
            (0..inside.len()).filter(|&mpdu| inside[mpdu] == packets[row] && received[mpdu] == Some(1.0));
        // What has left the air before the window may have been received before it, too.
        seen += arrived.filter(|&mpdu| begun[mpdu] < ended[row]).count();
    }
    assert!(seen > 100, "{seen}");
    assert!(received.contains(&Some(0.0)), "a tenth is lost");
}

#[test]
fn the_log_changes_no_other_table() {
    for scenario in
        [chain(FLOOD), chain(&UPLOAD.replace("\"from\": 1", "\"from\": 0")), cell(1, "ath9k", UPLOAD)]
    {
        let plain = tables(scenario.clone(), None);
        let logged = tables(scenario, Some([100_000_000, 300_000_000]));
        for table in &plain.tables {
            assert_eq!(Some(table), logged.get(table.name), "{}", table.name);
        }
        assert!(logged.get("packets").unwrap().rows() > 0);
    }
}

#[test]
fn a_sender_says_at_each_ack_what_holds_it() {
    let found =
        tables(chain(&UPLOAD.replace("\"from\": 1", "\"from\": 0")), Some([1_000_000_000, 1_200_000_000]));
    let (t, held) = (numbers(&found, "senders", "t"), texts(&found, "senders", "held_by"));
    assert!(t.len() > 20 && t.iter().all(|at| (1.0..1.2).contains(&at.unwrap())));
    assert!(held.iter().any(|held| *held == "small_queue" || *held == "cwnd"), "{held:?}");
}
