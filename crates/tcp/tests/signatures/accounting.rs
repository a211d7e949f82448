//! The fields of `tcp_info` agree with each other, whatever happens on the path.

use tailback_packet::{SackBlock, SackBlocks, SegmentFlags, Timestamp};
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::control::{control, window_control};
use crate::pair::{Fate, Pair, Path};
use crate::script::{Device, MSS, Script, Setup, byte, ms};

/// A dumbbell of 10 Mbit/s and 20 ms that loses every 97th segment of the client.
fn lossy(name: &str) -> Pair {
    let mut out = Path { rate: Some(Rate::from_bits_per_sec(10_000_000)), ..Path::new(ms(10)) };
    out.judge = Box::new(|number, _| if number % 97 == 96 { Fate::Lost } else { Fate::Arrives });
    Pair::new(control(name), name == "bbr", out, Path::new(ms(10)))
}

#[test]
fn the_parts_of_the_flight_add_up_and_flights_without_loss_fit_the_window() {
    for name in ["reno", "cubic", "bbr"] {
        let mut pair = lossy(name);
        pair.transfer_for_ever();
        for tick in 1..3000 {
            pair.run_until(SimTime::ZERO + ms(tick));
            let info = pair.info();
            assert!(info.unacked.0 + info.retrans.0 >= info.sacked.0 + info.lost.0, "{name} {tick} {info:?}");
            assert!(info.retrans <= info.lost, "{name} {tick} {info:?}");
            assert!(info.bytes_sent.0 - info.bytes_retrans.0 + 1 >= info.bytes_acked.0);
            assert!(info.snd_cwnd >= Segs::ONE);
        }
        let info = pair.info();
        assert!(info.total_retrans > 5, "{name}: the path loses");
        assert!(info.bytes_acked.0 > 1_000_000, "{name}: {}", info.bytes_acked);
    }
}

#[test]
fn without_loss_every_byte_sent_is_acknowledged_or_in_flight() {
    let out = Path { rate: Some(Rate::from_bits_per_sec(10_000_000)), ..Path::new(ms(10)) };
    let mut pair = Pair::new(control("cubic"), false, out, Path::new(ms(10)));
    pair.transfer_for_ever();
    for tick in (50..2000).step_by(50) {
        pair.run_until(SimTime::ZERO + ms(tick));
        let info = pair.info();
        let acknowledged = info.bytes_acked.0 - 1;
        assert_eq!(info.bytes_sent.0, acknowledged + u64::from(info.unacked.0) * MSS);
        assert_eq!((info.bytes_retrans.0, info.total_retrans), (0, 0));
        assert_eq!(info.delivered, acknowledged / MSS + 1, "the SYN counts");
    }
}

#[test]
fn a_bulk_flow_is_busy_all_the_time_and_limited_only_by_the_network() {
    let out = Path { rate: Some(Rate::from_bits_per_sec(10_000_000)), ..Path::new(ms(10)) };
    let mut pair = Pair::new(control("cubic"), false, out, Path::new(ms(10)));
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(2020));
    let first = pair.client.data().next().expect("it sent").at;
    let info = pair.info();
    assert_eq!(info.busy_time, pair.now.since(first));
    assert_eq!((info.rwnd_limited, info.sndbuf_limited), (Span::ZERO, Span::ZERO));
}

#[test]
fn an_idle_socket_is_not_busy() {
    let mut script = Script::connect(Setup::new(control("reno"), ms(100)));
    script.write(1);
    script.at(ms(100));
    script.ack(1);
    script.at(ms(500));
    assert_eq!(script.info().busy_time, ms(100));
}

#[test]
fn memory_below_and_in_the_write_queue_is_truesize() {
    let mut script = Script::connect(Setup::new(window_control(10, 10, |cwnd| cwnd / 2), ms(1)));
    script.device = Device::Holds;
    script.write(30);
    let info = script.info();
    assert_eq!(info.wmem_alloc.0, u64::from(info.unacked.0) * (MSS + 960));
    assert_eq!(info.wmem_queued.0, 30 * (MSS + 960));
    assert_eq!(info.notsent_bytes.0, (30 - u64::from(info.unacked.0)) * MSS);
}

#[test]
fn the_delivery_rate_of_a_bulk_flow_is_the_rate_of_the_bottleneck() {
    let out = Path { rate: Some(Rate::from_bits_per_sec(10_000_000)), ..Path::new(ms(10)) };
    let mut pair = Pair::new(control("cubic"), false, out, Path::new(ms(10)));
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(2000));
    // A segment of 1448 bytes takes a frame of 1514.
    let payload = 10_000_000 / 8 * 1448 / 1514;
    let measured = pair.info().delivery_rate.bytes_per_sec();
    assert!(measured.abs_diff(payload) < payload / 50, "{measured} B/s of {payload}");
}

#[test]
fn the_rtt_holds_the_queue_in_front_of_the_bottleneck_and_the_minimum_does_not() {
    let out = Path { rate: Some(Rate::from_bits_per_sec(10_000_000)), ..Path::new(ms(10)) };
    let mut pair = Pair::new(window_control(100, 100, |cwnd| cwnd / 2), false, out, Path::new(ms(10)));
    pair.transfer_for_ever();
    pair.run_until(SimTime::ZERO + ms(2000));
    let info = pair.info();
    let frame = Rate::from_bits_per_sec(10_000_000).time_for(tailback_units::Bytes(1514));
    // The SYN crossed an empty path.
    let min = info.min_rtt.expect("sampled");
    assert!(min >= ms(20) && min < ms(20) + frame, "{min}");
    assert!(info.rtt < ms(20) + frame * 5, "small queues keep two packets in this host: {}", info.rtt);
}

#[test]
fn a_burst_of_acks_does_not_make_the_path_faster_than_the_sender_was() {
    let mut script = Script::connect(Setup::new(control("reno"), ms(100)));
    for number in 0..20 {
        script.at(ms(10 * number));
        if number == 10 {
            script.ack(5);
        }
        script.write(1);
    }
    script.at(ms(200));
    script.ack(20);
    // The last segment was sent at 190 ms; the newest one delivered by then, number 4, at 40 ms. 15 segments in 150 ms,
    // although their ACKs came within 100 ms.
    assert_eq!(script.info().delivery_rate.bytes_per_sec(), 15 * MSS * 1000 / 150);
}

#[test]
fn the_delivery_rate_of_single_acks_is_their_pace() {
    let mut script = Script::connect(Setup::new(control("reno"), ms(100)));
    script.write(1500);
    for acked in 1..=600 {
        script.at(ms(99 + acked));
        script.ack(acked);
    }
    let measured = script.info().delivery_rate.bytes_per_sec();
    assert!(measured.abs_diff(MSS * 1000) < MSS * 10, "{measured} B/s");
}

/// A segment per millisecond, then one per 10 ms, each acknowledged after 5 ms; `device` is what is below the socket.
fn rate_after_a_slower_pace(device: Device) -> u64 {
    let mut script = Script::connect(Setup::new(control("reno"), ms(5)));
    script.device = device;
    script.write(1);
    let complete_the_older = |script: &mut Script| {
        if device == Device::Holds {
            script.complete(1);
        }
    };
    for number in 1..100 {
        script.at(ms(number));
        if number >= 5 {
            script.ack(number - 4);
        }
        script.write(1);
        complete_the_older(&mut script);
    }
    for number in 100..120 {
        script.at(ms(100 + 10 * (number - 100) + 5));
        script.ack(number);
        script.at(ms(100 + 10 * (number - 99)));
        script.write(1);
        complete_the_older(&mut script);
    }
    script.info().delivery_rate.bytes_per_sec()
}

#[test]
fn a_flow_is_not_limited_by_its_application_while_a_packet_of_it_waits_below() {
    // What limits it is the device, which is slower now, so the newest sample counts: a segment in a round trip.
    assert_eq!(rate_after_a_slower_pace(Device::Holds), MSS * 200);
    // It is the application, so only a higher sample counts.
    assert_eq!(rate_after_a_slower_pace(Device::Sends), MSS * 1000);
}

/// An ACK of everything before `segment`, with a block up to `sacked`, of a peer without timestamps.
fn ack_without_timestamp(script: &mut Script, segment: u64, sacked: Option<(u64, u64)>) {
    let mut ack = script.peer_segment(1, 0, SegmentFlags::ACK);
    ack.ack = byte(segment);
    let block = sacked.map(|(start, end)| SackBlock { start: byte(start), end: byte(end) });
    ack.sack = SackBlocks::new(block.into_iter().collect());
    (ack.tsval, ack.tsecr) = (Timestamp::NONE, Timestamp::NONE);
    script.inject(ack);
}

#[test]
fn a_rate_over_less_than_the_minimum_rtt_is_not_believed() {
    let mut setup = Setup::new(control("reno"), ms(100));
    setup.settings.offers.timestamps = false;
    let mut script = Script::connect(setup);
    script.write(10);
    script.at(ms(100));
    ack_without_timestamp(&mut script, 0, Some((2, 5)));
    assert_eq!(script.sent(), (0..10).chain([0]).collect::<Vec<_>>());
    // The originals of segments 0 and 1 have arrived after all: each is acknowledged 1 ms after it was sent again.
    script.at(ms(101));
    ack_without_timestamp(&mut script, 1, Some((2, 8)));
    assert_eq!(script.sent().first(), Some(&1));
    script.at(ms(102));
    ack_without_timestamp(&mut script, 8, None);
    let info = script.info();
    assert_eq!(info.min_rtt, Some(ms(100)));
    // Not a segment per millisecond, which the last ACK shows: the rate is that of the ACK before it.
    assert_eq!(info.delivery_rate.bytes_per_sec(), 4 * MSS * 1000 / 100);
}
