//! The registries of algorithms, as lists of dicts.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_qdisc::Attachment;
use tailback_units::{Parameter, ParameterUnit, Parameters};

/// The congestion controls, one dict each.
#[pyfunction]
pub fn congestion_controls(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &tailback_cc::Row| {
        let dict = algorithm(py, row.name, row.summary, row.parameters)?;
        dict.set_item("source", tailback_cc::registry::head(row.source))?;
        dict.set_item("wants_pacing", row.wants_pacing)?;
        dict.set_item("sndbuf_factor", row.sndbuf_factor)?;
        Ok(dict)
    };
    tailback_cc::registry::ROWS.iter().map(row).collect()
}

/// The queue disciplines, one dict each.
#[pyfunction]
pub fn qdiscs(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &tailback_qdisc::Row| {
        let dict = algorithm(py, row.name, row.summary, row.parameters)?;
        dict.set_item("source", tailback_qdisc::registry::head(row.source))?;
        dict.set_item("classful", row.classful)?;
        let class_parameters =
            |table: &[Parameter]| table.iter().map(|row| parameter(py, row)).collect::<PyResult<Vec<_>>>();
        dict.set_item("class_parameters", row.classes.map(class_parameters).transpose()?)?;
        Ok(dict)
    };
    tailback_qdisc::registry::ROWS.iter().map(row).collect()
}

/// The Wi-Fi drivers, one dict each.
#[pyfunction]
pub fn drivers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |profile: &tailback_wifi::Profile| {
        let dict = algorithm(py, profile.name, profile.summary, &profile.parameters())?;
        dict.set_item("source", tailback_wifi::driver::source())?;
        Ok(dict)
    };
    tailback_wifi::driver::PROFILES.iter().map(row).collect()
}

/// The network stacks: one dict each, with its values of all fields in which stacks differ.
#[pyfunction]
pub fn stacks(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |(name, values): (&str, tailback_world::Values)| {
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        dict.set_item("values", values)?;
        Ok(dict)
    };
    tailback_world::stacks().into_iter().map(row).collect()
}

/// The sysctls of a host, one dict each.
#[pyfunction]
pub fn sysctls(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &tailback_world::Sysctl| {
        let dict = PyDict::new(py);
        dict.set_item("name", row.name)?;
        dict.set_item("unit", row.unit)?;
        dict.set_item("default", row.default)?;
        dict.set_item("meaning", row.meaning)?;
        dict.set_item("least", row.least)?;
        dict.set_item("most", row.most)?;
        dict.set_item("count", row.count)?;
        dict.set_item("since", row.since)?;
        dict.set_item("newer", row.newer)?;
        Ok(dict)
    };
    tailback_world::SYSCTLS.iter().map(row).collect()
}

/// Memory that a row of each table takes in the simulator.
#[pyfunction]
pub fn row_bytes() -> BTreeMap<&'static str, usize> {
    tailback_world::row_bytes().into_iter().collect()
}

/// The fields in which stacks differ, with the version of each change and its effect: `references/stacks.toml`.
#[pyfunction]
pub fn stack_differences() -> &'static str {
    include_str!("../../../references/stacks.toml")
}

/// All parameter values of a discipline on a device with this MTU, queue and rate, defaults included.
#[pyfunction]
pub fn resolved_qdisc(
    kind: &str,
    options: BTreeMap<String, u64>,
    mtu: u32,
) -> PyResult<BTreeMap<String, u64>> {
    let device = Attachment::with_mtu(mtu);
    let resolved = tailback_qdisc::registry::resolve(kind, &Parameters::new(options), &device);
    resolved.map(Parameters::into_values).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn algorithm<'py>(
    py: Python<'py>,
    name: &str,
    summary: &str,
    parameters: &[Parameter],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("summary", summary)?;
    let parameters = parameters.iter().map(|row| parameter(py, row)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("parameters", parameters)?;
    Ok(dict)
}

fn parameter<'py>(py: Python<'py>, row: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", row.name)?;
    dict.set_item("unit", unit(row.unit))?;
    dict.set_item("default", row.default)?;
    dict.set_item("required", row.required)?;
    dict.set_item("min", row.min)?;
    dict.set_item("max", row.max)?;
    dict.set_item("meaning", row.meaning)?;
    if let ParameterUnit::Choice(words) = row.unit {
        dict.set_item("words", words)?;
    }
    Ok(dict)
}

fn unit(unit: ParameterUnit) -> &'static str {
    match unit {
        ParameterUnit::Number => "number",
        ParameterUnit::Packets => "packets",
        ParameterUnit::Bytes => "bytes",
        ParameterUnit::Time => "time",
        ParameterUnit::Rate => "rate",
        ParameterUnit::Flag => "flag",
        ParameterUnit::Percent => "percent",
        ParameterUnit::Fraction => "fraction",
        ParameterUnit::Gain => "gain",
        ParameterUnit::Choice(_) => "choice",
    }
}
