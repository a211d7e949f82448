//! What is above a radio, if it is neither our model of mac80211 nor a qdisc: somebody who is asked for the next frame.
//!
//! The radio asks whenever there is space below: first for the station to serve, then for its packets, one by one.
//! It keeps frames that must be sent again itself, as the driver of a card does.
//! [linux-6.12 net/mac80211/tx.c ieee80211_next_txq, ieee80211_tx_dequeue, ieee80211_return_txq]

use tailback_packet::Packet;
use tailback_units::Span;

use crate::StationId;

/// The queues above a radio, elsewhere. [`Channel::wake`](crate::Channel::wake) says that they have got packets.
pub trait FrameSource: Send {
    /// The station to serve next in a category. It is not returned again before it is activated.
    fn take_turn(&mut self, category: usize) -> Option<StationId>;

    /// The next packet for a station; `None` if there is none.
    fn next_frame(&mut self, category: usize, to: StationId) -> Option<Box<Packet>>;

    /// A station has been served, or frames of it were settled; `again` of its frames wait in the radio to be sent
    /// again. It takes turns from now on if the source has packets for it or `again` is not 0.
    fn activate(&mut self, category: usize, to: StationId, again: usize);

    /// Transmissions to a station took this airtime.
    fn sent(&mut self, category: usize, to: StationId, airtime: Span);

    /// A transmission from a station took this airtime, and the driver charges it.
    fn heard(&mut self, category: usize, from: StationId, airtime: Span);
}
