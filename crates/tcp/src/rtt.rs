//! Round-trip time: smoothed estimate, mean deviation, retransmission timeout, windowed minimum.
//!
//! ```text
//! first sample m:  S = 8m   M = 2m   V = X = max(M, rto_min)
//! then:            e = m − S/8   S += e
//!                  M += e − M/4        if e ≥ 0
//!                  M += (−e − M/4)/8   if e < 0 and that is positive: a falling RTT barely raises the deviation
//!                  X = max(X, M)   V = max(V, X);   once per RTT: V −= (V − X)/4 if X < V,  X = rto_min
//! RTO = S/8 + V, in jiffies, at most 120 s;  doubled on each timeout
//! ```
//! All in µs; S is 8·srtt, M is 4·mdev. [rfc6298] [linux-6.12 tcp_input.c tcp_rtt_estimator]

use tailback_cc::filters::WindowedMin;
use tailback_units::{SimTime, Span};

use crate::config::Settings;

/// `TCP_TIMEOUT_INIT`: before any sample. [rfc6298 §2.1]
pub(crate) const RTO_INITIAL: Span = Span::from_secs(1);
/// `TCP_TIMEOUT_FALLBACK`: after a handshake that gave no sample. [rfc6298 §5.7]
const RTO_FALLBACK: Span = Span::from_secs(3);

/// Rounds up to whole jiffies, as the kernel does when it turns µs into a timer.
pub(crate) fn in_jiffies(span: Span, jiffy: Span) -> Span {
    Span::from_nanos(span.as_nanos().div_ceil(jiffy.as_nanos()).saturating_mul(jiffy.as_nanos()))
}

/// Estimates of one connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt_us8: u32,
    mdev_us4: u32,
    mdev_max_us: u32,
    rttvar_us: u32,
    rtt_seq: u64,
    rto: Span,
    backoff: u32,
    minimum: Option<WindowedMin>,
    /// Until this time a sample above the candidates of `minimum` does not change it.
    settled_until: SimTime,
}

impl RttEstimator {
    pub(crate) fn new() -> Self {
        RttEstimator {
            srtt_us8: 0,
            mdev_us4: RTO_INITIAL.as_micros() as u32,
            mdev_max_us: 0,
            rttvar_us: 0,
            rtt_seq: 0,
            rto: RTO_INITIAL,
            backoff: 0,
            minimum: None,
            settled_until: SimTime::ZERO,
        }
    }

    /// Smoothed RTT times eight, µs; 0 before a sample.
    pub(crate) fn srtt_us8(&self) -> u32 {
        self.srtt_us8
    }

    /// Smoothed RTT.
    pub(crate) fn srtt(&self) -> Span {
        Span::from_micros(u64::from(self.srtt_us8 >> 3))
    }

    /// Mean deviation as `ss` shows it.
    pub(crate) fn mdev(&self) -> Span {
        Span::from_micros(u64::from(self.mdev_us4 >> 2))
    }

    /// Timeout with backoff.
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    /// The minimum RTT of the last time that `net.ipv4.tcp_min_rtt_wlen` says, 300 s.
    pub(crate) fn minimum(&self) -> Option<Span> {
        self.minimum.map(|filter| Span::from_micros(filter.get()))
    }

    /// Doublings of the timeout since the last sample.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// One timeout more of a thin flow: RTO is that of the last sample. [linux-6.12 tcp_timer.c tcp_retransmit_timer]
    pub(crate) fn stay_linear(&mut self, settings: &Settings) {
        self.backoff = 0;
        self.rto = self.computed(settings).max(settings.rto_min);
    }

    /// RTO without doublings.
    fn computed(&self, settings: &Settings) -> Span {
        let rto = self.srtt() + Span::from_micros(u64::from(self.rttvar_us));
        in_jiffies(rto, settings.jiffy).min(settings.rto_max)
    }

    /// One timeout more: RTO doubles.
    pub(crate) fn back_off(&mut self, settings: &Settings) {
        self.backoff += 1;
        self.double(settings);
    }

    /// RTO doubles, which does not count as a timeout.
    pub(crate) fn double(&mut self, settings: &Settings) {
        self.rto = (self.rto * 2).min(settings.rto_max);
    }

    /// The handshake gave no sample. [linux-6.12 tcp_metrics.c tcp_init_metrics]
    pub(crate) fn fall_back(&mut self) {
        let micros = RTO_FALLBACK.as_micros() as u32;
        (self.rttvar_us, self.mdev_us4, self.mdev_max_us) = (micros, micros, micros);
        self.rto = RTO_FALLBACK;
    }

    /// An earlier connection had this RTT, times eight, in µs: the first RTO allows for it if that of the handshake is
    /// smaller. [linux-5.4 tcp_metrics.c tcp_init_metrics]
    pub(crate) fn begin_with(&mut self, rtt_us8: u32, settings: &Settings) {
        if rtt_us8 > self.srtt_us8 {
            let jiffy = settings.jiffy;
            let micros = u64::from(rtt_us8 >> 3);
            let rtt = jiffy * (Span::from_micros(micros).as_nanos() / jiffy.as_nanos());
            self.rto = rtt + (rtt * 2).max(settings.rto_min);
        }
    }

    /// A sample for srtt and RTO; `una` and `nxt` delimit round trips.
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt: Span, una: u64, nxt: u64, settings: &Settings) {
        let rto_min_us = settings.rto_min.as_micros() as u32;
        let m = rtt.as_micros().min(u64::from(u32::MAX >> 4)) as i64;
        if self.srtt_us8 == 0 {
            self.first(m, nxt, rto_min_us);
        } else {
            self.next(m, una, nxt, rto_min_us);
        }
        self.rto = self.computed(settings);
        self.backoff = 0;
    }

    fn first(&mut self, m: i64, nxt: u64, rto_min_us: u32) {
        self.srtt_us8 = ((m << 3) as u32).max(1);
        self.mdev_us4 = (m << 1) as u32;
        self.rttvar_us = self.mdev_us4.max(rto_min_us);
        self.mdev_max_us = self.rttvar_us;
        self.rtt_seq = nxt;
    }

    fn next(&mut self, m: i64, una: u64, nxt: u64, rto_min_us: u32) {
        let error = m - i64::from(self.srtt_us8 >> 3);
        self.srtt_us8 = (i64::from(self.srtt_us8) + error).max(1) as u32;
        let mdev = i64::from(self.mdev_us4);
        let mut change = error.abs() - (mdev >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_us4 = (mdev + change) as u32;
        self.mdev_max_us = self.mdev_max_us.max(self.mdev_us4);
        self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        if una > self.rtt_seq {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.rtt_seq = nxt;
            self.mdev_max_us = rto_min_us;
        }
    }

    /// A sample for the minimum. True if that may have changed.
    #[inline(always)]
    pub(crate) fn sample_minimum(&mut self, rtt: Span, now: SimTime, settings: &Settings) -> bool {
        let is_above = self.minimum.is_some_and(|filter| rtt.as_micros() > filter.worst());
        if is_above && now < self.settled_until {
            debug_assert!(self.would_keep_minimum(rtt, now, settings));
            return false;
        }
        self.take_minimum(rtt, now, settings);
        true
    }

    #[inline(never)]
    fn take_minimum(&mut self, rtt: Span, now: SimTime, settings: &Settings) {
        let jiffy = settings.jiffy;
        let rtt = if rtt.is_zero() { jiffy } else { rtt }.as_micros();
        let (time, window) = (now.ticks(jiffy), settings.min_rtt_window.as_nanos() / jiffy.as_nanos());
        let filter = self.minimum.get_or_insert_with(|| WindowedMin::new(time, rtt));
        filter.update(window, time, rtt);
        let until = (filter.settled_until(window) + 1).saturating_mul(jiffy.as_nanos());
        self.settled_until = SimTime::from_nanos(until);
    }

    fn would_keep_minimum(&self, rtt: Span, now: SimTime, settings: &Settings) -> bool {
        let mut other = self.clone();
        other.take_minimum(rtt, now, settings);
        other.minimum == self.minimum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RTO_MAX;

    /// With jiffies of 1 ms.
    fn settings() -> Settings {
        Settings::default()
    }

    fn fed(samples: impl IntoIterator<Item = u64>) -> RttEstimator {
        let mut rtt = RttEstimator::new();
        for (round, ms) in samples.into_iter().enumerate() {
            rtt.sample(Span::from_millis(ms), round as u64 * 10 + 1, round as u64 * 10 + 10, &settings());
        }
        rtt
    }

    #[test]
    fn a_constant_rtt_of_50_ms_gives_an_rto_of_250_ms() {
        assert_eq!(fed([50; 200]).rto(), Span::from_millis(250));
    }

    #[test]
    fn the_first_sample_of_150_ms_gives_450_and_of_20_ms_gives_220() {
        assert_eq!(fed([150]).rto(), Span::from_millis(450));
        assert_eq!(fed([20]).rto(), Span::from_millis(220));
    }

    #[test]
    fn a_falling_rtt_never_raises_the_rto() {
        let mut rtt = fed(std::iter::repeat_n(100, 500));
        let mut before = rtt.rto();
        for round in 0..500 {
            rtt.sample(Span::from_millis(20), 10_000 + round, 10_001 + round, &settings());
            assert!(rtt.rto() <= before, "{} after {before}", rtt.rto());
            before = rtt.rto();
        }
        assert_eq!(before, Span::from_millis(220));
    }

    /// RTOs after a step from 50 ms, with twenty samples per round trip.
    fn after_a_step_to(ms: u64) -> Vec<u64> {
        let mut rtt = RttEstimator::new();
        let mut sample = |number: u64, ms| {
            rtt.sample(Span::from_millis(ms), number * 100, number * 100 + 2000, &settings());
            rtt.rto().as_millis()
        };
        for number in 0..400 {
            sample(number, 50);
        }
        (400..1200).map(|number| sample(number, ms)).collect()
    }

    #[test]
    fn after_a_step_of_50_ms_the_rto_rises_smoothly_from_250_to_300_ms() {
        let rtos = after_a_step_to(100);
        assert!(rtos.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!((rtos.first().map(|rto| rto / 10), rtos.last()), (Some(25), Some(&300)));
    }

    #[test]
    fn a_step_of_200_ms_overshoots_by_about_twice_the_step_and_decays_to_the_rtt_and_200_ms() {
        let rtos = after_a_step_to(250);
        // M peaks at 2.2 · 200 ms while S is still on its way to 250 ms.
        let peak = *rtos.iter().max().expect("some");
        assert!((650..=250 + 441).contains(&peak), "{peak} ms");
        // Quarters of less than 4 us are none: the last jiffy stays.
        assert_eq!(rtos.last(), Some(&451));
    }

    #[test]
    fn a_fall_counts_an_eighth_of_what_a_rise_counts_in_the_deviation() {
        let deviation_after = |ms| fed([100; 300].into_iter().chain([ms])).mdev().as_micros();
        let steady = fed([100; 300]).mdev().as_micros();
        assert_eq!(deviation_after(180) - steady, 20_000 - steady / 4);
        assert_eq!(deviation_after(20) - steady, 2_500 - steady / 32);
    }

    #[test]
    fn a_timeout_doubles_the_rto_up_to_two_minutes_and_a_sample_ends_that() {
        let mut rtt = fed([100; 50]);
        rtt.back_off(&settings());
        assert_eq!(rtt.rto(), Span::from_millis(600));
        for _ in 0..20 {
            rtt.back_off(&settings());
        }
        assert_eq!(rtt.rto(), RTO_MAX);
        rtt.sample(Span::from_millis(100), 1, 2, &settings());
        assert_eq!(rtt.rto(), Span::from_millis(300));
    }

    #[test]
    fn the_minimum_forgets_a_sample_after_300_s() {
        let mut rtt = RttEstimator::new();
        let at = |s: u64| SimTime::from_nanos(s * 1_000_000_000);
        rtt.sample_minimum(Span::from_millis(10), at(0), &settings());
        for s in 1..=300 {
            rtt.sample_minimum(Span::from_millis(20), at(s), &settings());
        }
        assert_eq!(rtt.minimum(), Some(Span::from_millis(10)));
        rtt.sample_minimum(Span::from_millis(20), at(301), &settings());
        assert_eq!(rtt.minimum(), Some(Span::from_millis(20)));
    }
}
