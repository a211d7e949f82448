//! A network in code: hosts, links and traffic, as the resolved scenario of an experiment.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// Bytes of IP that an Ethernet link carries.
const MTU: u32 = 1500;
/// Descriptors of a network card.
const RING: u32 = 256;

/// A link of two hosts: a rate in bit/s, a delay in each direction, and the discipline of its two devices.
#[derive(Clone, Debug)]
pub struct Link {
    rate_bps: u64,
    delay: Duration,
    mtu: u32,
    queue: Option<(String, Map<String, Value>)>,
    loss: f64,
}

impl Link {
    /// A link with this rate and this delay in each direction.
    pub fn new(rate_bps: u64, delay: Duration) -> Self {
        Link { rate_bps, delay, mtu: MTU, queue: None, loss: 0.0 }
    }

    /// The discipline at both ends, with Linux's defaults (`pfifo_fast` without this call).
    pub fn queue(self, kind: &str) -> Self {
        self.queue_with(kind, &[])
    }

    /// The discipline at both ends with options, in the units of `tailback explain`: packets, bytes, ns, bit/s, 0 or 1.
    pub fn queue_with(mut self, kind: &str, options: &[(&str, u64)]) -> Self {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        self.queue = Some((kind.to_owned(), options));
        self
    }

    /// Bytes of IP in a packet.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.mtu = bytes;
        self
    }

    /// The share of packets that are lost at random in each direction, 0 to 1.
    pub fn loss(mut self, share: f64) -> Self {
        self.loss = share.clamp(0.0, 1.0);
        self
    }

    fn scenario(&self, ends: [usize; 2]) -> Value {
        let mut link = json!({
            "ends": ends, "rate_bps": self.rate_bps, "delay_ns": [nanos(self.delay), nanos(self.delay)],
            "mtu": self.mtu, "ring": RING, "bql": true,
        });
        if self.loss > 0.0 {
            // As netem counts it: in 2^32ths.
            let loss = (self.loss * f64::from(u32::MAX)).round() as u64;
            link["netem"] = json!([{"loss": loss}, {"loss": loss}]);
        }
        link
    }
}

/// A Wi-Fi cell of an access point and one station: 802.11ac at 5 GHz, with rate control (Minstrel) and Linux's queues per
/// station. Its signal may change during the run.
#[derive(Clone, Debug)]
pub struct Wifi {
    width_mhz: u32,
    streams: u32,
    snr_db: f64,
    changes: Vec<(Duration, f64)>,
}

/// The highest MCS that 802.11ac has in every width and number of streams.
const MCS: u32 = 8;
/// Bytes of an MPDU beside its IP packet.
const MPDU_OVERHEAD: u32 = 38;

impl Wifi {
    /// A channel of 20, 40 or 80 MHz and so many spatial streams, with a signal that reaches every mode.
    pub fn new(width_mhz: u32, streams: u32) -> Self {
        Wifi { width_mhz, streams, snr_db: 50.0, changes: vec![] }
    }

    /// The ratio of signal to noise at the start, in dB.
    pub fn snr(mut self, db: f64) -> Self {
        self.snr_db = db;
        self
    }

    /// The ratio of signal to noise from `at` on, in dB: a fade is two of them, in the order of time. Below 0 dB nothing
    /// gets through.
    pub fn snr_from(mut self, at: Duration, db: f64) -> Self {
        self.changes.push((at, db));
        self
    }

    fn scenario(&self, name: &str, [access_point, station]: [usize; 2]) -> Value {
        let driver = json!({"name": "generic", "options": {}});
        let mode = json!({
            "format": "vht", "width": self.width_mhz, "streams": self.streams, "mcs": MCS, "guard_ns": 400,
        });
        let centi = |db: f64| (db * 100.0).round() as i32;
        let change = |&(at, db): &(Duration, f64)| json!({"at_ns": nanos(at), "snr_cdb": centi(db)});
        let station = json!({
            "host": station, "mode": mode, "rate": "minstrel", "loss_ppm": 0, "snr_cdb": centi(self.snr_db),
            "driver": driver, "schedule": self.changes.iter().map(change).collect::<Vec<_>>(),
        });
        json!({
            "name": name, "access_point": access_point, "stations": [station], "band": "5GHz", "rts": false,
            "mpdu_overhead": MPDU_OVERHEAD, "driver": driver,
        })
    }
}

/// Hosts, links and traffic.
#[derive(Clone, Debug)]
pub struct Plan {
    seed: u64,
    length: Duration,
    hosts: Vec<String>,
    links: Vec<([String; 2], Link)>,
    cells: Vec<([String; 2], Wifi)>,
    traffic: Vec<Value>,
    captured: Vec<String>,
}

impl Plan {
    /// Nothing yet, for a run of this length.
    pub fn new(seed: u64, length: Duration) -> Self {
        Plan { seed, length, hosts: vec![], links: vec![], cells: vec![], traffic: vec![], captured: vec![] }
    }

    /// With a host.
    pub fn host(mut self, name: &str) -> Self {
        self.hosts.push(name.to_owned());
        self
    }

    /// With a link of two hosts.
    pub fn link(mut self, one: &str, other: &str, link: Link) -> Self {
        self.links.push(([one.to_owned(), other.to_owned()], link));
        self
    }

    /// With a Wi-Fi cell of an access point and one station, on a channel of its own.
    pub fn wifi(mut self, access_point: &str, station: &str, cell: Wifi) -> Self {
        self.cells.push(([access_point.to_owned(), station.to_owned()], cell));
        self
    }

    /// With a flow of Linux's TCP that sends all the time, under a congestion control.
    pub fn tcp(self, name: &str, from: &str, to: &str, control: &str) -> Self {
        self.tcp_from(Duration::ZERO, name, from, to, control)
    }

    /// With such a flow that starts later.
    pub fn tcp_from(self, start: Duration, name: &str, from: &str, to: &str, control: &str) -> Self {
        let length = nanos(self.length);
        let flow = json!({
            "kind": "tcp", "name": name, "start_ns": nanos(start), "stop_ns": length, "bytes": null,
            "cc": {"name": control, "options": {}}, "tsq": {"kind": "time", "shift": 10},
            "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                       "notsent_lowat": null, "mss": null},
        });
        self.traffic(flow, from, to)
    }

    /// With echo requests at an interval: the latency of the path.
    pub fn ping(self, name: &str, from: &str, to: &str, interval: Duration) -> Self {
        let ping = json!({
            "kind": "ping", "name": name, "start_ns": 0, "stop_ns": nanos(self.length),
            "interval_ns": nanos(interval), "size": 64,
        });
        self.traffic(ping, from, to)
    }

    /// With a pair of endpoints, which [`Network::attach`](crate::Network::attach) gives; tables count what goes from the
    /// first to the second host.
    pub fn endpoints(self, name: &str, from: &str, to: &str) -> Self {
        self.traffic(json!({"kind": "endpoint", "name": name, "start_ns": 0}), from, to)
    }

    /// With a capture of all packets of a host ([`Report::captures`](crate::Report::captures)).
    pub fn capture(mut self, host: &str) -> Self {
        self.captured.push(host.to_owned());
        self
    }

    fn traffic(mut self, mut entry: Value, from: &str, to: &str) -> Self {
        entry["from"] = from.into();
        entry["to"] = to.into();
        self.traffic.push(entry);
        self
    }

    /// The resolved scenario. A host that is not in the plan gets a number that no host has, which the network refuses.
    pub(crate) fn to_json(&self) -> String {
        let number = |name: &str| self.hosts.iter().position(|host| host == name).unwrap_or(self.hosts.len());
        let host =
            |name: &String| json!({"name": name, "stack": "linux-6.12", "sysctl": {}, "offloads": "off"});
        let ends = |[one, other]: &[String; 2]| [number(one), number(other)];
        let links: Vec<_> = self.links.iter().map(|(names, link)| link.scenario(ends(names))).collect();
        let cell = |(place, (names, cell)): (usize, &([String; 2], Wifi))| {
            cell.scenario(&format!("air{}", place + 1), ends(names))
        };
        let queues = self.links.iter().enumerate().filter_map(|(place, (names, link))| {
            let (kind, options) = link.queue.as_ref()?;
            let root = json!({"kind": kind, "options": options});
            Some(ends(names).map(|host| json!({"host": host, "link": place, "root": root})))
        });
        let traffic = self.traffic.iter().map(|entry| {
            let mut entry = entry.clone();
            for end in ["from", "to"] {
                entry[end] = number(entry[end].as_str().unwrap_or_default()).into();
            }
            entry
        });
        json!({
            "title": "a plan", "seed": self.seed, "duration_ns": nanos(self.length),
            "hosts": self.hosts.iter().map(host).collect::<Vec<_>>(),
            "links": links,
            "cells": self.cells.iter().enumerate().map(cell).collect::<Vec<_>>(),
            "qdiscs": queues.flatten().collect::<Vec<_>>(),
            "traffic": traffic.collect::<Vec<_>>(),
            "record": {"interval_ns": 100_000_000, "tcp_info": "interval", "events": true,
                       "pcap": self.captured.iter().map(|name| number(name)).collect::<Vec<_>>()},
        })
        .to_string()
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
