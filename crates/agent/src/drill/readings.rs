//! The values of a socket that a script's code can read: `TCP_INFO` and `SO_MEMINFO` by the names of packetdrill.
//! [linux-6.12 include/uapi/linux/tcp.h struct tcp_info, sock_diag.h SK_MEMINFO_*]

use std::io;
use std::os::fd::RawFd;

use super::system;
use crate::sys::SO_MEMINFO;

/// How wide a field is.
#[derive(Clone, Copy)]
enum Width {
    Octet,
    LowHalf,
    HighHalf,
    Short,
    Word,
    Double,
}

use Width::{Double, HighHalf, LowHalf, Octet, Short, Word};

/// Names, offsets and widths. The kernel never changes them; an older kernel omits the fields that it does not have.
const FIELDS: &[(&str, usize, Width)] = &[
    ("tcpi_state", 0, Octet),
    ("tcpi_ca_state", 1, Octet),
    ("tcpi_retransmits", 2, Octet),
    ("tcpi_probes", 3, Octet),
    ("tcpi_backoff", 4, Octet),
    ("tcpi_options", 5, Octet),
    ("tcpi_snd_wscale", 6, LowHalf),
    ("tcpi_rcv_wscale", 6, HighHalf),
    ("tcpi_rto", 8, Word),
    ("tcpi_ato", 12, Word),
    ("tcpi_snd_mss", 16, Word),
    ("tcpi_rcv_mss", 20, Word),
    ("tcpi_unacked", 24, Word),
    ("tcpi_sacked", 28, Word),
    ("tcpi_lost", 32, Word),
    ("tcpi_retrans", 36, Word),
    ("tcpi_fackets", 40, Word),
    ("tcpi_last_data_sent", 44, Word),
    ("tcpi_last_ack_sent", 48, Word),
    ("tcpi_last_data_recv", 52, Word),
    ("tcpi_last_ack_recv", 56, Word),
    ("tcpi_pmtu", 60, Word),
    ("tcpi_rcv_ssthresh", 64, Word),
    ("tcpi_rtt", 68, Word),
    ("tcpi_rttvar", 72, Word),
    ("tcpi_snd_ssthresh", 76, Word),
    ("tcpi_snd_cwnd", 80, Word),
    ("tcpi_advmss", 84, Word),
    ("tcpi_reordering", 88, Word),
    ("tcpi_rcv_rtt", 92, Word),
    ("tcpi_rcv_space", 96, Word),
    ("tcpi_total_retrans", 100, Word),
    ("tcpi_pacing_rate", 104, Double),
    ("tcpi_max_pacing_rate", 112, Double),
    ("tcpi_bytes_acked", 120, Double),
    ("tcpi_bytes_received", 128, Double),
    ("tcpi_segs_out", 136, Word),
    ("tcpi_segs_in", 140, Word),
    ("tcpi_notsent_bytes", 144, Word),
    ("tcpi_min_rtt", 148, Word),
    ("tcpi_data_segs_in", 152, Word),
    ("tcpi_data_segs_out", 156, Word),
    ("tcpi_delivery_rate", 160, Double),
    ("tcpi_busy_time", 168, Double),
    ("tcpi_rwnd_limited", 176, Double),
    ("tcpi_sndbuf_limited", 184, Double),
    ("tcpi_delivered", 192, Word),
    ("tcpi_delivered_ce", 196, Word),
    ("tcpi_bytes_sent", 200, Double),
    ("tcpi_bytes_retrans", 208, Double),
    ("tcpi_dsack_dups", 216, Word),
    ("tcpi_reord_seen", 220, Word),
    ("tcpi_rcv_ooopack", 224, Word),
    ("tcpi_snd_wnd", 228, Word),
    ("tcpi_rcv_wnd", 232, Word),
    ("tcpi_rehash", 236, Word),
    ("tcpi_total_rto", 240, Short),
    ("tcpi_total_rto_recoveries", 242, Short),
    ("tcpi_total_rto_time", 244, Word),
    ("tcpi_received_ce", 248, Word),
    ("tcpi_delivered_e1_bytes", 252, Word),
    ("tcpi_delivered_e0_bytes", 256, Word),
    ("tcpi_delivered_ce_bytes", 260, Word),
    ("tcpi_received_e1_bytes", 264, Word),
    ("tcpi_received_e0_bytes", 268, Word),
    ("tcpi_received_ce_bytes", 272, Word),
];

/// In their order.
const MEMORY: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];

/// All values that can be read now.
pub fn of(socket: RawFd) -> io::Result<Vec<(&'static str, u64)>> {
    let info = system::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let memory = system::option(socket, libc::SOL_SOCKET, SO_MEMINFO)?;
    let fields = FIELDS.iter().filter_map(|(name, at, width)| Some((*name, field(&info, *at, *width)?)));
    let places = MEMORY.iter().enumerate();
    let counts = places.filter_map(|(place, name)| Some((*name, field(&memory, place * 4, Word)?)));
    Ok(fields.chain(counts).collect())
}

fn field(octets: &[u8], at: usize, width: Width) -> Option<u64> {
    let octet = |at: usize| octets.get(at).copied();
    Some(match width {
        Octet => octet(at)?.into(),
        LowHalf => (octet(at)? & 15).into(),
        HighHalf => (octet(at)? >> 4).into(),
        Short => u16::from_ne_bytes(octets.get(at..at + 2)?.try_into().ok()?).into(),
        Word => u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?).into(),
        Double => u64::from_ne_bytes(octets.get(at..at + 8)?.try_into().ok()?),
    })
}
