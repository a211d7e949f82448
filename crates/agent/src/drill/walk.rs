//! Each word of packetdrill's language that may stand in a system call, as `tests/python/drill/test_words.py` asks the
//! simulator's TCP: a kernel is asked, or the call is unsupported by its name. It is never a failure.

use std::net::Ipv4Addr;

use tailback_script::parser;
use tailback_script::player::CallError;
use tailback_script::script::{Action, Call};

use super::calls::Descriptors;

const CALLS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/drill/calls.txt"));

fn call(text: &str) -> Option<Call> {
    let line = text.replace("LISTEN", "3").replace("EPOLL,", "8,").replace("FD", "4");
    let script = parser::parse(&format!("   +0 {line}\n")).expect("packetdrill reads it");
    script.events.into_iter().find_map(|event| match event.action {
        Action::Call(call) => Some(call),
        _ => None,
    })
}

#[test]
fn a_word_of_the_language_is_passed_to_the_kernel_or_unsupported_by_its_name() {
    let mut passed_on = 0;
    for text in CALLS.lines() {
        let Some(call) = call(text) else { continue };
        match Descriptors::new(Ipv4Addr::LOCALHOST).prepare(&call).map_err(|error| error.naming(&call)) {
            Ok(_) => passed_on += 1,
            Err(CallError::Unsupported(why)) => assert!(call.has_word_in(&why), "{text}: {why}"),
            Err(CallError::Failed(why)) => panic!("{text}: {why}"),
        }
    }
    assert!(passed_on > 100, "{passed_on} calls reach the kernel");
}
