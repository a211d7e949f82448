//! An application that offers UDP datagrams at a rate, and the one that counts them. [rfc768]
//!
//! ```text
//! a datagram is due each 8 · size / rate; `send()` blocks while the socket's unsent memory is at its send buffer
//! woken when that memory has fallen to half the buffer                            [linux-6.12 sock.c sock_def_write_space]
//! ```
//! What was due while it was blocked is not made up for: it offers the rate at most, as iperf3 does with a local
//! bottleneck. A send buffer bounds what a flood may have queued above a Wi-Fi card or behind a shaper on its own host.

use tailback_packet::{Ecn, HostId, IPV4_HEADER, Packet, Payload, SocketId};
use tailback_record::Name;
use tailback_units::{SimTime, Span};

use crate::{DeviceId, conversation_hash};

/// Bytes of a UDP header.
pub(crate) const HEADER: u32 = 8;
/// `net.core.wmem_default`. [linux-6.12 sock.h _SK_MEM_OVERHEAD]
pub(crate) const SEND_BUFFER: u64 = 212_992;
/// Room before the IP header, and the shared info behind the data. [linux-6.12 skbuff.h]
const HEADROOM: u32 = 32;
const SHARED_INFO: u32 = 320;
/// `struct sk_buff`, and what the small-head cache gives. [linux-6.12 skbuff.c]
const SKB: u32 = 256;
const SMALL_HEAD: u32 = 704;

/// One sending application and its peer.
#[derive(Debug)]
pub(crate) struct Udp {
    pub(crate) name: Name,
    pub(crate) host: HostId,
    pub(crate) to: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    /// The sending end; the receiving end has the next number.
    pub(crate) socket: SocketId,
    pub(crate) tos: u8,
    /// From one datagram to the next.
    pub(crate) gap: Span,
    pub(crate) stop: SimTime,
    /// Bytes of data in a datagram.
    pub(crate) size: u32,
    pub(crate) send_buffer: u64,
    /// Memory of datagrams that have not left the host.
    pub(crate) unsent: u64,
    /// It waits for room in the send buffer.
    pub(crate) blocked: bool,
    pub(crate) sent: u32,
    /// Since the last row of the table.
    pub(crate) interval: Counts,
}

/// What happened within one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Sum and greatest of the one-way delays.
    pub(crate) delays: Span,
    pub(crate) longest: Span,
}

impl Udp {
    /// `send()` would block.
    pub(crate) fn is_full(&self) -> bool {
        self.unsent >= self.send_buffer
    }

    /// The next datagram; the socket is charged for it.
    pub(crate) fn datagram(&mut self, now: SimTime) -> Packet {
        let seq = self.sent;
        self.sent += 1;
        self.interval.sent += 1;
        let (from, to) = (self.socket, SocketId(self.socket.0 + 1));
        let ip_length = IPV4_HEADER + HEADER + self.size;
        let truesize = truesize(ip_length);
        self.unsent += u64::from(truesize);
        Packet {
            from,
            to,
            source: self.host,
            destination: self.to,
            ip_length,
            segments: 1,
            ecn: Ecn::NotEct,
            tos: self.tos,
            flow_hash: conversation_hash(from, to),
            truesize,
            charged: true,
            enqueued: now,
            departure: now,
            payload: Payload::Datagram { seq, sent: now },
        }
    }

    /// A datagram has left the host; true if the application is woken.
    pub(crate) fn credit(&mut self, truesize: u32) -> bool {
        self.unsent -= u64::from(truesize);
        let woken = self.blocked && 2 * self.unsent <= self.send_buffer;
        self.blocked &= !woken;
        woken
    }

    /// A datagram sent at `sent` has arrived.
    pub(crate) fn arrived(&mut self, sent: SimTime, now: SimTime) {
        let delay = now.since(sent);
        self.interval.received += 1;
        self.interval.delays += delay;
        self.interval.longest = self.interval.longest.max(delay);
    }
}

impl Counts {
    /// Mean one-way delay of what arrived.
    pub(crate) fn mean_delay(&self) -> Option<Span> {
        (self.received > 0).then(|| self.delays / self.received)
    }
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
