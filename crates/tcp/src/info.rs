//! What a socket reports: `struct tcp_info`, and notes of events.

use tailback_cc::CaState;
use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

/// The first send check that refused new data. [linux-6.12 tcp_output.c tcp_write_xmit]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HeldBy {
    /// Nothing is waiting, and the application may write more.
    #[default]
    NoData,
    /// Nothing is waiting, since the send buffer is full of data that is not acknowledged yet.
    SendBuffer,
    /// The departure time of the last packet lies in the future.
    Pacing,
    /// In flight reached cwnd.
    Cwnd,
    /// The peer's window is full.
    ReceiveWindow,
    /// A short segment waits for an acknowledgement.
    Nagle,
    /// An skb of several segments waits for the ACK that lets it grow.
    TsoDeferral,
    /// Too much data of the socket is queued below TCP.
    SmallQueue,
    /// The device refused the packet.
    LocalDrop,
}

impl HeldBy {
    /// All reasons.
    const ALL: [HeldBy; 9] = [
        HeldBy::NoData,
        HeldBy::SendBuffer,
        HeldBy::Pacing,
        HeldBy::Cwnd,
        HeldBy::ReceiveWindow,
        HeldBy::Nagle,
        HeldBy::TsoDeferral,
        HeldBy::SmallQueue,
        HeldBy::LocalDrop,
    ];

    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            HeldBy::NoData => "no_data",
            HeldBy::SendBuffer => "send_buffer",
            HeldBy::Pacing => "pacing",
            HeldBy::Cwnd => "cwnd",
            HeldBy::ReceiveWindow => "receive_window",
            HeldBy::Nagle => "nagle",
            HeldBy::TsoDeferral => "tso_deferral",
            HeldBy::SmallQueue => "small_queue",
            HeldBy::LocalDrop => "local_drop",
        }
    }
}

/// For how long each reason held new data back: from a refusal for it until the first for another one.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct HeldTimes {
    spent: [Span; HeldBy::ALL.len()],
    since: SimTime,
}

impl HeldTimes {
    /// It is no longer held by `reason`.
    pub(crate) fn end(&mut self, reason: HeldBy, now: SimTime) {
        self.spent[reason as usize] += now.since(self.since);
        self.since = now;
    }

    /// Time held by `reason`. That of all reasons together is the time of the run.
    pub fn by(&self, reason: HeldBy) -> Span {
        self.spent[reason as usize]
    }
}

/// An event of the socket.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Note {
    /// The state of loss recovery changed.
    CaState(CaState),
    /// The retransmission timer fired.
    RetransmissionTimeout,
    /// The connection was aborted after too many timeouts.
    Aborted,
    /// A tail loss probe was sent.
    TailLossProbe,
    /// A spurious reduction was undone.
    Undo,
    /// The model of the congestion control entered this state.
    ControlState(&'static str),
}

/// The state of the socket under the names of `ss -ti`. [linux-6.12 tcp.h struct tcp_info]
#[derive(Clone, Debug, PartialEq)]
pub struct TcpInfo {
    /// State of recovery.
    pub ca_state: CaState,
    /// Congestion window.
    pub snd_cwnd: Segs,
    /// `None` = infinite.
    pub snd_ssthresh: Option<Segs>,
    /// Smoothed RTT.
    pub rtt: Span,
    /// Mean deviation.
    pub rttvar: Span,
    /// Windowed minimum; `None` before a sample.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout, backoff included.
    pub rto: Span,
    /// `Rate::UNLIMITED` before the first estimate.
    pub pacing_rate: Rate,
    /// Newest delivery rate.
    pub delivery_rate: Rate,
    /// Cumulatively acknowledged payload (the SYN counts one, as in the kernel).
    pub bytes_acked: Bytes,
    /// Payload sent, retransmissions included.
    pub bytes_sent: Bytes,
    /// Payload retransmitted.
    pub bytes_retrans: Bytes,
    /// Segments retransmitted since the start.
    pub total_retrans: u64,
    /// `packets_out`.
    pub unacked: Segs,
    /// Segments SACKed.
    pub sacked: Segs,
    /// Segments marked lost.
    pub lost: Segs,
    /// Segments retransmitted and not yet acknowledged.
    pub retrans: Segs,
    /// Unanswered window probes.
    pub probes: u32,
    /// Doublings of the retransmission timeout or of the time between window probes.
    pub backoff: u32,
    /// Timeouts in a row.
    pub retransmits: u32,
    /// Payload of a full segment.
    pub snd_mss: u32,
    /// Segments that the peer reported as duplicates.
    pub dsack_dups: u32,
    /// How often reordering was seen.
    pub reord_seen: u32,
    /// Payload of a full segment of the peer, estimated.
    pub rcv_mss: u32,
    /// Slow-start threshold of the receive window.
    pub rcv_ssthresh: Bytes,
    /// Reordering metric.
    pub reordering: Segs,
    /// Bytes written and never sent.
    pub notsent_bytes: Bytes,
    /// The peer's window.
    pub snd_wnd: Bytes,
    /// Segments delivered.
    pub delivered: u64,
    /// Of them, reported as marked.
    pub delivered_ce: u64,
    /// Time since data was last sent.
    pub last_data_sent: Span,
    /// Time since data last arrived.
    pub last_data_recv: Span,
    /// Time with data outstanding or waiting.
    pub busy_time: Span,
    /// Of it, held by the peer's window.
    pub rwnd_limited: Span,
    /// Of it, held by the send buffer.
    pub sndbuf_limited: Span,
    /// Truesize below TCP, which the small queue checks (without the idle value of one).
    pub wmem_alloc: Bytes,
    /// Truesize of the write queue, unacknowledged and unsent.
    pub wmem_queued: Bytes,
    /// Send buffer.
    pub sndbuf: Bytes,
    /// Why new data was last refused.
    pub held_by: HeldBy,
    /// For how long it was held by what.
    pub held_for: HeldTimes,
    /// Segments with data sent, retransmissions included.
    pub data_segs_out: u64,
}
