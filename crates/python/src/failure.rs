//! Errors in Rust as Python exceptions.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tailback_world::{BuildError, RunError};

create_exception!(tailback._core, Cancelled, PyException, "The run ended early because it was asked to.");

create_exception!(
    tailback._core,
    ControlFailed,
    PyException,
    "A congestion control of the user raised an exception, which is the cause of this one."
);

create_exception!(
    tailback._core,
    EndpointFailed,
    PyException,
    "An endpoint of the user raised an exception, which is the cause of this one."
);

create_exception!(
    tailback._core,
    Unreadable,
    PyException,
    "A Parquet file whose rows cannot be read: why in a word, what it is about, and how much."
);

thread_local! {
    /// Message and place of the last panic of this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic prints nothing; [`guarded`] hands it to Python. Other extension modules are not affected:
/// each has a Rust runtime of its own.
pub fn keep_panics_for_python() {
    std::panic::set_hook(Box::new(|panic| PANIC.set(Some(message_of(panic)))));
}

/// Runs `work`; a panic becomes a `RuntimeError`.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let message = PANIC.take().unwrap_or_else(|| "no message".to_owned());
        PyRuntimeError::new_err(format!("the simulator broke an invariant of its own: {message}"))
    })
}

/// A scenario that cannot become a world.
pub fn unbuildable(error: &BuildError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A run that did not reach its end.
pub fn unfinished(error: &RunError) -> PyErr {
    match error {
        RunError::Build(error) => unbuildable(error),
        RunError::Stopped { .. } => Cancelled::new_err(error.to_string()),
        RunError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        RunError::StandsStill { .. } => PyValueError::new_err(error.to_string()),
    }
}

/// A run with endpoints that did not reach its end.
pub fn without_outcome(error: &tailback_net::Error) -> PyErr {
    match error {
        tailback_net::Error::Stopped(_) => Cancelled::new_err(error.to_string()),
        tailback_net::Error::OutOfMemory(_) => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A run that an exception of the user's endpoint ended.
pub fn endpoint_failed(py: Python<'_>, error: PyErr) -> PyErr {
    let failed = EndpointFailed::new_err(error.to_string());
    failed.set_cause(py, Some(error));
    failed
}

/// A run that an exception of the user's control ended.
pub fn control_failed(py: Python<'_>, error: PyErr) -> PyErr {
    let failed = ControlFailed::new_err(error.to_string());
    failed.set_cause(py, Some(error));
    failed
}

fn message_of(panic: &PanicHookInfo<'_>) -> String {
    let text = panic.payload().downcast_ref::<&str>().copied();
    let message =
        text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    panic.location().map_or_else(|| message.to_owned(), |place| format!("{message} ({place})"))
}
