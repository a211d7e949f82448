//! The system calls of applications, by the sockets of the world.

use std::collections::VecDeque;

use tailback_packet::{Payload, SocketId};
use tailback_record::{DatagramsRow, Name, ObjectsRow, PingRow, Record, RequestsRow, VideoRow};
use tailback_traffic::{Calls, Datagram, End, Event, Machine, Row, Sent, Socket};
use tailback_units::{Bytes, SimTime, Span};

use crate::conversation::Sampled;
use crate::journal::delays_row;
use crate::socket::{Transport, for_tcp, not_of_kind};
use crate::world::World;
use crate::{ConversationId, TimerId};

/// An application that is called.
pub(crate) struct Called<'a> {
    machine: &'a mut Machine,
    end: End,
    socket: Socket,
    calls: Syscalls<'a>,
}

impl Called<'_> {
    /// Something has happened at the socket.
    #[inline]
    pub(crate) fn on(&mut self, event: Event) {
        self.machine.on(self.end, event, self.socket, &mut self.calls);
    }
}

/// The calls of one application.
pub(crate) struct Syscalls<'a> {
    world: &'a mut World,
    conversation: ConversationId,
    /// The first socket of the application: the others of its end follow in steps of two.
    first: SocketId,
}

impl World {
    /// Calls the application that `id` is a socket of.
    pub(crate) fn call(&mut self, id: SocketId, call: impl FnOnce(&mut Called)) {
        let conversation = self.sockets.conversation(id);
        let place = conversation.0 as usize;
        let (end, socket, first) = self.conversations[place].place(id);
        let mut machine =
            self.conversations[place].machine.take().expect("an application is not called from within");
        let calls = Syscalls { world: self, conversation, first };
        call(&mut Called { machine: &mut machine, end, socket, calls });
        self.conversations[place].machine = Some(machine);
    }

    /// The run has ended: each application of a conversation records what it has not recorded yet.
    pub(crate) fn call_at_the_end(&mut self, conversation: ConversationId) {
        let first = self.conversations[conversation.0 as usize].first_pair[0];
        let pairs = self.conversations[conversation.0 as usize].pairs();
        let servers = (0..pairs).map(|pair| SocketId(first.0 + 2 * pair + 1));
        for id in [first].into_iter().chain(servers) {
            self.call(id, |called| called.on(Event::Ended));
        }
    }
}

impl Syscalls<'_> {
    fn id(&self, socket: Socket) -> SocketId {
        SocketId(self.first.0 + 2 * socket.0)
    }

    /// The name of the conversation in tables.
    fn name(&self) -> Name {
        self.world.conversations[self.conversation.0 as usize].name
    }

    /// The tables.
    fn tables(&mut self) -> &mut Record {
        &mut self.world.context.journal.record
    }

    /// A row of the table `events` about the first socket.
    fn note(&mut self, what: &'static str) {
        let (now, (host, _)) = (self.world.context.now, self.world.sockets.place(self.first));
        self.world.context.journal.flow_row(now, what, host, self.first, None);
    }

    fn sampled(&mut self) -> &mut Sampled {
        &mut self.world.conversations[self.conversation.0 as usize].sampled
    }

    fn barrier(&self) -> Option<usize> {
        self.world.conversations[self.conversation.0 as usize].barrier
    }

    /// All who wait at a barrier go on, each after its pause, if nobody is missing.
    fn pass_if_complete(&mut self, place: usize) {
        let now = self.world.context.now;
        for (conversation, pause) in self.world.barriers[place].take_if_complete() {
            self.world.context.wake_at(now + pause, crate::Event::Application(conversation, TimerId::OWN));
        }
    }

    /// The heads of requests on a connection.
    fn heads(&mut self, socket: Socket) -> &mut VecDeque<u64> {
        let first = self.world.conversations[self.conversation.0 as usize].first_pair[0];
        let connection = (self.id(socket).0 - first.0) / 2;
        match self.sampled() {
            Sampled::Requests(requests) => &mut requests.heads[connection as usize],
            _ => not_of_kind(first, "requests"),
        }
    }
}

impl Calls for Syscalls<'_> {
    fn now(&self) -> SimTime {
        self.world.context.now
    }

    fn set_timer(&mut self, at: SimTime) {
        self.world.context.wake_at(at, crate::Event::Application(self.conversation, TimerId::OWN));
    }

    fn await_others(&mut self, pause: Span) {
        let Some(place) = self.barrier() else { return self.set_timer(self.now() + pause) };
        self.world.barriers[place].waiting.push((self.conversation, pause));
        self.pass_if_complete(place);
    }

    fn leave_others(&mut self) {
        if let Some(place) = self.barrier() {
            self.world.conversations[self.conversation.0 as usize].barrier = None;
            self.world.barriers[place].members -= 1;
            self.pass_if_complete(place);
        }
    }

    /// The SYN leaves.
    fn connect(&mut self, socket: Socket) {
        let id = self.id(socket);
        self.world.return_credits_to(id);
        self.world.drain(id);
    }

    fn read(&mut self, socket: Socket) -> Bytes {
        let (id, now) = (self.id(socket), self.world.context.now);
        let transport = &mut self.world.sockets.get_mut(id).transport;
        let (bytes, sends) = for_tcp!(
            transport,
            reads => (reads.read(now), reads.endpoint.wants_to_send()),
            not_of_kind(id, "TCP")
        );
        // Reading changes neither timers nor what the socket waits for: without an ACK nothing follows from it.
        if sends {
            self.world.return_credits_to(id);
            self.world.drain(id);
        }
        bytes
    }

    /// As in every call by which a socket acts, what has left by now is credited first: a timer may have caused the call,
    /// or the packet of another socket.
    fn send(&mut self, socket: Socket, bytes: u64) -> Sent {
        let id = self.id(socket);
        self.world.return_credits_to(id);
        let mut taken = 0;
        loop {
            let now = self.world.context.now;
            let endpoint = &mut self.world.sockets.tcp(id).endpoint;
            taken += endpoint.write(bytes - taken, now);
            let may_go_on = taken < bytes && endpoint.stopped_by_unsent();
            self.world.drain(id);
            if !may_go_on || !self.world.sockets.tcp(id).endpoint.can_go_on() {
                break;
            }
        }
        let blocked = taken < bytes && self.world.sockets.tcp(id).endpoint.write_blocked();
        Sent { taken, blocked }
    }

    fn tell(&mut self, socket: Socket, number: u64) {
        self.heads(socket).push_back(number);
    }

    fn told(&mut self, socket: Socket) -> Option<u64> {
        self.heads(socket).pop_front()
    }

    fn close(&mut self, socket: Socket) {
        let id = self.id(socket);
        self.world.return_credits_to(id);
        self.world.sockets.tcp(id).endpoint.close(self.world.context.now);
        self.world.drain(id);
    }

    fn send_datagram(&mut self, datagram: Datagram, next: Option<SimTime>) -> bool {
        let Datagram { number: seq, size } = datagram;
        let (id, now) = (self.first, self.world.context.now);
        let is_echo = matches!(self.world.sockets.get_mut(id).transport, Transport::Echo(_));
        if !is_echo && !self.world.has_room(id) {
            return false;
        }
        if let Some(next) = next {
            self.set_timer(next);
        }
        let packet = match &mut self.world.sockets.get_mut(id).transport {
            Transport::Echo(socket) => socket.request(seq, size, now),
            Transport::Udp(socket) => socket.datagram(size, Payload::Datagram { seq, sent: now }, now),
            _ => not_of_kind(id, "datagram"),
        };
        self.world.network.originate(Box::new(packet), &mut self.world.context);
        true
    }

    fn begin(&mut self) {
        self.note("flow_start");
    }

    fn complete(&mut self) {
        self.world.record_tcp_info(self.first);
        self.note("flow_end");
    }

    fn count_read(&mut self, bytes: Bytes) {
        self.world.conversations[self.conversation.0 as usize].read += bytes;
    }

    fn count_sent(&mut self) {
        if let Sampled::Datagrams(counts) = self.sampled() {
            counts.sent += 1;
        }
    }

    fn count_arrived(&mut self, bytes: Bytes, delay_ns: i64) {
        self.count_read(bytes);
        let delay = span(delay_ns);
        if let Sampled::Datagrams(counts) = self.sampled() {
            counts.received += 1;
            counts.delays += delay;
            counts.longest = counts.longest.max(delay);
        }
    }

    fn record(&mut self, row: Row) {
        let (now, name) = (self.world.context.now, self.name());
        push(row, now, name, self.tables());
    }
}

/// A delay between hosts, which share their clock here.
fn span(delay_ns: i64) -> Span {
    Span::from_nanos(delay_ns.unsigned_abs())
}

/// A row of the conversation `name` at its end of the tables.
fn push(row: Row, now: SimTime, name: Name, tables: &mut Record) {
    match row {
        Row::Request { asked: t, number: seq, bytes, latency: latency_ms } => {
            let row = RequestsRow { t, flow: name, seq, bytes, latency_ms };
            tables.requests.get_or_insert_default().push(row);
        }
        Row::Object { start: t, number: object, bytes, loaded: loaded_ms } => {
            let row = ObjectsRow { t, page: name, object, bytes, loaded_ms };
            tables.objects.get_or_insert_default().push(row);
        }
        Row::Segment { number, asked, bitrate, bytes, buffer, fetched, waited } => {
            tables.video.get_or_insert_default().push(VideoRow {
                t: asked,
                video: name,
                segment: number,
                bitrate,
                bytes,
                buffer_ms: buffer,
                fetch_ms: fetched,
                waited_ms: waited,
            });
        }
        Row::Echo { number, sent: t, round_trip: rtt_ms } => {
            tables.ping.push(PingRow { t, ping: name, seq: number.into(), rtt_ms });
        }
        Row::Datagram(delay_ns) => {
            let row = DatagramsRow { t: now, flow: name, delay_ms: span(delay_ns) };
            tables.datagrams.get_or_insert_default().push(row);
        }
        Row::Delays(cell) => tables.delays.get_or_insert_default().push(delays_row(&cell, name)),
    }
}
