//! Bandwidth as BBR keeps it: packets per µs with 24 fraction bits. [linux-6.12 tcp_bbr.c BW_SCALE]

use tailback_units::Rate;

/// Fraction bits of a bandwidth. [linux-6.12 tcp_bbr.c BW_SCALE]
const BANDWIDTH_BITS: u32 = 24;
/// Fraction bits of a gain. [linux-6.12 tcp_bbr.c BBR_SCALE]
const GAIN_BITS: u32 = 8;
/// µs per second, less the margin of 1 % by which pacing is below the estimate, so that a queue drains on average.
/// [linux-6.12 tcp_bbr.c bbr_pacing_margin_percent]
const PACED_MICROS_PER_SEC: u128 = 990_000;
/// µs per second.
const MICROS_PER_SEC: u128 = 1_000_000;

/// A factor in 1/256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Gain(pub u32);

impl Gain {
    /// A gain of 1.
    pub const UNIT: Gain = Gain(1 << GAIN_BITS);

    /// This gain times `percent` / 100.
    pub fn percent(self, percent: u32) -> Gain {
        Gain(self.0 * percent / 100)
    }

    /// For display only.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Gain::UNIT.0)
    }
}

/// Packets per µs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// No bandwidth.
    pub const ZERO: Bandwidth = Bandwidth(0);

    /// From a number that [`Bandwidth::raw`] returned.
    pub fn from_raw(raw: u64) -> Self {
        Bandwidth(raw)
    }

    /// In units of 2⁻²⁴ packets per µs.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// `packets` in `micros`, which is not zero.
    pub fn of(packets: u64, micros: u64) -> Self {
        Bandwidth((packets.min(u64::from(u32::MAX)) << BANDWIDTH_BITS) / micros)
    }

    /// As [`Bandwidth::of`], rounded up, so that a small bandwidth can grow. [bbr-v2 bbr2_calculate_bw_sample]
    pub fn of_rounded_up(packets: u64, micros: u64) -> Self {
        Bandwidth((packets.min(u64::from(u32::MAX)) << BANDWIDTH_BITS).div_ceil(micros))
    }

    /// Whole packets delivered in `micros`.
    pub fn packets_in(self, micros: u64) -> u64 {
        saturated((u128::from(self.0) * u128::from(micros)) >> BANDWIDTH_BITS)
    }

    /// The BDP in packets for a delay of `micros`, times `gain`, rounded up.
    pub fn bdp(self, micros: u64, gain: Gain) -> u64 {
        let scaled = (u128::from(self.0) * u128::from(micros) * u128::from(gain.0)) >> GAIN_BITS;
        saturated((scaled + (1 << BANDWIDTH_BITS) - 1) >> BANDWIDTH_BITS)
    }

    /// The pacing rate for this bandwidth times `gain`.
    pub fn pacing_rate(self, mss: u32, gain: Gain) -> Rate {
        let scaled = (u128::from(self.0) * u128::from(mss) * u128::from(gain.0)) >> GAIN_BITS;
        Rate::from_bytes_per_sec(saturated((scaled * PACED_MICROS_PER_SEC) >> BANDWIDTH_BITS))
    }

    /// byte/s of payload, as `tcp_bbr_info` shows it.
    pub fn bytes_per_sec(self, mss: u32) -> u64 {
        saturated((u128::from(self.0) * u128::from(mss) * MICROS_PER_SEC) >> BANDWIDTH_BITS)
    }

    /// This bandwidth times `numerator / 2^bits`.
    pub fn scaled(self, numerator: u64, bits: u32) -> Self {
        Bandwidth(saturated((u128::from(self.0) * u128::from(numerator)) >> bits))
    }

    /// The mean of the two.
    pub fn mean(self, other: Bandwidth) -> Self {
        Bandwidth(self.0.midpoint(other.0))
    }

    /// The absolute difference of the two.
    pub fn difference(self, other: Bandwidth) -> Self {
        Bandwidth(self.0.abs_diff(other.0))
    }
}

fn saturated(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_packets_in_a_millisecond_are_pacing_one_percent_below() {
        let bandwidth = Bandwidth::of(100, 1_000);
        let ideal = 100 * 1_448 * 1_000 * 99 / 100;
        let paced = bandwidth.pacing_rate(1_448, Gain::UNIT).bytes_per_sec();
        assert!(paced <= ideal && ideal - paced < 100, "{paced}");
        assert_eq!(bandwidth.packets_in(10_000), 999, "rounded down twice");
    }

    #[test]
    fn a_sample_of_versions_2_and_3_is_rounded_up() {
        assert_eq!(Bandwidth::of_rounded_up(1, 3).raw(), Bandwidth::of(1, 3).raw() + 1);
        assert_eq!(Bandwidth::of_rounded_up(2, 4), Bandwidth::of(2, 4));
    }

    #[test]
    fn a_bdp_is_rounded_up() {
        assert_eq!(Bandwidth::of(1, 1_000).bdp(10_000, Gain::UNIT), 10);
        assert_eq!(Bandwidth::of(1, 1_000).bdp(10_500, Gain::UNIT), 11);
        assert_eq!(Bandwidth::of(1, 1_000).bdp(10_000, Gain(512)), 20);
    }

    #[test]
    fn a_terabit_does_not_overflow() {
        let bandwidth = Bandwidth::of(1 << 31, 1);
        assert!(bandwidth.pacing_rate(65_000, Gain(739)).is_unlimited());
        assert!(bandwidth.bdp(u64::from(u32::MAX), Gain(739)) > 0);
    }
}
