//! A TCP segment: header fields as numbers, options as values.

use std::cell::RefCell;
use std::fmt::{self, Debug, Formatter};

use tailback_units::SimTime;

use crate::AccEcnOption;

/// TCP header flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentFlags(u16);

impl SegmentFlags {
    /// No flag.
    pub const NONE: SegmentFlags = SegmentFlags(0);
    /// Synchronise.
    pub const SYN: SegmentFlags = SegmentFlags(0x02);
    /// No more data.
    pub const FIN: SegmentFlags = SegmentFlags(0x01);
    /// Reset.
    pub const RST: SegmentFlags = SegmentFlags(0x04);
    /// Push.
    pub const PSH: SegmentFlags = SegmentFlags(0x08);
    /// The acknowledgement number counts.
    pub const ACK: SegmentFlags = SegmentFlags(0x10);
    /// ECN echo.
    pub const ECE: SegmentFlags = SegmentFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: SegmentFlags = SegmentFlags(0x80);
    /// Accurate ECN. [rfc9768 §3.1]
    pub const AE: SegmentFlags = SegmentFlags(0x100);
    /// The field ACE of a segment without SYN, while accurate ECN is in use: AE, CWR and ECE are a number.
    pub const ACE: SegmentFlags = SegmentFlags(0x1c0);

    /// True if every flag of `other` is set.
    pub const fn contains(self, other: SegmentFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of flags.
    pub const fn with(self, other: SegmentFlags) -> SegmentFlags {
        SegmentFlags(self.0 | other.0)
    }

    /// These flags but those of `other`.
    pub const fn without(self, other: SegmentFlags) -> SegmentFlags {
        SegmentFlags(self.0 & !other.0)
    }

    /// The flags on the wire: the low octet, and AE in the octet before it.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The flags of which ACE is the low three bits of `number`. [rfc9768 §3.2.2]
    pub const fn of_ace(number: u32) -> SegmentFlags {
        SegmentFlags((number as u16 & 7) << 6)
    }

    /// ACE as a number: AE is its highest bit, ECE its lowest. [rfc9768 §3.2.2]
    pub const fn ace(self) -> u32 {
        (self.0 as u32 >> 6) & 7
    }
}

/// Bytes `start..end` of the stream that the receiver holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Maximum number of SACK blocks in an option: four, or three with timestamps. [rfc2018 §3]
pub const SACK_BLOCKS_MAX: usize = 4;

/// SACK blocks, and the option of accurate ECN; boxed, since most segments carry neither, so that a packet stays small.
#[derive(Clone, Debug, Default)]
pub struct SackBlocks(Option<Box<Held>>);

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice() && self.accecn() == other.accecn()
    }
}

impl Eq for SackBlocks {}

#[derive(Clone, Debug, Default)]
struct Held {
    blocks: [SackBlock; SACK_BLOCKS_MAX],
    count: usize,
    accecn: Option<AccEcnOption>,
}

/// Boxes that a thread keeps at most; as many are on their way in a large run.
const SPARE_MAX: usize = 4096;

thread_local! {
    /// Boxes of blocks that are no longer needed: with losses there is one for every third segment, and to ask the
    /// allocator for each of them is dearer than to fill it.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    static SPARE: RefCell<Vec<Box<Held>>> = const { RefCell::new(Vec::new()) };
}

impl Held {
    /// An empty box.
    fn empty() -> Box<Held> {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        spare.unwrap_or_default()
    }

    /// Keeps a box, to use it again.
    #[inline(never)]
    fn keep(mut held: Box<Held>) {
        (held.count, held.accecn) = (0, None);
        // At the end of the thread there is no list.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(held);
            }
        });
    }
}

impl Drop for SackBlocks {
    #[inline]
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            Held::keep(held);
        }
    }
}

impl SackBlocks {
    /// No block.
    pub const NONE: SackBlocks = SackBlocks(None);

    /// These blocks, in the order of the option.
    pub fn new(blocks: Vec<SackBlock>) -> Self {
        blocks.into_iter().collect()
    }

    /// At most `max` blocks: a duplicate if there is one, then the others.
    pub fn of(duplicate: Option<SackBlock>, others: &[SackBlock], max: usize) -> Self {
        let max = max.min(SACK_BLOCKS_MAX);
        let first = usize::from(duplicate.is_some() && max > 0);
        let count = (first + others.len()).min(max);
        if count == 0 {
            return SackBlocks::NONE;
        }
        let mut held = Held::empty();
        if let Some(duplicate) = duplicate {
            held.blocks[0] = duplicate;
        }
        held.blocks[first..count].copy_from_slice(&others[..count - first]);
        held.count = count;
        SackBlocks(Some(held))
    }

    /// The blocks in the order of the option.
    pub fn as_slice(&self) -> &[SackBlock] {
        self.0.as_ref().map_or(&[], |held| &held.blocks[..held.count])
    }

    /// True if there is no block.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// True if there is neither a block nor the option of accurate ECN.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The option of accurate ECN.
    pub fn accecn(&self) -> Option<AccEcnOption> {
        self.0.as_ref().and_then(|held| held.accecn)
    }

    /// The first `count` of these blocks, and the option of accurate ECN.
    #[must_use]
    pub fn with_accecn(mut self, count: usize, option: AccEcnOption) -> Self {
        let held = self.0.get_or_insert_with(Held::empty);
        held.count = held.count.min(count);
        held.accecn = Some(option);
        self
    }
}

/// As many blocks as fit into the option.
impl FromIterator<SackBlock> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut blocks = blocks.into_iter().take(SACK_BLOCKS_MAX);
        let Some(first) = blocks.next() else { return SackBlocks::NONE };
        let mut held = Held::empty();
        held.blocks[0] = first;
        held.count = 1;
        for block in blocks {
            let count = held.count;
            held.blocks[count] = block;
            held.count += 1;
        }
        SackBlocks(Some(held))
    }
}

/// A time in the timestamp option, or none without the option. It is a single word, since every segment has two; no time
/// is before every time. [rfc7323 §3]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// No time.
    pub const NONE: Timestamp = Timestamp(0);

    /// This time, which is before `SimTime::NEVER`.
    #[inline]
    pub const fn at(time: SimTime) -> Self {
        Timestamp(time.as_nanos() + 1)
    }

    /// The time, if there is one.
    #[inline]
    pub fn time(self) -> Option<SimTime> {
        self.0.checked_sub(1).map(SimTime::from_nanos)
    }

    /// True unless it is none.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }
}

impl From<Option<SimTime>> for Timestamp {
    fn from(time: Option<SimTime>) -> Self {
        time.map_or(Timestamp::NONE, Timestamp::at)
    }
}

impl Debug for Timestamp {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        self.time().fmt(to)
    }
}

/// A TCP segment. Sequence numbers are offsets into the stream; SYN and FIN count one each, the SYN has number 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// First sequence number.
    pub seq: u64,
    /// Payload bytes.
    pub length: u32,
    /// Next byte expected from the peer; counts with [`SegmentFlags::ACK`].
    pub ack: u64,
    /// Advertised window in bytes (already scaled).
    pub window: u64,
    /// Flags.
    pub flags: SegmentFlags,
    /// Payload bytes per wire segment (`gso_size`) of a train; equals `length` for a single segment.
    pub mss: u16,
    /// Timestamp value: the sender's microsecond clock rounded down to the timestamp clock.
    pub tsval: Timestamp,
    /// Timestamp echo reply.
    pub tsecr: Timestamp,
    /// SACK blocks, and the option of accurate ECN.
    pub sack: SackBlocks,
}

impl Segment {
    /// How many segments it is on the wire: more than one if it is a train.
    #[inline]
    pub fn count(&self) -> u16 {
        if self.length <= u32::from(self.mss) {
            return 1;
        }
        self.count_of_train()
    }

    #[inline(never)]
    fn count_of_train(&self) -> u16 {
        if self.mss == 0 {
            return 1;
        }
        self.length.div_ceil(u32::from(self.mss)) as u16
    }

    /// One past the last sequence number, SYN and FIN counted.
    pub fn end(&self) -> u64 {
        let flags = u64::from(self.flags.contains(SegmentFlags::SYN))
            + u64::from(self.flags.contains(SegmentFlags::FIN));
        self.seq + u64::from(self.length) + flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_a_time_or_none_which_is_before_every_time() {
        let (start, later) = (SimTime::ZERO, SimTime::from_nanos(5));
        for time in [None, Some(start), Some(later)] {
            let timestamp = Timestamp::from(time);
            assert_eq!((timestamp.time(), timestamp.is_some()), (time, time.is_some()));
        }
        assert_eq!(Timestamp::NONE, Timestamp::default());
        assert!(Timestamp::NONE < Timestamp::at(start) && Timestamp::at(start) < Timestamp::at(later));
    }
}
