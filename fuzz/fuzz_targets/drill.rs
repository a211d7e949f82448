//! Any text as a packetdrill script: it is read, and run if it is one. No panic, no overflow, and always a verdict.

#![no_main]

use tailback_drill::{Options, drill};

libfuzzer_sys::fuzz_target!(|text: &str| {
    drill(text, &Options::default()).expect("the default stack exists");
});
