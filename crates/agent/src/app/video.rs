//! The player of a video in segments, and its server.
//!
//! What the player asks for and when is that of [`tailback_video`], which the simulator uses too. A request [says how long
//! its segment is](super::fetch).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use tailback_units::{Rate, SimTime, Span};
use tailback_video::{Next, Player, Segment, Video};

use super::sent::Sockets;
use super::{Application, Live, TableKind, Tables, bulk, fetch, locked, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job;
use crate::network::Network;
use crate::sys;
use crate::tcp_info::SocketTables;

const SEGMENTS: TableKind = TableKind {
    name: "video",
    columns: &["t_ns", "video", "segment", "bitrate", "bytes", "buffer_ns", "fetch_ns", "waited_ns"],
};
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[SEGMENTS];

/// What the player has measured.
struct Measured {
    player: Player,
    segments: Vec<Segment>,
    failure: Option<String>,
}

/// A player and its server in progress, as far as they are here.
pub struct RunningVideo {
    video: Arc<job::Video>,
    socket: Option<OwnedFd>,
    listener: Option<OwnedFd>,
    is_player: bool,
    /// The sockets of the player and of the server that have begun.
    ends: [Sockets; 2],
    clock: Option<Clock>,
    bins: Arc<Mutex<Vec<u64>>>,
    measured: Arc<Mutex<Measured>>,
}

impl RunningVideo {
    /// Opens the sockets that are here.
    pub fn prepare(video: &job::Video, bins: usize, network: &Network) -> Result<Self, Failure> {
        let played = Video {
            ladder: video.ladder_bps.iter().map(|&rate| Rate::from_bits_per_sec(rate)).collect(),
            segment: Span::from_nanos(video.segment_ns),
            buffer: Span::from_nanos(video.buffer_ns),
            startup: Span::from_nanos(video.startup_ns),
            rule: video.rule,
        };
        if let Some([name, problem, _]) = played.refused() {
            return Err(Failure::new(format!("{}: {name}: {problem}", video.name)));
        }
        if video.size < fetch::HEADER {
            let least = fetch::HEADER;
            return Err(Failure::new(format!("{}: requests have at least {least} bytes", video.name)));
        }
        let connection = video.connection();
        let is_player = network.has(video.from);
        let socket = is_player.then(|| bulk::open_sender(&connection, network)).transpose()?;
        if let Some(socket) = &socket {
            fetch::no_delay(socket).doing(format!("setting socket options of {}", video.name))?;
        }
        let listener =
            network.has(video.to).then(|| bulk::open_receiver(&connection, network)).transpose()?;
        let player = Player::new(played, SimTime::from_nanos(video.start_ns));
        Ok(Self {
            video: Arc::new(video.clone()),
            socket,
            listener,
            is_player,
            ends: ["client", "server"].map(Sockets::of),
            clock: None,
            bins: Arc::new(Mutex::new(vec![0; bins])),
            measured: Arc::new(Mutex::new(Measured { player, segments: Vec::new(), failure: None })),
        })
    }
}

impl Application for RunningVideo {
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        self.clock = Some(clock);
        if let Some(listener) = self.listener.take() {
            let (video, server) = (self.video.clone(), self.ends[1].clone());
            spawn(move || fetch::serve(&video.connection(), video.size, &listener, &server))?;
        }
        let Some(socket) = self.socket.take().map(|socket| self.ends[0].add(socket)) else { return Ok(()) };
        let (video, bins, measured) = (self.video.clone(), self.bins.clone(), self.measured.clone());
        spawn(move || {
            clock.sleep_until(video.start_ns);
            let count = |read| bulk::count(read, &bins, clock, interval_ns);
            if let Err(error) = play(&video, &socket, clock, &measured, count) {
                locked(&measured).failure = Some(error.to_string());
            }
        })
    }

    fn failure(&self) -> Option<Failure> {
        let measured = locked(&self.measured);
        measured.failure.as_ref().map(|failure| Failure::new(format!("{}: {failure}", self.video.name)))
    }

    fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        self.ends.iter().try_for_each(|end| end.sample(t_ns, &self.video.name, tables))
    }

    fn live(&self, live: &mut Live) {
        if self.is_player {
            live.bytes.insert(self.video.name.clone(), locked(&self.bins).iter().sum());
        }
    }

    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        let name = &self.video.name;
        for (bin, bytes) in locked(&self.bins).iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let t_ns = (bin as u64 + 1) * interval_ns;
            tables.row_at(&bulk::FLOWS, t_ns).cell(t_ns).name(name).cell(bytes);
        }
        let mut measured = locked(&self.measured);
        let unfinished = self.clock.and_then(|clock| measured.player.unfinished(now(clock)));
        for segment in measured.segments.iter().chain(&unfinished) {
            let asked_ns = segment.asked.as_nanos();
            let mut row = tables.row_at(&SEGMENTS, asked_ns);
            row.cell(asked_ns).name(name).cell(segment.number).cell(segment.bitrate.bits_per_sec());
            row.cell(segment.bytes.get()).cell(segment.buffer.as_nanos());
            row.maybe(segment.fetched.map(Span::as_nanos)).cell(segment.waited.as_nanos());
        }
        Ok(())
    }
}

fn now(clock: Clock) -> SimTime {
    SimTime::from_nanos(clock.now_ns())
}

/// The player, until the first request that would be at or after the stop.
fn play(
    video: &job::Video,
    socket: &OwnedFd,
    clock: Clock,
    measured: &Mutex<Measured>,
    mut count: impl FnMut(u64),
) -> io::Result<()> {
    bulk::connect(&video.connection(), socket)?;
    while clock.now_ns() < video.stop_ns {
        let next = locked(measured).player.next(now(clock));
        let bytes = match next {
            Next::WaitUntil(then) => {
                clock.sleep_until(then.as_nanos());
                continue;
            }
            Next::Ask(bytes) => bytes.get(),
        };
        fetch::send(socket, video.size as u64, &fetch::request(video.size, bytes))?;
        let mut left = bytes;
        while left > 0 {
            let read = fetch::read(socket, left)?;
            count(read);
            left -= read;
        }
        let mut measured = locked(measured);
        let fetched = measured.player.fetched(now(clock));
        measured.segments.extend(fetched);
    }
    sys::shut_down_sending(socket);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PORT, own_address};
    use super::*;
    use crate::table::Ordered;

    fn video() -> job::Video {
        let address = own_address();
        let job = format!(
            r#"{{"name": "video", "from": 0, "to": 0, "address": "{address}", "port": {PORT}, "start_ns": 0,
                "stop_ns": 900000000000, "size": 300, "ladder_bps": [400000, 800000], "segment_ns": 10000000,
                "buffer_ns": 100000000, "startup_ns": 10000000, "rule": "rate",
                "congestion_control": "cubic", "pacing_shift": null, "token": "geheimgeheim"}}"#
        );
        serde_json::from_str(&job).unwrap()
    }

    #[test]
    fn segments_are_fetched_on_the_rung_that_the_rule_chooses() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        let mut running = RunningVideo::prepare(&video(), 10, &network).unwrap();
        let clock = Clock::starting_at(sys::monotonic_ns());
        running.start(clock, 100_000_000_000).unwrap();
        let fetched = || {
            assert!(running.failure().is_none());
            let mut tables = Tables::empty();
            running.measured(100_000_000_000, &mut tables).unwrap();
            let mut tables = tables.0.into_iter().map(Ordered::finish);
            let text = tables.find(|table| table.name() == "video").unwrap().take();
            let rows =
                text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
            rows.filter(|row| !row[6].is_empty()).map(|row| row[2..5].join(" ")).collect::<Vec<_>>()
        };
        while fetched().len() < 2 {
            assert!(clock.now_ns() < 900_000_000_000);
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        // The first segment is on the lowest rung, whatever the speed of this machine.
        assert_eq!(fetched()[0], "0 400000 500");
        assert!(fetched()[1].starts_with("1 "));
    }

    #[test]
    fn values_that_no_player_can_have_are_refused() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        for refused in [job::Video { ladder_bps: vec![2, 1], ..video() }, job::Video { size: 7, ..video() }] {
            assert!(RunningVideo::prepare(&refused, 10, &network).is_err());
        }
    }
}
