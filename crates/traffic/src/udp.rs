//! An application that sends UDP datagrams at a rate, and one that counts them. [rfc768]
//!
//! ```text
//! a datagram is due each 8 · size / rate; `send()` blocks while the socket has no room
//! ```
//! Datagrams that are due while it is blocked are not sent later, so it offers at most the rate, like iperf3 with a
//! local bottleneck. If it is called late, as on a busy machine, all that are due by then are sent at once.
//!
//! A source of media adapts its rate ([`gcc`](crate::gcc)) to what its receiver reports.

use serde::Deserialize;
use tailback_units::{Bytes, Delays, SimTime, Span};

use crate::Kind;
use crate::calls::{Application, Arrived, Calls, Datagram, Event, Row, Socket};
use crate::check::{Checked, MAX_OPTION, ensure, in_order, positive};
use crate::connection::Carrier;
use crate::gcc::{Estimator, REPORT_SIZE, Report, SendRate};

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
    /// It adapts its rate, which begins at `rate_bps`; constant unless given.
    #[serde(default)]
    pub adapt: Option<Adapt>,
}

/// The bounds of a rate that adapts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapt {
    /// The least.
    pub min_bps: u64,
    /// The largest.
    pub max_bps: u64,
}

/// Bytes of a datagram that says its number on a kernel.
const LEAST_NUMBERED: u32 = 20;

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
    type Client = Sender;
    type Server = Receiver;

    fn check(&self) -> Checked {
        positive(self.rate_bps, "rate_bps")?;
        positive(u64::from(self.size), "size")?;
        let fits = self.sndbuf.is_none_or(|bytes| (1..=MAX_OPTION).contains(&bytes));
        ensure(fits, "sndbuf", "not a size of a socket", "write 1 to 1 GiB")?;
        if let Some(Adapt { min_bps, max_bps }) = self.adapt {
            positive(min_bps, "adapt.min_bps")?;
            let holds = (min_bps..=max_bps).contains(&self.rate_bps);
            ensure(holds, "rate_bps", "not within the bounds of `adapt`", "write a rate between them")?;
            let remedy = format_args!("write {LEAST_NUMBERED} or more");
            ensure(self.size >= LEAST_NUMBERED, "size", "too short for a number and a time", remedy)?;
        }
        in_order(self.start_ns, self.stop_ns)
    }

    fn carrier(&self) -> Carrier<'_> {
        Carrier::Datagrams { size: self.size, sndbuf: self.sndbuf, reports: self.adapt.map(|_| REPORT_SIZE) }
    }

    fn stop_by(&mut self, end_ns: u64) {
        self.stop_ns = self.stop_ns.min(end_ns);
    }

    fn client(&self) -> Sender {
        Sender {
            due: SimTime::from_nanos(self.start_ns),
            gap: gap(self.size, self.rate_bps),
            rate: self.bounds_bps().map(|bounds| SendRate::new(self.rate_bps, bounds)),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            sent: 0,
        }
    }

    fn server(&self) -> Receiver {
        let recorded = if self.media.is_some() { Recorded::Each } else { Recorded::Alike(Delays::default()) };
        let estimator = self.bounds_bps().map(|bounds| Estimator::new(self.rate_bps, bounds, self.size));
        Receiver { size: Bytes(u64::from(self.size)), recorded, estimator: estimator.map(Box::new) }
    }
}

impl UdpTraffic {
    fn bounds_bps(&self) -> Option<[u64; 2]> {
        self.adapt.map(|Adapt { min_bps, max_bps }| [min_bps, max_bps])
    }
}

/// From one datagram to the next.
fn gap(size: u32, rate_bps: u64) -> Span {
    let gap = u128::from(size) * 8_000_000_000 / u128::from(rate_bps);
    Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX).max(1))
}

/// The application that sends.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// When the next datagram is due; while the socket has no room, when the present one was.
    due: SimTime,
    /// From one datagram to the next.
    gap: Span,
    /// The rate that adapts.
    rate: Option<SendRate>,
    stop: SimTime,
    /// Bytes of data in a datagram.
    size: u32,
    sent: u32,
}

impl Application for Sender {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match event {
            Event::Started | Event::Timer => self.send(calls),
            Event::Writable => {
                self.due = calls.now();
                self.send(calls);
            }
            Event::Arrived(Arrived::Data { number, .. }) => self.reported(Report::of(number), calls.now()),
            _ => {}
        }
    }
}

impl Sender {
    /// The next datagram but one has the new gap.
    fn reported(&mut self, report: Report, now: SimTime) {
        if let Some(rate) = &mut self.rate {
            rate.reported(report, now);
            self.gap = gap(self.size, rate.bps());
        }
    }

    /// Sends the datagram that is due.
    fn send<C: Calls>(&mut self, calls: &mut C) {
        if self.due >= self.stop {
            return;
        }
        let next = self.due + self.gap;
        let datagram = Datagram { number: self.sent, size: self.size };
        if calls.send_datagram(datagram, (next < self.stop).then_some(next)) {
            self.due = next;
            self.sent += 1;
            calls.count_sent();
        }
    }
}

/// The application that counts what arrives.
#[derive(Clone, Debug)]
pub struct Receiver {
    size: Bytes,
    recorded: Recorded,
    /// What it reports to a sender that adapts.
    estimator: Option<Box<Estimator>>,
}

/// What is recorded about datagrams that arrive.
#[derive(Clone, Debug)]
enum Recorded {
    /// Counts per interval, and a row for those whose delays are alike.
    Alike(Delays),
    /// Counts per interval, and a row for each.
    Each,
}

impl Application for Receiver {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match (event, &mut self.recorded) {
            (Event::Arrived(Arrived::Data { sent, number }), _) => {
                self.arrived(sent, calls);
                self.report(number, sent, calls);
            }
            (Event::Ended, Recorded::Alike(delays)) => delays.take(|cell| calls.record(Row::Delays(cell))),
            _ => {}
        }
    }
}

impl Receiver {
    fn report<C: Calls>(&mut self, number: u32, sent: SimTime, calls: &mut C) {
        let Some(estimator) = &mut self.estimator else { return };
        if let Some(report) = estimator.arrived(number, sent, calls.now()) {
            // One for which the own queue has no room is lost like any other.
            calls.send_datagram(Datagram { number: report.number(), size: REPORT_SIZE }, None);
        }
    }

    fn arrived<C: Calls>(&mut self, sent: SimTime, calls: &mut C) {
        let now = calls.now();
        // Of hosts whose clocks differ it may be negative.
        let delay_ns = now.as_nanos().cast_signed().saturating_sub(sent.as_nanos().cast_signed());
        calls.count_arrived(self.size, delay_ns);
        match &mut self.recorded {
            Recorded::Alike(delays) => delays.count(now, delay_ns, |cell| calls.record(Row::Delays(cell))),
            Recorded::Each => calls.record(Row::Datagram(delay_ns)),
        }
    }
}
