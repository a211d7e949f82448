//! TCP as a state machine without I/O: segments in, packets and one deadline out.
//!
//! An [`Endpoint`] is one socket: a connection's sender and receiver halves. It never asks the time, never draws
//! random numbers of its own and never sends anything itself. Whoever owns it ("the host") calls, and after **every** call
//! that may have made it want to send, drains it:
//!
//! ```text
//! endpoint.take(segment, …) / expire(now) / write(bytes) / read() / small_queue_ran()
//! while let Some(packet) = endpoint.next_packet(now) {
//!     let outcome = device.enqueue(packet);        // Queued, Dropped or Congestion
//!     … return the credit of packets that left the host: endpoint.credit(truesize) …
//!     endpoint.handed_over(outcome, now);
//! }
//! ```
//!
//! The files follow the kernel's steps, in its order: `output` (the transmit loop and its gate), `small_queue`,
//! `pacing`, `tso`, `window` (cwnd validation, send window and buffer), `input` (one ACK), `sack`, `rtt`, `rack`,
//! `rate_sample`, `recovery`, `newreno`, `undo`, `timers` (RTO, tail loss probe, reordering), `receiver`,
//! `reassembly`, `receive_window`. What they work on: `scoreboard` (the retransmit queue and its counters) and the parts in
//! `state`; `sender` puts them together. The `endpoint` is both halves.

mod clock;
mod config;
mod ecn;
mod endpoint;
mod info;
mod input;
mod mtu_probe;
mod newreno;
mod output;
mod pacing;
mod queue;
mod rack;
mod rate_sample;
mod reassembly;
mod receive_window;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod scoreboard;
mod sender;
mod small_queue;
mod stack;
mod state;
mod timers;
mod tso;
mod tun;
mod undo;
mod window;

pub use config::{
    Agreement, Arrival, EcnUse, EndpointConfig, MtuProbing, Settings, SmallQueueLimit, SocketOptions,
    WindowShrinking,
};
#[cfg(feature = "fuzzing")]
pub use endpoint::operations::fuzz;
pub use endpoint::{Endpoint, Wakeup};
pub use info::{HeldBy, Note, TcpInfo};
pub use stack::{FREEBSD_9, LINUX_4_14, LINUX_5_10, LINUX_6_6, LINUX_6_12, STACKS, Stack};
pub use state::gate::Transmitted;
pub use state::path::MtuProbes;
