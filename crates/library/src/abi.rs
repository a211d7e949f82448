//! The other side of `include/tailback_endpoint.h`: the same structs, in the same order.

use std::ffi::{c_char, c_int, c_void};

/// The version of the header.
pub(crate) const VERSION: u32 = 1;
pub(crate) const NEVER: u64 = u64::MAX;
pub(crate) const UNKNOWN: u64 = u64::MAX;

#[repr(C)]
pub(crate) struct Host {
    pub(crate) random: extern "C" fn(*mut c_void) -> u64,
    pub(crate) log: extern "C" fn(*mut c_void, *const c_char),
    pub(crate) fail: extern "C" fn(*mut c_void, *const c_char),
    pub(crate) event: extern "C" fn(*mut c_void, *const c_char, *const c_char),
}

#[repr(C)]
pub(crate) struct Opt {
    pub(crate) name: *const c_char,
    pub(crate) value: *const c_char,
}

#[repr(C)]
pub(crate) struct Setup {
    pub(crate) host: *const Host,
    pub(crate) token: *mut c_void,
    pub(crate) flow: *const c_char,
    pub(crate) options: *const Opt,
    pub(crate) option_count: usize,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) end: u32,
    pub(crate) max_datagram: u32,
}

#[repr(C)]
pub(crate) struct Received {
    pub(crate) data: *const u8,
    pub(crate) size: usize,
    pub(crate) from: u32,
    pub(crate) ecn: u32,
}

#[repr(C)]
pub(crate) struct Outgoing {
    pub(crate) data: *mut u8,
    pub(crate) capacity: usize,
    pub(crate) size: usize,
    pub(crate) segment: usize,
    pub(crate) departure_ns: u64,
    pub(crate) to: u32,
    pub(crate) ecn: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Info {
    pub(crate) cwnd_bytes: u64,
    pub(crate) datagram_bytes: u64,
    pub(crate) in_flight_bytes: u64,
    pub(crate) rtt_ns: u64,
    pub(crate) min_rtt_ns: u64,
    pub(crate) pacing_bps: u64,
    pub(crate) read_bytes: u64,
    pub(crate) lost: u64,
}

impl Info {
    pub(crate) const NOTHING: Info = Info {
        cwnd_bytes: UNKNOWN,
        datagram_bytes: UNKNOWN,
        in_flight_bytes: UNKNOWN,
        rtt_ns: UNKNOWN,
        min_rtt_ns: UNKNOWN,
        pacing_bps: UNKNOWN,
        read_bytes: UNKNOWN,
        lost: UNKNOWN,
    };
}

pub(crate) type Abi = extern "C" fn() -> u32;
pub(crate) type Open = extern "C" fn(*const Setup) -> *mut c_void;
pub(crate) type Receive = extern "C" fn(*mut c_void, u64, *const Received);
pub(crate) type Expired = extern "C" fn(*mut c_void, u64);
pub(crate) type Transmit = extern "C" fn(*mut c_void, u64, *mut Outgoing) -> c_int;
pub(crate) type Timeout = extern "C" fn(*mut c_void) -> u64;
pub(crate) type Close = extern "C" fn(*mut c_void);
pub(crate) type Ask = extern "C" fn(*mut c_void, u64, *mut Info);
