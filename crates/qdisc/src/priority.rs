//! Maps the type of service to a band.
//!
//! TOS bits 0x18 → socket priority: 0x00 → 0 · 0x08 → 2 · 0x10 → 6 · 0x18 → 4   [linux-6.12 route.c ip_tos2prio]
//! priority → band: 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 by default                   [linux-6.12 sch_generic.c prio2band]

use tailback_units::{Parameter, ParameterError, ParameterUnit};

/// Socket priority of the TOS bits 0x18: best effort, bulk, interactive, interactive bulk.
const TOS_PRIORITY: [u32; 4] = [0, 2, 6, 4];

/// The band of each socket priority, four bits each, with priority 0 in the lowest bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Priomap(pub u64);

/// 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1.
pub(crate) const DEFAULT: u64 = 0x1111_1111_0021_2221;

pub(crate) const PRIOMAP: Parameter = Parameter::new(
    "priomap",
    ParameterUnit::Number,
    Some(DEFAULT),
    (0, u64::MAX),
    "band of each of 16 socket priorities, four bits each",
);

impl Priomap {
    #[inline]
    pub fn band_of(self, tos: u8) -> usize {
        self.band_of_bits(usize::from(tos >> 3 & 3))
    }

    /// The bands of all values of the TOS bits 0x18.
    pub const fn bands(self) -> [usize; 4] {
        [self.band_of_bits(0), self.band_of_bits(1), self.band_of_bits(2), self.band_of_bits(3)]
    }

    const fn band_of_bits(self, bits: usize) -> usize {
        (self.0 >> (4 * TOS_PRIORITY[bits]) & 0xf) as usize
    }
}

/// Checks that the band of every priority exists.
pub(crate) fn check(priomap: u64, bands: u64) -> Result<(), ParameterError> {
    match (0..16).map(|priority| priomap >> (4 * priority) & 0xf).max() {
        Some(highest) if highest >= bands => {
            let why = format!("names band {highest}, but the last one is {}", bands - 1);
            Err(ParameterError::Conflict { name: "priomap", why })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_follows_two_bits_of_the_type_of_service() {
        let bands = |all: [u8; 4]| all.map(|tos| Priomap(DEFAULT).band_of(tos));
        assert_eq!(bands([0x00, 0x08, 0x10, 0x18]), [1, 2, 0, 1]);
        assert_eq!(bands([0xb8, 0x20, 0xc0, 0x11]), [1, 1, 1, 0], "EF, CS1 and CS6 are best effort");
    }
}
