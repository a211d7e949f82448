//! The packet as it travels: headers as structs, ECN, stamps, identity, and how it can end.
//!
//! A packet ends in exactly one of two ways: delivered to a socket, or dropped with a [`DropReason`].
//! Sequence numbers are 64-bit stream offsets (no wrap-around); the wire form is made only by the writers
//! that need it.

mod accecn;
mod flow_hash;
mod merging;
mod queue_length;
mod segment;
mod segmentation;

pub use accecn::{AccEcnOption, FieldOrder};
pub use flow_hash::{conversation_hash, redrawn_hash};
pub use merging::Merged;
pub use queue_length::QueueLength;
pub use segment::{SACK_BLOCKS_MAX, SackBlock, SackBlocks, Segment, SegmentFlags, Timestamp};

use tailback_units::{Bytes, SimTime};

/// Bytes of an Ethernet header without FCS: what a qdisc adds to the IP length. [linux-5.10 skb->len at qdisc]
pub const ETHERNET_HEADER: u32 = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: u32 = 20;
/// Bytes of a UDP header. [rfc768]
pub const UDP_HEADER: u32 = 8;

/// The Internet protocol that carries a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IpVersion {
    /// [rfc791]
    #[default]
    V4,
    /// [rfc8200]
    V6,
}

impl IpVersion {
    /// Bytes of its header, without options or extensions.
    pub const fn header(self) -> u32 {
        match self {
            IpVersion::V4 => IPV4_HEADER,
            IpVersion::V6 => 40,
        }
    }
}
/// Bytes of an Ethernet frame on the wire beside its IP packet: preamble 8, header 14, FCS 4, gap 12.
pub const ETHERNET_WIRE_OVERHEAD: u32 = 38;

/// A host of the experiment, in the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct HostId(pub u16);

/// One end of a transport conversation: a TCP or UDP socket, or a ping. Stands for the address and port it is bound to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct SocketId(pub u32);

/// The two ECN bits of the IP header. [rfc3168 §5]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, code point 01.
    Ect1,
    /// ECN-capable, code point 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DropReason {
    /// It arrived at a full queue.
    TailFull,
    /// It was the oldest of the longest queue when the whole discipline was over its limit.
    Overlimit,
    /// The whole discipline was over its memory limit.
    Overmemory,
    /// An AQM law dropped it: on arrival, or at the head of the queue.
    Aqm,
    /// It reached a host that has no socket for it.
    NoSocket,
    /// The frame with the packet was not acknowledged after as many transmissions as the radio makes.
    RetryLimit,
    /// It arrived after the receiver had stopped waiting for it.
    ReorderTimeout,
    /// The flow of the packet was at its limit.
    FlowFull,
    /// The departure time of the packet lay too far in the future.
    Horizon,
    /// It is longer than the token bucket.
    TooLong,
    /// A random loss, which is not reported to the sender (netem).
    RandomLoss,
    /// It was damaged on its way: the checksum at its destination is wrong.
    Corrupted,
    /// A later acknowledgement of the same flow makes it redundant.
    AckFiltered,
    /// No class accepts it.
    Unclassified,
    /// The link was down when it left.
    LinkDown,
    /// A policer had no tokens for it.
    Policed,
    /// It is not lost: a discipline has cut it, and its segments wait in its place. A report to all above, not a drop.
    Segmented,
}

impl DropReason {
    /// Every reason for which packets are lost, in the order of their numbers.
    pub const ALL: [DropReason; 16] = [
        DropReason::TailFull,
        DropReason::Overlimit,
        DropReason::Overmemory,
        DropReason::Aqm,
        DropReason::NoSocket,
        DropReason::RetryLimit,
        DropReason::ReorderTimeout,
        DropReason::FlowFull,
        DropReason::Horizon,
        DropReason::TooLong,
        DropReason::RandomLoss,
        DropReason::Corrupted,
        DropReason::AckFiltered,
        DropReason::Unclassified,
        DropReason::LinkDown,
        DropReason::Policed,
    ];

    /// The name in tables and in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::TailFull => "tail_full",
            DropReason::Overlimit => "overlimit",
            DropReason::Overmemory => "overmemory",
            DropReason::Aqm => "aqm",
            DropReason::NoSocket => "no_socket",
            DropReason::RetryLimit => "retry_limit",
            DropReason::ReorderTimeout => "reorder_timeout",
            DropReason::FlowFull => "flow_full",
            DropReason::Horizon => "horizon",
            DropReason::TooLong => "too_long",
            DropReason::RandomLoss => "random_loss",
            DropReason::Corrupted => "corrupted",
            DropReason::AckFiltered => "ack_filtered",
            DropReason::Unclassified => "unclassified",
            DropReason::LinkDown => "link_down",
            DropReason::Policed => "policed",
            DropReason::Segmented => "segmented",
        }
    }
}

/// The payload of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP segment (or, with offloads, a train of them).
    Tcp(Segment),
    /// An ICMP echo request.
    EchoRequest {
        /// Sequence number.
        seq: u32,
    },
    /// The answer to an echo request.
    EchoReply {
        /// Sequence number of the request.
        seq: u32,
    },
    /// A UDP datagram.
    Datagram {
        /// The number of the datagram within its flow.
        seq: u32,
        /// When the application sent it.
        sent: SimTime,
    },
    /// A UDP datagram of an endpoint outside, with its content.
    Content {
        /// When the endpoint sent it.
        sent: SimTime,
        /// Its data.
        data: Box<[u8]>,
    },
    /// A bit was flipped on the way: its content is lost, and its destination drops it.
    Damaged,
}

/// One packet: an skb in Linux's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The socket it comes from.
    pub from: SocketId,
    /// The socket it goes to.
    pub to: SocketId,
    /// The host it comes from.
    pub source: HostId,
    /// The host it goes to.
    pub destination: HostId,
    /// Length of the IP packet; a train of segments counts the headers of each.
    pub ip_length: u32,
    /// How many MTU-sized packets it represents (1 without offloads).
    pub segments: u16,
    /// ECN bits.
    pub ecn: Ecn,
    /// Type-of-service octet (the code point times 4) without the ECN bits; picks the band of `pfifo_fast` and the
    /// access category of a radio.
    pub tos: u8,
    /// Hash of the socket it comes from, by which most disciplines choose a queue; equal for all packets of one direction
    /// of a flow, until a timeout changes it. [linux-6.12 skbuff.h skb_get_hash]
    pub flow_hash: u32,
    /// Bytes of kernel memory it is accounted with. [linux-6.12 skb->truesize]
    pub truesize: u32,
    /// The sending TCP socket is still charged for it: freeing or orphaning it must return the credit.
    pub charged: bool,
    /// The length for disciplines, if the one at the root of a device has a size table.
    pub queue_length: QueueLength,
    /// When it was enqueued in its present discipline.
    pub enqueued: SimTime,
    /// Earliest departure time, set by a paced sender for `fq`. [linux-5.10 skb->tstamp]
    pub departure: SimTime,
    /// What it carries.
    pub payload: Payload,
}

impl Packet {
    /// An empty packet without a sender, to be overwritten.
    pub const fn empty() -> Self {
        Packet {
            from: SocketId(u32::MAX),
            to: SocketId(u32::MAX),
            source: HostId(u16::MAX),
            destination: HostId(u16::MAX),
            ip_length: 0,
            segments: 0,
            ecn: Ecn::NotEct,
            tos: 0,
            flow_hash: 0,
            truesize: 0,
            charged: false,
            queue_length: QueueLength::NONE,
            enqueued: SimTime::ZERO,
            departure: SimTime::ZERO,
            payload: Payload::EchoRequest { seq: 0 },
        }
    }

    /// Length as a queueing discipline sees it: the Ethernet frame without FCS, or what a size table says.
    /// [linux-5.10 qdisc_pkt_len]
    #[inline]
    pub fn frame_length(&self) -> u32 {
        match self.queue_length.get() {
            None => self.ip_length + ETHERNET_HEADER * u32::from(self.segments),
            Some(length) => length,
        }
    }

    /// Bytes of the buffer: a train has its headers once. [linux-6.12 skb->len]
    pub fn buffer_length(&self) -> u32 {
        let repeated = match &self.payload {
            Payload::Tcp(train) if self.segments > 1 => {
                (self.ip_length - train.length) / u32::from(self.segments) * u32::from(self.segments - 1)
            }
            _ => 0,
        };
        self.ip_length - repeated + ETHERNET_HEADER
    }

    /// Bytes that the wire is busy for: frame, FCS, preamble and gap; short frames are padded to 64.
    #[inline]
    pub fn wire_length(&self) -> Bytes {
        let per_frame = ETHERNET_WIRE_OVERHEAD * u32::from(self.segments);
        Bytes(u64::from((self.ip_length + per_frame).max(84)))
    }

    /// The socket that sent it is no longer charged for it. Returns how much memory it was charged for.
    #[inline]
    pub fn end_charge(&mut self) -> u32 {
        if std::mem::take(&mut self.charged) { self.truesize } else { 0 }
    }

    /// Where it is in memory: the same while it is in the network, so that logs know it by that.
    pub fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// True if it can be marked CE. [rfc3168 §5]
    #[inline]
    pub fn is_markable(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    /// The octet of the IP header with the code point and the ECN bits.                               [rfc2474] [rfc3168]
    #[inline]
    pub fn ds_octet(&self) -> u8 {
        let ecn = match self.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        self.tos | ecn
    }

    /// Sets CE if the transport is ECN-capable; false if it is not. [rfc3168 §5]
    pub fn mark(&mut self) -> bool {
        let capable = self.is_markable();
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }
}
