//! Hybla: with a long RTT, cwnd grows as fast in time as that of a Reno flow with an RTT of 25 ms.
//!
//! ρ = max(srtt / 25 ms, 1), in eighths, computed again whenever srtt reaches a new minimum
//! start:      cwnd = ⌊ρ⌋, so 1 below 50 ms; clamp 65535
//! slow start: cwnd += 2^ρ − 1 per ACK, up to ssthresh
//! avoidance:  cwnd += ρ²/cwnd per ACK
//! cut:        Reno's
//!
//! Increments are in 1/128 segment and accumulate. Outside state Open it behaves like Reno.
//! Sources: [hybla, Caini and Firrincieli 2004], [linux-6.12 tcp_hybla.c hybla_cong_avoid].
//!
//! Deviations: none known. As in Linux it counts ACKs, not segments: with ρ = 1 and delayed ACKs, slow start grows cwnd
//! by half per round trip.

use rand_core::Rng;
use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::number;
use crate::{CaState, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno};

/// 2^(i/8) in 1/128. [linux-6.12 tcp_hybla.c hybla_fraction]
const EIGHTH_POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Fraction bits of an increment. [linux-6.12 tcp_hybla.c]
const INCREMENT_BITS: u32 = 7;
/// One segment as an increment.
const ONE: u64 = 1 << INCREMENT_BITS;
/// Largest whole ρ in the exponent of slow start. [linux-6.12 tcp_hybla.c hybla_cong_avoid]
const MAX_EXPONENT: u64 = 16;
/// Largest window. [linux-6.12 tcp_hybla.c hybla_init]
const CLAMP: Segs = Segs(65_535);

/// Module parameters with the kernel's defaults. [linux-6.12 tcp_hybla.c module_param]
const PARAMETERS: &[Parameter] = &[number("rtt0", 25, 1, 100_000, "RTT of the equivalent Reno flow, in ms")];

/// The registry row.
pub const ROW: Row = Row {
    name: "hybla",
    summary: "grows as fast as Reno with an RTT of 25 ms, however long the RTT is",
    source: include_str!("hybla.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(Hybla::new(given.get("rtt0", PARAMETERS)?)))
}

/// State of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    /// In µs.
    rtt0_us: u64,
    /// ρ in eighths.
    rho_eighths: u64,
    /// Smallest srtt, in eighths of a µs.
    min_srtt_us8: u32,
    /// Accumulated growth, in 1/128 segment.
    cents: u64,
}

impl Hooks for Hybla {
    fn init(&mut self, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        window.cwnd_clamp = window.cwnd_clamp.min(CLAMP);
        self.measure(flow);
        window.cwnd = Segs((self.rho_eighths >> 3) as u32).min(window.cwnd_clamp);
    }
}

impl WindowControl for Hybla {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if flow.srtt_us8 < self.min_srtt_us8 {
            self.measure(flow);
        }
        if !flow.cwnd_limited {
            return;
        }
        if flow.ca_state != CaState::Open {
            reno::cong_avoid(acked, flow, window);
            return;
        }
        let (increment, max) = self.increment(window);
        self.grow(increment, window);
        window.cwnd = window.cwnd.min(max).min(window.cwnd_clamp);
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        reno::ssthresh(window)
    }
}

impl Hybla {
    fn new(rtt0_ms: u64) -> Self {
        Hybla { rtt0_us: rtt0_ms * 1_000, rho_eighths: 8, min_srtt_us8: u32::MAX, cents: 0 }
    }

    fn measure(&mut self, flow: &Flow) {
        self.rho_eighths = (u64::from(flow.srtt_us8) / self.rtt0_us).max(8);
        self.min_srtt_us8 = flow.srtt_us8;
    }

    /// Growth for one ACK in 1/128 segment, and the maximum window after it.
    fn increment(&self, window: &mut Window) -> (u64, Segs) {
        if window.in_slow_start() {
            let (whole, eighths) = (self.rho_eighths >> 3, self.rho_eighths & 7);
            let power = EIGHTH_POWERS[eighths as usize] << whole.min(MAX_EXPONENT);
            return (power - ONE, window.ssthresh);
        }
        let square = self.rho_eighths * self.rho_eighths * (ONE >> 6);
        let increment = square / u64::from(window.cwnd.0);
        if increment < ONE {
            window.cwnd_cnt += 1;
        }
        (increment, window.cwnd_clamp)
    }

    fn grow(&mut self, increment: u64, window: &mut Window) {
        self.cents += increment % ONE;
        let saved = self.cents / ONE;
        self.cents %= ONE;
        let grown = (increment / ONE + saved).min(u64::from(window.cwnd_clamp.0));
        window.cwnd = Segs(window.cwnd.0.saturating_add(grown as u32));
        if saved > 0 {
            window.cwnd_cnt = 0;
        }
        // The increment rounds to zero for a large window; then the growth is Reno's.
        if increment == 0 && window.cwnd_cnt >= window.cwnd.0 {
            window.cwnd += Segs::ONE;
            window.cwnd_cnt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const LONG: Span = Span::from_millis(250);
    const SHORT: Span = Span::from_millis(20);

    #[test]
    fn the_initial_window_is_the_rtt_in_units_of_25_ms() {
        for (rtt_ms, cwnd) in [(250, 10), (20, 1), (49, 1), (50, 2), (600, 24)] {
            let acks = Acks::after_handshake(10, Span::from_millis(rtt_ms), Hybla::new(25));
            assert_eq!(acks.cwnd(), cwnd, "{rtt_ms} ms");
        }
    }

    #[test]
    fn avoidance_at_250_ms_adds_a_hundred_segments_per_round_trip() {
        let mut acks = Acks::after_handshake(10, LONG, Hybla::new(25));
        acks.window.cwnd = Segs(1_000);
        acks.window.ssthresh = Segs(2);
        let gained = acks.rounds(1, LONG)[0] - 1_000;
        assert!((90..=100).contains(&gained), "{gained}");
    }

    #[test]
    fn with_a_short_rtt_it_is_reno_per_ack() {
        let mut acks = Acks::after_handshake(10, SHORT, Hybla::new(25));
        assert_eq!(acks.rounds(4, SHORT), [2, 4, 8, 16]);
        acks.window.ssthresh = Segs(2);
        assert_eq!(acks.rounds(3, SHORT), [17, 17, 18], "128/17 is rounded down to 7");
    }

    #[test]
    fn an_ack_in_slow_start_adds_two_to_the_power_rho_minus_one() {
        let mut acks = Acks::after_handshake(10, Span::from_micros(62_500), Hybla::new(25));
        acks.window.cwnd = Segs(100);
        // ρ = 2.5: 2^2.5 = 5.66, as 4·181/128.
        acks.ack(1, LONG);
        assert_eq!((acks.cwnd(), acks.control.cents), (104, 4 * 181 - 128 - 4 * 128));
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut acks = Acks::after_handshake(10, LONG, Hybla::new(25));
        acks.window.ssthresh = Segs(50);
        acks.ack(1, LONG);
        assert_eq!(acks.cwnd(), 50);
    }

    #[test]
    fn a_smaller_rtt_makes_growth_slower_even_when_cwnd_is_not_the_limit() {
        let mut acks = Acks::after_handshake(10, LONG, Hybla::new(25));
        acks.flow.cwnd_limited = false;
        acks.flow.srtt_us8 = 8 * 100_000;
        acks.ack(1, LONG);
        assert_eq!((acks.control.rho_eighths, acks.cwnd()), (32, 10));
    }
}
