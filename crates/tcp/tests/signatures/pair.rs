//! Two sockets over a path that a test describes, with their own clock: a client that writes, and a server that reads
//! at once. Each direction is a device with a FIFO (or none), a delay, and a function that decides the fate of each
//! segment.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{Control, EcnNeed};
use tailback_packet::{HostId, Packet, Payload, Segment, SocketId};
use tailback_tcp::{
    Endpoint, EndpointConfig, Settings, SmallQueueLimit, SocketOptions, TcpInfo, Transmitted,
};
use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::control::control;

/// The fate of a segment on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Arrives,
    Lost,
    /// Arrives later by this time.
    Late(Span),
    /// Arrives twice.
    Twice,
}

/// Decides for the n-th segment of a direction (pure ACKs count).
pub type Judge = Box<dyn FnMut(u64, &Segment) -> Fate>;

/// One direction of the path.
pub struct Path {
    pub delay: Span,
    /// Rate of the device; `None` hands over at once.
    pub rate: Option<Rate>,
    /// Maximum number of packets in the device, including the one on the wire.
    pub limit: usize,
    pub judge: Judge,
    pub trains: Trains,
}

/// How a direction handles trains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trains {
    /// All segments of a train have the same fate.
    Stay,
    /// They are cut into segments below the device's queue.
    AreCut,
}

impl Path {
    pub fn new(delay: Span) -> Self {
        Path {
            delay,
            rate: None,
            limit: usize::MAX,
            judge: Box::new(|_, _| Fate::Arrives),
            trains: Trains::Stay,
        }
    }
}

/// A segment that left a host.
#[derive(Clone, Debug)]
pub struct Trace {
    pub at: SimTime,
    pub segment: Segment,
    pub fate: Fate,
}

/// One host: a socket, its application, and its direction of the path.
pub struct Side {
    pub endpoint: Endpoint,
    pub path: Path,
    pub trace: Vec<Trace>,
    /// Bytes that the application still has to write; then it closes.
    pub unwritten: u64,
    /// Bytes the application has read.
    pub received: u64,
    /// The application reads whatever arrives at once.
    pub reads: bool,
    /// Maximum number of data packets that were in the device.
    pub max_below: usize,
    closes: bool,
    below: usize,
    charged_below: usize,
    free_at: SimTime,
}

impl Side {
    fn new(endpoint: Endpoint, path: Path) -> Self {
        Side {
            endpoint,
            path,
            trace: Vec::new(),
            unwritten: 0,
            received: 0,
            reads: true,
            max_below: 0,
            closes: false,
            below: 0,
            charged_below: 0,
            free_at: SimTime::ZERO,
        }
    }

    /// Data segments that left.
    pub fn data(&self) -> impl Iterator<Item = &Trace> {
        self.trace.iter().filter(|trace| trace.segment.length > 0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Client,
    Server,
}

enum Event {
    Arrive(Packet),
    Freed(u32),
    Handler,
}

/// Two hosts.
pub struct Pair {
    pub client: Side,
    pub server: Side,
    pub now: SimTime,
    calendar: BTreeMap<(SimTime, u64), (End, Event)>,
    scheduled: u64,
    draws: Xoshiro256PlusPlus,
}

fn endpoint_config(number: u32, control: Control, wants_pacing: bool) -> EndpointConfig {
    EndpointConfig {
        socket: SocketId(number),
        peer: SocketId(1 - number),
        peer_host: HostId(1 - number as u16),
        flow_hash: number,
        settings: Settings::default().into(),
        small_queue: SmallQueueLimit::Shift(10),
        options: SocketOptions::default(),
        control,
        wants_pacing,
        needs_ecn: EcnNeed::No,
        sndbuf_factor: 2,
    }
}

impl Pair {
    /// The client connects at once.
    pub fn new(control_of_client: Control, wants_pacing: bool, out: Path, back: Path) -> Self {
        Pair::with_settings(control_of_client, wants_pacing, out, back, Settings::default())
    }

    /// The client has other settings than the defaults.
    pub fn with_settings(
        control_of_client: Control,
        wants_pacing: bool,
        out: Path,
        back: Path,
        settings: Settings,
    ) -> Self {
        let config = EndpointConfig {
            settings: settings.into(),
            ..endpoint_config(0, control_of_client, wants_pacing)
        };
        let client = Endpoint::connect(config, SimTime::ZERO);
        let server = Endpoint::listen(endpoint_config(1, control("reno"), false));
        let mut pair = Pair {
            client: Side::new(client, out),
            server: Side::new(server, back),
            now: SimTime::ZERO,
            calendar: BTreeMap::new(),
            scheduled: 0,
            draws: Xoshiro256PlusPlus::seed_from_u64(1),
        };
        pair.drain(End::Client);
        pair
    }

    /// The client's application writes `bytes` as fast as it can, then closes.
    pub fn transfer(&mut self, bytes: u64) {
        self.client.unwritten = bytes;
        self.client.closes = true;
        self.write(End::Client);
    }

    /// The client's application writes for ever.
    pub fn transfer_for_ever(&mut self) {
        self.client.unwritten = u64::MAX / 2;
        self.write(End::Client);
    }

    /// Runs until `until`.
    pub fn run_until(&mut self, until: SimTime) {
        while self.next_event().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
    }

    /// Runs until the server has everything and the client knows it, or until `limit`; returns whether the transfer is
    /// complete.
    pub fn run_to_end(&mut self, limit: SimTime) -> bool {
        while !self.finished() {
            match self.next_event() {
                Some(at) if at <= limit => self.step(),
                _ => return false,
            }
        }
        true
    }

    fn finished(&self) -> bool {
        let info = self.client.endpoint.tcp_info(self.now);
        self.client.unwritten == 0 && self.server.endpoint.at_end() && info.unacked.0 == 0
    }

    pub fn info(&self) -> TcpInfo {
        self.client.endpoint.tcp_info(self.now)
    }

    fn next_event(&self) -> Option<SimTime> {
        let event = self.calendar.keys().next().map(|&(at, _)| at);
        let deadlines = [self.client.endpoint.deadline(), self.server.endpoint.deadline()];
        deadlines.into_iter().chain([event]).flatten().min()
    }

    fn step(&mut self) {
        let at = self.next_event().expect("something is to happen").max(self.now);
        self.now = at;
        let event = self.calendar.first_entry().filter(|entry| entry.key().0 <= at);
        if let Some((end, event)) = event.map(|entry| entry.remove()) {
            self.happen(end, event);
            return;
        }
        for end in [End::Client, End::Server] {
            let endpoint = &mut side(&mut self.client, &mut self.server, end).endpoint;
            if endpoint.deadline().is_some_and(|deadline| deadline <= at) {
                endpoint.expire(at);
                self.drain(end);
            }
        }
    }

    fn happen(&mut self, end: End, event: Event) {
        let now = self.now;
        let host = side(&mut self.client, &mut self.server, end);
        match event {
            Event::Arrive(packet) => {
                let Payload::Tcp(segment) = packet.payload else { panic!("a socket sends TCP") };
                host.endpoint.take(&segment, packet.ecn, packet.truesize, now, &mut self.draws);
            }
            Event::Freed(truesize) => {
                host.below -= 1;
                host.charged_below -= usize::from(truesize > 0);
                if truesize == 0 || !host.endpoint.credit(truesize) {
                    return;
                }
                return self.schedule(now, end, Event::Handler);
            }
            Event::Handler => host.endpoint.small_queue_ran(now),
        }
        self.drain(end);
    }

    fn schedule(&mut self, at: SimTime, end: End, event: Event) {
        self.scheduled += 1;
        self.calendar.insert((at, self.scheduled), (end, event));
    }

    /// Sends the packets of a socket, then runs its application.
    fn drain(&mut self, end: End) {
        loop {
            let now = self.now;
            while let Some(packet) = side(&mut self.client, &mut self.server, end).endpoint.next_packet(now) {
                let outcome = self.hand_over(end, packet);
                side(&mut self.client, &mut self.server, end).endpoint.handed_over(outcome, now);
            }
            let host = side(&mut self.client, &mut self.server, end);
            let woken = host.endpoint.wakeup();
            if woken.readable && host.reads {
                host.received += host.endpoint.read(now).0;
            }
            if woken.writable {
                self.write(end);
            }
            if !woken.readable && !woken.writable {
                return;
            }
        }
    }

    /// The server's application reads all there is.
    pub fn read_at_server(&mut self) {
        self.server.received += self.server.endpoint.read(self.now).0;
        self.drain(End::Server);
    }

    fn write(&mut self, end: End) {
        let now = self.now;
        loop {
            let host = side(&mut self.client, &mut self.server, end);
            host.unwritten -= host.endpoint.write(host.unwritten, now);
            let (all, blocked) = (host.unwritten == 0, host.endpoint.write_blocked());
            if all && host.closes {
                host.endpoint.close(now);
            }
            self.drain(end);
            if all || blocked {
                return;
            }
        }
    }

    fn hand_over(&mut self, end: End, packet: Packet) -> Transmitted {
        let now = self.now;
        let host = side(&mut self.client, &mut self.server, end);
        if host.below >= host.path.limit {
            if packet.charged && host.endpoint.credit(packet.truesize) {
                self.schedule(now, end, Event::Handler);
            }
            return Transmitted::Dropped;
        }
        host.below += 1;
        host.charged_below += usize::from(packet.charged);
        host.max_below = host.max_below.max(host.charged_below);
        let wire =
            host.path.rate.map_or(Span::ZERO, |rate| rate.time_for(Bytes(u64::from(packet.frame_length()))));
        host.free_at = host.free_at.max(now) + wire;
        let (freed, charge) = (host.free_at, if packet.charged { packet.truesize } else { 0 });
        let trains = host.path.trains;
        self.schedule(freed, end, Event::Freed(charge));
        match trains {
            Trains::AreCut => packet.into_segments().into_iter().for_each(|one| self.travel(end, freed, one)),
            Trains::Stay => self.travel(end, freed, packet),
        }
        Transmitted::Queued
    }

    fn travel(&mut self, end: End, departs: SimTime, packet: Packet) {
        let Payload::Tcp(segment) = &packet.payload else { panic!("a socket sends TCP") };
        let segment = segment.clone();
        let host = side(&mut self.client, &mut self.server, end);
        let fate = (host.path.judge)(host.trace.len() as u64, &segment);
        host.trace.push(Trace { at: self.now, segment, fate });
        let arrival = departs + host.path.delay;
        let other = if end == End::Client { End::Server } else { End::Client };
        match fate {
            Fate::Lost => {}
            Fate::Arrives => self.schedule(arrival, other, Event::Arrive(packet)),
            Fate::Late(by) => self.schedule(arrival + by, other, Event::Arrive(packet)),
            Fate::Twice => {
                self.schedule(arrival, other, Event::Arrive(packet.clone()));
                self.schedule(arrival, other, Event::Arrive(packet));
            }
        }
    }
}

/// Borrows one host, so that the rest of the pair can be used.
fn side<'a>(client: &'a mut Side, server: &'a mut Side, end: End) -> &'a mut Side {
    match end {
        End::Client => client,
        End::Server => server,
    }
}
