//! Retransmission timeout, tail loss probe, F-RTO.

use tailback_cc::CaState;
use tailback_tcp::{Note, STACKS, Settings, SocketOptions, Txhash};
use tailback_units::Segs;

use crate::control::{control, window_control};
use crate::script::{Script, Setup, assert_fires, ms};

/// A flight of ten in avoidance, sent when the clock shows zero.
fn flight_of_ten(rtt: tailback_units::Span) -> Script {
    let mut script = Script::connect(Setup::new(window_control(10, 10, |cwnd| cwnd / 2), rtt));
    script.write(10);
    assert_eq!(script.sent().len(), 10);
    script
}

#[test]
fn when_all_is_lost_a_probe_comes_first_then_timeouts_that_double_to_two_minutes() {
    let mut script = flight_of_ten(ms(100));
    script.at(ms(250));
    let probe = script.transmissions();
    assert_eq!(probe.iter().map(|sent| sent.number).collect::<Vec<_>>(), [9]);
    assert_fires(probe[0].at, ms(202));
    let mut before = probe[0].at;
    for timeout in [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 120_000, 120_000] {
        script.at(before + ms(timeout) + ms(timeout / 6 + 10));
        let sent = script.transmissions();
        assert_eq!(sent.iter().map(|sent| sent.number).collect::<Vec<_>>(), [0]);
        assert_fires(sent[0].at - before, ms(timeout));
        before = sent[0].at;
    }
}

#[test]
fn after_fifteen_timeouts_the_connection_is_aborted() {
    let mut script = flight_of_ten(ms(1));
    script.at(ms(920_000));
    assert!(!script.notes().contains(&Note::Aborted));
    script.at(ms(990_000));
    assert!(script.notes().contains(&Note::Aborted) && script.endpoint.is_aborted());
    script.transmissions();
    script.at(ms(2_000_000));
    assert!(script.transmissions().is_empty());
    assert!(script.endpoint.wakeup().finished);
}

#[test]
fn a_lone_packet_is_probed_no_earlier_than_its_ack_may_be_delayed() {
    let mut script = Script::connect(Setup::new(control("reno"), ms(50)));
    script.write(1);
    script.forget();
    script.at(ms(700));
    let sent = script.transmissions();
    // min(2·50 + 200, RTO 250), then the RTO.
    assert_fires(sent[0].at, ms(250));
    assert_fires(sent[1].at - sent[0].at, ms(250));
    let notes = script.notes();
    let first_two = notes.iter().filter(|note| !matches!(note, Note::CaState(_))).take(2);
    assert!(first_two.eq(&[Note::TailLossProbe, Note::RetransmissionTimeout]), "{notes:?}");
}

#[test]
fn a_probe_that_repairs_the_tail_cuts_the_window_without_a_recovery() {
    let mut script = flight_of_ten(ms(50));
    script.at(ms(50));
    script.ack(9);
    script.at(ms(340));
    let probe = script.transmissions();
    assert_eq!(probe.iter().map(|sent| sent.number).collect::<Vec<_>>(), [9]);
    // One segment is in flight: 2·50 + 200 ms, but the RTO of 250 ms comes first.
    assert_fires(probe[0].at - ms(50), ms(250));
    script.at(probe[0].at + ms(50));
    script.write(20);
    script.at(probe[0].at + ms(100));
    script.ack(11);
    assert_eq!((script.info().ca_state, script.ssthresh(), script.cwnd()), (CaState::Open, 5, 5));
    let notes = script.notes();
    assert!(!notes.contains(&Note::CaState(CaState::Recovery)), "{notes:?}");
}

#[test]
fn the_sack_of_a_probe_at_the_end_shows_the_hole_before_it() {
    let mut script = flight_of_ten(ms(50));
    script.at(ms(50));
    script.ack(8);
    script.at(ms(170));
    let probe = script.transmissions();
    assert_eq!(probe.iter().map(|sent| sent.number).collect::<Vec<_>>(), [9]);
    assert_fires(probe[0].at - ms(50), ms(102));
    script.at(probe[0].at + ms(50));
    script.sack(8, &[(9, 10)]);
    assert_eq!((script.info().ca_state, script.sent()), (CaState::Recovery, vec![8]));
}

#[test]
fn with_unsent_data_the_probe_is_new_data_beyond_cwnd_and_its_sack_starts_recovery() {
    let mut script = Script::connect(Setup::new(window_control(10, 10, |cwnd| cwnd / 2), ms(50)));
    script.write(30);
    script.forget();
    script.at(ms(120));
    let probe = script.transmissions();
    assert_eq!(probe.iter().map(|sent| sent.number).collect::<Vec<_>>(), [10]);
    assert_fires(probe[0].at, ms(102));
    assert_eq!(script.info().unacked, Segs(11));
    script.at(probe[0].at + ms(50));
    script.sack(0, &[(10, 11)]);
    assert_eq!(script.info().ca_state, CaState::Recovery);
    assert_eq!(script.sent(), [0]);
    assert_eq!(script.info().lost, Segs(10));
}

#[test]
fn a_needless_probe_reduces_nothing() {
    let mut script = flight_of_ten(ms(50));
    script.at(ms(120));
    assert_eq!(script.sent(), [9]);
    script.sack_of_original(10, &[]);
    script.advance(ms(50));
    script.sack(10, &[(9, 10)]);
    assert_eq!((script.cwnd(), script.info().ca_state), (11, CaState::Open));
    script.write(20);
    script.advance(ms(50));
    script.ack(21);
    assert_eq!((script.cwnd(), script.info().snd_ssthresh), (12, Some(Segs(10))));
}

#[test]
fn a_timeout_leaves_a_window_of_one_that_slow_starts() {
    let mut script = Script::connect(Setup::new(window_control(20, 20, |cwnd| cwnd / 2), ms(100)));
    script.write(20);
    script.forget();
    script.at(ms(600));
    assert_eq!(script.sent(), [19, 0], "a probe, and the head");
    assert_eq!((script.cwnd(), script.ssthresh(), script.info().ca_state), (1, 10, CaState::Loss));
    assert_eq!(script.info().lost, Segs(20));
    for acked in 1..=9 {
        script.advance(ms(100));
        script.ack(acked);
        assert_eq!(u64::from(script.cwnd()), 1 + acked);
    }
}

#[test]
fn a_timeout_draws_another_hash_and_a_probe_and_a_fast_retransmission_do_not() {
    let mut script = flight_of_ten(ms(100));
    let first = script.flow_hash;
    script.at(ms(250));
    assert_eq!((script.sent(), script.flow_hash), (vec![9], first), "a probe");
    script.at(ms(600));
    assert_eq!(script.sent(), [0], "after a timeout");
    let second = script.flow_hash;
    assert_ne!(second, first);
    script.ack(10);
    script.write(10);
    assert!(!script.sent().is_empty());
    assert_eq!(script.flow_hash, second);
    script.at(ms(3000));
    assert_ne!(script.flow_hash, second, "after another timeout");

    let mut script = flight_of_ten(ms(100));
    script.at(ms(100));
    script.sack(0, &[(1, 5)]);
    assert_eq!(script.sent(), [0], "a fast retransmission");
    assert_eq!(script.flow_hash, first);
}

#[test]
fn a_syn_that_is_sent_again_has_another_hash_too() {
    let mut script = Script::connecting(Setup::new(control("cubic"), ms(100)));
    let first = script.flow_hash;
    script.at(ms(1500));
    assert_eq!(script.acks().len(), 2);
    assert_ne!(script.flow_hash, first);
}

#[test]
fn a_syn_ack_that_answers_another_syn_has_another_hash_and_so_have_the_acks_after_it() {
    let mut script = Script::answering(Setup::new(control("cubic"), ms(100)));
    let first = script.flow_hash;
    script.at(ms(700));
    script.syn();
    let second = script.flow_hash;
    assert_eq!(script.acks().len(), 2);
    assert_ne!(second, first);
    script.at(ms(800));
    script.data(0);
    assert_eq!(script.flow_hash, second);
}

#[test]
fn with_txrehash_at_zero_and_before_linux_4_9_the_hash_stays() {
    let setup = Setup::new(window_control(10, 10, |cwnd| cwnd / 2), ms(100));
    let settings = Settings { txhash: Txhash::Kept, ..setup.settings.clone() };
    let mut script = Script::connect(Setup { settings, ..setup });
    script.write(10);
    let first = script.flow_hash;
    script.at(ms(3000));
    assert!(script.notes().contains(&Note::RetransmissionTimeout));
    assert_eq!(script.flow_hash, first);
    let kept: Vec<_> =
        STACKS.iter().filter(|stack| stack.txhash == Txhash::Kept).map(|stack| stack.name).collect();
    assert_eq!(kept, ["linux-3.10", "freebsd-9"]);
}

/// `net.ipv4.tcp_thin_linear_timeouts`. [linux-6.12 tcp_timer.c tcp_retransmit_timer]
#[test]
fn the_timeouts_of_a_thin_flow_are_linear_until_its_application_closes() {
    let gaps = |closes: bool| {
        let mut setup = Setup::new(window_control(10, 10, |cwnd| cwnd / 2), ms(100));
        setup.settings.thin_linear_timeouts = true;
        let mut script = Script::connect(setup);
        script.write(2);
        if closes {
            script.close();
        }
        script.at(ms(4_000));
        let times: Vec<_> =
            script.transmissions().iter().filter(|sent| sent.number == 0).map(|sent| sent.at).collect();
        times.windows(2).skip(1).map(|pair| (pair[1] - pair[0]).as_millis()).collect::<Vec<u64>>()
    };
    let (linear, doubled) = (gaps(false), gaps(true));
    assert!(linear.len() >= 5 && linear[..5].iter().all(|gap| gap.abs_diff(linear[0]) <= 40), "{linear:?}");
    assert!(doubled.len() >= 2 && doubled.windows(2).all(|pair| pair[1] >= 2 * pair[0] - 80), "{doubled:?}");
}

#[test]
fn a_timeout_in_the_same_window_cuts_ssthresh_only_once() {
    let mut script = flight_of_ten(ms(100));
    script.at(ms(3000));
    let timeouts = script.notes().iter().filter(|note| **note == Note::RetransmissionTimeout).count();
    assert!(timeouts >= 2);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 5));
}

#[test]
fn the_ack_of_an_original_undoes_a_spurious_timeout() {
    let mut script = flight_of_ten(ms(100));
    script.write(20);
    script.forget();
    script.at(ms(550));
    assert_eq!((script.info().ca_state, script.cwnd()), (CaState::Loss, 1));
    script.forget();
    script.sack_of_original(1, &[]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.info().ca_state), (10, 10, CaState::Open));
    assert!(script.notes().contains(&Note::Undo));
    assert_eq!(script.info().lost, Segs(0));
}

#[test]
fn without_an_older_echo_f_rto_finds_the_timeout_spurious_when_data_sent_once_is_acknowledged() {
    let mut script = flight_of_ten(ms(100));
    script.write(20);
    script.at(ms(550));
    assert_eq!((script.info().ca_state, script.cwnd()), (CaState::Loss, 1));
    script.forget();
    // It echoes the retransmission of the head, but acknowledges three segments.
    script.ack(3);
    assert_eq!((script.cwnd(), script.ssthresh(), script.info().ca_state), (10, 10, CaState::Open));
}

/// Without SACK, what was acknowledged beside the retransmission may have arrived after it.
#[test]
fn without_sack_an_ack_of_the_retransmission_and_more_does_not_make_a_timeout_spurious() {
    use tailback_tcp::Agreement;
    let mut script = Script::connecting(Setup::new(control("reno"), ms(100)));
    let (timestamps, sack, window_scaling) = (true, false, true);
    script.endpoint.agree(Agreement { peer_mss: 1460, timestamps, sack, window_scaling });
    script.at(ms(0));
    script.answer_syn();
    script.write(30);
    script.at(ms(550));
    assert_eq!((script.info().ca_state, script.cwnd()), (CaState::Loss, 1));
    script.ack(3);
    assert_eq!((script.info().ca_state, script.ssthresh()), (CaState::Loss, 5));
}

#[test]
fn f_rto_sends_new_data_before_it_accepts_the_loss() {
    let mut script = flight_of_ten(ms(100));
    script.write(20);
    script.at(ms(550));
    script.forget();
    script.advance(ms(50));
    // Only the retransmission of the head arrived: two new segments are sent (11 was the probe).
    script.ack(1);
    assert_eq!(script.sent(), [11, 12]);
    script.advance(ms(100));
    script.sack(1, &[(11, 12)]);
    assert_eq!(script.info().ca_state, CaState::Loss);
    assert_eq!(script.sent(), [1]);
}

#[test]
fn a_retransmission_lost_after_a_timeout_begins_a_recovery() {
    let mut script = flight_of_ten(ms(100));
    script.at(ms(550));
    assert_eq!(script.info().ca_state, CaState::Loss);
    script.forget();
    script.advance(ms(50));
    script.ack(1);
    assert_eq!(script.sent(), [1, 2]);
    script.advance(ms(100));
    // The second arrives, the first not.
    script.sack(1, &[(2, 3)]);
    assert_eq!((script.info().ca_state, script.sent()[0]), (CaState::Recovery, 1));
}

#[test]
fn a_lone_segment_lost_for_long_is_probed_then_times_out_and_cubic_starts_over() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(1);
    script.at(ms(100));
    script.ack(1);
    script.forget();
    assert_eq!((script.info().rto, script.cwnd()), (ms(300), 10));
    script.write(1);
    let start = script.clock();
    script.advance(ms(800));
    let sent = script.transmissions();
    assert_fires(sent[1].at - start, ms(300));
    assert_fires(sent[2].at - sent[1].at, ms(300));
    script.ack(2);
    assert_eq!((script.cwnd(), script.ssthresh()), (2, 7));
}

#[test]
fn the_reduction_of_a_timeout_covers_the_probe_before_it() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.write(1);
    script.at(ms(700));
    assert_eq!(script.sent(), [0, 0, 0], "the segment, its probe, its retransmission");
    script.ack(1);
    let ssthresh = script.ssthresh();
    script.write(20);
    script.advance(ms(100));
    script.ack(2);
    assert_eq!((script.info().ca_state, script.cwnd(), script.ssthresh()), (CaState::Open, 3, ssthresh));
}

/// [linux-6.12 tcp.7, `TCP_USER_TIMEOUT`]
#[test]
fn a_user_timeout_counts_from_the_first_retransmission_and_aborts_the_connection() {
    let options = SocketOptions { user_timeout: Some(ms(3_000)), ..Default::default() };
    let mut script = Script::connect(Setup { options, ..Setup::new(control("cubic"), ms(100)) });
    script.write(1);
    script.at(ms(1_000));
    // The second is the tail loss probe, which does not count.
    let first = script.transmissions()[2].at;
    script.at(first + ms(2_990));
    assert!(!script.endpoint.is_aborted());
    // Timers of this length fire on a grid of 64 ms at most.
    script.at(first + ms(3_070));
    assert!(script.endpoint.is_aborted());
}

/// `net.ipv4.tcp_retries2`. [linux-6.12 tcp_timer.c tcp_probe_timer]
#[test]
fn after_fifteen_window_probes_without_an_answer_the_connection_is_aborted() {
    let mut script = Script::connect(Setup::new(control("cubic"), ms(100)));
    script.window = 0;
    script.write(1);
    script.at(ms(100));
    script.ack(1);
    script.write(1);
    script.forget();
    script.at(ms(3_000_000));
    assert!(script.endpoint.is_aborted());
    assert_eq!(script.sent().len(), 0, "the window is closed");
}

#[test]
fn a_user_timeout_aborts_a_connection_with_a_closed_window_although_probes_are_answered() {
    let options = SocketOptions { user_timeout: Some(ms(3_000)), ..Default::default() };
    for (options, given_up) in [(options, true), (SocketOptions::default(), false)] {
        let mut script = Script::connect(Setup { options, ..Setup::new(control("cubic"), ms(100)) });
        script.window = 0;
        script.write(1);
        script.at(ms(100));
        script.ack(1);
        script.write(1);
        script.forget();
        let mut probes = 0;
        for _ in 0..50 {
            script.advance(ms(100));
            if !script.acks().is_empty() {
                script.ack(1);
                probes += 1;
            }
        }
        assert!(probes >= 3, "{probes} probes");
        assert_eq!(script.endpoint.is_aborted(), given_up);
    }
}
