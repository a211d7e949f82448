//! Any sequence of ACKs, losses, states and times on every congestion control, 1 bit/s to 100 Gbit/s: no panic, no
//! overflow, cwnd of one segment at least. The model is that of the property test.

#![no_main]

#[path = "../../crates/cc/tests/operations.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the file are left out")]
mod operations;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| operations::fuzz(bytes));
