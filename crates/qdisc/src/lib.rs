//! Queue disciplines: one file each, one row each in [`registry`].
//!
//! A discipline owns packets, each in a box of its own: a packet passes through many hands, and they pass eight
//! bytes. A law ([`aqm`]) judges one packet at one moment and owns none; it is shared with
//! the Wi-Fi stack. Both take `now` and random draws from a [`Desk`] and never ask for them elsewhere.
//! Every queue keeps the ledger *arrived = left + dropped + backlog*.

pub mod aqm;
mod bfifo;
mod fifo;
pub mod flow_queues;
mod fq_codel;
mod htb;
mod index_list;
mod ledger;
mod pfifo;
mod pfifo_fast;
pub mod registry;
pub mod round_robin;
#[cfg(test)]
mod testing;

use std::fmt;

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, Parameters, Rate, SimTime};

/// What a discipline may use while it works: the time, dice, and the only two ways to dispose of a packet.
pub struct Desk<'a> {
    /// The instant of this call.
    pub now: SimTime,
    /// Random draws of this device.
    pub draws: &'a mut dyn Rng,
    /// Packets refused or dropped, with the reason; the caller returns their credit and counts them.
    pub dropped: &'a mut Vec<(Box<Packet>, DropReason)>,
}

impl Desk<'_> {
    /// Ends a packet.
    pub fn refuse(&mut self, packet: Box<Packet>, reason: DropReason) {
        self.dropped.push((packet, reason));
    }
}

/// What the sender is told when it hands a packet over. [linux-6.12 NET_XMIT_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enqueued {
    /// Accepted.
    Queued,
    /// This very packet was dropped.
    Dropped,
    /// Accepted, but another packet of the same flow was dropped to make room.
    Congestion,
}

/// What a discipline answers when the device asks for a packet.
#[derive(Debug)]
pub enum Dequeued {
    /// Send this one.
    Packet(Box<Packet>),
    /// Nothing may leave before this instant.
    NotBefore(SimTime),
    /// Nothing is queued.
    Empty,
}

/// Present occupancy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets inside.
    pub packets: u32,
    /// Their frame lengths.
    pub bytes: u64,
}

/// The counters that `tc -s qdisc` shows for every kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frame bytes that left.
    pub sent_bytes: u64,
    /// Packets that left; a train counts its segments.
    pub sent_packets: u64,
    /// Packets dropped here or in a child.
    pub dropped: u64,
    /// Times a shaper had a packet but no tokens.
    pub overlimits: u64,
    /// Times a packet was put back.
    pub requeues: u64,
    /// Packets marked CE by this very discipline; a parent does not repeat its child's.
    pub marked: u64,
}

/// A queueing discipline. The device calls `dequeue` whenever it can send; a shaper answers
/// [`Dequeued::NotBefore`] and the device asks again then.
pub trait Qdisc: Send {
    /// Takes a packet, or disposes of it (or of another) at the desk. The discipline stamps `packet.enqueued`.
    fn enqueue(&mut self, packet: Box<Packet>, desk: &mut Desk<'_>) -> Enqueued;
    /// Lets a packet that meets an empty queue and a device that can send pass at once, counted as queued and
    /// taken; false if it must be queued. [linux-6.12 TCQ_F_CAN_BYPASS]
    fn bypass(&mut self, _packet: &mut Packet, _now: SimTime) -> bool {
        false
    }
    /// Gives the next packet.
    fn dequeue(&mut self, desk: &mut Desk<'_>) -> Dequeued;
    /// Present occupancy, children included.
    fn backlog(&self) -> Backlog;
    /// The counters of every kind.
    fn counters(&self) -> Counters;
    /// The counters of this kind only, under the names of `tc -s -j qdisc`.
    fn own_counters(&self, _show: &mut dyn FnMut(&'static str, u64)) {}
    /// The levels of this kind only that may be negative (tokens), likewise.
    fn own_levels(&self, _show: &mut dyn FnMut(&'static str, i64)) {}
    /// The kind, as `tc` calls it.
    fn kind(&self) -> &'static str;
    /// The child, of a discipline that has one.
    fn child(&self) -> Option<&dyn Qdisc> {
        None
    }
}

/// What the device tells a discipline when it is attached.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Length of the longest frame without FCS: MTU + 14. [linux-5.10 psched_mtu]
    pub mtu: u32,
    /// `txqueuelen` of the device.
    pub queue_length: u32,
    /// Speed of the device; unlimited for a veth.
    pub rate: Rate,
}

impl Default for Attachment {
    /// A veth with an Ethernet MTU.
    fn default() -> Self {
        Attachment { mtu: 1514, queue_length: 1000, rate: Rate::UNLIMITED }
    }
}

/// Builds a discipline from its parameters, its device and (for a classful one) its child.
pub type Build =
    fn(&Parameters, &Attachment, Option<Box<dyn Qdisc>>) -> Result<Box<dyn Qdisc>, ParameterError>;

/// One row of the registry: a file of this crate.
pub struct Row {
    /// The kind, as `tc` calls it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its file; [`registry::head`] gives the head: what it is, its formulas, its sources, its deviations.
    pub source: &'static str,
    /// What may be set.
    pub parameters: &'static [Parameter],
    /// It holds a child discipline.
    pub classful: bool,
    /// Makes one.
    pub build: Build,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.name)
    }
}
