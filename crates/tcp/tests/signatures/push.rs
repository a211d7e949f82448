//! The segments that carry PSH: the last one of a write, and in between one per half of the largest window.

use tailback_packet::SegmentFlags;
use tailback_units::Span;

use crate::control::window_control;
use crate::script::{MSS, Script, Setup, ms};

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
