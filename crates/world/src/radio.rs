//! A radio: a device on a Wi-Fi channel.
//!
//! A radio is one device (`build::topology`): its discipline holds packets to all stations, and its driver puts each
//! into the queue of its next hop.

use tailback_packet::{HostId, Packet};
use tailback_units::SimTime;
use tailback_wifi::{Context as ChannelContext, StationId};

use crate::channel::RadioChannel;
use crate::context::Context;
use crate::{DeviceId, Event};

/// The place of a device on a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    pub(crate) channel: u16,
    /// This radio.
    pub(crate) from: StationId,
}

impl Radio {
    pub(crate) fn channel(&self) -> usize {
        usize::from(self.channel)
    }

    /// Passes a packet to the driver, for its next hop. Packets that the driver drops are in the context.
    /// [linux-6.12 net/mac80211/tx.c ieee80211_lookup_ra_sta]
    pub(crate) fn transmit(self, packet: Box<Packet>, context: &mut Context) {
        let RadioChannel { channel, draws, interfaces, pending, .. } = &mut context.channels[self.channel()];
        let to = interfaces[usize::from(self.from.0)].next_hop(packet.destination);
        let mut channel_context = ChannelContext { now: context.now, draws, effects: &mut context.effects };
        channel.transmit(self.from, to, packet, &mut channel_context);
        // A radio has got something to send: that changes only when the medium is won. An event that is pending comes
        // first unless the medium is won before.
        if *pending == SimTime::NEVER || channel.access() < *pending {
            context.wake_channel(self.channel);
        }
    }

    /// The device that a packet for `destination` is sent to next.
    pub(crate) fn next_device(self, destination: HostId, context: &Context) -> DeviceId {
        let interfaces = &context.channels[self.channel()].interfaces;
        let to = interfaces[usize::from(self.from.0)].next_hop(destination);
        interfaces[usize::from(to.0)].device
    }
}

impl Context {
    /// Schedules the next event of a channel, unless it is pending.
    pub(crate) fn wake_channel(&mut self, channel: u16) {
        let this = &mut self.channels[usize::from(channel)];
        let deadline = this.channel.deadline();
        if deadline < this.pending {
            this.pending = deadline;
            self.wake_at(deadline, Event::Air(channel));
        }
    }
}
