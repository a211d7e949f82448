//! Kinds of traffic in small worlds whose results can be computed by hand.

use tailback_traffic::{Machine, Player};
use tailback_units::Span;

use super::tests::{PING, ran};
use super::*;
use crate::example::chain;

/// The applications of the only conversation of a run.
fn machine_of(world: &World) -> &Machine {
    world.conversations[0].machine.as_ref().unwrap()
}

fn page(objects: &str, connections: u32, multiplexing: &str) -> String {
    format!(
        r#"{{"kind": "page", "name": "page", "from": 0, "to": 2, "start_ns": 0, "size": 400,
            "objects": {objects}, "connections": {connections}, "multiplexing": "{multiplexing}",
            "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
            "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
            "notsent_lowat": null, "mss": null}}}}"#
    )
}

/// When each object was loaded, in ms.
fn loaded(traffic: &str) -> Vec<f64> {
    let world = ran(&chain(traffic));
    let Machine::Page(ends) = machine_of(&world) else { panic!("it is no page") };
    ends.client().loaded().iter().map(|each| each.unwrap().as_secs_f64() * 1e3).collect()
}

#[test]
fn each_level_of_dependencies_takes_a_round_trip_of_about_six_ms_after_the_handshake() {
    let chained =
        r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 0}, {"bytes": 100, "after": 1}]"#;
    let times = loaded(&page(chained, 1, "all"));
    for (level, time) in times.iter().enumerate() {
        let trips = level as f64 + 2.0;
        assert!((time - 6.3 * trips).abs() < 0.8 * trips, "{times:?}");
    }
}

#[test]
fn one_object_at_a_time_takes_a_round_trip_each_and_multiplexing_takes_one_for_all() {
    let star = r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 0}, {"bytes": 100, "after": 0},
        {"bytes": 100, "after": 0}]"#;
    let last = |times: Vec<f64>| times.into_iter().fold(0.0, f64::max);
    let (one, all) = (last(loaded(&page(star, 1, "one"))), last(loaded(&page(star, 1, "all"))));
    assert!((one - all - 2.0 * 6.3).abs() < 1.5, "{one} {all}");
    // Three connections: the two new ones need a handshake.
    let three = last(loaded(&page(star, 3, "one")));
    assert!((three - all - 6.3).abs() < 1.5, "{three} {all}");
}

#[test]
fn an_object_that_none_before_it_names_is_refused_with_its_path() {
    let wrong = r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 1}]"#;
    let refused = World::build(&chain(&page(wrong, 1, "all"))).err().unwrap();
    assert_eq!(refused.path, "traffic[0].objects");
}

fn bulk(writes: &str) -> String {
    format!(
        r#"{{"kind": "tcp", "name": "bulk", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1900000000, "bytes": null,
            "writes": {writes}, "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
            "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
            "notsent_lowat": null, "mss": null}}}}"#
    )
}

/// Bytes in the table of goodput.
fn received(traffic: &str) -> f64 {
    let outcome = World::build(&chain(traffic)).unwrap().run(&()).unwrap();
    let bytes = outcome.tables.get("flows").unwrap().column("bytes").unwrap();
    (0..bytes.len()).filter_map(|row| bytes.number(row)).sum()
}

#[test]
fn an_application_with_a_rate_sends_what_it_has_until_its_stop_and_its_last_message_is_not_cut() {
    // The first message is sent after a handshake of 6.3 ms.
    assert_eq!(received(&bulk(r#"{"message": 1000, "rate_bps": 800000}"#)), 190_000.0);
    let pauses = r#"{"message": 1000, "rate_bps": 800000, "on_ns": 100000000, "off_ns": 400000000}"#;
    assert_eq!(received(&bulk(pauses)), 40_000.0);
}

#[test]
fn an_application_that_never_has_data_is_refused_with_its_path() {
    for (writes, path) in [
        (r#"{"message": 0}"#, "message"),
        (r#"{"message": 1, "off_ns": 1}"#, "off_ns"),
        (r#"{"message": 1, "on_ns": 0, "off_ns": 1}"#, "on_ns"),
    ] {
        let refused = World::build(&chain(&bulk(writes))).err().unwrap();
        assert_eq!(refused.path, format!("traffic[0].writes.{path}"));
    }
}

fn requests(size: u64, answer: u64, pause_ns: u64) -> String {
    format!(
        r#"{{"kind": "request", "name": "page", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
            "size": {size}, "answers": [{answer}], "pauses_ns": [{pause_ns}],
            "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
            "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
            "notsent_lowat": null, "mss": null}}}}"#
    )
}

fn asked(traffic: &str) -> usize {
    // At the end of an interval, those that are over are freed.
    let mut scenario = chain(traffic);
    scenario.record.interval_ns = scenario.duration_ns + 1;
    let world = ran(&scenario);
    let Machine::Request(ends) = machine_of(&world) else { panic!("it has no requests") };
    ends.client().answered_requests()
}

#[test]
fn a_small_request_takes_a_round_trip_and_its_pause() {
    // Each takes 6.3 ms and its pause: after a handshake of as long, the 19th ends at 1.926 s.
    assert_eq!(asked(&requests(100, 100, 100_000_000)), 19);
}

#[test]
fn an_answer_larger_than_the_buffers_arrives_as_a_whole() {
    // 1 MB takes 0.8 s at 10 Mbit/s.
    assert_eq!(asked(&requests(100, 1_000_000, 0)), 2);
}

#[test]
fn a_client_closes_after_its_count() {
    let counted = requests(100, 100, 0).replace("\"size\"", "\"count\": 3, \"size\"");
    assert_eq!(asked(&counted), 3);
}

/// How many requests two clients have answered: one with answers of 100 bytes, one with those of 100,000.
fn answered_beside(keys: [&str; 2]) -> [usize; 2] {
    let of = |answer, keys: &str, name: &str| {
        requests(100, answer, 0).replace("\"size\"", &format!("{keys} \"size\"")).replace("page", name)
    };
    let traffic = format!("{}, {}", of(100, keys[0], "small"), of(100_000, keys[1], "large"));
    let mut scenario = chain(&traffic);
    scenario.record.interval_ns = scenario.duration_ns + 1;
    let world = ran(&scenario);
    [0, 1].map(|place| match world.conversations[place].machine.as_ref() {
        Some(Machine::Request(ends)) => ends.client().answered_requests(),
        _ => panic!("it has no requests"),
    })
}

#[test]
fn clients_with_a_barrier_ask_together_when_all_have_their_answers() {
    let [small, large] = answered_beside(["", ""]);
    assert!(small > large + 3, "alone, the one with small answers asks more often: {small} and {large}");
    let [small, large] = answered_beside(["\"barrier\": \"round\","; 2]);
    assert!(small == large || small == large + 1, "the last round may be cut: {small} and {large}");
    assert!(large > 5, "{large}");
    let [small, large] = answered_beside(["\"barrier\": \"one\",", "\"barrier\": \"other\","]);
    assert!(small > large + 3, "those of other barriers are not waited for");
}

#[test]
fn nobody_waits_at_a_barrier_for_a_client_that_has_closed() {
    let [small, large] =
        answered_beside(["\"barrier\": \"round\",", "\"barrier\": \"round\", \"count\": 3,"]);
    assert_eq!(large, 3);
    assert!(small > 50, "it goes on alone: {small}");
}

#[test]
fn an_answer_without_bytes_is_refused_with_its_path() {
    let refused = World::build(&chain(&requests(100, 0, 0))).err().unwrap();
    assert_eq!(refused.path, "traffic[0].answers");
}

fn video(ladder: &str, rule: &str) -> String {
    format!(
        r#"{{"kind": "video", "name": "video", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
            "size": 400, "ladder_bps": {ladder}, "segment_ns": 100000000, "buffer_ns": 1000000000,
            "startup_ns": 100000000, "rule": "{rule}",
            "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
            "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
            "notsent_lowat": null, "mss": null}}}}"#
    )
}

fn played(traffic: &str, look: impl Fn(&Player)) {
    let world = ran(&chain(traffic));
    let Machine::Video(ends) = machine_of(&world) else { panic!("it is no video") };
    look(ends.client().player());
}

#[test]
fn a_video_below_the_rate_of_the_link_never_stalls_and_its_buffer_stays_below_the_maximum() {
    for rule in ["rate", "bola", "hybrid"] {
        played(&video("[200000, 1000000, 4000000]", rule), |video| {
            // It waits for the handshake and the first segment only.
            assert!(video.waited() < Span::from_nanos(60_000_000), "{rule}: {:?}", video);
            assert!(video.buffer() <= Span::from_nanos(1_000_000_000), "{rule}");
            // 2 s of playing and a full buffer, less a segment on its way.
            assert!((26..=30).contains(&video.segments()), "{rule}: {}", video.segments());
        });
    }
}

#[test]
fn a_video_twice_as_fast_as_the_link_stalls_half_of_the_time() {
    played(&video("[20000000]", "bola"), |video| {
        let waited = video.waited().as_secs_f64();
        assert!((0.9..1.3).contains(&waited), "{waited}");
    });
}

#[test]
fn a_ladder_that_does_not_grow_is_refused_with_its_path() {
    let refused = World::build(&chain(&video("[2000, 1000]", "rate"))).err().unwrap();
    assert_eq!(refused.path, "traffic[0].ladder_bps");
}

const TOY: &str = r#"{"kind": "toy", "name": "burst", "from": 0, "to": 2, "start_ns": 1000000, "datagrams": 7, "dscp": 46}"#;

#[test]
fn the_example_is_read_from_a_scenario_and_crosses_the_network_beside_other_kinds() {
    let world = ran(&chain(&format!("{TOY}, {PING}")));
    // Sockets are numbered kind by kind, and the example is the last.
    let Some(Machine::Toy(ends)) = &world.conversations[1].machine else { panic!("it is no example") };
    assert_eq!(ends.server().arrived(), 7);
}

#[test]
fn what_the_example_measures_is_in_the_tables() {
    assert_eq!(received(TOY), 7000.0);
}

#[test]
fn an_invalid_value_of_the_example_is_refused_with_its_path() {
    let refused = World::build(&chain(&TOY.replace("\"datagrams\": 7", "\"datagrams\": 0"))).err().unwrap();
    assert_eq!(refused.path, "traffic[0].datagrams");
}
