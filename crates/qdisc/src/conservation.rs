//! At the end of a run each discipline is emptied: what leaves and what it drops must be what its ledger says is waiting.
//!
//! A ledger alone cannot show that a packet has vanished: what it calls waiting is the difference of its other counts. To
//! count what is really there costs nothing while the run lasts.

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_units::SimTime;
use thiserror::Error;

use crate::{Backlog, Dequeued, Effects, Qdisc, visit};

/// Times that a discipline may put off its next packet for each that it has. A shaper with classes does so a few times.
const WAITS_PER_PACKET: u64 = 1_000;

/// A discipline whose packets are not those of its ledger.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "its ledger has {} packets ({} bytes) waiting and it held {} ({} bytes), after which its `{kind}` says {} wait",
    ledger.packets, ledger.bytes, held.packets, held.bytes, left.packets
)]
pub struct Leak {
    /// The discipline, or the one below it, that says so.
    pub kind: &'static str,
    /// What waited according to the ledger.
    pub ledger: Backlog,
    /// What came out.
    pub held: Backlog,
    /// What waits, according to the ledger, when nothing comes out any more.
    pub left: Backlog,
}

/// Empties a discipline; it is of no use afterwards.
pub fn check_conservation(root: &mut dyn Qdisc, now: SimTime, draws: &mut dyn Rng) -> Result<(), Leak> {
    // Packets leave a size table with the lengths of their frames; its ledger has those of the table.
    if let Some(inner) = root.under_size_table() {
        return check_conservation(inner, now, draws);
    }
    let ledger = root.backlog();
    let held = emptied(root, now, draws);
    let mut leak = (ledger != held).then_some((root.kind(), root.backlog()));
    visit(root, &mut |_, qdisc| {
        if leak.is_none() && qdisc.backlog() != Backlog::default() {
            leak = Some((qdisc.kind(), qdisc.backlog()));
        }
    });
    leak.map_or(Ok(()), |(kind, left)| Err(Leak { kind, ledger, held, left }))
}

/// Takes all packets out of a discipline, at whatever time they leave. Returns how many there were at `now`.
fn emptied(root: &mut dyn Qdisc, mut now: SimTime, draws: &mut dyn Rng) -> Backlog {
    let (mut effects, mut held, mut cut) = (Effects::default(), Backlog::default(), 0);
    let mut waits = (u64::from(root.backlog().packets) + 1) * WAITS_PER_PACKET;
    let mut goes_on = true;
    while goes_on {
        match root.dequeue(&mut effects.context(now, draws)) {
            Dequeued::Packet(packet) => add(&mut held, &packet),
            Dequeued::NotBefore(at) if at > now && at < SimTime::NEVER && waits > 0 => {
                (now, waits) = (at, waits - 1);
            }
            Dequeued::NotBefore(_) | Dequeued::Empty => goes_on = false,
        }
        for (packet, reason) in effects.dropped.drain(..) {
            match reason {
                // Its segments come out in its place.
                DropReason::Segmented => cut += u32::from(packet.segments) - 1,
                _ => add(&mut held, &packet),
            }
        }
        effects.copies.clear();
    }
    Backlog { packets: held.packets.saturating_sub(cut), ..held }
}

fn add(held: &mut Backlog, packet: &Packet) {
    held.packets += 1;
    held.bytes += u64::from(packet.frame_length());
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::ledger::Ledger;
    use crate::size_table::{SizeTableSpec, Sized};
    use crate::testing::{Rig, numbered};
    use crate::{Context, Counters, Enqueued};
    use tailback_packet::DropReason;

    /// Loses every third packet without a word, or invents one.
    struct Leaky {
        waiting: VecDeque<Box<Packet>>,
        ledger: Ledger,
        invents: bool,
    }

    impl Qdisc for Leaky {
        fn enqueue(&mut self, packet: Box<Packet>, _context: &mut Context<'_>) -> Enqueued {
            self.ledger.arrive(&packet);
            let third = self.ledger.backlog().packets.is_multiple_of(3);
            if third && self.invents {
                self.waiting.push_back(packet.clone());
            }
            if !third || self.invents {
                self.waiting.push_back(packet);
            }
            Enqueued::Queued
        }
        fn dequeue(&mut self, _context: &mut Context<'_>) -> Dequeued {
            self.waiting.pop_back().map_or(Dequeued::Empty, Dequeued::Packet)
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
            "leaky"
        }
    }

    fn checked(mut rig: Rig, packets: u32) -> Result<(), Leak> {
        for n in 0..packets {
            rig.enqueue(numbered(n % 3, n));
        }
        check_conservation(rig.qdisc.as_mut(), rig.now, &mut rig.draws)
    }

    #[test]
    fn a_packet_lost_or_invented_without_a_word_is_noticed() {
        for (invents, held) in [(false, 5), (true, 9)] {
            let leaky = Leaky { waiting: VecDeque::new(), ledger: Ledger::default(), invents };
            let leak = checked(Rig { qdisc: Box::new(leaky), ..Rig::of("pfifo", &[]) }, 7).unwrap_err();
            assert_eq!((leak.kind, leak.ledger.packets, leak.held.packets), ("leaky", 7, held));
        }
    }

    #[test]
    fn a_shaper_with_a_queue_is_emptied_however_long_that_takes() {
        assert_eq!(checked(Rig::of("htb", &[("rate", 8)]), 100), Ok(()));
        let slots = [("delay", 1_000_000), ("slot_min", 1_000_000_000), ("slot_packets", 1)];
        assert_eq!(checked(Rig::of("netem", &slots), 100), Ok(()));
    }

    #[test]
    fn the_lengths_of_a_size_table_are_those_of_its_ledger() {
        let spec = SizeTableSpec { overhead: 44, mpu: 128, mtu: 2047, entries: 512, in_cells: true };
        for (kind, options) in [("htb", &[("rate", 8)][..]), ("bfifo", &[]), ("fq_codel", &[])] {
            let rig = Rig::of(kind, options);
            let sized = Rig { qdisc: Box::new(Sized::new(&spec, rig.qdisc)), ..Rig::of("pfifo", &[]) };
            assert_eq!(checked(sized, 10), Ok(()), "{kind}");
        }
    }

    #[test]
    fn a_packet_lost_below_a_size_table_is_noticed() {
        let spec = SizeTableSpec { overhead: 44, mpu: 0, mtu: 2047, entries: 512, in_cells: false };
        let leaky = Leaky { waiting: VecDeque::new(), ledger: Ledger::default(), invents: false };
        let sized = Rig { qdisc: Box::new(Sized::new(&spec, Box::new(leaky))), ..Rig::of("pfifo", &[]) };
        assert_eq!(checked(sized, 7).unwrap_err().held.packets, 5);
    }

    #[test]
    fn what_is_dropped_while_it_is_emptied_was_there() {
        let mut rig = Rig::of("codel", &[]);
        for n in 0..900 {
            rig.enqueue(numbered(0, n));
        }
        rig.now = SimTime::from_nanos(5_000_000_000);
        assert_eq!(check_conservation(rig.qdisc.as_mut(), rig.now, &mut rig.draws), Ok(()));
        assert!(rig.effects.dropped.iter().all(|(_, why)| *why == DropReason::TailFull));
    }
}
