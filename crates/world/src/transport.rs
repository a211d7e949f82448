//! How TCP sockets get to run: drained after every call, credited, woken by their alarms; and their applications.

use tailback_engine::Fired;
use tailback_packet::{Packet, Payload, SocketId};
use tailback_qdisc::Enqueued;
use tailback_tcp::{Transmitted, Wakeup};

use crate::Event;
use crate::app::Phase;
use crate::socket::{TcpSocket, flow_of, is_sender, sender_of};
use crate::world::World;

impl World {
    /// Gives a socket, before it acts, the credits of all that left its host before now. [linux-6.12 tcp_wfree]
    #[inline]
    pub(crate) fn settle_credits(&mut self, id: SocketId) {
        let device = self.sockets[id.0 as usize].device;
        self.devices[device.index()].see_to_earlier_completions(&mut self.stage);
        self.return_credits();
    }

    /// Takes from a socket what it wants to send, then sees to what else it wants.
    pub(crate) fn drain(&mut self, id: SocketId) {
        let (index, now) = (id.0 as usize, self.stage.now);
        let device = self.sockets[index].device.index();
        let TcpSocket { host, tos, .. } = self.sockets[index];
        while let Some(mut packet) = self.sockets[index].endpoint.next_packet(now) {
            (packet.source, packet.tos) = (host, tos);
            self.count_made(&packet);
            let packet = self.stage.in_box(packet);
            let outcome = self.devices[device].transmit(packet, &mut self.stage);
            self.return_credits();
            self.sockets[index].endpoint.handed_over(transmitted(outcome), now);
        }
        self.see_to_application(id);
        self.see_to_notes(id);
        self.see_to_small_queue(id);
        self.see_to_alarm(id);
    }

    /// Gives sockets back what left their host; those that waited for it are queued. [linux-6.12 tcp_wfree]
    #[inline]
    pub(crate) fn return_credits(&mut self) {
        if !self.stage.credits.is_empty() {
            self.return_all_credits();
        }
    }

    fn return_all_credits(&mut self) {
        self.charge_for_segments();
        for (id, truesize) in self.stage.credits.drain(..) {
            let Some(socket) = self.sockets.get_mut(id.0 as usize) else {
                let first = self.sockets.len() / 2 + self.pings.len();
                let udp = &mut self.udp[id.0 as usize / 2 - first];
                if udp.credit(truesize) {
                    self.devices[udp.device.index()].awaiting_credit -= 1;
                    self.runnable.push_back(id);
                }
                continue;
            };
            if socket.endpoint.credit(truesize) {
                self.devices[socket.device.index()].awaiting_credit -= u32::from(socket.awaits_credit);
                socket.awaits_credit = false;
                self.small_queues.push(id);
            }
        }
    }

    /// Must precede the credits of the segments.
    fn charge_for_segments(&mut self) {
        for (id, extra) in self.stage.segmented.drain(..) {
            self.sockets[id.0 as usize].endpoint.segmented(extra);
        }
    }

    /// The alarm of a socket went off; its deadline may have moved since it was set.
    pub(crate) fn timer_fired(&mut self, id: SocketId) {
        let now = self.stage.now;
        let socket = &mut self.sockets[id.0 as usize];
        match socket.alarm.fired(now, socket.endpoint.deadline()) {
            Fired::Due => self.timers.ran_out(id, socket.timer),
            Fired::Early(at) => self.stage.wake_at(at, Event::Timer(id)),
            Fired::Idle => {}
        }
    }

    /// The timers of this tick expire.
    pub(crate) fn expire_timers(&mut self) {
        let due = self.timers.take_due();
        for &(_, id) in &due {
            self.settle_credits(id);
            let socket = &mut self.sockets[id.0 as usize];
            socket.endpoint.expire(self.stage.now, &mut socket.draws);
            self.drain(id);
        }
        self.timers.expired(due);
    }

    /// The application of a socket runs: reads, writes, or learns that all is done.
    pub(crate) fn run_application(&mut self, id: SocketId) {
        if id.0 as usize >= self.sockets.len() {
            return self.send_datagram(self.udp_of(id) as u32);
        }
        self.settle_credits(id);
        let woken = std::mem::take(&mut self.sockets[id.0 as usize].woken);
        if woken.readable {
            self.read(id);
        }
        if woken.writable && is_sender(id) {
            self.write(id);
        }
        if woken.finished && is_sender(id) {
            self.finish_flow(id);
        }
    }

    /// Closes a sending socket.
    pub(crate) fn close(&mut self, id: SocketId) {
        self.settle_credits(id);
        self.flows[flow_of(id) as usize].bulk.phase = Phase::Closed;
        self.sockets[id.0 as usize].endpoint.close(self.stage.now);
        self.drain(id);
    }

    fn read(&mut self, id: SocketId) {
        let endpoint = &mut self.sockets[id.0 as usize].endpoint;
        let bytes = endpoint.read(self.stage.now);
        if endpoint.at_end() {
            // Stands for the FIN of a reader that closes at the end, which carries the ACK.
            endpoint.quick_ack();
        }
        self.flows[flow_of(id) as usize].read += bytes;
        self.drain(id);
    }

    /// Blocking `send()`s, until one blocks.
    fn write(&mut self, id: SocketId) {
        let flow = flow_of(id) as usize;
        while self.flows[flow].bulk.phase == Phase::Sending {
            let Some(wanted) = self.flows[flow].bulk.wants() else { return self.close(id) };
            let taken = self.sockets[id.0 as usize].endpoint.write(wanted, self.stage.now);
            self.flows[flow].bulk.sent(taken);
            self.drain(id);
            if taken < wanted && self.sockets[id.0 as usize].endpoint.write_blocked() {
                return;
            }
        }
    }

    fn finish_flow(&mut self, id: SocketId) {
        let flow = flow_of(id);
        self.note_tcp_info(id);
        self.flows[flow as usize].bulk.phase = Phase::Finished;
        let host = self.sockets[id.0 as usize].host;
        self.stage.journal.flow_row(self.stage.now, "flow_end", host, sender_of(flow), None);
    }

    fn count_made(&mut self, packet: &Packet) {
        self.stage.ledger.created += 1;
        if let Payload::Tcp(segment) = &packet.payload
            && segment.length > 0
        {
            self.stage.cost.segments += u64::from(packet.segments);
        }
    }

    fn see_to_application(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.0 as usize];
        let wakeup = socket.endpoint.wakeup();
        if wakeup == Wakeup::default() {
            return;
        }
        if socket.woken == Wakeup::default() {
            self.runnable.push_back(id);
        }
        socket.woken.readable |= wakeup.readable;
        socket.woken.writable |= wakeup.writable;
        socket.woken.finished |= wakeup.finished;
    }

    fn see_to_notes(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.0 as usize];
        for note in socket.endpoint.notes() {
            self.stage.journal.socket_noted(self.stage.now, socket.host, id, note);
        }
    }

    /// A completion is an event from now on, until the socket has its credit.
    fn see_to_small_queue(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.0 as usize];
        if socket.endpoint.awaits_credit() && !socket.awaits_credit {
            socket.awaits_credit = true;
            self.devices[socket.device.index()].add_waiting_socket(&mut self.stage);
        }
    }

    fn see_to_alarm(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.0 as usize];
        let deadline = socket.endpoint.deadline();
        self.timers.arm(&mut socket.timer, deadline);
        if let Some(at) = socket.alarm.set(deadline) {
            self.stage.wake_at(at, Event::Timer(id));
        }
    }
}

/// What the discipline said, in the socket's words.
fn transmitted(outcome: Enqueued) -> Transmitted {
    match outcome {
        Enqueued::Queued | Enqueued::Lost => Transmitted::Queued,
        Enqueued::Dropped => Transmitted::Dropped,
        Enqueued::Congestion => Transmitted::Congestion,
    }
}
