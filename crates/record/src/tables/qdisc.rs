//! Queue disciplines: occupancy at the time of the sample, counters since the start of the run.

use tailback_units::{Bytes, SimTime};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One discipline of one device at one moment; the counters are those of `tc -s qdisc`.
    Qdisc of QdiscRow, "qdisc":
    /// When the sample was taken.
    t: SimTime as Seconds,
    /// The device, as `client -> router`.
    device: Name as Named,
    /// The kind, as `tc` calls it.
    kind: &'static str as Word,
    /// 0 for the root, 1 for its child, ...
    depth: u64 as Ordinal,
    /// Frame bytes held.
    backlog_bytes: Bytes as InBytes,
    /// Packets held.
    backlog_packets: u64 as Packets,
    /// Frame bytes that left.
    sent_bytes: Bytes as InBytes,
    /// Packets that left.
    sent_packets: u64 as Packets,
    /// Packets dropped.
    dropped: u64 as Packets,
    /// Times a shaper had a packet but no tokens.
    overlimits: u64 as Ordinal,
    /// Times a packet was put back.
    requeues: u64 as Ordinal,
    /// Packets marked CE.
    marked: u64 as Packets,
    /// The most frame bytes held since the sample before.
    max_backlog_bytes: Bytes as InBytes,
    /// The most packets held since the sample before.
    max_backlog_packets: u64 as Packets,
}
