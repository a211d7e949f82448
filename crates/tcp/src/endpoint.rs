//! One socket: the state of the connection, which a sender and a receiver share.

mod accurate;
mod application;
mod arriving;
mod handshake;
#[cfg(any(test, feature = "fuzzing"))]
pub mod operations;
mod options;
mod reading;
mod resets;
mod saving;
mod segments;
mod sender_only;
mod sending;

use std::collections::VecDeque;

use tailback_cc::PacingStatus;
use tailback_packet::{Segment, redrawn_hash};
use tailback_units::SimTime;

pub use self::accurate::{EcnInfo, EcnMode};
pub use self::arriving::{Taken, ToSend};
use self::handshake::Handshake;
pub use self::resets::Reset;
pub use self::sending::{Next, OfBurst, PacedBurst, Pause, WrittenOfBurst};
use crate::config::{TCP_HEADER, TIMESTAMP_OPTION};
use crate::receive_only::ReceiveOnly;
use crate::receiver::Receiver;
use crate::sender::{Sender, SenderConfig};
use crate::sending_half::SendingHalf;
use crate::state::timer::Expired;
use crate::{Agreement, EndpointConfig, ReceiverConfig, Txhash};

/// Wake-ups that the socket requests for its application or its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wakeup {
    /// The application blocked in `send()` can continue: call [`Endpoint::write`].
    pub writable: bool,
    /// Data arrived: call [`Endpoint::read`].
    pub readable: bool,
    /// All data was acknowledged after `close`, or the connection was aborted.
    pub finished: bool,
}

impl Wakeup {
    /// There is no wake-up.
    #[inline]
    pub fn is_none(self) -> bool {
        !(self.writable | self.readable | self.finished)
    }

    /// Wake-ups of both.
    #[inline]
    #[must_use]
    pub fn with(self, other: Wakeup) -> Wakeup {
        Wakeup {
            writable: self.writable | other.writable,
            readable: self.readable | other.readable,
            finished: self.finished | other.finished,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// Established, with accurate ECN: each segment is counted.
    Accurate,
}

/// One TCP socket.
///
/// One that may send data has a [`Sender`]; a pure receiver ([`Endpoint::pure_receiver`]) is an `Endpoint<ReceiveOnly>`.
#[derive(Debug)]
pub struct Endpoint<S = Sender> {
    addresses: Addresses,
    /// Bytes of the headers of a segment without a SYN or SACK blocks, from IP on.
    headers: u32,
    state: State,
    handshake: Handshake,
    sender: S,
    receiver: Receiver,
    /// ACKs whose contents had to be fixed before the next segment was processed; `None` if there are none.
    #[expect(clippy::box_collection, reason = "a socket without them has one word")]
    outbox: Option<Box<VecDeque<Segment>>>,
    closed: bool,
    finished_told: bool,
    metrics_saved: bool,
    continuing: bool,
    /// Where `tcpi_bytes_acked` counts from: the side that opens counts its SYN.
    first_acked: u8,
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
        let headers = settings.ip.header() + TCP_HEADER + TIMESTAMP_OPTION;
        let (control, needs_ecn, sndbuf_factor) = (config.control, config.needs_ecn, config.sndbuf_factor);
        let addresses = Addresses { socket, peer, peer_host, flow_hash };
        let sender = Sender::new(SenderConfig {
            settings,
            small_queue,
            options,
            control,
            needs_ecn,
            pacing,
            sndbuf_factor,
        });
        Endpoint::of(addresses, headers, state, sender, receiver)
    }
}

impl Endpoint<ReceiveOnly> {
    /// A pure receiver, which waits for a SYN: its application neither writes nor closes first.
    pub fn pure_receiver(config: ReceiverConfig) -> Self {
        let ReceiverConfig { socket, peer, peer_host, flow_hash, settings, options, needs_ecn } = config;
        let receiver = Receiver::new(&settings, &options);
        let headers = settings.ip.header() + TCP_HEADER + TIMESTAMP_OPTION;
        let agreement = Agreement::usual(settings.mss(&options));
        let addresses = Addresses { socket, peer, peer_host, flow_hash };
        Endpoint::of(
            addresses,
            headers,
            State::Listen,
            ReceiveOnly::new(settings, agreement, needs_ecn),
            receiver,
        )
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// Inlined, so that neither half is copied.
    #[inline(always)]
    fn of(addresses: Addresses, headers: u32, state: State, sender: S, receiver: Receiver) -> Self {
        Endpoint {
            addresses,
            headers,
            state,
            handshake: Handshake::default(),
            sender,
            receiver,
            outbox: None,
            closed: false,
            finished_told: false,
            metrics_saved: false,
            continuing: false,
            first_acked: u8::from(state == State::Listen),
        }
    }

    /// The options of both SYNs are known: call it before the peer's SYN is taken.
    pub fn agree(&mut self, agreement: Agreement) {
        let options = agreement.timestamp_option();
        self.headers = self.sender.settings().ip.header() + TCP_HEADER + options;
        self.sender.agree(agreement);
        self.receiver.agree(&agreement, self.sender.settings().offered_mss() - options);
    }

    /// When [`Endpoint::expire`] must be called.
    pub fn deadline(&self) -> Option<SimTime> {
        Some(self.next_deadline()).filter(|deadline| *deadline < SimTime::NEVER)
    }

    /// As [`Endpoint::deadline`]; `SimTime::NEVER` if there is none.
    #[inline]
    pub fn next_deadline(&self) -> SimTime {
        self.sender.deadline().or(self.handshake.deadline).or(self.receiver.deadline()).instant()
    }

    /// A deadline passed. Drain afterwards.
    pub fn expire(&mut self, now: SimTime) {
        self.sender.set_now(now);
        if self.handshake.deadline.is_over(now) {
            self.handshake_timed_out();
        }
        if self.sender.expire() == Expired::Retransmission {
            self.redraw_hash();
        }
        if self.receiver.deadline().is_over(now) {
            self.receiver.expire(now);
        }
    }

    /// After a timeout, the packets of the socket go to another queue, unless its stack keeps its hash.
    /// [linux-6.12 tcp_timer.c tcp_write_timeout]
    fn redraw_hash(&mut self) {
        if self.sender.settings().txhash == Txhash::Redrawn {
            self.addresses.flow_hash = redrawn_hash(self.addresses.flow_hash);
        }
    }

    /// The handshake is over.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.state >= State::Established
    }

    /// No SYN has arrived, or its SYN-ACK was never acknowledged and the connection request was dropped.
    pub fn is_listening(&self) -> bool {
        self.state == State::Listen
    }
}
