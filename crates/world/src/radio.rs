//! Wi-Fi devices: what joins a host's device to its place on a channel.
//!
//! A cell is a machine of its own (`tailback-wifi`); here it gets its events, and what comes out of it goes to the
//! hosts: packets received, credits returned when the status of a frame is known, queues woken. A radio is one device
//! (`topology`): its discipline holds packets to all stations, and its driver puts each into the queue of its next hop.

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::{DropReason, HostId, Packet};
use tailback_record::WifiRow;
use tailback_units::{Bytes, Parameters, SimTime, Span};
use tailback_wifi::driver::{self, Above, Profile};
use tailback_wifi::phy::{Format, Guard, LegacyRate};
use tailback_wifi::rate::Minstrel;
use tailback_wifi::{
    AccessCategory, Band, CentiDecibels, ChannelSettings, Context as ChannelContext, Edca, Hearing, Loss,
    Mode, Outcome, Ppdu, RateControl, Station, StationId,
};

use crate::build::{Unattached, parameter_error};
use crate::context::Context;
use crate::route::Routes;
use crate::scenario::{self, Scenario};
use crate::topology::{LinkEnd, Topology};
use crate::world::World;
use crate::{BuildError, DeviceId, Event};

/// Linux before 5.5 does not bound what firmware holds by its air. [linux-5.5 net/mac80211/tx.c]
pub(crate) const STACKS_WITHOUT_AQL: [&str; 3] = ["linux-4.14", "linux-5.0", "linux-5.4"];
/// Between two beacons.
const BEACON_INTERVAL_US: u64 = 102_400;

/// The place of a device on a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    channel: u16,
    /// This radio.
    pub(crate) from: StationId,
}

/// A radio as its host has it.
#[derive(Debug)]
pub(crate) struct Interface {
    host: HostId,
    device: DeviceId,
    /// By destination: the radio that a packet is sent to next, if it leaves by this one.
    next_hops: Box<[Option<StationId>]>,
}

/// A channel and what the world keeps for it.
pub(crate) struct RadioChannel {
    pub(crate) channel: tailback_wifi::Channel,
    draws: Vec<Box<dyn Rng + Send>>,
    /// Each radio's, the access point's first.
    interfaces: Vec<Interface>,
    /// The earliest event in the calendar; others are stale.
    pending: SimTime,
}

impl std::fmt::Debug for RadioChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RadioChannel").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

impl Radio {
    /// The radio of this number in a cell; 0 is the access point's.
    pub(crate) fn of(cell: RadioPlaces, number: usize) -> Self {
        Radio { channel: cell.channel, from: cell.radio(number) }
    }

    pub(crate) fn channel(&self) -> usize {
        usize::from(self.channel)
    }

    /// The driver takes a packet for the next hop on its way. Drops are left on the context of the context.
    /// [linux-6.12 net/mac80211/tx.c ieee80211_lookup_ra_sta]
    pub(crate) fn transmit(self, packet: Box<Packet>, context: &mut Context) {
        let RadioChannel { channel, draws, interfaces, .. } = &mut context.channels[self.channel()];
        let to = interfaces[usize::from(self.from.0)].next_hop(packet.destination);
        let mut channel_context = ChannelContext {
            now: context.now,
            draws,
            dropped: &mut context.dropped,
            credits: &mut context.credits,
            copies: &mut context.copies,
        };
        channel.transmit(self.from, to, packet, &mut channel_context);
        context.wake_channel(self.channel);
    }

    /// The device that a packet for `destination` is sent to next.
    pub(crate) fn next_device(self, destination: HostId, context: &Context) -> DeviceId {
        let interfaces = &context.channels[self.channel()].interfaces;
        let to = interfaces[usize::from(self.from.0)].next_hop(destination);
        interfaces[usize::from(to.0)].device
    }
}

impl Interface {
    fn next_hop(&self, destination: HostId) -> StationId {
        self.next_hops[usize::from(destination.0)].expect("only packets routed by this radio come to it")
    }
}

impl RadioChannel {
    fn interface(&self, station: StationId) -> &Interface {
        &self.interfaces[usize::from(station.0)]
    }
}

impl Context {
    /// One event of a channel is pending that is not stale.
    fn wake_channel(&mut self, channel: u16) {
        let this = &mut self.channels[usize::from(channel)];
        let deadline = this.channel.deadline();
        if deadline < this.pending {
            this.pending = deadline;
            self.wake_at(deadline, Event::Air(channel));
        }
    }
}

impl World {
    /// Something happens on a channel.
    pub(crate) fn on_air(&mut self, channel: u16) {
        let index = usize::from(channel);
        let RadioChannel { channel: air, draws, pending, .. } = &mut self.context.channels[index];
        if *pending != self.context.now {
            return;
        }
        *pending = SimTime::NEVER;
        air.advance(&mut ChannelContext {
            now: self.context.now,
            draws,
            dropped: &mut self.context.dropped,
            credits: &mut self.context.credits,
            copies: &mut self.context.copies,
        });
        let mut outcomes = std::mem::take(&mut self.context.outcomes);
        self.context.channels[index].channel.swap_outcomes(&mut outcomes);
        for outcome in outcomes.drain(..) {
            self.came_from_air(index, outcome);
        }
        self.context.outcomes = outcomes;
        self.context.wake_channel(channel);
    }

    fn came_from_air(&mut self, channel: usize, outcome: Outcome) {
        match outcome {
            Outcome::Received(station, packet) => {
                self.capture_received(channel, station, &packet);
                let host = self.context.channels[channel].interface(station).host;
                self.context.backlog.push_back((host, packet));
            }
            Outcome::Credit(socket, truesize) => self.context.credits.push((socket, truesize)),
            Outcome::Accepts(station) => self.wake_queue(channel, station),
            Outcome::Sent(ppdu) => self.note_ppdu(channel, &ppdu),
            Outcome::Dropped(station, packet, reason) => self.drop_at(channel, station, packet, reason),
        }
    }

    fn note_ppdu(&mut self, channel: usize, ppdu: &Ppdu) {
        let journal = &mut self.context.journal;
        let channel = &self.context.channels[channel];
        let [from, to] = [ppdu.from, ppdu.to].map(|radio| channel.interface(radio).host);
        let row = WifiRow {
            t: ppdu.began,
            from: journal.hosts[usize::from(from.0)],
            to: journal.hosts[usize::from(to.0)],
            mpdus: u64::from(ppdu.mpdus),
            received: u64::from(ppdu.received),
            ip_bytes: Bytes(u64::from(ppdu.ip_bytes)),
            psdu_bytes: Bytes(u64::from(ppdu.psdu_bytes)),
            duration_us: ppdu.duration,
            tries: u64::from(ppdu.tries),
            colliders: u64::from(ppdu.colliders),
            access_us: ppdu.access_delay,
            queued: u64::from(ppdu.queued),
            closed_by: ppdu.closed_by.name(),
        };
        journal.record.wifi.get_or_insert_default().push(row);
    }

    /// What came over the air came from the next hop on the way back.
    fn capture_received(&mut self, channel: usize, station: StationId, packet: &Packet) {
        if self.context.captures.is_off() {
            return;
        }
        let interfaces = &self.context.channels[channel].interfaces;
        let here = &interfaces[usize::from(station.0)];
        let from = interfaces[usize::from(here.next_hop(packet.source).0)].device;
        self.context.captures.received((from, here.device), packet, self.context.now);
    }

    /// [linux-6.12 net/mac80211/util.c ieee80211_wake_queue]
    fn wake_queue(&mut self, channel: usize, station: StationId) {
        let device = self.context.channels[channel].interface(station).device;
        self.devices[device.index()].run(&mut self.context);
    }

    /// Ends a packet at a radio.
    fn drop_at(&mut self, channel: usize, station: StationId, packet: Box<Packet>, reason: DropReason) {
        let id = self.context.channels[channel].interface(station).device;
        self.devices[id.index()].drops[reason as usize] += 1;
        self.context.drop_packet(packet, reason, id);
    }
}

/// The host of a radio by its number in its cell; 0 is the access point's.
pub(crate) fn host(cell: &scenario::Cell, number: usize) -> u16 {
    number.checked_sub(1).map_or(cell.access_point, |place| cell.stations[place].host)
}

/// Where a cell is: its channel, and the number of its first radio there, the access point's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadioPlaces {
    channel: u16,
    first: u16,
}

impl RadioPlaces {
    /// The radio of this number in the cell, among those on the channel.
    fn radio(self, number: usize) -> StationId {
        StationId(self.first + number as u16)
    }
}

/// Where each cell is: those that name the same channel share one.
pub(crate) fn radio_places(scenario: &Scenario) -> Vec<RadioPlaces> {
    let mut channels: Vec<(Option<&String>, u16)> = Vec::new();
    let mut radio_places = Vec::new();
    for cell in &scenario.cells {
        let name = cell.channel.as_ref();
        let shared = channels.iter().position(|(other, _)| name.is_some() && *other == name);
        let channel = shared.unwrap_or(channels.len());
        if shared.is_none() {
            channels.push((name, 0));
        }
        radio_places.push(RadioPlaces { channel: channel as u16, first: channels[channel].1 });
        channels[channel].1 += cell.stations.len() as u16 + 1;
    }
    radio_places
}

/// The channels of the cells.
pub(crate) fn channels(
    scenario: &Scenario,
    topology: &Topology,
    routes: &Routes<LinkEnd>,
    streams: &mut Streams,
) -> Result<Vec<RadioChannel>, BuildError> {
    let radio_places = radio_places(scenario);
    let count = radio_places.iter().map(|radio_places| radio_places.channel + 1).max().unwrap_or(0);
    let on = |number| {
        (0..radio_places.len()).filter(|&cell| radio_places[cell].channel == number).collect::<Vec<_>>()
    };
    let with_interfaces = |number| {
        let mut channel = channel(scenario, &on(number), streams)?;
        for cell in on(number) {
            for radio in 0..=scenario.cells[cell].stations.len() {
                let place = (cell, radio, radio_places[cell]);
                channel.interfaces.push(interface(scenario, topology, routes, place));
            }
        }
        Ok(channel)
    };
    (0..count).map(with_interfaces).collect()
}

/// What the host of a radio knows of it; `place`: its cell, its number there, and where the cell is.
fn interface(
    scenario: &Scenario,
    topology: &Topology,
    routes: &Routes<LinkEnd>,
    place: (usize, usize, RadioPlaces),
) -> Interface {
    let (cell, number, radio_places) = place;
    let device = topology.radio(cell, number);
    let host = HostId(host(&scenario.cells[cell], number));
    let next_hop = |destination| {
        let end = routes.next(host, HostId(destination as u16))?;
        let ours = topology.device(end) == device;
        ours.then(|| radio_places.radio(topology.radio_at_other_end(cell, end)))
    };
    Interface { host, device, next_hops: (0..scenario.hosts.len()).map(next_hop).collect() }
}

/// The channel of some cells, without the interfaces of its hosts.
fn channel(scenario: &Scenario, cells: &[usize], streams: &mut Streams) -> Result<RadioChannel, BuildError> {
    let band = band(scenario, cells)?;
    let radios: usize = cells.iter().map(|&cell| scenario.cells[cell].stations.len() + 1).sum();
    let (mut stations, mut hosts, mut draws) = (Vec::new(), Vec::new(), Vec::<Box<dyn Rng + Send>>::new());
    for &index in cells {
        let cell = &scenario.cells[index];
        let beacons = beacons(cell, index, band, streams)?;
        let first = stations.len();
        for radio in 0..=cell.stations.len() {
            let links = links(cell, index, (radio, first, radios))?;
            let (driver, path) = (driver_of(cell, radio), driver_path(index, radio));
            let host = host(cell, radio);
            let stack = &scenario.hosts[usize::from(host)].stack;
            let mut profile = profile(driver, &path, stack)?;
            if cell.rts {
                profile.rts_threshold = Some(0);
            }
            let station = Station::new(profile, band, cell.mpdu_overhead, edca(cell, radio), links);
            stations.push(match beacons {
                Some((rate, begin)) if radio == 0 => station.with_beacons(rate, begin),
                _ => station,
            });
            hosts.push(HostId(host));
            draws.push(Box::new(streams.stream(&format!("cells[{index}] radio {radio}"), "air")));
        }
    }
    let hearing = hearing(scenario, cells, &hosts)?;
    let channel = tailback_wifi::Channel::new(ChannelSettings { band, hearing }, stations);
    Ok(RadioChannel { channel, draws, interfaces: Vec::new(), pending: SimTime::NEVER })
}

/// The band of some cells on one channel.
fn band(scenario: &Scenario, cells: &[usize]) -> Result<Band, BuildError> {
    let mut found = None;
    for &index in cells {
        let written = scenario.cells[index].band.as_str();
        let refused = |what: String, hint: &str| BuildError::new(format!("cells[{index}].band"), what, hint);
        let band = match written {
            "2.4GHz" => Band::Ghz2,
            "5GHz" => Band::Ghz5,
            _ => return Err(refused(format!("`{written}`"), "write 2.4GHz or 5GHz")),
        };
        if found.is_some_and(|other| other != band) {
            return Err(refused(
                format!("`{written}` on a channel of the other band"),
                "give cells on one channel one band",
            ));
        }
        found = Some(band);
    }
    Ok(found.unwrap_or(Band::Ghz5))
}

/// Who does not hear whom.
fn hearing(scenario: &Scenario, cells: &[usize], hosts: &[HostId]) -> Result<Hearing, BuildError> {
    let mut hearing = Hearing::default();
    for &index in cells {
        for (place, pair) in scenario.cells[index].hidden.iter().enumerate() {
            let radio = |host: u16| {
                let at = hosts.iter().position(|other| other.0 == host);
                at.map(|at| StationId(at as u16)).ok_or_else(|| {
                    let path = format!("cells[{index}].hidden[{place}]");
                    BuildError::new(
                        path,
                        format!("host {host} has no radio on this channel"),
                        "name two that have",
                    )
                })
            };
            hearing.hide(radio(pair[0])?, radio(pair[1])?);
        }
    }
    Ok(hearing)
}

/// The rate of a cell's beacons, and when the first one is due.
fn beacons(
    cell: &scenario::Cell,
    index: usize,
    band: Band,
    streams: &mut Streams,
) -> Result<Option<(LegacyRate, SimTime)>, BuildError> {
    let Some(bits) = cell.beacon_bps else { return Ok(None) };
    let rate = LegacyRate::of(bits, band).ok_or_else(|| {
        let hint = "write 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s, at 2.4 GHz also 1, 2, 5.5 or 11";
        BuildError::new(format!("cells[{index}].beacon_bps"), format!("no legacy rate of {bits} bit/s"), hint)
    })?;
    let mut draws = streams.stream(&format!("cells[{index}] radio 0"), "beacon");
    let offset = Span::from_micros((u64::from(draws.next_u32()) * BEACON_INTERVAL_US) >> 32);
    Ok(Some((rate, SimTime::ZERO + offset)))
}

fn edca(cell: &scenario::Cell, radio: usize) -> [Edca; 4] {
    let given = if radio == 0 { &cell.access_point_edca } else { &cell.station_edca };
    let read = |edca: &scenario::Edca| Edca {
        aifsn: edca.aifsn,
        cw_min: edca.cw_min,
        cw_max: edca.cw_max,
        txop: Span::from_nanos(edca.txop_ns),
    };
    given.as_ref().map_or(AccessCategory::ALL.map(Edca::station), |given| given.each_ref().map(read))
}

/// The driver of a radio of a cell.
fn driver_of(cell: &scenario::Cell, radio: usize) -> &scenario::Driver {
    radio.checked_sub(1).map_or(&cell.driver, |place| &cell.stations[place].driver)
}

/// Where the driver of a radio is written.
fn driver_path(cell: usize, radio: usize) -> String {
    match radio.checked_sub(1) {
        None => format!("cells[{cell}].driver"),
        Some(place) => format!("cells[{cell}].stations[{place}].driver"),
    }
}

/// How a radio of a cell reaches all others of its channel; `place`: its number in the cell, that of the access point
/// on the channel, and how many radios there are.
fn links(
    cell: &scenario::Cell,
    index: usize,
    place: (usize, usize, usize),
) -> Result<Vec<Option<tailback_wifi::Link>>, BuildError> {
    let (radio, first, radios) = place;
    let mut links = vec![None; radios];
    for (number, station) in cell.stations.iter().enumerate() {
        let path = format!("cells[{index}].stations[{number}]");
        if radio == 0 {
            links[first + number + 1] = Some(link(station, &path)?);
        } else if radio == number + 1 {
            links[first] = Some(link(station, &path)?);
        }
    }
    Ok(links)
}

/// How a station and its access point reach each other.
fn link(station: &scenario::Radio, path: &str) -> Result<tailback_wifi::Link, BuildError> {
    let usual = mode(&station.mode, &format!("{path}.mode"))?;
    let rates = match station.rate.as_str() {
        "fixed" => RateControl::Fixed(usual),
        "minstrel" => RateControl::Minstrel(Box::new(Minstrel::new(
            usual.format(),
            station.mode.width,
            station.mode.streams,
            guards_up_to(&station.mode),
        ))),
        other => {
            return Err(BuildError::new(
                format!("{path}.rate"),
                format!("`{other}`"),
                "write fixed or minstrel",
            ));
        }
    };
    let fixed = (u64::from(station.loss_ppm) << 32) / 1_000_000;
    let loss = Loss::new(u32::try_from(fixed).unwrap_or(u32::MAX), station.snr_cdb.map(CentiDecibels));
    Ok(tailback_wifi::Link { rates, loss })
}

/// The guard intervals that rate control may use: the one given, and longer ones.
fn guards_up_to(mode: &scenario::Mode) -> &'static [Guard] {
    match mode.guard_ns {
        400 => &[Guard::Ns400, Guard::Ns800],
        1600 => &[Guard::Ns1600, Guard::Ns3200],
        3200 => &[Guard::Ns3200],
        _ if mode.format == "he" => &[Guard::Ns800, Guard::Ns1600, Guard::Ns3200],
        _ => &[Guard::Ns800],
    }
}

fn mode(mode: &scenario::Mode, path: &str) -> Result<Mode, BuildError> {
    let format = match mode.format.as_str() {
        "ht" => Format::Ht,
        "vht" => Format::Vht,
        "he" => Format::He,
        other => {
            return Err(BuildError::new(
                format!("{path}.format"),
                format!("`{other}`"),
                "write ht, vht or he",
            ));
        }
    };
    let guard = match mode.guard_ns {
        400 => Guard::Ns400,
        800 => Guard::Ns800,
        1600 => Guard::Ns1600,
        3200 => Guard::Ns3200,
        other => {
            return Err(BuildError::new(
                format!("{path}.guard_ns"),
                format!("{other}"),
                "write 400, 800, 1600 or 3200",
            ));
        }
    };
    Mode::new(format, mode.width, mode.streams, mode.mcs, guard)
        .map_err(|error| BuildError::new(path, error.to_string(), "write a mode of the standard"))
}

/// The profile by name as the kernel of its host has it, with what is set differently.
fn profile(driver: &scenario::Driver, path: &str, stack: &str) -> Result<Profile, BuildError> {
    let Some(profile) = driver::find(&driver.name) else {
        let known = driver::PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
        return Err(BuildError::new(
            format!("{path}.name"),
            format!("no driver `{}`", driver.name),
            format!("write one of: {known}"),
        ));
    };
    let profile = if STACKS_WITHOUT_AQL.contains(&stack) { profile.before_aql() } else { *profile };
    let given = Parameters::new(driver.options.clone());
    profile.with(&given).map_err(|error| parameter_error(error, &format!("{path}.options")))
}

/// A driver without queues of its own above the hardware needs a discipline; the others take all packets.
pub(crate) fn unattached(cell: &scenario::Cell, radio: usize) -> Unattached {
    match driver::find(&driver_of(cell, radio).name) {
        Some(profile) if profile.above == Above::Qdisc => Unattached::Default,
        _ => Unattached::Noqueue,
    }
}
