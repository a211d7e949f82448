//! The airtime that mac80211 expects of a packet when it passes it to a driver with airtime queue limits (AQL).
//!
//! ```text
//! of 1024 bytes:  d = ⌈8192 · 1024 / N_dbps⌉ · T_sym           in µs / 1024, with 16 significant bits for MCS 0
//! of a packet:    ⌊d · (IP length + 34 + 38) / 1024²⌋ µs + preamble / aggregate, at least 4 µs
//!                 preamble = 36 + 4 · streams µs; aggregate = 2, 4, 8, 16, 32, 64 packets, more the shorter d is
//! charged:        that, rounded down to multiples of 4 µs
//! ```
//! Voice is expected not to be aggregated. The length has the header of 802.11 and LLC/SNAP, without FCS, and 38 bytes
//! that mac80211 calls Ethernet's. [linux-6.12 net/mac80211/airtime.c ieee80211_calc_expected_tx_airtime,
//! include/net/mac80211.h ieee80211_info_set_tx_time_est] Deviation: HE uses the exact bits per symbol; mac80211's table
//! has up to 2 % less.

use tailback_units::Span;

use crate::phy::{Format, Mode};

/// Bytes of the packet to which durations refer, and the fixed point of the durations.
const UNIT: u64 = 1024;
/// QoS header and LLC/SNAP.
const HEADERS: u64 = 26 + 8;
/// Ethernet's header, preamble and gap, which mac80211 adds.
const ETHERNET: u64 = 38;
/// Most airtime that an skb can carry, in µs.
const LONGEST_US: u64 = 4095;
/// Least airtime of a packet in an aggregate, in µs.
const SHORTEST_US: u64 = 4;

/// Whether a packet is expected to be sent in an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// All categories but voice.
    Aggregated,
    /// Voice.
    Alone,
}

/// The airtime that is charged for a packet of `ip_length` bytes in `mode`, in multiples of `step`.
pub fn expected_airtime(mode: &Mode, ip_length: u32, expected: Expected, step: Span) -> Span {
    let duration = duration_of_unit(mode);
    let length = u64::from(ip_length) + HEADERS + ETHERNET;
    let data = duration * length / UNIT / UNIT;
    let preamble = 36 + 4 * u64::from(mode.streams());
    let micros = match expected {
        Expected::Aggregated => (data + (preamble >> aggregate_shift(mode, duration))).max(SHORTEST_US),
        Expected::Alone => data + preamble,
    };
    let nanos = micros.min(LONGEST_US) * 1_000;
    Span::from_nanos(nanos - nanos % step.as_nanos().max(1))
}

/// Airtime of 1024 bytes, in µs / 1024.
fn duration_of_unit(mode: &Mode) -> u64 {
    let of = |bits: u64| (8 * UNIT * UNIT).div_ceil(bits) * mode.symbol_nanos() / 1_000;
    // The table holds 16 bits, with a common shift for all MCS of a width and number of streams.
    let longest = of(mode.slowest_bits_per_symbol());
    let shift = (u64::BITS - longest.leading_zeros()).saturating_sub(u16::BITS);
    of(mode.bits_per_symbol()) >> shift << shift
}

/// The binary logarithm of the packets that mac80211 expects in an aggregate.
fn aggregate_shift(mode: &Mode, duration: u64) -> u32 {
    let steps = [400, 250, 150, 70].map(|micros| micros * UNIT);
    match steps.iter().position(|&step| duration > step) {
        Some(place) => 1 + place as u32,
        None if mode.format() == Format::He && duration <= 20 * UNIT => 6,
        None => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Guard;

    const LINUX: Span = Span::from_micros(4);
    const MICROSECOND: Span = Span::from_micros(1);

    fn micros(mode: (Format, u32, u32, u32, Guard), expected: Expected, step: Span) -> u64 {
        let (format, width, streams, mcs, guard) = mode;
        let mode = Mode::new(format, width, streams, mcs, guard).unwrap();
        expected_airtime(&mode, 1500, expected, step).as_micros()
    }

    #[test]
    fn a_packet_of_1500_bytes_at_867_mbit_costs_15_us_of_which_12_are_charged() {
        // 2689 k-symbols of 3.6 µs are 9680; 9680 · 1572 / 1024² = 14.5; the preamble of 44 µs is shared by 32.
        let fast = (Format::Vht, 80, 2, 9, Guard::Ns400);
        assert_eq!(micros(fast, Expected::Aggregated, MICROSECOND), 14 + 1);
        assert_eq!(micros(fast, Expected::Aggregated, LINUX), 12);
        assert_eq!(micros(fast, Expected::Alone, MICROSECOND), 14 + 44);
    }

    #[test]
    fn slow_modes_are_expected_to_have_short_aggregates() {
        // 322 639 k-symbols of 4 µs, shifted by 5 bits: 1 290 528; 1934 µs and half a preamble of 40.
        let slow = (Format::Ht, 20, 1, 0, Guard::Ns800);
        assert_eq!(micros(slow, Expected::Aggregated, MICROSECOND), 1_934 + 20);
        // 65 Mbit/s: 32 264 · 4 = 129 056, by 5 bits; 193 µs and a sixteenth of the preamble.
        let middle = (Format::Ht, 20, 1, 7, Guard::Ns800);
        assert_eq!(micros(middle, Expected::Aggregated, MICROSECOND), 193 + 2);
    }

    #[test]
    fn no_packet_costs_less_than_4_us() {
        let fastest = (Format::He, 160, 8, 11, Guard::Ns800);
        assert_eq!(micros(fastest, Expected::Aggregated, LINUX), 4);
    }
}
