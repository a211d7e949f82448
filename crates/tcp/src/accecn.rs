//! Accurate ECN: the receiver counts the packets and bytes that arrived with each code point, and every segment tells.
//!
//! ```text
//! SYN        AE, CWR and ECE ask for it; the SYN-ACK tells the code point with which the SYN arrived, and the first ACK
//!            that of the SYN-ACK                                                            [rfc9768 §3.1.2, §3.2.2.1]
//! ACE        the low three bits of the count of marked packets, beginning at 5              [rfc9768 §3.2.2]
//! option     bytes of payload by code point, 24 bits each, ECT(1) first                     [rfc9768 §3.2.3]
//! ACK        at once when the code point changes                                            [rfc9768 §3.2.2.5]
//! ECT(0)     on every packet but SYN and SYN-ACK, unless the handshake showed that the path mangles ECN
//! ```
//! The reading of what the peer tells is in [`feedback`]. As in Linux 7.3, which departs from the standard: each change of the
//! code point is acknowledged at once, and no number of marks is, except that six pending ones are told by the next ACK;
//! a classic SYN after an accurate one is no error; no test looks for a path that marks every packet.
//!
//! Deviations from Linux: while options may be sent, data has room for a whole one, also where `tcp_ecn_option` 1 sends few;
//! the pacing rate follows the payload with the option, and not the MSS without. Marks on packets without payload that
//! arrive while nothing is outstanding are not counted by a side that only receives.
//!
//! Sources: [rfc9768], [linux-7.3 tcp_ecn.h], [linux-7.3 tcp_input.c __tcp_accecn_process, tcp_accecn_process_option],
//! [linux-7.3 tcp_output.c tcp_options_fit_accecn, tcp_established_options]

pub(crate) mod feedback;

use tailback_packet::{AccEcnOption, Ecn, FieldOrder, SackBlocks, Segment, SegmentFlags};
use tailback_units::SimTime;

use crate::config::{OptionUse, Settings};

/// The count of marked packets begins here. [rfc9768 §3.2.1]
const CEP_START: u32 = 5;
/// The counts of bytes begin here: ECT(1), CE, ECT(0). [rfc9768 §3.2.1]
const BYTES_START: [u32; 3] = [1, 0, 1];
/// Packets with marks that no segment has told, as far as they are counted. [linux-7.3 tcp.h received_ce_pending]
const PENDING_MAX: u32 = 15;
/// So many of them are told at once. [linux-7.3 tcp.h TCP_ACCECN_ACE_MAX_DELTA]
const PENDING_TOLD: u32 = 6;
/// Options that follow a change of the code point, so that the last one is not ambiguous. [rfc9768 §3.2.3.3]
const OPTIONS_AFTER_CHANGE: u8 = 2;
/// A counter is told again after so many bytes (as a power of two). [rfc9768 §3.2.3.3]
const TOLD_EACH: u32 = 22;
/// Bytes of options in a header. [rfc9293 §3.1]
const OPTIONS_MAX: u32 = 40;
/// Padding before SACK blocks.
const SACK_PADDING: u32 = 2;
/// SACK blocks that do not give way to the option. [rfc9768 §3.2.3.3]
const SACKS_KEPT: usize = 2;

/// What the handshake or the path has shown not to work; the bits of `tcpi_accecn_fail_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Failures(u8);

impl Failures {
    /// The flags that this side sends may be dropped: its packets are not ECN-capable.
    pub const ACE_SENT: Failures = Failures(1);
    /// The flags or code points that arrive are mangled: its packets are not ECN-capable.
    pub const ACE_RECEIVED: Failures = Failures(2);
    /// Segments with the option do not arrive: none is sent.
    pub const OPTION_SENT: Failures = Failures(4);
    /// Options that arrive are mangled, or none has come for too long: they are not read.
    pub const OPTION_RECEIVED: Failures = Failures(8);

    /// The bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    fn has(self, any: Failures) -> bool {
        self.0 & any.0 != 0
    }

    fn add(&mut self, more: Failures) {
        self.0 |= more.0;
    }
}

/// What is known of the peer's options; the numbers of `tcpi_accecn_opt_seen`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum OptionSeen {
    /// None has come.
    #[default]
    None,
    /// One without fields.
    Empty,
    /// One with counters.
    Counters,
    /// One whose counters were zeroed on the way.
    Zeroed,
}

impl OptionSeen {
    /// A counter that begins at 1 cannot be 0. [rfc9768 §3.2.3.2.4]
    fn of(option: AccEcnOption) -> Self {
        match option.fields() {
            [] => OptionSeen::Empty,
            [0, ..] | [_, _, 0] => OptionSeen::Zeroed,
            _ => OptionSeen::Counters,
        }
    }
}

/// How far the negotiation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Negotiation {
    /// Nothing is agreed.
    Open,
    /// Agreed; the last ACK of the handshake has not come.
    Agreed,
    /// In use.
    Counting,
}

/// Accurate ECN of one socket, both halves.
#[derive(Clone, Debug)]
pub(crate) struct AccEcn {
    negotiation: Negotiation,
    /// The code point with which the peer's SYN or SYN-ACK came.
    syn_arrived: Ecn,
    /// The next ACK tells that, and not the count.
    reflects: bool,
    /// SYN-ACKs that the timer has repeated.
    repeated: u16,
    pub(crate) failures: Failures,
    pub(crate) seen: OptionSeen,
    option_use: OptionUse,
    beacon: u32,
    /// Impossible changes of the ECN field are looked for (`tcp_ecn_fallback`).
    validates: bool,

    pub(crate) received_ce: u32,
    pending: u32,
    /// Bytes of payload that arrived with ECT(1), CE, ECT(0).
    pub(crate) received: [u32; 3],
    /// The code point of the packet before.
    last: Ecn,
    /// Fields that the next option must have.
    required: u8,
    /// Options that must follow.
    demanded: u8,
    option_sent: SimTime,
    /// Where the duplicate begins that the last segment reported beside an option.
    reported: Option<u64>,

    /// Bytes of a header that full segments leave for the option.
    pub(crate) reserved: u32,
    pub(crate) feedback: feedback::Feedback,
}

/// The place of a code point in an option with ECT(1) first.
fn place(code_point: Ecn) -> Option<usize> {
    FieldOrder::Ect1First.code_points().iter().position(|&counted| counted == code_point)
}

/// The code point can become the other one on a path. [rfc9768 §3.2.2.3]
fn can_become(sent: Ecn, arrived: Ecn) -> bool {
    match (sent, arrived) {
        _ if sent == arrived => true,
        (Ecn::NotEct | Ecn::Ce, _) | (_, Ecn::NotEct) => false,
        _ => true,
    }
}

/// ACE that tells the code point with which a SYN or SYN-ACK arrived. [rfc9768 table 2, table 3]
fn reflection(arrived: Ecn) -> SegmentFlags {
    SegmentFlags::of_ace(match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// The code point that such a field tells; undefined values tell what Linux takes them for. [linux-7.3 tcp_ecn.h
/// tcp_accecn_extract_syn_ect]
fn reflected(ace: u32) -> Ecn {
    match ace {
        0b010 => Ecn::NotEct,
        0b000 | 0b100 => Ecn::Ect0,
        0b110 => Ecn::Ce,
        _ => Ecn::Ect1,
    }
}

/// The handshake.
impl AccEcn {
    pub(crate) fn new(settings: &Settings) -> Self {
        AccEcn {
            negotiation: Negotiation::Open,
            syn_arrived: Ecn::NotEct,
            reflects: false,
            repeated: 0,
            failures: Failures::default(),
            seen: OptionSeen::None,
            option_use: settings.ecn_option,
            beacon: settings.ecn_option_beacon,
            validates: settings.ecn_fallback,
            received_ce: 0,
            pending: 0,
            received: [0; 3],
            last: Ecn::NotEct,
            required: 0,
            demanded: 0,
            option_sent: SimTime::ZERO,
            reported: None,
            reserved: 0,
            feedback: feedback::Feedback::default(),
        }
    }

    /// A SYN with these flags asks for it: every combination that no other use of them has. [rfc9768 §3.1.3]
    pub(crate) fn is_asked_by(flags: SegmentFlags) -> bool {
        !matches!(flags.ace(), 0b000 | 0b011)
    }

    /// The SYN arrived, which asks for it.
    pub(crate) fn answer(&mut self, arrived: Ecn) {
        (self.negotiation, self.syn_arrived, self.last) = (Negotiation::Agreed, arrived, arrived);
    }

    /// A SYN arrived again before the handshake ended. [rfc9768 §3.1.5]
    pub(crate) fn answer_again(&mut self, flags: SegmentFlags, arrived: Ecn) {
        self.syn_arrived = arrived;
        self.last = arrived;
        if flags.ace() == 0 {
            self.failures.add(Failures::ACE_RECEIVED);
        }
    }

    /// The flags of the SYN-ACK that is sent now, after `timeouts`, and its option. Without an answer, first the option
    /// and then the flags are left out. [rfc9768 §3.1.4, §3.2.3.2]
    pub(crate) fn syn_ack(&mut self, transmission: u16, timeouts: u16) -> (SegmentFlags, SackBlocks) {
        let repeats = transmission > 0;
        let cleared = repeats && self.repeated > 0;
        self.repeated = timeouts;
        if transmission > 1 {
            self.failures.add(Failures::ACE_SENT);
        }
        let flags = if cleared { SegmentFlags::NONE } else { reflection(self.syn_arrived) };
        let option = match self.option_use {
            OptionUse::Never => SackBlocks::NONE,
            _ if repeats => SackBlocks::NONE,
            _ => SackBlocks::NONE.with_accecn(0, AccEcnOption::new(FieldOrder::Ect1First, &BYTES_START)),
        };
        (flags, option)
    }

    /// The SYN-ACK arrived, which agrees; `sent` is the code point of the SYN. Its ACK tells how it arrived.
    pub(crate) fn take_syn_ack(&mut self, segment: &Segment, sent: Ecn, arrived: Ecn) {
        self.negotiation = Negotiation::Agreed;
        self.syn_arrived = arrived;
        self.reflects = true;
        if let Some(option) = segment.sack.accecn() {
            self.see(option);
            self.demanded = OPTIONS_AFTER_CHANGE;
        }
        let told = segment.flags.ace();
        if arrived == Ecn::Ce && (told == 0b101 || self.is_possible(told, sent)) {
            self.received_ce += 1;
            self.pending += 1;
        }
        self.feedback.begin_with_syn();
    }

    /// The ACK arrived that ends the handshake of the side that answered, whose SYN-ACK left with `sent`. Returns the marks
    /// that it tells. [rfc9768 table 4]
    pub(crate) fn take_last_ack(&mut self, segment: &Segment, sent: Ecn, arrived: Ecn) -> u64 {
        self.negotiation = Negotiation::Counting;
        if let Some(option) = segment.sack.accecn() {
            // A connection request does not keep what it says against options. [linux-7.3 tcp_minisocks.c
            // tcp_ecn_openreq_child]
            self.seen = OptionSeen::of(option);
        }
        let told = segment.flags.ace();
        let without_blocks = segment.sack.is_empty();
        let marks = match told {
            0 if without_blocks => {
                self.failures.add(Failures::ACE_RECEIVED);
                self.failures.add(Failures::OPTION_RECEIVED);
                0
            }
            0 | 0b001 | 0b101 | 0b111 => 0,
            _ if segment.end() > segment.seq || !without_blocks => 0,
            _ => u64::from(self.is_possible(told, sent) && reflected(told) == Ecn::Ce),
        };
        self.demanded = self.demanded.max(1);
        self.count(arrived, segment.length, u32::from(segment.count()));
        marks
    }

    /// The side that opened is connected.
    pub(crate) fn begin(&mut self) {
        self.negotiation = Negotiation::Counting;
    }

    /// A SYN-ACK arrived again: the challenge ACK tells how. [linux-7.3 tcp_input.c tcp_validate_incoming]
    pub(crate) fn challenge(&mut self, segment: &Segment, arrived: Ecn) {
        self.syn_arrived = arrived;
        self.reflects = true;
        if let Some(option) = segment.sack.accecn() {
            self.see(option);
            self.demanded = self.demanded.max(1);
        }
    }

    /// ACE tells that a packet sent with `sent` arrived with a code point that it can have; otherwise the path mangles it.
    fn is_possible(&mut self, told: u32, sent: Ecn) -> bool {
        let possible = !self.validates || can_become(sent, reflected(told));
        if !possible {
            self.failures.add(Failures::ACE_RECEIVED);
        }
        possible
    }

    /// An option arrived, and none with counters before.
    fn see(&mut self, option: AccEcnOption) {
        if self.seen < OptionSeen::Counters {
            self.seen = OptionSeen::of(option);
            if self.seen == OptionSeen::Zeroed {
                self.failures.add(Failures::OPTION_RECEIVED);
            }
        }
    }

    /// Both sides have it.
    pub(crate) fn is_agreed(&self) -> bool {
        self.negotiation != Negotiation::Open
    }

    /// The connection request is dropped.
    pub(crate) fn forget(&mut self, settings: &Settings) {
        *self = AccEcn::new(settings);
    }
}

/// What a receiver does with a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// Nothing more than otherwise.
    Usual,
    /// The next ACK is not delayed.
    AtOnce,
}

/// The receiving half.
impl AccEcn {
    /// A packet of `segments` arrived. [linux-7.3 tcp_ecn.h tcp_ecn_received_counters]
    pub(crate) fn count(&mut self, arrived: Ecn, payload: u32, segments: u32) -> Urgency {
        let marked = arrived == Ecn::Ce;
        if marked {
            self.received_ce = self.received_ce.wrapping_add(segments);
            self.pending = (self.pending + segments).min(PENDING_MAX);
        }
        if let Some(at) = place(arrived).filter(|_| payload > 0) {
            let before = self.received[at];
            self.received[at] = before.wrapping_add(payload);
            self.required = self.required.max(at as u8 + 1);
            if (before ^ self.received[at]) >> TOLD_EACH != 0 {
                self.demanded = self.demanded.max(1);
            }
        }
        let changed = self.last != arrived;
        self.last = arrived;
        if changed || marked {
            self.demanded = OPTIONS_AFTER_CHANGE;
        }
        if changed { Urgency::AtOnce } else { Urgency::Usual }
    }

    /// So many marks are pending that an ACK must tell them before ACE wraps. [linux-7.3 tcp_input.c __tcp_accecn_process]
    pub(crate) fn must_tell(&self) -> bool {
        self.pending >= PENDING_TOLD
    }

    /// Data that begins at `seq` came again, although the last segment reported it beside an option: segments with options
    /// do not arrive. [rfc9768 §3.2.3.2.2] [linux-7.3 tcp_input.c tcp_rcv_spurious_retrans]
    pub(crate) fn came_again(&mut self, seq: u64) {
        if self.reported == Some(seq) {
            self.failures.add(Failures::OPTION_SENT);
        }
    }

    /// ACE of a segment that leaves; `is_ack`: without data.
    pub(crate) fn ace(&mut self, is_ack: bool) -> SegmentFlags {
        if std::mem::take(&mut self.reflects) && is_ack {
            return reflection(self.syn_arrived);
        }
        self.pending = 0;
        SegmentFlags::of_ace(self.received_ce.wrapping_add(CEP_START))
    }

    /// The code point of packets that leave, of which `capable` is the ECN-capable one.
    pub(crate) fn code_point(&self, capable: Ecn) -> Ecn {
        let mangled = self.failures.has(Failures(Failures::ACE_SENT.0 | Failures::ACE_RECEIVED.0));
        if mangled { Ecn::NotEct } else { capable }
    }

    /// Options may be sent: data leaves room for them.
    pub(crate) fn may_send_option(&self) -> bool {
        let works = self.option_use == OptionUse::Persistent || !self.failures.has(Failures::OPTION_SENT);
        self.option_use != OptionUse::Never && self.seen != OptionSeen::None && works
    }

    /// Bytes of a header for which data leaves room.
    pub(crate) fn room(&self) -> u32 {
        if self.may_send_option() { padded(AccEcnOption::FIELDS as u8, 0) } else { 0 }
    }

    /// `net.ipv4.tcp_ecn_option` has changed.
    pub(crate) fn set_option_use(&mut self, to: OptionUse) {
        self.option_use = to;
    }

    fn sends_option(&self, at: &Leaving) -> bool {
        let due = || {
            let since = at.now.since(self.option_sent).as_micros();
            self.beacon > 0 && since * u64::from(self.beacon) >= u64::from(at.srtt_us8 >> 3)
        };
        self.may_send_option() && (self.option_use >= OptionUse::Full || self.demanded > 0 || due())
    }

    /// The blocks of a segment that leaves, with the option if it is sent and fits.
    pub(crate) fn attach(&mut self, sacks: SackBlocks, at: &Leaving) -> SackBlocks {
        let blocks = sacks.as_slice().len();
        let fitting = if self.sends_option(at) { self.fitting(blocks, at.other_options) } else { None };
        let Some((fields, blocks)) = fitting else {
            self.reported = None;
            return sacks;
        };
        let duplicate = sacks.as_slice().first().filter(|block| block.start < at.rcv_nxt);
        self.reported = duplicate.map(|block| block.start);
        self.required = 0;
        self.option_sent = at.now;
        self.demanded = self.demanded.saturating_sub(1);
        let mut numbers = BYTES_START;
        for (number, received) in numbers.iter_mut().zip(self.received) {
            *number = number.wrapping_add(received);
        }
        let option = AccEcnOption::new(FieldOrder::Ect1First, &numbers[..usize::from(fields)]);
        sacks.with_accecn(blocks, option)
    }

    /// How many fields and how many of the SACK blocks fit beside `other` bytes: as many fields as possible beside all
    /// blocks; for a field that must be told, blocks give way, but not the first two. [linux-7.3 tcp_output.c
    /// tcp_options_fit_accecn]
    fn fitting(&self, blocks: usize, other: u32) -> Option<(u8, usize)> {
        let least = if self.required > 0 { blocks.min(SACKS_KEPT) } else { blocks };
        let most = AccEcnOption::FIELDS as u8;
        (least..=blocks).rev().find_map(|kept| {
            let sacks = sacks_length(kept);
            let next = if kept > 0 { SACK_PADDING } else { 0 };
            let fits = |&fields: &u8| other + sacks + padded(fields, next) <= OPTIONS_MAX;
            (self.required..=most).rev().find(fits).map(|fields| (fields, kept))
        })
    }
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) now: SimTime,
    pub(crate) srtt_us8: u32,
    pub(crate) rcv_nxt: u64,
    /// Bytes of its timestamp.
    pub(crate) other_options: u32,
}

/// Bytes of SACK blocks, padding included.
fn sacks_length(blocks: usize) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u32 }
}

/// Bytes by which an option with so many fields makes a header longer, if `next` bytes of padding follow it.
fn padded(fields: u8, next: u32) -> u32 {
    let length = AccEcnOption::length(fields);
    if length % 4 > next { length.next_multiple_of(4) } else { length - length % 4 }
}

/// Bytes of SACK blocks and of the option of accurate ECN in a header.
#[inline]
pub(crate) fn options_length(sacks: &SackBlocks) -> u32 {
    if sacks.is_none() { 0 } else { some_options_length(sacks) }
}

#[inline(never)]
fn some_options_length(sacks: &SackBlocks) -> u32 {
    let blocks = sacks.as_slice().len();
    let next = if blocks > 0 { SACK_PADDING } else { 0 };
    let option = sacks.accecn().map_or(0, |option| padded(option.fields().len() as u8, next));
    sacks_length(blocks) + option
}

#[cfg(test)]
mod tests;
