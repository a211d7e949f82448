//! Integer time, sizes and rates. No conversion rounds silently: its name states the direction of rounding.
//!
//! Time is in nanoseconds since the start of the run, sizes in bytes, rates in bit/s (as `tc` prints them;
//! the kernel's own byte/s values convert without loss).

mod delays;
mod histogram;
mod parameter;
mod rate;
mod size;
mod time;
mod timer;

pub use delays::{DelayCell, Delays};
pub use histogram::Histogram;
pub use parameter::{Parameter, ParameterError, ParameterUnit, Parameters};
pub use rate::Rate;
pub use size::{Bytes, Segs};
pub use time::{SimTime, Span};
pub use timer::{TimerRounding, expiry};
