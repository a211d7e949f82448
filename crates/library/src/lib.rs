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

#[cfg(any(test, not(all(target_os = "linux", target_arch = "x86_64"))))]
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

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use tailback_net::Endpoint;

    use super::{LibraryEndpoint, LibraryFile, Notes, Setup, elsewhere};

    fn is_kept<File: Copy + Debug + Send + 'static>() {}

    fn is_an_endpoint<Own: Endpoint + 'static>() {}

    macro_rules! used_as_a_library {
        ($file:ty, $endpoint:ty) => {{
            is_kept::<$file>();
            is_an_endpoint::<$endpoint>();
            let _: fn(&str) -> Result<$file, String> = <$file>::open;
            let _: fn($file, &Setup, &Notes) -> Result<$endpoint, String> = <$endpoint>::open;
        }};
    }

    /// No machine here compiles it otherwise.
    #[test]
    fn what_stands_for_a_library_on_other_machines_is_used_as_one() {
        used_as_a_library!(LibraryFile, LibraryEndpoint);
        used_as_a_library!(elsewhere::LibraryFile, elsewhere::LibraryEndpoint);
        assert!(elsewhere::LibraryFile::open("libmine.so").is_err());
    }
}
