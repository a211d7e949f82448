//! `tailback._core`: the simulator as Python sees it. Glue only: text and bytes in, text and bytes out.
//!
//! Errors: a scenario that cannot become a world is a `ValueError`, a run that was cancelled raises `Cancelled`, a
//! run that holds more memory than it may a `MemoryError`, a
//! broken invariant of the simulator (a Rust panic) is a `RuntimeError` with its message and place. The signatures
//! are in `python/tailback/_core.pyi`.

mod drill;
mod failure;
#[cfg(target_os = "linux")]
mod memory;
mod own_control;
mod own_endpoint;
mod progress;
mod registry;
mod run;
mod steps;
mod table;

use pyo3::prelude::*;

/// The simulator, compiled.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::drill::drill;
    #[pymodule_export]
    use super::failure::{Cancelled, ControlFailed, EndpointFailed, Unreadable};
    #[pymodule_export]
    use super::own_control::{FlowView, Sample};
    #[pymodule_export]
    use super::own_endpoint::EndpointSetup;
    #[pymodule_export]
    use super::progress::Progress;
    #[pymodule_export]
    use super::registry::{
        congestion_controls, drivers, qdiscs, resolved_qdisc, row_bytes, stack_differences, stacks, sysctls,
    };
    #[pymodule_export]
    use super::run::{check, run, run_with_endpoints, serve_air, try_module, watch_over_modules};
    #[pymodule_export]
    use super::steps::{Steps, step_all};
    #[pymodule_export]
    use super::table::{Table, TableFile};

    /// Version of the simulator.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Digest of the sources that the tables of a run depend on (`build.rs`).
    #[pyfunction]
    fn engine() -> &'static str {
        env!("TAILBACK_ENGINE")
    }

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::failure::keep_panics_for_python();
        Ok(())
    }
}
