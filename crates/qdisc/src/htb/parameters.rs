//! The parameters of htb and of its classes, and how the derived ones are computed.

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::Attachment;
use crate::framing;

/// Ticks per second that the kernel reports to `tc`, with high-resolution timers.
const TIMER_HZ: u64 = 1_000_000_000;
/// Minimum and maximum of a quantum derived from a rate. [linux-6.12 sch_htb.c htb_change_class]
const QUANTUM: (u64, u64) = (1000, 200_000);

const MAX_RATE: u64 = 10_000_000_000_000;

const RATE: Parameter = Parameter::required(
    "rate",
    ParameterUnit::Rate,
    (8, MAX_RATE),
    "rate of the class, in frame bytes without FCS",
);
const CEIL: Parameter = Parameter::new(
    "ceil",
    ParameterUnit::Rate,
    None,
    (8, MAX_RATE),
    "maximum rate of the class; default: `rate`",
);
const BURST: Parameter = Parameter::new(
    "burst",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "size of the bucket of `rate`; default: 1600 below 8 Gbit/s",
);
const CBURST: Parameter = Parameter::new(
    "cburst",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "size of the bucket of `ceil`; default: 1600 below 8 Gbit/s",
);
const QUANTUM_GIVEN: Parameter = Parameter::new(
    "quantum",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "bytes that a class may borrow per turn among its siblings; default: rate / r2q",
);
const PRIO: Parameter = Parameter::new(
    "prio",
    ParameterUnit::Number,
    Some(0),
    (0, 7),
    "priority among siblings that borrow, 0 first",
);
const MTU: Parameter = Parameter::new(
    "mtu",
    ParameterUnit::Bytes,
    Some(1600),
    (1, u32::MAX as u64),
    "bytes added to the default of a burst",
);
const R2Q: Parameter = Parameter::new(
    "r2q",
    ParameterUnit::Number,
    Some(10),
    (1, u32::MAX as u64),
    "ratio of rate to quantum for a class without `quantum`",
);

pub(super) const PARAMETERS: &[Parameter] = &[
    RATE,
    CEIL,
    BURST,
    CBURST,
    QUANTUM_GIVEN,
    PRIO,
    MTU,
    framing::MPU,
    framing::OVERHEAD,
    framing::LINKLAYER,
    R2Q,
    Parameter::new(
        "default",
        ParameterUnit::Number,
        Some(0),
        (0, 0xffff),
        "minor number of the class of packets that no filter matches; 0: the direct queue",
    ),
    Parameter::new(
        "direct_qlen",
        ParameterUnit::Packets,
        None,
        (1, u32::MAX as u64),
        "maximum number of packets in the direct queue; default: `txqueuelen`",
    ),
];

pub(super) const CLASS_PARAMETERS: &[Parameter] = &[
    RATE,
    CEIL,
    BURST,
    CBURST,
    QUANTUM_GIVEN,
    PRIO,
    MTU,
    framing::MPU,
    framing::OVERHEAD,
    framing::LINKLAYER,
];

pub(super) fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("direct_qlen", u64::from(device.queue_length.max(1)));
    if given.given("rate").is_some() {
        let r2q = given.require("r2q")?;
        complete_class(given, r2q)?;
    }
    Ok(())
}

/// Fills in the parameters derived from the rate of a class.
pub(super) fn complete_class(given: &mut Parameters, r2q: u64) -> Result<(), ParameterError> {
    let rate = given.require("rate")?;
    given.set_default("ceil", rate);
    let (ceil, mtu) = (given.require("ceil")?, given.require("mtu")?);
    given.set_default("burst", rate / 8 / TIMER_HZ + mtu);
    given.set_default("cburst", ceil / 8 / TIMER_HZ + mtu);
    given.set_default("quantum", (rate / 8 / r2q).clamp(QUANTUM.0, QUANTUM.1));
    Ok(())
}
