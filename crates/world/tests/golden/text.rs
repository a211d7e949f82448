//! What a run records, as text: a line of columns with their units and a line per row, under the name of each table.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Field};
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
    for (name, stream) in &tables {
        table(name, stream, &mut text);
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

fn table(name: &str, stream: &[u8], text: &mut String) {
    let reader = StreamReader::try_new(stream, None).expect("a table is an Arrow stream");
    let columns: Vec<String> = reader.schema().fields().iter().map(|field| column(field)).collect();
    text.push_str(&format!("{TABLE}{name}\n{}\n", columns.join(&BETWEEN.to_string())));
    for batch in reader {
        let batch = batch.expect("a batch of rows");
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = batch.columns().iter().map(|column| cell(column, row)).collect();
            text.push_str(&cells.join(&BETWEEN.to_string()));
            text.push('\n');
        }
    }
}

fn column(field: &Field) -> String {
    let unit = field.metadata().get("unit").map_or("", String::as_str);
    format!("{} {unit}", field.name()).trim_end().to_owned()
}

/// Numbers in as many digits as tell them from all others.
fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "–".to_owned();
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}
