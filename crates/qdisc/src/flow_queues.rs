//! FIFO queues, one per flow, over one shared slab of packets.
//!
//! An empty queue takes 24 bytes beside what the discipline keeps of it. Slots come from a free list and return to it, so
//! there is no allocation once the slab has grown to the largest backlog. The slot freed last is reused first, because it
//! is likely to be cached.

use std::ops::ControlFlow;

use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::index_list::NONE;

/// FIFO queues numbered from 0. A discipline may keep its state of a flow beside each: with thousands of flows a packet
/// waits for memory, and both are in one line of the cache.
pub struct FlowQueues<State = ()> {
    slots: Vec<Slot>,
    /// The first free slot.
    free: u32,
    queues: Vec<FlowQueue<State>>,
}

/// A packet and the next slot of its queue; or nothing and the next free slot.
struct Slot {
    packet: Option<Box<Packet>>,
    next: u32,
}

#[derive(Clone, Copy)]
struct FlowQueue<State> {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u64,
    state: State,
}

impl FlowQueues {
    /// `flows` empty queues, without a state.
    pub fn new(flows: u32) -> Self {
        FlowQueues::with_state(flows, ())
    }
}

impl<State: Copy> FlowQueues<State> {
    /// Memory of a queue without its packets.
    pub(crate) const BYTES_OF_EACH: usize = size_of::<FlowQueue<State>>();

    /// `flows` empty queues in this state.
    pub(crate) fn with_state(flows: u32, state: State) -> Self {
        let empty = FlowQueue { first: NONE, last: NONE, packets: 0, bytes: 0, state };
        FlowQueues { slots: Vec::new(), free: NONE, queues: vec![empty; flows as usize] }
    }

    /// How many queues there are.
    pub(crate) fn count(&self) -> u32 {
        self.queues.len() as u32
    }

    /// The state of `flow`.
    #[inline]
    pub(crate) fn state(&self, flow: u32) -> &State {
        &self.queues[flow as usize].state
    }

    /// The state of `flow`, to change it.
    #[inline]
    pub(crate) fn state_mut(&mut self, flow: u32) -> &mut State {
        &mut self.queues[flow as usize].state
    }

    /// Appends to the queue of `flow`.
    #[inline]
    pub fn push(&mut self, flow: u32, packet: Box<Packet>) {
        let queue = &mut self.queues[flow as usize];
        queue.packets += 1;
        queue.bytes += u64::from(packet.frame_length());
        let place = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let place = std::mem::replace(&mut self.free, slot.next);
                *slot = Slot { packet: Some(packet), next: NONE };
                place
            }
            None => {
                self.slots.push(Slot { packet: Some(packet), next: NONE });
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(queue.last as usize) {
            Some(last) => last.next = place,
            None => queue.first = place,
        }
        queue.last = place;
    }

    /// Takes the oldest packet of `flow`.
    #[inline]
    pub fn pop(&mut self, flow: u32) -> Option<Box<Packet>> {
        self.pop_with_length(flow).map(|(packet, _)| packet)
    }

    /// Takes the oldest packet of `flow`, with its frame length in bytes.
    #[inline]
    pub fn pop_with_length(&mut self, flow: u32) -> Option<(Box<Packet>, u32)> {
        self.open(flow).1.next()
    }

    /// The state of `flow`, and its packets with their frame lengths: those that are asked for are taken, the oldest first.
    #[inline]
    pub(crate) fn open(&mut self, flow: u32) -> (&mut State, OpenQueue<'_>) {
        let FlowQueue { first, last, packets, bytes, state } = &mut self.queues[flow as usize];
        (state, OpenQueue { slots: &mut self.slots, free: &mut self.free, first, last, packets, bytes })
    }

    /// Hands the packets of `flow` to `take` with their frame lengths, the oldest first, until it breaks or none is
    /// left: the same as to pop each, with the sums and the free list changed once.
    #[inline(always)]
    pub fn pop_each<B>(
        &mut self,
        flow: u32,
        mut take: impl FnMut(Box<Packet>, u32) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let queue = &mut self.queues[flow as usize];
        let (first, mut next, mut last) = (queue.first, queue.first, NONE);
        let (mut packets, mut bytes, mut answer) = (0, 0, ControlFlow::Continue(()));
        while let Some(slot) = self.slots.get_mut(next as usize)
            && let Some(packet) = slot.packet.take()
        {
            (last, next) = (next, slot.next);
            let length = packet.frame_length();
            packets += 1;
            bytes += u64::from(length);
            answer = take(packet, length);
            if answer.is_break() {
                break;
            }
        }
        if let Some(last) = self.slots.get_mut(last as usize) {
            last.next = std::mem::replace(&mut self.free, first);
            queue.first = next;
            queue.packets -= packets;
            queue.bytes -= bytes;
            if next == NONE {
                queue.last = NONE;
            }
        }
        answer
    }

    /// When the oldest packet of `flow` was enqueued.
    #[inline]
    pub fn oldest(&self, flow: u32) -> Option<SimTime> {
        let slot = self.slots.get(self.queues[flow as usize].first as usize)?;
        slot.packet.as_ref().map(|packet| packet.enqueued)
    }

    /// Packets waiting in `flow`.
    pub fn packets(&self, flow: u32) -> u32 {
        self.queues[flow as usize].packets
    }

    /// Frame bytes waiting in `flow`.
    pub fn bytes(&self, flow: u32) -> u64 {
        self.queues[flow as usize].bytes
    }

    /// The queue with the largest byte backlog, the first of equals.
    pub fn fattest(&self) -> Option<u32> {
        let fatter = |best: usize, other: usize| {
            if self.queues[other].bytes > self.queues[best].bytes { other } else { best }
        };
        (0..self.queues.len()).reduce(fatter).map(|flow| flow as u32)
    }

    /// Packets in the slab.
    pub fn held(&self) -> usize {
        self.slots.iter().filter(|slot| slot.packet.is_some()).count()
    }
}

/// The queue of one flow while its state is in use.
pub(crate) struct OpenQueue<'a> {
    slots: &'a mut [Slot],
    free: &'a mut u32,
    first: &'a mut u32,
    last: &'a mut u32,
    packets: &'a mut u32,
    bytes: &'a mut u64,
}

impl Iterator for OpenQueue<'_> {
    type Item = (Box<Packet>, u32);

    #[inline]
    fn next(&mut self) -> Option<(Box<Packet>, u32)> {
        let slot = self.slots.get_mut(*self.first as usize)?;
        let packet = slot.packet.take()?;
        let next = std::mem::replace(&mut slot.next, *self.free);
        *self.free = std::mem::replace(self.first, next);
        if next == NONE {
            *self.last = NONE;
        }
        let length = packet.frame_length();
        *self.packets -= 1;
        *self.bytes -= u64::from(length);
        Some((packet, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{number, numbered, packet};

    #[test]
    fn queues_keep_their_order_while_their_packets_interleave_in_the_slab() {
        let mut queues = FlowQueues::new(2);
        (0..6).for_each(|n| queues.push(n % 2, Box::new(numbered(0, n))));
        let mut drain =
            |flow| -> Vec<u32> { std::iter::from_fn(|| queues.pop(flow)).map(|p| number(&p)).collect() };
        assert_eq!((drain(0), drain(1)), (vec![0, 2, 4], vec![1, 3, 5]));
    }

    #[test]
    fn the_slab_grows_to_the_largest_backlog_and_no_further() {
        let mut queues = FlowQueues::new(1024);
        for round in 0..10_000 {
            queues.push(round % 1024, Box::new(packet(0, 100)));
            queues.push((round + 7) % 1024, Box::new(packet(0, 100)));
            assert!(queues.pop(round % 1024).is_some());
            assert!(queues.pop((round + 7) % 1024).is_some());
        }
        assert_eq!((queues.slots.len(), queues.held()), (2, 0));
    }

    #[test]
    fn packets_taken_in_one_step_leave_the_queues_as_those_popped_one_by_one() {
        let filled = || {
            let mut queues = FlowQueues::new(2);
            (0..8).for_each(|n| queues.push(n % 2, Box::new(numbered(0, n))));
            queues
        };
        for wanted in 1..6 {
            let (mut whole, mut single, mut got) = (filled(), filled(), Vec::new());
            let answer = whole.pop_each(1, |packet, length| {
                got.push((number(&packet), length));
                if got.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(answer.is_break(), wanted <= 4);
            let popped = std::iter::from_fn(|| single.pop_with_length(1)).take(wanted);
            assert_eq!(got, popped.map(|(packet, length)| (number(&packet), length)).collect::<Vec<_>>());
            let sums = |queues: &FlowQueues| (queues.packets(1), queues.bytes(1), queues.held());
            assert_eq!(sums(&whole), sums(&single));
            // Freed slots are used before new ones.
            (10..14).for_each(|n| whole.push(1, Box::new(numbered(0, n))));
            assert!(whole.slots.len() <= 12 - wanted.min(4));
            let rest: Vec<u32> = std::iter::from_fn(|| whole.pop(1))
                .map(|packet| number(&packet))
                .skip(4 - wanted.min(4))
                .collect();
            assert_eq!((rest, whole.packets(0)), (vec![10, 11, 12, 13], 4));
        }
    }

    #[test]
    fn the_first_of_equally_fat_queues_is_the_fattest() {
        let mut queues = FlowQueues::new(4);
        for (flow, length) in [(1, 500), (2, 1000), (3, 600), (3, 400)] {
            queues.push(flow, Box::new(packet(0, length)));
        }
        assert_eq!((queues.fattest(), queues.bytes(3), queues.packets(3)), (Some(2), 1000, 2));
    }
}
