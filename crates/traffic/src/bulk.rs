//! An application that sends as much as the socket accepts, with blocking `send()` calls of 128 KiB, and one that reads it.
//!
//! With a [`Source`] it sends only what there is by then. It stops after a number of bytes or at a time, whichever comes first, even within a blocked `send()`. Then it closes
//! the socket.

use serde::Deserialize;
use tailback_units::SimTime;

use crate::Kind;
use crate::calls::{Application, Calls, Event, Socket};
use crate::check::{Checked, check_connection, in_order};
use crate::connection::{
    Carrier, CongestionControl, Connections, InternetProtocol, Purpose, SmallQueue, SocketOptions,
};
use crate::source::{Due, Source};

/// Bytes of one `send()` of an application that always has data.
const MESSAGE: u64 = 131_072;

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
    /// When it has data; always, unless given.
    #[serde(default)]
    pub writes: Option<Source>,
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
    type Client = Sender;
    type Server = Receiver;

    fn check(&self) -> Checked {
        self.stop_ns.map_or(Ok(()), |stop_ns| in_order(self.start_ns, stop_ns))?;
        self.writes.map_or(Ok(()), Source::check)?;
        check_connection(self.tsq, &self.socket)
    }

    fn carrier(&self) -> Carrier<'_> {
        let purpose = Purpose::Bulk { bytes: self.bytes };
        let (cc, tsq, socket, ip) = (&self.cc, self.tsq, &self.socket, self.ip);
        Carrier::Tcp(Connections { count: 1, purpose, cc, tsq, socket, ip })
    }

    fn closes_ns(&self) -> Option<u64> {
        self.stop_ns
    }

    fn client(&self) -> Sender {
        Sender {
            state: FlowState::Waiting,
            stop: self.stop_ns.map_or(SimTime::NEVER, SimTime::from_nanos),
            due: self.writes.map(Due::of),
            size: self.writes.map_or(MESSAGE, |source| source.message),
            message: 0,
            later: self.bytes,
        }
    }

    fn server(&self) -> Receiver {
        Receiver
    }
}

/// How far a bulk flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlowState {
    /// Before its start.
    Waiting,
    /// Connected or connecting; sends.
    Sending,
    /// Has closed; data may still be on its way.
    Closed,
    /// All its data was acknowledged.
    Finished,
}

/// The application that sends.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    state: FlowState,
    stop: SimTime,
    /// When its messages are due; none if they always are.
    due: Option<Due>,
    /// Bytes of a message.
    size: u64,
    /// Bytes of the present `send()` that the socket has not accepted.
    message: u64,
    /// Bytes of later messages; `None` = no end.
    later: Option<u64>,
}

impl Application for Sender {
    #[inline]
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match event {
            Event::Started => {
                self.state = FlowState::Sending;
                calls.begin();
                calls.connect(Socket::FIRST);
            }
            Event::Writable => self.write(calls),
            Event::Timer if self.state == FlowState::Sending && calls.now() >= self.stop => self.close(calls),
            Event::Timer => self.write(calls),
            Event::Finished => {
                self.state = FlowState::Finished;
                calls.complete();
            }
            _ => {}
        }
    }

    fn is_active(&self) -> bool {
        matches!(self.state, FlowState::Sending | FlowState::Closed)
    }

    fn is_over(&self) -> bool {
        self.state == FlowState::Finished
    }
}

impl Sender {
    /// Blocking `send()`s, until one blocks.
    fn write<C: Calls>(&mut self, calls: &mut C) {
        while self.state == FlowState::Sending {
            if let Some(due) = self.next_due(calls) {
                return calls.set_timer(due.min(self.stop));
            }
            let Some(wanted) = self.wants() else { return self.close(calls) };
            let sent = calls.send(Socket::FIRST, wanted);
            self.message -= sent.taken;
            if sent.blocked {
                return;
            }
        }
    }

    fn close<C: Calls>(&mut self, calls: &mut C) {
        self.state = FlowState::Closed;
        calls.close(Socket::FIRST);
    }

    /// When the next message is due, if that is later than now. It counts as sent from then on.
    fn next_due<C: Calls>(&mut self, calls: &C) -> Option<SimTime> {
        if self.message > 0 || self.later == Some(0) {
            return None;
        }
        self.due.as_mut()?.later_than(calls.now())
    }

    /// Bytes of the next `send()`; `None` when everything is sent.
    fn wants(&mut self) -> Option<u64> {
        if self.message == 0 {
            self.message = self.later.map_or(self.size, |later| later.min(self.size));
            self.later = self.later.map(|later| later - self.message);
        }
        (self.message > 0).then_some(self.message)
    }
}

/// The application that reads.
#[derive(Clone, Copy, Debug)]
pub struct Receiver;

impl Application for Receiver {
    #[inline]
    fn on<C: Calls>(&mut self, event: Event, socket: Socket, calls: &mut C) {
        if event == Event::Readable {
            let bytes = calls.read(socket);
            calls.count_read(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(bytes: Option<u64>) -> Sender {
        Sender {
            state: FlowState::Waiting,
            stop: SimTime::NEVER,
            due: None,
            size: MESSAGE,
            message: 0,
            later: bytes,
        }
    }

    #[test]
    fn a_refused_rest_is_offered_again_before_the_next_message() {
        let mut bulk = sender(None);
        assert_eq!(bulk.wants(), Some(131_072));
        bulk.message -= 100_000;
        assert_eq!(bulk.wants(), Some(31_072));
        bulk.message -= 31_072;
        assert_eq!(bulk.wants(), Some(131_072));
    }

    #[test]
    fn a_transfer_of_200_kb_is_two_messages() {
        let mut bulk = sender(Some(200_000));
        bulk.wants();
        bulk.message -= 131_072;
        assert_eq!(bulk.wants(), Some(68_928));
        bulk.message -= 68_928;
        assert_eq!(bulk.wants(), None);
    }
}
