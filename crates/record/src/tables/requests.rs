//! Requests over TCP and the time until they were answered.

use tailback_units::{Bytes, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One request of a client.
    Requests of RequestsRow, "requests":
    /// When it was sent.
    t: SimTime as Seconds,
    /// The connection.
    flow: Name as Named,
    /// The number of the request on the connection.
    seq: u64 as Ordinal,
    /// Bytes of the answer.
    bytes: Bytes as InBytes,
    /// Time until the last byte of the answer was read; null if that did not happen.
    latency_ms: Option<Span> as Milliseconds,
}
