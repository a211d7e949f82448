//! The parameters of htb and of its classes, and what follows from those that are given.

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::Attachment;
use crate::framing;

/// Ticks per second that the kernel tells `tc` with high-resolution timers.
const TIMER_HZ: u64 = 1_000_000_000;
/// Least and largest quantum that follows from a rate. [linux-6.12 sch_htb.c htb_change_class]
const QUANTUM: (u64, u64) = (1000, 200_000);

const RATE_MOST: u64 = 10_000_000_000_000;

const RATE: Parameter = Parameter::new(
    "rate",
    ParameterUnit::Rate,
    None,
    (8, RATE_MOST),
    "rate of the class, in frame bytes without FCS; must be given",
);
const CEIL: Parameter = Parameter::new(
    "ceil",
    ParameterUnit::Rate,
    None,
    (8, RATE_MOST),
    "rate the class never exceeds; not given: `rate`",
);
const BURST: Parameter = Parameter::new(
    "burst",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "bytes that may leave at once at `rate`; not given: 1600 below 8 Gbit/s",
);
const CBURST: Parameter = Parameter::new(
    "cburst",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "bytes that may leave at once at `ceil`; not given: 1600 below 8 Gbit/s",
);
const QUANTUM_GIVEN: Parameter = Parameter::new(
    "quantum",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "bytes a class may borrow per turn among its siblings; not given: rate / r2q",
);
const PRIO: Parameter = Parameter::new(
    "prio",
    ParameterUnit::Number,
    Some(0),
    (0, 7),
    "rank among siblings that borrow, 0 first",
);
const MTU: Parameter = Parameter::new(
    "mtu",
    ParameterUnit::Bytes,
    Some(1600),
    (1, u32::MAX as u64),
    "bytes added to a burst that is not given",
);
const R2Q: Parameter = Parameter::new(
    "r2q",
    ParameterUnit::Number,
    Some(10),
    (1, u32::MAX as u64),
    "rate over quantum, of a class without a quantum",
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
        "minor number of the class of packets that no filter chooses; 0: the direct queue",
    ),
    Parameter::new(
        "direct_qlen",
        ParameterUnit::Packets,
        None,
        (1, u32::MAX as u64),
        "packets that the direct queue holds; not given: `txqueuelen`",
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

/// What follows from the rate of a class.
pub(super) fn complete_class(given: &mut Parameters, r2q: u64) -> Result<(), ParameterError> {
    let rate = given.require("rate")?;
    given.set_default("ceil", rate);
    let (ceil, mtu) = (given.require("ceil")?, given.require("mtu")?);
    given.set_default("burst", rate / 8 / TIMER_HZ + mtu);
    given.set_default("cburst", ceil / 8 / TIMER_HZ + mtu);
    given.set_default("quantum", (rate / 8 / r2q).clamp(QUANTUM.0, QUANTUM.1));
    Ok(())
}
