//! One socket: the state of the connection, and the order in which its halves act.

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_cc::PacingStatus;
use tailback_packet::{Ecn, HostId, Packet, Payload, SackBlocks, Segment, SegmentFlags};
use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use crate::info::{HeldBy, Note, TcpInfo};
use crate::input::AckRange;
use crate::output::{Outgoing, Pass};
use crate::receiver::{Intake, Receiver};
use crate::rtt::{RTO_INITIAL, RTO_MAX};
use crate::sender::{Sender, SenderConfig, TCP_HEADER, TIMESTAMP_OPTION};
use crate::timers::expiry;
use crate::undo::timestamp;
use crate::window::Chrono;
use crate::{Agreement, EndpointConfig, SmallQueueLimit};

/// Shortest receive or send buffer of `setsockopt`. [linux-6.12 sock.h SOCK_MIN_SNDBUF]
const SNDBUF_MIN: u64 = 4608;
/// Bytes of the options of a SYN: MSS 4, SACK permitted 2, timestamps 10, window scale 3, padding 1.
const SYN_OPTIONS: u32 = 20;
/// Truesize of a pure ACK: counted at the receiver of it only.
const ACK_TRUESIZE: u32 = 768;
/// SYN timeouts that are not doubled (`net.ipv4.tcp_syn_linear_timeouts`).
const SYN_LINEAR_TIMEOUTS: u32 = 4;

/// What became of a packet handed to the device. [linux-6.12 NET_XMIT_SUCCESS, _DROP, _CN]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmitted {
    /// Accepted.
    Queued,
    /// This packet was dropped.
    Dropped,
    /// Accepted; another packet of this flow was dropped for it.
    Congestion,
}

/// What the socket wants of its application or of its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wakeup {
    /// The application blocked in `send()` can go on: call [`Endpoint::write`].
    pub writable: bool,
    /// Data arrived: call [`Endpoint::read`].
    pub readable: bool,
    /// All data was acknowledged after `close`, or the connection was given up.
    pub finished: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// The SYN or SYN-ACK on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    due: bool,
    sent_at: SimTime,
    deadline: Option<SimTime>,
    timeouts: u32,
}

/// One TCP socket.
#[derive(Debug)]
pub struct Endpoint {
    addresses: Addresses,
    state: State,
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
    outbox: VecDeque<Segment>,
    closed: bool,
    finished_told: bool,
    continuing: bool,
    /// Where `tcpi_bytes_acked` counts from: the side that opens counts its SYN.
    first_acked: u64,
}

#[derive(Clone, Copy, Debug)]
struct Addresses {
    socket: tailback_packet::SocketId,
    peer: tailback_packet::SocketId,
    peer_host: tailback_packet::HostId,
    flow_hash: u32,
}

impl Endpoint {
    /// The side that opens: sends a SYN at the first `next_packet`.
    pub fn connect(config: EndpointConfig, now: SimTime) -> Self {
        let mut endpoint = Endpoint::new(config, State::SynSent);
        endpoint.handshake.due = true;
        endpoint.sender.flow.now = now;
        endpoint
    }

    /// The side that waits for a SYN.
    pub fn listen(config: EndpointConfig) -> Self {
        Endpoint::new(config, State::Listen)
    }

    fn new(config: EndpointConfig, state: State) -> Self {
        let EndpointConfig { socket, peer, peer_host, flow_hash, settings, small_queue, options, .. } =
            config;
        let paced = config.wants_pacing || options.max_pacing_rate.is_some();
        let pacing = if paced { PacingStatus::Needed } else { PacingStatus::None };
        let receiver = Receiver::new(&settings, &options);
        let (control, needs_ecn, sndbuf_factor) = (config.control, config.needs_ecn, config.sndbuf_factor);
        let sender = Sender::new(SenderConfig {
            settings,
            small_queue,
            options,
            control,
            needs_ecn,
            pacing,
            sndbuf_factor,
        });
        Endpoint {
            addresses: Addresses { socket, peer, peer_host, flow_hash },
            state,
            handshake: Handshake::default(),
            sender,
            receiver,
            outbox: VecDeque::new(),
            closed: false,
            finished_told: false,
            continuing: false,
            first_acked: u64::from(state == State::Listen),
        }
    }

    /// The options of both SYNs are known: call it before the peer's SYN is taken.
    pub fn agree(&mut self, agreement: Agreement) {
        let own_mss = self.sender.settings.full_mss();
        let options = if agreement.timestamps { TIMESTAMP_OPTION } else { 0 };
        self.sender.flow.mss = agreement.peer_mss.min(own_mss).saturating_sub(options).max(1);
        self.sender.agreement = agreement;
        self.receiver.agree(&agreement, self.sender.settings.offered_mss() - options);
    }

    /// The window this socket advertises counts units of two to the power of this.
    pub fn window_scale(&self) -> u32 {
        self.receiver.window.scale()
    }

    /// `fq` is below and spaces packets by their departure times: this socket stamps them and sets no pacing timer. In
    /// the kernel the first packet of a socket that `fq` classifies says so. [linux-6.12 sch_fq.c fq_classify]
    pub fn leave_pacing_to_fq(&mut self) {
        self.sender.flow.pacing_status = PacingStatus::Fq;
    }

    /// `TCP_NODELAY`: short segments do not wait.
    pub fn set_no_delay(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.no_delay = true;
        if self.sender.has_unsent() {
            self.sender.agenda.begin(Pass::Push);
        }
    }

    /// `SO_SNDBUF` of half of `bytes`: the buffer has this size from now on. [linux-6.12 sock.c sk_setsockopt]
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.sender.sndbuf = bytes.max(SNDBUF_MIN);
        self.sender.sndbuf_locked = true;
    }

    /// `SO_MAX_PACING_RATE`: TCP spaces packets from now on. [linux-6.12 sock.c sk_setsockopt]
    pub fn set_max_pacing_rate(&mut self, rate: Rate) {
        self.sender.options.max_pacing_rate = Some(rate);
        if self.sender.flow.pacing_status == PacingStatus::None {
            self.sender.flow.pacing_status = PacingStatus::Needed;
        }
        self.sender.cap_pacing_rate();
    }

    /// `TCP_USER_TIMEOUT` from now on; `None` is what the kernel has by itself. [linux-6.12 tcp.c tcp_sock_set_user_timeout]
    pub fn set_user_timeout(&mut self, timeout: Option<Span>) {
        self.sender.options.user_timeout = timeout;
    }

    /// The connection was given up after timeouts in vain (`ETIMEDOUT`).
    pub fn is_aborted(&self) -> bool {
        self.sender.aborted
    }

    /// The MSS that this side offers in its SYN.
    pub fn advertised_mss(&self) -> u32 {
        self.sender.settings.offered_mss()
    }

    /// Memory of the receive buffer, bytes (`sk_rcvbuf`).
    pub fn receive_buffer(&self) -> u64 {
        self.receiver.window.rcvbuf()
    }

    /// ECN was negotiated.
    pub fn uses_ecn(&self) -> bool {
        self.sender.ecn.agreed()
    }

    /// Value and echo of the timestamp that a segment carries now; `None` without the option.
    pub fn timestamps(&self, now: SimTime) -> Option<(SimTime, SimTime)> {
        let echo = self.receiver.timestamp_echo().unwrap_or_default();
        self.sender.agreement.timestamps.then(|| (timestamp(now), echo))
    }

    /// `TCP_QUICKACK`: what waits is acknowledged now, and the next segments at once.
    /// [linux-6.12 tcp.c __tcp_sock_set_quickack]
    pub fn quick_ack(&mut self) {
        self.receiver.set_quick_ack();
    }

    /// A segment arrived. `truesize` is what its buffer is charged with at the receiver.
    pub fn take(&mut self, segment: Segment, ecn: Ecn, truesize: u32, now: SimTime, draws: &mut dyn Rng) {
        self.sender.flow.now = now;
        match self.state {
            State::Listen | State::SynReceived if segment.flags.contains(SegmentFlags::SYN) => {
                self.receiver.window.answer_syn();
                self.sender.ecn.take_syn(segment.flags);
                self.receiver.synchronise(&segment, now);
                self.sender.snd_wnd = segment.window;
                self.state = State::SynReceived;
                self.handshake.due = true;
            }
            State::Listen => {}
            State::SynSent => self.take_syn_ack(&segment, draws),
            State::SynReceived => {
                self.receiver.window.begin_measuring(now);
                // `accept` returns, and the first `recv` takes what is there, however little.
                self.receiver.readable = true;
                self.establish(segment.window, draws);
                self.take_established(&segment, ecn, truesize, draws);
            }
            State::Established => self.take_established(&segment, ecn, truesize, draws),
        }
    }

    fn take_syn_ack(&mut self, segment: &Segment, draws: &mut dyn Rng) {
        if !segment.flags.contains(SegmentFlags::SYN) || !segment.flags.contains(SegmentFlags::ACK) {
            return;
        }
        self.receiver.synchronise(segment, self.sender.flow.now);
        self.sender.ecn.take_syn_ack(segment.flags);
        self.establish(segment.window, draws);
        self.sender.writable = true;
        self.receiver.ack_due = true;
    }

    /// The handshake is complete: first RTT sample, first window, the control starts.
    /// [linux-6.12 tcp_input.c tcp_init_transfer]
    fn establish(&mut self, window: u64, draws: &mut dyn Rng) {
        self.state = State::Established;
        self.handshake.deadline = None;
        let sender = &mut self.sender;
        let now = sender.flow.now;
        sender.flow.snd_una = 1;
        sender.flow.snd_nxt = 1;
        sender.write_seq = sender.write_seq.max(1);
        sender.pushed_seq = 1;
        sender.snd_wnd = window;
        sender.max_window = window;
        sender.flow.delivered = 1;
        sender.flow.delivered_at = now;
        sender.usage.stamp = now;
        self.receiver.begin_receiving(now);
        if self.handshake.timeouts == 0 {
            let rtt = crate::rate_sample::micros_since(now, self.handshake.sent_at);
            sender.rtt.sample(rtt, 1, 1, sender.flow.jiffy);
            sender.rtt.sample_minimum(rtt, now, sender.flow.jiffy);
            sender.flow.srtt_us8 = sender.rtt.srtt_us8();
            sender.flow.min_rtt = sender.rtt.minimum();
        }
        if self.handshake.timeouts > 1 {
            sender.window.cwnd = Segs::ONE;
        }
        sender.begin_mtu_search();
        sender.expand_sndbuf();
        if sender.window_control() {
            sender.update_pacing_rate();
        }
        sender.refresh_flow();
        sender.flow.ecn_ok = sender.ecn.agreed();
        let Sender { control, flow, window, .. } = sender;
        control.moments().init(flow, window, draws);
        sender.cap_pacing_rate();
        self.sync_receiver();
    }

    fn sync_receiver(&mut self) {
        self.receiver.srtt_us8 = self.sender.flow.srtt_us8;
        self.receiver.rto = self.sender.rto();
    }

    /// [linux-6.12 tcp_input.c tcp_rcv_established]
    fn take_established(&mut self, segment: &Segment, ecn: Ecn, truesize: u32, draws: &mut dyn Rng) {
        let now = self.sender.flow.now;
        self.receiver.interrupt(now);
        if segment.flags.contains(SegmentFlags::SYN) {
            // The handshake's last ACK was lost. [rfc5961 §4.2]
            self.receiver.challenge(now);
            return;
        }
        if !self.receiver.is_acceptable(segment) {
            // Such as a window probe, which says a byte that was said before.
            self.receiver.answer_unacceptable(segment, now);
            return;
        }
        let carries = segment.length > 0 || segment.flags.contains(SegmentFlags::FIN);
        match self.sender.judge_ack(segment.ack, self.first_acked) {
            AckRange::Unsent | AckRange::TooOld => return self.discard(segment),
            // What is said late is no news of the peer's clock.
            AckRange::Old => {}
            AckRange::Current => self.receiver.note_timestamp(segment),
        }
        if carries && self.receiver.must_flush_before(segment) {
            let ack = self.pure_ack();
            self.outbox.push_back(ack);
            self.receiver.compression_flushed();
        }
        if self.sender.is_predicted(segment) {
            self.sender.take_predicted(segment);
        } else if segment.flags.contains(SegmentFlags::ACK) {
            self.sender.take_ack(segment, draws);
            self.sync_receiver();
        }
        if carries {
            self.flush_before_mark(ecn);
            if self.receiver.take_data(segment, truesize, now) == Intake::Queued {
                let reaction = self.sender.ecn.take_data(segment.flags, ecn);
                self.receiver.react_to_mark(reaction);
            }
            if self.closed && self.receiver.at_end() {
                // Nothing is left to carry the ACK. [linux-6.12 tcp_input.c tcp_fin, FIN_WAIT1 and FIN_WAIT2]
                self.receiver.acknowledge_now();
            }
        }
        self.sender.after_segment();
        self.sender.check_space();
        if carries {
            self.receiver.decide_ack(now);
        }
    }

    /// A segment whose ACK cannot be meant is no segment of this conversation: nothing of it counts. It is challenged,
    /// but for one of an established connection that acknowledges what was never sent.
    /// [rfc5961 §5.2] [linux-6.12 tcp_input.c tcp_ack, tcp_rcv_state_process]
    fn discard(&mut self, segment: &Segment) {
        let closing = self.closed || self.receiver.at_end();
        if closing || segment.ack < self.sender.flow.snd_una {
            self.receiver.challenge(self.sender.flow.now);
        }
    }

    /// What waits to be acknowledged bore another mark than what comes now: it is acknowledged with its own.
    fn flush_before_mark(&mut self, ecn: Ecn) {
        if self.sender.ecn.must_flush_before(ecn) && self.receiver.delays_ack() {
            let ack = self.pure_ack();
            self.outbox.push_back(ack);
        }
    }

    /// `TCP_CORK`: short segments wait for more; without it, what waited leaves. [linux-6.12 tcp.c __tcp_sock_set_cork]
    pub fn set_cork(&mut self, corked: bool, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.corked = corked;
        if !corked && self.sender.has_unsent() {
            self.sender.agenda.begin(if self.sender.no_delay { Pass::Push } else { Pass::Normal });
        }
    }

    /// The packet taken last probes a closed window, or a sender that waits for more: it carries PSH.
    /// [linux-6.12 tcp_output.c tcp_write_wakeup]
    pub fn probes_window(&self) -> bool {
        self.sender.agenda.probes_window()
    }

    /// `SO_RCVBUF` of half of `bytes`: the buffer has this size from now on. [linux-6.12 sock.c __sock_set_rcvbuf]
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.receiver.window.set_rcvbuf(bytes);
    }

    /// [`Endpoint::write`] with `MSG_MORE`: a short end waits for more, or for the timer of window probes.
    pub fn write_more(&mut self, bytes: u64, now: SimTime) -> u64 {
        self.write_up_to(bytes, Pass::More, now)
    }

    /// A part of one `send()` of which more follows at once: an skb that is full leaves, what is not waits for the rest.
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn write_part(&mut self, bytes: u64, now: SimTime) -> u64 {
        if !self.sender.builds_trains() {
            return self.write(bytes, now);
        }
        self.write_up_to(bytes, Pass::PushOne, now)
    }

    /// The application found a send buffer full that its host keeps, and waits: what is unsent leaves.
    pub fn wait_for_room(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.app_blocked = true;
        self.sender.room_kept_elsewhere = true;
        self.sender.agenda.begin(Pass::Push);
    }

    /// A `send()` returns with a part of its bytes written: the next one is another.
    pub fn end_send(&mut self) {
        self.continuing = false;
    }

    /// There is room in it again.
    pub fn has_room(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.app_blocked = false;
        self.sender.update_clocks(false);
    }

    /// The application sends `bytes` (one blocking `send()`, or what is left of one). Returns how many the send buffer
    /// took. With offloads that is one skb at most: what is to leave is asked for before the next call. If fewer,
    /// [`Endpoint::write_blocked`] tells whether to go on at once or at [`Wakeup::writable`].
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn write(&mut self, bytes: u64, now: SimTime) -> u64 {
        self.write_up_to(bytes, Pass::Normal, now)
    }

    fn write_up_to(&mut self, bytes: u64, ending: Pass, now: SimTime) -> u64 {
        if self.state != State::Established || self.sender.fin_queued {
            return 0;
        }
        let sender = &mut self.sender;
        sender.flow.now = now;
        sender.refresh_mss();
        if !self.continuing {
            sender.check_app_limited();
        }
        sender.restart_after_idle();
        if !self.continuing {
            sender.reopen_tail();
        }
        let accepted = sender.fill(bytes);
        self.continuing = accepted < bytes || ending == Pass::PushOne;
        if let Some(pass) = sender.push_after_filling(accepted, bytes, ending) {
            sender.agenda.begin(pass);
        }
        accepted
    }

    /// The last write found the send buffer full, or the connection cannot take data.
    pub fn write_blocked(&self) -> bool {
        self.sender.app_blocked || self.state != State::Established || self.sender.fin_queued
    }

    /// The application reads all there is. Returns the bytes read.
    pub fn read(&mut self, now: SimTime) -> Bytes {
        self.read_at_most(Bytes(u64::MAX), now)
    }

    /// The application reads with a buffer of `most` bytes. Returns the bytes read.
    pub fn read_at_most(&mut self, most: Bytes, now: SimTime) -> Bytes {
        self.sender.flow.now = now;
        Bytes(self.receiver.read(most.0, now))
    }

    /// What was written last ends a record (`MSG_EOR`): what is written next leaves in packets of its own.
    pub fn end_record(&mut self) {
        self.sender.end_record();
    }

    /// The route of this socket's packets has this MTU now; the next packet that is sent finds out.
    pub fn change_route(&mut self, mtu: u32) {
        self.sender.path.change(mtu);
    }

    /// The device has this MTU now.
    pub fn change_device_mtu(&mut self, mtu: u32) {
        self.sender.path.change(mtu);
        self.sender.path.look_up();
    }

    /// A segment that is longer than the MSS would have to be sent again in pieces, which is not modelled.
    pub fn must_split(&self) -> bool {
        self.sender.must_split
    }

    /// Bytes that wait to be read.
    pub fn readable_bytes(&self) -> Bytes {
        Bytes(self.receiver.readable_bytes())
    }

    /// Next byte expected from the peer, and the next byte to be sent.
    pub fn positions(&self) -> (u64, u64) {
        (self.receiver.rcv_nxt, self.sender.flow.snd_nxt)
    }

    /// The application closes: FIN after the last byte.
    pub fn close(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.closed = true;
        if self.state == State::Established && !self.sender.fin_queued {
            self.sender.fin_queued = true;
            self.sender.app_blocked = false;
            self.sender.agenda.begin(Pass::Push);
        }
    }

    /// The next packet to hand to the device. Follow each with [`Endpoint::handed_over`].
    pub fn next_packet(&mut self, now: SimTime) -> Option<Packet> {
        self.sender.flow.now = now;
        if std::mem::take(&mut self.handshake.due) {
            return Some(self.handshake_packet(now));
        }
        if !self.outbox.is_empty()
            && let Some(segment) = self.outbox.pop_front()
        {
            return Some(self.packet(segment, ACK_TRUESIZE, now));
        }
        if self.state != State::Established || self.sender.aborted {
            return None;
        }
        self.sender.reports_sack = self.receiver.reports_sack();
        if let Some(outgoing) = self.sender.next() {
            return Some(self.data_packet(outgoing));
        }
        if std::mem::take(&mut self.sender.timer.probe_due) {
            let mut probe = self.pure_ack();
            probe.seq = self.sender.flow.snd_una - 1;
            self.sender.timer.probe_leaves = true;
            return Some(self.packet(probe, ACK_TRUESIZE, now));
        }
        if self.receiver.ack_due {
            let ack = self.pure_ack();
            return Some(self.packet(ack, ACK_TRUESIZE, now));
        }
        None
    }

    /// What the device said of the packet just taken.
    pub fn handed_over(&mut self, outcome: Transmitted, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.path.look_up();
        if std::mem::take(&mut self.sender.timer.probe_leaves) && outcome == Transmitted::Dropped {
            self.sender.empty_probe_refused();
        }
        self.sender.handed_over(outcome);
    }

    /// A packet charged to this socket left the host or was dropped there (`tcp_wfree`). True if the small-queue
    /// handler must run: the host queues the socket and calls [`Endpoint::small_queue_ran`] once, after the
    /// packets now arriving have been processed.
    pub fn credit(&mut self, truesize: u32) -> bool {
        self.sender.credit(truesize)
    }

    /// A packet charged to this socket was cut into segments below the discipline, whose buffers cost `extra` more.
    /// Their credits come one by one. [linux-6.12 tcp_offload.c tcp_gso_segment]
    pub fn segmented(&mut self, extra: u32) {
        self.sender.segmented(extra);
    }

    /// The next credit will make the small-queue handler run: nobody else needs to learn of a completion at once.
    pub fn awaits_credit(&self) -> bool {
        self.sender.throttled
    }

    /// The small-queue handler (`tcp_tsq_handler`): makes the transmit loop run. Drain afterwards.
    pub fn small_queue_ran(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.small_queue_handler();
    }

    /// When [`Endpoint::expire`] must be called.
    pub fn deadline(&self) -> Option<SimTime> {
        let or_never = |deadline: Option<SimTime>| deadline.unwrap_or(SimTime::NEVER);
        let sender = &self.sender;
        let timer = or_never(sender.timer.armed.map(|(_, at)| at)).min(or_never(sender.pacing_timer));
        let other = or_never(self.handshake.deadline).min(self.receiver.deadline());
        Some(timer.min(other)).filter(|deadline| *deadline < SimTime::NEVER)
    }

    /// A deadline passed. Drain afterwards.
    pub fn expire(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        if self.handshake.deadline.is_some_and(|at| now >= at) {
            self.handshake_timed_out();
        }
        if self.sender.timer.armed.is_some_and(|(_, at)| now >= at) {
            self.sender.timer_expired();
        }
        if self.sender.pacing_timer.is_some_and(|at| now >= at) {
            self.sender.pacing_timer = None;
            self.sender.kick();
        }
        if now >= self.receiver.deadline() {
            self.receiver.expire(now);
        }
    }

    /// The SYN is sent again, or the connection is given up. [linux-6.12 tcp_timer.c tcp_write_timeout]
    fn handshake_timed_out(&mut self) {
        let retries = self.sender.settings.syn_retries;
        let most = SYN_LINEAR_TIMEOUTS + retries;
        let waited = self.sender.flow.now.since(self.handshake.sent_at);
        let too_long = self.handshake.timeouts > 0 && waited >= connecting_at_most(retries);
        if self.state == State::SynSent && (self.handshake.timeouts >= most || too_long) {
            self.handshake.deadline = None;
            return self.sender.abort();
        }
        self.handshake.timeouts += 1;
        self.handshake.due = true;
    }

    /// What application and host should do; clears it.
    pub fn wakeup(&mut self) -> Wakeup {
        let over = self.sender.aborted || (self.closed && self.all_acknowledged());
        let finished = over && !self.finished_told;
        self.finished_told |= finished;
        let writable = std::mem::take(&mut self.sender.writable);
        let readable = std::mem::take(&mut self.receiver.readable);
        Wakeup { writable, readable, finished }
    }

    fn all_acknowledged(&self) -> bool {
        self.sender.flow.packets_out.0 == 0 && !self.sender.has_unsent()
    }

    /// The peer closed and everything before was received.
    pub fn at_end(&self) -> bool {
        self.receiver.at_end()
    }

    fn handshake_packet(&mut self, now: SimTime) -> Packet {
        if self.handshake.timeouts == 0 {
            self.handshake.sent_at = now;
        }
        let doublings = self.handshake.timeouts.saturating_sub(SYN_LINEAR_TIMEOUTS).min(7);
        let timeout = Span::from_nanos(RTO_INITIAL.as_nanos() << doublings).min(RTO_MAX);
        self.handshake.deadline =
            Some(expiry(now, timeout, (self.sender.flow.jiffy, self.sender.settings.timer_rounding)));
        let answers = self.state == State::SynReceived;
        let flags = if answers { SegmentFlags::SYN.with(SegmentFlags::ACK) } else { SegmentFlags::SYN };
        let flags = self.sender.ecn.handshake_flags(flags);
        let segment = Segment {
            seq: 0,
            length: 0,
            ack: if answers { self.receiver.rcv_nxt } else { 0 },
            window: self.receiver.window.carried(flags),
            flags,
            mss: self.sender.settings.offered_mss() as u16,
            tsval: Some(timestamp(now)),
            tsecr: self.receiver.timestamp_echo(),
            sack: SackBlocks::NONE,
        };
        self.packet(segment, ACK_TRUESIZE, now)
    }

    fn pure_ack(&mut self) -> Segment {
        let seq = self.sender.flow.snd_nxt;
        let (window, sack) = self.receiver.acknowledge();
        Segment {
            seq,
            length: 0,
            ack: self.receiver.rcv_nxt,
            window,
            flags: self.sender.ecn.echo(SegmentFlags::ACK),
            mss: 0,
            tsval: self.sender.agreement.timestamps.then(|| timestamp(self.sender.flow.now)),
            tsecr: self.receiver.timestamp_echo(),
            sack,
        }
    }

    fn data_packet(&mut self, outgoing: Outgoing) -> Packet {
        let Outgoing { seq, length, mss, push, fin, departure } = outgoing;
        if length > 0 {
            self.receiver.answered(self.sender.flow.now);
        }
        let mut segment = self.pure_ack();
        segment.seq = seq;
        segment.length = length;
        segment.mss = length.min(mss) as u16;
        segment.tsval = segment.tsval.map(|_| timestamp(departure));
        if push {
            segment.flags = segment.flags.with(SegmentFlags::PSH);
        }
        if fin {
            segment.flags = segment.flags.with(SegmentFlags::FIN);
        }
        let is_new = seq >= self.sender.flow.snd_nxt;
        if is_new {
            segment.flags = self.sender.ecn.confirm(segment.flags);
        }
        let mut packet = self.packet(segment, self.sender.truesize(length), departure);
        packet.ecn = self.sender.ecn.code_point(is_new);
        packet.charged = true;
        packet
    }

    fn packet(&self, segment: Segment, truesize: u32, departure: SimTime) -> Packet {
        let options = match segment.flags.contains(SegmentFlags::SYN) {
            true => SYN_OPTIONS,
            false => self.timestamp_option() + sack_option(segment.sack.as_slice().len() as u32),
        };
        let segments = segment.count();
        let headers = self.sender.settings.ip.header() + TCP_HEADER;
        Packet {
            from: self.addresses.socket,
            to: self.addresses.peer,
            // The host that carries the socket writes its own number in.
            source: HostId(u16::MAX),
            destination: self.addresses.peer_host,
            ip_length: (headers + options) * u32::from(segments) + segment.length,
            segments,
            ecn: self.sender.ecn.code_point(false),
            tos: 0,
            flow_hash: self.addresses.flow_hash,
            truesize,
            charged: false,
            enqueued: SimTime::ZERO,
            departure,
            payload: Payload::Tcp(segment),
        }
    }

    fn timestamp_option(&self) -> u32 {
        if self.sender.agreement.timestamps { TIMESTAMP_OPTION } else { 0 }
    }

    /// `TCP_INFO` as of now.
    pub fn tcp_info(&self, now: SimTime) -> TcpInfo {
        let sender = &self.sender;
        let finite = sender.window.ssthresh < Segs::INFINITE;
        TcpInfo {
            ca_state: sender.flow.ca_state,
            snd_cwnd: sender.window.cwnd,
            snd_ssthresh: finite.then_some(sender.window.ssthresh),
            rtt: sender.rtt.srtt(),
            rttvar: sender.rtt.mdev(),
            min_rtt: sender.rtt.minimum(),
            rto: sender.rto(),
            pacing_rate: sender.window.pacing_rate,
            delivery_rate: sender.delivery_rate(),
            bytes_acked: Bytes(sender.flow.snd_una.saturating_sub(self.first_acked)),
            bytes_sent: Bytes(sender.bytes_sent),
            bytes_retrans: Bytes(sender.bytes_retrans),
            total_retrans: sender.total_retrans,
            unacked: sender.flow.packets_out,
            sacked: Segs(sender.sacked_out),
            lost: Segs(sender.lost_out),
            retrans: Segs(sender.retrans_out),
            reordering: Segs(sender.reordering),
            probes: sender.timer.probes_out(),
            backoff: sender.backoff(),
            retransmits: sender.retransmits,
            snd_mss: sender.mss(),
            dsack_dups: sender.dsack_dups,
            reord_seen: sender.reord_seen,
            rcv_mss: self.receiver.window.rcv_mss(),
            rcv_ssthresh: Bytes(self.receiver.window.ssthresh()),
            notsent_bytes: Bytes(sender.unsent()),
            snd_wnd: Bytes(sender.snd_wnd),
            delivered: sender.flow.delivered,
            delivered_ce: sender.flow.delivered_ce,
            last_data_sent: now.since(sender.flow.last_sent),
            last_data_recv: now.since(self.receiver.last_received()),
            busy_time: sender.clocks.total(now),
            rwnd_limited: sender.clocks.spent(Chrono::ReceiveWindow, now),
            sndbuf_limited: sender.clocks.spent(Chrono::SendBuffer, now),
            wmem_alloc: Bytes(sender.wmem_alloc),
            wmem_queued: Bytes(sender.wmem_queued()),
            sndbuf: Bytes(sender.sndbuf),
            held_by: sender.held_by,
        }
    }

    /// Numbers of the congestion control's own.
    pub fn control_gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.sender.control.read().gauges(&self.sender.flow, show);
    }

    /// What happened since the last call; clears it.
    pub fn notes(&mut self) -> std::vec::Drain<'_, Note> {
        self.sender.notes.drain(..)
    }

    /// Data segments sent, retransmissions included.
    pub fn data_segments_out(&self) -> u64 {
        self.sender.data_segs_out
    }

    /// Why new data was last refused.
    pub fn held_by(&self) -> HeldBy {
        self.sender.held_by
    }

    /// The limit of its small queue.
    pub fn small_queue_limit(&self) -> SmallQueueLimit {
        self.sender.small_queue
    }
}

/// How long so many SYNs sent again would take if each waited twice as long as the one before, up to RTO_MAX, the linear
/// ones not counted: connecting fails then, however many have left. [linux-6.12 tcp_timer.c retransmits_timed_out]
fn connecting_at_most(retries: u32) -> Span {
    let timeout = |doublings: u32| Span::from_nanos(RTO_INITIAL.as_nanos() << doublings.min(7)).min(RTO_MAX);
    (0..=retries).fold(Span::ZERO, |sum, doublings| sum + timeout(doublings))
}

/// Bytes of the SACK option, aligned.
fn sack_option(blocks: u32) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

#[cfg(any(test, feature = "fuzzing"))]
pub mod operations;
