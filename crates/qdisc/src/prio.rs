//! `prio`: bands in strict priority; each band is a class with its own discipline.
//!
//! enqueue: to the class of the first filter that matches, else to the band of the type of service by `priomap`
//! dequeue: from the lowest band that has a packet                                        [linux-6.12 sch_prio.c]
//!
//! Band n is class n + 1. Deviation: no `SO_PRIORITY`.

use tailback_packet::Packet;
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::children::{Peekable, dequeue_first, peek_first};
use crate::ledger::Ledger;
use crate::pfifo::Pfifo;
use crate::priority::{self, PRIOMAP, Priomap};
use crate::{
    Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Filter, Inner, Peeked, Qdisc, Row, filtered,
};

pub(crate) const ROW: Row = Row {
    name: "prio",
    summary: "bands in strict priority, each with its own discipline",
    source: include_str!("prio.rs"),
    parameters: &[
        Parameter::new("bands", ParameterUnit::Number, Some(3), (2, 16), "number of bands"),
        PRIOMAP,
    ],
    classful: false,
    classes: Some(&[]),
    derive,
    build,
};

struct Prio {
    bands: Vec<Peekable>,
    priomap: Priomap,
    filters: Vec<Filter>,
    ledger: Ledger,
}

fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    priority::check(given.require("priomap")?, given.require("bands")?)
}

fn build(given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let plain = || Peekable::new(Box::new(Pfifo::new(device.queue_length)));
    let mut bands: Vec<Peekable> = (0..given.require("bands")?).map(|_| plain()).collect();
    for class in inner.classes {
        let place = usize::from(class.minor).checked_sub(1).and_then(|band| bands.get_mut(band));
        let Some(band) = place else {
            let why = format!("are too few for class {}", class.minor);
            return Err(ParameterError::Conflict { name: "bands", why });
        };
        *band = class.child.map_or_else(plain, Peekable::new);
    }
    let priomap = Priomap(given.require("priomap")?);
    Ok(Box::new(Prio { bands, priomap, filters: inner.filters, ledger: Ledger::default() }))
}

impl Prio {
    fn band_of(&self, packet: &Packet) -> usize {
        let chosen = filtered(&self.filters, packet).map(|class| usize::from(class).wrapping_sub(1));
        let band = chosen.filter(|band| *band < self.bands.len());
        band.unwrap_or_else(|| self.priomap.band_of(packet.tos))
    }
}

impl Qdisc for Prio {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let band = self.band_of(&packet);
        self.ledger.arrive(&packet);
        let before = context.effects.dropped.len();
        let answer = self.bands[band].enqueue(packet, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        answer
    }

    fn queues_segments(&self, train: &Packet) -> bool {
        self.bands[self.band_of(train)].queues_segments(train)
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let (before, count) = (context.effects.dropped.len(), self.bands.len());
        let (answer, _) = dequeue_first(0..count, |band| self.bands[band].dequeue(context));
        self.ledger.settle(&answer, &context.effects.dropped[before..]);
        answer
    }

    fn peek(&mut self, context: &mut Context<'_>) -> Option<Peeked> {
        let before = context.effects.dropped.len();
        let found = peek_first(self.bands.iter_mut(), context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        Some(found)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.ledger.high_water()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        self.bands.iter().for_each(|band| show(band.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered};
    use crate::{Class, Fits};

    #[test]
    fn a_low_band_goes_first() {
        let mut rig = Rig::of("prio", &[]);
        rig.enqueue(Packet { tos: 0x08, ..numbered(0, 0) });
        rig.enqueue(numbered(0, 1));
        rig.enqueue(Packet { tos: 0x10, ..numbered(0, 2) });
        assert_eq!(rig.drain(), [2, 1, 0]);
    }

    #[test]
    fn a_filter_chooses_the_band_and_a_class_its_discipline() {
        let short = crate::registry::build(
            "pfifo",
            &Parameters::new([("limit".into(), 2)].into()),
            &Attachment::default(),
            None,
        );
        let class = Class { minor: 1, parent: 0, parameters: Parameters::default(), child: short.ok() };
        let filters = vec![Filter { fits: Fits::From(vec![tailback_packet::SocketId(7)]), class: 1 }];
        let mut rig = Rig::over_classes("prio", &[], Inner { child: None, classes: vec![class], filters });
        rig.enqueue(numbered(0, 0));
        for n in 1..5 {
            rig.enqueue(numbered(7, n));
        }
        assert_eq!((rig.drain(), rig.effects.dropped.len()), (vec![1, 2, 0], 2));
    }

    #[test]
    fn a_map_to_a_missing_band_is_refused() {
        let given = Parameters::new([("bands".into(), 2)].into());
        let message =
            crate::registry::resolve("prio", &given, &Attachment::default()).unwrap_err().to_string();
        assert!(message.contains("names band 2, but the last one is 1"), "{message}");
    }
}
