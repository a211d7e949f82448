//! What a run records: rows of the tables in `docs/contracts.md`.

use tailback_cc::CaState;
use tailback_packet::{DropReason, HostId, Packet, SocketId};
use tailback_qdisc::Mark;
use tailback_record::{DelaysRow, EventsRow, Name, Record};
use tailback_tcp::Note;
use tailback_units::{DelayCell, SimTime, Span};

use crate::DeviceId;

/// The tables, and the names that their rows refer to.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) record: Record,
    /// Drops and marks have a row each.
    pub(crate) packet_rows: bool,
    pub(crate) hosts: Vec<Name>,
    pub(crate) devices: Vec<Name>,
    /// The name of the conversation that each socket belongs to.
    pub(crate) sockets: Vec<Name>,
}

impl Journal {
    /// The name of the conversation `socket` belongs to.
    pub(crate) fn conversation(&self, socket: SocketId) -> Name {
        self.sockets[socket.0 as usize]
    }

    pub(crate) fn packet_dropped(
        &mut self,
        t: SimTime,
        device: DeviceId,
        packet: &Packet,
        reason: DropReason,
    ) {
        self.drop_row(t, self.devices[device.index()], packet, reason);
    }

    /// A host dropped a packet that had reached it.
    pub(crate) fn packet_discarded(&mut self, t: SimTime, host: HostId, packet: &Packet, reason: DropReason) {
        self.drop_row(t, self.hosts[usize::from(host.0)], packet, reason);
    }

    pub(crate) fn packet_marked(&mut self, t: SimTime, device: DeviceId, mark: &Mark) {
        let r#where = self.devices[device.index()];
        let row = EventsRow { t, what: "mark", r#where, flow: None, reason: None, value: None };
        self.packet_row(row, mark.from, mark.frame_length);
    }

    /// A link changed by its schedule: which property, and its new value.
    pub(crate) fn link_changed(
        &mut self,
        t: SimTime,
        device: DeviceId,
        reason: &'static str,
        value: Option<f64>,
    ) {
        let r#where = self.devices[device.index()];
        let row = EventsRow { t, what: "link", r#where, flow: None, reason: Some(reason), value };
        self.record.events.push(row);
    }

    /// An event of a socket.
    pub(crate) fn socket_noted(&mut self, t: SimTime, host: HostId, socket: SocketId, note: Note) {
        let (what, reason) = words(note);
        self.flow_row(t, what, host, socket, reason);
    }

    pub(crate) fn flow_row(
        &mut self,
        t: SimTime,
        what: &'static str,
        host: HostId,
        socket: SocketId,
        reason: Option<&'static str>,
    ) {
        let (r#where, flow) = (self.hosts[usize::from(host.0)], Some(self.conversation(socket)));
        self.record.events.push(EventsRow { t, what, r#where, flow, reason, value: None });
    }

    fn drop_row(&mut self, t: SimTime, r#where: Name, packet: &Packet, reason: DropReason) {
        let reason = Some(reason.name());
        let row = EventsRow { t, what: "drop", r#where, flow: None, reason, value: None };
        self.packet_row(row, packet.from, packet.frame_length());
    }

    /// A row about a packet of `from`, if there are such rows.
    fn packet_row(&mut self, row: EventsRow, from: SocketId, frame_length: u32) {
        if self.packet_rows {
            let flow = Some(self.conversation(from));
            self.record.events.push(EventsRow { flow, value: Some(f64::from(frame_length)), ..row });
        }
    }
}

/// The names of an event in the table.
fn words(note: Note) -> (&'static str, Option<&'static str>) {
    match note {
        Note::CaState(state) => ("ca_state", Some(ca_state_name(state))),
        Note::RetransmissionTimeout => ("rto", None),
        Note::Aborted => ("abort", None),
        Note::TailLossProbe => ("tlp", None),
        Note::Undo => ("undo", None),
        Note::ControlState(state) => ("cc_state", Some(state)),
    }
}

/// The state in the words of `ss`. [iproute2 ss.c]
pub(crate) const fn ca_state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

/// A row of one-way delays that are alike.
pub(crate) fn delays_row(cell: &DelayCell, flow: Name) -> DelaysRow {
    let span = |delay_ns: i64| Span::from_nanos(delay_ns.unsigned_abs());
    DelaysRow {
        t: cell.last,
        flow,
        packets: cell.count,
        delay_ms: cell.mean_ns() / 1e6,
        shortest_ms: span(cell.shortest_ns),
        longest_ms: span(cell.longest_ns),
    }
}
