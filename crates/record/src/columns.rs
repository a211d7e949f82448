//! What a run has recorded, as plain columns: no file format, no library.
//!
//! A cell of text is a [`Name`] or a word; [`Tables::text`] gives it as text. Readers that want Arrow or Parquet make them of
//! these columns (`crates/table`).

use crate::{Name, Names};

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Floating-point numbers of 64 bits.
    Float,
    /// Whole numbers from 0 on, of 64 bits.
    Whole,
    /// Text.
    Text,
}

/// A column as readers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    /// The name of the column.
    pub name: &'static str,
    /// The unit of the column; empty for text and plain numbers.
    pub unit: &'static str,
    /// What its cells are.
    pub kind: Kind,
    /// Whether a cell may be null.
    pub nullable: bool,
}

/// A table as readers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// The name of the table.
    pub name: &'static str,
    /// The columns of the table, in order.
    pub columns: Vec<ColumnSpec>,
}

/// The cells of a column, one per row.
#[derive(Clone, PartialEq, Debug)]
pub enum Cells {
    /// Numbers, none of them null.
    Float(Vec<f64>),
    /// Numbers, some of them null.
    MaybeFloat(Vec<Option<f64>>),
    /// Whole numbers, none of them null.
    Whole(Vec<u64>),
    /// Whole numbers, some of them null.
    MaybeWhole(Vec<Option<u64>>),
    /// Words of the simulator, none of them null.
    Word(Vec<&'static str>),
    /// Words of the simulator, some of them null.
    MaybeWord(Vec<Option<&'static str>>),
    /// Names of the experiment file, none of them null.
    Named(Vec<Name>),
    /// Names of the experiment file, some of them null.
    MaybeNamed(Vec<Option<Name>>),
}

/// A column with its cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name, unit and kind.
    pub spec: ColumnSpec,
    /// A cell per row.
    pub cells: Cells,
}

/// A table with its columns, all of one length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The name of the table.
    pub name: &'static str,
    /// The columns of the table, in order.
    pub columns: Vec<Column>,
}

/// The tables of a run. Equal tables have the same rows in the same order.
#[derive(Clone, PartialEq, Debug)]
pub struct Tables {
    /// The names that cells refer to.
    pub names: Names,
    /// Those that every run has, then those that this run has.
    pub tables: Vec<Table>,
}

impl Tables {
    /// The table with this name, if the run has it.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The text of a cell of text; `None` if it is null, or a number.
    pub fn text(&self, cells: &Cells, row: usize) -> Option<&str> {
        match cells {
            Cells::Word(words) => Some(words[row]),
            Cells::MaybeWord(words) => words[row],
            Cells::Named(names) => Some(self.names.text(names[row])),
            Cells::MaybeNamed(names) => names[row].map(|name| self.names.text(name)),
            Cells::Float(_) | Cells::MaybeFloat(_) | Cells::Whole(_) | Cells::MaybeWhole(_) => None,
        }
    }
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The cells of the column with this name, if it has one.
    pub fn column(&self, name: &str) -> Option<&Cells> {
        self.columns.iter().find(|column| column.spec.name == name).map(|column| &column.cells)
    }
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Cells::Float(cells) => cells.len(),
            Cells::MaybeFloat(cells) => cells.len(),
            Cells::Whole(cells) => cells.len(),
            Cells::MaybeWhole(cells) => cells.len(),
            Cells::Word(cells) => cells.len(),
            Cells::MaybeWord(cells) => cells.len(),
            Cells::Named(cells) => cells.len(),
            Cells::MaybeNamed(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a cell of numbers; `None` if it is null, or text.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Cells::Float(cells) => Some(cells[row]),
            Cells::MaybeFloat(cells) => cells[row],
            Cells::Whole(cells) => Some(cells[row] as f64),
            Cells::MaybeWhole(cells) => cells[row].map(|cell| cell as f64),
            Cells::Word(_) | Cells::MaybeWord(_) | Cells::Named(_) | Cells::MaybeNamed(_) => None,
        }
    }
}
