//! Random numbers for a control that needs them while it processes an ACK, from streams of its own that the sender's seeds.

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

/// The random numbers of a model control, ours or a kernel module: each call takes one ahead from the sender's, and more from a
/// stream that this one seeds. So a module and our control of the same kind draw the same ones.
#[derive(Clone, Debug)]
pub struct Draws {
    ahead: Option<u32>,
    rest: SplitMix64,
}

impl Draws {
    /// Without a number of the sender's.
    pub fn seeded(seed: u64) -> Self {
        Draws { ahead: None, rest: SplitMix64::seed_from_u64(seed) }
    }

    /// Takes a number of the sender's, if the last one was used.
    pub fn draw_ahead(&mut self, draws: &mut dyn Rng) {
        if self.ahead.is_none() {
            let drawn = draws.next_u32();
            *self = Draws { ahead: Some(drawn), ..Draws::seeded(drawn.into()) };
        }
    }

    /// A number of 32 bits.
    pub fn any(&mut self) -> u32 {
        self.ahead.take().unwrap_or_else(|| self.rest.next_u32())
    }

    /// What the next ones are, without taking one of them.
    pub fn peek_rest(&self) -> u32 {
        self.rest.clone().next_u32()
    }

    /// A number below `bound`, each as likely. [linux-6.12 random.h get_random_u32_below, for constants above 2^16]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let uneven = if bound.is_power_of_two() { 0 } else { bound.wrapping_neg() % bound };
        loop {
            let product = u64::from(self.any()) * u64::from(bound);
            if product as u32 >= uneven {
                return (product >> u32::BITS) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_the_bound_comes_about_as_often() {
        let (mut numbers, mut draws) = (RandomNumbers::default(), Draws::seeded(1));
        let mut counts = [[0; 3]; 2];
        for _ in 0..3_000 {
            counts[0][numbers.below(3) as usize] += 1;
            counts[1][draws.below(3) as usize] += 1;
        }
        assert!(counts.iter().flatten().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }
}
