//! Google Congestion Control, in the variant whose delay-based controller is at the receiver.
//! [draft-ietf-rmcat-gcc-02]
//!
//! ```text
//! group     datagrams sent within 5 ms;  d = time between two groups at the receiver - time between them at the sender
//! filter    m += k (d - m), a scalar Kalman filter                                                            [§5.3]
//! over-use  60 m > threshold for 10 ms, and m does not fall; under-use 60 m < -threshold                    [§5.4]
//!           the threshold follows |60 m|, fast upwards (0.01 per ms) and slowly downwards (0.00018)
//! rate      over-use: 0.85 of what arrives; else × 1.08 each second, near the last maximum half a datagram each
//!           response time; after under-use it stays                                                           [§5.5]
//! loss      at the sender, each second: < 2 %: × 1.05; > 10 %: × (1 - p / 2); never above the receiver's rate  [§6]
//! ```
//! Deviations: as in libwebrtc, m counts 60 times (fewer at the beginning) before it is compared, and the variance of the
//! noise begins at 50 and follows only while the signal is normal; powers are linear over a step (1 + 0.08 dt), so that every machine computes the same bits; the receiver takes
//! the present one-way delay and the smallest so far for the RTT, which it cannot measure; the rate has no lower bound by
//! the formula of TFRC, but the source's own; the noise is not filtered over several frame rates. Without reports the rate
//! stays: the circuit breakers of RFC 8083 are not part of it.

use std::collections::VecDeque;

use tailback_units::{SimTime, Span};

/// Bytes of a report: a receiver report and an estimate of the rate (REMB) in one datagram of RTCP. [rfc3550 §6.4.2]
pub(crate) const REPORT_SIZE: u32 = 64;
/// From one report to the next; a decrease is reported at once.
const REPORT_INTERVAL: Span = Span::from_millis(100);
/// Datagrams that were sent within this time are one group.
const BURST: Span = Span::from_millis(5);
/// What arrives is measured over this time.
const WINDOW: Span = Span::from_millis(500);
/// From one judgement of losses to the next.
const LOSS_INTERVAL: Span = Span::from_secs(1);
const OVER_USE_MS: f64 = 10.0;
const FIRST_THRESHOLD_MS: f64 = 12.5;
const THRESHOLDS_MS: [f64; 2] = [6.0, 600.0];
/// The threshold does not follow an estimate that exceeds it by more.
const OUTLIER_MS: f64 = 15.0;
const THRESHOLD_UP: f64 = 0.01;
const THRESHOLD_DOWN: f64 = 0.000_18;
const MOST_DELTAS: f64 = 60.0;
const STATE_NOISE: f64 = 1e-3;
const FIRST_ERROR: f64 = 0.1;
const FIRST_NOISE: f64 = 50.0;
/// How fast the variance of the noise follows, at 30 frames per second.
const NOISE_SPEED: f64 = 0.01;
const DECREASE: f64 = 0.85;
const INCREASE_PER_S: f64 = 0.08;
const MOST_OVER_ARRIVING: f64 = 1.5;
const FRAMES_PER_S: f64 = 30.0;
const RESPONSE_MS: f64 = 100.0;
const LEAST_INCREASE_BPS: f64 = 1000.0;

fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// What the receiver tells the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    /// The rate of the delay-based controller.
    pub(crate) rate_bps: u64,
    /// Of 256 datagrams, how many were lost in the last second.
    pub(crate) lost: u8,
}

impl Report {
    const MANTISSA: u32 = 18;

    /// The number of its datagram: 6 bits of exponent and 18 of mantissa, as in REMB, and 8 of loss, as in RTCP.
    pub(crate) fn number(self) -> u32 {
        let exponent = (u64::BITS - self.rate_bps.leading_zeros()).saturating_sub(Self::MANTISSA);
        let mantissa = (self.rate_bps >> exponent) as u32;
        exponent << 26 | mantissa << 8 | u32::from(self.lost)
    }

    pub(crate) fn of(number: u32) -> Self {
        let mantissa = u64::from(number >> 8) & ((1 << Self::MANTISSA) - 1);
        // A datagram of others may have any exponent.
        let rate_bps = mantissa.checked_shl(number >> 26).unwrap_or(0);
        Report { rate_bps, lost: number as u8 }
    }
}

/// The rate of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendRate {
    bps: f64,
    /// The least and the largest.
    bounds_bps: [f64; 2],
    /// When losses are judged next; at the first report if there is none.
    judged: Option<SimTime>,
}

impl SendRate {
    pub(crate) fn new(start_bps: u64, bounds_bps: [u64; 2]) -> Self {
        SendRate { bps: start_bps as f64, bounds_bps: bounds_bps.map(|bps| bps as f64), judged: None }
    }

    pub(crate) fn bps(&self) -> u64 {
        self.bps as u64
    }

    /// A report has arrived.
    pub(crate) fn reported(&mut self, report: Report, now: SimTime) {
        let due = *self.judged.get_or_insert(now + LOSS_INTERVAL);
        if now >= due {
            self.judged = Some(now + LOSS_INTERVAL);
            let lost = f64::from(report.lost) / 256.0;
            self.bps *= match lost {
                few if few < 0.02 => 1.05,
                many if many > 0.1 => 1.0 - many / 2.0,
                _ => 1.0,
            };
        }
        let [least, most] = self.bounds_bps;
        self.bps = self.bps.min(report.rate_bps as f64).clamp(least, most);
    }
}

/// The receiver's half: the delay-based controller, and the losses.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    group: Option<Group>,
    filter: Filter,
    detector: Detector,
    control: Control,
    arrivals: VecDeque<SimTime>,
    datagram_bits: f64,
    least_delay_ms: f64,
    losses: Losses,
    reported: Option<SimTime>,
}

/// Datagrams that were sent in one burst.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: SimTime,
    last_sent: SimTime,
    last_arrived: SimTime,
}

impl Estimator {
    pub(crate) fn new(start_bps: u64, bounds_bps: [u64; 2], size: u32) -> Self {
        Estimator {
            group: None,
            filter: Filter::default(),
            detector: Detector::default(),
            control: Control::new(start_bps as f64, bounds_bps.map(|bps| bps as f64)),
            arrivals: VecDeque::new(),
            datagram_bits: f64::from(size) * 8.0,
            least_delay_ms: f64::INFINITY,
            losses: Losses::default(),
            reported: None,
        }
    }

    /// A datagram has arrived; the report that is to be sent now, if one is.
    pub(crate) fn arrived(&mut self, number: u32, sent: SimTime, now: SimTime) -> Option<Report> {
        self.losses.arrived(number, now);
        self.arrivals.push_back(now);
        while self.arrivals.front().is_some_and(|&at| now.since(at) > WINDOW) {
            self.arrivals.pop_front();
        }
        let delay_ms = now.as_nanos() as f64 / 1e6 - sent.as_nanos() as f64 / 1e6;
        self.least_delay_ms = self.least_delay_ms.min(delay_ms);
        let usage = self.grouped(sent, now);
        let is_new_over_use = usage == Usage::Over && self.control.state != State::Decrease;
        let first = *self.reported.get_or_insert(now);
        if !is_new_over_use && now.since(first) < REPORT_INTERVAL {
            return None;
        }
        self.reported = Some(now);
        let rtt_ms = delay_ms + self.least_delay_ms;
        let rate_bps = self.control.update(usage, self.arriving_bps(now), rtt_ms, now) as u64;
        Some(Report { rate_bps, lost: self.losses.of_256 })
    }

    /// The rate at which data arrives, once the window is full.
    fn arriving_bps(&self, now: SimTime) -> Option<f64> {
        let first = *self.arrivals.front()?;
        let gaps = (self.arrivals.len() - 1) as f64;
        let is_full = now.since(first) * 5 >= WINDOW * 4;
        is_full.then(|| gaps * self.datagram_bits * 1000.0 / ms(now.since(first)))
    }

    /// Adds a datagram to its group; a new group ends the one before.
    fn grouped(&mut self, sent: SimTime, now: SimTime) -> Usage {
        let Some(group) = &mut self.group else {
            self.group = Some(Group { first_sent: sent, last_sent: sent, last_arrived: now });
            return self.detector.usage;
        };
        if sent < group.last_sent {
            return self.detector.usage; // It was overtaken.
        }
        if sent.since(group.first_sent) <= BURST {
            (group.last_sent, group.last_arrived) = (sent, now);
            return self.detector.usage;
        }
        let between = [sent.since(group.last_sent), now.since(group.last_arrived)].map(ms);
        self.group = Some(Group { first_sent: sent, last_sent: sent, last_arrived: now });
        let is_stable = self.detector.usage == Usage::Normal;
        let estimate_ms = self.filter.update(between[1] - between[0], between[0], is_stable);
        self.detector.update(estimate_ms, between)
    }
}

/// The Kalman filter of the change of the queueing delay from group to group.
#[derive(Clone, Copy, Debug)]
struct Filter {
    estimate_ms: f64,
    error: f64,
    noise: f64,
    deltas: f64,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { estimate_ms: 0.0, error: FIRST_ERROR, noise: FIRST_NOISE, deltas: 0.0 }
    }
}

impl Filter {
    /// Takes the change of the delay of a group; what is compared with the threshold.
    fn update(&mut self, change_ms: f64, sent_gap_ms: f64, is_stable: bool) -> f64 {
        let off = change_ms - self.estimate_ms;
        let most = 3.0 * self.noise.sqrt();
        let bounded = off.clamp(-most, most);
        if is_stable {
            let keep = (1.0 - NOISE_SPEED * FRAMES_PER_S / 1000.0 * sent_gap_ms).max(0.0);
            self.noise = (keep * self.noise + (1.0 - keep) * bounded * bounded).max(1.0);
        }
        let error = self.error + STATE_NOISE;
        let gain = error / (self.noise + error);
        self.estimate_ms += gain * off;
        self.error = (1.0 - gain) * error;
        self.deltas = (self.deltas + 1.0).min(MOST_DELTAS);
        self.estimate_ms * self.deltas
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Usage {
    Normal,
    Over,
    Under,
}

/// Compares the estimate with a threshold that follows it.
#[derive(Clone, Copy, Debug)]
struct Detector {
    threshold_ms: f64,
    /// How long it has been above the threshold.
    over_ms: Option<f64>,
    before_ms: f64,
    usage: Usage,
}

impl Default for Detector {
    fn default() -> Self {
        Detector { threshold_ms: FIRST_THRESHOLD_MS, over_ms: None, before_ms: 0.0, usage: Usage::Normal }
    }
}

impl Detector {
    fn update(&mut self, estimate_ms: f64, [sent_ms, arrived_ms]: [f64; 2]) -> Usage {
        if estimate_ms > self.threshold_ms {
            let over_ms = self.over_ms.map_or(0.0, |before| before + sent_ms);
            self.over_ms = Some(over_ms);
            if over_ms > OVER_USE_MS && estimate_ms >= self.before_ms {
                self.usage = Usage::Over;
            }
        } else {
            self.over_ms = None;
            self.usage = if estimate_ms < -self.threshold_ms { Usage::Under } else { Usage::Normal };
        }
        self.before_ms = estimate_ms;
        self.follow(estimate_ms.abs(), arrived_ms.min(100.0));
        self.usage
    }

    fn follow(&mut self, size_ms: f64, elapsed_ms: f64) {
        if size_ms > self.threshold_ms + OUTLIER_MS {
            return;
        }
        let speed = if size_ms < self.threshold_ms { THRESHOLD_DOWN } else { THRESHOLD_UP };
        let next = self.threshold_ms + elapsed_ms * speed * (size_ms - self.threshold_ms);
        self.threshold_ms = next.clamp(THRESHOLDS_MS[0], THRESHOLDS_MS[1]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The controller of the rate by delay.
#[derive(Clone, Copy, Debug)]
struct Control {
    state: State,
    bps: f64,
    bounds_bps: [f64; 2],
    updated: Option<SimTime>,
    /// Mean and variance of the rates that arrived at decreases.
    maximum: Option<[f64; 2]>,
}

impl Control {
    fn new(bps: f64, bounds_bps: [f64; 2]) -> Self {
        Control { state: State::Increase, bps, bounds_bps, updated: None, maximum: None }
    }

    fn update(&mut self, usage: Usage, arriving: Option<f64>, rtt_ms: f64, now: SimTime) -> f64 {
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Under, _) | (Usage::Normal, State::Decrease) => State::Hold,
            (Usage::Normal, _) => State::Increase,
        };
        let elapsed_ms = self.updated.replace(now).map_or(0.0, |before| ms(now.since(before)));
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(arriving, rtt_ms, elapsed_ms),
            State::Decrease => self.decrease(arriving.unwrap_or(self.bps)),
        }
        let [least, most] = self.bounds_bps;
        self.bps = self.bps.clamp(least, most);
        self.bps
    }

    fn increase(&mut self, arriving: Option<f64>, rtt_ms: f64, elapsed_ms: f64) {
        let arriving_bps = arriving.unwrap_or(self.bps);
        if self.maximum.is_some_and(|[mean, variance]| arriving_bps > mean + 3.0 * variance.sqrt()) {
            self.maximum = None; // The path has more room than it had.
        }
        let step = match self.maximum {
            Some(_) => {
                let of_response = 0.5 * (elapsed_ms / (RESPONSE_MS + rtt_ms)).min(1.0);
                (of_response * datagram_bits(self.bps)).max(LEAST_INCREASE_BPS)
            }
            None => self.bps * INCREASE_PER_S * (elapsed_ms / 1000.0).min(1.0),
        };
        let most = arriving.map_or(f64::INFINITY, |bps| MOST_OVER_ARRIVING * bps);
        self.bps = (self.bps + step).min(most.max(self.bps));
    }

    fn decrease(&mut self, arriving_bps: f64) {
        let [mean, variance] = self.maximum.unwrap_or([arriving_bps, 0.0]);
        if arriving_bps < mean - 3.0 * variance.sqrt() {
            self.maximum = None;
        }
        let [mean, variance] = self.maximum.unwrap_or([arriving_bps, 0.0]);
        let off = arriving_bps - mean;
        // The least variance is what the measurement itself varies by, 5 % of the mean.
        let variance = (0.95 * variance + 0.05 * off * off).max((0.05 * mean) * (0.05 * mean));
        self.maximum = Some([mean + 0.05 * off, variance]);
        self.bps = self.bps.min(DECREASE * arriving_bps);
    }
}

/// Bits of a datagram of a video with 30 frames per second and at most 1200 bytes each.
fn datagram_bits(bps: f64) -> f64 {
    let frame = bps / FRAMES_PER_S;
    frame / (frame / 9600.0).ceil().max(1.0)
}

/// The losses of the last whole second.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    since: Option<SimTime>,
    /// The number after the highest that has arrived, now and when the second began.
    next: [u32; 2],
    arrived: u32,
    of_256: u8,
}

impl Losses {
    fn arrived(&mut self, number: u32, now: SimTime) {
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= LOSS_INTERVAL {
            let expected = self.next[0] - self.next[1];
            let lost = expected.saturating_sub(self.arrived);
            self.of_256 = (u64::from(lost) * 256 / u64::from(expected.max(1))).min(255) as u8;
            (self.since, self.next[1], self.arrived) = (Some(now), self.next[0], 0);
        }
        self.next[0] = self.next[0].max(number.saturating_add(1));
        self.arrived += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [u64; 2] = [100_000, 5_000_000];
    const SIZE: u32 = 1000;

    /// A source behind a first-in first-out queue with `capacity_bps(s)`: the rate in bit/s and the queueing delay in ms at
    /// the end of each second.
    fn over(seconds: u64, capacity_bps: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let (mut rate, mut receiver) =
            (SendRate::new(300_000, BOUNDS), Estimator::new(300_000, BOUNDS, SIZE));
        let (mut sent_ns, mut free_ns, mut number, mut found) = (0, 0, 0, Vec::new());
        while sent_ns < seconds * 1_000_000_000 {
            let bits = u64::from(SIZE) * 8 * 1_000_000_000;
            free_ns = sent_ns.max(free_ns) + bits / capacity_bps(sent_ns / 1_000_000_000);
            let arrived = SimTime::from_nanos(free_ns + 25_000_000);
            if let Some(report) = receiver.arrived(number, SimTime::from_nanos(sent_ns), arrived) {
                rate.reported(Report::of(report.number()), arrived);
            }
            if sent_ns / 1_000_000_000 == found.len() as u64 + 1 {
                found.push((rate.bps(), (free_ns - sent_ns) / 1_000_000));
            }
            number += 1;
            sent_ns += bits / rate.bps();
        }
        found
    }

    #[test]
    fn a_report_says_its_rate_and_its_loss() {
        for rate_bps in [0, 1, 262_143, 1_500_000, 10_000_000_000] {
            let found = Report::of(Report { rate_bps, lost: 7 }.number());
            assert_eq!(found.lost, 7);
            assert!(rate_bps - found.rate_bps <= rate_bps >> 17, "{rate_bps}: {found:?}");
        }
        assert_eq!(Report::of(u32::MAX).lost, 255);
    }

    #[test]
    fn it_comes_near_the_capacity_and_keeps_the_queue_short() {
        let found = over(120, |_| 1_000_000);
        let late = &found[60..];
        let mean = late.iter().map(|(bps, _)| bps).sum::<u64>() / late.len() as u64;
        assert!((700_000..=1_000_000).contains(&mean), "{found:?}");
        assert!(late.iter().filter(|(_, queue)| *queue > 100).count() < late.len() / 10, "{found:?}");
    }

    #[test]
    fn it_gives_way_when_the_capacity_falls_and_comes_back() {
        let found = over(180, |s| if (60..120).contains(&s) { 500_000 } else { 1_500_000 });
        assert!(found[55].0 > 900_000, "{found:?}");
        assert!((300_000..=520_000).contains(&found[110].0), "{found:?}");
        assert!(found[110].1 < 100, "{found:?}");
        assert!(found[175].0 > 900_000, "{found:?}");
    }

    #[test]
    fn alone_it_stops_at_its_largest_rate() {
        assert_eq!(over(90, |_| 100_000_000).last().unwrap().0, 5_000_000);
    }

    #[test]
    fn losses_above_a_tenth_lower_the_rate_and_those_below_a_fiftieth_raise_it() {
        let after = |lost: u8| {
            let mut rate = SendRate::new(1_000_000, BOUNDS);
            for second in 0..2 {
                let report = Report { rate_bps: 4_000_000, lost };
                rate.reported(report, SimTime::from_nanos(second * 1_000_000_000));
            }
            rate.bps()
        };
        assert_eq!([0, 12, 64].map(after), [1_050_000, 1_000_000, 875_000]);
    }

    #[test]
    fn the_share_of_lost_datagrams_is_that_of_the_last_second() {
        let mut losses = Losses::default();
        for number in (0..300).filter(|number| !(100..200).contains(number) || number % 4 == 0) {
            losses.arrived(number, SimTime::from_nanos(u64::from(number) * 10_000_000));
            match number {
                120 => assert_eq!(losses.of_256, 0),
                // Up to the highest, 25 of 97 have arrived.
                210 => assert_eq!(losses.of_256, 190),
                _ => {}
            }
        }
    }
}
