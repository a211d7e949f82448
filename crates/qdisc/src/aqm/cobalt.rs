//! COBALT, the law of `cake`: CoDel with an exact schedule, and BLUE for unresponsive flows.
//!
//! over:    sojourn > target and > 4 packet times at the rate of the tin (with `ingress`, where drops count as sent,
//!          also > 2 packet times of all bulk flows)
//! CoDel:   the first signal an interval after going over, then signals interval/√count apart, count += 1 at each;
//!          below target, count decreases on the same schedule
//! new:     when a queue goes over for the first time, 1/√count is still 0: the next packet gets the first signal
//! idle:    if the first packet after an interval without packets is over target, the next packet gets a signal
//! BLUE:    p_drop + 1/256 when the queue overflows, − 1/4096 when it is found empty, each at most once per target
//! BLUE only drops; it may drop a packet that CoDel has marked.            [linux-6.12 sch_cake.c] [hoiland2018 §3.2]

use rand_core::Rng;
use tailback_units::{SimTime, Span};

use super::Verdict;

/// Steps of BLUE's probability, as shares of 2³².
const INCREMENT: u32 = 1 << 24;
const DECREMENT: u32 = 1 << 20;

/// The settings of a tin.
#[derive(Clone, Copy, Debug)]
pub struct CobaltSettings {
    /// Acceptable standing sojourn time.
    pub target: Span,
    /// How long it may be exceeded.
    pub interval: Span,
    /// Time of a full packet at the tin's rate.
    pub packet_time: Span,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cobalt {
    count: u32,
    drop_next: SimTime,
    dropping: bool,
    blue: u32,
    blue_moved: SimTime,
    /// 1/√count as a share of 2³²; 0 until count has been counted up or down once.
    root: u64,
}

/// A packet at the head.
#[derive(Clone, Copy, Debug)]
pub struct CobaltHead {
    /// The sojourn time of the packet: how long it has been queued.
    pub sojourn: Span,
    /// The packet is ECN-capable.
    pub markable: bool,
    /// Bulk flows, with `ingress`; otherwise 0.
    pub bulk_flows: u32,
}

impl Cobalt {
    /// The queue overflowed and lost a packet.
    pub fn overflowed(&mut self, settings: &CobaltSettings, now: SimTime) {
        if now.since(self.blue_moved) > settings.target {
            self.blue = self.blue.saturating_add(INCREMENT);
            self.blue_moved = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub fn ran_empty(&mut self, settings: &CobaltSettings, now: SimTime) {
        if self.blue > 0 && now.since(self.blue_moved) > settings.target {
            self.blue = self.blue.saturating_sub(DECREMENT);
            self.blue_moved = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next = self.after(self.drop_next, settings);
        }
    }

    /// Decides about the head of a queue.
    pub fn judge(
        &mut self,
        head: &CobaltHead,
        settings: &CobaltSettings,
        now: SimTime,
        draws: &mut dyn Rng,
    ) -> Verdict {
        let packets = settings.packet_time.as_nanos();
        let over = head.sojourn > settings.target
            && head.sojourn.as_nanos() > packets * 4
            && head.sojourn.as_nanos() > packets * 2 * u64::from(head.bulk_flows);
        let due = self.count > 0 && now >= self.drop_next;
        // By the drop time before this packet, which may have put the queue over target.
        let overdue = now > self.drop_next;
        if over && !self.dropping {
            self.drop_next = self.after(now, settings);
            self.count = self.count.max(1);
        }
        self.dropping = over;
        let verdict = if due { self.act(head, settings, now) } else { Verdict::Pass };
        if self.blue > 0 && draws.next_u32() < self.blue {
            return Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if verdict != Verdict::Drop && if due { now > self.drop_next } else { overdue } {
            self.drop_next = now;
        }
        verdict
    }

    /// True if an empty queue can be removed: no signal is due and BLUE does not drop.
    pub fn is_idle(&self, now: SimTime) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.drop_next
    }

    /// Probability of BLUE as a share of 2³².
    pub fn blue(&self) -> u32 {
        self.blue
    }

    /// Signals if it is due, or decreases the count.
    fn act(&mut self, head: &CobaltHead, settings: &CobaltSettings, now: SimTime) -> Verdict {
        if self.dropping {
            self.set_count(self.count.saturating_add(1));
            self.drop_next = self.after(self.drop_next, settings);
            return if head.markable { Verdict::Mark } else { Verdict::Drop };
        }
        while self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next = self.after(self.drop_next, settings);
        }
        Verdict::Pass
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.root = inverse_root(count);
    }

    fn after(&self, at: SimTime, settings: &CobaltSettings) -> SimTime {
        let gap = (u128::from(settings.interval.as_nanos()) * u128::from(self.root)) >> 32;
        at + Span::from_nanos(gap as u64)
    }
}

/// 1/√count in 2⁻³²: the integer root of 2⁶⁴ / count.
fn inverse_root(count: u32) -> u64 {
    u128::isqrt((1u128 << 64) / u128::from(count.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256StarStar;

    /// As in slow start over a path with an RTT of an interval: each round arrives after a pause and is queued.
    #[test]
    fn a_queue_that_comes_back_over_target_after_an_interval_is_signalled_at_once() {
        let (mut law, mut draws) = (Cobalt::default(), Xoshiro256StarStar::seed_from_u64(1));
        let head = CobaltHead { sojourn: Span::from_millis(8), markable: false, bulk_flows: 0 };
        let calm = CobaltHead { sojourn: Span::from_millis(1), ..head };
        let mut at = |ms: u64, head: &CobaltHead| {
            law.judge(head, &SETTINGS, SimTime::ZERO + Span::from_millis(ms), &mut draws)
        };
        assert_eq!(
            [at(1, &calm), at(102, &head), at(103, &head)],
            [Verdict::Pass, Verdict::Pass, Verdict::Drop]
        );
        assert_eq!(
            [at(400, &calm), at(401, &head), at(402, &head)],
            [Verdict::Pass; 3],
            "first a packet below target"
        );
    }

    #[test]
    fn an_empty_queue_counts_down_once_the_time_of_the_next_signal_has_come() {
        let at = |ms| SimTime::ZERO + Span::from_millis(ms);
        let mut law = Cobalt { count: 4, drop_next: at(50), dropping: true, ..Cobalt::default() };
        law.ran_empty(&SETTINGS, at(49));
        assert_eq!((law.count, law.drop_next, law.dropping), (4, at(50), false));
        law.ran_empty(&SETTINGS, at(50));
        assert_eq!(law.count, 3);
        assert!(law.drop_next > at(50));
    }

    const SETTINGS: CobaltSettings = CobaltSettings {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        packet_time: Span::from_micros(1211),
    };

    /// Times in ms of the signals to a queue that stays at `sojourn` after a packet below target.
    fn signals(cobalt: &mut Cobalt, sojourn: Span, from_ms: u64, ms: u64) -> Vec<f64> {
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let head = CobaltHead { sojourn, markable: false, bulk_flows: 0 };
        let before = SimTime::ZERO + Span::from_millis(from_ms - 1);
        cobalt.judge(&CobaltHead { sojourn: Span::ZERO, ..head }, &SETTINGS, before, &mut draws);
        let mut hit = |us: &u64| {
            let now = SimTime::ZERO + Span::from_micros(*us);
            cobalt.judge(&head, &SETTINGS, now, &mut draws) == Verdict::Drop
        };
        let instants = (from_ms * 100..(from_ms + ms) * 100).map(|tick| tick * 10);
        instants.filter(|us| hit(us)).map(|us| us as f64 / 1000.0).collect()
    }

    #[test]
    fn a_new_queue_gets_a_signal_at_once_and_then_at_gaps_by_the_exact_root() {
        let signalled = signals(&mut Cobalt::default(), Span::from_millis(50), 1000, 400);
        let expected = [1100.0, 1170.7, 1228.4, 1278.4, 1323.2].map(|ms| ms - 99.99);
        assert!(
            signalled.iter().zip(expected).all(|(signalled, expected)| (signalled - expected).abs() < 0.05),
            "{signalled:?}"
        );
    }

    #[test]
    fn a_queue_that_was_below_target_gets_a_signal_an_interval_after_going_over_again() {
        let mut cobalt = Cobalt::default();
        signals(&mut cobalt, Span::from_millis(50), 1000, 400);
        signals(&mut cobalt, Span::from_millis(1), 1400, 3000);
        let signalled = signals(&mut cobalt, Span::from_millis(50), 5000, 200);
        assert!(
            (signalled[0] - 5100.0).abs() < 0.05 && (signalled[1] - 5170.7).abs() < 0.05,
            "{signalled:?}"
        );
    }

    #[test]
    fn below_target_there_is_no_signal_and_the_count_decreases() {
        let mut cobalt = Cobalt::default();
        signals(&mut cobalt, Span::from_millis(50), 1000, 400);
        let count = cobalt.count;
        assert!(signals(&mut cobalt, Span::from_millis(1), 1400, 300).is_empty());
        assert!(cobalt.count < count);
    }

    #[test]
    fn a_sojourn_of_four_packet_times_is_never_over_target() {
        let slow = CobaltHead { sojourn: Span::from_micros(4800), markable: false, bulk_flows: 0 };
        let settings = CobaltSettings { target: Span::from_millis(2), ..SETTINGS };
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let mut cobalt = Cobalt::default();
        for ms in 0..1000 {
            let now = SimTime::ZERO + Span::from_millis(ms);
            assert_eq!(cobalt.judge(&slow, &settings, now, &mut draws), Verdict::Pass);
        }
    }

    #[test]
    fn blue_drops_after_overflows_and_stops_when_the_queue_stays_empty() {
        let mut cobalt = Cobalt::default();
        for ms in 0..100 {
            cobalt.overflowed(&SETTINGS, SimTime::ZERO + Span::from_millis(10 * (ms + 1)));
        }
        assert_eq!(cobalt.blue(), 100 << 24);
        cobalt.ran_empty(&SETTINGS, SimTime::ZERO + Span::from_secs(2));
        cobalt.ran_empty(&SETTINGS, SimTime::ZERO + Span::from_secs(2));
        assert_eq!(cobalt.blue(), (100 << 24) - (1 << 20), "once per target");
    }

    #[test]
    fn blue_drops_packets_below_target_with_its_probability() {
        let mut cobalt = Cobalt::default();
        (1..=64).for_each(|n| cobalt.overflowed(&SETTINGS, SimTime::ZERO + Span::from_millis(10 * n)));
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let calm = CobaltHead { sojourn: Span::ZERO, markable: true, bulk_flows: 0 };
        let mut drops = 0;
        for ms in 0..4_000 {
            let now = SimTime::ZERO + Span::from_millis(5_000 + ms);
            drops += u32::from(cobalt.judge(&calm, &SETTINGS, now, &mut draws) == Verdict::Drop);
        }
        assert!((920..1_080).contains(&drops), "64 overflows drop a quarter of 4000, got {drops}");
    }
}
