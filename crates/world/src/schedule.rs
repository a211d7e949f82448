//! Links that change during a run.
//!
//! A change precedes all other events of its time. A new rate applies to frames whose transmission begins from then on;
//! the frame on the wire keeps the old one. A new delay and other impairments apply to packets whose last bit leaves
//! from then on (`path`).

use tailback_units::Rate;

use crate::DeviceId;
use crate::context::Context;
use crate::device::Device;
use crate::path::{Carrier, Treatment};

/// One device's link changes; what is absent stays.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) device: DeviceId,
    pub(crate) rate: Option<Rate>,
    pub(crate) treatment: Option<Treatment>,
    pub(crate) carrier: Option<Carrier>,
}

impl Change {
    /// Applies the change.
    pub(crate) fn apply(self, devices: &mut [Device], context: &mut Context) {
        let on = &mut devices[self.device.index()];
        self.note(on, context);
        if let Some(rate) = self.rate {
            on.change_rate(rate, context);
        }
        if let Some(on) = &mut on.path {
            on.path.carrier = self.carrier.unwrap_or(on.path.carrier);
            if let Some(treatment) = self.treatment {
                on.path.change(treatment);
            }
        }
    }

    fn note(&self, device: &Device, context: &mut Context) {
        let (now, journal) = (context.now, &mut context.journal);
        if let Some(rate) = self.rate {
            journal.link_changed(now, self.device, "rate", Some(rate.bits_per_sec() as f64));
        }
        let path = device.path.as_ref().map(|on| on.path.treatment());
        if let (Some(after), Some(before)) = (&self.treatment, path) {
            if after.delay_ns != before.delay_ns {
                journal.link_changed(now, self.device, "delay", Some(after.delay_ns as f64 * 1e-9));
            }
            if after.netem != before.netem {
                journal.link_changed(now, self.device, "netem", None);
            }
        }
        match self.carrier {
            Some(Carrier::Up) => journal.link_changed(now, self.device, "up", None),
            Some(Carrier::Down) => journal.link_changed(now, self.device, "down", None),
            None => {}
        }
    }
}
