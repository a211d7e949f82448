//! The simulator as a page in a browser has it: bytes in, bytes out, over the linear memory of WebAssembly.
//!
//! ```text
//! page:  at = room(length); memory[at..] = the resolved scenario as JSON; simulate(); memory[answer()..][..answered()]
//! ```
//!
//! The answer ([`answer::to`]) has the columns of all tables as they are recorded. What a page draws of them is the page's
//! (`web/src/picture.ts`); controls that the user wrote are not there, for they are Python's.

pub mod answer;

use std::cell::RefCell;

thread_local! {
    /// A module has one thread.
    static PAGE: RefCell<Page> = const { RefCell::new(Page { scenario: Vec::new(), answer: Vec::new() }) };
}

/// What the page has written, and what it may read.
struct Page {
    scenario: Vec<u8>,
    answer: Vec<u8>,
}

/// Makes room for a scenario of this many bytes; returns where it is in memory.
#[expect(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> usize {
    PAGE.with_borrow_mut(|page| {
        page.scenario = vec![0; length];
        page.scenario.as_ptr().addr()
    })
}

/// Runs the scenario that is there.
#[expect(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn simulate() {
    let scenario = PAGE.with_borrow_mut(|page| std::mem::take(&mut page.scenario));
    let answer = answer::to(&scenario);
    PAGE.with_borrow_mut(|page| page.answer = answer);
}

/// Where the answer is in memory.
#[expect(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    PAGE.with_borrow(|page| page.answer.as_ptr().addr())
}

/// How many bytes the answer has.
#[expect(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> usize {
    PAGE.with_borrow(|page| page.answer.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_scenario_is_answered_with_the_reason() {
        room(2);
        simulate();
        assert_ne!(answer(), 0);
        let told = PAGE.with_borrow(|page| page.answer.clone());
        assert_eq!(told.len(), answered());
        let length = u32::from_le_bytes(told[..4].try_into().unwrap()) as usize;
        let head: serde_json::Value = serde_json::from_slice(&told[4..4 + length]).unwrap();
        assert!(head["error"].as_str().unwrap().contains("expected value"), "{head}");
    }
}
