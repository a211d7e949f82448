//! Congestion controls: one file each, one row each in [`registry`].
//!
//! Two shapes, as in Linux: a *window* control answers `ssthresh` and `cong_avoid`; a *model* control takes over
//! window and pacing on every ACK from a rate sample (`cong_control`). A control reads a [`Flow`] and may write
//! only its [`Window`]. Names are those of `struct tcp_congestion_ops`. [linux-6.12 tcp.h]

use std::fmt;

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Rate, Segs, SimTime, Span};

/// State of loss recovery. [linux-6.12 tcp.h enum tcp_ca_state]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// Nothing unusual.
    #[default]
    Open,
    /// SACKs or duplicate ACKs, no loss yet.
    Disorder,
    /// The window is being reduced without loss (ECN, local congestion).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Moments of the sender that a control may want to know. [linux-6.12 tcp.h enum tcp_ca_event]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndEvent {
    /// First transmission when nothing was in flight.
    TxStart,
    /// The window is restarted after idle.
    CwndRestart,
    /// Recovery or CWR ended.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
}

/// Who spaces the packets of a socket. [linux-6.12 sock.h sk_pacing_status]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PacingStatus {
    /// Nobody.
    #[default]
    None,
    /// TCP's own timer.
    Needed,
    /// The `fq` discipline.
    Fq,
}

/// What a control may look at: facts of the flow that the sender keeps up to date and a control cannot write.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The instant of this call.
    pub now: SimTime,
    /// Payload bytes per full segment (`mss_cache`).
    pub mss: u32,
    /// Smoothed RTT in µs, times eight as the kernel keeps it; 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum RTT (300 s); `None` before the first sample.
    pub min_rtt: Option<Span>,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: Segs,
    /// Segments in the network: `packets_out - (sacked + lost) + retrans`.
    pub in_flight: Segs,
    /// First byte not acknowledged.
    pub snd_una: u64,
    /// Next new byte to send.
    pub snd_nxt: u64,
    /// Segments delivered since the start, SACKed ones included.
    pub delivered: u64,
    /// When `delivered` last grew.
    pub delivered_at: SimTime,
    /// Segments marked lost since the start.
    pub lost: u64,
    /// Rate samples up to this many delivered segments are limited by the application; 0 = not limited.
    pub app_limited: u64,
    /// State of recovery.
    pub ca_state: CaState,
    /// cwnd was the limit in the last window (`tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// Who paces.
    pub pacing_status: PacingStatus,
    /// Departure time given to the newest packet (`tcp_wstamp_ns`).
    pub departure: SimTime,
    /// `sk_pacing_shift`: bytes per transmit burst are `pacing_rate >> shift`.
    pub pacing_shift: u32,
    /// Largest skb in bytes (`sk_gso_max_size`).
    pub gso_max_size: u32,
    /// Most segments of one skb (`gso_max_segs`): 1 with offloads off.
    pub gso_max_segs: u32,
    /// Length of a jiffy (1/HZ).
    pub jiffy: Span,
}

impl Flow {
    /// Whole jiffies since the run began. [linux-6.12 tcp_jiffies32]
    pub fn jiffies(&self) -> u64 {
        self.now.ticks(self.jiffy)
    }
}

/// What a control may change.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: Segs,
    /// Slow-start threshold; [`Segs::INFINITE`] before any loss.
    pub ssthresh: Segs,
    /// Acknowledged segments not yet turned into window growth (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// cwnd before the last reduction.
    pub prior_cwnd: Segs,
    /// Largest cwnd allowed.
    pub cwnd_clamp: Segs,
    /// Pacing rate; a window control does not set it, the sender derives it from cwnd and srtt.
    pub pacing_rate: Rate,
    /// Set by a control to mark what is in flight as limited by the application (BBR's PROBE_RTT).
    pub mark_app_limited: bool,
}

impl Window {
    /// Below the threshold. [linux-6.12 tcp_in_slow_start]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: grows by what was acknowledged, up to ssthresh; returns the acknowledgements left over.
    /// [linux-6.12 tcp_slow_start]
    pub fn slow_start(&mut self, acked: Segs) -> Segs {
        let cwnd = Segs((self.cwnd + acked).0.min(self.ssthresh.0));
        let left = acked - (cwnd.saturating_sub(self.cwnd));
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Additive increase: one segment for each `per` acknowledged. [linux-6.12 tcp_cong_avoid_ai]
    pub fn cong_avoid_ai(&mut self, per: u32, acked: Segs) {
        if self.cwnd_cnt >= per {
            self.cwnd_cnt = 0;
            self.cwnd += Segs::ONE;
        }
        self.cwnd_cnt += acked.0;
        if self.cwnd_cnt >= per {
            let grown = self.cwnd_cnt / per;
            self.cwnd_cnt -= grown * per;
            self.cwnd += Segs(grown);
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

/// What one ACK says to a control's `pkts_acked`. [linux-6.12 tcp.h struct ack_sample]
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments cumulatively acknowledged by this ACK.
    pub packets_acked: Segs,
    /// RTT of the newest segment acknowledged that was never retransmitted; `None` if there is none.
    pub rtt: Option<Span>,
    /// Bytes in flight when that segment was sent.
    pub in_flight: u64,
}

/// Delivery rate of one ACK. [linux-6.12 tcp.h struct rate_sample]
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// `delivered` when the newest segment now acknowledged was sent.
    pub prior_delivered: u64,
    /// Segments delivered over the interval; `None` if the sample is void.
    pub delivered: Option<u64>,
    /// Time over which they were delivered; `None` if shorter than the minimum RTT, hence not credible.
    pub interval: Option<Span>,
    /// RTT of the newest segment acknowledged; `None` if ambiguous.
    pub rtt: Option<Span>,
    /// Segments newly marked lost by this ACK.
    pub losses: Segs,
    /// Segments newly acknowledged or SACKed by this ACK.
    pub acked_sacked: Segs,
    /// Segments in flight before this ACK.
    pub prior_in_flight: Segs,
    /// The sample was limited by the application.
    pub is_app_limited: bool,
    /// The newest segment acknowledged was a retransmission.
    pub is_retrans: bool,
    /// The ACK may have been delayed by the receiver.
    pub is_ack_delayed: bool,
}

/// Moments that both shapes may want. Every default does nothing.
pub trait Moments: Send {
    /// The connection is established.
    fn init(&mut self, _flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {}
    /// Recovery enters another state (called before `flow.ca_state` changes to `to`).
    fn set_state(&mut self, _to: CaState, _flow: &Flow, _window: &mut Window) {}
    /// Something happened to the sending process.
    fn cwnd_event(&mut self, _event: CwndEvent, _flow: &Flow, _window: &mut Window) {}
    /// An ACK arrived; called before it changes anything but the window.
    fn in_ack_event(&mut self, _flow: &Flow, _window: &mut Window) {}
    /// Segments were cumulatively acknowledged or an RTT was sampled.
    fn pkts_acked(&mut self, _sample: &AckSample, _flow: &Flow, _window: &mut Window) {}
    /// Fewest segments of one skb that TSO autosizing may choose.
    fn min_tso_segs(&self, _window: &Window) -> u32 {
        2
    }
    /// Numbers of its own, under the names of `struct tcp_cc_info` where it has some.
    fn gauges(&self, _flow: &Flow, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// The window shape: grow a little per ACK, cut on loss.
pub trait WindowControl: Moments {
    /// Growth on an ACK of `acked` segments. Must do nothing unless `flow.cwnd_limited`, where the kernel does so.
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window);
    /// The new ssthresh on a congestion event.
    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs;
    /// The window after a reduction that turned out wrong.
    fn undo_cwnd(&mut self, _flow: &Flow, window: &Window) -> Segs {
        window.cwnd.max(window.prior_cwnd)
    }
}

/// The model shape: set window and pacing rate on every ACK.
pub trait ModelControl: Moments {
    /// Acts on the rate sample of an ACK.
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng);
    /// A congestion event; the answer is the new ssthresh (BBR only saves its window here).
    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs;
    /// A reduction turned out wrong; the answer is the new cwnd.
    fn undo_cwnd(&mut self, _flow: &Flow, window: &mut Window) -> Segs {
        window.cwnd
    }
}

/// A congestion control of either shape.
pub enum Control {
    /// `ssthresh` + `cong_avoid`.
    Window(Box<dyn WindowControl>),
    /// `cong_control`.
    Model(Box<dyn ModelControl>),
}

impl Control {
    /// The moments both shapes share.
    pub fn moments(&mut self) -> &mut dyn Moments {
        match self {
            Control::Window(control) => control.as_mut(),
            Control::Model(control) => control.as_mut(),
        }
    }

    /// The moments both shapes share, to read from.
    pub fn read(&self) -> &dyn Moments {
        match self {
            Control::Window(control) => control.as_ref(),
            Control::Model(control) => control.as_ref(),
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Control::Window(_) => "Control::Window",
            Control::Model(_) => "Control::Model",
        })
    }
}

/// One row of the registry: a file of this crate.
pub struct Row {
    /// The name as in `net.ipv4.tcp_congestion_control`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The head of its file: the idea, its formulas, its source, its deviations.
    pub source: &'static str,
    /// Module parameters.
    pub parameters: &'static [Parameter],
    /// Send-buffer factor (`sndbuf_expand`).
    pub sndbuf_factor: u32,
    /// It asks TCP to pace (`sk_pacing_status` becomes NEEDED).
    pub wants_pacing: bool,
    /// Makes one.
    pub build: fn(&Parameters) -> Result<Control, ParameterError>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.name)
    }
}
