//! A table of columns that a program has as plain vectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};

use crate::{Table, TableError};

/// The values of a column. A cell without one has any value there.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Floating point.
    Float(Vec<f64>),
    /// Whole numbers from 0 on.
    Unsigned(Vec<u64>),
    /// Whole numbers.
    Signed(Vec<i64>),
    /// Text.
    Text(Vec<String>),
}

/// A column with its name and unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit, if the column says one.
    pub unit: Option<String>,
    /// Its values.
    pub values: Values,
    /// Which cells have a value; `None` if all have.
    pub present: Option<Vec<bool>>,
}

/// The key of a column's metadata under which its unit is.
pub const UNIT: &str = "unit";

impl Table {
    /// The table of these columns, which have the same length.
    pub fn of_columns(columns: Vec<Column>) -> Result<Table, TableError> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for column in columns {
            let nulls = column.present.map(NullBuffer::from).filter(|nulls| nulls.null_count() > 0);
            let array: ArrayRef = match column.values {
                Values::Float(values) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
                Values::Unsigned(values) => Arc::new(UInt64Array::try_new(values.into(), nulls)?),
                Values::Signed(values) => Arc::new(Int64Array::try_new(values.into(), nulls)?),
                Values::Text(values) => Arc::new(text(&values, nulls.as_ref())),
            };
            let unit: BTreeMap<_, _> = column.unit.map(|unit| (UNIT.to_owned(), unit)).into_iter().collect();
            fields.push(Field::new(column.name, array.data_type().clone(), true).with_metadata(unit));
            arrays.push(array);
        }
        Ok(Table { batch: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)? })
    }
}

fn text(values: &[String], nulls: Option<&NullBuffer>) -> StringArray {
    let is_present = |place| nulls.is_none_or(|nulls| nulls.is_valid(place));
    values.iter().enumerate().map(|(place, word)| is_present(place).then_some(word.as_str())).collect()
}
