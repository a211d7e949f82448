//! When a receiver acknowledges, the content of its ACKs, and the growth of its window.

use tailback_packet::{SackBlock, Segment, SegmentFlags};
use tailback_units::{Rate, SimTime, Span};

use crate::control::control;
use crate::pair::{Fate, Pair, Path};
use crate::script::{MSS, Script, Setup, assert_fires, byte, ms, us};

const RTT: Span = ms(20);

fn listening() -> Script {
    Script::listen(Setup::new(control("reno"), RTT))
}

/// A receiver during a stream of a segment per millisecond, after its quick ACKs and the growth of its window.
fn in_mid_stream() -> (Script, u64) {
    in_mid_stream_of(RTT)
}

fn in_mid_stream_of(rtt: Span) -> (Script, u64) {
    mid_stream(Setup::new(control("reno"), rtt))
}

fn mid_stream(setup: Setup) -> (Script, u64) {
    let segments = 10 * setup.rtt.as_millis();
    let mut script = Script::listen(setup);
    for segment in 0..segments {
        script.advance(ms(1));
        script.data(segment);
    }
    if script.acks().last().is_some_and(|ack| ack.ack < byte(segments)) {
        script.data(segments);
        script.acks();
        return (script, segments + 1);
    }
    (script, segments)
}

fn blocks(ack: &Segment) -> Vec<(u64, u64)> {
    ack.sack.as_slice().iter().map(|block| ((block.start - 1) / MSS, (block.end - 1) / MSS)).collect()
}

#[test]
fn each_of_the_first_sixteen_segments_is_acknowledged_at_once() {
    let mut script = listening();
    script.acks();
    for segment in 0..16 {
        script.advance(ms(1));
        script.data(segment);
        let acks = script.acks();
        assert_eq!(acks.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [byte(segment + 1)]);
    }
}

#[test]
fn a_steady_stream_is_acknowledged_every_second_segment() {
    let (mut script, next) = in_mid_stream();
    for segment in (next..next + 100).step_by(2) {
        script.advance(ms(1));
        script.data(segment);
        assert!(script.acks().is_empty());
        script.advance(ms(1));
        script.data(segment + 1);
        assert_eq!(script.acks().len(), 1);
    }
}

#[test]
fn a_lone_full_segment_is_acknowledged_after_forty_milliseconds() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(1));
    script.data(next);
    let since = script.clock();
    assert!(script.acks().is_empty());
    while script.acks().is_empty() {
        script.advance(us(500));
    }
    assert_fires(script.clock().saturating_sub(since), ms(40));
}

#[test]
fn a_short_segment_is_acknowledged_as_soon_as_the_application_has_read_it() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(1));
    script.data_bytes(byte(next), 700);
    assert_eq!(script.acks().len(), 1);
}

#[test]
fn a_pushed_full_segment_is_acknowledged_as_soon_as_the_application_has_read_it() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(1));
    script.data_with(byte(next), SegmentFlags::PSH);
    assert_eq!(script.acks().len(), 1);
}

#[test]
fn a_window_that_grows_is_announced_with_extra_acks() {
    let (mut script, next) = in_mid_stream();
    // Four times the rate: the receive buffer grows step by step, and with it the window threshold.
    for segment in next..next + 160 {
        script.advance(us(250));
        script.data(segment);
    }
    let acks = script.acks();
    let growing: Vec<_> = acks.iter().filter(|ack| ack.window > acks[0].window).collect();
    assert!(growing.len() > 40, "{} ACKs with a wider window", growing.len());
    for pair in growing.windows(2) {
        assert_eq!(pair[1].ack - pair[0].ack, MSS, "one for each segment");
        assert!(
            (pair[1].window - pair[0].window).abs_diff(2 * MSS) <= 128,
            "two segments wider, on the scale's grid"
        );
    }
}

#[test]
fn three_duplicate_acks_leave_at_once_and_later_ones_are_compressed() {
    let (mut script, hole) = in_mid_stream();
    let ack = |script: &mut Script, segment| {
        script.advance(us(100));
        script.data(segment);
        script.acks()
    };
    // The first one is not charged yet when the window grows by the last room that is left, and is acknowledged for that.
    for segment in hole + 1..=hole + 4 {
        let acks = ack(&mut script, segment);
        assert_eq!((acks.len(), acks[0].ack), (1, byte(hole)));
        assert_eq!(blocks(&acks[0]), [(hole + 1, segment + 1)]);
    }
    let mut compressed = Vec::new();
    for segment in hole + 5..hole + 105 {
        compressed.extend(ack(&mut script, segment));
    }
    // 10 ms of arrivals: one ACK per min(1 ms, RTT/20), which is 1 ms here, plus at most 100 us of slack.
    assert!((8..=10).contains(&compressed.len()), "{} ACKs", compressed.len());
    script.advance(ms(2));
    assert_eq!(script.acks().len(), 1, "the rest");
    assert!(compressed.iter().all(|ack| ack.ack == byte(hole) && blocks(ack)[0].0 == hole + 1));
}

#[test]
fn compression_lasts_a_twentieth_of_the_round_trip_but_a_millisecond_at_most() {
    // 50 ms of arrivals each 50 us; the timer fires at the first arrival after it.
    for (rtt, apart) in [(ms(10), us(500)), (ms(20), us(1000)), (ms(100), us(1000))] {
        // A window of more than a thousand segments.
        let mut setup = Setup::new(control("reno"), rtt);
        setup.options.rcvbuf = Some(1_300_000);
        let (mut script, hole) = mid_stream(setup);
        for segment in hole + 1..hole + 1000 {
            script.advance(us(50));
            script.data(segment);
        }
        let acks = script.acks().len() as u64;
        let expected = us(50_000).as_nanos() / (apart + us(50)).as_nanos();
        assert!(acks.abs_diff(expected + 3) <= expected / 10, "{acks} ACKs at {rtt}");
    }
}

/// `net.ipv4.tcp_comp_sack_nr`. [linux-6.12 ip-sysctl.rst]
#[test]
fn compression_holds_forty_four_acks_back_and_no_more() {
    let (mut script, hole) = in_mid_stream();
    let sent: Vec<usize> = (hole + 1..hole + 51)
        .map(|segment| {
            script.advance(us(1));
            script.data(segment);
            script.acks().len()
        })
        .collect();
    assert_eq!(sent[..4], [1; 4], "one for the growth of the window, and three duplicates");
    assert_eq!(sent[4..48], [0; 44], "held back");
    assert_eq!(sent[48], 1, "one for all of them");
}

#[test]
fn a_third_hole_is_reported_at_once_although_acks_are_compressed() {
    let (mut script, hole) = in_mid_stream();
    for segment in [1, 2, 3, 4, 5, 7, 9] {
        script.advance(us(10));
        script.data(hole + segment);
    }
    // One leaves for the growth of the window, and three more at once; the fifth and the second block wait; the third
    // block flushes them, and then waits.
    let acks = script.acks();
    assert_eq!(acks.len(), 5);
    assert_eq!(blocks(&acks[4]), [(hole + 7, hole + 8), (hole + 1, hole + 6)]);
}

#[test]
fn a_filled_hole_is_acknowledged_at_once() {
    let (mut script, hole) = in_mid_stream();
    for segment in hole + 1..hole + 8 {
        script.data(segment);
    }
    script.acks();
    script.data(hole);
    let acks = script.acks();
    assert_eq!((acks.len(), acks[0].ack, blocks(&acks[0])), (1, byte(hole + 8), vec![]));
}

#[test]
fn duplicate_data_is_reported_first_and_brings_sixteen_quick_acks() {
    let (mut script, next) = in_mid_stream();
    script.data(next - 5);
    let acks = script.acks();
    assert_eq!((acks.len(), acks[0].ack, blocks(&acks[0])), (1, byte(next), vec![(next - 5, next - 4)]));
    let mut quick = 0;
    for segment in next..next + 40 {
        script.advance(ms(1));
        script.data(segment);
        match script.acks().len() {
            1 => quick += 1,
            _ => break,
        }
    }
    assert!((15..=16).contains(&quick), "{quick} quick ACKs");
}

#[test]
fn duplicate_data_out_of_order_is_reported_before_the_block_that_holds_it() {
    let (mut script, hole) = in_mid_stream();
    for segment in [1, 2, 3, 2] {
        script.advance(ms(2));
        script.data(hole + segment);
    }
    script.advance(ms(2));
    let acks = script.acks();
    assert_eq!(blocks(acks.last().expect("some")), [(hole + 2, hole + 3), (hole + 1, hole + 4)]);
}

#[test]
fn beside_timestamps_there_is_room_for_three_blocks() {
    let (mut script, hole) = in_mid_stream();
    for segment in [1, 3, 5, 7, 9, 3] {
        script.advance(ms(2));
        script.data(hole + segment);
    }
    script.advance(ms(2));
    let acks = script.acks();
    let last = acks.last().expect("some");
    assert_eq!(blocks(last), [(hole + 3, hole + 4), (hole + 3, hole + 4), (hole + 9, hole + 10)]);
    assert!(acks.iter().all(|ack| ack.sack.as_slice().len() <= 3));
}

#[test]
fn the_newest_block_comes_first() {
    let (mut script, hole) = in_mid_stream();
    for segment in [1, 5, 3] {
        script.advance(ms(2));
        script.data(hole + segment);
    }
    let acks = script.acks();
    let expected = [(hole + 3, hole + 4), (hole + 5, hole + 6), (hole + 1, hole + 2)];
    assert_eq!(blocks(acks.last().expect("some")), expected);
}

#[test]
fn a_delayed_ack_echoes_the_first_of_the_segments_it_acknowledges() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(5));
    let first = script.peer_segment(byte(next), MSS as u32, SegmentFlags::ACK);
    let stamp = first.tsval;
    script.inject(first);
    script.advance(ms(5));
    script.data(next + 1);
    assert_eq!(script.acks()[0].tsecr, stamp);
}

#[test]
fn a_syn_advertises_64240_bytes_and_its_answer_65160() {
    let mut opener = Script::connecting(Setup::new(control("reno"), RTT));
    assert_eq!(opener.acks()[0].window, 64_240);
    let mut answerer = listening();
    assert_eq!(answerer.acks()[0].window, 65_160);
}

#[test]
fn a_window_is_a_multiple_of_its_scale_of_seven_bits() {
    let (mut script, next) = in_mid_stream();
    for segment in next..next + 100 {
        script.advance(us(300));
        script.data(segment);
    }
    assert!(script.acks().iter().all(|ack| ack.window % 128 == 0));
}

#[test]
fn a_window_once_advertised_is_never_taken_back() {
    let mut script = listening();
    script.reads = false;
    let mut edge = 0;
    for segment in 0..60 {
        script.advance(ms(1));
        script.data(segment);
        for ack in script.acks().iter().filter(|ack| !ack.flags.contains(SegmentFlags::SYN)) {
            assert!(ack.ack + ack.window >= edge, "segment {segment}");
            edge = ack.ack + ack.window;
        }
    }
}

#[test]
fn data_that_costs_more_memory_than_it_brings_does_not_take_the_window_back() {
    let (mut script, hole) = in_mid_stream();
    let mut edges = Vec::new();
    for segment in 1..=300 {
        script.advance(ms(2));
        script.data_bytes(byte(hole) + 100 * segment, 50);
        edges.extend(script.acks().iter().map(|ack| ack.ack + ack.window));
    }
    assert!(edges.len() > 200 && edges.is_sorted(), "{edges:?}");
}

#[test]
fn reading_a_full_buffer_opens_the_window_with_an_ack() {
    let mut script = listening();
    script.reads = false;
    let mut window = u64::MAX;
    for segment in 0..200 {
        script.advance(ms(1));
        if window < MSS {
            break;
        }
        script.data(segment);
        script.advance(ms(50));
        window = script.acks().last().map_or(window, |ack| ack.window);
    }
    assert!(window < MSS, "the buffer never filled: {window}");
    script.advance(ms(300));
    script.acks();
    script.read();
    let acks = script.acks();
    assert_eq!(acks.len(), 1);
    assert!(acks[0].window > 20 * MSS);
}

#[test]
fn data_after_a_silence_longer_than_the_rto_is_acknowledged_quickly_again() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(2000));
    for segment in next..next + 14 {
        script.advance(ms(1));
        script.data(segment);
        assert_eq!(script.acks().len(), 1, "segment {}", segment - next);
    }
}

#[test]
fn the_receive_window_never_limits_a_sender_in_slow_start() {
    let rate = Some(Rate::from_bits_per_sec(1_000_000_000));
    let mut pair = Pair::new(control("reno"), false, Path { rate, ..Path::new(ms(10)) }, Path::new(ms(10)));
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(190));
    let info = pair.info();
    assert!(info.snd_cwnd.0 > 1000, "{info:?}");
    assert_eq!(info.rwnd_limited, Span::ZERO);
}

#[test]
fn a_fin_is_acknowledged_at_once_and_ends_the_stream_when_all_before_it_is_there() {
    let mut pair = Pair::new(control("reno"), false, Path::new(ms(5)), Path::new(ms(5)));
    let mut lost = false;
    pair.client.path.judge = Box::new(move |_, segment| {
        let lose = segment.seq == byte(5) && segment.length > 0 && !std::mem::replace(&mut lost, true);
        if lose { Fate::Lost } else { Fate::Arrives }
    });
    pair.transfer(7 * MSS);
    pair.run_until(SimTime::ZERO + ms(17));
    assert!(!pair.server.endpoint.at_end());
    assert!(pair.run_to_end(SimTime::ZERO + ms(100)));
    assert_eq!(pair.server.received, 7 * MSS);
}

#[test]
fn a_window_probe_is_answered_at_once() {
    let (mut script, next) = in_mid_stream();
    let probe = script.peer_segment(byte(next) - 1, 0, SegmentFlags::ACK);
    script.inject(probe);
    let acks = script.acks();
    assert_eq!((acks.len(), acks[0].ack), (1, byte(next)));
}

#[test]
fn overlapping_segments_are_merged_into_one_block() {
    let (mut script, hole) = in_mid_stream();
    script.data_bytes(byte(hole + 1), 1000);
    script.data_bytes(byte(hole + 1) + 500, 1000);
    let acks = script.acks();
    let expected = SackBlock { start: byte(hole + 1), end: byte(hole + 1) + 1500 };
    assert_eq!(acks.last().expect("some").sack.as_slice(), [expected]);
}

#[test]
fn a_fin_is_acknowledged_late_unless_the_application_asks_for_quick_acks() {
    for quick in [false, true] {
        let mut script = listening();
        script.data(0);
        script.forget();
        let mut fin = script.peer_segment(byte(1), 0, SegmentFlags::ACK.with(SegmentFlags::FIN));
        fin.mss = 0;
        let since = script.clock();
        script.inject(fin);
        assert!(script.acks().is_empty() && script.endpoint.at_end());
        if quick {
            script.endpoint.quick_ack();
        }
        script.read();
        while script.acks().is_empty() {
            script.advance(us(500));
        }
        if quick {
            assert!(script.clock() - since < ms(1));
        } else {
            assert_fires(script.clock() - since, ms(40));
        }
    }
}

#[test]
fn a_segment_that_follows_an_answer_waits_for_the_next_answer() {
    let mut script = listening();
    script.data_bytes(1, 100);
    assert!(!script.acks().is_empty(), "quick ACKs at the start");
    script.write(1);
    script.forget();
    script.data_bytes(101, 100);
    assert!(script.acks().is_empty(), "the connection is interactive now");
    script.advance(ms(50));
    assert_eq!(script.acks().len(), 1);
}

#[test]
fn bytes_that_arrive_twice_are_reported_and_counted_once() {
    let mut script = listening();
    script.reads = false;
    script.acks();
    script.data_bytes(1001, 2000);
    script.data_bytes(1, 6000);
    let acks = script.acks();
    let last = acks.last().expect("a hole that is filled is acknowledged");
    assert_eq!((last.ack, last.sack.as_slice()[0]), (6001, SackBlock { start: 1001, end: 3001 }));
    script.data_bytes(5001, 2000);
    let acks = script.acks();
    assert_eq!(acks[0].sack.as_slice()[0], SackBlock { start: 5001, end: 6001 });
    assert_eq!(script.read(), 7000);
}

#[test]
fn an_application_may_read_a_part() {
    let mut script = listening();
    script.reads = false;
    script.data_bytes(1, 1000);
    let (now, max) = (SimTime::from_nanos(10_000_000_000), tailback_units::Bytes(300));
    assert_eq!(script.endpoint.read_at_most(max, now), max);
    assert_eq!(script.endpoint.readable_bytes(), tailback_units::Bytes(700));
    assert_eq!(script.read(), 700);
}

#[test]
fn the_syns_negotiate_segment_size_and_options() {
    use tailback_tcp::Agreement;
    let (peer_mss, sack) = (1000, false);
    for (timestamps, mss) in [(true, 988), (false, 1000)] {
        let mut script = Script::connecting(Setup::new(control("reno"), RTT));
        script.endpoint.agree(Agreement { peer_mss, timestamps, sack, window_scaling: false });
        script.answer_syn();
        script.data_bytes(2001, 500);
        let acks = script.acks();
        let ack = acks.last().expect("it is out of order");
        assert_eq!((ack.tsval.is_some(), ack.sack.is_empty()), (timestamps, true));
        assert_eq!((script.info().snd_mss, script.endpoint.window_scale()), (mss, 0));
    }
}

#[test]
fn a_byte_behind_the_last_of_the_window_is_not_taken() {
    let (mut script, next) = in_mid_stream();
    script.advance(ms(100));
    script.data(next);
    script.advance(ms(300));
    let ack = script.acks().pop().expect("it is acknowledged");
    let edge = ack.ack + ack.window;
    let reported = |script: &mut Script, seq| {
        script.data_bytes(seq, 1);
        script.acks().iter().any(|ack| !ack.sack.as_slice().is_empty())
    };
    assert!(!reported(&mut script, edge));
    assert!(reported(&mut script, edge - 1));
}

#[test]
fn a_buffer_without_memory_closes_the_window_and_still_takes_a_fin_without_data() {
    let mut script = listening();
    script.reads = false;
    (0..3).for_each(|segment| script.data(segment));
    script.endpoint.set_receive_buffer(0);
    script.forget();
    script.data(3);
    let refused = script.acks().pop().expect("it is answered at once");
    assert_eq!((refused.ack, refused.window), (byte(3), 0));
    script.inject(script.peer_segment(byte(3), 0, SegmentFlags::ACK.with(SegmentFlags::FIN)));
    assert_eq!(script.acks().pop().map(|ack| ack.ack), Some(byte(3) + 1));
    assert!(script.endpoint.at_end());
}

#[test]
fn what_arrives_and_what_is_written_moves_the_positions_of_a_connection() {
    let mut script = listening();
    assert_eq!(script.endpoint.positions(), (1, 1));
    script.data(0);
    script.write_bytes(100);
    assert_eq!(script.endpoint.positions(), (byte(1), 101));
}
