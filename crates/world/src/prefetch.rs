//! Prefetches into the processor's cache what the next arrivals on a wire will need.
//!
//! With thousands of flows a packet and its socket have long left the cache when the packet arrives, and the run would
//! wait for memory much of its time. A wire is a FIFO, so it is known which ones come next:
//!
//! ```text
//! arrival of packet n: prefetch packet n + 2, and the socket of packet n + 1, whose header was prefetched at arrival n − 1
//! ```
//!
//! Only the time that a run takes depends on this.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction that prefetches takes an address")
)]

use tailback_packet::HostId;

use crate::socket::Sockets;
use crate::wire::Wire;

/// So many sockets, with their packets, stay in the cache without this.
const FEW: usize = 256;

/// A packet has left `wire`, whose other end is at `peer`.
#[inline(always)]
pub(crate) fn prefetch_next(wire: &Wire, peer: HostId, sockets: &mut Sockets) {
    if sockets.count() > FEW {
        prefetch_packet_and_socket(wire, peer, sockets);
    }
}

#[inline(never)]
fn prefetch_packet_and_socket(wire: &Wire, peer: HostId, sockets: &mut Sockets) {
    let Some(next) = wire.next(0) else { return };
    if let Some(second) = wire.next(1) {
        prefetch(second);
    }
    if next.destination == peer
        && let Some(socket) = sockets.tcp_if_there(next.to)
    {
        prefetch(socket);
    }
}

/// Prefetches all cache lines of a value; on other processors than x86-64 nothing, since Rust offers no instruction for them.
#[inline(always)]
fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(CACHE_LINE) {
            // SAFETY: the address is inside the value; besides, the instruction changes nothing and cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;
