//! Named random streams: (seed, path of the part, purpose) → generator.
//!
//! name   = FNV-1a over the bytes of part, 0xff, purpose        [fnv §2: 64 bits]
//! state  = four outputs of SplitMix64 started at mix(seed) ⊕ name      [steele2014; vigna splitmix64.c]
//! output = xoshiro256++                                        [blackman2019 scrambled linear generators]
//!
//! where mix is SplitMix64's output function. 0xff occurs in no UTF-8 text, so ("a", "bc") and ("ab", "c") differ.
//! Every step is fixed integer arithmetic: the same names and the same seed give the same bits on every machine.
//! Streams are independent of each other and of the order in which they are made.

use std::convert::Infallible;

use rand_core::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random numbers of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The random streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Streams { seed }
    }

    /// The stream of `part` (a path: `hosts/client`) for `purpose` (`loss`, `hash`).
    pub fn stream(&self, part: &str, purpose: &str) -> Draws {
        Draws(Xoshiro256PlusPlus::seed_from_u64(mix(self.seed) ^ name_hash(part, purpose)))
    }
}

/// A generator with one owner; machines see it as `&mut dyn Rng`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draws(Xoshiro256PlusPlus);

impl TryRng for Draws {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

fn name_hash(part: &str, purpose: &str) -> u64 {
    fnv1a(part.bytes().chain([0xff]).chain(purpose.bytes()))
}

fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// One step of SplitMix64 from state `seed`.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    fn first(seed: u64, part: &str, purpose: &str) -> [u64; 4] {
        let mut draws = Streams::new(seed).stream(part, purpose);
        std::array::from_fn(|_| draws.next_u64())
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut seed = [0; 32];
        for word in 0..4 {
            seed[word * 8] = word as u8 + 1;
        }
        let mut draws = Draws(Xoshiro256PlusPlus::from_seed(seed));
        // Of the authors' xoshiro256plusplus.c, from the state 1, 2, 3, 4.
        for published in [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205] {
            assert_eq!(draws.next_u64(), published);
        }
    }

    #[test]
    fn names_are_hashed_with_fnv_1a() {
        // The test vectors published with the hash.
        assert_eq!(fnv1a("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn seeds_are_mixed_with_splitmix64() {
        // First output of the author's splitmix64.c for the seeds 0 and 1234567.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn the_same_seed_and_names_give_the_same_bits() {
        assert_eq!(first(1, "hosts/client", "loss"), first(1, "hosts/client", "loss"));
    }

    #[test]
    fn another_seed_part_or_purpose_gives_another_stream() {
        let streams = [
            first(1, "hosts/client", "loss"),
            first(2, "hosts/client", "loss"),
            first(1, "hosts/server", "loss"),
            first(1, "hosts/client", "hash"),
            first(1, "hosts/clien", "tloss"),
            first(0, "", ""),
        ];
        for (index, stream) in streams.iter().enumerate() {
            assert!(streams[..index].iter().all(|other| other.iter().all(|word| !stream.contains(word))));
        }
    }

    #[test]
    fn adding_a_stream_shifts_no_other() {
        let streams = Streams::new(7);
        let mut alone = streams.stream("link 0", "loss");
        let expected: Vec<_> = (0..100).map(|_| alone.next_u64()).collect();
        let (mut beside, mut added) = (streams.stream("link 0", "loss"), streams.stream("link 1", "loss"));
        for word in expected {
            added.next_u64();
            assert_eq!(beside.next_u64(), word);
        }
    }

    #[test]
    fn the_bits_are_those_of_an_independent_computation() {
        // From the formulas at the head of this file, in Python. A change here changes every run with random numbers.
        let computed =
            [5442682826020176672, 12119696514248629449, 16336586978611346883, 11173100271767727237];
        assert_eq!(first(1, "hosts/client", "loss"), computed);
    }
}
