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
        Carrier::Datagrams { size: SIZE, sndbuf: None, reports: None }
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

#[cfg(test)]
mod tests {
    use crate::Traffic;

    fn read(datagrams: u32) -> Traffic {
        let keys = r#""name": "burst", "from": 0, "to": 2, "start_ns": 1000000, "dscp": 46"#;
        serde_json::from_str(&format!(r#"{{"kind": "toy", {keys}, "datagrams": {datagrams}}}"#)).unwrap()
    }

    #[test]
    fn it_is_read_by_its_kind() {
        let traffic = read(7);
        assert_eq!((traffic.name(), traffic.ends(), traffic.dscp()), ("burst", [0, 2], 46));
        assert_eq!((traffic.start_ns(), traffic.carrier().sockets()), (1_000_000, 1));
    }

    #[test]
    fn an_invalid_value_is_refused_by_its_key() {
        assert!(read(1).check().is_ok());
        assert_eq!(read(0).check().unwrap_err().key, "datagrams");
    }
}
