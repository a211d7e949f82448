//! TX completions: packets that have left the ring of a NIC, the credits of their senders, and the room behind them.
//!
//! ```text
//! ring → left by now (`wire`) → byte queue limit (`nic`) → credit of the sender → a queue that waits for room goes on
//! ```
//!
//! A completion is an event only if something waits for it: a sender with a full small queue for its credit, or a
//! discipline for room in the ring. Otherwise it is processed when the device or the sender is next active, with the
//! time at which it happened.

use tailback_packet::SocketId;
use tailback_qdisc::Root;
use tailback_units::{SimTime, Span};

use super::Device;
use crate::Event;
use crate::context::Context;

impl Device {
    /// TX completions of what has left by now: bytes out of the ring, credits to the senders.
    #[inline]
    pub(super) fn process_completions(&mut self, context: &mut Context) {
        if self.wire.next_departure <= context.now {
            self.complete(context.now, context);
        }
    }

    /// The byte limit counts the one or two packets of a ring far from full as completed, as on every link that is faster
    /// than what it carries; false and nothing if there are more, or not all have left by `last`, or the limit learns from
    /// them.
    fn complete_few(&mut self, last: SimTime) -> bool {
        let in_ring = self.wire.in_ring();
        let all_left = in_ring <= 2 && self.wire.all_left(last);
        all_left && self.nic.as_mut().is_none_or(|nic| nic.complete_few(in_ring))
    }

    /// The one or two packets in the ring leave it. The credit of the sender of the last is returned, together with that
    /// of the first if that is the same.
    #[inline(always)]
    fn credit_few(&mut self, context: &mut Context) -> Option<(SocketId, u32)> {
        let (first, last) = self.wire.complete_ring();
        let packet = self.wire.packet_mut(first)?;
        let (sender, mut truesize) = (packet.from, packet.end_charge());
        if first < last {
            let packet = self.wire.packet_mut(last)?;
            let (other, more) = (packet.from, packet.end_charge());
            if other != sender {
                context.credit(sender, truesize);
                return Some((other, more));
            }
            truesize += more;
        }
        Some((sender, truesize))
    }

    /// TX completions of packets that left by `now`, up to the first that is charged to a socket, as no packet is behind a
    /// router. True if there is none.
    #[inline(always)]
    pub(super) fn complete_uncharged(&mut self, now: SimTime) -> bool {
        while let Some((departure, packet)) = self.wire.leaving(now) {
            if packet.charged {
                return false;
            }
            if let Some(nic) = &mut self.nic {
                nic.complete(packet.frame_length(), departure);
            }
            self.wire.complete_first();
        }
        true
    }

    /// TX completions of packets that left before now. One that leaves now is a separate event, if something waits for
    /// it.
    #[inline]
    pub(crate) fn process_earlier_completions(&mut self, context: &mut Context) {
        if self.wire.next_departure < context.now {
            self.complete(context.now - Span::from_nanos(1), context);
        }
    }

    /// TX completions of packets that left by `last`, at least one.
    #[inline(never)]
    pub(super) fn complete(&mut self, last: SimTime, context: &mut Context) {
        if let Some((sender, truesize)) = self.complete_to_credit(last, context) {
            context.credit(sender, truesize);
        }
    }

    /// TX completions of packets that left by `last`, at least one. If they are the one or two of the ring, the last
    /// credit is returned as its socket and bytes of truesize, which may be zero; the caller gives it. Otherwise all
    /// credits are given.
    #[inline(always)]
    pub(crate) fn complete_to_credit(
        &mut self,
        last: SimTime,
        context: &mut Context,
    ) -> Option<(SocketId, u32)> {
        if self.complete_few(last) {
            return self.credit_few(context);
        }
        self.complete_many(last, context);
        None
    }

    /// TX completions of packets that left by `last`, with a round of the byte limit for each packet.
    #[inline(never)]
    fn complete_many(&mut self, last: SimTime, context: &mut Context) {
        // The credits of one socket are returned as one.
        let (mut sender, mut truesize) = (SocketId(u32::MAX), 0);
        while let Some((departure, packet)) = self.wire.complete(last) {
            if let Some(nic) = &mut self.nic {
                nic.complete(packet.frame_length(), departure);
            }
            if packet.charged {
                if packet.from != sender {
                    context.credit(sender, truesize);
                    (sender, truesize) = (packet.from, 0);
                }
                truesize += packet.end_charge();
            }
        }
        context.credit(sender, truesize);
    }

    /// The queue is stopped; if packets wait for it, the next completion wakes it. (A radio has no completions: its driver
    /// wakes the queue when it takes packets again.)
    #[inline]
    pub(super) fn await_room(&mut self, context: &mut Context) {
        if self.needs_completion() {
            self.await_completion(self.wire.next_departure, context);
        }
    }

    /// Packets wait for the next completion, which is not awaited yet. That is asked first, since most often it is.
    #[inline]
    pub(super) fn needs_completion(&self) -> bool {
        self.wire.next_departure < self.completion && self.root.as_ref().is_some_and(Root::has_backlog)
    }

    /// Packets in the ring are charged to sockets; the completion of the first credits its sender.
    pub(super) fn await_credit(&mut self, context: &mut Context) {
        if let Some(departure) = self.wire.next_charged_departure() {
            self.await_completion(departure, context);
        }
    }

    /// Schedules a completion, unless an earlier one is pending.
    #[inline(never)]
    pub(super) fn await_completion(&mut self, departure: SimTime, context: &mut Context) {
        if departure < self.completion {
            self.completion = departure;
            context.wake_at(departure, Event::Transmitted(self.id));
        }
    }
}
