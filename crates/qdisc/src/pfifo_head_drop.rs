//! `pfifo_head_drop`: first in, first out; a full queue drops its oldest packet to accept the newest.
//!
//! enqueue: over `limit` packets drop the head, append the arrival, return congestion to the sender
//! dequeue: the oldest                                                   [linux-6.12 sch_fifo.c pfifo_tail_enqueue]
//!
//! The receiver learns of a loss a whole queue earlier than from a tail drop. Deviation: as `pfifo`.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::fifo::Fifo;
use crate::{
    Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row,
};

pub(crate) const ROW: Row = Row {
    name: "pfifo_head_drop",
    summary: "first in, first out; a full queue drops its oldest packet",
    source: include_str!("pfifo_head_drop.rs"),
    parameters: &[Parameter::new(
        "limit",
        ParameterUnit::Packets,
        None,
        (0, u32::MAX as u64),
        "maximum number of packets; default: `txqueuelen` of the device",
    )],
    classful: false,
    classes: None,
    derive,
    build,
};

struct PfifoHeadDrop {
    queue: Fifo,
    limit: u32,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("limit", u64::from(device.queue_length.max(1)));
    Ok(())
}

fn build(given: &Parameters, _device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    Ok(Box::new(PfifoHeadDrop { queue: Fifo::default(), limit: given.require("limit")? as u32 }))
}

impl Qdisc for PfifoHeadDrop {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        if self.queue.backlog().packets < self.limit {
            return self.queue.append(packet, context);
        }
        if self.limit == 0 {
            return self.queue.tail_drop(packet, context);
        }
        self.queue.drop_head(DropReason::Overlimit, context);
        self.queue.append(packet, context);
        Enqueued::Congestion
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
    use crate::testing::{Rig, numbered};

    #[test]
    fn a_full_queue_drops_its_oldest_packets() {
        let mut rig = Rig::of("pfifo_head_drop", &[("limit", 3)]);
        let answers: Vec<_> = (0..5).map(|n| rig.enqueue(numbered(0, n))).collect();
        assert_eq!(answers[2..], [Enqueued::Queued, Enqueued::Congestion, Enqueued::Congestion]);
        assert_eq!(rig.drain(), [2, 3, 4]);
    }

    #[test]
    fn with_a_limit_of_zero_every_packet_is_dropped() {
        let mut rig = Rig::of("pfifo_head_drop", &[("limit", 0)]);
        assert_eq!(rig.enqueue(numbered(0, 0)), Enqueued::Dropped);
        assert!(rig.drain().is_empty());
    }
}
