//! DRR++: byte-fair round robin that serves newly active queues first.
//!
//! join:    a queue that is on no list goes to the end of `new` with deficit = quantum
//! next:    the head of `new`, else the head of `old`; if its deficit is ≤ 0, it gets a quantum and goes to the end of
//!          `old`, and the selection repeats
//! emptied: a queue of `new` goes to the end of `old` if `old` is not empty (so that new queues cannot starve it);
//!          otherwise the queue leaves the lists
//!
//! [rfc8290 §4.2] [linux-6.12 sch_fq_codel.c fq_codel_dequeue]. Used by `fq_codel` and `fq_pie`, among others; it owns
//! no packets.

use crate::index_list::{IndexList, Links, NONE};

/// The scheduler of numbered queues.
pub struct RoundRobin<T = Vec<Turn>> {
    quantum: i64,
    turns: T,
    new: IndexList,
    old: IndexList,
}

/// When a queue is served.
#[derive(Clone, Copy)]
pub struct Turn {
    deficit: i64,
    /// The queue behind it on its list.
    next: u32,
    listed: bool,
}

impl Turn {
    /// That of a queue that is not busy.
    pub(crate) const IDLE: Turn = Turn { deficit: 0, next: NONE, listed: false };
}

/// The turn of each queue, alone or beside what else is known of it.
pub trait Turns {
    /// That of `flow`.
    fn turn(&self, flow: u32) -> &Turn;
    /// That of `flow`, to change it.
    fn turn_mut(&mut self, flow: u32) -> &mut Turn;
}

impl Turns for Vec<Turn> {
    #[inline]
    fn turn(&self, flow: u32) -> &Turn {
        &self[flow as usize]
    }

    #[inline]
    fn turn_mut(&mut self, flow: u32) -> &mut Turn {
        &mut self[flow as usize]
    }
}

impl<T: Turns> Links for T {
    #[inline]
    fn after(&self, index: u32) -> u32 {
        self.turn(index).next
    }

    #[inline]
    fn link(&mut self, index: u32, next: u32) {
        self.turn_mut(index).next = next;
    }
}

impl RoundRobin {
    /// `flows` queues, none of them busy.
    pub fn new(flows: u32, quantum: u32) -> Self {
        RoundRobin::over(vec![Turn::IDLE; flows as usize], quantum)
    }
}

impl<T: Turns> RoundRobin<T> {
    /// The queues with these turns, none of them busy.
    pub(crate) fn over(turns: T, quantum: u32) -> Self {
        let quantum = i64::from(quantum.max(1));
        RoundRobin { quantum, turns, new: IndexList::default(), old: IndexList::default() }
    }

    /// The turns, with what is beside them.
    #[inline]
    pub(crate) fn flows(&self) -> &T {
        &self.turns
    }

    /// The turns, to change what is beside them.
    #[inline]
    pub(crate) fn flows_mut(&mut self) -> &mut T {
        &mut self.turns
    }

    /// A packet arrived for `flow`; true if the flow is now on the list of new ones.
    #[inline]
    pub fn join(&mut self, flow: u32) -> bool {
        let turn = self.turns.turn_mut(flow);
        if turn.listed {
            return false;
        }
        *turn = Turn { deficit: self.quantum, next: NONE, listed: true };
        self.new.push_back(&mut self.turns, flow);
        true
    }

    /// The queue to serve now. It keeps its turn until its deficit is used up or it is [`emptied`](Self::emptied).
    #[inline]
    pub fn next_flow(&mut self) -> Option<u32> {
        while let Some(flow) = self.new.first() {
            if self.has_turn(flow) {
                return Some(flow);
            }
            self.new.pop_front(&self.turns);
            self.old.push_back(&mut self.turns, flow);
        }
        loop {
            let flow = self.old.first()?;
            if self.old.has_one() {
                self.take_turns_alone(flow);
                return Some(flow);
            }
            if self.has_turn(flow) {
                return Some(flow);
            }
            self.old.rotate(&mut self.turns);
        }
    }

    /// The only flow has one turn after the other until it may send.
    #[inline]
    fn take_turns_alone(&mut self, flow: u32) {
        let turn = self.turns.turn_mut(flow);
        while turn.deficit <= 0 {
            turn.deficit += self.quantum;
        }
    }

    /// The flow has something left of its quantum; if not, it gets another one for its next turn.
    #[inline]
    fn has_turn(&mut self, flow: u32) -> bool {
        let turn = self.turns.turn_mut(flow);
        let left = turn.deficit > 0;
        if !left {
            turn.deficit += self.quantum;
        }
        left
    }

    /// `bytes` of `flow` were sent.
    #[inline]
    pub fn charge(&mut self, flow: u32, bytes: u32) {
        self.turns.turn_mut(flow).deficit -= i64::from(bytes);
    }

    /// No flow but the one to serve is on a list.
    #[inline]
    pub fn is_alone(&self) -> bool {
        match self.new.is_empty() {
            true => self.old.has_one(),
            false => self.new.has_one() && self.old.is_empty(),
        }
    }

    /// A flow that [`is_alone`](Self::is_alone) and to be served sent several packets, the last of `last` bytes and
    /// `before` bytes in those before it: the same as to serve and [`charge`](Self::charge) it for each.
    #[inline]
    pub fn charge_alone(&mut self, flow: u32, before: u64, last: u32) {
        debug_assert!(self.is_alone(), "another flow might have had the turn");
        let turn = self.turns.turn_mut(flow);
        turn.deficit -= before as i64;
        if turn.deficit <= 0 {
            // Quanta until it may send the last one.
            let missing = turn.deficit.unsigned_abs() / self.quantum.unsigned_abs() + 1;
            turn.deficit += missing as i64 * self.quantum;
            if self.new.pop_front(&self.turns).is_some() {
                self.old.push_back(&mut self.turns, flow);
            }
        }
        self.charge(flow, last);
    }

    /// The queue to serve had no packet; true if it left the lists.
    pub fn emptied(&mut self) -> bool {
        let was_new = !self.new.is_empty();
        let Some(flow) = self.take_head() else { return false };
        let stays = was_new && !self.old.is_empty();
        if stays {
            self.old.push_back(&mut self.turns, flow);
        } else {
            self.turns.turn_mut(flow).listed = false;
        }
        !stays
    }

    /// Queues on the list of new ones.
    pub fn new_length(&self) -> usize {
        self.new.len(&self.turns)
    }

    /// Queues on the list of old ones.
    pub fn old_length(&self) -> usize {
        self.old.len(&self.turns)
    }

    fn take_head(&mut self) -> Option<u32> {
        self.new.pop_front(&self.turns).or_else(|| self.old.pop_front(&self.turns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_flow_has_turns_until_it_may_send() {
        let mut robin = RoundRobin::new(2, 300);
        robin.join(0);
        for _ in 0..10 {
            assert_eq!(robin.next_flow(), Some(0));
            robin.charge(0, 1514);
        }
        // 15,140 bytes were sent: after 51 quanta of 300 the deficit is positive again, and no larger.
        assert_eq!((robin.next_flow(), robin.turns[0].deficit), (Some(0), 160));
    }

    #[test]
    fn several_packets_of_a_lone_flow_are_charged_as_one_after_the_other() {
        let lengths = [66, 1514, 300, 600, 1, 299, 66, 66, 900];
        for joined_before in [false, true] {
            for sent in 1..lengths.len() {
                let [mut whole, mut single] = [(); 2].map(|()| {
                    let mut robin = RoundRobin::new(2, 300);
                    robin.join(1);
                    if joined_before {
                        robin.charge(1, 400);
                    }
                    assert_eq!((robin.next_flow(), robin.is_alone()), (Some(1), true));
                    robin
                });
                let (last, before) = lengths[..sent].split_last().unwrap();
                whole.charge_alone(1, before.iter().map(|&length| u64::from(length)).sum(), *last);
                for (place, &length) in lengths[..sent].iter().enumerate() {
                    assert!(place == 0 || single.next_flow() == Some(1));
                    single.charge(1, length);
                }
                let state =
                    |robin: &RoundRobin| (robin.turns[1].deficit, robin.new_length(), robin.old_length());
                assert_eq!(state(&whole), state(&single), "{sent} packets");
            }
        }
    }

    #[test]
    fn a_new_queue_is_served_before_old_ones() {
        let mut robin = RoundRobin::new(4, 1000);
        robin.join(0);
        assert_eq!(robin.next_flow(), Some(0));
        robin.charge(0, 1000);
        robin.join(1);
        assert_eq!(robin.next_flow(), Some(1));
        robin.charge(1, 1000);
        assert_eq!(robin.next_flow(), Some(0), "both are old now and 0 used its quantum up first");
    }

    #[test]
    fn a_new_queue_that_is_emptied_waits_one_round_behind_the_old_ones() {
        let mut robin = RoundRobin::new(4, 1000);
        robin.join(0);
        robin.charge(0, 1000);
        assert_eq!(robin.next_flow(), Some(0));
        robin.join(1);
        assert_eq!(robin.next_flow(), Some(1));
        robin.emptied();
        assert!(!robin.join(1), "it is still on a list");
        assert_eq!(robin.next_flow(), Some(0));
    }

    #[test]
    fn an_old_queue_that_is_emptied_leaves_the_lists() {
        let mut robin = RoundRobin::new(1, 1000);
        robin.join(0);
        robin.charge(0, 1000);
        assert_eq!((robin.next_flow(), robin.old_length()), (Some(0), 1));
        robin.emptied();
        assert_eq!((robin.next_flow(), robin.new_length(), robin.old_length()), (None, 0, 0));
        assert!(robin.join(0));
    }

    #[test]
    fn a_packet_longer_than_many_quanta_is_paid_for_in_as_many_rounds() {
        let mut robin = RoundRobin::new(2, 1000);
        robin.join(0);
        robin.charge(0, 3000);
        robin.join(1);
        let mut turns_of_1 = 0;
        while robin.next_flow() == Some(1) {
            robin.charge(1, 1000);
            turns_of_1 += 1;
        }
        assert_eq!(turns_of_1, 3);
    }
}
