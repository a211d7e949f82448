//! The signals of stations, which change during a run: fades, and stations that move.
//!
//! A change precedes all other events of its time. The new losses apply to PPDUs that end from then on, in both directions.

use tailback_units::SimTime;
use tailback_wifi::{CentiDecibels, Channel, Loss, StationId};

use crate::DeviceId;
use crate::context::Context;
use crate::scenario::Radio;

/// A change of the signal between an access point and a station.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// When.
    pub at: SimTime,
    radios: [StationId; 2],
    loss: Loss,
    /// What is new: the lost MPDUs of a million, the SNR in hundredths of a decibel.
    news: (Option<u32>, Option<i32>),
}

impl Signal {
    /// Applies the change.
    pub fn apply(&self, channel: &mut Channel) {
        let [access_point, station] = self.radios;
        channel.set_loss(access_point, station, self.loss);
    }
}

/// The losses at a share of lost MPDUs, of a million, and an SNR in hundredths of a decibel.
pub(crate) fn loss(ppm: u32, snr_cdb: Option<i32>) -> Loss {
    let fixed = (u64::from(ppm) << 32) / 1_000_000;
    Loss::new(u32::try_from(fixed).unwrap_or(u32::MAX), snr_cdb.map(CentiDecibels))
}

/// The changes of one station, in the order of time; `radios`: its access point and itself.
pub(crate) fn of_station(station: &Radio, radios: [StationId; 2]) -> impl Iterator<Item = Signal> + '_ {
    let (mut ppm, mut snr_cdb) = (station.loss_ppm, station.snr_cdb);
    station.schedule.iter().map(move |change| {
        (ppm, snr_cdb) = (change.loss_ppm.unwrap_or(ppm), change.snr_cdb.or(snr_cdb));
        let news = (change.loss_ppm, change.snr_cdb);
        Signal { at: SimTime::from_nanos(change.at_ns), radios, loss: loss(ppm, snr_cdb), news }
    })
}

/// A change on a channel of a world, with the device of the station in tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalOnDevice {
    pub(crate) channel: u16,
    pub(crate) device: DeviceId,
    pub(crate) signal: Signal,
}

impl SignalOnDevice {
    /// Applies the change, and notes it.
    pub(crate) fn apply(&self, context: &mut Context) {
        self.signal.apply(&mut context.channels[usize::from(self.channel)].channel);
        let (now, journal) = (context.now, &mut context.journal);
        let (ppm, snr_cdb) = self.signal.news;
        if let Some(ppm) = ppm {
            journal.link_changed(now, self.device, "loss", Some(f64::from(ppm) / 1e6));
        }
        if let Some(snr_cdb) = snr_cdb {
            journal.link_changed(now, self.device, "snr", Some(f64::from(snr_cdb) / 100.0));
        }
    }
}
