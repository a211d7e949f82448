//! Growth of cwnd and rate in Prague, and how one follows from the other.

use std::cmp::Ordering;

use tailback_units::Segs;

use super::{CWND_BITS, Controlled, MAX_RATE, MEAN_RTT_BITS, MIN_RATE, Prague, SEGMENT, SRTT_PER_SEC};
use crate::{Flow, RateSample, Window};

/// The least window, in segments. [prague-v0.7 MIN_CWND_RTT]
const MIN_CWND: u64 = 2;
/// The packet whose growth per round trip is one segment, in bytes. [prague-v0.7 MTU_SYS]
const PACKET: u64 = 1500;
/// Above this RTT growth is not scaled, in the unit of srtt. [prague-v0.7 MAX_SCALED_RTT]
const MAX_SCALED_RTT: u64 = 8 * 100_000;
/// 2^23 is about the number of units of srtt in a second. [prague-v0.7 RTT2SEC_SHIFT]
const SECOND_BITS: u32 = 23;

impl Prague {
    pub(super) fn update_cwnd(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window) {
        let marks = flow.delivered_ce - self.marked;
        self.marked = flow.delivered_ce;
        if marks > 0 {
            if !self.seen_mark && !self.tuning.starts_at_one {
                // Slow start has found the rate of the path.
                self.cwnd = (self.cwnd + 1) >> 1;
            }
            self.seen_mark = true;
        }
        let unmarked = u64::from(sample.acked_sacked.0).saturating_sub(marks);
        if unmarked > 0 && !self.in_loss && flow.cwnd_limited {
            let rest = self.slow_start(unmarked, flow, window);
            if rest == 0 {
                return;
            }
            self.grow(rest, flow, window);
        }
        self.step(flow, window);
    }

    /// Grows in slow start; returns what is left of the ACK.
    fn slow_start(&mut self, unmarked: u64, flow: &Flow, window: &mut Window) -> u64 {
        if !window.in_slow_start() {
            return unmarked;
        }
        let rest = window.slow_start(Segs(unmarked as u32));
        self.cwnd = u64::from(window.cwnd.0) << CWND_BITS;
        if rest == Segs::ZERO {
            self.scale_growth(flow);
        }
        rest.0.into()
    }

    fn grow(&mut self, unmarked: u64, flow: &Flow, window: &Window) {
        if self.controls_rate(window) {
            let rtt = u128::from(self.virtual_rtt(flow));
            let more = ((u128::from(unmarked) * u128::from(PACKET)) << SECOND_BITS) / rtt;
            let segments = (u128::from(self.rate) * rtt).div_ceil(u128::from(flow.mtu) << SECOND_BITS);
            if segments > 0 {
                self.rate = self.rate.saturating_add(nearest(more, segments)).min(MAX_RATE);
            }
            self.cwnd = self.cwnd.saturating_add(unmarked).max(self.cwnd_of_rate(flow));
        } else {
            let more = u128::from(unmarked) * u128::from(self.growth);
            let per_cwnd =
                if self.cwnd > 0 { nearest(more << CWND_BITS, self.cwnd.into()) } else { more as u64 };
            let grown = per_cwnd.saturating_mul(PACKET) / u64::from(flow.mtu);
            self.cwnd = self.cwnd.saturating_add(unmarked.max(grown));
            self.rate = self.rate.saturating_add(unmarked).min(MAX_RATE).max(self.rate_of_cwnd(flow));
        }
    }

    /// The window that is used follows by one segment per ACK.
    fn step(&mut self, flow: &Flow, window: &mut Window) {
        let wanted = self.cwnd.div_ceil(SEGMENT).clamp(MIN_CWND, u32::MAX.into()) as u32;
        match Segs(wanted).min(window.cwnd_clamp).cmp(&window.cwnd) {
            Ordering::Less => {
                window.cwnd = Segs(window.cwnd.0 - 1);
                window.ssthresh = window.cwnd;
            }
            Ordering::Greater => window.cwnd = Segs(window.cwnd.0 + 1),
            Ordering::Equal => return,
        }
        self.scale_growth(flow);
    }

    /// Growth per round trip: (RTT / target)², at most 1.
    pub(super) fn scale_growth(&mut self, flow: &Flow) {
        let (rtt, target) = (u64::from(flow.srtt_us8), self.target());
        let scales =
            self.rounds >= self.tuning.transition && (1..=MAX_SCALED_RTT).contains(&rtt) && rtt < target;
        self.growth = match scales {
            true => nearest((u128::from(rtt) << CWND_BITS) * u128::from(rtt), u128::from(target * target)),
            false => SEGMENT,
        };
    }

    /// A small window is controlled by its rate.
    pub(super) fn choose_controlled(&mut self, flow: &Flow, window: &Window) {
        let bytes = u64::from(window.cwnd.0) * u64::from(flow.mtu);
        if self.seen_mark && bytes <= self.tuning.rate_below * PACKET {
            self.controlled = Controlled::Rate;
            self.cwnd = self.cwnd_of_rate(flow);
        } else {
            self.controlled = Controlled::Window;
            self.rate = self.rate_of_cwnd(flow);
        }
    }

    /// The target RTT in the unit of srtt.
    fn target(&self) -> u64 {
        self.tuning.target.as_micros() << 3
    }

    pub(super) fn virtual_rtt(&self, flow: &Flow) -> u64 {
        self.target().max(flow.srtt_us8.into()).max(1)
    }

    /// A packet per RTT, in byte/s.
    pub(super) fn rate_of_segment(&self, flow: &Flow) -> u64 {
        SRTT_PER_SEC * u64::from(flow.mtu) / u64::from(flow.srtt_us8.max(1))
    }

    pub(super) fn rate_of_cwnd(&self, flow: &Flow) -> u64 {
        let rate = (u128::from(self.rate_of_segment(flow)) * u128::from(self.cwnd)) >> CWND_BITS;
        u64::try_from(rate).unwrap_or(MAX_RATE).clamp(MIN_RATE, MAX_RATE)
    }

    pub(super) fn cwnd_of_rate(&self, flow: &Flow) -> u64 {
        let mean = self.mean_rtt >> MEAN_RTT_BITS;
        let rtt = if mean > 0 { mean } else { flow.srtt_us8.into() };
        let bytes = (u128::from(self.rate) * u128::from(rtt)) >> (SECOND_BITS - CWND_BITS);
        (bytes as u64).div_ceil(flow.mtu.into())
    }
}

/// The quotient, rounded to the nearest.
fn nearest(numerator: u128, denominator: u128) -> u64 {
    ((numerator + denominator / 2) / denominator) as u64
}
