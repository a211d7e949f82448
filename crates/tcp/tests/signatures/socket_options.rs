//! Socket options, and their effect on the wire.

use tailback_packet::{IpVersion, SegmentFlags};
use tailback_tcp::{Settings, SocketOptions};
use tailback_units::{Bytes, Rate, Span};

use crate::control::{control, window_control};
use crate::script::{MSS, Script, Setup, ms, us};

const RTT: Span = ms(20);

fn with(options: SocketOptions) -> Setup {
    Setup { options, ..Setup::new(window_control(20, 20, |cwnd| cwnd), RTT) }
}

#[test]
fn a_largest_pacing_rate_spaces_the_segments_of_any_control() {
    let rate = Rate::from_bytes_per_sec(1_448_000);
    let mut script =
        Script::connect(with(SocketOptions { max_pacing_rate: Some(rate), ..Default::default() }));
    script.write(20);
    script.advance(ms(30));
    let departures: Vec<Span> = script.transmissions().iter().map(|sent| sent.departure).collect();
    assert_eq!(departures.len(), 20);
    // The first ten are never spaced; from then on a segment per millisecond.
    assert_eq!(departures[9], departures[0]);
    assert_eq!(departures[19] - departures[10], ms(9));
}

#[test]
fn a_largest_pacing_rate_bounds_a_control_that_paces_itself() {
    for max in [None, Some(Rate::from_bytes_per_sec(100_000))] {
        let options = SocketOptions { max_pacing_rate: max, ..Default::default() };
        let mut script =
            Script::connect(Setup { options, wants_pacing: true, ..Setup::new(control("bbr"), RTT) });
        script.write(20);
        script.at(RTT);
        script.ack(10);
        let bounded = script.info().pacing_rate == Rate::from_bytes_per_sec(100_000);
        assert_eq!(bounded, max.is_some(), "{}", script.info().pacing_rate);
    }
}

#[test]
fn a_pacing_rate_that_never_limits_changes_no_rate() {
    let rate = Rate::from_bits_per_sec(100_000_000_000);
    let paced = Script::connect(with(SocketOptions { max_pacing_rate: Some(rate), ..Default::default() }));
    let plain = Script::connect(with(SocketOptions::default()));
    assert_eq!(paced.info().pacing_rate, plain.info().pacing_rate);
}

#[test]
fn a_fixed_send_buffer_is_twice_the_option_and_does_not_grow() {
    let mut script = Script::connect(with(SocketOptions { sndbuf: Some(30_000), ..Default::default() }));
    assert_eq!(script.info().sndbuf, Bytes(60_000));
    script.write(10);
    script.ack(10);
    assert_eq!(script.info().sndbuf, Bytes(60_000));
}

#[test]
fn an_application_with_a_low_water_mark_writes_only_while_less_than_it_is_unsent() {
    let lowat = 10 * MSS;
    let mut script =
        Script::connect(with(SocketOptions { notsent_lowat: Some(lowat), ..Default::default() }));
    let wanted = 1_000 * MSS;
    // The buffer takes ten segments and part of the next, never the megabyte that it has room for.
    assert_eq!(script.endpoint.write(wanted, script.clock_zero() + script.clock()), lowat);
}

#[test]
fn an_application_at_its_low_water_mark_is_woken_when_less_than_half_of_it_is_unsent() {
    let options =
        SocketOptions { notsent_lowat: Some(10 * MSS), sndbuf: Some(1_000_000), ..Default::default() };
    let control = window_control(20, 2, |cwnd| cwnd);
    let mut script = Script::connect(Setup { options, ..Setup::new(control, RTT) });
    script.write_what_fits(1_000 * MSS);
    let may_write: Vec<bool> = (1..=8)
        .map(|segment| {
            script.advance(ms(5));
            script.ack(segment);
            let unsent = script.info().notsent_bytes.0;
            assert_eq!(unsent, (10 - segment) * MSS, "an ACK lets one leave");
            !script.endpoint.write_blocked()
        })
        .collect();
    assert_eq!(may_write, [false, false, false, false, false, true, true, true]);
}

#[test]
fn a_largest_segment_counts_the_timestamps() {
    let mut script = Script::connect(with(SocketOptions { mss: Some(1_000), ..Default::default() }));
    script.write_bytes(988 * 3);
    let lengths: Vec<u32> = script.transmissions().iter().map(|sent| sent.segment.length).collect();
    assert_eq!(lengths, [988, 988, 988]);
}

fn listening(options: SocketOptions) -> Script {
    Script::listen(Setup { options, ..Setup::new(control("reno"), RTT) })
}

#[test]
fn carried_by_ipv6_a_full_segment_has_1428_bytes() {
    for (ip, length) in [(IpVersion::V4, 1448), (IpVersion::V6, 1428)] {
        let setup = Setup::new(control("reno"), ms(100));
        let settings = Settings { ip, ..setup.settings };
        let script = Script::connect(Setup { settings, ..setup });
        assert_eq!(script.info().snd_mss, length);
    }
}

#[test]
fn an_application_with_a_low_water_mark_is_woken_when_so_much_has_arrived() {
    let mut script = listening(SocketOptions { rcvlowat: 4 * MSS, ..Default::default() });
    let first = script.woken;
    let woken: Vec<u64> = (0..9)
        .map(|segment| {
            script.advance(us(100));
            script.data(segment);
            script.woken - first
        })
        .collect();
    assert_eq!(woken, [0, 0, 0, 1, 1, 1, 1, 2, 2]);
}

#[test]
fn a_fixed_receive_buffer_is_advertised_as_far_as_the_field_reaches_and_does_not_grow() {
    let mut script = listening(SocketOptions { rcvbuf: Some(60_000), ..Default::default() });
    script.acks();
    let windows: Vec<u64> = (0..200)
        .flat_map(|segment| {
            script.advance(ms(1));
            script.data(segment);
            script.acks()
        })
        .map(|ack| ack.window)
        .collect();
    // Twice 60,000 bytes need no window scale, and an unscaled window is at most 65,535.
    assert_eq!(windows.iter().max(), Some(&65_535));
}

#[test]
fn a_fixed_receive_buffer_bounds_the_window_however_fast_the_data_and_a_free_one_grows() {
    let widest = |rcvbuf: Option<u64>| {
        let mut script = listening(SocketOptions { rcvbuf, ..Default::default() });
        script.acks();
        let windows = (0..3_000).flat_map(|segment| {
            script.advance(us(100));
            script.data(segment);
            script.acks()
        });
        windows.map(|ack| ack.window).max().expect("data is acknowledged")
    };
    // The kernel doubles the requested size; about six tenths of it hold payload.
    let fixed = widest(Some(100_000));
    assert!((100_000..=200_000).contains(&fixed), "{fixed}");
    assert!(widest(None) > 2 * fixed);
}

#[test]
fn the_window_of_a_syn_is_not_scaled() {
    let mut script = listening(SocketOptions { rcvbuf: Some(600_000), ..Default::default() });
    let acks = script.acks();
    let syn = acks.iter().find(|ack| ack.flags.contains(SegmentFlags::SYN)).expect("a SYN was answered");
    assert_eq!(syn.window, 65_535);
    script.data(0);
    assert!(script.acks().last().expect("quick").window > 500_000);
}
