//! Random numbers for a control that needs them while it processes an ACK: a stream of its own, seeded by the sender's.

use rand_core::Rng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct RandomNumbers(SplitMix64);

impl Default for RandomNumbers {
    /// The stream of a control before its connection is established.
    fn default() -> Self {
        RandomNumbers(SplitMix64::seed_from_u64(0))
    }
}

impl From<&mut dyn Rng> for RandomNumbers {
    fn from(draws: &mut dyn Rng) -> Self {
        RandomNumbers(SplitMix64::seed_from_u64(draws.next_u64()))
    }
}

impl RandomNumbers {
    /// A number of 32 bits.
    pub(crate) fn any(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.any()) * u64::from(bound)) >> u32::BITS) as u32
    }
}
