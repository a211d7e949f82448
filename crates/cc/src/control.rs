//! The two shapes of a control, as traits.

use std::fmt;

use rand_core::Rng;
use tailback_units::Segs;

use crate::{AckSample, CaState, CwndEvent, Flow, LostSegment, RateSample, Window};

/// How an ACK was processed. [linux-6.12 tcp.h enum tcp_ca_ack_event_flags]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckPath {
    /// As predicted: it acknowledges new data and says nothing else.
    Fast,
    /// It needed a look: a duplicate, a SACK, a new window, ECE.
    Slow,
}

/// Hooks that both shapes may want. Every default does nothing.
pub trait Hooks: Send {
    /// The connection is established.
    fn init(&mut self, _flow: &Flow, _window: &mut Window, _draws: &mut dyn Rng) {}
    /// Recovery enters another state (called before `flow.ca_state` changes to `to`).
    fn set_state(&mut self, _to: CaState, _flow: &Flow, _window: &mut Window) {}
    /// Something happened to the sending process.
    fn cwnd_event(&mut self, _event: CwndEvent, _flow: &Flow, _window: &mut Window) {}
    /// An ACK arrived; called before it changes anything but the window.
    fn in_ack_event(&mut self, _path: AckPath, _flow: &Flow, _window: &mut Window) {}
    /// Segments were cumulatively acknowledged or an RTT was sampled.
    fn pkts_acked(&mut self, _sample: &AckSample, _flow: &Flow, _window: &mut Window) {}
    /// A segment was marked lost; one that was sent again and is lost again counts again.
    fn segment_lost(&mut self, _segment: &LostSegment, _flow: &Flow, _window: &mut Window) {}
    /// Fewest segments of one skb that TSO autosizing may choose; `None` = `net.ipv4.tcp_min_tso_segs`.
    fn min_tso_segs(&self, _window: &Window) -> Option<u32> {
        None
    }
    /// Numbers of its own, under the names of `struct tcp_cc_info` where it has some.
    fn gauges(&self, _flow: &Flow, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// The window shape: grow a little per ACK, cut on loss.
pub trait WindowControl: Hooks {
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
pub trait ModelControl: Hooks {
    /// Acts on the rate sample of an ACK.
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng);
    /// The state of the model, as its paper calls it: `startup`, `probe_rtt`, …
    fn state(&self) -> &'static str;
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
    pub fn hooks_mut(&mut self) -> &mut dyn Hooks {
        match self {
            Control::Window(control) => control.as_mut(),
            Control::Model(control) => control.as_mut(),
        }
    }

    /// The moments both shapes share, to read from.
    pub fn hooks(&self) -> &dyn Hooks {
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
