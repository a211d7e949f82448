//! When a connection saves its metrics, and begins with those of an earlier one ([`crate::metrics`]).

use tailback_units::Segs;

use super::Endpoint;
use crate::metrics::{Destination, Ended, Metrics};
use crate::sender::Sender;
use crate::sending_half::SendingHalf;

impl<S: SendingHalf> Endpoint<S> {
    fn destination(&self) -> Destination {
        (self.addresses.peer_host, self.sender.settings().ip.header())
    }

    /// What earlier connections have left.
    pub(super) fn saved_metrics(&self) -> Metrics {
        match &self.sender.settings().saved_metrics {
            Some(saved) => saved.about(self.destination(), self.sender.now()),
            None => Metrics::default(),
        }
    }

    /// Both ends have closed the connection: only then, and only once, does it save its metrics. [linux-5.4 tcp_minisocks.c tcp_time_wait]
    #[cold]
    pub(super) fn save_metrics(&mut self) {
        let settings = self.sender.settings();
        let Some(saved) = &settings.saved_metrics else { return };
        let reset = !self.is_open() || self.is_aborted();
        if reset || std::mem::replace(&mut self.metrics_saved, true) {
            return;
        }
        if let Some(ended) = self.sender.as_sender().map(Sender::ended) {
            saved.save(self.destination(), &ended, settings.saves_ssthresh, self.sender.now());
        }
    }
}

impl Sender {
    /// [linux-5.4 tcp_metrics.c tcp_init_metrics]
    pub(crate) fn begin_with(&mut self, saved: &Metrics) {
        if let Some(ssthresh) = saved.ssthresh {
            self.window.ssthresh = ssthresh;
        }
        if let Some(reordering) = saved.reordering {
            self.recovery.reordering = reordering;
        }
        self.rtt.begin_with(saved.rtt_us8, &self.settings);
    }

    /// How this connection ends.
    pub(crate) fn ended(&self) -> Ended {
        Ended {
            srtt_us8: self.rtt.srtt_us8(),
            backed_off: self.backoff() > 0,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh.min(Segs::INFINITE),
            state: self.flow.ca_state,
            reordering: Some(self.recovery.reordering).filter(|&degree| degree != self.settings.reordering),
        }
    }
}
