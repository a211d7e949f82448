//! A client that sends requests over one TCP connection, and the server that answers them.
//!
//! ```text
//! connect, then again and again: send a request; read its answer to the last byte; pause
//! ```
//! One request is on its way at a time. The sizes of the answers and the pauses are given as lists, which are repeated.
//! With a `count`, the client closes after that many answers. With a `barrier`, it asks when all clients with that barrier have
//! their answers: the requests of a round leave at one time.

use serde::Deserialize;
use tailback_units::{Bytes, SimTime, Span};

use crate::Kind;
use crate::calls::{Application, Calls, Event, Row, Socket};
use crate::check::{Checked, check_connection, ensure, in_order, positive};
use crate::connection::{
    Carrier, CongestionControl, Connections, Head, InternetProtocol, Purpose, SmallQueue, SocketOptions,
};
use crate::exchange::{Answers, Server, send_rest};

/// Requests and answers over one TCP connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestTraffic {
    /// The name of the exchange in tables.
    pub name: String,
    /// The client.
    pub from: u16,
    /// The server.
    pub to: u16,
    /// When the client connects.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// Bytes of a request.
    pub size: u64,
    /// Bytes of the answers, one after the other.
    pub answers: Vec<u64>,
    /// From the end of an answer to the next request.
    pub pauses_ns: Vec<u64>,
    /// Requests after which the client closes; none = only at the stop.
    #[serde(default)]
    pub count: Option<u64>,
    /// Its client asks together with those of all conversations that have the same.
    #[serde(default)]
    pub barrier: Option<String>,
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

impl Kind for RequestTraffic {
    type Client = Client;
    type Server = Server;

    fn check(&self) -> Checked {
        positive(self.size, "size")?;
        in_order(self.start_ns, self.stop_ns)?;
        let answered = !self.answers.is_empty() && self.answers.iter().all(|&bytes| bytes > 0);
        ensure(answered, "answers", "an answer without bytes", "write sizes above 0")?;
        ensure(!self.pauses_ns.is_empty(), "pauses_ns", "empty", "write a pause")?;
        ensure(self.count != Some(0), "count", "no requests", "write a number above 0")?;
        check_connection(self.tsq, &self.socket)
    }

    fn carrier(&self) -> Carrier<'_> {
        let purpose = Purpose::Requests { size: self.size, head: Head::Nothing };
        let (cc, tsq, socket, ip) = (&self.cc, self.tsq, &self.socket, InternetProtocol::default());
        Carrier::Tcp(Connections { count: 1, purpose, cc, tsq, socket, ip })
    }

    fn barrier(&self) -> Option<&str> {
        self.barrier.as_deref()
    }

    fn stop_by(&mut self, end_ns: u64) {
        self.stop_ns = self.stop_ns.min(end_ns);
    }

    fn client(&self) -> Client {
        Client {
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            count: self.count.unwrap_or(u64::MAX),
            answers: self.answers.clone(),
            pauses: self.pauses_ns.iter().map(|&pause| Span::from_nanos(pause)).collect(),
            start: if self.barrier.is_some() { Start::Together } else { Start::Alone },
            state: State::Connecting,
            number: 0,
            asked: SimTime::ZERO,
            unsent: 0,
            unread: 0,
        }
    }

    fn server(&self) -> Server {
        Server::new(self.size, Answers::InTurn(self.answers.iter().copied().collect()))
    }
}

/// When a round begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// After the pause.
    Alone,
    /// After the pause of the last client at the barrier.
    Together,
}

/// What the client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Connecting,
    /// It waits for an answer.
    Asking,
    Pausing,
    Closed,
}

/// The client.
#[derive(Clone, Debug)]
pub struct Client {
    stop: SimTime,
    size: u64,
    count: u64,
    answers: Vec<u64>,
    pauses: Vec<Span>,
    start: Start,
    state: State,
    /// Of the present request.
    number: usize,
    asked: SimTime,
    /// Bytes of the present request that the socket has not accepted.
    unsent: u64,
    /// Bytes of its answer that are still to be read.
    unread: u64,
}

impl Application for Client {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match event {
            Event::Started => calls.connect(Socket::FIRST),
            Event::Timer => self.ask(calls),
            Event::Readable => self.read(calls),
            Event::Writable if self.state == State::Connecting => self.connected(calls),
            Event::Writable => send_rest(Socket::FIRST, &mut self.unsent, calls),
            Event::Ended if self.state == State::Asking => self.record(None, calls),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.state == State::Closed
    }
}

impl Client {
    /// Requests that were answered.
    pub fn answered_requests(&self) -> usize {
        self.number
    }

    /// Bytes of the answer to the present request.
    fn answer(&self) -> u64 {
        self.answers[self.number % self.answers.len()]
    }

    /// The first round begins.
    fn connected<C: Calls>(&mut self, calls: &mut C) {
        match self.start {
            Start::Alone => self.ask(calls),
            Start::Together => {
                self.state = State::Pausing;
                calls.await_others(Span::ZERO);
            }
        }
    }

    /// Sends the next request, or closes if it is too late for one.
    fn ask<C: Calls>(&mut self, calls: &mut C) {
        if calls.now() >= self.stop {
            return self.close(calls);
        }
        self.state = State::Asking;
        self.asked = calls.now();
        (self.unsent, self.unread) = (self.size, self.answer());
        send_rest(Socket::FIRST, &mut self.unsent, calls);
    }

    fn read<C: Calls>(&mut self, calls: &mut C) {
        let bytes = calls.read(Socket::FIRST);
        calls.count_read(bytes);
        self.unread = self.unread.saturating_sub(bytes.get());
        if self.state == State::Asking && self.unread == 0 {
            self.answered(calls);
        }
    }

    /// The last byte of the answer was read.
    fn answered<C: Calls>(&mut self, calls: &mut C) {
        let now = calls.now();
        self.record(Some(now.since(self.asked)), calls);
        let pause = self.pauses[self.number % self.pauses.len()];
        self.number += 1;
        if self.number as u64 >= self.count {
            return self.close(calls);
        }
        self.state = State::Pausing;
        match self.start {
            Start::Alone => calls.set_timer(now + pause),
            Start::Together => calls.await_others(pause),
        }
    }

    fn close<C: Calls>(&mut self, calls: &mut C) {
        self.state = State::Closed;
        calls.leave_others();
        calls.close(Socket::FIRST);
    }

    fn record<C: Calls>(&self, latency: Option<Span>, calls: &mut C) {
        let (number, bytes) = (self.number as u64, Bytes(self.answer()));
        calls.record(Row::Request { asked: self.asked, number, bytes, latency });
    }
}
