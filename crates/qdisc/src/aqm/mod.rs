//! Laws of active queue management. A law decides about one packet at a time and owns none, so that a FIFO, flow queues
//! and the stations of a Wi-Fi access point can use the same law.

pub mod cobalt;
pub mod codel;
pub mod pie;
pub mod red;

pub use codel::{Codel, CodelSettings};

/// The decision of a law about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Forward it.
    Pass,
    /// Mark it CE and forward it; only for an ECN-capable packet.
    Mark,
    /// Drop it.
    Drop,
}
