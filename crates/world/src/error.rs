//! What can go wrong before and during a run: where, what, and what to do about it.

use tailback_units::{Bytes, SimTime};
use thiserror::Error;

/// A scenario that cannot become a world.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{path}: {problem}; {remedy}")]
pub struct BuildError {
    /// Path of the key in the resolved scenario, as `qdiscs[0].root.options.limit`.
    pub path: String,
    /// What is wrong with its value.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

/// Why a run did not reach its end.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RunError {
    /// The scenario cannot become a world.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The watcher asked to stop.
    #[error("stopped at {at} on request; nothing was recorded")]
    Stopped {
        /// Simulated time reached.
        at: SimTime,
    },
    /// The watcher found that the run holds too much.
    #[error("out of memory at {at}: rows and packets take {held}; nothing was recorded")]
    OutOfMemory {
        /// Simulated time reached.
        at: SimTime,
        /// Memory held then.
        held: Bytes,
    },
    /// Something goes round without taking any time.
    #[error(
        "time stands still at {at}: packets go to and fro without taking any; give a link between their hosts a \
         `rate` or a `delay`"
    )]
    StandsStill {
        /// Simulated time reached.
        at: SimTime,
    },
}

impl BuildError {
    pub(crate) fn new(
        path: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        BuildError { path: path.into(), problem: problem.into(), remedy: remedy.into() }
    }
}
