//! Each datagram of a call or a game that arrived.

use tailback_units::{SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One datagram of a flow whose datagrams matter one by one.
    Datagrams of DatagramsRow, "datagrams":
    /// When it arrived.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// The one-way delay of the datagram.
    delay_ms: Span as Milliseconds,
}
