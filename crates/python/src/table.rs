//! A table of a run for Python.

use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tailback_table::{Column, DataType, Field, FileError, Kind, TableError, Values};

use crate::failure::{Unreadable, guarded};

/// A table of a run.
#[pyclass(frozen, module = "tailback._core")]
pub struct Table {
    table: tailback_table::Table,
    /// The Arrow IPC stream that it was made of, whose bytes the table shares.
    stream: Option<Py<PyBytes>>,
}

impl Table {
    pub(crate) fn new(table: tailback_table::Table) -> Self {
        Table { table, stream: None }
    }
}

/// A column as Python gives it: name, unit, kind, values, and for each cell whether it has one.
type Given = (String, Option<String>, String, Py<PyAny>, Option<PyBackedBytes>);

#[pymethods]
impl Table {
    /// Of an Arrow IPC stream, whose bytes it keeps.
    #[new]
    fn of_stream(stream: Bound<'_, PyBytes>) -> PyResult<Self> {
        let kept = stream.clone().unbind();
        let table = tailback_table::Table::of_stream(PyBackedBytes::from(stream)).map_err(raised)?;
        Ok(Table { stream: Some(kept), table })
    }

    /// The table of these columns.
    #[staticmethod]
    fn of_columns(py: Python<'_>, columns: Vec<Given>) -> PyResult<Self> {
        let columns = columns.into_iter().map(|given| column(py, given)).collect::<PyResult<_>>()?;
        tailback_table::Table::of_columns(columns).map(Self::new).map_err(raised)
    }

    /// As an Arrow IPC stream.
    #[getter]
    fn stream(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        match &self.stream {
            Some(stream) => Ok(stream.clone_ref(py)),
            None => Ok(bytes(py, &self.table.to_stream().map_err(raised)?)?.unbind()),
        }
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

    /// For each column its name, the kind of its values (`float64`, `uint64`, `int64`, `bool`, `text`, `null`), and its
    /// unit if it has one.
    #[getter]
    fn columns(&self) -> Vec<(String, String, Option<String>)> {
        self.table.fields().map(described).collect()
    }

    /// A column of numbers in the type that `columns` names; and for each cell 1 if it has a value, unless all have.
    fn exact<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
        let found = self.table.exact(name).map_err(raised)?;
        let present = found.present.map(|cells| cells.into_iter().map(u8::from).collect::<Vec<u8>>());
        Ok((bytes(py, &found.bytes)?, present.map(|cells| bytes(py, &cells)).transpose()?))
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(Py<PyBytes>,)> {
        Ok((self.stream(py)?,))
    }
}

/// A Parquet file whose footer has been read. Nothing in it is trusted: what it says it has is known before its rows
/// are read.
#[pyclass(frozen, module = "tailback._core")]
pub struct TableFile(tailback_table::File);

#[pymethods]
impl TableFile {
    #[new]
    fn new(content: Bound<'_, PyBytes>) -> PyResult<Self> {
        let content = PyBackedBytes::from(content);
        guarded(|| tailback_table::File::of(content))?.map(TableFile).map_err(unreadable)
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// For each column its name, the type of its values, their kind (`number`, `text`, `null`, `other`), and its unit if
    /// it has one.
    #[getter]
    fn columns(&self) -> Vec<(String, String, &'static str, Option<String>)> {
        let told = |field: &Field| {
            let (name, type_, unit) = described(field);
            let kind = match tailback_table::kind(field.data_type()) {
                Kind::Number => "number",
                Kind::Text => "text",
                Kind::Nothing => "null",
                Kind::Other => "other",
            };
            (name, type_, kind, unit)
        };
        self.0.columns().map(told).collect()
    }

    /// Its rows, of all columns or of those of `wanted` that it has, if no column of text has more than `most_text`
    /// bytes. It releases the GIL.
    #[pyo3(signature = (wanted, most_text))]
    fn read(&self, py: Python<'_>, wanted: Option<Vec<String>>, most_text: usize) -> PyResult<Table> {
        let read = py.detach(|| guarded(|| self.0.read(wanted.as_deref(), most_text)))?;
        read.map(Table::new).map_err(unreadable)
    }
}

fn described(field: &Field) -> (String, String, Option<String>) {
    let type_ = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    (field.name().clone(), type_, field.metadata().get(tailback_table::UNIT).cloned())
}

fn column(py: Python<'_>, (name, unit, kind, values, present): Given) -> PyResult<Column> {
    let values = values.bind(py);
    let values = match kind.as_str() {
        "float64" => Values::Float(eights(values)?.map(f64::from_ne_bytes).collect()),
        "uint64" => Values::Unsigned(eights(values)?.map(u64::from_ne_bytes).collect()),
        "int64" => Values::Signed(eights(values)?.map(i64::from_ne_bytes).collect()),
        "text" => Values::Text(values.extract()?),
        other => {
            return Err(PyValueError::new_err(format!("a column cannot contain values of kind `{other}`")));
        }
    };
    let present = present.map(|cells| cells.iter().map(|&cell| cell != 0).collect());
    Ok(Column { name, unit, values, present })
}

/// The bytes of numbers of eight bytes each.
fn eights(values: &Bound<'_, PyAny>) -> PyResult<impl Iterator<Item = [u8; 8]> + use<>> {
    let values: Vec<u8> = values.cast::<PyBytes>()?.as_bytes().to_vec();
    if !values.len().is_multiple_of(8) {
        return Err(PyValueError::new_err("the bytes of a column are no whole numbers of eight bytes"));
    }
    let count = values.len() / 8;
    Ok((0..count).map(move |place| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&values[8 * place..8 * place + 8]);
        eight
    }))
}

fn unreadable(error: FileError) -> PyErr {
    let told = match error {
        FileError::Incomplete(why) => ("incomplete", why, 0),
        FileError::LongWords { column, bytes } => ("long words", column, bytes),
        FileError::NotText(column) => ("no text", column, 0),
        FileError::OtherKind(column) => ("other kind", column, 0),
    };
    Unreadable::new_err(told)
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
