//! Rates in bit/s.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Span};

/// A rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

const NANOS_PER_SEC: u128 = 1_000_000_000;

impl Rate {
    /// A rate that no sender reaches: "not limited" (the kernel's `~0UL`).
    pub const UNLIMITED: Rate = Rate(u64::MAX);
    /// Zero: no data moves.
    pub const ZERO: Rate = Rate(0);

    /// `bits` bit/s.
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Rate(bits)
    }

    /// `bytes` byte/s, as the kernel keeps pacing rates; saturates at [`Rate::UNLIMITED`].
    pub const fn from_bytes_per_sec(bytes: u64) -> Self {
        Rate(bytes.saturating_mul(8))
    }

    /// bit/s.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// byte/s, rounded down.
    pub const fn bytes_per_sec(self) -> u64 {
        self.0 / 8
    }

    /// True for [`Rate::UNLIMITED`].
    pub const fn is_unlimited(self) -> bool {
        self.0 == u64::MAX
    }

    /// How long `size` takes at this rate, rounded down to a nanosecond; zero when unlimited,
    /// [`Span::MAX`] at rate zero.
    #[inline]
    pub const fn time_for(self, size: Bytes) -> Span {
        if self.is_unlimited() {
            return Span::ZERO;
        }
        if self.0 == 0 {
            return Span::MAX;
        }
        // A frame fits 64 bits: 128-bit division costs twenty times as much.
        if size.0 < 1 << 30 {
            return Span::from_nanos(size.0 * 8_000_000_000 / self.0);
        }
        let ns = size.0 as u128 * 8 * NANOS_PER_SEC / self.0 as u128;
        Span::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// How many whole bytes pass in `span`.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / (8 * NANOS_PER_SEC);
        Bytes(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

impl fmt::Display for Rate {
    /// As `tc` prints rates: `10Mbit`, `1Gbit`, `500Kbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() {
            return write!(f, "unlimited");
        }
        let mut value = self.0;
        let mut prefix = ["", "K", "M", "G", "T"].iter();
        let mut chosen = prefix.next();
        while value != 0 && value.is_multiple_of(1_000) {
            let Some(next) = prefix.next() else { break };
            value /= 1_000;
            chosen = Some(next);
        }
        write!(f, "{value}{}bit", chosen.unwrap_or(&""))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_takes_1_2112_ms_at_10_mbit() {
        assert_eq!(Rate::from_bits_per_sec(10_000_000).time_for(Bytes(1514)), Span::from_nanos(1_211_200));
    }

    #[test]
    fn rates_print_as_tc_prints_them() {
        assert_eq!(Rate::from_bits_per_sec(10_000_000).to_string(), "10Mbit");
        assert_eq!(Rate::from_bits_per_sec(1_500_000).to_string(), "1500Kbit");
        assert_eq!(Rate::from_bits_per_sec(999).to_string(), "999bit");
        assert_eq!(Rate::UNLIMITED.to_string(), "unlimited");
    }

    #[test]
    fn extreme_rates_neither_overflow_nor_panic() {
        assert_eq!(Rate::ZERO.time_for(Bytes(1)), Span::MAX);
        assert_eq!(Rate::from_bits_per_sec(1).time_for(Bytes(1514)), Span::from_secs(12_112));
        assert_eq!(Rate::from_bits_per_sec(1).time_for(Bytes(u64::MAX)), Span::MAX);
        assert_eq!(Rate::UNLIMITED.time_for(Bytes(u64::MAX)), Span::ZERO);
        assert_eq!(Rate::from_bits_per_sec(100_000_000_000).time_for(Bytes(1514)), Span::from_nanos(121));
    }
}
