use tailback_packet::{AccEcnOption, Ecn, FieldOrder, SackBlock, SackBlocks, Segment, SegmentFlags};
use tailback_units::SimTime;

use super::feedback::{Around, Delivered};
use super::{AccEcn, Failures, Leaving, OptionSeen, Urgency, options_length};
use crate::config::{OptionUse, Settings};
use crate::testing;

const CODE_POINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

fn accurate(option_use: OptionUse) -> AccEcn {
    AccEcn::new(&Settings { ecn_option: option_use, ..Settings::default() })
}

/// A segment without data whose ACE is `ace`.
fn ack(ace: u32) -> Segment {
    Segment { length: 0, flags: SegmentFlags::ACK.with(SegmentFlags::of_ace(ace)), ..testing::data() }
}

fn with_option(mut segment: Segment, fields: &[u32]) -> Segment {
    segment.sack = SackBlocks::NONE.with_accecn(0, AccEcnOption::new(FieldOrder::Ect1First, fields));
    segment
}

fn leaving(other_options: u32) -> Leaving {
    Leaving { now: SimTime::from_nanos(10_000_000), srtt_us8: 8 * 50_000, rcv_nxt: 1_000, other_options }
}

/// One that has seen an option of its peer.
fn open(option_use: OptionUse) -> AccEcn {
    let mut state = accurate(option_use);
    state.answer(Ecn::NotEct);
    let _ = state.take_last_ack(&with_option(ack(0b010), &[1, 0, 1]), Ecn::NotEct, Ecn::Ect0);
    state
}

#[test]
fn syn_ack_and_first_ack_tell_the_code_point_of_what_they_answer() {
    // [rfc9768 tables 2 and 3]
    for (arrived, ace, counted) in CODE_POINTS
        .into_iter()
        .zip([0b010, 0b011, 0b100, 0b110])
        .zip([5, 5, 5, 6])
        .map(|((a, b), c)| (a, b, c))
    {
        let (mut server, mut client) = (accurate(OptionUse::Full), accurate(OptionUse::Full));
        server.answer(arrived);
        assert_eq!(server.syn_ack(0, 0).0.ace(), ace, "{arrived:?}");
        client.take_syn_ack(&ack(0b010), Ecn::NotEct, arrived);
        assert_eq!(client.ace(true).ace(), ace, "{arrived:?}");
        assert_eq!(client.ace(true).ace(), counted, "{arrived:?}: then it counts");
    }
}

#[test]
fn a_syn_ack_without_an_answer_loses_its_option_and_then_its_flags() {
    let mut server = accurate(OptionUse::Full);
    server.answer(Ecn::Ect0);
    let sent = [(0, 0), (1, 1), (2, 2), (3, 3)].map(|(transmission, timeouts)| {
        let (flags, option) = server.syn_ack(transmission, timeouts);
        (flags.ace(), option.accecn().is_some())
    });
    assert_eq!(sent, [(0b100, true), (0b100, false), (0, false), (0, false)]);
    assert_eq!(server.code_point(Ecn::Ect0), Ecn::NotEct, "the flags may be what is dropped");
}

#[test]
fn only_flags_that_nothing_else_uses_ask_for_it() {
    let asks = |ace| AccEcn::is_asked_by(SegmentFlags::of_ace(ace));
    assert_eq!((0..8).map(asks).collect::<Vec<_>>(), [false, true, true, false, true, true, true, true]);
}

#[test]
fn the_last_ack_shows_what_the_path_does() {
    // ACE, marks, and whether packets stay ECN-capable after a SYN-ACK that left as Not-ECT. [rfc9768 table 4]
    let rows = [
        (0b000, 0, false),
        (0b001, 0, true),
        (0b010, 0, true),
        (0b011, 0, false),
        (0b100, 0, false),
        (0b101, 0, true),
        (0b110, 0, false),
        (0b111, 0, true),
    ];
    for (ace, marks, capable) in rows {
        let mut server = accurate(OptionUse::Full);
        server.answer(Ecn::NotEct);
        assert_eq!(server.take_last_ack(&ack(ace), Ecn::NotEct, Ecn::Ect0), marks, "{ace:03b}");
        assert_eq!(server.code_point(Ecn::Ect0) == Ecn::Ect0, capable, "{ace:03b}");
    }
    let settings = Settings { ecn_fallback: false, ..Settings::default() };
    let mut trusting = AccEcn::new(&settings);
    trusting.answer(Ecn::NotEct);
    assert_eq!(trusting.take_last_ack(&ack(0b110), Ecn::NotEct, Ecn::Ect0), 1);
}

#[test]
fn packets_and_bytes_are_counted_by_code_point_and_a_change_is_told_at_once() {
    let mut receiver = open(OptionUse::Full);
    let arrived = [(Ecn::Ect0, 1000), (Ecn::Ce, 1000), (Ecn::Ce, 0), (Ecn::Ect1, 500)];
    let urgency = arrived.map(|(ecn, payload)| receiver.count(ecn, payload, 1));
    assert_eq!(urgency, [Urgency::Usual, Urgency::AtOnce, Urgency::Usual, Urgency::AtOnce]);
    assert_eq!((receiver.received_ce, receiver.received), (2, [500, 1000, 1000]));
    assert_eq!(receiver.ace(true).ace(), 5 + 2);
    assert_eq!(receiver.count(Ecn::Ce, 3000, 3), Urgency::AtOnce);
    assert_eq!(receiver.ace(false).ace(), (5 + 5) % 8, "a merged packet counts as many");
}

#[test]
fn six_marks_that_no_segment_has_told_are_told_at_once() {
    let mut receiver = open(OptionUse::Full);
    receiver.count(Ecn::Ce, 1000, 5);
    assert!(!receiver.must_tell());
    receiver.count(Ecn::Ce, 1000, 1);
    assert!(receiver.must_tell());
    let _ = receiver.ace(true);
    assert!(!receiver.must_tell());
}

fn blocks(starts: &[u64]) -> SackBlocks {
    starts.iter().map(|&start| SackBlock { start, end: start + 100 }).collect()
}

#[test]
fn the_option_has_the_fields_that_fit_and_sack_blocks_beyond_two_give_way() {
    // Fields and blocks of a segment with timestamps, after data with a code point arrived. [linux-7.3 tcp_output.c
    // tcp_options_fit_accecn]
    let sent = |arrived: Ecn, count: usize| {
        let mut state = open(OptionUse::Full);
        state.required = 0;
        let _ = state.count(arrived, 1000, 1);
        let starts = [2_000, 4_000, 6_000];
        let sacks = state.attach(blocks(&starts[..count]), &leaving(12));
        let length = 12 + options_length(&sacks);
        assert!(length <= 40 && length.is_multiple_of(4), "{length}");
        (sacks.accecn().map(|option| option.fields().len()), sacks.as_slice().len())
    };
    assert_eq!(sent(Ecn::Ect1, 0), (Some(3), 0));
    assert_eq!(sent(Ecn::Ect0, 1), (Some(3), 1));
    assert_eq!(sent(Ecn::Ect1, 2), (Some(2), 2));
    assert_eq!(sent(Ecn::Ect0, 2), (None, 2));
    assert_eq!(sent(Ecn::Ce, 3), (Some(2), 2));
    assert_eq!(sent(Ecn::Ect0, 3), (None, 3), "the field of ECT(0) is the last");
    assert_eq!(sent(Ecn::NotEct, 3), (Some(0), 3), "an empty one takes the place of padding");
}

#[test]
fn with_few_options_a_change_is_told_twice_and_the_beacon_three_times_per_round_trip() {
    let mut state = open(OptionUse::Minimum);
    let mut at = leaving(12);
    let mut sends = |state: &mut AccEcn, after_us: u64| {
        at.now += tailback_units::Span::from_micros(after_us);
        state.attach(SackBlocks::NONE, &at).accecn().is_some()
    };
    while state.demanded > 0 {
        sends(&mut state, 0);
    }
    assert!(!sends(&mut state, 100));
    let _ = state.count(Ecn::Ce, 1000, 1);
    assert_eq!([0; 3].map(|_| sends(&mut state, 100)), [true, true, false]);
    assert!(!sends(&mut state, 16_000));
    assert!(sends(&mut state, 1_000), "a third of the round trip of 50 ms");
    assert!(!open(OptionUse::Never).may_send_option());
}

#[test]
fn data_that_comes_again_after_its_duplicate_was_reported_beside_an_option_ends_options() {
    let mut state = open(OptionUse::Full);
    let _ = state.attach(blocks(&[1]), &leaving(12));
    state.came_again(1);
    assert!(!state.may_send_option() && state.room() == 0);
    let mut persistent = open(OptionUse::Persistent);
    let _ = persistent.attach(blocks(&[1]), &leaving(12));
    persistent.came_again(1);
    assert!(persistent.may_send_option());
}

#[test]
fn counters_that_are_zeroed_on_the_way_are_not_read() {
    let mut client = accurate(OptionUse::Full);
    client.take_syn_ack(&with_option(ack(0b010), &[0, 0, 1]), Ecn::NotEct, Ecn::NotEct);
    assert_eq!(client.seen, OptionSeen::Zeroed);
    assert!(client.failures.has(Failures::OPTION_RECEIVED));
}

/// The marks of an ACK that delivers `packets` full segments of 1460 bytes, whose option, if `ceb` is given, counts so many
/// marked bytes more.
fn decoded(packets: u64, least: u32, ceb: Option<u32>, per_ack: u32) -> u64 {
    let mut sender = open(OptionUse::Full);
    // Bytes of ECT(0) alone have grown before.
    let _ = sender.marks_of(
        &with_option(ack(5), &[1, 0, 1_461]),
        Delivered { packets: 1, bytes: 1460 },
        &around(),
    );
    sender.feedback.per_ack = per_ack << 6;
    let bytes = packets * 1460;
    let plain = bytes as u32 - ceb.unwrap_or(0);
    let segment = ack((5 + least) % 8);
    let segment = match ceb {
        Some(marked) => with_option(segment, &[1, marked, 1_461 + plain]),
        None => segment,
    };
    if ceb.is_none() {
        sender.feedback.growing = None;
    }
    sender.marks_of(&segment, Delivered { packets, bytes }, &around())
}

fn around() -> Around {
    Around { mss: 1460, sent: 100_000, marks: 0, exact: true }
}

#[test]
fn ace_tells_few_marks_exactly() {
    for marks in 0..8 {
        assert_eq!(decoded(7, marks, None, 1), u64::from(marks));
    }
}

#[test]
fn without_an_option_an_ack_of_many_packets_tells_the_most_marks_unless_acks_are_thinned() {
    assert_eq!(decoded(9, 2, None, 1), 2, "of nine packets two were marked, not ten");
    assert_eq!(decoded(10, 2, None, 1), 10);
    assert_eq!(decoded(10, 2, None, 8), 2);
}

#[test]
fn a_sender_that_has_seen_no_option_in_8_mib_reads_none() {
    let mut sender = accurate(OptionUse::Full);
    sender.answer(Ecn::NotEct);
    let late = Around { sent: (1 << 23) - 1, ..around() };
    let _ = sender.marks_of(&ack(5), Delivered { packets: 1, bytes: 1460 }, &late);
    assert_eq!((sender.seen, sender.failures.has(Failures::OPTION_RECEIVED)), (OptionSeen::Zeroed, true));
}

#[test]
fn counters_of_bytes_wrap_and_count_back() {
    let mut sender = open(OptionUse::Full);
    let mut delivered = |e0b: u32| {
        let segment = with_option(ack(5), &[1, 0, e0b & 0xff_ffff]);
        let _ = sender.marks_of(&segment, Delivered { packets: 1, bytes: 0 }, &around());
        sender.feedback.delivered[2]
    };
    assert_eq!(delivered(0x7f_0001), 0x7f_0000);
    assert_eq!(delivered(0xfe_0001), 0xfe_0000);
    assert_eq!(delivered(0x100_0011), 0x100_0010, "24 bits have wrapped");
    assert_eq!(delivered(0x100_0001), 0x100_0000, "an ACK was overtaken");
}
