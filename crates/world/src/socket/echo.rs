//! A socket that sends echo requests: an ICMP socket, or a UDP socket whose peer sends each datagram back. Its packets are
//! charged to no socket.

use tailback_packet::{Ecn, HostId, IPV4_HEADER, Packet, Payload, SocketId, conversation_hash};
use tailback_units::SimTime;

/// Kernel memory of a small packet: head and `sk_buff`. [linux-6.12 SKB_TRUESIZE]
const TRUESIZE: u32 = 768;

/// A socket that sends requests; its peer has the next number.
#[derive(Debug)]
pub(crate) struct EchoSocket {
    pub(crate) socket: SocketId,
    /// Its host, and the one that answers.
    pub(crate) hosts: [HostId; 2],
    /// Type-of-service octet of its packets.
    pub(crate) tos: u8,
}

impl EchoSocket {
    /// A request of `size` bytes, with the header of ICMP or UDP.
    pub(crate) fn request(&self, seq: u32, size: u32, now: SimTime) -> Packet {
        let (from, to) = (self.socket, SocketId(self.socket.0 + 1));
        let [source, destination] = self.hosts;
        Packet {
            from,
            to,
            source,
            destination,
            ip_length: IPV4_HEADER + size,
            segments: 1,
            ecn: Ecn::NotEct,
            tos: self.tos,
            flow_hash: conversation_hash(from, to),
            truesize: TRUESIZE,
            charged: false,
            queue_length: tailback_packet::QueueLength::NONE,
            enqueued: now,
            departure: now,
            payload: Payload::EchoRequest { seq },
        }
    }
}
