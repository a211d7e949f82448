//! Where packets were within a window of time: one packet on its way over one device.

use tailback_units::{Bytes, SimTime};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One packet from its arrival at a device to its arrival at the other end of the link, or to its end.
    Packets of PacketsRow, "packets":
    /// When it came to the device.
    t: SimTime as Seconds,
    /// The device, as `client -> router`.
    device: Name as Named,
    /// The flow it belongs to; the answers of a receiver belong to the flow, too.
    flow: Name as Named,
    /// Its number: the same on all its devices.
    packet: u64 as Ordinal,
    /// What it carries.
    what: &'static str as Word,
    /// The first byte of its data or the byte that it acknowledges, or its number in its flow.
    seq: Option<u64> as Ordinal,
    /// Length of the IP packet.
    bytes: Bytes as InBytes,
    /// Segments of a train; 1 without offloads.
    segments: u64 as Packets,
    /// Its ECN bits at the end of this way.
    ecn: &'static str as Word,
    /// When it left the discipline; null if it did not.
    dequeued: Option<SimTime> as Seconds,
    /// When its last bit left; null if it did not, or over a radio.
    sent: Option<SimTime> as Seconds,
    /// When it arrived or was dropped; null if the run ended before.
    ended: Option<SimTime> as Seconds,
    /// `arrived`, or why it was dropped.
    end: Option<&'static str> as Word,
}
