//! Links that change in the run.
//!
//! A change happens before everything else of its instant. Its rate holds for frames that begin to leave from then on,
//! the frame on the wire keeping its own; its delay and what else the link does hold for packets whose last bit leaves
//! from then on (`path`).

use tailback_units::Rate;

use crate::DeviceId;
use crate::path::{Carrier, Treatment};
use crate::world::World;

/// One device's link changes; what is absent stays.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) device: DeviceId,
    pub(crate) rate: Option<Rate>,
    pub(crate) treatment: Option<Treatment>,
    pub(crate) carrier: Option<Carrier>,
}

impl World {
    /// The change of this number happens.
    pub(crate) fn change_link(&mut self, number: u32) {
        let change = self.schedule[number as usize].clone();
        self.note_change(&change);
        let Change { device, rate, treatment, carrier } = change;
        let device = &mut self.devices[device.index()];
        if let Some(rate) = rate {
            device.change_rate(rate, &mut self.context);
        }
        if let Some(on) = &mut device.path {
            on.path.carrier = carrier.unwrap_or(on.path.carrier);
            if let Some(treatment) = treatment {
                on.path.change(treatment);
            }
        }
    }

    fn note_change(&mut self, change: &Change) {
        let (now, journal) = (self.context.now, &mut self.context.journal);
        if let Some(rate) = change.rate {
            journal.link_changed(now, change.device, "rate", Some(rate.bits_per_sec() as f64));
        }
        let path = self.devices[change.device.index()].path.as_ref().map(|on| on.path.treatment());
        if let (Some(after), Some(before)) = (&change.treatment, path) {
            if after.delay_ns != before.delay_ns {
                journal.link_changed(now, change.device, "delay", Some(after.delay_ns as f64 * 1e-9));
            }
            if after.netem != before.netem {
                journal.link_changed(now, change.device, "netem", None);
            }
        }
        match change.carrier {
            Some(Carrier::Up) => journal.link_changed(now, change.device, "up", None),
            Some(Carrier::Down) => journal.link_changed(now, change.device, "down", None),
            None => {}
        }
    }
}
