//! The RED law: mark or drop arrivals with a probability that grows with the *average* backlog.
//!
//! average: avg ← avg + (backlog − avg) · W at each arrival, W = 2⁻ʷ; an idle queue decays it as if packets of `avpkt`
//!          bytes had been served at `bandwidth`: avg ← avg · (1 − W)^(idle / (avpkt / bandwidth))
//! p:       0 below min; max_P · (avg − min) / (max − min) up to max; above it every packet
//! gap:     with U uniform in (0, 1), an arrival is hit once count · p ≥ U: gaps uniform in (0, 1/p], mean 1/(2p)
//! adaptive: every 500 ms, max_P += min(1 %, max_P/4) if avg is above the middle fifth of (min, max), · 0.9 if below
//! [floyd1993 §4] [floyd2001 §4] [linux-6.12 red.h]
//!
//! As in the kernel, the average is in 2⁻ʷ bytes and max_P in 2⁻³². Deviation: the decay of an idle queue is computed;
//! the kernel approximates it by shifts from a table of 256 entries.

use rand_core::Rng;
use tailback_units::{SimTime, Span};

/// Time between two updates of adaptive RED. [linux-6.12 sch_red.c red_adaptative_timer]
const ADAPT: Span = Span::from_millis(500);
const ONE: u64 = u32::MAX as u64;
/// Fraction bits of the factors by which the average of an idle queue decays.
const DECAY_BITS: u32 = 16;

/// The settings of RED.
#[derive(Clone, Debug)]
pub struct RedSettings {
    /// Average backlog in bytes below which all packets pass.
    pub min: u64,
    /// Average backlog in bytes above which every packet is hit.
    pub max: u64,
    /// w: the weight of a sample is 2⁻ʷ.
    pub weight: u32,
    /// Idle time that counts as one sample of an empty queue.
    pub sample: Span,
    /// (1 − W)^(2ᵏ) in 2⁻¹⁶, by k.
    decay: [u64; 32],
}

impl RedSettings {
    /// From the thresholds, the exponent of the weight, and the time in which an idle link would serve a packet.
    pub fn new(min: u64, max: u64, weight: u32, sample: Span) -> Self {
        let mut kept = 1.0 - 0.5f64.powi(weight as i32);
        let decay = std::array::from_fn(|_| {
            let fraction = (kept * f64::from(1u32 << DECAY_BITS)) as u64;
            kept *= kept;
            fraction
        });
        RedSettings { min, max: max.max(min + 1), weight, sample: sample.max(Span::from_nanos(1)), decay }
    }
}

/// The decision of RED about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RedVerdict {
    /// Forward it.
    Pass,
    /// The average is between the thresholds, and the packet was selected at random.
    ByChance,
    /// The average is above the upper threshold.
    Forced,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    /// Average backlog in 2⁻ʷ bytes.
    average: u64,
    /// Packets since the last hit; `None` before the first packet between the thresholds.
    count: Option<u64>,
    /// U of the present gap.
    uniform: u64,
    max_probability: u64,
    idle_since: Option<SimTime>,
    next_adaptation: SimTime,
}

impl Red {
    /// `max_probability` as a share of 2³² − 1.
    pub fn new(max_probability: u64) -> Self {
        let next_adaptation = SimTime::ZERO + ADAPT;
        Red {
            average: 0,
            count: None,
            uniform: 0,
            max_probability,
            idle_since: Some(SimTime::ZERO),
            next_adaptation,
        }
    }

    /// Decides about an arrival at a queue of `backlog` bytes.
    pub fn arrive(
        &mut self,
        backlog: u64,
        settings: &RedSettings,
        now: SimTime,
        draws: &mut dyn Rng,
    ) -> RedVerdict {
        self.sample(backlog, settings, now);
        let average = self.average_bytes(settings);
        if average < settings.min {
            self.count = None;
            return RedVerdict::Pass;
        }
        if average >= settings.max {
            self.count = None;
            return RedVerdict::Forced;
        }
        self.decide_between(average - settings.min, settings, draws)
    }

    /// Notes that the queue is empty.
    pub fn ran_empty(&mut self, now: SimTime) {
        self.idle_since.get_or_insert(now);
    }

    /// Computes all updates of adaptive RED that were due by now.
    pub fn adapt(&mut self, settings: &RedSettings, now: SimTime) {
        while self.next_adaptation <= now {
            self.next_adaptation += ADAPT;
            let (average, span) = (self.average_bytes(settings), settings.max - settings.min);
            if average > settings.min + span * 3 / 5 && self.max_probability <= ONE / 2 {
                self.max_probability += (ONE / 100).min(self.max_probability / 4);
            } else if average < settings.min + span * 2 / 5 && self.max_probability >= ONE / 100 {
                self.max_probability = self.max_probability / 10 * 9;
            } else if self.idle_since.is_some() {
                let missed = now.since(self.next_adaptation).as_nanos() / ADAPT.as_nanos();
                self.next_adaptation += ADAPT * missed;
            }
        }
    }

    /// The present max_P as a share of 2³² − 1.
    pub fn max_probability(&self) -> u64 {
        self.max_probability
    }

    /// Average backlog.
    pub fn average_bytes(&self, settings: &RedSettings) -> u64 {
        self.average >> settings.weight
    }

    /// Whether the average is above `threshold`, to the last bit of the average.
    pub fn is_above(&self, threshold: u64, settings: &RedSettings) -> bool {
        self.average > threshold << settings.weight
    }

    /// Ends the present gap: the next packet between the thresholds begins another one.
    pub fn end_gap(&mut self) {
        self.count = None;
    }

    /// Decides about a packet while the average is above `min`.
    pub fn decide(&mut self, settings: &RedSettings, draws: &mut dyn Rng) -> RedVerdict {
        self.decide_between(self.average_bytes(settings).saturating_sub(settings.min), settings, draws)
    }

    /// Takes the backlog at an arrival into the average.
    pub fn sample(&mut self, backlog: u64, settings: &RedSettings, now: SimTime) {
        match self.idle_since.take() {
            Some(since) => self.decay(now.since(since).as_nanos() / settings.sample.as_nanos(), settings),
            None => self.average = self.average + backlog - (self.average >> settings.weight),
        }
    }

    /// Decays the average as by this many samples of an empty queue.
    fn decay(&mut self, samples: u64, settings: &RedSettings) {
        if samples >> settings.decay.len() != 0 {
            self.average = 0;
        }
        for (k, kept) in settings.decay.iter().enumerate().filter(|(k, _)| samples >> k & 1 == 1) {
            debug_assert!(k < 32);
            self.average = ((u128::from(self.average) * u128::from(*kept)) >> DECAY_BITS) as u64;
        }
    }

    fn decide_between(&mut self, above: u64, settings: &RedSettings, draws: &mut dyn Rng) -> RedVerdict {
        let Some(count) = &mut self.count else {
            self.count = Some(0);
            self.uniform = u64::from(draws.next_u32());
            return RedVerdict::Pass;
        };
        *count += 1;
        let span = u128::from(settings.max - settings.min);
        let reached = u128::from(*count) * u128::from(above) * u128::from(self.max_probability);
        if reached < u128::from(self.uniform) * span {
            return RedVerdict::Pass;
        }
        *count = 0;
        self.uniform = u64::from(draws.next_u32());
        RedVerdict::ByChance
    }
}

/// The smallest w with `burst + 1 − min/avpkt ≤ (1 − (1 − W)^burst) / W`, with which a burst of this many packets into
/// an idle queue keeps the average below `min`. `None` if `min` is less than a packet. [floyd1993 §6.1] [tc tc_red.c]
pub fn weight_for(min: u64, burst: u64, average_packet: u64) -> Option<u32> {
    let over = burst as f64 + 1.0 - min as f64 / average_packet as f64;
    let enough = |w: &u32| {
        let weight = 0.5f64.powi(*w as i32);
        over <= (1.0 - (1.0 - weight).powi(burst.min(1 << 30) as i32)) / weight
    };
    (over >= 1.0).then(|| (1..32).find(enough)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256StarStar;

    fn settings(weight: u32) -> RedSettings {
        RedSettings::new(4 * 1514, 12 * 1514, weight, Span::from_micros(1211))
    }

    /// Arrivals at a queue of `backlog` bytes.
    fn events(red: &mut Red, settings: &RedSettings, backlog: u64, arrivals: u32) -> Vec<u32> {
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let mut hit = |_: &u32| red.arrive(backlog, settings, SimTime::ZERO, &mut draws) != RedVerdict::Pass;
        (0..arrivals).filter(|n| hit(n)).collect()
    }

    #[test]
    fn the_burst_that_an_idle_queue_accepts_grows_as_the_weight_of_a_sample_falls() {
        // After n packets the average is W · n² / 2; it reaches 4 packets after √(8/W).
        for (weight, burst) in [(9, 64), (6, 23)] {
            let settings = settings(weight);
            let mut draws = Xoshiro256StarStar::seed_from_u64(1);
            let mut red = Red::new(ONE / 50);
            let grown = |n: &u64| {
                red.arrive(n * 1514, &settings, SimTime::ZERO, &mut draws);
                red.average_bytes(&settings) < settings.min
            };
            let held = (0..1000).take_while(grown).count();
            assert!(held.abs_diff(burst) < burst / 10 + 2, "{held}, not about {burst}");
        }
    }

    #[test]
    fn between_the_thresholds_gaps_are_uniform_up_to_one_over_p() {
        let settings = settings(2);
        let mut red = Red::new(ONE / 50);
        let hits = events(&mut red, &settings, 8 * 1514, 200_000);
        let gaps: Vec<u32> = hits.windows(2).skip(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!(*gaps.iter().max().unwrap() <= 101 && (mean - 50.0).abs() < 3.0, "p is 1 %: {mean}");
    }

    #[test]
    fn above_the_upper_threshold_every_arrival_is_hit() {
        let settings = settings(2);
        let mut red = Red::new(ONE / 50);
        events(&mut red, &settings, 100 * 1514, 100);
        assert_eq!(events(&mut red, &settings, 100 * 1514, 100).len(), 100);
    }

    #[test]
    fn idle_time_decays_the_average_like_packets_served_at_the_bandwidth() {
        let settings = settings(5);
        let mut red = Red::new(ONE / 50);
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        events(&mut red, &settings, 10_000, 1000);
        red.ran_empty(SimTime::ZERO);
        red.arrive(0, &settings, SimTime::ZERO + Span::from_micros(1211 * 20), &mut draws);
        let expected = 10_000.0 * (31.0f64 / 32.0).powi(20);
        assert!((red.average_bytes(&settings) as f64 - expected).abs() < 60.0);
    }

    #[test]
    fn adaptive_red_changes_the_probability_by_at_most_a_per_cent_and_up_to_a_half() {
        let settings = settings(2);
        let mut red = Red::new(ONE / 50);
        events(&mut red, &settings, 11 * 1514, 100);
        let mut before = red.max_probability;
        for half_seconds in 1..200 {
            red.adapt(&settings, SimTime::ZERO + ADAPT * half_seconds);
            assert!(red.max_probability - before <= ONE / 100);
            before = red.max_probability;
        }
        assert!(before > ONE / 2 && before < ONE / 2 + ONE / 50);
    }

    #[test]
    fn the_weight_of_the_worked_example() {
        assert_eq!(weight_for(33_333, 55, 1000), Some(5), "55 + 1 − 33.3 ≤ (1 − (31/32)⁵⁵) · 32 = 26.4");
        assert_eq!(weight_for(100, 0, 1000), None);
    }
}
