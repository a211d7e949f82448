//! Stamps what is sent for its rate sample (`state/rate.rs`), and marks samples as limited by the application.

use tailback_units::SimTime;

use crate::queue::Stamp;
use crate::sender::Sender;

impl Sender {
    /// The stamp of what is being sent.
    pub(crate) fn stamp(&mut self, sent_at: SimTime) -> Stamp {
        if self.scoreboard.is_empty() {
            self.rate.restart(sent_at, &mut self.flow);
        }
        self.rate.stamp(sent_at, self.scoreboard.in_flight(), &self.flow)
    }

    /// Marks the flow as limited by its application if nothing else limits it: nothing waits in TCP or below it,
    /// cwnd is not full, and all losses are repaired. [linux-6.12 tcp_rate.c tcp_rate_check_app_limited]
    pub(crate) fn check_app_limited(&mut self) {
        let idle = self.unsent() < u64::from(self.flow.mss)
            && self.below.wmem_alloc == 0
            && self.scoreboard.in_flight() < self.window.cwnd.0
            && self.scoreboard.lost_out() <= self.scoreboard.retrans_out();
        if idle {
            self.flow.limit_by_application(self.scoreboard.in_flight());
        }
    }
}
