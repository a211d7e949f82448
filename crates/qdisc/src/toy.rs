//! `toy`: last in, first out, limited in packets. It is only in the registry of the tests.
//!
//! enqueue: append while fewer than `limit` packets wait, else drop the arrival
//! dequeue: the newest
//!
//! The limit is that of a FIFO [linux-6.12 sch_fifo.c]. It was added as CONTRIBUTING.md describes, by this file, a row
//! and a `mod` line, and shows that no more is needed in this crate. Deviation: no kernel has it.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row, nothing_derived};

pub(crate) const ROW: Row = Row {
    name: "toy",
    summary: "last in, first out",
    source: include_str!("toy.rs"),
    parameters: &[Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(3),
        (1, 1000),
        "maximum number of packets",
    )],
    classful: false,
    classes: None,
    derive: nothing_derived,
    build,
};

struct Toy {
    #[expect(clippy::vec_box, reason = "packets travel in boxes")]
    stack: Vec<Box<Packet>>,
    limit: usize,
    ledger: Ledger,
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let limit = given.require("limit")? as usize;
    Ok(Box::new(Toy { stack: Vec::new(), limit, ledger: Ledger::default() }))
}

impl Qdisc for Toy {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        if self.stack.len() < self.limit {
            self.stack.push(packet);
            return Enqueued::Queued;
        }
        self.ledger.drop(&packet);
        context.refuse(packet, DropReason::TailFull);
        Enqueued::Dropped
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Dequeued {
        let Some(packet) = self.stack.pop() else { return Dequeued::Empty };
        self.ledger.leave(&packet);
        Dequeued::Packet(packet)
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
}

#[cfg(test)]
mod tests {
    use crate::testing::{Rig, number, numbered};
    use crate::{Attachment, Dequeued, registry};
    use tailback_units::Parameters;

    #[test]
    fn it_is_built_by_its_name_below_a_shaper_and_its_drops_are_accounted_for() {
        let given = Parameters::new([("limit".to_owned(), 4)].into());
        let toy = registry::build("toy", &given, &Attachment::default(), None).unwrap();
        let mut rig = Rig::over("htb", &[("rate", 10_000_000)], Some(toy));
        for seq in 0..6 {
            rig.enqueue(numbered(0, seq));
        }
        let mut left = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(packet) => left.push(number(&packet)),
                Dequeued::NotBefore(at) => rig.now = at,
                Dequeued::Empty => break,
            }
        }
        assert_eq!(left, [3, 2, 1, 0]);
        let counters = rig.qdisc.counters();
        assert_eq!((counters.sent_packets, counters.dropped, rig.effects.dropped.len()), (4, 2, 2));
    }

    #[test]
    fn its_option_has_the_bounds_of_its_row() {
        let refused = registry::build(
            "toy",
            &Parameters::new([("limit".to_owned(), 1001)].into()),
            &Attachment::default(),
            None,
        );
        assert!(refused.err().unwrap().to_string().starts_with("qdisc `toy`"));
    }
}
