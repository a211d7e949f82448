//! An example: a burst of datagrams, and the host that counts them. Only tests have this kind. It was added as
//! CONTRIBUTING.md describes, by this file, a row and a `mod` line.

use serde::Deserialize;
use tailback_packet::{Packet, Payload, SocketId};
use tailback_record::FlowsRow;
use tailback_units::{Bytes, SimTime};

use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath};
use crate::BuildError;
use crate::build::{Builder, DatagramOptions};
use crate::check::positive;
use crate::syscalls::Syscalls;

const SIZE: u32 = 1000;

/// Datagrams that are sent at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToyTraffic {
    pub name: String,
    pub from: u16,
    pub to: u16,
    pub start_ns: u64,
    pub datagrams: u32,
    #[serde(default)]
    pub dscp: u8,
}

impl Kind for ToyTraffic {
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(u64::from(self.datagrams), format_args!("{path}.datagrams"))
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        let options = DatagramOptions { dscp: self.dscp, sndbuf: None };
        builder.add_datagram_sockets(place, self.ends(), options)?;
        builder.set_timer(place.conversation, SimTime::from_nanos(self.start_ns), TimerId::START);
        let [socket, _] = place.sockets();
        Ok(Box::new(Toy { socket, datagrams: self.datagrams, arrived: 0 }))
    }
}

#[derive(Debug)]
struct Toy {
    socket: SocketId,
    datagrams: u32,
    arrived: u64,
}

impl Application for Toy {
    fn started(&mut self, calls: &mut Syscalls) {
        for seq in 0..self.datagrams {
            calls.send_datagram(self.socket, SIZE, Payload::Datagram { seq, sent: calls.now() });
        }
    }

    fn datagram(&mut self, _packet: &Packet, _calls: &mut Syscalls) {
        self.arrived += 1;
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        let (t, flow) = (calls.now(), calls.name());
        let bytes = Bytes(self.arrived * u64::from(SIZE));
        calls.record().flows.push(FlowsRow { t, flow, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::Toy;
    use crate::example::chain;
    use crate::world::World;

    const TOY: &str = r#"{"kind": "toy", "name": "burst", "from": 0, "to": 2, "start_ns": 1000000, "datagrams": 7, "dscp": 46}"#;
    const PING: &str = r#"{"kind": "ping", "name": "ping", "from": 2, "to": 0, "start_ns": 0, "stop_ns": 1000000000,
        "interval_ns": 200000000, "size": 64}"#;

    #[test]
    fn it_is_read_from_a_scenario_and_crosses_the_network_beside_other_kinds() {
        let mut world = World::build(&chain(&format!("{TOY}, {PING}"))).unwrap();
        world.advance(&()).unwrap();
        let mut applications = world.conversations.iter().filter_map(|each| each.application.as_deref());
        let toy = applications.find_map(|each| (each as &dyn std::any::Any).downcast_ref::<Toy>()).unwrap();
        assert_eq!(toy.arrived, 7);
        assert!(world.ledger().balances());
    }

    #[test]
    fn what_it_measures_is_in_the_tables() {
        let outcome = World::build(&chain(TOY)).unwrap().run(&()).unwrap();
        let bytes = outcome.tables.get("flows").unwrap().column("bytes").unwrap();
        assert_eq!((0..bytes.len()).filter_map(|row| bytes.number(row)).sum::<f64>(), 7000.0);
    }

    #[test]
    fn an_invalid_value_is_refused_with_its_path() {
        let refused =
            World::build(&chain(&TOY.replace("\"datagrams\": 7", "\"datagrams\": 0"))).err().unwrap();
        assert_eq!(refused.path, "traffic[0].datagrams");
    }
}
