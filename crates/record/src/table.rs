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
    /// The name of the column.
    pub name: &'static str,
    /// The unit of the column; empty for text and plain numbers.
    pub unit: &'static str,
    /// The Arrow type of the column.
    pub data_type: DataType,
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

/// The description of the column of field `name`, holding a `V` measured in `M`.
pub(crate) fn column<V, M: Measure<V>>(name: &'static str) -> ColumnSpec {
    // A field may be a Rust keyword (`r#where`); a column's name is plain.
    let name = name.trim_start_matches("r#");
    ColumnSpec { name, unit: M::UNIT, data_type: M::Cell::TYPE, nullable: M::Cell::NULLABLE }
}

/// The cells of a column whose rows hold a `V` measured in `M`.
pub(crate) type Cells<V, M> = Vec<<M as Measure<V>>::Cell>;

/// Memory of a column, its spare capacity included.
pub(crate) fn held<C>(cells: &Vec<C>) -> usize {
    cells.capacity() * size_of::<C>()
}

/// Cells as Arrow keeps them.
pub(crate) fn array<C: Cell>(cells: Vec<C>, names: &Names) -> ArrayRef {
    C::column(cells, names)
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

            /// Makes room for so many more rows at once.
            pub fn reserve(&mut self, rows: usize) {
                $(self.$column.reserve(rows);)+
            }

            /// Memory of its cells by now.
            pub fn held(&self) -> usize {
                0 $(+ $crate::table::held(&self.$column))+
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
