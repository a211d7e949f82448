//! Echo requests at a fixed interval. The destination replies at once, by its stack (ICMP) or a server (UDP). [rfc792]

use serde::Deserialize;
use tailback_units::{SimTime, Span};

use crate::Kind;
use crate::calls::{Application, Arrived, Calls, Datagram, Event, Nothing, Row, Socket};
use crate::check::{Checked, in_order, positive};
use crate::connection::{Carrier, EchoProtocol};

/// Echo requests at a fixed interval.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingTraffic {
    /// The name of the ping in tables.
    pub name: String,
    /// Host that sends requests.
    pub from: u16,
    /// Host that replies.
    pub to: u16,
    /// First request.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// From one request to the next.
    pub interval_ns: u64,
    /// Bytes of ICMP or UDP, header included.
    pub size: u32,
    /// Code point of requests and answers; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
    /// What carries it; ICMP unless given.
    #[serde(default)]
    pub protocol: EchoProtocol,
}

impl Kind for PingTraffic {
    type Client = Ping;
    type Server = Nothing;

    fn check(&self) -> Checked {
        positive(self.interval_ns, "interval_ns")?;
        in_order(self.start_ns, self.stop_ns)
    }

    fn carrier(&self) -> Carrier<'_> {
        Carrier::Echo { size: self.size, protocol: self.protocol }
    }

    fn stop_by(&mut self, end_ns: u64) {
        self.stop_ns = self.stop_ns.min(end_ns);
    }

    fn client(&self) -> Ping {
        Ping {
            due: SimTime::from_nanos(self.start_ns),
            interval: Span::from_nanos(self.interval_ns),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            requests: Vec::new(),
        }
    }

    fn server(&self) -> Nothing {
        Nothing
    }
}

/// One `ping` process.
#[derive(Clone, Debug)]
pub struct Ping {
    /// When the next request is due.
    due: SimTime,
    interval: Span,
    stop: SimTime,
    /// Bytes of ICMP or UDP, header included.
    size: u32,
    /// By sequence number: when the request was sent, and the round trip if it was answered.
    requests: Vec<(SimTime, Option<Span>)>,
}

impl Application for Ping {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match event {
            Event::Started | Event::Timer => self.ask(calls),
            Event::Arrived(Arrived::Answer(number)) => self.answered(number, calls.now()),
            Event::Ended => {
                for (number, &(sent, round_trip)) in (0..).zip(&self.requests) {
                    calls.record(Row::Echo { number, sent, round_trip });
                }
            }
            _ => {}
        }
    }

    fn held(&self) -> Option<usize> {
        Some(self.requests.capacity() * Ping::REQUEST)
    }

    fn round_trip(&self) -> Option<Span> {
        self.requests.iter().rev().find_map(|(_, round_trip)| *round_trip)
    }
}

impl Ping {
    /// Bytes of memory that it keeps of a request.
    pub const REQUEST: usize = size_of::<(SimTime, Option<Span>)>();

    /// When each request was sent, and its round trip if it was answered, in their order.
    pub fn requests(&self) -> &[(SimTime, Option<Span>)] {
        &self.requests
    }

    fn ask<C: Calls>(&mut self, calls: &mut C) {
        let number = u32::try_from(self.requests.len()).expect("a run has fewer than four billion requests");
        self.requests.push((calls.now(), None));
        self.due += self.interval;
        let next = (self.due < self.stop).then_some(self.due);
        if !calls.send_datagram(Datagram { number, size: self.size }, next)
            && let Some(next) = next
        {
            // One for which the own queue has no room is lost like any other.
            calls.set_timer(next);
        }
    }

    /// An answer has arrived; only the first counts.
    fn answered(&mut self, number: u32, now: SimTime) {
        if let Some((sent, round_trip)) = self.requests.get_mut(number as usize) {
            round_trip.get_or_insert(now.since(*sent));
        }
    }
}
