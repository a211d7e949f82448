//! What a host does with packets: forwards them, passes them to sockets, answers echo requests.

use tailback_packet::{HostId, Packet, Payload, SocketId, conversation_hash};
use tailback_tcp::{ReceiveOnly, Sender, Taken, ToSend};
use tailback_traffic::{Arrived, Event};

use crate::DeviceId;
use crate::context::Context;
use crate::device::Device;
use crate::event::Received;
use crate::kind::SocketKind;
use crate::prefetch::prefetch_next;
use crate::socket::Sockets;
use crate::transport::transmit_ack;
use crate::world::World;

/// TX completions of what has left by now, before something arrives: usually of a burst of one socket. If nothing follows
/// from its credit, that need not wait until it is settled, unless the socket is still to be charged for the segments of a
/// train.
#[inline(never)]
fn complete(device: &mut Device, sockets: &mut Sockets, context: &mut Context) {
    if let Some((sender, truesize)) = device.complete_to_credit(context.now, context)
        && truesize > 0
        && !(context.segmented.is_empty() && sockets.credit_at_rest(sender, truesize))
    {
        context.credit(sender, truesize);
    }
}

impl World {
    /// Packets that `device` sent reach the other end.
    #[inline]
    pub(crate) fn receive_from(&mut self, device: DeviceId) -> Received {
        let World { sockets, network, context, .. } = self;
        let device = &mut network.devices[device.index()];
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
        self.network.forward(peer, packet, &mut self.context);
        Received::ByDevice
    }

    /// A packet reached `host`. [linux-6.12 ip_rcv]
    pub(crate) fn receive(&mut self, host: HostId, packet: Box<Packet>) {
        match packet.destination == host {
            true => self.deliver(host, packet),
            false => self.network.forward(host, packet, &mut self.context),
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

    /// A segment for a socket that only receives: usually data that its application reads next, and does nothing with but
    /// count it. Then the segment goes into no queue, nobody is woken, and no turn is awaited:
    ///
    /// ```text
    /// nothing waits, and it is the usual segment?  no ─> every step: deliver_to
    ///   yes ─ take_to_read ─ send its ACK, if one is due
    ///           has the ACK caused anything?       no ─> read_taken
    ///             yes ─ read_in_its_turn: it is read after that, or queued (leave_taken)
    /// ```
    ///
    /// What was taken is a [`Taken`], which is read or left once. Only the ACK can come between, because nothing waited
    /// before; what it causes is known only after it was sent. `data_read_in_one_step_leaves_the_state_of_arriving_waking_and_reading` compares
    /// the short way with every step.
    #[inline(always)]
    fn deliver_to_receiver(&mut self, packet: Box<Packet>) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        let (to, now, alone) = (packet.to, self.context.now, self.waiting.is_at_rest(&self.context));
        // Looked up once: this is done for each segment.
        let (sockets, beside) = self.split();
        let socket = sockets.receiver(to);
        let usual = socket.only_counts && alone;
        let taken = if usual { socket.endpoint.take_to_read(segment, packet.truesize, now) } else { None };
        let Some(taken) = taken else { return self.deliver_to_receiver_otherwise(packet) };
        beside.context.keep_box(packet);
        if taken.sends() == ToSend::Ack {
            transmit_ack(socket, beside.network, beside.context);
            if beside.context.owes_sockets() || !beside.context.backlog.is_empty() {
                return self.read_in_its_turn(to, taken);
            }
        }
        beside.handle_alarm(socket, to);
        socket.read_taken(taken, now);
        if socket.endpoint.owes_ack() {
            self.drain_receiver(to);
        }
    }

    /// Delivers a segment to a receiver by all steps: data out of order, for example.
    #[inline(never)]
    fn deliver_to_receiver_otherwise(&mut self, packet: Box<Packet>) {
        self.deliver_to::<ReceiveOnly>(packet);
    }

    /// A segment for a socket of TCP.
    #[inline(always)]
    fn deliver_to<S: SocketKind>(&mut self, packet: Box<Packet>) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        let World { sockets, network, context, .. } = self;
        let (to, now) = (packet.to, context.now);
        let mut socket = S::find(sockets, to);
        // What has left is credited before the socket acts; one that only counts has nothing to be credited.
        network.devices[socket.device.index()].process_earlier_completions(context);
        if context.owes_sockets() {
            self.return_all_credits();
            socket = S::find(&mut self.sockets, to);
        }
        let sends = socket.endpoint.take(segment, packet.ecn, packet.truesize, now, &mut socket.draws);
        self.context.keep_box(packet);
        match sends {
            ToSend::Anything => S::send(self, to),
            ToSend::Ack => self.send_ack::<S>(to),
            ToSend::Nothing => self.handle_wakeups::<S>(to),
        }
        S::acknowledged(self, to);
        // Often the data is to be read next: as in `World::settle`.
        if let Some(socket) = self.waiting.reader
            && self.waiting.is_turn_of_reader(&self.context)
        {
            self.read_and_count(socket);
        }
    }

    /// As at the end of [`World::deliver_to_receiver`] if the ACK has caused something that may come before the application
    /// that was to read at once: it then waits until it is its turn.
    #[cold]
    fn read_in_its_turn(&mut self, to: SocketId, taken: Taken) {
        self.return_credits();
        self.handle_wakeups::<ReceiveOnly>(to);
        let waits = !self.waiting.is_settled(&self.context);
        let socket = self.sockets.receiver(to);
        if waits {
            socket.endpoint.leave_taken(taken);
            return self.handle_wakeups::<ReceiveOnly>(to);
        }
        socket.read_taken(taken, self.context.now);
        if socket.endpoint.owes_ack() {
            self.drain_receiver(to);
        }
    }

    /// A packet of another protocol than TCP, or a damaged one.
    #[inline(never)]
    fn deliver_other(&mut self, host: HostId, packet: Box<Packet>) {
        if packet.payload == Payload::Damaged {
            return self.context.discard(host, &packet);
        }
        self.context.delivered(&packet);
        match packet.payload {
            Payload::Damaged | Payload::Tcp(_) => {}
            Payload::EchoRequest { seq } => self.answer_request(*packet, seq),
            Payload::EchoReply { seq } => self.arrived(&packet, Arrived::Answer(seq)),
            Payload::Datagram { sent, seq } => {
                self.arrived(&packet, Arrived::Data { sent, number: seq });
            }
            Payload::Content { .. } => self.arrived_at_endpoint(packet),
        }
    }

    fn arrived(&mut self, packet: &Packet, datagram: Arrived) {
        self.call(packet.to, |called| called.on(Event::Arrived(datagram)));
    }

    /// [linux-6.12 icmp.c icmp_echo]
    fn answer_request(&mut self, request: Packet, seq: u32) {
        let (from, to) = (request.to, request.from);
        let (source, destination) = (request.destination, request.source);
        let (flow_hash, payload) = (conversation_hash(from, to), Payload::EchoReply { seq });
        let reply = Packet { from, to, source, destination, flow_hash, payload, ..request };
        self.network.originate(Box::new(reply), &mut self.context);
    }
}
