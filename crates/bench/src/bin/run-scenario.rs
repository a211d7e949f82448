//! Runs a resolved scenario and prints its cost and a table as CSV:
//!
//! `cargo run --release -p tailback-bench -- scenario.json [--table NAME]`

use std::fmt::Write as _;
use std::process::ExitCode;

use tailback_record::{Cells, Tables};
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
    let tables = &outcome.tables;
    let names = tables.tables.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
    let table = tables.get(name).ok_or_else(|| format!("no table `{name}`; there are: {names}"))?;
    let mut csv = table.columns.iter().map(|column| column.spec.name).collect::<Vec<_>>().join(",");
    csv.push('\n');
    for row in 0..table.rows() {
        let cells: Vec<String> =
            table.columns.iter().map(|column| cell(tables, &column.cells, row)).collect();
        writeln!(csv, "{}", cells.join(",")).expect("writing to memory cannot fail");
    }
    Ok(csv)
}

fn cell(tables: &Tables, cells: &Cells, row: usize) -> String {
    let text = tables.text(cells, row).map(str::to_owned);
    text.or_else(|| cells.number(row).map(|number| number.to_string())).unwrap_or_default()
}
