//! Plans the two sockets of a TCP connection.

use std::sync::Arc;

use tailback_cc::{Control, EcnNeed};
use tailback_packet::{HostId, IpVersion, SocketId};
use tailback_tcp::{Settings, SmallQueueLimit, SocketOptions};
use tailback_units::{Parameters, Rate, SimTime, Span};

use super::traffic::Place;
use super::{Builder, tos};
use crate::connection::{Blueprint, End, Planned, Recipe, Sending, ServerRole, Side};
use crate::error::parameter_error;
use crate::scenario::{CongestionControl, ControlSource, InternetProtocol, SmallQueue, TrafficPath};
use crate::socket::Transport;
use crate::{BuildError, OwnControl, OwnControls, scenario};

/// A TCP connection that is to be made.
pub(super) struct Connection<'a> {
    /// The socket that connects and the one that listens.
    pub(super) sockets: [SocketId; 2],
    /// Their hosts.
    pub(super) ends: [u16; 2],
    pub(super) name: &'a str,
    /// When it connects.
    pub(super) start: SimTime,
    /// What the server's application does.
    pub(super) server: ServerRole,
    /// Congestion control of the ends that send data.
    pub(super) cc: &'a CongestionControl,
    /// Limit of the small queues.
    pub(super) tsq: SmallQueue,
    pub(super) options: &'a scenario::SocketOptions,
    pub(super) dscp: u8,
    pub(super) ip: InternetProtocol,
}

/// A blueprint with what it was made from: connections that have it in common follow each other.
pub(super) struct SharedBlueprint {
    ends: [u16; 2],
    server: ServerRole,
    cc: CongestionControl,
    tsq: SmallQueue,
    options: scenario::SocketOptions,
    dscp: u8,
    ip: InternetProtocol,
    blueprint: Arc<Blueprint>,
}

impl SharedBlueprint {
    fn fits(&self, of: &Connection) -> bool {
        let numbers = (self.ends, self.server, self.dscp, self.ip) == (of.ends, of.server, of.dscp, of.ip);
        numbers && self.tsq == of.tsq && self.options == *of.options && self.cc == *of.cc
    }
}

impl Builder<'_> {
    /// Adds both sockets of `connection`: they are made when its application starts, except with a control that the
    /// user wrote.
    pub(super) fn add_connection(
        &mut self,
        connection: &Connection,
        place: &Place,
    ) -> Result<(), BuildError> {
        self.world.endpoints.beside_tcp = true;
        let (blueprint, built) = self.blueprint(connection, place.path)?;
        let planned = Planned { sockets: connection.sockets, start: connection.start, blueprint };
        if built.is_none() {
            for id in connection.sockets {
                self.push_socket(id, place, Transport::Planned);
            }
            self.world.planned.push(planned);
            return Ok(());
        }
        for (id, socket) in
            connection.sockets.into_iter().zip(planned.sockets(connection.name, self.streams, built))
        {
            self.push_socket(id, place, socket);
        }
        Ok(())
    }

    /// What `connection` has in common with others, and the control of its client if the user wrote it.
    fn blueprint(
        &mut self,
        connection: &Connection,
        path: TrafficPath,
    ) -> Result<(Arc<Blueprint>, Option<Control>), BuildError> {
        if let Some(last) = self.last_blueprint.as_ref().filter(|last| last.fits(connection)) {
            return Ok((Arc::clone(&last.blueprint), None));
        }
        let (client, client_sends, built) = self.end(connection, Side::Client, path)?;
        let (server, server_sends, _) = self.end(connection, Side::Server, path)?;
        // One that saves metrics saves those of its sender, too.
        let needs_sender =
            connection.server == ServerRole::Answers || server.settings.saved_metrics.is_some();
        let blueprint = Arc::new(Blueprint {
            client,
            server,
            client_sends,
            server_sends: needs_sender.then_some(server_sends),
            tos: tos(connection.dscp),
        });
        let &Connection { ends, server, cc, tsq, options, dscp, ip, .. } = connection;
        self.last_blueprint = built.is_none().then(|| SharedBlueprint {
            ends,
            server,
            cc: cc.clone(),
            tsq,
            options: *options,
            dscp,
            ip,
            blueprint: Arc::clone(&blueprint),
        });
        Ok((blueprint, built))
    }

    fn end(
        &mut self,
        connection: &Connection,
        side: Side,
        path: TrafficPath,
    ) -> Result<(End, Sending, Option<Control>), BuildError> {
        let [from, to] = connection.ends;
        let (host, peer) = (connection.ends[side as usize], connection.ends[1 - side as usize]);
        let chosen = self.control(connection.cc, side, &self.settings[usize::from(host)], path)?;
        let mtu = self.path_mtu(from, to).min(self.path_mtu(to, from));
        let device = self.first_hop(host, peer, path)?;
        let root = &self.world.network.devices[device.index()].root;
        let paced_below = root.as_ref().is_some_and(|root| root.takes_over_pacing());
        let end = End {
            host: HostId(host),
            device,
            settings: self.settings_for(host, mtu, ip_version(connection.ip)),
            options: socket_options(connection.options, side),
            needs_ecn: chosen.needs_ecn,
        };
        let sending = Sending {
            small_queue: small_queue_limit(connection.tsq),
            control: chosen.recipe,
            wants_pacing: chosen.wants_pacing,
            sndbuf_factor: chosen.sndbuf_factor,
            paced_below,
        };
        Ok((end, sending, chosen.built))
    }

    /// The control of one end: by its row, or built by the user's source. The receiver of a control of the user has
    /// Reno, which never acts, because a receiver sends no data.
    fn control(
        &self,
        cc: &CongestionControl,
        side: Side,
        host: &Settings,
        path: TrafficPath,
    ) -> Result<Chosen, BuildError> {
        let source = self.scenario.controls.iter().find(|source| source.name == cc.name);
        let row = match source {
            Some(source) if side == Side::Client => return own_control(self.own, source, cc, path),
            Some(_) => &tailback_cc::reno::ROW,
            None => find_control(&cc.name, path)?,
        };
        let needs_ecn = match source {
            Some(source) => self
                .own
                .needs_ecn(source, &cc.parameters)
                .map_err(|problem| refused(problem, source, path))?,
            None => row.needs_ecn,
        };
        let parameters = control_parameters(row, cc, host);
        let prototype = parameters.check(row.parameters).and_then(|()| (row.build)(&parameters));
        let prototype = prototype.map_err(|error| parameter_error(error, &format!("{path}.cc.options")))?;
        Ok(Chosen {
            recipe: Recipe::Copied(prototype),
            built: None,
            wants_pacing: row.wants_pacing,
            needs_ecn,
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

/// How a control is made, with the facts of its row.
struct Chosen {
    recipe: Recipe,
    /// The control itself, if the user wrote it.
    built: Option<Control>,
    wants_pacing: bool,
    needs_ecn: EcnNeed,
    sndbuf_factor: u32,
}

/// A control of the user.
fn own_control(
    own: &dyn OwnControls,
    source: &ControlSource,
    cc: &CongestionControl,
    path: TrafficPath,
) -> Result<Chosen, BuildError> {
    let built = own.build(source, &cc.parameters).map_err(|problem| refused(problem, source, path))?;
    let OwnControl { control, wants_pacing, sndbuf_factor, needs_ecn } = built;
    Ok(Chosen { recipe: Recipe::Built, built: Some(control), wants_pacing, needs_ecn, sndbuf_factor })
}

fn refused(problem: String, source: &ControlSource, path: TrafficPath) -> BuildError {
    BuildError::new(format!("{path}.cc"), problem, format!("correct {}", source.name))
}

/// The parameters that the flow sets, and those in which the stack's version of the control differs.
fn control_parameters(row: &tailback_cc::Row, cc: &CongestionControl, settings: &Settings) -> Parameters {
    let mut parameters = Parameters::new(cc.options.clone());
    settings.stack.adapt(row, &mut parameters);
    parameters
}

fn find_control(name: &str, path: TrafficPath) -> Result<&'static tailback_cc::Row, BuildError> {
    tailback_cc::registry::find(name).ok_or_else(|| {
        let known = tailback_cc::registry::ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let problem = format!("no congestion control `{name}`");
        BuildError::new(format!("{path}.cc.name"), problem, format!("write one of: {known}"))
    })
}

fn ip_version(ip: InternetProtocol) -> IpVersion {
    match ip {
        InternetProtocol::V4 => IpVersion::V4,
        InternetProtocol::V6 => IpVersion::V6,
    }
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

/// `sk_pacing_shift` that a check of its own leaves alone. [linux-6.12 sock.c sock_init_data_uid]
const PACING_SHIFT: u32 = 10;

fn small_queue_limit(tsq: SmallQueue) -> SmallQueueLimit {
    match tsq {
        SmallQueue::Time { shift, time_ns: None } => SmallQueueLimit::Shift(shift),
        SmallQueue::Check { shift, time_ns: None } => SmallQueueLimit::Check(shift),
        SmallQueue::Time { shift, time_ns: Some(time) } => {
            SmallQueueLimit::Time { pacing_shift: shift, span: Span::from_nanos(time) }
        }
        SmallQueue::Check { time_ns: Some(time), .. } => {
            SmallQueueLimit::Time { pacing_shift: PACING_SHIFT, span: Span::from_nanos(time) }
        }
        SmallQueue::Off => SmallQueueLimit::Off,
        SmallQueue::Bytes { bytes } => SmallQueueLimit::Bytes(bytes),
        SmallQueue::Packets { packets } => SmallQueueLimit::Packets(packets),
    }
}
