//! One MPDU: a packet with the MAC's header, and what the MAC remembers of it.
//!
//! ```text
//! MPDU = 26 (QoS header) + 8 (LLC/SNAP) + IP packet + 4 (FCS)   [+ 16 with CCMP]
//! ```
//! [ieee80211-2016 §9.2.4, §12.5.3]

use tailback_packet::Packet;
use tailback_units::SimTime;

/// QoS data header, LLC/SNAP and FCS.
pub const MPDU_OVERHEAD: u32 = 26 + 8 + 4;
/// Header and message integrity code of CCMP.
pub const CCMP: u32 = 16;

/// A frame between the queue above the radio and the receiving host.
#[derive(Debug)]
pub struct Mpdu {
    /// What it carries; its credit stays with the sender until the status of the frame is known.
    pub packet: Box<Packet>,
    /// Sequence number within its block-ack session, from the first transmission on.
    pub sequence: u64,
    /// Bytes on the air.
    pub bytes: u32,
    /// Transmissions so far.
    pub tries: u32,
    /// When it left the queue above the radio.
    pub pulled: SimTime,
}
