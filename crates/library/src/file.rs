//! A library of the user: loading it, and opening endpoints in it.

use std::ffi::CStr;

use tailback_module::Library;

use crate::abi;

/// A loaded library. It is never unloaded: its process ends with the run.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFile {
    pub(crate) open: abi::Open,
    pub(crate) receive: abi::Receive,
    pub(crate) expired: abi::Expired,
    pub(crate) transmit: abi::Transmit,
    pub(crate) timeout: abi::Timeout,
    pub(crate) close: abi::Close,
    pub(crate) ask: Option<abi::Ask>,
}

impl LibraryFile {
    /// Loads the file at `path`. The error is the problem.
    pub fn open(path: &str) -> Result<Self, String> {
        let library = Library::load(path, c"tailback_endpoint_abi")?;
        let version = function::<abi::Abi>(&library, c"tailback_endpoint_abi")?();
        if version != abi::VERSION {
            return Err(format!(
                "it was compiled for version {version} of tailback_endpoint.h, and this is version {}: compile it with \
                 the present header",
                abi::VERSION
            ));
        }
        Ok(LibraryFile {
            open: function(&library, c"tailback_endpoint_open")?,
            receive: function(&library, c"tailback_endpoint_receive")?,
            expired: function(&library, c"tailback_endpoint_expired")?,
            transmit: function(&library, c"tailback_endpoint_transmit")?,
            timeout: function(&library, c"tailback_endpoint_timeout")?,
            close: function(&library, c"tailback_endpoint_close")?,
            ask: library.function(c"tailback_endpoint_info"),
        })
    }
}

/// The function with this name; `F` is the type that the header gives it.
fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    library.function(name).ok_or_else(|| {
        let name = name.to_string_lossy();
        format!("it has no function `{name}`; tailback_endpoint.h lists those that it needs")
    })
}
