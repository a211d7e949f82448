//! packetdrill scripts with the interpreter's lock released.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_drill::{Finding, Options, Report, Snippet};

use crate::failure::guarded;

/// Runs the script `text`; raises `ValueError` for an unknown stack.
#[pyfunction]
pub fn drill<'py>(
    py: Python<'py>,
    text: &str,
    tolerance_usecs: Option<u64>,
    stack: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options { tolerance_usecs, stack };
    let report = py.detach(|| guarded(|| tailback_drill::drill(text, &options)))?;
    let report = report.map_err(|error| PyValueError::new_err(error.to_string()))?;
    result(py, report)
}

fn result<'py>(py: Python<'py>, report: Report) -> PyResult<Bound<'py, PyDict>> {
    let (verdict, findings) = report.verdict.word_and_findings();
    let dict = PyDict::new(py);
    dict.set_item("verdict", verdict)?;
    dict.set_item("findings", findings.into_iter().map(pair).collect::<Vec<_>>())?;
    let snippets =
        report.snippets.into_iter().map(|snippet| code(py, snippet)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("snippets", snippets)?;
    dict.set_item("events", report.events)?;
    Ok(dict)
}

fn pair(finding: Finding) -> (u32, String) {
    (finding.line.0, finding.message)
}

fn code(py: Python<'_>, snippet: Snippet) -> PyResult<(u32, String, Bound<'_, PyDict>)> {
    let variables = PyDict::new(py);
    for (name, value) in snippet.variables {
        variables.set_item(name, value)?;
    }
    Ok((snippet.line.0, snippet.code, variables))
}
