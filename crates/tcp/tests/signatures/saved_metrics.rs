//! What a connection leaves to the next one to the same host.
//! [linux-5.4 tcp_metrics.c tcp_update_metrics, tcp_init_metrics]

use tailback_packet::SegmentFlags;
use tailback_tcp::{SavedMetrics, Settings};
use tailback_units::Span;

use crate::control::control;
use crate::script::{Script, Setup, byte, ms};

/// A host that saves metrics, with or without ssthresh.
fn saving(saves_ssthresh: bool) -> Settings {
    let saved_metrics = Some(SavedMetrics::default());
    Settings { saved_metrics, saves_ssthresh, wmem: [4096, 4_194_304, 4_194_304], ..Settings::default() }
}

fn connect(settings: &Settings, rtt: Span) -> Script {
    Script::connect(Setup { settings: settings.clone(), ..Setup::new(control("reno"), rtt) })
}

/// Loses a segment of 20, recovers, sends `more` in congestion avoidance, and closes.
fn lose_and_close(settings: &Settings, rtt: Span) -> Script {
    let mut script = connect(settings, rtt);
    script.write(20);
    script.at(rtt);
    script.ack(10);
    script.at(rtt * 2);
    script.sack(10, &[(11, 20)]);
    script.at(rtt * 3);
    script.ack(20);
    script.write(30);
    for (round, acked) in [(4, 30), (5, 40), (6, 50)] {
        script.at(rtt * round);
        script.ack(acked);
    }
    close(&mut script, 50);
    script
}

/// Closes; the FIN after this segment is acknowledged.
fn close(script: &mut Script, segment: u64) {
    script.close();
    let mut last = script.peer_segment(1, 0, SegmentFlags::ACK);
    last.ack = byte(segment) + 1;
    script.inject(last);
}

#[test]
fn the_next_connection_begins_with_the_threshold_that_the_first_one_left() {
    let settings = saving(true);
    let first = lose_and_close(&settings, ms(20));
    let left = first.ssthresh();
    assert!((1..20).contains(&left), "{left}");
    let next = connect(&settings, ms(20));
    assert_eq!((next.ssthresh(), next.cwnd()), (left, 10));
}

#[test]
fn without_the_sysctl_or_since_5_6_slow_start_has_no_threshold_again() {
    for settings in [Settings { saved_metrics: None, ..saving(true) }, saving(false)] {
        lose_and_close(&settings, ms(20));
        assert_eq!(connect(&settings, ms(20)).ssthresh(), 0);
    }
}

#[test]
fn a_connection_that_is_still_open_leaves_nothing() {
    let settings = saving(true);
    let mut open = connect(&settings, ms(20));
    open.write(20);
    open.at(ms(20));
    open.sack(0, &[(1, 10)]);
    assert_ne!(open.ssthresh(), 0);
    assert_eq!(connect(&settings, ms(20)).ssthresh(), 0);
}

#[test]
fn a_longer_saved_rtt_sets_the_first_timeout_until_data_gives_a_sample() {
    let settings = saving(true);
    let saved = lose_and_close(&settings, ms(200)).info().rtt.as_millis();
    let mut next = connect(&settings, ms(20));
    assert_eq!((next.info().rtt, next.info().rto), (ms(20), ms(3 * saved)));
    next.write(1);
    next.at(ms(20));
    next.ack(1);
    assert_eq!(next.info().rto, ms(220));
}

#[test]
fn a_shorter_saved_rtt_changes_nothing() {
    let settings = saving(true);
    lose_and_close(&settings, ms(20));
    let alone = connect(&Settings { saved_metrics: None, ..settings.clone() }, ms(200));
    assert_eq!(connect(&settings, ms(200)).info().rto, alone.info().rto);
}

#[test]
fn a_reader_that_closes_with_its_peer_saves_its_rtt_once() {
    let settings = saving(true);
    let reader = Setup { settings: settings.clone(), ..Setup::new(control("reno"), ms(200)) };
    let mut reader = Script::listen(reader);
    reader.inject(reader.peer_segment(1, 0, SegmentFlags::ACK.with(SegmentFlags::FIN)));
    for _ in 0..2 {
        reader.close_at_end();
        assert_eq!(connect(&settings, ms(20)).info().rto, ms(220));
    }
    reader.at(ms(200));
    let mut last = reader.peer_segment(2, 0, SegmentFlags::ACK);
    last.ack = byte(0) + 1;
    reader.inject(last);
    assert_eq!(connect(&settings, ms(20)).info().rto, ms(600));
}
