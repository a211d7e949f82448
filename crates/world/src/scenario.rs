//! The resolved scenario: the input of one run, as JSON. `docs/contracts.md` defines its meaning.
//!
//! The front end fills in the defaults of an experiment. Only a key with `serde(default)` may be absent here; its comment
//! or its type says what that means, mostly that the run does without it (no trace, no filter, a fixed rate of Wi-Fi). An
//! unknown key is an error. A reading error names the path of the key (`links[0].delay_ns`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use tailback_packet::{HostId, SocketId};
pub use tailback_traffic::{
    CongestionControl, EchoProtocol, InternetProtocol, ParametersOfControl, SmallQueue, SocketOptions,
    Traffic,
};

use crate::BuildError;
pub use crate::own_controls::ControlSource;

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Description of the run.
    pub title: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated length of the run.
    pub duration_ns: u64,
    /// The hosts; others refer to them by position.
    pub hosts: Vec<Host>,
    /// The links; others refer to them by position.
    pub links: Vec<Link>,
    /// Traces of delivery opportunities; links refer to them by position. Absent where there are none.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// Routes that are not the shortest path; absent if there are none.
    #[serde(default)]
    pub routes: Vec<RouteSpec>,
    /// The Wi-Fi cells. The path of each station to its access point counts as a link, numbered after those above, cell
    /// by cell, with the access point as its first end. At the access point all of them use its one device.
    #[serde(default)]
    pub cells: Vec<Cell>,
    /// The controls that the user wrote; flows refer to them by name. Absent where there are none.
    #[serde(default)]
    pub controls: Vec<ControlSource>,
    /// Disciplines of devices without the default one.
    pub qdiscs: Vec<AttachedQdisc>,
    /// The flows, one entry each.
    pub traffic: Vec<Traffic>,
    /// What is recorded.
    pub record: Record,
}

/// A host or router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name of the host.
    pub name: String,
    /// The network stack modelled, `linux-6.12`.
    pub stack: String,
    /// Sysctls by full name.
    pub sysctl: BTreeMap<String, SysctlValue>,
    /// Segmentation offloads of its devices; absent in scenarios of older versions.
    #[serde(default)]
    pub offloads: Offloads,
    /// It merges consecutive segments that one interrupt hands over (GRO); absent in scenarios of older versions.
    #[serde(default)]
    pub gro: bool,
    /// The initial slow-start threshold of its connections in segments; 0: infinite.
    #[serde(default)]
    pub ssthresh: u32,
}

/// Where data is segmented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offloads {
    /// In TCP: an skb is one segment (`gso_max_segs 1`).
    #[default]
    Off,
    /// Below the queue discipline: an skb is several segments (GSO), the device gets one after the other
    /// (`ethtool -K tso off gso off gro off`).
    Gso,
    /// In the device: an skb of several segments stays one to the other end (TSO, and GRO there; a veth).
    On,
}

/// The value of a sysctl.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum SysctlValue {
    /// One number.
    Number(u64),
    /// Minimum, default and maximum (`tcp_rmem`, `tcp_wmem`).
    Triple([u64; 3]),
}

impl fmt::Display for SysctlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.numbers().iter().map(u64::to_string).collect();
        write!(f, "`{}`", words.join(" "))
    }
}

impl SysctlValue {
    /// The numbers of the value: one or three.
    pub fn numbers(&self) -> &[u64] {
        match self {
            SysctlValue::Number(number) => std::slice::from_ref(number),
            SysctlValue::Triple(numbers) => numbers,
        }
    }
}

/// A full-duplex link between two hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two hosts.
    pub ends: [u16; 2],
    /// Serialization rate of each end; `null` = no serialization (a veth). A single value applies to both ends.
    #[serde(deserialize_with = "each_end")]
    pub rate_bps: [Option<u64>; 2],
    /// Propagation delay from the first end to the second, and back.
    pub delay_ns: [u64; 2],
    /// Maximum size of an IP packet.
    pub mtu: u32,
    /// Descriptors of the transmit ring of each end; a single value applies to both.
    #[serde(deserialize_with = "each_end")]
    pub ring: [u32; 2],
    /// Byte queue limits are on at each end; a single value applies to both.
    #[serde(deserialize_with = "each_end")]
    pub bql: [bool; 2],
    /// Shortest time between two receive interrupts at each end; 0: every packet interrupts. Absent in scenarios of older
    /// versions.
    #[serde(default)]
    pub interrupt_ns: [u64; 2],
    /// Bytes on the wire that each packet has in addition: the headers of a tunnel.
    #[serde(default)]
    pub overhead: u32,
    /// The trace that replaces the rate of each end. This and the following keys are absent if not used.
    #[serde(default)]
    pub trace: [Option<usize>; 2],
    /// Impairments of packets of each end, in addition to the delay: options of netem.
    #[serde(default)]
    pub netem: [BTreeMap<String, u64>; 2],
    /// The policer of what each end sends, where it arrives.
    #[serde(default)]
    pub police: [Option<Police>; 2],
    /// Changes during the run, in the order of time.
    #[serde(default)]
    pub schedule: Vec<Change>,
}

/// A policer, with the names of `tc`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Police {
    /// The rate of its tokens.
    pub rate_bps: u64,
    /// Bytes of its bucket.
    pub burst: u64,
    /// The longest frame that conforms.
    #[serde(default = "policer_mtu")]
    pub mtu: u32,
    /// The rate of its second bucket, which holds `mtu`.
    #[serde(default)]
    pub peakrate_bps: Option<u64>,
}

const fn policer_mtu() -> u32 {
    tailback_qdisc::POLICER_MTU
}

/// One end of a link changes; what is absent stays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// The end that sends: 0 or 1.
    pub end: usize,
    /// The serialization rate of the sending end from then on.
    #[serde(default)]
    pub rate_bps: Option<u64>,
    /// The delay of packets that it sends.
    #[serde(default)]
    pub delay_ns: Option<u64>,
    /// Impairments of packets that it sends; they replace all previous ones.
    #[serde(default)]
    pub netem: Option<BTreeMap<String, u64>>,
    /// Whether packets that it sends get through.
    #[serde(default)]
    pub up: Option<bool>,
}

/// A trace of delivery opportunities.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Of the file's text.
    pub sha256: String,
    /// An opportunity each, in order; the last says how long the trace is.
    pub stamps_ms: Vec<u32>,
}

/// A route that is not the shortest.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The host that has it.
    pub host: u16,
    /// Where its packets go.
    pub to: u16,
    /// The link they take.
    pub link: u16,
}

/// One value for both ends, or one for each.
fn each_end<'de, D: Deserializer<'de>, T: Deserialize<'de> + Copy>(reader: D) -> Result<[T; 2], D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected one value, or one for each end")]
    enum Ends<T> {
        Each([T; 2]),
        Both(T),
    }
    Ok(match Ends::deserialize(reader)? {
        Ends::Each(ends) => ends,
        Ends::Both(value) => [value; 2],
    })
}

/// Radios on one channel: an access point and its stations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The name of the cell, after which its devices are named: `access -> air`. Absent in scenarios of older versions.
    #[serde(default = "air")]
    pub name: String,
    /// Host of the access point.
    pub access_point: u16,
    /// The stations.
    pub stations: Vec<Radio>,
    /// `2.4GHz` or `5GHz`.
    pub band: String,
    /// Cells with the same channel share the medium.
    #[serde(default)]
    pub channel: Option<String>,
    /// Pairs of hosts on this channel that do not hear each other.
    #[serde(default)]
    pub hidden: Vec<[u16; 2]>,
    /// Every PPDU is protected by RTS and CTS, even if the drivers do not use them.
    pub rts: bool,
    /// Rate of the beacons; none without it.
    #[serde(default)]
    pub beacon_bps: Option<u64>,
    /// Contention parameters of the access point, of voice, video, best effort and background.
    #[serde(default)]
    pub access_point_edca: Option<[Edca; 4]>,
    /// Contention parameters of the stations, of voice, video, best effort and background.
    #[serde(default)]
    pub station_edca: Option<[Edca; 4]>,
    /// Bytes of an MPDU in addition to its IP packet.
    pub mpdu_overhead: u32,
    /// The driver of the access point.
    pub driver: Driver,
}

/// How one access category contends.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edca {
    /// Slots after SIFS.
    pub aifsn: u32,
    /// Smallest contention window, a power of two less one.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Longest use of the medium per access; 0: one exchange.
    pub txop_ns: u64,
}

/// One station of a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The host of the station.
    pub host: u16,
    /// The mode between it and the access point, in both directions; with rate control, the highest mode.
    pub mode: Mode,
    /// `fixed` or `minstrel`.
    #[serde(default = "fixed")]
    pub rate: String,
    /// MPDUs lost, of a million, in each mode.
    pub loss_ppm: u32,
    /// SNR in hundredths of a decibel, which determines the loss in each mode; `None`: no loss.
    #[serde(default)]
    pub snr_cdb: Option<i32>,
    /// The driver of the station.
    pub driver: Driver,
    /// Changes of its signal during the run, in the order of time. Absent without any.
    #[serde(default)]
    pub schedule: Vec<SignalChange>,
}

/// The signal between a station and its access point changes, in both directions; what is absent stays.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalChange {
    /// When.
    pub at_ns: u64,
    /// MPDUs lost from then on, of a million, in each mode.
    #[serde(default)]
    pub loss_ppm: Option<u32>,
    /// SNR from then on, in hundredths of a decibel.
    #[serde(default)]
    pub snr_cdb: Option<i32>,
}

fn air() -> String {
    "air".to_owned()
}

fn fixed() -> String {
    "fixed".to_owned()
}

/// Format, width, streams, modulation and guard interval of a PPDU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// `ht`, `vht` or `he`.
    pub format: String,
    /// Width of the channel in MHz.
    pub width: u32,
    /// Spatial streams.
    pub streams: u32,
    /// MCS index within one stream.
    pub mcs: u32,
    /// Guard interval in nanoseconds.
    pub guard_ns: u32,
}

/// A driver profile, and its options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// As `ethtool -i` prints it.
    pub name: String,
    /// What is set, by name.
    pub options: BTreeMap<String, u64>,
}

/// The root discipline of one device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachedQdisc {
    /// Host of the device.
    pub host: u16,
    /// Link of the device; of a radio any of its links.
    pub link: u16,
    /// The root discipline of the device.
    pub root: QdiscSpec,
}

/// A discipline, its options, and its child if it has one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QdiscSpec {
    /// The kind as `tc` calls it.
    pub kind: String,
    /// Only the options that the file has.
    pub options: BTreeMap<String, u64>,
    /// The child of a shaper.
    pub child: Option<Box<QdiscSpec>>,
    /// The classes of a classful discipline, or disciplines in series; none unless given.
    #[serde(default)]
    pub classes: Vec<ClassSpec>,
    /// Which packets go to which class; none unless given.
    #[serde(default)]
    pub filters: Vec<FilterSpec>,
    /// The size table, of a root discipline that has one.
    #[serde(default)]
    pub stab: Option<StabSpec>,
}

/// A size table, with the defaults of `tc`. [tc-stab(8)]
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StabSpec {
    /// Bytes added to each packet.
    #[serde(default)]
    pub overhead: i32,
    /// The least length in the table.
    #[serde(default)]
    pub mpu: u32,
    /// The length that has to be inside the table.
    #[serde(default = "default_stab_mtu")]
    pub mtu: u32,
    /// The number of entries.
    #[serde(default = "default_stab_size")]
    pub tsize: u32,
    /// The link layer, if it is named.
    #[serde(default)]
    pub linklayer: Option<LinkLayer>,
}

const fn default_stab_mtu() -> u32 {
    2047
}

const fn default_stab_size() -> u32 {
    512
}

/// The link layer of a size table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkLayer {
    /// Packets have the lengths of their frames.
    Ethernet,
    /// Packets are sent in cells.
    Atm,
}

/// A class of a discipline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// The minor number of its handle.
    pub minor: u16,
    /// The minor number of its parent; 0 = the discipline itself.
    pub parent: u16,
    /// Only what the file gave.
    pub options: BTreeMap<String, u64>,
    /// The discipline of a leaf.
    pub child: Option<QdiscSpec>,
}

/// Packets of one kind go to one class.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterSpec {
    /// What it matches.
    pub fits: FitsSpec,
    /// The minor number of the class.
    pub class: u16,
}

/// What a filter matches.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum FitsSpec {
    /// The traffic of this name, both ways.
    Traffic(String),
    /// Packets from this host.
    From(u16),
    /// Packets to this host.
    To(u16),
    /// Packets with this code point.
    Dscp(u8),
    /// Every packet.
    All,
}

/// What is recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Between two rows of a sampled table.
    pub interval_ns: u64,
    /// When `tcp_info` is read.
    pub tcp_info: TcpInfoRows,
    /// Drops and marks have a row each.
    pub events: bool,
    /// Hosts whose devices are captured. Absent if there are none, so that a run without captures has the same identity
    /// as in older versions.
    #[serde(default)]
    pub pcap: Vec<u16>,
    /// The window of time in which packets are logged, from and to; absent if they are not.
    #[serde(default)]
    pub packets_ns: Option<[u64; 2]>,
}

/// When `tcp_info` is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TcpInfoRows {
    /// Every interval.
    Interval,
    /// Every interval and after every ACK.
    Ack,
}

/// The path of a conversation in the scenario, `traffic[3]`; text only for an error.
#[derive(Clone, Copy)]
pub(crate) struct TrafficPath(pub(crate) usize);

impl fmt::Display for TrafficPath {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "traffic[{}]", self.0)
    }
}

/// A conversation of a scenario with the numbers it gets.
pub(crate) struct Numbered<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) path: TrafficPath,
    pub(crate) first_socket: u32,
}

impl Numbered<'_> {
    /// Each socket with the host it is on. They come in pairs: one of the first host, then one of the second.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (SocketId, HostId)> + use<> {
        let (ends, first) = (self.traffic.ends(), self.first_socket);
        let pairs = 0..self.traffic.carrier().sockets();
        pairs.flat_map(move |pair| {
            [0, 1].map(|end| (SocketId(first + 2 * pair + end), HostId(ends[end as usize])))
        })
    }
}

impl Scenario {
    /// The traffic in the order in which its sockets are numbered: kind by kind.
    pub(crate) fn conversations(&self) -> impl Iterator<Item = Numbered<'_>> {
        let of_kind = |word: &'static &'static str| {
            self.traffic.iter().enumerate().filter(move |(_, traffic)| traffic.word() == *word)
        };
        let mut next = 0;
        Traffic::KINDS.iter().flat_map(of_kind).map(move |(index, traffic)| {
            let first_socket = next;
            next += 2 * traffic.carrier().sockets();
            Numbered { traffic, path: TrafficPath(index), first_socket }
        })
    }

    /// Reads a scenario; the error names the path of the key.
    pub fn from_json(json: &str) -> Result<Self, BuildError> {
        Scenario::deserialize(&mut serde_json::Deserializer::from_str(json))
            .or_else(|_| Scenario::from_json_with_paths(json))
    }

    /// Reads a scenario that was refused again, slower, because it follows where it reads: the error names the path.
    fn from_json_with_paths(json: &str) -> Result<Self, BuildError> {
        let reader = &mut serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(reader).map_err(|error| {
            let path = error.path().to_string();
            BuildError::new(
                path,
                error.into_inner(),
                "write the resolved scenario as docs/contracts.md lays it out",
            )
        })
    }
}

impl Link {
    /// A link without serialization, delay and impairments.
    pub fn between(one: u16, other: u16) -> Self {
        Link {
            ends: [one, other],
            rate_bps: [None; 2],
            delay_ns: [0; 2],
            mtu: 1500,
            ring: [1; 2],
            bql: [false; 2],
            interrupt_ns: [0; 2],
            overhead: 0,
            trace: [None; 2],
            netem: Default::default(),
            police: [None; 2],
            schedule: Vec::new(),
        }
    }

    /// True if packets of this end are serialized.
    pub fn serializes(&self, end: usize) -> bool {
        self.rate_bps[end].is_some() || self.trace[end].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn the_scenario_of_the_contract_is_read() {
        let scenario = Scenario::from_json(&example::contract()).unwrap();
        assert_eq!(scenario.traffic[0].name(), "upload.1");
        assert_eq!(scenario.qdiscs[0].root.child.as_ref().unwrap().kind, "pfifo_fast");
        assert_eq!(scenario.hosts[0].sysctl["net.ipv4.tcp_pacing_ca_ratio"], SysctlValue::Number(120));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_path() {
        let json = example::contract().replace("\"ring\"", "\"rings\"");
        let error = Scenario::from_json(&json).unwrap_err();
        assert_eq!(error.path, "links[0].rings");
        assert!(error.to_string().contains("unknown field `rings`"), "{error}");
    }

    #[test]
    fn an_unknown_key_of_a_flow_is_named_with_its_path() {
        let json = example::contract().replace("\"rcvlowat\"", "\"rcvlow\"");
        let error = Scenario::from_json(&json).unwrap_err();
        assert_eq!(error.path, "traffic[0].socket.rcvlow");
    }

    #[test]
    fn a_negative_delay_is_named_with_its_path() {
        let json = example::contract().replace("[50000, 50000]", "[50000, -1]");
        assert_eq!(Scenario::from_json(&json).unwrap_err().path, "links[0].delay_ns[1]");
    }
}
