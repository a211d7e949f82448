//! Endpoints outside of the world: transports of others that send and receive datagrams at its hosts.
//!
//! ```text
//! send_datagram() ── a UDP socket of a host ── its device … the network … ── deliver ── Arrival
//! advance(until)   every event up to the first instant at which an endpoint is to be told something, or to `until`
//! ```
//! The world knows nothing of what they send. Here is what it keeps for them; `stepping.rs` has the calls. Whoever drives it
//! calls [`World::advance_to`](crate::World::advance_to), then hands what has happened to the endpoints, then sends what they
//! give, at the same instant, and so on: nobody is called back.
//!
//! Each endpoint has a UDP socket with the send buffer of Linux, which refuses a datagram while it is full
//! (`socket/udp.rs`). A datagram is delivered at once; there is no receive buffer that could overflow, because an endpoint
//! takes no time to read.

use std::collections::VecDeque;

use tailback_packet::{Ecn, SocketId};
use tailback_record::{Name, Record};
use tailback_units::{Delays, SimTime, Span};

use crate::Event;
use crate::context::Context;
use crate::journal::{Journal, delays_row};

/// The socket of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub(crate) SocketId);

/// A datagram that has arrived at an endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Where.
    pub port: Port,
    /// The ECN bits that it arrived with.
    pub ecn: Ecn,
    /// Its content.
    pub data: Box<[u8]>,
}

/// Why a datagram was not sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendError {
    /// The send buffer is full (`EAGAIN`); [`World::next_writable`](crate::World::next_writable) follows. The datagram comes back.
    WouldBlock(Box<[u8]>),
    /// It is longer than the path allows, which has this maximum of bytes (`EMSGSIZE`).
    TooLong {
        /// Most bytes of data.
        most: u32,
    },
}

/// A pair of ports, by the name of its traffic.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) ports: [Port; 2],
    /// Most bytes of a datagram.
    pub(crate) most: u32,
    /// Of the datagrams that arrived at the second.
    pub(crate) delays: Delays,
}

impl Pair {
    /// Counts the one-way delay of a datagram of `flow` with those that are alike.
    #[inline]
    pub(crate) fn count_delay(&mut self, delay: Span, flow: Name, now: SimTime, record: &mut Record) {
        let delay_ns = delay.as_nanos().cast_signed();
        let over = |cell| record.delays.get_or_insert_default().push(delays_row(&cell, flow));
        self.delays.count(now, delay_ns, over);
    }
}

/// What is to be told to endpoints.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) arrived: VecDeque<Arrival>,
    /// Sockets that have room again.
    pub(crate) writable: VecDeque<SocketId>,
    /// There are sockets of TCP, which may pass the time until their next segment within an event.
    pub(crate) beside_tcp: bool,
    /// The earliest [`Event::Pause`] in the calendar.
    pub(crate) pause: Option<SimTime>,
}

impl Endpoints {
    /// Adds a pair. Its place among them.
    pub(crate) fn add(&mut self, sockets: [SocketId; 2], name: &str, most: u32) -> usize {
        self.pairs.push(Pair {
            name: name.to_owned(),
            ports: sockets.map(Port),
            most,
            delays: Delays::default(),
        });
        self.pairs.len() - 1
    }

    pub(crate) fn is_told_nothing(&self) -> bool {
        self.arrived.is_empty() && self.writable.is_empty()
    }

    pub(crate) fn most(&self, port: Port) -> u32 {
        let pair = self.pairs.iter().find(|pair| pair.ports.contains(&port));
        pair.expect("a port is made with its pair").most
    }

    /// Time passes to `until` at most: a socket that passes the time until its next segment passes no pause.
    pub(crate) fn pause_before(&mut self, until: SimTime, context: &mut Context) {
        if self.beside_tcp {
            self.pause_at(until, context);
        }
    }

    fn pause_at(&mut self, until: SimTime, context: &mut Context) {
        if self.pause.is_none_or(|pause| until < pause) && until > context.now {
            self.pause = Some(until);
            context.wake_at(until, Event::Pause);
        }
    }

    /// Records the delays that are still to be recorded.
    pub(crate) fn record_last_delays(&mut self, journal: &mut Journal) {
        for pair in &mut self.pairs {
            let flow = journal.conversation(pair.ports[1].0);
            let rows = &mut journal.record.delays;
            pair.delays.take(|cell| rows.get_or_insert_default().push(delays_row(&cell, flow)));
        }
    }
}
