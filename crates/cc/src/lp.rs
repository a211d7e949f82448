//! TCP-LP (low priority): for background transfers; yields to other traffic as soon as the one-way delay indicates a
//! queue.
//!
//! owd = TSval − TSecr of an ACK: when data arrived minus when it was sent, by the clocks of two hosts
//! sowd = 7/8·sowd + 1/8·owd;  threshold = owd_min + 15 % of (owd_max − owd_min), owd_max without its highest outlier
//! sowd above the threshold:  cwnd is halved, or set to 1 if it was already reduced within the last inference time
//!                            (3 round trips); owd_min and owd_max restart from sowd and 2·sowd
//! growth: Reno's, suspended during the inference time
//!
//! The clock rate of the peer is estimated from its timestamps, with a weight of 1/64 for each new ratio. Without
//! timestamps it behaves like Reno. Sources: [lp, Kuzmanovic and Knightly 2003], [linux-6.12 tcp_lp.c].
//!
//! **In current Linux, TCP-LP nearly always behaves like Reno, and so it does here.** With `net.ipv4.tcp_timestamps` =
//! 1, the peer adds a random offset to its timestamps, which dominates owd. The kernel stores 8·sowd in 32 bits; it
//! therefore wraps, and in seven of eight connections sowd stays below owd_min, so that no delay exceeds the
//! threshold. `timestamp_offset 0` corresponds to `tcp_timestamps` = 2, with which TCP-LP works as designed.
//!
//! Deviations: the control draws the offset itself; the timestamps on the wire do not have it.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::flag;
use crate::random::RandomNumbers;
use crate::{AckSample, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno};

/// Ticks per second of the timestamp option. [linux-6.12 tcp.h TCP_TS_HZ]
const TIMESTAMP_HZ: u64 = 1_000;
/// Fraction bits of the estimated clock rate. [linux-6.12 tcp_lp.c tcp_lp_remote_hz_estimator]
const CLOCK_BITS: u32 = 6;
/// Fraction bits of the smoothed delay. [linux-6.12 tcp_lp.c tcp_lp_rtt_sample]
const SMOOTH_BITS: u32 = 3;
/// Threshold, as a share of the range of the delay, in percent. [linux-6.12 tcp_lp.c tcp_lp_pkts_acked]
const THRESHOLD: u64 = 15;
/// Length of the inference time in round trips. [linux-6.12 tcp_lp.c tcp_lp_pkts_acked]
const INFERENCE_ROUNDS: u64 = 3;

/// The kernel module has no parameters; this one represents a sysctl.
const PARAMETERS: &[Parameter] = &[flag(
    "timestamp_offset",
    1,
    "the timestamps of the peer have a random offset (net.ipv4.tcp_timestamps 1, not 2)",
)];

/// The registry row.
pub const ROW: Row = Row {
    name: "lp",
    summary: "yields to other traffic, by the one-way delay (low priority)",
    source: include_str!("lp.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let offset = given.get("timestamp_offset", PARAMETERS)? != 0;
    Ok(Prototype::window(Lp { has_offset: offset, ..Lp::default() }))
}

/// State of TCP-LP; times in ticks of the timestamp option.
#[derive(Clone, Debug, Default)]
pub struct Lp {
    has_offset: bool,
    /// Offset of the peer's timestamps.
    offset: u32,
    clock: RemoteClock,
    delay: Delay,
    /// The inference time: three round trips.
    inference: u64,
    /// When the window was last reduced.
    last_drop: Option<u64>,
    is_within_inference: bool,
}

/// Rate of the peer's timestamp clock.
#[derive(Clone, Debug, Default)]
struct RemoteClock {
    /// The last TSval and TSecr.
    reference: Option<(u32, u32)>,
    /// Ticks per second, in 1/64.
    hz: u64,
}

/// One-way delay.
#[derive(Clone, Debug)]
struct Delay {
    min: u32,
    max: u32,
    /// A new maximum, until a second sample confirms it.
    reserve: u32,
    /// Times eight in 32 bits, so the upper three bits are lost; 0 before the first sample.
    smoothed: u32,
}

impl Default for Delay {
    fn default() -> Self {
        Delay { min: u32::MAX, max: 0, reserve: 0, smoothed: 0 }
    }
}

impl Hooks for Lp {
    fn init(&mut self, _flow: &Flow, _window: &mut Window, draws: &mut dyn Rng) {
        let offset = if self.has_offset { RandomNumbers::from(draws).any() } else { 0 };
        *self = Lp { has_offset: self.has_offset, offset, ..Lp::default() };
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, window: &mut Window) {
        let Some((value, echo)) = ticks(flow) else { return };
        if sample.rtt.is_some_and(|rtt| !rtt.is_zero())
            && let Some(delay) =
                self.clock.one_way_delay((value as u32).wrapping_add(self.offset), echo as u32)
        {
            self.delay.take(delay);
        }
        let now = flow.now.as_micros() / (1_000_000 / TIMESTAMP_HZ);
        if now > echo {
            self.inference = INFERENCE_ROUNDS * (now - echo);
        }
        self.is_within_inference = self.last_drop.is_some_and(|last| now - last < self.inference);
        if self.delay.is_within_threshold() {
            return;
        }
        self.delay.start_anew();
        let halved = (window.cwnd.0 / 2).max(1);
        window.cwnd = Segs(if self.is_within_inference { 1 } else { halved });
        self.last_drop = Some(now);
    }
}

impl WindowControl for Lp {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !self.is_within_inference {
            reno::cong_avoid(acked, flow, window);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        reno::ssthresh(window)
    }
}

/// TSval and TSecr of the ACK, in ticks.
fn ticks(flow: &Flow) -> Option<(u64, u64)> {
    let ticks = |micros: u64| micros / (1_000_000 / TIMESTAMP_HZ);
    flow.timestamps.map(|stamps| (ticks(stamps.value.as_micros()), ticks(stamps.echo.as_micros())))
}

impl RemoteClock {
    fn one_way_delay(&mut self, value: u32, echo: u32) -> Option<u32> {
        self.measure(value, echo);
        let hz = self.hz >> CLOCK_BITS;
        if hz == 0 {
            return None;
        }
        // An integer division, as in the kernel: an estimate just above the nominal rate gives 0.
        let delay = value.wrapping_mul((TIMESTAMP_HZ / hz) as u32).wrapping_sub(echo);
        Some(delay).filter(|&delay| delay > 0)
    }

    fn measure(&mut self, value: u32, echo: u32) {
        let Some((old_value, old_echo)) = self.reference.replace((value, echo)) else { return };
        if value == old_value || echo == old_echo {
            return;
        }
        let passed = u64::from(value.wrapping_sub(old_value));
        let rate = TIMESTAMP_HZ * passed / u64::from(echo.wrapping_sub(old_echo));
        self.hz = match self.hz {
            0 => rate << CLOCK_BITS,
            hz => hz - (hz >> CLOCK_BITS) + rate,
        };
    }
}

impl Delay {
    fn take(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.reserve {
            self.max = if self.reserve == 0 { delay } else { self.reserve };
            self.reserve = delay;
        } else if delay > self.max {
            self.max = delay;
        }
        self.smoothed = match self.smoothed {
            0 => delay << SMOOTH_BITS,
            smoothed => smoothed.wrapping_add(delay.wrapping_sub(smoothed >> SMOOTH_BITS)),
        };
    }

    fn is_within_threshold(&self) -> bool {
        let range = self.max.saturating_sub(self.min);
        self.smoothed >> SMOOTH_BITS <= self.min.saturating_add((THRESHOLD * u64::from(range) / 100) as u32)
    }

    fn start_anew(&mut self) {
        self.min = self.smoothed >> SMOOTH_BITS;
        self.max = self.smoothed >> (SMOOTH_BITS - 1);
        self.reserve = self.max;
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::{SimTime, Span};

    use super::*;
    use crate::flow::Timestamps;
    use crate::test_acks::Acks;

    const RTT: Span = Span::from_millis(100);

    /// A window of ACKs of data that was `delay` ms on its way.
    fn round(acks: &mut Acks<Lp>, delay: u64) {
        // A sudden change of the delay looks like a faster clock, which these tests are not about.
        acks.control.clock = RemoteClock { reference: None, hz: TIMESTAMP_HZ << CLOCK_BITS };
        let segments = acks.cwnd();
        for _ in 0..segments {
            acks.flow.now += RTT / u64::from(segments);
            let sent = acks.flow.now - RTT;
            let value = sent + Span::from_millis(delay);
            let whole = |time: SimTime| SimTime::from_nanos(time.as_nanos() / 1_000_000 * 1_000_000);
            acks.flow.timestamps = Some(Timestamps { value: whole(value), echo: whole(sent) });
            acks.ack(1, RTT);
        }
    }

    fn seasoned() -> Acks<Lp> {
        let mut acks = Acks::in_avoidance(40, Lp::default());
        for delay in [50, 50, 60, 70, 50, 50] {
            round(&mut acks, delay);
            acks.window.cwnd = Segs(40);
            acks.control.last_drop = None;
        }
        acks.control.delay = Delay { min: 50, max: 90, reserve: 90, smoothed: 50 << SMOOTH_BITS };
        acks
    }

    #[test]
    fn it_grows_like_reno_without_a_queue() {
        let mut acks = seasoned();
        round(&mut acks, 50);
        assert_eq!(acks.cwnd(), 41);
    }

    #[test]
    fn a_competing_flow_halves_the_window_and_within_three_round_trips_reduces_it_to_one() {
        let mut acks = seasoned();
        let crowd = Delay { min: 10, max: 20, reserve: 20, smoothed: 80 << SMOOTH_BITS };
        acks.control.delay = crowd.clone();
        round(&mut acks, 80);
        assert_eq!(acks.cwnd(), 20);
        acks.control.delay = crowd;
        round(&mut acks, 80);
        assert_eq!(acks.cwnd(), 1);
    }

    #[test]
    fn with_an_offset_of_the_peers_clock_beyond_29_bits_no_delay_exceeds_the_threshold() {
        let crowded = |offset| {
            let mut acks = Acks::in_avoidance(40, Lp { offset, ..Lp::default() });
            acks.control.offset = offset;
            for delay in [50, 50, 50, 90, 90, 90, 90] {
                round(&mut acks, delay);
            }
            acks.cwnd()
        };
        assert!(crowded(0) < 40);
        assert_eq!(crowded(1 << 29), 47);
    }

    #[test]
    fn without_timestamps_it_behaves_like_reno() {
        let mut acks = Acks::in_avoidance(10, Lp::default());
        assert_eq!(acks.rounds(2, RTT), [11, 12]);
    }

    #[test]
    fn the_estimate_for_a_clock_of_equal_rate_is_that_rate() {
        let mut clock = RemoteClock::default();
        (1..100u32).for_each(|i| clock.measure(7_000 + 10 * i, 10 * i));
        assert_eq!(clock.hz >> CLOCK_BITS, TIMESTAMP_HZ);
    }

    #[test]
    fn a_new_maximum_of_the_delay_counts_once_a_second_sample_confirms_it() {
        let mut delay = Delay::default();
        [10, 20, 90, 30].into_iter().for_each(|seen| delay.take(seen));
        assert_eq!((delay.min, delay.max, delay.reserve), (10, 30, 90));
    }
}
