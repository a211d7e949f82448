//! The delays of UDP datagrams, those that are alike together.

use tailback_units::{SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// Datagrams of one UDP flow that arrived within the same 10 ms with the same delay to 1/128, as
    /// [`tailback_units::Delays`] counts them.
    Delays of DelaysRow, "delays":
    /// When the last of them arrived.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// How many they are.
    packets: u64 as Packets,
    /// Their mean one-way delay.
    delay_ms: f64 as InMilliseconds,
    /// The shortest of their delays.
    shortest_ms: Span as Milliseconds,
    /// The longest of their delays.
    longest_ms: Span as Milliseconds,
}
