//! UDP datagrams: sent, received, and their one-way delays.

use tailback_units::{SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// The datagrams of one UDP flow in one bin; a bin without datagrams has no row.
    Udp of UdpRow, "udp":
    /// End of the bin.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// Datagrams that its application sent within the bin.
    sent: u64 as Packets,
    /// Datagrams that arrived within the bin.
    received: u64 as Packets,
    /// Mean one-way delay of those that arrived; null if none did.
    delay_ms: Option<Span> as Milliseconds,
    /// Longest one-way delay of those that arrived.
    longest_ms: Option<Span> as Milliseconds,
}
