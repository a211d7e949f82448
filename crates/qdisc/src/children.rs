//! Children of a discipline: one whose next packet its parent may look at, and the first packet of several.

use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::{Backlog, Context, Counters, Dequeued, Enqueued, Peeked, Qdisc};

/// A child whose parent may look at its next packet before it takes it. Where the child cannot look, the packet is
/// dequeued, and kept here. [linux-6.12 qdisc_peek_dequeued]
pub(crate) struct Peekable {
    qdisc: Box<dyn Qdisc>,
    peeked: Option<Box<Packet>>,
}

impl Peekable {
    pub fn new(qdisc: Box<dyn Qdisc>) -> Self {
        Peekable { qdisc, peeked: None }
    }

    #[inline]
    pub fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.qdisc.enqueue(packet, context)
    }

    pub fn queues_segments(&self, train: &Packet) -> bool {
        self.qdisc.queues_segments(train)
    }

    /// Looks at the packet that the next `dequeue` returns: a frame, a time, or nothing.
    #[inline]
    pub fn peek(&mut self, context: &mut Context<'_>) -> Peeked {
        if let Some(peeked) = &self.peeked {
            return Peeked::Frame(peeked.frame_length());
        }
        if let Some(found) = self.qdisc.peek(context) {
            return found;
        }
        match self.qdisc.dequeue(context) {
            Dequeued::Packet(packet) => {
                let length = packet.frame_length();
                self.qdisc.note_peeked(Some(length));
                self.peeked = Some(packet);
                Peeked::Frame(length)
            }
            Dequeued::NotBefore(at) => Peeked::NotBefore(at),
            Dequeued::Empty => Peeked::Empty,
        }
    }

    #[inline]
    pub fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        match self.peeked.take() {
            Some(packet) => {
                self.qdisc.note_peeked(None);
                Dequeued::Packet(packet)
            }
            None => self.qdisc.dequeue(context),
        }
    }

    pub fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    pub fn counters(&self) -> Counters {
        self.qdisc.counters()
    }
}

impl AsRef<dyn Qdisc> for Peekable {
    fn as_ref(&self) -> &(dyn Qdisc + 'static) {
        self.qdisc.as_ref()
    }
}

/// Dequeues by `dequeue` from the first of some children that gives a packet, in this order; the place of that child.
pub(crate) fn dequeue_first(
    order: impl Iterator<Item = usize>,
    mut dequeue: impl FnMut(usize) -> Dequeued,
) -> (Dequeued, Option<usize>) {
    let mut wake = SimTime::NEVER;
    for place in order {
        match dequeue(place) {
            Dequeued::NotBefore(at) => wake = wake.min(at),
            Dequeued::Empty => {}
            packet @ Dequeued::Packet(_) => return (packet, Some(place)),
        }
    }
    (if wake < SimTime::NEVER { Dequeued::NotBefore(wake) } else { Dequeued::Empty }, None)
}

/// Looks at the packet that [`dequeue_first`] would return.
pub(crate) fn peek_first<'a>(
    children: impl Iterator<Item = &'a mut Peekable>,
    context: &mut Context<'_>,
) -> Peeked {
    let mut wake = SimTime::NEVER;
    for child in children {
        match child.peek(context) {
            Peeked::NotBefore(at) => wake = wake.min(at),
            Peeked::Empty => {}
            found => return found,
        }
    }
    if wake < SimTime::NEVER { Peeked::NotBefore(wake) } else { Peeked::Empty }
}
