//! Transports of users in a shared library with the functions of `include/tailback_endpoint.h`, as endpoints of a network.
//!
//! ```text
//! libmine.so ─ dlopen ─→ LibraryFile ─ a setup ─→ LibraryEndpoint: tailback_net::Endpoint
//! ```
//! The file is foreign code that runs without protection: it may crash or never return. A program that opens one has
//! to be a process of its own for that run; [`tailback_module::watch_over`] ends it with a report on standard error.

mod notes;
mod rules;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod abi;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod endpoint;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod file;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod host;

pub use notes::{End, Event, Notes};
pub use rules::past;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use {endpoint::LibraryEndpoint, file::LibraryFile};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{LibraryEndpoint, LibraryFile};

use std::time::Duration;

use tailback_net::Seed;

/// What an endpoint is told when it is opened.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which it is.
    pub end: End,
    /// The name of its flow.
    pub flow: String,
    /// Its options, as words.
    pub options: Vec<(String, String)>,
    /// It is not called before.
    pub start: Duration,
    /// The end of the run.
    pub until: Duration,
    /// The most bytes of a datagram.
    pub most: u32,
    /// Of its random numbers.
    pub seed: Seed,
}
