//! A table: columns declared once, rows appended, plain columns at the end.
//!
//! `table!` takes the list of columns, `name: type as Unit`, and makes from it the row struct, the columns and
//! their description; nothing about a table is written twice.

use crate::measure::{Cell, Measure};
use crate::{Column, ColumnSpec};

/// The description of the column of field `name`, holding a `V` measured in `M`.
pub(crate) fn column<V, M: Measure<V>>(name: &'static str) -> ColumnSpec {
    // A field may be a Rust keyword (`r#where`); a column's name is plain.
    let name = name.trim_start_matches("r#");
    ColumnSpec { name, unit: M::UNIT, kind: M::Cell::KIND, nullable: M::Cell::NULLABLE }
}

/// The cells of a column whose rows hold a `V` measured in `M`.
pub(crate) type Cells<V, M> = Vec<<M as Measure<V>>::Cell>;

/// The column of field `name` with its cells.
pub(crate) fn finished<V, M: Measure<V>>(name: &'static str, cells: Cells<V, M>) -> Column {
    Column { spec: column::<V, M>(name), cells: M::Cell::COLUMN(cells) }
}

/// Memory of a column, its spare capacity included.
pub(crate) fn held<C>(cells: &Vec<C>) -> usize {
    cells.capacity() * size_of::<C>()
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

            pub(crate) fn finish(self) -> $crate::Table {
                let columns = vec![$($crate::table::finished::<$value, $crate::measure::$measure>(
                    stringify!($column),
                    self.$column,
                ),)+];
                $crate::Table { name: $name, columns }
            }
        }
    };
}

pub(crate) use table;
