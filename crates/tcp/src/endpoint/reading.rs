//! What a socket reports: `TCP_INFO`, gauges, notes.

use tailback_units::{Bytes, Segs, SimTime};

use super::Endpoint;
use crate::sending_half::SendingHalf;
use crate::state::clocks::Chrono;
use crate::{Note, TcpInfo};

impl Endpoint {
    /// `TCP_INFO` as of now.
    pub fn tcp_info(&self, now: SimTime) -> TcpInfo {
        let sender = &self.sender;
        let finite = sender.window.ssthresh < Segs::INFINITE;
        TcpInfo {
            ca_state: sender.flow.ca_state,
            snd_cwnd: sender.window.cwnd,
            snd_ssthresh: finite.then_some(sender.window.ssthresh),
            rtt: sender.rtt.srtt(),
            rttvar: sender.rtt.mdev(),
            min_rtt: sender.rtt.minimum(),
            rto: sender.rtt.rto(),
            pacing_rate: sender.window.pacing_rate,
            delivery_rate: sender.rate.newest(sender.flow.mss),
            bytes_acked: Bytes(sender.flow.snd_una.saturating_sub(u64::from(self.first_acked))),
            bytes_sent: Bytes(sender.sent.bytes_sent),
            bytes_retrans: Bytes(sender.sent.bytes_retrans),
            total_retrans: sender.sent.total_retrans,
            unacked: Segs(sender.scoreboard.packets_out()),
            sacked: Segs(sender.scoreboard.sacked_out()),
            lost: Segs(sender.scoreboard.lost_out()),
            retrans: Segs(sender.scoreboard.retrans_out()),
            reordering: Segs(sender.recovery.reordering),
            probes: sender.timer.probes_out,
            backoff: sender.backoff(),
            retransmits: sender.recovery.retransmits,
            snd_mss: sender.flow.mss,
            dsack_dups: sender.recovery.dsack_dups,
            reord_seen: sender.recovery.reord_seen,
            rcv_mss: self.receiver.window.rcv_mss(),
            rcv_ssthresh: Bytes(self.receiver.window.ssthresh()),
            notsent_bytes: Bytes(sender.unsent()),
            snd_wnd: Bytes(sender.peer.snd_wnd),
            delivered: sender.flow.delivered,
            delivered_ce: sender.flow.delivered_ce,
            last_data_sent: now.since(sender.flow.last_sent),
            last_data_recv: now.since(self.receiver.last_received()),
            busy_time: sender.clocks.total(now),
            rwnd_limited: sender.clocks.spent(Chrono::ReceiveWindow, now),
            sndbuf_limited: sender.clocks.spent(Chrono::SendBuffer, now),
            wmem_alloc: Bytes(sender.below.wmem_alloc),
            wmem_queued: Bytes(sender.wmem_queued()),
            sndbuf: Bytes(sender.buffer.sndbuf),
            held_by: sender.gate.held_by(),
            held_for: sender.gate.held_for(now),
            data_segs_out: sender.sent.data_segs_out,
        }
    }

    /// Values of the congestion control.
    pub fn control_gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.sender.control.hooks().gauges(&self.sender.flow, show);
    }

    /// Returns the events since the last call, and clears them.
    pub fn notes(&mut self) -> std::vec::Drain<'_, Note> {
        self.sender.notes.drain(..)
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// There are events since the last call of [`Endpoint::notes`].
    #[inline]
    pub fn has_notes(&self) -> bool {
        self.sender.as_sender().is_some_and(|sender| !sender.notes.is_empty())
    }
}
