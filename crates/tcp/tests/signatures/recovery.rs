//! Fast recovery: loss detection by RACK, proportional rate reduction, reordering, undo, local drops.

use tailback_cc::{CaState, Control};
use tailback_packet::{SackBlock, SegmentFlags};
use tailback_tcp::Note;
use tailback_units::Segs;

use crate::control::{control, window_control};
use crate::script::{Device, Script, Setup, assert_fires, byte, ms};

const RTT: tailback_units::Span = ms(100);
/// The SYN counts as delivered, too.
const SYN: u64 = 1;

/// `segments` are written and a window of them is out; the clock shows one round trip.
fn sent(control: Control, segments: u64) -> Script {
    let mut script = Script::connect(Setup::new(control, RTT));
    script.write(segments);
    script.forget();
    script.at(RTT);
    script
}

/// A window with the cut of CUBIC, 0.7.
fn cubic_cut(cwnd: u32) -> Control {
    window_control(cwnd, cwnd, |cwnd| cwnd * 717 / 1024)
}

/// A window with the cut of Reno.
fn halved(cwnd: u32) -> Control {
    window_control(cwnd, cwnd, |cwnd| cwnd / 2)
}

#[test]
fn one_of_ten_lost_is_sent_again_at_the_third_sack_and_the_window_ends_at_the_new_threshold() {
    for (name, ssthresh) in [("cubic", 7), ("reno", 5)] {
        let mut script = sent(control(name), 30);
        script.sack(0, &[(1, 2)]);
        script.sack(0, &[(1, 3)]);
        assert_eq!((script.sent(), script.info().ca_state), (vec![10, 11], CaState::Disorder));
        script.sack(0, &[(1, 4)]);
        assert_eq!((script.sent(), script.info().ca_state), (vec![0], CaState::Recovery));
        assert_eq!((script.ssthresh(), script.info().total_retrans), (ssthresh, 1), "{name}");
        for end in 5..=10 {
            script.sack(0, &[(1, end)]);
        }
        assert!(script.info().unacked.0 - script.info().sacked.0 <= ssthresh + 1);
        script.advance(RTT);
        script.ack(12);
        assert_eq!((script.cwnd(), script.info().ca_state), (ssthresh, CaState::Open), "{name}");
    }
}

#[test]
fn the_first_two_sacks_release_a_new_segment_each_and_the_third_the_retransmission() {
    let mut script = sent(halved(4), 20);
    for (end, expected) in [(2, 4), (3, 5), (4, 0)] {
        script.sack(0, &[(1, end)]);
        assert_eq!(script.sent(), [expected]);
    }
}

#[test]
fn without_new_data_each_sack_releases_one_retransmission_and_then_the_new_window_leaves_at_once() {
    let mut script = sent(cubic_cut(10), 10);
    let mut expected = vec![vec![], vec![], vec![0], vec![1], vec![2], vec![3]].into_iter();
    for end in 5..=10 {
        script.sack(0, &[(4, end)]);
        assert_eq!(Some(script.sent()), expected.next());
    }
    script.advance(RTT);
    script.ack(10);
    script.write(10);
    assert_eq!(script.sent().len(), 7);
}

#[test]
fn above_the_threshold_prr_sends_in_the_proportion_of_the_cut() {
    let mut script = sent(cubic_cut(100), 300);
    script.sack(0, &[(1, 3)]);
    script.forget();
    let mut released = 0;
    for delivered in 1..=90 {
        script.sack(0, &[(1, 3 + delivered)]);
        released += script.sent().len() as u64;
        assert_eq!(released, (70 * delivered).div_ceil(100), "after {delivered} delivered");
    }
    assert_eq!(script.ssthresh(), 70);
}

#[test]
fn below_the_threshold_prr_sends_what_was_delivered_and_one_more_when_una_advances() {
    // 40 − 3 − 30 = 7 in flight at entry, the new threshold is 20.
    let mut script = sent(halved(40), 100);
    script.sack(0, &[(30, 33)]);
    assert_eq!(script.sent(), [0, 1, 2], "three were delivered, in one ACK");
    for end in 34..=40 {
        script.sack(0, &[(30, end)]);
        assert_eq!(script.sent().len(), 1);
    }
    script.advance(RTT);
    script.sack(1, &[(30, 40)]);
    assert_eq!(script.sent().len(), 2);
}

#[test]
fn the_first_ack_of_a_recovery_frees_one_segment_even_if_prr_gives_none() {
    // 10 − 3 SACKed − 2 lost = 5 in flight, as many as half of ten.
    let mut script = sent(halved(10), 30);
    script.sack(0, &[(2, 5)]);
    assert_eq!(script.sent(), [0]);
    assert_eq!(script.info().lost, Segs(2));
}

#[test]
fn an_ack_below_una_still_updates_the_scoreboard_and_releases_a_segment() {
    let mut script = sent(halved(10), 40);
    script.ack(5);
    script.forget();
    script.sack(3, &[(6, 7)]);
    assert_eq!((script.info().sacked, script.sent()), (Segs(1), vec![15]));
    assert_eq!(script.info().bytes_acked.0, crate::script::byte(5));
}

/// An ACK of two segments arrives after an ACK of five, which the peer sent `later`.
fn overtaken(script: &mut Script, later: tailback_units::Span, blocks: &[(u64, u64)]) {
    let mut slow = script.peer_segment(1, 0, SegmentFlags::ACK);
    slow.ack = byte(2);
    slow.sack = blocks.iter().map(|&(start, end)| SackBlock { start: byte(start), end: byte(end) }).collect();
    script.advance(later);
    script.ack(5);
    script.forget();
    script.inject(slow);
}

#[test]
fn an_ack_that_one_sent_two_milliseconds_later_has_overtaken_is_ignored_but_answered() {
    let mut script = sent(halved(10), 40);
    overtaken(&mut script, ms(2), &[(6, 7)]);
    assert_eq!((script.info().sacked, script.sent()), (Segs(0), vec![]));
    assert_eq!(script.acks().len(), 1, "it is out of date (PAWS)");
}

#[test]
fn within_a_tick_of_the_timestamps_an_overtaken_ack_tags_segments_that_never_count_as_delivered() {
    let mut script = sent(halved(10), 40);
    overtaken(&mut script, ms(1), &[(6, 7)]);
    assert_eq!((script.info().sacked, script.info().delivered), (Segs(1), 5 + SYN));
    script.ack(8);
    assert_eq!((script.info().sacked, script.info().delivered), (Segs(0), 7 + SYN));
}

#[test]
fn a_late_duplicate_ack_is_taken_unless_it_is_from_before_the_retransmission_timeout() {
    for (late, sacked) in [(ms(50), 1), (ms(1000), 0)] {
        let mut script = sent(halved(10), 40);
        let mut slow = script.peer_segment(1, 0, SegmentFlags::ACK);
        slow.sack = [SackBlock { start: byte(1), end: byte(2) }].into_iter().collect();
        script.at_with_late_timers(RTT + late);
        // It gives no RTT, which would change the timeout.
        script.ack(0);
        script.inject(slow);
        assert_eq!(script.info().sacked, Segs(sacked), "{late}");
    }
}

#[test]
fn segments_that_arrived_twice_count_as_delivered_twice() {
    let mut script = reordered_by_five(true);
    let before = script.info().delivered;
    script.sack(6, &[(0, 1)]);
    assert_eq!(script.info().delivered, before + 1);
}

#[test]
fn a_dsack_of_more_than_was_ever_sent_again_is_not_believed() {
    let mut script = sent(halved(10), 40);
    script.ack(5);
    let before = script.info().delivered;
    script.sack(5, &[(0, 5)]);
    assert_eq!((script.info().delivered, script.info().dsack_dups), (before, 5));
    assert_eq!(script.info().ca_state, CaState::Open);
}

#[test]
fn a_dsack_that_arrives_when_nothing_is_outstanding_undoes_the_reduction() {
    let mut script = sent(cubic_cut(10), 10);
    for end in 2..=6 {
        script.sack(0, &[(1, end)]);
    }
    assert_eq!((script.sent(), script.ssthresh()), (vec![0], 7));
    script.advance(ms(5));
    script.ack(10);
    let reduced = script.ssthresh();
    script.sack(10, &[(0, 1)]);
    assert_eq!((reduced, script.ssthresh(), script.cwnd()), (7, 10, 10));
}

#[test]
fn two_segments_that_overtake_a_third_only_change_the_state_to_disorder() {
    let mut script = sent(halved(10), 40);
    script.sack(0, &[(1, 2)]);
    script.sack(0, &[(1, 3)]);
    assert_eq!((script.info().ca_state, script.cwnd()), (CaState::Disorder, 10));
    script.sack(3, &[]);
    assert_eq!((script.info().ca_state, script.info().total_retrans), (CaState::Open, 0));
    assert!(script.cwnd() >= 10);
}

/// Segment 0 arrives after segments 1 to 5, and has caused a spurious recovery.
fn reordered_by_five(echo_tells: bool) -> Script {
    let mut script = sent(cubic_cut(10), 200);
    for end in 2..=6 {
        script.sack(0, &[(1, end)]);
    }
    assert_eq!(script.info().ca_state, CaState::Recovery);
    script.advance(ms(5));
    if echo_tells {
        script.sack_of_original(6, &[]);
    } else {
        script.ack(6);
    }
    script
}

#[test]
fn reordering_by_five_is_taken_for_loss_once_undone_by_the_echo_and_remembered() {
    let script = reordered_by_five(true);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, 10));
    assert_ne!(script.info().ca_state, CaState::Recovery);
    assert_eq!(script.info().reordering, Segs(6), "from segment 0 to the end of segment 5");
}

#[test]
fn once_reordering_was_seen_a_loss_is_declared_a_quarter_of_a_round_trip_later() {
    let mut script = reordered_by_five(true);
    let highest = quiet_window(&mut script);
    // The head is overtaken by five; the timer, not the third SACK, decides.
    for end in 2..=6 {
        script.sack(highest, &[(highest + 1, highest + end)]);
    }
    assert!(!script.sent().contains(&highest));
    let since = script.clock();
    script.advance(ms(60));
    let sent = script.transmissions();
    let again = sent.iter().find(|sent| sent.number == highest).expect("it is sent again");
    assert_fires(again.at - since, ms(27));
}

/// Everything is acknowledged, and the segments sent then have been in flight for a round trip; returns the first of
/// them.
fn quiet_window(script: &mut Script) -> u64 {
    let next =
        |script: &Script| (script.info().bytes_sent.0 - script.info().bytes_retrans.0) / crate::script::MSS;
    script.advance(RTT);
    let all = next(script);
    script.ack(all);
    script.forget();
    script.advance(RTT);
    all
}

#[test]
fn a_dsack_for_every_retransmission_undoes_the_reduction() {
    let mut script = reordered_by_five(false);
    assert_eq!((script.info().ca_state, script.ssthresh()), (CaState::Recovery, 7));
    script.advance(ms(95));
    script.sack(6, &[(0, 1)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, 10));
    assert_eq!(script.info().ca_state, CaState::Open);
}

#[test]
fn a_dsack_widens_the_reordering_window_by_a_quarter_of_the_round_trip() {
    let mut script = reordered_by_five(true);
    script.advance(ms(95));
    let una = 6;
    script.sack(una, &[(0, 1)]);
    let highest = quiet_window(&mut script);
    for end in 2..=6 {
        script.sack(highest, &[(highest + 1, highest + end)]);
    }
    assert!(!script.sent().contains(&highest));
    let since = script.clock();
    script.advance(ms(100));
    let sent = script.transmissions();
    let again = sent.iter().find(|sent| sent.number == highest).expect("it is sent again");
    assert_fires(again.at - since, ms(52));
}

#[test]
fn a_lost_retransmission_is_found_a_round_trip_later_without_a_timeout() {
    let mut script = sent(halved(10), 60);
    for end in 2..=10 {
        script.sack(0, &[(1, end)]);
    }
    let sent = script.sent();
    assert_eq!(sent[..3], [10, 11, 0]);
    let later = *sent.last().expect("new data went out in recovery");
    assert!(later > 11);
    script.advance(RTT);
    // Everything sent before the retransmission arrived long ago; now a segment sent after it arrives.
    script.sack(0, &[(1, later + 1)]);
    assert_eq!(script.sent()[0], 0);
    assert!(!script.notes().contains(&Note::RetransmissionTimeout));
    assert_eq!((script.info().total_retrans, script.info().ca_state), (2, CaState::Recovery));
}

#[test]
fn a_flight_is_probed_once_even_if_the_probe_was_new_data() {
    let mut script = Script::connect(Setup::new(halved(10), ms(20)));
    script.write(30);
    script.notes();
    script.advance(ms(60));
    assert!(script.notes().contains(&Note::TailLossProbe));
    assert_eq!(script.sent().len(), 11, "ten of the window and the probe");
    script.advance(ms(5));
    script.ack(2);
    script.notes();
    script.advance(ms(150));
    assert!(!script.notes().contains(&Note::TailLossProbe), "the probe is not acknowledged yet");
}

#[test]
fn in_recovery_no_probe_is_sent_and_the_timeout_decides() {
    let mut script = sent(halved(10), 10);
    script.sack(0, &[(1, 4)]);
    assert_eq!(script.sent(), [0]);
    script.notes();
    script.advance(ms(500));
    let notes = script.notes();
    assert!(!notes.contains(&Note::TailLossProbe), "{notes:?}");
    assert!(notes.contains(&Note::RetransmissionTimeout), "{notes:?}");
    assert_eq!(script.sent(), [0]);
}

#[test]
fn with_nothing_in_flight_recovery_may_have_a_window_of_one() {
    let mut script = sent(cubic_cut(10), 2);
    script.sack(0, &[(1, 2)]);
    assert_eq!((script.info().ca_state, script.sent()), (CaState::Disorder, vec![]));
    script.advance(ms(40));
    assert_eq!((script.info().ca_state, script.sent()), (CaState::Recovery, vec![0]));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 7));
}

#[test]
fn a_refusal_by_the_local_queue_reduces_once_and_the_segment_goes_out_later_as_new() {
    let mut script = sent(halved(20), 100);
    script.device = Device::Drops;
    script.ack(1);
    assert_eq!((script.refused, script.info().ca_state, script.ssthresh()), (1, CaState::Cwr, 10));
    script.ack(2);
    assert_eq!((script.refused, script.ssthresh()), (2, 10), "once per window");
    script.device = Device::Sends;
    for acked in 3..=8 {
        script.ack(acked);
    }
    let sent = script.sent();
    assert_eq!(sent[0], 20, "the refused segment");
    assert_eq!((script.info().total_retrans, script.info().lost), (0, Segs(0)));
}

#[test]
fn a_packet_counts_as_sent_if_the_queue_drops_an_older_one_for_it() {
    let mut script = sent(halved(20), 100);
    script.device = Device::Congested;
    script.ack(1);
    assert_eq!((script.sent(), script.info().ca_state, script.ssthresh()), (vec![20], CaState::Cwr, 10));
}

#[test]
fn a_loss_found_during_a_local_reduction_does_not_cut_again() {
    let mut script = sent(halved(20), 100);
    script.device = Device::Congested;
    script.ack(1);
    script.device = Device::Sends;
    script.sack(1, &[(2, 6)]);
    assert_eq!((script.info().ca_state, script.ssthresh()), (CaState::Recovery, 10));
}

#[test]
fn a_first_write_refused_altogether_is_tried_again_by_a_timer() {
    let mut script = Script::connect(Setup::new(control("reno"), RTT));
    script.device = Device::Drops;
    script.write(5);
    assert_eq!(
        (script.refused, script.info().unacked),
        (2, Segs(0)),
        "when it is full, and at the end of the write"
    );
    script.device = Device::Sends;
    script.advance(ms(600));
    assert_eq!(script.sent()[0], 0);
}

#[test]
fn a_head_that_was_sacked_but_is_not_acknowledged_was_discarded_by_the_receiver() {
    let mut script = sent(halved(10), 10);
    script.sack(0, &[(1, 2)]);
    // The hole is filled, but the ACK ends before the SACKed data.
    script.ack(1);
    script.advance(ms(70));
    assert!(script.notes().contains(&Note::RetransmissionTimeout));
    assert_eq!(script.sent()[0], 1);
    assert_eq!(script.info().sacked, Segs(0));
}

#[test]
fn a_hole_filled_by_sack_shows_reordering_and_the_third_sack_no_longer_decides() {
    let mut script = sent(halved(10), 40);
    script.sack(0, &[(2, 3)]);
    script.sack(0, &[(1, 3)]);
    script.sack(0, &[(1, 6)]);
    assert_eq!((script.info().ca_state, script.info().sacked), (CaState::Disorder, Segs(5)));
    script.advance(ms(40));
    assert_eq!(script.info().ca_state, CaState::Recovery);
}

#[test]
fn a_dsack_above_the_ack_counts_when_it_lies_inside_the_second_block() {
    let mut script = sent(cubic_cut(10), 10);
    script.sack(0, &[(1, 3), (4, 7)]);
    script.sack(0, &[(1, 3), (4, 10)]);
    assert_eq!(script.sent(), [0, 3]);
    script.advance(ms(5));
    // Both originals were only late; both retransmissions are reported as duplicates.
    script.sack(0, &[(1, 10)]);
    script.sack(0, &[(3, 4), (1, 10)]);
    assert_eq!(script.info().ca_state, CaState::Recovery);
    script.sack(10, &[(0, 1)]);
    assert_eq!((script.info().ca_state, script.cwnd(), script.ssthresh()), (CaState::Open, 10, 10));
}

#[test]
fn without_sack_the_third_duplicate_recovers_and_a_partial_ack_uncovers_the_next_hole() {
    use tailback_tcp::Agreement;
    let mut script = Script::connecting(Setup::new(control("reno"), ms(50)));
    let (timestamps, sack, window_scaling) = (true, false, true);
    script.endpoint.agree(Agreement { peer_mss: 1460, timestamps, sack, window_scaling });
    script.at(ms(0));
    script.answer_syn();
    script.write(8);
    script.forget();
    script.advance(ms(50));
    // The first ACK after the SYN-ACK also updates the window, so it is not a duplicate.
    for _ in 0..3 {
        script.ack(0);
        assert_eq!(script.sent(), [0u64; 0]);
    }
    script.ack(0);
    assert_eq!((script.sent(), script.info().ca_state), (vec![0], CaState::Recovery));
    script.advance(ms(50));
    script.ack(3);
    assert_eq!(script.sent(), [3], "a partial ACK");
    script.advance(ms(50));
    script.ack(8);
    assert_eq!(script.info().ca_state, CaState::Recovery, "held until more is acknowledged");
    script.write(1);
    script.advance(ms(50));
    script.ack(9);
    assert_eq!((script.info().ca_state, script.cwnd(), script.ssthresh()), (CaState::Open, 5, 5));
}
