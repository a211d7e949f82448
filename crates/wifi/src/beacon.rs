//! Beacons: sent by an access point about ten times a second, at a low rate and before other traffic.
//!
//! ```text
//! every 100 · 1024 µs; sent when the medium has been idle for PIFS = SIFS + slot, without a back-off
//! ```
//! 280 bytes last 400 µs at 6 Mbit/s (0.4 % of the airtime), 2432 µs at 1 Mbit/s. [ieee80211-2016 §11.1.3] Deviation:
//! the loss of a beacon has no effect.

use tailback_units::{SimTime, Span};

use crate::contend::{Contender, Edca};
use crate::phy::{Band, LegacyRate};

/// Between two beacons: 100 time units.
const INTERVAL: Span = Span::from_micros(102_400);
/// Bytes of a beacon of an access point with WMM and HT.
const BYTES: u32 = 280;

/// The beacons of one access point.
#[derive(Debug)]
pub(crate) struct Beacon {
    /// It contends as a separate category.
    pub(crate) contender: Contender,
    /// How long one lasts.
    pub(crate) duration: Span,
    /// When the next one is due.
    pub(crate) due: SimTime,
}

impl Beacon {
    /// From `first` on.
    pub(crate) fn new(rate: LegacyRate, band: Band, first: SimTime) -> Self {
        let at_once = Edca { aifsn: 1, cw_min: 0, cw_max: 0, txop: Span::ZERO };
        Beacon { contender: Contender::new(at_once, band), duration: rate.frame(BYTES, band), due: first }
    }

    /// One is due, and the next one an interval later.
    pub(crate) fn next(&mut self) {
        self.due += INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beacon_takes_400_us_at_6_and_2432_us_at_1_mbit() {
        let micros = |rate, band| Beacon::new(rate, band, SimTime::ZERO).duration.as_micros();
        assert_eq!(micros(LegacyRate::Ofdm(24), Band::Ghz5), 400);
        assert_eq!(micros(LegacyRate::Dsss(10), Band::Ghz2), 2432);
    }
}
