//! Short constructors for rows of module parameters.

use tailback_units::{Parameter, ParameterUnit, Segs};

/// A plain number.
pub(crate) const fn number(
    name: &'static str,
    default: u64,
    least: u64,
    most: u64,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, unit: ParameterUnit::Number, default: Some(default), least, most, meaning }
}

/// On (1) or off (0).
pub(crate) const fn flag(name: &'static str, default: u64, meaning: &'static str) -> Parameter {
    Parameter { name, unit: ParameterUnit::Flag, default: Some(default), least: 0, most: 1, meaning }
}

/// A number of packets.
pub(crate) const fn packets(
    name: &'static str,
    default: u64,
    least: u64,
    meaning: &'static str,
) -> Parameter {
    let most = Segs::INFINITE.0 as u64;
    Parameter { name, unit: ParameterUnit::Packets, default: Some(default), least, most, meaning }
}
