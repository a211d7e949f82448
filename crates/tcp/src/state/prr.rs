//! Proportional rate reduction, in CWR and Recovery of window controls. Per ACK that delivers D segments:
//!
//! ```text
//! in flight > ssthresh:  sndcnt = ⌈ssthresh · prr_delivered / prior_cwnd⌉ − prr_out
//! else:                  sndcnt = min(ssthresh − in_flight, max(prr_delivered − prr_out, D) + g)
//!                        g = 1 if una advanced and nothing was newly lost
//! cwnd = in_flight + max(sndcnt, 1 for the first transmission)
//! ```
//! [rfc6937] [linux-6.12 tcp_input.c tcp_cwnd_reduction]

use tailback_cc::Window;
use tailback_units::Segs;

/// What was delivered and sent since the reduction began. [linux-6.12 tcp_sock prr_delivered, prr_out]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    delivered: u32,
    out: u32,
}

/// The bound of PRR below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    None,
    Slow,
    Good,
}

impl Prr {
    /// So many segments were sent or sent again.
    #[inline]
    pub(crate) fn sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// Sets cwnd after an ACK that delivers so many segments.
    pub(crate) fn reduce(&mut self, window: &mut Window, in_flight: u32, delivered: u32, progress: Progress) {
        let prior = u64::from(window.prior_cwnd.0);
        if delivered == 0 || prior == 0 {
            return;
        }
        self.delivered += delivered;
        let ssthresh = window.ssthresh.0;
        let count = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(prior);
            share.saturating_sub(u64::from(self.out)) as u32
        } else {
            let owed = self.delivered.saturating_sub(self.out).max(delivered);
            let bound = match progress {
                Progress::Good => owed + 1,
                Progress::Slow => owed,
                Progress::None => delivered,
            };
            bound.min(ssthresh - in_flight)
        };
        window.cwnd = Segs(in_flight + count.max(u32::from(self.out == 0)));
    }
}
