//! Congestion controls: one file each, one row each in [`registry`].
//!
//! As in Linux there are two kinds: a *window* control implements `ssthresh` and `cong_avoid`; a *model* control sets
//! cwnd and pacing rate on every ACK from a rate sample (`cong_control`). A control reads a [`Flow`] and writes only
//! its [`Window`]. Names are those of `struct tcp_congestion_ops`. [linux-6.12 tcp.h]

pub mod bbr;
pub mod bbr2;
pub mod bbr3;
pub mod bbr_dev;
pub mod bbrp;
pub mod bbrplus;
pub mod bic;
pub mod cdg;
mod control;
pub mod cubic;
pub mod dctcp;
pub mod filters;
mod flow;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod hystart;
pub mod illinois;
pub mod lp;
mod module_param;
pub mod newreno;
pub mod nv;
pub mod prague;
mod random;
pub mod registry;
pub mod reno;
mod row;
mod sample;
pub mod scalable;
#[cfg(test)]
mod test_acks;
#[cfg(test)]
mod test_path;
#[cfg(test)]
mod toy;
pub mod vegas;
pub mod veno;
pub mod westwood;
mod window;
pub mod yeah;

pub use control::{AckPath, Control, Hooks, ModelControl, Prototype, WindowControl};
pub use flow::{
    CaState, CwndEvent, Flow, GSO_LEGACY_MAX_SIZE, GSO_MAX_SIZE, MAX_TCP_HEADER, PacingStatus, Timestamps,
};
pub use random::Draws;
pub use registry::{BuildError, ROWS, build, find, head};
pub use row::{EcnNeed, Row};
pub use sample::{AckSample, LostSegment, RateSample};
pub(crate) use window::Counted;
pub use window::Window;
