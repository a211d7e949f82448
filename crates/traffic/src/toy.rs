//! An example: a burst of datagrams, and the host that counts them. Only tests have this kind. It was added as
//! CONTRIBUTING.md describes, by this file, a row and a `mod` line; the simulator and the agent both run it.

use serde::Deserialize;
use tailback_units::Bytes;

use crate::Kind;
use crate::calls::{Application, Calls, Datagram, Event, Socket};
use crate::check::{Checked, positive};
use crate::connection::Carrier;

const SIZE: u32 = 1000;

/// Datagrams that are sent at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToyTraffic {
    /// The name of the burst in tables.
    pub name: String,
    /// Sending host.
    pub from: u16,
    /// Receiving host.
    pub to: u16,
    /// When it is sent.
    pub start_ns: u64,
    /// How many datagrams it has.
    pub datagrams: u32,
    /// Code point of its packets; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
}

impl Kind for ToyTraffic {
    type Client = Burst;
    type Server = Counter;

    fn check(&self) -> Checked {
        positive(u64::from(self.datagrams), "datagrams")
    }

    fn carrier(&self) -> Carrier<'_> {
        Carrier::Datagrams { size: SIZE, sndbuf: None }
    }

    fn client(&self) -> Burst {
        Burst { datagrams: self.datagrams }
    }

    fn server(&self) -> Counter {
        Counter { arrived: 0 }
    }
}

/// The application that sends.
#[derive(Clone, Debug)]
pub struct Burst {
    datagrams: u32,
}

impl Application for Burst {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        for number in 0..if event == Event::Started { self.datagrams } else { 0 } {
            calls.send_datagram(Datagram { number, size: SIZE }, None);
        }
    }
}

/// The application that counts.
#[derive(Clone, Debug)]
pub struct Counter {
    arrived: u64,
}

impl Application for Counter {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        if matches!(event, Event::Arrived(_)) {
            self.arrived += 1;
            calls.count_read(Bytes(u64::from(SIZE)));
        }
    }
}

impl Counter {
    /// Datagrams that have arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }
}
