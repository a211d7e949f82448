//! An application that sends as much as the socket accepts, with blocking `send()` calls of 128 KiB.
//!
//! It stops after a number of bytes or at a time, whichever comes first, even within a blocked `send()`. Then it closes
//! the socket.

use serde::Deserialize;
use tailback_packet::SocketId;
use tailback_record::FlowsRow;
use tailback_units::{Bytes, SimTime};

use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath};
use crate::BuildError;
use crate::build::{Builder, Connection, ServerRole};
use crate::check::{check_connection, ensure};
use crate::scenario::{CongestionControl, InternetProtocol, SmallQueue, SocketOptions};
use crate::syscalls::Syscalls;

/// Bytes of one `send()`.
const MESSAGE: u64 = 131_072;
/// The application closes its socket.
const STOP: TimerId = TimerId(1);

/// One TCP connection that carries bulk data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpTraffic {
    /// The name of the flow in tables.
    pub name: String,
    /// Sending host.
    pub from: u16,
    /// Receiving host.
    pub to: u16,
    /// When it connects.
    pub start_ns: u64,
    /// When it closes.
    pub stop_ns: Option<u64>,
    /// How much it sends.
    pub bytes: Option<u64>,
    /// Congestion control of the sender.
    pub cc: CongestionControl,
    /// Limit of the sender's small queue.
    pub tsq: SmallQueue,
    /// The socket options that the two applications set.
    pub socket: SocketOptions,
    /// Code point of its packets, both ways; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
    /// Version of IP; 4 unless given.
    #[serde(default)]
    pub ip: InternetProtocol,
}

impl Kind for TcpTraffic {
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        let in_order = self.stop_ns.is_none_or(|stop| self.start_ns < stop);
        ensure(in_order, format_args!("{path}.stop_ns"), "not after start_ns", "write a later instant")?;
        check_connection(self.tsq, &self.socket, path)
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path([self.from, self.to], place.path)?;
        self.refuse_endless_instant(place, builder)?;
        let connection = Connection {
            sockets: place.sockets(),
            ends: self.ends(),
            name: &self.name,
            start: SimTime::from_nanos(self.start_ns),
            server: ServerRole::Counts,
            cc: &self.cc,
            tsq: self.tsq,
            options: &self.socket,
            dscp: self.dscp,
            ip: self.ip,
        };
        builder.add_connection(&connection, place)?;
        builder.set_timer(place.conversation, connection.start, TimerId::START);
        if let Some(stop) = self.stop_ns {
            builder.set_timer(place.conversation, SimTime::from_nanos(stop), STOP);
        }
        Ok(Box::new(Bulk::new(place.sockets(), self.bytes)))
    }
}

impl TcpTraffic {
    /// Refuses a flow without an end over a path without delay, which would send forever at one time.
    fn refuse_endless_instant(&self, place: &Place, builder: &Builder) -> Result<(), BuildError> {
        let endless = self.bytes.is_none() && self.socket.max_pacing_rate_bps.is_none();
        if !endless || builder.round_trip_takes_time(self.ends()) {
            return Ok(());
        }
        let [from, to] = self.ends().map(|host| builder.host_name(host));
        let problem = format!("no time passes on the way from `{from}` to `{to}` and back");
        let remedy = "give a link on it a `rate` or a `delay`, or the flow its `bytes`";
        Err(BuildError::new(place.path, problem, remedy))
    }
}

/// The state of a bulk application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Before its start.
    Waiting,
    /// Connected or connecting; sends.
    Sending,
    /// Has closed; data may still be on its way.
    Closed,
    /// All its data was acknowledged.
    Finished,
}

/// A sending application and the one that reads what it sends.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// The sender's, then the receiver's.
    sockets: [SocketId; 2],
    pub(crate) phase: Phase,
    /// Bytes of the present `send()` that the socket has not accepted.
    message: u64,
    /// Bytes of later messages; `None` = no end.
    later: Option<u64>,
    /// Bytes that the receiving application has read, but for those read in its place and not counted yet.
    pub(crate) read: Bytes,
    /// Of these, the bytes in rows of the table.
    recorded: Bytes,
}

impl Application for Bulk {
    fn started(&mut self, calls: &mut Syscalls) {
        self.phase = Phase::Sending;
        calls.note("flow_start", self.sender());
        calls.connect(self.sender());
    }

    fn timer(&mut self, timer: TimerId, calls: &mut Syscalls) {
        debug_assert_eq!(timer, STOP, "it sets no other");
        if self.phase == Phase::Sending {
            self.close(calls);
        }
    }

    fn readable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        self.read += calls.read(socket);
    }

    fn writable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        if socket == self.sender() {
            self.write(calls);
        }
    }

    fn finished(&mut self, socket: SocketId, calls: &mut Syscalls) {
        if socket == self.sender() {
            calls.record_tcp_info(socket);
            self.phase = Phase::Finished;
            calls.note("flow_end", socket);
        }
    }

    fn over(&self) -> Option<[SocketId; 2]> {
        let over = self.phase == Phase::Finished && self.read == self.recorded;
        over.then_some(self.sockets)
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        self.read += calls.count_read(self.receiver());
        let bytes = self.read - std::mem::replace(&mut self.recorded, self.read);
        if bytes > Bytes::ZERO {
            let row = FlowsRow { t: calls.now(), flow: calls.name(), bytes };
            calls.record().flows.push(row);
        }
        if matches!(self.phase, Phase::Sending | Phase::Closed) {
            calls.record_tcp_info(self.sender());
        }
    }
}

impl Bulk {
    fn sender(&self) -> SocketId {
        self.sockets[0]
    }

    pub(crate) fn receiver(&self) -> SocketId {
        self.sockets[1]
    }

    /// Sends `bytes`; `None` = no end.
    fn new(sockets: [SocketId; 2], bytes: Option<u64>) -> Self {
        Bulk {
            sockets,
            phase: Phase::Waiting,
            message: 0,
            later: bytes,
            read: Bytes::ZERO,
            recorded: Bytes::ZERO,
        }
    }

    /// Blocking `send()`s, until one blocks.
    fn write(&mut self, calls: &mut Syscalls) {
        while self.phase == Phase::Sending {
            let Some(wanted) = self.wants() else { return self.close(calls) };
            let sent = calls.send(self.sender(), wanted);
            self.message -= sent.taken;
            if sent.blocked {
                return;
            }
        }
    }

    fn close(&mut self, calls: &mut Syscalls) {
        self.phase = Phase::Closed;
        calls.close(self.sender());
    }

    /// Bytes of the next `send()`; `None` when everything is sent.
    fn wants(&mut self) -> Option<u64> {
        if self.message == 0 {
            self.message = self.later.map_or(MESSAGE, |later| later.min(MESSAGE));
            self.later = self.later.map(|later| later - self.message);
        }
        (self.message > 0).then_some(self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_rest_is_offered_again_before_the_next_message() {
        let mut bulk = Bulk::new([SocketId(0), SocketId(1)], None);
        assert_eq!(bulk.wants(), Some(131_072));
        bulk.message -= 100_000;
        assert_eq!(bulk.wants(), Some(31_072));
        bulk.message -= 31_072;
        assert_eq!(bulk.wants(), Some(131_072));
    }

    #[test]
    fn a_transfer_of_200_kb_is_two_messages() {
        let mut bulk = Bulk::new([SocketId(0), SocketId(1)], Some(200_000));
        bulk.wants();
        bulk.message -= 131_072;
        assert_eq!(bulk.wants(), Some(68_928));
        bulk.message -= 68_928;
        assert_eq!(bulk.wants(), None);
    }
}
