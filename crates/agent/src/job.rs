//! The job of the agent, as JSON, with every name already resolved to an address or a device.
//!
//! Written by `python/tailback/backends/linux/job.py`; an unknown key is an error, so that the two always agree.
//! Times are in ns from the start of the run.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use tailback_traffic::{Carrier, Connections, Traffic};

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
    /// Programs of the user.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// A shell in place of the whole run.
    #[serde(default)]
    pub shell: Option<Shell>,
    /// The content of `/etc/hosts` on each host with programs.
    #[serde(default)]
    pub names: BTreeMap<usize, String>,
    /// The file that connects the radios to their air, which is told when the run starts; none without radios.
    #[serde(default)]
    pub air: Option<String>,
}

/// One conversation: what the scenario says of it, and where it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// As in the scenario.
    pub traffic: Traffic,
    /// Address of the second host.
    pub address: IpAddr,
    /// Port of its server; the identifier of echo requests of ICMP.
    pub port: u16,
    /// The name under which the kernel knows its congestion control, if that is not the one in the scenario.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// Initial `sk_pacing_shift` of its sockets; null leaves the kernel's.
    #[serde(default)]
    pub pacing_shift: Option<u32>,
    /// The token of the run, with which its connections and its datagrams begin; none where nobody else can send.
    #[serde(default)]
    pub token: Option<String>,
}

impl Conversation {
    /// Its name in tables.
    pub fn name(&self) -> &str {
        self.traffic.name()
    }

    /// The host that begins.
    pub fn from(&self) -> usize {
        usize::from(self.traffic.ends()[0])
    }

    /// The host that answers.
    pub fn to(&self) -> usize {
        usize::from(self.traffic.ends()[1])
    }

    /// Its code point, if it is marked.
    pub fn dscp(&self) -> Option<u8> {
        Some(self.traffic.dscp()).filter(|&dscp| dscp > 0)
    }

    /// Its TCP connections, if it has any.
    pub fn connections(&self) -> Option<Connections<'_>> {
        match self.traffic.carrier() {
            Carrier::Tcp(connections) => Some(connections),
            Carrier::Datagrams { .. } | Carrier::Echo { .. } | Carrier::Endpoints { .. } => None,
        }
    }

    /// The name under which the kernel knows the congestion control of its connections.
    pub fn control<'a>(&'a self, connections: &Connections<'a>) -> &'a str {
        self.congestion_control.as_deref().unwrap_or(&connections.cc.name)
    }
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
    /// A discipline gets options that `tc` does not know.
    Configure {
        /// The host of the device.
        host: usize,
        /// The name of the device within its host.
        device: String,
        /// The handle of the discipline.
        handle: u32,
        /// As `tc` calls it.
        discipline: String,
        /// The content of its `TCA_OPTIONS`.
        options: Vec<u8>,
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

/// A direction of a link that loses packets: the device on which netem drops them, or a policer at its ingress.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lossy {
    /// The host that receives.
    pub host: usize,
    /// The ifb there, or the receiving device with a policer.
    pub interface: String,
    /// The name of the sending device in tables.
    pub name: String,
    /// Why the packets are lost.
    #[serde(default)]
    pub reason: Reason,
}

/// Why a link loses packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Random loss, corruption, or the link is down.
    #[default]
    LinkLoss,
    /// They exceed the rate of a policer.
    Policed,
}

impl Reason {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Reason::LinkLoss => "link_loss",
            Reason::Policed => "policed",
        }
    }
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

/// A program, with names of hosts already replaced by addresses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name in tables.
    pub name: String,
    /// The host on which it runs.
    pub host: usize,
    /// The file that is executed.
    pub path: String,
    /// Its arguments, of which the first is its name.
    pub argv: Vec<String>,
    /// All of its environment.
    pub environment: BTreeMap<String, String>,
    /// Its standard input; without one it is empty.
    #[serde(default)]
    pub input: Option<String>,
    /// Files for its folder: the names there, by the names in the folder of the run.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The folder of this machine that is its root; without one it sees that of its host.
    #[serde(default)]
    pub root: Option<String>,
    /// User and group.
    pub user: [u32; 2],
    /// Bytes of its address space.
    #[serde(default)]
    pub memory: Option<u64>,
    /// Processes and threads of its user.
    pub processes: u64,
    /// Virtual time that each of its system calls takes; none: as usual, if the kernel can do that.
    #[serde(default)]
    pub syscall_ns: Option<u32>,
    /// Bytes that it may write.
    pub output: u64,
    /// When it starts.
    pub start_ns: u64,
    /// When it is stopped; null if it must end by itself.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Whether others wait for it.
    pub role: Role,
    /// The exit status that it must have; null for any.
    #[serde(default)]
    pub exit: Option<i32>,
}

/// What a program is to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It starts when it is due.
    Client,
    /// It listens before the run starts, and ends with it.
    Server,
}

/// A shell, or one command, on a host: it starts in the run, which ends with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// The host on which it runs.
    pub host: usize,
    /// The file that is executed.
    pub path: String,
    /// Its arguments, of which the first is its name.
    pub argv: Vec<String>,
    /// All of its environment.
    pub environment: BTreeMap<String, String>,
    /// When it starts.
    pub at_ns: u64,
    /// Whether it has a terminal; else its input is a file, and its outputs are.
    pub terminal: bool,
    /// Whether time stands still while it waits for a command on its terminal.
    pub still: bool,
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
        "traffic": [{"address": "10.0.0.2", "port": 5001, "traffic": {
            "kind": "tcp", "name": "f", "from": 0, "to": 1, "start_ns": 0, "stop_ns": null, "bytes": 10,
            "cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10}, "socket": {
                "max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null,
                "mss": null}}}]}"#;

    #[test]
    fn a_job_is_read() {
        let job = Job::from_json(JOB).unwrap();
        let flow = &job.traffic[0];
        assert_eq!((flow.name(), flow.to(), flow.address), ("f", 1, IpAddr::from([10, 0, 0, 2])));
        assert_eq!(flow.connections().map(|connections| flow.control(&connections)), Some("cubic"));
        assert!(matches!(&job.setup[0], Step::Write { host: Some(0), .. }));
        assert!(matches!(&job.setup[2], Step::Segment { host: 1, device } if device == "l0"));
        assert!(job.loads_modules());
    }

    #[test]
    fn a_program_is_read_with_its_defaults() {
        let program = r#"{"name": "web", "host": 1, "path": "/bin/sh", "argv": ["sh"], "environment": {"A": "1"},
            "user": [65534, 65534], "processes": 9, "output": 65536, "start_ns": 5, "role": "server"}"#;
        let programs =
            format!(r#""names": {{"1": "127.0.0.1 localhost"}}, "programs": [{program}], "setup""#);
        let job = Job::from_json(&JOB.replacen(r#""setup""#, &programs, 1)).unwrap();
        assert_eq!((job.programs[0].role, job.programs[0].stop_ns), (Role::Server, None));
        assert_eq!(job.names[&1], "127.0.0.1 localhost");
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
