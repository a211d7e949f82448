//! A first-in first-out queue with its ledger: the common part of disciplines with one queue.

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet};

use crate::ledger::Ledger;
use crate::{Backlog, Context, Counters, Dequeued, Enqueued, Peeked};

/// Packets in order of arrival. The buffer grows to the largest backlog and is then reused.
#[derive(Default)]
pub(crate) struct Fifo {
    packets: VecDeque<Box<Packet>>,
    pub ledger: Ledger,
}

impl Fifo {
    #[inline]
    pub fn append(&mut self, mut packet: Box<Packet>, context: &Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        packet.enqueued = context.now;
        self.packets.push_back(packet);
        Enqueued::Queued
    }

    pub fn tail_drop(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.refuse(packet, DropReason::TailFull, context)
    }

    /// Drops a packet that has just arrived.
    pub fn refuse(&mut self, packet: Box<Packet>, reason: DropReason, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
        Enqueued::Dropped
    }

    /// The oldest packet.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front().map(|packet| &**packet)
    }

    /// Drops the oldest packet.
    pub fn drop_head(&mut self, reason: DropReason, context: &mut Context<'_>) {
        if let Some(packet) = self.packets.pop_front() {
            self.ledger.note();
            self.ledger.drop(&packet);
            context.refuse(packet, reason);
        }
    }

    /// Takes the oldest packet; marks it if `marked`.
    #[inline]
    pub fn take_marked(&mut self, marked: bool) -> Dequeued {
        let Some(mut packet) = self.packets.pop_front() else { return Dequeued::Empty };
        if marked && packet.mark() {
            self.ledger.marked += 1;
        }
        self.ledger.leave(&packet);
        Dequeued::Packet(packet)
    }

    #[inline]
    pub fn take(&mut self) -> Dequeued {
        let Some(packet) = self.packets.pop_front() else { return Dequeued::Empty };
        self.ledger.leave(&packet);
        debug_assert_eq!(self.packets.len(), self.backlog().packets as usize, "a packet is unaccounted for");
        Dequeued::Packet(packet)
    }

    /// A look at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.head().map_or(Peeked::Empty, |packet| Peeked::Frame(packet.frame_length()))
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    pub fn high_water(&self) -> Backlog {
        self.ledger.high_water()
    }

    pub fn counters(&self) -> Counters {
        self.ledger.counters()
    }
}
