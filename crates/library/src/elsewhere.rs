//! Machines on which no library can be loaded.

use std::time::Duration;

use tailback_net::{Endpoint, Outgoing, Received};

use crate::{Notes, Setup};

/// A library that cannot be opened here.
#[derive(Clone, Copy, Debug)]
pub enum LibraryFile {}

impl LibraryFile {
    /// Refuses.
    pub fn open(_path: &str) -> Result<Self, String> {
        Err("libraries of endpoints run on Linux on x86_64 alone".to_owned())
    }
}

/// An endpoint that there cannot be.
#[derive(Debug)]
pub enum LibraryEndpoint {}

impl LibraryEndpoint {
    /// There is no file.
    pub fn open(file: LibraryFile, _setup: &Setup, _notes: &Notes) -> Result<Self, String> {
        match file {}
    }
}

impl Endpoint for LibraryEndpoint {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {
        match *self {}
    }

    fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
        match *self {}
    }

    fn timeout(&mut self) -> Option<Duration> {
        match *self {}
    }
}
