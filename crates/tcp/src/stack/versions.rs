//! The stacks: each is another one with its differences.

use super::Stack;
use super::choices::*;

/// The Linux that is modelled.
pub const LINUX_6_12: Stack = Stack {
    name: "linux-6.12",
    skb_overhead: 960,
    always_sends: AlwaysSends::AtMostOne,
    output_limit: OutputLimit::Unpaced,
    cwnd_use: CwndUse::Limit,
    slow_start_growth: SlowStartGrowth::Segments,
    prr_progress: PrrProgress::UnaAdvanced,
    receive_ratio: ReceiveRatio::Measured,
    pushed_segment: PushedSegment::AckedWhenRead,
    same_tick_echo: SameTickEcho::NoSample,
    ack_aggregation: AckAggregation::Compensated,
    skb_room: SkbRoom::PacingShift,
    delayed_ack: DelayedAck::Adaptive,
    delayed_ack_bound: DelayedAckBound::BelowRtoMin,
    sack_compression: SackCompression::Timed,
    receive_charge: ReceiveCharge::Buffers,
    initial_window: 10,
    tso_rtt_log: Some(9),
    queued_skb: QueuedSkb::Grows,
    tso_deferral: TsoDeferral::HalfRttAtMostOneMs,
    hystart_rounds: HyStartRounds::Always,
    hystart_clock: HyStartClock::Microseconds,
    stretch_acks: StretchAcks::CountSegments,
    out_of_order_mss: OutOfOrderMss::Measured,
    last_fin: LastFin::Waits,
    ssthresh_metric: SsthreshMetric::OnRequest,
    txhash: Txhash::Redrawn,
    red_timer: RedTimer::NeverStarts,
    syn_linear_timeouts: 4,
    train_push: TrainPush::EverySkb,
    rmem_default: 131_072,
    rmem_max: 6 << 20,
    core_rmem_max: 212_992,
    initial_offer: InitialOffer::Buffer,
    first_window: FirstWindow::Buffer,
    first_measure: FirstMeasure::TenSegmentsOrBuffer,
    late_syn: LateSyn::Undone,
    timeout_marks: TimeoutMarks::OldEnough,
    pacing_credit: PacingCredit::Half,
    queued_retransmission: QueuedRetransmission::AtCompletion,
    dsack_widens: DsackWidens::OnceReordered,
    probe_dsack: ProbeDsack::Own,
    loss_probe: LossProbe::OpenOrCwr,
    unsent_ack: UnsentAck::Dropped,
    embryonic_reset: EmbryonicReset::Challenged,
    overtaken_ack: OvertakenAck::Answered,
    old_ack_stamp: OldAckStamp::Stored,
    counting_recovery: CountingRecovery::OnRequest,
    compression_share: 5,
    compression_slack: 100,
    disorder_acks: DisorderAcks::AfterDuplicates,
    pingpong_threshold: 1,
    quick_ack_use: QuickAckUse::AcksOfData,
    pruning: Pruning::BehindTheNew,
    full_buffer: FullBuffer::ClosesWindow,
    bare_fin: BareFin::Taken,
    window_closing: WindowClosing::Taken,
    closed_window_backoff: ClosedWindowBackoff::Counted,
    copied_bytes: CopiedBytes::ReadLessWaiting,
    larger_rtt: LargerRtt::Taken,
    window_growth: WindowGrowth::SixteenSegments,
    rcvbuf_low_rtt: 0,
    end_beyond_window: EndBeyondWindow::Taken,
    cwr_ack: CwrAck::AtOnce,
    rcvlowat: Rcvlowat::RaisesBuffer,
};

/// The newest Linux, of Debian's backports; without accurate ECN.
pub const LINUX_7_3: Stack = Stack {
    name: "linux-7.3",
    output_limit: OutputLimit::AllAtFourMiB,
    rmem_max: 32 << 20,
    core_rmem_max: 4 << 20,
    unsent_ack: UnsentAck::Challenged,
    overtaken_ack: OvertakenAck::Dropped,
    counting_recovery: CountingRecovery::Removed,
    compression_share: 33,
    compression_slack: 10,
    larger_rtt: LargerRtt::WhenAllIsRead,
    window_growth: WindowGrowth::OutOfOrderSpan,
    rcvbuf_low_rtt: 1000,
    end_beyond_window: EndBeyondWindow::TakenIfDrained,
    ..LINUX_6_12
};

/// The long-term version before it, for which most packetdrill scripts were written: 6.6.0, with its small queue of October 2023.
pub const LINUX_6_6: Stack = Stack {
    name: "linux-6.6",
    same_tick_echo: SameTickEcho::OneTick,
    queued_skb: QueuedSkb::StaysAsFilled,
    tso_deferral: TsoDeferral::HalfRtt,
    hystart_rounds: HyStartRounds::FromLowWindow,
    out_of_order_mss: OutOfOrderMss::Ignored,
    last_fin: LastFin::Exempt,
    delayed_ack_bound: DelayedAckBound::Fixed,
    first_window: FirstWindow::SixteenBits,
    old_ack_stamp: OldAckStamp::Ignored,
    full_buffer: FullBuffer::Drops,
    bare_fin: BareFin::Dropped,
    window_closing: WindowClosing::Ignored,
    copied_bytes: CopiedBytes::Read,
    embryonic_reset: EmbryonicReset::Taken,
    ..LINUX_6_12
};

/// The Linux of Debian 12: 6.1.192.
pub const LINUX_6_1: Stack = Stack {
    name: "linux-6.1",
    skb_overhead: 1280,
    receive_ratio: ReceiveRatio::Half,
    tso_deferral: TsoDeferral::HalfRttAtMostOneMs,
    hystart_rounds: HyStartRounds::Always,
    syn_linear_timeouts: 0,
    closed_window_backoff: ClosedWindowBackoff::Ignored,
    old_ack_stamp: OldAckStamp::Stored,
    embryonic_reset: EmbryonicReset::Challenged,
    pruning: Pruning::FromTheEnd,
    ..LINUX_6_6
};

/// The Linux of the `access21` paper: from 5.10.6 to 5.10.81.
pub const LINUX_5_10: Stack = Stack {
    name: "linux-5.10",
    always_sends: AlwaysSends::Nothing,
    cwnd_use: CwndUse::LargestFlightOrLimit,
    prr_progress: PrrProgress::RetransmissionAcked,
    pushed_segment: PushedSegment::Delayed,
    tso_rtt_log: None,
    tso_deferral: TsoDeferral::HalfRtt,
    hystart_rounds: HyStartRounds::AfterDetection,
    queued_retransmission: QueuedRetransmission::AtNextEvent,
    dsack_widens: DsackWidens::Always,
    probe_dsack: ProbeDsack::Any,
    old_ack_stamp: OldAckStamp::Ignored,
    embryonic_reset: EmbryonicReset::Taken,
    pingpong_threshold: 3,
    quick_ack_use: QuickAckUse::EveryAck,
    ..LINUX_6_1
};

/// The Linux of Debian 11: 5.10.262.
pub const LINUX_5_10_262: Stack = Stack {
    name: "linux-5.10.262",
    always_sends: AlwaysSends::AtMostOne,
    cwnd_use: CwndUse::Limit,
    tso_deferral: TsoDeferral::HalfRttAtMostOneMs,
    hystart_rounds: HyStartRounds::FromLowWindow,
    pushed_segment: PushedSegment::AckedWhenRead,
    pingpong_threshold: 1,
    quick_ack_use: QuickAckUse::AcksOfData,
    ..LINUX_5_10
};

/// The Linux of the `ton22` paper.
pub const LINUX_5_4: Stack = Stack {
    name: "linux-5.4",
    cwnd_use: CwndUse::LargestFlight,
    hystart_clock: HyStartClock::Milliseconds,
    stretch_acks: StretchAcks::CountOnce,
    ssthresh_metric: SsthreshMetric::Saved,
    red_timer: RedTimer::Runs,
    first_measure: FirstMeasure::TenSegments,
    compression_slack: 0,
    ..LINUX_5_10
};

/// The last version of Linux whose BBR ignores bursts of ACKs.
pub const LINUX_5_0: Stack = Stack {
    name: "linux-5.0",
    ack_aggregation: AckAggregation::Ignored,
    train_push: TrainPush::EndOfWrite,
    first_measure: FirstMeasure::Window,
    late_syn: LateSyn::Ignored,
    loss_probe: LossProbe::Open,
    pingpong_threshold: 1,
    ..LINUX_5_4
};

/// The Linux of the `wlan18` paper.
pub const LINUX_4_14: Stack = Stack {
    name: "linux-4.14",
    skb_overhead: 2904,
    always_sends: AlwaysSends::AtMostOne,
    output_limit: OutputLimit::All,
    sack_compression: SackCompression::None,
    skb_room: SkbRoom::Device,
    rmem_default: 87_380,
    initial_offer: InitialOffer::TwentySegments,
    timeout_marks: TimeoutMarks::All,
    pacing_credit: PacingCredit::None,
    dsack_widens: DsackWidens::Never,
    disorder_acks: DisorderAcks::AfterAnyDisorder,
    cwr_ack: CwrAck::Delayed,
    rcvlowat: Rcvlowat::OnlyWakes,
    ..LINUX_5_0
};

/// The Linux of the `teacup14` paper, in part: loss recovery and small queues are those of 4.14.
pub const LINUX_3_10: Stack = Stack {
    name: "linux-3.10",
    cwnd_use: CwndUse::Flight,
    slow_start_growth: SlowStartGrowth::Acks,
    txhash: Txhash::Kept,
    ..LINUX_4_14
};

/// The FreeBSD of the `teacup14` paper, in part: loss recovery is that of Linux.
pub const FREEBSD_9: Stack = Stack {
    name: "freebsd-9",
    always_sends: AlwaysSends::Everything,
    delayed_ack: DelayedAck::EverySecond,
    sack_compression: SackCompression::None,
    receive_charge: ReceiveCharge::UnreadPayload,
    initial_window: 3,
    txhash: Txhash::Kept,
    queued_retransmission: QueuedRetransmission::AtCompletion,
    // Its table of SYN timeouts begins with five of one length. [freebsd-9 tcp_timer.c]
    syn_linear_timeouts: 4,
    rcvlowat: Rcvlowat::OnlyWakes,
    ..LINUX_5_10
};

/// Every stack that an experiment may name.
pub const STACKS: &[Stack] = &[
    LINUX_6_12,
    LINUX_7_3,
    LINUX_6_6,
    LINUX_6_1,
    LINUX_5_10_262,
    LINUX_5_10,
    LINUX_5_4,
    LINUX_5_0,
    LINUX_4_14,
    LINUX_3_10,
    FREEBSD_9,
];
