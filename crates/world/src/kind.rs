//! What a host does differently for a TCP socket that may send data and for one that only receives.

use tailback_packet::SocketId;
use tailback_tcp::{ReceiveOnly, Sender};

use crate::context::Context;
use crate::socket::{Drawing, Sockets, TcpSocket};
use crate::world::{AtAck, World};

/// The kinds of TCP socket, by their sending half.
pub(crate) trait SocketKind: Drawing {
    /// A socket that is known to be of this kind.
    fn find(sockets: &mut Sockets, id: SocketId) -> &mut TcpSocket<Self>;

    /// Passes what the socket has to send to its device, then handles its wake-ups.
    fn send(world: &mut World, id: SocketId);

    /// Records the events of its sending half.
    fn record_notes(socket: &mut TcpSocket<Self>, id: SocketId, context: &mut Context);

    /// A segment was processed: records `TCP_INFO`, if rows for each ACK are wanted.
    fn acknowledged(world: &mut World, id: SocketId);
}

impl SocketKind for Sender {
    fn find(sockets: &mut Sockets, id: SocketId) -> &mut TcpSocket {
        sockets.tcp(id)
    }

    #[inline(always)]
    fn send(world: &mut World, id: SocketId) {
        world.send_inlined(id);
    }

    #[inline]
    fn record_notes(socket: &mut TcpSocket, id: SocketId, context: &mut Context) {
        for note in socket.endpoint.notes() {
            context.journal.socket_noted(context.now, socket.host, id, note);
        }
    }

    fn acknowledged(world: &mut World, id: SocketId) {
        if world.at_ack == AtAck::Rows && world.sockets.tcp(id).sends {
            world.record_at_ack(id);
        }
    }
}

impl SocketKind for ReceiveOnly {
    fn find(sockets: &mut Sockets, id: SocketId) -> &mut TcpSocket<ReceiveOnly> {
        sockets.receiver(id)
    }

    #[inline]
    fn send(world: &mut World, id: SocketId) {
        while world.send_otherwise::<ReceiveOnly>(id) {}
        world.handle_wakeups::<ReceiveOnly>(id);
    }

    fn record_notes(_: &mut TcpSocket<ReceiveOnly>, _: SocketId, _: &mut Context) {}

    fn acknowledged(_: &mut World, _: SocketId) {}
}
