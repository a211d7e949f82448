//! TCP connections before their sockets are made: what like connections have in common, which is checked before the run,
//! and the two sockets that are made from it.

use std::sync::Arc;

use tailback_cc::{Control, EcnNeed, Prototype};
use tailback_engine::{Alarm, Draws, Streams};
use tailback_packet::{HostId, SocketId, conversation_hash};
use tailback_tcp::{
    Agreement, Endpoint, EndpointConfig, ReceiverConfig, Settings, SmallQueueLimit, SocketOptions, Wakeup,
};
use tailback_units::{Bytes, SimTime};

use crate::socket::{Drawing, NoDraws, TcpSocket, Transport};
use crate::{DeviceId, timers};

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// It connects, and sends.
    Client,
    /// It listens, and receives.
    Server,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// What the server's application does with the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerRole {
    /// Nothing but read and count data: its socket only receives, unless its host saves metrics.
    Counts,
    /// It sends data too.
    Answers,
}

/// What like connections have in common.
pub(crate) struct Blueprint {
    pub(crate) client: End,
    pub(crate) server: End,
    /// How each end sends data; the server's is `None` if it only receives.
    pub(crate) client_sends: Sending,
    pub(crate) server_sends: Option<Sending>,
    /// Type-of-service octet of the packets of both.
    pub(crate) tos: u8,
}

/// One end of a [`Blueprint`].
pub(crate) struct End {
    pub(crate) host: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    pub(crate) settings: Arc<Settings>,
    pub(crate) options: SocketOptions,
    pub(crate) needs_ecn: EcnNeed,
}

/// How an end sends data.
pub(crate) struct Sending {
    pub(crate) small_queue: SmallQueueLimit,
    pub(crate) control: Recipe,
    pub(crate) wants_pacing: bool,
    pub(crate) sndbuf_factor: u32,
    /// The discipline of its device paces for TCP.
    pub(crate) paced_below: bool,
}

/// How the congestion control of an end is made.
pub(crate) enum Recipe {
    /// As a copy of that of its row.
    Copied(Prototype),
    /// The user's source has built it; for the only connection of this blueprint.
    Built,
}

impl Recipe {
    fn make(&self) -> Control {
        match self {
            Recipe::Copied(prototype) => prototype.control(),
            Recipe::Built => unreachable!("a control of the user is handed to its socket before the run"),
        }
    }
}

/// A connection of which no socket is there yet.
pub(crate) struct Planned {
    /// The socket that connects and the one that listens.
    pub(crate) sockets: [SocketId; 2],
    /// When it connects.
    pub(crate) start: SimTime,
    pub(crate) blueprint: Arc<Blueprint>,
}

impl Planned {
    /// The sockets of the connection; `name` is that of its conversation, and `built` the control of the client if the
    /// user wrote it.
    pub(crate) fn sockets(&self, name: &str, streams: Streams, built: Option<Control>) -> [Transport; 2] {
        let Blueprint { client_sends, server_sends, .. } = &*self.blueprint;
        let draws = streams.stream(name, "cc");
        let client = Endpoint::connect(self.config(Side::Client, client_sends, built), self.start);
        let client = self.sending_socket(client, Side::Client, client_sends, draws);
        let server = match server_sends {
            Some(sending) => {
                let draws = streams.stream(&[name, "/receiver"].concat(), "cc");
                let server = Endpoint::listen(self.config(Side::Server, sending, None));
                self.sending_socket(server, Side::Server, sending, draws)
            }
            None => {
                let receiver = Endpoint::pure_receiver(self.receiver_config());
                Transport::Receiver(self.socket(receiver, Side::Server, NoDraws))
            }
        };
        [client, server]
    }

    fn sending_socket(&self, endpoint: Endpoint, side: Side, sending: &Sending, draws: Draws) -> Transport {
        let mut socket = self.socket(endpoint, side, draws);
        if sending.paced_below {
            socket.endpoint.leave_pacing_to_fq();
        }
        Transport::Tcp(socket)
    }

    fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.blueprint.client,
            Side::Server => &self.blueprint.server,
        }
    }

    fn config(&self, side: Side, sending: &Sending, built: Option<Control>) -> EndpointConfig {
        let (end, peer) = (self.end(side), self.end(side.other()));
        let (socket, peer_socket) = (self.sockets[side as usize], self.sockets[side.other() as usize]);
        EndpointConfig {
            socket,
            peer: peer_socket,
            peer_host: peer.host,
            flow_hash: conversation_hash(socket, peer_socket),
            settings: Arc::clone(&end.settings),
            small_queue: sending.small_queue,
            options: end.options,
            control: built.unwrap_or_else(|| sending.control.make()),
            wants_pacing: sending.wants_pacing,
            needs_ecn: end.needs_ecn,
            sndbuf_factor: sending.sndbuf_factor,
        }
    }

    fn receiver_config(&self) -> ReceiverConfig {
        let Blueprint { client, server, .. } = &*self.blueprint;
        let [peer, socket] = self.sockets;
        ReceiverConfig {
            socket,
            peer,
            peer_host: client.host,
            flow_hash: conversation_hash(socket, peer),
            settings: Arc::clone(&server.settings),
            options: server.options,
            needs_ecn: server.needs_ecn,
        }
    }

    /// Inlined, so that the endpoint is copied only once.
    #[inline(always)]
    fn socket<S: Drawing>(
        &self,
        mut endpoint: Endpoint<S>,
        side: Side,
        draws: S::Draws,
    ) -> Box<TcpSocket<S>> {
        let (end, peer) = (self.end(side), self.end(side.other()));
        endpoint.agree(Agreement::between(&end.settings, &end.options, &peer.settings));
        Box::new(TcpSocket {
            endpoint,
            host: end.host,
            device: end.device,
            alarm: Alarm::default(),
            timer: timers::Place::default(),
            draws,
            woken: Wakeup::default(),
            uncounted: Bytes::ZERO,
            only_counts: side == Side::Server && self.blueprint.server_sends.is_none(),
            awaits_credit: false,
            tos: self.blueprint.tos,
            sends: side == Side::Client,
        })
    }
}
