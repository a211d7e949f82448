//! Pacing rate, cwnd and skb size of BBR versions 2 and 3, from the model and its bounds. [bbr-v2 tcp_bbr2.c bbr_set_cwnd]

use tailback_units::Segs;

use super::{Bandwidth, Bbr2, Gain, MIN_CWND, Mode, Phase, SKBS_IN_HOSTS, segments, tso_segs_from};
use crate::{Flow, GSO_LEGACY_MAX_SIZE, GSO_MAX_SIZE, RateSample, Window};

/// skbs are larger on paths with a short RTT: by 64 KiB, halved for each 2^9 µs. [bbr-v2 bbr_tso_rtt_shift]
const TSO_RTT_SHIFT: u64 = 9;

impl Bbr2 {
    pub(super) fn set_pacing_rate(&mut self, gain: Gain, flow: &Flow, window: &mut Window) {
        let rate = self.bandwidth().pacing_rate(flow.mss, gain);
        self.model.pace(rate, flow, window);
    }

    pub(super) fn set_cwnd(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        if sample.acked_sacked > Segs::ZERO {
            let bandwidth = self.bandwidth();
            let wanted = self.model.bdp(bandwidth, self.model.gains.cwnd)
                + self.model.aggregation.extra_cwnd(bandwidth);
            let target = self.quantized(wanted, flow, window);
            let grown = Segs(window.cwnd.0.saturating_add(sample.acked_sacked.0));
            self.at_target = false;
            if self.model.full_pipe.reached {
                window.cwnd = grown.min(target);
                self.at_target = grown >= target;
            } else if window.cwnd < target || window.cwnd.0 < 2 * self.model.initial_cwnd {
                window.cwnd = grown;
            } else {
                self.at_target = true;
            }
            window.cwnd = window.cwnd.max(Segs(MIN_CWND));
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        if self.model.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.bound_of_mode()).min(window.cwnd_clamp);
    }

    /// `packets`, but at least an allowance for skbs queued in the hosts.
    fn quantized(&self, packets: u64, flow: &Flow, window: &Window) -> Segs {
        let min = (SKBS_IN_HOSTS * self.tso_segs_goal(flow, window)).max(u64::from(MIN_CWND));
        let probing = if self.phase() == Some(Phase::Up) { 2 } else { 0 };
        let wanted = packets.max(min).saturating_add(probing);
        segments(wanted)
    }

    pub(super) fn inflight(&self, bandwidth: Bandwidth, gain: Gain, flow: &Flow, window: &Window) -> Segs {
        self.quantized(self.model.bdp(bandwidth, gain), flow, window)
    }

    /// Segments per skb at the present pacing rate and RTT.
    fn tso_segs_goal(&self, flow: &Flow, window: &Window) -> u64 {
        let halvings = self.model.min_rtt.us.map_or(u64::from(u32::BITS), |us| us >> TSO_RTT_SHIFT);
        let near = u64::from(GSO_LEGACY_MAX_SIZE)
            .checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX))
            .unwrap_or(0);
        let paced = window.pacing_rate.bytes_per_sec() >> flow.pacing_shift;
        let bytes = paced.saturating_add(near).min(u64::from(GSO_MAX_SIZE));
        tso_segs_from(self.least_segs(window), bytes, flow)
    }

    pub(super) fn packets_in_net_at_edt(&self, inflight: Segs, flow: &Flow, window: &Window) -> Segs {
        self.model.packets_in_net_at_edt(inflight, flow, (self.tso_segs_goal(flow, window), self.bandwidth()))
    }
}
