//! PROBE_RTT in BBR versions 2 and 3: a small window at intervals, to measure the RTT of the empty path.
//! [bbr-v2 tcp_bbr2.c bbr_update_min_rtt]

use tailback_units::{Segs, Span};

use super::tuning::ProbeEnd;
use super::{AckPhase, Bbr2, MIN_CWND, MinRtt, Mode};
use crate::{Flow, RateSample, Window};

/// Window of the minimum RTT of the model. [bbr-v2 bbr_min_rtt_win_sec]
const MIN_RTT_WINDOW: Span = Span::from_secs(10);

impl Bbr2 {
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        let now = flow.jiffies();
        let old = |stamp: u64, age: Span| now > stamp + flow.jiffies_in(age);
        let due = old(self.probe_rtt_min.stamp, self.tuning.probe_rtt_win);
        if let Some(us) = sample.rtt.map(Span::as_micros) {
            let as_good = self.probe_rtt_min.us.is_none_or(|min| match self.profile.probe_end {
                ProbeEnd::Inflight => us <= min,
                ProbeEnd::FullPipe => us < min,
            });
            if as_good || (due && !sample.is_ack_delayed) {
                self.probe_rtt_min = MinRtt { us: Some(us), stamp: now };
            }
        }
        let lower = self.probe_rtt_min.us.is_some_and(|us| self.model.min_rtt.us.is_none_or(|min| us <= min));
        if lower || old(self.model.min_rtt.stamp, MIN_RTT_WINDOW) {
            self.model.min_rtt = self.probe_rtt_min;
        }
        if self.model.enter_probe_rtt(due, window) {
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.model.rounds.next_delivered = flow.delivered;
        }
        if self.model.mode == Mode::ProbeRtt {
            let (min, time) = (self.probe_rtt_cwnd(), self.tuning.probe_rtt_mode);
            if self.model.stay_in_probe_rtt(min, time, flow, window) {
                self.check_probe_rtt_done(flow, window);
            }
        }
        self.model.note_delivery(sample);
    }

    pub(super) fn probe_rtt_cwnd(&self) -> Segs {
        let bdp = self.model.bdp(self.bandwidth(), self.tuning.probe_rtt_gain);
        Segs(bdp.clamp(u64::from(MIN_CWND), u64::from(u32::MAX)) as u32)
    }

    pub(super) fn check_probe_rtt_done(&mut self, flow: &Flow, window: &mut Window) {
        if !self.model.ends_probe_rtt(flow, window) {
            return;
        }
        self.probe_rtt_min.stamp = flow.jiffies();
        self.forget_lower_bounds();
        if self.model.full_pipe.reached {
            self.start_down(flow);
            self.start_cruise();
        } else {
            self.model.mode = Mode::Startup;
        }
    }
}
