//! Shared by all property tests: the number of cases to try, and where failing cases are stored.
//!
//! ```
//! use proptest::prelude::*;
//! use tailback_properties::cases;
//!
//! proptest! {
//!     #![proptest_config(cases(100))]
//!
//!     // With #[test] above it.
//!     fn a_sum_has_no_order(a: u32, b: u32) {
//!         prop_assert_eq!(u64::from(a) + u64::from(b), u64::from(b) + u64::from(a));
//!     }
//! }
//! a_sum_has_no_order();
//! ```
//!
//! `make properties TIMES=200` tries every property with 200 times its cases. It sets `PROPTEST_CASES`, proptest's own
//! variable, to 200 times proptest's default; each property takes the same multiple of its own number.
//!
//! The cases are the same each time, so that no test fails at random: a defect that a random case might find must not
//! turn up in somebody else's change. `make properties` draws fresh ones: it sets `PROPTEST_RNG_SEED`, and prints it.

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

/// proptest's default number of cases, when `PROPTEST_CASES` is not set. [proptest test_runner/config.rs]
const DEFAULT_CASES: u32 = 256;

/// The seed of the cases, when `PROPTEST_RNG_SEED` is not set.
const SEED: RngSeed = RngSeed::Fixed(1);

/// A property runs `usually` cases, multiplied by the ratio of `PROPTEST_CASES` to its default. A failing case is
/// stored beside the source file (`books.rs`: `books.regressions`), which you commit, and is tried first from then on.
pub fn cases(usually: u32) -> Config {
    let default = Config::default();
    let kept = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: multiplied(usually, default.cases),
        max_global_rejects: multiplied(default.max_global_rejects, default.cases.max(DEFAULT_CASES)),
        failure_persistence: Some(Box::new(kept)),
        rng_seed: if default.rng_seed == RngSeed::Random { SEED } else { default.rng_seed },
        ..default
    }
}

/// `usually`, multiplied by the ratio of `asked` to the default.
fn multiplied(usually: u32, asked: u32) -> u32 {
    let product = u64::from(usually) * u64::from(asked) / u64::from(DEFAULT_CASES);
    u32::try_from(product).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::{FailurePersistence, TestRunner};

    use super::*;

    #[test]
    fn a_property_tries_the_same_cases_each_time() {
        let drawn = || {
            let mut runner = TestRunner::new(Config { rng_seed: SEED, ..cases(1) });
            [(); 8].map(|()| (0_u64..u64::MAX).new_tree(&mut runner).unwrap().current())
        };
        assert_eq!(drawn(), drawn());
        assert_ne!(cases(1).rng_seed, RngSeed::Random);
    }

    #[test]
    fn cases_grow_in_the_proportion_of_what_is_asked_to_the_default() {
        assert_eq!([256, 51_200, 128].map(|asked| multiplied(48, asked)), [48, 9_600, 24]);
        assert_eq!((multiplied(20, 1), multiplied(u32::MAX, u32::MAX)), (1, u32::MAX));
    }

    #[test]
    fn a_case_that_breaks_a_property_is_kept_beside_its_source() {
        let beside: Box<dyn FailurePersistence> = Box::new(FileFailurePersistence::WithSource("regressions"));
        assert_eq!(cases(1).failure_persistence, Some(beside));
    }
}
