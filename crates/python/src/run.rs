//! Running a scenario with the interpreter's lock released.

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_air::AirError;
use tailback_library::Notes;
use tailback_module::ModuleFile;
use tailback_net::Network;
use tailback_table::of_run;
use tailback_world::{Cost, Outcome, RunError, Scenario, Watch, World};

use crate::failure::{control_failed, endpoint_failed, guarded, unbuildable, unfinished, without_outcome};
use crate::own_control::{Failed, Modules, PythonControls, UntilFailure};
use crate::own_endpoint::{Endpoints, events};
use crate::progress::Progress;
use crate::table::{Table, bytes};

/// Builds the world of a scenario without running it; raises `ValueError` if that cannot be done. `controls` builds
/// the controls of the user: it takes the name of the file, and the parameters as JSON. Kernel modules are not loaded.
#[pyfunction]
#[pyo3(signature = (scenario_json, controls = None))]
pub fn check(py: Python<'_>, scenario_json: &str, controls: Option<Py<PyAny>>) -> PyResult<()> {
    let own = PythonControls::new(controls, Modules::StandIn);
    let build = || {
        Scenario::from_json(scenario_json).and_then(|scenario| World::build_with(&scenario, &own).map(drop))
    };
    let built = py.detach(|| guarded(build))?;
    match own.take_failure() {
        Some(error) => Err(control_failed(py, error)),
        None => built.map_err(|error| unbuildable(&error)),
    }
}

/// Runs a scenario to its end; returns its tables and its cost.
#[pyfunction]
#[pyo3(signature = (scenario_json, progress, controls = None))]
pub fn run<'py>(
    py: Python<'py>,
    scenario_json: &str,
    progress: Option<&Bound<'py, Progress>>,
    controls: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let shared = progress.map(|progress| progress.get().shared());
    let watch: &(dyn Watch + Sync) = shared.as_deref().map_or(&(), |shared| shared);
    let before = Clocks::read(py)?;
    let own = PythonControls::new(controls, Modules::Load);
    let outcome = py.detach(|| guarded(|| simulate(scenario_json, &own, watch)))?;
    if let Some(error) = own.take_failure() {
        return Err(control_failed(py, error));
    }
    let outcome = outcome.map_err(|error| unfinished(&error))?;
    let spent = Clocks::read(py)?.since(&before);
    if let Some(shared) = shared {
        shared.complete();
    }
    let result = result(py, outcome, &spent)?;
    let log = own.module_log();
    if !log.is_empty() {
        result.set_item("log", log)?;
    }
    Ok(result)
}

/// Runs a scenario whose traffic has endpoints of the user, as `run` does. `endpoints` makes them: it takes the name of the
/// file and the setup; it gives the path of a library, or an object. The process may crash in a library.
#[pyfunction]
pub fn run_with_endpoints<'py>(
    py: Python<'py>,
    scenario_json: &str,
    progress: &Bound<'py, Progress>,
    controls: Option<Py<PyAny>>,
    endpoints: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let shared = progress.get().shared();
    let before = Clocks::read(py)?;
    let own = PythonControls::new(controls, Modules::Load);
    let (failed, notes) = (Failed::default(), Notes::default());
    let work = || {
        let watch = UntilFailure { watch: &*shared, controls: &own };
        let scenario = Scenario::from_json(scenario_json).map_err(tailback_net::Error::from)?;
        let mut network = Network::of_scenario(&scenario, &own)?;
        let made = Endpoints { make: &endpoints, failed: &failed, notes: &notes };
        made.attach_all(&scenario, &mut network)?;
        network.record_info();
        network.outcome(&watch)
    };
    let outcome = py.detach(|| guarded(work))?;
    if let Some(error) = failed.take() {
        return Err(endpoint_failed(py, error));
    }
    if let Some(error) = own.take_failure() {
        return Err(control_failed(py, error));
    }
    let outcome = outcome.map_err(|error| without_outcome(&error))?;
    let spent = Clocks::read(py)?.since(&before);
    shared.complete();
    let result = result(py, outcome, &spent)?;
    let (said, noted) = notes.take();
    result.set_item("log", own.module_log())?;
    result.set_item("said", said)?;
    result.set_item("events", events(py, noted)?)?;
    Ok(result)
}

/// Loads a compiled kernel module and initialises it; raises `ValueError` if that cannot be done. It may crash.
#[pyfunction]
pub fn try_module(py: Python<'_>, path: &str, parameters: Vec<(String, String)>) -> PyResult<()> {
    py.detach(|| ModuleFile::open(path, &parameters)).map(drop).map_err(PyValueError::new_err)
}

/// The air of a scenario for the one driver that connects to the Unix socket `socket`, until it leaves; returns the
/// table `wifi` and its drops in the form of `events`. Raises `ValueError` if the scenario has no such air, and `RuntimeError` if the
/// connection fails.
#[pyfunction]
pub fn serve_air(py: Python<'_>, scenario_json: &str, socket: &str) -> PyResult<[Table; 2]> {
    let scenario = Scenario::from_json(scenario_json).map_err(|error| unbuildable(&error))?;
    let serve = || {
        let listener = UnixListener::bind(socket)?;
        let (stream, _) = listener.accept()?;
        tailback_air::serve(&scenario, stream)
    };
    let tables = py.detach(|| guarded(serve))?.map_err(|error| match error {
        AirError::Scenario(error) => unbuildable(&error),
        error => PyRuntimeError::new_err(error.to_string()),
    })?;
    let mut tables = BTreeMap::from_iter(of_run(tables));
    let taken = |name| Table::new(tables.remove(name).expect("every record has these tables"));
    Ok(["wifi", "events"].map(taken))
}

/// From now on a crash in a kernel module ends the process with a report; to be called by the thread of the run.
#[pyfunction]
pub fn watch_over_modules() {
    tailback_module::watch_over();
}

fn simulate(
    scenario_json: &str,
    controls: &PythonControls,
    watch: &(dyn Watch + Sync),
) -> Result<Outcome, RunError> {
    let watch = UntilFailure { watch, controls };
    tailback_world::run_with(Scenario::from_json(scenario_json)?, controls, &watch)
}

fn result<'py>(py: Python<'py>, outcome: Outcome, spent: &Clocks) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for (name, table) in of_run(outcome.tables) {
        tables.set_item(name, Table::new(table))?;
    }
    let result = PyDict::new(py);
    result.set_item("tables", tables)?;
    let captures = PyDict::new(py);
    for (host, file) in &outcome.captures {
        captures.set_item(host, bytes(py, file)?)?;
    }
    result.set_item("captures", captures)?;
    result.set_item("qdiscs", outcome.disciplines)?;
    result.set_item("cost", cost(py, &outcome.cost, spent)?)?;
    Ok(result)
}

fn cost<'py>(py: Python<'py>, cost: &Cost, spent: &Clocks) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("wall_s", spent.wall_s)?;
    dict.set_item("cpu_s", spent.cpu_s)?;
    dict.set_item("sim_s", cost.sim_ns as f64 / 1e9)?;
    dict.set_item("events", cost.events)?;
    dict.set_item("packets", cost.packets)?;
    dict.set_item("segments", cost.segments)?;
    Ok(dict)
}

/// Python's clocks: the simulator has none of its own.
struct Clocks {
    wall_s: f64,
    /// Of this thread.
    cpu_s: f64,
}

impl Clocks {
    fn read(py: Python<'_>) -> PyResult<Clocks> {
        let time = py.import("time")?;
        let read = |clock| time.call_method0(clock)?.extract();
        Ok(Clocks { wall_s: read("perf_counter")?, cpu_s: read("thread_time")? })
    }

    fn since(&self, before: &Clocks) -> Clocks {
        Clocks { wall_s: self.wall_s - before.wall_s, cpu_s: self.cpu_s - before.cpu_s }
    }
}
