//! Errors before and during a run: where, what, and what to do about it.

use std::fmt::Display;

use tailback_units::{Bytes, ParameterError, SimTime};
use thiserror::Error;

/// Why no world can be built from a scenario.
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
    /// No world can be built from the scenario.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The watcher stopped the run.
    #[error("stopped at {at} on request; nothing was recorded")]
    Stopped {
        /// Simulated time reached.
        at: SimTime,
    },
    /// The watcher found that the run uses too much memory.
    #[error("out of memory at {at}: rows and packets take {held}; nothing was recorded")]
    OutOfMemory {
        /// Simulated time reached.
        at: SimTime,
        /// Memory used at that time.
        held: Bytes,
    },
    /// Events repeat at one time without end.
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
    pub(crate) fn new(path: impl Display, problem: impl Display, remedy: impl Display) -> Self {
        BuildError { path: path.to_string(), problem: problem.to_string(), remedy: remedy.to_string() }
    }
}

/// A value that an algorithm refuses, with its path.
pub(crate) fn parameter_error(error: ParameterError, options: &str) -> BuildError {
    let (name, remedy) = match &error {
        ParameterError::Unknown(name, known) => (name.clone(), format!("write one of: {}", known.join(", "))),
        ParameterError::OutOfRange { name, min, max, .. } => (name.clone(), format!("write {min} to {max}")),
        ParameterError::Missing(name) => ((*name).to_owned(), "add it".to_owned()),
        ParameterError::Conflict { name, .. } => ((*name).to_owned(), "change one of the two".to_owned()),
    };
    BuildError::new(format!("{options}.{name}"), error.to_string(), remedy)
}
