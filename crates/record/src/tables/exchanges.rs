//! What the ends of connections that exchange messages have sent.

use tailback_units::SimTime;

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One end of the connections of requests, a page or a video, at the end of an interval in which it sent anything;
    /// counters since they began, of all its connections together.
    Exchanges of ExchangesRow, "exchanges":
    /// When the sample was taken.
    t: SimTime as Seconds,
    /// The conversation.
    flow: Name as Named,
    /// `client` or `server`.
    end: &'static str as Word,
    /// Segments with data that it sent, retransmissions included.
    data_segs_out: u64 as SegmentCount,
    /// Segments that it retransmitted.
    total_retrans: u64 as SegmentCount,
}
