//! `mq`: a discipline for each transmit queue of a device; it has no algorithm itself.
//!
//! enqueue: the hash of a flow selects its queue: queue = hash · queues / 2³²
//! dequeue: round robin over the queues, a packet each, as the NIC does     [linux-6.12 sch_mq.c, netdev_pick_tx]
//!
//! Fairness therefore holds only within a queue: a flow alone on one queue gets as much as ten flows on another. Queue
//! n is class n + 1. Deviations: `queues` is an option here and a property of the device in Linux; all queues share one
//! ring; a packet that finds the device idle is enqueued, where Linux lets it bypass a discipline of a queue.

use tailback_packet::Packet;
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::children::dequeue_first;
use crate::ledger::Ledger;
use crate::{
    Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row, nothing_derived,
    pfifo_fast,
};

pub(crate) const ROW: Row = Row {
    name: "mq",
    summary: "a discipline for each transmit queue of a device",
    source: include_str!("mq.rs"),
    parameters: &[Parameter::new(
        "queues",
        ParameterUnit::Number,
        Some(4),
        (1, 1024),
        "transmit queues of the device",
    )],
    classful: false,
    classes: Some(&[]),
    derive: nothing_derived,
    build,
};

struct Mq {
    queues: Vec<Box<dyn Qdisc>>,
    turn: usize,
    ledger: Ledger,
}

fn build(given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let count = given.require("queues")? as u16;
    let mut children: Vec<_> = inner.classes.into_iter().collect();
    let mut queues = Vec::new();
    for minor in 1..=count {
        let given =
            children.iter_mut().find(|class| class.minor == minor).and_then(|class| class.child.take());
        // [linux-6.12 net.core.default_qdisc, as compiled]
        queues.push(given.unwrap_or_else(|| pfifo_fast::on(device)));
    }
    Ok(Box::new(Mq { queues, turn: 0, ledger: Ledger::default() }))
}

impl Mq {
    fn queue_of(&self, packet: &Packet) -> usize {
        ((u64::from(packet.flow_hash) * self.queues.len() as u64) >> 32) as usize
    }
}

impl Qdisc for Mq {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let queue = self.queue_of(&packet);
        self.ledger.arrive(&packet);
        let before = context.effects.dropped.len();
        let answer = self.queues[queue].enqueue(packet, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        answer
    }

    fn queues_segments(&self, train: &Packet) -> bool {
        self.queues[self.queue_of(train)].queues_segments(train)
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let (before, count) = (context.effects.dropped.len(), self.queues.len());
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let (answer, queue) = dequeue_first(in_turn, |queue| self.queues[queue].dequeue(context));
        self.turn = queue.map_or(self.turn, |queue| queue + 1);
        self.ledger.settle(&answer, &context.effects.dropped[before..]);
        answer
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
        self.queues.iter().for_each(|queue| show(queue.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Rig, packet};

    fn held(rig: &Rig) -> Vec<u32> {
        let mut held = Vec::new();
        rig.qdisc.visit_children(&mut |child| held.push(child.backlog().packets));
        held
    }

    #[test]
    fn one_flow_is_held_by_one_queue_only() {
        let mut rig = Rig::of("mq", &[("queues", 4)]);
        rig.fill(50, &packet(3, 1514));
        let mut queues = held(&rig);
        queues.sort_unstable();
        assert_eq!(queues, [0, 0, 0, 50]);
    }

    #[test]
    fn a_flow_alone_on_a_queue_gets_as_much_as_many_on_another() {
        let mut rig = Rig::of("mq", &[("queues", 2)]);
        let queue = |flow: u32| packet(flow, 100).flow_hash >> 31;
        let alone = (0..).find(|&flow| queue(flow) == 0).unwrap();
        let crowd: Vec<u32> = (0..).filter(|&flow| queue(flow) == 1).take(10).collect();
        rig.fill(100, &packet(alone, 1514));
        crowd.iter().for_each(|&flow| rig.fill(20, &packet(flow, 1514)));
        let of_alone =
            (0..100).filter_map(|_| rig.serve(1_000_000_000)).filter(|sent| sent.from.0 == alone).count();
        assert_eq!(of_alone, 50);
    }
}
