//! The sockets of a conversation, by what carries it.

use tailback_packet::{HostId, IPV4_HEADER, SocketId, UDP_HEADER, conversation_hash};
use tailback_traffic::{Carrier, Connections, Machine, Purpose, Traffic};
use tailback_units::SimTime;

use super::{Builder, Connection, tos};
use crate::connection::ServerRole;
use crate::conversation::{Conversation, Sampled};
use crate::scenario::{Numbered, TrafficPath};
use crate::socket::{EchoSocket, EndpointSocket, SEND_BUFFER, Socket, Transport, UdpSocket};
use crate::{BuildError, ConversationId, DeviceId, Event, TimerId};

/// Bytes of an ICMP or UDP header.
const ECHO_HEADER: u32 = 8;

/// Where a conversation is: its number and that of its first socket, and its path in the scenario for error messages.
pub(super) struct Place {
    pub(super) conversation: ConversationId,
    /// Sockets come in pairs: the one of the first host, then the one of the second.
    first_socket: u32,
    pub(super) path: TrafficPath,
}

impl Place {
    /// The sockets of one of its pairs.
    fn pair(&self, number: u32) -> [SocketId; 2] {
        [0, 1].map(|end| SocketId(self.first_socket + 2 * number + end))
    }
}

impl Builder<'_> {
    pub(super) fn add_conversation(&mut self, numbered: &Numbered) -> Result<(), BuildError> {
        let count =
            u32::try_from(self.world.conversations.len()).expect("fewer than four billion conversations");
        let place = Place {
            conversation: ConversationId(count),
            first_socket: numbered.first_socket,
            path: numbered.path,
        };
        let traffic = numbered.traffic;
        let journal = &mut self.world.context.journal;
        let name = journal.record.names.give(traffic.name());
        journal.sockets.extend(numbered.sockets().map(|_| name));
        let first_planned = self.world.next_planned();
        self.add_sockets(traffic, &place)?;
        self.set_timer(&place, traffic.start_ns(), TimerId::START);
        if let Some(closes_ns) = traffic.closes_ns() {
            self.set_timer(&place, closes_ns, TimerId::OWN);
        }
        let machine = Machine::of(traffic);
        if machine.held().is_some() {
            self.world.growing.push(place.conversation);
        }
        let planned = first_planned..self.world.next_planned();
        if planned.is_empty() {
            self.world.present.push(place.conversation);
        }
        let barrier = traffic.barrier().map(|name| self.join_barrier(name));
        self.world.conversations.push(Conversation {
            name,
            first_pair: place.pair(0),
            machine: Some(machine),
            planned,
            read: Default::default(),
            recorded: Default::default(),
            sampled: Sampled::of(traffic),
            barrier,
        });
        Ok(())
    }

    /// One more waits at the barrier of this name.
    fn join_barrier(&mut self, name: &str) -> usize {
        let place = self.barriers.iter().position(|known| known == name).unwrap_or_else(|| {
            self.barriers.push(name.to_owned());
            self.world.barriers.push(Default::default());
            self.barriers.len() - 1
        });
        self.world.barriers[place].members += 1;
        place
    }

    fn set_timer(&mut self, place: &Place, at_ns: u64, timer: TimerId) {
        let event = Event::Application(place.conversation, timer);
        self.world.context.wake_at(SimTime::from_nanos(at_ns), event);
    }

    fn add_sockets(&mut self, traffic: &Traffic, place: &Place) -> Result<(), BuildError> {
        match traffic.carrier() {
            Carrier::Tcp(connections) => self.add_connections(traffic, &connections, place),
            Carrier::Datagrams { size, sndbuf, reports } => {
                self.add_datagram_sockets(traffic, place, size, (sndbuf, reports))
            }
            Carrier::Endpoints { sndbuf } => self.add_endpoint_sockets(traffic, place, sndbuf),
            Carrier::Echo { size, .. } => self.add_echo_sockets(traffic, place, size),
        }
    }

    fn add_connections(
        &mut self,
        traffic: &Traffic,
        connections: &Connections,
        place: &Place,
    ) -> Result<(), BuildError> {
        let ends = traffic.ends();
        self.check_path(ends, place.path)?;
        self.refuse_endless_instant(ends, connections, place.path)?;
        let server = match connections.purpose {
            Purpose::Bulk { .. } => ServerRole::Counts,
            Purpose::Requests { .. } => ServerRole::Answers,
        };
        for number in 0..connections.count {
            let connection = Connection {
                sockets: place.pair(number),
                ends,
                name: traffic.name(),
                start: SimTime::from_nanos(traffic.start_ns()),
                server,
                cc: connections.cc,
                tsq: connections.tsq,
                options: connections.socket,
                dscp: traffic.dscp(),
                ip: connections.ip,
            };
            self.add_connection(&connection, place)?;
        }
        Ok(())
    }

    /// Refuses what would go on forever at one time over a path without delay.
    fn refuse_endless_instant(
        &self,
        ends: [u16; 2],
        connections: &Connections,
        path: TrafficPath,
    ) -> Result<(), BuildError> {
        let is_limited = match connections.purpose {
            Purpose::Bulk { bytes } => bytes.is_some() || connections.socket.max_pacing_rate_bps.is_some(),
            Purpose::Requests { .. } => false,
        };
        if is_limited || self.round_trip_takes_time(ends) {
            return Ok(());
        }
        let [from, to] = ends.map(|host| self.host_name(host));
        Err(match connections.purpose {
            Purpose::Bulk { .. } => BuildError::new(
                path,
                format_args!("no time passes on the way from `{from}` to `{to}` and back"),
                "give a link on it a `rate` or a `delay`, or the flow its `bytes`",
            ),
            Purpose::Requests { .. } => BuildError::new(
                path,
                "no time passes from a request to its answer",
                "give a link on the way a `rate` or a `delay`",
            ),
        })
    }

    /// Adds a UDP socket that sends and its peer, which only receives unless it reports.
    fn add_datagram_sockets(
        &mut self,
        traffic: &Traffic,
        place: &Place,
        size: u32,
        (sndbuf, reports): (Option<u64>, Option<u32>),
    ) -> Result<(), BuildError> {
        let [from, to] = traffic.ends();
        let device = self.first_hop(from, to, place.path)?;
        let max = self.path_mtu(from, to) - IPV4_HEADER - UDP_HEADER;
        if size > max {
            return Err(does_not_fit(place.path, size, format!("write 1 to {max}: no fragments")));
        }
        let [socket, peer] = place.pair(0);
        let sender = udp_socket(socket, [from, to], device, (traffic.dscp(), sndbuf));
        self.push_socket(socket, place, Transport::Udp(Box::new(sender)));
        let receiver = if let Some(report) = reports {
            let device = self.first_hop(to, from, place.path)?;
            if report > self.path_mtu(to, from) - IPV4_HEADER - UDP_HEADER {
                let remedy = "give the links on the way back a larger `mtu`".to_owned();
                return Err(does_not_fit(place.path, report, remedy));
            }
            Transport::Udp(Box::new(udp_socket(peer, [to, from], device, (traffic.dscp(), None))))
        } else {
            Transport::Stateless
        };
        self.push_socket(peer, place, receiver);
        Ok(())
    }

    /// Adds two UDP sockets that send to each other what endpoints outside of the world give them.
    fn add_endpoint_sockets(
        &mut self,
        traffic: &Traffic,
        place: &Place,
        sndbuf: Option<u64>,
    ) -> Result<(), BuildError> {
        let [from, to] = traffic.ends();
        self.check_path([from, to], place.path)?;
        let max = self.path_mtu(from, to).min(self.path_mtu(to, from)) - IPV4_HEADER - UDP_HEADER;
        let sockets = place.pair(0);
        let pair = self.world.endpoints.add(sockets, traffic.name(), max);
        for (socket, ends) in sockets.into_iter().zip([[from, to], [to, from]]) {
            let device = self.first_hop(ends[0], ends[1], place.path)?;
            let udp = udp_socket(socket, ends, device, (traffic.dscp(), sndbuf));
            self.push_socket(socket, place, Transport::Endpoint(Box::new(EndpointSocket { udp, pair })));
        }
        Ok(())
    }

    /// Adds a socket that sends echo requests, and its peer.
    fn add_echo_sockets(&mut self, traffic: &Traffic, place: &Place, size: u32) -> Result<(), BuildError> {
        let [from, to] = traffic.ends();
        self.check_path([from, to], place.path)?;
        let max = self.path_mtu(from, to).min(self.path_mtu(to, from)) - IPV4_HEADER;
        if size > max || size < ECHO_HEADER {
            let remedy = format!("write {ECHO_HEADER} to {max}: an ICMP header, and no fragments");
            return Err(does_not_fit(place.path, size, remedy));
        }
        let [socket, peer] = place.pair(0);
        let sender = EchoSocket { socket, hosts: [HostId(from), HostId(to)], tos: tos(traffic.dscp()) };
        self.push_socket(socket, place, Transport::Echo(Box::new(sender)));
        self.push_socket(peer, place, Transport::Stateless);
        Ok(())
    }

    pub(super) fn push_socket(&mut self, id: SocketId, place: &Place, transport: Transport) {
        self.world.sockets.push(id, Socket { conversation: place.conversation, transport });
    }
}

fn udp_socket(
    socket: SocketId,
    [from, to]: [u16; 2],
    device: DeviceId,
    (dscp, sndbuf): (u8, Option<u64>),
) -> UdpSocket {
    UdpSocket {
        socket,
        host: HostId(from),
        peer_host: HostId(to),
        device,
        tos: tos(dscp),
        flow_hash: conversation_hash(socket, SocketId(socket.0 ^ 1)),
        send_buffer: sndbuf.map_or(SEND_BUFFER, |asked| 2 * asked),
        unsent: 0,
        blocked: false,
    }
}

/// The error for `size` bytes that do not fit into a packet of the path.
fn does_not_fit(path: TrafficPath, size: u32, remedy: String) -> BuildError {
    BuildError::new(format!("{path}.size"), format!("{size} bytes do not fit"), remedy)
}
