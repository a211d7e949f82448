//! How long packets were in the root discipline of a device.

use tailback_units::{SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// Packets that left the root discipline of one device within the same slot of time and had been there for about as
    /// long as each other, as [`tailback_units::Histogram`] counts them. Slots do not depend on samples.
    Sojourns of SojournsRow, "sojourns":
    /// End of the slot.
    t: SimTime as Seconds,
    /// Its beginning.
    since: SimTime as Seconds,
    /// The device, as `client -> router`.
    device: Name as Named,
    /// How many they are; a train counts as its segments.
    packets: u64 as Packets,
    /// How long they were there: the middle of their cell, 0 if they did not wait.
    sojourn_ms: Span as Milliseconds,
}
