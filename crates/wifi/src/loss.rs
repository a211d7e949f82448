//! Decides which MPDUs are lost between two radios.
//!
//! ```text
//! survives = (1 − fixed share) · (1 − p)^(8·L)
//! p        = 3.2·10⁻⁶ · 10^((threshold − SNR per stream) / 0.6 dB)          p: bits in error behind the decoder
//! SNR per stream = SNR − 10·log₁₀(streams)
//! ```
//! The threshold of an MCS is the SNR at which one of ten PSDUs of 4096 bytes is lost: the receiver sensitivity of the
//! standard over the noise of 20 MHz, less the noise figure of 10 dB and the margin of 5 dB that it allows.
//! [ieee80211-2016 table 19-23, table 21-25] [ieee80211ax table 27-51] The slope, a decade for 0.6 dB, is that of the
//! standard's convolutional code over an AWGN channel. Deviations: no fading but what a schedule says;
//! the SNR is the sum over the receiver's antennas; MPDUs of a PPDU are lost independently.

use crate::phy::Mode;

/// Decibels in hundredths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CentiDecibels(pub i32);

/// SNR per stream at which one PSDU of 4096 bytes in ten is lost, by MCS.
const THRESHOLDS: [i32; 12] = [400, 700, 900, 1200, 1600, 2000, 2100, 2200, 2700, 2900, 3200, 3400];
/// Loss of SNR per stream when the power is divided among streams.
const STREAMS: [i32; 8] = [0, 301, 477, 602, 699, 778, 845, 903];
/// Bits in error at the threshold: 1 − 0.9^(1 / 32768).
const AT_THRESHOLD: f64 = 3.215_356e-6;
/// Factor of it per hundredth of a decibel: 10^(−0.01 / 0.6).
const PER_STEP: f64 = 0.962_350_662_639_8;
/// Unit of probabilities: 2³².
const ONE: f64 = 4_294_967_296.0;

/// The losses of a receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loss {
    /// Share of MPDUs that are lost in any mode, as a fraction of 2³².
    fixed: u32,
    /// Signal over noise, both over the whole channel.
    snr: Option<CentiDecibels>,
}

impl Loss {
    /// Every MPDU arrives.
    pub const NONE: Loss = Loss { fixed: 0, snr: None };

    /// A share of `fixed` / 2³² in any mode, and the losses of each mode at this SNR.
    pub fn new(fixed: u32, snr: Option<CentiDecibels>) -> Self {
        Loss { fixed, snr }
    }

    /// The probability that an MPDU of `bytes` is lost, as a fraction of 2³².
    #[inline]
    pub fn of(&self, mode: &Mode, bytes: u32) -> u32 {
        let Some(snr) = self.snr else { return self.fixed };
        self.at(snr, mode, bytes)
    }

    fn at(&self, snr: CentiDecibels, mode: &Mode, bytes: u32) -> u32 {
        let survives = power(1.0 - bit_errors(mode, snr), 8 * bytes) * (1.0 - f64::from(self.fixed) / ONE);
        ((1.0 - survives) * ONE) as u32
    }
}

/// Bits in error behind the decoder.
fn bit_errors(mode: &Mode, snr: CentiDecibels) -> f64 {
    let threshold = THRESHOLDS[mode.mcs() as usize] + STREAMS[mode.streams() as usize - 1];
    let margin = snr.0 - threshold;
    let factor = power(PER_STEP, margin.unsigned_abs());
    (if margin < 0 { AT_THRESHOLD / factor } else { AT_THRESHOLD * factor }).min(0.5)
}

/// `base` to the power of `exponent`, by multiplication alone: the same on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Format, Guard};

    fn share(mcs: u32, streams: u32, centi_db: i32, bytes: u32) -> f64 {
        let mode = Mode::new(Format::Ht, 40, streams, mcs, Guard::Ns800).unwrap();
        f64::from(Loss::new(0, Some(CentiDecibels(centi_db))).of(&mode, bytes)) / ONE
    }

    #[test]
    fn at_its_threshold_a_mode_loses_one_psdu_of_4096_bytes_in_ten() {
        for (mcs, centi_db) in [(0, 400), (4, 1600), (7, 2200)] {
            assert!((share(mcs, 1, centi_db, 4096) - 0.1).abs() < 1e-4);
        }
        assert!((share(7, 2, 2501, 4096) - 0.1).abs() < 1e-4, "two streams share the power");
    }

    #[test]
    fn two_decibels_change_the_loss_from_nearly_all_to_nearly_none() {
        assert!(share(7, 1, 2100, 1538) > 0.8);
        assert!(share(7, 1, 2300, 1538) < 0.001);
        assert!(share(7, 1, -1000, 1538) > 0.999);
    }

    #[test]
    fn long_frames_are_lost_more_often() {
        assert!(share(5, 1, 1980, 1538) > 5.0 * share(5, 1, 1980, 90));
    }

    #[test]
    fn a_fixed_share_comes_on_top() {
        let mode = Mode::new(Format::Ht, 40, 1, 0, Guard::Ns800).unwrap();
        assert_eq!(Loss::new(7, None).of(&mode, 1538), 7);
        let half = Loss::new(1 << 31, Some(CentiDecibels(4000))).of(&mode, 1538);
        assert_eq!(half, 1 << 31);
    }
}
