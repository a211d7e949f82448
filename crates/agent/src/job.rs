//! The job of the agent, as JSON, with every name already resolved to an address or a device.
//!
//! Written by `python/tailback/backends/linux/job.py`; an unknown key is an error, so that the two always agree.
//! Times are in ns from the start of the run.

use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;
use tailback_video::Rule;

use crate::netlink::Marks;

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Names of the hosts; each becomes a network namespace. Others refer to them by position.
    pub hosts: Vec<String>,
    /// What builds the network, in order.
    pub setup: Vec<Step>,
    /// What changes it in the run, in the order of time.
    pub changes: Vec<Change>,
    /// Length of the run.
    pub duration_ns: u64,
    /// Between two rows of a sampled table.
    pub interval_ns: u64,
    /// Where the disciplines keep their counters of marked packets.
    pub marks: Marks,
    /// Devices whose disciplines are sampled.
    pub devices: Vec<Device>,
    /// Directions of links that lose packets.
    #[serde(default)]
    pub lossy: Vec<Lossy>,
    /// Radios whose queues are sampled.
    #[serde(default)]
    pub radios: Vec<Radio>,
    /// The conversations of its applications.
    pub traffic: Vec<Conversation>,
    /// Links that deliver at the times of a trace.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// Hosts whose packets are captured.
    #[serde(default)]
    pub captures: Vec<Capture>,
    /// The file that connects the radios to their air, which is told when the run starts; none without radios.
    #[serde(default)]
    pub air: Option<String>,
}

/// One conversation, by the application that runs it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Conversation {
    /// Bulk data over TCP.
    Tcp(Flow),
    /// Datagrams at a rate.
    Udp(Datagrams),
    /// A series of echo requests of ICMP.
    Ping(Ping),
    /// A series of datagrams that are sent back.
    Echo(Echo),
    /// Requests and answers over one TCP connection.
    Request(Requests),
    /// A web page.
    Page(Page),
    /// A video in segments.
    Video(Video),
}

/// One step of building the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// A program is run; it must end with status 0.
    Run {
        /// In the namespace of this host; of none if null.
        host: Option<usize>,
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// A file of `/proc/sys` or `/sys` is written.
    Write {
        /// In the namespace of this host; of none if null.
        host: Option<usize>,
        /// The file.
        path: String,
        /// The content that is written.
        value: String,
    },
    /// A device gets segments: what TCP handed down as one is cut before it (`ethtool -K DEV tso off gso off`).
    Segment {
        /// The host of the device.
        host: usize,
        /// The name of the device within its host.
        device: String,
    },
    /// A device gets each skb in one piece: the others are copied before it (`ethtool -K DEV sg off`, which turns off
    /// `tso` and `gso`, too).
    Linearize {
        /// The host of the device.
        host: usize,
        /// The name of the device within its host.
        device: String,
    },
    /// A module is loaded into the kernel.
    Load {
        /// The file of the module.
        path: String,
        /// The parameters of the module, as for `insmod`.
        parameters: String,
    },
    /// The stations of a cell associate with its access point.
    Associate {
        /// The cell.
        cell: Cell,
    },
}

/// An access point and its stations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The access point.
    pub access_point: WirelessDevice,
    /// The stations.
    pub stations: Vec<WirelessDevice>,
    /// By which they associate.
    pub standard: Standard,
    /// Of the lowest 20 MHz of the channel, in MHz.
    pub frequency: u32,
    /// Of the channel, in MHz.
    pub width: u32,
}

/// A standard with elements of its own in the frames of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Standard {
    /// Up to 40 MHz.
    #[serde(rename = "802.11n")]
    Ht,
    /// With those of 802.11n.
    #[serde(rename = "802.11ac")]
    Vht,
}

/// A device with a radio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WirelessDevice {
    /// The host of the device.
    pub host: usize,
    /// The name of the device within its host.
    pub device: String,
    /// The hardware address of the device.
    pub address: String,
}

/// Steps that are taken in the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What, in order.
    pub steps: Vec<Step>,
}

/// A device whose disciplines are sampled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The host of the device.
    pub host: usize,
    /// The name of the device within its host.
    pub interface: String,
    /// The name of the device in tables.
    pub name: String,
    /// Disciplines above those of the scenario (a shaper that sets a link's rate); they are not reported.
    pub hidden: u32,
    /// Disciplines of the scenario above those of this device, which is one of several in series.
    #[serde(default)]
    pub below: u32,
}

/// A direction of a link that loses packets: the device on which netem drops them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lossy {
    /// The host that receives.
    pub host: usize,
    /// The ifb there.
    pub interface: String,
    /// The name of the sending device in tables.
    pub name: String,
}

/// A radio whose queues are sampled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The host of the radio.
    pub host: usize,
    /// The name of the radio's device within the host.
    pub interface: String,
    /// The name of the radio in tables.
    pub name: String,
}

/// A device whose root discipline delivers at given times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The host that sends.
    pub host: usize,
    /// The device of the host whose packets leave by the trace.
    pub device: String,
    /// The times from the start of the run; they repeat with the last as period.
    pub stamps_ms: Vec<u32>,
}

/// A host whose packets are captured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The host.
    pub host: usize,
    /// The interfaces of the capture, in the order of the file.
    pub interfaces: Vec<Interface>,
}

/// An interface of a capture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The name of the interface in the capture file.
    pub name: String,
    /// The device that sends.
    pub device: String,
    /// The device at which packets arrive: the same, or the ifb behind it.
    pub arrivals: String,
}

/// One TCP flow of bulk data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The name of the flow in tables.
    pub name: String,
    /// The host that sends.
    pub from: usize,
    /// The host that receives.
    pub to: usize,
    /// Address of the receiver.
    pub address: IpAddr,
    /// Port of the receiver.
    pub port: u16,
    /// When it connects.
    pub start_ns: u64,
    /// When it closes, at the latest.
    pub stop_ns: Option<u64>,
    /// Maximum number of bytes that it sends.
    pub bytes: Option<u64>,
    /// Congestion control of the sender.
    pub congestion_control: String,
    /// Initial `sk_pacing_shift` of the sending socket; null leaves the kernel's.
    pub pacing_shift: Option<u32>,
    /// `SO_MAX_PACING_RATE` of the sender.
    pub max_pacing_rate_bps: Option<u64>,
    /// `SO_SNDBUF` of the sender.
    pub sndbuf: Option<i32>,
    /// `SO_RCVBUF` of the receiver.
    pub rcvbuf: Option<i32>,
    /// `SO_RCVLOWAT` of the receiver.
    pub rcvlowat: i32,
    /// `TCP_NOTSENT_LOWAT` of the sender.
    pub notsent_lowat: Option<i32>,
    /// `TCP_MAXSEG` of the sender.
    pub mss: Option<i32>,
    /// Differentiated services code point of both ends.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token that the sender sends first, and without which the receiver closes a connection.
    #[serde(default)]
    pub token: Option<String>,
}

/// Datagrams at a fixed rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// The name of the flow of datagrams in tables.
    pub name: String,
    /// The host that sends.
    pub from: usize,
    /// The host that receives.
    pub to: usize,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// Port of the receiver.
    pub port: u16,
    /// The first datagram.
    pub start_ns: u64,
    /// No datagram at or after this.
    pub stop_ns: u64,
    /// Bits of data per second.
    pub rate_bps: u64,
    /// Bytes of data of each.
    pub size: usize,
    /// `SO_SNDBUF` of the sender.
    pub sndbuf: Option<i32>,
    /// Differentiated services code point.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token at the start of each; none where nobody else can send.
    #[serde(default)]
    pub token: Option<String>,
    /// What the receiver records.
    #[serde(default)]
    pub record: Recorded,
}

/// What is recorded about datagrams that arrive.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// Counts per bin, and the delays, those that are alike together.
    #[default]
    Counts,
    /// Counts per bin, and the arrival and delay of each.
    Each,
}

/// Echo requests at a fixed interval.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// The name of the ping in tables.
    pub name: String,
    /// The host that sends requests.
    pub from: usize,
    /// The address that answers.
    pub address: Ipv4Addr,
    /// The identifier of its requests.
    #[serde(rename = "port")]
    pub identifier: u16,
    /// First request.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// From one request to the next.
    pub interval_ns: u64,
    /// ICMP bytes, header included.
    pub size: usize,
    /// Differentiated services code point.
    #[serde(default)]
    pub dscp: Option<u8>,
}

/// Datagrams at a fixed interval, which the other end sends back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// The name of the exchange in tables.
    pub name: String,
    /// The host that sends requests.
    pub from: usize,
    /// The host that answers.
    pub to: usize,
    /// Address of the server.
    pub address: Ipv4Addr,
    /// Port of the server.
    pub port: u16,
    /// First request.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// From one request to the next.
    pub interval_ns: u64,
    /// UDP bytes, header included.
    pub size: usize,
    /// Differentiated services code point of requests and answers.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token at the start of each; none where nobody else can send.
    #[serde(default)]
    pub token: Option<String>,
}

/// Requests over one TCP connection, each of which is answered before the next.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The name of the exchange in tables.
    pub name: String,
    /// The client.
    pub from: usize,
    /// The server.
    pub to: usize,
    /// Address of the server.
    pub address: IpAddr,
    /// Port of the server.
    pub port: u16,
    /// When the client connects.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// Bytes of a request.
    pub size: u64,
    /// Bytes of the answers, which are taken in turn.
    pub answers: Vec<u64>,
    /// From the end of an answer to the next request; taken in turn.
    pub pauses_ns: Vec<u64>,
    /// Requests after which the client closes; null = only at the stop.
    pub count: Option<usize>,
    /// Congestion control of both ends.
    pub congestion_control: String,
    /// As for a flow, at both ends.
    pub pacing_shift: Option<u32>,
    /// Differentiated services code point of both ends.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token that the client sends first.
    #[serde(default)]
    pub token: Option<String>,
}

impl Requests {
    /// The TCP connection that carries the requests.
    pub fn connection(&self) -> Flow {
        Flow {
            start_ns: self.start_ns,
            congestion_control: self.congestion_control.clone(),
            pacing_shift: self.pacing_shift,
            dscp: self.dscp,
            token: self.token.clone(),
            ..Flow::bare(&self.name, [self.from, self.to], (self.address, self.port))
        }
    }
}

/// A web page that is loaded once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The name of the page in tables.
    pub name: String,
    /// The browser.
    pub from: usize,
    /// The server.
    pub to: usize,
    /// Address of the server.
    pub address: IpAddr,
    /// Port of the server.
    pub port: u16,
    /// When the first object is wanted.
    pub start_ns: u64,
    /// Bytes of a request.
    pub size: usize,
    /// The objects of the page.
    pub objects: Vec<PageObject>,
    /// Connections at most.
    pub connections: usize,
    /// Objects of a connection at a time.
    pub multiplexing: Multiplexing,
    /// Congestion control of both ends.
    pub congestion_control: String,
    /// As for a flow, at both ends.
    pub pacing_shift: Option<u32>,
    /// Differentiated services code point of both ends.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token that the browser sends first on each connection.
    #[serde(default)]
    pub token: Option<String>,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageObject {
    /// Bytes of its response.
    pub bytes: u64,
    /// The object that names it; null for the first.
    pub after: Option<usize>,
}

/// How many objects a connection carries at a time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Multiplexing {
    /// One, as in HTTP/1.1.
    One,
    /// All that are known, as in HTTP/2.
    All,
}

impl Page {
    /// One of its connections.
    pub fn connection(&self) -> Flow {
        Flow {
            start_ns: self.start_ns,
            congestion_control: self.congestion_control.clone(),
            pacing_shift: self.pacing_shift,
            dscp: self.dscp,
            token: self.token.clone(),
            ..Flow::bare(&self.name, [self.from, self.to], (self.address, self.port))
        }
    }
}

/// A video that is played once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// The name of the video in tables.
    pub name: String,
    /// The player.
    pub from: usize,
    /// The server.
    pub to: usize,
    /// Address of the server.
    pub address: IpAddr,
    /// Port of the server.
    pub port: u16,
    /// When the player connects.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// Bytes of a request.
    pub size: usize,
    /// Bitrates, growing.
    pub ladder_bps: Vec<u64>,
    /// Length of a segment.
    pub segment_ns: u64,
    /// Largest buffer.
    pub buffer_ns: u64,
    /// Buffer with which playing begins.
    pub startup_ns: u64,
    /// How the player chooses a bitrate.
    pub rule: Rule,
    /// Congestion control of both ends.
    pub congestion_control: String,
    /// As for a flow, at both ends.
    pub pacing_shift: Option<u32>,
    /// Differentiated services code point of both ends.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The token that the player sends first.
    #[serde(default)]
    pub token: Option<String>,
}

impl Video {
    /// The TCP connection that carries the video.
    pub fn connection(&self) -> Flow {
        Flow {
            start_ns: self.start_ns,
            congestion_control: self.congestion_control.clone(),
            pacing_shift: self.pacing_shift,
            dscp: self.dscp,
            token: self.token.clone(),
            ..Flow::bare(&self.name, [self.from, self.to], (self.address, self.port))
        }
    }
}

impl Flow {
    /// A connection between two hosts, to this address and port, without any option.
    fn bare(name: &str, [from, to]: [usize; 2], (address, port): (IpAddr, u16)) -> Self {
        Flow {
            name: name.to_owned(),
            from,
            to,
            address,
            port,
            start_ns: 0,
            stop_ns: None,
            bytes: None,
            congestion_control: String::new(),
            pacing_shift: None,
            max_pacing_rate_bps: None,
            sndbuf: None,
            rcvbuf: None,
            rcvlowat: 1,
            notsent_lowat: None,
            mss: None,
            dscp: None,
            token: None,
        }
    }
}

impl Job {
    /// Reads a job.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Whether the job loads modules of the user into the kernel.
    pub fn loads_modules(&self) -> bool {
        self.setup.iter().any(|step| matches!(step, Step::Load { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"hosts": ["a", "b"], "duration_ns": 1, "interval_ns": 1, "marks": {"fq_codel": {"in": "statistics", "at": [12, 28]}}, "devices": [],
        "changes": [{"at_ns": 5, "steps": []}],
        "setup": [{"kind": "write", "host": 0, "path": "/proc/sys/x", "value": "1"},
                  {"kind": "run", "host": null, "argv": ["/sbin/ip"]},
                  {"kind": "segment", "host": 1, "device": "l0"},
                  {"kind": "load", "path": "tb0_mine.ko", "parameters": "beta=512"}],
        "traffic": [{"kind": "tcp", "name": "f", "from": 0, "to": 1, "address": "10.0.0.2", "port": 5001, "start_ns": 0,
                   "stop_ns": null, "bytes": 10, "congestion_control": "cubic", "pacing_shift": null,
                   "max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                   "notsent_lowat": null, "mss": null}]}"#;

    #[test]
    fn a_job_is_read() {
        let job = Job::from_json(JOB).unwrap();
        assert!(
            matches!(&job.traffic[0], Conversation::Tcp(flow) if flow.address == IpAddr::from([10, 0, 0, 2]))
        );
        assert!(matches!(&job.setup[0], Step::Write { host: Some(0), .. }));
        assert!(matches!(&job.setup[2], Step::Segment { host: 1, device } if device == "l0"));
        assert!(job.loads_modules());
    }

    #[test]
    fn an_unknown_kind_of_traffic_is_an_error() {
        let error = Job::from_json(&JOB.replace("\"kind\": \"tcp\"", "\"kind\": \"sctp\"")).unwrap_err();
        assert!(error.to_string().contains("unknown variant `sctp`"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        let error = Job::from_json(&JOB.replace("\"port\"", "\"ports\"")).unwrap_err();
        assert!(error.to_string().contains("unknown field `ports`"), "{error}");
    }
}
