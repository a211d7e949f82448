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
    pub(crate) from_air: tailback_wifi::Output,
    pub(crate) ledger: Ledger,
    /// Packets in the network of each pair of sockets.
    inside: Vec<u32>,
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
            from_air: tailback_wifi::Output::default(),
            ledger: Ledger::default(),
            inside: Vec::new(),
            cost: Cost::default(),
            journal,
            captures,
        }
    }

    /// There are so many sockets.
    pub(crate) fn count_sockets(&mut self, sockets: usize) {
        self.inside = vec![0; sockets.div_ceil(2)];
    }

    /// Packets in the network of `socket` and its peer.
    pub(crate) fn in_network(&self, socket: SocketId) -> u32 {
        self.inside[pair(socket)]
    }

    /// Whether the packets of all sockets are those of the ledger.
    pub(crate) fn counts_agree(&self) -> bool {
        let inside: u64 = self.inside.iter().map(|&packets| u64::from(packets)).sum();
        self.ledger.created == self.ledger.delivered + self.ledger.dropped + inside
    }

    /// `packet` enters the network, as so many.
    #[inline]
    pub(crate) fn enters(&mut self, packet: &Packet, count: u32) {
        self.ledger.created += u64::from(count);
        if let Some(inside) = self.inside.get_mut(pair(packet.from)) {
            *inside += count;
        }
    }

    /// `packet` reaches its host.
    #[inline]
    pub(crate) fn delivered(&mut self, packet: &Packet) {
        self.ledger.delivered += 1;
        self.leaves(packet);
    }

    /// `packet` is dropped.
    #[inline]
    pub(crate) fn dropped(&mut self, packet: &Packet) {
        self.ledger.dropped += 1;
        self.leaves(packet);
    }

    #[inline]
    fn leaves(&mut self, packet: &Packet) {
        if let Some(inside) = self.inside.get_mut(pair(packet.from)) {
            *inside -= 1;
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

    /// A socket gets its credit for packets of so much memory, if that is not zero.
    #[inline]
    pub(crate) fn credit(&mut self, socket: SocketId, truesize: u32) {
        if truesize > 0 {
            self.effects.credits.push((socket, truesize));
        }
    }

    /// Sockets are to be charged for segments or to be credited.
    #[inline]
    pub(crate) fn owes_sockets(&self) -> bool {
        !(self.effects.credits.is_empty() && self.segmented.is_empty())
    }

    /// A discipline has cut a train and queued its segments: its sender is charged for them.
    pub(crate) fn segmented_in_queue(&mut self, train: Box<Packet>) {
        self.enters(&train, u32::from(train.segments) - 1);
        if train.charged {
            self.segmented.push((train.from, train.memory_to_segment()));
        }
        self.keep_box(train);
    }

    /// Drops a packet whose checksum is wrong at its destination. [linux-6.12 tcp_v4_rcv csum_error]
    #[cold]
    pub(crate) fn discard(&mut self, host: HostId, packet: &Packet) {
        self.dropped(packet);
        self.journal.packet_discarded(self.now, host, packet, DropReason::Corrupted);
    }

    /// Drops a packet at `device`.
    pub(crate) fn drop_packet(&mut self, mut packet: Box<Packet>, reason: DropReason, device: DeviceId) {
        self.orphan(&mut packet);
        self.dropped(&packet);
        self.journal.packet_dropped(self.now, device, &packet, reason);
        if let Some(log) = &mut self.captures.log {
            log.dropped(device, &packet, (self.now, reason), &self.journal);
        }
        self.keep_box(packet);
    }
}

/// The place of a socket and its peer, which has the next or the last number, in [`Context::inside`].
#[inline]
fn pair(socket: SocketId) -> usize {
    socket.0 as usize / 2
}
