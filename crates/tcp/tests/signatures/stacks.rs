//! The differences of the other stacks from linux-6.12, by the entries of `references/stacks.toml`.

use tailback_packet::SegmentFlags;
use tailback_tcp::{FREEBSD_9, LINUX_3_10, LINUX_4_14, LINUX_5_10, LINUX_6_12, Settings, Stack};
use tailback_units::Segs;

use crate::control::{control, window_control};
use crate::script::{Device, MSS, Script, Setup, byte, ms, us};

fn on(stack: Stack, setup: Setup) -> Setup {
    let wmem = setup.settings.wmem;
    Setup { settings: Settings { wmem, ..Settings::of(stack) }, ..setup }
}

#[test]
fn a_segment_costs_960_bytes_beside_its_payload_and_1280_before_small_heads() {
    for (stack, overhead) in [(LINUX_6_12, 960), (LINUX_5_10, 1280)] {
        let mut script = Script::connect(on(stack, Setup::new(control("reno"), ms(100))));
        script.device = Device::Holds;
        script.write(1);
        assert_eq!(script.info().wmem_alloc.0, MSS + overhead, "{}", stack.name);
    }
}

#[test]
fn late_completions_hold_the_second_segment_back_in_5_10_and_the_third_in_6_12() {
    for (stack, through) in [(LINUX_6_12, 2), (LINUX_5_10, 1)] {
        let setup = Setup::new(window_control(100, 100, |cwnd| cwnd / 2), ms(100));
        let mut script = Script::connect(on(stack, setup));
        script.device = Device::Holds;
        script.write(2);
        script.at(ms(100));
        script.ack(2);
        script.forget();
        script.write(5);
        assert_eq!(script.sent().len(), through, "{}", stack.name);
    }
}

#[test]
fn before_5_0_the_limit_of_256_kib_holds_paced_sockets_too() {
    // A millisecond of the rate, 1.2 windows of 500, is 848 kB.
    for (stack, paced, max) in [(LINUX_4_14, false, 61), (LINUX_4_14, true, 61), (LINUX_6_12, true, 353)] {
        let setup = Setup::new(window_control(500, 500, |cwnd| cwnd / 2), ms(1));
        let limit_output_bytes = stack.output_limit.bytes();
        let wmem = [4096, 1 << 24, 1 << 24];
        let settings = Settings { stack, limit_output_bytes, wmem, ..setup.settings };
        let mut script = Script::connect(Setup { settings, wants_pacing: paced, ..setup });
        if paced {
            script.endpoint.leave_pacing_to_fq();
        }
        script.write(10);
        script.at(ms(1));
        script.ack(10);
        script.forget();
        script.device = Device::Holds;
        script.write(500);
        assert_eq!(script.sent().len(), max, "{} {paced}", stack.name);
    }
}

#[test]
fn before_5_11_a_limited_flight_that_is_no_larger_does_not_renew_the_mark() {
    for (stack, cwnd) in [(LINUX_6_12, 6), (LINUX_5_10, 6), (LINUX_4_14, 5)] {
        let mut script =
            Script::connect(on(stack, Setup::new(window_control(4, 4, |cwnd| cwnd / 2), ms(100))));
        script.write(7);
        script.at(ms(100));
        // Three more leave, and four are in flight again: the largest flight of the window, and no larger.
        script.ack(3);
        script.at(ms(101));
        script.ack(4);
        assert_eq!(script.cwnd(), 5, "{}", stack.name);
        // Four of five are in flight. The first window has passed; the one that began with its mark renewed has not.
        script.write(1);
        script.at(ms(200));
        script.ack(8);
        // Four acknowledged segments counted on the later stacks, so that the fifth is enough.
        script.write(5);
        script.at(ms(300));
        script.ack(9);
        assert_eq!(script.cwnd(), cwnd, "{}", stack.name);
    }
}

#[test]
fn a_larger_flight_that_was_not_limited_clears_the_mark_of_the_window_in_5_10_only() {
    for (stack, cwnd) in [(LINUX_6_12, 15), (LINUX_5_10, 14)] {
        let setup = Setup::new(window_control(10, 14, |cwnd| cwnd / 2), ms(100));
        let mut script = Script::connect(on(stack, setup));
        script.write(10);
        script.at(ms(100));
        script.ack(5);
        // Five are in flight, limited by a window of ten when they were sent; thirteen of fourteen are not limited.
        script.write(8);
        assert_eq!((script.info().unacked, script.cwnd()), (Segs(13), 14));
        script.ack(18);
        assert_eq!(script.cwnd(), cwnd, "{}", stack.name);
    }
}

#[test]
fn a_new_loss_beside_a_repaired_one_slows_prr_in_6_12_only() {
    for (stack, released) in [(LINUX_6_12, 1), (LINUX_5_10, 2)] {
        let setup = Setup::new(window_control(40, 40, |cwnd| cwnd / 2), ms(100));
        let mut script = Script::connect(on(stack, setup));
        script.write(100);
        script.at(ms(100));
        script.sack(0, &[(30, 33)]);
        for end in 34..=36 {
            script.sack(0, &[(30, end)]);
        }
        script.forget();
        script.at(ms(200));
        // The retransmission of the head arrived, and it was sent later than 36 to 39, which did not.
        script.sack(1, &[(30, 36)]);
        assert_eq!(script.sent().len(), released, "{}", stack.name);
    }
}

#[test]
fn a_full_segment_with_push_is_acknowledged_once_read_in_6_12_and_delayed_in_5_10() {
    for (stack, acks) in [(LINUX_6_12, 1), (LINUX_5_10, 0)] {
        let mut script = Script::listen(on(stack, Setup::new(control("reno"), ms(20))));
        for segment in 0..200 {
            script.advance(ms(1));
            script.data(segment);
        }
        script.advance(ms(100));
        script.acks();
        script.data_with(byte(200), SegmentFlags::PSH);
        assert_eq!(script.acks().len(), acks, "{}", stack.name);
    }
}

#[test]
fn half_of_the_receive_memory_is_window_in_5_10_whatever_the_segments_cost() {
    let window = |stack| {
        let mut script = Script::listen(on(stack, Setup::new(control("reno"), ms(20))));
        script.reads = false;
        for segment in 0..10 {
            script.advance(ms(1));
            script.data(segment);
        }
        script.acks().last().expect("quick ACKs").window
    };
    // Nothing is read: the rest of 131072 bytes, times one half and times 1448 / 2408.
    assert!(window(LINUX_5_10) < window(LINUX_6_12));
    assert!(window(LINUX_5_10) <= 65_536);
}

#[test]
fn freebsd_9_begins_with_three_segments_and_linux_with_ten() {
    for (stack, segments) in [(LINUX_6_12, 10), (LINUX_4_14, 10), (FREEBSD_9, 3)] {
        let mut script = Script::connect(on(stack, Setup::new(control("reno"), ms(100))));
        script.write(20);
        assert_eq!(script.sent().len(), segments, "{}", stack.name);
    }
}

#[test]
fn freebsd_9_acknowledges_each_second_segment_and_the_read_of_the_next_and_linux_each_at_first() {
    for (stack, expected) in [(LINUX_6_12, [1; 8]), (FREEBSD_9, [0, 1, 1, 0, 1, 1, 0, 1])] {
        let mut script = Script::listen(on(stack, Setup::new(control("reno"), ms(20))));
        script.acks();
        let acks = [0, 1, 2, 3, 4, 5, 6, 7].map(|segment| {
            script.advance(us(100));
            script.data(segment);
            script.acks().len()
        });
        assert_eq!(acks, expected, "{}", stack.name);
    }
}

#[test]
fn a_lone_segment_waits_a_hundred_milliseconds_for_its_ack_on_freebsd_9() {
    let mut script = Script::listen(on(FREEBSD_9, Setup::new(control("reno"), ms(20))));
    script.acks();
    script.advance(ms(1));
    script.data(0);
    script.advance(ms(99));
    assert!(script.acks().is_empty());
    // Timers of this length fire on a grid of 8 ms.
    script.advance(ms(10));
    assert_eq!(script.acks().len(), 1);
}

#[test]
fn freebsd_9_and_linux_before_4_18_compress_no_acks() {
    let acks_of_a_hundred_behind_a_hole = |stack| {
        let mut script = Script::listen(on(stack, Setup::new(control("reno"), ms(20))));
        for segment in 0..200 {
            script.advance(ms(1));
            script.data(segment);
        }
        script.acks();
        for segment in 201..301 {
            script.advance(us(10));
            script.data(segment);
        }
        script.acks().len()
    };
    assert_eq!([FREEBSD_9, LINUX_3_10, LINUX_4_14].map(acks_of_a_hundred_behind_a_hole), [100; 3]);
    assert!(acks_of_a_hundred_behind_a_hole(LINUX_5_10) < 10);
}

#[test]
fn freebsd_9_has_no_small_queue() {
    let mut script =
        Script::connect(on(FREEBSD_9, Setup::new(window_control(100, 100, |cwnd| cwnd), ms(100))));
    script.device = Device::Holds;
    script.write(100);
    assert_eq!(script.below(), 100);
}

/// Where something else limits the flight, as a send buffer does, cwnd ends three segments above it before 3.16.
#[test]
fn before_3_16_slow_start_needs_a_flight_within_three_segments_of_cwnd() {
    for (stack, written, cwnd) in [(LINUX_3_10, 6, 10), (LINUX_3_10, 7, 11), (LINUX_4_14, 6, 16)] {
        let mut script = Script::connect(on(stack, Setup::new(control("reno"), ms(100))));
        script.write(written);
        script.at(ms(100));
        script.ack(written);
        assert_eq!(script.info().snd_cwnd.0, cwnd, "{}, {written} segments", stack.name);
    }
}

#[test]
fn before_3_13_slow_start_adds_a_segment_per_ack() {
    for (stack, cwnd) in [(LINUX_3_10, 15), (LINUX_4_14, 20)] {
        let mut script = Script::connect(on(stack, Setup::new(control("reno"), ms(100))));
        script.write(20);
        script.at(ms(100));
        for acked in [2, 4, 6, 8, 10] {
            script.ack(acked);
        }
        assert_eq!(script.info().snd_cwnd.0, cwnd, "{}", stack.name);
    }
}

/// Linux charges the data behind a hole to the buffer of the receiver, and offers less.
#[test]
fn the_window_of_freebsd_9_stays_while_data_is_out_of_order() {
    let mut script = Script::listen(on(FREEBSD_9, Setup::new(control("reno"), ms(20))));
    script.acks();
    let windows: Vec<u64> = (1..21)
        .map(|segment| {
            script.advance(us(100));
            script.data(segment);
            script.acks()[0].window
        })
        .collect();
    assert!(windows.iter().all(|window| *window == windows[0]), "{windows:?}");
}

#[test]
fn a_segment_of_4_14_without_offloads_takes_a_buffer_of_4_kib() {
    for stack in [LINUX_3_10, LINUX_4_14] {
        let mut script = Script::connect(on(stack, Setup::new(control("reno"), ms(100))));
        script.device = Device::Holds;
        script.write(1);
        assert_eq!(script.info().wmem_alloc.0, 4352, "{}", stack.name);
    }
}
