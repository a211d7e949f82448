//! The kernel under test: connections, the device below them, and virtual time.
//!
//! Time advances only in [`Kernel::pass_until`]: from one deadline of a machine, or departure time of a packet, to the
//! next. Packets that the device has sent are queued until the script compares them.

use std::collections::{BTreeMap, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_packet::{Ecn, Packet, Payload, Segment, SegmentFlags};
use tailback_script::player::Left;
use tailback_tcp::{Note, Reset, Transmitted};
use tailback_units::SimTime;

use crate::connection::{Connection, ConnectionState, Departed, NotInjectable, SocketOptions};
use crate::host::{Discipline, Host, MtuChange};
use crate::script::{EcnSpec, Flags, SegmentSpec};
use crate::skbs::Ending;

/// A script's time 0: well after the machine's, and a quarter into a jiffy, as packetdrill starts. [packetdrill]
pub(crate) const START: SimTime = SimTime::from_nanos(10_000_250_000);
/// Microseconds of the script at `time`.
pub(crate) fn on_script(time: SimTime) -> i64 {
    time.as_nanos().saturating_sub(START.as_nanos()) as i64 / 1_000
}

/// Maximum number of steps of virtual time in a script: more means that the timers of a machine fire without end.
const STEPS_MAX: u64 = 2_000_000;
/// Memory of an skb in addition to its payload, which the send buffer counts.
const SKB_OVERHEAD: u64 = 960;
/// Memory reserved per segment when the send buffer grows by itself. [linux-6.12 tcp_input.c tcp_sndbuf_expand]
const SNDBUF_HEADERS: u64 = 320 + 320;
const SK_BUFF: u64 = 256;
/// Minimum number of segments for which the send buffer has room.
const INITIAL_WINDOW: u64 = 10;

/// Conversations, device, time.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) host: Host,
    pub(crate) now: SimTime,
    pub(crate) connections: Vec<Connection>,
    /// Packets that have left and that the script has not yet compared.
    pub(crate) wire: VecDeque<Left<Departed>>,
    /// `gso_size` of segments that arrive (`--mss`).
    pub(crate) gso_size: Option<u16>,
    /// Packets that `fq` holds.
    held: Vec<(SimTime, usize, Packet)>,
    /// The time-out of a blocked call.
    pub(crate) wake_at: Option<SimTime>,
    counters: Counters,
    draws: Xoshiro256PlusPlus,
    steps: u64,
}

/// The counters that `nstat` shows.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    windows_opened: u64,
    windows_closed: u64,
    loss_probes: u64,
}

/// A machine acts at one time without end, or a script waits forever.
pub(crate) struct NeverIdle;

impl Kernel {
    pub(crate) fn new(host: Host) -> Self {
        Kernel {
            host,
            now: START,
            connections: Vec::new(),
            wire: VecDeque::new(),
            gso_size: None,
            held: Vec::new(),
            wake_at: None,
            counters: Counters::default(),
            draws: Xoshiro256PlusPlus::seed_from_u64(0),
            steps: 0,
        }
    }

    /// Applies a change of the MTU of routes or of the device by a command.
    pub(crate) fn apply_mtu_change(&mut self) {
        let Some(change) = self.host.mtu_change.take() else { return };
        for connection in &mut self.connections {
            match change {
                MtuChange::Route(mtu) => connection.endpoint.change_route(mtu),
                MtuChange::Device(mtu) => connection.endpoint.change_device_mtu(mtu),
            }
        }
    }

    /// Open sockets follow `tcp_ecn_option`.
    pub(crate) fn apply_ecn_option(&mut self) {
        for connection in &mut self.connections {
            connection.endpoint.set_ecn_option(self.host.tcp.ecn_option);
        }
    }

    /// The conversation that a script's segments belong to: the newest.
    pub(crate) fn current(&self) -> Option<usize> {
        self.connections.len().checked_sub(1)
    }

    /// Segments are compared with those of the newest conversation only. [packetdrill]
    pub(crate) fn ignore_old_conversations(&mut self) {
        let current = self.current();
        self.wire.retain(|left| Some(left.conversation) == current);
    }
}

/// Time.
impl Kernel {
    fn next_step(&self) -> Option<SimTime> {
        let open = self.connections.iter().filter(|connection| connection.state != ConnectionState::Reset);
        let timers = open.filter_map(|connection| connection.endpoint.deadline());
        timers.chain(self.held.first().map(|(at, _, _)| *at)).chain(self.wake_at).min()
    }

    /// Processes all events up to `end`, one step at a time; `look` is called after each step and may stop.
    pub(crate) fn pass_until(
        &mut self,
        end: SimTime,
        mut look: impl FnMut(&mut Kernel) -> bool,
    ) -> Result<(), NeverIdle> {
        while let Some(at) = self.next_step().filter(|at| *at <= end) {
            self.step(at)?;
            if look(self) {
                return Ok(());
            }
        }
        self.now = self.now.max(end);
        Ok(())
    }

    fn step(&mut self, at: SimTime) -> Result<(), NeverIdle> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(NeverIdle);
        }
        self.now = self.now.max(at);
        self.wake_at = self.wake_at.filter(|wake_at| *wake_at > self.now);
        self.release_held();
        for index in 0..self.connections.len() {
            let due =
                self.connections[index].endpoint.deadline().is_some_and(|deadline| deadline <= self.now);
            if due && self.connections[index].state != ConnectionState::Reset {
                self.connections[index].endpoint.expire(self.now);
                if self.connections[index].endpoint.is_aborted() {
                    self.connections[index].state = ConnectionState::Reset;
                    self.connections[index].error = Some("ETIMEDOUT");
                    continue;
                }
                if self.forgets_request(index) {
                    continue;
                }
                self.drain(index);
            }
        }
        Ok(())
    }

    /// The SYN-ACK was not acknowledged: there is no connection to accept, and later segments are refused.
    fn forgets_request(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let forgotten =
            connection.state == ConnectionState::SynReceived && connection.endpoint.is_listening();
        if forgotten {
            connection.state = ConnectionState::Reset;
            connection.accepted = true;
        }
        forgotten
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
    /// Sends everything that a socket has to send.
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
        if connection.finished && connection.closes_last {
            // The socket is closed: all further segments are refused. [rfc9293 §3.10.7.4, LAST-ACK]
            connection.state = ConnectionState::Reset;
        }
    }

    /// The device takes a packet, or drops it; true if its credit wakes the small queue.
    fn hand_over(&mut self, index: usize, packet: Packet, left: &mut Vec<Packet>) -> bool {
        self.count(index, &packet);
        let discipline = self.host.discipline;
        if discipline != Discipline::Fifo
            && let Payload::Tcp(segment) = &packet.payload
        {
            let end = segment.seq + u64::from(segment.length);
            self.connections[index].stamping.scheduled(segment.seq, end, self.now);
        }
        let endpoint = &mut self.connections[index].endpoint;
        if discipline == Discipline::Fq {
            endpoint.leave_pacing_to_fq();
        }
        let waits = discipline == Discipline::Fq && packet.departure > self.now;
        if waits {
            let place = self.held.partition_point(|(at, _, _)| *at <= packet.departure);
            self.held.insert(place, (packet.departure, index, packet));
            endpoint.handed_over(Transmitted::Queued, self.now);
            return false;
        }
        let handler_due = packet.charged && endpoint.credit(packet.truesize);
        if discipline == Discipline::Full {
            endpoint.handed_over(Transmitted::Dropped, self.now);
        } else {
            left.push(packet);
            endpoint.handed_over(Transmitted::Queued, self.now);
        }
        handler_due
    }

    /// Counters of windows that are closed and opened. [linux-6.12 tcp_output.c tcp_select_window]
    fn count(&mut self, index: usize, packet: &Packet) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        if segment.flags.contains(SegmentFlags::SYN) || segment.flags.contains(SegmentFlags::RST) {
            return;
        }
        let connection = &mut self.connections[index];
        let scale = if connection.agreement.window_scaling { connection.endpoint.window_scale() } else { 0 };
        let is_closed = segment.window >> scale == 0;
        let was_closed = std::mem::replace(&mut connection.window_closed, is_closed);
        self.counters.windows_closed += u64::from(is_closed && !was_closed);
        self.counters.windows_opened += u64::from(was_closed && !is_closed);
    }

    /// The counters that are kept here, by the names that `nstat` has for them.
    pub(crate) fn counted(&mut self) -> BTreeMap<String, u64> {
        let (mut passed, mut lost) = (0, 0);
        let beyond: Option<u64> = self.connections.iter().map(|each| each.endpoint.beyond_window()).sum();
        for connection in &mut self.connections {
            let probes = connection.endpoint.notes().filter(|note| *note == Note::TailLossProbe).count();
            self.counters.loss_probes += probes as u64;
            let search = connection.endpoint.mtu_probes();
            (passed, lost) = (passed + search.passed, lost + search.lost);
        }
        [
            ("TcpExtTCPFromZeroWindowAdv", self.counters.windows_opened),
            ("TcpExtTCPToZeroWindowAdv", self.counters.windows_closed),
            ("TcpExtTCPLossProbes", self.counters.loss_probes),
            ("TcpExtTCPMTUPSuccess", passed),
            ("TcpExtTCPMTUPFail", lost),
        ]
        .into_iter()
        .chain(beyond.map(|beyond| ("TcpExtBeyondWindow", beyond)))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    /// Packets leave, segmented before the device if it has no TSO.
    fn depart(&mut self, index: usize, packets: Vec<Packet>) {
        for packet in packets {
            let connection = &mut self.connections[index];
            let Payload::Tcp(segment) = &packet.payload else { continue };
            // A connection request is no socket yet: nobody counts its SYN-ACKs. [linux-6.12 tcp_ipv4.c tcp_v4_send_synack]
            if connection.state != ConnectionState::SynReceived {
                connection.segments.sent += u64::from(packet.segments);
            }
            if segment.length > 0 {
                let end = segment.seq + u64::from(segment.length);
                connection.skbs.leave(segment.seq, end);
                if self.host.discipline == Discipline::Fifo {
                    connection.stamping.scheduled(segment.seq, end, self.now);
                }
                connection.stamping.sent(segment.seq, end, self.now);
            }
            // A TUN device does not cut buffers with ACE. [linux-7.3 tun.c TUN_USER_FEATURES]
            let cuts = self.host.segmentation_offload && !connection.endpoint.uses_accurate_ecn();
            let cut = if cuts || packet.segments == 1 { vec![packet] } else { packet.into_segments() };
            self.wire.extend(cut.iter().filter_map(|packet| {
                let Payload::Tcp(segment) = &packet.payload else { return None };
                Some(Left {
                    at: on_script(self.now),
                    conversation: index,
                    departed: departed(segment, packet.ecn),
                })
            }));
        }
    }

    /// The host sends a RST.
    pub(crate) fn send_reset(&mut self, index: usize, seq: u64, ack: Option<u64>) {
        let flags = ack.map_or(Flags::RST, |_| Flags::RST.with(Flags::ACK));
        // A RST has options only if it is sent by a socket.
        let of_socket = self.connections[index].state == ConnectionState::Established && ack.is_some();
        let stamps = self.connections[index].endpoint.timestamps(self.now).filter(|_| of_socket);
        let departed = Departed {
            flags,
            seq,
            length: 0,
            ack: ack.unwrap_or(0),
            window: 0,
            tsval: stamps.map(|(val, _)| val),
            tsecr: stamps.map(|(_, echo)| echo),
            sack: Vec::new(),
            accecn: None,
            mss: 0,
            ecn: Ecn::NotEct,
        };
        self.connections[index].state = ConnectionState::Reset;
        self.wire.push_back(Left { at: on_script(self.now), conversation: index, departed });
    }
}

fn departed(segment: &Segment, ecn: Ecn) -> Departed {
    Departed {
        flags: Flags(segment.flags.bits()),
        seq: segment.seq,
        length: segment.length,
        ack: segment.ack,
        window: segment.window,
        tsval: segment.tsval.time(),
        tsecr: segment.tsecr.time(),
        sack: segment.sack.as_slice().to_vec(),
        accecn: segment.sack.accecn(),
        mss: segment.mss,
        ecn,
    }
}

/// Receiving.
impl Kernel {
    /// A socket connects: its SYN leaves.
    pub(crate) fn connect(&mut self, options: &SocketOptions) -> Result<usize, NotInjectable> {
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
            self.current().is_some_and(|index| self.connections[index].state == ConnectionState::SynReceived);
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
        self.reaches_connection(index, spec, opens)
    }

    fn reaches_connection(
        &mut self,
        index: usize,
        spec: &SegmentSpec,
        opens: bool,
    ) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        match connection.state {
            ConnectionState::Reset => {
                let segment = connection.arriving(spec, None)?;
                self.refuse(index, &segment);
                Ok(())
            }
            ConnectionState::SynSent => self.reaches_connecting(index, spec, opens),
            _ if spec.flags.has(Flags::RST) => self.reset_by_peer(index, spec),
            ConnectionState::SynReceived | ConnectionState::Established => self.deliver(index, spec),
        }
    }

    /// A segment for a socket that no longer exists. [rfc9293 §3.5.2]
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

    fn reaches_connecting(
        &mut self,
        index: usize,
        spec: &SegmentSpec,
        opens: bool,
    ) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        if spec.flags.has(Flags::RST) {
            connection.state = ConnectionState::Reset;
            connection.error = Some("ECONNREFUSED");
            return Ok(());
        }
        if opens {
            return Err(NotInjectable("simultaneous open is not modelled".to_owned()));
        }
        if !spec.flags.has(Flags::SYN) {
            let segment = connection.arriving(spec, None)?;
            self.connections[index].segments.received += 1;
            let (seq, state) = (segment.ack, ConnectionState::SynSent);
            self.send_reset(index, seq, None);
            self.connections[index].state = state;
            return Ok(());
        }
        connection.synchronise(spec, &self.host)?;
        if connection.orphaned {
            let segment = connection.arriving(spec, None)?;
            self.send_reset(index, segment.ack, None);
            return Ok(());
        }
        connection.state = ConnectionState::Established;
        self.deliver(index, spec)
    }

    fn reset_by_peer(&mut self, index: usize, spec: &SegmentSpec) -> Result<(), NotInjectable> {
        let connection = &mut self.connections[index];
        let segment = connection.arriving(spec, None)?;
        if connection.endpoint.take_reset(&segment, self.now) == Reset::Survives {
            self.drain(index);
            return Ok(());
        }
        // A request that was reset leaves nothing to accept.
        connection.accepted |= connection.state == ConnectionState::SynReceived;
        connection.state = ConnectionState::Reset;
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
        if connection.state == ConnectionState::Established && !has_ack && !has_syn {
            // [rfc9293 §3.10.7.4] [linux-6.12 tcp_input.c tcp_rcv_established]
            return Ok(());
        }
        if connection.state == ConnectionState::SynReceived && !has_syn {
            if !has_ack {
                return Ok(());
            }
            if segment.ack != 1 {
                self.refuse(index, &segment);
                return Ok(());
            }
            connection.state = ConnectionState::Established;
        }
        let (rcv_nxt, snd_nxt) = connection.endpoint.positions();
        let discards_data = connection.orphaned || (connection.shut && connection.read_shut);
        if discards_data && segment.length > 0 && segment.end() > rcv_nxt {
            // The data can no longer be read. [linux-6.12 tcp_input.c tcp_rcv_state_process]
            self.refuse(index, &segment);
            return Ok(());
        }
        // The socket begins with one SYN, however many the request got. [linux-6.12 tcp_minisocks.c
        // tcp_create_openreq_child]
        let before =
            if connection.state == ConnectionState::SynReceived { 0 } else { connection.segments.received };
        connection.segments.received = before + 1;
        connection.segments.data_received += u64::from(segment.length > 0);
        if has_ack {
            connection.skbs.window_seen(segment.window);
            connection.skbs.acked(segment.ack.min(snd_nxt));
            connection.stamping.acknowledged(segment.ack.min(snd_nxt), now);
        }
        for block in segment.sack.as_slice() {
            connection.skbs.split(block.start);
            connection.skbs.split(block.end);
        }
        // The machine computes the memory of a packet of a TUN device.
        let truesize = segment.length;
        connection.endpoint.take(&segment, mark(spec.ecn), truesize, now, &mut self.draws);
        self.wake_writer(index);
        self.drain(index);
        Ok(())
    }
}

/// The ECN code point of a packet; not ECN-capable unless the script specifies one. [packetdrill]
fn mark(ecn: EcnSpec) -> Ecn {
    match ecn {
        EcnSpec::Unchecked | EcnSpec::NotEct => Ecn::NotEct,
        EcnSpec::Ect0 | EcnSpec::Ect01 => Ecn::Ect0,
        EcnSpec::Ect1 => Ecn::Ect1,
        EcnSpec::Ce => Ecn::Ce,
    }
}

/// The send buffer.
impl Kernel {
    /// Bytes that a socket accepts from a write of `bytes` now.
    pub(crate) fn write(&mut self, index: usize, bytes: u64, ending: Ending) -> u64 {
        let mut accepted = 0;
        let mss = self.connections[index].endpoint.tcp_info(self.now).snd_mss;
        self.connections[index].skbs.set_mss(u64::from(mss));
        while accepted < bytes {
            // The last buffer is filled whatever is unsent. [linux-6.12 tcp.c tcp_sendmsg_locked]
            let many_unsent = self.unsent(index) >= self.notsent_lowat(index);
            let limit = if many_unsent { 0 } else { self.sndbuf(index) };
            let connection = &mut self.connections[index];
            let room = connection.skbs.room(bytes - accepted, limit, SKB_OVERHEAD);
            if room == 0 {
                break;
            }
            accepted += room;
            connection.skbs.append(room);
            if accepted == bytes {
                self.stamp_tail(index);
            }
            self.pass_bytes(index, room, (accepted == bytes).then_some(ending));
        }
        if accepted < bytes {
            self.connections[index].waits_for_room = true;
            self.connections[index].endpoint.wait_for_room(accepted, self.now);
            self.drain(index);
        }
        accepted
    }

    /// Wakes calls that wait for room in the send buffer. [linux-6.12 tcp_input.c tcp_check_space]
    fn wake_writer(&mut self, index: usize) {
        let connection = &self.connections[index];
        if !(connection.waits_for_room || connection.found_full) || !self.writable(index) {
            return;
        }
        let connection = &mut self.connections[index];
        connection.found_full = false;
        connection.room_made += 1;
        if std::mem::take(&mut connection.waits_for_room) {
            connection.endpoint.has_room(self.now);
        }
    }

    /// A call that writes returns with a part of its bytes written.
    pub(crate) fn end_write(&mut self, index: usize) {
        self.stamp_tail(index);
        self.connections[index].endpoint.end_send();
    }

    /// The end of a write call: its last byte is timestamped, if the application has requested that.
    fn stamp_tail(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if let Some((start, end)) = connection.skbs.tail() {
            connection.stamping.written(start, end);
        }
    }

    /// Passes bytes to the machine, which sends while the application still copies: a buffer of which a part was sent
    /// accepts more. The machine accepts up to one of its buffers at a time. Without `ending`, the write continues.
    fn pass_bytes(&mut self, index: usize, bytes: u64, ending: Option<Ending>) {
        let mut left = bytes;
        while left > 0 {
            let endpoint = &mut self.connections[index].endpoint;
            let taken = match ending {
                None => endpoint.write_part(left, self.now),
                Some(Ending::Pushed | Ending::Record) => endpoint.write(left, self.now),
                Some(Ending::More) => endpoint.write_more(left, self.now),
            };
            left -= taken;
            if ending == Some(Ending::Record) && left == 0 {
                let connection = &mut self.connections[index];
                connection.endpoint.end_record();
                connection.skbs.end_record();
            }
            self.drain(index);
            if taken == 0 {
                return;
            }
        }
    }

    /// `TCP_CORK`.
    pub(crate) fn cork(&mut self, index: usize, corked: bool) {
        self.connections[index].corked = corked;
        self.connections[index].endpoint.set_cork(corked, self.now);
        self.drain(index);
    }

    /// Written and not sent.
    fn unsent(&self, index: usize) -> u64 {
        self.connections[index].endpoint.tcp_info(self.now).notsent_bytes.0
    }

    /// The socket's own `TCP_NOTSENT_LOWAT`, or the host's. [linux-6.12 tcp.h tcp_notsent_lowat]
    fn notsent_lowat(&self, index: usize) -> u64 {
        match self.connections[index].notsent_lowat {
            0 => self.host.tcp.notsent_lowat,
            own => own,
        }
    }

    /// A third of the buffer is free again. [linux-6.12 stream.c sk_stream_write_space, tcp_ipv4.c
    /// tcp_stream_memory_free]
    pub(crate) fn writable(&self, index: usize) -> bool {
        let (limit, queued) = (self.sndbuf(index), self.connections[index].skbs.memory(SKB_OVERHEAD));
        let few_unsent = 2 * self.unsent(index) < self.notsent_lowat(index);
        few_unsent && queued < limit && limit - queued >= queued / 2
    }

    /// The size that the application set, or twice cwnd.
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
