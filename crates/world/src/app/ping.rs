//! Echo: a request each interval, answered at once by the destination: by its stack (ICMP) or by a server (UDP). [rfc792]

use tailback_packet::{Ecn, HostId, IPV4_HEADER, Packet, Payload, SocketId};
use tailback_record::Name;
use tailback_units::{SimTime, Span};

use crate::conversation_hash;

/// Kernel memory of a small packet: head and `sk_buff`. [linux-6.12 SKB_TRUESIZE]
const TRUESIZE: u32 = 768;

/// One `ping` process.
#[derive(Debug)]
pub(crate) struct Ping {
    pub(crate) name: Name,
    pub(crate) host: HostId,
    pub(crate) to: HostId,
    pub(crate) interval: Span,
    pub(crate) stop: SimTime,
    /// Bytes of ICMP or UDP, header included; both headers have 8.
    pub(crate) size: u32,
    pub(crate) tos: u8,
    /// The requesting end; the answering end has the next number.
    pub(crate) socket: SocketId,
    /// By sequence number: when the request was sent, and the round trip if it was answered.
    pub(crate) requests: Vec<(SimTime, Option<Span>)>,
}

impl Ping {
    /// Memory of what became of its requests.
    pub(crate) fn held(&self) -> usize {
        self.requests.capacity() * size_of::<(SimTime, Option<Span>)>()
    }

    /// The next request.
    pub(crate) fn request(&mut self, now: SimTime) -> Packet {
        let seq = u32::try_from(self.requests.len()).expect("a run has fewer than four billion requests");
        self.requests.push((now, None));
        let (from, to) = (self.socket, SocketId(self.socket.0 + 1));
        Packet {
            from,
            to,
            source: self.host,
            destination: self.to,
            ip_length: IPV4_HEADER + self.size,
            segments: 1,
            ecn: Ecn::NotEct,
            tos: self.tos,
            flow_hash: conversation_hash(from, to),
            truesize: TRUESIZE,
            charged: false,
            enqueued: now,
            departure: now,
            payload: Payload::EchoRequest { seq },
        }
    }

    /// When the next request follows one sent now; `None` after the last.
    pub(crate) fn next(&self, now: SimTime) -> Option<SimTime> {
        Some(now + self.interval).filter(|&next| next < self.stop)
    }

    /// What the destination answers to `request`. [linux-6.12 icmp.c icmp_echo]
    pub(crate) fn reply(&self, request: Packet, seq: u32) -> Packet {
        let (from, to) = (request.to, request.from);
        let flow_hash = conversation_hash(from, to);
        let (source, destination) = (request.destination, request.source);
        Packet { from, to, source, destination, flow_hash, payload: Payload::EchoReply { seq }, ..request }
    }

    /// An answer arrived.
    pub(crate) fn answered(&mut self, seq: u32, now: SimTime) {
        let (sent, round_trip) = &mut self.requests[seq as usize];
        *round_trip = Some(now.since(*sent));
    }
}
