//! Writes rows as text: one CSV file per table, with empty cells for missing values. Python makes the tables of
//! `docs/contracts.md` from them.

use std::fmt::{Display, Write};
use std::path::Path;

use crate::failure::{Failure, While};
use crate::sys;

/// A table that grows in memory; nothing is written while the run is on.
pub struct Table {
    name: &'static str,
    text: String,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(name: &'static str, columns: &[&str]) -> Self {
        Self { name, text: columns.join(",") + "\n" }
    }

    /// Begins a row.
    pub fn row(&mut self) -> Row<'_> {
        Row { text: &mut self.text, started: false }
    }

    /// The text written since the last call, beginning with the heading.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The name of the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Writes the table into `folder`.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(format!("{}.csv", self.name));
        sys::write_durably(&path, self.text.as_bytes()).doing(format!("writing {}.csv", self.name))
    }
}

/// A table whose rows are sorted by a key at the end; rows of equal keys stay in the order in which they were added.
pub struct Ordered {
    table: Table,
    rows: Vec<(u64, String)>,
}

impl Ordered {
    /// An empty table with these columns.
    pub fn new(name: &'static str, columns: &[&str]) -> Self {
        Self { table: Table::new(name, columns), rows: Vec::new() }
    }

    /// Begins a row with the key `key`.
    pub fn row_at(&mut self, key: u64) -> Row<'_> {
        self.rows.push((key, String::new()));
        let (_, text) = self.rows.last_mut().expect("a row was just added");
        Row { text, started: false }
    }

    /// The name of the table.
    pub fn name(&self) -> &'static str {
        self.table.name
    }

    /// The table with its rows in order.
    pub fn finish(mut self) -> Table {
        self.rows.sort_by_key(|(key, _)| *key);
        self.table.text.extend(self.rows.into_iter().map(|(_, text)| text));
        self.table
    }
}

/// A row being written; it ends when it is dropped.
pub struct Row<'a> {
    text: &'a mut String,
    started: bool,
}

impl Row<'_> {
    /// A cell.
    pub fn cell(&mut self, value: impl Display) -> &mut Self {
        if std::mem::replace(&mut self.started, true) {
            self.text.push(',');
        }
        write!(self.text, "{value}").expect("a string takes all text");
        self
    }

    /// A cell that may be empty.
    pub fn maybe(&mut self, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.cell(value),
            None => self.cell(""),
        }
    }

    /// A cell with a name: quoted, since a name may contain a comma.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.cell(format_args!("\"{}\"", name.replace('"', "\"\"")))
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_empty_cells_where_there_is_no_value_and_quoted_names() {
        let mut table = Table::new("t", &["t", "flow", "rtt"]);
        table.row().cell(5).name("a, \"b\"").maybe(None::<u32>);
        assert_eq!(table.text, "t,flow,rtt\n5,\"a, \"\"b\"\"\",\n");
    }

    #[test]
    fn rows_are_sorted_by_their_keys_and_those_of_one_key_stay_in_order() {
        let mut table = Ordered::new("t", &["t", "flow"]);
        for (t, flow) in [(5, "a"), (7, "a"), (5, "b"), (6, "b")] {
            table.row_at(t).cell(t).cell(flow);
        }
        assert_eq!(table.finish().text, "t,flow\n5,a\n5,b\n6,b\n7,a\n");
    }
}
