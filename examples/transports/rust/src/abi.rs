//! `include/tailback_endpoint.h` for Rust: copy this file, implement [`Transport`], and call `export!`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

pub const NEVER: u64 = u64::MAX;
pub const UNKNOWN: u64 = u64::MAX;

#[repr(C)]
pub struct Host {
    random: extern "C" fn(*mut c_void) -> u64,
    log: extern "C" fn(*mut c_void, *const c_char),
    fail: extern "C" fn(*mut c_void, *const c_char),
    event: extern "C" fn(*mut c_void, *const c_char, *const c_char),
}

#[repr(C)]
struct Opt {
    name: *const c_char,
    value: *const c_char,
}

#[repr(C)]
pub struct Setup {
    host: *const Host,
    token: *mut c_void,
    flow: *const c_char,
    options: *const Opt,
    option_count: usize,
    pub start_ns: u64,
    pub end_ns: u64,
    /// 0: it is at host `from`; 1: at host `to`.
    pub end: u32,
    pub max_datagram: u32,
}

impl Setup {
    /// The options by name.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        // SAFETY: the simulator gives so many, and their words are UTF-8 in strings of C.
        let word = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default();
        let given = match self.option_count {
            0 => &[][..],
            // SAFETY: the same.
            count => unsafe { std::slice::from_raw_parts(self.options, count) },
        };
        given.iter().map(move |each| (word(each.name), word(each.value)))
    }

    /// Random bits, from the seed of the run.
    pub fn random(&self) -> u64 {
        // SAFETY: the host is valid as long as the endpoint.
        (unsafe { &*self.host }.random)(self.token)
    }

    /// A line for `endpoint.log`.
    pub fn log(&self, line: &str) {
        let line = CString::new(line).unwrap_or_default();
        // SAFETY: the host is valid as long as the endpoint.
        (unsafe { &*self.host }.log)(self.token, line.as_ptr());
    }

    /// The run ends with this reason.
    pub fn fail(&self, reason: &str) {
        let reason = CString::new(reason).unwrap_or_default();
        // SAFETY: the host is valid as long as the endpoint.
        (unsafe { &*self.host }.fail)(self.token, reason.as_ptr());
    }

    /// An event for the qlog of this end; `data` is a JSON object.
    pub fn event(&self, name: &str, data: &str) {
        let [name, data] = [name, data].map(|text| CString::new(text).unwrap_or_default());
        // SAFETY: the host is valid as long as the endpoint.
        (unsafe { &*self.host }.event)(self.token, name.as_ptr(), data.as_ptr());
    }
}

#[repr(C)]
pub struct RawReceived {
    data: *const u8,
    size: usize,
    from: u32,
    ecn: u32,
}

#[repr(C)]
pub struct Outgoing {
    data: *mut u8,
    capacity: usize,
    size: usize,
    pub segment: usize,
    pub departure_ns: u64,
    pub to: u32,
    pub ecn: u32,
}

impl Outgoing {
    /// The content of the datagram.
    pub fn write(&mut self, content: &[u8]) {
        assert!(content.len() <= self.capacity, "{} bytes for a room of {}", content.len(), self.capacity);
        // SAFETY: there is room for `capacity` bytes.
        unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), self.data, content.len()) };
        self.size = content.len();
    }
}

#[repr(C)]
pub struct Info {
    pub cwnd_bytes: u64,
    pub datagram_bytes: u64,
    pub in_flight_bytes: u64,
    pub rtt_ns: u64,
    pub min_rtt_ns: u64,
    pub pacing_bps: u64,
    pub read_bytes: u64,
    pub lost: u64,
}

/// One end of a transport.
pub trait Transport: Sized {
    /// The end of a setup; a text says why there is none.
    fn open(setup: &'static Setup) -> Result<Self, String>;
    fn receive(&mut self, now_ns: u64, data: &[u8], ecn: u32);
    fn expired(&mut self, _now_ns: u64) {}
    /// Whether it gave a datagram.
    fn transmit(&mut self, now_ns: u64, datagram: &mut Outgoing) -> bool;
    fn timeout(&mut self) -> u64;
    fn info(&mut self, _now_ns: u64, _info: &mut Info) {}
}

pub fn open<T: Transport>(setup: *const Setup) -> *mut c_void {
    // SAFETY: the setup stays valid until the endpoint is closed.
    let setup = unsafe { &*setup };
    match T::open(setup) {
        Ok(made) => Box::into_raw(Box::new(made)).cast(),
        Err(reason) => {
            setup.fail(&reason);
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// What `open` gave, which is not in use.
pub unsafe fn at<'a, T: Transport>(endpoint: *mut c_void) -> &'a mut T {
    unsafe { &mut *endpoint.cast::<T>() }
}

/// # Safety
/// What the simulator passes.
pub unsafe fn content<'a>(datagram: *const RawReceived) -> (&'a [u8], u32) {
    let given = unsafe { &*datagram };
    (unsafe { std::slice::from_raw_parts(given.data, given.size) }, given.ecn)
}

pub type Gave = c_int;

/// The functions of the header, for one [`Transport`].
#[macro_export]
macro_rules! export {
    ($transport:ty) => {
        use std::ffi::c_void;

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_abi() -> u32 {
            1
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_open(setup: *const abi::Setup) -> *mut c_void {
            abi::open::<$transport>(setup)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_receive(own: *mut c_void, now_ns: u64, given: *const abi::RawReceived) {
            // SAFETY: the simulator passes what `open` gave, and a datagram.
            let (own, (data, ecn)) = unsafe { (abi::at::<$transport>(own), abi::content(given)) };
            own.receive(now_ns, data, ecn);
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_expired(own: *mut c_void, now_ns: u64) {
            // SAFETY: the simulator passes what `open` gave.
            unsafe { abi::at::<$transport>(own) }.expired(now_ns);
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_transmit(
            own: *mut c_void,
            now_ns: u64,
            datagram: *mut abi::Outgoing,
        ) -> abi::Gave {
            // SAFETY: the simulator passes what `open` gave, and room for a datagram.
            let (own, datagram) = unsafe { (abi::at::<$transport>(own), &mut *datagram) };
            own.transmit(now_ns, datagram).into()
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_timeout(own: *mut c_void) -> u64 {
            // SAFETY: the simulator passes what `open` gave.
            unsafe { abi::at::<$transport>(own) }.timeout()
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_info(own: *mut c_void, now_ns: u64, info: *mut abi::Info) {
            // SAFETY: the simulator passes what `open` gave, and room for the answer.
            let (own, info) = unsafe { (abi::at::<$transport>(own), &mut *info) };
            own.info(now_ns, info);
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn tailback_endpoint_close(own: *mut c_void) {
            // SAFETY: the simulator passes what `open` gave, and no more after this.
            drop(unsafe { Box::from_raw(own.cast::<$transport>()) });
        }
    };
}
