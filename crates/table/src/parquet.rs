//! The Parquet file of a table.
//!
//! How a column is written depends on its kind. The file says it for each column, so that a reader need not know:
//!
//! | kind | encoding |
//! |---|---|
//! | text | a dictionary |
//! | integers | differences between neighbours (`DELTA_BINARY_PACKED`): most of them are counters |
//! | floats | the first byte of each value, then the second of each, … (`BYTE_STREAM_SPLIT`) |
//!
//! Long tables are compressed by zstd. In short ones, which most are, to set up zstd for each column would take longer
//! than to compress it; Snappy makes hardly more of columns that are written this way. Only long tables have the least
//! and the greatest value of each column, by which readers skip what they need not read.
//!
//! `parquet`'s own writer of Arrow arrays is not used: with its code for all of Arrow's types the extension would be
//! twice as large.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{self, BoolType, ByteArray, ByteArrayType, DoubleType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;

use crate::schema;

/// Rows from which a table is long.
pub(crate) const LONG: usize = 10_000;

/// Rows per row group; fixed, so that the bytes do not depend on the library's default.
const ROW_GROUP: usize = 1 << 20;

/// Rows that are prepared at once; a multiple of what the library writes at once, so that it changes no bytes.
const AT_ONCE: usize = 1 << 16;

/// Units are in the metadata of the Arrow fields, which the file has under `ARROW:schema`.
pub(crate) fn write(batch: &RecordBatch) -> Result<Vec<u8>> {
    let schema = schema::of_fields(batch.schema_ref().fields())?;
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties(batch)))?;
    for start in (0..batch.num_rows()).step_by(ROW_GROUP) {
        let rows = batch.slice(start, ROW_GROUP.min(batch.num_rows() - start));
        let mut group = file.next_row_group()?;
        for (field, column) in rows.schema_ref().fields().iter().zip(rows.columns()) {
            let mut writer = group.next_column()?.expect("the file has a column for each field");
            for start in (0..column.len()).step_by(AT_ONCE) {
                write_cells(&mut writer, field, &column.slice(start, AT_ONCE.min(column.len() - start)))?;
            }
            writer.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn properties(batch: &RecordBatch) -> WriterProperties {
    let is_long = batch.num_rows() >= LONG;
    let general = WriterProperties::builder()
        .set_compression(if is_long { Compression::ZSTD(ZstdLevel::default()) } else { Compression::SNAPPY })
        .set_statistics_enabled(if is_long { EnabledStatistics::Chunk } else { EnabledStatistics::None })
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(vec![schema::in_arrow(batch.schema_ref())]));
    batch.schema_ref().fields().iter().fold(general, |builder, field| encoded(builder, field)).build()
}

/// Numbers seldom repeat so often that a dictionary of them would be shorter.
fn encoded(builder: WriterPropertiesBuilder, field: &Field) -> WriterPropertiesBuilder {
    let encoding = match field.data_type() {
        DataType::UInt64 | DataType::Int64 => Encoding::DELTA_BINARY_PACKED,
        DataType::Float64 => Encoding::BYTE_STREAM_SPLIT,
        _ => return builder,
    };
    let path = ColumnPath::from(field.name().as_str());
    builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
}

fn write_cells(writer: &mut SerializedColumnWriter<'_>, field: &Field, column: &ArrayRef) -> Result<()> {
    let cells = Cells { levels: field.is_nullable().then(|| levels(column)), nulls: column.nulls() };
    match column.data_type() {
        DataType::Float64 => cells.write::<DoubleType>(writer, column.as_primitive::<Float64Type>().values()),
        DataType::Int64 => {
            cells.write::<data_type::Int64Type>(writer, column.as_primitive::<Int64Type>().values())
        }
        DataType::UInt64 => {
            // The schema says of the same 64 bits that they have no sign.
            let bits = ScalarBuffer::from(column.as_primitive::<UInt64Type>().values().inner().clone());
            cells.write::<data_type::Int64Type>(writer, &bits)
        }
        DataType::Boolean => {
            cells.write::<BoolType>(writer, &column.as_boolean().values().iter().collect::<Vec<_>>())
        }
        DataType::Utf8 => cells.write::<ByteArrayType>(writer, &texts::<i32>(column)),
        DataType::LargeUtf8 => cells.write::<ByteArrayType>(writer, &texts::<i64>(column)),
        other => Err(ParquetError::NYI(format!("column `{}` of type {other}", field.name()))),
    }
}

/// Which cells of a column have a value.
struct Cells<'a> {
    /// For each cell 1 if it has one, else 0; `None` if all must have one.
    levels: Option<Vec<i16>>,
    nulls: Option<&'a NullBuffer>,
}

impl Cells<'_> {
    fn write<T: data_type::DataType>(
        self,
        writer: &mut SerializedColumnWriter<'_>,
        all: &[T::T],
    ) -> Result<()> {
        let present = match self.nulls {
            Some(nulls) => Cow::Owned(nulls.valid_indices().map(|place| all[place].clone()).collect()),
            None => Cow::Borrowed(all),
        };
        writer.typed::<T>().write_batch(&present, self.levels.as_deref(), None).map(drop)
    }
}

fn levels(column: &ArrayRef) -> Vec<i16> {
    match column.nulls() {
        Some(nulls) => nulls.iter().map(i16::from).collect(),
        None => vec![1; column.len()],
    }
}

/// The texts of a column, which are not copied.
fn texts<O: OffsetSizeTrait>(column: &ArrayRef) -> Vec<ByteArray> {
    let texts = column.as_string::<O>();
    let all = Bytes::from(texts.values().clone());
    let ends = texts.value_offsets().windows(2);
    ends.map(|ends| ByteArray::from(all.slice(ends[0].as_usize()..ends[1].as_usize()))).collect()
}
