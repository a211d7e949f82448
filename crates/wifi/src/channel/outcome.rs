//! What a channel tells its world: packets that arrived, credits, and the PPDUs that were on the air.

use tailback_packet::{DropReason, Packet, SocketId};
use tailback_qdisc::Mark;
use tailback_units::{SimTime, Span};

use crate::aggregate::{Aggregate, ClosedBy};
use crate::medium::{Exchange, Phase};
use crate::{PacketBoxes, StationId};

/// An output of the channel.
#[derive(Debug)]
pub enum Outcome {
    /// So many packets for the host of a radio: the next of [`Output::received`].
    Received(StationId, u32, Arrived),
    /// Credit for a socket on the host of a radio.
    Credit(StationId, SocketId, u32),
    /// The driver of a radio accepts packets again.
    Accepts(StationId),
    /// A PPDU was on the air.
    Sent(Ppdu),
    /// A radio dropped a packet.
    Dropped(StationId, Box<Packet>, DropReason),
    /// The queues of a radio marked a packet.
    Marked(StationId, Mark),
}

/// When the packets of an [`Outcome::Received`] arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// At once: reordering held them, or the radio does not need to know more.
    Now,
    /// One after the other with a PPDU that ends now; the first of its MPDUs was over at this time.
    Since(SimTime),
}

/// A PPDU on its way to a radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving {
    /// When its first MPDU is over.
    pub first: SimTime,
    /// When it ends.
    pub until: SimTime,
}

/// The outputs of the channel, in order.
#[derive(Debug, Default)]
pub struct Output {
    /// What happened.
    pub outcomes: Vec<Outcome>,
    /// The packets of all [`Outcome::Received`].
    pub received: PacketBoxes,
    /// Where the packets of all [`Outcome::Sent`] were in memory, and whether they arrived; empty unless
    /// [`Channel::note_mpdus`](crate::Channel::note_mpdus) was called.
    pub mpdus: Vec<(usize, bool)>,
}

impl Output {
    /// The packets received since `before` were in the list are for a radio.
    #[inline]
    pub(super) fn received_by(&mut self, station: StationId, before: usize, arrived: Arrived) {
        let packets = self.received.len() - before;
        if packets > 0 {
            self.outcomes.push(Outcome::Received(station, packets as u32, arrived));
        }
    }
}

/// A PPDU, as the `wifi` table shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ppdu {
    /// When it began.
    pub began: SimTime,
    /// The sender.
    pub from: StationId,
    /// The receiver.
    pub to: StationId,
    /// MPDUs in it.
    pub mpdus: u32,
    /// MPDUs that arrived.
    pub received: u32,
    /// Bytes of the IP packets in it.
    pub ip_bytes: u32,
    /// Bytes of the PSDU.
    pub psdu_bytes: u32,
    /// How long it lasted.
    pub duration: Span,
    /// Number of its earlier transmissions.
    pub tries: u32,
    /// Radios that its receiver heard at the same time, this one included; 0 without a collision.
    pub colliders: u32,
    /// Time since it was at the head of its hardware queue and its radio contended for the medium.
    pub access_delay: Span,
    /// Packets queued in the host.
    pub queued: u32,
    /// Why it is not longer.
    pub closed_by: ClosedBy,
    /// How many of the next entries of [`Output::mpdus`] are its packets.
    pub noted: u32,
}

/// Records a PPDU, or its RTS without a CTS, at its end.
pub(super) fn row_of(aggregate: &Aggregate, from: StationId, exchange: &Exchange) -> Ppdu {
    let duration = match exchange.phase {
        Phase::Announcing => exchange.until.since(exchange.won),
        _ => aggregate.duration,
    };
    let began = exchange.until - duration;
    Ppdu {
        began,
        from,
        to: aggregate.to,
        mpdus: aggregate.frames.len() as u32,
        received: 0,
        ip_bytes: aggregate.ip_bytes,
        psdu_bytes: aggregate.bytes,
        duration,
        tries: aggregate.failures,
        colliders: 0,
        access_delay: began.since(aggregate.at_head),
        queued: aggregate.left_behind,
        closed_by: aggregate.closed_by,
        noted: 0,
    }
}
