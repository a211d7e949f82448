//! The random numbers of sockets: the congestion control draws them, and a socket that only receives has none.

use std::convert::Infallible;

use rand_core::{Rng, TryRng};
use tailback_engine::Draws;
use tailback_tcp::{ReceiveOnly, Sender, SendingHalf};

/// A sending half, with what it draws.
pub(crate) trait Drawing: SendingHalf {
    /// Random numbers of its congestion control.
    type Draws: Rng;
}

impl Drawing for Sender {
    type Draws = Draws;
}

impl Drawing for ReceiveOnly {
    type Draws = NoDraws;
}

/// The random draws of a socket without a congestion control: none.
pub(crate) struct NoDraws;

impl TryRng for NoDraws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("a socket that only receives draws nothing")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("a socket that only receives draws nothing")
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("a socket that only receives draws nothing")
    }
}
