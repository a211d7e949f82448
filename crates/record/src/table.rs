//! A table: columns declared once, rows appended, an Arrow IPC stream at the end.
//!
//! `table!` takes the list of columns, `name: type as Unit`, and makes from it the row struct, the columns and
//! their description; nothing about a table is written twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};

use crate::Names;
use crate::measure::{Cell, Measure};

/// A column as readers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty for text and plain numbers.
    pub unit: &'static str,
    /// Its Arrow type.
    pub data_type: DataType,
    /// Whether a cell may be null.
    pub nullable: bool,
}

/// A table as readers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnSpec>,
}

/// The description of the column of field `name`, holding a `V` measured in `M`.
pub(crate) fn column<V, M: Measure<V>>(name: &'static str) -> ColumnSpec {
    // A field may be a Rust keyword (`r#where`); a column's name is plain.
    let name = name.trim_start_matches("r#");
    ColumnSpec { name, unit: M::UNIT, data_type: M::Cell::TYPE, nullable: M::Cell::NULLABLE }
}

/// The cells of a column whose rows hold a `V` measured in `M`.
pub(crate) type Cells<V, M> = Chunks<<M as Measure<V>>::Cell>;

/// Cells of one chunk.
const CHUNK: usize = 8192;

/// The cells of a column, in chunks: a long column is not copied while it grows.
#[derive(Debug)]
pub(crate) struct Chunks<C> {
    full: Vec<Vec<C>>,
    last: Vec<C>,
}

impl<C> Default for Chunks<C> {
    fn default() -> Self {
        Chunks { full: Vec::new(), last: Vec::new() }
    }
}

impl<C: Cell> Chunks<C> {
    #[inline]
    pub(crate) fn push(&mut self, cell: C) {
        if self.last.len() == CHUNK {
            self.begin_chunk();
        }
        self.last.push(cell);
    }

    #[cold]
    fn begin_chunk(&mut self) {
        self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK)));
    }

    /// Memory of the column, its spare capacity included.
    pub(crate) fn held(&self) -> usize {
        (self.full.len() * CHUNK + self.last.capacity()) * size_of::<C>()
    }

    fn into_cells(self) -> Vec<C> {
        if self.full.is_empty() {
            return self.last;
        }
        let mut cells = Vec::with_capacity(self.full.len() * CHUNK + self.last.len());
        for chunk in self.full {
            cells.extend_from_slice(&chunk);
        }
        cells.extend_from_slice(&self.last);
        cells
    }
}

/// Cells as Arrow keeps them.
pub(crate) fn array<C: Cell>(cells: Chunks<C>, names: &Names) -> ArrayRef {
    C::column(cells.into_cells(), names)
}

/// One table as an Arrow IPC stream: schema, one batch, end mark.
pub(crate) fn stream(spec: &TableSpec, columns: Vec<ArrayRef>) -> Vec<u8> {
    let schema = Arc::new(Schema::new(spec.columns.iter().map(field).collect::<Vec<_>>()));
    let batch =
        RecordBatch::try_new(Arc::clone(&schema), columns).expect("a table's columns fit its own schema");
    let mut bytes = Vec::with_capacity(batch.get_array_memory_size());
    let mut writer = StreamWriter::try_new(&mut bytes, &schema).expect("writing to memory cannot fail");
    writer.write(&batch).expect("writing to memory cannot fail");
    writer.finish().expect("writing to memory cannot fail");
    drop(writer);
    bytes
}

fn field(column: &ColumnSpec) -> Field {
    let unit = BTreeMap::from([("unit".to_owned(), column.unit.to_owned())]);
    Field::new(column.name, column.data_type.clone(), column.nullable).with_metadata(unit)
}

macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident of $row:ident, $name:literal:
        $($(#[$column_doc:meta])* $column:ident: $value:ty as $measure:ident),+ $(,)?
    ) => {
        #[doc = concat!("A row of the table `", $name, "`.")]
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $row {
            $($(#[$column_doc])* pub $column: $value,)+
        }

        #[doc = concat!("The table `", $name, "`, column by column; see [`", stringify!($row), "`].")]
        #[derive(Debug, Default)]
        pub struct $table {
            $($column: $crate::table::Cells<$value, $crate::measure::$measure>,)+
        }

        impl $table {
            /// The name of the table.
            pub const NAME: &'static str = $name;

            /// The table as readers see it.
            pub fn spec() -> $crate::TableSpec {
                let columns = vec![
                    $($crate::table::column::<$value, $crate::measure::$measure>(stringify!($column)),)+
                ];
                $crate::TableSpec { name: $name, columns }
            }

            /// Appends a row. Rows are kept in the order they are pushed.
            #[inline]
            pub fn push(&mut self, row: $row) {
                use $crate::measure::Measure;
                $(self.$column.push($crate::measure::$measure::cell(row.$column));)+
            }

            /// Memory of its cells by now.
            pub fn held(&self) -> usize {
                0 $(+ self.$column.held())+
            }

            /// Memory that a row takes.
            pub const fn row_bytes() -> usize {
                0 $(+ size_of::<<$crate::measure::$measure as $crate::measure::Measure<$value>>::Cell>())+
            }

            pub(crate) fn finish(self, names: &$crate::Names) -> Vec<u8> {
                let columns = vec![$($crate::table::array(self.$column, names),)+];
                $crate::table::stream(&Self::spec(), columns)
            }
        }
    };
}

pub(crate) use table;
