//! A sending UDP socket: unsent data is charged to its send buffer. [linux-6.12 udp.c udp_sendmsg]
//!
//! ```text
//! full: unsent memory >= send buffer; woken when it has fallen to half of it   [linux-6.12 sock.c sock_def_write_space]
//! ```
//! The send buffer limits what a flood can queue above a Wi-Fi card or behind a shaper on its own host.

use tailback_packet::{Ecn, HostId, IPV4_HEADER, Packet, Payload, QueueLength, SocketId, UDP_HEADER};
use tailback_units::SimTime;

use crate::DeviceId;

/// `net.core.wmem_default`. [linux-6.12 sock.h _SK_MEM_OVERHEAD]
pub(crate) const SEND_BUFFER: u64 = 212_992;
/// Room before the IP header, and the shared info behind the data. [linux-6.12 skbuff.h]
const HEADROOM: u32 = 32;
const SHARED_INFO: u32 = 320;
/// `struct sk_buff`, and the size of a head from the small-head cache. [linux-6.12 skbuff.c]
const SKB: u32 = 256;
const SMALL_HEAD: u32 = 704;

/// A sending socket; its peer has the other number of its pair.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    pub(crate) socket: SocketId,
    pub(crate) host: HostId,
    pub(crate) peer_host: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    /// Type-of-service octet of its packets.
    pub(crate) tos: u8,
    /// Hash of their headers.
    pub(crate) flow_hash: u32,
    pub(crate) send_buffer: u64,
    /// Memory of datagrams that have not left the host.
    pub(crate) unsent: u64,
    /// The application waits for room in the send buffer.
    pub(crate) blocked: bool,
}

impl UdpSocket {
    /// `send()` would block.
    pub(crate) fn is_full(&self) -> bool {
        self.unsent >= self.send_buffer
    }

    /// A datagram with `size` bytes of data; the socket is charged for it.
    #[inline]
    pub(crate) fn datagram(&mut self, size: u32, payload: Payload, now: SimTime) -> Packet {
        let (from, to) = (self.socket, SocketId(self.socket.0 ^ 1));
        let ip_length = IPV4_HEADER + UDP_HEADER + size;
        let truesize = truesize(ip_length);
        self.unsent += u64::from(truesize);
        Packet {
            from,
            to,
            source: self.host,
            destination: self.peer_host,
            ip_length,
            segments: 1,
            ecn: Ecn::NotEct,
            tos: self.tos,
            flow_hash: self.flow_hash,
            truesize,
            charged: true,
            queue_length: QueueLength::NONE,
            enqueued: now,
            departure: now,
            payload,
        }
    }

    /// A datagram has left the host, and nobody waits for room. False and nothing if somebody does.
    #[inline]
    pub(crate) fn credit_at_rest(&mut self, truesize: u32) -> bool {
        if !self.blocked {
            self.unsent -= u64::from(truesize);
        }
        !self.blocked
    }

    /// A datagram has left the host; true if the application is woken.
    pub(crate) fn credit(&mut self, truesize: u32) -> bool {
        self.unsent -= u64::from(truesize);
        let woken = self.blocked && 2 * self.unsent <= self.send_buffer;
        self.blocked &= !woken;
        woken
    }
}

/// The socket of an endpoint outside of the world.
#[derive(Debug)]
pub(crate) struct EndpointSocket {
    pub(crate) udp: UdpSocket,
    /// The place of its pair among those of endpoints.
    pub(crate) pair: usize,
}

/// Kernel memory of a datagram: a head of the small-head cache or of a power of two, and its `sk_buff`.
/// [linux-6.12 sock_alloc_send_pskb, kmalloc_reserve]
fn truesize(ip_length: u32) -> u32 {
    let head = ip_length + HEADROOM + SHARED_INFO;
    SKB + if head <= SMALL_HEAD { SMALL_HEAD } else { head.next_power_of_two() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_datagram_costs_2304_bytes_and_a_small_one_960() {
        assert_eq!((truesize(1500), truesize(60)), (2_304, 960));
    }
}
