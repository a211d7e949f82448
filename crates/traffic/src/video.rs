//! A player of video in segments (DASH) over one TCP connection, and its server.
//!
//! What it asks for and when is that of its [`Player`]. A request says how long its segment is.

mod bola;
mod hybrid;
mod player;
mod rate;

use serde::Deserialize;
use tailback_units::{Rate, SimTime, Span};

use crate::Kind;
use crate::calls::{Application, Calls, Event, Row, Socket};
use crate::check::{Checked, Refused, check_connection, in_order, positive};
use crate::connection::{
    Carrier, CongestionControl, Connections, Head, InternetProtocol, Purpose, SmallQueue, SocketOptions,
};
use crate::exchange::{Answers, Server, send_rest};

pub use player::{Next, Player, Rule, Segment, Video};

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
    type Client = Client;
    type Server = Server;

    fn check(&self) -> Checked {
        positive(self.size, "size")?;
        in_order(self.start_ns, self.stop_ns)?;
        if let Some([key, problem, remedy]) = self.video().refused().map(|texts| texts.map(str::to_owned)) {
            return Err(Refused { key, problem, remedy });
        }
        check_connection(self.tsq, &self.socket)
    }

    fn carrier(&self) -> Carrier<'_> {
        let purpose = Purpose::Requests { size: self.size, head: Head::Size };
        let (cc, tsq, socket, ip) = (&self.cc, self.tsq, &self.socket, InternetProtocol::default());
        Carrier::Tcp(Connections { count: 1, purpose, cc, tsq, socket, ip })
    }

    fn stop_by(&mut self, end_ns: u64) {
        self.stop_ns = self.stop_ns.min(end_ns);
    }

    fn client(&self) -> Client {
        Client {
            stop: SimTime::from_nanos(self.stop_ns),
            size: self.size,
            player: Player::new(self.video(), SimTime::from_nanos(self.start_ns)),
            unsent: 0,
            unread: 0,
        }
    }

    fn server(&self) -> Server {
        Server::new(self.size, Answers::Told)
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

/// The client of a video: its player, and the connection.
#[derive(Clone, Debug)]
pub struct Client {
    stop: SimTime,
    /// Bytes of a request.
    size: u64,
    player: Player,
    /// Bytes of the present request that the socket has not accepted.
    unsent: u64,
    /// Bytes of the present segment that are still to be read.
    unread: u64,
}

impl Application for Client {
    fn on<C: Calls>(&mut self, event: Event, _socket: Socket, calls: &mut C) {
        match event {
            Event::Started => calls.connect(Socket::FIRST),
            Event::Timer => self.ask(calls),
            Event::Readable => self.read(calls),
            Event::Writable => self.writable(calls),
            Event::Ended => {
                if let Some(segment) = self.player.unfinished(calls.now()) {
                    record(&segment, calls);
                }
            }
            _ => {}
        }
    }
}

impl Client {
    /// Its player.
    pub fn player(&self) -> &Player {
        &self.player
    }

    fn writable<C: Calls>(&mut self, calls: &mut C) {
        let connected = self.player.segments() == 0 && self.player.fetching().is_none();
        if connected {
            return self.ask(calls);
        }
        send_rest(Socket::FIRST, &mut self.unsent, calls);
    }

    fn read<C: Calls>(&mut self, calls: &mut C) {
        let bytes = calls.read(Socket::FIRST);
        calls.count_read(bytes);
        self.unread = self.unread.saturating_sub(bytes.get());
        if self.unread == 0
            && let Some(segment) = self.player.fetched(calls.now())
        {
            record(&segment, calls);
            self.ask(calls);
        }
    }

    /// Asks for the next segment, or waits until the buffer has room for it.
    fn ask<C: Calls>(&mut self, calls: &mut C) {
        if calls.now() >= self.stop {
            return calls.close(Socket::FIRST);
        }
        match self.player.next(calls.now()) {
            Next::WaitUntil(then) => calls.set_timer(then),
            Next::Ask(bytes) => {
                calls.tell(Socket::FIRST, bytes.get());
                (self.unsent, self.unread) = (self.size, bytes.get());
                send_rest(Socket::FIRST, &mut self.unsent, calls);
            }
        }
    }
}

fn record<C: Calls>(segment: &Segment, calls: &mut C) {
    let &Segment { number, asked, bitrate, bytes, buffer, fetched, waited } = segment;
    calls.record(Row::Segment { number, asked, bitrate, bytes, buffer, fetched, waited });
}
