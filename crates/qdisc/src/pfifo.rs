//! `pfifo`: first in, first out, limited in packets.
//!
//! enqueue: append while fewer than `limit` packets wait, else drop the arrival (tail drop)
//! dequeue: the oldest
//! A full queue in front of a link of rate R delays by limit · L / R.         [linux-6.12 sch_fifo.c]
//!
//! A train of segments counts as one packet. Deviation: a `txqueuelen` of 0 gives a limit of 1, as before 5.x.

use tailback_packet::Packet;
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::fifo::Fifo;
use crate::{
    Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row,
};

pub(crate) const ROW: Row = Row {
    name: "pfifo",
    summary: "first in, first out, limited in packets",
    source: include_str!("pfifo.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const PARAMETERS: &[Parameter] = &[Parameter::new(
    "limit",
    ParameterUnit::Packets,
    None,
    (0, u32::MAX as u64),
    "maximum number of packets; default: `txqueuelen` of the device",
)];

/// A FIFO that counts packets.
pub(crate) struct Pfifo {
    queue: Fifo,
    limit: u32,
}

impl Pfifo {
    /// Holds at most `limit` packets.
    pub fn new(limit: u32) -> Self {
        Pfifo { queue: Fifo::default(), limit }
    }
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("limit", u64::from(device.queue_length.max(1)));
    Ok(())
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    Ok(Box::new(Pfifo::new(given.require("limit")? as u32)))
}

impl Qdisc for Pfifo {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        if self.queue.backlog().packets < self.limit {
            self.queue.append(packet, context)
        } else {
            self.queue.tail_drop(packet, context)
        }
    }

    fn can_bypass(&self) -> bool {
        self.limit > 0
    }

    fn count_bypassed(&mut self, bypassed: Bypassed) {
        self.queue.ledger.bypass(bypassed);
    }

    #[inline]
    fn dequeue(&mut self, _context: &mut Context<'_>) -> Dequeued {
        self.queue.take()
    }

    fn peek(&mut self, _context: &mut Context<'_>) -> Option<Peeked> {
        Some(self.queue.peek())
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.queue.high_water()
    }

    fn counters(&self) -> Counters {
        self.queue.counters()
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};
    use tailback_packet::DropReason;
    use tailback_units::Span;

    #[test]
    fn the_packet_after_the_limit_is_the_first_to_be_dropped() {
        let mut rig = Rig::of("pfifo", &[("limit", 180)]);
        let answers: Vec<_> = (0..181).map(|_| rig.enqueue(packet(0, 1514))).collect();
        assert!(answers[..180].iter().all(|answer| *answer == Enqueued::Queued));
        assert_eq!(answers[180], Enqueued::Dropped);
        assert_eq!(rig.effects.dropped[0].1, DropReason::TailFull);
    }

    #[test]
    fn a_saturated_queue_delays_by_limit_times_length_over_rate() {
        for (limit, delay_us) in [(180, 218_016), (1000, 1_211_200), (2000, 2_422_400)] {
            let mut rig = Rig::of("pfifo", &[("limit", limit)]);
            rig.fill(limit as u32, &packet(0, 1514));
            (1..limit).for_each(|_| drop(rig.serve(10_000_000)));
            let last = rig.serve(10_000_000).expect("the last packet");
            assert_eq!(rig.now.since(last.enqueued), Span::from_micros(delay_us));
        }
    }

    #[test]
    fn short_packets_fill_it_as_long_ones_do() {
        let mut rig = Rig::of("pfifo", &[("limit", 10)]);
        rig.fill(20, &packet(0, 60));
        assert_eq!(rig.qdisc.backlog(), Backlog { packets: 10, bytes: 600 });
    }

    #[test]
    fn its_limit_is_the_queue_length_of_the_device_unless_given() {
        let mut rig = Rig::of("pfifo", &[]);
        rig.fill(1001, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().packets, 1000);
    }

    #[test]
    fn packets_leave_in_the_order_of_arrival_whatever_their_flow() {
        let mut rig = Rig::of("pfifo", &[("limit", 4)]);
        for n in 0..6 {
            rig.enqueue(numbered(n % 2, n));
        }
        assert_eq!(rig.drain(), [0, 1, 2, 3]);
    }
}
