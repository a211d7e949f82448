//! The values of the fields in which stacks differ. `references/stacks.toml` says since when and to what effect.

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

impl AlwaysSends {
    /// With at most so many skbs unacknowledged, the next one is never refused.
    pub(crate) fn skbs(self) -> u32 {
        match self {
            AlwaysSends::Nothing => 0,
            AlwaysSends::AtMostOne => 1,
            AlwaysSends::Everything => u32::MAX,
        }
    }
}

/// The sockets that `net.ipv4.tcp_limit_output_bytes` limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputLimit {
    /// All, 256 KiB by default.
    All,
    /// The flows that are not paced, 1 MiB by default.
    Unpaced,
    /// All, 4 MiB by default.
    AllAtFourMiB,
}

impl OutputLimit {
    /// The default of the sysctl, bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            OutputLimit::All => 262_144,
            OutputLimit::Unpaced => 1_048_576,
            OutputLimit::AllAtFourMiB => 4_194_304,
        }
    }

    /// Sockets that are paced are limited, too.
    pub const fn holds_paced(self) -> bool {
        matches!(self, OutputLimit::All | OutputLimit::AllAtFourMiB)
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

/// The packets of a train of several segments that carry PSH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrainPush {
    /// The last one of every skb of several segments, so that the peer's GRO passes it on.
    EverySkb,
    /// Only those that end a write or half a window.
    EndOfWrite,
}

/// The window that a SYN offers, and the buffer behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialOffer {
    /// What the initial buffer holds.
    Buffer,
    /// Twenty segments; the buffer then grows to hold them four times.
    TwentySegments,
}

/// The largest window at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstWindow {
    /// What the buffer holds, though the field of a SYN has 16 bits.
    Buffer,
    /// 65,535 bytes.
    SixteenBits,
}

/// What the application must have read in a round trip for the receive buffer to grow for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstMeasure {
    /// More than the window that was advertised.
    Window,
    /// More than ten segments, or that window.
    TenSegments,
    /// More than ten segments, or what the buffer holds.
    TenSegmentsOrBuffer,
}

/// The first window after several timeouts of a SYN that was only late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateSyn {
    /// The initial window, if a timestamp proves that the first SYN was answered.
    Undone,
    /// One segment.
    Ignored,
}

/// The segments that a retransmission timeout marks lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutMarks {
    /// The head, and those that RACK finds old enough.
    OldEnough,
    /// All.
    All,
}

/// What a paced packet that left late makes up for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacingCredit {
    /// Half of the time of a packet.
    Half,
    /// Nothing.
    None,
}

/// A retransmission whose last transmission is still queued in this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuedRetransmission {
    /// It leaves when the device frees that one.
    AtCompletion,
    /// It waits for the next event of the socket.
    AtNextEvent,
}

/// The DSACKs that widen RACK's reordering window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DsackWidens {
    /// Those that are not of a tail loss probe, once reordering was seen.
    OnceReordered,
    /// All.
    Always,
    /// None.
    Never,
}

/// The DSACKs that tell a tail loss probe that nothing was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeDsack {
    /// Those of the probe.
    Own,
    /// All.
    Any,
}

/// The states in which a tail loss probe is armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossProbe {
    /// Open and CWR.
    OpenOrCwr,
    /// Open.
    Open,
}

/// The answer to an ACK of data that was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnsentAck {
    /// None.
    Dropped,
    /// A challenge ACK, rate-limited.
    Challenged,
}

/// A RST within the window, but not next in order, of a connection that the peer has not confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmbryonicReset {
    /// It ends the connection.
    Taken,
    /// A challenge ACK answers it, rate-limited.
    Challenged,
}

/// The answer to an ACK without data that was overtaken: its timestamp and its sequence number are old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OvertakenAck {
    /// An ACK, rate-limited.
    Answered,
    /// None.
    Dropped,
}

/// The timestamp of a segment with new data whose ACK is old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldAckStamp {
    /// It is not stored.
    Ignored,
    /// It is stored.
    Stored,
}

/// `net.ipv4.tcp_recovery` without its first bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountingRecovery {
    /// Losses are detected by counting, as in RFC 6675.
    OnRequest,
    /// RACK detects losses nonetheless.
    Removed,
}

/// What is acknowledged at once because of disorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DisorderAcks {
    /// Sixteen segments after a duplicate, two after a mark.
    AfterDuplicates,
    /// Sixteen segments after data out of order, a duplicate or a mark.
    AfterAnyDisorder,
}

/// The ACKs that use up a quick ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuickAckUse {
    /// Those of new data.
    AcksOfData,
    /// All.
    EveryAck,
}

/// The out-of-order data that an overfull buffer gives up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pruning {
    /// What lies behind the segment that has no room.
    BehindTheNew,
    /// The last.
    FromTheEnd,
}

/// In-order data for which an overfull buffer has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FullBuffer {
    /// The window is closed at once.
    ClosesWindow,
    /// It is dropped.
    Drops,
}

/// A FIN without data at a closed window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BareFin {
    /// It is taken.
    Taken,
    /// It is dropped.
    Dropped,
}

/// A window that closes in a segment which repeats sequence number and ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowClosing {
    /// It counts.
    Taken,
    /// It does not: such a segment can only widen the window.
    Ignored,
}

/// What autotuning counts as read by the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopiedBytes {
    /// What was read in the round trip.
    Read,
    /// That, less what waits to be read.
    ReadLessWaiting,
}

/// A receiver's RTT sample that is larger than its estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargerRtt {
    /// It counts.
    Taken,
    /// It counts if no data waits to be read.
    WhenAllIsRead,
}

/// How autotuning computes a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowGrowth {
    /// Sixteen segments more than twice what was read, and growth; computed when the application reads.
    SixteenSegments,
    /// Twice what was read, growth, and the span of out-of-order data; computed when such data comes, too.
    OutOfOrderSpan,
}

/// A timeout of data that was sent before the peer closed its window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosedWindowBackoff {
    /// It counts as a doubling of RTO. [linux-6.12 tcp_timer.c tcp_retransmit_timer]
    Counted,
    /// It doubles RTO, and does not count.
    Ignored,
}

/// A segment that begins within the advertised window and ends beyond it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndBeyondWindow {
    /// It is taken.
    Taken,
    /// It is taken if nothing waits to be read, or if it ends within the furthest edge that was ever advertised.
    TakenIfDrained,
}

/// The effect of `SO_RCVLOWAT` on the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rcvlowat {
    /// The buffer is at least as large as what the reader waits for, which is at most half of the limit.
    RaisesBuffer,
    /// None.
    OnlyWakes,
}

/// The ACK of data that tells of a reduced window (CWR).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwrAck {
    /// It leaves at once.
    AtOnce,
    /// It may be delayed.
    Delayed,
}

/// Whether `red adaptive` adapts. [linux-5.7 sch_red.c __red_change]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RedTimer {
    /// Each half second.
    Runs,
    /// `tc` passes its flags in an attribute; the kernel looks for `adaptive` among those of old, and starts no timer.
    NeverStarts,
}
