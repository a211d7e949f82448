//! TCP connections before their sockets are made: what like connections have in common, which is checked before the run,
//! and the two sockets that are made from it.

use std::sync::Arc;

use tailback_cc::reno::Reno;
use tailback_cc::{Control, Row};
use tailback_engine::{Alarm, Streams};
use tailback_packet::{HostId, SocketId};
use tailback_tcp::{Endpoint, EndpointConfig, Settings, SmallQueueLimit, SocketOptions, Wakeup};
use tailback_units::{Bytes, Parameters, SimTime};

use crate::socket::TcpSocket;
use crate::{DeviceId, conversation_hash, timers};

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// It connects, and sends.
    Client,
    /// It listens, and receives.
    Server,
}

/// What like connections have in common.
pub(crate) struct Blueprint {
    /// The client, then the server.
    pub(crate) ends: [End; 2],
    /// The server's application does nothing with data but read and count it.
    pub(crate) server_only_counts: bool,
    /// Type-of-service octet of the packets of both.
    pub(crate) tos: u8,
}

/// One end of a [`Blueprint`].
pub(crate) struct End {
    pub(crate) host: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    pub(crate) settings: Arc<Settings>,
    pub(crate) small_queue: SmallQueueLimit,
    pub(crate) options: SocketOptions,
    pub(crate) control: Recipe,
    pub(crate) wants_pacing: bool,
    pub(crate) needs_ecn: bool,
    pub(crate) sndbuf_factor: u32,
    /// The discipline of its device paces for TCP.
    pub(crate) paced_below: bool,
}

/// How the congestion control of an end is made.
pub(crate) enum Recipe {
    /// By its row, which has accepted these parameters.
    Row(&'static Row, Parameters),
    /// It sends no data: a control that never acts needs no state.
    None,
    /// The user's source has built it; for the only connection of this blueprint.
    Built,
}

impl Recipe {
    fn make(&self) -> Control {
        match self {
            Recipe::Row(row, parameters) => {
                (row.build)(parameters).expect("the row has accepted these parameters")
            }
            Recipe::None => Control::Window(Box::new(Reno)),
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
    /// Its sockets; `name` is that of its conversation, and `built` the control of the client if the user wrote it.
    pub(crate) fn sockets(&self, name: &str, streams: Streams, built: Option<Control>) -> [TcpSocket; 2] {
        let client = self.config(Side::Client, built);
        let server = self.config(Side::Server, None);
        [
            self.socket(Endpoint::connect(client, self.start), Side::Client, streams, name),
            self.socket(Endpoint::listen(server), Side::Server, streams, &format!("{name}/receiver")),
        ]
    }

    fn config(&self, side: Side, built: Option<Control>) -> EndpointConfig {
        let (end, peer) = (&self.blueprint.ends[side as usize], &self.blueprint.ends[1 - side as usize]);
        let (socket, peer_socket) = (self.sockets[side as usize], self.sockets[1 - side as usize]);
        EndpointConfig {
            socket,
            peer: peer_socket,
            peer_host: peer.host,
            flow_hash: conversation_hash(socket, peer_socket),
            settings: Arc::clone(&end.settings),
            small_queue: end.small_queue,
            options: end.options,
            control: built.unwrap_or_else(|| end.control.make()),
            wants_pacing: end.wants_pacing,
            needs_ecn: end.needs_ecn,
            sndbuf_factor: end.sndbuf_factor,
        }
    }

    fn socket(&self, mut endpoint: Endpoint, side: Side, streams: Streams, stream: &str) -> TcpSocket {
        let end = &self.blueprint.ends[side as usize];
        if end.paced_below {
            endpoint.leave_pacing_to_fq();
        }
        TcpSocket {
            endpoint,
            host: end.host,
            device: end.device,
            alarm: Alarm::default(),
            timer: timers::Place::default(),
            draws: streams.stream(stream, "cc"),
            woken: Wakeup::default(),
            uncounted: Bytes::ZERO,
            only_counts: side == Side::Server && self.blueprint.server_only_counts,
            awaits_credit: false,
            tos: self.blueprint.tos,
            sends: side == Side::Client,
        }
    }
}
