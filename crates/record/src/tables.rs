//! The tables, one file each.

mod datagrams;
mod delays;
mod endpoints;
mod events;
mod exchanges;
mod flows;
mod mpdus;
mod objects;
mod packets;
mod ping;
mod qdisc;
mod requests;
mod senders;
mod sojourns;
mod tcp_info;
mod udp;
mod video;
mod wifi;

pub use datagrams::{Datagrams, DatagramsRow};
pub use delays::{Delays, DelaysRow};
pub use endpoints::{Endpoints, EndpointsRow};
pub use events::{Events, EventsRow};
pub use exchanges::{Exchanges, ExchangesRow};
pub use flows::{Flows, FlowsRow};
pub use mpdus::{Mpdus, MpdusRow};
pub use objects::{Objects, ObjectsRow};
pub use packets::{Packets, PacketsRow};
pub use ping::{Ping, PingRow};
pub use qdisc::{Qdisc, QdiscRow};
pub use requests::{Requests, RequestsRow};
pub use senders::{Senders, SendersRow};
pub use sojourns::{Sojourns, SojournsRow};
pub use tcp_info::{TcpInfo, TcpInfoRow};
pub use udp::{Udp, UdpRow};
pub use video::{Video, VideoRow};
pub use wifi::{Wifi, WifiRow};
