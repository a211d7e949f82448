//! A player of video in segments (DASH) over one TCP connection, and its server.
//!
//! What the player asks for and when is that of [`tailback_video`], which the agent uses too.

use serde::Deserialize;
use tailback_packet::SocketId;
use tailback_record::VideoRow;
use tailback_units::{Bytes, Rate, SimTime, Span};
use tailback_video::{Next, Player, Rule, Segment, Video};

use super::exchange::{SegmentsSent, record_read, record_sent, send_rest};
use super::{Application, Conversation, Kind, Place, TimerId, TrafficPath};
use crate::BuildError;
use crate::build::{Builder, Connection, ServerRole};
use crate::check::{check_connection, ensure, positive};
use crate::scenario::{CongestionControl, InternetProtocol, SmallQueue, SocketOptions};
use crate::syscalls::Syscalls;

/// The buffer has room for the next segment.
const ROOM: TimerId = TimerId(1);

/// A video that is played once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoTraffic {
    /// The name of the video in tables.
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
    fn check(&self, path: TrafficPath) -> Result<(), BuildError> {
        positive(self.size, format_args!("{path}.size"))?;
        let in_order = self.start_ns < self.stop_ns;
        ensure(in_order, format_args!("{path}.stop_ns"), "not after start_ns", "write a later instant")?;
        if let Some([name, problem, remedy]) = self.video().refused() {
            return Err(BuildError::new(format!("{path}.{name}"), problem, remedy));
        }
        check_connection(self.tsq, &self.socket, path)
    }

    fn build(&self, place: &Place, builder: &mut Builder) -> Result<Box<dyn Application>, BuildError> {
        builder.check_path([self.from, self.to], place.path)?;
        if !builder.round_trip_takes_time(self.ends()) {
            let remedy = "give a link on the way a `rate` or a `delay`";
            return Err(BuildError::new(place.path, "no time passes from a request to its answer", remedy));
        }
        let connection = Connection {
            sockets: place.sockets(),
            ends: self.ends(),
            name: &self.name,
            start: SimTime::from_nanos(self.start_ns),
            server: ServerRole::Answers,
            cc: &self.cc,
            tsq: self.tsq,
            options: &self.socket,
            dscp: self.dscp,
            ip: InternetProtocol::default(),
        };
        builder.add_connection(&connection, place)?;
        builder.set_timer(place.conversation, connection.start, TimerId::START);
        Ok(Box::new(Playing {
            sockets: place.sockets(),
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            player: Player::new(self.video(), connection.start),
            unsent: [0, 0],
            unread: [0, 0],
            read: Bytes::ZERO,
            sent: SegmentsSent::default(),
        }))
    }
}

impl VideoTraffic {
    fn video(&self) -> Video {
        Video {
            ladder: self.ladder_bps.iter().map(|&rate| Rate::from_bits_per_sec(rate)).collect(),
            segment: Span::from_nanos(self.segment_ns),
            buffer: Span::from_nanos(self.buffer_ns),
            startup: Span::from_nanos(self.startup_ns),
            rule: self.rule,
        }
    }
}

/// A player and its server. Pairs are those of the player, then of the server.
#[derive(Debug)]
struct Playing {
    sockets: [SocketId; 2],
    stop: SimTime,
    size: u64,
    player: Player,
    unsent: [u64; 2],
    unread: [u64; 2],
    read: Bytes,
    /// What both ends had sent at their last rows.
    sent: SegmentsSent,
}

impl Application for Playing {
    fn started(&mut self, calls: &mut Syscalls) {
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
            if let Some(segment) =
                self.player.fetching().filter(|_| bytes > Bytes::ZERO && self.unread[1] == 0)
            {
                self.unsent[1] = segment.get();
                self.send(calls);
            }
            return;
        }
        self.read += bytes;
        self.unread[0] = self.unread[0].saturating_sub(bytes.get());
        if self.unread[0] == 0
            && let Some(segment) = self.player.fetched(calls.now())
        {
            record(&segment, calls);
            self.ask(calls);
        }
    }

    fn writable(&mut self, socket: SocketId, calls: &mut Syscalls) {
        let connected = self.player.segments() == 0 && self.player.fetching().is_none();
        if connected && socket == self.sockets[0] {
            return self.ask(calls);
        }
        self.send(calls);
    }

    fn sample(&mut self, calls: &mut Syscalls) {
        record_read(&mut self.read, calls);
        record_sent([self.sockets].into_iter(), &mut self.sent, calls);
    }

    fn ended(&mut self, calls: &mut Syscalls) {
        if let Some(segment) = self.player.unfinished(calls.now()) {
            record(&segment, calls);
        }
    }
}

impl Playing {
    /// Asks for the next segment, or waits until the buffer has room for it.
    fn ask(&mut self, calls: &mut Syscalls) {
        if calls.now() >= self.stop {
            return calls.close(self.sockets[0]);
        }
        match self.player.next(calls.now()) {
            Next::WaitUntil(then) => calls.set_timer(then, ROOM),
            Next::Ask(bytes) => {
                self.unread = [bytes.get(), self.size];
                self.unsent[0] = self.size;
                self.send(calls);
            }
        }
    }

    /// Hands the rest of both messages to their sockets; `writable` follows if one has no room.
    fn send(&mut self, calls: &mut Syscalls) {
        send_rest(self.sockets, &mut self.unsent, calls);
    }
}

fn record(segment: &Segment, calls: &mut Syscalls) {
    let row = VideoRow {
        t: segment.asked,
        video: calls.name(),
        segment: segment.number,
        bitrate: segment.bitrate,
        bytes: segment.bytes,
        buffer_ms: segment.buffer,
        fetch_ms: segment.fetched,
        waited_ms: segment.waited,
    };
    calls.record().video.get_or_insert_default().push(row);
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

    fn played(traffic: &str, look: impl Fn(&Player)) {
        let mut world = World::build(&chain(traffic)).unwrap();
        world.advance(&()).unwrap();
        assert!(world.ledger().balances());
        let mut applications = world.conversations.iter().filter_map(|each| each.application.as_deref());
        look(
            &applications
                .find_map(|each| (each as &dyn std::any::Any).downcast_ref::<Playing>())
                .unwrap()
                .player,
        );
    }

    #[test]
    fn a_video_below_the_rate_of_the_link_never_stalls_and_its_buffer_stays_below_the_maximum() {
        for rule in ["rate", "bola", "hybrid"] {
            played(&video("[200000, 1000000, 4000000]", rule), |video| {
                // It waits for the handshake and the first segment only.
                assert!(video.waited() < Span::from_nanos(60_000_000), "{rule}: {:?}", video);
                assert!(video.buffer() <= Span::from_nanos(1_000_000_000), "{rule}");
                // 2 s of playing and a full buffer, less a segment on its way.
                assert!((26..=30).contains(&video.segments()), "{rule}: {}", video.segments());
            });
        }
    }

    #[test]
    fn a_video_twice_as_fast_as_the_link_stalls_half_of_the_time() {
        played(&video("[20000000]", "bola"), |video| {
            let waited = video.waited().as_secs_f64();
            assert!((0.9..1.3).contains(&waited), "{waited}");
        });
    }

    #[test]
    fn a_ladder_that_does_not_grow_is_refused_with_its_path() {
        let refused = World::build(&chain(&video("[2000, 1000]", "rate"))).err().unwrap();
        assert_eq!(refused.path, "traffic[0].ladder_bps");
    }
}
