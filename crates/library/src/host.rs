//! The services of the simulator that an endpoint of a library calls.
#![expect(unsafe_code, reason = "called by foreign code; each block says why it is sound")]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::abi;
use crate::notes;
use crate::{End, Event, Notes, Setup};

pub(crate) static HOST: abi::Host = abi::Host { random, log, fail, event };

/// What the services of one endpoint need; its address is the endpoint's token.
pub(crate) struct Host {
    draws: RefCell<Xoshiro256PlusPlus>,
    failure: RefCell<Option<String>>,
    notes: Notes,
    flow: String,
    end: End,
    pub(crate) now: Cell<Duration>,
}

impl Host {
    pub(crate) fn new(setup: &Setup, notes: &Notes) -> Self {
        Host {
            draws: RefCell::new(Xoshiro256PlusPlus::from_seed(setup.seed)),
            failure: RefCell::default(),
            notes: notes.clone(),
            flow: setup.flow.clone(),
            end: setup.end,
            now: Cell::new(setup.start),
        }
    }

    /// It fails; the first reason counts.
    pub(crate) fn fail(&self, reason: String) {
        self.failure.borrow_mut().get_or_insert(reason);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }
}

/// The host of a token.
fn host<'a>(token: *mut c_void) -> &'a Host {
    // SAFETY: the token that the setup had, which the header asks for; the host lives as long as the endpoint.
    unsafe { &*token.cast::<Host>() }
}

fn text(given: *const c_char) -> String {
    if given.is_null() {
        return String::new();
    }
    // SAFETY: the header asks for a string.
    unsafe { CStr::from_ptr(given) }.to_string_lossy().into_owned()
}

extern "C" fn random(token: *mut c_void) -> u64 {
    host(token).draws.borrow_mut().next_u64()
}

extern "C" fn log(token: *mut c_void, line: *const c_char) {
    let host = host(token);
    let (now, flow, end, line) = (host.now.get().as_secs_f64(), &host.flow, host.end.word(), text(line));
    host.notes.say(&format!("{now:.6} {flow} {end}: {line}"));
}

extern "C" fn fail(token: *mut c_void, reason: *const c_char) {
    let line = notes::shown(&text(reason), notes::LONGEST);
    host(token).fail(if line.is_empty() { "it calls `fail` without a reason".to_owned() } else { line });
}

extern "C" fn event(token: *mut c_void, name: *const c_char, data: *const c_char) {
    let host = host(token);
    let (flow, end, at) = (host.flow.clone(), host.end, host.now.get());
    if let Err(problem) = host.notes.event(Event { flow, end, at, name: text(name), data: text(data) }) {
        host.fail(problem);
    }
}
