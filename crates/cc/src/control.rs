//! The two kinds of congestion control, as traits.

use std::fmt;

use rand_core::Rng;
use tailback_units::Segs;

use crate::{AckSample, CaState, CwndEvent, Flow, LostSegment, RateSample, Window};

/// How an ACK was processed. [linux-6.12 tcp.h enum tcp_ca_ack_event_flags]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckPath {
    /// The fast path: it acknowledges new data and carries nothing else.
    Fast,
    /// The slow path: a duplicate ACK, a SACK, a window update, ECE.
    Slow,
}

/// Callbacks that both kinds of control may implement. Every default does nothing.
pub trait Hooks: Send {
    /// The connection is established.
    fn init(&mut self, _flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {}
    /// The state of loss recovery changes; called before `flow.ca_state` becomes `to`.
    fn set_state(&mut self, _to: CaState, _flow: &Flow, _window: &mut Window) {}
    /// An event of the sender.
    fn cwnd_event(&mut self, _event: CwndEvent, _flow: &Flow, _window: &mut Window) {}
    /// An ACK arrived; called before it changes anything but the receive window.
    fn in_ack_event(&mut self, _path: AckPath, _flow: &Flow, _window: &mut Window) {}
    /// True if `in_ack_event` does nothing: it need not be called then.
    fn ignores_acks(&self) -> bool {
        false
    }
    /// Segments were cumulatively acknowledged or an RTT was sampled.
    fn pkts_acked(&mut self, _sample: &AckSample, _flow: &Flow, _window: &mut Window) {}
    /// A segment was marked lost. A retransmission that is lost again is reported again.
    fn segment_lost(&mut self, _segment: &LostSegment, _flow: &Flow, _window: &mut Window) {}
    /// Minimum number of segments per skb for TSO autosizing; `None` = `net.ipv4.tcp_min_tso_segs`.
    fn min_tso_segs(&self, _window: &Window) -> Option<u32> {
        None
    }
    /// Values to show in `ss`, under the names of `struct tcp_cc_info` where that has them.
    fn gauges(&self, _flow: &Flow, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// A window control: it grows cwnd a little per ACK and cuts it on loss.
pub trait WindowControl: Hooks {
    /// Grows the window on an ACK of `acked` segments, if `flow.cwnd_limited` (where its kernel module checks that).
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window);
    /// Returns ssthresh on a congestion event.
    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs;
    /// Returns cwnd after a reduction is undone as spurious.
    fn undo_cwnd(&mut self, _flow: &Flow, window: &Window) -> Segs {
        window.cwnd.max(window.prior_cwnd)
    }
}

/// A model control: it sets cwnd and pacing rate on every ACK.
pub trait ModelControl: Hooks {
    /// Processes the rate sample of an ACK.
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng);
    /// The state of the model, by the name of its paper: `startup`, `probe_rtt`, …
    fn state(&self) -> &'static str;
    /// Returns ssthresh on a congestion event (BBR only saves its window here).
    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs;
    /// Returns cwnd after a reduction is undone as spurious.
    fn undo_cwnd(&mut self, _flow: &Flow, window: &mut Window) -> Segs {
        window.cwnd
    }
}

/// A congestion control of either kind.
pub enum Control {
    /// `ssthresh` + `cong_avoid`.
    Window(Box<dyn WindowControl>),
    /// `cong_control`.
    Model(Box<dyn ModelControl>),
}

impl Control {
    /// The callbacks that both kinds share.
    pub fn hooks_mut(&mut self) -> &mut dyn Hooks {
        match self {
            Control::Window(control) => control.as_mut(),
            Control::Model(control) => control.as_mut(),
        }
    }

    /// The callbacks that both kinds share, read-only.
    pub fn hooks(&self) -> &dyn Hooks {
        match self {
            Control::Window(control) => control.as_ref(),
            Control::Model(control) => control.as_ref(),
        }
    }

    /// It sets cwnd and pacing rate itself.
    #[inline]
    pub fn is_model(&self) -> bool {
        matches!(self, Control::Model(_))
    }

    /// ssthresh for a reduction that starts now.
    pub fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        match self {
            Control::Window(control) => control.ssthresh(flow, window),
            Control::Model(control) => control.ssthresh(flow, window),
        }
    }

    /// cwnd after a reduction that was spurious.
    pub fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        match self {
            Control::Window(control) => control.undo_cwnd(flow, window),
            Control::Model(control) => control.undo_cwnd(flow, window),
        }
    }
}

/// A control with its parameters, before any connection: connections with the same parameters have copies of it.
pub struct Prototype(Box<dyn Fn() -> Control + Send + Sync>);

impl Prototype {
    /// The prototype of a window control.
    pub fn window(control: impl WindowControl + Clone + Sync + 'static) -> Self {
        Prototype(Box::new(move || Control::Window(Box::new(control.clone()))))
    }

    /// The prototype of a model control.
    pub fn model(control: impl ModelControl + Clone + Sync + 'static) -> Self {
        Prototype(Box::new(move || Control::Model(Box::new(control.clone()))))
    }

    /// The control of one connection.
    pub fn control(&self) -> Control {
        (self.0)()
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
