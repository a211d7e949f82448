//! What transports of others report of themselves.

use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One endpoint at one moment. It reports what it likes; the rest is null.
    Endpoints of EndpointsRow, "endpoints":
    /// When it was asked.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// Its host: `from` or `to`.
    end: &'static str as Word,
    /// Congestion window.
    cwnd_bytes: Option<Bytes> as InBytes,
    /// Bytes of its full datagrams.
    datagram_bytes: Option<Bytes> as InBytes,
    /// Data in flight.
    in_flight_bytes: Option<Bytes> as InBytes,
    /// Smoothed round-trip time.
    rtt: Option<Span> as Microseconds,
    /// Minimum of the round-trip time.
    min_rtt: Option<Span> as Microseconds,
    /// Pacing rate.
    pacing_rate: Option<Rate> as BytesPerSecond,
    /// Data of its application that has arrived at this end.
    read_bytes: Option<Bytes> as InBytes,
    /// Datagrams that it takes as lost.
    lost: Option<u64> as Packets,
}
