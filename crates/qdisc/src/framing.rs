//! The bytes that a shaper charges for a packet: its frame, overhead of the link, and ATM cells.
//!
//! charged = max(L + `overhead`, `mpu`); on ATM ⌈charged / 48⌉ · 53             [linux-6.12 psched_l2t_ns]

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

pub(crate) const OVERHEAD: Parameter = Parameter::new(
    "overhead",
    ParameterUnit::Number,
    Some(0),
    (0, 65_535),
    "bytes charged for each packet in addition to its frame",
);
/// Bytes of a packet that are not charged: a negative `overhead` in `tc`.
pub(crate) const fn undercharge(name: &'static str) -> Parameter {
    let meaning = "bytes of each packet not charged: a negative overhead";
    Parameter::new(name, ParameterUnit::Number, Some(0), (0, 64), meaning)
}

pub(crate) const MPU: Parameter =
    Parameter::new("mpu", ParameterUnit::Bytes, Some(0), (0, 65_535), "minimum number of bytes charged");
pub(crate) const LINKLAYER: Parameter =
    Parameter::choice("linklayer", &["ethernet", "atm"], "atm: charge whole cells, 53 bytes for 48 of data");

/// The framing of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    overhead: u32,
    min: u32,
    in_cells: bool,
}

impl Framing {
    pub fn from_parameters(given: &Parameters) -> Result<Self, ParameterError> {
        let value = |name| given.require(name);
        Ok(Framing {
            overhead: value("overhead")? as u32,
            min: value("mpu")? as u32,
            in_cells: value("linklayer")? == 1,
        })
    }

    /// Bytes charged for a frame of `length`.
    #[inline]
    pub fn charged(&self, length: u32) -> u32 {
        let length = (length + self.overhead).max(self.min);
        if self.in_cells { length.div_ceil(48) * 53 } else { length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_with_26_bytes_of_overhead_takes_33_cells() {
        let framing = Framing { overhead: 26, min: 0, in_cells: true };
        assert_eq!(framing.charged(1514), 33 * 53);
    }
}
