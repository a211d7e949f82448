//! The selectable versions of Linux's TCP, and their differences.
//!
//! | | 5.10 | 6.12 |
//! |---|---|---|
//! | memory of an skb beside its payload | 1280 B | 960 B: small-head cache [linux-6.3 skbuff.c] |
//! | small queue lets through | with nothing unacknowledged | with at most one segment unacknowledged [linux-6.7 tcp_output.c] |
//! | cwnd counts as used | by the largest flight of the window, in slow start | also by the limit it was in the window [linux-6.1 tcp.h] |
//! | PRR grows by one more | when a retransmission was acknowledged | when una advanced without a new loss [linux-6.6 tcp_input.c] |
//! | payload per receive memory | one half (`tcp_adv_win_scale` 1) | as measured [linux-6.6 tcp_input.c] |
//! | full segment with PSH | is delayed | is acknowledged once read [linux-6.6 tcp_input.c] |
//! | timestamp echoed within its tick | is a receiver's RTT of one tick | is no sample [linux-6.12 tcp_input.c] |
//! | segments per skb | by the pacing rate | also by min RTT: `tcp_tso_rtt_log` 9 [linux-5.18 tcp_output.c] |
//! | unsent skb shorter than cwnd allows | leaves so | takes from the next one [linux-6.10 tcp_output.c] |
//! | TSO deferral | awaits an ACK within srtt/2 | and within 1 ms [linux-6.12 tcp_output.c] |
//! | HyStart's rounds begin | after the ACK is examined | before, at any window [linux-6.12 tcp_cubic.c hystart_update] |
//! | data out of order | does not change the estimated MSS | is measured like any [linux-6.12 tcp_input.c tcp_data_queue_ofo] |
//! | delayed ACK, at most | 200 ms | and below `tcp_rto_min_us` [linux-6.11 tcp_output.c tcp_delack_max] |
//! | a last, short segment with FIN | leaves beyond cwnd | waits for cwnd [linux-6.10 tcp_output.c] |
//!
//! `linux-6.6` is 6.12 without later changes: the small queue lets data through only with nothing unacknowledged, an
//! echo within a tick is an RTT of one tick, skbs stay as filled, TSO deferral waits for srtt/2, HyStart's rounds begin
//! above its low window [linux-5.16 tcp_cubic.c hystart_update], and the last three lines are as in 5.10.
//!
//! | | 4.14 | 5.0, 5.4 | freebsd-9 |
//! |---|---|---|---|
//! | otherwise as | 5.10 | 5.10 | 5.10 |
//! | memory of an skb beside its payload | 2904 B: a linear skb of 4 KiB | | |
//! | small queue lets through | with at most one segment unacknowledged [linux-4.14 tcp_output.c] | | everything |
//! | `tcp_limit_output_bytes` | 256 KiB, for all [linux-4.14 tcp.c] | 1 MiB, unless paced [linux-5.0 tcp.c] | |
//! | `bbr` makes room for bursts of ACKs | no | no until 5.1 [linux-5.1 tcp_bbr.c] | |
//! | `bbr` makes room for three skbs | no larger than the device takes [linux-4.16 tcp_bbr.c bbr_tso_segs_goal] | | |
//! | HyStart counts milliseconds | yes | yes [linux-5.4 tcp_cubic.c hystart_update] | |
//! | additive increase of BIC, Scalable TCP, Veno and YeAH counts ACKs | yes | yes [linux-5.4 tcp_yeah.c] | |
//! | a host that saves metrics saves ssthresh | yes | yes [linux-5.4 tcp_metrics.c] | |
//! | `red adaptive` adapts | yes | yes: until 5.7 [linux-5.7 sch_red.c __red_change] | |
//! | initial window | | | 3 segments [rfc3390] |
//! | ACKs of data out of order | one each: compressed since 4.18 [linux-4.18 tcp_input.c] | | one each |
//! | delayed ACK | | | each second segment, 100 ms, none quick [freebsd-9 tcp(4)] |
//! | ACK by a read | | | once it frees two segments more than were advertised [freebsd-9 tcp_output.c] |
//! | receive buffer | | | counts payload in order that is not read [freebsd-9 sbspace] |
//!
//! `linux-3.10` is 4.14 in which a window grows only while the flight is within three segments of it, in slow start, too,
//! and in which slow start adds a segment per ACK, not per segment [linux-3.13 tcp_cong.c tcp_slow_start]; its loss recovery
//! and its small queue are those of 4.14.
//!
//! `references/stacks.toml` gives, for each line, the version that introduced it and its effect on an experiment;
//! `tailback explain linux-5.4` prints this.
//!
//! Other differences between versions (autotuning after 6.12) are not modelled.

use tailback_units::Parameters;

/// The flight that the small queue never limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlwaysSends {
    /// Nothing is unacknowledged.
    Nothing,
    /// At most one segment is.
    AtMostOne,
    /// Any flight: there is no small queue.
    Everything,
}

/// The sockets that `net.ipv4.tcp_limit_output_bytes` limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputLimit {
    /// All, 256 KiB by default.
    All,
    /// The flows that are not paced, 1 MiB by default.
    Unpaced,
}

impl OutputLimit {
    /// The default of the sysctl, bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            OutputLimit::All => 262_144,
            OutputLimit::Unpaced => 1_048_576,
        }
    }
}

/// How the use of cwnd is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndUse {
    /// By the largest flight of the window: whether cwnd was its limit. A flight that is no larger changes nothing, and
    /// cwnd that holds everything back is not noticed, because nothing is sent.
    LargestFlight,
    /// By the largest flight of the window, but each time that cwnd is the limit counts, whether something was sent or
    /// not; a later, larger flight that was not limited clears the mark.
    LargestFlightOrLimit,
    /// By whether cwnd was the limit in this window.
    Limit,
    /// By the flight before each ACK: within a burst of three segments of cwnd. [linux-3.10 tcp_cong.c tcp_is_cwnd_limited]
    Flight,
}

/// When PRR sends one segment more than was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrProgress {
    /// A retransmission was acknowledged and none was found lost.
    RetransmissionAcked,
    /// `snd_una` advanced and nothing was found lost.
    UnaAdvanced,
}

/// How receive memory is turned into a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveRatio {
    /// Half of it.
    Half,
    /// By the measured ratio of payload to truesize.
    Measured,
}

/// The effect of a full segment with PSH on the delayed ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PushedSegment {
    /// Nothing.
    Delayed,
    /// The ACK leaves once the application has read everything.
    AckedWhenRead,
}

/// The RTT sample of the receiver from a timestamp that is echoed within its own tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SameTickEcho {
    /// One tick.
    OneTick,
    /// Nothing.
    NoSample,
}

/// The treatment of bursts of ACKs by BBR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAggregation {
    /// Nothing.
    Ignored,
    /// The window makes room for them.
    Compensated,
}

/// The size of the skbs that the window of BBR has room for; the value of its parameter `skb_room`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkbRoom {
    /// No larger than the device takes.
    Device,
    /// As the pacing rate fills them.
    PacingShift,
}

/// What slow start adds a segment for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStartGrowth {
    /// Each ACK of new data.
    Acks,
    /// Each segment that is acknowledged.
    Segments,
}

/// When in-order data is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// As in Linux: at once at first, then each second segment or after an adaptive time.
    Adaptive,
    /// Each second segment, a read that frees two segments more than were advertised, or after 100 ms.
    EverySecond,
}

/// What bounds the delay of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAckBound {
    /// 200 ms.
    Fixed,
    /// 200 ms, and a jiffy less than `net.ipv4.tcp_rto_min_us`, which the stack has.
    BelowRtoMin,
}

/// How many ACKs report data out of order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackCompression {
    /// One for each segment.
    None,
    /// One for several segments, after the first three.
    Timed,
}

/// What counts against the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveCharge {
    /// The buffers of data that the application has not read, and of data out of order.
    Buffers,
    /// The bytes of data in order that the application has not read.
    UnreadPayload,
}

/// The treatment of an unsent skb that is shorter than what may be sent at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuedSkb {
    /// It is sent as the application filled it.
    StaysAsFilled,
    /// It takes bytes from the next one.
    Grows,
}

/// When HyStart of CUBIC begins a round; the value of its parameter `hystart_rounds`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HyStartRounds {
    /// After an ACK is examined.
    AfterDetection = 0,
    /// Before an ACK is examined, above the low window.
    FromLowWindow = 1,
    /// Before an ACK is examined, at any window.
    Always = 2,
}

/// The clock of CUBIC's HyStart; the value of its parameter `hystart_clock`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HyStartClock {
    /// Milliseconds; a train of half the minimum RTT suffices for paced flows, too.
    Milliseconds = 0,
    /// Microseconds.
    Microseconds = 1,
}

/// What additive increase of BIC, Scalable TCP, Veno and YeAH counts; the value of their parameter `stretch_acks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StretchAcks {
    /// ACKs.
    CountOnce = 0,
    /// The segments that they acknowledge.
    CountSegments = 1,
}

/// The effect of out-of-order data on the estimated MSS of the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfOrderMss {
    /// Nothing.
    Ignored,
    /// As from data in order.
    Measured,
}

/// The treatment of a last, short segment with FIN for which cwnd has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastFin {
    /// It leaves.
    Exempt,
    /// It waits.
    Waits,
}

/// How soon an ACK must be expected for an skb to wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TsoDeferral {
    /// Half a round trip.
    HalfRtt,
    /// Half a round trip, and 1 ms.
    HalfRttAtMostOneMs,
}

/// Whether a host that saves the metrics of its connections ([`crate::SavedMetrics`]) saves ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SsthreshMetric {
    /// Yes.
    Saved,
    /// If `net.ipv4.tcp_no_ssthresh_metrics_save` is 0; it is 1 by default.
    OnRequest,
}

/// The hash of a socket, by which queue disciplines choose a queue for its packets, after a retransmission timeout, also
/// of a SYN or SYN-ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Txhash {
    /// It stays.
    Kept,
    /// It is drawn anew: if the path of the old one fails, another may not.
    Redrawn,
}

/// Whether `red adaptive` adapts. [linux-5.7 sch_red.c __red_change]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RedTimer {
    /// Each half second.
    Runs,
    /// `tc` passes its flags in an attribute; the kernel looks for `adaptive` among those of old, and starts no timer.
    NeverStarts,
}

/// One version of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The name in an experiment file.
    pub name: &'static str,
    /// Memory charged for an skb beside its payload, bytes.
    pub skb_overhead: u32,
    /// The flight that the small queue never limits.
    pub always_sends: AlwaysSends,
    /// The sockets that `net.ipv4.tcp_limit_output_bytes` limits.
    pub output_limit: OutputLimit,
    /// How the use of cwnd is recorded.
    pub cwnd_use: CwndUse,
    /// What slow start adds a segment for.
    pub slow_start_growth: SlowStartGrowth,
    /// When PRR sends one segment more.
    pub prr_progress: PrrProgress,
    /// How receive memory is turned into a window.
    pub receive_ratio: ReceiveRatio,
    /// The effect of a full segment with PSH.
    pub pushed_segment: PushedSegment,
    /// The treatment of an RTT below the resolution of the timestamp clock.
    pub same_tick_echo: SameTickEcho,
    /// The treatment of bursts of ACKs by its BBR.
    pub ack_aggregation: AckAggregation,
    /// The size of the skbs that its BBR makes room for.
    pub skb_room: SkbRoom,
    /// When in-order data is acknowledged.
    pub delayed_ack: DelayedAck,
    /// What bounds the delay of an ACK.
    pub delayed_ack_bound: DelayedAckBound,
    /// How many ACKs report data out of order.
    pub sack_compression: SackCompression,
    /// What counts against the receive buffer.
    pub receive_charge: ReceiveCharge,
    /// Initial window in segments.
    pub initial_window: u32,
    /// `net.ipv4.tcp_tso_rtt_log`: the part of an skb's size that min RTT allows halves each 2^log µs of it.
    pub tso_rtt_log: Option<u32>,
    /// The treatment of an unsent skb that is too short.
    pub queued_skb: QueuedSkb,
    /// How soon an ACK must be expected for an skb to wait for it.
    pub tso_deferral: TsoDeferral,
    /// When HyStart's rounds begin.
    pub hystart_rounds: HyStartRounds,
    /// The clock of HyStart.
    pub hystart_clock: HyStartClock,
    /// What additive increase of some controls counts.
    pub stretch_acks: StretchAcks,
    /// The effect of out-of-order data on the estimated MSS of the peer.
    pub out_of_order_mss: OutOfOrderMss,
    /// The treatment of a last FIN for which cwnd has no room.
    pub last_fin: LastFin,
    /// Whether ssthresh is among the metrics that are saved.
    pub ssthresh_metric: SsthreshMetric,
    /// The hash of a socket after a timeout.
    pub txhash: Txhash,
    /// Whether `red adaptive` adapts on this host.
    pub red_timer: RedTimer,
}

impl Stack {
    /// The values of all fields in which stacks differ; `references/stacks.toml` describes the fields.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        // Without `..`, so that a new field does not compile until it is here.
        let Stack {
            name: _,
            skb_overhead,
            always_sends,
            output_limit,
            cwnd_use,
            slow_start_growth,
            prr_progress,
            receive_ratio,
            pushed_segment,
            same_tick_echo,
            ack_aggregation,
            skb_room,
            delayed_ack,
            delayed_ack_bound,
            sack_compression,
            receive_charge,
            initial_window,
            tso_rtt_log,
            queued_skb,
            tso_deferral,
            hystart_rounds,
            hystart_clock,
            stretch_acks,
            out_of_order_mss,
            last_fin,
            ssthresh_metric,
            txhash,
            red_timer,
        } = *self;
        vec![
            ("skb_overhead", skb_overhead.to_string()),
            ("always_sends", format!("{always_sends:?}")),
            ("output_limit", format!("{output_limit:?}")),
            ("cwnd_use", format!("{cwnd_use:?}")),
            ("slow_start_growth", format!("{slow_start_growth:?}")),
            ("prr_progress", format!("{prr_progress:?}")),
            ("receive_ratio", format!("{receive_ratio:?}")),
            ("pushed_segment", format!("{pushed_segment:?}")),
            ("same_tick_echo", format!("{same_tick_echo:?}")),
            ("ack_aggregation", format!("{ack_aggregation:?}")),
            ("skb_room", format!("{skb_room:?}")),
            ("delayed_ack", format!("{delayed_ack:?}")),
            ("delayed_ack_bound", format!("{delayed_ack_bound:?}")),
            ("sack_compression", format!("{sack_compression:?}")),
            ("receive_charge", format!("{receive_charge:?}")),
            ("initial_window", initial_window.to_string()),
            ("tso_rtt_log", tso_rtt_log.map_or_else(|| "None".to_owned(), |log| log.to_string())),
            ("queued_skb", format!("{queued_skb:?}")),
            ("tso_deferral", format!("{tso_deferral:?}")),
            ("hystart_rounds", format!("{hystart_rounds:?}")),
            ("hystart_clock", format!("{hystart_clock:?}")),
            ("stretch_acks", format!("{stretch_acks:?}")),
            ("out_of_order_mss", format!("{out_of_order_mss:?}")),
            ("last_fin", format!("{last_fin:?}")),
            ("ssthresh_metric", format!("{ssthresh_metric:?}")),
            ("txhash", format!("{txhash:?}")),
            ("red_timer", format!("{red_timer:?}")),
        ]
    }

    /// Sets the parameters of a control in which its version in this stack differs, unless the experiment sets them.
    pub fn adapt(&self, row: &tailback_cc::Row, parameters: &mut Parameters) {
        let bursts = u64::from(self.ack_aggregation == AckAggregation::Compensated);
        let rounds = self.hystart_rounds as u64;
        let clock = self.hystart_clock as u64;
        let stretch = self.stretch_acks as u64;
        for (name, value) in [
            ("ack_aggregation", bursts),
            ("skb_room", self.skb_room as u64),
            ("hystart_rounds", rounds),
            ("hystart_clock", clock),
            ("stretch_acks", stretch),
        ] {
            let has = row.parameters.iter().any(|parameter| parameter.name == name);
            if has && parameters.given(name).is_none() {
                parameters.set(name, value);
            }
        }
    }
}

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
};

/// The long-term version before it, for which most packetdrill scripts were written.
pub const LINUX_6_6: Stack = Stack {
    name: "linux-6.6",
    always_sends: AlwaysSends::Nothing,
    same_tick_echo: SameTickEcho::OneTick,
    queued_skb: QueuedSkb::StaysAsFilled,
    tso_deferral: TsoDeferral::HalfRtt,
    hystart_rounds: HyStartRounds::FromLowWindow,
    out_of_order_mss: OutOfOrderMss::Ignored,
    last_fin: LastFin::Exempt,
    delayed_ack_bound: DelayedAckBound::Fixed,
    ..LINUX_6_12
};

/// The Linux of the `access21` paper.
pub const LINUX_5_10: Stack = Stack {
    name: "linux-5.10",
    skb_overhead: 1280,
    always_sends: AlwaysSends::Nothing,
    output_limit: OutputLimit::Unpaced,
    cwnd_use: CwndUse::LargestFlightOrLimit,
    slow_start_growth: SlowStartGrowth::Segments,
    prr_progress: PrrProgress::RetransmissionAcked,
    receive_ratio: ReceiveRatio::Half,
    pushed_segment: PushedSegment::Delayed,
    same_tick_echo: SameTickEcho::OneTick,
    ack_aggregation: AckAggregation::Compensated,
    skb_room: SkbRoom::PacingShift,
    delayed_ack: DelayedAck::Adaptive,
    delayed_ack_bound: DelayedAckBound::Fixed,
    sack_compression: SackCompression::Timed,
    receive_charge: ReceiveCharge::Buffers,
    initial_window: 10,
    tso_rtt_log: None,
    queued_skb: QueuedSkb::StaysAsFilled,
    tso_deferral: TsoDeferral::HalfRtt,
    hystart_rounds: HyStartRounds::AfterDetection,
    hystart_clock: HyStartClock::Microseconds,
    stretch_acks: StretchAcks::CountSegments,
    out_of_order_mss: OutOfOrderMss::Ignored,
    last_fin: LastFin::Exempt,
    ssthresh_metric: SsthreshMetric::OnRequest,
    txhash: Txhash::Redrawn,
    red_timer: RedTimer::NeverStarts,
};

/// The Linux of the `ton22` paper.
pub const LINUX_5_4: Stack = Stack {
    name: "linux-5.4",
    cwnd_use: CwndUse::LargestFlight,
    hystart_clock: HyStartClock::Milliseconds,
    stretch_acks: StretchAcks::CountOnce,
    ssthresh_metric: SsthreshMetric::Saved,
    red_timer: RedTimer::Runs,
    ..LINUX_5_10
};

/// The last version of Linux whose BBR ignores bursts of ACKs.
pub const LINUX_5_0: Stack =
    Stack { name: "linux-5.0", ack_aggregation: AckAggregation::Ignored, ..LINUX_5_4 };

/// The Linux of the `wlan18` paper.
pub const LINUX_4_14: Stack = Stack {
    name: "linux-4.14",
    skb_overhead: 2904,
    always_sends: AlwaysSends::AtMostOne,
    output_limit: OutputLimit::All,
    sack_compression: SackCompression::None,
    skb_room: SkbRoom::Device,
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
    ..LINUX_5_10
};

/// Every stack that an experiment may name.
pub const STACKS: &[Stack] =
    &[LINUX_6_12, LINUX_6_6, LINUX_5_10, LINUX_5_4, LINUX_5_0, LINUX_4_14, LINUX_3_10, FREEBSD_9];
