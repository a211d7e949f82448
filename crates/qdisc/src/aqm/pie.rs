//! The PIE law: drop arrivals at random, with a probability that a controller adjusts to keep the delay at a target.
//!
//! each `tupdate`:  p ← p + s · (a · (q − target) + b · (q − q_old)),  a = alpha/16 Hz, b = beta/16 Hz     [rfc8033 §4.2]
//!                  s = 1/2048 … 1 in steps of p; above 10 % a step is at most 2 %; 2 % more while q > 250 ms
//!                  p decays while the queue is idle; then the burst allowance is renewed
//! at arrival:      pass while the burst allowance lasts, if q < target/2 and p < 20 %, or if backlog < 2 MTU; else
//!                  drop or mark with probability p, de-randomised: never before Σp = 0.85, always at Σp = 8.5;
//!                  Σp begins anew after each packet that chance has chosen, and after each drop
//! delay q:         sojourn of the last departure, or backlog / departure rate measured over busy periods
//!
//! Three generations: RFC 8033, as in Linux since 5.5; Linux 3.14 to 5.0; the module of July 2013, which testbeds used
//! with 3.10. The older two estimate the rate and have three steps of s, 32 bits of p and no de-randomisation.
//! Arithmetic is the kernel's: ticks of 64 ns, p in 2⁵⁶ (2³²).  [linux-6.12 sch_pie.c pie_calculate_probability]
//! In the generation of RFC 8033, the 64 bits of p can hold more than 1, and p then takes as long to fall as it took to
//! rise, so drops last longer after an overshooting slow start; `tc` shows only the fraction. Its timer is one of the
//! kernel's timer wheel since 4.8, which turns a tupdate of 15 jiffies into 16.
//!
//! Updates by the timer are computed at the next arrival or departure, where they first have an effect.
//! The queue exists before the run, so that its updates are going on when the run begins.
//! Deviation: jiffies are 1 ms; the updates have the phase of a queue that was created a whole number of periods earlier.

use rand_core::Rng;
use tailback_units::{ParameterError, Parameters, SimTime, Span, TimerRounding, expiry};

use super::Verdict;

/// Nanoseconds per tick, as a shift. [linux-6.12 PSCHED_SHIFT]
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: i64 = 1_000_000_000 >> TICK_SHIFT;
const JIFFY: u64 = 1_000_000;
/// From the creation of the queue to the first update, before the timer's rounding.
const FIRST_UPDATE: Span = Span::from_millis(500);
/// Above this delay the probability rises faster, in ticks.
const LONG_DELAY: i64 = TICKS_PER_SEC / 4;

/// The values of `generation`, the present one first.
pub const GENERATIONS: &[&str] = &["rfc8033", "linux-3.14", "2013"];

/// A generation of PIE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// Linux 5.5 and later.
    Rfc8033,
    /// Linux 3.14 to 5.0.
    Mainline314,
    /// The module published in July 2013.
    Module2013,
}

impl Generation {
    /// By its place among [`GENERATIONS`].
    pub fn of(index: u64) -> Self {
        match index {
            0 => Generation::Rfc8033,
            1 => Generation::Mainline314,
            _ => Generation::Module2013,
        }
    }

    /// A probability of 1.
    const fn one(self) -> u64 {
        match self {
            Generation::Rfc8033 => u64::MAX >> 8,
            _ => u32::MAX as u64,
        }
    }

    /// Where the probability overflows.
    const fn largest(self) -> u64 {
        match self {
            Generation::Rfc8033 => u64::MAX,
            _ => u32::MAX as u64,
        }
    }

    /// When a timer of `span` that is armed `now` fires: since 4.8 the wheel rounds it up.
    fn timer(self, now: SimTime, span: Span) -> SimTime {
        match self {
            Generation::Rfc8033 => expiry(now, span, (Span::from_nanos(JIFFY), TimerRounding::Wheel)),
            _ => now + span,
        }
    }

    /// Bytes over which the departure rate is measured.
    const fn measured_bytes(self) -> u64 {
        match self {
            Generation::Rfc8033 => 16_384,
            Generation::Mainline314 => 10_000,
            Generation::Module2013 => 5_000,
        }
    }

    /// Burst allowance, in ticks.
    const fn burst_allowance(self) -> i64 {
        match self {
            Generation::Rfc8033 => TICKS_PER_SEC * 150 / 1000,
            _ => TICKS_PER_SEC / 10,
        }
    }

    /// Acceptable delay and time between updates.
    pub const fn target_and_tupdate(self) -> (u64, u64) {
        match self {
            Generation::Rfc8033 => (15 * JIFFY, 15 * JIFFY),
            _ => (20 * JIFFY, 30 * JIFFY),
        }
    }
}

/// The settings of PIE.
#[derive(Clone, Copy, Debug)]
pub struct PieSettings {
    generation: Generation,
    target: i64,
    tupdate: Span,
    alpha: i64,
    beta: i64,
    mtu: u32,
    ecn: bool,
    /// Above this probability packets are dropped, not marked.
    ecn_max: u64,
    bytemode: bool,
    estimates_rate: bool,
}

impl PieSettings {
    /// From the parameters of a discipline.
    pub fn from_parameters(
        given: &Parameters,
        generation: Generation,
        mtu: u32,
    ) -> Result<Self, ParameterError> {
        let value = |name| given.require(name);
        let one = generation.one();
        Ok(PieSettings {
            generation,
            target: (value("target")? >> TICK_SHIFT) as i64,
            tupdate: Span::from_nanos(value("tupdate")?.div_ceil(JIFFY).max(1) * JIFFY),
            alpha: gain(value("alpha")?, one),
            beta: gain(value("beta")?, one),
            mtu,
            ecn: value("ecn")? == 1,
            ecn_max: one / 10,
            bytemode: value("bytemode")? == 1,
            estimates_rate: value("dq_rate_estimator")? == 1 || generation != Generation::Rfc8033,
        })
    }

    /// Marks while the probability is at most `per_cent`.
    pub fn with_ecn_up_to(self, per_cent: u64) -> Self {
        PieSettings { ecn_max: self.generation.one() / 100 * per_cent, ..self }
    }

    /// The delay is backlog over the measured departure rate, not a sojourn time.
    pub fn estimates_rate(&self) -> bool {
        self.estimates_rate
    }
}

/// Sixteenths of a Hz as probability per tick.
fn gain(sixteenths: u64, one: u64) -> i64 {
    ((sixteenths * (one / TICKS_PER_SEC as u64)) >> 4) as i64
}

/// A packet that has just arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Length of its frame.
    pub length: u32,
    /// Bytes queued before it.
    pub backlog: u64,
    /// The packet is ECN-capable.
    pub markable: bool,
}

/// A packet that has just left.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When it was enqueued.
    pub enqueued: SimTime,
    /// Length of its frame.
    pub length: u32,
    /// Bytes queued after it left.
    pub backlog: u64,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Pie {
    probability: u64,
    accumulated: u64,
    burst: i64,
    delay: i64,
    delay_before: i64,
    last_departure: Option<SimTime>,
    meter: RateMeter,
    next_update: SimTime,
}

/// Measures the departure rate while the queue is busy.
#[derive(Clone, Copy, Debug, Default)]
struct RateMeter {
    cycle: Option<Cycle>,
    /// Bytes per tick, in 1/256; 0 before the first measurement.
    average: u64,
}

#[derive(Clone, Copy, Debug)]
struct Cycle {
    start: SimTime,
    bytes: u64,
}

impl Pie {
    /// The state of a queue before its first packet.
    pub fn new(settings: &PieSettings) -> Self {
        Pie {
            probability: 0,
            accumulated: 0,
            burst: settings.generation.burst_allowance(),
            delay: 0,
            delay_before: 0,
            last_departure: None,
            meter: RateMeter::default(),
            next_update: first_update(settings),
        }
    }

    /// Decides about an arrival that fits into the queue.
    pub fn arrive(&mut self, arrival: &Arrival, settings: &PieSettings, draws: &mut dyn Rng) -> Verdict {
        if !self.drops_early(arrival, settings, draws) {
            return Verdict::Pass;
        }
        if settings.ecn && arrival.markable && self.probability <= settings.ecn_max {
            return Verdict::Mark;
        }
        Verdict::Drop
    }

    /// Notes that an arrival was dropped, by the law or because the queue was full.
    pub fn dropped(&mut self) {
        self.accumulated = 0;
    }

    /// Notes that a packet has left.
    pub fn depart(&mut self, departure: &Departure, settings: &PieSettings, now: SimTime) {
        let busy = if settings.estimates_rate {
            self.meter.depart(departure, settings.generation.measured_bytes(), now)
        } else {
            self.delay = if departure.backlog == 0 { 0 } else { ticks(now.since(departure.enqueued)) };
            self.last_departure.replace(now).map_or(0, |before| ticks(now.since(before)))
        };
        self.burst = (self.burst - busy).max(0);
    }

    /// Computes all updates that were due by now, for a queue of `backlog` bytes.
    #[inline]
    pub fn catch_up(&mut self, backlog: u64, settings: &PieSettings, now: SimTime) {
        while self.next_update <= now {
            self.update(backlog, settings);
            let next = settings.generation.timer(self.next_update, settings.tupdate);
            let period = next.since(self.next_update);
            self.next_update = next;
            if self.is_idle(backlog) {
                self.next_update += period * (now.since(next).as_nanos() / period.as_nanos());
            }
        }
    }

    /// Probability of a drop as `tc` shows it, as a share of 2³²: without what is above 1.
    /// [linux-6.12 sch_pie.c pie_dump_stats]
    pub fn probability(&self, settings: &PieSettings) -> u64 {
        let shift = if settings.generation == Generation::Rfc8033 { 24 } else { 0 };
        (self.probability & settings.generation.one()) >> shift
    }

    /// The delay as last estimated.
    pub fn delay(&self) -> Span {
        Span::from_nanos((self.delay as u64) << TICK_SHIFT)
    }

    /// Measured departure rate in byte/s; 0 before the first measurement.
    pub fn departure_rate(&self) -> u64 {
        (self.meter.average * TICKS_PER_SEC as u64) >> 8
    }

    fn is_idle(&self, backlog: u64) -> bool {
        backlog == 0 && self.probability == 0 && self.delay == 0 && self.delay_before == 0
    }

    fn drops_early(&mut self, arrival: &Arrival, settings: &PieSettings, draws: &mut dyn Rng) -> bool {
        let one = settings.generation.one();
        let calm = self.delay < settings.target / 2 && self.probability < one / 5;
        if self.burst > 0 || calm || arrival.backlog < 2 * u64::from(settings.mtu) {
            return false;
        }
        let scaled = settings.bytemode && arrival.length <= settings.mtu;
        let probability = match scaled {
            true => u64::from(arrival.length) * (self.probability / u64::from(settings.mtu)),
            false => self.probability,
        };
        if settings.generation != Generation::Rfc8033 {
            return u64::from(draws.next_u32()) < probability;
        }
        self.drops_derandomised(probability, draws)
    }

    fn drops_derandomised(&mut self, probability: u64, draws: &mut dyn Rng) -> bool {
        let one = Generation::Rfc8033.one();
        self.accumulated = if probability == 0 { 0 } else { self.accumulated.saturating_add(probability) };
        if self.accumulated < one / 100 * 85 {
            return false;
        }
        if self.accumulated >= one / 2 * 17 {
            return true;
        }
        let chosen = (draws.next_u64() >> 8) < probability;
        if chosen {
            self.accumulated = 0;
        }
        chosen
    }

    fn update(&mut self, backlog: u64, settings: &PieSettings) {
        let (delay, before) = match settings.estimates_rate {
            true => ((backlog << 8).checked_div(self.meter.average).unwrap_or(0) as i64, self.delay),
            false => (self.delay, self.delay_before),
        };
        let max = settings.generation.largest();
        let stale = delay == 0 && backlog != 0;
        let moved = i128::from(self.probability) + i128::from(self.step(delay, before, settings));
        self.probability = moved.clamp(0, i128::from(max)) as u64;
        let overflowed = moved > i128::from(max);
        if delay == 0 && before == 0 && !stale && !overflowed {
            self.decay(settings.generation);
        }
        (self.delay, self.delay_before) = (delay, delay);
        self.begin_anew_if_calm(before, settings);
    }

    fn decay(&mut self, generation: Generation) {
        match generation {
            Generation::Rfc8033 => self.probability -= self.probability / 64,
            _ => self.probability = self.probability * 98 / 100,
        }
    }

    /// The change of the probability in an update.
    fn step(&self, delay: i64, before: i64, settings: &PieSettings) -> i64 {
        let one = settings.generation.one();
        let shift = self.caution(settings.generation);
        let proportional = i128::from(settings.alpha >> shift) * i128::from(delay - settings.target);
        let growth = i128::from(settings.beta >> shift) * i128::from(delay - before);
        let largest = i128::from(settings.generation.largest().min(i64::MAX as u64));
        let mut step = (proportional + growth).clamp(-largest, largest) as i64;
        if step > (one / 50) as i64 && self.probability >= one / 10 {
            step = (one / 100 * 2) as i64;
        }
        if delay > LONG_DELAY {
            step = step.saturating_add((one / 50) as i64);
        }
        step
    }

    /// Right shift of the change: a small probability changes in small steps.
    fn caution(&self, generation: Generation) -> u32 {
        let one = generation.one();
        let below = |per_million: u64| self.probability < one / (1_000_000 / per_million);
        match generation {
            Generation::Rfc8033 if below(1) => 11,
            Generation::Rfc8033 if below(10) => 9,
            Generation::Rfc8033 if below(100) => 7,
            Generation::Rfc8033 if below(1_000) => 5,
            _ if below(10_000) => 3,
            _ if below(100_000) => 1,
            _ => 0,
        }
    }

    fn begin_anew_if_calm(&mut self, before: i64, settings: &PieSettings) {
        let half = settings.target / 2;
        let measured = !settings.estimates_rate || self.meter.average > 0;
        if self.delay < half && before < half && self.probability == 0 && measured {
            self.burst = settings.generation.burst_allowance();
            self.accumulated = 0;
            self.meter = RateMeter::default();
            self.last_departure = None;
        }
    }
}

impl RateMeter {
    /// Counts a departure; returns the ticks of a measurement that ended with it.
    fn depart(&mut self, departure: &Departure, threshold: u64, now: SimTime) -> i64 {
        let enough = departure.backlog >= threshold;
        if enough && self.cycle.is_none() {
            self.cycle = Some(Cycle { start: now, bytes: 0 });
        }
        let Some(cycle) = &mut self.cycle else { return 0 };
        cycle.bytes += u64::from(departure.length);
        if cycle.bytes < threshold {
            return 0;
        }
        // What leaves at one instant takes a processor some microseconds: a tick at least.
        let (bytes, busy) = (cycle.bytes, ticks(now.since(cycle.start)).max(1));
        self.cycle = enough.then_some(Cycle { start: now, bytes: 0 });
        self.average_in((bytes << 8) / busy as u64);
        busy
    }

    fn average_in(&mut self, rate: u64) {
        self.average =
            if self.average == 0 { rate } else { self.average - (self.average >> 3) + (rate >> 3) };
    }
}

fn ticks(span: Span) -> i64 {
    (span.as_nanos() >> TICK_SHIFT) as i64
}

/// The first update of the run: that of a queue which was created at its start, brought forward by whole periods.
fn first_update(settings: &PieSettings) -> SimTime {
    let timer = |now, span| settings.generation.timer(now, span);
    let first = timer(SimTime::ZERO, FIRST_UPDATE);
    let period = timer(first, settings.tupdate).since(first).as_nanos();
    SimTime::ZERO + Span::from_nanos(first.since(SimTime::ZERO).as_nanos() % period)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = TICKS_PER_SEC / 1000;

    fn settings(generation: Generation) -> PieSettings {
        let one = generation.one();
        let (target, tupdate) = generation.target_and_tupdate();
        PieSettings {
            generation,
            target: (target >> TICK_SHIFT) as i64,
            tupdate: Span::from_nanos(tupdate),
            alpha: gain(2, one),
            beta: gain(20, one),
            mtu: 1514,
            ecn: false,
            ecn_max: one / 10,
            bytemode: false,
            estimates_rate: generation != Generation::Rfc8033,
        }
    }

    /// The change of one update from a given probability, delay and previous delay.
    fn change(generation: Generation, from: f64, delay_ms: i64, before_ms: i64) -> f64 {
        let settings = settings(generation);
        let one = generation.one() as f64;
        let pie = Pie { probability: (from * one) as u64, ..Pie::new(&settings) };
        pie.step(delay_ms * MS, before_ms * MS, &settings) as f64 / one
    }

    fn close(got: f64, expected: f64) {
        // The gains of the older generations have two digits.
        assert!((got - expected).abs() < 0.015 * expected.abs(), "{got} is not {expected}");
    }

    #[test]
    fn a_constant_40_ms_adds_an_eighth_of_a_per_cent_to_the_module_of_2013() {
        close(change(Generation::Module2013, 0.05, 40, 40), 0.00125);
        close(change(Generation::Module2013, 0.15, 40, 40), 0.0025);
    }

    #[test]
    fn the_first_steps_of_rfc_8033_are_small() {
        close(change(Generation::Rfc8033, 0.0, 30, 20), 0.014375 / 2048.0);
        close(change(Generation::Rfc8033, 0.005, 30, 20), 0.014375 / 8.0);
        close(change(Generation::Rfc8033, 0.2, 30, 20), 0.014375);
    }

    #[test]
    fn above_ten_per_cent_a_step_is_two_per_cent_and_two_more_beyond_250_ms() {
        close(change(Generation::Rfc8033, 0.2, 200, 15), 0.02);
        close(change(Generation::Rfc8033, 0.2, 300, 15), 0.04);
        close(change(Generation::Module2013, 0.2, 300, 15), 0.04);
    }

    #[test]
    fn an_idle_queue_halves_its_probability_in_34_or_44_updates() {
        for (generation, updates) in [(Generation::Module2013, 34), (Generation::Rfc8033, 44)] {
            let settings = settings(generation);
            let mut pie = Pie { probability: generation.one() / 2, ..Pie::new(&settings) };
            (0..updates).for_each(|_| pie.decay(generation));
            close(pie.probability as f64 / generation.one() as f64, 0.25);
        }
    }

    #[test]
    fn updates_that_were_due_in_between_are_computed() {
        let settings = settings(Generation::Rfc8033);
        let mut pie = Pie { probability: settings.generation.one() / 2, ..Pie::new(&settings) };
        pie.catch_up(0, &settings, SimTime::ZERO + Span::from_secs(3600));
        assert_eq!(pie.probability, 0);
        assert!(pie.next_update > SimTime::ZERO + Span::from_secs(3600));
    }

    #[test]
    fn since_rfc_8033_a_long_delay_drives_the_probability_above_one() {
        for (generation, passes_one) in [(Generation::Rfc8033, true), (Generation::Module2013, false)] {
            let settings = settings(generation);
            let mut pie = Pie { delay: 400 * MS, delay_before: 400 * MS, ..Pie::new(&settings) };
            pie.meter.average = 1 << 20;
            let backlog = (400 * MS as u64) << 12;
            (0..100).for_each(|_| pie.update(backlog, &settings));
            assert_eq!(pie.probability > generation.one(), passes_one);
            assert!(pie.probability(&settings) <= u64::from(u32::MAX), "`tc` shows the fraction");
        }
    }

    #[test]
    fn an_update_of_15_jiffies_comes_every_16_and_that_of_the_older_ones_when_it_is_due() {
        for (generation, first, period) in [
            (Generation::Rfc8033, 504 - 31 * 16, 16),
            (Generation::Mainline314, 500 - 16 * 30, 30),
            (Generation::Module2013, 500 - 16 * 30, 30),
        ] {
            let settings = settings(generation);
            let mut pie = Pie { probability: generation.one(), ..Pie::new(&settings) };
            let at = |ms: u64| SimTime::ZERO + Span::from_millis(ms);
            assert_eq!(pie.next_update, at(first));
            pie.catch_up(0, &settings, at(first));
            assert_eq!(pie.next_update, at(first + period));
        }
    }

    #[test]
    fn without_a_measured_rate_the_delay_counts_as_zero() {
        let settings = settings(Generation::Module2013);
        let mut pie = Pie::new(&settings);
        pie.catch_up(300_000, &settings, SimTime::ZERO + Span::from_secs(5));
        assert_eq!((pie.delay, pie.probability), (0, 0));
    }

    #[test]
    fn derandomised_drops_have_a_minimum_distance() {
        let mut draws = <rand_xoshiro::Xoshiro256StarStar as rand_core::SeedableRng>::seed_from_u64(1);
        let settings = settings(Generation::Rfc8033);
        let mut pie = Pie { probability: settings.generation.one() / 20, burst: 0, ..Pie::new(&settings) };
        pie.delay = 20 * MS;
        let arrival = Arrival { length: 1514, backlog: 100_000, markable: false };
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..20_000 {
            gap += 1;
            if pie.arrive(&arrival, &settings, &mut draws) == Verdict::Drop {
                pie.dropped();
                gaps.push(gap);
                gap = 0;
            }
        }
        let (min, max) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!((17..=20).contains(min) && *max <= 171, "0.85/p to 8.5/p: {min} {max}");
    }

    #[test]
    fn a_backlog_of_two_full_packets_never_loses_one() {
        let mut draws = <rand_xoshiro::Xoshiro256StarStar as rand_core::SeedableRng>::seed_from_u64(1);
        let settings = settings(Generation::Module2013);
        let mut pie = Pie { probability: settings.generation.one(), burst: 0, ..Pie::new(&settings) };
        for (backlog, verdict) in [(3027, Verdict::Pass), (3028, Verdict::Drop)] {
            let arrival = Arrival { length: 1514, backlog, markable: false };
            assert_eq!(pie.arrive(&arrival, &settings, &mut draws), verdict);
        }
    }

    #[test]
    fn the_meter_measures_the_departure_rate_without_idle_time() {
        let mut meter = RateMeter::default();
        for n in 0..40u64 {
            let departure = Departure { enqueued: SimTime::ZERO, length: 1514, backlog: 20_000 };
            meter.depart(&departure, 5_000, SimTime::from_nanos(n * 1_211_200));
        }
        let rate = (meter.average * TICKS_PER_SEC as u64) >> 8;
        // A cycle counts the bytes of its first packet but not its time: 4 packets in 3 packet times.
        assert!((1_250_000..=1_700_000).contains(&rate), "{rate}");
    }

    /// So the older generations are no AQM above a driver that takes an aggregate at once.
    #[test]
    fn a_burst_that_leaves_at_once_looks_like_a_fast_link() {
        let mut meter = RateMeter::default();
        for n in 0..400u64 {
            let departure = Departure { enqueued: SimTime::ZERO, length: 1514, backlog: 200_000 };
            meter.depart(&departure, 10_000, SimTime::from_nanos(n / 20 * 20 * 121_120));
        }
        let rate = (meter.average * TICKS_PER_SEC as u64) >> 8;
        assert!(rate > 20 * 12_500_000, "{rate}");
    }

    #[test]
    fn below_half_the_target_nothing_is_dropped_while_the_probability_is_under_a_fifth() {
        let mut draws = <rand_xoshiro::Xoshiro256StarStar as rand_core::SeedableRng>::seed_from_u64(1);
        let settings = settings(Generation::Module2013);
        let arrival = Arrival { length: 1514, backlog: 100_000, markable: false };
        let mut drops = |per_cent: u64, delay: i64| {
            let probability = settings.generation.one() / 100 * per_cent;
            let mut pie = Pie { probability, delay, burst: 0, ..Pie::new(&settings) };
            (0..1000).filter(|_| pie.arrive(&arrival, &settings, &mut draws) == Verdict::Drop).count()
        };
        assert_eq!(drops(19, 9 * MS), 0);
        assert!(drops(19, 10 * MS) > 100 && drops(21, 9 * MS) > 100);
    }

    #[test]
    fn below_its_threshold_the_meter_keeps_the_rate_it_has() {
        let mut meter = RateMeter { cycle: None, average: 777 };
        for n in 0..40u64 {
            let departure = Departure { enqueued: SimTime::ZERO, length: 1514, backlog: 4_999 };
            meter.depart(&departure, 5_000, SimTime::from_nanos(n * 1_211_200));
        }
        assert_eq!(meter.average, 777);
    }
}
