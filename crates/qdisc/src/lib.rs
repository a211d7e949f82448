//! Queue disciplines: one file each, one row each in [`registry`].
//!
//! A discipline owns packets, each in a box of its own: a packet passes through many hands, and they pass eight
//! bytes. A law ([`aqm`]) judges one packet at one moment and owns none; it is shared with
//! the Wi-Fi stack. Both take `now` and random draws from a [`Context`] and never ask for them elsewhere.
//! Every queue keeps the ledger *arrived = left + dropped + backlog*.

pub mod aqm;
mod bfifo;
mod cake;
mod codel;
mod double_list;
mod drr;
mod dualpi2;
mod fifo;
mod flow_hash;
pub mod flow_queues;
mod fq;
mod fq_codel;
mod fq_pie;
mod framing;
mod htb;
mod index_list;
mod ledger;
mod mq;
mod netem;
mod pfifo;
mod pfifo_fast;
mod pfifo_head_drop;
mod pie;
mod prio;
mod priority;
mod red;
pub mod registry;
pub mod round_robin;
mod series;
mod sfq;
mod tbf;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod toy;

pub use series::Series;

use std::fmt;

use rand_core::Rng;
use tailback_packet::{DropReason, ETHERNET_HEADER, HostId, Packet, SocketId};
use tailback_units::{Parameter, ParameterError, Parameters, Rate, SimTime};

/// What a discipline may use: the time, random numbers, and the only ways to dispose of a packet.
pub struct Context<'a> {
    /// The instant of this call.
    pub now: SimTime,
    /// Random draws of this device.
    pub draws: &'a mut dyn Rng,
    /// As in [`Effects`].
    pub dropped: &'a mut Vec<(Box<Packet>, DropReason)>,
    /// As in [`Effects`].
    pub credits: &'a mut Vec<(SocketId, u32)>,
    /// As in [`Effects`].
    pub copies: &'a mut Vec<Box<Packet>>,
    /// The packet being enqueued is such a copy: it is not copied again.
    pub is_copy: bool,
}

/// What calls of a discipline leave for the caller.
#[derive(Debug, Default)]
pub struct Effects {
    /// Packets refused or dropped, with the reason; the caller returns their credit and counts them.
    pub dropped: Vec<(Box<Packet>, DropReason)>,
    /// Small-queue credits of sockets whose packets were released while they wait on.
    pub credits: Vec<(SocketId, u32)>,
    /// Copies made of packets, which the caller enqueues at the root.
    pub copies: Vec<Box<Packet>>,
}

impl Effects {
    /// The context of a call at `now`.
    #[inline]
    pub fn context<'a>(&'a mut self, now: SimTime, draws: &'a mut dyn Rng) -> Context<'a> {
        let Effects { dropped, credits, copies } = self;
        Context { now, draws, dropped, credits, copies, is_copy: false }
    }
}

impl Context<'_> {
    /// The same for a packet that is itself a copy.
    #[must_use]
    #[inline]
    pub fn of_copy(self) -> Self {
        Context { is_copy: true, ..self }
    }

    /// Ends a packet.
    pub fn refuse(&mut self, packet: Box<Packet>, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    /// The socket that sent `packet` is no longer charged for it, although it has not left.
    /// [linux-6.12 skb_orphan_partial]
    pub fn release(&mut self, packet: &mut Packet) {
        if packet.charged {
            packet.charged = false;
            self.credits.push((packet.from, packet.truesize));
        }
    }
}

/// The return value of an enqueue, for the sender. [linux-6.12 NET_XMIT_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enqueued {
    /// Accepted.
    Queued,
    /// This very packet was dropped.
    Dropped,
    /// A packet of the same flow was dropped, perhaps this one; the sender is to slow down and takes this one for sent.
    Congestion,
    /// This packet was dropped as a wire would: the sender is not told.
    Lost,
}

/// The result of a dequeue.
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

/// A part of a discipline with counters of its own, under the names of `tc -s -j`: a tin or a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its counters and levels.
    pub counters: Vec<(&'static str, i64)>,
}

/// What a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartKind {
    /// A tin of `cake`.
    Tin,
    /// A class by its minor number and that of its parent, 0 being the discipline itself.
    Class {
        /// Its number.
        minor: u16,
        /// Its parent's.
        parent: u16,
        /// It holds a discipline.
        leaf: bool,
    },
}

/// A queueing discipline. The device calls `dequeue` whenever it can send; a shaper answers
/// [`Dequeued::NotBefore`] and the device asks again then.
pub trait Qdisc: Send {
    /// Takes a packet, or disposes of it (or of another) at the context. The discipline stamps `packet.enqueued`.
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued;
    /// Lets a packet that meets an empty queue and a device that can send pass at once, counted as queued and
    /// taken; false if it must be queued. [linux-6.12 TCQ_F_CAN_BYPASS]
    fn bypass(&mut self, _packet: &mut Packet, _now: SimTime) -> bool {
        false
    }
    /// Before this instant `dequeue` answers [`Dequeued::NotBefore`] this instant, whatever packets come until then. A
    /// discipline that cannot say so answers an instant that has passed.
    fn closed_until(&self) -> SimTime {
        SimTime::ZERO
    }
    /// Gives the next packet.
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued;
    /// Present occupancy, children included.
    fn backlog(&self) -> Backlog;
    /// The counters of every kind.
    fn counters(&self) -> Counters;
    /// The counters of this kind only, under the names of `tc -s -j qdisc`.
    fn own_counters(&self, _show: &mut dyn FnMut(&'static str, u64)) {}
    /// The levels of this kind only that may be negative (tokens), likewise.
    fn own_levels(&self, _show: &mut dyn FnMut(&'static str, i64)) {}
    /// Its parts that have counters of their own, in the order in which `tc -s` shows them.
    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }
    /// The kind, as `tc` calls it.
    fn kind(&self) -> &'static str;
    /// Shows the children, of a discipline that has them.
    fn visit_children(&self, _show: &mut dyn FnMut(&dyn Qdisc)) {}
    /// It, or a child, spaces packets by their departure times, so that TCP need not.
    /// [linux-6.12 sch_fq.c sk_pacing_status]
    fn takes_over_pacing(&self) -> bool {
        let mut taken = false;
        self.visit_children(&mut |child| taken |= child.takes_over_pacing());
        taken
    }
}

/// Shows a discipline and all below it with their depth, parents first.
pub fn visit(root: &dyn Qdisc, show: &mut dyn FnMut(u32, &dyn Qdisc)) {
    visit_below(root, 0, show);
}

fn visit_below(qdisc: &dyn Qdisc, depth: u32, show: &mut dyn FnMut(u32, &dyn Qdisc)) {
    show(depth, qdisc);
    qdisc.visit_children(&mut |child| visit_below(child, depth + 1, show));
}

/// What `tc -s class` shows of every class.
pub(crate) fn class_counters(sent: &Counters, backlog: &Backlog) -> [(&'static str, i64); 7] {
    [
        ("bytes", sent.sent_bytes as i64),
        ("packets", sent.sent_packets as i64),
        ("drops", sent.dropped as i64),
        ("overlimits", sent.overlimits as i64),
        ("requeues", sent.requeues as i64),
        ("backlog", backlog.bytes as i64),
        ("qlen", i64::from(backlog.packets)),
    ]
}

/// The properties of the device to which a discipline is attached.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Length of the longest frame without FCS: MTU + 14. [linux-5.10 psched_mtu]
    pub mtu: u32,
    /// `txqueuelen` of the device.
    pub queue_length: u32,
    /// Speed of the device; unlimited for a veth.
    pub rate: Rate,
}

impl Attachment {
    /// A veth whose IP packets have at most `mtu` bytes.
    pub fn with_mtu(mtu: u32) -> Self {
        Attachment { mtu: mtu + ETHERNET_HEADER, ..Attachment::default() }
    }
}

impl Default for Attachment {
    /// A veth with an Ethernet MTU.
    fn default() -> Self {
        Attachment { mtu: 1514, queue_length: 1000, rate: Rate::UNLIMITED }
    }
}

/// The disciplines inside a discipline: one child, or classes with filters that choose between them.
#[derive(Default)]
pub struct Inner {
    /// The child of a discipline with one.
    pub child: Option<Box<dyn Qdisc>>,
    /// The classes, in the order they were given; a parent stands before its children.
    pub classes: Vec<Class>,
    /// Which packets go to which class; the first that fits decides.
    pub filters: Vec<Filter>,
}

impl Inner {
    /// One child, or the default one.
    pub fn child(child: Option<Box<dyn Qdisc>>) -> Self {
        Inner { child, ..Inner::default() }
    }
}

/// A class of a classful discipline.
pub struct Class {
    /// The minor number of its handle.
    pub minor: u16,
    /// The minor number of its parent; 0 is the discipline itself.
    pub parent: u16,
    /// What was given for it, and the defaults.
    pub parameters: Parameters,
    /// The discipline of a leaf; not given: the default one.
    pub child: Option<Box<dyn Qdisc>>,
}

/// Sends the packets that fit to a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Which packets fit.
    pub fits: Fits,
    /// The minor number of the class.
    pub class: u16,
}

/// What a filter matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fits {
    /// Sent by or to one of these sockets.
    Sockets(Vec<SocketId>),
    /// Sent by one of these sockets (those of a host).
    From(Vec<SocketId>),
    /// Addressed to this host.
    To(HostId),
    /// With this code point in the upper six bits of its type of service.
    Dscp(u8),
    /// Every packet.
    All,
}

impl Filter {
    /// True if it sends `packet` to its class.
    pub fn fits(&self, packet: &Packet) -> bool {
        match &self.fits {
            Fits::Sockets(sockets) => sockets.contains(&packet.from) || sockets.contains(&packet.to),
            Fits::From(sockets) => sockets.contains(&packet.from),
            Fits::To(host) => packet.destination == *host,
            Fits::Dscp(code_point) => packet.tos >> 2 == *code_point,
            Fits::All => true,
        }
    }
}

/// The class that the first fitting filter chooses.
pub(crate) fn filtered(filters: &[Filter], packet: &Packet) -> Option<u16> {
    filters.iter().find(|filter| filter.fits(packet)).map(|filter| filter.class)
}

/// Fills in the parameters that follow from others or from the device.
pub type Derive = fn(&mut Parameters, &Attachment) -> Result<(), ParameterError>;

/// Builds a discipline from its parameters, all filled in, its device and what it holds.
pub type Build = fn(&Parameters, &Attachment, Inner) -> Result<Box<dyn Qdisc>, ParameterError>;

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
    /// It holds one child discipline.
    pub classful: bool,
    /// What may be set for each of its classes, of a discipline that has them.
    pub classes: Option<&'static [Parameter]>,
    /// Fills in what follows from the device and from other parameters.
    pub derive: Derive,
    /// Makes one.
    pub build: Build,
}

/// Nothing follows from the device.
pub(crate) fn nothing_derived(_: &mut Parameters, _: &Attachment) -> Result<(), ParameterError> {
    Ok(())
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.name)
    }
}
