//! A compiled module: loading it, setting its parameters, asking what it is.
#![expect(unsafe_code, reason = "loading foreign code; each block says why it is sound")]

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use tailback_cc::{Control, Draws, EcnNeed, Flow, Window};
use tailback_units::{Segs, Span};

use crate::abi::{self, About, Op};
use crate::control::ModuleControl;
use crate::library::Library;
use crate::{Facts, crash};

/// [linux-6.12 asm-generic/errno-base.h]
const ENOENT: c_int = 2;
const ERANGE: c_int = 34;

/// Maximum number of lines that a run keeps of what its modules print.
const MOST_LINES: usize = 1_000_000;

/// The random numbers of the call in progress; null outside of one. A run with modules is alone in its process.
pub(crate) static DRAWS: AtomicPtr<Draws> = AtomicPtr::new(ptr::null_mut());

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A loaded module. It is never unloaded: its process ends with the run.
#[derive(Clone, Debug)]
pub struct ModuleFile {
    name: String,
    about: About,
    pub(crate) socket: abi::Socket,
    pub(crate) call: abi::Call,
    pub(crate) ask: abi::Ask,
    facts: Facts,
}

static HOST: abi::Host = abi::Host { random, allocate, release, format, log, fail };

impl ModuleFile {
    /// Loads the file at `path`, sets its parameters and initialises it. A second call loads another copy only if the
    /// path differs. The error is the problem.
    pub fn open(path: &str, parameters: &[(String, String)]) -> Result<Self, String> {
        let library = Library::load(path, c"tailback_socket")?;
        let describe: abi::Describe = function(&library, c"tailback_describe")?;
        let open: abi::Open = function(&library, c"tailback_open")?;
        let set: abi::SetParameter = function(&library, c"tailback_set_parameter")?;
        let named: abi::ParameterName = function(&library, c"tailback_parameter")?;
        for (name, value) in parameters {
            set_parameter(set, named, name, value)?;
        }
        crash::begin(Op::Init.name(), 0);
        let status = open(&HOST);
        crash::end();
        let mut about = About::default();
        describe(&mut about);
        if status != 0 {
            let reason = take_log().pop().map_or(String::new(), |line| format!(": {line}"));
            return Err(format!("its initialisation returned {status}{reason}"));
        }
        match about.registered {
            0 => {
                return Err("it registers no congestion control (tcp_register_congestion_control)".to_owned());
            }
            1 => {}
            more => return Err(format!("it registers {more} congestion controls; leave one")),
        }
        let name = about.name.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut file = ModuleFile {
            name: String::from_utf8_lossy(name).into_owned(),
            about,
            socket: function(&library, c"tailback_socket")?,
            call: function(&library, c"tailback_call_5")?,
            ask: function(&library, c"tailback_ask")?,
            facts: Facts { wants_pacing: false, needs_ecn: ecn_need(about.needs_ecn), sndbuf_factor: 2 },
        };
        file.probe();
        Ok(file)
    }

    /// The name that it registered.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the sender needs to know.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// The control of one flow.
    pub fn control(&self) -> Control {
        match self.has(Op::CongControl) {
            true => Control::Model(Box::new(ModuleControl::new(self.clone()))),
            false => Control::Window(Box::new(ModuleControl::new(self.clone()))),
        }
    }

    /// Takes what modules printed.
    pub fn take_log(&self) -> Vec<String> {
        take_log()
    }

    pub(crate) fn has(&self, op: Op) -> bool {
        self.about.has & op.bit() != 0
    }

    /// Jiffies per second of the headers that it was compiled with.
    pub(crate) fn hz(&self) -> u64 {
        u64::from(self.about.hz)
    }

    /// Begins a connection that is then forgotten: whether it asks for pacing is seen no other way.
    fn probe(&mut self) {
        let jiffy = Span::from_nanos(1_000_000_000 / self.hz().max(1));
        // A control that needs ECN may turn into another one without.
        let ecn_ok = self.facts.needs_ecn != EcnNeed::No;
        let flow = Flow { ecn_ok, ..Flow::established(1448, jiffy) };
        let mut control = ModuleControl::new(self.clone());
        let mut window = Window::initial(Segs(10));
        self.facts.wants_pacing = control.begin(&flow, &mut window) & abi::PACING_NEEDED != 0;
        if self.has(Op::SndbufExpand) {
            self.facts.sndbuf_factor = control.sndbuf_expand(&flow, &window).max(1);
        }
    }
}

fn take_log() -> Vec<String> {
    std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

fn set_parameter(
    set: abi::SetParameter,
    named: abi::ParameterName,
    name: &str,
    value: &str,
) -> Result<(), String> {
    let (Ok(c_name), Ok(c_value)) = (CString::new(name), CString::new(value)) else {
        return Err(format!("`{name}` has a zero byte"));
    };
    match -set(c_name.as_ptr(), c_value.as_ptr()) {
        0 => Ok(()),
        ENOENT => {
            let own = (0..).map(|n| named(n)).take_while(|name| !name.is_null());
            // SAFETY: names of module parameters are string literals of the loaded file.
            let known: Vec<_> = own.map(|name| unsafe { CStr::from_ptr(name) }.to_string_lossy()).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            Err(format!("`{name}` is not a parameter of it; it has: {known}"))
        }
        ERANGE => Err(format!("its parameter `{name}` cannot be {value}: out of range")),
        error => Err(format!("its parameter `{name}` cannot be {value} (error {error})")),
    }
}

/// The function of a module with this name; `F` is the type that `kernel/module/abi.h` gives it.
fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    library
        .function(name)
        .ok_or_else(|| format!("it was compiled for another version of tailback: no {name:?}"))
}

/// What `enum tailback_ecn` says.
fn ecn_need(said: u32) -> EcnNeed {
    match said {
        abi::ECN_NONE => EcnNeed::No,
        abi::ECN_L4S => EcnNeed::L4s,
        _ => EcnNeed::Classic,
    }
}

extern "C" fn random() -> u32 {
    // SAFETY: null, or those of the control whose call is in progress, which touches them in no other way.
    unsafe { DRAWS.load(Ordering::Relaxed).as_mut() }.map_or(0, Draws::any)
}

extern "C" fn allocate(size: c_ulong) -> *mut c_void {
    // SAFETY: any size is allowed.
    unsafe { libc::calloc(1, size as usize) }
}

extern "C" fn release(memory: *mut c_void) {
    // SAFETY: the glue passes what `allocate` returned.
    unsafe { libc::free(memory) }
}

unsafe extern "C" {
    #[link_name = "vsnprintf"]
    fn vsnprintf(text: *mut c_char, size: c_ulong, format: *const c_char, arguments: *mut c_void) -> c_int;
}

extern "C" fn format(
    text: *mut c_char,
    size: c_ulong,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the glue passes a buffer of `size` bytes, and a list of arguments, which is a pointer in a call on x86_64.
    unsafe { vsnprintf(text, size, format, arguments) }
}

extern "C" fn log(line: *const c_char) {
    // SAFETY: the glue passes a string.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy().trim_end().to_owned();
    let mut lines = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    match lines.len() {
        length if length < MOST_LINES => lines.push(line),
        MOST_LINES => lines.push("(what it printed after this is not kept)".to_owned()),
        _ => {}
    }
}

extern "C" fn fail(reason: *const c_char) {
    // SAFETY: the glue passes a string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    crash::fail(format_args!("panic: {}", reason.trim_end().replace(['\t', '\n'], " ")))
}
