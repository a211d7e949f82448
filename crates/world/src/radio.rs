//! Wi-Fi devices: what joins a host's device to its place on a channel.
//!
//! A cell is a machine of its own (`tailback-wifi`); here it gets its events, and what comes out of it goes to the
//! hosts: packets received, credits returned when the status of a frame is known, queues woken. To the rest of the
//! world each station is a link to its access point.

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::{HostId, Packet};
use tailback_record::WifiRow;
use tailback_units::{Bytes, Parameters, SimTime};
use tailback_wifi::driver::{self, Above, Profile};
use tailback_wifi::phy::{Format, Guard};
use tailback_wifi::{
    AccessCategory, Band, CellSettings, Edca, Mode, Outcome, Ppdu, Station, StationId, Studio,
};

use crate::build::parameter_error;
use crate::scenario::{self, Link, Scenario};
use crate::stage::Stage;
use crate::world::World;
use crate::{BuildError, Event};

/// Longest IP packet of a radio.
const MTU: u32 = 1500;

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
    /// The device at `end` of the link of the station at `place`; end 0 is the access point's.
    pub(crate) fn of(channel: usize, place: usize, end: usize) -> Self {
        let (access_point, station) = (StationId(0), StationId(place as u16 + 1));
        let (from, to) = if end == 0 { (access_point, station) } else { (station, access_point) };
        Radio { channel: channel as u16, from, to }
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
        let outcomes: Vec<Outcome> = cell.outcomes().collect();
        self.bury_on_air(index);
        for outcome in outcomes {
            self.came_from_air(index, outcome);
        }
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

    /// Packets that the radios of a channel gave up belong to the device of the sender.
    fn bury_on_air(&mut self, channel: usize) {
        let dropped = std::mem::take(&mut self.stage.dropped);
        for (packet, reason) in dropped {
            let device = self
                .devices
                .iter()
                .position(|device| device.radio.is_some_and(|radio| radio.channel() == channel));
            if let Some(device) = device {
                self.devices[device].drops[reason as usize] += 1;
                let id = self.devices[device].id;
                self.stage.drop_packet(packet, reason, id);
            }
        }
    }
}

/// The links of a scenario, then one for each station of its cells.
pub(crate) fn all_links(scenario: &Scenario) -> Vec<Link> {
    let of_station =
        |cell: &scenario::Cell, host| Link { mtu: MTU, ..Link::between(cell.access_point, host) };
    let of_cell = |cell| scenario::Cell::hosts(cell).map(move |host| of_station(cell, host));
    scenario.links.iter().cloned().chain(scenario.cells.iter().flat_map(of_cell)).collect()
}

/// The channel of a cell.
pub(crate) fn channel(
    cell: &scenario::Cell,
    index: usize,
    streams: &mut Streams,
) -> Result<Channel, BuildError> {
    let path = format!("cells[{index}]");
    let band = match cell.band.as_str() {
        "2.4GHz" => Band::Ghz2,
        "5GHz" => Band::Ghz5,
        other => {
            return Err(BuildError::new(
                format!("{path}.band"),
                format!("`{other}`"),
                "write 2.4GHz or 5GHz",
            ));
        }
    };
    let count = cell.stations.len() + 1;
    let mut links = vec![vec![None; count]; count];
    for (place, radio) in cell.stations.iter().enumerate() {
        let mode = mode(&radio.mode, &format!("{path}.stations[{place}].mode"))?;
        let loss = (u64::from(radio.loss_ppm) << 32) / 1_000_000;
        let link = Some(tailback_wifi::Link { mode, loss: u32::try_from(loss).unwrap_or(u32::MAX) });
        (links[0][place + 1], links[place + 1][0]) = (link, link);
    }
    let edca = AccessCategory::ALL.map(Edca::station);
    let drivers = std::iter::once((&cell.driver, format!("{path}.driver"))).chain(
        cell.stations
            .iter()
            .enumerate()
            .map(|(place, radio)| (&radio.driver, format!("{path}.stations[{place}].driver"))),
    );
    let stations = drivers
        .zip(links)
        .map(|((driver, path), links)| {
            Ok(Station::new(profile(driver, &path)?, band, cell.mpdu_overhead, edca, links))
        })
        .collect::<Result<Vec<_>, BuildError>>()?;
    let draws = (0..count).map(|radio| {
        Box::new(streams.stream(&format!("{path} radio {radio}"), "air")) as Box<dyn Rng + Send>
    });
    Ok(Channel {
        cell: tailback_wifi::Cell::new(CellSettings { band, rts: cell.rts }, stations),
        draws: draws.collect(),
        hosts: std::iter::once(cell.access_point).chain(cell.hosts()).map(HostId).collect(),
        pending: SimTime::NEVER,
    })
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

/// The profile by name, with what is set differently.
fn profile(driver: &scenario::Driver, path: &str) -> Result<Profile, BuildError> {
    let Some(profile) = driver::find(&driver.name) else {
        let known = driver::PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
        return Err(BuildError::new(
            format!("{path}.name"),
            format!("no driver `{}`", driver.name),
            format!("write one of: {known}"),
        ));
    };
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
