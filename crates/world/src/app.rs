//! Applications, which send through sockets and measure their traffic.
//!
//! A kind of traffic is one file of this folder and one row of [`kinds!`]. The file has its specification in a scenario
//! (a [`Kind`]) and the [`Application`] that runs. An application owns its sockets. It is called when it starts, when
//! one of its sockets is ready, and when a timer that it has set expires; it acts by [`Syscalls`].

mod bulk;
mod exchange;
mod page;
mod ping;
mod request;
#[cfg(test)]
mod toy;
mod udp;
mod video;

use std::any::Any;
use std::fmt::{Debug, Display, Formatter};

use serde::Deserialize;
use tailback_packet::{HostId, Packet, SocketId};

use crate::build::Builder;
use crate::scenario::Scenario;
use crate::syscalls::Syscalls;
use crate::tagged::read_by_kind;
use crate::{BuildError, ConversationId, TimerId};

pub use bulk::TcpTraffic;
#[cfg(test)]
pub(crate) use bulk::{Bulk, Phase};
pub use page::PageTraffic;
#[cfg(test)]
pub(crate) use ping::Ping;
pub use ping::{EchoProtocol, PingTraffic};
pub use request::RequestTraffic;
#[cfg(test)]
pub(crate) use udp::Udp;
pub use udp::UdpTraffic;
pub use video::VideoTraffic;

/// The kinds of traffic. Sockets are numbered kind by kind, in the order of the rows.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $(#[cfg($when:meta)])? $kind:ident($specification:ty),)*) => {
        /// One conversation, or several of one kind.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(remote = "Self", rename_all = "lowercase")]
        pub enum Traffic {
            $($(#[doc = $doc])* $(#[cfg($when)])? $kind($specification),)*
        }

        read_by_kind!(Traffic);

        impl Traffic {
            /// The names of all kinds.
            pub const KINDS: &[&str] = &[$($(#[cfg($when)])? stringify!($kind)),*];

            /// What all kinds have in common.
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self { $($(#[cfg($when)])? Traffic::$kind(specification) => specification,)* }
            }

            fn word(&self) -> &'static str {
                match self { $($(#[cfg($when)])? Traffic::$kind(_) => stringify!($kind),)* }
            }
        }

        $($(#[cfg($when)])? impl Conversation for $specification {
            fn name(&self) -> &str {
                &self.name
            }

            fn ends(&self) -> [u16; 2] {
                [self.from, self.to]
            }

            fn dscp(&self) -> u8 {
                self.dscp
            }
        })*
    };
}

kinds! {
    /// Bulk data over TCP.
    Tcp(TcpTraffic),
    /// ICMP or UDP echo.
    Ping(PingTraffic),
    /// UDP datagrams at a rate.
    Udp(UdpTraffic),
    /// Requests and answers over TCP.
    Request(RequestTraffic),
    /// A web page.
    Page(PageTraffic),
    /// A video in segments.
    Video(VideoTraffic),
    /// The example of CONTRIBUTING.md.
    #[cfg(test)]
    Toy(toy::ToyTraffic),
}

/// The fields that all specifications have; [`kinds!`] implements it.
pub(crate) trait Conversation {
    /// The name of the conversation in tables.
    fn name(&self) -> &str;

    /// The host that begins and the host that answers.
    fn ends(&self) -> [u16; 2];

    /// Code point of its packets.
    fn dscp(&self) -> u8;
}

/// The specification of a conversation in a scenario.
pub(crate) trait Kind: Conversation {
    /// Pairs of sockets that it needs: one on each of its hosts.
    fn socket_pairs(&self) -> u32 {
        1
    }

    /// Refuses invalid values; `path` is the path of the specification in the scenario.
    fn check(&self, path: TrafficPath) -> Result<(), BuildError>;

    /// Adds its sockets and its start to the world, and returns the application.
    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError>;
}

/// Where a conversation is: its numbers, and its path in the scenario for error messages.
pub(crate) struct Place {
    pub(crate) conversation: ConversationId,
    /// Number of its first socket. Sockets come in pairs: the one of the first host, then the one of the second.
    pub(crate) first_socket: u32,
    pub(crate) path: TrafficPath,
}

/// The path of a conversation in the scenario, `traffic[3]`; text only for an error.
#[derive(Clone, Copy)]
pub(crate) struct TrafficPath(pub(crate) usize);

impl Display for TrafficPath {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        write!(formatter, "traffic[{}]", self.0)
    }
}

impl Place {
    /// The sockets of its first pair, which is the only one of most.
    pub(crate) fn sockets(&self) -> [SocketId; 2] {
        [SocketId(self.first_socket), SocketId(self.first_socket + 1)]
    }
}

/// What runs on the hosts of a conversation. A kind implements only the calls that it needs.
pub(crate) trait Application: Any + Debug {
    /// The conversation starts.
    fn started(&mut self, calls: &mut Syscalls);

    /// A timer that it has set expires.
    fn timer(&mut self, _timer: TimerId, _calls: &mut Syscalls) {}

    /// A TCP socket has data, or the end of the data.
    fn readable(&mut self, _socket: SocketId, _calls: &mut Syscalls) {}

    /// A socket that refused data has room again.
    fn writable(&mut self, _socket: SocketId, _calls: &mut Syscalls) {}

    /// All that a closed TCP socket had sent was acknowledged.
    fn finished(&mut self, _socket: SocketId, _calls: &mut Syscalls) {}

    /// A datagram or the answer to an echo request has arrived.
    fn datagram(&mut self, _packet: &Packet, _calls: &mut Syscalls) {}

    /// An interval of the sampled tables has ended: records the measurements of it.
    fn sample(&mut self, _calls: &mut Syscalls) {}

    /// The sockets of the application, if it does nothing any more and has recorded everything: they and it are freed
    /// when nothing is left of them in the network.
    fn over(&self) -> Option<[SocketId; 2]> {
        None
    }

    /// Bytes of memory that grow with the run; `None` if none does.
    fn held(&self) -> Option<usize> {
        None
    }

    /// The run has ended, after the last `sample`: records the measurements of the whole run.
    fn ended(&mut self, _calls: &mut Syscalls) {}
}

/// A conversation of a scenario with the numbers it gets.
pub(crate) struct Numbered<'a> {
    pub(crate) traffic: &'a dyn Kind,
    /// The position of the conversation in `traffic` of the scenario.
    pub(crate) index: usize,
    pub(crate) first_socket: u32,
}

impl Numbered<'_> {
    /// Each socket with the host it is on.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (SocketId, HostId)> + use<> {
        let (ends, first) = (self.traffic.ends(), self.first_socket);
        let pairs = 0..self.traffic.socket_pairs();
        pairs.flat_map(move |pair| {
            [0, 1].map(|end| (SocketId(first + 2 * pair + end), HostId(ends[end as usize])))
        })
    }
}

impl Scenario {
    /// The traffic in the order in which its sockets are numbered.
    pub(crate) fn conversations(&self) -> impl Iterator<Item = Numbered<'_>> {
        let of_kind = |word: &'static &str| {
            self.traffic.iter().enumerate().filter(move |(_, traffic)| traffic.word() == *word)
        };
        let mut next = 0;
        Traffic::KINDS.iter().flat_map(of_kind).map(move |(index, traffic)| {
            let first_socket = next;
            next += 2 * traffic.kind().socket_pairs();
            Numbered { traffic: traffic.kind(), index, first_socket }
        })
    }
}

/// The type-of-service octet of a code point.
pub(crate) fn tos(dscp: u8) -> u8 {
    dscp << 2
}

/// The error for `size` bytes that do not fit into a packet of the path.
fn does_not_fit(path: TrafficPath, size: u32, remedy: String) -> BuildError {
    BuildError::new(format!("{path}.size"), format!("{size} bytes do not fit"), remedy)
}
