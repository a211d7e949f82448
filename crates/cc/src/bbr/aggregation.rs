//! ACK aggregation: how many more packets are acknowledged in bursts (Wi-Fi, cable, receivers that batch) than the
//! bandwidth estimate explains. cwnd must allow for that many more packets, or the path is idle between two bursts.
//!
//! Within an epoch, extra = acked − bandwidth · time. The epoch restarts when no more is acknowledged than estimated.
//! The allowance is the maximum of extra over two slots of 5 rounds each.
//! [linux-6.12 tcp_bbr.c bbr_update_ack_aggregation]

use tailback_units::Segs;

use super::bandwidth::Bandwidth;

/// Rounds per slot. [linux-6.12 tcp_bbr.c bbr_extra_acked_win_rtts]
pub const SLOT_ROUNDS: u32 = 5;
/// An epoch restarts at this many packets. [linux-6.12 tcp_bbr.c bbr_ack_epoch_acked_reset_thresh]
const EPOCH_PACKETS: u64 = 1 << 20;
/// The allowance is at most the bandwidth times this many µs. [linux-6.12 tcp_bbr.c bbr_extra_acked_max_us]
const LONGEST_BURST_US: u64 = 100_000;

/// One ACK.
pub struct Acked {
    /// Packets it delivered.
    pub packets: Segs,
    /// Maximum of extra: cwnd.
    pub max: Segs,
    /// The ACK began a round.
    pub round_start: bool,
    /// Rounds per slot.
    pub slot_rounds: u32,
    /// When it arrived, in µs.
    pub at_us: u64,
}

/// The estimate of extra acknowledged packets.
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    epoch_start_us: u64,
    epoch_acked: u64,
    slots: [u64; 2],
    slot: usize,
    slot_rounds: u32,
}

impl AckAggregation {
    /// Starts an epoch at `at_us`.
    pub fn restart(&mut self, at_us: u64) {
        self.epoch_start_us = at_us;
        self.epoch_acked = 0;
    }

    /// Adds one ACK.
    pub fn update(&mut self, acked: &Acked, bandwidth: Bandwidth) {
        if acked.round_start {
            self.next_round(acked.slot_rounds);
        }
        let packets = u64::from(acked.packets.0);
        let mut expected = bandwidth.packets_in(acked.at_us.saturating_sub(self.epoch_start_us));
        if self.epoch_acked <= expected || self.epoch_acked + packets >= EPOCH_PACKETS {
            self.restart(acked.at_us);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + packets).min(EPOCH_PACKETS - 1);
        let extra = self.epoch_acked.saturating_sub(expected).min(u64::from(acked.max.0));
        self.slots[self.slot] = self.slots[self.slot].max(extra);
    }

    /// Packets by which cwnd is to be larger.
    pub fn extra_cwnd(&self, bandwidth: Bandwidth) -> u64 {
        self.slots[0].max(self.slots[1]).min(bandwidth.packets_in(LONGEST_BURST_US))
    }

    fn next_round(&mut self, slot_rounds: u32) {
        self.slot_rounds += 1;
        if self.slot_rounds >= slot_rounds {
            self.slot_rounds = 0;
            self.slot = 1 - self.slot;
            self.slots[self.slot] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(packets: u32, at_us: u64, round_start: bool) -> Acked {
        Acked { packets: Segs(packets), max: Segs(1_000), round_start, slot_rounds: SLOT_ROUNDS, at_us }
    }

    #[test]
    fn a_burst_counts_and_a_steady_stream_does_not() {
        let bandwidth = Bandwidth::of(1, 100);
        let mut steady = AckAggregation::default();
        (1..100).for_each(|i| steady.update(&acked(1, 100 * i, false), bandwidth));
        assert!(steady.extra_cwnd(bandwidth) <= 2, "{}", steady.extra_cwnd(bandwidth));
        let mut bursts = AckAggregation::default();
        (1..10).for_each(|i| bursts.update(&acked(32, 3_200 * i, false), bandwidth));
        assert!((32..=34).contains(&bursts.extra_cwnd(bandwidth)), "{}", bursts.extra_cwnd(bandwidth));
    }

    #[test]
    fn a_burst_is_forgotten_after_ten_rounds() {
        let bandwidth = Bandwidth::of(1, 100);
        let mut bursts = AckAggregation::default();
        bursts.update(&acked(50, 0, false), bandwidth);
        for i in 1..=9 {
            bursts.update(&acked(1, 10_000 * i, true), bandwidth);
        }
        assert_eq!(bursts.extra_cwnd(bandwidth), 50);
        bursts.update(&acked(1, 100_000, true), bandwidth);
        assert_eq!(bursts.extra_cwnd(bandwidth), 1);
    }

    #[test]
    fn the_allowance_is_at_most_a_tenth_of_a_second_of_bandwidth() {
        let bandwidth = Bandwidth::of(1, 1_000);
        let mut bursts = AckAggregation::default();
        bursts.update(&acked(900, 0, false), bandwidth);
        assert_eq!(bursts.extra_cwnd(bandwidth), 99);
    }
}
