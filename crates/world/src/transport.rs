//! Runs TCP sockets: drains them after every call, returns credits, wakes them by their alarms; and runs their
//! applications.

use tailback_packet::{Packet, Payload, SocketId};
use tailback_qdisc::Enqueued;
use tailback_tcp::{Next, Pause, ReceiveOnly, Sender, Transmitted, Wakeup, Written, WrittenOfBurst};
use tailback_traffic::Event as AppEvent;
use tailback_units::SimTime;

use crate::context::Context;
use crate::kind::SocketKind;
use crate::network::Network;
use crate::socket::{Sockets, TcpSocket, Transport, for_tcp, not_of_kind};
use crate::timers::Timers;
use crate::turn::Waiting;
use crate::world::World;
use crate::{DeviceId, Event};

/// The world without its sockets: what a socket may ask something of, while it is borrowed itself ([`World::split`]).
pub(crate) struct BesideSockets<'a> {
    pub(crate) context: &'a mut Context,
    pub(crate) network: &'a mut Network,
    pub(crate) waiting: &'a mut Waiting,
    pub(crate) timers: &'a mut Timers,
}

impl BesideSockets<'_> {
    /// Handles the requests of a socket other than transmissions: wakes its application, records its events, waits for
    /// a credit, and sets its alarm.
    #[inline(always)]
    pub(crate) fn handle_wakeups<S: SocketKind>(self, socket: &mut TcpSocket<S>, id: SocketId) {
        let BesideSockets { context, network, waiting, timers } = self;
        if socket.endpoint.has_pending_events() {
            waiting.wake(socket, id);
            if socket.endpoint.has_notes() {
                S::record_notes(socket, id, context);
            }
        }
        if socket.endpoint.awaits_credit() && !socket.awaits_credit {
            // A completion is an event from now on, until the socket has its credit.
            socket.awaits_credit = true;
            network.devices[socket.device.index()].add_waiting_socket(context);
        }
        arm(socket, id, timers, context);
    }

    /// Sets the alarm of a receiving socket after data was taken to be read at once: nobody is to be woken.
    #[inline]
    pub(crate) fn handle_alarm(self, socket: &mut TcpSocket<ReceiveOnly>, id: SocketId) {
        let BesideSockets { context, timers, .. } = self;
        debug_assert!(!socket.endpoint.has_pending_events(), "there is nothing else");
        arm(socket, id, timers, context);
    }
}

/// Sets the alarm of a socket to its next deadline.
#[inline(always)]
fn arm<S: SocketKind>(socket: &mut TcpSocket<S>, id: SocketId, timers: &mut Timers, context: &mut Context) {
    let deadline = socket.endpoint.next_deadline();
    timers.arm(&mut socket.timer, deadline);
    if let Some(at) = socket.alarm.set(Some(deadline)) {
        context.wake_at(at, Event::Timer(id));
    }
}

impl World {
    /// The sockets, and what is beside them.
    #[inline]
    pub(crate) fn split(&mut self) -> (&mut Sockets, BesideSockets<'_>) {
        let World { sockets, context, network, waiting, timers, .. } = self;
        (sockets, BesideSockets { context, network, waiting, timers })
    }

    /// Returns to a socket, before it acts, the credits of all packets that have left its host. [linux-6.12 tcp_wfree]
    #[inline]
    pub(crate) fn return_credits_to(&mut self, id: SocketId) {
        let (_, device) = self.sockets.place(id);
        self.return_credits_of(device);
    }

    /// Returns the credits of all packets that have left `device` to the sockets that send by it.
    #[inline]
    fn return_credits_of(&mut self, device: DeviceId) {
        self.network.devices[device.index()].process_earlier_completions(&mut self.context);
        self.return_credits();
    }

    /// Sends the packets of a socket, if it has any, and handles its wake-ups.
    #[inline]
    pub(crate) fn drain(&mut self, id: SocketId) {
        if self.sockets.is_receiver(id) {
            return self.drain_receiver(id);
        }
        let endpoint = &self.sockets.tcp(id).endpoint;
        if endpoint.owes_only_ack() {
            self.send_ack::<Sender>(id);
        } else if endpoint.wants_to_send() {
            self.send(id);
        } else {
            self.handle_wakeups::<Sender>(id);
        }
    }

    /// As [`World::drain`] for a socket that only receives.
    #[inline(never)]
    pub(crate) fn drain_receiver(&mut self, id: SocketId) {
        let endpoint = &self.sockets.receiver(id).endpoint;
        if endpoint.owes_only_ack() {
            return self.send_ack::<ReceiveOnly>(id);
        }
        if endpoint.wants_to_send() {
            return ReceiveOnly::send(self, id);
        }
        self.handle_wakeups::<ReceiveOnly>(id);
    }

    /// Passes packets from a socket to its device until the socket has no more, then handles its wake-ups. Nearly all are
    /// segments of bursts.
    #[inline(never)]
    pub(crate) fn send(&mut self, id: SocketId) {
        self.send_inlined(id);
    }

    /// As [`World::send`], inlined where nearly all ACKs arrive.
    #[inline(always)]
    pub(crate) fn send_inlined(&mut self, id: SocketId) {
        // Looked up again only after steps in which it is not known.
        let mut socket = self.sockets.tcp(id);
        loop {
            let next = match socket.endpoint.look_ahead(self.context.now) {
                Next::OfBurst(next) => next,
                Next::Nothing => break,
                Next::Other => {
                    let more = self.send_otherwise::<Sender>(id);
                    socket = self.sockets.tcp(id);
                    if more {
                        continue;
                    }
                    break;
                }
            };
            let context = &mut self.context;
            let mut packet = context.spare_box();
            let written = socket.endpoint.write_of_burst(next, &mut packet);
            (packet.source, packet.tos) = (socket.host, socket.tos);
            context.enters(&packet, 1);
            context.cost.segments += 1;
            let outcome = self.network.devices[socket.device.index()].transmit(packet, context);
            if context.owes_sockets() {
                self.return_all_credits();
                socket = self.sockets.tcp(id);
            }
            let more = if outcome == Enqueued::Queued {
                socket.endpoint.sent_of_burst(written)
            } else {
                handed_over_of_burst(socket, written, outcome)
            };
            debug_assert_eq!(more, socket.endpoint.wants_to_send());
            if !more {
                break;
            }
            if let Some(pause) = socket.endpoint.pauses() {
                self.pause(id, pause);
                socket = self.sockets.tcp(id);
            }
        }
        let World { context, network, waiting, timers, .. } = self;
        BesideSockets { context, network, waiting, timers }.handle_wakeups(socket, id);
    }

    /// Passes a packet that is not one of a burst to the device. True if there is more to send.
    #[inline(never)]
    pub(crate) fn send_otherwise<S: SocketKind>(&mut self, id: SocketId) -> bool {
        let now = self.context.now;
        let World { sockets, network, context, .. } = self;
        let mut packet = context.spare_box();
        let socket = S::find(sockets, id);
        let written = socket.endpoint.write_next(&mut packet, now);
        if written == Written::Nothing {
            context.keep_box(packet);
            return false;
        }
        (packet.source, packet.tos) = (socket.host, socket.tos);
        count_sent_packet(&packet, context);
        let outcome = network.devices[socket.device.index()].transmit(packet, context);
        self.return_credits();
        let socket = S::find(&mut self.sockets, id);
        socket.endpoint.handed_over(transmitted(outcome), now);
        let more = written != Written::Last && socket.endpoint.wants_to_send();
        debug_assert_eq!(more, socket.endpoint.wants_to_send());
        if more && let Some(pause) = socket.endpoint.pauses() {
            self.pause(id, pause);
        }
        more
    }

    /// A socket pauses: passes the time until it sends its next segment, if that is the next event of all. It needs none
    /// then.
    fn pause(&mut self, id: SocketId, pause: Pause) {
        let may_pass = self.waiting.is_at_rest(&self.context) && !self.events.checks_soon();
        let socket = self.sockets.tcp(id);
        let until = socket.endpoint.paused_until(&pause).filter(|&at| may_pass && at < self.end);
        let Some(at) = until.filter(|&at| self.context.calendar.pass_to(at)) else {
            return socket.endpoint.leave_to_pacing_timer(pause);
        };
        socket.alarm.pass();
        self.context.now = at;
        self.events.count();
        self.return_credits_to(id);
    }

    /// As [`World::send`] if an ACK is all that the socket sends ([`tailback_tcp::ToSend::Ack`]).
    #[inline(never)]
    pub(crate) fn send_ack<S: SocketKind>(&mut self, id: SocketId) {
        let (sockets, beside) = self.split();
        let socket = S::find(sockets, id);
        transmit_ack(socket, beside.network, beside.context);
        if beside.context.owes_sockets() {
            self.return_all_credits();
            return self.handle_wakeups::<S>(id);
        }
        beside.handle_wakeups(socket, id);
    }

    /// Handles the requests of a socket ([`BesideSockets::handle_wakeups`]).
    pub(crate) fn handle_wakeups<S: SocketKind>(&mut self, id: SocketId) {
        let (sockets, beside) = self.split();
        beside.handle_wakeups(S::find(sockets, id), id);
    }

    /// Charges sockets for packets that were segmented, and returns the credits of packets that left their host;
    /// sockets that waited for them are queued. [linux-6.12 tcp_gso_segment, tcp_wfree]
    #[inline]
    pub(crate) fn return_credits(&mut self) {
        if self.context.owes_sockets() {
            self.return_all_credits();
        }
    }

    pub(crate) fn return_all_credits(&mut self) {
        if !self.context.segmented.is_empty() {
            self.sockets.charge_for_segments(&mut self.context);
        }
        for &(id, truesize) in &self.context.effects.credits {
            match &mut self.sockets.get_mut(id).transport {
                Transport::Tcp(socket) => {
                    if socket.endpoint.credit(truesize) {
                        let waited = std::mem::take(&mut socket.awaits_credit);
                        self.network.devices[socket.device.index()].awaiting_credit -= u32::from(waited);
                        self.waiting.small_queues.push(id);
                    }
                }
                Transport::Udp(socket) => {
                    if socket.credit(truesize) {
                        self.network.devices[socket.device.index()].awaiting_credit -= 1;
                        self.waiting.runnable.push_back(id);
                    }
                }
                Transport::Endpoint(socket) => {
                    if socket.udp.credit(truesize) {
                        self.network.devices[socket.udp.device.index()].awaiting_credit -= 1;
                        self.endpoints.writable.push_back(id);
                    }
                }
                Transport::Ended => {}
                Transport::Receiver(_) | Transport::Echo(_) | Transport::Stateless | Transport::Planned => {
                    debug_assert!(false, "nothing is charged to socket {}", id.0);
                }
            }
        }
        self.context.effects.credits.clear();
    }

    /// The timers of this tick expire.
    pub(crate) fn expire_timers(&mut self) {
        let due = self.timers.take_due();
        for &(_, id) in &due {
            self.expire_timer(id);
        }
        self.timers.expired(due);
    }

    /// The timer of a socket expires.
    fn expire_timer(&mut self, id: SocketId) {
        self.return_credits_to(id);
        let now = self.context.now;
        for_tcp!(
            &mut self.sockets.get_mut(id).transport,
            socket => socket.endpoint.expire(now),
            not_of_kind(id, "TCP")
        );
        self.drain(id);
    }

    /// The timer of a socket expires, and nothing else happens at this time.
    pub(crate) fn expire_only_timer(&mut self, id: SocketId) {
        if self.sockets.is_receiver(id) {
            return self.expire_timer(id);
        }
        self.return_credits_to(id);
        let World { sockets, network, context, .. } = self;
        let socket = sockets.tcp(id);
        socket.endpoint.expire(context.now);
        // A device without a discipline refuses no packet.
        let passes_time = network.devices[socket.device.index()].root.is_none();
        let quiet_until = || context.calendar.peek_time().unwrap_or(SimTime::NEVER);
        let burst = passes_time.then(|| socket.endpoint.begin_paced_burst(quiet_until()));
        self.drain(id);
        if let Some(burst) = burst {
            self.sockets.tcp(id).endpoint.end_paced_burst(burst);
        }
    }

    /// As [`World::read_and_count`], which is inlined where nearly all data is read.
    #[inline(never)]
    pub(crate) fn read_in_turn(&mut self, id: SocketId) {
        self.read_and_count(id);
    }

    /// Reads the data of a socket in the place of its application.
    #[inline(always)]
    pub(crate) fn read_and_count(&mut self, id: SocketId) {
        self.waiting.reader = None;
        let socket = self.sockets.receiver(id);
        socket.read_and_count(self.context.now);
        // As in `Syscalls::read`.
        if socket.endpoint.wants_to_send() {
            self.drain_receiver(id);
        }
    }

    /// Runs the application of a socket: it reads, writes, or is notified that all data was acknowledged.
    pub(crate) fn run_application(&mut self, id: SocketId) {
        let woken = self.take_woken(id);
        self.call(id, |called| {
            if woken.readable {
                called.on(AppEvent::Readable);
            }
            if woken.writable {
                called.on(AppEvent::Writable);
            }
            if woken.finished {
                called.on(AppEvent::Finished);
            }
        });
    }

    /// The reasons for which a socket has woken its application.
    fn take_woken(&mut self, id: SocketId) -> Wakeup {
        let (device, woken) = for_tcp!(
            &mut self.sockets.get_mut(id).transport,
            socket => (socket.device, std::mem::take(&mut socket.woken)),
            return Wakeup { writable: true, ..Wakeup::default() }
        );
        self.return_credits_of(device);
        woken
    }

    /// A UDP socket has room for a datagram; if not, its application is woken as soon as it has.
    pub(crate) fn has_room(&mut self, id: SocketId) -> bool {
        let socket = self.sockets.udp(id);
        if socket.is_full() {
            // Packets that have left by now are credited first: completions are not events by themselves.
            self.network.devices[socket.device.index()].process_earlier_completions(&mut self.context);
            self.return_credits();
        }
        let socket = self.sockets.udp(id);
        if socket.is_full() {
            socket.blocked = true;
            self.network.devices[socket.device.index()].add_waiting_socket(&mut self.context);
            return false;
        }
        true
    }
}

/// Passes an ACK to the device, which is all that the socket sends ([`tailback_tcp::ToSend::Ack`]).
#[inline(always)]
pub(crate) fn transmit_ack<S: SocketKind>(
    socket: &mut TcpSocket<S>,
    network: &mut Network,
    context: &mut Context,
) {
    let mut packet = context.spare_box();
    socket.endpoint.write_only_ack(&mut packet);
    (packet.source, packet.tos) = (socket.host, socket.tos);
    context.enters(&packet, 1);
    network.devices[socket.device.index()].transmit(packet, context);
    debug_assert!(!socket.endpoint.wants_to_send());
}

#[inline]
fn count_sent_packet(packet: &Packet, context: &mut Context) {
    context.enters(packet, 1);
    if let Payload::Tcp(segment) = &packet.payload
        && segment.length > 0
    {
        context.cost.segments += u64::from(packet.segments);
    }
}

/// A discipline has not simply queued a segment of a burst.
#[inline(never)]
fn handed_over_of_burst(socket: &mut TcpSocket, written: WrittenOfBurst, outcome: Enqueued) -> bool {
    socket.endpoint.handed_over_of_burst(written, transmitted(outcome))
}

/// Converts the result of a discipline for the socket.
#[inline]
fn transmitted(outcome: Enqueued) -> Transmitted {
    if outcome == Enqueued::Queued {
        // Nearly always.
        return Transmitted::Queued;
    }
    match outcome {
        Enqueued::Queued | Enqueued::Lost => Transmitted::Queued,
        Enqueued::Dropped => Transmitted::Dropped,
        Enqueued::Congestion => Transmitted::Congestion,
    }
}
