//! Helpers for the tests of this crate.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tailback_packet::{Ecn, HostId, Packet, Payload, SocketId};
use tailback_units::SimTime;

use crate::frame::Mpdu;

/// Draws from a seed.
pub(crate) fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// A packet of `ip_length` bytes.
pub(crate) fn packet(ip_length: u32) -> Box<Packet> {
    Box::new(Packet {
        from: SocketId(0),
        to: SocketId(1),
        source: HostId(1),
        destination: HostId(0),
        ip_length,
        segments: 1,
        ecn: Ecn::NotEct,
        tos: 0,
        flow_hash: 0,
        truesize: 2304,
        charged: false,
        queue_length: tailback_packet::QueueLength::NONE,
        enqueued: SimTime::ZERO,
        departure: SimTime::ZERO,
        payload: Payload::EchoRequest { seq: 0 },
    })
}

/// A frame of `bytes` on the air.
pub(crate) fn mpdu(bytes: u32) -> Mpdu {
    Mpdu::new(packet(bytes - 38), 38)
}
