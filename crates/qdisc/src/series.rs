//! Disciplines in series on one device: what leaves one enters the next, what leaves the last is sent.
//!
//! So an emulated router delays with `netem` and then limits the rate, or the other way round, as testbeds do with an
//! intermediate device between two stages. `tc` has no name for it; an experiment file writes a list.
//!
//! A packet that leaves a stage is a new arrival at the next: its queueing time starts again, and its sender is told
//! only what the first stage did with it. Deviation: while the device itself is stopped nothing moves between stages.

use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::ledger::Ledger;
use crate::{Backlog, Counters, Dequeued, Desk, Enqueued, Qdisc};

/// Disciplines one after another.
pub struct Series {
    stages: Vec<Box<dyn Qdisc>>,
    ledger: Ledger,
}

impl Series {
    /// The first stage first.
    pub fn new(stages: Vec<Box<dyn Qdisc>>) -> Self {
        assert!(!stages.is_empty(), "a series has a stage at least");
        Series { stages, ledger: Ledger::default() }
    }

    /// Moves what may move by now; returns when more may.
    fn pump(&mut self, desk: &mut Desk<'_>) -> SimTime {
        let mut wake = SimTime::NEVER;
        for next in 1..self.stages.len() {
            loop {
                match self.stages[next - 1].dequeue(desk) {
                    Dequeued::Packet(packet) => self.pass_on(packet, next, desk),
                    Dequeued::NotBefore(at) => break wake = wake.min(at),
                    Dequeued::Empty => break,
                }
            }
        }
        wake
    }

    fn pass_on(&mut self, packet: Box<Packet>, next: usize, desk: &mut Desk<'_>) {
        let copies = desk.copies.len();
        self.stages[next].enqueue(packet, desk);
        // A copy made by this stage enters this stage again.
        while desk.copies.len() > copies {
            let Some(copy) = desk.copies.pop() else { break };
            self.ledger.arrive(&copy);
            self.stages[next].enqueue(copy, &mut as_copy(desk));
        }
    }
}

fn as_copy<'a>(desk: &'a mut Desk<'_>) -> Desk<'a> {
    Desk {
        now: desk.now,
        draws: desk.draws,
        dropped: desk.dropped,
        credits: desk.credits,
        copies: desk.copies,
        is_copy: true,
    }
}

impl Qdisc for Series {
    fn enqueue(&mut self, packet: Box<Packet>, desk: &mut Desk<'_>) -> Enqueued {
        let before = desk.dropped.len();
        self.ledger.arrive(&packet);
        let answer = self.stages[0].enqueue(packet, desk);
        self.ledger.drop_all(&desk.dropped[before..]);
        answer
    }

    fn dequeue(&mut self, desk: &mut Desk<'_>) -> Dequeued {
        let before = desk.dropped.len();
        let wake = self.pump(desk);
        let last = self.stages.len() - 1;
        let answer = match self.stages[last].dequeue(desk) {
            Dequeued::NotBefore(at) => Dequeued::NotBefore(at.min(wake)),
            Dequeued::Empty if wake < SimTime::NEVER => Dequeued::NotBefore(wake),
            answer => answer,
        };
        self.ledger.drop_all(&desk.dropped[before..]);
        if let Dequeued::Packet(packet) = &answer {
            self.ledger.leave(packet);
        }
        answer
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn kind(&self) -> &'static str {
        "series"
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        self.stages.iter().for_each(|stage| show(stage.as_ref()));
    }
}
