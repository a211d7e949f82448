//! `bfifo`: first in, first out, limited in bytes.
//!
//! enqueue: append while backlog + L ≤ `limit`, else drop the arrival (tail drop)
//! dequeue: the oldest                                                        [linux-6.12 sch_fifo.c]
//!
//! Bytes are frame lengths without FCS. After a long packet is dropped, a shorter one may still be accepted.

use tailback_packet::Packet;
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::fifo::Fifo;
use crate::{
    Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row,
};

pub(crate) const ROW: Row = Row {
    name: "bfifo",
    summary: "first in, first out, limited in bytes",
    source: include_str!("bfifo.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const PARAMETERS: &[Parameter] = &[Parameter::new(
    "limit",
    ParameterUnit::Bytes,
    None,
    (0, u32::MAX as u64),
    "maximum number of frame bytes; default: `txqueuelen` · (MTU + 14)",
)];

/// A FIFO that counts bytes.
pub(crate) struct Bfifo {
    queue: Fifo,
    limit: u64,
    longest_frame: u64,
}

impl Bfifo {
    /// Holds at most `limit` frame bytes of this device.
    pub fn new(limit: u64, device: &Attachment) -> Self {
        Bfifo { queue: Fifo::default(), limit, longest_frame: u64::from(device.mtu) }
    }
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("limit", u64::from(device.queue_length.max(1)) * u64::from(device.mtu));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    Ok(Box::new(Bfifo::new(given.require("limit")?, device)))
}

impl Qdisc for Bfifo {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        if self.queue.backlog().bytes + u64::from(packet.frame_length()) <= self.limit {
            self.queue.append(packet, context)
        } else {
            self.queue.tail_drop(packet, context)
        }
    }

    fn can_bypass(&self) -> bool {
        self.limit >= self.longest_frame
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
    use crate::testing::{Rig, packet};

    #[test]
    fn a_packet_that_exactly_fills_the_limit_is_accepted() {
        let mut rig = Rig::of("bfifo", &[("limit", 3000)]);
        assert_eq!(rig.enqueue(packet(0, 1500)), Enqueued::Queued);
        assert_eq!(rig.enqueue(packet(0, 1500)), Enqueued::Queued);
        assert_eq!(rig.enqueue(packet(0, 60)), Enqueued::Dropped);
    }

    #[test]
    fn it_holds_as_many_small_packets_as_fit_its_bytes() {
        let mut rig = Rig::of("bfifo", &[("limit", 10_000)]);
        rig.fill(200, &packet(0, 98));
        assert_eq!(rig.qdisc.backlog(), Backlog { packets: 102, bytes: 102 * 98 });
    }

    #[test]
    fn a_short_packet_still_fits_where_a_long_one_was_refused() {
        let mut rig = Rig::of("bfifo", &[("limit", 2000)]);
        assert_eq!(rig.enqueue(packet(0, 1514)), Enqueued::Queued);
        assert_eq!(rig.enqueue(packet(0, 1514)), Enqueued::Dropped);
        assert_eq!(rig.enqueue(packet(0, 486)), Enqueued::Queued);
    }

    #[test]
    fn its_limit_is_a_device_queue_of_full_frames_unless_given() {
        let mut rig = Rig::of("bfifo", &[]);
        rig.fill(1001, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().bytes, 1_514_000);
    }
}
