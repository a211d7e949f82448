//! Slow start, application and receiver limits, idle, the handshake.

use tailback_tcp::{HeldBy, Settings};
use tailback_units::{Segs, SimTime, Span};

use crate::control::{control, window_control};
use crate::pair::{Pair, Path};
use crate::script::{MSS, Script, Setup, assert_fires, byte, ms};

const INFINITE: u32 = Segs::INFINITE.0;

/// Sizes of the bursts that are at least `gap` apart.
fn flights(times: &[SimTime], gap: Span) -> Vec<usize> {
    let mut flights = Vec::new();
    let mut before = None;
    for &at in times {
        match before {
            Some(before) if at.since(before) < gap => *flights.last_mut().expect("there is one") += 1,
            _ => flights.push(1),
        }
        before = Some(at);
    }
    flights
}

#[test]
fn flights_double_each_round_trip_from_ten_although_the_receiver_delays_its_acks() {
    for name in ["reno", "cubic"] {
        let mut pair = Pair::new(control(name), false, Path::new(ms(5)), Path::new(ms(5)));
        pair.transfer_for_ever();
        pair.run_until(SimTime::ZERO + ms(45));
        let times: Vec<_> = pair.client.data().map(|sent| sent.at).collect();
        let flights = flights(&times, ms(5));
        assert_eq!(flights[..2], [10, 20], "{name}");
        for pair in flights[1..].windows(2) {
            // The ACK of a flight's odd last segment may be delayed.
            assert!((2 * pair[0] - 2..=2 * pair[0] + 2).contains(&pair[1]), "{name}: {flights:?}");
        }
        assert_eq!(flights.len(), 4);
    }
}

#[test]
fn slow_start_counts_segments_not_acks() {
    for stretch in [1, 2, 4] {
        let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
        script.write(100);
        assert_eq!(script.sent().len(), 10);
        script.at(ms(100));
        for acked in (stretch..=10).step_by(stretch as usize) {
            script.ack(acked);
            assert_eq!(u64::from(script.cwnd()), 10 + acked, "one ACK per {stretch}");
        }
    }
}

#[test]
fn a_write_that_just_fills_the_window_doubles_it() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(10);
    script.at(ms(100));
    for acked in 1..=10 {
        script.ack(acked);
    }
    assert_eq!(script.cwnd(), 20);
}

#[test]
fn a_write_of_nine_segments_grows_a_window_of_ten_to_twice_nine() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(9);
    script.at(ms(100));
    for acked in 1..=9 {
        script.ack(acked);
    }
    assert_eq!(script.cwnd(), 18);
}

/// A window of `cwnd`, partly used, acknowledged after 100 ms; RTO 300 ms.
fn used_once(cwnd: u32, settings: Settings) -> Script {
    let setup = Setup::new(window_control(cwnd, 20, |cwnd| cwnd / 2), ms(100));
    let mut script =
        Script::connect(Setup { settings: Settings { wmem: setup.settings.wmem, ..settings }, ..setup });
    script.write(5);
    script.at(ms(100));
    script.ack(5);
    script.forget();
    assert_eq!((script.cwnd(), script.info().rto), (cwnd, ms(300)));
    script
}

#[test]
fn after_two_idle_seconds_the_window_restarts_at_ten_and_ssthresh_remembers_three_quarters() {
    let mut script = used_once(36, Settings::default());
    script.at(ms(2100));
    script.write(50);
    assert_eq!(script.sent().len(), 10);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, 27));
}

#[test]
fn one_and_a_half_rtos_of_idling_halve_the_window_once() {
    let mut script = used_once(80, Settings::default());
    script.at(ms(450));
    script.write(100);
    assert_eq!((script.sent().len(), script.cwnd()), (40, 40));
}

#[test]
fn without_slow_start_after_idle_the_whole_window_leaves_at_once() {
    let mut script = used_once(36, Settings { slow_start_after_idle: false, ..Settings::default() });
    script.at(ms(2100));
    script.write(50);
    assert_eq!((script.sent().len(), script.cwnd()), (36, 36));
}

#[test]
fn a_first_write_long_after_the_handshake_does_not_count_as_a_window_unused() {
    let script = used_once(36, Settings::default());
    assert_eq!(script.ssthresh(), 20);
}

#[test]
fn a_receive_window_of_five_segments_keeps_five_in_flight_and_cwnd_from_growing() {
    let setup = Setup::new(control("cubic"), ms(100));
    let mut script = Script::connect(Setup { window: 5 * MSS, ..setup });
    script.write(100);
    assert_eq!(script.sent(), [0, 1, 2, 3, 4]);
    assert_eq!(script.endpoint.held_by(), HeldBy::ReceiveWindow);
    for acked in 1..=20 {
        script.at(ms(100) + ms(acked));
        script.ack(acked);
        assert_eq!(script.info().unacked, Segs(5));
    }
    assert_eq!(script.cwnd(), 10, "slow start stops at twice five");
    let info = script.info();
    assert_eq!((info.rwnd_limited, info.busy_time), (ms(120), ms(120)));
}

#[test]
fn a_short_segment_waits_for_the_acknowledgement_of_another_short_one() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write_bytes(100);
    assert_eq!(script.transmissions().len(), 1);
    script.write_bytes(100);
    assert_eq!((script.transmissions().len(), script.endpoint.held_by()), (0, HeldBy::Nagle));
    script.at(ms(100));
    let mut ack = script.peer_segment(1, 0, tailback_packet::SegmentFlags::ACK);
    ack.ack = 101;
    script.inject(ack);
    assert_eq!(script.transmissions().len(), 1);
}

#[test]
fn a_closed_window_is_probed_at_the_rto_and_ever_slower_and_cwnd_stays() {
    let setup = Setup::new(window_control(10, 10, |cwnd| cwnd / 2), ms(100));
    let settings = Settings { slow_start_after_idle: false, ..setup.settings };
    let mut script = Script::connect(Setup { settings, ..setup });
    script.write(100);
    script.at(ms(100));
    script.window = 0;
    script.ack(10);
    script.forget();
    let cwnd = script.cwnd();
    for interval in [300, 600, 1200, 2400] {
        let since = script.clock();
        while script.acks().is_empty() {
            script.advance(ms(1));
            assert!(script.clock() < since + ms(2 * interval), "no probe within {} ms", 2 * interval);
        }
        assert_fires(script.clock().saturating_sub(since), ms(interval));
        script.ack(10);
        assert!(script.sent().is_empty());
    }
    script.window = 100 * MSS;
    script.ack(10);
    assert_eq!((script.sent().len(), script.cwnd()), (cwnd as usize, cwnd));
}

#[test]
fn a_window_that_opens_after_a_pause_is_not_filled_at_once() {
    let mut script = used_once(36, Settings::default());
    script.window = 0;
    script.ack(5);
    script.write(50);
    script.at(ms(2100));
    script.forget();
    script.window = 100 * MSS;
    script.ack(5);
    assert_eq!((script.sent().len(), script.cwnd()), (10, 10));
}

#[test]
fn a_window_smaller_than_a_segment_is_filled_by_a_probe() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(20);
    script.at(ms(100));
    script.window = 500;
    script.ack(10);
    script.forget();
    script.advance(ms(400));
    let probe = script.transmissions();
    assert_eq!(
        probe.iter().map(|sent| (sent.segment.seq, sent.segment.length)).collect::<Vec<_>>(),
        [(byte(10), 500)]
    );
}

#[test]
fn a_syn_sent_three_times_leaves_an_initial_window_of_one() {
    for (timeouts, cwnd) in [(0, 10), (1, 10), (2, 1)] {
        let setup = Setup::new(control("cubic"), ms(100));
        let mut script = Script::connecting(setup);
        // SYN timeouts are a second apart at first.
        script.at(ms(1000 * timeouts + 500));
        assert_eq!(script.acks().len() as u64, timeouts + 1);
        script.answer_syn();
        assert_eq!(script.cwnd(), cwnd, "{timeouts} timeouts");
    }
}

#[test]
fn a_new_connection_has_a_send_buffer_of_87040_bytes() {
    let setup = Setup::new(control("cubic"), ms(100));
    let script = Script::connect(Setup { settings: Settings::default(), ..setup });
    assert_eq!(script.info().sndbuf.0, 87_040);
}

#[test]
fn an_application_that_fills_the_buffer_while_all_of_it_leaves_waits_for_an_ack_whatever_cwnd_allows() {
    let setup = Setup::new(window_control(100, 200, |cwnd| cwnd / 2), ms(100));
    let mut script = Script::connect(Setup { settings: Settings::default(), ..setup });
    let written = script.write_what_fits(200 * MSS);
    let sent = script.sent().len() as u64;
    assert_eq!(written, sent * MSS, "each full segment left while the next was written");
    assert!(sent < 50, "{sent}");
    script.at(ms(100));
    script.ack(1);
    assert_eq!(
        script.write_what_fits(200 * MSS - written),
        200 * MSS - written,
        "the buffer has grown with cwnd"
    );
}

#[test]
fn slow_start_ends_at_ssthresh() {
    let mut script = Script::connect(Setup::new(window_control(10, 13, |cwnd| cwnd / 2), ms(100)));
    script.write(100);
    script.at(ms(100));
    script.ack(10);
    assert_eq!(script.cwnd(), 13);
    assert_ne!(script.ssthresh(), INFINITE);
}

/// [linux-5.4 tcp_metrics.c tcp_init_metrics]
#[test]
fn slow_start_ends_at_the_threshold_of_the_route() {
    let setup = Setup::new(control("reno"), ms(100));
    let settings = Settings { initial_ssthresh: 15, ..setup.settings };
    let mut script = Script::connect(Setup { settings, ..setup });
    script.write(100);
    script.at(ms(100));
    script.ack(10);
    let info = script.info();
    assert_eq!((info.snd_cwnd, info.snd_ssthresh), (Segs(15), Some(Segs(15))));
}

#[test]
fn a_window_of_which_half_was_used_since_an_ack_one_rto_ago_shrinks_half_way_to_that() {
    let mut script = used_once(80, Settings::default());
    script.at(ms(150));
    script.write(20);
    script.at(ms(399));
    script.write(10);
    assert_eq!((script.cwnd(), script.ssthresh()), (80, 20));
    script.at(ms(400));
    script.write(10);
    assert_eq!((script.cwnd(), script.ssthresh()), ((80 + 40) / 2, 60));
}
