//! Applications: what makes sockets send.

mod bulk;
mod ping;
pub(crate) mod udp;

pub(crate) use bulk::{Bulk, Phase};
pub(crate) use ping::Ping;
pub(crate) use udp::Udp;
