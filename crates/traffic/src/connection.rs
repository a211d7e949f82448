//! What the sockets of a conversation are: their transport, and of TCP connections the keys that all kinds have in common.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::tagged::read_by_kind;

/// The parameters of a congestion control that the user wrote, in JSON.
pub type ParametersOfControl = serde_json::Map<String, serde_json::Value>;

/// Version of IP, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "u8")]
pub enum InternetProtocol {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl TryFrom<u8> for InternetProtocol {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            4 => Ok(InternetProtocol::V4),
            6 => Ok(InternetProtocol::V6),
            other => Err(format!("there is no IP version {other}")),
        }
    }
}

/// Socket options of a flow: `rcvbuf` and `rcvlowat` are the receiver's, the others the sender's.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// `SO_MAX_PACING_RATE`.
    pub max_pacing_rate_bps: Option<u64>,
    /// The argument of `SO_SNDBUF`.
    pub sndbuf: Option<u64>,
    /// The argument of `SO_RCVBUF`.
    pub rcvbuf: Option<u64>,
    /// `SO_RCVLOWAT`.
    pub rcvlowat: u64,
    /// `TCP_NOTSENT_LOWAT`.
    pub notsent_lowat: Option<u64>,
    /// `TCP_MAXSEG`.
    pub mss: Option<u32>,
}

/// A congestion control by name.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CongestionControl {
    /// The name as in `net.ipv4.tcp_congestion_control`, or that of one of the scenario's `controls`.
    pub name: String,
    /// Module parameters.
    pub options: BTreeMap<String, u64>,
    /// Parameters of a control that the user wrote; absent if it has none.
    #[serde(default)]
    pub parameters: ParametersOfControl,
}

/// Limit of a socket's data below TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(remote = "Self", rename_all = "lowercase", deny_unknown_fields)]
pub enum SmallQueue {
    /// 2^(10 − shift) ms of the pacing rate.
    Time {
        /// `sk_pacing_shift`.
        shift: u32,
        /// The time of the check, where no shift gives it.
        #[serde(default)]
        time_ns: Option<u64>,
    },
    /// As `Time`, in the check of the small queue alone.
    Check {
        /// The shift there.
        shift: u32,
        /// The time there, where no shift gives it.
        #[serde(default)]
        time_ns: Option<u64>,
    },
    /// No limit beyond a second of the pacing rate.
    Off,
    /// This many bytes.
    Bytes {
        /// Bytes of truesize.
        bytes: u64,
    },
    /// This many packets.
    Packets {
        /// Packets.
        packets: u32,
    },
}

read_by_kind!(SmallQueue);

/// What carries an echo request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EchoProtocol {
    /// An echo request of ICMP: `ping`.
    #[default]
    Icmp,
    /// A datagram that a server answers: `irtt`.
    Udp,
}

/// What carries a conversation: the sockets that a backend opens for it.
#[derive(Clone, Copy, Debug)]
pub enum Carrier<'a> {
    /// Connections of TCP.
    Tcp(Connections<'a>),
    /// Datagrams of UDP in one direction.
    Datagrams {
        /// Bytes of data in each.
        size: u32,
        /// The argument of `SO_SNDBUF`.
        sndbuf: Option<u64>,
        /// Bytes of data in each of those that their receiver sends back, which say what has arrived; none if it sends none.
        reports: Option<u32>,
    },
    /// Datagrams of UDP in both directions, of which the backend knows nothing.
    Endpoints {
        /// The argument of `SO_SNDBUF`, at both ends.
        sndbuf: Option<u64>,
    },
    /// Echo requests, which the other end sends back.
    Echo {
        /// Bytes of each, with the header of ICMP or UDP.
        size: u32,
        /// What carries them.
        protocol: EchoProtocol,
    },
}

/// The TCP connections of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Connections<'a> {
    /// How many, at most.
    pub count: u32,
    /// What goes over them.
    pub purpose: Purpose,
    /// Congestion control of the ends that send data.
    pub cc: &'a CongestionControl,
    /// Limit of the small queues.
    pub tsq: SmallQueue,
    /// The options that both applications set.
    pub socket: &'a SocketOptions,
    /// Version of IP.
    pub ip: InternetProtocol,
}

/// What goes over the connections of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The client sends, the server only reads and counts.
    Bulk {
        /// The client sends so many; none if it sends until it is stopped.
        bytes: Option<u64>,
    },
    /// The client asks, the server answers.
    Requests {
        /// Bytes of a request.
        size: u64,
        /// What a request says about its answer.
        head: Head,
    },
}

/// What a request says about its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// Nothing: the server knows it.
    Nothing,
    /// How many bytes it has.
    Size,
}

impl Carrier<'_> {
    /// Sockets that each end needs: one, or one for each connection.
    pub fn sockets(&self) -> u32 {
        match self {
            Carrier::Tcp(connections) => connections.count,
            Carrier::Datagrams { .. } | Carrier::Echo { .. } | Carrier::Endpoints { .. } => 1,
        }
    }
}

impl Connections<'_> {
    /// Both ends set `TCP_NODELAY`, as browsers and servers do: short messages do not wait for acknowledgements.
    pub fn no_delay(&self) -> bool {
        matches!(self.purpose, Purpose::Requests { head: Head::Size, .. })
    }
}
