//! When segments are paced, and their spacing.

use tailback_cc::Control;
use tailback_units::Span;

use crate::control::{control, window_control};
use crate::script::{MSS, Script, Sent, Setup, ms, us};

fn paced(control: Control, rtt: Span) -> Script {
    Script::connect(Setup { wants_pacing: true, ..Setup::new(control, rtt) })
}

/// Time a full segment takes at the pacing rate.
fn spacing(script: &Script) -> Span {
    Span::from_nanos(MSS * 1_000_000_000 / script.info().pacing_rate.bytes_per_sec())
}

fn gaps(sent: &[Sent]) -> Vec<Span> {
    sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}

#[test]
fn an_unpaced_control_sends_its_window_back_to_back_and_still_knows_a_pacing_rate() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(100);
    assert_eq!(script.sent().len(), 10);
    // Slow start: twice a window per round trip.
    assert_eq!(script.info().pacing_rate.bytes_per_sec(), 2 * 10 * MSS * 10);
    script.at(ms(100));
    script.ack(10);
    assert_eq!(script.sent().len(), 20);
}

#[test]
fn after_a_lost_syn_the_initial_window_is_paced_as_one_segment_until_the_next_ack() {
    let mut script = Script::connecting(Setup::new(control("cubic"), ms(100)));
    script.at(ms(950));
    assert_eq!(script.acks().len(), 2, "the SYN was sent again");
    script.answer_syn();
    let windows_per_round_trip = |script: &Script| {
        let info = script.info();
        info.pacing_rate.bytes_per_sec() as f64 * info.rtt.as_secs_f64() / MSS as f64
    };
    assert_eq!(script.cwnd(), 10);
    assert!((windows_per_round_trip(&script) - 2.0).abs() < 0.01, "{}", windows_per_round_trip(&script));
    script.write(100);
    assert_eq!(script.sent().len(), 10);
    script.advance(ms(100));
    script.ack(1);
    assert!((windows_per_round_trip(&script) - 22.0).abs() < 0.01, "{}", windows_per_round_trip(&script));
}

#[test]
fn a_paced_control_sends_ten_segments_at_once_and_then_one_by_one() {
    let mut script = paced(control("bbr"), ms(100));
    script.write(100);
    script.at(ms(100));
    assert_eq!(gaps(&script.transmissions()), [Span::ZERO; 9]);
    script.ack(10);
    let spacing = spacing(&script);
    script.at(ms(190));
    let sent = script.transmissions();
    assert!(sent.len() > 5, "{}", sent.len());
    // The first is late by more than half of its duration, so the second follows after half.
    assert_eq!(gaps(&sent)[0], spacing - spacing / 2);
    for gap in &gaps(&sent)[1..] {
        assert_eq!(*gap, spacing);
    }
}

#[test]
fn the_internal_timer_paces_any_control_that_needs_pacing() {
    let mut script = paced(window_control(40, 40, |cwnd| cwnd / 2), ms(100));
    script.write(40);
    script.at(ms(99));
    let sent = script.transmissions();
    assert_eq!(sent.len(), 10 + 99 / 5);
    // The pacing rate of the handshake, in which cwnd was 10: slow start's 2 · 10 · 1448 B / 100 ms.
    assert_eq!(gaps(&sent)[..9], [Span::ZERO; 9]);
    for gap in &gaps(&sent)[9..] {
        assert_eq!(*gap, ms(5));
    }
}

#[test]
fn a_late_timer_shortens_the_next_gap_by_its_lateness() {
    for (late, next) in [(us(1000), ms(4)), (us(2500), us(2500)), (us(4000), us(2500))] {
        let mut script = paced(window_control(40, 40, |cwnd| cwnd / 2), ms(100));
        script.write(40);
        let deadline = first_paced(&mut script);
        script.at_with_late_timers(deadline + late);
        let start = script.clock();
        script.at(ms(90));
        let sent = script.transmissions();
        assert_eq!(sent[0].at, start);
        assert_eq!(sent[1].at - start, next, "late by {late}");
    }
}

/// Waits until the burst has left; returns when the first segment after it is due.
fn first_paced(script: &mut Script) -> Span {
    assert_eq!(script.sent().len(), 10);
    let deadline = script.endpoint.deadline().expect("pacing waits");
    deadline.since(script.clock_zero())
}

#[test]
fn the_pacing_rate_of_avoidance_is_a_fifth_above_the_window_per_round_trip() {
    let mut script = Script::connect(Setup::new(window_control(40, 40, |cwnd| cwnd / 2), ms(100)));
    script.write(100);
    script.at(ms(100));
    script.ack(1);
    assert_eq!(script.info().pacing_rate.bytes_per_sec(), 12 * 40 * MSS);
}

#[test]
fn slow_start_is_paced_for_avoidance_from_half_of_ssthresh_on() {
    // ssthresh 40: at 19 still 200 %, at 20 already 120 %.
    for (cwnd, per_cent) in [(18, 200), (19, 120)] {
        let mut script = Script::connect(Setup::new(window_control(cwnd, 40, |cwnd| cwnd / 2), ms(100)));
        script.write(100);
        script.at(ms(100));
        script.ack(1);
        let cwnd = u64::from(cwnd) + 1;
        assert_eq!(u64::from(script.cwnd()), cwnd);
        assert_eq!(script.info().pacing_rate.bytes_per_sec(), cwnd * MSS * 10 * per_cent / 100);
    }
}

#[test]
fn after_a_cut_the_pacing_rate_follows_the_flight() {
    let mut script = Script::connect(Setup::new(window_control(40, 40, |cwnd| cwnd / 2), ms(100)));
    script.write(40);
    script.at(ms(100));
    script.sack(0, &[(1, 4)]);
    let info = script.info();
    assert_eq!((script.ssthresh(), info.unacked.0), (20, 40));
    assert_eq!(info.pacing_rate.bytes_per_sec(), 12 * 40 * MSS);
}
