//! An application that sends UDP datagrams at a rate, and one that counts them. [rfc768]
//!
//! ```text
//! a datagram is due each 8 · size / rate; `send()` blocks while the socket has no room
//! ```
//! Datagrams that are due while it is blocked are not sent later, so it offers at most the rate, like iperf3 with a
//! local bottleneck.

use serde::Deserialize;
use tailback_packet::{IPV4_HEADER, Packet, Payload, SocketId, UDP_HEADER};
use tailback_record::{DatagramsRow, DelaysRow, FlowsRow, UdpRow};
use tailback_units::{Bytes, DelayCell, Delays, SimTime, Span};

use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath, does_not_fit};
use crate::BuildError;
use crate::build::{Builder, DatagramOptions};
use crate::check::{MAX_OPTION, ensure, positive};
use crate::syscalls::Syscalls;

/// The next datagram is due.
const NEXT: TimerId = TimerId(1);

/// Datagrams offered at a rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpTraffic {
    /// The name of the flow in tables.
    pub name: String,
    /// Sending host.
    pub from: u16,
    /// Receiving host.
    pub to: u16,
    /// The first datagram.
    pub start_ns: u64,
    /// No datagram at or after this.
    pub stop_ns: u64,
    /// Data offered, without headers.
    pub rate_bps: u64,
    /// Bytes of data in a datagram.
    pub size: u32,
    /// The argument of `SO_SNDBUF`.
    pub sndbuf: Option<u64>,
    /// Code point of its packets; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
    /// The call or game whose datagrams these are; none for other data.
    #[serde(default)]
    pub media: Option<Media>,
}

/// A stream of sound or of a game. Each of its datagrams is recorded when it arrives.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// The codec of the call, or `game`.
    pub codec: String,
    /// The jitter buffer of the listener; it adapts unless given. It only matters to the analysis.
    #[serde(default)]
    pub buffer_ns: Option<u64>,
}

impl Kind for UdpTraffic {
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(self.rate_bps, format_args!("{path}.rate_bps"))?;
        positive(u64::from(self.size), format_args!("{path}.size"))?;
        let fits = self.sndbuf.is_none_or(|bytes| (1..=MAX_OPTION).contains(&bytes));
        ensure(fits, format_args!("{path}.sndbuf"), "not a size of a socket", "write 1 to 1 GiB")?;
        let in_order = self.start_ns < self.stop_ns;
        ensure(in_order, format_args!("{path}.stop_ns"), "not after start_ns", "write a later instant")
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.first_hop(self.from, self.to, place.path)?;
        let max = builder.path_mtu(self.from, self.to) - IPV4_HEADER - UDP_HEADER;
        if self.size > max {
            return Err(does_not_fit(place.path, self.size, format!("write 1 to {max}: no fragments")));
        }
        let options = DatagramOptions { dscp: self.dscp, sndbuf: self.sndbuf };
        builder.add_datagram_sockets(place, self.ends(), options)?;
        builder.set_timer(place.conversation, SimTime::from_nanos(self.start_ns), TimerId::START);
        let gap = u128::from(self.size) * 8_000_000_000 / u128::from(self.rate_bps);
        let [socket, _] = place.sockets();
        Ok(Box::new(Udp {
            socket,
            gap: Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX).max(1)),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            sent: 0,
            recorded: if self.media.is_some() { Recorded::Each } else { Recorded::Alike },
            delays: Delays::default(),
            interval: Counts::default(),
        }))
    }
}

/// One sending application and its peer.
#[derive(Debug)]
pub(crate) struct Udp {
    /// The sending end.
    pub(crate) socket: SocketId,
    /// From one datagram to the next.
    gap: Span,
    stop: SimTime,
    /// Bytes of data in a datagram.
    size: u32,
    pub(crate) sent: u32,
    recorded: Recorded,
    /// Of those that arrived since the last rows of the table `delays`.
    delays: Delays,
    /// Since the last row of the table.
    pub(crate) interval: Counts,
}

/// What is recorded about datagrams that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    /// Counts per interval, and a row for those whose delays are alike.
    Alike,
    /// Counts per interval, and a row for each.
    Each,
}

/// Counts of one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Sum and greatest of the one-way delays.
    delays: Span,
    pub(crate) longest: Span,
}

impl Application for Udp {
    fn started(&mut self, calls: &mut Syscalls) {
        self.send(calls);
    }

    fn timer(&mut self, _timer: TimerId, calls: &mut Syscalls) {
        self.send(calls);
    }

    fn writable(&mut self, _socket: SocketId, calls: &mut Syscalls) {
        self.send(calls);
    }

    fn datagram(&mut self, packet: &Packet, calls: &mut Syscalls) {
        let Payload::Datagram { sent, .. } = packet.payload else { return };
        let delay = calls.now().since(sent);
        self.interval.received += 1;
        self.interval.delays += delay;
        self.interval.longest = self.interval.longest.max(delay);
        match self.recorded {
            Recorded::Alike => {
                self.delays.count(calls.now(), delay.as_nanos() as i64, |cell| record(&cell, calls));
            }
            Recorded::Each => {
                let row = DatagramsRow { t: calls.now(), flow: calls.name(), delay_ms: delay };
                calls.record().datagrams.get_or_insert_default().push(row);
            }
        }
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        self.delays.take(|cell| record(&cell, calls));
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        let counts = std::mem::take(&mut self.interval);
        let (t, flow, bytes) = (calls.now(), calls.name(), Bytes(counts.received * u64::from(self.size)));
        if bytes > Bytes::ZERO {
            calls.record().flows.push(FlowsRow { t, flow, bytes });
        }
        if counts.sent + counts.received > 0 {
            let delay_ms = counts.mean_delay();
            let longest_ms = delay_ms.map(|_| counts.longest);
            let (sent, received) = (counts.sent, counts.received);
            let rows = calls.record().udp.get_or_insert_default();
            rows.push(UdpRow { t, flow, sent, received, delay_ms, longest_ms });
        }
    }
}

impl Udp {
    /// Sends the datagram that is due. If the socket has no room, `writable` follows.
    fn send(&mut self, calls: &mut Syscalls) {
        let now = calls.now();
        if now >= self.stop || !calls.has_room(self.socket) {
            return;
        }
        let next = now + self.gap;
        if next < self.stop {
            calls.set_timer(next, NEXT);
        }
        calls.send_datagram(self.socket, self.size, Payload::Datagram { seq: self.sent, sent: now });
        self.sent += 1;
        self.interval.sent += 1;
    }
}

/// A row of the table `delays`.
fn record(cell: &DelayCell, calls: &mut Syscalls) {
    let row = DelaysRow {
        t: cell.last,
        flow: calls.name(),
        packets: cell.count,
        delay_ms: cell.mean_ns() / 1e6,
        shortest_ms: Span::from_nanos(cell.shortest_ns as u64),
        longest_ms: Span::from_nanos(cell.longest_ns as u64),
    };
    calls.record().delays.get_or_insert_default().push(row);
}

impl Counts {
    /// Mean one-way delay of the datagrams that arrived.
    pub(crate) fn mean_delay(&self) -> Option<Span> {
        (self.received > 0).then(|| self.delays / self.received)
    }
}
