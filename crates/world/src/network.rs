//! The network: the devices of all hosts, and the routes between them.

use tailback_packet::{HostId, Packet};
use tailback_record::SojournsRow;

use crate::DeviceId;
use crate::context::Context;
use crate::device::Device;
use crate::route::Routes;
use crate::sojourns::Slot;

/// Devices and routes; links, radios and disciplines belong to the devices.
pub(crate) struct Network {
    pub(crate) devices: Vec<Device>,
    pub(crate) routes: Routes<DeviceId>,
}

impl Network {
    /// So many links will be added.
    pub(crate) fn with_room(links: usize) -> Self {
        Network { devices: Vec::with_capacity(2 * links), routes: Routes::none() }
    }

    /// Packets in the devices and on the wires.
    pub(crate) fn packets(&self) -> usize {
        self.devices.iter().map(Device::packets).sum()
    }

    /// A host passes a packet on towards its destination.
    #[inline(always)]
    pub(crate) fn forward(&mut self, host: HostId, packet: Box<Packet>, context: &mut Context) {
        let device = self.routes.towards(host, packet.destination);
        self.devices[device.index()].forward(packet, context);
    }

    /// A packet of no TCP socket leaves its host.
    pub(crate) fn originate(&mut self, packet: Box<Packet>, context: &mut Context) {
        context.enters(&packet, 1);
        self.forward(packet.source, packet, context);
    }

    /// The rows of the slot that ends now, of each device with a discipline.
    pub(crate) fn record_sojourns(&mut self, slot: &mut Slot, context: &mut Context) {
        let (since, t) = (slot.begun, context.now);
        slot.begun = t;
        for (device, &name) in self.devices.iter_mut().zip(&context.journal.devices) {
            if device.root.is_none() {
                continue;
            }
            device.count_bypassed();
            let rows = &mut context.journal.record.sojourns;
            device.sojourns.take(|sojourn_ms, packets| {
                let row = SojournsRow { t, since, device: name, packets, sojourn_ms };
                rows.get_or_insert_default().push(row);
            });
        }
    }
}
