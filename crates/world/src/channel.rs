//! A Wi-Fi channel, and what the world stores for it: whose radios are on it, and where each sends packets.

use rand_core::Rng;
use tailback_packet::HostId;
use tailback_units::SimTime;
use tailback_wifi::StationId;

use crate::DeviceId;

/// A radio as its host has it.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) host: HostId,
    pub(crate) device: DeviceId,
    /// By destination: the radio that a packet is sent to next, if it leaves by this one.
    pub(crate) next_hops: Box<[Option<StationId>]>,
}

/// A channel and what the world keeps for it.
pub(crate) struct RadioChannel {
    pub(crate) channel: tailback_wifi::Channel,
    pub(crate) draws: Vec<Box<dyn Rng + Send>>,
    /// Each radio's, the access point's first.
    pub(crate) interfaces: Vec<Interface>,
    /// The earliest event in the calendar; others are stale.
    pub(crate) pending: SimTime,
}

impl std::fmt::Debug for RadioChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RadioChannel").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

impl Interface {
    pub(crate) fn next_hop(&self, destination: HostId) -> StationId {
        self.next_hops[usize::from(destination.0)].expect("only packets routed by this radio come to it")
    }
}

impl RadioChannel {
    pub(crate) fn interface(&self, station: StationId) -> &Interface {
        &self.interfaces[usize::from(station.0)]
    }
}
