//! TCP as a state machine without I/O: segments in, packets and one deadline out.
//!
//! An [`Endpoint`] is one socket: the sending and the receiving half of a connection. It reads no clock, draws no
//! random numbers and does not transmit. Its owner ("the host") calls it, and drains it after **every** call that may
//! have given it something to send:
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
//! Each step of the kernel has a file: `output` (the transmit loop and its send checks), `small_queue`, `pacing`,
//! `tso`, `window` (cwnd validation, send window and buffer), `input` (one ACK), `sack`, `rtt`, `rack`, `rate_sample`,
//! `recovery`, `newreno`, `undo`, `timers` (RTO, tail loss probe, reordering), `receiver`, `reassembly`,
//! `receive_window`. Their data is in `scoreboard` (the retransmit queue and its counters) and in the parts of `state`;
//! `sender` combines these. An `endpoint` has both halves; that of a pure receiver has `receive_only` in the place of the
//! sender, and `sending_half` is what an endpoint asks of either. `metrics` is
//! what the connections of a host leave to later ones.

mod accecn;
mod clock;
mod config;
mod ecn;
mod endpoint;
mod info;
mod input;
mod marks;
mod metrics;
mod mtu_probe;
mod newreno;
mod one_word;
mod output;
mod pacing;
mod queue;
mod rack;
mod rate_sample;
mod reassembly;
mod receive_only;
mod receive_window;
mod receiver;
mod receiver_rtt;
mod recovery;
mod rtt;
mod sack;
mod sack_blocks;
mod scoreboard;
mod sender;
mod sending_half;
mod small_queue;
mod stack;
mod state;
mod sysctl;
#[cfg(test)]
mod testing;
mod timers;
mod tso;
mod tun;
mod undo;
mod window;

pub use accecn::{Failures, OptionSeen};
pub use config::{
    Agreement, Arrival, CompressionLimits, EcnUse, EndpointConfig, LossDetection, MtuProbing, Offers,
    OptionUse, ReceiverConfig, Settings, SmallQueueLimit, SocketOptions, WindowShrinking,
};
#[cfg(feature = "fuzzing")]
pub use endpoint::operations::fuzz;
pub use endpoint::{
    EcnInfo, EcnMode, Endpoint, Next, OfBurst, PacedBurst, Pause, Reset, Taken, ToSend, Wakeup,
    WrittenOfBurst,
};
pub use info::{HeldBy, HeldTimes, Note, TcpInfo};
pub use metrics::SavedMetrics;
pub use receive_only::ReceiveOnly;
pub use sender::Sender;
pub use sending_half::SendingHalf;
pub use stack::{
    FREEBSD_9, LINUX_3_10, LINUX_4_14, LINUX_5_0, LINUX_5_4, LINUX_5_10, LINUX_5_10_262, LINUX_6_1,
    LINUX_6_6, LINUX_6_12, LINUX_7_3, RedTimer, STACKS, SsthreshMetric, Stack, Txhash,
};
pub use state::gate::{Transmitted, Written};
pub use state::path::MtuProbes;
pub use sysctl::{SYSCTLS, Sysctl};
