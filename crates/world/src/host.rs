//! What a host does with packets: forwards them, passes them to sockets, answers echo requests.

use tailback_packet::{DropReason, HostId, Packet, Payload, SocketId, conversation_hash};
use tailback_tcp::{Sender, Silent, ToSend};
use tailback_traffic::{Arrived, Event};

use crate::DeviceId;
use crate::context::Context;
use crate::device::Device;
use crate::event::Received;
use crate::kind::Kind;
use crate::prefetch::prefetch_next;
use crate::socket::Sockets;
use crate::transport::{BesideSockets, transmit_ack};
use crate::world::World;

/// TX completions of what has left by now, before something arrives: usually of a burst of one socket. If nothing follows
/// from its credit, that need not wait until it is settled, unless the socket is still to be charged for the segments of a
/// train.
#[inline(never)]
fn complete(device: &mut Device, sockets: &mut Sockets, context: &mut Context) {
    if let Some((sender, truesize)) = device.complete_to_credit(context.now, context)
        && truesize > 0
        && !(context.segmented.is_empty()
            && sockets.tcp_if_there(sender).is_some_and(|socket| socket.endpoint.credit_at_rest(truesize)))
    {
        context.credit(sender, truesize);
    }
}

impl World {
    /// Packets that `device` sent reach the other end.
    #[inline]
    pub(crate) fn receive_from(&mut self, device: DeviceId) -> Received {
        let World { sockets, devices, context, .. } = self;
        let device = &mut devices[device.index()];
        if device.wire.next_departure <= context.now {
            complete(device, sockets, context);
        }
        let (peer, Some(packet)) = (device.peer, device.arrived(context)) else {
            return Received::ByHost;
        };
        prefetch_next(&device.wire, peer, sockets);
        debug_assert!(self.context.backlog.is_empty(), "it was settled");
        if packet.destination == peer {
            self.deliver(peer, packet);
            return Received::ByHost;
        }
        self.forward(peer, packet);
        Received::ByDevice
    }

    /// A packet reached `host`. [linux-6.12 ip_rcv]
    #[inline(always)]
    pub(crate) fn receive(&mut self, host: HostId, packet: Box<Packet>) {
        match packet.destination == host {
            true => self.deliver(host, packet),
            false => self.forward(host, packet),
        }
    }

    /// A packet for this host. [linux-6.12 ip_input.c ip_local_deliver]
    #[inline(never)]
    fn deliver(&mut self, host: HostId, packet: Box<Packet>) {
        if !matches!(packet.payload, Payload::Tcp(_)) {
            return self.deliver_other(host, packet);
        }
        self.context.delivered(&packet);
        if self.sockets.is_receiver(packet.to) {
            return self.deliver_to_receiver(packet);
        }
        self.deliver_to::<Sender>(packet);
    }

    /// A segment for a socket that only receives: usually data that is read next, which takes fewer steps than
    /// [`World::deliver_to`].
    #[inline(always)]
    fn deliver_to_receiver(&mut self, packet: Box<Packet>) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        // Looked up once: this is done for each segment.
        let World { sockets, devices, context, small_queues, runnable, reader, timers, .. } = self;
        let (to, now, bytes) = (packet.to, context.now, segment.length);
        let socket = sockets.receiver(to);
        let owed = context.effects.credits.len() | context.segmented.len();
        let waiting = owed | context.backlog.len() | small_queues.len() | runnable.len();
        let usual = socket.only_counts && waiting == 0 && reader.is_none();
        let taken = if usual { socket.endpoint.take_to_read(segment, packet.truesize, now) } else { None };
        let Some(sends) = taken else { return self.deliver_to_receiver_otherwise(packet) };
        context.keep_box(packet);
        if sends == ToSend::Ack {
            transmit_ack(socket, devices, context);
            if context.owes_sockets() || !context.backlog.is_empty() {
                return self.read_in_its_turn(to, bytes);
            }
        }
        BesideSockets { context, devices, reader, runnable, timers }.handle_alarm(socket, to);
        socket.read_taken(bytes, now);
        if socket.endpoint.owes_ack() {
            self.drain_receiver(to);
        }
    }

    /// Delivers a segment to a receiver by all steps: data out of order, for example.
    #[inline(never)]
    fn deliver_to_receiver_otherwise(&mut self, packet: Box<Packet>) {
        self.deliver_to::<Silent>(packet);
    }

    /// A segment for a socket of TCP.
    #[inline(always)]
    fn deliver_to<S: Kind>(&mut self, packet: Box<Packet>) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        let World { sockets, devices, context, .. } = self;
        let (to, now) = (packet.to, context.now);
        let mut socket = S::find(sockets, to);
        // What has left is credited before the socket acts; one that only counts has nothing to be credited.
        devices[socket.device.index()].process_earlier_completions(context);
        if context.owes_sockets() {
            self.return_all_credits();
            socket = S::find(&mut self.sockets, to);
        }
        let sends = socket.endpoint.take(segment, packet.ecn, packet.truesize, now, &mut socket.draws);
        self.context.keep_box(packet);
        match sends {
            ToSend::Anything => S::send(self, to),
            ToSend::Ack => self.send_ack::<S>(to),
            ToSend::Nothing => {
                let World { context, devices, reader, runnable, timers, .. } = self;
                BesideSockets { context, devices, reader, runnable, timers }.handle_wakeups(socket, to);
            }
        }
        S::acknowledged(self, to);
        // Often the data is to be read next: as in `World::settle`.
        if let Some(socket) = self.reader
            && self.is_turn_of_reader()
        {
            self.read_and_count(socket);
        }
    }

    /// As at the end of [`World::deliver_to_receiver`] if something may come before the application that was to read at
    /// once: it then waits until it is its turn.
    #[cold]
    #[inline(never)]
    fn read_in_its_turn(&mut self, to: SocketId, bytes: u32) {
        self.return_credits();
        self.handle_wakeups::<Silent>(to);
        let socket = self.sockets.receiver(to);
        if self.context.backlog.len() | self.small_queues.len() | self.runnable.len() > 0 {
            socket.endpoint.leave_taken(bytes);
            return self.handle_wakeups::<Silent>(to);
        }
        socket.read_taken(bytes, self.context.now);
        if socket.endpoint.owes_ack() {
            self.drain_receiver(to);
        }
    }

    /// A packet of another protocol than TCP, or a damaged one.
    #[inline(never)]
    fn deliver_other(&mut self, host: HostId, packet: Box<Packet>) {
        if packet.payload == Payload::Damaged {
            return self.discard(host, packet);
        }
        self.context.delivered(&packet);
        match packet.payload {
            Payload::Damaged | Payload::Tcp(_) => {}
            Payload::EchoRequest { seq } => self.answer_request(*packet, seq),
            Payload::EchoReply { seq } => self.arrived(&packet, Arrived::Answer(seq)),
            Payload::Datagram { sent, .. } => self.arrived(&packet, Arrived::Data(sent)),
        }
    }

    fn arrived(&mut self, packet: &Packet, datagram: Arrived) {
        self.call(packet.to, |called| called.on(Event::Arrived(datagram)));
    }

    /// The checksum is wrong. [linux-6.12 tcp_v4_rcv csum_error]
    #[cold]
    fn discard(&mut self, host: HostId, packet: Box<Packet>) {
        self.context.dropped(&packet);
        self.context.journal.packet_discarded(self.context.now, host, &packet, DropReason::Corrupted);
    }

    #[inline(always)]
    fn forward(&mut self, host: HostId, packet: Box<Packet>) {
        let device = self.towards(host, packet.destination);
        self.devices[device.index()].forward(packet, &mut self.context);
    }

    /// [linux-6.12 icmp.c icmp_echo]
    fn answer_request(&mut self, request: Packet, seq: u32) {
        let (from, to) = (request.to, request.from);
        let (source, destination) = (request.destination, request.source);
        let (flow_hash, payload) = (conversation_hash(from, to), Payload::EchoReply { seq });
        self.originate(Box::new(Packet { from, to, source, destination, flow_hash, payload, ..request }));
    }

    /// A packet of no TCP socket leaves its host.
    pub(crate) fn originate(&mut self, packet: Box<Packet>) {
        self.context.enters(&packet, 1);
        self.forward(packet.source, packet);
    }

    #[inline]
    fn towards(&self, host: HostId, destination: HostId) -> DeviceId {
        self.routes.next(host, destination).expect("every conversation has a path: the world was built so")
    }
}
