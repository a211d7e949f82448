//! The answer to a scenario: the length of its head in four bytes, the head as JSON, and the cells.
//!
//! The head names the columns of each table and says where their cells are, from the end of the head on. All numbers have
//! the least significant byte first, as WebAssembly has them; numbers have eight bytes, the words of a column of text four:
//! their places in `words`. Where cells may be missing, a byte for each says whether it is there.

use serde_json::{Map, Value, json};
use tailback_record::{Cells, Column, Name, Names, Table};
use tailback_world::{Scenario, run};

/// Runs a resolved scenario; the answer has `tables`, or an `error`.
pub fn to(scenario: &[u8]) -> Vec<u8> {
    let mut cells = Vec::new();
    let head = match simulated(scenario, &mut cells) {
        Ok(tables) => json!({ "tables": tables }),
        Err(error) => json!({ "error": error }),
    };
    let mut head = head.to_string().into_bytes();
    // The cells begin at a multiple of eight, where a page can read them without a copy.
    head.resize((4 + head.len()).next_multiple_of(8) - 4, b' ');
    let length = u32::try_from(head.len()).expect("a head names columns, not cells");
    [&length.to_le_bytes()[..], &head, &cells].concat()
}

fn simulated(scenario: &[u8], cells: &mut Vec<u8>) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(scenario).map_err(|error| error.to_string())?;
    let scenario = Scenario::from_json(text).map_err(|error| error.to_string())?;
    let outcome = run(scenario, &()).map_err(|error| error.to_string())?;
    let names = &outcome.tables.names;
    Ok(outcome.tables.tables.iter().map(|table| (table.name.to_owned(), told(table, names, cells))).collect())
}

fn told(table: &Table, names: &Names, cells: &mut Vec<u8>) -> Value {
    let columns: Vec<Value> = table.columns.iter().map(|column| written(column, names, cells)).collect();
    json!({ "rows": table.rows(), "columns": columns })
}

/// Appends the cells of a column; returns what the head says of it.
fn written(column: &Column, names: &Names, to: &mut Vec<u8>) -> Value {
    to.resize(to.len().next_multiple_of(8), 0);
    let at = to.len();
    let mut words = Words::default();
    let mut present = None;
    match &column.cells {
        Cells::Float(cells) => put(to, cells, |cell| cell.to_le_bytes()),
        Cells::Whole(cells) => put(to, cells, |cell| cell.to_le_bytes()),
        Cells::MaybeFloat(cells) => {
            put(to, cells, |cell| cell.unwrap_or_default().to_le_bytes());
            present = Some(known(cells));
        }
        Cells::MaybeWhole(cells) => {
            put(to, cells, |cell| cell.unwrap_or_default().to_le_bytes());
            present = Some(known(cells));
        }
        Cells::Word(cells) => put(to, cells, |cell| words.place(cell).to_le_bytes()),
        Cells::Named(cells) => put(to, cells, |cell| words.place(names.text(cell)).to_le_bytes()),
        Cells::MaybeWord(cells) => {
            put(to, cells, |cell| words.place(cell.unwrap_or_default()).to_le_bytes());
            present = Some(known(cells));
        }
        Cells::MaybeNamed(cells) => {
            let text = |name: Name| names.text(name);
            put(to, cells, |cell| words.place(cell.map_or("", text)).to_le_bytes());
            present = Some(known(cells));
        }
    }
    let present = present.map(|cells| {
        let at = to.len();
        to.extend(cells);
        at
    });
    let kind = match column.cells {
        Cells::Float(_) | Cells::MaybeFloat(_) => "float",
        Cells::Whole(_) | Cells::MaybeWhole(_) => "whole",
        _ => "text",
    };
    json!({ "name": column.spec.name, "kind": kind, "at": at, "present": present, "words": words.0 })
}

fn put<C: Copy, const BYTES: usize>(to: &mut Vec<u8>, cells: &[C], bytes: impl FnMut(C) -> [u8; BYTES]) {
    to.extend(cells.iter().copied().flat_map(bytes));
}

fn known<C>(cells: &[Option<C>]) -> Vec<u8> {
    cells.iter().map(|cell| u8::from(cell.is_some())).collect()
}

/// The words of a column in the order in which they come.
#[derive(Default)]
struct Words<'t>(Vec<&'t str>);

impl<'t> Words<'t> {
    /// Columns have a few words: names of flows and devices, reasons.
    fn place(&mut self, word: &'t str) -> u32 {
        let place = self.0.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.0.push(word);
            self.0.len() - 1
        });
        u32::try_from(place).expect("a page has few names")
    }
}
