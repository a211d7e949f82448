//! The results of a run.

use std::ops::Range;
use std::time::Duration;

use tailback_record::Tables;
use tailback_world::Outcome;

/// What a run has recorded.
#[derive(Debug)]
pub struct Report {
    tables: Tables,
    captures: Vec<(String, Vec<u8>)>,
    events: u64,
}

impl Report {
    pub(crate) fn of(outcome: Outcome) -> Self {
        Report { tables: outcome.tables, captures: outcome.captures, events: outcome.cost.events }
    }

    /// The bits per second that the receiver of a flow, of TCP or of endpoints, read within a time; 0 if it read nothing.
    pub fn goodput_bps(&self, flow: &str, within: Range<Duration>) -> f64 {
        let bytes: f64 =
            self.rows("flows", flow, &within).filter_map(|row| self.number("flows", "bytes", row)).sum();
        8.0 * bytes / (within.end - within.start).as_secs_f64()
    }

    /// Round-trip times of a ping, without those that were lost.
    pub fn round_trips(&self, ping: &str, within: Range<Duration>) -> Vec<Duration> {
        let rows = self.rows("ping", ping, &within);
        rows.filter_map(|row| self.number("ping", "rtt_ms", row)).map(milliseconds).collect()
    }

    /// How many packets of a flow were dropped or marked (`"drop"`, `"mark"`).
    pub fn count(&self, what: &str, flow: &str, within: Range<Duration>) -> usize {
        let rows = self.rows("events", flow, &within);
        rows.filter(|&row| self.text("events", "what", row) == Some(what)).count()
    }

    /// A number of a table (`docs/tables.md`); `None` if the cell is empty, or is not there.
    pub fn number(&self, table: &str, column: &str, row: usize) -> Option<f64> {
        self.tables.get(table)?.column(column)?.number(row)
    }

    /// A word of a table.
    pub fn text(&self, table: &str, column: &str, row: usize) -> Option<&str> {
        self.tables.text(self.tables.get(table)?.column(column)?, row)
    }

    /// The captures by host, as pcapng.
    pub fn captures(&self) -> &[(String, Vec<u8>)] {
        &self.captures
    }

    /// How many events the run had: what it cost.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The rows of a table about a name, within a time; their time is the end of what they count.
    fn rows<'a>(
        &'a self,
        table: &'a str,
        name: &'a str,
        within: &Range<Duration>,
    ) -> impl Iterator<Item = usize> + 'a {
        let (from, to) = (within.start.as_secs_f64(), within.end.as_secs_f64());
        let rows = self.tables.get(table).map_or(0, |found| found.rows());
        let named = if table == "ping" { "ping" } else { "flow" };
        (0..rows).filter(move |&row| {
            self.text(table, named, row) == Some(name)
                && self.number(table, "t", row).is_some_and(|at| at > from && at <= to)
        })
    }
}

fn milliseconds(number: f64) -> Duration {
    Duration::from_secs_f64(number / 1e3)
}
