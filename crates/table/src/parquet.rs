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

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

/// Rows from which a table is long.
const LONG: usize = 10_000;

/// Rows per row group; fixed, so that the bytes do not depend on the library's default.
const ROW_GROUP: usize = 1 << 20;

/// Units are in the metadata of its fields, which the file has under `ARROW:schema`.
pub(crate) fn write(batch: &RecordBatch) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties(batch)))?;
    writer.write(batch)?;
    writer.close()?;
    Ok(file)
}

fn properties(batch: &RecordBatch) -> WriterProperties {
    let is_long = batch.num_rows() >= LONG;
    let general = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_compression(if is_long { Compression::ZSTD(ZstdLevel::default()) } else { Compression::SNAPPY })
        .set_statistics_enabled(if is_long { EnabledStatistics::Chunk } else { EnabledStatistics::None })
        .set_offset_index_disabled(true);
    batch.schema_ref().fields().iter().fold(general, |builder, field| encoded(builder, field)).build()
}

/// Numbers seldom repeat so often that a dictionary of them would be shorter.
fn encoded(builder: WriterPropertiesBuilder, field: &Field) -> WriterPropertiesBuilder {
    let encoding = match field.data_type() {
        kind if kind.is_integer() => Encoding::DELTA_BINARY_PACKED,
        kind if kind.is_floating() => Encoding::BYTE_STREAM_SPLIT,
        DataType::Utf8 | DataType::LargeUtf8 => return builder,
        _ => Encoding::PLAIN,
    };
    let path = ColumnPath::from(field.name().as_str());
    builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
}
