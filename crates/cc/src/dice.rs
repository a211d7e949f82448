//! Dice of a control that rolls them in the middle of an ACK: a stream of its own, begun by the sender's.

use rand_core::Rng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;

/// A stream of draws.
#[derive(Clone, Debug)]
pub(crate) struct Dice(SplitMix64);

impl Default for Dice {
    /// The dice of a control whose connection is not established.
    fn default() -> Self {
        Dice(SplitMix64::seed_from_u64(0))
    }
}

impl From<&mut dyn Rng> for Dice {
    fn from(draws: &mut dyn Rng) -> Self {
        Dice(SplitMix64::seed_from_u64(draws.next_u64()))
    }
}

impl Dice {
    /// Any of 2³² numbers.
    pub(crate) fn any(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.any()) * u64::from(bound)) >> u32::BITS) as u32
    }
}
