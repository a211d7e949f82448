//! Runs a resolved scenario and prints its cost and a table as CSV:
//!
//! `cargo run --release -p tailback-bench -- scenario.json [--table NAME]`

use std::fmt::Write as _;
use std::process::ExitCode;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use tailback_world::{Outcome, Scenario, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [file] => outcome(file).map(|outcome| format!("{:?}\n", outcome.cost)),
        [file, "--table", name] => outcome(file).and_then(|outcome| table(&outcome, name)),
        _ => Err("usage: run-scenario SCENARIO.json [--table NAME]".to_owned()),
    };
    match result {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn outcome(file: &str) -> Result<Outcome, String> {
    let json = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = Scenario::from_json(&json).map_err(|error| format!("{file}: {error}"))?;
    drop(json);
    run(scenario, &()).map_err(|error| format!("{file}: {error}"))
}

fn table(outcome: &Outcome, name: &str) -> Result<String, String> {
    let names = outcome.tables.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (_, bytes) = outcome
        .tables
        .iter()
        .find(|(table, _)| *table == name)
        .ok_or_else(|| format!("no table `{name}`; there are: {names}"))?;
    let reader = StreamReader::try_new(&bytes[..], None).map_err(|error| error.to_string())?;
    let mut csv =
        reader.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(",");
    csv.push('\n');
    for batch in reader {
        rows(&batch.map_err(|error| error.to_string())?, &mut csv);
    }
    Ok(csv)
}

fn rows(batch: &RecordBatch, csv: &mut String) {
    for row in 0..batch.num_rows() {
        let cells: Vec<String> = batch.columns().iter().map(|column| cell(column, row)).collect();
        writeln!(csv, "{}", cells.join(",")).expect("writing to memory cannot fail");
    }
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}
