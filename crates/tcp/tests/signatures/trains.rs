//! Offloads on: skbs of several segments. The size of an skb, what delays it, the effect of an ACK, a SACK or a loss on
//! a part of it, and the receiver's handling.

use tailback_cc::Control;
use tailback_packet::SegmentFlags;
use tailback_tcp::{HeldBy, LINUX_5_10, LINUX_6_6, LINUX_6_12, Settings, SmallQueueLimit};
use tailback_units::{Rate, SimTime, Span};

use crate::control::{control, window_control};
use crate::pair::{Pair, Path, Trains};
use crate::script::{Device, MSS, Script, Sent, Setup, TRUESIZE, byte, ms, us};

const REDUCED: fn(u32) -> u32 = |cwnd| cwnd * 3 / 4;
/// Number of segments that fit into 64 KiB with space for headers.
const LARGEST: u64 = 45;

fn offloads_on() -> Settings {
    Settings { gso_max_segs: 65_535, wmem: [4096, 4_194_304, 4_194_304], ..Settings::default() }
}

/// A socket with offloads on and a window of `cwnd`, of which `ssthresh` says whether it is in slow start.
fn script_at(cwnd: u32, ssthresh: u32, rtt: Span) -> Script {
    let control = window_control(cwnd, ssthresh, REDUCED);
    Script::connect(Setup { settings: offloads_on(), ..Setup::new(control, rtt) })
}

/// As [`script_at`], after one round trip: the pacing rate is that of the window. One segment is acknowledged.
fn rated_script(control: Control, settings: Settings, rtt: Span) -> Script {
    let mut script = Script::connect(Setup { settings, ..Setup::new(control, rtt) });
    script.write(1);
    script.at(rtt);
    script.ack(1);
    script.forget();
    script
}

/// Segments of each skb that left.
fn sizes(sent: &[Sent]) -> Vec<u64> {
    sent.iter().map(|sent| u64::from(sent.segment.length).div_ceil(MSS)).collect()
}

fn sizes_sent(script: &mut Script) -> Vec<u64> {
    sizes(&script.transmissions())
}

#[test]
fn the_initial_window_leaves_as_five_skbs_of_two_segments_on_a_long_path() {
    let mut script =
        Script::connect(Setup { settings: offloads_on(), ..Setup::new(control("cubic"), ms(100)) });
    script.write(100);
    assert_eq!(sizes_sent(&mut script), [2; 5]);
}

#[test]
fn an_skb_is_at_most_half_of_cwnd_on_a_short_path() {
    let mut script =
        Script::connect(Setup { settings: offloads_on(), ..Setup::new(control("cubic"), us(200)) });
    script.write(100);
    assert_eq!(sizes_sent(&mut script), [5, 5]);
}

#[test]
fn an_skb_holds_a_millisecond_of_the_pacing_rate() {
    // pacing rate = 1.2 · cwnd · mss / rtt; of it 1/1024 s, in whole segments, at least two.
    for (cwnd, rtt, segments) in
        [(40, ms(40), 2), (200, ms(20), 11), (1000, ms(50), 23), (2000, ms(20), LARGEST)]
    {
        let mut script = rated_script(window_control(cwnd, 2, REDUCED), offloads_on(), rtt);
        script.write(1000);
        assert_eq!(sizes_sent(&mut script)[0], segments, "{cwnd} segments in {rtt}");
    }
}

#[test]
fn a_short_round_trip_makes_skbs_larger_since_5_18_only() {
    let first = |stack, rtt| {
        let settings = Settings { stack, ..offloads_on() };
        let mut script = rated_script(window_control(50, 2, REDUCED), settings, rtt);
        script.write(400);
        sizes_sent(&mut script)[0]
    };
    // 1.2 · 50 · 1448 B per 2.6 ms are 32.6 kB per 1/1024 s; 2.6 ms halve 65,215 B five times, to 2 kB.
    assert_eq!((first(Settings::default().stack, us(2_600)), first(LINUX_5_10, us(2_600))), (23, 22));
    assert_eq!((first(Settings::default().stack, us(10_240)), first(LINUX_5_10, us(10_240))), (5, 5));
}

#[test]
fn a_train_pushes_and_says_how_long_its_segments_are() {
    let mut script = script_at(20, 2, ms(10));
    script.write(100);
    for sent in script.transmissions() {
        assert!(sent.segment.flags.contains(SegmentFlags::PSH));
        assert_eq!(u64::from(sent.segment.mss), MSS);
    }
}

#[test]
fn the_rest_of_a_write_is_part_of_the_last_skb() {
    let mut script = script_at(20, 2, us(200));
    script.write_bytes(3 * MSS + 100);
    let sent = script.transmissions();
    assert_eq!(sent.iter().map(|sent| sent.segment.length).collect::<Vec<_>>(), [3 * MSS as u32 + 100]);
    assert_eq!(script.info().unacked.0, 4);
}

#[test]
fn less_than_a_third_of_cwnd_waits_for_the_ack_that_comes_soon() {
    let mut script = script_at(30, 2, us(200));
    script.write(200);
    assert_eq!(sizes_sent(&mut script), [15, 15]);
    script.at(us(200));
    script.ack(9);
    assert_eq!(sizes_sent(&mut script), [0u64; 0], "9 of 30 segments are open");
    assert_eq!(script.info().held_by, HeldBy::TsoDeferral);
    script.ack(10);
    assert_eq!(sizes_sent(&mut script), [10], "a third of the window");
}

#[test]
fn nothing_waits_for_an_ack_that_is_half_a_round_trip_away() {
    let mut script = script_at(30, 2, us(600));
    script.write(200);
    script.forget();
    script.at(us(200));
    script.ack(4);
    assert_eq!(sizes_sent(&mut script), [4]);
}

#[test]
fn an_skb_that_waits_for_cwnd_counts_as_limited_by_it() {
    let mut script = script_at(10, 1000, us(200));
    script.write(100);
    script.at(us(200));
    // Three of ten: deferred, but the window was the limit.
    script.ack(3);
    assert_eq!(script.cwnd(), 13);
    script.ack(10);
    assert_eq!(script.cwnd(), 20);
}

#[test]
fn two_trains_may_sit_below_tcp_where_a_millisecond_of_the_rate_is_less() {
    let mut script = rated_script(window_control(200, 2, REDUCED), offloads_on(), ms(20));
    script.device = Device::Holds;
    script.write(200);
    let sent = sizes_sent(&mut script);
    assert_eq!(sent[0], 11);
    let one = 11 * MSS + TRUESIZE - MSS;
    assert_eq!(script.info().wmem_alloc.0, 2 * one, "960 bytes of head for each skb");
    assert_eq!(sent, [11, 11]);
    script.complete(1);
    assert_eq!(sizes_sent(&mut script), [11]);
}

#[test]
fn the_small_queue_never_holds_the_second_skb() {
    let mut script = script_at(200, 2, ms(20));
    script.device = Device::Holds;
    script.write(11);
    script.write(11);
    assert_eq!(script.below(), 2, "the first of them is all that is unacknowledged");
}

#[test]
fn an_ack_of_a_part_of_a_train_gives_a_round_trip_time_and_frees_its_segments() {
    let mut script = script_at(20, 2, ms(10));
    script.write(20);
    script.forget();
    script.at(ms(12));
    script.ack(1);
    let info = script.info();
    assert_eq!((info.unacked.0, info.bytes_acked.0), (19, byte(1)));
    assert_eq!(info.rtt, us(10_250), "an eighth of the way from 10 to 12 ms");
}

#[test]
fn only_the_lost_segments_of_a_train_are_sent_again_in_one_skb() {
    let mut script = script_at(40, 20, us(400));
    script.write(40);
    assert_eq!(sizes_sent(&mut script), [20, 20]);
    script.at(us(400));
    // 5, 6 and 7 of the first train are missing.
    script.sack(5, &[(8, 20)]);
    let again = script.transmissions();
    assert_eq!((again[0].number, sizes(&again)[0]), (5, 3));
    let info = script.info();
    assert_eq!((info.lost.0, info.retrans.0, info.total_retrans), (3, 3, 3));
    script.at(us(800));
    script.ack(40);
    assert_eq!(script.info().lost.0, 0);
}

#[test]
fn a_retransmission_is_as_long_as_cwnd_allows() {
    let mut script = script_at(20, 2, us(400));
    script.write(20);
    script.forget();
    script.at(us(400));
    // Ten lost, ten received: nothing is in flight, and the first transmission of a recovery may be at least one
    // segment.
    script.sack(0, &[(10, 20)]);
    let again = sizes_sent(&mut script);
    let cwnd = u64::from(script.cwnd());
    assert_eq!(again.iter().sum::<u64>(), cwnd.min(10));
    assert_eq!(u64::from(script.info().retrans.0), cwnd.min(10));
}

#[test]
fn a_timeout_sends_one_segment_again() {
    let mut script = script_at(20, 2, ms(10));
    script.write(20);
    script.forget();
    script.at(ms(900));
    let again = script.transmissions();
    assert_eq!(again[0].number, 19, "the probe is the last segment alone");
    assert_eq!((again[1].number, sizes(&again)), (0, vec![1; again.len()]));
}

#[test]
fn a_local_drop_of_a_train_is_no_retransmission() {
    let mut script = script_at(20, 2, us(200));
    script.device = Device::Drops;
    script.write(40);
    assert_eq!((script.refused, script.info().unacked.0), (1, 0));
    script.device = Device::Sends;
    script.at(ms(350));
    assert_eq!(script.transmissions()[0].number, 0);
    assert_eq!(script.info().total_retrans, 0);
}

#[test]
fn unsent_data_costs_the_send_buffer_one_head_per_64_kb() {
    let mut script = script_at(10, 2, ms(100));
    script.window = 6_000_000;
    script.write(1000);
    let payload = 1000 * MSS;
    let info = script.info();
    let heads = (info.wmem_queued.0 - payload) / (TRUESIZE - MSS);
    assert!((1000 / LARGEST..=1000 / LARGEST + 10).contains(&heads), "{heads}");
}

/// 45 segments fill an skb. If 45 leave at once, the next skb needs space in the send buffer; if fewer leave, the rest
/// of the skb is filled again, for which the kernel does not check the limit. [linux-6.12 tcp.c tcp_sendmsg_locked]
#[test]
fn a_send_buffer_is_overshot_as_long_as_full_skbs_leave_but_for_a_rest() {
    let max = |cwnd, rtt: Span| {
        let settings = Settings { wmem: [4096, 1_000_000, 1_000_000], ..offloads_on() };
        let small_queue = SmallQueueLimit::Off;
        let setup = Setup::new(window_control(cwnd, 2, REDUCED), rtt);
        let mut script = Script::connect(Setup { settings, small_queue, ..setup });
        script.write(1);
        script.at(rtt);
        script.ack(1);
        script.write_what_fits(5_000_000);
        script.info().wmem_queued.0
    };
    let skb = LARGEST * MSS + TRUESIZE - MSS;
    let (whole, in_parts) = (max(1000, ms(20)), max(1000, ms(50)));
    assert!((1_000_000..1_000_000 + skb).contains(&whole), "{whole}");
    assert!(in_parts > 1_000_000 + 5 * skb, "{in_parts}");
}

/// Pure ACKs of the receiver, and data segments that the sender's skbs had, in the second half of two seconds.
fn acks_and_segments(trains: Trains) -> (usize, u64) {
    let rate = Some(Rate::from_bits_per_sec(100_000_000));
    let out = Path { rate, trains, ..Path::new(ms(2)) };
    let control = window_control(60, 2, REDUCED);
    let mut pair = Pair::with_settings(control, false, out, Path::new(ms(2)), offloads_on());
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(2000));
    let late = SimTime::ZERO + ms(1000);
    let acks = pair.server.trace.iter().filter(|trace| trace.at > late).count();
    let segments = pair.client.data().filter(|trace| trace.at > late);
    (acks, segments.map(|trace| u64::from(trace.segment.length).div_ceil(MSS)).sum())
}

/// With GRO at the receiver a train is one skb and causes one ACK; without it, its segments arrive one by one.
#[test]
fn a_receiver_that_merges_sends_an_ack_per_train_and_one_that_does_not_an_ack_per_two_segments() {
    let (merged, segments) = acks_and_segments(Trains::Stay);
    assert!((merged as u64) < segments / 4, "{merged} ACKs of {segments} segments");
    let (apart, segments) = acks_and_segments(Trains::AreCut);
    assert!((apart as u64).abs_diff(segments / 2) < segments / 20, "{apart} ACKs of {segments} segments");
}

/// A train of the peer's.
fn train(script: &mut Script, first: u64, segments: u64) {
    let mut segment = script.peer_segment(byte(first), (segments * MSS) as u32, SegmentFlags::ACK);
    segment.mss = MSS as u16;
    script.inject(segment);
}

#[test]
fn a_train_of_twenty_segments_is_answered_by_one_ack() {
    let mut script = Script::listen(Setup::new(control("cubic"), ms(10)));
    script.forget();
    for number in 0..5 {
        train(&mut script, 20 * number, 20);
        let acks: Vec<u64> = script.acks().iter().map(|ack| ack.ack).collect();
        assert_eq!(acks, [byte(20 * number + 20)]);
    }
}

#[test]
fn a_train_that_overlaps_what_was_received_is_read_once_and_reported() {
    let mut script = Script::listen(Setup::new(control("cubic"), ms(10)));
    script.reads = false;
    train(&mut script, 0, 2);
    train(&mut script, 6, 2);
    train(&mut script, 9, 1);
    script.forget();
    train(&mut script, 1, 8);
    let ack = script.acks().pop().expect("it fills a hole");
    assert_eq!(ack.ack, byte(10));
    let first = ack.sack.as_slice()[0];
    assert_eq!((first.start, first.end), (byte(1), byte(2)), "the first of what was there already");
    assert_eq!(script.read(), 10 * MSS);
}

#[test]
fn before_6_12_the_last_segment_leaves_with_its_fin_although_cwnd_is_used_up() {
    let sent = |stack, segments| {
        let settings = Settings { gso_max_segs: 65_535, wmem: offloads_on().wmem, ..Settings::of(stack) };
        let control = window_control(4, 2, REDUCED);
        let mut script = Script::connect(Setup { settings, ..Setup::new(control, ms(20)) });
        script.device = Device::Holds;
        script.endpoint.set_cork(true, script.clock_zero());
        script.write(segments);
        script.close();
        script.complete(script.below());
        sizes_sent(&mut script)
    };
    assert_eq!(sent(LINUX_6_12, 5), [2, 2]);
    assert_eq!(sent(LINUX_6_6, 5), [2, 2, 1]);
    assert_eq!(sent(LINUX_6_6, 6), [2, 2], "two segments are no last one");
}

#[test]
fn an_skb_ends_where_a_record_does() {
    let sizes = |ends_record| {
        let mut script = script_at(20, 10, ms(20));
        script.endpoint.set_cork(true, script.clock_zero());
        script.write_bytes(1000);
        if ends_record {
            script.endpoint.end_record();
        }
        script.write_bytes(448);
        script.endpoint.set_cork(false, script.clock_zero());
        script.complete(0);
        script.transmissions().iter().map(|sent| sent.segment.length).collect::<Vec<_>>()
    };
    // A short segment behind another that is not acknowledged waits.
    assert_eq!((sizes(false), sizes(true)), (vec![1448], vec![1000]));
}
