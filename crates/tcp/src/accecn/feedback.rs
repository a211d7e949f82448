//! What the peer tells by ACE and by the option: how many of the packets that an ACK delivers were marked.
//!
//! ```text
//! d    = (ACE − 5 − marks so far) mod 8                 the least number of new marks
//! d'   = N − (N − d) mod 8                              the largest number that N delivered packets can have
//! N ≤ 7                         → d
//! no new marked bytes           → d
//! more marked bytes than d full → d'          N ≥ 16: by the share of marked bytes
//! fewer than half of d' full    → d
//! no option, more than four packets per ACK in the mean → d
//! else                          → d'
//! ```
//! Between two options the bytes that are delivered count as those of the code point that alone has grown. [rfc9768 §A.1,
//! §A.2] [linux-7.3 tcp_input.c __tcp_accecn_process]

use tailback_packet::{AccEcnOption, Ecn, Segment};

use super::{AccEcn, BYTES_START, CEP_START, Failures, OptionSeen, place};

/// Marks that ACE can tell apart.
const ACE_MASK: u64 = 7;
/// Bits after the point of the mean number of packets per ACK; the newest counts 1/64. [linux-7.3 tcp_input.c
/// PKTS_ACKED_PREC, PKTS_ACKED_WEIGHT]
const MEAN_BITS: u32 = 6;
/// Mean number of packets per ACK above which ACKs are taken to be thinned. [linux-7.3 tcp_input.c ACK_COMP_THRESH]
const THINNED: u32 = 4;
/// Bytes after which no first option is taken: its counters may have wrapped. [linux-7.3 tcp_input.c
/// tcp_accecn_process_option]
const LATE: u64 = (1 << 23) - 1;

/// The sending half.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feedback {
    /// Bytes that the peer has received with ECT(1), CE, ECT(0).
    pub(crate) delivered: [u32; 3],
    /// The one of them that alone has grown.
    pub(super) growing: Option<usize>,
    /// Mean number of packets that an ACK delivers; 0 before the first.
    pub(super) per_ack: u32,
    /// The timestamp of the segment that is being processed is newer than those before.
    newer: bool,
}

impl Feedback {
    /// The SYN-ACK delivered the SYN.
    pub(super) fn begin_with_syn(&mut self) {
        self.per_ack = 1 << MEAN_BITS;
    }

    /// The timestamp of the segment that is being processed is newer than those before.
    pub(crate) fn is_newer(&self) -> bool {
        self.newer
    }

    /// A segment is being processed.
    pub(crate) fn set_newer(&mut self, newer: bool) {
        self.newer = newer;
    }

    fn average(&mut self, packets: u32) {
        self.per_ack = match (self.per_ack, packets) {
            (mean, 0) => mean,
            (0, packets) => packets << MEAN_BITS,
            (mean, packets) => ((mean << MEAN_BITS) - mean + (packets << MEAN_BITS)) >> MEAN_BITS,
        }
        .min(0xffff);
    }
}

/// What an ACK has delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// The circumstances of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// Payload of a full segment.
    pub(crate) mss: u64,
    /// Bytes sent so far.
    pub(crate) sent: u64,
    /// Marks known so far.
    pub(crate) marks: u64,
    /// The packets that were delivered are known exactly: SACK, or neither losses nor reordering.
    pub(crate) exact: bool,
}

impl AccEcn {
    /// Reads the option. True if its counters tell how many bytes this ACK delivered with each code point.
    fn take_option(&mut self, option: Option<AccEcnOption>, delivered: Delivered, sent: u64) -> bool {
        if self.failures.has(Failures::OPTION_RECEIVED) {
            return false;
        }
        let Some(option) = option else { return self.without_option(delivered, sent) };
        self.see(option);
        let before = self.feedback.growing;
        let mut usable = before.is_some();
        let (mut first, mut ambiguous) = (None, false);
        for (field, code_point) in option.fields().iter().zip(option.order().code_points()) {
            let Some(at) = place(code_point) else { continue };
            let grown = self.feedback.grow(at, *field);
            if grown < 0 {
                (usable, ambiguous) = (false, true);
            }
            if grown != 0 && before != Some(at) {
                if first.is_some() {
                    (usable, ambiguous) = (false, true);
                }
                first = first.or(Some(at));
            }
        }
        self.feedback.growing = if ambiguous { None } else { first.or(before) };
        usable
    }

    fn without_option(&mut self, delivered: Delivered, sent: u64) -> bool {
        if self.seen == OptionSeen::None {
            if sent >= LATE {
                self.seen = OptionSeen::Zeroed;
                self.failures.add(Failures::OPTION_RECEIVED);
            }
            return false;
        }
        let Some(at) = self.feedback.growing else { return false };
        self.feedback.delivered[at] = self.feedback.delivered[at].wrapping_add(delivered.bytes as u32);
        true
    }

    /// The marks of the packets that an ACK delivers.
    pub(crate) fn marks_of(&mut self, ack: &Segment, delivered: Delivered, around: &Around) -> u64 {
        let ce = place(Ecn::Ce).expect("CE is counted");
        let before = self.feedback.delivered[ce];
        let usable = self.take_option(ack.sack.accecn(), delivered, around.sent);
        self.feedback.average(delivered.packets as u32);
        let told = u64::from(ack.flags.ace()) + 8 - u64::from(CEP_START);
        let least = told.wrapping_sub(around.marks) & ACE_MASK;
        let packets = delivered.packets;
        if packets <= ACE_MASK {
            return least;
        }
        let most = packets - ((packets - least) & ACE_MASK);
        if !usable {
            let thinned = self.feedback.per_ack > THINNED << MEAN_BITS;
            return if thinned { least } else { most };
        }
        let bytes = u64::from(self.feedback.delivered[ce].wrapping_sub(before));
        match bytes {
            0 => least,
            _ if packets >= 2 * (ACE_MASK + 1) && around.exact => {
                if delivered.bytes <= bytes {
                    return most;
                }
                let share = (bytes * packets).div_ceil(delivered.bytes);
                most.min(least + (share & !ACE_MASK))
            }
            _ if bytes > least * around.mss => most,
            _ if bytes < most * around.mss / 2 => least,
            _ => most,
        }
    }
}

impl Feedback {
    /// A counter has this value on the wire. Returns by how much it has grown. [linux-7.3 tcp_ecn.h tcp_update_ecn_bytes]
    fn grow(&mut self, at: usize, field: u32) -> i32 {
        let told = field.wrapping_sub(BYTES_START[at]);
        let grown = (told.wrapping_sub(self.delivered[at]) << 8).cast_signed() >> 8;
        self.delivered[at] = self.delivered[at].wrapping_add_signed(grown);
        grown
    }
}
