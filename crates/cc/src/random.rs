//! Random numbers of a control that needs them in the middle of an ACK: its own stream, with a seed from the sender's.

use rand_core::Rng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct RandomNumbers(SplitMix64);

impl Default for RandomNumbers {
    /// Those of a control whose connection is not established.
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
    /// Any of 2³² numbers.
    pub(crate) fn any(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.any()) * u64::from(bound)) >> u32::BITS) as u32
    }
}
