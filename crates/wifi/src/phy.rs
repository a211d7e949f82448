//! The duration of a PPDU.
//!
//! ```text
//! rate  = N_sd · bits per subcarrier · streams / T_sym           T_sym: 4.0 or 3.6 µs (HT, VHT), 13.6/14.4/16.0 µs (HE)
//! N_sym = ⌈(8·L + 16 + 6·N_es) / N_dbps⌉                          L: bytes of the PSDU, N_es: encoders
//! PPDU  = preamble + symbols (short guard: ⌈3.6·N_sym / 4⌉ · 4)  + 6 µs in 2.4 GHz
//! ```
//!
//! | preamble, µs for 1, 2, 3, 4 streams | |
//! |---|---|
//! | HT-mixed | 36, 40, 48, 48 |
//! | VHT | 40, 44, 52, 52 |
//! | HE, single user | 36 + LTFs of 6.4 µs + guard |
//!
//! [ieee80211-2016 §19.4.3, §21.4.3] [ieee80211ax §27.3] Deviations: HE uses the short training field (6.4 µs) and no
//! packet extension; LDPC is not modelled (at most one symbol).

use tailback_units::Span;
use thiserror::Error;

/// Longest PPDU that a legacy header can announce: 4095 bytes at 6 Mbit/s. [ieee80211-2016 §10.13.6]
pub const LONGEST_PPDU: Span = Span::from_micros(5484);
/// Bits that precede (service) the data of every PSDU.
const SERVICE_BITS: u64 = 16;
/// Tail bits of one encoder.
const TAIL_BITS: u64 = 6;
/// Six times the bits that one subcarrier carries, by MCS: modulation times code rate. [ieee80211-2016 table 19-27]
const SIXTHS_PER_SUBCARRIER: [u64; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];

/// Where the channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Band {
    /// 2.4 GHz: a signal extension follows each PPDU, the interframe spaces are shorter.
    Ghz2,
    /// 5 GHz.
    Ghz5,
}

impl Band {
    /// Short interframe space.
    pub const fn sifs(self) -> Span {
        match self {
            Band::Ghz2 => Span::from_micros(10),
            Band::Ghz5 => Span::from_micros(16),
        }
    }

    /// Slot; in 2.4 GHz the short one.
    pub const fn slot(self) -> Span {
        Span::from_micros(9)
    }

    /// Time after an OFDM PPDU in which the decoder finishes.
    const fn signal_extension(self) -> Span {
        match self {
            Band::Ghz2 => Span::from_micros(6),
            Band::Ghz5 => Span::ZERO,
        }
    }

    /// How long a frame of `bytes` lasts at a rate of 802.11a/g; `bits_per_symbol` 24 is 6 Mbit/s, 96 is 24 Mbit/s.
    pub fn legacy_frame(self, bytes: u32, bits_per_symbol: u32) -> Span {
        let bits = SERVICE_BITS + TAIL_BITS + 8 * u64::from(bytes);
        let symbols = bits.div_ceil(u64::from(bits_per_symbol));
        Span::from_micros(20 + 4 * symbols) + self.signal_extension()
    }
}

/// A rate of before 802.11n: of control frames, beacons and broadcasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LegacyRate {
    /// 802.11a/g, by the bits of one symbol of 4 µs: 24 is 6 Mbit/s, 216 is 54 Mbit/s. [ieee80211-2016 table 17-4]
    Ofdm(u32),
    /// 802.11b with the long preamble, in units of 100 kbit/s: 10, 20, 55 or 110. [ieee80211-2016 §16.3.4]
    Dsss(u32),
}

impl LegacyRate {
    /// The rate with this many bits per second, if `band` has it.
    pub fn of(bits_per_sec: u64, band: Band) -> Option<Self> {
        match u32::try_from(bits_per_sec / 100_000).ok()? {
            dsss @ (10 | 20 | 55 | 110) => (band == Band::Ghz2).then_some(LegacyRate::Dsss(dsss)),
            ofdm @ (60 | 90 | 120 | 180 | 240 | 360 | 480 | 540) => Some(LegacyRate::Ofdm(ofdm * 4 / 10)),
            _ => None,
        }
    }

    /// How long a frame of `bytes` lasts.
    pub fn frame(self, bytes: u32, band: Band) -> Span {
        match self {
            LegacyRate::Ofdm(bits) => band.legacy_frame(bytes, bits),
            LegacyRate::Dsss(rate) => {
                Span::from_micros(192 + (80 * u64::from(bytes)).div_ceil(u64::from(rate)))
            }
        }
    }
}

/// Generation of the PHY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// 802.11n, mixed format.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax, single user.
    He,
}

impl Format {
    /// Longest A-MPDU in bytes: the largest length exponent. [ieee80211-2016 table 9-163, §9.4.2.158.2] [ieee80211ax
    /// §9.4.2.248]
    pub const fn longest_ampdu(self) -> u32 {
        match self {
            Format::Ht => 65_535,
            Format::Vht => 1_048_575,
            Format::He => 4_194_303,
        }
    }

    /// Sequence numbers that may be outstanding: the longest bitmap of a block ack. [ieee80211-2016 §9.3.1.9]
    /// [ieee80211ax §9.3.1.8]
    pub const fn block_ack_window(self) -> u32 {
        match self {
            Format::Ht | Format::Vht => 64,
            Format::He => 256,
        }
    }
}

/// Guard interval between symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// 0.4 µs; HT and VHT.
    Ns400,
    /// 0.8 µs.
    Ns800,
    /// 1.6 µs; HE.
    Ns1600,
    /// 3.2 µs; HE.
    Ns3200,
}

/// A combination of width, streams, modulation and guard that the standard has not.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ModeError {
    /// No such width in this format.
    #[error("{0} MHz is not a width of {1:?}\n  hint: HT has 20 and 40, VHT and HE have 20, 40, 80 and 160")]
    Width(u32, Format),
    /// No such number of streams.
    #[error("{0} streams are not possible\n  hint: 1 to 4 with HT, 1 to 8 with VHT and HE")]
    Streams(u32),
    /// No such MCS.
    #[error("MCS {0} does not exist with {1:?}, {2} MHz and {3} streams\n  hint: {4}")]
    Mcs(u32, Format, u32, u32, &'static str),
    /// No such guard interval.
    #[error(
        "{0:?} is not a guard interval of {1:?}\n  hint: HT and VHT have 400 and 800 ns, HE has 800, 1600 and 3200 ns"
    )]
    Guard(Guard, Format),
}

/// How the data of a PPDU is sent: format, width, streams, modulation, guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    format: Format,
    width: u32,
    streams: u32,
    guard: Guard,
    bits_per_symbol: u64,
    encoders: u64,
    mcs: u32,
}

impl Mode {
    /// A mode of the standard. `mcs` is the index within one stream (HT's 15 is index 7 with two streams).
    ///
    /// # Errors
    /// What the standard does not have.
    pub fn new(format: Format, width: u32, streams: u32, mcs: u32, guard: Guard) -> Result<Self, ModeError> {
        let subcarriers = subcarriers(format, width).ok_or(ModeError::Width(width, format))?;
        let max_streams = if format == Format::Ht { 4 } else { 8 };
        if !(1..=max_streams).contains(&streams) {
            return Err(ModeError::Streams(streams));
        }
        if !guard_exists(format, guard) {
            return Err(ModeError::Guard(guard, format));
        }
        let refused = |hint| ModeError::Mcs(mcs, format, width, streams, hint);
        let sixths = SIXTHS_PER_SUBCARRIER.get(mcs as usize).ok_or(refused("0 to 7, 9 or 11"))?;
        if mcs > highest_mcs(format) {
            return Err(refused("HT ends at 7 per stream, VHT at 9, HE at 11"));
        }
        let sixths_per_symbol = subcarriers * sixths * u64::from(streams);
        let encoders = encoders(format, sixths_per_symbol / 6, guard);
        if format == Format::Vht && !fits_vht(sixths_per_symbol, encoders, width, streams, mcs) {
            return Err(refused("its bits do not fill whole symbols: the standard leaves it out"));
        }
        Ok(Mode { format, width, streams, guard, bits_per_symbol: sixths_per_symbol / 6, encoders, mcs })
    }

    /// Bits per second, as printed on boxes.
    pub fn bits_per_sec(&self) -> u64 {
        self.bits_per_symbol * 1_000_000_000 / self.symbol_nanos()
    }

    /// Generation of the PHY.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Width in MHz.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Guard interval.
    pub fn guard(&self) -> Guard {
        self.guard
    }

    /// Spatial streams.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Index within one stream.
    pub fn mcs(&self) -> u32 {
        self.mcs
    }

    /// Bits of data in one symbol (`N_dbps`).
    pub fn bits_per_symbol(&self) -> u64 {
        self.bits_per_symbol
    }

    /// Bits of data in one symbol of MCS 0 with as many streams.
    pub(crate) fn slowest_bits_per_symbol(&self) -> u64 {
        self.bits_per_symbol * SIXTHS_PER_SUBCARRIER[0] / SIXTHS_PER_SUBCARRIER[self.mcs as usize]
    }

    /// Bits per symbol of the legacy rate that answers it: 24 Mbit/s if it is 16-QAM or more, 12 for QPSK, 6 for
    /// BPSK. [ieee80211-2016 §10.7.6.5]
    pub fn response_bits(&self) -> u32 {
        match self.mcs {
            0 => 24,
            1 | 2 => 48,
            _ => 96,
        }
    }

    /// How long a PPDU with a PSDU of `bytes` lasts.
    #[inline]
    pub fn ppdu(&self, bytes: u32, band: Band) -> Span {
        let bits = SERVICE_BITS + TAIL_BITS * self.encoders + 8 * u64::from(bytes);
        let symbols = bits.div_ceil(self.bits_per_symbol);
        self.preamble() + self.symbols(symbols) + band.signal_extension()
    }

    /// Largest PSDU whose PPDU is not longer than `limit`.
    pub fn psdu_within(&self, limit: Span, band: Band) -> u32 {
        let around = self.preamble() + band.signal_extension();
        let room = limit.saturating_sub(around).as_nanos();
        let symbols = match self.guard {
            Guard::Ns400 => (room / 4_000 * 4_000) / 3_600,
            _ => room / self.symbol_nanos(),
        };
        let bits = (symbols * self.bits_per_symbol).saturating_sub(SERVICE_BITS + TAIL_BITS * self.encoders);
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }

    fn symbols(&self, count: u64) -> Span {
        let nanos = count * self.symbol_nanos();
        // With the short guard the end is moved to where it would be with whole symbols. [ieee80211-2016 §19.4.3]
        Span::from_nanos(if self.guard == Guard::Ns400 { nanos.div_ceil(4_000) * 4_000 } else { nanos })
    }

    pub(crate) const fn symbol_nanos(&self) -> u64 {
        match (self.format, self.guard) {
            (Format::Ht | Format::Vht, Guard::Ns400) => 3_600,
            (Format::Ht | Format::Vht, _) => 4_000,
            (Format::He, Guard::Ns1600) => 14_400,
            (Format::He, Guard::Ns3200) => 16_000,
            (Format::He, _) => 13_600,
        }
    }

    fn preamble(&self) -> Span {
        let trainings = match self.streams {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        };
        match self.format {
            Format::Ht => Span::from_micros(32 + 4 * trainings),
            Format::Vht => Span::from_micros(36 + 4 * trainings),
            Format::He => Span::from_nanos(36_000 + trainings * (self.symbol_nanos() - 6_400)),
        }
    }
}

fn subcarriers(format: Format, width: u32) -> Option<u64> {
    let all: &[(u32, u64)] = match format {
        Format::Ht => &[(20, 52), (40, 108)],
        Format::Vht => &[(20, 52), (40, 108), (80, 234), (160, 468)],
        Format::He => &[(20, 234), (40, 468), (80, 980), (160, 1960)],
    };
    all.iter().find(|(mhz, _)| *mhz == width).map(|&(_, subcarriers)| subcarriers)
}

const fn highest_mcs(format: Format) -> u32 {
    match format {
        Format::Ht => 7,
        Format::Vht => 9,
        Format::He => 11,
    }
}

const fn guard_exists(format: Format, guard: Guard) -> bool {
    match format {
        Format::Ht | Format::Vht => matches!(guard, Guard::Ns400 | Guard::Ns800),
        Format::He => !matches!(guard, Guard::Ns400),
    }
}

/// One encoder per 300 (HT) or 600 (VHT) Mbit/s; HE codes otherwise. [ieee80211-2016 §19.3.11.4, §21.3.10.5]
fn encoders(format: Format, bits_per_symbol: u64, guard: Guard) -> u64 {
    let symbol = if guard == Guard::Ns400 { 3_600 } else { 4_000 };
    let mbps = bits_per_symbol * 1_000 / symbol;
    match format {
        Format::Ht => mbps.div_ceil(300).max(1),
        Format::Vht => mbps.div_ceil(600).max(1),
        Format::He => 1,
    }
}

/// Each encoder must get whole bits from a symbol; two modes fail otherwise. [ieee80211-2016 §21.5]
fn fits_vht(sixths: u64, encoders: u64, width: u32, streams: u32, mcs: u32) -> bool {
    let left_out = matches!((width, streams, mcs), (80, 3 | 7, 6) | (80, 6, 9) | (160, 3, 9));
    sixths.is_multiple_of(6) && (sixths / 6).is_multiple_of(encoders) && !left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ht(width: u32, mcs: u32, guard: Guard) -> Mode {
        Mode::new(Format::Ht, width, mcs / 8 + 1, mcs % 8, guard).unwrap()
    }

    fn vht(width: u32, streams: u32, mcs: u32) -> Mode {
        Mode::new(Format::Vht, width, streams, mcs, Guard::Ns400).unwrap()
    }

    fn tenths(mode: Mode) -> u64 {
        (mode.bits_per_sec() + 50_000) / 100_000
    }

    #[test]
    fn the_maximum_rates_of_802_11n_are_those_of_the_standard() {
        let short = |width, mcs| tenths(ht(width, mcs, Guard::Ns400));
        let long = |width, mcs| tenths(ht(width, mcs, Guard::Ns800));
        assert_eq!([short(20, 0), short(20, 7), short(40, 7), short(40, 15)], [72, 722, 1500, 3000]);
        assert_eq!([long(20, 0), long(20, 7), long(40, 13), long(40, 31)], [65, 650, 2160, 5400]);
        assert_eq!([short(40, 23), short(20, 15), long(20, 12)], [4500, 1444, 780]);
    }

    #[test]
    fn the_maximum_rates_of_802_11ac_and_ax_are_those_of_the_standard() {
        assert_eq!(
            [tenths(vht(80, 1, 9)), tenths(vht(80, 2, 9)), tenths(vht(80, 3, 9))],
            [4333, 8667, 13000]
        );
        assert_eq!([tenths(vht(160, 1, 9)), tenths(vht(20, 1, 8))], [8667, 867]);
        let he = |width, mcs| tenths(Mode::new(Format::He, width, 1, mcs, Guard::Ns800).unwrap());
        assert_eq!([he(20, 0), he(40, 7), he(80, 9), he(160, 11)], [86, 1721, 4804, 12010]);
    }

    #[test]
    fn durations_are_exact_to_the_microsecond() {
        let mode = ht(40, 15, Guard::Ns400);
        let micros = |bytes, band| mode.ppdu(bytes, band).as_micros();
        assert_eq!(
            [micros(1538, Band::Ghz5), micros(1538, Band::Ghz2), micros(49_406, Band::Ghz5)],
            [84, 90, 1360]
        );
        assert_eq!(ht(40, 13, Guard::Ns800).ppdu(49_406, Band::Ghz5).as_micros(), 40 + 4 * 458);
        assert_eq!(vht(80, 2, 9).ppdu(98_814, Band::Ghz5).as_micros(), 960);
    }

    #[test]
    fn control_frames_have_the_durations_of_the_standard() {
        let micros = |bytes, bits| Band::Ghz5.legacy_frame(bytes, bits).as_micros();
        assert_eq!(
            [micros(14, 96), micros(14, 24), micros(20, 96), micros(32, 96), micros(32, 24)],
            [28, 44, 28, 32, 68]
        );
        assert_eq!(Band::Ghz2.legacy_frame(14, 96).as_micros(), 34);
    }

    #[test]
    fn the_largest_psdu_within_a_time_fills_it() {
        for (mode, limit) in
            [(ht(40, 15, Guard::Ns400), 4096), (ht(20, 0, Guard::Ns800), 4096), (vht(80, 2, 9), 1504)]
        {
            let limit = Span::from_micros(limit);
            let bytes = mode.psdu_within(limit, Band::Ghz5);
            assert!(mode.ppdu(bytes, Band::Ghz5) <= limit);
            assert!(mode.ppdu(bytes + 1, Band::Ghz5) > limit);
        }
    }

    #[test]
    fn modes_that_the_standard_excludes_are_refused() {
        let vht = |width, streams, mcs| Mode::new(Format::Vht, width, streams, mcs, Guard::Ns800);
        for (width, streams, mcs) in [(20, 1, 9), (20, 2, 9), (80, 3, 6), (160, 3, 9), (60, 1, 1), (80, 9, 1)]
        {
            assert!(vht(width, streams, mcs).is_err(), "{width} MHz, {streams} streams, MCS {mcs}");
        }
        assert!(vht(20, 3, 9).is_ok());
        assert!(Mode::new(Format::Ht, 40, 1, 8, Guard::Ns800).is_err());
        assert!(Mode::new(Format::He, 40, 1, 8, Guard::Ns400).is_err());
    }
}
