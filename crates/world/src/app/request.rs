//! A client that sends requests over one TCP connection, and the server that answers them.
//!
//! ```text
//! connect, then again and again: send a request; read its answer to the last byte; pause
//! ```
//! One request is on its way at a time. The sizes of the answers and the pauses are given as lists, which are repeated.
//! With a `count`, the client closes after that many answers.

use serde::Deserialize;
use tailback_packet::SocketId;
use tailback_record::RequestsRow;
use tailback_units::{Bytes, SimTime, Span};

use super::exchange::{SegmentsSent, record_read, record_sent, send_rest};
use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath};
use crate::BuildError;
use crate::build::{Builder, Connection, ServerRole};
use crate::check::{check_connection, ensure, positive};
use crate::scenario::{CongestionControl, InternetProtocol, SmallQueue, SocketOptions};
use crate::syscalls::Syscalls;

/// The pause is over.
const NEXT: TimerId = TimerId(1);

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
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(self.size, format_args!("{path}.size"))?;
        let in_order = self.start_ns < self.stop_ns;
        ensure(in_order, format_args!("{path}.stop_ns"), "not after start_ns", "write a later instant")?;
        let answered = !self.answers.is_empty() && self.answers.iter().all(|&bytes| bytes > 0);
        ensure(answered, format_args!("{path}.answers"), "an answer without bytes", "write sizes above 0")?;
        ensure(!self.pauses_ns.is_empty(), format_args!("{path}.pauses_ns"), "empty", "write a pause")?;
        ensure(self.count != Some(0), format_args!("{path}.count"), "no requests", "write a number above 0")?;
        check_connection(self.tsq, &self.socket, path)
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path([self.from, self.to], place.path)?;
        if !builder.round_trip_takes_time(self.ends()) {
            let remedy = "give a link on the way a `rate` or a `delay`";
            return Err(BuildError::new(place.path, "no time passes from a request to its answer", remedy));
        }
        let [client, server] = place.sockets();
        let connection = Connection {
            sockets: [client, server],
            ends: self.ends(),
            name: &self.name,
            start: SimTime::from_nanos(self.start_ns),
            server: ServerRole::Answers,
            cc: &self.cc,
            tsq: self.tsq,
            options: &self.socket,
            dscp: self.dscp,
            ip: InternetProtocol::default(),
        };
        builder.add_connection(&connection, place)?;
        builder.set_timer(place.conversation, connection.start, TimerId::START);
        Ok(Box::new(Requests {
            client,
            server,
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            count: self.count.unwrap_or(u64::MAX),
            answers: self.answers.clone(),
            pauses: self.pauses_ns.iter().map(|&pause| Span::from_nanos(pause)).collect(),
            phase: Phase::Connecting,
            number: 0,
            asked: SimTime::ZERO,
            unsent: [0, 0],
            unread: [0, 0],
            read: Bytes::ZERO,
            sent: SegmentsSent::default(),
        }))
    }
}

/// What the client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Connecting,
    /// It waits for an answer.
    Asking,
    Pausing,
    Closed,
}

/// The client and the server of one connection. Pairs are those of the client, then of the server.
#[derive(Debug)]
struct Requests {
    client: SocketId,
    server: SocketId,
    stop: SimTime,
    size: u64,
    count: u64,
    answers: Vec<u64>,
    pauses: Vec<Span>,
    phase: Phase,
    /// Of the present request.
    number: usize,
    asked: SimTime,
    /// Bytes of the present message that the socket has not accepted.
    unsent: [u64; 2],
    /// Bytes of the present message that are still to be read.
    unread: [u64; 2],
    /// Bytes of answers since the last row of the table.
    read: Bytes,
    /// What both ends had sent at their last rows.
    sent: SegmentsSent,
}

impl Application for Requests {
    fn started(&mut self, calls: &mut Syscalls) {
        calls.connect(self.client);
    }

    fn timer(&mut self, _timer: TimerId, calls: &mut Syscalls) {
        self.ask(calls);
    }

    fn readable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        let bytes = calls.read(socket);
        if socket == self.server {
            self.unread[1] = self.unread[1].saturating_sub(bytes.get());
            if bytes > Bytes::ZERO && self.unread[1] == 0 {
                self.unsent[1] = self.answer();
                self.send(calls);
            }
            return;
        }
        self.read += bytes;
        self.unread[0] = self.unread[0].saturating_sub(bytes.get());
        if self.phase == Phase::Asking && self.unread[0] == 0 {
            self.answered(calls);
        }
    }

    fn writable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        if self.phase == Phase::Connecting && socket == self.client {
            return self.ask(calls);
        }
        self.send(calls);
    }

    fn over(&self) -> Option<[SocketId; 2]> {
        (self.phase == Phase::Closed && self.read == Bytes::ZERO).then_some([self.client, self.server])
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        record_read(&mut self.read, calls);
        record_sent([[self.client, self.server]].into_iter(), &mut self.sent, calls);
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        if self.phase == Phase::Asking {
            self.record(None, calls);
        }
    }
}

impl Requests {
    /// Bytes of the answer to the present request.
    fn answer(&self) -> u64 {
        self.answers[self.number % self.answers.len()]
    }

    /// Sends the next request, or closes if it is too late for one.
    fn ask(&mut self, calls: &mut Syscalls) {
        if calls.now() >= self.stop {
            return self.close(calls);
        }
        self.phase = Phase::Asking;
        self.asked = calls.now();
        self.unread = [self.answer(), self.size];
        self.unsent[0] = self.size;
        self.send(calls);
    }

    /// The last byte of the answer was read.
    fn answered(&mut self, calls: &mut Syscalls) {
        self.record(Some(calls.now().since(self.asked)), calls);
        let pause = self.pauses[self.number % self.pauses.len()];
        self.number += 1;
        if self.number as u64 >= self.count {
            return self.close(calls);
        }
        self.phase = Phase::Pausing;
        calls.set_timer(calls.now() + pause, NEXT);
    }

    fn close(&mut self, calls: &mut Syscalls) {
        self.phase = Phase::Closed;
        calls.close(self.client);
    }

    /// Hands the rest of both messages to their sockets; `writable` follows if one has no room.
    fn send(&mut self, calls: &mut Syscalls) {
        send_rest([self.client, self.server], &mut self.unsent, calls);
    }

    fn record(&self, latency_ms: Option<Span>, calls: &mut Syscalls) {
        let row = RequestsRow {
            t: self.asked,
            flow: calls.name(),
            seq: self.number as u64,
            bytes: Bytes(self.answer()),
            latency_ms,
        };
        calls.record().requests.get_or_insert_default().push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::Requests;
    use crate::example::chain;
    use crate::world::World;

    fn requests(size: u64, answer: u64, pause_ns: u64) -> String {
        format!(
            r#"{{"kind": "request", "name": "page", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
                "size": {size}, "answers": [{answer}], "pauses_ns": [{pause_ns}],
                "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
                "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                "notsent_lowat": null, "mss": null}}}}"#
        )
    }

    fn asked(traffic: &str) -> usize {
        // At the end of an interval, those that are over are freed.
        let mut scenario = chain(traffic);
        scenario.record.interval_ns = scenario.duration_ns + 1;
        let mut world = World::build(&scenario).unwrap();
        world.advance(&()).unwrap();
        assert!(world.ledger().balances());
        let mut applications = world.conversations.iter().filter_map(|each| each.application.as_deref());
        let found = applications.find_map(|each| (each as &dyn std::any::Any).downcast_ref::<Requests>());
        found.unwrap().number
    }

    #[test]
    fn a_small_request_takes_a_round_trip_and_its_pause() {
        // Each takes 6.3 ms and its pause: after a handshake of as long, the 19th ends at 1.926 s.
        assert_eq!(asked(&requests(100, 100, 100_000_000)), 19);
    }

    #[test]
    fn an_answer_larger_than_the_buffers_arrives_as_a_whole() {
        // 1 MB takes 0.8 s at 10 Mbit/s.
        assert_eq!(asked(&requests(100, 1_000_000, 0)), 2);
    }

    #[test]
    fn a_client_closes_after_its_count() {
        let counted = requests(100, 100, 0).replace("\"size\"", "\"count\": 3, \"size\"");
        assert_eq!(asked(&counted), 3);
    }

    #[test]
    fn an_answer_without_bytes_is_refused_with_its_path() {
        let refused = World::build(&chain(&requests(100, 0, 0))).err().unwrap();
        assert_eq!(refused.path, "traffic[0].answers");
    }
}
