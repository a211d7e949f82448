//! A table of a run for Python.

use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tailback_table::TableError;

/// A table of a run.
#[pyclass(frozen, module = "tailback._core")]
pub struct Table {
    table: tailback_table::Table,
}

impl Table {
    pub(crate) fn new(table: tailback_table::Table) -> Self {
        Table { table }
    }
}

#[pymethods]
impl Table {
    /// Of an Arrow IPC stream, whose bytes it keeps.
    #[new]
    fn of_stream(stream: Bound<'_, PyBytes>) -> PyResult<Self> {
        tailback_table::Table::of_stream(PyBackedBytes::from(stream)).map(Self::new).map_err(raised)
    }

    /// As an Arrow IPC stream.
    #[getter]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, &self.table.to_stream().map_err(raised)?)
    }

    /// A `pyarrow.Table` as a table.
    #[staticmethod]
    fn of_arrow(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pyarrow = table.py().import("pyarrow")?;
        let sink = pyarrow.call_method0("BufferOutputStream")?;
        let writer = pyarrow.getattr("ipc")?.call_method1("new_stream", (&sink, table.getattr("schema")?))?;
        writer.call_method1("write_table", (table.call_method0("combine_chunks")?,))?;
        writer.call_method0("close")?;
        let stream = sink.call_method0("getvalue")?.call_method0("to_pybytes")?;
        Table::of_stream(stream.cast_into::<PyBytes>()?)
    }

    /// As a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let reader =
            py.import("pyarrow")?.getattr("ipc")?.call_method1("open_stream", (self.stream(py)?,))?;
        reader.call_method0("read_all")
    }

    /// The names of its columns, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.table.names()
    }

    /// Whether both have the same columns, units and cells.
    fn __eq__(&self, other: &Table) -> bool {
        self.table == other.table
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }

    /// A column of numbers as float64 of this machine; NaN where a value is missing.
    fn numbers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let values = self.table.numbers(name).map_err(raised)?;
        copied(py, &values, |value| value.to_ne_bytes())
    }

    /// A column of text: for each row the place of its word as int64 of this machine, −1 if it has none; and the
    /// words in alphabetical order.
    fn words<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let words = self.table.words(name).map_err(raised)?;
        Ok((copied(py, &words.codes, |code| code.to_ne_bytes())?, words.known))
    }

    /// The bytes of its Parquet file. It releases the GIL.
    fn to_parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = py.detach(|| self.table.to_parquet()).map_err(raised)?;
        bytes(py, &file)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>,)> {
        Ok((self.stream(py)?,))
    }
}

/// A copy for Python; a `MemoryError` if there is no room for it.
pub(crate) fn bytes<'py>(py: Python<'py>, of: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, of.len(), |copy| {
        copy.copy_from_slice(of);
        Ok(())
    })
}

fn copied<'py, V: Copy>(
    py: Python<'py>,
    values: &[V],
    as_bytes: impl Fn(V) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(values), |copy| {
        for (place, &value) in copy.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&as_bytes(value));
        }
        Ok(())
    })
}

fn raised(error: TableError) -> PyErr {
    let text = error.to_string();
    match error {
        TableError::NoColumn(name) => PyKeyError::new_err(name),
        TableError::OtherKind { .. } => PyTypeError::new_err(text),
        TableError::Unreadable(_) | TableError::Unwritable(_) => PyValueError::new_err(text),
    }
}
