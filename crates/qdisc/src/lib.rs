//! Queue disciplines: one file each, one row each in [`registry`].
//!
//! A discipline owns packets, each in a box, so that handing one over moves eight bytes. An AQM law ([`aqm`]) decides
//! about one packet at a time and owns none; the Wi-Fi stack uses the same laws. Both take `now` and random numbers
//! from a [`Context`] and from nowhere else. In every queue, *arrived = left + dropped + backlog*.

pub mod aqm;
mod bfifo;
mod cake;
mod children;
mod choke;
mod codel;
mod conservation;
mod double_list;
mod drr;
mod dualpi2;
mod entered;
mod fifo;
mod flow_hash;
pub mod flow_queues;
mod fq;
mod fq_codel;
mod fq_pie;
mod framing;
mod hhf;
mod htb;
mod index_list;
mod ledger;
mod mq;
mod netem;
mod pfifo;
mod pfifo_fast;
mod pfifo_head_drop;
mod pie;
mod police;
mod prio;
mod priority;
mod red;
pub mod registry;
mod root;
pub mod round_robin;
mod series;
mod sfq;
mod size_table;
mod tbf;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod toy;
mod wrapped;

pub use conservation::{Leak, check_conservation};
pub use entered::Entered;
pub use pfifo_fast::PfifoFast;
pub use police::{DEFAULT_MTU as POLICER_MTU, Policed, Policer, PolicerSpec};
pub use root::Root;
pub use series::Series;
pub use size_table::{SizeTableSpec, Sized};

use std::fmt;

use rand_core::Rng;
use tailback_packet::{DropReason, ETHERNET_HEADER, HostId, Packet, SocketId};
use tailback_units::{Parameter, ParameterError, Parameters, Rate, SimTime};

/// What a discipline may use: the time, random numbers, and the lists of what it has dropped, released and copied.
pub struct Context<'a> {
    /// The present time.
    pub now: SimTime,
    /// Random numbers of this device.
    pub draws: &'a mut dyn Rng,
    /// What the caller has to act on.
    pub effects: &'a mut Effects,
    /// The packet that is being enqueued is a copy, which is not copied again.
    pub is_copy: bool,
}

/// Side effects of a call that the caller has to act on.
#[derive(Debug, Default)]
pub struct Effects {
    /// Packets dropped, with the reason; the caller returns their small-queue credit and counts them. One with the reason
    /// [`DropReason::Segmented`] is a train whose segments are queued in its place: its sender is charged for them, and
    /// they are counted as created.
    pub dropped: Vec<(Box<Packet>, DropReason)>,
    /// Small-queue credits of packets that are no longer charged to their sockets but are still queued.
    pub credits: Vec<(SocketId, u32)>,
    /// Copies of packets, which the caller enqueues at the root.
    pub copies: Vec<Box<Packet>>,
    /// Packets marked by queues above a radio, which the caller records. A discipline counts its own.
    pub marks: Vec<Mark>,
}

/// A packet was marked CE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The socket that sent it.
    pub from: SocketId,
    /// Bytes of its Ethernet frame.
    pub frame_length: u32,
}

impl Mark {
    /// The mark of `packet`.
    pub fn of(packet: &Packet) -> Self {
        Mark { from: packet.from, frame_length: packet.frame_length() }
    }
}

impl Effects {
    /// The context of a call at `now`.
    #[inline]
    pub fn context<'a>(&'a mut self, now: SimTime, draws: &'a mut dyn Rng) -> Context<'a> {
        Context { now, draws, effects: self, is_copy: false }
    }
}

impl Context<'_> {
    /// The context of a call for a packet that is itself a copy.
    #[must_use]
    #[inline]
    pub fn of_copy(self) -> Self {
        Context { is_copy: true, ..self }
    }

    /// Drops `packet`.
    pub fn refuse(&mut self, packet: Box<Packet>, reason: DropReason) {
        self.effects.dropped.push((packet, reason));
    }

    /// Marks `packet`, and has that recorded.
    pub fn mark(&mut self, packet: &mut Packet) {
        packet.mark();
        self.effects.marks.push(Mark::of(packet));
    }

    /// Ends the charge of `packet` to the socket that sent it, although it is still queued.
    /// [linux-6.12 skb_orphan_partial]
    pub fn release(&mut self, packet: &mut Packet) {
        if packet.charged {
            packet.charged = false;
            self.effects.credits.push((packet.from, packet.truesize));
        }
    }
}

/// The result of an enqueue, for the sender. [linux-6.12 NET_XMIT_*]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enqueued {
    /// Accepted.
    Queued,
    /// This packet was dropped.
    Dropped,
    /// A packet of the same flow was dropped, perhaps this one. The sender slows down and treats this one as sent.
    Congestion,
    /// This packet was lost as on a wire; the sender does not notice.
    Lost,
}

/// The result of a dequeue.
#[derive(Debug)]
pub enum Dequeued {
    /// The packet to send.
    Packet(Box<Packet>),
    /// No packet may leave before this time.
    NotBefore(SimTime),
    /// No packet is queued.
    Empty,
}

/// What a look at the next packet finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peeked {
    /// A packet whose frame has this length.
    Frame(u32),
    /// No packet may leave before this time.
    NotBefore(SimTime),
    /// No packet is queued.
    Empty,
}

/// Present occupancy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Queued packets.
    pub packets: u32,
    /// Their frame lengths.
    pub bytes: u64,
}

/// Packets that bypassed a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bypassed {
    /// Their frame lengths.
    pub bytes: u64,
    /// Their segments: a train has several.
    pub segments: u32,
}

impl Bypassed {
    /// One more.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.bytes += u64::from(packet.frame_length());
        self.segments += u32::from(packet.segments);
    }

    /// One more, a single segment with a frame of this length.
    #[inline]
    pub fn add_frame(&mut self, length: u64) {
        self.bytes += length;
        self.segments += 1;
    }
}

/// The counters that `tc -s qdisc` shows for every kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frame bytes that left.
    pub sent_bytes: u64,
    /// Packets that left; a train counts as its segments.
    pub sent_packets: u64,
    /// Packets dropped here or in a child.
    pub dropped: u64,
    /// Times a shaper had a packet but no tokens.
    pub overlimits: u64,
    /// Times a packet was requeued.
    pub requeues: u64,
    /// Packets marked CE by this discipline, without those marked by its children.
    pub marked: u64,
}

/// A part of a discipline with counters of its own, under the names of `tc -s -j`: a tin or a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// A tin or a class.
    pub kind: PartKind,
    /// The counters and gauges of this tin or class.
    pub counters: Vec<(&'static str, i64)>,
}

/// The kind of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartKind {
    /// A tin of `cake`.
    Tin,
    /// A class.
    Class {
        /// The minor number of the class.
        minor: u16,
        /// The minor number of its parent; 0 is the discipline itself.
        parent: u16,
        /// It is a leaf: it has a discipline.
        leaf: bool,
    },
}

/// A queueing discipline. The device calls `dequeue` whenever it can send. If a shaper returns
/// [`Dequeued::NotBefore`], the device calls again at that time.
pub trait Qdisc: Send {
    /// Enqueues a packet, or drops it or another one by the context. The discipline sets `packet.enqueued`.
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued;
    /// Whether the discipline queues the segments of this packet of several segments, not the packet: the device then
    /// segments it and enqueues one after the other.
    fn queues_segments(&self, _train: &Packet) -> bool {
        false
    }
    /// Looks at the packet that the next `dequeue` returns, for a parent that must know its length first, as `tbf`.
    /// `None`: this kind cannot; who wants to look must dequeue the packet and keep it. [linux-6.12 qdisc_peek_dequeued]
    fn peek(&mut self, _context: &mut Context<'_>) -> Option<Peeked> {
        None
    }
    /// Notes the frame length of the packet that a parent has dequeued for a look and still keeps: it counts as queued
    /// here until `None` is noted. [linux-6.12 qdisc_dequeue_peeked]
    fn note_peeked(&mut self, _length: Option<u32>) {}
    /// Whether a packet bypasses the discipline while it is empty and the device can send. The device counts such packets
    /// and tells it by [`Qdisc::count_bypassed`]. It is asked of the root alone. [linux-6.12 TCQ_F_CAN_BYPASS]
    fn can_bypass(&self) -> bool {
        false
    }
    /// Counts packets that bypassed it as enqueued and dequeued.
    fn count_bypassed(&mut self, _bypassed: Bypassed) {}
    /// Until this time `dequeue` returns [`Dequeued::NotBefore`] with it, whatever packets arrive. A discipline that cannot
    /// tell returns a time that has passed.
    fn closed_until(&self) -> SimTime {
        SimTime::ZERO
    }
    /// Returns the next packet.
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued;
    /// Present occupancy, children included.
    fn backlog(&self) -> Backlog;
    /// The largest occupancy since this was last called, that before the run is none: of packets, and of bytes.
    fn high_water(&self) -> Backlog;
    /// The counters of every kind.
    fn counters(&self) -> Counters;
    /// The counters that only this kind has, under the names of `tc -s -j qdisc`.
    fn own_counters(&self, _show: &mut dyn FnMut(&'static str, u64)) {}
    /// The values that only this kind has and that may be negative (tokens), likewise.
    fn own_levels(&self, _show: &mut dyn FnMut(&'static str, i64)) {}
    /// The parts of the discipline that have their own counters, in the order in which `tc -s` shows them.
    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }
    /// The kind, as `tc` calls it.
    fn kind(&self) -> &'static str;
    /// A packet that leaves carries when it entered the last of several disciplines, one after another, and not the first.
    fn restarts_sojourns(&self) -> bool {
        let mut restarts = false;
        self.visit_children(&mut |child| restarts |= child.restarts_sojourns());
        restarts
    }
    /// It measures packets by a size table.
    fn has_size_table(&self) -> bool {
        false
    }
    /// The discipline that sees the lengths of this one's size table, and counts them.
    fn under_size_table(&mut self) -> Option<&mut dyn Qdisc> {
        None
    }
    /// Visits the children.
    fn visit_children(&self, _show: &mut dyn FnMut(&dyn Qdisc)) {}
    /// The discipline or a child spaces packets by their departure times, so that TCP does not pace.
    /// [linux-6.12 sch_fq.c sk_pacing_status]
    fn takes_over_pacing(&self) -> bool {
        let mut taken = false;
        self.visit_children(&mut |child| taken |= child.takes_over_pacing());
        taken
    }
}

/// Visits a discipline and all below it, with their depth, parents first.
pub fn visit(root: &dyn Qdisc, show: &mut dyn FnMut(u32, &dyn Qdisc)) {
    visit_below(root, 0, show);
}

fn visit_below(qdisc: &dyn Qdisc, depth: u32, show: &mut dyn FnMut(u32, &dyn Qdisc)) {
    show(depth, qdisc);
    qdisc.visit_children(&mut |child| visit_below(child, depth + 1, show));
}

/// The values that `tc -s class` shows for every class.
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
    /// Maximum length of a frame without FCS: MTU + 14. [linux-5.10 psched_mtu]
    pub mtu: u32,
    /// `txqueuelen` of the device.
    pub queue_length: u32,
    /// Speed of the device; unlimited for a veth.
    pub rate: Rate,
    /// The kernel of the device starts the timer of adaptive RED. Linux since 5.7 does not: `tc` passes the flags in an
    /// attribute, and the kernel looks for this one where they were before. [linux-5.7 sch_red.c __red_change]
    pub adapts_red: bool,
    /// Whose device it is: packets that come from it are not forwarded.
    pub host: HostId,
}

impl Attachment {
    /// A veth with this MTU.
    pub fn with_mtu(mtu: u32) -> Self {
        Attachment { mtu: mtu + ETHERNET_HEADER, ..Attachment::default() }
    }
}

impl Default for Attachment {
    /// A veth with the MTU of Ethernet.
    fn default() -> Self {
        Attachment {
            mtu: 1514,
            queue_length: 1000,
            rate: Rate::UNLIMITED,
            adapts_red: false,
            host: HostId(u16::MAX),
        }
    }
}

/// The disciplines inside a discipline: one child, or classes with filters that choose between them.
#[derive(Default)]
pub struct Inner {
    /// The child, of a discipline that has one.
    pub child: Option<Box<dyn Qdisc>>,
    /// The classes, in the given order; a parent precedes its children.
    pub classes: Vec<Class>,
    /// Which packets go to which class; the first filter that matches decides.
    pub filters: Vec<Filter>,
}

impl Inner {
    /// One child; `None`: the default one.
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
    /// The parameters of the class, with the defaults.
    pub parameters: Parameters,
    /// The discipline of a leaf; `None`: the default one.
    pub child: Option<Box<dyn Qdisc>>,
}

/// Assigns packets to a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Which packets it matches.
    pub fits: Fits,
    /// Minor number of the class.
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
    /// With this code point (the upper six bits of the type of service).
    Dscp(u8),
    /// Every packet.
    All,
}

impl Filter {
    /// True if it matches `packet`.
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

/// The class of the first filter that matches.
pub(crate) fn filtered(filters: &[Filter], packet: &Packet) -> Option<u16> {
    filters.iter().find(|filter| filter.fits(packet)).map(|filter| filter.class)
}

/// Fills in the parameters that are derived from others or from the device.
pub type Derive = fn(&mut Parameters, &Attachment) -> Result<(), ParameterError>;

/// Builds a discipline from its complete parameters, its device, and its children.
pub type Build = fn(&Parameters, &Attachment, Inner) -> Result<Box<dyn Qdisc>, ParameterError>;

/// One row of the registry, for one file of this crate.
pub struct Row {
    /// The kind, as `tc` calls it.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// The text of its file; [`registry::head`] extracts the head: idea, formulas, sources, deviations.
    pub source: &'static str,
    /// The parameters of the discipline.
    pub parameters: &'static [Parameter],
    /// The discipline has one child discipline.
    pub classful: bool,
    /// The parameters of its classes, of a discipline that has classes.
    pub classes: Option<&'static [Parameter]>,
    /// Fills in derived parameters.
    pub derive: Derive,
    /// Builds the discipline.
    pub build: Build,
}

/// For a discipline without derived parameters.
pub(crate) fn nothing_derived(_: &mut Parameters, _: &Attachment) -> Result<(), ParameterError> {
    Ok(())
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.name)
    }
}
