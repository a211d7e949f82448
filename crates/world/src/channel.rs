//! A Wi-Fi channel, its radios, and the next hops of each.

use rand_core::Rng;
use tailback_packet::HostId;
use tailback_units::SimTime;
use tailback_wifi::StationId;

use crate::DeviceId;
use crate::completions::Completions;
use crate::interrupt_mitigation::InterruptMitigation;

/// The interface of a host to a radio.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) host: HostId,
    pub(crate) device: DeviceId,
    /// By destination: the radio that a packet is sent to next, if it leaves by this one.
    pub(crate) next_hops: Box<[Option<StationId>]>,
}

/// A channel and its interfaces.
pub(crate) struct RadioChannel {
    pub(crate) channel: tailback_wifi::Channel,
    pub(crate) draws: Vec<Box<dyn Rng + Send>>,
    /// The interface of each radio, that of the access point first.
    pub(crate) interfaces: Vec<Interface>,
    /// What each radio has received and not yet handed over.
    pub(crate) mitigation: Vec<InterruptMitigation>,
    /// What has left each radio, and is not yet reported to its host.
    pub(crate) completions: Vec<Completions>,
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
    /// Packets in queues, on the air, and received but not handed over.
    pub(crate) fn packets(&self) -> usize {
        self.channel.packets() + self.mitigation.iter().map(InterruptMitigation::packets).sum::<usize>()
    }

    pub(crate) fn interface(&self, station: StationId) -> &Interface {
        &self.interfaces[usize::from(station.0)]
    }
}
