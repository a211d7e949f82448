//! One 802.11 channel as a state machine without I/O: packets in; packets, credits and one deadline out.
//!
//! ```text
//! transmit → queue above the radio (mac80211's FQ-CoDel, or a FIFO) → aggregate → contention → PPDU → block ack
//! ```
//!
//! The state machine is [`Channel`]. Each procedure of the MAC is a file: contention ([`contend`]), aggregation
//! ([`aggregate`]), acknowledgement and reordering ([`block_ack`]), the queues above the hardware
//! ([`station_queues`]) and the selection of a station ([`airtime`]). Durations are in [`phy`]; the differences between
//! drivers are data in [`driver`].

pub mod aggregate;
pub mod airtime;
mod beacon;
pub mod block_ack;
pub mod channel;
pub mod contend;
pub mod driver;
pub mod expected_airtime;
pub mod frame;
pub mod frame_source;
mod listeners;
pub mod loss;
pub mod medium;
pub mod phy;
pub mod rate;
pub mod station;
pub mod station_queues;
pub mod status;
#[cfg(test)]
mod testing;

pub use channel::{Arrived, Arriving, Channel, ChannelSettings, Context, Outcome, Output, Ppdu};
pub use contend::{AccessCategory, Edca};
pub use driver::Profile;
pub use frame_source::{FrameSource, Handed, Room, Tried};
pub use loss::{CentiDecibels, Loss};
pub use medium::Hearing;
pub use phy::{Band, Mode};
pub use rate::RateControl;
pub use station::{Link, Station};

/// Packets on their way to a host, in order.
pub type PacketBoxes = Vec<Box<tailback_packet::Packet>>;

/// A radio of the channel, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StationId(pub u16);

impl StationId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}
