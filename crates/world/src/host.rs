//! What a host does with packets: forwards them, hands them to sockets, answers echo requests.

use tailback_packet::{DropReason, HostId, Packet, Payload, SocketId};

use crate::scenario::TcpInfoRows;
use crate::socket::is_sender;
use crate::world::World;
use crate::{DeviceId, Event};

impl World {
    /// What `device` sent reaches the other end.
    #[inline]
    pub(crate) fn receive_from(&mut self, device: DeviceId) {
        let device = &mut self.devices[device.index()];
        let (peer, Some(packet)) = (device.peer, device.arrived(&mut self.stage)) else { return };
        if self.stage.backlog.is_empty() {
            self.receive(peer, packet);
        } else {
            self.stage.backlog.push_back((peer, packet));
        }
    }

    /// A packet reached `host`. [linux-6.12 ip_rcv]
    pub(crate) fn receive(&mut self, host: HostId, packet: Box<Packet>) {
        if packet.destination != host {
            self.forward(host, packet);
            return;
        }
        if packet.payload == Payload::Damaged {
            return self.discard(host, packet);
        }
        self.stage.ledger.delivered += 1;
        match packet.payload {
            Payload::Damaged => {}
            Payload::Tcp(_) => self.receive_segment(packet),
            Payload::EchoRequest { seq } => self.answer_request(*packet, seq),
            Payload::EchoReply { seq } => {
                let ping = self.ping_of(packet.to);
                self.pings[ping].answered(seq, self.stage.now);
            }
            Payload::Datagram { sent, .. } => {
                let udp = self.udp_of(packet.to);
                self.udp[udp].arrived(sent, self.stage.now);
            }
        }
    }

    /// The checksum is wrong. [linux-6.12 tcp_v4_rcv csum_error]
    #[cold]
    fn discard(&mut self, host: HostId, packet: Box<Packet>) {
        self.stage.ledger.dropped += 1;
        self.stage.journal.packet_discarded(self.stage.now, host, &packet, DropReason::Corrupted);
    }

    /// The next echo request of `ping` leaves.
    pub(crate) fn send_request(&mut self, ping: u32) {
        let now = self.stage.now;
        let asking = &mut self.pings[ping as usize];
        let (host, request, next) = (asking.host, asking.request(now), asking.next(now));
        if let Some(next) = next {
            self.stage.wake_at(next, Event::Echo(ping));
        }
        self.originate(host, Box::new(request));
    }

    /// A datagram is due. [linux-6.12 udp.c udp_sendmsg]
    pub(crate) fn send_datagram(&mut self, udp: u32) {
        let now = self.stage.now;
        let sender = &mut self.udp[udp as usize];
        if now >= sender.stop {
            return;
        }
        let device = sender.device.index();
        if sender.is_full() {
            // What has left by now is seen to first: completions are not events by themselves.
            self.devices[device].see_to_earlier_completions(&mut self.stage);
            self.return_credits();
        }
        let sender = &mut self.udp[udp as usize];
        if sender.is_full() {
            sender.blocked = true;
            return self.devices[device].add_waiting_socket(&mut self.stage);
        }
        let (host, datagram, next) = (sender.host, sender.datagram(now), now + sender.gap);
        if next < sender.stop {
            self.stage.wake_at(next, Event::Datagram(udp));
        }
        self.originate(host, Box::new(datagram));
    }

    fn forward(&mut self, host: HostId, packet: Box<Packet>) {
        let device = self.towards(host, packet.destination);
        self.devices[device.index()].transmit(packet, &mut self.stage);
    }

    fn receive_segment(&mut self, packet: Box<Packet>) {
        let (to, ecn, truesize, now) = (packet.to, packet.ecn, packet.truesize, self.stage.now);
        let Payload::Tcp(segment) = self.stage.out_of_box(packet) else { return };
        self.settle_credits(to);
        let socket = &mut self.sockets[to.0 as usize];
        socket.endpoint.take(segment, ecn, truesize, now, &mut socket.draws);
        self.drain(to);
        if self.tcp_info_rows == TcpInfoRows::Ack && is_sender(to) {
            self.note_tcp_info(to);
        }
    }

    fn answer_request(&mut self, request: Packet, seq: u32) {
        let (host, ping) = (request.destination, self.ping_of(request.from));
        let reply = self.pings[ping].reply(request, seq);
        self.originate(host, Box::new(reply));
    }

    /// The UDP flow that has the end `socket`; they come after the pings.
    pub(crate) fn udp_of(&self, socket: SocketId) -> usize {
        socket.0 as usize / 2 - self.flows.len() - self.pings.len()
    }

    /// A packet of no TCP socket leaves `host`.
    fn originate(&mut self, host: HostId, packet: Box<Packet>) {
        self.stage.ledger.created += 1;
        self.forward(host, packet);
    }

    fn towards(&self, host: HostId, destination: HostId) -> DeviceId {
        self.routes.next(host, destination).expect("every conversation has a path: the world was built so")
    }

    /// The ping that has the end `socket`; pings come after the flows.
    fn ping_of(&self, socket: SocketId) -> usize {
        socket.0 as usize / 2 - self.flows.len()
    }
}
