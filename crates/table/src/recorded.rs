//! The columns of a run as Arrow's, with the unit of each in its field's metadata under `unit`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use tailback_record::{Cells, ColumnSpec, Kind, Names, Tables};

use crate::{Table, UNIT};

/// The tables of a run by name, in its order. Columns of numbers that cannot be null are not copied.
pub fn of_run(tables: Tables) -> Vec<(&'static str, Table)> {
    let Tables { names, tables } = tables;
    let of_one = |table: tailback_record::Table| {
        let schema = Schema::new(table.columns.iter().map(|column| field(&column.spec)).collect::<Vec<_>>());
        let columns = table.columns.into_iter().map(|column| array(column.cells, &names)).collect();
        let batch =
            RecordBatch::try_new(Arc::new(schema), columns).expect("a table's columns fit its own schema");
        (table.name, Table { batch })
    };
    tables.into_iter().map(of_one).collect()
}

fn field(column: &ColumnSpec) -> Field {
    let kind = match column.kind {
        Kind::Float => DataType::Float64,
        Kind::Whole => DataType::UInt64,
        Kind::Text => DataType::Utf8,
    };
    let unit = BTreeMap::from([(UNIT.to_owned(), column.unit.to_owned())]);
    Field::new(column.name, kind, column.nullable).with_metadata(unit)
}

fn array(cells: Cells, names: &Names) -> ArrayRef {
    match cells {
        Cells::Float(cells) => Arc::new(Float64Array::from(cells)),
        Cells::MaybeFloat(cells) => Arc::new(Float64Array::from(cells)),
        Cells::Whole(cells) => Arc::new(UInt64Array::from(cells)),
        Cells::MaybeWhole(cells) => Arc::new(UInt64Array::from(cells)),
        Cells::Word(cells) => Arc::new(StringArray::from_iter_values(cells)),
        Cells::MaybeWord(cells) => Arc::new(StringArray::from_iter(cells)),
        Cells::Named(cells) => {
            Arc::new(StringArray::from_iter_values(cells.into_iter().map(|name| names.text(name))))
        }
        Cells::MaybeNamed(cells) => {
            Arc::new(StringArray::from_iter(cells.into_iter().map(|name| name.map(|name| names.text(name)))))
        }
    }
}
