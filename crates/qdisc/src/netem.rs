//! `netem`: emulates a path: delay, loss, duplication, corruption, reordering and a rate.
//!
//! enqueue, in this order: duplicate? · lose? (`ecn`: mark) · end the charge to the socket if there is any delay ·
//!          corrupt? (a train is cut: its first segment is damaged, the others are enqueued anew) · over `limit` drop,
//!          without a copy · reorder? (leaves at once, before all others) · else it leaves at base + delay + L/rate; with
//!          `rate`, base = departure of the previous packet, and the time until then counts towards `delay`
//! dequeue: the packet with the earliest departure time, once that and its slot have come; through the child, if any
//!
//! Models of loss are in `netem/loss.rs`, of delay in `netem/delay.rs`. Jitter larger than the gap between packets
//! reorders them, unless `rate` is set. A delayed packet is no longer charged to its socket, so TCP Small Queues do not
//! limit a flow above a local `netem`. The sender does not notice a loss.  [linux-6.12 sch_netem.c] [tc q_netem.c]
//!
//! Deviations: a copy enters at the root after its original, not before; `slot` draws its gaps uniformly; `seed` is
//! accepted and has no effect, since all random numbers come from the seed of the run; a corrupted packet is lost at
//! its destination, whichever bit is wrong.

mod delay;
mod loss;
mod options;

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet, Payload};
use tailback_units::{Bytes, Rate, SimTime, Span};

use self::delay::Spread;
use self::loss::{Correlated, Loss, Share};
use self::options::{PARAMETERS, build, derive};
use crate::ledger::Ledger;
use crate::{Backlog, Context, Counters, Dequeued, Enqueued, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "netem",
    summary: "emulated path: delay, jitter, loss, duplication, damage, reordering, rate",
    source: include_str!("netem.rs"),
    parameters: PARAMETERS,
    classful: true,
    classes: None,
    derive,
    build,
};

struct Netem {
    limit: usize,
    delay: Spread,
    loss: Loss,
    ecn: bool,
    corrupt: Chance,
    duplicate: Chance,
    reorder: Chance,
    gap: u64,
    since_reordered: u64,
    line: Option<Line>,
    slots: Option<Slots>,
    /// Packets in the order of departure.
    waiting: VecDeque<(SimTime, Box<Packet>)>,
    child: Option<Box<dyn Qdisc>>,
    ledger: Ledger,
    own: OwnCounters,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnCounters {
    delayed: u64,
    dropped: u64,
    corrupted: u64,
    duplicated: u64,
    reordered: u64,
    ecn_marked: u64,
}

/// An event that happens to a share of the packets.
#[derive(Clone, Copy, Debug)]
struct Chance {
    share: Share,
    stream: Correlated,
}

/// The emulated transmitter.
#[derive(Clone, Copy, Debug)]
struct Line {
    rate: Rate,
    overhead: u64,
    undercharge: u64,
    cell: u64,
    cell_overhead: u64,
}

/// Times at which packets may leave together.
#[derive(Clone, Copy, Debug)]
struct Slots {
    min: u64,
    max: u64,
    packets: u64,
    bytes: u64,
    next: SimTime,
    packets_left: i64,
    bytes_left: i64,
}

impl Qdisc for Netem {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        self.take(packet, context)
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        loop {
            let wake = match self.take_due(context) {
                Ok(packet) if self.child.is_none() => {
                    self.ledger.leave(&packet);
                    return Dequeued::Packet(packet);
                }
                Ok(packet) => {
                    self.pass_to_child(packet, context);
                    continue;
                }
                Err(wake) => wake,
            };
            return self.ask_child(wake, context);
        }
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.ledger.high_water()
    }

    fn counters(&self) -> Counters {
        Counters { requeues: self.own.reordered, ..self.ledger.counters() }
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        show("delayed", self.own.delayed);
        show("dropped", self.own.dropped);
        show("corrupted", self.own.corrupted);
        show("duplicated", self.own.duplicated);
        show("reordered", self.own.reordered);
        show("ecn_marked", self.own.ecn_marked);
    }

    fn restarts_sojourns(&self) -> bool {
        self.child.is_some()
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        if let Some(child) = &self.child {
            show(child.as_ref());
        }
    }
}

impl Chance {
    #[inline]
    fn hits(&mut self, context: &mut Context<'_>) -> bool {
        self.stream.hits(self.share, context.draws)
    }
}

impl Netem {
    /// A packet that has been counted as arrived.
    fn take(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let duplicates = !context.is_copy && self.duplicate.hits(context);
        let is_lost = self.is_lost(&mut packet, context);
        if is_lost && !duplicates {
            self.own.dropped += 1;
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::RandomLoss);
            return Enqueued::Lost;
        }
        // Of a packet that is duplicated, a loss leaves one of the two.
        let copy = (duplicates && !is_lost).then(|| Box::new(Packet { charged: false, ..(*packet).clone() }));
        if self.delays() {
            context.release(&mut packet);
        }
        let is_damaged = self.corrupt.hits(context);
        self.own.corrupted += u64::from(is_damaged);
        if self.held() >= self.limit {
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::TailFull);
            return Enqueued::Dropped;
        }
        if let Some(copy) = copy {
            self.own.duplicated += 1;
            context.effects.copies.push(copy);
        }
        packet.enqueued = context.now;
        if is_damaged {
            self.schedule_damaged(packet, context);
        } else {
            self.schedule(packet, context);
        }
        Enqueued::Queued
    }

    /// True if it delays packets at all; they are then in the emulated network, not in a queue of the sender.
    fn delays(&self) -> bool {
        self.delay.mean > 0 || self.delay.jitter > 0 || self.line.is_some()
    }

    /// A packet that has a bit flipped. Of a train that is its first segment; the others are enqueued anew.
    /// [linux-6.12 sch_netem.c netem_segment]
    fn schedule_damaged(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) {
        if packet.segments == 1 {
            packet.payload = Payload::Damaged;
            return self.schedule(packet, context);
        }
        self.ledger.segmented(&packet);
        let mut segments = packet.clone().into_segments().into_iter();
        context.refuse(packet, DropReason::Segmented);
        if let Some(first) = segments.next() {
            self.schedule(Box::new(Packet { payload: Payload::Damaged, ..first }), context);
        }
        for segment in segments {
            self.take(Box::new(segment), context);
        }
    }

    fn held(&self) -> usize {
        self.waiting.len() + self.child.as_ref().map_or(0, |child| child.backlog().packets as usize)
    }

    fn is_lost(&mut self, packet: &mut Packet, context: &mut Context<'_>) -> bool {
        if !self.loss.next(context.draws) {
            return false;
        }
        if self.ecn && packet.mark() {
            self.own.ecn_marked += 1;
            self.ledger.marked += 1;
            return false;
        }
        true
    }

    fn schedule(&mut self, packet: Box<Packet>, context: &mut Context<'_>) {
        let stays = self.gap == 0
            || self.since_reordered + 1 < self.gap
            || self.reorder.stream.next(context.draws) > self.reorder.share;
        if !stays {
            (self.since_reordered, self.own.reordered) = (0, self.own.reordered + 1);
            return self.waiting.push_front((context.now, packet));
        }
        self.since_reordered += 1;
        let at = self.departure(&packet, context);
        self.own.delayed += u64::from(at > context.now);
        let place = match self.waiting.back() {
            Some((last, _)) if *last > at => self.waiting.partition_point(|(other, _)| *other <= at),
            _ => self.waiting.len(),
        };
        self.waiting.insert(place, (at, packet));
    }

    fn departure(&mut self, packet: &Packet, context: &mut Context<'_>) -> SimTime {
        let mut delay = self.delay.next(context.draws);
        let Some(line) = self.line else { return context.now + span(delay) };
        let mut base = context.now;
        if let Some((last, _)) = self.waiting.back() {
            // The time until the previous packet has left is part of the delay.
            delay -= last.since(context.now).as_nanos() as i64;
            base = base.max(*last);
        }
        base + span(delay) + line.time_for(packet.frame_length())
    }

    /// The packet that is due, or when the next one is.
    fn take_due(&mut self, context: &mut Context<'_>) -> Result<Box<Packet>, SimTime> {
        let Some((at, _)) = self.waiting.front() else { return Err(SimTime::NEVER) };
        let slot = self.slots.as_mut().map_or(SimTime::ZERO, |slots| slots.opens(*at, context));
        let at = slot.max(*at);
        if at > context.now {
            return Err(at);
        }
        let (_, packet) = self.waiting.pop_front().expect("there is a first one");
        if let Some(slots) = &mut self.slots {
            slots.use_up(packet.frame_length());
        }
        Ok(packet)
    }

    fn pass_to_child(&mut self, packet: Box<Packet>, context: &mut Context<'_>) {
        let before = context.effects.dropped.len();
        if let Some(child) = &mut self.child {
            child.enqueue(packet, context);
        }
        self.ledger.drop_since(before, &context.effects.dropped);
    }

    fn ask_child(&mut self, wake: SimTime, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let answer = self.child.as_mut().map_or(Dequeued::Empty, |child| child.dequeue(context));
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        match answer {
            Dequeued::Packet(packet) => {
                self.ledger.leave(&packet);
                Dequeued::Packet(packet)
            }
            Dequeued::NotBefore(at) => Dequeued::NotBefore(at.min(wake)),
            Dequeued::Empty if wake < SimTime::NEVER => Dequeued::NotBefore(wake),
            Dequeued::Empty => Dequeued::Empty,
        }
    }
}

impl Line {
    fn time_for(&self, length: u32) -> Span {
        let length = (u64::from(length) + self.overhead).saturating_sub(self.undercharge);
        let length = if self.cell == 0 {
            length
        } else {
            length.div_ceil(self.cell) * (self.cell + self.cell_overhead)
        };
        self.rate.time_for(Bytes(length))
    }
}

impl Slots {
    /// When the slot for a packet that is due at `due` opens.
    fn opens(&mut self, due: SimTime, context: &mut Context<'_>) -> SimTime {
        let full = self.packets_left <= 0 || self.bytes_left <= 0;
        if full && due <= context.now && self.next <= context.now {
            self.next = context.now.max(self.next);
            self.open_next(context);
            return context.now;
        }
        if full { self.next } else { SimTime::ZERO }
    }

    fn open_next(&mut self, context: &mut Context<'_>) {
        let gap = self.min + u64::from(context.draws.next_u32()) % (self.max - self.min + 1);
        self.next += Span::from_nanos(gap.max(1));
        let room = |limit: u64| if limit == 0 { i64::MAX } else { limit as i64 };
        (self.packets_left, self.bytes_left) = (room(self.packets), room(self.bytes));
    }

    fn use_up(&mut self, length: u32) {
        self.packets_left -= 1;
        self.bytes_left -= i64::from(length);
    }
}

fn span(ns: i64) -> Span {
    Span::from_nanos(ns.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use tailback_units::Parameters;

    use super::options::WHOLE;
    use super::*;
    use crate::Attachment;
    use crate::testing::{Rig, number, numbered, packet};

    const MS: u64 = 1_000_000;
    const PER_CENT: u64 = WHOLE / 100;

    /// Packets arrive at gaps of `gap`; returns their numbers and departure times in ms.
    fn through(given: &[(&str, u64)], packets: u32, gap: Span) -> Vec<(u32, f64)> {
        let mut rig = Rig::of("netem", given);
        let mut left = Vec::new();
        for n in 0..packets {
            let arrival = SimTime::ZERO + gap * u64::from(n);
            run_until(&mut rig, arrival, &mut left);
            rig.enqueue(numbered(0, n));
        }
        run_until(&mut rig, SimTime::NEVER, &mut left);
        left
    }

    fn run_until(rig: &mut Rig, end: SimTime, left: &mut Vec<(u32, f64)>) {
        loop {
            match rig.dequeue() {
                Dequeued::Packet(packet) => left.push((number(&packet), rig.now.as_nanos() as f64 / 1e6)),
                Dequeued::NotBefore(t) if t <= end => rig.now = t,
                _ => break,
            }
        }
        if end < SimTime::NEVER {
            rig.now = end;
        }
    }

    #[test]
    fn a_delay_is_exact_and_keeps_the_order() {
        let left = through(&[("delay", 10 * MS)], 100, Span::from_micros(100));
        assert!(
            left.iter().enumerate().all(|(n, &(number, at))| {
                number == n as u32 && (at - 10.0 - n as f64 * 0.1).abs() < 1e-9
            })
        );
    }

    #[test]
    fn the_limit_includes_delayed_packets() {
        let left = through(&[("delay", 100 * MS)], 2000, Span::from_micros(10));
        assert_eq!(left.len(), 1000);
    }

    #[test]
    fn with_a_rate_and_a_delay_a_burst_is_spaced_and_delayed_once() {
        let left = through(&[("delay", 20 * MS), ("rate", 10_000_000)], 10, Span::ZERO);
        assert!((left[0].1 - 21.2112).abs() < 1e-6, "{left:?}");
        assert!(left.windows(2).all(|pair| (pair[1].1 - pair[0].1 - 1.2112).abs() < 1e-6), "{left:?}");
    }

    #[test]
    fn jitter_reorders_unless_there_is_a_rate() {
        let jitter = [("delay", 100 * MS), ("jitter", 10 * MS)];
        let in_order = |left: &[(u32, f64)]| left.is_sorted_by_key(|(number, _)| *number);
        assert!(!in_order(&through(&jitter, 200, Span::from_millis(1))));
        let with_rate = [jitter[0], jitter[1], ("rate", 100_000_000)];
        assert!(in_order(&through(&with_rate, 200, Span::from_millis(1))));
    }

    #[test]
    fn with_a_gap_of_five_every_fifth_packet_overtakes_by_the_delay() {
        let given = [("delay", 10 * MS), ("reorder", WHOLE), ("gap", 5)];
        let left = through(&given, 100, Span::from_millis(1));
        let early: Vec<u32> =
            left.iter().filter(|(n, at)| (at - f64::from(*n)).abs() < 1e-9).map(|(n, _)| *n).collect();
        assert_eq!(early[..4], [4, 9, 14, 19]);
    }

    #[test]
    fn a_packet_over_the_limit_is_not_duplicated() {
        let mut rig = Rig::of("netem", &[("delay", 10 * MS), ("duplicate", WHOLE), ("limit", 1)]);
        rig.enqueue(numbered(0, 0));
        assert_eq!(
            (rig.counter("duplicated"), rig.effects.dropped.len()),
            (1, 1),
            "the copy was over the limit"
        );
        let mut context = rig.effects.context(rig.now, &mut rig.draws);
        assert_eq!(rig.qdisc.enqueue(Box::new(numbered(0, 1)), &mut context), Enqueued::Dropped);
        assert!(rig.effects.copies.is_empty());
        assert_eq!((rig.counter("duplicated"), rig.effects.dropped.len()), (1, 2));
    }

    #[test]
    fn a_duplicate_is_enqueued_at_the_root_and_not_duplicated_again() {
        let left = through(&[("delay", 10 * MS), ("duplicate", WHOLE)], 10, Span::from_millis(1));
        assert_eq!(left.len(), 20);
    }

    #[test]
    fn the_sender_does_not_notice_a_random_loss() {
        let mut rig = Rig::of("netem", &[("loss", 50 * PER_CENT)]);
        let answers: Vec<_> = (0..100).map(|_| rig.enqueue(packet(0, 1514))).collect();
        let lost = answers.iter().filter(|&&answer| answer == Enqueued::Lost).count();
        assert!((30..70).contains(&lost) && rig.effects.dropped.len() == lost);
        assert!(rig.effects.dropped.iter().all(|(_, why)| *why == DropReason::RandomLoss));
    }

    #[test]
    fn a_delayed_packet_is_no_longer_charged_to_its_socket() {
        let charged = Packet { charged: true, ..packet(0, 1514) };
        for (delay, released) in [(10 * MS, 1), (0, 0)] {
            let mut rig = Rig::of("netem", &[("delay", delay)]);
            rig.enqueue(charged.clone());
            assert_eq!(rig.effects.credits.len(), released);
        }
    }

    #[test]
    fn a_corrupted_packet_is_lost_at_its_destination() {
        let mut rig = Rig::of("netem", &[("corrupt", WHOLE)]);
        rig.enqueue(packet(0, 1514));
        assert!(matches!(rig.dequeue(), Dequeued::Packet(packet) if packet.payload == Payload::Damaged));
    }

    #[test]
    fn slots_let_packets_leave_together() {
        let given = [("slot_min", 10 * MS), ("slot_max", 10 * MS), ("slot_packets", 3)];
        let left = through(&given, 9, Span::from_millis(1));
        let instants: Vec<f64> = left.iter().map(|(_, at)| *at).collect();
        assert_eq!(instants, [0.0, 1.0, 2.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
    }

    #[test]
    fn capable_packets_are_marked_instead_of_lost() {
        let mut rig = Rig::of("netem", &[("loss", WHOLE), ("ecn", 1)]);
        assert_eq!(
            rig.enqueue(Packet { ecn: tailback_packet::Ecn::Ect0, ..packet(0, 1514) }),
            Enqueued::Queued
        );
        assert_eq!(rig.enqueue(packet(0, 1514)), Enqueued::Lost);
        assert_eq!(rig.counter("ecn_marked"), 1);
    }

    #[test]
    fn due_packets_pass_through_the_child() {
        let child = crate::registry::build(
            "htb",
            &Parameters::new([("rate".into(), 10_000_000)].into()),
            &Attachment::default(),
            None,
        );
        let mut rig = Rig::over("netem", &[("delay", 10 * MS)], child.ok());
        (0..5).for_each(|n| assert_eq!(rig.enqueue(numbered(0, n)), Enqueued::Queued));
        let mut left = Vec::new();
        run_until(&mut rig, SimTime::NEVER, &mut left);
        assert_eq!(left.len(), 5);
        assert!((left[0].1, left[4].1) == (10.0, 10.0 + 1.1424 + 2.0 * 1.2112), "{left:?}");
    }

    #[test]
    fn a_rate_without_a_delay_is_a_queue_of_limit_packets() {
        let left = through(&[("rate", 10_000_000), ("limit", 50)], 80, Span::ZERO);
        let numbers: Vec<u32> = left.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
        assert!(left.windows(2).all(|pair| (pair[1].1 - pair[0].1 - 1.2112).abs() < 1e-6), "{left:?}");
    }
}
