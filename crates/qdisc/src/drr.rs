//! `drr`: deficit round robin over classes, each with a quantum of bytes and its own discipline.
//!
//! enqueue: to the class of the first filter that matches; without a match the packet is dropped; a class that was
//!          empty joins the end of the round with deficit = quantum
//! dequeue: if the head of the first class of the round fits into its deficit, send it; else add a quantum and move the
//!          class to the end
//! [shreedhar1995 §3] [linux-6.12 sch_drr.c]

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime};

use crate::children::Peekable;
use crate::ledger::Ledger;
use crate::pfifo::Pfifo;
use crate::{
    Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Filter, Inner, Part, PartKind, Peeked, Qdisc,
    Row, filtered, nothing_derived,
};

pub(crate) const ROW: Row = Row {
    name: "drr",
    summary: "deficit round robin over classes, each with its own discipline",
    source: include_str!("drr.rs"),
    parameters: &[],
    classful: false,
    classes: Some(CLASS_PARAMETERS),
    derive: nothing_derived,
    build,
};

const CLASS_PARAMETERS: &[Parameter] = &[Parameter::new(
    "quantum",
    ParameterUnit::Bytes,
    None,
    (1, u32::MAX as u64),
    "bytes that the class may send per turn; default: MTU + 14",
)];

struct Drr {
    classes: Vec<Turn>,
    filters: Vec<Filter>,
    round: VecDeque<usize>,
    ledger: Ledger,
}

struct Turn {
    minor: u16,
    quantum: i64,
    deficit: i64,
    listed: bool,
    child: Peekable,
}

fn build(_given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let turn = |class: crate::Class| Turn {
        minor: class.minor,
        quantum: class.parameters.given("quantum").unwrap_or(u64::from(device.mtu)) as i64,
        deficit: 0,
        listed: false,
        child: Peekable::new(class.child.unwrap_or_else(|| Box::new(Pfifo::new(device.queue_length)))),
    };
    Ok(Box::new(Drr {
        classes: inner.classes.into_iter().map(turn).collect(),
        filters: inner.filters,
        round: VecDeque::new(),
        ledger: Ledger::default(),
    }))
}

impl Qdisc for Drr {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        let Some(place) = self.classify(&packet) else {
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::Unclassified);
            return Enqueued::Dropped;
        };
        let before = context.effects.dropped.len();
        let class = &mut self.classes[place];
        let answer = class.child.enqueue(packet, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        if !class.listed && class.child.backlog().packets > 0 {
            (class.listed, class.deficit) = (true, class.quantum);
            self.round.push_back(place);
        }
        answer
    }

    fn queues_segments(&self, train: &Packet) -> bool {
        self.classify(train).is_some_and(|place| self.classes[place].child.queues_segments(train))
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let answer = self.next(context);
        self.ledger.settle(&answer, &context.effects.dropped[before..]);
        answer
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.ledger.keep(length);
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

    fn parts(&self) -> Vec<Part> {
        let part = |class: &Turn| {
            let (sent, backlog) = (class.child.counters(), class.child.backlog());
            let kind = PartKind::Class { minor: class.minor, parent: 0, leaf: true };
            Part { kind, counters: crate::class_counters(&sent, &backlog).to_vec() }
        };
        self.classes.iter().map(part).collect()
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        self.classes.iter().for_each(|class| show(class.child.as_ref()));
    }
}

impl Drr {
    fn classify(&self, packet: &Packet) -> Option<usize> {
        let chosen = filtered(&self.filters, packet);
        self.classes.iter().position(|class| Some(class.minor) == chosen)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Dequeued {
        let (mut wake, mut blocked) = (SimTime::NEVER, 0);
        while let Some(&place) = self.round.front() {
            if blocked == self.round.len() {
                return Dequeued::NotBefore(wake);
            }
            let class = &mut self.classes[place];
            match class.child.peek(context) {
                Peeked::Frame(length) if i64::from(length) <= class.deficit => {
                    class.deficit -= i64::from(length);
                    let taken = class.child.dequeue(context);
                    if class.child.backlog().packets == 0 {
                        class.listed = false;
                        self.round.pop_front();
                    }
                    return taken;
                }
                Peeked::Frame(_) => {
                    class.deficit += class.quantum;
                    self.round.rotate_left(1);
                }
                Peeked::NotBefore(at) => {
                    (wake, blocked) = (wake.min(at), blocked + 1);
                    self.round.rotate_left(1);
                }
                Peeked::Empty => {
                    class.listed = false;
                    self.round.pop_front();
                }
            }
        }
        Dequeued::Empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use crate::{Class, Fits};

    fn two_classes(quanta: [u64; 2]) -> Rig {
        let class = |(minor, quantum): (u16, u64)| Class {
            minor,
            parent: 0,
            parameters: Parameters::new([("quantum".into(), quantum)].into()),
            child: None,
        };
        let filter = |flow: u32| Filter {
            fits: Fits::From(vec![tailback_packet::SocketId(flow)]),
            class: flow as u16 + 1,
        };
        let classes = [(1, quanta[0]), (2, quanta[1])].map(class).into();
        let inner = Inner { child: None, classes, filters: vec![filter(0), filter(1)] };
        Rig::over_classes("drr", &[], inner)
    }

    #[test]
    fn classes_share_bytes_by_their_quanta() {
        let mut rig = two_classes([1514, 3 * 1514]);
        rig.fill(200, &packet(0, 1514));
        rig.fill(800, &packet(1, 700));
        let mut bytes = [0; 2];
        for _ in 0..300 {
            let sent = rig.serve(1_000_000_000).unwrap();
            bytes[sent.from.0 as usize] += sent.frame_length();
        }
        let share = f64::from(bytes[1]) / f64::from(bytes[0]);
        assert!((share - 3.0).abs() < 0.2, "{share}");
    }

    #[test]
    fn packets_that_no_filter_matches_are_dropped() {
        let mut rig = two_classes([1514, 1514]);
        assert_eq!(rig.enqueue(packet(5, 100)), Enqueued::Dropped);
        assert_eq!(rig.effects.dropped[0].1, DropReason::Unclassified);
    }
}
