//! Rows of the sampled tables.

use tailback_packet::SocketId;
use tailback_qdisc::visit;
use tailback_record::{FlowsRow, PingRow, QdiscRow, TcpInfoRow, UdpRow};
use tailback_units::{Bytes, Rate, Segs, Span};

use crate::Event;
use crate::app::Phase;
use crate::journal::ca_state_name;
use crate::socket::{flow_of, sender_of};
use crate::world::World;

impl World {
    /// The end of an interval: one row for each open sending socket, each discipline, each flow that was read.
    pub(crate) fn sample(&mut self) {
        self.note_all();
        self.stage.wake_at(self.stage.now + self.interval, Event::Sample);
    }

    /// The end of the run: the rest of the last interval, and what became of the echo requests.
    pub(crate) fn sample_last(&mut self) {
        self.note_all();
        for ping in &self.pings {
            for (seq, &(t, rtt_ms)) in (0..).zip(&ping.requests) {
                self.stage.journal.record.ping.push(PingRow { t, ping: ping.name, seq, rtt_ms });
            }
        }
    }

    /// `TCP_INFO` of one socket now.
    pub(crate) fn note_tcp_info(&mut self, socket: SocketId) {
        self.settle_credits(socket);
        let row = self.tcp_info_row(socket);
        self.stage.journal.record.tcp_info.push(row);
    }

    fn note_all(&mut self) {
        for flow in 0..self.flows.len() {
            self.note_flow(flow);
        }
        for index in 0..self.udp.len() {
            self.note_udp(index);
        }
        for device in 0..self.devices.len() {
            self.note_disciplines(device);
        }
    }

    fn note_udp(&mut self, index: usize) {
        let udp = &mut self.udp[index];
        let counts = std::mem::take(&mut udp.interval);
        let (t, flow, bytes) = (self.stage.now, udp.name, Bytes(counts.received * u64::from(udp.size)));
        let record = &mut self.stage.journal.record;
        if bytes > Bytes::ZERO {
            record.flows.push(FlowsRow { t, flow, bytes });
        }
        if counts.sent + counts.received > 0 {
            let delay_ms = counts.mean_delay();
            let longest_ms = delay_ms.map(|_| counts.longest);
            let (sent, received) = (counts.sent, counts.received);
            let rows = record.udp.get_or_insert_default();
            rows.push(UdpRow { t, flow, sent, received, delay_ms, longest_ms });
        }
    }

    fn note_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let bytes = flow.read - std::mem::replace(&mut flow.recorded, flow.read);
        if bytes > Bytes::ZERO {
            self.stage.journal.record.flows.push(FlowsRow { t: self.stage.now, flow: flow.name, bytes });
        }
        if matches!(flow.bulk.phase, Phase::Sending | Phase::Closed) {
            self.note_tcp_info(sender_of(index as u32));
        }
    }

    fn note_disciplines(&mut self, device: usize) {
        let (t, name) = (self.stage.now, self.stage.journal.devices[device]);
        let rows = &mut self.stage.journal.record.qdisc;
        let Some(root) = &self.devices[device].root else { return };
        visit(root.as_ref(), &mut |depth, qdisc| {
            let (backlog, counters) = (qdisc.backlog(), qdisc.counters());
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
            });
        });
    }

    fn tcp_info_row(&self, socket: SocketId) -> TcpInfoRow {
        let endpoint = &self.sockets[socket.0 as usize].endpoint;
        let info = endpoint.tcp_info(self.stage.now);
        let sampled = info.rtt > Span::ZERO;
        let mut row = TcpInfoRow {
            t: self.stage.now,
            flow: self.flows[flow_of(socket) as usize].name,
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
        };
        endpoint.control_gauges(&mut |name, value| set_gauge(&mut row, name, value));
        row
    }
}

/// A number of the congestion control's own, if the table has a column for it. [linux-6.12 struct tcp_bbr_info]
fn set_gauge(row: &mut TcpInfoRow, name: &str, value: f64) {
    match name {
        "bbr_bw" => row.bbr_bw = Some(Rate::from_bytes_per_sec(value as u64)),
        "bbr_min_rtt" => row.bbr_min_rtt = Some(Span::from_micros(value as u64)),
        "bbr_pacing_gain" => row.bbr_pacing_gain = Some(value),
        "bbr_cwnd_gain" => row.bbr_cwnd_gain = Some(value),
        _ => {}
    }
}
