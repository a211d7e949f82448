//! Hosts, links and sockets: builds a world from a resolved scenario and runs it.
//!
//! ```text
//! Scenario::from_json → World::build → World::run → Outcome { tables, cost }
//! ```
//!
//! The path of a packet: `transport` takes it from a socket → `device` (discipline, then
//! the `nic`'s ring with `bql`, then the `wire`, and a `path` where the link does more than take time) → the backlog → `host` forwards it
//! or passes it to a socket. `world` has the main loop and determines the order of events at one
//! instant.

mod air;
mod bql;
mod build;
mod capture;
mod channel;
mod check;
mod completions;
mod connection;
mod conservation;
mod context;
mod conversation;
mod device;
mod endpoints;
mod error;
mod event;
mod event_count;
#[cfg(test)]
mod example;
mod host;
mod ids;
mod interrupt_mitigation;
mod journal;
mod kind;
mod ledger;
mod lifetime;
mod napi;
mod network;
mod nic;
mod opportunities;
mod own_controls;
mod packet_log;
mod path;
mod prefetch;
mod qdisc_stats;
mod radio;
mod route;
mod sample;
pub mod scenario;
mod schedule;
mod signal;
mod socket;
mod sojourns;
mod stacks;
mod stepping;
mod steps;
mod syscalls;
mod timers;
mod topology;
mod transport;
mod turn;
mod wire;
mod world;

pub use air::wifi_row;
pub use build::{Air, Sources};
pub use endpoints::{Arrival, Port, SendError};
pub use error::{BuildError, RunError};
pub use ledger::{Cost, Ledger};
pub use own_controls::{OwnControl, OwnControls};
pub use scenario::Scenario;
pub use signal::Signal;
pub use stacks::{Values, stacks};
pub use tailback_tcp::{SYSCTLS, Sysctl};
pub use world::{EVENTS_BETWEEN_CHECKS, Outcome, Proceed, Reached, Watch, World};

use event::Event;
use ids::{ConversationId, DeviceId, TimerId};

/// Builds the world of `scenario` and runs it to its end.
pub fn run(scenario: Scenario, watch: &dyn Watch) -> Result<Outcome, RunError> {
    run_with(scenario, &(), watch)
}

/// Runs a scenario to its end, where `own` builds the controls that the user wrote.
pub fn run_with(scenario: Scenario, own: &dyn OwnControls, watch: &dyn Watch) -> Result<Outcome, RunError> {
    let world = World::build_with(&scenario, own)?;
    // The run may use its memory.
    drop(scenario);
    world.run(watch)
}

/// Memory that a row of each table takes while a world runs.
pub fn row_bytes() -> [(&'static str, usize); tailback_record::Record::TABLES] {
    // A ping keeps its requests beside their rows until all are answered.
    tailback_record::Record::row_bytes().map(|(table, bytes)| {
        (
            table,
            if table == tailback_record::Ping::NAME {
                bytes + tailback_traffic::Ping::REQUEST
            } else {
                bytes
            },
        )
    })
}
