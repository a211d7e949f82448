//! One socket.

use rand_core::Rng;
use tailback_packet::{Ecn, Packet, Segment};
use tailback_units::{Bytes, SimTime};

use crate::{EndpointConfig, Note, TcpInfo};

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
    /// All data was acknowledged after `close`.
    pub finished: bool,
}

/// One TCP socket.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
}

impl Endpoint {
    /// The side that opens: sends a SYN at the first `next_packet`.
    pub fn connect(config: EndpointConfig, _now: SimTime) -> Self {
        Endpoint { config }
    }

    /// The side that waits for a SYN.
    pub fn listen(config: EndpointConfig) -> Self {
        Endpoint { config }
    }

    /// A segment arrived. `truesize` is what its buffer is charged with at the receiver.
    pub fn take(&mut self, _segment: Segment, _ecn: Ecn, _truesize: u32, _now: SimTime, _draws: &mut dyn Rng) {
        let _ = &self.config;
    }

    /// The application sends `bytes` (one blocking `send()`, or what is left of one). Returns how many fitted the
    /// send buffer; when fewer, [`Wakeup::writable`] tells when to come back with the rest.
    pub fn write(&mut self, _bytes: u64, _now: SimTime) -> u64 {
        0
    }

    /// The application reads all there is. Returns the bytes read.
    pub fn read(&mut self, _now: SimTime) -> Bytes {
        Bytes::ZERO
    }

    /// The application closes: FIN after the last byte.
    pub fn close(&mut self, _now: SimTime) {}

    /// The next packet to hand to the device. Follow each with [`Endpoint::handed_over`].
    pub fn next_packet(&mut self, _now: SimTime) -> Option<Packet> {
        None
    }

    /// What the device said of the packet just taken.
    pub fn handed_over(&mut self, _outcome: Transmitted, _now: SimTime) {}

    /// A packet charged to this socket left the host or was dropped there (`tcp_wfree`). True if the small-queue
    /// handler must run: the host queues the socket and calls [`Endpoint::small_queue_ran`] once, after the
    /// packets now arriving have been processed.
    pub fn credit(&mut self, _truesize: u32) -> bool {
        false
    }

    /// The small-queue handler (`tcp_tsq_handler`): makes the transmit loop run. Drain afterwards.
    pub fn small_queue_ran(&mut self, _now: SimTime) {}

    /// When [`Endpoint::expire`] must be called.
    pub fn deadline(&self) -> Option<SimTime> {
        None
    }

    /// A deadline passed. Drain afterwards.
    pub fn expire(&mut self, _now: SimTime, _draws: &mut dyn Rng) {}

    /// What application and host should do; clears it.
    pub fn wakeup(&mut self) -> Wakeup {
        Wakeup::default()
    }

    /// `TCP_INFO` as of now.
    pub fn tcp_info(&self, _now: SimTime) -> TcpInfo {
        unreachable!("replaced by the machine")
    }

    /// Numbers of the congestion control's own.
    pub fn control_gauges(&self, _show: &mut dyn FnMut(&'static str, f64)) {}

    /// What happened since the last call; clears it.
    pub fn notes(&mut self) -> std::vec::Drain<'_, Note> {
        unreachable!("replaced by the machine")
    }
}
