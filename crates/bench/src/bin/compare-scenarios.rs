//! Tells whether scenarios still give what they gave: a sum of all that each records.
//!
//! `compare-scenarios LIST` prints the sum of each; `compare-scenarios LIST SUMS` prints the first that differs from the
//! line of `SUMS`, and then fails. `LIST` has a name, a tab and a resolved scenario in each line. A scenario that cannot run
//! differs from one that can.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use tailback_record::{Cells, Tables};
use tailback_world::{Outcome, Scenario, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let read =
        |path: &String| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let [list, sums @ ..] = &arguments[..] else { panic!("usage: compare-scenarios LIST [SUMS]") };
    let (list, before) = (read(list), sums.first().map(read));
    std::panic::set_hook(Box::new(|_| {}));
    let mut before = before.as_deref().map(str::lines);
    for line in list.lines() {
        let (name, json) = line.split_once('\t').expect("a name, a tab and a scenario");
        let found = catch_unwind(AssertUnwindSafe(|| sum(json))).unwrap_or_else(|_| "panics".to_owned());
        match before.as_mut().map(Iterator::next) {
            None => println!("{found}"),
            Some(expected) if expected == Some(&found) => {}
            Some(_) => {
                println!("{name}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// FNV-1a of all that a run gives, or why there is no run.
fn sum(json: &str) -> String {
    let outcome = Scenario::from_json(json)
        .map_err(|error| error.to_string())
        .and_then(|scenario| run(scenario, &()).map_err(|error| error.to_string()));
    let Outcome { tables, disciplines, captures, cost } = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return error.lines().collect(),
    };
    let mut sum = Sum(0xcbf2_9ce4_8422_2325);
    for table in &tables.tables {
        sum.add(table.name.as_bytes());
        for column in &table.columns {
            sum.add(column.spec.name.as_bytes());
            (0..table.rows()).for_each(|row| sum.add_cell(&tables, &column.cells, row));
        }
    }
    sum.add(disciplines.to_string().as_bytes());
    captures.iter().for_each(|(_, capture)| sum.add(capture));
    sum.add(format!("{cost:?}").as_bytes());
    format!("{:016x}", sum.0)
}

struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_cell(&mut self, tables: &Tables, cells: &Cells, row: usize) {
        match tables.text(cells, row) {
            Some(text) => self.add(text.as_bytes()),
            None => self.add(&cells.number(row).map_or(1, f64::to_bits).to_le_bytes()),
        }
    }
}
