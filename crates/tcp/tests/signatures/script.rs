//! One socket driven by a test, which determines what arrives and when, and reads what the socket sent. Segments are
//! counted from 0; times are relative to the establishment of the connection.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{Control, EcnNeed};
use tailback_packet::{
    Ecn, HostId, Packet, Payload, SackBlock, SackBlocks, Segment, SegmentFlags, SocketId, Timestamp,
};
use tailback_tcp::{
    Endpoint, EndpointConfig, Note, Settings, SmallQueueLimit, SocketOptions, TcpInfo, Transmitted,
};
use tailback_units::{SimTime, Span};

/// Payload of a full segment: MTU 1500 minus IP and TCP headers and timestamps.
pub const MSS: u64 = 1448;
/// Truesize of a full segment: payload and 960 bytes of skb.
pub const TRUESIZE: u64 = MSS + 960;
/// When the script's clock shows zero.
const START: SimTime = SimTime::from_nanos(10_000_000_000);
/// The clock of the timestamp option.
const TIMESTAMP_CLOCK: Span = Span::from_millis(1);

pub const fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

pub const fn us(us: u64) -> Span {
    Span::from_micros(us)
}

/// A kernel timer never fires early; it fires late by up to a jiffy and an eighth of its duration, because of the timer
/// wheel.
#[track_caller]
pub fn assert_fires(at: Span, span: Span) {
    let latest = span + span / 8 + ms(2);
    assert!(at >= span && at <= latest, "a timer of {span} fired after {at}");
}

/// First byte of a segment.
pub fn byte(segment: u64) -> u64 {
    1 + segment * MSS
}

/// The connection of a test.
pub struct Setup {
    pub control: Control,
    pub wants_pacing: bool,
    /// Round trip of the handshake.
    pub rtt: Span,
    /// The window that the peer advertises.
    pub window: u64,
    pub settings: Settings,
    pub small_queue: SmallQueueLimit,
    pub options: SocketOptions,
}

impl Setup {
    /// A path with this `rtt`, a peer and a send buffer that never limit.
    pub fn new(control: Control, rtt: Span) -> Self {
        let settings = Settings { wmem: [4096, 4_194_304, 4_194_304], ..Settings::default() };
        let small_queue = SmallQueueLimit::Shift(10);
        let options = SocketOptions::default();
        Setup { control, wants_pacing: false, rtt, window: 6_291_456, settings, small_queue, options }
    }

    fn endpoint_config(self) -> EndpointConfig {
        EndpointConfig {
            socket: SocketId(0),
            peer: SocketId(1),
            peer_host: HostId(1),
            flow_hash: 7,
            settings: self.settings.into(),
            small_queue: self.small_queue,
            options: self.options,
            control: self.control,
            wants_pacing: self.wants_pacing,
            needs_ecn: EcnNeed::No,
            sndbuf_factor: 2,
        }
    }
}

/// The behaviour of the device below the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// Sends them at once: the credit returns before the next packet.
    Sends,
    /// Keeps them until [`Script::complete`].
    Holds,
    /// Drops them.
    Drops,
    /// Drops so many of them, and then sends.
    DropsFirst(u64),
    /// Accepts them, but reports that another packet of the flow was dropped; the credit returns at once.
    Congested,
}

/// A data segment that left.
#[derive(Clone, Debug)]
pub struct Sent {
    pub number: u64,
    pub at: Span,
    pub departure: Span,
    pub segment: Segment,
}

/// The socket and its surroundings.
pub struct Script {
    pub endpoint: Endpoint,
    pub device: Device,
    /// The window that the peer advertises.
    pub window: u64,
    /// Data segments the device refused.
    pub refused: u64,
    /// The application reads whatever arrives at once.
    pub reads: bool,
    /// The flow hash of the last packet that left.
    pub flow_hash: u32,
    /// How often it was woken to read.
    pub woken: u64,
    rtt: Span,
    now: SimTime,
    draws: Xoshiro256PlusPlus,
    log: Vec<Sent>,
    /// Number of entries of the log that the test has read.
    seen: usize,
    acks: Vec<Segment>,
    below: VecDeque<u32>,
    handler_due: bool,
    handler_runs: u64,
    acked: u64,
    echo: SimTime,
}

impl Script {
    /// Connects; the handshake takes one round trip.
    pub fn connect(setup: Setup) -> Self {
        let mut script = Script::connecting(setup);
        script.now = START;
        script.answer_syn();
        script.forget();
        script
    }

    /// The SYN left one round trip before the clock shows zero.
    pub fn connecting(setup: Setup) -> Self {
        let (rtt, window) = (setup.rtt, setup.window);
        let mut script = Script::new(Endpoint::connect(setup.endpoint_config(), START - rtt), rtt, window);
        script.drain();
        script
    }

    /// The SYN-ACK arrives.
    pub fn answer_syn(&mut self) {
        self.inject(self.peer_segment(0, 0, SegmentFlags::SYN.with(SegmentFlags::ACK)));
    }

    /// Is connected to.
    pub fn listen(setup: Setup) -> Self {
        let mut script = Script::answering(setup);
        script.now = START;
        script.inject(script.peer_segment(1, 0, SegmentFlags::ACK));
        script
    }

    /// A SYN arrived one round trip before the clock shows zero.
    pub fn answering(setup: Setup) -> Self {
        let (rtt, window) = (setup.rtt, setup.window);
        let mut script = Script::new(Endpoint::listen(setup.endpoint_config()), rtt, window);
        script.syn();
        script
    }

    /// A SYN arrives, perhaps again.
    pub fn syn(&mut self) {
        self.inject(self.peer_segment(0, 0, SegmentFlags::SYN));
    }

    fn new(endpoint: Endpoint, rtt: Span, window: u64) -> Self {
        Script {
            endpoint,
            device: Device::Sends,
            window,
            refused: 0,
            reads: true,
            flow_hash: 0,
            woken: 0,
            rtt,
            now: START - rtt,
            draws: Xoshiro256PlusPlus::seed_from_u64(1),
            log: Vec::new(),
            seen: 0,
            acks: Vec::new(),
            below: VecDeque::new(),
            handler_due: false,
            handler_runs: 0,
            acked: byte(0),
            echo: START - rtt,
        }
    }

    /// Time since the connection was established.
    pub fn clock(&self) -> Span {
        self.now.since(START)
    }

    /// The instant at which the clock shows zero.
    pub fn clock_zero(&self) -> SimTime {
        START
    }

    /// Lets time pass until the clock shows `clock`; timers fire on the way.
    pub fn at(&mut self, clock: Span) {
        let until = START + clock;
        assert!(until >= self.now, "the script goes back to {clock}");
        while let Some(deadline) = self.endpoint.deadline().filter(|&deadline| deadline <= until) {
            self.now = deadline.max(self.now);
            self.endpoint.expire(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// As [`Script::at`], but no timer runs before the end.
    pub fn at_with_late_timers(&mut self, clock: Span) {
        self.now = START + clock;
        if self.endpoint.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.endpoint.expire(self.now);
            self.drain();
        }
    }

    pub fn advance(&mut self, span: Span) {
        self.at(self.clock() + span);
    }

    /// The application writes whole segments.
    pub fn write(&mut self, segments: u64) {
        self.write_bytes(segments * MSS);
    }

    pub fn write_bytes(&mut self, bytes: u64) {
        let accepted = self.write_what_fits(bytes);
        assert_eq!(accepted, bytes, "the send buffer of the test is too small");
    }

    /// One `send()` until it completes or blocks; returns the bytes that the send buffer accepted.
    pub fn write_what_fits(&mut self, bytes: u64) -> u64 {
        let mut accepted = 0;
        while accepted < bytes {
            accepted += self.endpoint.write(bytes - accepted, self.now);
            self.drain();
            if self.endpoint.write_blocked() {
                break;
            }
        }
        accepted
    }

    /// Everything before `segment` is acknowledged.
    pub fn ack(&mut self, segment: u64) {
        self.sack(segment, &[]);
    }

    /// As [`Script::ack`], with a SACK block for each `start..end`.
    pub fn sack(&mut self, segment: u64, blocks: &[(u64, u64)]) {
        let filled = self.log.iter().rev().find(|sent| byte(sent.number) == self.acked);
        if let (true, Some(sent)) = (byte(segment) > self.acked, filled) {
            self.echo = sent.segment.tsval.time().expect("timestamps are on");
        }
        self.sack_echoing(segment, blocks, self.echo);
    }

    /// As [`Script::sack`], echoing the timestamp of the first transmission of the segment that it acknowledges.
    pub fn sack_of_original(&mut self, segment: u64, blocks: &[(u64, u64)]) {
        let original = self.log.iter().find(|sent| byte(sent.number) == self.acked);
        let echo = original.and_then(|sent| sent.segment.tsval.time()).expect("it was sent");
        self.sack_echoing(segment, blocks, echo);
    }

    fn sack_echoing(&mut self, segment: u64, blocks: &[(u64, u64)], echo: SimTime) {
        let sack = blocks.iter().map(|&(start, end)| SackBlock { start: byte(start), end: byte(end) });
        let mut ack = self.peer_segment(1, 0, SegmentFlags::ACK);
        ack.ack = byte(segment);
        ack.sack = SackBlocks::new(sack.collect());
        ack.tsecr = Timestamp::at(echo);
        self.acked = self.acked.max(ack.ack);
        self.inject(ack);
    }

    /// A segment of the peer's data arrives.
    pub fn data(&mut self, segment: u64) {
        self.data_bytes(byte(segment), MSS as u32);
    }

    pub fn data_bytes(&mut self, seq: u64, length: u32) {
        let segment = self.peer_segment(seq, length, SegmentFlags::ACK);
        self.inject(segment);
    }

    /// A full segment of the peer's with one flag more than ACK.
    pub fn data_with(&mut self, seq: u64, flag: SegmentFlags) {
        let segment = self.peer_segment(seq, MSS as u32, SegmentFlags::ACK.with(flag));
        self.inject(segment);
    }

    /// A segment as the peer would send it now.
    pub fn peer_segment(&self, seq: u64, length: u32, flags: SegmentFlags) -> Segment {
        let on_clock = |time: SimTime| SimTime::from_nanos(time.ticks(TIMESTAMP_CLOCK) * 1_000_000);
        Segment {
            seq,
            length,
            ack: self.acked,
            window: self.window,
            flags,
            mss: length.max(1460) as u16,
            tsval: Timestamp::at(on_clock(self.now)),
            tsecr: Timestamp::at(on_clock(self.now - self.rtt)),
            sack: SackBlocks::NONE,
        }
    }

    /// A segment arrives.
    pub fn inject(&mut self, segment: Segment) {
        let truesize = segment.length + 960;
        self.endpoint.take(&segment, Ecn::NotEct, truesize, self.now, &mut self.draws);
        self.drain();
        let readable = self.endpoint.wakeup().readable;
        self.woken += u64::from(readable);
        if readable && self.reads {
            self.read();
        }
    }

    /// The application closes.
    pub fn close(&mut self) {
        self.endpoint.close(self.now);
        self.drain();
    }

    /// The application, which has read the end, closes.
    pub fn close_at_end(&mut self) {
        self.endpoint.close_at_end();
        self.drain();
    }

    /// The application reads all there is.
    pub fn read(&mut self) -> u64 {
        let bytes = self.endpoint.read(self.now).0;
        self.drain();
        bytes
    }

    /// The device completes this many of its packets.
    pub fn complete(&mut self, packets: usize) {
        for truesize in self.below.drain(..packets).collect::<Vec<_>>() {
            self.credit(truesize);
        }
        self.run_handler();
    }

    fn credit(&mut self, truesize: u32) {
        self.handler_due |= self.endpoint.credit(truesize);
    }

    fn run_handler(&mut self) {
        while std::mem::take(&mut self.handler_due) {
            self.handler_runs += 1;
            self.endpoint.small_queue_ran(self.now);
            self.hand_over_all();
        }
    }

    fn drain(&mut self) {
        self.hand_over_all();
        self.run_handler();
    }

    fn hand_over_all(&mut self) {
        while let Some(packet) = self.endpoint.next_packet(self.now) {
            let outcome = self.hand_over(packet);
            self.endpoint.handed_over(outcome, self.now);
        }
    }

    fn hand_over(&mut self, packet: Packet) -> Transmitted {
        let (charged, truesize) = (packet.charged, packet.truesize);
        self.flow_hash = packet.flow_hash;
        let departure = packet.departure.since(START);
        let Payload::Tcp(segment) = packet.payload else { panic!("a socket sends TCP") };
        if !charged {
            self.acks.push(segment);
            return Transmitted::Queued;
        }
        if let Device::DropsFirst(left) = self.device {
            self.device = if left > 0 { Device::DropsFirst(left - 1) } else { Device::Sends };
        }
        if matches!(self.device, Device::Drops | Device::DropsFirst(_)) {
            self.refused += 1;
            self.credit(truesize);
            return Transmitted::Dropped;
        }
        let number = (segment.seq - 1) / MSS;
        self.log.push(Sent { number, at: self.clock(), departure, segment });
        match self.device {
            Device::Holds => self.below.push_back(truesize),
            _ => self.credit(truesize),
        }
        if self.device == Device::Congested { Transmitted::Congestion } else { Transmitted::Queued }
    }

    /// Numbers of the data segments that left since the last call.
    pub fn sent(&mut self) -> Vec<u64> {
        self.transmissions().iter().map(|sent| sent.number).collect()
    }

    /// The data segments that left since the last call.
    pub fn transmissions(&mut self) -> Vec<Sent> {
        let seen = std::mem::replace(&mut self.seen, self.log.len());
        self.log[seen..].to_vec()
    }

    /// Pure ACKs, SYNs and probes that left since the last call.
    pub fn acks(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.acks)
    }

    /// Skips all packets sent so far.
    pub fn forget(&mut self) {
        self.transmissions();
        self.acks();
    }

    /// Number of packets in the device.
    pub fn below(&self) -> usize {
        self.below.len()
    }

    /// How often the small-queue handler has run.
    pub fn handler_runs(&self) -> u64 {
        self.handler_runs
    }

    pub fn info(&self) -> TcpInfo {
        self.endpoint.tcp_info(self.now)
    }

    pub fn cwnd(&self) -> u32 {
        self.info().snd_cwnd.0
    }

    /// In segments; 0 is infinite.
    pub fn ssthresh(&self) -> u32 {
        self.info().snd_ssthresh.map_or(0, |ssthresh| ssthresh.0)
    }

    pub fn notes(&mut self) -> Vec<Note> {
        self.endpoint.notes().collect()
    }
}
