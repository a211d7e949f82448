//! What changed from Linux 4.14 to 7.3, one signature for each entry of `references/stacks.toml` that came in with the
//! versions 6.1 and 7.3; older entries are in `stacks`.

use tailback_packet::{Segment, SegmentFlags, Timestamp};
use tailback_tcp::{
    LINUX_4_14, LINUX_5_0, LINUX_5_4, LINUX_5_10, LINUX_6_1, LINUX_6_6, LINUX_6_12, LINUX_7_3, Settings,
    SmallQueueLimit, SocketOptions, Stack,
};
use tailback_units::{Rate, Span};

use crate::control::{control, window_control};
use crate::script::{Device, MSS, Script, Setup, byte, ms, us};

/// The defaults of a stack, with a send buffer that never limits.
fn settings(stack: Stack) -> Settings {
    Settings { wmem: [4096, 4_194_304, 4_194_304], ..Settings::of(stack) }
}

fn setup(stack: Stack, rtt: Span) -> Setup {
    Setup { settings: settings(stack), ..Setup::new(control("reno"), rtt) }
}

/// A receiver that has taken 200 segments, a millisecond apart, and acknowledges nothing quickly any more.
fn receiver_in_bulk(stack: Stack, rtt: Span) -> Script {
    receiver_of(setup(stack, rtt))
}

fn receiver_of(setup: Setup) -> Script {
    let mut script = Script::listen(setup);
    for segment in 0..200 {
        script.advance(ms(1));
        script.data(segment);
    }
    script.advance(ms(100));
    script.acks();
    script
}

#[test]
fn the_syn_is_sent_again_each_second_four_times_since_6_5_and_before_after_one_two_and_four_seconds() {
    for (stack, after_3_6_s, after_7_5_s) in
        [(LINUX_7_3, 3, 6), (LINUX_6_6, 3, 6), (LINUX_6_1, 2, 3), (LINUX_4_14, 2, 3)]
    {
        let mut script = Script::connecting(setup(stack, Span::ZERO));
        script.acks();
        script.at(ms(3_600));
        assert_eq!(script.acks().len(), after_3_6_s, "{}", stack.name);
        script.at(ms(7_500));
        assert_eq!(script.acks().len(), after_7_5_s - after_3_6_s, "{}", stack.name);
    }
}

#[test]
fn a_train_carries_push_since_5_4() {
    for (stack, pushed) in [(LINUX_6_12, true), (LINUX_5_4, true), (LINUX_5_0, false), (LINUX_4_14, false)] {
        let settings = Settings { gso_max_segs: 65_535, ..settings(stack) };
        let mut script = Script::connect(Setup { settings, ..setup(stack, ms(100)) });
        script.write(40);
        let first = &script.transmissions()[0].segment;
        assert!(u64::from(first.length) > MSS, "a train");
        assert_eq!(first.flags.contains(SegmentFlags::PSH), pushed, "{}", stack.name);
    }
}

#[test]
fn a_syn_offers_twenty_segments_before_4_20() {
    for (stack, window) in [(LINUX_7_3, 64_240), (LINUX_5_0, 64_240), (LINUX_4_14, 29_200)] {
        let mut script = Script::connecting(setup(stack, ms(10)));
        assert_eq!(script.acks()[0].window, window, "{}", stack.name);
    }
}

#[test]
fn a_syn_ack_of_4_14_offers_twenty_segments_less_the_option() {
    for (stack, window) in [(LINUX_6_12, 65_160), (LINUX_4_14, 28_960)] {
        let mut script = Script::answering(setup(stack, ms(10)));
        assert_eq!(script.acks()[0].window, window, "{}", stack.name);
    }
}

/// Feeds segments of 1448 bytes to a receiver with an MTU of 9000, a window per round trip of 100 ms.
fn window_after_rounds(stack: Stack) -> u64 {
    let settings = Settings { mtu: 9000, ..settings(stack) };
    let mut script = Script::listen(Setup { settings, ..setup(stack, ms(100)) });
    let (mut next, mut edge) = (0, 60_000);
    for _ in 0..30 {
        while byte(next + 1) <= edge {
            script.advance(us(100));
            script.data(next);
            next += 1;
            if let Some(ack) = script.acks().last() {
                edge = edge.max(ack.ack + ack.window);
            }
            if next % 40 == 0 {
                break;
            }
        }
        script.advance(ms(96));
        if let Some(ack) = script.acks().last() {
            edge = edge.max(ack.ack + ack.window);
        }
    }
    edge - byte(next)
}

#[test]
fn a_receiver_with_jumbo_frames_is_stuck_with_short_segments_from_4_20_to_5_9_only() {
    for (stack, sticks) in [
        (LINUX_7_3, false),
        (LINUX_6_12, false),
        (LINUX_5_10, false),
        (LINUX_5_4, true),
        (LINUX_5_0, true),
        (LINUX_4_14, false),
    ] {
        let window = window_after_rounds(stack);
        assert_eq!(window < 60_000, sticks, "{}: {window}", stack.name);
    }
}

#[test]
fn a_first_window_above_64_kib_is_offered_at_once_since_6_10() {
    for (stack, large) in [(LINUX_6_12, true), (LINUX_6_6, false), (LINUX_6_1, false)] {
        let options = SocketOptions { rcvbuf: Some(1_000_000), ..SocketOptions::default() };
        let mut script = Script::listen(Setup { options, ..setup(stack, ms(20)) });
        script.acks();
        script.advance(ms(1));
        script.data(0);
        assert_eq!(script.acks()[0].window > 200_000, large, "{}", stack.name);
    }
}

#[test]
fn a_late_answer_to_the_first_of_three_syns_leaves_ten_segments_since_5_1() {
    for (stack, cwnd) in [(LINUX_6_12, 10), (LINUX_5_4, 10), (LINUX_5_0, 1)] {
        let mut script = Script::connecting(setup(stack, ms(1)));
        script.at(ms(3_500));
        let answer = script.peer_segment(0, 0, SegmentFlags::SYN.with(SegmentFlags::ACK));
        let first = script.acks()[0].tsval;
        script.inject(Segment { tsecr: first, ..answer });
        assert_eq!(script.cwnd(), cwnd, "{}", stack.name);
    }
}

#[test]
fn a_timeout_spares_what_left_just_before_it_since_4_18() {
    for (stack, lost) in [(LINUX_6_12, 5), (LINUX_5_0, 5), (LINUX_4_14, 10)] {
        let settings = Settings { tail_loss_probe: false, ..settings(stack) };
        let mut script = Script::connect(Setup { settings, ..setup(stack, ms(100)) });
        script.write(1);
        script.at(ms(100));
        script.ack(1);
        script.write(5);
        // The timer of these runs out after 300 ms.
        script.at(ms(380));
        script.write(5);
        while script.info().lost.0 == 0 {
            script.advance(ms(1));
        }
        assert_eq!(script.info().lost.0, lost, "{}", stack.name);
    }
}

#[test]
fn a_packet_that_tcp_paces_late_makes_up_for_half_of_its_time_since_4_20() {
    for (stack, gap) in [(LINUX_6_12, us(724)), (LINUX_4_14, us(1_448))] {
        let rate = Rate::from_bytes_per_sec(1_000_000);
        let options = SocketOptions { max_pacing_rate: Some(rate), ..SocketOptions::default() };
        let mut script = Script::connect(Setup { options, ..setup(stack, ms(10)) });
        for segment in 0..12 {
            script.write(1);
            script.advance(ms(10));
            script.ack(segment + 1);
        }
        script.forget();
        script.write(2);
        script.advance(ms(5));
        let sent = script.transmissions();
        assert_eq!(sent[1].at - sent[0].at, gap, "{}", stack.name);
    }
}

#[test]
fn a_retransmission_leaves_when_the_device_frees_what_it_repeats_since_5_13() {
    for (stack, leaves) in [(LINUX_6_1, true), (LINUX_5_10, false)] {
        let control = window_control(20, 20, |cwnd| cwnd / 2);
        let small_queue = SmallQueueLimit::Off;
        let mut script = Script::connect(Setup { control, small_queue, ..setup(stack, ms(100)) });
        script.write(1);
        script.at(ms(100));
        script.ack(1);
        script.device = Device::Holds;
        script.write(8);
        script.at(ms(200));
        for end in 4..=9 {
            script.sack(1, &[(3, end)]);
        }
        script.forget();
        script.device = Device::Sends;
        script.complete(script.below());
        assert_eq!(!script.sent().is_empty(), leaves, "{}", stack.name);
    }
}

#[test]
fn an_ack_of_data_never_sent_is_challenged_on_7_3() {
    for (stack, answers) in [(LINUX_7_3, 1), (LINUX_6_12, 0)] {
        let mut script = Script::connect(setup(stack, ms(100)));
        script.advance(ms(1));
        let ack = script.peer_segment(1, 0, SegmentFlags::ACK);
        script.acks();
        script.inject(Segment { ack: byte(50), ..ack });
        assert_eq!(script.acks().len(), answers, "{}", stack.name);
    }
}

#[test]
fn an_ack_that_was_overtaken_is_answered_before_6_16() {
    for (stack, answers) in [(LINUX_7_3, 0), (LINUX_6_12, 1)] {
        let mut script = Script::listen(setup(stack, ms(20)));
        script.advance(ms(10));
        let overtaken = script.peer_segment(byte(0), 0, SegmentFlags::ACK);
        script.advance(ms(10));
        script.data(0);
        script.advance(ms(600));
        script.acks();
        script.inject(overtaken);
        assert_eq!(script.acks().len(), answers, "{}", stack.name);
    }
}

#[test]
fn new_data_with_an_old_ack_updates_the_echo_since_the_stable_series_of_2026() {
    for (stack, stored) in [(LINUX_7_3, true), (LINUX_6_12, true), (LINUX_6_1, true), (LINUX_6_6, false)] {
        let mut script = Script::connect(setup(stack, ms(100)));
        script.write(4);
        script.at(ms(100));
        script.ack(4);
        script.advance(ms(10));
        let late = script.peer_segment(byte(0), MSS as u32, SegmentFlags::ACK);
        script.inject(Segment { ack: byte(2), ..late });
        script.advance(ms(100));
        let echoed = script.acks().last().expect("data is acknowledged").tsecr;
        assert_eq!(echoed == late.tsval, stored, "{}", stack.name);
    }
}

#[test]
fn on_7_3_duplicate_acks_wait_for_a_third_of_a_round_trip_and_before_for_a_twentieth() {
    for (stack, most, least) in [(LINUX_7_3, 70, 40), (LINUX_6_12, 300, 200)] {
        let options = SocketOptions { rcvbuf: Some(1_300_000), ..SocketOptions::default() };
        let mut script = receiver_of(Setup { options, ..setup(stack, ms(3)) });
        for segment in 201..1201 {
            script.advance(us(50));
            script.data(segment);
        }
        let acks = script.acks().len();
        assert!((least..=most).contains(&acks), "{}: {acks} ACKs in 50 ms", stack.name);
    }
}

#[test]
fn data_out_of_order_makes_acks_quick_before_4_18() {
    for (stack, acks) in [(LINUX_6_12, 2), (LINUX_4_14, 4)] {
        let mut script = receiver_in_bulk(stack, ms(20));
        script.advance(ms(1));
        script.data(201);
        script.data(200);
        script.acks();
        for segment in 202..206 {
            script.advance(ms(1));
            script.data(segment);
        }
        assert_eq!(script.acks().len(), acks, "{}", stack.name);
    }
}

#[test]
fn an_answer_makes_a_connection_interactive_and_on_5_4_only_the_third_does() {
    for (stack, quick) in [(LINUX_6_12, [true, false, false, false]), (LINUX_5_4, [true, true, true, false])]
    {
        let mut script = Script::listen(setup(stack, ms(20)));
        script.acks();
        let acked = [0, 1, 2, 3].map(|exchange| {
            script.advance(ms(10));
            script.acks();
            script.data(exchange);
            let at_once = !script.acks().is_empty();
            script.advance(ms(1));
            script.write(1);
            script.advance(ms(20));
            script.ack(exchange + 1);
            at_once
        });
        assert_eq!(acked, quick, "{}", stack.name);
    }
}

#[test]
fn a_segment_that_ends_beyond_the_window_is_refused_on_7_3_while_data_waits() {
    for (stack, taken) in [(LINUX_7_3, false), (LINUX_6_12, true)] {
        let options = SocketOptions { rcvbuf: Some(20_000), ..SocketOptions::default() };
        let mut script = Script::listen(Setup { options, ..setup(stack, ms(20)) });
        script.reads = false;
        script.advance(ms(1));
        script.data(0);
        let ack = script.acks().pop().expect("a quick ACK");
        script.advance(ms(1));
        // It begins within the window, and is longer than all of it.
        script.data_bytes(byte(1), ack.window as u32 + 1000);
        script.advance(ms(300));
        let end = script.acks().last().map_or(0, |ack| ack.ack);
        assert_eq!(end > byte(1), taken, "{}", stack.name);
    }
}

#[test]
fn the_window_makes_room_for_a_hole_at_once_on_7_3() {
    let grown = |stack| {
        let mut script = Script::listen(setup(stack, ms(20)));
        for segment in 0..10 {
            script.advance(ms(1));
            script.data(segment);
        }
        let before = script.endpoint.receive_buffer();
        for segment in 11..52 {
            script.advance(ms(1));
            script.data(segment);
        }
        script.endpoint.receive_buffer() - before
    };
    assert_eq!(grown(LINUX_6_12), 0);
    assert!(grown(LINUX_7_3) > 0);
}

#[test]
fn a_window_of_32_mib_and_its_scale_of_ten_came_with_6_16() {
    for (stack, scale) in [(LINUX_7_3, 10), (LINUX_6_12, 7)] {
        let script = Script::connect(setup(stack, ms(20)));
        assert_eq!(script.endpoint.window_scale(), scale, "{}", stack.name);
    }
}

#[test]
fn paced_sockets_are_held_at_4_mib_on_7_3() {
    let (unpaced, paced) = (Settings::of(LINUX_6_12), Settings::of(LINUX_7_3));
    assert_eq!((unpaced.limit_output_bytes, paced.limit_output_bytes), (1 << 20, 4 << 20));
    for (stack, limited) in [(LINUX_7_3, true), (LINUX_6_12, false)] {
        let control = window_control(500, 500, |cwnd| cwnd / 2);
        let settings = Settings { limit_output_bytes: 200_000, ..settings(stack) };
        let mut script = Script::connect(Setup { settings, control, ..setup(stack, ms(1)) });
        script.endpoint.leave_pacing_to_fq();
        script.write(10);
        script.at(ms(1));
        script.ack(10);
        script.forget();
        script.device = Device::Holds;
        script.write(500);
        // 200 kB hold 83 segments; a millisecond of the rate, 353.
        assert_eq!(script.sent().len() < 100, limited, "{}", stack.name);
    }
}

#[test]
fn a_greatest_timeout_bounds_the_doubling() {
    let settings = Settings { rto_max: Span::from_secs(1), ..settings(LINUX_7_3) };
    let mut script = Script::connect(Setup { settings, ..setup(LINUX_7_3, ms(100)) });
    script.write(1);
    script.at(ms(20_000));
    assert!(script.info().rto <= Span::from_secs(1));
    assert!(script.sent().len() > 15);
}

#[test]
fn an_old_timestamp_value_is_no_reason_to_store_one_without_timestamps() {
    let mut script = Script::listen(setup(LINUX_7_3, ms(20)));
    script.advance(ms(1));
    let data = script.peer_segment(byte(0), MSS as u32, SegmentFlags::ACK);
    script.acks();
    script.inject(Segment { tsval: Timestamp::NONE, ..data });
    assert_ne!(script.acks().last().map(|ack| ack.tsecr), Some(Timestamp::NONE));
}

#[test]
fn a_reader_that_waits_for_much_has_a_buffer_for_it_and_for_no_more_than_half_of_the_limit() {
    let limit = settings(LINUX_6_12).rmem[2];
    for (stack, rcvlowat, buffer) in
        [(LINUX_6_12, 1_000_000, 2_000_000), (LINUX_6_12, 1 << 30, limit), (LINUX_5_0, 1_000_000, 2_000_000)]
    {
        let options = SocketOptions { rcvlowat, ..SocketOptions::default() };
        let script = Script::listen(Setup { options, ..setup(stack, ms(20)) });
        assert_eq!(script.endpoint.receive_buffer(), buffer, "{} {rcvlowat}", stack.name);
    }
    let options = SocketOptions { rcvlowat: 1_000_000, ..SocketOptions::default() };
    let script = Script::listen(Setup { options, ..setup(LINUX_4_14, ms(20)) });
    assert!(script.endpoint.receive_buffer() < 1_000_000);
}

#[test]
fn a_write_that_unsent_bytes_stop_can_go_on_once_they_have_left_and_one_that_the_buffer_stops_cannot() {
    let options =
        SocketOptions { notsent_lowat: Some(3 * MSS), sndbuf: Some(20_000), ..SocketOptions::default() };
    let mut script = Script::connect(Setup { options, ..setup(LINUX_6_12, ms(100)) });
    script.write_what_fits(3 * MSS);
    assert!(!script.endpoint.stopped_by_unsent());
    let clock = script.clock_zero();
    script.endpoint.write(100 * MSS, clock);
    assert!(script.endpoint.stopped_by_unsent() && !script.endpoint.can_go_on(), "nothing has left yet");
    script.write_what_fits(0);
    script.advance(ms(1));
    script.write_what_fits(1_000_000);
    assert!(script.endpoint.write_blocked());
}

#[test]
fn a_fin_without_data_passes_a_closed_window_since_6_12() {
    for (stack, taken) in [(LINUX_6_12, true), (LINUX_6_6, false)] {
        let options = SocketOptions { rcvbuf: Some(20_000), ..SocketOptions::default() };
        let mut script = Script::listen(Setup { options, ..setup(stack, ms(20)) });
        script.reads = false;
        let (mut next, mut window) = (1, MSS);
        while window > 0 {
            script.data_bytes(next, window.min(MSS) as u32);
            script.advance(ms(300));
            let ack = script.acks().pop().expect("it is acknowledged");
            (next, window) = (ack.ack, ack.window);
        }
        script.inject(script.peer_segment(next, 0, SegmentFlags::ACK.with(SegmentFlags::FIN)));
        assert_eq!(script.endpoint.at_end(), taken, "{}", stack.name);
    }
}
