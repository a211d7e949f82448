//! What a control learns from one ACK: acknowledged segments and their RTT, lost segments, and the delivery rate.

use tailback_units::{Segs, Span};

/// The argument of a control's `pkts_acked` for one ACK. [linux-6.12 tcp.h struct ack_sample]
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments cumulatively acknowledged by this ACK.
    pub packets_acked: Segs,
    /// RTT of the newest segment acknowledged that was never retransmitted; `None` if there is none.
    pub rtt: Option<Span>,
    /// Bytes in flight when that segment was sent.
    pub in_flight: u64,
}

/// A segment that was marked lost, with the state of the flow when it was sent.
/// [bbr-v3 tcp_input.c tcp_notify_skb_loss_event]
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Segments in flight just after it was sent, itself included.
    pub tx_in_flight: Segs,
    /// Segments marked lost since it was sent, itself included.
    pub lost: u64,
    /// The flow was limited by the application when it was sent.
    pub is_app_limited: bool,
}

/// Delivery rate of one ACK. [linux-6.12 tcp.h struct rate_sample]
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// `delivered` when the newest segment now acknowledged was sent.
    pub prior_delivered: u64,
    /// Segments delivered over the interval; `None` if the sample is invalid.
    pub delivered: Option<u64>,
    /// Time over which they were delivered; `None` if it is implausible, being shorter than the minimum RTT.
    pub interval: Option<Span>,
    /// RTT of the newest segment acknowledged; `None` if ambiguous.
    pub rtt: Option<Span>,
    /// Segments newly marked lost by this ACK.
    pub losses: Segs,
    /// Segments newly acknowledged or SACKed by this ACK.
    pub acked_sacked: Segs,
    /// Segments in flight just after the newest acknowledged segment was sent, itself included; 0 = unknown.
    pub tx_in_flight: Segs,
    /// Segments marked lost since that segment was sent.
    pub lost: u64,
    /// Segments in flight before this ACK.
    pub prior_in_flight: Segs,
    /// The sample was limited by the application.
    pub is_app_limited: bool,
    /// The newest segment acknowledged was a retransmission.
    pub is_retrans: bool,
    /// The ACK may have been delayed by the receiver.
    pub is_ack_delayed: bool,
}
