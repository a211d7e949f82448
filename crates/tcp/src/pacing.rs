//! Pacing: the departure time of the next packet, and the pacing rate.
//!
//! ```text
//! departure = max(departure, now)                                  of each transmission
//! departure += length/rate − min(length/rate/2, lateness)          after it, if the socket is paced (by TCP itself: since Linux 4.20)
//! pacing_rate = mss · max(cwnd, packets_out) / srtt · ratio        ratio 200 % while cwnd < ssthresh/2, else 120 %
//! ```
//! The rate is computed for every socket (the small queue and HyStart use it); packets are paced by it only if the
//! control needs pacing or `fq` is below. The first ten data segments are never paced.
//! [linux-6.12 tcp_output.c tcp_update_skb_after_send, tcp_input.c tcp_update_pacing_rate]

use tailback_cc::PacingStatus;
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::config::INITIAL_WINDOW;
use crate::sender::Sender;
use crate::stack::PacingCredit;

impl Sender {
    /// Delays the next departure by the transmission time of the data sent; lateness shortens the delay by at most
    /// half.
    pub(crate) fn space_after(&mut self, payload: u32, before: SimTime) {
        let rate = self.window.pacing_rate.bytes_per_sec();
        if self.flow.pacing_status == PacingStatus::None
            || self.window.pacing_rate.is_unlimited()
            || rate == 0
            || self.sent.data_segs_out < u64::from(INITIAL_WINDOW)
        {
            return;
        }
        let length = u64::from(payload) * 1_000_000_000 / rate;
        let late = self.flow.departure.since(before).as_nanos();
        let credits = self.settings.stack.pacing_credit == PacingCredit::Half
            || self.flow.pacing_status == PacingStatus::Fq;
        let credit = if credits { late.min(length / 2) } else { 0 };
        self.flow.departure += Span::from_nanos(length - credit);
    }

    /// The pacing rate of a window control, after cwnd was updated.
    pub(crate) fn update_pacing_rate(&mut self) {
        let cwnd = self.window.cwnd;
        let slow_start = cwnd.0 < self.window.ssthresh.0 / 2;
        let ratio = if slow_start { self.settings.pacing_ss_ratio } else { self.settings.pacing_ca_ratio };
        let per_cent = u64::from(self.flow.mss) * (1_000_000 / 100 * 8) * u64::from(ratio);
        let segments = cwnd.max(Segs(self.scoreboard.packets_out())).0;
        let srtt = self.rtt.srtt_us8().max(1);
        let rate = match per_cent.checked_mul(u64::from(segments)) {
            Some(scaled) => scaled / u64::from(srtt),
            None => u64::try_from(u128::from(per_cent) * u128::from(segments) / u128::from(srtt))
                .unwrap_or(u64::MAX),
        };
        self.window.pacing_rate = Rate::from_bytes_per_sec(rate.min(u64::MAX / 8));
        self.options.cap_pacing_rate(&mut self.window);
    }
}
