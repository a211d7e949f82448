//! The progress of a run in another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use tailback_world::{Proceed, Reached, Watch};

/// The progress of a run, whether it should continue, and how much memory it may use.
#[pyclass(frozen, module = "tailback._core")]
#[derive(Default)]
pub struct Progress(Arc<Shared>);

/// The state that a run and its observer share.
#[derive(Default)]
pub struct Shared {
    /// Bits of an f64 from 0 to 1.
    fraction: AtomicU64,
    cancelled: AtomicBool,
    /// Limit of memory in bytes; no limit without it.
    memory_limit: Option<u64>,
}

impl Progress {
    /// The end of the window that belongs to the run.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl Progress {
    #[new]
    #[pyo3(signature = (memory_limit = None))]
    fn new(memory_limit: Option<u64>) -> Self {
        Progress(Arc::new(Shared { memory_limit, ..Shared::default() }))
    }

    /// Share of the simulated time that has passed, 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        f64::from_bits(self.0.fraction.load(Ordering::Relaxed))
    }

    /// A run in another process has reached this share.
    #[setter]
    fn set_fraction(&self, fraction: f64) {
        self.0.fraction.store(fraction.to_bits(), Ordering::Relaxed);
    }

    /// The run was requested to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Limit of memory in bytes.
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.0.memory_limit
    }

    /// Requests the run to stop; it raises `Cancelled` within some thousands of events.
    fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// The run is over.
    pub fn complete(&self) {
        self.fraction.store(1.0f64.to_bits(), Ordering::Relaxed);
    }
}

impl Watch for Shared {
    fn progress(&self, reached: &Reached) -> Proceed {
        let fraction = reached.now.as_secs_f64() / reached.end.as_secs_f64();
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) {
            Proceed::Stop
        } else if self.memory_limit.is_some_and(|limit| reached.held.get() > limit) {
            Proceed::OutOfMemory
        } else {
            Proceed::Continue
        }
    }
}
