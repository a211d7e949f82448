//! What arrives at the other end of a device: from the wire to the host, by a path or NAPI where the link has one.
//!
//! ```text
//! wire → path (a link with more than a constant delay) → NAPI (interrupts, GRO) → capture → backlog of the peer
//! ```
//!
//! On most links a packet goes from the wire to the host at once (`ends_at_host`): it is returned instead of queued.

use tailback_packet::{DropReason, Packet};
use tailback_qdisc::{Dequeued, Policed};
use tailback_units::SimTime;

use super::{Device, OnPath};
use crate::Event;
use crate::context::Context;

impl Device {
    /// A packet has reached the other end. It is returned for the host to receive, unless others arrive with it, since they
    /// left at the same instant: then all of them are in the backlog. This is the present event of the calendar; what has
    /// left by now is completed.
    #[inline]
    pub(crate) fn arrived(&mut self, context: &mut Context) -> Option<Box<Packet>> {
        debug_assert!(self.wire.next_departure > context.now, "a completion is not processed");
        if !self.ends_at_host {
            context.calendar.take();
            return self.arrived_otherwise(context);
        }
        let Some(packet) = self.wire.take_first() else {
            debug_assert!(false, "nothing has arrived");
            context.calendar.take();
            return None;
        };
        if self.wire.next_arrival <= context.now {
            context.calendar.take();
            self.arrived_with_others(packet, context);
            return None;
        }
        context.calendar.repeat(self.wire.next_arrival);
        Some(packet)
    }

    /// A packet has reached the other end of a wire that need not end at the host: a path, NAPI or a capture may
    /// lie between. Returns it if the host receives it now. Otherwise it is on the path or in NAPI, or it is in
    /// the backlog with the others that arrived with it.
    #[inline(never)]
    fn arrived_otherwise(&mut self, context: &mut Context) -> Option<Box<Packet>> {
        if self.path.is_some() || self.napi.is_some() {
            self.leave_wire(context);
            return None;
        }
        let packet = self.wire.arrived(context.now)?;
        if self.wire.next_arrival <= context.now {
            self.arrived_with_others(packet, context);
            return None;
        }
        self.capture_received(&packet, context);
        self.await_arrival(context);
        Some(packet)
    }

    /// `first` and the packets that arrived with it are received one after the other.
    #[inline(never)]
    fn arrived_with_others(&mut self, first: Box<Packet>, context: &mut Context) {
        let mut next = Some(first);
        while let Some(packet) = next {
            self.capture_received(&packet, context);
            context.backlog.push_back((self.peer, packet));
            next = self.wire.arrived(context.now);
        }
        self.await_arrival(context);
    }

    /// Moves packets whose last bit has left to the path, or to the NIC at the other end.
    fn leave_wire(&mut self, context: &mut Context) {
        while let Some(packet) = self.wire.arrived(context.now) {
            match self.path {
                Some(_) => self.enter_path(packet, context),
                None => self.reach_peer(packet, context),
            }
        }
        self.await_arrival(context);
    }

    /// A packet arrives at the other end, whose host takes it now or at the next interrupt.
    pub(super) fn reach_peer(&mut self, packet: Box<Packet>, context: &mut Context) {
        let Some(napi) = &mut self.napi else {
            self.capture_received(&packet, context);
            return context.backlog.push_back((self.peer, packet));
        };
        if let Some(log) = &mut context.captures.log {
            // GRO merges packets before they are captured.
            log.arrived(self.peer, &packet, context.now);
        }
        if let Some(interrupt) = napi.hold(packet, context.now) {
            context.wake_at(interrupt, Event::Poll(self.id));
        }
    }

    /// The NIC at the other end interrupts its host, which takes all packets that have arrived.
    pub(crate) fn poll(&mut self, context: &mut Context) {
        let Some(napi) = &mut self.napi else { return };
        let polled = napi.poll(self.peer, context.now);
        for packet in polled.merged {
            // It is delivered as a part of another.
            context.delivered(&packet);
            context.keep_box(packet);
        }
        for packet in polled.received {
            self.capture_received(&packet, context);
            context.backlog.push_back((self.peer, packet));
        }
    }

    /// The first packet on its way has an event in the calendar.
    #[inline]
    fn await_arrival(&self, context: &mut Context) {
        if self.wire.next_arrival != SimTime::NEVER {
            context.wake_at(self.wire.next_arrival, Event::Arrived(self.id));
        }
    }

    pub(super) fn enter_path(&mut self, packet: Box<Packet>, context: &mut Context) {
        let Some(OnPath { path, draws, policer }) = self.path.as_deref_mut() else { return };
        if let Some(policer) = policer
            && policer.judge(&packet, context.now) == Policed::Exceeds
        {
            context.effects.dropped.push((packet, DropReason::Policed));
            return self.account_for_dropped(context);
        }
        path.enter(packet, &mut context.effects.context(context.now, draws));
        while let Some(copy) = context.effects.copies.pop() {
            context.enters(&copy, 1);
            path.enter(copy, &mut context.effects.context(context.now, draws).of_copy());
        }
        self.account_for_dropped(context);
        self.leave_path(context);
    }

    /// A packet has come to the end of the path.
    pub(crate) fn path_delivers(&mut self, context: &mut Context) {
        if let Some(on) = &mut self.path
            && on.path.next == context.now
        {
            on.path.next = SimTime::NEVER;
            self.leave_path(context);
        }
    }

    fn leave_path(&mut self, context: &mut Context) {
        let Some(mut on) = self.path.take() else { return };
        loop {
            match on.path.pop_arrived(&mut context.effects.context(context.now, &mut on.draws)) {
                Dequeued::Packet(packet) => self.reach_peer(packet, context),
                Dequeued::NotBefore(at) if at < on.path.next => {
                    on.path.next = at;
                    context.wake_at(at, Event::PathDelivers(self.id));
                    break;
                }
                Dequeued::NotBefore(_) | Dequeued::Empty => break,
            }
        }
        self.path = Some(on);
        self.account_for_dropped(context);
    }

    /// Captures a packet at the device that receives it.
    #[inline]
    fn capture_received(&self, packet: &Packet, context: &mut Context) {
        if !context.captures.is_off() {
            context.captures.received((self.id, self.id.at_other_end()), packet, context.now);
            if let Some(log) = &mut context.captures.log {
                log.arrived(self.peer, packet, context.now);
            }
        }
    }
}
