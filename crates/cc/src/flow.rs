//! The read-only view that a control has of its flow: state and events of the sender.

use tailback_units::{Segs, SimTime, Span};

/// Maximum size of a packet before segmentation, in bytes, for TCP over IPv4 and for a device without another setting.
/// [linux-6.12 netdevice.h GSO_LEGACY_MAX_SIZE]
pub const GSO_LEGACY_MAX_SIZE: u32 = 65_536;
/// Room for the headers of all layers: 128 bytes and the largest link header, aligned. [linux-6.12 tcp.h MAX_TCP_HEADER]
pub const MAX_TCP_HEADER: u32 = 320;
/// `sk_gso_max_size`: maximum payload of an skb, in bytes. Each socket has this value once it has a route, with or
/// without offloads. [linux-6.12 sock.c sk_dst_gso_max_size]
pub const GSO_MAX_SIZE: u32 = GSO_LEGACY_MAX_SIZE - (MAX_TCP_HEADER + 1);

/// State of loss recovery. [linux-6.12 tcp.h enum tcp_ca_state]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// No SACK, no duplicate ACK, no loss.
    #[default]
    Open,
    /// SACKs or duplicate ACKs, no loss yet.
    Disorder,
    /// cwnd is being reduced without loss (ECN, local congestion).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl CaState {
    /// cwnd is being reduced. [linux-6.12 tcp.h tcp_in_cwnd_reduction]
    #[inline]
    pub fn reduces_cwnd(self) -> bool {
        matches!(self, CaState::Cwr | CaState::Recovery)
    }
}

/// Events of the sender that are reported to a control. [linux-6.12 tcp.h enum tcp_ca_event]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndEvent {
    /// Transmission with nothing in flight.
    TxStart,
    /// cwnd is restarted after idle.
    CwndRestart,
    /// Recovery or CWR ended.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
}

/// What paces the packets of a socket. [linux-6.12 sock.h sk_pacing_status]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PacingStatus {
    /// Nothing.
    #[default]
    None,
    /// TCP's own timer.
    Needed,
    /// The `fq` discipline.
    Fq,
}

/// The timestamp option of an ACK, whose clock ticks once a millisecond. [rfc7323 §3]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: when the ACK was sent.
    pub value: SimTime,
    /// TSecr: when what it acknowledges was sent.
    pub echo: SimTime,
}

/// The view that a control has of its flow. The sender updates it; a control cannot write it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The present time.
    pub now: SimTime,
    /// Payload bytes per full segment (`mss_cache`).
    pub mss: u32,
    /// Bytes of a full packet with its headers, without the AccECN option (`tcp_mss_to_mtu(mss_cache)`).
    pub mtu: u32,
    /// Smoothed RTT in µs, times eight as in the kernel; 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum RTT (300 s); `None` before the first sample.
    pub min_rtt: Option<Span>,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: Segs,
    /// Segments SACKed and not cumulatively acknowledged.
    pub sacked_out: Segs,
    /// Segments in the network: `packets_out - (sacked + lost) + retrans`.
    pub in_flight: Segs,
    /// First byte not acknowledged.
    pub snd_una: u64,
    /// Next new byte to send.
    pub snd_nxt: u64,
    /// Segments delivered since the start, SACKed ones included.
    pub delivered: u64,
    /// Of them, segments whose ACK carried ECE (`delivered_ce`).
    pub delivered_ce: u64,
    /// When `delivered` last grew.
    pub delivered_at: SimTime,
    /// Segments marked lost since the start.
    pub lost: u64,
    /// Rate samples are limited by the application until this many segments are delivered; 0 = not limited.
    pub app_limited: u64,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// cwnd limited the flow in the last window (`tcp_is_cwnd_limited`; for a model control, the flag alone).
    pub cwnd_limited: bool,
    /// ECN was negotiated (`tcp_ecn_mode_any`).
    pub ecn_ok: bool,
    /// Timestamps of the ACK that is being processed, if it has the option.
    pub timestamps: Option<Timestamps>,
    /// What paces the flow.
    pub pacing_status: PacingStatus,
    /// When data was last sent (`lsndtime`); on [`CwndEvent::TxStart`] the previous transmission.
    pub last_sent: SimTime,
    /// Departure time of the newest packet (`tcp_wstamp_ns`).
    pub departure: SimTime,
    /// `sk_pacing_shift`: a transmit burst has `pacing_rate >> shift` bytes.
    pub pacing_shift: u32,
    /// Maximum segments per skb (`gso_max_segs`): 1 with offloads off.
    pub gso_max_segs: u32,
    /// Length of a jiffy (1/HZ).
    pub jiffy: Span,
}

impl Flow {
    /// A new connection that has sent nothing; offloads are off, everything else has Linux's defaults.
    pub fn established(mss: u32, jiffy: Span) -> Self {
        Flow {
            now: SimTime::ZERO,
            mss,
            mtu: mss + 52,
            srtt_us8: 0,
            min_rtt: None,
            packets_out: Segs::ZERO,
            sacked_out: Segs::ZERO,
            in_flight: Segs::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            delivered: 0,
            delivered_ce: 0,
            delivered_at: SimTime::ZERO,
            lost: 0,
            app_limited: 0,
            ca_state: CaState::Open,
            cwnd_limited: false,
            ecn_ok: false,
            timestamps: None,
            pacing_status: PacingStatus::None,
            last_sent: SimTime::ZERO,
            departure: SimTime::ZERO,
            pacing_shift: 10,
            gso_max_segs: 1,
            jiffy,
        }
    }

    /// A packet is handed down now: moves `departure` to its departure time, and returns the one before, which tells how late
    /// it is.
    #[inline]
    pub fn take_departure(&mut self) -> SimTime {
        let before = self.departure;
        self.departure = before.max(self.now);
        before
    }

    /// The application limits rate samples until all is delivered that is in flight, so many segments.
    /// [linux-6.12 tcp_rate.c tcp_rate_check_app_limited]
    pub fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Jiffies in `span`, rounded up. [linux-6.12 time.c usecs_to_jiffies]
    pub fn jiffies_in(&self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.jiffy.as_nanos())
    }

    /// Jiffies per second (HZ).
    pub fn hz(&self) -> u64 {
        Span::from_secs(1).as_nanos() / self.jiffy.as_nanos()
    }

    /// Whole jiffies since the run began. [linux-6.12 tcp_jiffies32]
    pub fn jiffies(&self) -> u64 {
        self.now.ticks(self.jiffy)
    }
}
