//! When a connection saves its metrics, and begins with those of an earlier one ([`crate::metrics`]).

use tailback_units::Segs;

use super::{Endpoint, State};
use crate::metrics::{Destination, Ended};
use crate::state::recovery::INITIAL_REORDERING;

impl Endpoint {
    fn destination(&self) -> Destination {
        (self.addresses.peer_host, self.sender.settings.ip.header())
    }

    /// [linux-5.4 tcp_metrics.c tcp_init_metrics]
    #[cold]
    #[inline(never)]
    pub(super) fn begin_with_saved_metrics(&mut self) {
        let Some(saved) = &self.sender.settings.saved_metrics else { return };
        let metrics = saved.about(self.destination(), self.sender.flow.now);
        let sender = &mut self.sender;
        if let Some(ssthresh) = metrics.ssthresh {
            sender.window.ssthresh = ssthresh;
        }
        if let Some(reordering) = metrics.reordering {
            sender.recovery.reordering = reordering;
        }
        sender.rtt.begin_with(metrics.rtt_us8, sender.flow.jiffy);
    }

    /// Both ends have closed the connection: only then, and only once, does it save its metrics. [linux-5.4 tcp_minisocks.c tcp_time_wait]
    #[cold]
    #[inline(never)]
    pub(super) fn save_metrics(&mut self) {
        let Some(saved) = &self.sender.settings.saved_metrics else { return };
        let reset = self.state != State::Established || self.sender.aborted;
        if reset || std::mem::replace(&mut self.metrics_saved, true) {
            return;
        }
        let sender = &self.sender;
        let ended = Ended {
            srtt_us8: sender.rtt.srtt_us8(),
            backed_off: sender.backoff() > 0,
            cwnd: sender.window.cwnd,
            ssthresh: sender.window.ssthresh.min(Segs::INFINITE),
            state: sender.flow.ca_state,
            reordering: Some(sender.recovery.reordering).filter(|&degree| degree != INITIAL_REORDERING),
        };
        saved.save(self.destination(), &ended, sender.settings.saves_ssthresh, sender.flow.now);
    }
}
