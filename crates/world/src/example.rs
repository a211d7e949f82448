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

/// A packet without a socket.
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
        queue_length: tailback_packet::QueueLength::NONE,
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

/// An access point (host 0) with stations (hosts 1 and on) of one driver; traffic to be filled in.
pub(crate) fn cell(stations: u16, driver: &str, traffic: &str) -> Scenario {
    let host = |name: &str| format!(r#"{{"name": "{name}", "stack": "linux-6.12", "sysctl": {{}}}}"#);
    let names = (1..=stations).map(|number| host(&format!("station{number}")));
    let hosts = std::iter::once(host("access")).chain(names).chain([host("server")]);
    let driver = format!(r#"{{"name": "{driver}", "options": {{}}}}"#);
    let radio = |host: u16| {
        format!(
            r#"{{"host": {host}, "loss_ppm": 0, "driver": {driver},
                "mode": {{"format": "ht", "width": 40, "streams": 1, "mcs": 7, "guard_ns": 400}}}}"#
        )
    };
    let json = format!(
        r#"{{
            "title": "a cell", "seed": 1, "duration_ns": 2000000000, "hosts": [{}],
            "links": [{{"ends": [0, {}], "rate_bps": 1000000000, "delay_ns": [1000000, 1000000], "mtu": 1500,
                "ring": 256, "bql": true}}],
            "cells": [{{"access_point": 0, "stations": [{}], "band": "5GHz", "rts": false, "mpdu_overhead": 38,
                "driver": {driver}}}],
            "qdiscs": [], "traffic": [{traffic}],
            "record": {{"interval_ns": 100000000, "tcp_info": "interval", "events": true}}
        }}"#,
        hosts.collect::<Vec<_>>().join(", "),
        stations + 1,
        (1..=stations).map(radio).collect::<Vec<_>>().join(", "),
    );
    Scenario::from_json(&json).unwrap()
}
