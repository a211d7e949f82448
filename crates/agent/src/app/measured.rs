//! What was measured of a conversation, and its rows of the tables.

use tailback_traffic::Row;
use tailback_units::{Bytes, SimTime, Span};

use super::{TableKind, Tables};

/// Bytes received, by bin; datagrams count here, too.
const FLOWS: TableKind = TableKind { name: "flows", columns: &["t_ns", "flow", "bytes"] };
const SEGMENTS: TableKind = TableKind { name: "segments", columns: &["flow", "data_segs_out"] };
/// Flows with a number of bytes: when they connected, and how long until all was acknowledged.
const COMPLETIONS: TableKind = TableKind { name: "completions", columns: &["t_ns", "flow", "completion_ns"] };
const OBJECTS: TableKind =
    TableKind { name: "objects", columns: &["t_ns", "page", "object", "bytes", "loaded_ns"] };
const PING: TableKind = TableKind { name: "ping", columns: &["t_ns", "ping", "seq", "rtt_ns"] };
const REQUESTS: TableKind =
    TableKind { name: "requests", columns: &["t_ns", "flow", "seq", "bytes", "latency_ns"] };
const DATAGRAMS: TableKind = TableKind {
    name: "datagrams",
    columns: &["t_ns", "flow", "sent", "received", "delay_sum_ns", "longest_ns"],
};
const ARRIVALS: TableKind = TableKind { name: "arrivals", columns: &["t_ns", "flow", "delay_ns"] };
const DELAYS: TableKind = TableKind {
    name: "delays",
    columns: &["t_ns", "flow", "packets", "sum_ns", "shortest_ns", "longest_ns"],
};
const VIDEO: TableKind = TableKind {
    name: "video",
    columns: &["t_ns", "video", "segment", "bitrate", "bytes", "buffer_ns", "fetch_ns", "waited_ns"],
};

/// The tables that applications fill.
pub const TABLES: [&TableKind; 10] =
    [&FLOWS, &SEGMENTS, &COMPLETIONS, &OBJECTS, &PING, &REQUESTS, &DATAGRAMS, &ARRIVALS, &DELAYS, &VIDEO];

/// Counts of one bin at the ends that are here.
#[derive(Clone, Copy, Default)]
pub struct Bin {
    /// Bytes that were read.
    pub bytes: u64,
    /// Datagrams that were sent.
    pub sent: u64,
    received: u64,
    delay_sum_ns: i64,
    longest_ns: Option<i64>,
}

impl Bin {
    /// A datagram has arrived.
    pub fn count_arrived(&mut self, bytes: Bytes, delay_ns: i64) {
        self.received += 1;
        self.bytes += bytes.get();
        self.delay_sum_ns = self.delay_sum_ns.saturating_add(delay_ns);
        self.longest_ns = Some(self.longest_ns.map_or(delay_ns, |longest| longest.max(delay_ns)));
    }
}

/// What was measured so far.
pub struct Measured {
    bins: Vec<Bin>,
    /// Rows, with the time when they were recorded.
    pub rows: Vec<(SimTime, Row)>,
    /// When the flow connected.
    pub begun: Option<SimTime>,
    /// When its last byte was acknowledged.
    pub completed: Option<SimTime>,
    /// The first error.
    pub failure: Option<String>,
}

impl Measured {
    /// Nothing yet.
    pub fn new(bins: usize) -> Self {
        Self {
            bins: vec![Bin::default(); bins],
            rows: Vec::new(),
            begun: None,
            completed: None,
            failure: None,
        }
    }

    /// Counts in a bin; there is none after the end of the run.
    pub fn bin(&mut self, number: usize, count: impl FnOnce(&mut Bin)) {
        if let Some(bin) = self.bins.get_mut(number) {
            count(bin);
        }
    }

    /// Bytes that were read.
    pub fn bytes(&self) -> u64 {
        self.bins.iter().map(|bin| bin.bytes).sum()
    }

    /// Writes the counts of all bins.
    pub fn write_bins(&self, flow: &str, interval_ns: u64, tables: &mut Tables) {
        for (number, bin) in self.bins.iter().enumerate() {
            let t_ns = (number as u64 + 1) * interval_ns;
            if bin.sent + bin.received > 0 {
                let mut row = tables.row_at(&DATAGRAMS, t_ns);
                row.cell(t_ns).name(flow).cell(bin.sent).cell(bin.received);
                row.cell(bin.delay_sum_ns).maybe(bin.longest_ns);
            }
            if bin.bytes > 0 {
                tables.row_at(&FLOWS, t_ns).cell(t_ns).name(flow).cell(bin.bytes);
            }
        }
    }

    /// Writes how long the flow took that was to send a number of bytes, if it has begun.
    pub fn write_completion(&self, flow: &str, tables: &mut Tables) {
        let Some(begun) = self.begun else { return };
        let lasted_ns = self.completed.map(|completed| completed.since(begun).as_nanos());
        let t_ns = begun.as_nanos();
        tables.row_at(&COMPLETIONS, t_ns).cell(t_ns).name(flow).maybe(lasted_ns);
    }
}

/// Writes how many segments with data a sender has sent.
pub fn write_segments(flow: &str, segments: u64, tables: &mut Tables) {
    tables.row(&SEGMENTS).name(flow).cell(segments);
}

/// Writes a row that was recorded at `at`.
pub fn write(name: &str, at: SimTime, row: &Row, tables: &mut Tables) {
    let ns = |span: Span| span.as_nanos();
    match *row {
        Row::Request { asked, number, bytes, latency } => {
            let mut row = tables.row_at(&REQUESTS, asked.as_nanos());
            row.cell(asked.as_nanos()).name(name).cell(number).cell(bytes.get()).maybe(latency.map(ns));
        }
        Row::Object { start, number, bytes, loaded } => {
            let mut row = tables.row_at(&OBJECTS, start.as_nanos());
            row.cell(start.as_nanos()).name(name).cell(number).cell(bytes.get()).maybe(loaded.map(ns));
        }
        Row::Segment { number, asked, bitrate, bytes, buffer, fetched, waited } => {
            let mut row = tables.row_at(&VIDEO, asked.as_nanos());
            row.cell(asked.as_nanos()).name(name).cell(number).cell(bitrate.bits_per_sec());
            row.cell(bytes.get()).cell(ns(buffer)).maybe(fetched.map(ns)).cell(ns(waited));
        }
        Row::Echo { number, sent, round_trip } => {
            let mut row = tables.row_at(&PING, sent.as_nanos());
            row.cell(sent.as_nanos()).name(name).cell(number).maybe(round_trip.map(ns));
        }
        Row::Datagram(delay_ns) => {
            tables.row_at(&ARRIVALS, at.as_nanos()).cell(at.as_nanos()).name(name).cell(delay_ns);
        }
        Row::Delays(cell) => {
            let t_ns = cell.last.as_nanos();
            let mut row = tables.row_at(&DELAYS, t_ns);
            row.cell(t_ns).name(name).cell(cell.count).cell(cell.sum_ns);
            row.cell(cell.shortest_ns).cell(cell.longest_ns);
        }
    }
}
