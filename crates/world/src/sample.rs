//! Rows of the sampled tables.

use tailback_packet::SocketId;
use tailback_qdisc::visit;
use tailback_record::{Name, Qdisc, QdiscRow, SendersRow, TcpInfoRow};
use tailback_tcp::{EcnMode, Endpoint, HeldBy, Sender};
use tailback_traffic::Machine;
use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use crate::conversation::Sampled;
use crate::device::Device;
use crate::journal::{Journal, ca_state_name};
use crate::prefetch::prefetch_sampled;
use crate::scenario::TcpInfoRows;
use crate::world::World;
use crate::{ConversationId, Event};

/// A conversation is sampled after so many others when its sockets are prefetched.
const SAMPLED_SOON: usize = 2;

impl World {
    /// The end of an interval: samples each application and each discipline.
    pub(crate) fn sample(&mut self) {
        self.record_interval();
        self.free_ended();
        self.context.wake_at(self.context.now + self.interval, Event::Sample);
    }

    /// The end of the run: the rest of the last interval, and the measurements of applications over the whole run.
    pub(crate) fn sample_last(&mut self) {
        self.record_interval();
        for conversation in std::mem::take(&mut self.present) {
            self.call_at_the_end(conversation);
        }
        self.endpoints.record_last_delays(&mut self.context.journal);
    }

    /// `TCP_INFO` of one socket now.
    pub(crate) fn record_tcp_info(&mut self, socket: SocketId) {
        self.return_credits_to(socket);
        let flow = self.context.journal.conversation(socket);
        let row = tcp_info_row(self.context.now, flow, &self.sockets.tcp(socket).endpoint);
        self.context.journal.record.tcp_info.push(row);
    }

    /// `TCP_INFO` of the sending socket of the flow of this name now, once it is there.
    pub fn tcp_info(&mut self, name: &str) -> Option<TcpInfoRow> {
        let name = self.context.journal.record.names.give(name);
        let found = self.conversations.iter().find(|each| each.name == name)?;
        let socket = found.first_pair[0];
        self.sockets.tcp_if_there(socket)?;
        self.return_credits_to(socket);
        Some(tcp_info_row(self.context.now, name, &self.sockets.tcp(socket).endpoint))
    }

    /// A sender has processed an ACK, and something is recorded then.
    #[cold]
    pub(crate) fn record_at_ack(&mut self, socket: SocketId) {
        if self.tcp_info_rows == TcpInfoRows::Ack {
            self.record_tcp_info(socket);
        }
        let t = self.context.now;
        if let Some(log) = self.context.captures.log.as_mut().filter(|log| log.covers(t)) {
            let info = self.sockets.tcp(socket).endpoint.tcp_info(t);
            let flow = self.context.journal.conversation(socket);
            let held_by = info.held_by.name();
            log.acknowledged(SendersRow { t, flow, held_by, snd_cwnd: info.snd_cwnd, unacked: info.unacked });
        }
    }

    fn record_interval(&mut self) {
        // Those that have begun since are at the end.
        self.present.sort();
        self.context.journal.record.tcp_info.reserve(self.present.len());
        for place in 0..self.present.len() {
            if let Some(soon) = self.present.get(place + SAMPLED_SOON) {
                prefetch_sampled(&mut self.sockets, self.conversations[soon.0 as usize].first_pair);
            }
            self.record_conversation(self.present[place]);
        }
        let Journal { record, devices, .. } = &mut self.context.journal;
        for (device, &name) in self.network.devices.iter_mut().zip(&*devices) {
            record_disciplines(device, (self.context.now, name), &mut record.qdisc);
        }
    }

    /// What a conversation has measured in the interval, and what is read of its sockets.
    fn record_conversation(&mut self, id: ConversationId) {
        let conversation = &self.conversations[id.0 as usize];
        let (is_sender, [sender, receiver]) =
            (matches!(conversation.sampled, Sampled::Sender), conversation.first_pair);
        if is_sender {
            let read = self.sockets.count_read(receiver);
            self.conversations[id.0 as usize].read += read;
        }
        let t = self.context.now;
        if let Some(row) = self.conversations[id.0 as usize].take_flows_row(t) {
            self.context.journal.record.flows.push(row);
        }
        if is_sender && self.conversations[id.0 as usize].machine.as_ref().is_some_and(Machine::is_active) {
            self.record_tcp_info(sender);
        }
        let conversation = &mut self.conversations[id.0 as usize];
        match &mut conversation.sampled {
            Sampled::Datagrams(counts) => {
                if let Some(row) = counts.take_udp_row(t, conversation.name) {
                    self.context.journal.record.udp.get_or_insert_default().push(row);
                }
            }
            Sampled::Requests(_) => {
                conversation.record_exchanged(&mut self.sockets, t, &mut self.context.journal.record);
            }
            Sampled::Sender | Sampled::Nothing => {}
        }
    }

    /// A slot is over: its rows are written. The present event of the calendar was that.
    pub(crate) fn end_slot(&mut self) {
        self.network.record_sojourns(&mut self.slot, &mut self.context);
        let next = self.slot.begun + self.slot.length;
        self.context.wake_at(next, Event::Slot);
    }
}

/// The rows of the disciplines of a device, at a time and with its name.
fn record_disciplines(device: &mut Device, (t, name): (SimTime, Name), rows: &mut Qdisc) {
    device.count_bypassed();
    let Some(root) = &device.root else { return };
    visit(&**root, &mut |depth, qdisc| {
        let (backlog, most, counters) = (qdisc.backlog(), qdisc.high_water(), qdisc.counters());
        rows.push(QdiscRow {
            t,
            device: name,
            kind: qdisc.kind(),
            depth: u64::from(depth),
            backlog_bytes: Bytes(backlog.bytes),
            backlog_packets: u64::from(backlog.packets),
            sent_bytes: Bytes(counters.sent_bytes),
            sent_packets: counters.sent_packets,
            dropped: counters.dropped,
            overlimits: counters.overlimits,
            requeues: counters.requeues,
            marked: counters.marked,
            max_backlog_bytes: Bytes(most.bytes),
            max_backlog_packets: u64::from(most.packets),
        });
    });
}

/// `TCP_INFO` of a socket.
fn tcp_info_row(t: SimTime, flow: Name, endpoint: &Endpoint<Sender>) -> TcpInfoRow {
    let info = endpoint.tcp_info(t);
    let sampled = info.rtt > Span::ZERO;
    let mut row = TcpInfoRow {
        t,
        flow,
        ca_state: ca_state_name(info.ca_state),
        snd_cwnd: info.snd_cwnd,
        snd_ssthresh: info.snd_ssthresh.unwrap_or(Segs::INFINITE),
        rtt: sampled.then_some(info.rtt),
        rttvar: sampled.then_some(info.rttvar),
        min_rtt: info.min_rtt,
        rto: info.rto,
        pacing_rate: info.pacing_rate,
        delivery_rate: info.delivery_rate,
        bytes_acked: info.bytes_acked,
        bytes_sent: info.bytes_sent,
        bytes_retrans: info.bytes_retrans,
        total_retrans: info.total_retrans,
        unacked: info.unacked,
        sacked: info.sacked,
        lost: info.lost,
        retrans: info.retrans,
        reordering: info.reordering,
        notsent_bytes: info.notsent_bytes,
        snd_wnd: info.snd_wnd,
        delivered: info.delivered,
        busy_time: info.busy_time,
        rwnd_limited: info.rwnd_limited,
        sndbuf_limited: info.sndbuf_limited,
        wmem_alloc: info.wmem_alloc,
        wmem_queued: info.wmem_queued,
        sndbuf: info.sndbuf,
        held_by: Some(info.held_by.name()),
        bbr_bw: None,
        bbr_min_rtt: None,
        bbr_pacing_gain: None,
        bbr_cwnd_gain: None,
        data_segs_out: info.data_segs_out,
        held_cwnd: info.held_for.by(HeldBy::Cwnd),
        held_pacing: info.held_for.by(HeldBy::Pacing),
        held_rwnd: info.held_for.by(HeldBy::ReceiveWindow),
        held_sndbuf: info.held_for.by(HeldBy::SendBuffer),
        held_small_queue: info.held_for.by(HeldBy::SmallQueue),
        held_no_data: info.held_for.by(HeldBy::NoData),
        delivered_ce: info.delivered_ce,
        delivered_e1_bytes: None,
        delivered_ce_bytes: None,
        delivered_e0_bytes: None,
        received_ce: None,
    };
    if let Some(ecn) = endpoint.ecn_info().filter(|ecn| ecn.mode == EcnMode::Accurate) {
        let [ect1, ce, ect0] = ecn.delivered.map(|bytes| Some(Bytes(bytes.into())));
        (row.delivered_e1_bytes, row.delivered_ce_bytes, row.delivered_e0_bytes) = (ect1, ce, ect0);
        row.received_ce = Some(ecn.received_ce.into());
    }
    endpoint.control_gauges(&mut |name, value| set_gauge(&mut row, name, value));
    row
}

/// A value of the congestion control, if the table has a column for it. [linux-6.12 struct tcp_bbr_info]
fn set_gauge(row: &mut TcpInfoRow, name: &str, value: f64) {
    match name {
        "bbr_bw" => row.bbr_bw = Some(Rate::from_bytes_per_sec(value as u64)),
        "bbr_min_rtt" => row.bbr_min_rtt = Some(Span::from_micros(value as u64)),
        "bbr_pacing_gain" => row.bbr_pacing_gain = Some(value),
        "bbr_cwnd_gain" => row.bbr_cwnd_gain = Some(value),
        _ => {}
    }
}
