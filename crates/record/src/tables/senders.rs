//! What held the senders of data at each of their ACKs, within a window of time.

use tailback_units::{Segs, SimTime};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// A sending socket when an ACK had been processed.
    Senders of SendersRow, "senders":
    /// When.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// Why the send gate last refused, as in `tcp_info`.
    held_by: &'static str as Word,
    /// The congestion window.
    snd_cwnd: Segs as Segments,
    /// Segments in flight.
    unacked: Segs as Segments,
}
