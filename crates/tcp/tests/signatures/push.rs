//! The segments that carry PSH: the last one of a write, and in between one per half of the largest window.

use tailback_packet::SegmentFlags;
use tailback_units::Span;

use crate::control::window_control;
use crate::script::{Device, MSS, Script, Setup, TRUESIZE, ms};

const RTT: Span = ms(100);
/// Segments of half a window.
const HALF: u64 = 10;

/// A sender whose cwnd never limits, with a peer that advertises 20 segments and a little.
fn sender(cwnd: u32) -> Script {
    let setup =
        Setup { window: 2 * HALF * MSS + 100, ..Setup::new(window_control(cwnd, cwnd, |cwnd| cwnd), RTT) };
    Script::connect(setup)
}

fn pushed(script: &mut Script) -> Vec<u64> {
    let sent = script.transmissions();
    sent.iter()
        .filter(|sent| sent.segment.flags.contains(SegmentFlags::PSH))
        .map(|sent| sent.number)
        .collect()
}

#[test]
fn a_write_has_a_push_past_each_half_of_the_largest_window_and_at_its_end() {
    let mut script = sender(100);
    script.write(18);
    // The eleventh segment is the first that exceeds half of the window; the last one ends the write.
    assert_eq!(pushed(&mut script), [HALF, 17]);
    script.at(RTT);
    script.ack(18);
    script.write(12);
    // Counted from the end of the first write.
    assert_eq!(pushed(&mut script), [18 + HALF, 29]);
}

#[test]
fn a_write_that_continues_a_short_segment_removes_its_push() {
    let mut script = sender(4);
    script.write_bytes(4 * MSS + 100);
    assert_eq!(pushed(&mut script), []);
    script.write_bytes(MSS);
    script.at(RTT);
    script.ack(4);
    assert_eq!(pushed(&mut script), [5]);
}

/// How often a write tries a segment that the local queue refuses.
fn tries(script: &mut Script, write: impl FnOnce(&mut Script)) -> u64 {
    script.device = Device::Drops;
    let before = script.refused;
    write(script);
    script.refused - before
}

#[test]
fn a_refused_segment_is_tried_again_with_each_half_of_the_largest_window_and_at_the_end_of_the_write() {
    // When it is full, past 11, 22 and 33 segments, and at the end.
    assert_eq!(tries(&mut sender(100), |script| script.write(35)), 5);
    assert_eq!(tries(&mut sender(100), |script| script.write(33)), 4, "the end and the third half are one");
    assert_eq!(tries(&mut sender(100), |script| script.write(3)), 2);
    assert_eq!(tries(&mut sender(100), |script| script.write(1)), 1, "it is full at the end");
    assert_eq!(tries(&mut sender(100), |script| script.write_bytes(100)), 1);
}

#[test]
fn what_a_later_try_of_a_write_finds_room_for_leaves_in_order() {
    let mut script = sender(100);
    script.device = Device::DropsFirst(3);
    script.write(15);
    assert_eq!((script.refused, script.info().total_retrans), (3, 0));
    assert_eq!(script.sent(), [], "when it is full, past eleven segments, and at the end");
    let mut script = sender(100);
    script.device = Device::DropsFirst(2);
    script.write(15);
    assert_eq!(script.sent(), Vec::from_iter(0..15));
}

#[test]
fn a_segment_that_waited_before_the_write_is_tried_again_when_the_write_pushes() {
    let mut script = sender(10);
    script.write(11);
    script.device = Device::Drops;
    script.at(RTT);
    assert_eq!(tries(&mut script, |script| script.ack(1)), 1, "an ACK tries once");
    assert_eq!(tries(&mut script, |script| script.write(5)), 1, "at the end");
    assert_eq!(tries(&mut script, |script| script.write(15)), 2, "past half of a window, and at the end");
}

#[test]
fn a_write_that_fills_the_send_buffer_tries_once_more_before_it_waits() {
    let setup = Setup::new(window_control(100, 100, |cwnd| cwnd), RTT);
    let settings = tailback_tcp::Settings { wmem: [4096, TRUESIZE, TRUESIZE], ..setup.settings.clone() };
    let mut script = Script::connect(Setup { settings, ..setup });
    let mut accepted = 0;
    let tried = tries(&mut script, |script| accepted = script.write_what_fits(5 * MSS));
    assert!(accepted < 5 * MSS, "{accepted} bytes fit");
    assert_eq!(tried, 2);
}

#[test]
fn the_end_of_a_write_pushes_nothing_while_its_short_segment_waits_for_a_completion() {
    let mut script = sender(100);
    script.device = Device::Holds;
    script.write(1);
    assert_eq!(tries(&mut script, |script| script.write_bytes(3 * MSS + 100)), 1, "when it is full");
    assert_eq!(tries(&mut sender(100), |script| script.write_bytes(3 * MSS + 100)), 2, "nothing is below");
}
