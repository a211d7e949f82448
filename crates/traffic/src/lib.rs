//! Kinds of traffic, for every backend: what a scenario says of each, and the applications that run at its two ends.
//!
//! ```text
//! Traffic (keys) ── check, carrier ──> a backend opens the sockets
//!        └───────── Machine::of ─────> on(end, event, socket, calls): state machines without I/O
//! ```
//! A kind is one file, one row of [`kinds!`] and one `mod` line. The file has its keys (a [`Kind`]) and two
//! [`Application`]s. They act by [`Calls`], which the simulator implements by simulated sockets and the agent by those of
//! the kernel. Each end knows only what the other has sent it: they may run on different machines.

mod bulk;
mod calls;
mod check;
mod connection;
mod endpoint;
mod exchange;
mod gcc;
mod page;
mod ping;
mod request;
mod source;
mod tagged;
#[cfg(any(test, feature = "example"))]
mod toy;
mod udp;
mod video;

use tagged::read_by_kind;

pub use bulk::TcpTraffic;
pub use calls::{Application, Arrived, Calls, Datagram, Event, Nothing, Row, Sent, Socket};
pub use check::{Checked, Refused};
pub use connection::{
    Carrier, CongestionControl, Connections, EchoProtocol, Head, InternetProtocol, ParametersOfControl,
    Purpose, SmallQueue, SocketOptions,
};
pub use endpoint::EndpointTraffic;
pub use page::PageTraffic;
pub use ping::{Ping, PingTraffic};
pub use request::RequestTraffic;
pub use source::Source;
pub use udp::UdpTraffic;
pub use video::{Player, VideoTraffic};

/// What a scenario says of a conversation, by its kind.
pub trait Kind {
    /// What runs on the first host.
    type Client: Application;
    /// What runs on the second host, once for each connection.
    type Server: Application;

    /// Refuses invalid values.
    fn check(&self) -> Checked;

    /// The sockets that it needs.
    fn carrier(&self) -> Carrier<'_>;

    /// When its client closes, even within a blocked call; none if it does so by itself.
    fn closes_ns(&self) -> Option<u64> {
        None
    }

    /// The name of the barrier at which its client waits for those of other conversations.
    fn barrier(&self) -> Option<&str> {
        None
    }

    /// It does nothing at or after `end_ns`, the end of the run.
    fn stop_by(&mut self, _end_ns: u64) {}

    /// The application on the first host.
    fn client(&self) -> Self::Client;

    /// The application of one connection on the second host.
    fn server(&self) -> Self::Server;
}

/// Which end of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The one that begins.
    Client,
    /// The one that answers, on this connection.
    Server(u32),
}

/// Both ends of a conversation. A backend whose hosts are different machines runs one of them.
#[derive(Clone, Debug)]
pub struct Ends<C, S> {
    client: C,
    servers: Vec<S>,
}

impl<C: Application, S: Application> Ends<C, S> {
    fn of<K: Kind<Client = C, Server = S>>(kind: &K) -> Self {
        let connections = kind.carrier().sockets();
        Ends { client: kind.client(), servers: (0..connections).map(|_| kind.server()).collect() }
    }

    /// The application of the client.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// The application of the server on its first connection.
    pub fn server(&self) -> &S {
        &self.servers[0]
    }

    #[inline]
    fn on<A: Calls>(&mut self, end: End, event: Event, socket: Socket, calls: &mut A) {
        match end {
            End::Client => self.client.on(event, socket, calls),
            End::Server(number) => self.servers[number as usize].on(event, socket, calls),
        }
    }
}

/// The kinds of traffic. The simulator numbers its sockets kind by kind, in the order of the rows.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $(#[cfg($when:meta)])? $kind:ident($keys:ty),)*) => {
        /// One conversation, or several of one kind.
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(remote = "Self", rename_all = "lowercase")]
        pub enum Traffic {
            $($(#[doc = $doc])* $(#[cfg($when)])? $kind($keys),)*
        }

        read_by_kind!(Traffic);

        impl Traffic {
            /// The names of all kinds.
            pub const KINDS: &[&str] = &[$($(#[cfg($when)])? stringify!($kind)),*];

            /// The name of its kind.
            pub fn word(&self) -> &'static str {
                match self { $($(#[cfg($when)])? Traffic::$kind(_) => stringify!($kind),)* }
            }

            /// The name of the conversation in tables.
            pub fn name(&self) -> &str {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => &keys.name,)* }
            }

            /// The host that begins and the host that answers.
            pub fn ends(&self) -> [u16; 2] {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => [keys.from, keys.to],)* }
            }

            /// When it starts.
            pub fn start_ns(&self) -> u64 {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.start_ns,)* }
            }

            /// Code point of its packets.
            pub fn dscp(&self) -> u8 {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.dscp,)* }
            }

            /// Refuses invalid values.
            pub fn check(&self) -> Checked {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.check(),)* }
            }

            /// The sockets that it needs.
            pub fn carrier(&self) -> Carrier<'_> {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.carrier(),)* }
            }

            /// When its client closes, even within a blocked call.
            pub fn closes_ns(&self) -> Option<u64> {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.closes_ns(),)* }
            }

            /// The name of the barrier at which its client waits for those of other conversations.
            pub fn barrier(&self) -> Option<&str> {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.barrier(),)* }
            }

            /// It does nothing at or after `end_ns`, the end of the run.
            pub fn stop_by(&mut self, end_ns: u64) {
                match self { $($(#[cfg($when)])? Traffic::$kind(keys) => keys.stop_by(end_ns),)* }
            }
        }

        /// The applications of a conversation.
        #[derive(Clone, Debug)]
        pub enum Machine {
            $($(#[doc = $doc])* $(#[cfg($when)])?
            $kind(Box<Ends<<$keys as Kind>::Client, <$keys as Kind>::Server>>),)*
        }

        impl Machine {
            /// Those of `traffic`, before its start.
            pub fn of(traffic: &Traffic) -> Self {
                match traffic {
                    $($(#[cfg($when)])? Traffic::$kind(keys) => Machine::$kind(Box::new(Ends::of(keys))),)*
                }
            }

            /// Something has happened at one end; it is about `socket` of that end, if about any.
            #[inline]
            pub fn on<C: Calls>(&mut self, end: End, event: Event, socket: Socket, calls: &mut C) {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.on(end, event, socket, calls),)* }
            }

            /// What is measured of its sockets: the client has begun, and is not over.
            pub fn is_active(&self) -> bool {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.client.is_active(),)* }
            }

            /// How many bytes the client takes from `socket` at a time, where a program reads; `None`: all there are.
            pub fn most_to_read(&self, socket: Socket) -> Option<u64> {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.client.most_to_read(socket),)* }
            }

            /// The client does nothing any more and has recorded everything.
            pub fn is_over(&self) -> bool {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.client.is_over(),)* }
            }

            /// Bytes of memory that grow with the run; `None` if none does.
            pub fn held(&self) -> Option<usize> {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.client.held(),)* }
            }

            /// The newest round trip that it has measured, to be shown while the run is in progress.
            pub fn round_trip(&self) -> Option<tailback_units::Span> {
                match self { $($(#[cfg($when)])? Machine::$kind(ends) => ends.client.round_trip(),)* }
            }
        }
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
    /// Datagrams of a transport outside.
    Endpoint(EndpointTraffic),
    /// The example of CONTRIBUTING.md.
    #[cfg(any(test, feature = "example"))]
    Toy(toy::ToyTraffic),
}
