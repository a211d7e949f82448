//! The sending socket, under the names of `ss -ti`. [linux-6.12 uapi tcp.h struct tcp_info]

use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One sending socket at one moment.
    TcpInfo of TcpInfoRow, "tcp_info":
    /// When the sample was taken.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// State of loss recovery.
    ca_state: &'static str as Word,
    /// Congestion window.
    snd_cwnd: Segs as Segments,
    /// Slow-start threshold; `Segs::INFINITE` becomes null.
    snd_ssthresh: Segs as SegmentsOrInfinite,
    /// Smoothed round-trip time; null before the first sample.
    rtt: Option<Span> as Microseconds,
    /// Mean deviation of the round-trip time; null before the first sample.
    rttvar: Option<Span> as Microseconds,
    /// Windowed minimum of the round-trip time; null before the first sample.
    min_rtt: Option<Span> as Microseconds,
    /// Retransmission timeout.
    rto: Span as Microseconds,
    /// Pacing rate; `Rate::UNLIMITED` becomes null.
    pacing_rate: Rate as BytesPerSecondOrUnlimited,
    /// Last delivery rate that counted.
    delivery_rate: Rate as BytesPerSecond,
    /// Payload acknowledged.
    bytes_acked: Bytes as InBytes,
    /// Payload sent, retransmissions included.
    bytes_sent: Bytes as InBytes,
    /// Payload retransmitted.
    bytes_retrans: Bytes as InBytes,
    /// Segments retransmitted since the start.
    total_retrans: u64 as SegmentCount,
    /// Segments sent and not acknowledged.
    unacked: Segs as Segments,
    /// Of these, SACKed.
    sacked: Segs as Segments,
    /// Of these, marked lost.
    lost: Segs as Segments,
    /// Of these, retransmitted and not yet acknowledged.
    retrans: Segs as Segments,
    /// Reordering metric.
    reordering: Segs as Segments,
    /// Payload written but never sent.
    notsent_bytes: Bytes as InBytes,
    /// Window advertised by the peer.
    snd_wnd: Bytes as InBytes,
    /// Segments delivered, SACKed ones included.
    delivered: u64 as SegmentCount,
    /// Time with unacknowledged data.
    busy_time: Span as Microseconds,
    /// Time limited by the peer's window.
    rwnd_limited: Span as Microseconds,
    /// Time limited by the send buffer.
    sndbuf_limited: Span as Microseconds,
    /// Kernel memory of what is below TCP (`sk_wmem_alloc`).
    wmem_alloc: Bytes as InBytes,
    /// Kernel memory of the write queue (`sk_wmem_queued`).
    wmem_queued: Bytes as InBytes,
    /// Size of the send buffer (`sk_sndbuf`).
    sndbuf: Bytes as InBytes,
    /// Reason of the last refusal at the send gate; null if it never refused.
    held_by: Option<&'static str> as Word,
    /// Bottleneck bandwidth; null unless BBR.
    bbr_bw: Option<Rate> as BytesPerSecond,
    /// Round-trip propagation time; null unless BBR.
    bbr_min_rtt: Option<Span> as Microseconds,
    /// Pacing gain; null unless BBR.
    bbr_pacing_gain: Option<f64> as Plain,
    /// Window gain; null unless BBR.
    bbr_cwnd_gain: Option<f64> as Plain,
    /// Segments with data sent since the start, retransmissions included.
    data_segs_out: u64 as SegmentCount,
    /// Time held by the congestion window.
    held_cwnd: Span as Microseconds,
    /// Time held by pacing.
    held_pacing: Span as Microseconds,
    /// Time held by the peer's window.
    held_rwnd: Span as Microseconds,
    /// Time held by the send buffer.
    held_sndbuf: Span as Microseconds,
    /// Time held by the small queue.
    held_small_queue: Span as Microseconds,
    /// Time without data to send.
    held_no_data: Span as Microseconds,
    /// Segments delivered whose ACK said that they were marked.
    delivered_ce: u64 as SegmentCount,
    /// Payload that the peer received as ECT(1); null unless accurate ECN.
    delivered_e1_bytes: Option<Bytes> as InBytes,
    /// Payload that the peer received as CE; null unless accurate ECN.
    delivered_ce_bytes: Option<Bytes> as InBytes,
    /// Payload that the peer received as ECT(0); null unless accurate ECN.
    delivered_e0_bytes: Option<Bytes> as InBytes,
    /// Packets that arrived as CE; null unless accurate ECN.
    received_ce: Option<u64> as Packets,
}
