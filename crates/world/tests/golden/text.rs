//! What a run records, as text: a line of columns with their units and a line per row, under the name of each table.

use tailback_record::{Cells, ColumnSpec, Table, Tables};
use tailback_world::Outcome;

use crate::Run;

/// Begins the line of a table's name.
pub const TABLE: &str = "# ";

/// Between two cells.
pub const BETWEEN: char = '\t';

/// Runs it.
pub fn of(run: &Run) -> String {
    let Outcome { tables, disciplines, captures, cost } = run.outcome();
    let mut text = String::new();
    for each in &tables.tables {
        table(&tables, each, &mut text);
    }
    text.push_str(&format!("{TABLE}counters of disciplines\nJSON\n{disciplines}\n"));
    for (host, capture) in &captures {
        text.push_str(&format!("{TABLE}capture of {host}\nbytes{BETWEEN}sum\n{}\n", sum(capture)));
    }
    text + &format!("{TABLE}cost\npackets{BETWEEN}segments\n{}{BETWEEN}{}\n", cost.packets, cost.segments)
}

/// Length and FNV-1a.
fn sum(bytes: &[u8]) -> String {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{}{BETWEEN}{:016x}", bytes.len(), bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn table(tables: &Tables, table: &Table, text: &mut String) {
    let columns: Vec<String> = table.columns.iter().map(|column| heading(&column.spec)).collect();
    text.push_str(&format!("{TABLE}{}\n{}\n", table.name, columns.join(&BETWEEN.to_string())));
    for row in 0..table.rows() {
        let cells: Vec<String> =
            table.columns.iter().map(|column| cell(tables, &column.cells, row)).collect();
        text.push_str(&cells.join(&BETWEEN.to_string()));
        text.push('\n');
    }
}

fn heading(column: &ColumnSpec) -> String {
    format!("{} {}", column.name, column.unit).trim_end().to_owned()
}

/// Numbers in as many digits as tell them from all others.
fn cell(tables: &Tables, cells: &Cells, row: usize) -> String {
    let number = match cells {
        Cells::Whole(cells) => Some(cells[row].to_string()),
        Cells::MaybeWhole(cells) => cells[row].map(|cell| cell.to_string()),
        other => other.number(row).map(|cell| cell.to_string()),
    };
    number.or_else(|| tables.text(cells, row).map(str::to_owned)).unwrap_or_else(|| "–".to_owned())
}
