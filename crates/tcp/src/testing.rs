//! Segments for tests of the receiving half.

use tailback_packet::{SackBlocks, Segment, SegmentFlags, Timestamp};

/// The payload of a full segment, bytes.
pub(crate) const MSS: u32 = 1448;

/// The first full segment of a connection, without timestamps.
pub(crate) fn data() -> Segment {
    Segment {
        seq: 1,
        length: MSS,
        ack: 1,
        window: 65_160,
        flags: SegmentFlags::ACK,
        mss: 1460,
        tsval: Timestamp::NONE,
        tsecr: Timestamp::NONE,
        sack: SackBlocks::NONE,
    }
}
