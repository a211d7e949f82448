//! Builds the channels and the radios of their hosts from the cells of a scenario.

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::HostId;
use tailback_units::{Parameters, SimTime, Span};
use tailback_wifi::driver::{self, HostQueues, Profile, RateControlIn};
use tailback_wifi::phy::{Format, Guard, LegacyRate};
use tailback_wifi::rate::{Chain, Minstrel};
use tailback_wifi::{
    AccessCategory, Band, ChannelSettings, Edca, FrameSource, Hearing, Mode, RateControl, Station, StationId,
};

use super::disciplines::Unattached;
use crate::BuildError;
use crate::channel::{Interface, RadioChannel};
use crate::completions::Completions;
use crate::error::parameter_error;
use crate::interrupt_mitigation::InterruptMitigation;
use crate::radio::Radio;
use crate::route::Routes;
use crate::scenario::{self, Scenario};
use crate::signal::{self, Signal};
use crate::stacks::Mac80211;
use crate::topology::{LinkEnd, Topology};

/// Between two beacons.
const BEACON_INTERVAL_US: u64 = 102_400;

/// The host of a radio by its number in its cell; 0 is the access point's.
pub(super) fn host(cell: &scenario::Cell, number: usize) -> u16 {
    number.checked_sub(1).map_or(cell.access_point, |place| cell.stations[place].host)
}

/// Where a cell is: its channel, and the number of its first radio there, the access point's.
#[derive(Clone, Copy, Debug)]
pub(super) struct RadioPlaces {
    channel: u16,
    first: u16,
}

impl RadioPlaces {
    /// The radio of this number in the cell, among those on the channel; 0 is the access point's.
    fn station(self, number: usize) -> StationId {
        StationId(self.first + number as u16)
    }

    /// The channel of the cell.
    pub(super) fn channel(self) -> u16 {
        self.channel
    }

    /// The access point, and the station of this number among those of the cell.
    pub(super) fn pair(self, number: usize) -> [StationId; 2] {
        [self.station(0), self.station(number + 1)]
    }

    /// The radio of station `number` of the cell, as its device has it.
    pub(super) fn radio(self, number: usize) -> Radio {
        Radio { channel: self.channel, from: self.station(number) }
    }
}

/// Where each cell is: those that name the same channel share one.
pub(super) fn radio_places(scenario: &Scenario) -> Vec<RadioPlaces> {
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
pub(super) fn channels(
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
        let (Air { channel, draws, .. }, mitigation, completions) =
            channel(scenario, &on(number), streams, None)?;
        let (interfaces, pending) = (Vec::new(), SimTime::NEVER);
        let mut channel = RadioChannel { channel, draws, interfaces, mitigation, completions, pending };
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

/// The interface of the host to a radio; `place`: its cell, its number there, and where the cell is.
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
        ours.then(|| radio_places.station(topology.radio_at_other_end(cell, end)))
    };
    Interface { host, device, next_hops: (0..scenario.hosts.len()).map(next_hop).collect() }
}

/// The air of a scenario without the hosts: they are elsewhere, and the radios ask them for frames.
pub struct Air {
    /// The channel.
    pub channel: tailback_wifi::Channel,
    /// Random numbers, a source for each radio, as in a simulated run.
    pub draws: Draws,
    /// The host of each radio.
    pub hosts: Vec<HostId>,
    /// Changes of the signals of stations that are still to come, in the order of time.
    pub signals: VecDeque<Signal>,
}

impl Air {
    /// The air of all cells, which must be on one channel; `sources` gives what is above each radio.
    pub fn build(scenario: &Scenario, sources: &Sources<'_>) -> Result<Air, BuildError> {
        if radio_places(scenario).iter().any(|places| places.channel > 0) {
            let hint = "give all cells one channel, or run it on the simulator";
            return Err(BuildError::new("cells", "cells on several channels", hint));
        }
        let cells: Vec<usize> = (0..scenario.cells.len()).collect();
        let streams = &mut Streams::new(scenario.seed);
        channel(scenario, &cells, streams, Some(sources)).map(|(air, ..)| air)
    }

    /// Applies the changes of signals that are due at `now`, before any event of the channel at that time.
    pub fn change_signals(&mut self, now: SimTime) {
        while let Some(signal) = self.signals.front().filter(|signal| signal.at <= now) {
            signal.apply(&mut self.channel);
            self.signals.pop_front();
        }
    }
}

/// What is above a radio.
pub type Sources<'a> = dyn Fn(StationId) -> Box<dyn FrameSource> + 'a;

/// Random numbers, a source for each radio.
pub type Draws = Vec<Box<dyn Rng + Send>>;

/// The channel of some cells, and how the radios mitigate their interrupts.
fn channel(
    scenario: &Scenario,
    cells: &[usize],
    streams: &mut Streams,
    sources: Option<&Sources<'_>>,
) -> Result<(Air, Vec<InterruptMitigation>, Vec<Completions>), BuildError> {
    let band = band(scenario, cells)?;
    let radios: usize = cells.iter().map(|&cell| scenario.cells[cell].stations.len() + 1).sum();
    let (mut stations, mut hosts, mut draws) = (Vec::new(), Vec::new(), Draws::new());
    let (mut mitigation, mut completions) = (Vec::new(), Vec::new());
    for &index in cells {
        let cell = &scenario.cells[index];
        let beacons = beacons(cell, index, band, streams)?;
        let first = stations.len();
        for radio in 0..=cell.stations.len() {
            let host = host(cell, radio);
            let stack = &scenario.hosts[usize::from(host)].stack;
            let mut profile = profile(cell, (index, radio), stack)?;
            let mut links = links(cell, index, (radio, first, radios))?;
            if sources.is_some() && profile.rate_control == RateControlIn::Host {
                links.iter_mut().flatten().for_each(leave_rates_to_source);
            }
            if cell.rts {
                profile.rts_threshold = Some(0);
            }
            mitigation.push(InterruptMitigation::new(profile.rx_quiet, profile.rx_longest));
            completions.push(Completions::new(profile.tx_quiet, profile.tx_longest));
            let station = Station::new(profile, band, cell.mpdu_overhead, edca(cell, radio), links);
            let station = match beacons {
                Some((rate, begin)) if radio == 0 => station.with_beacons(rate, begin),
                _ => station,
            };
            let number = StationId(stations.len() as u16);
            stations.push(match sources {
                Some(sources) => station.with_source(sources(number)),
                None => station,
            });
            hosts.push(HostId(host));
            draws.push(Box::new(streams.stream(&format!("cells[{index}] radio {radio}"), "air")));
        }
    }
    let hearing = hearing(scenario, cells, &hosts)?;
    let channel = tailback_wifi::Channel::new(ChannelSettings { band, hearing }, stations);
    let signals = signals(scenario, cells);
    Ok((Air { channel, draws, hosts, signals }, mitigation, completions))
}

/// The changes of the signals of some cells on one channel, in the order of time.
fn signals(scenario: &Scenario, cells: &[usize]) -> VecDeque<Signal> {
    let places = radio_places(scenario);
    let of_cell = |&index: &usize| {
        let (stations, place) = (scenario.cells[index].stations.iter().enumerate(), places[index]);
        stations.flat_map(move |(number, station)| signal::of_station(station, place.pair(number)))
    };
    let mut found: Vec<Signal> = cells.iter().flat_map(of_cell).collect();
    found.sort_by_key(|signal| signal.at);
    found.into()
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

/// The pairs of radios that do not hear each other.
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

/// The rate control of the host is where its queues are.
fn leave_rates_to_source(link: &mut tailback_wifi::Link) {
    if let RateControl::Minstrel(_) = link.rates {
        // Until the source says something else.
        let chain = Chain::fixed(*link.rates.slowest(), 1);
        link.rates = RateControl::Source(Box::new(chain));
    }
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
    Ok(tailback_wifi::Link { rates, loss: signal::loss(station.loss_ppm, station.snr_cdb) })
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

/// The profile of a radio by its name, as the kernel of its host has it in such a cell, with what is set differently; `place`:
/// the numbers of the cell and of the radio.
fn profile(cell: &scenario::Cell, place: (usize, usize), stack: &str) -> Result<Profile, BuildError> {
    let (driver, path) = (driver_of(cell, place.1), driver_path(place.0, place.1));
    let Some(profile) = driver::find(&driver.name) else {
        let known = driver::PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
        return Err(BuildError::new(
            format!("{path}.name"),
            format!("no driver `{}`", driver.name),
            format!("write one of: {known}"),
        ));
    };
    let mut profile = *profile;
    if cell.stations.iter().any(|station| station.mode.format != "ht") {
        profile = profile.of_vht();
    }
    let of_stack = Mac80211::of(stack);
    if !of_stack.bounds_air {
        profile = profile.before_aql();
    }
    if !of_stack.bounds_air_of_categories {
        profile = profile.before_aql_of_categories();
    }
    if !of_stack.knows_uses_of_code_points {
        profile = profile.before_uses_of_code_points();
    }
    if of_stack.spares_slow_stations {
        profile = profile.sparing_slow_stations();
    }
    let given = Parameters::new(driver.options.clone());
    profile.with(&given).map_err(|error| parameter_error(error, &format!("{path}.options")))
}

/// A driver without its own queues above the hardware needs a discipline; the others accept all packets.
pub(super) fn unattached(cell: &scenario::Cell, radio: usize) -> Unattached {
    match driver::find(&driver_of(cell, radio).name) {
        Some(profile) if profile.host_queues == HostQueues::Qdisc => Unattached::Default,
        _ => Unattached::Noqueue,
    }
}
