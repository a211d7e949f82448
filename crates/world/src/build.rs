//! Builds a world from a resolved scenario. Every refusal names the path of the key in the scenario.

mod capture;
mod connection;
mod disciplines;
mod link;
mod radio;
mod routes;
mod sysctl;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use tailback_engine::Streams;
use tailback_packet::{DropReason, HostId};
use tailback_qdisc::Bypassed;
use tailback_record::{Record, Wifi};
use tailback_tcp::Settings;
use tailback_units::{SimTime, Span};

use crate::check::check;
use crate::context::Context;
use crate::device::{Device, Segmentation, Way};
use crate::endpoints::Endpoints;
use crate::event_count::EventCount;
use crate::journal::Journal;
use crate::network::Network;
use crate::nic::Nic;
use crate::route::Routes;
use crate::scenario::{Cell, Link, Offloads, Scenario, TcpInfoRows, TrafficPath};
use crate::signal::{self, SignalOnDevice};
use crate::socket::Sockets;
use crate::sojourns::{Slot, Sojourns};
use crate::steps::Steps;
use crate::timers::Timers;
use crate::topology::{LinkEnd, RADIO_MTU, Topology};
use crate::turn::Waiting;
use crate::wire::Wire;
use crate::world::{AtAck, EVENTS_BETWEEN_CHECKS, World};
use crate::{BuildError, DeviceId, Event, OwnControls};

use connection::{Connection, SharedBlueprint};
use disciplines::{Bare, Unattached};

pub use radio::{Air, Sources};

/// Number of progress reports to the watcher in a run.
const PROGRESS_STEPS: u64 = 100;

impl World {
    /// The world of `scenario`, before anything has happened.
    pub fn build(scenario: &Scenario) -> Result<World, BuildError> {
        World::build_with(scenario, &())
    }

    /// Builds the world of a scenario, where `own` builds the controls that the user wrote.
    pub fn build_with(scenario: &Scenario, own: &dyn OwnControls) -> Result<World, BuildError> {
        check(scenario)?;
        let mut builder = Builder::new(scenario, own)?;
        builder.add_devices()?;
        for conversation in scenario.conversations() {
            builder.add_conversation(&conversation)?;
        }
        Ok(builder.finish())
    }
}

/// The name of a device in tables, which also names its random stream.
struct Names {
    shown: String,
    stream: String,
}

/// A world under construction.
struct Builder<'a> {
    scenario: &'a Scenario,
    own: &'a dyn OwnControls,
    topology: Topology,
    routes: Routes<LinkEnd>,
    streams: Streams,
    settings: Vec<Settings>,
    /// The settings of sockets, by host, MTU and the length of the IP header.
    shared_settings: BTreeMap<(u16, u32, u32), Arc<Settings>>,
    /// The last two hosts that were found to reach each other.
    connected: Option<[u16; 2]>,
    /// The blueprint of the last connection.
    last_blueprint: Option<SharedBlueprint>,
    /// The names of the barriers of the world.
    barriers: Vec<String>,
    world: World,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario, own: &'a dyn OwnControls) -> Result<Self, BuildError> {
        let of_host = |(index, host)| sysctl::settings(host, &format!("hosts[{index}]"));
        let settings = scenario.hosts.iter().enumerate().map(of_host).collect::<Result<_, _>>()?;
        let topology = Topology::of(scenario);
        let captures = capture::captures(scenario, &topology)?;
        let sockets = scenario.conversations().map(|numbered| numbered.sockets().count()).sum();
        let mut world = World {
            end: SimTime::from_nanos(scenario.duration_ns),
            interval: Span::from_nanos(scenario.record.interval_ns),
            slot: Slot::first(SimTime::from_nanos(scenario.duration_ns)),
            tcp_info_rows: scenario.record.tcp_info,
            at_ack: match (scenario.record.tcp_info, scenario.record.packets_ns) {
                (TcpInfoRows::Interval, None) => AtAck::Nothing,
                _ => AtAck::Rows,
            },
            network: Network::with_room(topology.links.len()),
            schedule: Vec::new(),
            signals: Vec::new(),
            sockets: Sockets::with_room(sockets),
            endpoints: Endpoints::default(),
            conversations: Vec::with_capacity(scenario.traffic.len()),
            planned: Vec::with_capacity(scenario.traffic.len()),
            present: Vec::new(),
            streams: Streams::new(scenario.seed),
            growing: Vec::new(),
            barriers: Vec::new(),
            context: Context::new(journal(scenario), captures),
            waiting: Waiting::default(),
            timers: Timers::default(),
            steps: Steps::default(),
            events: EventCount::new(EVENTS_BETWEEN_CHECKS),
        };
        let routes = routes::routes(scenario.hosts.len(), &topology.links, &scenario.routes);
        world.context.count_sockets(sockets);
        Ok(Builder {
            scenario,
            own,
            topology,
            routes,
            streams: world.streams,
            settings,
            shared_settings: BTreeMap::new(),
            connected: None,
            last_blueprint: None,
            barriers: Vec::new(),
            world,
        })
    }

    fn add_devices(&mut self) -> Result<(), BuildError> {
        for (index, link) in self.scenario.links.iter().enumerate() {
            for end in 0..2 {
                let device = self.wired_device(index, link, end)?;
                self.world.network.devices.push(device);
            }
            self.add_schedule(link, index)?;
        }
        for index in 0..self.scenario.cells.len() {
            self.add_radios(index)?;
        }
        self.add_signals()?;
        self.world.context.channels =
            radio::channels(self.scenario, &self.topology, &self.routes, &mut self.streams)?;
        Ok(())
    }

    /// Changes are the first in the calendar, and so at their instant.
    fn add_schedule(&mut self, link: &Link, index: usize) -> Result<(), BuildError> {
        for (at_ns, change) in link::schedule(link, index)? {
            let number =
                u32::try_from(self.world.schedule.len()).expect("a schedule has fewer than 2^32 lines");
            self.world.schedule.push(change);
            self.world.context.wake_at(SimTime::from_nanos(at_ns), Event::Change(number));
        }
        Ok(())
    }

    /// Changes of the signals of stations, like those of links.
    fn add_signals(&mut self) -> Result<(), BuildError> {
        for (index, cell) in self.scenario.cells.iter().enumerate() {
            let radios = radio::radio_places(self.scenario)[index];
            for (number, station) in cell.stations.iter().enumerate() {
                let device = self.topology.radio(index, number + 1);
                for signal in signal::of_station(station, radios.pair(number)) {
                    let event = u32::try_from(self.world.signals.len())
                        .expect("schedules have fewer than 2^32 lines");
                    self.world.context.wake_at(signal.at, Event::Signal(event));
                    self.world.signals.push(SignalOnDevice { channel: radios.channel(), device, signal });
                }
            }
        }
        Ok(())
    }

    /// The radio of the access point of a cell, then those of its stations.
    fn add_radios(&mut self, index: usize) -> Result<(), BuildError> {
        let (cell, radio_places) = (&self.scenario.cells[index], radio::radio_places(self.scenario)[index]);
        for number in 0..=cell.stations.len() {
            let unattached = radio::unattached(cell, number);
            let id = self.topology.radio(index, number);
            let host = radio::host(cell, number);
            let bare = Bare { id, host, mtu: RADIO_MTU, rate: None, unattached };
            let device = self.device(&bare, &self.radio_names(cell, number))?;
            self.world.network.devices.push(Device {
                radio: Some(radio_places.radio(number)),
                // A radio takes no skb of several segments: the kernel cuts it before the driver sees it.
                segmentation: Segmentation::BelowQdisc,
                ..device
            });
        }
        Ok(())
    }

    fn wired_device(&mut self, index: usize, link: &Link, end: usize) -> Result<Device, BuildError> {
        let name = self.arrow(link.ends[end], self.host_name(link.ends[1 - end]));
        let path = link::path(link, (index, end), &name, &mut self.streams)?;
        let delay = if path.is_some() { 0 } else { link.delay_ns[end] };
        let unattached = if link.serializes(end) { Unattached::Default } else { Unattached::Noqueue };
        let id = DeviceId::of_wire(index, end);
        let bare = Bare { id, host: link.ends[end], mtu: link.mtu, rate: link.rate_bps[end], unattached };
        let device = self.device(&bare, &Names { shown: name.clone(), stream: name })?;
        let napi = link::napi(self.scenario, link, 1 - end).map(Box::new);
        let is_captured = !self.world.context.captures.is_off();
        let nic = link::nic(self.scenario, link, end);
        let only_ring = nic.as_ref().is_some_and(Nic::has_rate) && !is_captured;
        let way = if device.way == Way::Past && only_ring { Way::IntoRing } else { device.way };
        Ok(Device {
            peer: HostId(link.ends[1 - end]),
            way,
            way_when_empty: way,
            nic,
            only_ring,
            segmentation: segmentation(self.scenario, link),
            wire: Wire::new(Span::from_nanos(delay)),
            ends_at_host: path.is_none() && napi.is_none() && !is_captured,
            path,
            napi,
            ..device
        })
    }

    /// A device with its discipline, and nothing below that.
    fn device(&mut self, bare: &Bare, names: &Names) -> Result<Device, BuildError> {
        let journal = &mut self.world.context.journal;
        journal.devices.push(journal.record.names.give(&names.shown));
        let root = disciplines::root(self.scenario, &self.topology, bare)?;
        let way = if root.as_ref().is_none_or(|root| root.can_bypass()) { Way::Past } else { Way::Through };
        Ok(Device {
            id: bare.id,
            peer: HostId(bare.host),
            way,
            way_when_empty: way,
            bypassed: Bypassed::default(),
            root,
            radio: None,
            nic: None,
            only_ring: false,
            segmentation: Segmentation::None,
            wire: Wire::new(Span::ZERO),
            ends_at_host: false,
            path: None,
            napi: None,
            draws: self.streams.stream(&names.stream, "qdisc"),
            watchdog: SimTime::NEVER,
            closed_until: SimTime::ZERO,
            completion: SimTime::NEVER,
            awaiting_credit: 0,
            drops: [0; DropReason::ALL.len()],
            marks_noted: 0,
            sojourns: Sojourns::default(),
        })
    }

    /// `access -> air`. The random numbers are those of the way to the first neighbour: neither the name of a cell nor
    /// another station changes what is drawn.
    fn radio_names(&self, cell: &Cell, number: usize) -> Names {
        let host = radio::host(cell, number);
        let neighbour = radio::host(cell, if number == 0 { 1 } else { 0 });
        let stream = self.arrow(host, self.host_name(neighbour));
        Names { shown: self.arrow(host, &cell.name), stream }
    }

    fn arrow(&self, host: u16, towards: &str) -> String {
        format!("{} -> {towards}", self.host_name(host))
    }

    /// Refuses hosts that do not reach each other.
    fn check_path(&mut self, ends: [u16; 2], path: TrafficPath) -> Result<(), BuildError> {
        if self.connected != Some(ends) {
            let [from, to] = ends;
            self.first_hop(from, to, path)?;
            self.first_hop(to, from, path)?;
            self.connected = Some(ends);
        }
        Ok(())
    }

    fn host_name(&self, host: u16) -> &str {
        &self.scenario.hosts[usize::from(host)].name
    }

    /// True if a packet needs time from one host to the other and back.
    fn round_trip_takes_time(&self, [from, to]: [u16; 2]) -> bool {
        let device = |end| &self.world.network.devices[self.topology.device(end).index()];
        self.way(from, to).chain(self.way(to, from)).any(|end| device(end).takes_time())
    }

    fn first_hop(&self, from: u16, to: u16, path: TrafficPath) -> Result<DeviceId, BuildError> {
        let hosts = &self.scenario.hosts;
        let names = || (&hosts[usize::from(from)].name, &hosts[usize::from(to)].name);
        let first = self.routes.next(HostId(from), HostId(to)).ok_or_else(|| {
            let (from, to) = names();
            BuildError::new(path, format!("no path from `{from}` to `{to}`"), "connect them by links")
        })?;
        if self.way(from, to).take(hosts.len()).any(|end| self.topology.peer(end) == to) {
            return Ok(self.topology.device(first));
        }
        let (from, to) = names();
        let problem = format!("routes do not lead from `{from}` to `{to}`, but in a circle");
        Err(BuildError::new(path, problem, "change `routes` of the hosts on the way"))
    }

    /// The longest packet that fits all links on the way: what path MTU discovery finds.
    fn path_mtu(&self, from: u16, to: u16) -> u32 {
        let mtus = self.way(from, to).map(|end| self.topology.mtu(end));
        mtus.min().expect("a way has a link")
    }

    /// Where links are entered on the way.
    fn way(&self, from: u16, to: u16) -> impl Iterator<Item = LinkEnd> {
        let next = move |host| self.routes.next(HostId(host), HostId(to));
        std::iter::successors(next(from), move |&end| next(self.topology.peer(end)))
    }

    fn finish(mut self) -> World {
        self.world.network.routes = self.routes.map(|end| self.topology.device(end));
        let end = self.scenario.duration_ns;
        if self.world.context.captures.log.is_some() {
            for each in &mut self.world.context.channels {
                each.channel.note_mpdus();
            }
        }
        // Beacons are sent from the beginning, whether or not anybody has a packet to send.
        for channel in 0..self.world.context.channels.len() {
            self.world.context.wake_channel(channel as u16);
        }
        self.world.context.wake_at(SimTime::ZERO + self.world.interval, Event::Sample);
        self.world.context.wake_at(SimTime::ZERO + self.world.slot.length, Event::Slot);
        for step in 1..PROGRESS_STEPS {
            let at =
                SimTime::from_nanos((u128::from(end) * u128::from(step) / u128::from(PROGRESS_STEPS)) as u64);
            self.world.context.wake_at(at, Event::Progress);
        }
        self.world
    }
}

/// The type-of-service octet of a code point.
fn tos(dscp: u8) -> u8 {
    dscp << 2
}

fn journal(scenario: &Scenario) -> Journal {
    let wifi = (!scenario.cells.is_empty()).then(Wifi::default);
    let mut record = Record { wifi, ..Record::default() };
    // Nearly every conversation notes its start.
    record.events.reserve(scenario.traffic.len());
    let hosts = scenario.hosts.iter().map(|host| record.names.give(&host.name)).collect();
    let packet_rows = scenario.record.events;
    Journal { record, packet_rows, hosts, devices: Vec::new(), sockets: Vec::new() }
}

/// A train stays one skb on a link whose ends both have offloads on; else the device gets segments.
fn segmentation(scenario: &Scenario, link: &Link) -> Segmentation {
    let on = |end: &u16| scenario.hosts[usize::from(*end)].offloads == Offloads::On;
    if link.ends.iter().all(on) { Segmentation::None } else { Segmentation::BelowQdisc }
}
