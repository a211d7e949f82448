//! Disciplines in series on one device: a packet that leaves one enters the next; the last one's packets are sent.
//!
//! An emulated router, for example, delays with `netem` and then limits the rate, or the other way round, as testbeds
//! do with an intermediate device between the two. `tc` has no notation for this; in an experiment file it is a list.
//!
//! A packet that leaves a stage is a new arrival at the next: its sojourn time restarts, and the sender learns only the
//! result of the first enqueue. Deviation: while the device is stopped, no packet moves between stages.

use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::ledger::Ledger;
use crate::{Backlog, Context, Counters, Dequeued, Enqueued, Qdisc};

/// Disciplines one after another.
pub struct Series {
    stages: Vec<Box<dyn Qdisc>>,
    /// Stages whose copies are on their way back.
    copied_at: Vec<usize>,
    ledger: Ledger,
}

impl Series {
    /// The first stage first.
    pub fn new(stages: Vec<Box<dyn Qdisc>>) -> Self {
        assert!(!stages.is_empty(), "a series has at least one stage");
        Series { stages, copied_at: Vec::new(), ledger: Ledger::default() }
    }

    /// Moves all packets between stages that may move now; returns when the next one may.
    fn pump(&mut self, context: &mut Context<'_>) -> SimTime {
        let mut wake = SimTime::NEVER;
        for next in 1..self.stages.len() {
            loop {
                match self.stages[next - 1].dequeue(context) {
                    Dequeued::Packet(packet) => self.pass_on(packet, next, context),
                    Dequeued::NotBefore(at) => break wake = wake.min(at),
                    Dequeued::Empty => break,
                }
            }
        }
        wake
    }

    fn pass_on(&mut self, packet: Box<Packet>, next: usize, context: &mut Context<'_>) {
        let copies = context.effects.copies.len();
        self.stages[next].enqueue(packet, context);
        self.remember_copies(next, copies, context);
    }

    /// Remembers which stage made a copy; the caller enqueues copies again, the last one first.
    fn remember_copies(&mut self, stage: usize, before: usize, context: &Context<'_>) {
        self.copied_at.extend(std::iter::repeat_n(stage, context.effects.copies.len() - before));
    }
}

impl Qdisc for Series {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let (before, copies) = (context.effects.dropped.len(), context.effects.copies.len());
        let stage = if context.is_copy { self.copied_at.pop().unwrap_or(0) } else { 0 };
        self.ledger.arrive(&packet);
        let answer = self.stages[stage].enqueue(packet, context);
        self.remember_copies(stage, copies, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        answer
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let wake = self.pump(context);
        let last = self.stages.len() - 1;
        let answer = match self.stages[last].dequeue(context) {
            Dequeued::NotBefore(at) => Dequeued::NotBefore(at.min(wake)),
            Dequeued::Empty if wake < SimTime::NEVER => Dequeued::NotBefore(wake),
            answer => answer,
        };
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

    fn restarts_sojourns(&self) -> bool {
        self.stages.len() > 1
    }

    fn kind(&self) -> &'static str {
        "series"
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        self.stages.iter().for_each(|stage| show(stage.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered};
    use crate::{Attachment, registry};
    use tailback_units::{Parameters, Span};

    fn stage(kind: &str, given: &[(&str, u64)]) -> Box<dyn Qdisc> {
        let values = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        registry::build(kind, &Parameters::new(values), &Attachment::default(), None).expect("a stage")
    }

    const DELAY: [(&str, u64); 1] = [("delay", 10_000_000)];
    const RATE: [(&str, u64); 3] = [("rate", 10_000_000), ("burst", 1514), ("limit", 1_000_000)];

    /// Instants in µs at which three full frames leave that come together.
    fn departures(stages: Vec<Box<dyn Qdisc>>) -> Vec<u64> {
        let mut rig = Rig { qdisc: Box::new(Series::new(stages)), ..Rig::of("pfifo", &[]) };
        for n in 0..3 {
            rig.enqueue(numbered(0, n));
        }
        let mut left = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(_) => left.push(rig.now.as_micros()),
                Dequeued::NotBefore(t) => rig.now = t,
                Dequeued::Empty => return left,
            }
        }
    }

    #[test]
    fn a_delay_before_a_rate_and_after_it_add_up_to_the_same() {
        let before = departures(vec![stage("netem", &DELAY), stage("tbf", &RATE)]);
        let after = departures(vec![stage("tbf", &RATE), stage("netem", &DELAY)]);
        assert_eq!((&before, &after), (&vec![10_000, 11_211, 12_422], &vec![10_000, 11_211, 12_422]));
    }

    #[test]
    fn a_law_in_the_second_stage_sees_the_wait_in_its_own_queue_only() {
        let shaped = registry::build(
            "htb",
            &Parameters::new([("rate".into(), 10_000_000)].into()),
            &Attachment::default(),
            Some(stage("codel", &[])),
        );
        let stages = vec![stage("netem", &[("delay", 500_000_000)]), shaped.expect("a shaper")];
        let mut rig = Rig { qdisc: Box::new(Series::new(stages)), ..Rig::of("pfifo", &[]) };
        for n in 0..400 {
            rig.enqueue(numbered(0, n));
            rig.advance(Span::from_millis(2));
            while let Dequeued::Packet(_) = rig.dequeue() {}
        }
        assert!(rig.effects.dropped.is_empty(), "half a second of delay is not a queue");
    }
}
