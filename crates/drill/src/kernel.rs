//! The kernel under test: conversations, the device below them, and virtual time.
//!
//! Time passes only in [`Kernel::pass_until`] and [`Kernel::pass_until_departure`]: from one deadline of a machine, or
//! departure time of a packet, to the next. What the device has sent waits in order for the script to look at it.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_packet::{Ecn, Packet, Payload, Segment, SegmentFlags};
use tailback_tcp::Transmitted;
use tailback_units::{SimTime, Span};

use crate::connection::{Connection, Departed, NotInjectable, Phase};
use crate::host::{Discipline, EcnPolicy, Host};
use crate::script::{Flags, SegmentSpec};
use crate::skbs::{Quota, autosize};
use crate::sockets::SocketOptions;

/// A script's time 0: well after the machine's, and a quarter into a jiffy, as packetdrill starts. [packetdrill]
pub(crate) const START: SimTime = SimTime::from_nanos(10_000_250_000);
/// Steps of virtual time that one script may take: more means that a machine does not come to rest.
const STEPS_MAX: u64 = 2_000_000;
/// Room that an skb takes beside its payload; the send buffer counts it.
const SKB_OVERHEAD: u64 = 960;
/// Memory reserved per segment when the send buffer grows by itself. [linux-6.12 tcp_input.c tcp_sndbuf_expand]
const SNDBUF_HEADERS: u64 = 320 + 320;
const SK_BUFF: u64 = 256;
/// Segments the send buffer has room for at least.
const INITIAL_WINDOW: u64 = 10;

/// A packet that left the host.
#[derive(Debug)]
pub(crate) struct OnWire {
    pub(crate) at: SimTime,
    pub(crate) connection: usize,
    pub(crate) departed: Departed,
}

/// Conversations, device, time.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) host: Host,
    pub(crate) now: SimTime,
    pub(crate) connections: Vec<Connection>,
    /// What has left and the script has not looked at.
    pub(crate) wire: VecDeque<OnWire>,
    /// `gso_size` of segments that arrive (`--mss`).
    pub(crate) gso_size: Option<u16>,
    /// What `fq` holds back.
    held: Vec<(SimTime, usize, Packet)>,
    draws: Xoshiro256PlusPlus,
    steps: u64,
}

/// A machine acts again and again at one instant, or a script waits for ever.
pub(crate) struct Restless;

impl Kernel {
    pub(crate) fn new(host: Host) -> Self {
        Kernel {
            host,
            now: START,
            connections: Vec::new(),
            wire: VecDeque::new(),
            gso_size: None,
            held: Vec::new(),
            draws: Xoshiro256PlusPlus::seed_from_u64(0),
            steps: 0,
        }
    }

    /// The conversation that a script's segments belong to: the newest.
    pub(crate) fn current(&self) -> Option<usize> {
        self.connections.len().checked_sub(1)
    }
}

/// Time.
impl Kernel {
    fn next_step(&self) -> Option<SimTime> {
        let open = self.connections.iter().filter(|connection| connection.phase != Phase::Reset);
        let timers = open.filter_map(|connection| connection.endpoint.deadline());
        timers.chain(self.held.first().map(|(at, _, _)| *at)).min()
    }

    /// Everything up to `end` happens, one step at a time; `look` is asked after each and may stop.
    pub(crate) fn pass_until(
        &mut self,
        end: SimTime,
        mut look: impl FnMut(&mut Kernel) -> bool,
    ) -> Result<(), Restless> {
        while let Some(at) = self.next_step().filter(|at| *at <= end) {
            self.step(at)?;
            if look(self) {
                return Ok(());
            }
        }
        self.now = self.now.max(end);
        Ok(())
    }

    fn step(&mut self, at: SimTime) -> Result<(), Restless> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(Restless);
        }
        self.now = self.now.max(at);
        self.release_held();
        for index in 0..self.connections.len() {
            let due =
                self.connections[index].endpoint.deadline().is_some_and(|deadline| deadline <= self.now);
            if due && self.connections[index].phase != Phase::Reset {
                self.connections[index].endpoint.expire(self.now, &mut self.draws);
                self.drain(index);
            }
        }
        Ok(())
    }

    /// `fq` sends what is due.
    fn release_held(&mut self) {
        while self.held.first().is_some_and(|(at, _, _)| *at <= self.now) {
            let (_, index, packet) = self.held.remove(0);
            let handler = packet.charged && self.connections[index].endpoint.credit(packet.truesize);
            self.depart(index, vec![packet]);
            if handler {
                self.connections[index].endpoint.small_queue_ran(self.now);
                self.drain(index);
            }
        }
    }
}

/// Sending.
impl Kernel {
    /// Hands over everything that a socket wants to send.
    pub(crate) fn drain(&mut self, index: usize) {
        let mut left = Vec::new();
        loop {
            let mut handler_due = false;
            while let Some(packet) = self.connections[index].endpoint.next_packet(self.now) {
                handler_due |= self.hand_over(index, packet, &mut left);
            }
            if !handler_due {
                break;
            }
            self.connections[index].endpoint.small_queue_ran(self.now);
        }
        self.depart(index, left);
        let connection = &mut self.connections[index];
        connection.finished |= connection.endpoint.wakeup().finished;
    }

    /// The device takes a packet; true if its credit wakes the small queue.
    fn hand_over(&mut self, index: usize, packet: Packet, left: &mut Vec<Packet>) -> bool {
        let endpoint = &mut self.connections[index].endpoint;
        let mut handler_due = false;
        if self.host.discipline == Discipline::Fq {
            endpoint.meets_fq();
        }
        let waits = self.host.discipline == Discipline::Fq && packet.departure > self.now;
        if waits {
            let place = self.held.partition_point(|(at, _, _)| *at <= packet.departure);
            self.held.insert(place, (packet.departure, index, packet));
        } else {
            handler_due = packet.charged && endpoint.credit(packet.truesize);
            left.push(packet);
        }
        endpoint.handed_over(Transmitted::Queued, self.now);
        handler_due
    }

    /// Packets leave together: what is contiguous is sent as the kernel would have cut it.
    fn depart(&mut self, index: usize, packets: Vec<Packet>) {
        let now = self.now;
        let connection = &mut self.connections[index];
        connection.segments.sent += packets.len() as u64;
        let mut quota = quota(connection, &self.host, packets.len(), now);
        let segments = packets.into_iter().filter_map(|packet| match packet.payload {
            Payload::Tcp(segment) => Some((segment, packet.ecn)),
            _ => None,
        });
        for run in runs(segments) {
            for departed in cut(connection, run, &mut quota) {
                self.wire.push_back(OnWire { at: now, connection: index, departed });
            }
        }
    }

    /// The host sends a RST of its own.
    pub(crate) fn send_reset(&mut self, index: usize, seq: u64, ack: Option<u64>) {
        let flags = ack.map_or(Flags::RST, |_| Flags::RST.with(Flags::ACK));
        let departed = Departed {
            flags,
            seq,
            length: 0,
            ack: ack.unwrap_or(0),
            window: 0,
            tsval: None,
            tsecr: None,
            sack: Vec::new(),
            mss: 0,
            ecn: Ecn::NotEct,
        };
        self.connections[index].phase = Phase::Reset;
        self.wire.push_back(OnWire { at: self.now, connection: index, departed });
    }
}

fn quota(connection: &Connection, host: &Host, leaving: usize, now: SimTime) -> Quota {
    let info = connection.endpoint.tcp_info(now);
    let in_flight = (info.unacked.0 + info.retrans.0).saturating_sub(info.sacked.0 + info.lost.0);
    let min_rtt = info.min_rtt.map_or(u64::MAX, Span::as_micros);
    let rate = info.pacing_rate.bytes_per_sec();
    let size = autosize(rate, min_rtt, u64::from(info.snd_mss), host.tso_rtt_log);
    Quota {
        cwnd: info.snd_cwnd.0,
        in_flight: in_flight.saturating_sub(leaving as u32),
        autosize: size.max(u64::from(host.min_tso_segs)) as u32,
    }
}

/// Segments that follow each other without a gap.
fn runs(segments: impl Iterator<Item = (Segment, Ecn)>) -> Vec<Vec<(Segment, Ecn)>> {
    let mut runs: Vec<Vec<(Segment, Ecn)>> = Vec::new();
    for (segment, ecn) in segments {
        let joins = runs.last().and_then(|run| run.last()).is_some_and(|(last, mark)| {
            last.length > 0 && segment.length > 0 && last.end() == segment.seq && *mark == ecn
        });
        match runs.last_mut() {
            Some(run) if joins => run.push((segment, ecn)),
            _ => runs.push(vec![(segment, ecn)]),
        }
    }
    runs
}

/// A run as the packets that the kernel makes of it.
fn cut(connection: &mut Connection, run: Vec<(Segment, Ecn)>, quota: &mut Quota) -> Vec<Departed> {
    let (Some((first, ecn)), Some((last, _))) = (run.first(), run.last()) else { return Vec::new() };
    let whole = departed(first, *ecn);
    if first.length == 0 {
        return vec![whole];
    }
    let end = last.seq + u64::from(last.length);
    let trains = connection.skbs.leave(first.seq, end, *quota);
    quota.in_flight += run.len() as u32;
    let fin = last.flags.contains(SegmentFlags::FIN);
    let cut = |train: &crate::skbs::Train| {
        let mut part =
            Departed { seq: train.start, length: (train.end - train.start) as u32, ..whole.clone() };
        part.flags = part.flags.without(Flags::PSH).without(Flags::FIN);
        if train.push {
            part.flags = part.flags.with(Flags::PSH);
        }
        if fin && train.end == end {
            part.flags = part.flags.with(Flags::FIN);
        }
        part
    };
    trains.iter().map(cut).collect()
}

fn departed(segment: &Segment, ecn: Ecn) -> Departed {
    Departed {
        flags: Flags(segment.flags.bits()),
        seq: segment.seq,
        length: segment.length,
        ack: segment.ack,
        window: segment.window,
        tsval: segment.tsval,
        tsecr: segment.tsecr,
        sack: segment.sack.as_slice().to_vec(),
        mss: segment.mss,
        ecn,
    }
}

/// Receiving.
impl Kernel {
    /// A socket connects: its SYN leaves.
    pub(crate) fn connect(&mut self, options: &SocketOptions) -> Result<usize, NotInjectable> {
        if self.host.ecn == EcnPolicy::Requests {
            return Err(NotInjectable("net.ipv4.tcp_ecn=1 asks for ECN, which is not modelled".to_owned()));
        }
        self.connections.push(Connection::connect(&self.host, options, self.now));
        let index = self.connections.len() - 1;
        self.drain(index);
        Ok(index)
    }

    /// A segment of the script arrives; `listener` is the socket that listens, if one does.
    pub(crate) fn arrives(
        &mut self,
        spec: &SegmentSpec,
        listener: Option<&SocketOptions>,
    ) -> Result<(), NotInjectable> {
        let opens = spec.flags.has(Flags::SYN) && !spec.flags.has(Flags::ACK);
        let answered =
            self.current().is_some_and(|index| self.connections[index].phase == Phase::SynReceived);
        if opens
            && !answered
            && let Some(options) = listener
        {
            self.connections.push(Connection::listen(&self.host, options));
            let index = self.connections.len() - 1;
            self.connections[index].synchronise(spec, &self.host)?;
            return self.deliver(index, spec);
        }
        let Some(index) = self.current() else {
            return Err(NotInjectable("no socket listens, connects or is connected".to_owned()));
        };
        self.to_connection(index, spec, opens)
    }

    fn to_connection(&mut self, index: usize, spec: &SegmentSpec, opens: bool) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        match connection.phase {
            Phase::Reset => {
                let segment = connection.arriving(spec, None)?;
                self.refuse(index, &segment);
                Ok(())
            }
            Phase::SynSent => self.to_connecting(index, spec, opens),
            _ if spec.flags.has(Flags::RST) => self.reset_by_peer(index, spec),
            Phase::SynReceived | Phase::Established => self.deliver(index, spec),
        }
    }

    /// A segment for a socket that is no more. [rfc9293 §3.5.2]
    fn refuse(&mut self, index: usize, segment: &Segment) {
        if segment.flags.contains(SegmentFlags::RST) {
            return;
        }
        if segment.flags.contains(SegmentFlags::ACK) {
            self.send_reset(index, segment.ack, None);
        } else {
            self.send_reset(index, 0, Some(segment.end()));
        }
    }

    fn to_connecting(&mut self, index: usize, spec: &SegmentSpec, opens: bool) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        if spec.flags.has(Flags::RST) {
            connection.phase = Phase::Reset;
            connection.error = Some("ECONNREFUSED");
            return Ok(());
        }
        if opens {
            return Err(NotInjectable("simultaneous open is not modelled".to_owned()));
        }
        if !spec.flags.has(Flags::SYN) {
            let segment = connection.arriving(spec, None)?;
            self.connections[index].segments.received += 1;
            let (seq, phase) = (segment.ack, Phase::SynSent);
            self.send_reset(index, seq, None);
            self.connections[index].phase = phase;
            return Ok(());
        }
        connection.synchronise(spec, &self.host)?;
        if connection.orphaned {
            let segment = connection.arriving(spec, None)?;
            self.send_reset(index, segment.ack, None);
            return Ok(());
        }
        connection.phase = Phase::Established;
        self.deliver(index, spec)
    }

    /// Only a RST that is exactly next resets; others are challenged. [rfc5961 §3.2]
    fn reset_by_peer(&mut self, index: usize, spec: &SegmentSpec) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        let segment = connection.arriving(spec, None)?;
        if segment.seq != connection.endpoint.positions().0 {
            return Err(NotInjectable(
                "a RST that is not next in order is challenged: not modelled".to_owned(),
            ));
        }
        connection.phase = Phase::Reset;
        connection.error = Some(if connection.endpoint.at_end() { "EPIPE" } else { "ECONNRESET" });
        Ok(())
    }

    fn deliver(&mut self, index: usize, spec: &SegmentSpec) -> Result<(), NotInjectable> {
        let now = self.now;
        let gso_size = self.gso_size;
        let connection = &mut self.connections[index];
        let segment = connection.arriving(spec, gso_size)?;
        let has_ack = segment.flags.contains(SegmentFlags::ACK);
        let has_syn = segment.flags.contains(SegmentFlags::SYN);
        if connection.phase == Phase::SynReceived && !has_syn {
            if !has_ack {
                return Ok(());
            }
            if segment.ack != 1 {
                self.refuse(index, &segment);
                return Ok(());
            }
            connection.phase = Phase::Established;
        }
        let (rcv_nxt, snd_nxt) = connection.endpoint.positions();
        if connection.orphaned && segment.length > 0 && segment.end() > rcv_nxt {
            // Nobody will read it. [linux-6.12 tcp_input.c tcp_rcv_state_process]
            self.refuse(index, &segment);
            return Ok(());
        }
        connection.segments.received += 1;
        connection.segments.data_received += u64::from(segment.length > 0);
        if has_ack {
            connection.skbs.window_seen(segment.window);
            connection.skbs.acked(segment.ack.min(snd_nxt));
        }
        for block in segment.sack.as_slice() {
            connection.skbs.split(block.start);
            connection.skbs.split(block.end);
        }
        let truesize = segment.length + self.host.tcp.stack.skb_overhead;
        connection.endpoint.take(segment, Ecn::NotEct, truesize, now, &mut self.draws);
        self.drain(index);
        Ok(())
    }
}

/// The send buffer.
impl Kernel {
    /// Bytes that a socket takes from a write of `bytes` now.
    pub(crate) fn write(&mut self, index: usize, bytes: u64) -> u64 {
        let mut accepted = 0;
        while accepted < bytes {
            let limit = self.sndbuf(index);
            let connection = &mut self.connections[index];
            let room = connection.skbs.room(bytes - accepted, limit, SKB_OVERHEAD);
            let taken = if room > 0 { connection.endpoint.write(room, self.now) } else { 0 };
            if taken == 0 {
                break;
            }
            accepted += taken;
            connection.skbs.append(taken);
            if accepted == bytes {
                connection.skbs.push_last();
            }
            // The kernel sends while it copies: a buffer whose front has left takes more.
            self.drain(index);
        }
        if accepted > 0 {
            self.connections[index].skbs.push_last();
        }
        accepted
    }

    /// A third of the buffer is free again. [linux-6.12 stream.c sk_stream_write_space]
    pub(crate) fn writable(&self, index: usize) -> bool {
        let (limit, queued) = (self.sndbuf(index), self.connections[index].skbs.memory(SKB_OVERHEAD));
        queued < limit && limit - queued >= queued / 2
    }

    /// What the application chose, or room for cwnd twice over.
    pub(crate) fn sndbuf(&self, index: usize) -> u64 {
        let connection = &self.connections[index];
        if let Some(chosen) = connection.sndbuf {
            return chosen;
        }
        let info = connection.endpoint.tcp_info(self.now);
        let per_segment = (u64::from(info.snd_mss) + SNDBUF_HEADERS).next_power_of_two() + SK_BUFF;
        let wanted = 2 * INITIAL_WINDOW.max(u64::from(info.snd_cwnd.0)) * per_segment;
        wanted.clamp(self.host.tcp.wmem[1], self.host.tcp.wmem[2].max(self.host.tcp.wmem[1]))
    }
}
