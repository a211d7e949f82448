//! What is above a radio, if it is neither our model of mac80211 nor a qdisc: somebody who is asked for the next frame.
//!
//! The radio asks whenever there is space below: first for the station to serve, then for its packets, one by one.
//! It keeps frames that must be sent again itself, as the driver of a card does. If the source has a rate control, the
//! radio asks for the modes when an aggregate has its first frame, and says afterwards what became of it.
//! [linux-6.12 net/mac80211/tx.c ieee80211_next_txq, ieee80211_tx_dequeue, ieee80211_return_txq]

use tailback_packet::Packet;
use tailback_units::Span;

use crate::StationId;
use crate::rate::Chain;

/// Bytes of a subframe beside its MPDU: delimiter 4, padding at most 3.
const BESIDE: u32 = 7;

/// What an aggregate takes for sure. So many frames may be handed over at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// Frames.
    pub frames: u32,
    /// Bytes of their subframes.
    pub bytes: u32,
    /// Each frame counts as at least so many bytes.
    pub shortest: u32,
}

impl Room {
    /// What is left after a frame of so many bytes.
    pub fn without(self, mpdu: u32) -> Room {
        let taken = mpdu.max(self.shortest) + BESIDE;
        Room { frames: self.frames.saturating_sub(1), bytes: self.bytes.saturating_sub(taken), ..self }
    }
}

/// A packet that a source hands over.
#[derive(Debug)]
pub struct Handed {
    /// The packet.
    pub packet: Box<Packet>,
    /// The source probes a mode with this frame: it goes alone.
    pub probes: bool,
}

impl From<Box<Packet>> for Handed {
    fn from(packet: Box<Packet>) -> Self {
        Handed { packet, probes: false }
    }
}

/// What became of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tried {
    /// The modes it could be sent in.
    pub chain: Chain,
    /// How often it was sent.
    pub transmissions: u32,
    /// Frames in it.
    pub sent: u32,
    /// Frames that were acknowledged.
    pub acknowledged: u32,
}

/// The queues above a radio, elsewhere. [`Channel::wake`](crate::Channel::wake) says that they have got packets.
pub trait FrameSource: Send {
    /// The station to serve next in a category. It is not returned again before it is activated.
    fn take_turn(&mut self, category: usize) -> Option<StationId>;

    /// An aggregate is formed for a station that has its turn: of its next packets, so many are asked for without fail, or
    /// none at all.
    fn expect(&mut self, _room: Room) {}

    /// The next packet for a station; `None` if there is none.
    fn next_frame(&mut self, category: usize, to: StationId) -> Option<Handed>;

    /// The modes of an aggregate that begins with this packet, where the source has a rate control
    /// ([`RateControl::Source`](crate::RateControl::Source)); `None`: as before.
    fn rates(&mut self, _category: usize, _to: StationId, _first: &Packet) -> Option<Chain> {
        None
    }

    /// An aggregate has been sent, and its modes were not fixed.
    fn tried(&mut self, _category: usize, _to: StationId, _tried: &Tried) {}

    /// A station has been served, or frames of it were settled; `again` of its frames wait in the radio to be sent
    /// again. It takes turns from now on if the source has packets for it or `again` is not 0.
    fn activate(&mut self, category: usize, to: StationId, again: usize);

    /// Transmissions to a station took this airtime.
    fn sent(&mut self, category: usize, to: StationId, airtime: Span);

    /// A transmission from a station took this airtime, and the driver charges it.
    fn heard(&mut self, category: usize, from: StationId, airtime: Span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_its_bytes_or_the_shortest_length_and_what_lies_beside_it() {
        let room = Room { frames: 2, bytes: 1_000, shortest: 256 };
        let after = |mpdu| (room.without(mpdu).frames, room.without(mpdu).bytes);
        assert_eq!([100, 256, 300, 2_000].map(after), [(1, 737), (1, 737), (1, 693), (1, 0)]);
    }
}
