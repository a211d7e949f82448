//! Error messages: where, what, and the error of the kernel.

use std::fmt::Display;
use std::io;

/// Something the agent could not do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl Failure {
    /// A failure in these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Adds to an error what the agent was doing.
pub trait While<T> {
    /// The error preceded by `what`.
    fn doing(self, what: impl Display) -> Result<T, Failure>;
}

impl<T> While<T> for io::Result<T> {
    fn doing(self, what: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{what}: {error}")))
    }
}
