//! Where packets are within a window of time: the tables `packets`, `mpdus` and `senders`.
//!
//! ```text
//! comes to a device ─ discipline ─▶ dequeued ─ ring ─▶ sent ─ link ─▶ arrived, or dropped on its way
//!                        └─ dropped in the queue
//! ```
//! A packet is known by where it is in memory, which stays the same from its sender to its destination; its number is
//! given when it first leaves a discipline. A row is written when the way over a device ends, if it has any time in common
//! with the window. So packets that wait in a queue when the run ends have none.
//!
//! Deviations: what entered a link longer than [`LEAD`] before the window is not shown on that link. Copies that netem makes
//! are seen from the next device on. A train that is cut on its way gives new numbers to its segments.

use std::collections::BTreeMap;

use tailback_packet::{DropReason, Ecn, HostId, Packet, Payload, Segment, SegmentFlags, SocketId};
use tailback_record::{Mpdus, MpdusRow, Name, Packets, PacketsRow, Record, Senders, SendersRow};
use tailback_units::{Bytes, SimTime, Span};

use crate::DeviceId;
use crate::journal::Journal;

/// How long before the window packets are followed.
const LEAD: Span = Span::from_secs(2);

/// A packet on its way.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    what: &'static str,
    from: SocketId,
    /// When it came to the host where it is, if that is known.
    came: SimTime,
    /// Its way over the device that it left last, until that ends.
    open: Option<Way>,
}

/// The way of a packet over a device.
#[derive(Clone, Copy, Debug)]
struct Way {
    device: DeviceId,
    row: PacketsRow,
}

/// The log of a run.
#[derive(Debug)]
pub(crate) struct PacketLog {
    begins: SimTime,
    ends: SimTime,
    /// The host of each device.
    hosts: Vec<HostId>,
    /// One more than the last byte that each socket has sent, by its number.
    highest: BTreeMap<SocketId, u64>,
    /// By the place in memory.
    under_way: BTreeMap<usize, UnderWay>,
    next: u64,
    ways: Vec<Way>,
    mpdus: Mpdus,
    senders: Senders,
}

impl PacketLog {
    /// An empty log of the window from `begins` to `ends`.
    pub(crate) fn new([begins, ends]: [SimTime; 2], hosts: Vec<HostId>) -> Self {
        PacketLog {
            begins,
            ends,
            hosts,
            highest: BTreeMap::new(),
            under_way: BTreeMap::new(),
            next: 1,
            ways: Vec::new(),
            mpdus: Mpdus::default(),
            senders: Senders::default(),
        }
    }

    /// Whether `now` lies in the window.
    pub(crate) fn covers(&self, now: SimTime) -> bool {
        self.begins <= now && now < self.ends
    }

    /// A packet leaves the discipline of a device; `sent`: its last bit leaves at the same time.
    pub(crate) fn dequeued(
        &mut self,
        device: DeviceId,
        packet: &Packet,
        (now, sent): (SimTime, Option<SimTime>),
        journal: &Journal,
    ) {
        let is_first = self.hosts[device.index()] == packet.source;
        // Asked also before the window: it keeps how far each socket has sent.
        let what = self.what(packet, is_first);
        let known = self.under_way.remove(&packet.place());
        if now < self.begins - LEAD || packet.enqueued >= self.ends {
            return;
        }
        let known = known.filter(|known| !is_first && known.open.is_none() && known.from == packet.from);
        let (number, what) =
            known.map_or_else(|| (self.give_number(), what), |known| (known.number, known.what));
        let row =
            PacketsRow { packet: number, what, dequeued: Some(now), sent, ..row(device, packet, journal) };
        let open = Some(Way { device, row });
        let under_way = UnderWay { number, what, from: packet.from, came: packet.enqueued, open };
        self.under_way.insert(packet.place(), under_way);
    }

    /// The last bit of a packet leaves a device at this time.
    pub(crate) fn departs(&mut self, place: usize, departure: SimTime) {
        if let Some(way) = self.under_way.get_mut(&place).and_then(|known| known.open.as_mut()) {
            way.row.sent = Some(departure);
        }
    }

    /// A packet has come to the other end of the link, at this host.
    pub(crate) fn arrived(&mut self, host: HostId, packet: &Packet, now: SimTime) {
        let place = packet.place();
        let Some(known) = self.under_way.get_mut(&place) else { return };
        known.came = now;
        let open = known.open.take();
        if packet.destination == host {
            self.under_way.remove(&place);
        }
        if let Some(way) = open {
            self.close(way, packet, (now, "arrived"));
        }
    }

    /// A packet is dropped at a device, in its queue or on its way.
    pub(crate) fn dropped(
        &mut self,
        device: DeviceId,
        packet: &Packet,
        (now, reason): (SimTime, DropReason),
        journal: &Journal,
    ) {
        let is_first = self.hosts[device.index()] == packet.source;
        let what = self.what(packet, is_first);
        let known = self.under_way.remove(&packet.place()).filter(|known| known.from == packet.from);
        let end = (now, reason.name());
        if let Some(way) = known.as_ref().and_then(|known| known.open).filter(|way| way.device == device) {
            return self.close(way, packet, end);
        }
        let known = known.filter(|_| !is_first);
        let came = known.as_ref().map_or(SimTime::ZERO, |known| known.came);
        // One that was dropped on arrival has the time of its last queue, if any.
        let waited = packet.enqueued > SimTime::ZERO && packet.enqueued >= came;
        let t = if waited { packet.enqueued } else { now };
        if self.shows(t, now) {
            let (number, what) =
                known.map_or_else(|| (self.give_number(), what), |known| (known.number, known.what));
            let row = PacketsRow { t, packet: number, what, ..row(device, packet, journal) };
            self.close(Way { device, row }, packet, end);
        }
    }

    /// Packets were in a PPDU that began at `t`.
    pub(crate) fn on_air(&mut self, from: Name, t: SimTime, mpdus: &[(usize, bool)]) {
        if t >= self.ends {
            return;
        }
        for (place, received) in mpdus {
            if let Some(known) = self.under_way.get(place) {
                self.mpdus.push(MpdusRow { t, from, packet: known.number, received: u64::from(*received) });
            }
        }
    }

    /// A sender has processed an ACK.
    pub(crate) fn acknowledged(&mut self, row: SendersRow) {
        self.senders.push(row);
    }

    /// Memory of its rows by now.
    pub(crate) fn held(&self) -> usize {
        self.ways.capacity() * size_of::<Way>() + self.mpdus.held() + self.senders.held()
    }

    /// Writes its tables.
    pub(crate) fn finish(mut self, record: &mut Record) {
        let left = std::mem::take(&mut self.under_way);
        self.ways.extend(left.into_values().filter_map(|known| known.open));
        // By time and number, so that no place in memory decides.
        self.ways.sort_by_key(|way| (way.row.t, way.row.packet, way.device.0));
        let mut packets = Packets::default();
        self.ways.iter().for_each(|way| packets.push(way.row));
        record.packets = Some(packets);
        record.senders = Some(self.senders);
        record.mpdus = record.wifi.is_some().then_some(self.mpdus);
    }

    fn give_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Whether a way from `t` to `end` has time in common with the window.
    fn shows(&self, t: SimTime, end: SimTime) -> bool {
        t < self.ends && end >= self.begins
    }

    fn close(&mut self, way: Way, packet: &Packet, (now, end): (SimTime, &'static str)) {
        if self.shows(way.row.t, now) {
            let ecn = ecn(packet.ecn);
            let row = PacketsRow { ended: Some(now), end: Some(end), ecn, ..way.row };
            self.ways.push(Way { row, ..way });
        }
    }

    /// What a packet carries. At its sender it is known whether its data is sent for the first time.
    fn what(&mut self, packet: &Packet, is_first: bool) -> &'static str {
        match &packet.payload {
            Payload::Tcp(segment) => self.what_segment(packet.from, segment, is_first),
            Payload::EchoRequest { .. } => "ping",
            Payload::EchoReply { .. } => "pong",
            Payload::Datagram { .. } | Payload::Content { .. } => "datagram",
            Payload::Damaged => "damaged",
        }
    }

    fn what_segment(&mut self, from: SocketId, segment: &Segment, is_first: bool) -> &'static str {
        if segment.flags.contains(SegmentFlags::SYN) {
            return "syn";
        }
        if segment.length == 0 {
            return if segment.flags.contains(SegmentFlags::FIN) { "fin" } else { "ack" };
        }
        let (end, highest) = (segment.seq + u64::from(segment.length), self.highest.entry(from).or_default());
        // Behind its first device all data has been counted.
        let again = is_first && end <= *highest;
        *highest = end.max(*highest);
        if again { "retransmission" } else { "data" }
    }
}

/// A row of a packet that has come to a device and not left it.
fn row(device: DeviceId, packet: &Packet, journal: &Journal) -> PacketsRow {
    PacketsRow {
        t: packet.enqueued,
        device: journal.devices[device.index()],
        flow: journal.conversation(packet.from),
        packet: 0,
        what: "",
        seq: seq(packet),
        bytes: Bytes(u64::from(packet.ip_length)),
        segments: u64::from(packet.segments),
        ecn: ecn(packet.ecn),
        dequeued: None,
        sent: None,
        ended: None,
        end: None,
    }
}

fn seq(packet: &Packet) -> Option<u64> {
    match &packet.payload {
        Payload::Tcp(segment) if segment.length == 0 => Some(segment.ack),
        Payload::Tcp(segment) => Some(segment.seq),
        Payload::EchoRequest { seq } | Payload::EchoReply { seq } | Payload::Datagram { seq, .. } => {
            Some(u64::from(*seq))
        }
        Payload::Content { .. } | Payload::Damaged => None,
    }
}

const fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not_ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}
