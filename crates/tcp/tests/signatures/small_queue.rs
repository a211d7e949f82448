//! TCP Small Queues: the data that may be below the socket, and the behaviour of a socket at the limit.

use tailback_tcp::{HeldBy, SmallQueueLimit};
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::control::{control, window_control};
use crate::pair::{Pair, Path};
use crate::script::{Device, MSS, Script, Setup, TRUESIZE, ms};

/// Congestion avoidance at `cwnd` over 100 ms: 1 ms of the pacing rate is less than two skbs.
fn held(cwnd: u32) -> Script {
    let mut script = Script::connect(Setup::new(window_control(cwnd, cwnd, |cwnd| cwnd / 2), ms(100)));
    script.device = Device::Holds;
    script
}

#[test]
fn at_a_low_rate_exactly_two_packets_sit_below() {
    let mut script = held(100);
    script.write(50);
    assert_eq!((script.sent(), script.endpoint.held_by()), (vec![0, 1], HeldBy::SmallQueue));
    for next in 2..20 {
        script.complete(1);
        assert_eq!((script.sent(), script.below()), (vec![next], 2));
    }
}

#[test]
fn a_megabit_ethernet_never_holds_more_than_two_packets_of_a_flow() {
    let out = Path { rate: Some(Rate::from_bits_per_sec(1_000_000)), ..Path::new(ms(5)) };
    let mut pair = Pair::new(control("cubic"), false, out, Path::new(ms(5)));
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(20_000));
    assert_eq!(pair.client.max_below, 2);
}

#[test]
fn one_millisecond_of_the_pacing_rate_sits_below_when_that_is_more() {
    let mut script = Script::connect(Setup::new(window_control(200, 200, |cwnd| cwnd / 2), ms(1)));
    script.write(1);
    script.at(ms(1));
    script.ack(1);
    script.device = Device::Holds;
    script.write(200);
    // 1.2 · 200 · 1448 B in 1 ms is 347.52 MB/s. The limit counts truesize and is checked before a packet is added.
    let limit = 347_520_000 / 1024;
    assert_eq!(script.info().pacing_rate.bytes_per_sec() >> 10, limit);
    assert_eq!(script.below() as u64, (limit - 1) / TRUESIZE + 1);
}

#[test]
fn a_time_that_no_shift_gives_multiplies_the_millisecond() {
    let below = |small_queue| {
        let setup = Setup::new(window_control(200, 200, |cwnd| cwnd / 2), ms(1));
        let mut script = Script::connect(Setup { small_queue, ..setup });
        script.write(1);
        script.at(ms(1));
        script.ack(1);
        script.device = Device::Holds;
        script.write(200);
        script.below() as u64
    };
    let of = |nanos| below(SmallQueueLimit::Time { pacing_shift: 10, span: Span::from_nanos(nanos) });
    let millisecond = 347_520_000 / 1024;
    let limits = [3, 7].map(|tenths: u64| (tenths * millisecond / 10 - 1) / TRUESIZE + 1);
    assert_eq!([300_000, 700_000].map(of), limits);
    assert_eq!(of(1_000_000), below(SmallQueueLimit::Shift(10)));
}

#[test]
fn retransmissions_may_use_twice_the_limit() {
    let mut script = held(50);
    script.device = Device::Sends;
    script.write(20);
    script.forget();
    script.at(ms(100));
    script.device = Device::Holds;
    script.sack(0, &[(10, 20)]);
    assert_eq!(script.sent(), [0, 1, 2, 3]);
    script.complete(1);
    assert_eq!(script.sent(), [4]);
}

#[test]
fn with_at_most_one_segment_unacknowledged_the_small_queue_does_not_hold() {
    let mut script = held(100);
    script.write(2);
    script.at(ms(100));
    script.ack(2);
    assert_eq!((script.below(), script.info().unacked), (2, Segs(0)), "completions are late");
    script.forget();
    script.write(5);
    assert_eq!(script.sent(), [2, 3]);
}

#[test]
fn a_flow_held_by_the_small_queue_in_avoidance_keeps_its_window() {
    let setup = Setup::new(window_control(60, 60, |cwnd| cwnd / 2), ms(100));
    let mut script = Script::connect(Setup { small_queue: SmallQueueLimit::Packets(20), ..setup });
    script.device = Device::Holds;
    script.write(1000);
    for acked in 1..=500 {
        script.at(ms(100) + ms(acked));
        script.complete(1);
        script.ack(acked);
        assert_eq!((script.cwnd(), script.info().unacked), (60, Segs(20)));
    }
}

#[test]
fn slow_start_held_by_the_small_queue_stops_at_twice_the_flight() {
    let setup = Setup::new(control("reno"), ms(100));
    let mut script = Script::connect(Setup { small_queue: SmallQueueLimit::Packets(20), ..setup });
    script.device = Device::Holds;
    script.write(1000);
    for acked in 1..=200 {
        script.at(ms(100) + ms(acked));
        script.ack(acked);
        script.complete(1);
    }
    assert_eq!((script.cwnd(), script.info().unacked), (40, Segs(20)));
}

#[test]
fn a_completion_wakes_a_held_flow_without_any_ack() {
    let mut script = held(100);
    script.write(50);
    script.forget();
    script.complete(2);
    assert_eq!((script.sent().len(), script.handler_runs()), (2, 1));
}

#[test]
fn completions_of_a_flow_that_is_not_held_wake_no_socket() {
    let mut script = held(100);
    script.write(2);
    script.complete(2);
    assert_eq!((script.sent().len(), script.handler_runs()), (2, 0));
}

#[test]
fn without_small_queues_the_window_is_the_limit() {
    let setup = Setup::new(window_control(60, 60, |cwnd| cwnd / 2), ms(100));
    let mut script = Script::connect(Setup { small_queue: SmallQueueLimit::Off, ..setup });
    script.device = Device::Holds;
    script.write(100);
    assert_eq!((script.below(), script.endpoint.held_by()), (60, HeldBy::Cwnd));
}

#[test]
fn the_full_segments_of_a_write_leave_and_its_short_tail_waits_for_a_completion() {
    let setup = Setup::new(window_control(60, 60, |cwnd| cwnd / 2), ms(100));
    let mut script = Script::connect(Setup { small_queue: SmallQueueLimit::Off, ..setup });
    script.device = Device::Holds;
    script.write(2);
    script.write_bytes(3 * MSS + 500);
    assert_eq!(script.sent(), [0, 1, 2, 3, 4]);
    script.complete(1);
    assert_eq!(script.sent(), [5]);
}

#[test]
fn a_byte_limit_counts_truesize() {
    let setup = Setup::new(window_control(60, 60, |cwnd| cwnd / 2), ms(100));
    let mut script =
        Script::connect(Setup { small_queue: SmallQueueLimit::Bytes(10 * TRUESIZE + 1), ..setup });
    script.device = Device::Holds;
    script.write(100);
    assert_eq!(script.below(), 11, "the limit is tested before adding");
}

#[test]
fn a_device_that_refuses_what_a_completion_released_is_tried_again_at_the_next_completion() {
    let mut script = held(50);
    script.device = Device::Sends;
    script.write(100);
    script.forget();
    script.at(ms(100));
    script.device = Device::Holds;
    script.sack(0, &[(10, 20)]);
    assert_eq!(script.sent(), [0, 1, 2, 3]);
    script.device = Device::Drops;
    script.complete(1);
    assert!((1..=2).contains(&script.refused), "{} times at one instant", script.refused);
    script.device = Device::Holds;
    script.complete(1);
    assert_eq!(script.sent()[0], 4);
}

#[test]
fn a_timeout_of_data_that_is_still_in_the_host_sends_at_the_next_completion_and_is_not_undone() {
    let mut script = held(100);
    script.write(2);
    script.forget();
    script.at(ms(1_000));
    assert_eq!((script.sent().len(), script.cwnd()), (0, 1), "the timer has fired, nothing could leave");
    script.complete(1);
    assert_eq!(script.sent(), [0]);
    script.at(ms(1_050));
    script.sack_of_original(1, &[]);
    assert!(script.cwnd() < 10, "the first transmission is acknowledged: {}", script.cwnd());
}

#[test]
fn a_timeout_of_data_that_has_left_the_host_is_undone() {
    let mut script = held(100);
    script.device = Device::Sends;
    script.write(2);
    script.forget();
    script.at(ms(1_000));
    assert_eq!((script.sent().contains(&0), script.cwnd()), (true, 1));
    script.sack_of_original(1, &[]);
    assert_eq!(script.cwnd(), 100);
}

/// How often the head is tried when it is lost and the device refuses it.
fn tries_of_a_lost_head(script: &mut Script) -> u64 {
    script.device = Device::Drops;
    script.at(ms(100));
    script.sack(0, &[(10, 20)]);
    script.refused
}

#[test]
fn the_packet_that_a_device_refuses_to_a_throttled_socket_wakes_it_and_it_tries_once_more() {
    let mut throttled = held(50);
    throttled.device = Device::Sends;
    throttled.write(20);
    throttled.device = Device::Holds;
    throttled.write(30);
    assert_eq!((throttled.below(), throttled.endpoint.held_by()), (2, HeldBy::SmallQueue));
    assert_eq!(tries_of_a_lost_head(&mut throttled), 2, "twice the limit has room for it");
    let mut free = held(50);
    free.device = Device::Sends;
    free.write(20);
    assert_eq!(tries_of_a_lost_head(&mut free), 1);
}
