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

use std::collections::VecDeque;

use serde::Deserialize;
use tailback_units::{Bytes, SimTime, Span};

use crate::Kind;
use crate::calls::{Application, Calls, Event, Row, Socket};
use crate::check::{Checked, check_connection, ensure, positive};
use crate::connection::{
    Carrier, CongestionControl, Connections, Head, InternetProtocol, Purpose, SmallQueue, SocketOptions,
};
use crate::exchange::{Answers, Server, send_rest};

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
    type Client = Browser;
    type Server = Server;

    fn check(&self) -> Checked {
        positive(self.size, "size")?;
        let first = self.objects.first().is_some_and(|object| object.after.is_none());
        ensure(first, "objects", "no first object", "begin with one that follows none")?;
        let named = self.objects.iter().enumerate().skip(1);
        let in_order = named.clone().all(|(number, each)| each.after.is_some_and(|after| after < number));
        ensure(in_order, "objects", "an object that none before it names", "let each follow one before it")?;
        let sized = self.objects.iter().all(|object| object.bytes > 0);
        ensure(sized, "objects", "an object without bytes", "write sizes above 0")?;
        let count = self.connections > 0 && (self.multiplexing == Multiplexing::One || self.connections == 1);
        let remedy = "write 1, or more of one object at a time";
        ensure(count, "connections", "not a number of connections", remedy)?;
        check_connection(self.tsq, &self.socket)
    }

    fn carrier(&self) -> Carrier<'_> {
        let purpose = Purpose::Requests { size: self.size, head: Head::Size };
        let (cc, tsq, socket, ip) = (&self.cc, self.tsq, &self.socket, InternetProtocol::default());
        Carrier::Tcp(Connections { count: self.connections, purpose, cc, tsq, socket, ip })
    }

    fn client(&self) -> Browser {
        Browser {
            size: self.size,
            objects: self.objects.clone(),
            multiplexing: self.multiplexing,
            connections: (0..self.connections).map(|_| HttpConnection::default()).collect(),
            start: SimTime::from_nanos(self.start_ns),
            unrequested: Vec::new(),
            loaded: vec![None; self.objects.len()],
        }
    }

    fn server(&self) -> Server {
        Server::new(self.size, Answers::Told)
    }
}

/// Whether a connection of the browser is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Opened {
    #[default]
    No,
    Connecting,
    Yes,
}

/// A connection of the browser.
#[derive(Clone, Debug, Default)]
struct HttpConnection {
    opened: Opened,
    /// Objects that were asked for and have not been read, in order, with the bytes still to be read.
    awaited: VecDeque<(usize, u64)>,
    /// Bytes of requests that the socket has not accepted.
    unsent: u64,
}

/// A browser that loads a page.
#[derive(Clone, Debug)]
pub struct Browser {
    size: u64,
    objects: Vec<PageObject>,
    multiplexing: Multiplexing,
    connections: Vec<HttpConnection>,
    start: SimTime,
    /// Objects that are known and have not been asked for, in their order.
    unrequested: Vec<usize>,
    /// How long after the start the last byte of each was read.
    loaded: Vec<Option<Span>>,
}

impl Application for Browser {
    fn on<C: Calls>(&mut self, event: Event, socket: Socket, calls: &mut C) {
        match event {
            Event::Started => {
                self.unrequested.push(0);
                self.ask(calls);
            }
            Event::Readable => {
                let bytes = calls.read(socket);
                calls.count_read(bytes);
                if self.take(socket, bytes.get(), calls.now()) {
                    self.ask(calls);
                }
            }
            Event::Writable => self.writable(socket, calls),
            Event::Ended if calls.now() > self.start => self.record(calls),
            _ => {}
        }
    }

    /// What is left of the first object that it waits for.
    fn most_to_read(&self, socket: Socket) -> Option<u64> {
        self.connections[socket.0 as usize].awaited.front().map(|&(_, left)| left)
    }
}

impl Browser {
    /// How long after the start each object was loaded.
    pub fn loaded(&self) -> &[Option<Span>] {
        &self.loaded
    }

    fn writable<C: Calls>(&mut self, socket: Socket, calls: &mut C) {
        let connection = &mut self.connections[socket.0 as usize];
        if connection.opened == Opened::Connecting {
            connection.opened = Opened::Yes;
            return self.ask(calls);
        }
        send_rest(socket, &mut connection.unsent, calls);
    }

    /// Asks for known objects on free connections, and opens connections for others.
    fn ask<C: Calls>(&mut self, calls: &mut C) {
        let one = self.multiplexing == Multiplexing::One;
        for (socket, connection) in (0..).map(Socket).zip(&mut self.connections) {
            while !self.unrequested.is_empty() && connection.is_free(one) {
                let object = self.unrequested.remove(0);
                let bytes = self.objects[object].bytes;
                connection.awaited.push_back((object, bytes));
                connection.unsent += self.size;
                calls.tell(socket, bytes);
            }
            send_rest(socket, &mut connection.unsent, calls);
        }
        self.open(calls);
    }

    /// Opens a connection for each known object that has none.
    fn open<C: Calls>(&mut self, calls: &mut C) {
        let opening = self.connections.iter().filter(|each| each.opened == Opened::Connecting).count();
        let wanted = self.unrequested.len().saturating_sub(opening);
        let sockets = (0..).map(Socket).zip(&mut self.connections);
        for (socket, connection) in sockets.filter(|(_, each)| each.opened == Opened::No).take(wanted) {
            connection.opened = Opened::Connecting;
            calls.connect(socket);
        }
    }

    /// Reads responses; true if an object is complete.
    fn take(&mut self, socket: Socket, mut bytes: u64, now: SimTime) -> bool {
        let mut complete = false;
        let connection = &mut self.connections[socket.0 as usize];
        while let Some((object, left)) = connection.awaited.front_mut().filter(|_| bytes > 0) {
            let read = bytes.min(*left);
            (*left, bytes) = (*left - read, bytes - read);
            if *left == 0 {
                let object = *object;
                connection.awaited.pop_front();
                self.loaded[object] = Some(now.since(self.start));
                let named = self.objects.iter().enumerate().filter(|(_, each)| each.after == Some(object));
                self.unrequested.extend(named.map(|(number, _)| number));
                self.unrequested.sort_unstable();
                complete = true;
            }
        }
        complete
    }

    fn record<C: Calls>(&self, calls: &mut C) {
        for ((number, object), &loaded) in (0..).zip(&self.objects).zip(&self.loaded) {
            let bytes = Bytes(object.bytes);
            calls.record(Row::Object { start: self.start, number, bytes, loaded });
        }
    }
}

impl HttpConnection {
    fn is_free(&self, one: bool) -> bool {
        self.opened == Opened::Yes && (!one || self.awaited.is_empty())
    }
}
