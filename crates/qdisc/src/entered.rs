//! When packets entered a root discipline in which their time begins anew: disciplines in series, `netem` above another.
//!
//! Each discipline writes `packet.enqueued`, from which its law reads how long a packet waited in it. A device wants to know
//! how long the packet was in all of them. The times are kept beside the packets, by the addresses at which they lie: a packet
//! stays in its box until it leaves or is dropped. The segments of a train that a discipline cuts lie elsewhere; their time
//! is that in the last discipline.

use std::collections::BTreeMap;

use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::wrapped::inner_answers;
use crate::{Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Part, Peeked, Qdisc};

/// A discipline whose packets leave with the time at which they entered it.
pub struct Entered {
    inner: Box<dyn Qdisc>,
    times: BTreeMap<usize, SimTime>,
}

impl Entered {
    /// `built`, with these times if it does not keep them itself.
    pub fn kept(built: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        match built.restarts_sojourns() {
            true => Box::new(Entered { inner: built, times: BTreeMap::new() }),
            false => built,
        }
    }

    /// Forgets the packets that were dropped since `before` of them were.
    fn forget_dropped(&mut self, before: usize, context: &Context<'_>) {
        for (packet, _) in &context.effects.dropped[before..] {
            self.times.remove(&place_of(packet));
        }
    }
}

fn place_of(packet: &Packet) -> usize {
    std::ptr::from_ref(packet).addr()
}

impl Qdisc for Entered {
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let before = context.effects.dropped.len();
        self.times.insert(place_of(&packet), context.now);
        let answer = self.inner.enqueue(packet, context);
        self.forget_dropped(before, context);
        answer
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let mut found = self.inner.dequeue(context);
        self.forget_dropped(before, context);
        if let Dequeued::Packet(packet) = &mut found
            && let Some(entered) = self.times.remove(&place_of(packet))
        {
            packet.enqueued = entered;
        }
        found
    }

    fn can_bypass(&self) -> bool {
        self.inner.can_bypass()
    }

    fn has_size_table(&self) -> bool {
        self.inner.has_size_table()
    }

    fn under_size_table(&mut self) -> Option<&mut dyn Qdisc> {
        self.inner.under_size_table()
    }

    fn restarts_sojourns(&self) -> bool {
        false
    }

    inner_answers!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered};
    use crate::{Attachment, Series, registry};
    use tailback_units::{Parameters, Span};

    const DELAY: [(&str, u64); 2] = [("delay", 10_000_000), ("limit", 1000)];

    fn built(kind: &str, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> Box<dyn Qdisc> {
        let values = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        registry::build(kind, &Parameters::new(values), &Attachment::default(), child).expect("a discipline")
    }

    /// How long each of ten packets that come each ms was in a discipline, in µs.
    fn stays(qdisc: Box<dyn Qdisc>) -> Vec<u64> {
        let mut rig = Rig { qdisc: Entered::kept(qdisc), ..Rig::of("pfifo", &[]) };
        let mut found = Vec::new();
        for n in 0..40 {
            if n < 10 {
                rig.enqueue(numbered(0, n));
            }
            while let Dequeued::Packet(packet) = rig.dequeue() {
                found.push(rig.now.since(packet.enqueued).as_micros());
            }
            rig.advance(Span::from_millis(1));
        }
        found
    }

    #[test]
    fn a_packet_was_in_all_disciplines_from_when_it_entered_the_first() {
        let series = || vec![built("netem", &DELAY, None), built("netem", &DELAY, None)];
        assert_eq!(stays(Box::new(Series::new(series()))), [20_000; 10]);
        assert_eq!(stays(built("netem", &DELAY, Some(built("netem", &DELAY, None)))), [20_000; 10]);
    }

    #[test]
    fn the_times_of_packets_that_were_dropped_are_forgotten() {
        let few = [("delay", 10_000_000), ("limit", 3)];
        let stages = vec![built("netem", &DELAY, None), built("netem", &few, None)];
        let mut qdisc = Entered { inner: Box::new(Series::new(stages)), times: BTreeMap::new() };
        let mut rig = Rig::of("pfifo", &[]);
        for n in 0..10 {
            let mut context = rig.effects.context(rig.now, &mut rig.draws);
            qdisc.enqueue(Box::new(numbered(0, n)), &mut context);
        }
        for _ in 0..30 {
            rig.advance(Span::from_millis(1));
            let mut context = rig.effects.context(rig.now, &mut rig.draws);
            while let Dequeued::Packet(_) = qdisc.dequeue(&mut context) {}
        }
        assert_eq!((rig.effects.dropped.len(), qdisc.times.len()), (7, 0));
    }

    #[test]
    fn a_discipline_that_keeps_the_time_itself_is_left_as_it_is() {
        assert!(
            !built("htb", &[("rate", 1_000_000)], Some(built("fq_codel", &[], None))).restarts_sojourns()
        );
        assert!(
            built(
                "htb",
                &[("rate", 1_000_000)],
                Some(built("netem", &DELAY, Some(built("pfifo", &[], None))))
            )
            .restarts_sojourns()
        );
    }
}
