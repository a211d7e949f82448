//! A Parquet file, whose rows are read column by column.
//!
//! Anybody may have made the file: its footer says how much it has before a row is read ([`File::rows`],
//! [`File::columns`]), and no column of text takes more room than the reader allows. Columns become one of the types
//! that [`write`](crate::parquet) knows: integers are widened, and words of a dictionary are plain text.
//!
//! `parquet`'s own reader of Arrow arrays is not used, for the reason that its writer is not.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, GenericStringArray, Int64Array, NullArray};
use arrow_array::{OffsetSizeTrait, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{self, BoolType, ByteArray, ByteArrayType, DoubleType, FloatType};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use crate::schema::{self, Kind, kind};
use crate::{Table, pages};

/// Why the rows of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is no Parquet file, or parts of it are missing or wrong.
    #[error("it is not a complete Parquet file: {0}")]
    Incomplete(String),
    /// The words of a column, written out for each row, have more bytes than the reader allows.
    #[error("the column `{column}` has {bytes} bytes of words")]
    LongWords {
        /// The name of the column.
        column: String,
        /// How many bytes there are up to where reading ended.
        bytes: usize,
    },
    /// Words are no text.
    #[error("the column `{0}` has words that are not UTF-8")]
    NotText(String),
    /// The values of a column are neither numbers nor words.
    #[error("the column `{0}` has neither numbers nor words")]
    OtherKind(String),
}

impl From<ParquetError> for FileError {
    fn from(error: ParquetError) -> FileError {
        FileError::Incomplete(error.to_string())
    }
}

/// A Parquet file whose footer has been read.
pub struct File {
    content: Bytes,
    reader: SerializedFileReader<Bytes>,
    schema: Schema,
    rows: usize,
}

impl File {
    /// Reads the footer.
    pub fn of<B: AsRef<[u8]> + Send + 'static>(content: B) -> Result<File, FileError> {
        let content = Bytes::from_owner(content);
        let reader = SerializedFileReader::new(content.clone())?;
        let metadata = reader.metadata();
        let schema = schema::of_file(metadata.file_metadata())?;
        let groups = metadata.row_groups().iter().map(|group| usize::try_from(group.num_rows()).ok());
        let rows =
            groups.sum::<Option<usize>>().ok_or_else(|| incomplete("its groups of rows have no length"))?;
        Ok(File { content, schema, rows, reader })
    }

    /// How many rows it says that it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Its columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &Field> {
        self.schema.fields().iter().map(AsRef::as_ref)
    }

    /// The rows of all columns, or of those of `wanted` that it has, in their order there. No column of text may have
    /// more than `most_text` bytes.
    pub fn read(&self, wanted: Option<&[String]>, most_text: usize) -> Result<Table, FileError> {
        let places: Vec<usize> = match wanted {
            None => (0..self.schema.fields().len()).collect(),
            Some(names) => names.iter().filter_map(|name| self.schema.index_of(name).ok()).collect(),
        };
        let is_flat =
            self.schema.fields().len() == self.reader.metadata().file_metadata().schema_descr().num_columns();
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for place in places {
            let field = self.schema.field(place);
            if !is_flat || kind(field.data_type()) == Kind::Other {
                return Err(FileError::OtherKind(field.name().clone()));
            }
            let array = self.column(place, field, most_text)?;
            let metadata = field.metadata().clone();
            let nullable = field.is_nullable() || array.data_type() == &DataType::Null;
            fields
                .push(Field::new(field.name(), array.data_type().clone(), nullable).with_metadata(metadata));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(|batch| Table { batch })
            .map_err(|error| incomplete(&error.to_string()))
    }

    fn column(&self, place: usize, field: &Field, most_text: usize) -> Result<ArrayRef, FileError> {
        let stored = self.reader.metadata().file_metadata().schema_descr().column(place).physical_type();
        let integer = field.data_type().is_integer();
        Ok(match (stored, kind(field.data_type())) {
            (_, Kind::Nothing) => Arc::new(NullArray::new(self.rows)),
            (Type::BOOLEAN, _) => {
                let (flags, nulls) = self.cells::<BoolType>(place)?.spread();
                Arc::new(BooleanArray::new(BooleanBuffer::from(flags), nulls))
            }
            (Type::INT32, Kind::Number) if field.data_type().is_unsigned_integer() => {
                unsigned(self.cells::<data_type::Int32Type>(place)?, |value| u64::from(value.cast_unsigned()))
            }
            (Type::INT64, Kind::Number) if field.data_type().is_unsigned_integer() => {
                unsigned(self.cells::<data_type::Int64Type>(place)?, i64::cast_unsigned)
            }
            (Type::INT32, Kind::Number) if integer => {
                signed(self.cells::<data_type::Int32Type>(place)?, i64::from)
            }
            (Type::INT64, Kind::Number) if integer => {
                signed(self.cells::<data_type::Int64Type>(place)?, |value| value)
            }
            (Type::FLOAT, Kind::Number) => floating(self.cells::<FloatType>(place)?, f64::from),
            (Type::DOUBLE, Kind::Number) => floating(self.cells::<DoubleType>(place)?, |value| value),
            (Type::BYTE_ARRAY, Kind::Text) => {
                let words = self.words(place, field, most_text)?;
                let array = if field.data_type() == &DataType::LargeUtf8 {
                    text::<i64>(words)
                } else {
                    text::<i32>(words)
                };
                array.ok_or_else(|| FileError::NotText(field.name().clone()))?
            }
            _ => return Err(FileError::OtherKind(field.name().clone())),
        })
    }

    fn cells<T: data_type::DataType>(&self, place: usize) -> Result<Cells<T::T>, FileError> {
        self.cells_while::<T>(place, 0, |_| Ok(()))
    }

    /// The words of a column, if they are not too long. Words of a dictionary are in memory once, until they become text.
    fn words(&self, place: usize, field: &Field, most: usize) -> Result<Cells<ByteArray>, FileError> {
        let mut bytes = 0_usize;
        self.cells_while::<ByteArrayType>(place, most, |words| {
            bytes += words.iter().map(ByteArray::len).sum::<usize>();
            if bytes <= most {
                Ok(())
            } else {
                Err(FileError::LongWords { column: field.name().clone(), bytes })
            }
        })
    }

    /// The cells of a column of all groups, as long as `allowed` lets them pass. A page may have `most` bytes beside those of
    /// numbers.
    fn cells_while<T: data_type::DataType>(
        &self,
        place: usize,
        most: usize,
        mut allowed: impl FnMut(&[T::T]) -> Result<(), FileError>,
    ) -> Result<Cells<T::T>, FileError> {
        let mut cells = Cells { levels: Vec::new(), values: Vec::new(), rows: self.rows };
        for (group, found) in self.reader.metadata().row_groups().iter().enumerate() {
            self.check_pages(group, place, most)?;
            let mut reader =
                get_typed_column_reader::<T>(self.reader.get_row_group(group)?.get_column_reader(place)?);
            let mut left = usize::try_from(found.num_rows()).unwrap_or_default();
            while left > 0 {
                let before = cells.values.len();
                let (read, ..) = reader.read_records(
                    left.min(AT_ONCE),
                    Some(&mut cells.levels),
                    None,
                    &mut cells.values,
                )?;
                if read == 0 {
                    return Err(incomplete("a column has fewer rows than the file"));
                }
                allowed(&cells.values[before..])?;
                left -= read;
            }
        }
        Ok(cells)
    }

    /// Refuses pages that would take more room than their rows need.
    fn check_pages(&self, group: usize, place: usize, most: usize) -> Result<(), FileError> {
        let found = self.reader.metadata().row_group(group);
        let (start, length) = found.column(place).byte_range();
        let range = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let chunk = range.and_then(|(start, length)| self.content.get(start..start.checked_add(length)?));
        let claimed = chunk.and_then(pages::longest).ok_or_else(|| incomplete("a column has no pages"))?;
        let rows = usize::try_from(found.num_rows()).unwrap_or_default();
        if claimed > rows.saturating_mul(ROW_MOST).saturating_add(most).saturating_add(PAGE_MOST) {
            return Err(incomplete(&format!("a page of {rows} rows claims {claimed} bytes")));
        }
        Ok(())
    }
}

/// Bytes that a row of numbers takes in a page at most: the value, the length of a word, and whether there is one.
const ROW_MOST: usize = 16;

/// Bytes that a page may have beside those of its rows.
const PAGE_MOST: usize = 65_536;

fn incomplete(why: &str) -> FileError {
    FileError::Incomplete(why.to_owned())
}

/// How many rows are read at once, and so by how much a column of words may be over its limit before that is seen.
const AT_ONCE: usize = 1 << 16;

/// The values of a column, and which of its cells have one.
struct Cells<V> {
    /// For each cell 1 if it has a value, else 0; empty if all have one.
    levels: Vec<i16>,
    values: Vec<V>,
    rows: usize,
}

impl<V: Clone + Default> Cells<V> {
    /// A value for each cell, and which of them are meant.
    fn spread(self) -> (Vec<V>, Option<NullBuffer>) {
        if self.values.len() == self.rows {
            return (self.values, None);
        }
        let mut values = self.values.into_iter();
        let present = BooleanBuffer::from_iter(self.levels.iter().map(|&level| level == 1));
        let spread = present
            .iter()
            .map(|is| if is { values.next().unwrap_or_default() } else { V::default() })
            .collect();
        (spread, Some(NullBuffer::new(present)))
    }
}

fn unsigned<V: Clone + Default>(cells: Cells<V>, widened: impl Fn(V) -> u64) -> ArrayRef {
    let (values, nulls) = cells.spread();
    Arc::new(UInt64Array::new(values.into_iter().map(widened).collect(), nulls))
}

fn signed<V: Clone + Default>(cells: Cells<V>, widened: impl Fn(V) -> i64) -> ArrayRef {
    let (values, nulls) = cells.spread();
    Arc::new(Int64Array::new(values.into_iter().map(widened).collect(), nulls))
}

fn floating<V: Clone + Default>(cells: Cells<V>, widened: impl Fn(V) -> f64) -> ArrayRef {
    let (values, nulls) = cells.spread();
    Arc::new(Float64Array::new(values.into_iter().map(widened).collect(), nulls))
}

/// The words as an array of text; `None` if some are not UTF-8.
fn text<O: OffsetSizeTrait>(words: Cells<ByteArray>) -> Option<ArrayRef> {
    let (words, nulls) = words.spread();
    // A cell without a value has a byte array without data.
    let present = |(place, word): (usize, &ByteArray)| match &nulls {
        Some(nulls) if nulls.is_null(place) => 0,
        _ => word.len(),
    };
    let lengths: Vec<usize> = words.iter().enumerate().map(present).collect();
    let mut bytes = Vec::with_capacity(lengths.iter().sum());
    for (word, &length) in words.iter().zip(&lengths) {
        if length > 0 {
            bytes.extend_from_slice(word.data());
        }
    }
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    let array = GenericStringArray::try_new(offsets, Buffer::from_vec(bytes), nulls).ok()?;
    Some(Arc::new(array))
}
