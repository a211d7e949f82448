//! Columns as plain vectors.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// A column of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// For each row, the place of its word in `known`; −1 if it has none.
    pub codes: Vec<i64>,
    /// The words of the column in alphabetical order.
    pub known: Vec<String>,
}

/// The values of a column of numbers, of which cells without a value have any.
#[derive(Clone, PartialEq, Debug)]
pub struct Exact {
    /// The values in the bytes of this machine: eight each, of truth values one.
    pub bytes: Vec<u8>,
    /// For each cell whether it has a value; `None` if all have.
    pub present: Option<Vec<bool>>,
}

/// The values with all their digits; `None` if they are not numbers.
pub(crate) fn exact(column: &ArrayRef) -> Option<Exact> {
    let bytes = match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().values().inner().as_slice().to_vec(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().values().inner().as_slice().to_vec(),
        DataType::Int64 => column.as_primitive::<Int64Type>().values().inner().as_slice().to_vec(),
        DataType::Boolean => column.as_boolean().values().iter().map(u8::from).collect(),
        _ => return None,
    };
    Some(Exact { bytes, present: column.nulls().map(|nulls| nulls.iter().collect()) })
}

/// The values as floating point, NaN where one is missing; `None` if they are not numbers.
pub(crate) fn numbers(column: &ArrayRef) -> Option<Vec<f64>> {
    Some(match column.data_type() {
        DataType::Float64 => filled(column.as_primitive::<Float64Type>().iter()),
        DataType::UInt64 => {
            filled(column.as_primitive::<UInt64Type>().iter().map(|cell| cell.map(|value| value as f64)))
        }
        DataType::Int64 => {
            filled(column.as_primitive::<Int64Type>().iter().map(|cell| cell.map(|value| value as f64)))
        }
        DataType::Boolean => filled(column.as_boolean().iter().map(|cell| cell.map(f64::from))),
        DataType::Null => vec![f64::NAN; column.len()],
        _ => return None,
    })
}

fn filled(cells: impl Iterator<Item = Option<f64>>) -> Vec<f64> {
    cells.map(|cell| cell.unwrap_or(f64::NAN)).collect()
}

/// The words of a column; `None` if it is not text.
pub(crate) fn words(column: &ArrayRef) -> Option<Words> {
    match column.data_type() {
        DataType::Utf8 => Some(of_text(column.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Some(of_text(column.as_string::<i64>().iter())),
        DataType::Null => Some(Words { codes: vec![-1; column.len()], known: Vec::new() }),
        _ => None,
    }
}

fn of_text<'a>(cells: impl Iterator<Item = Option<&'a str>> + Clone) -> Words {
    let mut places: BTreeMap<&str, i64> = cells.clone().flatten().map(|word| (word, -1)).collect();
    for (place, code) in (0..).zip(places.values_mut()) {
        *code = place;
    }
    let codes = cells.map(|cell| cell.map_or(-1, |word| places[word])).collect();
    Words { codes, known: places.into_keys().map(str::to_owned).collect() }
}
