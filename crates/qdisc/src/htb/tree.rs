//! Builds the tree of classes, with full buckets.

use tailback_units::{ParameterError, Parameters, Rate, SimTime};

use super::parameters::{CLASS_PARAMETERS, complete_class};
use super::{Bucket, Cost, LEVELS, Leaf, Mode, Node, PRIORITIES, TICK_SHIFT, sending_time};
use crate::framing::Framing;
use crate::pfifo::Pfifo;
use crate::{Attachment, Class, Qdisc};

/// The class of `htb rate R | child`.
pub(super) fn only_class(given: &Parameters, child: Option<Box<dyn Qdisc>>) -> Result<Class, ParameterError> {
    given.require("rate")?;
    let mut parameters = Parameters::default();
    for row in CLASS_PARAMETERS {
        if let Some(value) = given.given(row.name) {
            parameters.set(row.name, value);
        }
    }
    Ok(Class { minor: 1, parent: 0, parameters, child })
}

/// The classes, parents before their children.
pub(super) fn tree(classes: Vec<Class>, r2q: u64, device: &Attachment) -> Result<Vec<Node>, ParameterError> {
    let parents: Vec<u16> = classes.iter().map(|class| class.parent).collect();
    let mut nodes: Vec<Node> = Vec::with_capacity(classes.len());
    for mut class in classes {
        let parent = nodes.iter().position(|node| node.minor == class.parent);
        let has_children = parents.contains(&class.minor);
        complete_class(&mut class.parameters, r2q)?;
        let level = level_of(has_children, parent.map(|parent| nodes[parent].level))?;
        let place = nodes.len();
        nodes.push(Node::new(class, parent, level, device)?);
        if let Some(parent) = parent {
            nodes[parent].children.push(place);
        }
    }
    for place in 0..nodes.len() {
        let mut children = std::mem::take(&mut nodes[place].children);
        children.sort_by_key(|&child| nodes[child].minor);
        nodes[place].children = children;
    }
    Ok(nodes)
}

/// The level of a class below one at level `above`.
fn level_of(has_children: bool, above: Option<usize>) -> Result<usize, ParameterError> {
    let level = above.unwrap_or(LEVELS);
    match has_children {
        false => Ok(0),
        true if level > 1 => Ok(level - 1),
        true => Err(ParameterError::Conflict {
            name: "parent",
            why: "makes the tree deeper than 8 levels".into(),
        }),
    }
}

impl Node {
    fn new(
        class: Class,
        parent: Option<usize>,
        level: usize,
        device: &Attachment,
    ) -> Result<Self, ParameterError> {
        let value = |name| class.parameters.require(name);
        let leaf = match level {
            0 => Some(Leaf {
                prio: value("prio")? as usize,
                quantum: value("quantum")? as i64,
                deficit: [0; LEVELS],
                child: class.child.unwrap_or_else(|| Box::new(Pfifo::new(device.queue_length))),
                blocked: false,
            }),
            _ => None,
        };
        let (rate, ceil) =
            (Bucket::full(value("rate")?, value("burst")?), Bucket::full(value("ceil")?, value("cburst")?));
        Ok(Node {
            minor: class.minor,
            parent,
            children: Vec::new(),
            level,
            is_uniform: (rate.rate, rate.depth) == (ceil.rate, ceil.depth),
            rate,
            ceil,
            framing: Framing::from_parameters(&class.parameters)?,
            cost: Cost::default(),
            checkpoint: SimTime::ZERO,
            mode: Mode::CanSend,
            until: SimTime::ZERO,
            feeds: 0,
            turns: [0; PRIORITIES],
            lended: 0,
            borrowed: 0,
            leaf,
        })
    }
}

impl Bucket {
    /// A full bucket of `burst` bytes at `bits_per_sec`.
    pub(super) fn full(bits_per_sec: u64, burst: u64) -> Bucket {
        let rate = Rate::from_bytes_per_sec(bits_per_sec / 8);
        let ticks = sending_time(rate, burst).div_ceil(1 << TICK_SHIFT).min(u64::from(u32::MAX));
        let depth = (ticks << TICK_SHIFT) as i64;
        Bucket { rate, depth, tokens: depth }
    }
}
