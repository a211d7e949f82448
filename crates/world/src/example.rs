//! Scenarios and packets for tests.

use tailback_packet::{Ecn, HostId, Packet, Payload, SocketId};
use tailback_units::SimTime;

use crate::Scenario;

/// The scenario printed in `docs/contracts.md`.
pub(crate) fn contract() -> String {
    let contracts = include_str!("../../../docs/contracts.md");
    let (_, from) = contracts.split_once("```json\n").expect("the contract shows a scenario");
    let (json, _) = from.split_once("```").expect("the scenario ends");
    json.to_owned()
}

/// A packet that belongs to nobody.
pub(crate) fn datagram(ip_length: u32) -> Packet {
    Packet {
        from: SocketId(0),
        to: SocketId(1),
        source: HostId(0),
        destination: HostId(1),
        ip_length,
        segments: 1,
        ecn: Ecn::NotEct,
        tos: 0,
        flow_hash: 0,
        truesize: ip_length,
        charged: false,
        enqueued: SimTime::ZERO,
        departure: SimTime::ZERO,
        payload: Payload::EchoRequest { seq: 0 },
    }
}

/// client – router – server: 10 Mbit/s and 1 ms, then 100 Mbit/s and 2 ms each way; traffic to be filled in.
pub(crate) fn chain(traffic: &str) -> Scenario {
    let json = format!(
        r#"{{
            "title": "a chain", "seed": 1, "duration_ns": 2000000000,
            "hosts": [
                {{"name": "client", "stack": "linux-6.12", "sysctl": {{}}}},
                {{"name": "router", "stack": "linux-6.12", "sysctl": {{}}}},
                {{"name": "server", "stack": "linux-6.12", "sysctl": {{}}}}
            ],
            "links": [
                {{"ends": [0, 1], "rate_bps": 10000000, "delay_ns": [1000000, 1000000], "mtu": 1500,
                  "ring": 256, "bql": true}},
                {{"ends": [1, 2], "rate_bps": 100000000, "delay_ns": [2000000, 2000000], "mtu": 1500,
                  "ring": 256, "bql": true}}
            ],
            "qdiscs": [],
            "traffic": [{traffic}],
            "record": {{"interval_ns": 100000000, "tcp_info": "interval", "events": true}}
        }}"#
    );
    Scenario::from_json(&json).unwrap()
}
