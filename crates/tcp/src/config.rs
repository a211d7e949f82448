//! The configuration of a socket: addresses, sysctls, socket options.

use std::sync::Arc;

use tailback_cc::{Control, EcnNeed};
use tailback_packet::{HostId, IpVersion, SocketId};
use tailback_units::{Rate, Span, TimerRounding};

use crate::metrics::SavedMetrics;
use crate::stack::{LINUX_6_12, SsthreshMetric, Stack, Txhash};

/// Initial window in segments. [rfc6928] [linux-6.12 tcp.h TCP_INIT_CWND]
pub(crate) const INITIAL_WINDOW: u32 = 10;
/// `TCP_RTO_MIN`, which `net.ipv4.tcp_rto_min_us` replaces in most places. [linux-6.12 tcp.h]
pub(crate) const RTO_MIN: Span = Span::from_millis(200);
/// `TCP_RTO_MAX`. [linux-6.12 tcp.h]
pub(crate) const RTO_MAX: Span = Span::from_secs(120);
/// Bytes of a TCP segment that are not payload: IPv4 and TCP headers with the timestamp option.
pub(crate) const TCP_HEADER: u32 = 20;
/// Bytes of the timestamp option, aligned. [rfc7323 §3.2]
pub(crate) const TIMESTAMP_OPTION: u32 = 12;

/// How much data of a socket may be queued below TCP (in the qdisc, the driver and the NIC).
/// [linux-6.12 tcp_output.c tcp_small_queue_check]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmallQueueLimit {
    /// `max(2 · truesize, pacing_rate >> shift)`: 2^(10 − shift) ms of the pacing rate. 10 is the kernel's default.
    /// It is `sk_pacing_shift`, which also sizes skbs and BBR's segment goal.
    Shift(u32),
    /// As `Shift`, in the check of the small queue alone.
    Check(u32),
    /// A time that no shift gives: so many times the millisecond of shift 10. [access21 §IV]
    Time {
        /// `sk_pacing_shift`.
        pacing_shift: u32,
        /// The time.
        span: Span,
    },
    /// The check with shift 0 and without the byte cap: one second of the pacing rate.
    Off,
    /// As `Off`, with a cap in bytes of truesize (`net.ipv4.tcp_limit_output_bytes`).
    Bytes(u64),
    /// This many skbs.
    Packets(u32),
}

/// The options that an application sets on its socket. By default none is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// `SO_MAX_PACING_RATE`; if set, TCP paces with any control.
    pub max_pacing_rate: Option<Rate>,
    /// The argument of `SO_SNDBUF` in bytes: the buffer is fixed at twice that.
    pub sndbuf: Option<u64>,
    /// The argument of `SO_RCVBUF` in bytes: the buffer is fixed at twice that.
    pub rcvbuf: Option<u64>,
    /// `SO_RCVLOWAT`: minimum number of bytes for which the application is woken.
    pub rcvlowat: u64,
    /// `TCP_NOTSENT_LOWAT`: the application may write while less than this is unsent.
    pub notsent_lowat: Option<u64>,
    /// `TCP_MAXSEG`: maximum size of a segment in bytes, with the timestamp option.
    pub mss: Option<u32>,
    /// `TCP_USER_TIMEOUT`: the connection is aborted after this time without progress.
    pub user_timeout: Option<Span>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            max_pacing_rate: None,
            sndbuf: None,
            rcvbuf: None,
            rcvlowat: 1,
            notsent_lowat: None,
            mss: None,
            user_timeout: None,
        }
    }
}

/// Whether a socket searches for the MTU of its path, from segments of `net.ipv4.tcp_base_mss` bytes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MtuProbing {
    /// 0: never.
    Off,
    /// 1: after a black hole is suspected.
    AfterBlackHole,
    /// 2: from the start.
    Always,
}

/// What a TCP offers in its SYN: an option is used if both sides offer it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offers {
    /// `net.ipv4.tcp_timestamps`.
    pub timestamps: bool,
    /// `net.ipv4.tcp_sack`.
    pub sack: bool,
    /// `net.ipv4.tcp_window_scaling`.
    pub window_scaling: bool,
}

impl Offers {
    /// What both offer.
    #[must_use]
    pub fn and(self, peer: Offers) -> Self {
        Offers {
            timestamps: self.timestamps && peer.timestamps,
            sack: self.sack && peer.sack,
            window_scaling: self.window_scaling && peer.window_scaling,
        }
    }

    /// Bytes of the options of a SYN that offers these, and the MSS. [linux-6.12 tcp_output.c tcp_options_write]
    pub(crate) fn length(self) -> u32 {
        let stamps_or_sack = match self {
            Offers { timestamps: true, .. } => TIMESTAMP_OPTION,
            Offers { sack, .. } => 4 * u32::from(sack),
        };
        4 + stamps_or_sack + 4 * u32::from(self.window_scaling)
    }
}

/// Bits of `net.ipv4.tcp_recovery`: how RACK detects losses. [linux-6.12 tcp.h TCP_RACK_LOSS_DETECTION]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossDetection {
    /// Not bit 2: RACK's reordering window grows with DSACKs.
    pub adapts_window: bool,
    /// Not bit 4: without reordering, RACK does not wait once as many segments are SACKed as the degree of reordering.
    pub uses_threshold: bool,
}

/// When a receiver sends fewer ACKs than out-of-order segments. [linux-6.12 tcp_input.c __tcp_ack_snd_check]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompressionLimits {
    /// `net.ipv4.tcp_comp_sack_nr`: maximum number of ACKs that become one.
    pub acks: u8,
    /// `net.ipv4.tcp_comp_sack_rtt_percent`: delay in percent of the RTT.
    pub share: u32,
    /// `net.ipv4.tcp_comp_sack_delay_ns`: maximum delay.
    pub delay: Span,
    /// `net.ipv4.tcp_comp_sack_slack_ns`: how much later the timer may fire.
    pub slack: Span,
}

/// How a host uses ECN. [linux-6.12 sysctl_net_ipv4.c tcp_ecn]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// 0: neither requests nor accepts it.
    Never,
    /// 1: requests and accepts it.
    Always,
    /// 2: accepts it if the peer requests it.
    WhenAsked,
    /// 3: requests and accepts accurate ECN.
    Accurate,
    /// 4: accepts accurate ECN, and requests ECN.
    AccurateAskingClassic,
    /// 5: accepts accurate ECN if the peer requests it.
    AccurateWhenAsked,
    /// The control, and not the sysctl, requests and accepts accurate ECN and no other, with ECT(1).
    Scalable,
}

impl EcnUse {
    /// The host requests ECN of some kind.
    pub(crate) fn asks(self) -> bool {
        matches!(self, EcnUse::Always | EcnUse::Accurate | EcnUse::AccurateAskingClassic | EcnUse::Scalable)
    }

    /// The host accepts accurate ECN.
    pub(crate) fn accepts_accurate(self) -> bool {
        matches!(
            self,
            EcnUse::Accurate | EcnUse::AccurateAskingClassic | EcnUse::AccurateWhenAsked | EcnUse::Scalable
        )
    }
}

/// When a host sends the option of accurate ECN. [linux-7.3 sysctl_net_ipv4.c tcp_ecn_option]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OptionUse {
    /// 0: never.
    Never,
    /// 1: after a change, and some per round trip.
    Minimum,
    /// 2: with each segment where it fits.
    Full,
    /// 3: likewise, even if segments with it do not arrive.
    Persistent,
}

/// The sysctls and constants of a host's TCP.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The version of the stack.
    pub stack: Stack,
    /// Maximum size of an IP packet in bytes.
    pub mtu: u32,
    /// Advertised MSS, if the route sets it (`advmss`).
    pub advmss: Option<u32>,
    /// `net.ipv4.tcp_mtu_probing`.
    pub mtu_probing: MtuProbing,
    /// `net.ipv4.tcp_base_mss`: payload of a segment with which the search for the MTU begins.
    pub base_mss: u32,
    /// The options of its SYN.
    pub offers: Offers,
    /// `net.ipv4.tcp_dsack`: data that arrives twice is reported.
    pub dsack: bool,
    /// `net.ipv4.tcp_recovery`.
    pub loss_detection: LossDetection,
    /// `net.ipv4.tcp_frto` is not 0: F-RTO looks for spurious timeouts.
    pub frto: bool,
    /// `net.ipv4.tcp_reordering`: degree of reordering assumed at the start, in segments.
    pub reordering: u32,
    /// `net.ipv4.tcp_max_reordering`: largest degree of reordering.
    pub max_reordering: u32,
    /// `net.ipv4.tcp_rto_min_us`: least retransmission timeout above the RTT.
    pub rto_min: Span,
    /// `net.ipv4.tcp_min_rtt_wlen`: the time for which a minimum RTT is remembered.
    pub min_rtt_window: Span,
    /// `net.ipv4.tcp_retries2`: timeouts after which a connection is aborted.
    pub retries: u32,
    /// `net.ipv4.tcp_thin_linear_timeouts`: the timeout of a flow with few segments in flight is not doubled at first.
    pub thin_linear_timeouts: bool,
    /// `net.ipv4.tcp_autocorking`: a short write waits for a transmit completion.
    pub autocorking: bool,
    /// `net.ipv4.tcp_notsent_lowat`, for sockets without `TCP_NOTSENT_LOWAT`: `UINT_MAX` unless it is set. [linux-6.12
    /// tcp_ipv4.c tcp_sk_init]
    pub notsent_lowat: u64,
    /// `net.ipv4.tcp_comp_sack_*`.
    pub compression: CompressionLimits,
    /// Version of IP, whose header is part of the MTU.
    pub ip: IpVersion,
    /// Length of a jiffy: 1/HZ.
    pub jiffy: Span,
    /// `net.ipv4.tcp_pacing_ss_ratio`, percent.
    pub pacing_ss_ratio: u32,
    /// `net.ipv4.tcp_pacing_ca_ratio`, percent.
    pub pacing_ca_ratio: u32,
    /// `net.ipv4.tcp_limit_output_bytes`; applies to [`SmallQueueLimit::Shift`] only.
    pub limit_output_bytes: u64,
    /// `net.ipv4.tcp_rmem`: minimum, default and maximum receive buffer.
    pub rmem: [u64; 3],
    /// `net.ipv4.tcp_wmem`: minimum, default and maximum send buffer.
    pub wmem: [u64; 3],
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// `net.ipv4.tcp_moderate_rcvbuf`: the receive buffer grows with what the application reads.
    pub moderate_rcvbuf: bool,
    /// Tail loss probes are sent (`net.ipv4.tcp_early_retrans` is not 0).
    pub tail_loss_probe: bool,
    /// `net.ipv4.tcp_ecn`.
    pub ecn: EcnUse,
    /// `net.ipv4.tcp_ecn_fallback`: a SYN that is sent again asks no more.
    pub ecn_fallback: bool,
    /// `net.ipv4.tcp_ecn_option`.
    pub ecn_option: OptionUse,
    /// `net.ipv4.tcp_ecn_option_beacon`: options per round trip, at least.
    pub ecn_option_beacon: u32,
    /// `net.ipv4.tcp_tso_win_divisor`: the share of the window that is sent as a separate skb; 0: more than three
    /// segments.
    pub tso_win_divisor: u32,
    /// `net.ipv4.tcp_min_tso_segs`: minimum number of segments per skb for TSO autosizing.
    pub min_tso_segs: u32,
    /// Rounding of long timers.
    pub timer_rounding: TimerRounding,
    /// `net.ipv4.tcp_invalid_ratelimit`: minimum time between two ACKs that answer unacceptable segments.
    pub invalid_ratelimit: Span,
    /// `net.ipv4.tcp_syn_retries`: SYNs sent again with doubled times, after those of `tcp_syn_linear_timeouts`.
    pub syn_retries: u32,
    /// `net.ipv4.tcp_syn_linear_timeouts`: SYN timeouts that are not doubled.
    pub syn_linear_timeouts: u32,
    /// `net.ipv4.tcp_rto_max_ms`: greatest retransmission timeout.
    pub rto_max: Span,
    /// `net.ipv4.tcp_pingpong_thresh`: answers within the delay of an ACK that make a connection interactive.
    pub pingpong_threshold: u32,
    /// `net.ipv4.tcp_rcvbuf_low_rtt`: RTT below which the receive buffer grows less; zero: none.
    pub rcvbuf_low_rtt: Span,
    /// `net.ipv4.tcp_synack_retries`: SYN-ACKs sent again, each after twice the time of the one before.
    pub synack_retries: u32,
    /// `net.ipv4.tcp_shrink_window`.
    pub window_shrinking: WindowShrinking,
    /// The device that segments arrive by.
    pub arrival: Arrival,
    /// The initial slow-start threshold in segments, as a route has it; 0: infinite. One that an earlier connection has
    /// saved replaces it. [linux-5.4 tcp_metrics.c tcp_init_metrics]
    pub initial_ssthresh: u32,
    /// What connections of this host leave to later ones (`net.ipv4.tcp_no_metrics_save` is 0); `None`: nothing.
    pub saved_metrics: Option<SavedMetrics>,
    /// `net.ipv4.tcp_no_ssthresh_metrics_save` is 0: ssthresh is among it.
    pub saves_ssthresh: bool,
    /// The hash of a socket after a timeout: that of the stack, or as `net.core.txrehash` says.
    pub txhash: Txhash,
    /// Maximum number of segments per skb (`gso_max_segs` of the device): 1 with offloads off, 65,535 with them on.
    pub gso_max_segs: u32,
}

/// Whether an advertised window may shrink. [linux-6.12 tcp_output.c tcp_select_window]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowShrinking {
    /// 0: no. [rfc9293 §3.8.6]
    Never,
    /// 1: if memory is short, and windows are scaled.
    WhenScaled,
}

/// The path by which segments arrive; it determines the memory of a packet, and where its payload is. [linux-6.12
/// tcp_input.c truesize_adjust]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// A network card: payload lies in pages beside the head, which is not payload's memory.
    Card,
    /// A TUN device, into which a program writes packets.
    Tun,
}

impl Settings {
    /// Payload bytes of a segment without options: the MSS of the SYN. [rfc9293 §3.7.1]
    pub(crate) fn full_mss(&self) -> u32 {
        self.mtu - self.ip.header() - TCP_HEADER
    }

    /// TCP builds skbs of several segments.
    pub(crate) fn builds_trains(&self) -> bool {
        self.gso_max_segs > 1
    }

    /// Memory of an skb with so much payload. [linux-6.12 skbuff.h SKB_TRUESIZE]
    pub(crate) fn truesize(&self, payload: u32) -> u32 {
        self.stack.skb_overhead + payload
    }

    /// The MSS of the SYN.
    pub(crate) fn offered_mss(&self) -> u32 {
        self.advmss.unwrap_or(self.full_mss())
    }

    /// Maximum payload of a segment in bytes.
    pub(crate) fn mss(&self, options: &SocketOptions) -> u32 {
        let asked = options.mss.map_or(u32::MAX, |mss| mss - TIMESTAMP_OPTION);
        asked.min(self.full_mss() - TIMESTAMP_OPTION)
    }
}

impl Default for Settings {
    /// Linux 6.12, HZ 1000, Ethernet, offloads off.
    fn default() -> Self {
        Settings::of(LINUX_6_12)
    }
}

impl Settings {
    /// The defaults of a stack, with HZ 1000, Ethernet and offloads off.
    pub fn of(stack: Stack) -> Self {
        Settings {
            stack,
            mtu: 1500,
            advmss: None,
            mtu_probing: MtuProbing::Off,
            base_mss: 1024,
            offers: Offers { timestamps: true, sack: true, window_scaling: true },
            dsack: true,
            loss_detection: LossDetection { adapts_window: true, uses_threshold: true },
            frto: true,
            reordering: 3,
            max_reordering: 300,
            rto_min: RTO_MIN,
            min_rtt_window: Span::from_secs(300),
            retries: 15,
            thin_linear_timeouts: false,
            autocorking: true,
            notsent_lowat: u64::from(u32::MAX),
            compression: CompressionLimits {
                acks: 44,
                share: stack.compression_share,
                delay: Span::from_millis(1),
                slack: Span::from_micros(u64::from(stack.compression_slack)),
            },
            ip: IpVersion::V4,
            jiffy: Span::from_millis(1),
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            limit_output_bytes: stack.output_limit.bytes(),
            rmem: [4096, stack.rmem_default, stack.rmem_max],
            wmem: [4096, 16_384, 4_194_304],
            slow_start_after_idle: true,
            moderate_rcvbuf: true,
            tail_loss_probe: true,
            ecn: EcnUse::WhenAsked,
            ecn_fallback: true,
            ecn_option: OptionUse::Full,
            ecn_option_beacon: 3,
            tso_win_divisor: 3,
            min_tso_segs: 2,
            timer_rounding: TimerRounding::Wheel,
            invalid_ratelimit: Span::from_millis(500),
            syn_retries: 6,
            syn_linear_timeouts: stack.syn_linear_timeouts,
            rto_max: RTO_MAX,
            pingpong_threshold: stack.pingpong_threshold,
            rcvbuf_low_rtt: Span::from_micros(u64::from(stack.rcvbuf_low_rtt)),
            synack_retries: 5,
            window_shrinking: WindowShrinking::Never,
            arrival: Arrival::Card,
            initial_ssthresh: 0,
            saved_metrics: None,
            saves_ssthresh: stack.ssthresh_metric == SsthreshMetric::Saved,
            txhash: stack.txhash,
            gso_max_segs: 1,
        }
    }
}

/// The options that both SYNs agreed on. Without an agreement, a socket assumes all of them, and a peer with the same
/// MTU. [rfc9293 §3.7.1] [rfc7323] [rfc2018]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The MSS option of the peer: payload of an IP packet without options.
    pub peer_mss: u32,
    /// Both sides sent the timestamp option.
    pub timestamps: bool,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// Both sides scale their windows.
    pub window_scaling: bool,
}

impl Agreement {
    /// What both sides agree on by default; `mss` is the payload of a full segment.
    pub(crate) fn usual(mss: u32) -> Self {
        Agreement { peer_mss: mss + TIMESTAMP_OPTION, timestamps: true, sack: true, window_scaling: true }
    }

    /// What both sides agree on if the peer has the settings `peer`.
    pub fn between(own: &Settings, options: &SocketOptions, peer: &Settings) -> Self {
        let Offers { timestamps, sack, window_scaling } = own.offers.and(peer.offers);
        Agreement { timestamps, sack, window_scaling, ..Agreement::usual(own.mss(options)) }
    }

    /// The options in use, which a SYN-ACK carries.
    pub(crate) fn offers(&self) -> Offers {
        let Agreement { timestamps, sack, window_scaling, .. } = *self;
        Offers { timestamps, sack, window_scaling }
    }

    /// Bytes of the timestamp option in each segment.
    pub(crate) fn timestamp_option(&self) -> u32 {
        if self.timestamps { TIMESTAMP_OPTION } else { 0 }
    }
}

/// The configuration of one socket.
#[derive(Debug)]
pub struct EndpointConfig {
    /// This socket.
    pub socket: SocketId,
    /// The socket at the other end.
    pub peer: SocketId,
    /// The host at the other end.
    pub peer_host: HostId,
    /// Hash of this direction's addresses and ports.
    pub flow_hash: u32,
    /// Sysctls of the host.
    pub settings: Arc<Settings>,
    /// Limit of the small queue.
    pub small_queue: SmallQueueLimit,
    /// The options that the application has set.
    pub options: SocketOptions,
    /// Congestion control.
    pub control: Control,
    /// The control needs pacing by TCP.
    pub wants_pacing: bool,
    /// The control needs ECN, and a receiver that echoes the mark of each segment.
    pub needs_ecn: EcnNeed,
    /// Send-buffer factor of the control.
    pub sndbuf_factor: u32,
}

/// The configuration of a pure receiver. Its fields are those of [`EndpointConfig`].
#[derive(Debug)]
#[expect(missing_docs, reason = "as in `EndpointConfig`")]
pub struct ReceiverConfig {
    pub socket: SocketId,
    pub peer: SocketId,
    pub peer_host: HostId,
    pub flow_hash: u32,
    pub settings: Arc<Settings>,
    pub options: SocketOptions,
    pub needs_ecn: EcnNeed,
}
