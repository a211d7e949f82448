//! Congestion controls: one file each, one row each in [`registry`].
//!
//! Two shapes, as in Linux: a *window* control answers `ssthresh` and `cong_avoid`; a *model* control takes over
//! window and pacing on every ACK from a rate sample (`cong_control`). A control reads a [`Flow`] and may write
//! only its [`Window`]. Names are those of `struct tcp_congestion_ops`. [linux-6.12 tcp.h]

pub mod bbr;
mod control;
pub mod cubic;
pub mod filters;
mod flow;
pub mod hystart;
pub mod registry;
pub mod reno;
mod sample;
#[cfg(test)]
mod test_path;
mod window;

pub use control::{Control, ModelControl, Moments, WindowControl};
pub use flow::{CaState, CwndEvent, Flow, PacingStatus};
pub use registry::{BuildError, ROWS, Row, build, find, head};
pub use sample::{AckSample, RateSample};
pub use window::Window;
