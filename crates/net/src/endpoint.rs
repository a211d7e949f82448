//! What a transport is for the network: datagrams in, datagrams out, and one time.

use std::time::Duration;

use tailback_packet::Ecn;

/// A transport without I/O at one host. All times are from the start of the run.
///
/// The network calls it in this order at each instant: `receive` for what has arrived, `expired` if its time has come, then
/// `transmit` until it gives nothing.
pub trait Endpoint {
    /// A datagram has arrived.
    fn receive(&mut self, now: Duration, datagram: Received<'_>);

    /// The time of [`Endpoint::timeout`] has come.
    fn expired(&mut self, now: Duration) {
        let _ = now;
    }

    /// The next datagram to be sent now.
    fn transmit(&mut self, now: Duration) -> Option<Outgoing>;

    /// The buffer of a datagram that it sent and that has arrived, to be filled again: that saves an allocation.
    fn returned(&mut self, buffer: Vec<u8>) {
        let _ = buffer;
    }

    /// When it wants to be called next if nothing arrives before. A time that has passed is an error
    /// ([`Error::StandsStill`](crate::Error::StandsStill)) if nothing changes by calling it.
    fn timeout(&mut self) -> Option<Duration>;

    /// What it reports of itself, for [`Network::record_info`](crate::Network::record_info).
    fn info(&mut self, now: Duration) -> Option<Info> {
        let _ = now;
        None
    }

    /// Why it cannot go on, asked once it was called at an instant; the run then ends
    /// ([`Error::Failed`](crate::Error::Failed)).
    fn failure(&mut self) -> Option<String> {
        None
    }
}

impl<E: Endpoint + ?Sized> Endpoint for Box<E> {
    fn receive(&mut self, now: Duration, datagram: Received<'_>) {
        (**self).receive(now, datagram);
    }

    fn expired(&mut self, now: Duration) {
        (**self).expired(now);
    }

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        (**self).transmit(now)
    }

    fn returned(&mut self, buffer: Vec<u8>) {
        (**self).returned(buffer);
    }

    fn timeout(&mut self) -> Option<Duration> {
        (**self).timeout()
    }

    fn info(&mut self, now: Duration) -> Option<Info> {
        (**self).info(now)
    }

    fn failure(&mut self) -> Option<String> {
        (**self).failure()
    }
}

/// What an endpoint reports of itself; it leaves out what it does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Congestion window, in bytes.
    pub cwnd: Option<u64>,
    /// Bytes of its full datagrams.
    pub datagram: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Minimum of the round-trip time.
    pub min_rtt: Option<Duration>,
    /// Pacing rate, in bit/s.
    pub pacing_bps: Option<u64>,
    /// Bytes that its application has read.
    pub read: Option<u64>,
    /// Datagrams that it takes as lost.
    pub lost: Option<u64>,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its content.
    pub data: &'a [u8],
    /// The ECN bits with which it arrived.
    pub ecn: Ecn,
}

/// A datagram to be sent, or several in one buffer.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Its content.
    pub data: Vec<u8>,
    /// ECN bits.
    pub ecn: Ecn,
    /// It leaves no earlier, where a discipline keeps such times (`fq`): `SO_TXTIME`. In all other disciplines it has no
    /// effect, as in Linux.
    pub departure: Option<Duration>,
    /// Bytes of each datagram in `data`, of which only the last may be shorter: `UDP_SEGMENT`.
    pub segment: Option<usize>,
}

impl Outgoing {
    /// A datagram without ECN that leaves at once.
    pub fn new(data: Vec<u8>) -> Self {
        Outgoing { data, ecn: Ecn::NotEct, departure: None, segment: None }
    }

    /// With these ECN bits.
    pub fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }
}
