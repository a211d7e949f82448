//! HyStart ends slow start before the bottleneck's buffer overflows. Two detectors examine each round trip.
//!
//! ACK train: ACKs at most 2 ms apart form a train. When the train has lasted longer than min RTT + ack_delay (half of
//!            that if the flow is not paced), the window fills the path.
//! delay:     when the minimum of at least 9 RTTs of a round exceeds min RTT + clamp(min RTT / 8, 4 ms, 16 ms),
//!            a queue is building up.
//! ack_delay = min(1 ms, time to send four skbs of maximum size at the pacing rate), for receivers that batch ACKs.
//!
//! On exit ssthresh = cwnd. A round ends when data that was sent after its start is acknowledged. The detectors need a
//! window of 16 segments; rounds are counted at any window. After an exit the detectors are off until a timeout.
//! Sources: [hystart, Ha and Rhee 2011], [linux-6.12 tcp_cubic.c hystart_update].
//!
//! Rounds begin as in stable 6.12 kernels with the fix of early 2025: at any window, and before the RTT of the same
//! ACK is examined. From 5.16 until that fix, rounds began only above the low window; before 5.16, after the ACK was
//! examined ([`RoundStart`]). The kernel that we compare with has the fix: at 10 Mbit/s and 0.2 ms, slow start ends at
//! 21 segments.
//!
//! Before 5.6 the clock counted whole milliseconds ([`Clock`]), and a train of half the min RTT, rounded down, sufficed
//! for paced flows, too. Below a min RTT of 2 ms this half is 0, so slow start ends at the first ACK that comes in a
//! later millisecond than the round began. The minimum of a round was that of its first eight RTTs.
//! [linux-5.4 tcp_cubic.c hystart_update]

use tailback_units::{Segs, SimTime};

use crate::{Flow, GSO_MAX_SIZE, PacingStatus, Window};

/// RTT samples of a round that the delay detector needs before it decides. [linux-6.12 tcp_cubic.c HYSTART_MIN_SAMPLES]
const MIN_SAMPLES: u32 = 8;
/// Minimum delay threshold in µs. [linux-6.12 tcp_cubic.c HYSTART_DELAY_MIN]
const DELAY_MIN_US: u64 = 4_000;
/// Maximum delay threshold in µs. [linux-6.12 tcp_cubic.c HYSTART_DELAY_MAX]
const DELAY_MAX_US: u64 = 16_000;
/// Maximum allowance for batched ACKs in µs. [linux-6.12 tcp_cubic.c hystart_ack_delay]
const ACK_DELAY_MAX_US: u64 = 1_000;
/// An eighth of a millisecond in µs, the unit of RTTs before 5.6. [linux-5.4 tcp_cubic.c bictcp_acked]
const EIGHTH_US: u64 = 125;
/// skbs of maximum size that a receiver may acknowledge at once. [linux-6.12 tcp_cubic.c hystart_ack_delay]
const BATCHED_SKBS: u64 = 4;

/// Which detectors are on, and from which window.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The ACK-train detector is on.
    pub ack_train: bool,
    /// The delay detector is on.
    pub delay: bool,
    /// The detectors are off below this window.
    pub low_window: Segs,
    /// Largest gap between two ACKs of a train, in µs.
    pub ack_delta_us: u64,
    /// When a round begins.
    pub rounds: RoundStart,
    /// The clock of the detectors.
    pub clock: Clock,
}

/// The clock of the detectors, and what came with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Whole milliseconds; RTTs in eighths of one. A round keeps the minimum of its first eight RTTs.
    /// [linux-5.4 tcp_cubic.c bictcp_clock]
    Milliseconds,
    /// Microseconds. [linux-6.12 tcp_cubic.c bictcp_clock_us]
    Microseconds,
}

impl Clock {
    /// Time from `from` to `to` in µs, as this clock counts.
    fn micros_between(self, from: SimTime, to: SimTime) -> u64 {
        match self {
            Clock::Milliseconds => (to.as_micros() / 1_000).saturating_sub(from.as_micros() / 1_000) * 1_000,
            Clock::Microseconds => to.as_micros().saturating_sub(from.as_micros()),
        }
    }

    /// Duration of a train that fills the path, in µs.
    ///
    /// In microseconds it is min RTT + ack_delay for a paced flow, since pacing may spread the data over half an RTT,
    /// and half of that for a flow that sends in bursts. In milliseconds it is half of min RTT for both.
    fn pipe_us(self, min_rtt_us: u64, flow: &Flow, window: &Window) -> u64 {
        let whole = min_rtt_us + ack_delay_us(window);
        match (self, flow.pacing_status) {
            (Clock::Milliseconds, _) => min_rtt_us / 2_000 * 1_000,
            (Clock::Microseconds, PacingStatus::None) => whole / 2,
            (Clock::Microseconds, _) => whole,
        }
    }

    /// An RTT in µs, as this clock counts.
    fn rounded_us(self, rtt_us: u64) -> u64 {
        match self {
            Clock::Milliseconds => (rtt_us / EIGHTH_US).max(1) * EIGHTH_US,
            Clock::Microseconds => rtt_us,
        }
    }
}

/// When the start of a round is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundStart {
    /// After the ACK is examined. [linux-5.10 tcp_cubic.c bictcp_cong_avoid]
    AfterDetection,
    /// Before the ACK is examined, above the low window. [linux-5.16 tcp_cubic.c hystart_update]
    FromLowWindow,
    /// Before the ACK is examined, at any window. [linux-6.12 tcp_cubic.c hystart_update]
    Always,
}

/// Why slow start ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The ACK train was long enough to fill the path.
    AckTrain,
    /// The RTT rose.
    Delay,
}

/// The detectors of one flow.
#[derive(Clone, Debug)]
pub struct HyStart {
    settings: Settings,
    exit: Option<Exit>,
    round: Round,
}

#[derive(Clone, Debug)]
struct Round {
    started: SimTime,
    last_ack: SimTime,
    ends_after: u64,
    samples: u32,
    min_rtt_us: u64,
}

impl Round {
    fn starting(flow: &Flow) -> Self {
        Round {
            started: flow.now,
            last_ack: flow.now,
            ends_after: flow.snd_nxt,
            samples: 0,
            min_rtt_us: u64::MAX,
        }
    }
}

impl HyStart {
    /// Starts the detectors at `flow.now`.
    pub fn new(settings: Settings, flow: &Flow) -> Self {
        HyStart { settings, exit: None, round: Round::starting(flow) }
    }

    /// Restarts the detectors, after a timeout.
    pub fn rearm(&mut self, flow: &Flow) {
        self.exit = None;
        self.round = Round::starting(flow);
    }

    /// Why slow start ended, if it did.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Examines an ACK with its RTT in µs; `min_rtt_us` is the minimum so far, this RTT included.
    pub fn take(&mut self, rtt_us: u64, min_rtt_us: u64, flow: &Flow, window: &mut Window) {
        if self.exit.is_some() || !window.in_slow_start() {
            return;
        }
        let rounds = self.settings.rounds;
        if rounds == RoundStart::Always {
            self.begin_round(flow);
        }
        if window.cwnd >= self.settings.low_window {
            if rounds == RoundStart::FromLowWindow {
                self.begin_round(flow);
            }
            self.judge(rtt_us, min_rtt_us, flow, window);
        }
        if rounds == RoundStart::AfterDetection {
            self.begin_round(flow);
        }
    }

    /// Begins a round if data that was unsent at the start of the last one is acknowledged.
    fn begin_round(&mut self, flow: &Flow) {
        if flow.snd_una > self.round.ends_after {
            self.round = Round::starting(flow);
        }
    }

    fn judge(&mut self, rtt_us: u64, min_rtt_us: u64, flow: &Flow, window: &mut Window) {
        let clock = self.settings.clock;
        let train = self.settings.ack_train
            && self.train_fills_the_pipe(clock.pipe_us(min_rtt_us, flow, window), flow);
        let delay = self.settings.delay
            && self.delay_has_grown(clock.rounded_us(rtt_us), clock.rounded_us(min_rtt_us));
        self.exit = if train { Some(Exit::AckTrain) } else { delay.then_some(Exit::Delay) };
        if self.exit.is_some() {
            window.ssthresh = window.cwnd;
        }
    }

    fn train_fills_the_pipe(&mut self, pipe_us: u64, flow: &Flow) -> bool {
        let clock = self.settings.clock;
        // After a gap `last_ack` is no longer updated, so the train has ended for this round.
        if clock.micros_between(self.round.last_ack, flow.now) > self.settings.ack_delta_us {
            return false;
        }
        self.round.last_ack = flow.now;
        clock.micros_between(self.round.started, flow.now) > pipe_us
    }

    fn delay_has_grown(&mut self, rtt_us: u64, min_rtt_us: u64) -> bool {
        let enough = self.round.samples == MIN_SAMPLES;
        if !enough || self.settings.clock == Clock::Microseconds {
            self.round.min_rtt_us = self.round.min_rtt_us.min(rtt_us);
        }
        self.round.samples += u32::from(!enough);
        enough && self.round.min_rtt_us > min_rtt_us + (min_rtt_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }
}

/// How much longer a train may appear because the receiver batches ACKs.
fn ack_delay_us(window: &Window) -> u64 {
    let batch = u64::from(GSO_MAX_SIZE) * BATCHED_SKBS * 1_000_000;
    match window.pacing_rate.bytes_per_sec() {
        0 => 0,
        rate => (batch / rate).min(ACK_DELAY_MAX_US),
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::{Rate, Span};

    use super::*;

    const SETTINGS: Settings = Settings {
        ack_train: true,
        delay: true,
        low_window: Segs(16),
        ack_delta_us: 2_000,
        rounds: RoundStart::Always,
        clock: Clock::Microseconds,
    };
    const OLD: Settings =
        Settings { rounds: RoundStart::AfterDetection, clock: Clock::Milliseconds, ..SETTINGS };
    const MSS: u64 = 1000;

    /// A flow in slow start whose ACKs, of `per_ack` segments each, arrive at given times.
    struct SlowStart {
        flow: Flow,
        window: Window,
        hystart: HyStart,
        min_rtt_us: u64,
    }

    impl SlowStart {
        /// Ten segments have just been sent.
        fn new(settings: Settings) -> Self {
            let mut flow = Flow::established(MSS as u32, Span::from_millis(1));
            let hystart = HyStart::new(settings, &flow);
            flow.snd_nxt = 10 * MSS;
            let window = Window::initial(Segs(10));
            SlowStart { flow, window, hystart, min_rtt_us: u64::MAX }
        }

        fn ack(&mut self, at_us: u64, segments: u32, rtt_us: u64) {
            self.flow.now = SimTime::from_nanos(at_us * 1_000);
            self.flow.snd_una += u64::from(segments) * MSS;
            self.min_rtt_us = self.min_rtt_us.min(rtt_us);
            self.hystart.take(rtt_us, self.min_rtt_us, &self.flow, &mut self.window);
            if self.window.in_slow_start() {
                self.window.slow_start(Segs(segments));
            }
            self.flow.snd_nxt = self.flow.snd_una + u64::from(self.window.cwnd.0) * MSS;
        }

        /// After `rounds` round trips, in each of which all ACKs arrive at once.
        fn after(rounds: u64, settings: Settings, rtt_us: u64) -> Self {
            let mut start = SlowStart::new(settings);
            for round in 1..=rounds {
                for _ in 0..start.window.cwnd.0 / 2 {
                    start.ack(round * rtt_us, 2, rtt_us);
                }
            }
            start
        }
    }

    #[test]
    fn a_train_longer_than_half_the_pipe_ends_slow_start_of_an_unpaced_flow() {
        let mut start = SlowStart::after(2, SETTINGS, 100_000);
        start.window.pacing_rate = Rate::from_bytes_per_sec(1_000_000);
        let mut at = 300_000;
        while start.hystart.exit().is_none() {
            start.ack(at, 1, 100_000);
            at += 2_000;
        }
        // (100 + 1) / 2 ms of train, which began with the first ACK of the third round.
        assert_eq!(start.hystart.exit(), Some(Exit::AckTrain));
        assert_eq!(start.flow.now.as_micros() - 300_000, 52_000);
        assert_eq!(start.window.ssthresh, start.window.cwnd);
    }

    #[test]
    fn a_paced_flow_waits_for_a_train_of_the_whole_pipe() {
        let mut start = SlowStart::after(2, SETTINGS, 20_000);
        start.flow.pacing_status = PacingStatus::Fq;
        start.window.pacing_rate = Rate::from_bytes_per_sec(1_000_000);
        let mut at = 60_000;
        while start.hystart.exit().is_none() {
            start.ack(at, 1, 20_000);
            at += 1_000;
        }
        assert_eq!(start.flow.now.as_micros() - 60_000, 22_000);
    }

    #[test]
    fn a_gap_of_more_than_two_milliseconds_ends_the_train_for_the_round() {
        let mut start = SlowStart::after(1, SETTINGS, 10_000);
        for i in 0..9 {
            start.ack(20_000 + 2_001 * i, 2, 10_000);
        }
        assert_eq!(start.hystart.exit(), None);
        assert_eq!(start.window.cwnd, Segs(38));
    }

    #[test]
    fn the_ninth_ack_at_a_longer_delay_ends_slow_start() {
        let mut start = SlowStart::after(1, SETTINGS, 200_000);
        let mut windows = Vec::new();
        for i in 0..9 {
            start.ack(440_000 + 3_000 * i, 2, 240_000);
            windows.push(start.window.cwnd.0);
        }
        assert_eq!(windows, [22, 24, 26, 28, 30, 32, 34, 36, 36]);
        assert_eq!(start.window.ssthresh, Segs(36));
        assert_eq!(start.hystart.exit(), Some(Exit::Delay));
    }

    #[test]
    fn an_rtt_less_than_four_milliseconds_above_the_minimum_is_not_taken_for_a_queue() {
        let mut start = SlowStart::after(1, SETTINGS, 10_000);
        for i in 0..40 {
            start.ack(30_000 + 2_500 * i, 2, 13_900);
        }
        assert_eq!(start.hystart.exit(), None);
    }

    #[test]
    fn the_delay_threshold_never_exceeds_sixteen_milliseconds() {
        for (rtt_us, exit) in [(416_000, None), (416_001, Some(Exit::Delay))] {
            let mut start = SlowStart::after(1, SETTINGS, 400_000);
            for i in 0..9 {
                start.ack(900_000 + 3_000 * i, 2, rtt_us);
            }
            assert_eq!(start.hystart.exit(), exit, "{rtt_us}");
        }
    }

    #[test]
    fn a_minimum_that_falls_does_not_end_slow_start() {
        let mut start = SlowStart::after(1, SETTINGS, 200_000);
        for i in 0..10 {
            start.ack(440_000 + 3_000 * i, 2, 200_000 - 10_000 * i);
        }
        assert_eq!(start.hystart.exit(), None);
    }

    #[test]
    fn slow_start_does_not_end_below_sixteen_segments() {
        let mut start = SlowStart::new(SETTINGS);
        for i in 0..6 {
            start.ack(100_000 + 100_000 * i, 1, 100_000 + 100_000 * i);
        }
        assert_eq!((start.hystart.exit(), start.window.cwnd), (None, Segs(16)));
    }

    /// The kernel leaves slow start at 21 segments at 10 Mbit/s and at 16 segments at 100 Mbit/s over 0.2 ms, one ACK
    /// per segment: rounds begin below the low window, trains are not continued below it.
    #[test]
    fn slow_start_over_a_short_path_ends_where_the_kernel_ends_it() {
        for (gap_us, ssthresh) in [(1_211, 21), (121, 16)] {
            let mut start = SlowStart::new(SETTINGS);
            start.window.pacing_rate = Rate::from_bytes_per_sec(100_000_000);
            for i in 0..30 {
                start.ack(200 + gap_us * i, 1, 200 + gap_us * i);
            }
            assert_eq!(start.window.ssthresh, Segs(ssthresh), "{gap_us}");
        }
    }

    #[test]
    fn either_detector_can_be_switched_off() {
        let mut start = SlowStart::after(1, Settings { delay: false, ..SETTINGS }, 200_000);
        for i in 0..20 {
            start.ack(440_000 + 3_000 * i, 2, 300_000);
        }
        assert_eq!(start.hystart.exit(), None);
        let mut start = SlowStart::after(1, Settings { ack_train: false, ..SETTINGS }, 10_000);
        for i in 0..30 {
            start.ack(20_000 + 1_000 * i, 1, 10_000);
        }
        assert_eq!(start.hystart.exit(), None);
    }

    #[test]
    fn before_5_6_a_train_of_half_the_round_trip_ends_slow_start_of_a_paced_flow_too() {
        for status in [PacingStatus::None, PacingStatus::Fq] {
            let mut start = SlowStart::after(2, OLD, 20_000);
            start.flow.pacing_status = status;
            start.window.pacing_rate = Rate::from_bytes_per_sec(1_000_000);
            let mut at = 60_000;
            while start.hystart.exit().is_none() {
                start.ack(at, 1, 20_000);
                at += 1_000;
            }
            assert_eq!(start.flow.now.as_micros() - 60_000, 11_000, "{status:?}");
        }
    }

    /// It is examined with the round before it, which began two milliseconds ago.
    #[test]
    fn before_5_6_the_first_ack_of_a_round_ends_slow_start_over_a_path_shorter_than_two_milliseconds() {
        for (settings, exit) in
            [(OLD, Some(Exit::AckTrain)), (Settings { clock: Clock::Microseconds, ..OLD }, None)]
        {
            let mut start = SlowStart::after(1, settings, 1_900);
            start.window.pacing_rate = Rate::from_bytes_per_sec(1_000_000);
            start.flow.pacing_status = PacingStatus::Fq;
            start.ack(3_800, 1, 1_900);
            assert_eq!(start.hystart.exit(), exit);
        }
    }

    #[test]
    fn before_5_6_only_the_first_eight_round_trip_times_of_a_round_count() {
        for (clock, exit) in [(Clock::Milliseconds, Some(Exit::Delay)), (Clock::Microseconds, None)] {
            let mut start = SlowStart::after(1, Settings { clock, ..OLD }, 200_000);
            for i in 0..9 {
                start.ack(440_000 + 3_000 * i, 2, 240_000);
            }
            start.ack(467_000, 2, 200_000);
            assert_eq!(start.hystart.exit(), exit);
        }
    }

    #[test]
    fn rearming_restarts_the_detection() {
        let mut start = SlowStart::after(1, SETTINGS, 200_000);
        for i in 0..9 {
            start.ack(440_000 + 3_000 * i, 2, 240_000);
        }
        start.hystart.rearm(&start.flow);
        assert_eq!(start.hystart.exit(), None);
    }
}
