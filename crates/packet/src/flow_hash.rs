//! Hashes of flows, which stand for those of Linux: of the headers of a packet, and of a socket.
//!
//! headers: SplitMix64's output function over both ends [steele2014]; constant, as that of a flow dissector with one key
//! socket:  begins as that of its headers; after a timeout the next of a sequence, which stands for the random number
//!          of Linux [linux-6.12 sock.h sk_rethink_txhash]: the last step of MurmurHash3, of it plus 2³²/φ [appleby]
//!
//! Deviation: the hash of a new socket is random in Linux, too; a discipline mixes it with a secret of the run instead.

use crate::{Packet, SocketId};

/// The hash of addresses, ports and protocol: the same for all packets of one direction of a conversation, different for
/// the other.
pub fn conversation_hash(from: SocketId, to: SocketId) -> u32 {
    let ends = (u64::from(from.0) << 32) | u64::from(to.0);
    let z = ends.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

/// The hash of a socket after a timeout, from that before.
pub fn redrawn_hash(before: u32) -> u32 {
    let z = before.wrapping_add(0x9e37_79b9);
    let z = (z ^ (z >> 16)).wrapping_mul(0x85eb_ca6b);
    let z = (z ^ (z >> 13)).wrapping_mul(0xc2b2_ae35);
    z ^ (z >> 16)
}

impl Packet {
    /// The hash of its headers, which a timeout of its socket does not change.
    #[inline]
    pub fn headers_hash(&self) -> u32 {
        conversation_hash(self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_two_directions_of_a_conversation_have_different_hashes() {
        let (one, other) = (SocketId(3), SocketId(7));
        assert_ne!(conversation_hash(one, other), conversation_hash(other, one));
    }

    #[test]
    fn the_hashes_of_a_socket_after_timeouts_are_spread_evenly() {
        let hashes: Vec<u32> =
            std::iter::successors(Some(0), |&hash| Some(redrawn_hash(hash))).take(16_384).collect();
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len());
        let mut queues = [0_u32; 64];
        for hash in hashes {
            queues[(hash >> 26) as usize] += 1;
        }
        // 256 are expected in each, with a standard deviation of 16.
        assert!(queues.iter().all(|&count| (192..320).contains(&count)), "{queues:?}");
    }
}
