//! From a resolved scenario to a world. Every refusal names the path of the key in the scenario.

mod disciplines;

use tailback_engine::{Alarm, Streams};
use tailback_packet::{DropReason, HostId, IPV4_HEADER, SocketId};
use tailback_record::{Record, Wifi};
use tailback_tcp::{Endpoint, EndpointConfig, Settings, SmallQueueLimit, SocketOptions, Wakeup};
use tailback_units::{Bytes, ParameterError, Parameters, Rate, SimTime, Span};

use crate::app::{Bulk, Ping, Udp, udp};
use crate::capture::Captures;
use crate::check::check;
use crate::device::{Device, Segmentation};
use crate::journal::Journal;
use crate::link;
use crate::radio::{self, Radio};
use crate::route::Routes;
use crate::scenario::{Link, Offloads, PingTraffic, Scenario, SmallQueue, TcpTraffic, Traffic, UdpTraffic};
use crate::socket::{Flow, TcpSocket};
use crate::stage::Stage;
use crate::timers::{Place, Timers};
use crate::wire::Wire;
use crate::world::{Event, World};
use crate::{BuildError, DeviceId, conversation_hash, sysctl};

/// Parts of a run after which the watcher is told.
const PROGRESS_STEPS: u64 = 100;

impl World {
    /// The world of `scenario`, before anything has happened.
    pub fn build(scenario: &Scenario) -> Result<World, BuildError> {
        check(scenario)?;
        let mut builder = Builder::new(scenario)?;
        builder.add_devices()?;
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            if let Traffic::Tcp(tcp) = traffic {
                builder.add_flow(tcp, &format!("traffic[{index}]"))?;
            }
        }
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            if let Traffic::Ping(ping) = traffic {
                builder.add_ping(ping, &format!("traffic[{index}]"))?;
            }
        }
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            if let Traffic::Udp(udp) = traffic {
                builder.add_udp(udp, &format!("traffic[{index}]"))?;
            }
        }
        Ok(builder.finish())
    }
}

/// A world on its way.
struct Builder<'a> {
    scenario: &'a Scenario,
    /// Those of the scenario, then a link for each station of its cells.
    links: Vec<Link>,
    streams: Streams,
    settings: Vec<Settings>,
    world: World,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario) -> Result<Self, BuildError> {
        let of_host = |(index, host)| sysctl::settings(host, &format!("hosts[{index}]"));
        let settings = scenario.hosts.iter().enumerate().map(of_host).collect::<Result<_, _>>()?;
        let links = radio::all_links(scenario);
        let world = World {
            end: SimTime::from_nanos(scenario.duration_ns),
            interval: Span::from_nanos(scenario.record.interval_ns),
            tcp_info_rows: scenario.record.tcp_info,
            routes: Routes::new(scenario.hosts.len(), &links, &scenario.routes),
            devices: Vec::with_capacity(2 * links.len()),
            schedule: Vec::new(),
            sockets: Vec::with_capacity(2 * scenario.traffic.len()),
            flows: Vec::with_capacity(scenario.traffic.len()),
            pings: Vec::new(),
            udp: Vec::new(),
            stage: Stage::new(journal(scenario), Captures::new(scenario)),
            small_queues: Vec::new(),
            timers: Timers::default(),
            steps: 0,
            runnable: Default::default(),
        };
        Ok(Builder { scenario, links, streams: Streams::new(scenario.seed), settings, world })
    }

    fn add_devices(&mut self) -> Result<(), BuildError> {
        for (index, link) in self.links.clone().iter().enumerate() {
            for end in 0..2 {
                let device = self.device(index, link, end)?;
                self.world.devices.push(device);
            }
            self.add_schedule(link, index)?;
        }
        self.add_channels()
    }

    /// Changes are the first in the calendar, and so at their instant.
    fn add_schedule(&mut self, link: &Link, index: usize) -> Result<(), BuildError> {
        for (at_ns, change) in link::schedule(link, index)? {
            let number =
                u32::try_from(self.world.schedule.len()).expect("a schedule has fewer than 2^32 lines");
            self.world.schedule.push(change);
            self.world.stage.wake_at(SimTime::from_nanos(at_ns), Event::Change(number));
        }
        Ok(())
    }

    /// Puts the radios of each cell on their channel, and their devices on these radios.
    fn add_channels(&mut self) -> Result<(), BuildError> {
        let mut link = self.scenario.links.len();
        self.world.stage.channels = radio::channels(self.scenario, &mut self.streams)?;
        for (cell, berth) in self.scenario.cells.iter().zip(radio::berths(self.scenario)) {
            for place in 0..cell.stations.len() {
                for end in 0..2 {
                    let radio = Radio::of(berth, place, end);
                    let device = &mut self.world.devices[DeviceId::of(link, end).index()];
                    device.radio = Some(radio);
                    // A radio takes no skb of several segments: the kernel cuts it before the driver sees it.
                    device.segmentation = Segmentation::BelowQdisc;
                }
                link += 1;
            }
        }
        Ok(())
    }

    fn device(&mut self, index: usize, link: &Link, end: usize) -> Result<Device, BuildError> {
        let name = device_name(self.scenario, link, end);
        self.world.stage.journal.devices.push(self.world.stage.journal.record.names.give(&name));
        let path = link::path(link, (index, end), &name, &mut self.streams)?;
        let delay = if path.is_some() { 0 } else { link.delay_ns[end] };
        Ok(Device {
            id: DeviceId::of(index, end),
            peer: HostId(link.ends[1 - end]),
            root: disciplines::root(self.scenario, index, link, end)?,
            radio: None,
            nic: link::nic(self.scenario, link, end),
            segmentation: segmentation(self.scenario, link),
            wire: Wire::new(Span::from_nanos(delay)),
            path,
            draws: self.streams.stream(&name, "qdisc"),
            watchdog: SimTime::NEVER,
            completion: SimTime::NEVER,
            awaiting_credit: 0,
            drops: [0; DropReason::ALL.len()],
            marks_noted: 0,
        })
    }

    fn add_flow(&mut self, tcp: &TcpTraffic, path: &str) -> Result<(), BuildError> {
        let device = self.first_hop(tcp.from, tcp.to, path)?;
        let back = self.first_hop(tcp.to, tcp.from, path)?;
        self.refuse_timeless(tcp, path)?;
        let flow = u32::try_from(self.world.flows.len()).expect("a world has fewer than four billion flows");
        let start = SimTime::from_nanos(tcp.start_ns);
        let sender = Endpoint::connect(self.endpoint_config(tcp, Side::Sender, path)?, start);
        let receiver = Endpoint::listen(self.endpoint_config(tcp, Side::Receiver, path)?);
        let tos = tos(tcp.dscp);
        self.add_socket(sender, (tcp.from, tos), device, &tcp.name);
        self.add_socket(receiver, (tcp.to, tos), back, &format!("{}/receiver", tcp.name));
        let name = self.world.stage.journal.record.names.give(&tcp.name);
        let bulk = Bulk::new(tcp.bytes);
        self.world.flows.push(Flow { name, bulk, read: Bytes::ZERO, recorded: Bytes::ZERO });
        self.world.stage.journal.conversations.push(name);
        self.world.stage.wake_at(start, Event::Start(flow));
        if let Some(stop) = tcp.stop_ns {
            self.world.stage.wake_at(SimTime::from_nanos(stop), Event::Stop(flow));
        }
        Ok(())
    }

    fn add_socket(&mut self, mut endpoint: Endpoint, (host, tos): (u16, u8), device: DeviceId, name: &str) {
        let root = &self.world.devices[device.index()].root;
        if root.as_ref().is_some_and(|root| root.takes_over_pacing()) {
            endpoint.leave_pacing_to_fq();
        }
        let draws = self.streams.stream(name, "cc");
        let (alarm, timer, woken) = (Alarm::default(), Place::default(), Wakeup::default());
        self.world.sockets.push(TcpSocket {
            endpoint,
            host: HostId(host),
            device,
            alarm,
            timer,
            draws,
            woken,
            awaits_credit: false,
            tos,
        });
    }

    fn endpoint_config(
        &self,
        tcp: &TcpTraffic,
        side: Side,
        path: &str,
    ) -> Result<EndpointConfig, BuildError> {
        let sender = SocketId(2 * self.world.flows.len() as u32);
        let receiver = SocketId(sender.0 + 1);
        let (socket, peer, host, peer_host) = match side {
            Side::Sender => (sender, receiver, tcp.from, tcp.to),
            Side::Receiver => (receiver, sender, tcp.to, tcp.from),
        };
        let row = find_control(&tcp.cc.name, path)?;
        let parameters = control_parameters(row, tcp, &self.settings[usize::from(host)]);
        let control = parameters.check(row.parameters).and_then(|()| (row.build)(&parameters));
        let control = control.map_err(|error| parameter_error(error, &format!("{path}.cc.options")))?;
        let mtu = self.path_mtu(tcp.from, tcp.to).min(self.path_mtu(tcp.to, tcp.from));
        Ok(EndpointConfig {
            socket,
            peer,
            peer_host: HostId(peer_host),
            flow_hash: conversation_hash(socket, peer),
            settings: Settings { mtu, ip: tcp.ip.0, ..self.settings[usize::from(host)].clone() },
            small_queue: small_queue_limit(tcp.tsq),
            options: socket_options(&tcp.socket, side),
            control,
            wants_pacing: row.wants_pacing,
            needs_ecn: row.needs_ecn,
            sndbuf_factor: row.sndbuf_factor,
        })
    }

    fn add_ping(&mut self, ping: &PingTraffic, path: &str) -> Result<(), BuildError> {
        self.first_hop(ping.from, ping.to, path)?;
        self.first_hop(ping.to, ping.from, path)?;
        let mtu = self.path_mtu(ping.from, ping.to).min(self.path_mtu(ping.to, ping.from));
        if ping.size > mtu - IPV4_HEADER || ping.size < 8 {
            let remedy = format!("write 8 to {}: an ICMP header, and no fragments", mtu - IPV4_HEADER);
            return Err(BuildError::new(
                format!("{path}.size"),
                format!("{} bytes do not fit", ping.size),
                remedy,
            ));
        }
        let index = self.world.pings.len();
        let name = self.world.stage.journal.record.names.give(&ping.name);
        let socket = SocketId(2 * (self.world.flows.len() + index) as u32);
        self.world.stage.journal.conversations.push(name);
        self.world.stage.wake_at(SimTime::from_nanos(ping.start_ns), Event::Echo(index as u32));
        self.world.pings.push(Ping {
            name,
            host: HostId(ping.from),
            to: HostId(ping.to),
            interval: Span::from_nanos(ping.interval_ns),
            stop: SimTime::from_nanos(ping.stop_ns),
            size: ping.size,
            tos: tos(ping.dscp),
            socket,
            requests: Vec::new(),
        });
        Ok(())
    }

    fn add_udp(&mut self, udp: &UdpTraffic, path: &str) -> Result<(), BuildError> {
        let device = self.first_hop(udp.from, udp.to, path)?;
        let mtu = self.path_mtu(udp.from, udp.to);
        let most = mtu - IPV4_HEADER - udp::HEADER;
        if udp.size > most {
            let problem = format!("{} bytes do not fit", udp.size);
            return Err(BuildError::new(
                format!("{path}.size"),
                problem,
                format!("write 1 to {most}: no fragments"),
            ));
        }
        let index = self.world.udp.len();
        let name = self.world.stage.journal.record.names.give(&udp.name);
        let conversation = self.world.flows.len() + self.world.pings.len() + index;
        self.world.stage.journal.conversations.push(name);
        self.world.stage.wake_at(SimTime::from_nanos(udp.start_ns), Event::Datagram(index as u32));
        let gap = u128::from(udp.size) * 8_000_000_000 / u128::from(udp.rate_bps);
        self.world.udp.push(Udp {
            name,
            host: HostId(udp.from),
            to: HostId(udp.to),
            device,
            socket: SocketId(2 * conversation as u32),
            tos: tos(udp.dscp),
            gap: Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX).max(1)),
            stop: SimTime::from_nanos(udp.stop_ns),
            size: udp.size,
            send_buffer: udp.sndbuf.map_or(udp::SEND_BUFFER, |asked| 2 * asked),
            unsent: 0,
            blocked: false,
            sent: 0,
            interval: Default::default(),
        });
        Ok(())
    }

    fn first_hop(&self, from: u16, to: u16, path: &str) -> Result<DeviceId, BuildError> {
        let hosts = &self.scenario.hosts;
        let names = || (&hosts[usize::from(from)].name, &hosts[usize::from(to)].name);
        let first = self.world.routes.next(HostId(from), HostId(to)).ok_or_else(|| {
            let (from, to) = names();
            BuildError::new(path, format!("no path from `{from}` to `{to}`"), "connect them by links")
        })?;
        if self.way(from, to).take(hosts.len()).any(|device| device.peer == HostId(to)) {
            return Ok(first);
        }
        let (from, to) = names();
        let problem = format!("routes do not lead from `{from}` to `{to}`, but in a circle");
        Err(BuildError::new(path, problem, "change `routes` of the hosts on the way"))
    }

    /// The longest packet that fits all links on the way: what path MTU discovery finds.
    fn path_mtu(&self, from: u16, to: u16) -> u32 {
        let mtus = self.way(from, to).map(|device| self.links[device.id.index() / 2].mtu);
        mtus.min().expect("a way has a link")
    }

    /// On a round trip that takes no time a flow without an end sends for ever at one instant.
    fn refuse_timeless(&self, tcp: &TcpTraffic, path: &str) -> Result<(), BuildError> {
        let endless = tcp.bytes.is_none() && tcp.socket.max_pacing_rate_bps.is_none();
        let mut round_trip = self.way(tcp.from, tcp.to).chain(self.way(tcp.to, tcp.from));
        if !endless || round_trip.any(|device| device.takes_time()) {
            return Ok(());
        }
        let [from, to] = [tcp.from, tcp.to].map(|host| &self.scenario.hosts[usize::from(host)].name);
        let problem = format!("no time passes on the way from `{from}` to `{to}` and back");
        Err(BuildError::new(
            path,
            problem,
            "give a link on it a `rate` or a `delay`, or the flow its `bytes`",
        ))
    }

    /// The devices on the way.
    fn way(&self, from: u16, to: u16) -> impl Iterator<Item = &Device> {
        let device = move |host| {
            let next = self.world.routes.next(host, HostId(to));
            next.map(|device: DeviceId| &self.world.devices[device.index()])
        };
        std::iter::successors(device(HostId(from)), move |last| device(last.peer))
    }

    fn finish(mut self) -> World {
        let end = self.scenario.duration_ns;
        self.world.stage.wake_at(SimTime::ZERO + self.world.interval, Event::Sample);
        for step in 1..PROGRESS_STEPS {
            let at =
                SimTime::from_nanos((u128::from(end) * u128::from(step) / u128::from(PROGRESS_STEPS)) as u64);
            self.world.stage.wake_at(at, Event::Progress);
        }
        self.world
    }
}

/// Which end of a connection.
#[derive(Clone, Copy)]
enum Side {
    Sender,
    Receiver,
}

/// The type-of-service octet of a code point.
fn tos(dscp: u8) -> u8 {
    dscp << 2
}

fn journal(scenario: &Scenario) -> Journal {
    let wifi = (!scenario.cells.is_empty()).then(Wifi::default);
    let mut record = Record { wifi, ..Record::default() };
    let hosts = scenario.hosts.iter().map(|host| record.names.give(&host.name)).collect();
    let packet_rows = scenario.record.events;
    Journal { record, packet_rows, hosts, devices: Vec::new(), conversations: Vec::new() }
}

fn device_name(scenario: &Scenario, link: &Link, end: usize) -> String {
    let [from, to] = [link.ends[end], link.ends[1 - end]].map(|host| &scenario.hosts[usize::from(host)].name);
    format!("{from} -> {to}")
}

/// A train stays one skb on a link whose ends both have offloads on; else the device gets segments.
fn segmentation(scenario: &Scenario, link: &Link) -> Segmentation {
    let on = |end: &u16| scenario.hosts[usize::from(*end)].offloads == Offloads::On;
    if link.ends.iter().all(on) { Segmentation::None } else { Segmentation::BelowQdisc }
}

/// What the flow sets, and what the stack's version of the control has not.
fn control_parameters(row: &tailback_cc::Row, tcp: &TcpTraffic, settings: &Settings) -> Parameters {
    let mut parameters = Parameters::new(tcp.cc.options.clone());
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
fn socket_options(asked: &crate::scenario::SocketOptions, side: Side) -> SocketOptions {
    match side {
        Side::Sender => SocketOptions {
            max_pacing_rate: asked.max_pacing_rate_bps.map(Rate::from_bits_per_sec),
            sndbuf: asked.sndbuf,
            notsent_lowat: asked.notsent_lowat,
            mss: asked.mss,
            ..SocketOptions::default()
        },
        Side::Receiver => {
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

/// A value that an algorithm does not take, with the path of that value.
pub(crate) fn parameter_error(error: ParameterError, options: &str) -> BuildError {
    let (name, remedy) = match &error {
        ParameterError::Unknown(name, known) => (name.clone(), format!("write one of: {}", known.join(", "))),
        ParameterError::OutOfRange { name, least, most, .. } => {
            (name.clone(), format!("write {least} to {most}"))
        }
        ParameterError::Missing(name) => ((*name).to_owned(), "add it".to_owned()),
        ParameterError::Conflict { name, .. } => ((*name).to_owned(), "change one of the two".to_owned()),
    };
    BuildError::new(format!("{options}.{name}"), error.to_string(), remedy)
}
