//! Builds the two sockets of a TCP connection.

use std::sync::Arc;

use tailback_cc::Control;
use tailback_cc::reno::Reno;
use tailback_engine::Alarm;
use tailback_packet::{HostId, IpVersion, SocketId};
use tailback_tcp::{Endpoint, EndpointConfig, Settings, SmallQueueLimit, SocketOptions, Wakeup};
use tailback_units::{Parameters, Rate, SimTime};

use super::Builder;
use crate::app::{Place, tos};
use crate::error::parameter_error;
use crate::scenario::{CongestionControl, ControlSource, InternetProtocol, SmallQueue};
use crate::socket::{TcpSocket, Transport};
use crate::{BuildError, OwnControl, OwnControls, conversation_hash, scenario};

/// A TCP connection that is to be made.
pub(crate) struct Connection<'a> {
    /// The socket that connects and the one that listens.
    pub(crate) sockets: [SocketId; 2],
    /// Their hosts.
    pub(crate) ends: [u16; 2],
    pub(crate) name: &'a str,
    /// When it connects.
    pub(crate) start: SimTime,
    /// The ends that send data.
    pub(crate) senders: &'a [Side],
    /// Congestion control of the ends that send data.
    pub(crate) cc: &'a CongestionControl,
    /// Limit of the small queues.
    pub(crate) tsq: SmallQueue,
    pub(crate) options: &'a scenario::SocketOptions,
    pub(crate) dscp: u8,
    pub(crate) ip: InternetProtocol,
}

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// It connects, and sends.
    Client,
    /// It listens, and receives.
    Server,
}

impl Builder<'_> {
    /// Adds both sockets of `connection`.
    pub(crate) fn add_connection(
        &mut self,
        connection: &Connection,
        place: &Place,
    ) -> Result<(), BuildError> {
        let client =
            Endpoint::connect(self.endpoint(connection, Side::Client, &place.path)?, connection.start);
        let server = Endpoint::listen(self.endpoint(connection, Side::Server, &place.path)?);
        self.add_tcp_socket(client, (connection, Side::Client), place)?;
        self.add_tcp_socket(server, (connection, Side::Server), place)
    }

    fn add_tcp_socket(
        &mut self,
        mut endpoint: Endpoint,
        (connection, side): (&Connection, Side),
        place: &Place,
    ) -> Result<(), BuildError> {
        let end = side as usize;
        let (host, peer) = (connection.ends[end], connection.ends[1 - end]);
        let device = self.first_hop(host, peer, &place.path)?;
        let root = &self.world.devices[device.index()].root;
        if root.as_ref().is_some_and(|root| root.takes_over_pacing()) {
            endpoint.leave_pacing_to_fq();
        }
        let draws = match side {
            Side::Client => self.streams.stream(connection.name, "cc"),
            Side::Server => self.streams.stream(&format!("{}/receiver", connection.name), "cc"),
        };
        let socket = TcpSocket {
            endpoint,
            host: HostId(host),
            device,
            alarm: Alarm::default(),
            timer: crate::timers::Place::default(),
            draws,
            woken: Wakeup::default(),
            awaits_credit: false,
            tos: tos(connection.dscp),
            sends: side == Side::Client,
        };
        self.push_socket(connection.sockets[end], place, Transport::Tcp(Box::new(socket)));
        Ok(())
    }

    fn endpoint(
        &mut self,
        connection: &Connection,
        side: Side,
        path: &str,
    ) -> Result<EndpointConfig, BuildError> {
        let end = side as usize;
        let (socket, peer) = (connection.sockets[end], connection.sockets[1 - end]);
        let host = &self.settings[usize::from(connection.ends[end])];
        let mut chosen = self.control(connection.cc, side, host, path)?;
        if !connection.senders.contains(&side) {
            // A control that never acts needs no state.
            chosen.control = Control::Window(Box::new(Reno));
        }
        let [from, to] = connection.ends;
        let mtu = self.path_mtu(from, to).min(self.path_mtu(to, from));
        Ok(EndpointConfig {
            socket,
            peer,
            peer_host: HostId(connection.ends[1 - end]),
            flow_hash: conversation_hash(socket, peer),
            settings: self.settings_for(connection.ends[end], mtu, connection.ip.0),
            small_queue: small_queue_limit(connection.tsq),
            options: socket_options(connection.options, side),
            control: chosen.control,
            wants_pacing: chosen.wants_pacing,
            needs_ecn: chosen.needs_ecn,
            sndbuf_factor: chosen.sndbuf_factor,
        })
    }

    /// The control of one end: by its row, or built by the user's source. The receiver of a control of the user has
    /// Reno, which never acts, because a receiver sends no data.
    fn control(
        &self,
        cc: &CongestionControl,
        side: Side,
        host: &Settings,
        path: &str,
    ) -> Result<Chosen, BuildError> {
        let source = self.scenario.controls.iter().find(|source| source.name == cc.name);
        let row = match source {
            Some(source) if side == Side::Client => return own_control(self.own, source, cc, path),
            Some(_) => &tailback_cc::reno::ROW,
            None => find_control(&cc.name, path)?,
        };
        let peer_needs_ecn = match source {
            Some(source) => self
                .own
                .needs_ecn(source, &cc.parameters)
                .map_err(|problem| refused(problem, source, path))?,
            None => false,
        };
        let parameters = control_parameters(row, cc, host);
        let control = parameters.check(row.parameters).and_then(|()| (row.build)(&parameters));
        let control = control.map_err(|error| parameter_error(error, &format!("{path}.cc.options")))?;
        Ok(Chosen {
            control,
            wants_pacing: row.wants_pacing,
            needs_ecn: row.needs_ecn || peer_needs_ecn,
            sndbuf_factor: row.sndbuf_factor,
        })
    }

    /// The settings of `host` for a path with this MTU: sockets that have the same share them.
    fn settings_for(&mut self, host: u16, mtu: u32, ip: IpVersion) -> Arc<Settings> {
        let host_settings = &self.settings[usize::from(host)];
        let shared = self.shared_settings.entry((host, mtu, ip.header()));
        Arc::clone(shared.or_insert_with(|| Arc::new(Settings { mtu, ip, ..host_settings.clone() })))
    }
}

/// A control with the facts of its row.
struct Chosen {
    control: Control,
    wants_pacing: bool,
    needs_ecn: bool,
    sndbuf_factor: u32,
}

/// A control of the user.
fn own_control(
    own: &dyn OwnControls,
    source: &ControlSource,
    cc: &CongestionControl,
    path: &str,
) -> Result<Chosen, BuildError> {
    let built = own.build(source, &cc.parameters).map_err(|problem| refused(problem, source, path))?;
    let OwnControl { control, wants_pacing, sndbuf_factor, needs_ecn } = built;
    Ok(Chosen { control, wants_pacing, needs_ecn, sndbuf_factor })
}

fn refused(problem: String, source: &ControlSource, path: &str) -> BuildError {
    BuildError::new(format!("{path}.cc"), problem, format!("correct {}", source.name))
}

/// The parameters that the flow sets, and those in which the stack's version of the control differs.
fn control_parameters(row: &tailback_cc::Row, cc: &CongestionControl, settings: &Settings) -> Parameters {
    let mut parameters = Parameters::new(cc.options.clone());
    settings.stack.adapt(row, &mut parameters);
    parameters
}

fn find_control(name: &str, path: &str) -> Result<&'static tailback_cc::Row, BuildError> {
    tailback_cc::registry::find(name).ok_or_else(|| {
        let known = tailback_cc::registry::ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let problem = format!("no congestion control `{name}`");
        BuildError::new(format!("{path}.cc.name"), problem, format!("write one of: {known}"))
    })
}

/// Each end has its own; the other's are those of a plain socket.
fn socket_options(asked: &scenario::SocketOptions, side: Side) -> SocketOptions {
    match side {
        Side::Client => SocketOptions {
            max_pacing_rate: asked.max_pacing_rate_bps.map(Rate::from_bits_per_sec),
            sndbuf: asked.sndbuf,
            notsent_lowat: asked.notsent_lowat,
            mss: asked.mss,
            ..SocketOptions::default()
        },
        Side::Server => {
            SocketOptions { rcvbuf: asked.rcvbuf, rcvlowat: asked.rcvlowat, ..SocketOptions::default() }
        }
    }
}

fn small_queue_limit(tsq: SmallQueue) -> SmallQueueLimit {
    match tsq {
        SmallQueue::Time { shift } => SmallQueueLimit::Shift(shift),
        SmallQueue::Check { shift } => SmallQueueLimit::Check(shift),
        SmallQueue::Off => SmallQueueLimit::Off,
        SmallQueue::Bytes { bytes } => SmallQueueLimit::Bytes(bytes),
        SmallQueue::Packets { packets } => SmallQueueLimit::Packets(packets),
    }
}
