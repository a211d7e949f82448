//! The air of Wi-Fi cells as a process of its own. Above its radios is somebody else: a driver in a real kernel, which
//! calls over a socket, in lock-step of virtual time.
//!
//! ```text
//! driver: wake, advance  ──▶  air: asks for turns and frames, tells what arrived and what is settled  ──▶  done
//! ```
//! [`message`] has the form of the messages, [`line`](mod@line) the connection, [`source`] the queues above a radio as
//! the air sees them, [`series`] the modes that the driver chooses, [`served`] the calls. The protocol is documented in
//! `PROTOCOL.md`.

pub mod line;
pub mod message;
pub mod series;
pub mod served;
pub mod source;

pub use line::Line;
pub use message::{Kind, Message};
pub use served::{AirError, serve};
