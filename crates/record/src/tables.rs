//! The tables, one file each.

mod datagrams;
mod delays;
mod events;
mod exchanges;
mod flows;
mod objects;
mod ping;
mod qdisc;
mod requests;
mod sojourns;
mod tcp_info;
mod udp;
mod video;
mod wifi;

pub use datagrams::{Datagrams, DatagramsRow};
pub use delays::{Delays, DelaysRow};
pub use events::{Events, EventsRow};
pub use exchanges::{Exchanges, ExchangesRow};
pub use flows::{Flows, FlowsRow};
pub use objects::{Objects, ObjectsRow};
pub use ping::{Ping, PingRow};
pub use qdisc::{Qdisc, QdiscRow};
pub use requests::{Requests, RequestsRow};
pub use sojourns::{Sojourns, SojournsRow};
pub use tcp_info::{TcpInfo, TcpInfoRow};
pub use udp::{Udp, UdpRow};
pub use video::{Video, VideoRow};
pub use wifi::{Wifi, WifiRow};
