//! Any JSON as a resolved scenario: it is read, and its world is built if it is one. No panic, no overflow, and what is
//! refused is refused with a message.

#![no_main]

use tailback_world::{Scenario, World};

libfuzzer_sys::fuzz_target!(|json: &str| {
    if let Err(error) = Scenario::from_json(json).and_then(|scenario| World::build(&scenario)) {
        assert!(!error.to_string().is_empty());
    }
});
