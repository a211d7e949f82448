//! Reads and sets the properties of an open socket: its options, its route, its small queue.

use tailback_cc::PacingStatus;
use tailback_units::{Rate, SimTime, Span};

use super::Endpoint;
use crate::clock::timestamp;
use crate::sending_half::SendingHalf;
use crate::state::gate::Pass;
use crate::state::path::MtuProbes;
use crate::{HeldBy, SmallQueueLimit};

impl Endpoint {
    /// The shift of the window that this socket advertises.
    pub fn window_scale(&self) -> u32 {
        self.receiver.window.scale()
    }

    /// `fq` is below and spaces packets by the departure times that this socket sets, without a pacing timer. In the
    /// kernel this takes effect when `fq` classifies the first packet of the socket. [linux-6.12 sch_fq.c fq_classify]
    pub fn leave_pacing_to_fq(&mut self) {
        self.sender.flow.pacing_status = PacingStatus::Fq;
    }

    /// `TCP_NODELAY`: short segments do not wait.
    pub fn set_no_delay(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.gate.no_delay = true;
        if self.sender.has_unsent() {
            self.sender.gate.work.begin(Pass::Push);
        }
    }

    /// `SO_SNDBUF` of half of `bytes`: the buffer has this size from now on. [linux-6.12 sock.c sk_setsockopt]
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.sender.buffer.lock(bytes);
    }

    /// `SO_MAX_PACING_RATE`: TCP spaces packets from now on. [linux-6.12 sock.c sk_setsockopt]
    pub fn set_max_pacing_rate(&mut self, rate: Rate) {
        self.sender.options.max_pacing_rate = rate;
        if self.sender.flow.pacing_status == PacingStatus::None {
            self.sender.flow.pacing_status = PacingStatus::Needed;
        }
        self.sender.options.cap_pacing_rate(&mut self.sender.window);
    }

    /// Sets `TCP_USER_TIMEOUT`; `None` is the kernel's default. [linux-6.12 tcp.c tcp_sock_set_user_timeout]
    pub fn set_user_timeout(&mut self, timeout: Option<Span>) {
        self.sender.options.user_timeout = timeout.into();
    }

    /// The MSS that this side offers in its SYN.
    pub fn advertised_mss(&self) -> u32 {
        self.sender.settings.offered_mss()
    }

    /// Whether the application has this socket; one that waits for `accept` does not grow its buffer for data out of order.
    /// [linux-7.3 tcp_input.c tcp_data_queue_ofo]
    pub fn set_accepted(&mut self, accepted: bool) {
        self.receiver.accepted = accepted;
    }

    /// Segments that were beyond the window; `None` where Linux does not count them.
    pub fn beyond_window(&self) -> Option<u64> {
        let counts = self.sender.settings.stack.is_since((6, 17));
        counts.then_some(self.receiver.beyond_window.into())
    }

    /// Memory of the receive buffer, bytes (`sk_rcvbuf`).
    pub fn receive_buffer(&self) -> u64 {
        self.receiver.window.rcvbuf()
    }

    /// ECN was negotiated.
    pub fn uses_ecn(&self) -> bool {
        self.sender.ecn.agreed()
    }

    /// Accurate ECN was negotiated.
    pub fn uses_accurate_ecn(&self) -> bool {
        self.sender.ecn.agreed() && self.sender.ecn.is_accurate()
    }

    /// Value and echo of the timestamp that a segment carries now; `None` without the option.
    pub fn timestamps(&self, now: SimTime) -> Option<(SimTime, SimTime)> {
        let echo = self.receiver.timestamp_echo().time().unwrap_or_default();
        self.sender.agreement.timestamps.then(|| (timestamp(now), echo))
    }

    /// `TCP_CORK`: short segments wait for more; clearing it releases them. [linux-6.12 tcp.c __tcp_sock_set_cork]
    pub fn set_cork(&mut self, corked: bool, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.gate.corked = corked;
        if !corked && self.sender.has_unsent() {
            self.sender.gate.work.begin(if self.sender.gate.no_delay { Pass::Push } else { Pass::Normal });
        }
    }

    /// `SO_RCVBUF` of half of `bytes`: the buffer has this size from now on. [linux-6.12 sock.c __sock_set_rcvbuf]
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.receiver.set_buffer(bytes);
    }

    /// The route now has this MTU, which takes effect with the next packet sent.
    pub fn change_route(&mut self, mtu: u32) {
        self.sender.path.change(mtu);
    }

    /// The device has this MTU now.
    pub fn change_device_mtu(&mut self, mtu: u32) {
        self.sender.path.change(mtu);
        self.sender.refresh_route();
    }

    /// Counts of MTU probes that passed and were lost.
    pub fn mtu_probes(&self) -> MtuProbes {
        self.sender.path.search().map(|search| search.probes).unwrap_or_default()
    }

    /// Data segments sent, retransmissions included.
    pub fn data_segments_out(&self) -> u64 {
        self.sender.sent.data_segs_out
    }

    /// Why new data was last refused.
    pub fn held_by(&self) -> HeldBy {
        self.sender.gate.held_by()
    }

    /// The limit of its small queue.
    pub fn small_queue_limit(&self) -> SmallQueueLimit {
        self.sender.below.limit
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// `TCP_QUICKACK`: acknowledges received data now, and the next segments at once.
    /// [linux-6.12 tcp.c __tcp_sock_set_quickack]
    pub fn quick_ack(&mut self) {
        self.receiver.set_quick_ack();
    }

    /// Next byte expected from the peer, and the next byte to be sent.
    pub fn positions(&self) -> (u64, u64) {
        (self.receiver.rcv_nxt, self.sender.snd_nxt())
    }
}
