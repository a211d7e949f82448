//! Laws of active queue management. A law judges one packet at one moment and owns none, so that the same law
//! stands under a FIFO, under flow queues and under the stations of a Wi-Fi access point.

pub mod cobalt;
pub mod codel;
pub mod pie;
pub mod red;

pub use codel::{Codel, CodelSettings};

/// The verdict of a law on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it go on.
    Pass,
    /// Mark it CE and let it go on; said only of a packet that can be marked.
    Mark,
    /// Drop it.
    Drop,
}
