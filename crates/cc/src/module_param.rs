//! Short constructors for rows of module parameters.

use tailback_units::{Parameter, ParameterUnit, Segs};

/// A plain number.
pub(crate) const fn number(
    name: &'static str,
    default: u64,
    min: u64,
    max: u64,
    meaning: &'static str,
) -> Parameter {
    Parameter::new(name, ParameterUnit::Number, Some(default), (min, max), meaning)
}

/// On (1) or off (0).
pub(crate) const fn flag(name: &'static str, default: u64, meaning: &'static str) -> Parameter {
    Parameter::new(name, ParameterUnit::Flag, Some(default), (0, 1), meaning)
}

/// What additive increase counts: a parameter of the four controls that Linux 5.7 changed in this. Their modules do not
/// have it; it distinguishes versions of Linux.
pub(crate) const STRETCH_ACKS: Parameter = flag(
    "stretch_acks",
    1,
    "additive increase counts the segments of an ACK; 0 = the ACK, by default in stacks before Linux 5.7",
);

/// A number of packets.
pub(crate) const fn packets(name: &'static str, default: u64, min: u64, meaning: &'static str) -> Parameter {
    let max = Segs::INFINITE.0 as u64;
    Parameter::new(name, ParameterUnit::Packets, Some(default), (min, max), meaning)
}
