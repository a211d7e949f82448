//! Machines on which no module can be loaded.

use crate::Facts;
use tailback_cc::Control;

/// A module that cannot be opened here.
#[derive(Clone, Debug)]
pub enum ModuleFile {}

impl ModuleFile {
    /// Refuses.
    pub fn open(_path: &str, _parameters: &[(String, String)]) -> Result<Self, String> {
        Err("kernel modules run on Linux on x86_64 alone".to_owned())
    }

    /// What the sender needs to know.
    pub fn facts(&self) -> Facts {
        match *self {}
    }

    /// The control of one flow.
    pub fn control(&self) -> Control {
        match *self {}
    }

    /// What its messages were.
    pub fn take_log(&self) -> Vec<String> {
        match *self {}
    }
}

/// Does nothing.
pub fn watch_over() {}
