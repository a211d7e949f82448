//! Echo requests and their round-trip times.

use tailback_units::{SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One echo request.
    Ping of PingRow, "ping":
    /// When it was sent.
    t: SimTime as Seconds,
    /// The ping that sent it.
    ping: Name as Named,
    /// The sequence number of the echo request.
    seq: u64 as Ordinal,
    /// Time until the answer; null if there was none.
    rtt_ms: Option<Span> as Milliseconds,
}
