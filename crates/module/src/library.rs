//! A shared object of the user, loaded.
#![expect(unsafe_code, reason = "loading foreign code; each block says why it is sound")]

use std::ffi::{CStr, CString, c_void};
use std::mem::{MaybeUninit, transmute_copy};

use crate::crash;

/// A loaded file. It is never unloaded: its process ends with the run.
#[derive(Debug)]
pub struct Library(*mut c_void);

impl Library {
    /// Loads the file at `path`, which should have a function of the name `any`: crashes between its addresses are the
    /// file's. Whoever calls it executes the file's constructors. The error is the problem.
    pub fn load(path: &str, any: &CStr) -> Result<Self, String> {
        let path_in_c = CString::new(path).map_err(|_| "a path with a zero byte".to_owned())?;
        crash::begin(&"dlopen", 0);
        // SAFETY: a string; what the file executes is the caller's to answer for.
        let handle = unsafe { libc::dlopen(path_in_c.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        crash::end();
        let library = Library(handle);
        if handle.is_null() {
            return Err(format!("it cannot be loaded: {}", last_error()));
        }
        if let Some(base) = library.base_of(any) {
            crash::loaded(base, path);
        }
        Ok(library)
    }

    /// The function with this name; `F` has to be its type.
    pub fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) }
        // SAFETY: the handle is open; that `F` is the type of the name, its header says.
        unsafe {
            let found = libc::dlsym(self.0, name.as_ptr());
            (!found.is_null()).then(|| transmute_copy(&found))
        }
    }

    /// The address of the file that has the function.
    fn base_of(&self, name: &CStr) -> Option<usize> {
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the handle is open; `dladdr` fills the struct if it returns nonzero, and zeros are valid before.
        unsafe {
            let address = libc::dlsym(self.0, name.as_ptr());
            let known = !address.is_null() && libc::dladdr(address, found.as_mut_ptr()) != 0;
            known.then(|| found.assume_init().dli_fbase as usize)
        }
    }
}

fn last_error() -> String {
    // SAFETY: `dlerror` returns a string or null.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
