//! State that all parts of the world share: the time, the calendar, the backlog of received packets, the credits to
//! return, the ledger and the journal.

use std::collections::VecDeque;

use tailback_engine::Calendar;
use tailback_packet::{DropReason, HostId, Packet, SocketId};
use tailback_qdisc::Effects;
use tailback_units::SimTime;

use crate::capture::Captures;
use crate::channel::RadioChannel;
use crate::journal::Journal;
use crate::{Cost, DeviceId, Event, Ledger};

/// The context on which devices, sockets and applications act.
#[derive(Debug)]
pub(crate) struct Context {
    /// The present time.
    pub(crate) now: SimTime,
    pub(crate) calendar: Calendar<Event>,
    /// Packets received and not yet processed, over all hosts. [linux-6.12 softnet_data input_pkt_queue]
    pub(crate) backlog: VecDeque<(HostId, Box<Packet>)>,
    /// The effects of disciplines that are still to be processed: packets dropped, truesize to be credited to sockets
    /// (also that of packets that left their host or were dropped there), and copies made.
    pub(crate) effects: Effects,
    /// Boxes of packets that were received or dropped, for packets to be made: the last one is still in the cache.
    /// There are as many as packets were ever in the network at once.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    boxes: Vec<Box<Packet>>,
    /// Memory that the segments of a cut train cost more than the train: its socket is charged for it.
    pub(crate) segmented: Vec<(SocketId, u32)>,
    /// The Wi-Fi cells.
    pub(crate) channels: Vec<RadioChannel>,
    /// The output of a channel that is not yet processed.
    pub(crate) outcomes: Vec<tailback_wifi::Outcome>,
    pub(crate) ledger: Ledger,
    pub(crate) cost: Cost,
    pub(crate) journal: Journal,
    pub(crate) captures: Captures,
}

impl Context {
    pub(crate) fn new(journal: Journal, captures: Captures) -> Self {
        Context {
            now: SimTime::ZERO,
            calendar: Calendar::new(),
            backlog: VecDeque::new(),
            effects: Effects::default(),
            boxes: Vec::new(),
            segmented: Vec::new(),
            channels: Vec::new(),
            outcomes: Vec::new(),
            ledger: Ledger::default(),
            cost: Cost::default(),
            journal,
            captures,
        }
    }

    /// Schedules `event` at `at`.
    #[inline]
    pub(crate) fn wake_at(&mut self, at: SimTime, event: Event) {
        self.calendar.schedule(at, event);
    }

    /// A packet in a box, if possible one that has been in use and is in the cache.
    #[inline]
    pub(crate) fn in_box(&mut self, packet: Packet) -> Box<Packet> {
        match self.boxes.pop() {
            Some(mut used) => {
                *used = packet;
                used
            }
            None => Box::new(packet),
        }
    }

    /// A box to write a packet into, if possible one that has been in use and is in the cache.
    #[inline]
    pub(crate) fn spare_box(&mut self) -> Box<Packet> {
        self.boxes.pop().unwrap_or_else(|| Box::new(Packet::empty()))
    }

    /// Keeps the box of a packet that is no longer needed, to use it again.
    #[inline]
    pub(crate) fn keep_box(&mut self, packet: Box<Packet>) {
        self.boxes.push(packet);
    }

    /// Ends the charge of `packet` to the socket that sent it. [linux-6.12 skb_orphan, tcp_wfree]
    #[inline]
    pub(crate) fn orphan(&mut self, packet: &mut Packet) {
        if packet.charged {
            packet.charged = false;
            self.effects.credits.push((packet.from, packet.truesize));
        }
    }

    /// Sockets are to be charged for segments or to be credited.
    #[inline]
    pub(crate) fn owes_sockets(&self) -> bool {
        !(self.effects.credits.is_empty() && self.segmented.is_empty())
    }

    /// Drops a packet at `device`.
    pub(crate) fn drop_packet(&mut self, mut packet: Box<Packet>, reason: DropReason, device: DeviceId) {
        self.orphan(&mut packet);
        self.ledger.dropped += 1;
        self.journal.packet_dropped(self.now, device, &packet, reason);
        self.keep_box(packet);
    }
}
