//! Fields of Arrow as columns of a Parquet file, and back.
//!
//! The format says how the values of a column are stored and what they mean. Arrow's own description, with the units, is
//! in the file under `ARROW:schema`: a message of Arrow's IPC with its length, in base64.
//! [parquet-format, logical types; Arrow columnar format, encapsulated message format]
//!
//! `parquet`'s own translation is not used: it comes with readers and writers for all of Arrow's types, which take longer
//! to compile than the simulator.

use std::sync::Arc;

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{DataType, Field, Fields, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Stored};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::schema::types::{BasicTypeInfo, Type, TypePtr};

/// The name of the root of a file's schema, as the format suggests it. [parquet-format README]
const ROOT: &str = "schema";
/// The key of Arrow's description in a file.
const ARROW: &str = "ARROW:schema";
/// What stands before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// What the values of a column are, whatever their width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Integers, floating point and truth values.
    Number,
    /// Text.
    Text,
    /// No row has a value.
    Nothing,
    /// Anything else: dates, bytes, lists.
    Other,
}

/// Of which kind values of this type are.
pub fn kind(found: &DataType) -> Kind {
    match found {
        DataType::Null => Kind::Nothing,
        DataType::Boolean | DataType::Float32 | DataType::Float64 => Kind::Number,
        integer if integer.is_integer() => Kind::Number,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Dictionary(_, words) if matches!(**words, DataType::Utf8 | DataType::LargeUtf8) => {
            Kind::Text
        }
        _ => Kind::Other,
    }
}

/// The schema of a file with these columns.
pub(crate) fn of_fields(fields: &Fields) -> Result<TypePtr> {
    let columns = fields.iter().map(|field| column(field).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder(ROOT).with_fields(columns).build().map(Arc::new)
}

fn column(field: &Field) -> Result<Type> {
    let (stored, meaning) = match field.data_type() {
        DataType::Boolean => (Stored::BOOLEAN, None),
        DataType::Float64 => (Stored::DOUBLE, None),
        DataType::Int64 => (Stored::INT64, None),
        DataType::UInt64 => (Stored::INT64, Some(LogicalType::integer(64, false))),
        DataType::Utf8 | DataType::LargeUtf8 => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
        other => return Err(ParquetError::NYI(format!("column `{}` of type {other}", field.name()))),
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(field.name(), stored)
        .with_logical_type(meaning)
        .with_repetition(repetition)
        .build()
}

/// What a file says of its columns in Arrow's words.
pub(crate) fn in_arrow(schema: &Schema) -> KeyValue {
    let message = IpcDataGenerator::default()
        .schema_to_bytes_with_dictionary_tracker(
            schema,
            &mut DictionaryTracker::new(true),
            &IpcWriteOptions::default(),
        )
        .ipc_message;
    let length = u32::try_from(message.len()).expect("a schema is shorter than 4 GB").to_le_bytes();
    KeyValue::new(ARROW.to_owned(), BASE64_STANDARD.encode([&CONTINUATION[..], &length, &message].concat()))
}

/// The columns of a file: a field for each member of its root, also for groups.
pub(crate) fn of_file(file: &FileMetaData) -> Result<Schema> {
    let said = file.key_value_metadata().into_iter().flatten().find(|pair| pair.key == ARROW);
    let said = said.and_then(|pair| pair.value.as_deref()).map(described).transpose()?;
    let fields = file.schema().get_fields().iter().map(|column| {
        let plain = field(column);
        match said.as_ref().and_then(|said| said.field_with_name(plain.name()).ok()) {
            Some(said) => merged(plain, said),
            None => plain,
        }
    });
    Ok(Schema::new(fields.collect::<Fields>()))
}

fn described(text: &str) -> Result<Schema> {
    let message = BASE64_STANDARD.decode(text).map_err(|error| malformed(&error.to_string()))?;
    try_schema_from_ipc_buffer(&message).map_err(|error| malformed(&error.to_string()))
}

fn malformed(why: &str) -> ParquetError {
    ParquetError::General(format!("its {ARROW} is no schema: {why}"))
}

/// A column by what the format says of it.
fn field(column: &Type) -> Field {
    let info = column.get_basic_info();
    let is_list = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let found =
        if column.is_primitive() && !is_list { values(column.get_physical_type(), info) } else { None };
    Field::new(info.name(), found.unwrap_or(DataType::Binary), column.is_optional())
}

/// The type of numbers, truth values and text; `None` for all else.
fn values(stored: Stored, info: &BasicTypeInfo) -> Option<DataType> {
    let integer = |is_signed| Some(if is_signed { DataType::Int64 } else { DataType::UInt64 });
    match (stored, info.logical_type_ref(), info.converted_type()) {
        (_, Some(LogicalType::Unknown), _) => Some(DataType::Null),
        (Stored::BOOLEAN, ..) => Some(DataType::Boolean),
        (Stored::FLOAT | Stored::DOUBLE, ..) => Some(DataType::Float64),
        (Stored::INT32 | Stored::INT64, Some(LogicalType::Integer(found)), _) => integer(found.is_signed),
        (Stored::INT32 | Stored::INT64, None, meant) => match meant {
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => integer(true),
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => integer(false),
            _ => None,
        },
        (Stored::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Json), _)
        | (Stored::BYTE_ARRAY, None, ConvertedType::UTF8 | ConvertedType::JSON) => Some(DataType::Utf8),
        _ => None,
    }
}

/// With the metadata that Arrow's description adds, and what only it says of the values: that text may be long, or that a
/// number is none, such as a duration.
fn merged(plain: Field, said: &Field) -> Field {
    let found = match said.data_type() {
        DataType::LargeUtf8 if plain.data_type() == &DataType::Utf8 => DataType::LargeUtf8,
        other if kind(other) == Kind::Other => DataType::Binary,
        _ => plain.data_type().clone(),
    };
    plain.with_data_type(found).with_metadata(said.metadata().clone())
}
