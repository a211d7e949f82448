//! Why a network cannot be built, or a run does not go on.

use std::time::Duration;

use tailback_world::{BuildError, RunError};
use thiserror::Error;

/// What went wrong, and what to do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The plan or the experiment is not valid.
    #[error("{0}")]
    Plan(String),
    /// The simulation cannot go on.
    #[error("{0}")]
    Run(String),
    /// Its watcher stopped it.
    #[error("{0}")]
    Stopped(String),
    /// It uses more memory than its watcher allows.
    #[error("{0}")]
    OutOfMemory(String),
    /// An endpoint cannot go on.
    #[error("endpoints `{name}` at {} s: {reason}", now.as_secs_f64())]
    Failed {
        /// The name of the traffic.
        name: String,
        /// When.
        now: Duration,
        /// What it says ([`Endpoint::failure`](crate::Endpoint::failure)).
        reason: String,
    },
    /// No traffic has this name.
    #[error("no `endpoints` of the network are called `{name}`; there are: {known}")]
    NoSuchEndpoints {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// It has endpoints already, or none at the start of the run.
    #[error("endpoints `{name}`: {problem}")]
    Attached {
        /// The name of the traffic.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// An endpoint gives a datagram that its path cannot carry.
    #[error(
        "endpoints `{name}` at {} s: a datagram of {bytes} bytes, and the path carries {most} at most",
        now.as_secs_f64()
    )]
    TooLong {
        /// The name of the traffic.
        name: String,
        /// When.
        now: Duration,
        /// Bytes of data.
        bytes: usize,
        /// Most bytes of data.
        most: u32,
    },
    /// An endpoint wants to be called at once, again and again.
    #[error(
        "endpoints `{name}`: time stands still at {} s: `timeout` gives {} s, and nothing changes when it is called; \
         let `expired` move it on",
        now.as_secs_f64(),
        asked.as_secs_f64()
    )]
    StandsStill {
        /// The name of the traffic.
        name: String,
        /// When.
        now: Duration,
        /// The time that it gives.
        asked: Duration,
    },
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        Error::Plan(error.to_string())
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Stopped { .. } => Error::Stopped(error.to_string()),
            RunError::OutOfMemory { .. } => Error::OutOfMemory(error.to_string()),
            _ => Error::Run(error.to_string()),
        }
    }
}
