//! One table of a run: of the simulator's columns ([`of_run`]), an Arrow IPC stream, columns of a program or a Parquet file;
//! its columns as numbers and words, and the bytes of its stream and its Parquet file. Tables of every backend pass through
//! here, so all files are written and read in one way ([`parquet`], [`reading`]).
//!
//! ```
//! use tailback_record::{FlowsRow, Record};
//! use tailback_table::{File, Table};
//! use tailback_units::{Bytes, SimTime};
//!
//! let mut record = Record::default();
//! let upload = record.names.give("upload");
//! record.flows.push(FlowsRow { t: SimTime::from_nanos(100_000_000), flow: upload, bytes: Bytes(125_000) });
//! let (_, flows) = tailback_table::of_run(record.finish()).swap_remove(0);
//!
//! let flows = Table::of_stream(flows.to_stream()?)?;
//! assert_eq!(flows.numbers("bytes")?, [125_000.0]);
//! assert_eq!(flows.words("flow")?.known, ["upload"]);
//! let file = File::of(flows.to_parquet()?)?;
//! assert_eq!(file.rows(), 1);
//! assert_eq!(file.read(None, usize::MAX)?.numbers("bytes")?, [125_000.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod making;
mod pages;
mod parquet;
mod reading;
mod recorded;
mod schema;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use bytes::Bytes;

pub use arrow_schema::{DataType, Field};
pub use columns::{Exact, Words};
pub use making::{Column, UNIT, Values};
pub use reading::{File, FileError};
pub use recorded::of_run;
pub use schema::{Kind, kind};

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The bytes are no Arrow IPC stream, or end too early.
    #[error("this is no table: {0}")]
    Unreadable(#[from] ArrowError),
    /// No column has this name.
    #[error("the table has no column `{0}`")]
    NoColumn(String),
    /// The values of a column are of another kind than was asked for.
    #[error("column `{column}` contains {found}, not {wanted}")]
    OtherKind {
        /// The name of the column.
        column: String,
        /// The Arrow type of the column.
        found: DataType,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A column has a type that Parquet files cannot contain.
    #[error("the table cannot be written as Parquet: {0}")]
    Unwritable(#[from] ::parquet::errors::ParquetError),
}

/// The columns of one table. Equal tables have the same columns, units and cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// The table of an Arrow IPC stream. Columns are not copied: they stay in the bytes, which live as long as they do.
    pub fn of_stream<B: AsRef<[u8]> + Send + 'static>(stream: B) -> Result<Table, TableError> {
        let mut left = Buffer::from(Bytes::from_owner(stream));
        let mut decoder = StreamDecoder::new();
        let mut batches = Vec::new();
        while !left.is_empty() {
            match decoder.decode(&mut left)? {
                Some(batch) => batches.push(batch),
                None => break,
            }
        }
        let schema = decoder.schema().ok_or_else(|| ArrowError::IpcError("it has no columns".to_owned()))?;
        decoder.finish()?;
        let batch = match <[RecordBatch; 1]>::try_from(batches) {
            Ok([batch]) => batch,
            Err(batches) if batches.is_empty() => RecordBatch::new_empty(schema),
            Err(_) => return Err(ArrowError::IpcError("its rows are in several batches".to_owned()).into()),
        };
        Ok(Table { batch })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of its columns, in order.
    pub fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column of numbers; NaN where a value is missing.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, TableError> {
        let column = self.column(name)?;
        columns::numbers(column).ok_or_else(|| other_kind(name, column, "numbers"))
    }

    /// A column of text.
    pub fn words(&self, name: &str) -> Result<Words, TableError> {
        let column = self.column(name)?;
        columns::words(column).ok_or_else(|| other_kind(name, column, "text"))
    }

    /// The columns, in order.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.batch.schema_ref().fields().iter().map(AsRef::as_ref)
    }

    /// A column of numbers with all their digits.
    pub fn exact(&self, name: &str) -> Result<Exact, TableError> {
        let column = self.column(name)?;
        columns::exact(column).ok_or_else(|| other_kind(name, column, "numbers"))
    }

    /// As an Arrow IPC stream: schema, one batch, end mark.
    pub fn to_stream(&self) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::with_capacity(self.batch.get_array_memory_size());
        let mut writer = StreamWriter::try_new(&mut bytes, self.batch.schema_ref())?;
        writer.write(&self.batch)?;
        writer.finish()?;
        drop(writer);
        Ok(bytes)
    }

    /// The bytes of its Parquet file; the same rows give the same bytes.
    pub fn to_parquet(&self) -> Result<Vec<u8>, TableError> {
        Ok(parquet::write(&self.batch)?)
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, TableError> {
        self.batch.column_by_name(name).ok_or_else(|| TableError::NoColumn(name.to_owned()))
    }
}

fn other_kind(name: &str, column: &ArrayRef, wanted: &'static str) -> TableError {
    TableError::OtherKind { column: name.to_owned(), found: column.data_type().clone(), wanted }
}

#[cfg(test)]
mod tests;
