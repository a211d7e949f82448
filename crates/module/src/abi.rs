//! The other side of `kernel/module/abi.h`: the same structs, in the same order.

use std::ffi::{c_char, c_int, c_ulong, c_void};

/// The sender before a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) now_ns: u64,
    pub(crate) app_limited: u64,
    pub(crate) departure_ns: u64,
    pub(crate) delivered_ns: u64,
    pub(crate) last_sent_ns: u64,
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_ce: u64,
    pub(crate) lost: u64,
    pub(crate) srtt_us8: u32,
    pub(crate) min_rtt_us: u32,
    pub(crate) packets_out: u32,
    pub(crate) sacked_out: u32,
    pub(crate) in_flight: u32,
    pub(crate) is_cwnd_limited: u32,
    pub(crate) tsval: u32,
    pub(crate) tsecr: u32,
    pub(crate) mss: u32,
    pub(crate) mtu: u32,
    pub(crate) ca_state: u32,
    pub(crate) ecn_ok: u32,
    pub(crate) pacing_status: u32,
    pub(crate) pacing_shift: u32,
    pub(crate) gso_max_size: u32,
    pub(crate) gso_max_segs: u32,
    pub(crate) settings_changed: u32,
}

pub(crate) const MARK_APP_LIMITED: u32 = 1;
pub(crate) const ENTER_CWR: u32 = 2;
pub(crate) const PACING_NEEDED: u32 = 4;
pub(crate) const WROTE_BEYOND_PRIVATE: u32 = 8;

/// It uses no ECN by itself.
pub(crate) const ECN_NONE: u32 = 0;
/// It needs AccECN and ECT(1).
pub(crate) const ECN_L4S: u32 = 2;

/// What a call may change.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) pacing_rate: u64,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    pub(crate) cwnd_cnt: u32,
    pub(crate) prior_cwnd: u32,
    pub(crate) cwnd_clamp: u32,
    pub(crate) asks: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) acked: u32,
    pub(crate) rtt_us: i32,
    pub(crate) in_flight: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) prior_delivered: u64,
    pub(crate) delivered: i64,
    pub(crate) interval_us: i64,
    pub(crate) rtt_us: i64,
    pub(crate) losses: u32,
    pub(crate) acked_sacked: u32,
    pub(crate) prior_in_flight: u32,
    pub(crate) is_app_limited: u32,
    pub(crate) is_retrans: u32,
    pub(crate) is_ack_delayed: u32,
    pub(crate) tx_in_flight: u32,
    pub(crate) lost: u32,
}

/// A segment that was marked lost.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) tx_in_flight: u32,
    pub(crate) lost: u32,
    pub(crate) is_app_limited: u32,
}

/// What `get_info` says, if it says what BBR's does.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Info {
    pub(crate) is_bbr: u32,
    pub(crate) pacing_gain: u32,
    pub(crate) cwnd_gain: u32,
    pub(crate) min_rtt_us: u32,
    pub(crate) bandwidth: u64,
}

/// A member of `struct tcp_congestion_ops`.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Init,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    MinTsoSegs,
    CongControl,
    UndoCwnd,
    SndbufExpand,
    GetInfo,
    Release,
    SkbMarkedLost,
}

impl Op {
    /// The name of the member with this number.
    const NAMES: [&'static str; 14] = [
        "init",
        "ssthresh",
        "cong_avoid",
        "set_state",
        "cwnd_event",
        "in_ack_event",
        "pkts_acked",
        "min_tso_segs",
        "cong_control",
        "undo_cwnd",
        "sndbuf_expand",
        "get_info",
        "release",
        "skb_marked_lost",
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static &'static str {
        &(const { &Op::NAMES })[self as usize]
    }

    /// The bit of this callback in [`About::has`].
    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Services of the simulator.
#[repr(C)]
pub(crate) struct Host {
    pub(crate) random: extern "C" fn() -> u32,
    pub(crate) allocate: extern "C" fn(c_ulong) -> *mut c_void,
    pub(crate) release: extern "C" fn(*mut c_void),
    pub(crate) format: extern "C" fn(*mut c_char, c_ulong, *const c_char, *mut c_void) -> c_int,
    pub(crate) log: extern "C" fn(*const c_char),
    pub(crate) fail: extern "C" fn(*const c_char),
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub(crate) name: [u8; 16],
    pub(crate) registered: u32,
    pub(crate) has: u32,
    /// One of `ECN_…`.
    pub(crate) needs_ecn: u32,
    pub(crate) hz: u32,
}

pub(crate) type Open = extern "C" fn(*const Host) -> c_int;
pub(crate) type Describe = extern "C" fn(*mut About);
pub(crate) type ParameterName = extern "C" fn(u32) -> *const c_char;
pub(crate) type SetParameter = extern "C" fn(*const c_char, *const c_char) -> c_int;
pub(crate) type Socket = extern "C" fn() -> *mut c_void;
pub(crate) type Ask = extern "C" fn(*mut c_void, *const Facts, *mut Info);
pub(crate) type Call = extern "C" fn(*mut c_void, u32, *const Facts, *mut Window, *const c_void) -> u32;
