//! Checks of the keys of a kind.

use std::fmt::Display;

use crate::connection::{SmallQueue, SocketOptions};

/// Range of `TCP_MAXSEG`. [linux-6.12 tcp.h TCP_MIN_MSS, MAX_TCP_WINDOW]
const MIN_MSS: u32 = 88;
const MAX_MSS: u32 = 32_767;
/// Largest size of a socket option, in bytes.
pub(crate) const MAX_OPTION: u64 = 1 << 30;

/// A value that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The path of its key in the entry of the traffic, as `socket.mss`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

/// Nothing, or the first value that is refused.
pub type Checked = Result<(), Refused>;

/// An error unless `holds`. Texts are formatted only for the error: most values are right.
pub(crate) fn ensure(holds: bool, key: impl Display, problem: impl Display, remedy: impl Display) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Refused { key: key.to_string(), problem: problem.to_string(), remedy: remedy.to_string() })
}

pub(crate) fn positive(value: u64, key: impl Display) -> Checked {
    ensure(value > 0, key, "it is 0", "write a number above 0")
}

/// The end of a conversation comes after its start.
pub(crate) fn in_order(start_ns: u64, stop_ns: u64) -> Checked {
    ensure(start_ns < stop_ns, "stop_ns", "not after start_ns", "write a later instant")
}

/// Checks what the sockets of a TCP connection are given.
pub(crate) fn check_connection(tsq: SmallQueue, socket: &SocketOptions) -> Checked {
    check_socket(socket)?;
    match tsq {
        SmallQueue::Time { shift, time_ns } | SmallQueue::Check { shift, time_ns } => {
            ensure(shift < 32, "tsq.shift", format_args!("{shift} bits"), "write 0 to 31")?;
            positive(time_ns.unwrap_or(1), "tsq.time_ns")
        }
        SmallQueue::Bytes { bytes } => positive(bytes, "tsq.bytes"),
        SmallQueue::Packets { packets } => positive(u64::from(packets), "tsq.packets"),
        SmallQueue::Off => Ok(()),
    }
}

fn check_socket(socket: &SocketOptions) -> Checked {
    let sizes = [
        ("sndbuf", socket.sndbuf),
        ("rcvbuf", socket.rcvbuf),
        ("rcvlowat", Some(socket.rcvlowat)),
        ("notsent_lowat", socket.notsent_lowat),
    ];
    for (name, value) in sizes {
        let fits = value.is_none_or(|value| (1..=MAX_OPTION).contains(&value));
        ensure(fits, format_args!("socket.{name}"), "not a size of a socket", "write 1 to 1 GiB")?;
    }
    positive(socket.max_pacing_rate_bps.unwrap_or(1), "socket.max_pacing_rate_bps")?;
    let segment = socket.mss.is_none_or(|mss| (MIN_MSS..=MAX_MSS).contains(&mss));
    let remedy = format_args!("write {MIN_MSS} to {MAX_MSS}");
    ensure(segment, "socket.mss", "not a segment size", remedy)
}
