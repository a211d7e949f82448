//! CUBIC: after a loss at window `W_max`, cwnd follows a cubic function of time, which is flat near `W_max` and then
//! grows faster to probe for bandwidth.
//!
//! W(t) = C·(t − K)³ + W_max,   K = ∛((W_max − cwnd) / C),   t one RTT ahead                      [rfc9438 §4.2 fig. 1, 2]
//! growth: one segment per cnt acknowledged, cnt = cwnd / (W(t) − cwnd), 100·cwnd at or above the target, never below 2
//! cut:    ssthresh = β·cwnd; W_max = cwnd, or (1 + β)/2·cwnd if cwnd is below the last W_max (fast convergence)
//! Growth is at least that of Reno with the same average window: one segment per cwnd·(1 + β)/3(1 − β) acknowledged.
//! Before the first loss it is at least 5 % per round trip (cnt ≤ 20). A timeout resets all state. Idle time does not
//! count as time on the curve.
//!
//! β = 717/1024 and C = 410/1024 (0.4/s³). Times are in 1/1024 s, from a clock in jiffies. [`hystart`] ends slow start.
//! Sources: [linux-6.12 tcp_cubic.c bictcp_update], [cubic, Ha et al. 2008], [rfc9438].
//!
//! Deviations from Linux: K is the exact floor of the cube root (the kernel's table has a mean error of 0.2 %); the
//! curve saturates where the kernel's 64 bits wrap (350 s beyond K). Linux itself deviates from RFC 9438: the Reno
//! estimate keeps its slower growth above the previous window.
//!
//! [`hystart`]: crate::hystart

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs, Span};

use crate::hystart::{Clock, HyStart, RoundStart, Settings};
use crate::module_param::{flag, number, packets};
use crate::{AckSample, CaState, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Unit of β, per one. [linux-6.12 tcp_cubic.c BICTCP_BETA_SCALE]
const BETA_UNIT: u64 = 1024;
/// Fraction bits of the curve's clock: 1/1024 s. [linux-6.12 tcp_cubic.c BICTCP_HZ]
const CLOCK_BITS: u32 = 10;
/// Fraction bits of C times those of a cubed time. [linux-6.12 tcp_cubic.c cube_factor]
const CURVE_BITS: u32 = 10 + 3 * CLOCK_BITS;
/// `bic_scale` is C in 1/10240 per s³. [linux-6.12 tcp_cubic.c cube_rtt_scale]
const SCALE_STEPS: u64 = 10;
/// `cnt` is computed again after 1/32 s if cwnd has not changed. [linux-6.12 tcp_cubic.c bictcp_update]
const UPDATES_PER_SEC: u64 = 32;
/// Slowest growth before any loss, in acknowledgements per segment. [linux-6.12 tcp_cubic.c bictcp_update]
const FIRST_CNT: u32 = 20;
/// Growth at or above the target: one segment per this many windows. [linux-6.12 tcp_cubic.c bictcp_update]
const PLATEAU_WINDOWS: u32 = 100;
/// Fastest growth, in acknowledgements per segment. [linux-6.12 tcp_cubic.c bictcp_update]
const MIN_CNT: u32 = 2;
/// Smallest slow-start threshold, in segments. [linux-6.12 tcp_cubic.c cubictcp_recalc_ssthresh]
const MIN_SSTHRESH: u64 = 2;

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_cubic.c module_param]
const PARAMETERS: &[Parameter] = &[
    flag("fast_convergence", 1, "lower W_max further when a loss comes before cwnd has reached it"),
    number("beta", 717, 1, 1023, "fraction of the window kept after a loss, in 1/1024"),
    packets("initial_ssthresh", 0, 0, "initial slow-start threshold without HyStart; 0 = infinite"),
    number("bic_scale", 41, 1, 65_535, "steepness of the curve: C in 1/102.4 per s³"),
    flag("tcp_friendliness", 1, "grow at least as fast as Reno with the same average window"),
    flag("hystart", 1, "leave slow start before the buffer overflows"),
    number("hystart_detect", 3, 0, 3, "detectors: 1 = ACK train, 2 = delay, 3 = both"),
    packets("hystart_low_window", 16, 2, "HyStart is inactive below this window"),
    number("hystart_ack_delta_us", 2_000, 1, 1_000_000, "largest gap between two ACKs of a train, in µs"),
    number(
        "hystart_rounds",
        2,
        0,
        2,
        "a round begins 0 = after an ACK is examined, 1 = before, above the low window, 2 = before, at any window",
    ),
    number(
        "hystart_clock",
        1,
        0,
        1,
        "HyStart counts 0 = milliseconds, and a train of half the minimum RTT suffices for paced flows, 1 = microseconds",
    ),
];

/// The registry row.
pub const ROW: Row = Row {
    name: "cubic",
    summary: "the window is a cubic function of the time since the last loss; Linux's default",
    source: include_str!("cubic.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Cubic::new(tuning(given)?)))
}

fn tuning(given: &Parameters) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, PARAMETERS);
    let detect = get("hystart_detect")?;
    let settings = Settings {
        ack_train: detect & 1 != 0,
        delay: detect & 2 != 0,
        low_window: Segs(get("hystart_low_window")? as u32),
        ack_delta_us: get("hystart_ack_delta_us")?,
        rounds: [RoundStart::AfterDetection, RoundStart::FromLowWindow, RoundStart::Always]
            [get("hystart_rounds")? as usize],
        clock: [Clock::Milliseconds, Clock::Microseconds][get("hystart_clock")? as usize],
    };
    Ok(Tuning {
        fast_convergence: get("fast_convergence")? != 0,
        beta: get("beta")?,
        initial_ssthresh: Segs(get("initial_ssthresh")? as u32),
        steepness: get("bic_scale")? * SCALE_STEPS,
        tcp_friendliness: get("tcp_friendliness")? != 0,
        hystart: (get("hystart")? != 0).then_some(settings),
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    fast_convergence: bool,
    /// In 1/1024.
    beta: u64,
    initial_ssthresh: Segs,
    /// C in 1/1024 per s³.
    steepness: u64,
    tcp_friendliness: bool,
    hystart: Option<Settings>,
}

impl Tuning {
    /// K: when a curve that starts `gap` segments below its plateau reaches it, in 1/1024 s. [rfc9438 §4.2 fig. 2]
    fn k(&self, gap: u32) -> u64 {
        cube_root(((1 << CURVE_BITS) / self.steepness).saturating_mul(u64::from(gap)))
    }

    /// Distance of the curve from its plateau, `offset` (1/1024 s) before or after K, in whole segments.
    fn rise(&self, offset: u64) -> u32 {
        let offset = u128::from(offset.min(u64::from(u32::MAX)));
        let rise = (u128::from(self.steepness) * offset * offset * offset) >> CURVE_BITS;
        u32::try_from(rise).unwrap_or(u32::MAX)
    }

    /// Acknowledged segments per segment of growth of the equivalent Reno: (1 + β) / 3(1 − β) windows, in eighths.
    fn reno_pace(&self, cwnd: u32) -> u32 {
        let eighths = 8 * (BETA_UNIT + self.beta) / 3 / (BETA_UNIT - self.beta);
        u32::try_from((u64::from(cwnd) * eighths) >> 3).unwrap_or(u32::MAX).max(1)
    }
}

/// State of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    tuning: Tuning,
    hystart: Option<HyStart>,
    /// Acknowledgements per segment of growth, as last computed.
    cnt: u32,
    /// Window before the last reduction; 0 before any.
    w_max: u32,
    epoch: Option<Epoch>,
    last_update: Option<Update>,
    /// Smallest RTT since the last timeout, in µs.
    delay_min_us: Option<u64>,
}

/// Growth since a reduction (or since slow start ended).
#[derive(Clone, Debug)]
struct Epoch {
    /// In jiffies.
    start: u64,
    /// A second after `start`, in jiffies: so long the RTT still includes the queue that caused the loss.
    second: u64,
    /// Time from `start` to the plateau, in 1/1024 s.
    k: u64,
    /// Height of the plateau (`bic_origin_point`).
    origin: u32,
    /// Acknowledgements not yet turned into growth of `reno`.
    acked: u32,
    /// Window of the equivalent Reno (`tcp_cwnd`).
    reno: u32,
}

/// Window and jiffy at which `cnt` was last computed.
#[derive(Clone, Copy, Debug)]
struct Update {
    cwnd: u32,
    jiffies: u64,
    /// For the same window it holds up to this jiffy.
    until: u64,
}

impl Hooks for Cubic {
    fn init(&mut self, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        self.hystart = self.tuning.hystart.map(|settings| HyStart::new(settings, flow));
        if self.hystart.is_none() && self.tuning.initial_ssthresh > Segs::ZERO {
            window.ssthresh = self.tuning.initial_ssthresh;
        }
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, _window: &mut Window) {
        if to == CaState::Loss {
            let hystart = self.hystart.take();
            *self = Cubic { hystart, ..Cubic::new(self.tuning) };
            self.hystart.iter_mut().for_each(|hystart| hystart.rearm(flow));
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, _window: &mut Window) {
        if let (CwndEvent::TxStart, Some(epoch)) = (event, &mut self.epoch) {
            let idle = flow.jiffies().saturating_sub(flow.last_sent.ticks(flow.jiffy));
            epoch.start = (epoch.start + idle).min(flow.jiffies());
            epoch.second = epoch.start + flow.hz();
        }
    }

    fn ignores_acks(&self) -> bool {
        true
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, window: &mut Window) {
        let Some(rtt) = sample.rtt else { return };
        if self.epoch.as_ref().is_some_and(|epoch| flow.jiffies() < epoch.second) {
            return;
        }
        let rtt_us = rtt.as_micros().max(1);
        let delay_min_us = self.delay_min_us.map_or(rtt_us, |min| min.min(rtt_us));
        self.delay_min_us = Some(delay_min_us);
        if let Some(hystart) = &mut self.hystart {
            hystart.take(rtt_us, delay_min_us, flow, window);
        }
    }
}

impl WindowControl for Cubic {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > Segs::ZERO {
            self.update(left, flow, window.cwnd.0);
            window.cong_avoid_ai(self.cnt, left);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = u64::from(window.cwnd.0);
        let fell = window.cwnd.0 < self.w_max && self.tuning.fast_convergence;
        let w_max = if fell { cwnd * (BETA_UNIT + self.tuning.beta) / (2 * BETA_UNIT) } else { cwnd };
        self.w_max = w_max as u32;
        self.epoch = None;
        Segs((cwnd * self.tuning.beta / BETA_UNIT).max(MIN_SSTHRESH) as u32)
    }
}

impl Cubic {
    fn new(tuning: Tuning) -> Self {
        Cubic { tuning, hystart: None, cnt: 0, w_max: 0, epoch: None, last_update: None, delay_min_us: None }
    }

    /// Computes `cnt` for `acked` more acknowledgements.
    fn update(&mut self, acked: Segs, flow: &Flow, cwnd: u32) {
        let now = flow.jiffies();
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked.0);
        }
        let recent = |last: Update| last.cwnd == cwnd && now <= last.until;
        if !self.last_update.is_some_and(recent) {
            self.update_cnt(acked, now, flow, cwnd);
        }
    }

    #[inline(never)]
    fn update_cnt(&mut self, acked: Segs, now: u64, flow: &Flow, cwnd: u32) {
        // The clock of the curve ticks once a jiffy; within a jiffy the curve does not change.
        let ticked = self.epoch.is_none() || self.last_update.is_none_or(|last| last.jiffies != now);
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.new_epoch(acked.0, flow, cwnd));
        if ticked {
            self.last_update = Some(Update { cwnd, jiffies: now, until: now + flow.hz() / UPDATES_PER_SEC });
            self.cnt = self.cnt_of_curve(&epoch, flow, cwnd);
        }
        if self.tuning.tcp_friendliness {
            self.cnt = self.cnt.min(epoch.cnt_of_reno(self.tuning.reno_pace(cwnd), cwnd));
        }
        self.cnt = self.cnt.max(MIN_CNT);
        self.epoch = Some(epoch);
    }

    fn new_epoch(&self, acked: u32, flow: &Flow, cwnd: u32) -> Epoch {
        let (gap, start) = (self.w_max.saturating_sub(cwnd), flow.jiffies());
        let (k, origin) = (self.tuning.k(gap), self.w_max.max(cwnd));
        Epoch { start, second: start + flow.hz(), k, origin, acked, reno: cwnd }
    }

    /// Acknowledgements per segment to be on the curve one RTT from now.
    fn cnt_of_curve(&self, epoch: &Epoch, flow: &Flow, cwnd: u32) -> u32 {
        let target = self.target(epoch, flow);
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(PLATEAU_WINDOWS) };
        if self.w_max == 0 { cnt.min(FIRST_CNT) } else { cnt }
    }

    /// W(t) one RTT from now. [rfc9438 §4.2 fig. 1]
    fn target(&self, epoch: &Epoch, flow: &Flow) -> u32 {
        let ahead = flow.jiffies_in(Span::from_micros(self.delay_min_us.unwrap_or(0)));
        let t = ((flow.jiffies() - epoch.start + ahead) << CLOCK_BITS) / flow.hz();
        let rise = self.tuning.rise(t.abs_diff(epoch.k));
        if t < epoch.k { epoch.origin.saturating_sub(rise) } else { epoch.origin.saturating_add(rise) }
    }
}

impl Epoch {
    /// Acknowledgements per segment to keep up with the equivalent Reno, which gains a segment per `pace` of them.
    fn cnt_of_reno(&mut self, pace: u32, cwnd: u32) -> u32 {
        // Not when `acked == pace`: the kernel's loop compares with `>`.
        let gained = self.acked.saturating_sub(1) / pace;
        self.acked -= gained * pace;
        self.reno = self.reno.saturating_add(gained);
        match self.reno.saturating_sub(cwnd) {
            0 => u32::MAX,
            behind => cwnd / behind,
        }
    }
}

/// The largest whole number whose cube is at most `a`, by Newton's method from above.
fn cube_root(a: u64) -> u64 {
    if a == 0 {
        return 0;
    }
    let mut root = 1u64 << (64 - a.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + a / (root * root)) / 3;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::SimTime;

    use super::*;
    use crate::test_path::Zeros;

    /// A flow with nothing but CUBIC; the test decides when how much is acknowledged.
    struct Acks {
        flow: Flow,
        window: Window,
        cubic: Cubic,
    }

    impl Acks {
        fn new(cwnd: u32, given: &[(&str, u64)]) -> Self {
            let mut parameters = Parameters::default();
            given.iter().for_each(|&(name, value)| parameters.set(name, value));
            let mut flow = Flow { cwnd_limited: true, ..Flow::established(1448, Span::from_millis(1)) };
            flow.now = SimTime::ZERO + Span::from_secs(1);
            let mut window = Window::initial(Segs(cwnd));
            let mut cubic = Cubic::new(tuning(&parameters).expect("all are in range"));
            cubic.init(&flow, &mut window, &mut Zeros);
            Acks { flow, window, cubic }
        }

        /// After a loss at `cwnd`.
        fn after_loss(cwnd: u32) -> Self {
            let mut acks = Acks::new(cwnd, &[]);
            acks.lose();
            acks
        }

        fn lose(&mut self) {
            self.window.ssthresh = self.cubic.ssthresh(&self.flow, &self.window);
            self.window.cwnd = self.window.ssthresh;
        }

        fn ack(&mut self, segments: u32) {
            self.cubic.cong_avoid(Segs(segments), &self.flow, &mut self.window);
        }

        fn sample(&mut self, rtt: Span) {
            let sample = AckSample { packets_acked: Segs(1), rtt: Some(rtt), in_flight: 0 };
            self.cubic.pkts_acked(&sample, &self.flow, &mut self.window);
        }

        fn wait(&mut self, span: Span) {
            self.flow.now += span;
        }

        /// Acknowledges whole windows, one each `rtt`, spread evenly over it.
        fn round_trips(&mut self, count: u32, rtt: Span) {
            for _ in 0..count {
                let cwnd = self.window.cwnd.0;
                for _ in 0..cwnd {
                    self.wait(rtt / u64::from(cwnd));
                    self.ack(1);
                }
            }
        }

        fn epoch(&self) -> &Epoch {
            self.cubic.epoch.as_ref().expect("it grows on the curve")
        }
    }

    #[test]
    fn a_loss_at_100_leaves_70_and_a_plateau_4_22_seconds_away() {
        let mut acks = Acks::after_loss(100);
        assert_eq!((acks.window.cwnd, acks.cubic.w_max), (Segs(70), 100));
        acks.ack(1);
        assert_eq!(acks.epoch().k * 100 / 1024, 421, "4.2168 s, rounded down");
        assert_eq!(acks.epoch().origin, 100);
    }

    /// The published curve 86.7, 95.6, 99.3, 102.3 in whole segments: the distance to the plateau is rounded down.
    #[test]
    fn the_curve_passes_the_published_values() {
        let mut acks = Acks::after_loss(100);
        acks.ack(1);
        let start = acks.flow.now;
        for (seconds, target) in [(1, 87), (2, 96), (3, 100), (4, 100), (6, 102), (8, 121)] {
            acks.flow.now = start + Span::from_secs(seconds);
            assert_eq!(acks.cubic.target(acks.epoch(), &acks.flow), target, "after {seconds} s");
        }
    }

    #[test]
    fn the_target_is_that_of_one_round_trip_ahead() {
        let mut acks = Acks::after_loss(100);
        acks.sample(Span::from_millis(500));
        acks.ack(1);
        acks.wait(Span::from_millis(500));
        assert_eq!(acks.cubic.target(acks.epoch(), &acks.flow), 87);
    }

    #[test]
    fn a_flow_with_a_long_rtt_follows_the_curve() {
        let mut acks = Acks::after_loss(1_000);
        let (start, k) = (acks.flow.now, (300.0f64 / 0.4004).cbrt());
        acks.sample(Span::from_millis(200));
        acks.round_trips(60, Span::from_millis(200));
        let t = acks.flow.now.since(start).as_secs_f64() - k;
        let curve = 1_000.0 + 0.4004 * t.powi(3);
        assert!((f64::from(acks.window.cwnd.0) / curve - 1.0).abs() < 0.01, "{} {curve}", acks.window.cwnd);
    }

    #[test]
    fn a_second_loss_below_w_max_lowers_it_further() {
        let mut acks = Acks::after_loss(100);
        acks.window.cwnd = Segs(90);
        acks.lose();
        assert_eq!((acks.cubic.w_max, acks.window.cwnd), (76, Segs(63)));
    }

    #[test]
    fn without_fast_convergence_the_plateau_is_the_window_at_the_loss() {
        let mut acks = Acks::new(100, &[("fast_convergence", 0)]);
        acks.lose();
        acks.window.cwnd = Segs(90);
        acks.lose();
        assert_eq!((acks.cubic.w_max, acks.window.cwnd), (90, Segs(63)));
    }

    #[test]
    fn a_cut_leaves_two_segments() {
        for (cwnd, ssthresh) in [(1, 2), (2, 2), (3, 2), (10, 7), (28, 19)] {
            assert_eq!(Acks::after_loss(cwnd).window.ssthresh, Segs(ssthresh));
        }
    }

    #[test]
    fn with_a_short_rtt_growth_is_that_of_reno_a_segment_per_eighteen_acknowledged() {
        let mut acks = Acks::after_loss(15);
        assert_eq!((acks.window.cwnd, acks.cubic.tuning.reno_pace(10)), (Segs(10), 18));
        acks.round_trips(100, Span::from_millis(10));
        // 8/15 of a segment per round trip.
        assert!((61..=65).contains(&acks.window.cwnd.0), "{}", acks.window.cwnd);
        let mut alone = Acks::new(15, &[("tcp_friendliness", 0)]);
        alone.lose();
        alone.round_trips(100, Span::from_millis(10));
        assert!(alone.window.cwnd.0 <= 16, "{}", alone.window.cwnd);
    }

    #[test]
    fn before_any_loss_the_window_grows_by_a_twentieth_per_round_trip() {
        let mut acks = Acks::new(100, &[]);
        acks.window.ssthresh = Segs(100);
        acks.round_trips(1, Span::from_millis(10));
        assert_eq!(acks.window.cwnd, Segs(105));
    }

    #[test]
    fn growth_is_never_faster_than_a_segment_per_two_acknowledged() {
        let mut acks = Acks::after_loss(20_000);
        (acks.window.cwnd, acks.window.ssthresh) = (Segs(100), Segs(100));
        acks.round_trips(2, Span::from_secs(5));
        assert_eq!(acks.window.cwnd, Segs(225));
    }

    /// packetdrill's bulk transfer at 166 kbit/s from the end of slow start on: one ACK for two segments each 100 ms.
    #[test]
    fn after_slow_start_at_48_the_window_grows_as_packetdrill_expects_of_the_kernel() {
        let mut acks = Acks::new(10, &[("hystart", 0), ("initial_ssthresh", 48)]);
        let mut windows = Vec::new();
        for ack in 1..=63 {
            acks.wait(Span::from_millis(100));
            acks.sample(Span::from_millis(100 * ack));
            acks.ack(2);
            windows.push(acks.window.cwnd.0);
        }
        let at = |ack: usize| windows[ack - 1];
        assert_eq!([5, 10, 15, 19].map(at), [20, 30, 40, 48]);
        assert_eq!([30, 40, 50, 60].map(at), [49, 50, 52, 58]);
        assert_eq!([61, 62, 63].map(at), [59, 60, 61], "a segment per ACK from there");
    }

    #[test]
    fn idle_time_does_not_count_on_the_curve() {
        let grown = |idle: Span| {
            let mut acks = Acks::after_loss(1_000);
            acks.round_trips(10, Span::from_millis(100));
            acks.flow.last_sent = acks.flow.now;
            acks.wait(idle);
            acks.cubic.cwnd_event(CwndEvent::TxStart, &acks.flow, &mut acks.window);
            acks.round_trips(10, Span::from_millis(100));
            acks.window.cwnd
        };
        assert_eq!(grown(Span::from_secs(30)), grown(Span::ZERO));
    }

    #[test]
    fn idle_time_before_the_epoch_does_not_move_it_into_the_future() {
        let mut acks = Acks::after_loss(100);
        acks.ack(1);
        acks.flow.last_sent = SimTime::ZERO;
        acks.cubic.cwnd_event(CwndEvent::TxStart, &acks.flow, &mut acks.window);
        assert_eq!(acks.epoch().start, acks.flow.jiffies());
    }

    #[test]
    fn with_an_unchanged_window_growth_is_computed_again_after_a_thirty_second_of_a_second() {
        let mut acks = Acks::after_loss(1_000);
        acks.ack(1);
        let first = acks.cubic.cnt;
        acks.wait(Span::from_millis(31));
        acks.ack(1);
        assert_eq!(acks.cubic.cnt, first);
        acks.wait(Span::from_millis(1));
        acks.ack(1);
        assert_ne!(acks.cubic.cnt, first);
    }

    #[test]
    fn rtts_of_the_first_second_after_a_reduction_are_ignored() {
        let mut acks = Acks::after_loss(100);
        acks.ack(1);
        acks.wait(Span::from_millis(999));
        acks.sample(Span::from_millis(10));
        assert_eq!(acks.cubic.delay_min_us, None);
        acks.wait(Span::from_millis(1));
        acks.sample(Span::from_millis(20));
        assert_eq!(acks.cubic.delay_min_us, Some(20_000));
    }

    #[test]
    fn a_timeout_resets_the_plateau_and_restarts_hystart() {
        let mut acks = Acks::new(20, &[]);
        for _ in 0..10 {
            acks.sample(Span::from_millis(100));
        }
        for _ in 0..9 {
            acks.sample(Span::from_millis(200));
        }
        let exit = |acks: &Acks| acks.cubic.hystart.as_ref().and_then(HyStart::exit);
        assert_eq!(exit(&acks), None, "the round began with the smaller RTT");
        (acks.flow.snd_una, acks.flow.snd_nxt) = (1, 100);
        for _ in 0..9 {
            acks.sample(Span::from_millis(200));
        }
        assert!(exit(&acks).is_some());
        acks.window.ssthresh = acks.cubic.ssthresh(&acks.flow, &acks.window);
        acks.cubic.set_state(CaState::Loss, &acks.flow, &mut acks.window);
        assert_eq!((acks.cubic.w_max, acks.cubic.delay_min_us, exit(&acks)), (0, None, None));
        assert_eq!(acks.window.ssthresh, Segs(14));
    }

    #[test]
    fn a_flow_not_limited_by_its_window_does_not_grow() {
        let mut acks = Acks::new(10, &[]);
        acks.flow.cwnd_limited = false;
        acks.ack(10);
        assert_eq!(acks.window.cwnd, Segs(10));
    }

    #[test]
    fn cube_roots_are_exact_and_rounded_down() {
        for root in [1u64, 2, 3, 10, 4_317, 100_000, 2_642_244] {
            let cube = root * root * root;
            assert_eq!([cube - 1, cube, cube + 1].map(cube_root), [root - 1, root, root], "{root}");
        }
        assert_eq!([0, u64::MAX].map(cube_root), [0, 2_642_245]);
    }
}
