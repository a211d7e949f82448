//! A TCP socket on its host, and the flow that two of them make.

use tailback_engine::{Alarm, Draws};
use tailback_packet::{HostId, SocketId};
use tailback_record::Name;
use tailback_tcp::{Endpoint, Wakeup};
use tailback_units::Bytes;

use crate::DeviceId;
use crate::app::Bulk;
use crate::timers::Place;

/// One socket and what its host keeps for it; it begins with a line of the cache.
#[repr(align(64))]
pub(crate) struct TcpSocket {
    pub(crate) endpoint: Endpoint,
    pub(crate) host: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    pub(crate) alarm: Alarm,
    /// Its deadline among those of other sockets.
    pub(crate) timer: Place,
    pub(crate) draws: Draws,
    /// What its application has been woken for and not done yet.
    pub(crate) woken: Wakeup,
    /// Its small queue is full, and its device has been told.
    pub(crate) awaits_credit: bool,
    /// Type-of-service octet of its packets.
    pub(crate) tos: u8,
}

/// A bulk transfer: the sending socket has number `2 · flow`, the receiving one the next.
pub(crate) struct Flow {
    pub(crate) name: Name,
    pub(crate) bulk: Bulk,
    /// Bytes that the receiving application has read.
    pub(crate) read: Bytes,
    /// Of these, the bytes in rows of the table.
    pub(crate) recorded: Bytes,
}

/// The sending socket of `flow`.
pub(crate) fn sender_of(flow: u32) -> SocketId {
    SocketId(2 * flow)
}

/// The flow of `socket`.
pub(crate) fn flow_of(socket: SocketId) -> u32 {
    socket.0 / 2
}

/// `socket` is the sending one of its flow.
pub(crate) fn is_sender(socket: SocketId) -> bool {
    socket.0.is_multiple_of(2)
}
