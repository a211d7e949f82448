//! The system calls of applications.

use std::ops::Range;

use tailback_packet::{Packet, Payload, SocketId};
use tailback_record::{Name, Record};
use tailback_units::{Bytes, SimTime};

use crate::app::Application;
use crate::socket::{Transport, for_tcp, not_of_kind};
use crate::world::World;
use crate::{ConversationId, Event, TimerId};

/// A conversation: its application, and its name in tables.
pub(crate) struct Conversation {
    pub(crate) name: Name,
    /// Its sockets; the first two if it has more.
    pub(crate) first_pair: [SocketId; 2],
    /// `None` while it is being called, and after it is over.
    pub(crate) application: Option<Box<dyn Application>>,
    /// Connections whose sockets are made when it starts, by their place in [`World::planned`].
    pub(crate) planned: Range<u32>,
}

/// The calls of one application.
pub(crate) struct Syscalls<'a> {
    world: &'a mut World,
    conversation: ConversationId,
}

/// The result of `send()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Bytes that the socket took.
    pub(crate) taken: u64,
    /// The call blocks with the rest; `writable` follows.
    pub(crate) blocked: bool,
}

impl World {
    /// Calls the application of `conversation`.
    pub(crate) fn call(
        &mut self,
        conversation: ConversationId,
        call: impl FnOnce(&mut dyn Application, &mut Syscalls),
    ) {
        let place = conversation.0 as usize;
        let mut application =
            self.conversations[place].application.take().expect("an application is not called from within");
        call(application.as_mut(), &mut Syscalls { world: self, conversation });
        self.conversations[place].application = Some(application);
    }
}

impl Syscalls<'_> {
    pub(crate) fn now(&self) -> SimTime {
        self.world.context.now
    }

    /// The name of the conversation in tables.
    pub(crate) fn name(&self) -> Name {
        self.world.conversations[self.conversation.0 as usize].name
    }

    /// Sets `timer` of this application to `at`.
    pub(crate) fn set_timer(&mut self, at: SimTime, timer: TimerId) {
        self.world.context.wake_at(at, Event::Application(self.conversation, timer));
    }

    /// `connect()`: the SYN leaves.
    pub(crate) fn connect(&mut self, socket: SocketId) {
        self.world.return_credits_to(socket);
        self.world.drain(socket);
    }

    /// `TCP_NODELAY`: short messages do not wait for acknowledgements.
    pub(crate) fn set_no_delay(&mut self, socket: SocketId) {
        self.world.sockets.tcp(socket).endpoint.set_no_delay(self.world.context.now);
    }

    /// `read()` of all available data.
    pub(crate) fn read(&mut self, socket: SocketId) -> Bytes {
        let now = self.world.context.now;
        let transport = &mut self.world.sockets.get_mut(socket).transport;
        let (bytes, sends) = for_tcp!(
            transport,
            reads => (reads.read(now), reads.endpoint.wants_to_send()),
            not_of_kind(socket, "TCP")
        );
        // Reading changes neither timers nor what the socket waits for: without an ACK nothing follows from it.
        if sends {
            self.world.return_credits_to(socket);
            self.world.drain(socket);
        }
        bytes
    }

    /// What was read in the place of this application since the last call.
    pub(crate) fn count_read(&mut self, socket: SocketId) -> Bytes {
        for_tcp!(
            &mut self.world.sockets.get_mut(socket).transport,
            reads => std::mem::take(&mut reads.uncounted),
            not_of_kind(socket, "TCP")
        )
    }

    /// `send()` of `bytes` on a TCP socket.
    ///
    /// As in every call by which a socket acts, what has left by now is credited first: a timer may have caused the call,
    /// or the packet of another socket.
    pub(crate) fn send(&mut self, socket: SocketId, bytes: u64) -> Sent {
        self.world.return_credits_to(socket);
        let mut taken = 0;
        loop {
            let now = self.world.context.now;
            let endpoint = &mut self.world.sockets.tcp(socket).endpoint;
            taken += endpoint.write(bytes - taken, now);
            let may_go_on = taken < bytes && endpoint.stopped_by_unsent();
            self.world.drain(socket);
            if !may_go_on || !self.world.sockets.tcp(socket).endpoint.can_go_on() {
                break;
            }
        }
        let blocked = taken < bytes && self.world.sockets.tcp(socket).endpoint.write_blocked();
        Sent { taken, blocked }
    }

    /// `close()` of a TCP socket.
    pub(crate) fn close(&mut self, socket: SocketId) {
        self.world.return_credits_to(socket);
        self.world.sockets.tcp(socket).endpoint.close(self.world.context.now);
        self.world.drain(socket);
    }

    /// A UDP socket has room for a datagram. If not, `writable` follows.
    pub(crate) fn has_room(&mut self, socket: SocketId) -> bool {
        self.world.has_room(socket)
    }

    /// `send()` of a datagram with `size` bytes of data on a UDP socket that has room.
    pub(crate) fn send_datagram(&mut self, socket: SocketId, size: u32, payload: Payload) {
        let datagram = self.world.sockets.udp(socket).datagram(size, payload, self.world.context.now);
        self.transmit(datagram);
    }

    /// A packet that is charged to no socket leaves its host.
    pub(crate) fn transmit(&mut self, packet: Packet) {
        self.world.originate(Box::new(packet));
    }

    /// A row of the table `events` about `socket`.
    pub(crate) fn note(&mut self, what: &'static str, socket: SocketId) {
        let (now, (host, _)) = (self.world.context.now, self.world.sockets.place(socket));
        self.world.context.journal.flow_row(now, what, host, socket, None);
    }

    /// A row of the table `tcp_info`: `socket` as it is now.
    pub(crate) fn record_tcp_info(&mut self, socket: SocketId) {
        self.world.record_tcp_info(socket);
    }

    /// Segments with data that a TCP socket has sent, and how many it has retransmitted: `tcpi_data_segs_out` and
    /// `tcpi_total_retrans`.
    pub(crate) fn segments_sent(&mut self, socket: SocketId) -> [u64; 2] {
        let info = self.world.sockets.tcp(socket).endpoint.tcp_info(self.world.context.now);
        [info.data_segs_out, info.total_retrans]
    }

    /// The tables.
    pub(crate) fn record(&mut self) -> &mut Record {
        &mut self.world.context.journal.record
    }
}
