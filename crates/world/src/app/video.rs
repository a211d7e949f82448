//! A player of video in segments (DASH) over one TCP connection, and its server.
//!
//! ```text
//! buffer    grows by the length of a segment when its last byte was read; shrinks with time while the video plays
//! play      from when the buffer has `startup`; stops when it is empty (a stall), and goes on from `startup` again
//! next      asked for as soon as the buffer has room for a segment, on the rung that the rule chooses
//! ```
//! Segments of a rung have bitrate · length / 8 bytes. Rules: [rate](rate), [BOLA](bola), [hybrid](hybrid).

mod bola;
mod hybrid;
mod rate;

use serde::Deserialize;
use tailback_packet::SocketId;
use tailback_record::VideoRow;
use tailback_units::{Bytes, Rate, SimTime, Span};

use super::exchange::{record_read, send_rest};
use super::{Application, Conversation, Kind, Place, TimerId};
use crate::BuildError;
use crate::build::{Builder, Connection, Side};
use crate::check::{check_connection, ensure, positive};
use crate::scenario::{CongestionControl, InternetProtocol, SmallQueue, SocketOptions};
use crate::syscalls::Syscalls;

/// The buffer has room for the next segment.
const ROOM: TimerId = TimerId(1);
const SECOND: f64 = 1e9;

/// How the player chooses a bitrate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// By throughput.
    Rate,
    /// By the buffer.
    Bola,
    /// By throughput while the buffer is short, then by the buffer.
    Hybrid,
}

/// A video that is played once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoTraffic {
    /// Its name in tables.
    pub name: String,
    /// The player.
    pub from: u16,
    /// The server.
    pub to: u16,
    /// When the player connects.
    pub start_ns: u64,
    /// No request at or after this.
    pub stop_ns: u64,
    /// Bytes of a request.
    pub size: u64,
    /// Bitrates, growing.
    pub ladder_bps: Vec<u64>,
    /// Length of a segment.
    pub segment_ns: u64,
    /// Largest buffer.
    pub buffer_ns: u64,
    /// Buffer with which playing begins.
    pub startup_ns: u64,
    /// How the player chooses a bitrate.
    pub rule: Rule,
    /// Congestion control of both ends.
    pub cc: CongestionControl,
    /// Limit of the small queues.
    pub tsq: SmallQueue,
    /// The socket options that the two applications set.
    pub socket: SocketOptions,
    /// Code point of its packets, both ways; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
}

impl Kind for VideoTraffic {
    fn check(&self, path: &str) -> Result<(), BuildError> {
        positive(self.size, &format!("{path}.size"))?;
        positive(self.segment_ns, &format!("{path}.segment_ns"))?;
        let in_order = self.start_ns < self.stop_ns;
        ensure(in_order, &format!("{path}.stop_ns"), "not after start_ns", "write a later instant")?;
        let growing = self.ladder_bps.windows(2).all(|pair| pair[0] < pair[1]);
        let ladder = self.ladder_bps.first().is_some_and(|&lowest| lowest > 0) && growing;
        ensure(ladder, &format!("{path}.ladder_bps"), "not growing from above 0", "write growing bitrates")?;
        let room = self.segment_ns.saturating_mul(2) <= self.buffer_ns;
        ensure(room, &format!("{path}.buffer_ns"), "no room for two segments", "write a longer time")?;
        let starts = self.startup_ns > 0 && self.startup_ns <= self.buffer_ns - self.segment_ns;
        let remedy = "write a time of at most `buffer_ns` without a segment";
        ensure(starts, &format!("{path}.startup_ns"), "a buffer that is never reached", remedy)?;
        check_connection(self.tsq, &self.socket, path)
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path([self.from, self.to], &place.path)?;
        if !builder.round_trip_takes_time(self.ends()) {
            let remedy = "give a link on the way a `rate` or a `delay`";
            return Err(BuildError::new(&place.path, "no time passes from a request to its answer", remedy));
        }
        let connection = Connection {
            sockets: place.sockets(),
            ends: self.ends(),
            name: &self.name,
            start: SimTime::from_nanos(self.start_ns),
            senders: &[Side::Client, Side::Server],
            cc: &self.cc,
            tsq: self.tsq,
            options: &self.socket,
            dscp: self.dscp,
            ip: InternetProtocol::default(),
        };
        builder.add_connection(&connection, place)?;
        builder.set_timer(place.conversation, connection.start, TimerId::START);
        Ok(Box::new(Video {
            sockets: place.sockets(),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            ladder: self.ladder_bps.iter().map(|&rate| rate as f64).collect(),
            segment: Span::from_nanos(self.segment_ns),
            most: Span::from_nanos(self.buffer_ns),
            rule: self.rule,
            player: Player::new(Span::from_nanos(self.startup_ns)),
            throughputs: Vec::new(),
            fetch: None,
            number: 0,
            unsent: [0, 0],
            unread: [0, 0],
            read: Bytes::ZERO,
        }))
    }
}

/// The buffer, and whether the video plays.
#[derive(Debug)]
struct Player {
    buffer: Span,
    plays: bool,
    startup: Span,
    /// The time of the state.
    at: SimTime,
    /// How long it has not played since the first request.
    waited: Span,
}

impl Player {
    fn new(startup: Span) -> Self {
        Player { buffer: Span::ZERO, plays: false, startup, at: SimTime::ZERO, waited: Span::ZERO }
    }

    /// Plays until `now`, as far as the buffer goes.
    fn advance(&mut self, now: SimTime) {
        let passed = now.since(self.at);
        self.at = now;
        if self.plays {
            let played = passed.min(self.buffer);
            self.buffer = self.buffer - played;
            self.waited += passed - played;
            self.plays = self.buffer > Span::ZERO;
        } else {
            self.waited += passed;
        }
    }

    /// A segment has arrived.
    fn add(&mut self, segment: Span) {
        self.buffer += segment;
        self.plays |= self.buffer >= self.startup;
    }
}

/// A segment that was asked for.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    asked: SimTime,
    rung: usize,
    bytes: u64,
    buffer: Span,
    /// Time without playing before the request.
    waited: Span,
}

/// A player and its server. Pairs are those of the player, then of the server.
#[derive(Debug)]
struct Video {
    sockets: [SocketId; 2],
    stop: SimTime,
    size: u64,
    /// Bitrates in bit/s.
    ladder: Vec<f64>,
    segment: Span,
    most: Span,
    rule: Rule,
    player: Player,
    /// Of each segment, in bit/s.
    throughputs: Vec<f64>,
    fetch: Option<Fetch>,
    /// Of the next segment.
    number: u64,
    unsent: [u64; 2],
    unread: [u64; 2],
    read: Bytes,
}

impl Application for Video {
    fn started(&mut self, calls: &mut Syscalls) {
        self.player.at = calls.now();
        self.sockets.iter().for_each(|&socket| calls.set_no_delay(socket));
        calls.connect(self.sockets[0]);
    }

    fn timer(&mut self, _timer: TimerId, calls: &mut Syscalls) {
        self.ask(calls);
    }

    fn readable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        let bytes = calls.read(socket);
        if socket == self.sockets[1] {
            self.unread[1] = self.unread[1].saturating_sub(bytes.get());
            if let Some(fetch) = self.fetch.filter(|_| bytes > Bytes::ZERO && self.unread[1] == 0) {
                self.unsent[1] = fetch.bytes;
                self.send(calls);
            }
            return;
        }
        self.read += bytes;
        self.unread[0] = self.unread[0].saturating_sub(bytes.get());
        if let Some(fetch) = self.fetch.filter(|_| self.unread[0] == 0) {
            self.fetch = None;
            self.fetched(fetch, calls);
        }
    }

    fn writable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        if self.number == 0 && self.fetch.is_none() && socket == self.sockets[0] {
            return self.ask(calls);
        }
        self.send(calls);
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        record_read(&mut self.read, calls);
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        if let Some(fetch) = self.fetch {
            self.player.advance(calls.now());
            self.record(fetch, None, calls);
        }
    }
}

impl Video {
    /// Asks for the next segment, or waits until the buffer has room for it.
    fn ask(&mut self, calls: &mut Syscalls) {
        let now = calls.now();
        self.player.advance(now);
        if now >= self.stop {
            return calls.close(self.sockets[0]);
        }
        let room = self.most - self.segment;
        if self.player.buffer > room {
            return calls.set_timer(now + (self.player.buffer - room), ROOM);
        }
        let rung = self.choose();
        let bytes = (self.ladder[rung] * self.segment.as_secs_f64() / 8.0).round().max(1.0) as u64;
        let Player { buffer, waited, .. } = self.player;
        self.fetch = Some(Fetch { asked: now, rung, bytes, buffer, waited });
        self.unread = [bytes, self.size];
        self.unsent[0] = self.size;
        self.send(calls);
    }

    fn choose(&self) -> usize {
        let segments = [self.player.buffer, self.most].map(|span| self.in_segments(span));
        let known = hybrid::Known {
            ladder: &self.ladder,
            throughputs: &self.throughputs,
            buffer: self.player.buffer,
            segments,
        };
        match self.rule {
            Rule::Rate => rate::choose(known.ladder, known.throughputs),
            Rule::Bola => bola::choose(known.ladder, segments[0], segments[1]),
            Rule::Hybrid => hybrid::choose(&known),
        }
    }

    fn in_segments(&self, span: Span) -> f64 {
        span.as_secs_f64() / self.segment.as_secs_f64()
    }

    /// The last byte of a segment was read.
    fn fetched(&mut self, fetch: Fetch, calls: &mut Syscalls) {
        let took = calls.now().since(fetch.asked);
        self.player.advance(calls.now());
        self.record(fetch, Some(took), calls);
        self.player.add(self.segment);
        self.throughputs.push(fetch.bytes as f64 * 8.0 * SECOND / took.as_nanos().max(1) as f64);
        self.number += 1;
        self.ask(calls);
    }

    fn record(&self, fetch: Fetch, fetch_ms: Option<Span>, calls: &mut Syscalls) {
        let row = VideoRow {
            t: fetch.asked,
            video: calls.name(),
            segment: self.number,
            bitrate: Rate::from_bits_per_sec(self.ladder[fetch.rung] as u64),
            bytes: Bytes(fetch.bytes),
            buffer_ms: fetch.buffer,
            fetch_ms,
            waited_ms: self.player.waited - fetch.waited,
        };
        calls.record().video.get_or_insert_default().push(row);
    }

    /// Hands the rest of both messages to their sockets; `writable` follows if one has no room.
    fn send(&mut self, calls: &mut Syscalls) {
        send_rest(self.sockets, &mut self.unsent, calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::chain;
    use crate::world::World;

    fn video(ladder: &str, rule: &str) -> String {
        format!(
            r#"{{"kind": "video", "name": "video", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
                "size": 400, "ladder_bps": {ladder}, "segment_ns": 100000000, "buffer_ns": 1000000000,
                "startup_ns": 100000000, "rule": "{rule}",
                "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
                "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                "notsent_lowat": null, "mss": null}}}}"#
        )
    }

    fn played(traffic: &str, look: impl Fn(&Video)) {
        let mut world = World::build(&chain(traffic)).unwrap();
        world.advance(&()).unwrap();
        assert!(world.ledger().balances());
        let mut applications = world.conversations.iter().filter_map(|each| each.application.as_deref());
        look(applications.find_map(|each| (each as &dyn std::any::Any).downcast_ref::<Video>()).unwrap());
    }

    #[test]
    fn a_video_below_the_rate_of_the_link_never_stalls_and_its_buffer_stays_below_the_maximum() {
        for rule in ["rate", "bola", "hybrid"] {
            played(&video("[200000, 1000000, 4000000]", rule), |video| {
                // It waits for the handshake and the first segment only.
                assert!(video.player.waited < Span::from_nanos(60_000_000), "{rule}: {:?}", video.player);
                assert!(video.player.buffer <= video.most, "{rule}");
                // 2 s of playing and a full buffer, less a segment on its way.
                assert!((26..=30).contains(&video.number), "{rule}: {}", video.number);
            });
        }
    }

    #[test]
    fn a_video_twice_as_fast_as_the_link_stalls_half_of_the_time() {
        played(&video("[20000000]", "bola"), |video| {
            let waited = video.player.waited.as_secs_f64();
            assert!((0.9..1.3).contains(&waited), "{waited}");
        });
    }

    #[test]
    fn a_ladder_that_does_not_grow_is_refused_with_its_path() {
        let refused = World::build(&chain(&video("[2000, 1000]", "rate"))).err().unwrap();
        assert_eq!(refused.path, "traffic[0].ladder_bps");
    }
}
