//! Echo requests at a fixed interval. The destination replies at once, by its stack (ICMP) or a server (UDP). [rfc792]

use serde::Deserialize;
use tailback_packet::{Ecn, HostId, IPV4_HEADER, Packet, Payload, SocketId, conversation_hash};
use tailback_record::PingRow;
use tailback_units::{SimTime, Span};

use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath, does_not_fit, tos};
use crate::BuildError;
use crate::build::Builder;
use crate::check::{ensure, positive};
use crate::syscalls::Syscalls;

/// Kernel memory of a small packet: head and `sk_buff`. [linux-6.12 SKB_TRUESIZE]
const TRUESIZE: u32 = 768;
/// Bytes of an ICMP or UDP header.
const HEADER: u32 = 8;
/// The next request is due.
const NEXT: TimerId = TimerId(1);

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

/// What carries an echo request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EchoProtocol {
    /// An echo request of ICMP: `ping`.
    #[default]
    Icmp,
    /// A datagram that a server answers: `irtt`.
    Udp,
}

impl Kind for PingTraffic {
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(self.interval_ns, format_args!("{path}.interval_ns"))?;
        let in_order = self.start_ns < self.stop_ns;
        ensure(in_order, format_args!("{path}.stop_ns"), "not after start_ns", "write a later instant")
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path(self.ends(), place.path)?;
        let max =
            builder.path_mtu(self.from, self.to).min(builder.path_mtu(self.to, self.from)) - IPV4_HEADER;
        if self.size > max || self.size < HEADER {
            let remedy = format!("write {HEADER} to {max}: an ICMP header, and no fragments");
            return Err(does_not_fit(place.path, self.size, remedy));
        }
        let sockets = place.sockets();
        builder.add_echo_sockets(place);
        builder.set_timer(place.conversation, SimTime::from_nanos(self.start_ns), TimerId::START);
        Ok(Box::new(Ping {
            sockets,
            hosts: self.ends().map(HostId),
            interval: Span::from_nanos(self.interval_ns),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            tos: tos(self.dscp),
            requests: Vec::new(),
        }))
    }
}

/// One `ping` process.
#[derive(Debug)]
pub(crate) struct Ping {
    /// The sockets of the requesting and of the replying host.
    sockets: [SocketId; 2],
    hosts: [HostId; 2],
    interval: Span,
    stop: SimTime,
    /// Bytes of ICMP or UDP, header included.
    size: u32,
    tos: u8,
    /// By sequence number: when the request was sent, and the round trip if it was answered.
    pub(crate) requests: Vec<(SimTime, Option<Span>)>,
}

impl Application for Ping {
    fn started(&mut self, calls: &mut Syscalls) {
        self.ask(calls);
    }

    fn timer(&mut self, _timer: TimerId, calls: &mut Syscalls) {
        self.ask(calls);
    }

    fn datagram(&mut self, packet: &Packet, calls: &mut Syscalls) {
        let Payload::EchoReply { seq } = packet.payload else { return };
        let (sent, round_trip) = &mut self.requests[seq as usize];
        *round_trip = Some(calls.now().since(*sent));
    }

    fn held(&self) -> Option<usize> {
        Some(self.requests.capacity() * size_of::<(SimTime, Option<Span>)>())
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        let ping = calls.name();
        for (seq, &(t, rtt_ms)) in (0..).zip(&self.requests) {
            calls.record().ping.push(PingRow { t, ping, seq, rtt_ms });
        }
    }
}

impl Ping {
    fn ask(&mut self, calls: &mut Syscalls) {
        let now = calls.now();
        let request = self.request(now);
        let next = now + self.interval;
        if next < self.stop {
            calls.set_timer(next, NEXT);
        }
        calls.transmit(request);
    }

    /// Sends the next request.
    pub(crate) fn request(&mut self, now: SimTime) -> Packet {
        let seq = u32::try_from(self.requests.len()).expect("a run has fewer than four billion requests");
        self.requests.push((now, None));
        let ([from, to], [source, destination]) = (self.sockets, self.hosts);
        Packet {
            from,
            to,
            source,
            destination,
            ip_length: IPV4_HEADER + self.size,
            segments: 1,
            ecn: Ecn::NotEct,
            tos: self.tos,
            flow_hash: conversation_hash(from, to),
            truesize: TRUESIZE,
            charged: false,
            queue_length: tailback_packet::QueueLength::NONE,
            enqueued: now,
            departure: now,
            payload: Payload::EchoRequest { seq },
        }
    }
}
