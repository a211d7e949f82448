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

    /// When it wants to be called next if nothing arrives before. A time that has passed is an error
    /// ([`Error::StandsStill`](crate::Error::StandsStill)) if nothing changes by calling it.
    fn timeout(&mut self) -> Option<Duration>;
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

    fn timeout(&mut self) -> Option<Duration> {
        (**self).timeout()
    }
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
