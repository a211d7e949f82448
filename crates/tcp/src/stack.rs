//! The selectable versions of Linux's TCP: the fields in which they differ ([`Stack`]), the values that these take
//! ([`choices`]), and the values of each version ([`versions`]).
//!
//! `references/stacks.toml` gives, for each field, the version that introduced a value, how that is known, and its effect on
//! an experiment. `tailback explain linux-5.4` prints this, and `docs/stacks.md` has all of it as one table.

mod choices;
mod versions;

use std::fmt::Debug;

use tailback_units::Parameters;

pub use self::choices::*;
pub use self::versions::*;

/// A field's value as `references/stacks.toml` names it.
fn word(value: &dyn Debug) -> String {
    let text = format!("{value:?}");
    match text.strip_prefix("Some(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => inner.to_owned(),
        None => text,
    }
}

/// Declares [`Stack`], [`Stack::values`] and [`Stack::with`] from one list of fields.
macro_rules! stack {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)*) => {
        /// One version of a stack.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Stack {
            /// The name in an experiment file.
            pub name: &'static str,
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Stack {
            /// The values of all fields in which stacks differ; `references/stacks.toml` describes the fields.
            pub fn values(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), word(&self.$field)),)*]
            }

            /// This stack, but for one field, which is that of another; `None` if there is no such field.
            pub fn with(mut self, field: &str, other: &Stack) -> Option<Stack> {
                match field {
                    $(stringify!($field) => self.$field = other.$field,)*
                    _ => return None,
                }
                Some(self)
            }
        }
    };
}

stack! {
    /// Memory charged for an skb beside its payload, bytes.
    skb_overhead: u32,
    /// The flight that the small queue never limits.
    always_sends: AlwaysSends,
    /// The sockets that `net.ipv4.tcp_limit_output_bytes` limits.
    output_limit: OutputLimit,
    /// How the use of cwnd is recorded.
    cwnd_use: CwndUse,
    /// What slow start adds a segment for.
    slow_start_growth: SlowStartGrowth,
    /// When PRR sends one segment more.
    prr_progress: PrrProgress,
    /// How receive memory is turned into a window.
    receive_ratio: ReceiveRatio,
    /// The effect of a full segment with PSH.
    pushed_segment: PushedSegment,
    /// The treatment of an RTT below the resolution of the timestamp clock.
    same_tick_echo: SameTickEcho,
    /// The treatment of bursts of ACKs by its BBR.
    ack_aggregation: AckAggregation,
    /// The size of the skbs that its BBR makes room for.
    skb_room: SkbRoom,
    /// When in-order data is acknowledged.
    delayed_ack: DelayedAck,
    /// What bounds the delay of an ACK.
    delayed_ack_bound: DelayedAckBound,
    /// How many ACKs report data out of order.
    sack_compression: SackCompression,
    /// What counts against the receive buffer.
    receive_charge: ReceiveCharge,
    /// Initial window in segments.
    initial_window: u32,
    /// `net.ipv4.tcp_tso_rtt_log`: the part of an skb's size that min RTT allows halves each 2^log µs of it.
    tso_rtt_log: Option<u32>,
    /// The treatment of an unsent skb that is too short.
    queued_skb: QueuedSkb,
    /// How soon an ACK must be expected for an skb to wait for it.
    tso_deferral: TsoDeferral,
    /// When HyStart's rounds begin.
    hystart_rounds: HyStartRounds,
    /// The clock of HyStart.
    hystart_clock: HyStartClock,
    /// What additive increase of some controls counts.
    stretch_acks: StretchAcks,
    /// The effect of out-of-order data on the estimated MSS of the peer.
    out_of_order_mss: OutOfOrderMss,
    /// The treatment of a last FIN for which cwnd has no room.
    last_fin: LastFin,
    /// Whether ssthresh is among the metrics that are saved.
    ssthresh_metric: SsthreshMetric,
    /// The hash of a socket after a timeout.
    txhash: Txhash,
    /// Whether `red adaptive` adapts on this host.
    red_timer: RedTimer,
    /// `net.ipv4.tcp_syn_linear_timeouts`: SYN timeouts before they double.
    syn_linear_timeouts: u32,
    /// The packets of a train that carry PSH.
    train_push: TrainPush,
    /// `net.ipv4.tcp_rmem[1]`, bytes.
    rmem_default: u64,
    /// `net.ipv4.tcp_rmem[2]`, bytes.
    rmem_max: u64,
    /// `net.core.rmem_max`, bytes.
    core_rmem_max: u64,
    /// The window that a SYN offers.
    initial_offer: InitialOffer,
    /// The largest window at the start.
    first_window: FirstWindow,
    /// When the receive buffer grows for the first time.
    first_measure: FirstMeasure,
    /// The first window after timeouts of a late SYN.
    late_syn: LateSyn,
    /// The segments that a timeout marks lost.
    timeout_marks: TimeoutMarks,
    /// What a late packet makes up for.
    pacing_credit: PacingCredit,
    /// A retransmission of data that is queued in this host.
    queued_retransmission: QueuedRetransmission,
    /// The DSACKs that widen RACK's window.
    dsack_widens: DsackWidens,
    /// The DSACKs that end a tail loss probe.
    probe_dsack: ProbeDsack,
    /// The states in which a tail loss probe is armed.
    loss_probe: LossProbe,
    /// The answer to an ACK of data that was never sent.
    unsent_ack: UnsentAck,
    /// A RST that is not next in order before the handshake ends.
    embryonic_reset: EmbryonicReset,
    /// The answer to an ACK that was overtaken.
    overtaken_ack: OvertakenAck,
    /// The timestamp of data with an old ACK.
    old_ack_stamp: OldAckStamp,
    /// Loss detection by counting.
    counting_recovery: CountingRecovery,
    /// `net.ipv4.tcp_comp_sack_rtt_percent`: the share of an RTT for which ACKs of data out of order wait.
    compression_share: u32,
    /// `net.ipv4.tcp_comp_sack_slack_ns` in µs: how much later their timer may fire.
    compression_slack: u32,
    /// What is acknowledged at once because of disorder.
    disorder_acks: DisorderAcks,
    /// `net.ipv4.tcp_pingpong_thresh`: answers within the delay of an ACK that make a connection interactive.
    pingpong_threshold: u32,
    /// The ACKs that use up a quick ACK.
    quick_ack_use: QuickAckUse,
    /// The out-of-order data that an overfull buffer gives up.
    pruning: Pruning,
    /// In-order data without room.
    full_buffer: FullBuffer,
    /// A FIN without data at a closed window.
    bare_fin: BareFin,
    /// A window that closes without other news.
    window_closing: WindowClosing,
    /// A timeout of data that was sent before the peer closed its window.
    closed_window_backoff: ClosedWindowBackoff,
    /// What autotuning counts as read.
    copied_bytes: CopiedBytes,
    /// A receiver's RTT sample above its estimate.
    larger_rtt: LargerRtt,
    /// How autotuning computes a window.
    window_growth: WindowGrowth,
    /// `net.ipv4.tcp_rcvbuf_low_rtt`: RTT in µs below which the receive buffer grows less.
    rcvbuf_low_rtt: u32,
    /// A segment that ends beyond the window.
    end_beyond_window: EndBeyondWindow,
    /// The ACK of data with CWR.
    cwr_ack: CwrAck,
    /// The effect of `SO_RCVLOWAT` on the receive buffer.
    rcvlowat: Rcvlowat,
}

impl Stack {
    /// The version, if it is one of Linux: 6.12 is `(6, 12)`, and so are its point releases.
    pub fn linux(&self) -> Option<(u32, u32)> {
        let mut numbers = self.name.strip_prefix("linux-")?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    /// It is a Linux of at least this version.
    pub fn is_since(&self, version: (u32, u32)) -> bool {
        self.linux().is_some_and(|own| own >= version)
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
