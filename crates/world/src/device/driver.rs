//! From the discipline to the wire: a packet is segmented if the link takes no trains, and enters the ring of a NIC, a radio,
//! or the wire at once.
//!
//! ```text
//! discipline → (segments) → ring of the NIC: departure → wire
//!                         → radio: channel
//!                         → no rate: path, wire or host
//! ```
//!
//! [linux-6.12 dev.c validate_xmit_skb, dev_hard_start_xmit]

use tailback_packet::{Ecn, Packet};
use tailback_qdisc::{Mark, visit};
use tailback_units::{Rate, SimTime};

use super::{Device, Segmentation};
use crate::context::Context;
use crate::nic::Nic;
use crate::wire::Wire;
use crate::{DeviceId, Event};

impl Device {
    /// [linux-6.12 dev.c dev_hard_start_xmit]
    #[inline(always)]
    pub(super) fn hand_to_driver(&mut self, packet: Box<Packet>, context: &mut Context) {
        if packet.segments != 1 && self.segmentation == Segmentation::BelowQdisc {
            return self.xmit_segments(*packet, context);
        }
        self.start_xmit(packet, context);
    }

    /// [linux-6.12 dev.c validate_xmit_skb]
    #[cold]
    fn xmit_segments(&mut self, train: Packet, context: &mut Context) {
        for segment in self.segments_of(train, context) {
            let segment = context.in_box(segment);
            self.start_xmit(segment, context);
        }
    }

    /// The segments of a packet, which its sender is charged for.
    pub(super) fn segments_of(&self, train: Packet, context: &mut Context) -> Vec<Packet> {
        context.enters(&train, u32::from(train.segments) - 1);
        if train.charged {
            context.segmented.push((train.from, train.memory_to_segment()));
        }
        train.into_segments()
    }

    /// [linux-6.12 ndo_start_xmit]
    #[inline(always)]
    fn start_xmit(&mut self, packet: Box<Packet>, context: &mut Context) {
        if packet.ecn == Ecn::Ce {
            self.note_mark(&packet, context);
        }
        if !context.captures.is_off() {
            return self.start_captured(packet, context);
        }
        self.put_on_medium(packet, context);
    }

    /// As [`Device::start_xmit`] for a packet that is captured or logged.
    #[cold]
    fn start_captured(&mut self, packet: Box<Packet>, context: &mut Context) {
        let to = self.receiver(&packet, context);
        context.captures.sent((self.id, to), &packet, context.now);
        let place = packet.place();
        let waits = self.nic.is_some() || self.radio.is_some();
        let times = (context.now, (!waits).then_some(context.now));
        if let Some(log) = &mut context.captures.log {
            log.dequeued(self.id, &packet, times, &context.journal);
        }
        self.put_on_medium(packet, context);
        if self.nic.is_some()
            && let Some(log) = &mut context.captures.log
            && let Some(departure) = self.wire.last_departure()
        {
            log.departs(place, departure);
        }
    }

    #[inline(always)]
    fn put_on_medium(&mut self, packet: Box<Packet>, context: &mut Context) {
        match &mut self.nic {
            Some(nic) if nic.has_rate() => self.enter_ring(packet, context),
            Some(nic) => {
                let (departure, charged) = (nic.take_by_trace(&packet, context.now), packet.charged);
                let arrival = self.wire.push(packet, departure);
                self.await_next(charged, Entered { departure, arrival }, context);
            }
            None => self.pass_on(packet, context),
        }
    }

    /// A packet enters the ring of a NIC with a rate ([`enter`]).
    #[inline(always)]
    pub(super) fn enter_ring(&mut self, packet: Box<Packet>, context: &mut Context) {
        let Some(nic) = &mut self.nic else { return };
        let charged = packet.charged;
        let entered = enter(nic, &mut self.wire, packet, context.now);
        self.await_next(charged, entered, context);
    }

    /// What is awaited of a packet that has entered the ring: its completion, if it is charged to a socket and some socket
    /// waits for its credit, and its arrival.
    #[inline(always)]
    pub(super) fn await_next(&mut self, charged: bool, entered: Entered, context: &mut Context) {
        if self.awaiting_credit > 0 && charged {
            self.await_completion(entered.departure, context);
        }
        if let Some(arrival) = entered.arrival {
            context.wake_at(arrival, Event::Arrived(self.id));
        }
    }

    /// Without a ring a packet leaves its host at once. [linux-6.12 veth_xmit]
    fn pass_on(&mut self, mut packet: Box<Packet>, context: &mut Context) {
        if let Some(radio) = self.radio {
            radio.transmit(packet, context);
            for mark in context.effects.marks.drain(..) {
                context.journal.packet_marked(context.now, self.id, &mark);
            }
            return self.account_for_dropped(context);
        }
        context.orphan(&mut packet);
        if self.path.is_some() {
            self.enter_path(packet, context);
        } else if self.wire.is_instant() {
            self.reach_peer(packet, context);
        } else if let Some(arrival) = self.wire.push_completed(packet, context.now) {
            context.wake_at(arrival, Event::Arrived(self.id));
        }
    }

    /// The device that a packet is sent to.
    fn receiver(&self, packet: &Packet, context: &Context) -> DeviceId {
        self.radio
            .map_or_else(|| self.id.at_other_end(), |radio| radio.next_device(packet.destination, context))
    }

    /// Records a packet that leaves with CE, if the counters show that it was marked here.
    fn note_mark(&mut self, packet: &Packet, context: &mut Context) {
        if self.marks_noted < self.marked() {
            self.marks_noted += 1;
            context.journal.packet_marked(context.now, self.id, &Mark::of(packet));
        }
    }

    fn marked(&self) -> u64 {
        let mut marked = 0;
        if let Some(root) = &self.root {
            visit(&**root, &mut |_, qdisc| marked += qdisc.counters().marked);
        }
        marked
    }

    /// Changes the rate of the link: the frame on the wire keeps its departure time; those behind it get new ones.
    pub(crate) fn change_rate(&mut self, rate: Rate, context: &mut Context) {
        self.process_completions(context);
        let Some(nic) = &mut self.nic else { return };
        return_to_ring(&mut self.wire, nic, context.now);
        let leaving = (self.wire.in_ring() > 0).then_some(self.wire.next_departure);
        nic.change_rate(rate, leaving);
        let log = &mut context.captures.log;
        self.wire.reschedule(|packet| {
            let departure = nic.occupy(packet, context.now);
            if let Some(log) = log {
                log.departs(packet.place(), departure);
            }
            departure
        });
        // The time of the completion that is waited for has changed.
        self.completion = SimTime::NEVER;
        let waits = self.run(context);
        self.wait(waits, context);
        if self.awaiting_credit > 0 {
            self.await_credit(context);
        }
    }
}

/// When a packet that has entered the ring leaves it, and when it arrives if it is the only one on its way.
pub(super) struct Entered {
    departure: SimTime,
    arrival: Option<SimTime>,
}

/// A packet enters the ring of a NIC with a rate.
///
/// Most packets find the ring empty and have left when the next one comes. If nobody is charged for such a packet, its
/// completion does nothing: it counts as completed as soon as it enters, and nothing is done when it leaves. That is a guess
/// about the next packet. If one comes earlier, the guess was wrong, and [`return_to_ring`] puts the packet where it belongs
/// before anything looks at the ring.
#[inline(always)]
pub(super) fn enter(nic: &mut Nic, wire: &mut Wire, packet: Box<Packet>, now: SimTime) -> Entered {
    if !packet.charged
        && let Some(departure) = nic.take_alone(&packet, now)
    {
        return Entered { departure, arrival: wire.push_completed(packet, departure) };
    }
    return_to_ring(wire, nic, now);
    let departure = nic.take(&packet, now);
    Entered { departure, arrival: wire.push(packet, departure) }
}

/// If the last packet counts as completed but is still on the wire, it is in the ring again: another one joins it there.
#[inline]
fn return_to_ring(wire: &mut Wire, nic: &mut Nic, now: SimTime) {
    if nic.is_busy(now) && wire.in_ring() == 0 {
        wire.uncomplete_last(nic.count_alone());
    }
}
