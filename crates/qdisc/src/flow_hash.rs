//! Selects the queue of a flow by its hash, mixed with a secret that the discipline draws at its first packet.
//!
//! queue = mix(hash ⊕ secret) · queues / 2³²                            [linux-6.12 reciprocal_scale]
//!
//! Two flows share a queue with probability 1/queues. Which ones do depends on the seed of the run. After a timeout a TCP
//! socket draws another hash; the disciplines that dissect headers (`sfq`, `hhf`) do not notice.

use tailback_packet::Packet;

use crate::Context;

/// The secret of one discipline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowHash {
    secret: Option<u32>,
}

impl FlowHash {
    /// A 32-bit hash of the packet's socket.
    #[inline]
    pub fn of(&mut self, packet: &Packet, context: &mut Context<'_>) -> u32 {
        mix(packet.flow_hash ^ self.secret(context))
    }

    /// A hash of the packet's headers, for disciplines that dissect them. [linux-6.12 skbuff.h skb_get_hash_perturb]
    #[inline]
    pub fn of_headers(&mut self, packet: &Packet, context: &mut Context<'_>) -> u32 {
        mix(packet.headers_hash() ^ self.secret(context))
    }

    /// A hash of some other property, under the same secret.
    #[inline]
    pub fn of_value(&mut self, value: u32, context: &mut Context<'_>) -> u32 {
        mix(value ^ self.secret(context).rotate_left(16))
    }

    /// The packet's queue among `queues`.
    #[inline]
    pub fn queue_of(&mut self, packet: &Packet, queues: u32, context: &mut Context<'_>) -> u32 {
        ((u64::from(self.of(packet, context)) * u64::from(queues)) >> 32) as u32
    }

    /// Draws another secret.
    pub fn perturb(&mut self, context: &mut Context<'_>) {
        self.secret = Some(context.draws.next_u32());
    }

    #[inline]
    fn secret(&mut self, context: &mut Context<'_>) -> u32 {
        *self.secret.get_or_insert_with(|| context.draws.next_u32())
    }
}

/// Spreads every bit of a 32-bit number over all of them; one-to-one.
#[inline]
fn mix(hash: u32) -> u32 {
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x7feb_352d);
    let hash = (hash ^ (hash >> 15)).wrapping_mul(0x846c_a68b);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256StarStar;
    use tailback_packet::{Packet, redrawn_hash};
    use tailback_units::SimTime;

    use super::*;
    use crate::{Effects, testing::packet};

    #[test]
    fn a_socket_that_draws_another_hash_has_the_same_headers() {
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let mut effects = Effects::default();
        let mut context = effects.context(SimTime::ZERO, &mut draws);
        let mut hash = FlowHash::default();
        let before = packet(1, 1514);
        let after = Packet { flow_hash: redrawn_hash(before.flow_hash), ..before.clone() };
        assert_ne!(hash.of(&before, &mut context), hash.of(&after, &mut context));
        assert_eq!(hash.of_headers(&before, &mut context), hash.of_headers(&after, &mut context));
    }
}
