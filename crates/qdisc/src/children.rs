//! The first packet of several children: the common part of `prio` and `mq`.

use tailback_units::SimTime;

use crate::{Context, Dequeued, Qdisc};

/// Dequeues from the first child that gives a packet, in this order; the place of that child.
pub(crate) fn dequeue_first(
    children: &mut [Box<dyn Qdisc>],
    order: impl Iterator<Item = usize>,
    context: &mut Context<'_>,
) -> (Dequeued, Option<usize>) {
    let mut wake = SimTime::NEVER;
    for place in order {
        match children[place].dequeue(context) {
            Dequeued::NotBefore(at) => wake = wake.min(at),
            Dequeued::Empty => {}
            packet @ Dequeued::Packet(_) => return (packet, Some(place)),
        }
    }
    (if wake < SimTime::NEVER { Dequeued::NotBefore(wake) } else { Dequeued::Empty }, None)
}
