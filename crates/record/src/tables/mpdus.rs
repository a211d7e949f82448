//! The packets in the PPDUs of a Wi-Fi cell, within a window of time.

use tailback_units::SimTime;

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One packet in one PPDU; one that was sent again has a row for each time.
    Mpdus of MpdusRow, "mpdus":
    /// When the PPDU began, as in `wifi`.
    t: SimTime as Seconds,
    /// The host that sent it.
    from: Name as Named,
    /// The number of the packet, as in `packets`.
    packet: u64 as Ordinal,
    /// 1 if the MPDU with it arrived, else 0.
    received: u64 as Ordinal,
}
