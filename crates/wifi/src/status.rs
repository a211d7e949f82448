//! The TX status of an aggregate after its exchange. [linux-6.12 ieee80211_tx_status]

use tailback_packet::SocketId;
use tailback_units::Span;

use crate::frame::Mpdu;

/// The result of an aggregate.
#[derive(Debug, Default)]
pub struct Status {
    /// Those that were acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// The sockets to credit, with the truesize.
    pub credits: Vec<(SocketId, u32)>,
}

/// A frame that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Its sequence number.
    pub sequence: u64,
    /// Packets in it.
    pub packets: u32,
    /// Its expected airtime.
    pub estimate: Span,
}

impl Acknowledged {
    /// What is to be remembered of a frame.
    pub fn of(frame: &Mpdu) -> Self {
        Acknowledged { sequence: frame.sequence, packets: frame.packets() as u32, estimate: frame.estimate }
    }
}
