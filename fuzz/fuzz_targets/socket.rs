//! Any sequence of writes, ACKs, data, device answers and times on one socket, under any control: no panic, no overflow,
//! nothing in flight that is not accounted for. The model is that of the property test.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tailback_tcp::fuzz(bytes));
