//! A browser that loads a web page, and its server.
//!
//! ```text
//! an object becomes known when the last byte of the object that names it was read (the first one: at the start)
//! HTTP/1.1  up to `connections` connections, each with one object at a time; objects are asked for in their order
//! HTTP/2    one connection; an object is asked for as soon as it is known; the server answers in that order
//! ```
//! A connection is opened when an object is known and no open one is free. Objects have a response of their bytes; all
//! requests have the same size. Both ends set `TCP_NODELAY`, as browsers and servers do. There is no TLS, no DNS, and no
//! time for computing.   [rfc9112 §9.4] [rfc9113 §5]

use serde::Deserialize;
use tailback_packet::SocketId;
use tailback_record::ObjectsRow;
use tailback_units::{Bytes, SimTime, Span};

use super::exchange::{SegmentsSent, record_read, record_sent, send_rest};
use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath};
use crate::BuildError;
use crate::build::{Builder, Connection, ServerRole};
use crate::check::{check_connection, ensure, positive};
use crate::scenario::{CongestionControl, InternetProtocol, SmallQueue, SocketOptions};
use crate::syscalls::Syscalls;

/// An object of a page.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageObject {
    /// Bytes of its response.
    pub bytes: u64,
    /// The object that names it, which comes before it; none for the first.
    pub after: Option<usize>,
}

/// How many objects a connection carries at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multiplexing {
    /// One, as in HTTP/1.1.
    One,
    /// All that are known, as in HTTP/2.
    All,
}

/// A page that is loaded once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTraffic {
    /// The name of the page in tables.
    pub name: String,
    /// The browser.
    pub from: u16,
    /// The server.
    pub to: u16,
    /// When the first object is wanted.
    pub start_ns: u64,
    /// Bytes of a request.
    pub size: u64,
    /// The objects of the page.
    pub objects: Vec<PageObject>,
    /// Connections at most.
    pub connections: u32,
    /// Objects of a connection at a time.
    pub multiplexing: Multiplexing,
    /// Congestion control of both ends.
    pub cc: CongestionControl,
    /// Limit of the small queues.
    pub tsq: SmallQueue,
    /// The socket options that the two applications set.
    pub socket: SocketOptions,
    /// Code point of its packets, both ways; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
}

impl Kind for PageTraffic {
    fn socket_pairs(&self) -> u32 {
        self.connections
    }

    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(self.size, format_args!("{path}.size"))?;
        let first = self.objects.first().is_some_and(|object| object.after.is_none());
        let objects = format!("{path}.objects");
        ensure(first, &objects, "no first object", "begin with one that follows none")?;
        let named = self.objects.iter().enumerate().skip(1);
        let in_order = named.clone().all(|(number, each)| each.after.is_some_and(|after| after < number));
        ensure(in_order, &objects, "an object that none before it names", "let each follow one before it")?;
        let sized = self.objects.iter().all(|object| object.bytes > 0);
        ensure(sized, &objects, "an object without bytes", "write sizes above 0")?;
        let count = self.connections > 0 && (self.multiplexing == Multiplexing::One || self.connections == 1);
        let remedy = "write 1, or more of one object at a time";
        ensure(count, format_args!("{path}.connections"), "not a number of connections", remedy)?;
        check_connection(self.tsq, &self.socket, path)
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path([self.from, self.to], place.path)?;
        if !builder.round_trip_takes_time(self.ends()) {
            let remedy = "give a link on the way a `rate` or a `delay`";
            return Err(BuildError::new(place.path, "no time passes from a request to its answer", remedy));
        }
        let start = SimTime::from_nanos(self.start_ns);
        let mut wires = Vec::new();
        for number in 0..self.connections {
            let sockets = [0, 1].map(|end| SocketId(place.first_socket + 2 * number + end));
            let connection = Connection {
                sockets,
                ends: self.ends(),
                name: &self.name,
                start,
                server: ServerRole::Answers,
                cc: &self.cc,
                tsq: self.tsq,
                options: &self.socket,
                dscp: self.dscp,
                ip: InternetProtocol::default(),
            };
            builder.add_connection(&connection, place)?;
            wires.push(Wire::new(sockets));
        }
        builder.set_timer(place.conversation, start, TimerId::START);
        Ok(Box::new(Page {
            size: self.size,
            objects: self.objects.clone(),
            multiplexing: self.multiplexing,
            wires,
            start,
            unrequested: Vec::new(),
            loaded: vec![None; self.objects.len()],
            read: Bytes::ZERO,
            sent: SegmentsSent::default(),
        }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Unused,
    Connecting,
    Open,
}

/// A connection of the browser. Pairs are those of the browser, then of the server.
#[derive(Debug)]
struct Wire {
    sockets: [SocketId; 2],
    phase: Phase,
    /// Objects that were asked for and have not been read, in order, with the bytes still to be read.
    waiting: Vec<(usize, u64)>,
    /// Objects whose request the server has not read to the end, with the bytes still to be read.
    asked: Vec<(usize, u64)>,
    /// Bytes that the sockets have not accepted.
    unsent: [u64; 2],
}

impl Wire {
    fn new(sockets: [SocketId; 2]) -> Self {
        Wire { sockets, phase: Phase::Unused, waiting: Vec::new(), asked: Vec::new(), unsent: [0, 0] }
    }
}

/// A page being loaded.
#[derive(Debug)]
struct Page {
    size: u64,
    objects: Vec<PageObject>,
    multiplexing: Multiplexing,
    wires: Vec<Wire>,
    start: SimTime,
    /// Objects that are known and have not been asked for, in their order.
    unrequested: Vec<usize>,
    /// How long after the start the last byte of each was read.
    loaded: Vec<Option<Span>>,
    /// Bytes since the last row of the table.
    read: Bytes,
    /// What both ends had sent at their last rows.
    sent: SegmentsSent,
}

impl Application for Page {
    fn started(&mut self, calls: &mut Syscalls) {
        self.unrequested.push(0);
        self.ask(calls);
    }

    fn readable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        let Some(number) = self.wires.iter().position(|wire| wire.sockets.contains(&socket)) else { return };
        let bytes = calls.read(socket);
        if socket == self.wires[number].sockets[1] {
            self.answer(number, bytes.get());
            return self.send(number, calls);
        }
        self.read += bytes;
        if self.take(number, bytes.get(), calls) {
            self.ask(calls);
        }
    }

    fn writable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        let Some(number) = self.wires.iter().position(|wire| wire.sockets.contains(&socket)) else { return };
        let wire = &mut self.wires[number];
        if wire.phase == Phase::Connecting && socket == wire.sockets[0] {
            wire.phase = Phase::Open;
            return self.ask(calls);
        }
        self.send(number, calls);
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        record_read(&mut self.read, calls);
        record_sent(self.wires.iter().map(|wire| wire.sockets), &mut self.sent, calls);
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        if calls.now() <= self.start {
            return;
        }
        for (number, (object, loaded_ms)) in self.objects.iter().zip(&self.loaded).enumerate() {
            let (t, page, bytes) = (self.start, calls.name(), Bytes(object.bytes));
            let row = ObjectsRow { t, page, object: number as u64, bytes, loaded_ms: *loaded_ms };
            calls.record().objects.get_or_insert_default().push(row);
        }
    }
}

impl Page {
    /// Asks for known objects on free connections, and opens connections for others.
    fn ask(&mut self, calls: &mut Syscalls) {
        let one = self.multiplexing == Multiplexing::One;
        for number in 0..self.wires.len() {
            while !self.unrequested.is_empty() && self.is_free(number, one) {
                let object = self.unrequested.remove(0);
                let wire = &mut self.wires[number];
                wire.waiting.push((object, self.objects[object].bytes));
                wire.asked.push((object, self.size));
                wire.unsent[0] += self.size;
            }
            self.send(number, calls);
        }
        let opening = self.wires.iter().filter(|wire| wire.phase == Phase::Connecting).count();
        let wanted = self.unrequested.len().saturating_sub(opening);
        let unused = self.wires.iter_mut().filter(|wire| wire.phase == Phase::Unused).take(wanted);
        for wire in unused {
            wire.phase = Phase::Connecting;
            wire.sockets.iter().for_each(|&socket| calls.set_no_delay(socket));
            calls.connect(wire.sockets[0]);
        }
    }

    fn is_free(&self, number: usize, one: bool) -> bool {
        let wire = &self.wires[number];
        wire.phase == Phase::Open && (!one || wire.waiting.is_empty())
    }

    /// The server reads requests and writes the responses of those it has read to the end.
    fn answer(&mut self, number: usize, mut bytes: u64) {
        let wire = &mut self.wires[number];
        while let Some((object, left)) = wire.asked.first_mut().filter(|_| bytes > 0) {
            let read = bytes.min(*left);
            (*left, bytes) = (*left - read, bytes - read);
            if *left == 0 {
                wire.unsent[1] += self.objects[*object].bytes;
                wire.asked.remove(0);
            }
        }
    }

    /// The browser reads responses; true if an object is complete.
    fn take(&mut self, number: usize, mut bytes: u64, calls: &mut Syscalls) -> bool {
        let mut complete = false;
        while let Some((object, left)) = self.wires[number].waiting.first_mut().filter(|_| bytes > 0) {
            let read = bytes.min(*left);
            (*left, bytes) = (*left - read, bytes - read);
            if *left == 0 {
                let object = *object;
                self.wires[number].waiting.remove(0);
                self.loaded[object] = Some(calls.now().since(self.start));
                let named = self.objects.iter().enumerate().filter(|(_, each)| each.after == Some(object));
                self.unrequested.extend(named.map(|(number, _)| number));
                self.unrequested.sort_unstable();
                complete = true;
            }
        }
        complete
    }

    /// Hands waiting bytes to the sockets; `writable` follows if one has no room.
    fn send(&mut self, number: usize, calls: &mut Syscalls) {
        let wire = &mut self.wires[number];
        send_rest(wire.sockets, &mut wire.unsent, calls);
    }
}

#[cfg(test)]
mod tests {
    use super::Page;
    use crate::example::chain;
    use crate::world::World;

    fn page(objects: &str, connections: u32, multiplexing: &str) -> String {
        format!(
            r#"{{"kind": "page", "name": "page", "from": 0, "to": 2, "start_ns": 0, "size": 400,
                "objects": {objects}, "connections": {connections}, "multiplexing": "{multiplexing}",
                "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
                "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                "notsent_lowat": null, "mss": null}}}}"#
        )
    }

    /// When each object was loaded, in ms.
    fn loaded(traffic: &str) -> Vec<f64> {
        let mut world = World::build(&chain(traffic)).unwrap();
        world.advance(&()).unwrap();
        assert!(world.ledger().balances());
        let mut applications = world.conversations.iter().filter_map(|each| each.application.as_deref());
        let found =
            applications.find_map(|each| (each as &dyn std::any::Any).downcast_ref::<Page>()).unwrap();
        found.loaded.iter().map(|each| each.unwrap().as_secs_f64() * 1e3).collect()
    }

    #[test]
    fn each_level_of_dependencies_takes_a_round_trip_of_about_six_ms_after_the_handshake() {
        let chained =
            r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 0}, {"bytes": 100, "after": 1}]"#;
        let times = loaded(&page(chained, 1, "all"));
        for (level, time) in times.iter().enumerate() {
            let trips = level as f64 + 2.0;
            assert!((time - 6.3 * trips).abs() < 0.8 * trips, "{times:?}");
        }
    }

    #[test]
    fn one_object_at_a_time_takes_a_round_trip_each_and_multiplexing_takes_one_for_all() {
        let star = r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 0}, {"bytes": 100, "after": 0},
            {"bytes": 100, "after": 0}]"#;
        let last = |times: Vec<f64>| times.into_iter().fold(0.0, f64::max);
        let (one, all) = (last(loaded(&page(star, 1, "one"))), last(loaded(&page(star, 1, "all"))));
        assert!((one - all - 2.0 * 6.3).abs() < 1.5, "{one} {all}");
        // Three connections: the two new ones need a handshake.
        let three = last(loaded(&page(star, 3, "one")));
        assert!((three - all - 6.3).abs() < 1.5, "{three} {all}");
    }

    #[test]
    fn an_object_that_none_before_it_names_is_refused_with_its_path() {
        let wrong = r#"[{"bytes": 100, "after": null}, {"bytes": 100, "after": 1}]"#;
        let refused = World::build(&chain(&page(wrong, 1, "all"))).err().unwrap();
        assert_eq!(refused.path, "traffic[0].objects");
    }
}
