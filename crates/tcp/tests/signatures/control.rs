//! Congestion controls of the tests: those of the registry, and one that starts with a given window.

use rand_core::Rng;
use tailback_cc::{Control, Flow, Hooks, Window, WindowControl};
use tailback_units::{Parameters, Segs};

/// A control of the registry.
pub fn control(name: &str) -> Control {
    tailback_cc::build(name, &Parameters::default()).expect("the registry has it")
}

/// Grows like Reno from `cwnd` on; `cut` gives ssthresh after a loss.
pub fn window_control(cwnd: u32, ssthresh: u32, cut: fn(u32) -> u32) -> Control {
    Control::Window(Box::new(StartingAt { cwnd: Segs(cwnd), ssthresh: Segs(ssthresh), cut }))
}

struct StartingAt {
    cwnd: Segs,
    ssthresh: Segs,
    cut: fn(u32) -> u32,
}

impl Hooks for StartingAt {
    fn init(&mut self, _: &Flow, window: &mut Window, _: &mut dyn Rng) {
        window.cwnd = self.cwnd;
        window.ssthresh = self.ssthresh;
    }
}

impl WindowControl for StartingAt {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > Segs::ZERO {
            window.cong_avoid_ai(window.cwnd.0, left);
        }
    }

    fn ssthresh(&mut self, _: &Flow, window: &Window) -> Segs {
        Segs((self.cut)(window.cwnd.0).max(2))
    }
}
