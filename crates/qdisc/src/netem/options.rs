//! The options of `netem`, and what they make: a [`Netem`] with its delay, loss, line and slots.

use std::collections::VecDeque;

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, Rate, SimTime};

use super::delay::{self, DISTRIBUTIONS, Spread};
use super::loss::{Correlated, FourState, Loss, Share, Transitions};
use super::{Chance, Line, Netem, OwnCounters, Slots};
use crate::framing;
use crate::ledger::Ledger;
use crate::{Attachment, Inner, Qdisc};

const LONGEST: u64 = 1_000_000_000_000;
pub(super) const WHOLE: u64 = u32::MAX as u64;

const fn percent(name: &'static str, default: Option<u64>, meaning: &'static str) -> Parameter {
    Parameter::new(name, ParameterUnit::Percent, default, (0, WHOLE), meaning)
}

const fn time(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, ParameterUnit::Time, Some(0), (0, LONGEST), meaning)
}

/// The values of `loss_model`.
const MODELS: &[&str] = &["random", "state", "gemodel"];

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(1000),
        (0, WHOLE),
        "maximum number of packets, including delayed ones",
    ),
    time("delay", "one-way delay"),
    time("jitter", "jitter of the delay"),
    percent("delay_correlation", Some(0), "correlation of a delay with the previous one"),
    Parameter::choice("distribution", DISTRIBUTIONS, "distribution of the jitter"),
    Parameter::choice("loss_model", MODELS, "model of loss"),
    percent("loss", Some(0), "share of packets lost at random"),
    percent("loss_correlation", Some(0), "correlation of a loss with the previous one"),
    percent("p13", Some(0), "`loss state`: from the good state into a burst of losses"),
    percent("p31", None, "`loss state`: out of a burst; default: 100 % − p13"),
    percent("p32", Some(0), "`loss state`: from losing to receiving within a burst"),
    percent("p23", Some(WHOLE), "`loss state`: back to losing within a burst"),
    percent("p14", Some(0), "`loss state`: a loss alone"),
    percent("p", Some(0), "`loss gemodel`: from good to bad"),
    percent("r", None, "`loss gemodel`: from bad to good; default: 100 % − p"),
    percent("1-h", Some(WHOLE), "`loss gemodel`: share lost in the bad state"),
    percent("1-k", Some(0), "`loss gemodel`: share lost in the good state"),
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of losing them"),
    percent("corrupt", Some(0), "share of packets corrupted"),
    percent("corrupt_correlation", Some(0), "correlation of a corruption with the previous one"),
    percent("duplicate", Some(0), "share of packets duplicated"),
    percent("duplicate_correlation", Some(0), "correlation of a duplication with the previous one"),
    percent("reorder", Some(0), "share of packets that overtake all others; needs `delay`"),
    percent("reorder_correlation", Some(0), "correlation of a reordering with the previous one"),
    Parameter::new(
        "gap",
        ParameterUnit::Packets,
        Some(0),
        (0, WHOLE),
        "minimum number of packets between two that overtake",
    ),
    Parameter::new(
        "rate",
        ParameterUnit::Rate,
        None,
        (8, 10_000_000_000_000),
        "rate of the emulated link; default: unlimited",
    ),
    Parameter::new(
        "packet_overhead",
        ParameterUnit::Number,
        Some(0),
        (0, 65_535),
        "bytes that `rate` counts for each packet in addition to its frame",
    ),
    framing::undercharge("packet_undercharge"),
    Parameter::new(
        "cell_size",
        ParameterUnit::Number,
        Some(0),
        (0, 65_535),
        "payload bytes of a cell; 0: no cells",
    ),
    Parameter::new("cell_overhead", ParameterUnit::Number, Some(0), (0, 65_535), "overhead bytes of a cell"),
    time("slot_min", "minimum time between two delivery slots"),
    time("slot_max", "maximum time between two delivery slots"),
    Parameter::new(
        "slot_packets",
        ParameterUnit::Packets,
        Some(0),
        (0, WHOLE),
        "maximum number of packets per slot; 0: any number",
    ),
    Parameter::new(
        "slot_bytes",
        ParameterUnit::Bytes,
        Some(0),
        (0, WHOLE),
        "maximum number of bytes per slot; 0: any number",
    ),
    Parameter::new("seed", ParameterUnit::Number, None, (0, u64::MAX), "no effect: the run has a seed"),
];

pub(super) fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    let (p13, p) = (given.require("p13")?, given.require("p")?);
    given.set_default("p31", WHOLE - p13);
    given.set_default("r", WHOLE - p);
    let (reorder, gap) = (given.require("reorder")?, given.require("gap")?);
    if (reorder > 0 || gap > 0) && given.require("delay")? == 0 && given.require("jitter")? == 0 {
        let why = "needs delayed packets to overtake: give a `delay`".to_owned();
        return Err(ParameterError::Conflict { name: "reorder", why });
    }
    match (reorder, gap) {
        (0, 1..) => {
            let why = "has no effect without `reorder`: give it, too".to_owned();
            return Err(ParameterError::Conflict { name: "gap", why });
        }
        (1.., 0) => given.set("gap", 1),
        _ => {}
    }
    let min = given.require("slot_min")?;
    if given.require("slot_max")? < min {
        given.set("slot_max", min);
    }
    Ok(())
}

pub(super) fn build(
    given: &Parameters,
    _device: &Attachment,
    inner: Inner,
) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let chance = |name, correlation| -> Result<Chance, ParameterError> {
        Ok(Chance { share: value(name)? as Share, stream: Correlated::new(value(correlation)? as Share) })
    };
    Ok(Box::new(Netem {
        limit: value("limit")? as usize,
        delay: Spread {
            mean: value("delay")? as i64,
            jitter: value("jitter")? as i64,
            stream: Correlated::new(value("delay_correlation")? as Share),
            table: delay::table(value("distribution")?),
        },
        loss: loss_of(given)?,
        ecn: value("ecn")? == 1,
        corrupt: chance("corrupt", "corrupt_correlation")?,
        duplicate: chance("duplicate", "duplicate_correlation")?,
        reorder: chance("reorder", "reorder_correlation")?,
        gap: value("gap")?,
        since_reordered: 0,
        line: line_of(given)?,
        slots: slots_of(given)?,
        waiting: VecDeque::new(),
        child: inner.child,
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

fn loss_of(given: &Parameters) -> Result<Loss, ParameterError> {
    let share = |name| given.require(name).map(|value| value as Share);
    Ok(match given.require("loss_model")? {
        0 => Loss::Random { share: share("loss")?, stream: Correlated::new(share("loss_correlation")?) },
        1 => {
            let (p13, p31, p32) = (share("p13")?, share("p31")?, share("p32")?);
            let to = Transitions { p13, p31, p32, p23: share("p23")?, p14: share("p14")? };
            Loss::FourState { to, state: FourState::Gap }
        }
        _ => Loss::GilbertElliott {
            to_bad: share("p")?,
            to_good: share("r")?,
            lost_in_bad: share("1-h")?,
            lost_in_good: share("1-k")?,
            bad: false,
        },
    })
}

fn line_of(given: &Parameters) -> Result<Option<Line>, ParameterError> {
    let Some(rate) = given.given("rate") else { return Ok(None) };
    Ok(Some(Line {
        rate: Rate::from_bits_per_sec(rate),
        overhead: given.require("packet_overhead")?,
        undercharge: given.require("packet_undercharge")?,
        cell: given.require("cell_size")?,
        cell_overhead: given.require("cell_overhead")?,
    }))
}

fn slots_of(given: &Parameters) -> Result<Option<Slots>, ParameterError> {
    let value = |name| given.require(name);
    let (min, max) = (value("slot_min")?, value("slot_max")?);
    let slots = Slots {
        min,
        max,
        packets: value("slot_packets")?,
        bytes: value("slot_bytes")?,
        next: SimTime::ZERO,
        packets_left: 0,
        bytes_left: 0,
    };
    Ok((max > 0).then_some(slots))
}
