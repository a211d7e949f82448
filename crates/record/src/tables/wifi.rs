//! PPDUs on the air of a Wi-Fi cell.

use tailback_units::{Bytes, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One PPDU: an aggregate of MPDUs, or one MPDU alone.
    Wifi of WifiRow, "wifi":
    /// When it began.
    t: SimTime as Seconds,
    /// The host that sent it.
    from: Name as Named,
    /// The host it was for.
    to: Name as Named,
    /// MPDUs in it.
    mpdus: u64 as Ordinal,
    /// MPDUs that arrived.
    received: u64 as Ordinal,
    /// Bytes of the IP packets in it.
    ip_bytes: Bytes as InBytes,
    /// Bytes of all of it.
    psdu_bytes: Bytes as InBytes,
    /// How long it was on the air.
    duration_us: Span as FractionalMicroseconds,
    /// Transmissions of it before this one.
    tries: u64 as Ordinal,
    /// Radios that sent at the same instant, this one included; 0 without a collision.
    colliders: u64 as Ordinal,
    /// From when it was first in its hardware queue and its radio could contend for the medium.
    access_us: Span as FractionalMicroseconds,
    /// Packets that waited in the host behind it.
    queued: u64 as Packets,
    /// Why it was not longer.
    closed_by: &'static str as Word,
}
