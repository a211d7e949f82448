//! Wi-Fi devices: what joins a host's device to its place on a channel.
//!
//! A cell is a machine of its own (`tailback-wifi`); here it gets its events, and what comes out of it goes to the
//! hosts: packets received, credits returned when the status of a frame is known, queues woken. To the rest of the
//! world each station is a link to its access point.

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::{DropReason, HostId, Packet};
use tailback_record::WifiRow;
use tailback_units::{Bytes, Parameters, SimTime, Span};
use tailback_wifi::driver::{self, Above, Profile};
use tailback_wifi::phy::{Format, Guard, LegacyRate};
use tailback_wifi::rate::Minstrel;
use tailback_wifi::{
    AccessCategory, Band, CellSettings, CentiDecibels, Edca, Hearing, Loss, Mode, Outcome, Ppdu, RateControl,
    Station, StationId, Studio,
};

use crate::build::parameter_error;
use crate::scenario::{self, Link, Scenario};
use crate::stage::Stage;
use crate::world::World;
use crate::{BuildError, Event};

/// Longest IP packet of a radio.
const MTU: u32 = 1500;

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
    /// The radio of the device's peer.
    to: StationId,
}

/// A cell and what the world keeps for it.
pub(crate) struct Channel {
    pub(crate) cell: tailback_wifi::Cell,
    draws: Vec<Box<dyn Rng + Send>>,
    /// The host of each radio, the access point first.
    hosts: Vec<HostId>,
    /// The earliest event in the calendar; others are stale.
    pending: SimTime,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Radio {
    /// The device at `end` of the link of a cell's station at `place`; end 0 is the access point's.
    pub(crate) fn of(cell: Berth, place: usize, end: usize) -> Self {
        let (access_point, station) = (StationId(cell.first), StationId(cell.first + place as u16 + 1));
        let (from, to) = if end == 0 { (access_point, station) } else { (station, access_point) };
        Radio { channel: cell.channel, from, to }
    }

    pub(crate) fn channel(&self) -> usize {
        usize::from(self.channel)
    }

    /// The driver takes a packet. Drops are left on the desk of the stage.
    pub(crate) fn transmit(self, packet: Box<Packet>, stage: &mut Stage) {
        let Channel { cell, draws, .. } = &mut stage.channels[self.channel()];
        let mut studio = Studio {
            now: stage.now,
            draws,
            dropped: &mut stage.dropped,
            credits: &mut stage.credits,
            copies: &mut stage.copies,
        };
        cell.transmit(self.from, self.to, packet, &mut studio);
        stage.wake_channel(self.channel);
    }
}

impl Stage {
    /// One event of a channel is pending that is not stale.
    fn wake_channel(&mut self, channel: u16) {
        let this = &mut self.channels[usize::from(channel)];
        let deadline = this.cell.deadline();
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
        let Channel { cell, draws, pending, .. } = &mut self.stage.channels[index];
        if *pending != self.stage.now {
            return;
        }
        *pending = SimTime::NEVER;
        cell.advance(&mut Studio {
            now: self.stage.now,
            draws,
            dropped: &mut self.stage.dropped,
            credits: &mut self.stage.credits,
            copies: &mut self.stage.copies,
        });
        let mut outcomes = std::mem::take(&mut self.stage.outcomes);
        self.stage.channels[index].cell.swap_outcomes(&mut outcomes);
        for outcome in outcomes.drain(..) {
            self.came_from_air(index, outcome);
        }
        self.stage.outcomes = outcomes;
        self.stage.wake_channel(channel);
    }

    fn came_from_air(&mut self, channel: usize, outcome: Outcome) {
        match outcome {
            Outcome::Received(station, packet) => {
                let host = self.stage.channels[channel].hosts[usize::from(station.0)];
                self.stage.backlog.push_back((host, packet));
            }
            Outcome::Credit(socket, truesize) => self.stage.credits.push((socket, truesize)),
            Outcome::Accepts(station) => self.wake_queues(channel, station),
            Outcome::Sent(ppdu) => self.note_ppdu(channel, &ppdu),
            Outcome::Dropped(station, packet, reason) => self.bury(channel, station, packet, reason),
        }
    }

    fn note_ppdu(&mut self, channel: usize, ppdu: &Ppdu) {
        let journal = &mut self.stage.journal;
        let hosts = &self.stage.channels[channel].hosts;
        let [from, to] = [ppdu.from, ppdu.to].map(|radio| hosts[usize::from(radio.0)]);
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

    fn wake_queues(&mut self, channel: usize, station: StationId) {
        for device in 0..self.devices.len() {
            let radio = self.devices[device].radio;
            if radio.is_some_and(|radio| radio.channel() == channel && radio.from == station) {
                self.devices[device].run(&mut self.stage);
            }
        }
    }

    /// A packet that ended at a radio belongs to the device by which its host would reach its destination.
    fn bury(&mut self, channel: usize, station: StationId, packet: Box<Packet>, reason: DropReason) {
        let host = self.stage.channels[channel].hosts[usize::from(station.0)];
        let Some(id) = self.routes.next(host, packet.destination) else { return };
        self.devices[id.index()].drops[reason as usize] += 1;
        self.stage.drop_packet(packet, reason, id);
    }
}

/// The links of a scenario, then one for each station of its cells.
pub(crate) fn all_links(scenario: &Scenario) -> Vec<Link> {
    let of_station =
        |cell: &scenario::Cell, host| Link { mtu: MTU, ..Link::between(cell.access_point, host) };
    let of_cell = |cell| scenario::Cell::hosts(cell).map(move |host| of_station(cell, host));
    scenario.links.iter().cloned().chain(scenario.cells.iter().flat_map(of_cell)).collect()
}

/// Where a cell is: its channel, and the number of its first radio there, the access point's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Berth {
    channel: u16,
    first: u16,
}

/// Where each cell is: those that name the same channel share one.
pub(crate) fn berths(scenario: &Scenario) -> Vec<Berth> {
    let mut channels: Vec<(Option<&String>, u16)> = Vec::new();
    let mut berths = Vec::new();
    for cell in &scenario.cells {
        let name = cell.channel.as_ref();
        let shared = channels.iter().position(|(other, _)| name.is_some() && *other == name);
        let channel = shared.unwrap_or(channels.len());
        if shared.is_none() {
            channels.push((name, 0));
        }
        berths.push(Berth { channel: channel as u16, first: channels[channel].1 });
        channels[channel].1 += cell.stations.len() as u16 + 1;
    }
    berths
}

/// The channels of the cells.
pub(crate) fn channels(scenario: &Scenario, streams: &mut Streams) -> Result<Vec<Channel>, BuildError> {
    let berths = berths(scenario);
    let count = berths.iter().map(|berth| berth.channel + 1).max().unwrap_or(0);
    let on = |number| (0..berths.len()).filter(|&cell| berths[cell].channel == number).collect::<Vec<_>>();
    (0..count).map(|number| channel(scenario, &on(number), streams)).collect()
}

/// The channel of some cells.
fn channel(scenario: &Scenario, cells: &[usize], streams: &mut Streams) -> Result<Channel, BuildError> {
    let band = band(scenario, cells)?;
    let radios: usize = cells.iter().map(|&cell| scenario.cells[cell].stations.len() + 1).sum();
    let (mut stations, mut hosts, mut draws) = (Vec::new(), Vec::new(), Vec::<Box<dyn Rng + Send>>::new());
    for &index in cells {
        let cell = &scenario.cells[index];
        let beacons = beacons(cell, index, band, streams)?;
        let first = stations.len();
        for radio in 0..=cell.stations.len() {
            let links = links(cell, index, (radio, first, radios))?;
            let (host, driver, path) = driver_of(cell, index, radio);
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
    let cell = tailback_wifi::Cell::new(CellSettings { band, hearing }, stations);
    Ok(Channel { cell, draws, hosts, pending: SimTime::NEVER })
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

/// Host and driver of a radio of a cell, and where that is written.
fn driver_of(cell: &scenario::Cell, index: usize, radio: usize) -> (u16, &scenario::Driver, String) {
    match radio.checked_sub(1) {
        None => (cell.access_point, &cell.driver, format!("cells[{index}].driver")),
        Some(place) => {
            let station = &cell.stations[place];
            (station.host, &station.driver, format!("cells[{index}].stations[{place}].driver"))
        }
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

/// A device whose driver has no queues of its own above the hardware has a discipline.
pub(crate) fn wants_qdisc(scenario: &Scenario, link: usize, end: usize) -> bool {
    let radios = scenario
        .cells
        .iter()
        .flat_map(|cell| cell.stations.iter().map(move |radio| [&cell.driver, &radio.driver]));
    let driver = link.checked_sub(scenario.links.len()).and_then(|place| radios.clone().nth(place));
    driver.and_then(|ends| driver::find(&ends[end].name)).is_some_and(|profile| profile.above == Above::Qdisc)
}

impl scenario::Cell {
    fn hosts(&self) -> impl Iterator<Item = u16> + '_ {
        self.stations.iter().map(|radio| radio.host)
    }
}
