//! NewReno of FreeBSD 9: Reno with appropriate byte counting (ABC), for a stack without TCP Small Queues.
//!
//! slow start: cwnd += acknowledged bytes, at most 2 segments per ACK; at most 1 after a timeout, until recovery ends
//! avoidance:  one segment per cwnd bytes acknowledged
//! cut:        ssthresh = max(cwnd/2, 2 segments)
//! recovery:   ends with cwnd = min(ssthresh, unacknowledged segments, SACKed or not, + 1)
//!
//! Sources: [rfc3465], [rfc5681], [rfc6582], [freebsd-9 cc_newreno.c], [freebsd-9 tcp_input.c cc_ack_received].
//!
//! It has not been compared with an implementation, only with its sources.
//!
//! Deviations: counts whole segments instead of bytes; PRR performs the reduction, as in FreeBSD 13 and later.

use tailback_units::{Parameter, ParameterError, Parameters, Segs};

use crate::module_param::number;
use crate::{CaState, CwndEvent, EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl, reno};

/// Sysctls with FreeBSD's defaults. [freebsd-9 tcp_input.c]
const PARAMETERS: &[Parameter] = &[number(
    "abc_l_var",
    2,
    1,
    1_000_000,
    "maximum growth of cwnd per ACK in slow start (net.inet.tcp.abc_l_var)",
)];

/// The registry row.
pub const ROW: Row = Row {
    name: "newreno",
    summary: "FreeBSD's Reno: counts bytes, grows by at most two segments per ACK in slow start",
    source: include_str!("newreno.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let max_per_ack = Segs(given.get("abc_l_var", PARAMETERS)? as u32);
    Ok(Prototype::window(NewReno { max_per_ack, timed_out: false }))
}

/// State of NewReno.
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    max_per_ack: Segs,
    /// Slow start after a timeout: one segment per ACK.
    timed_out: bool,
}

impl Hooks for NewReno {
    fn set_state(&mut self, to: CaState, _flow: &Flow, _window: &mut Window) {
        match to {
            CaState::Loss => self.timed_out = true,
            CaState::Open => self.timed_out = false,
            _ => {}
        }
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        // Counted from the highest sequence number sent, so SACKed data counts as in flight.
        if event == CwndEvent::CompleteCwr && flow.packets_out < window.ssthresh {
            window.cwnd = window.cwnd.min(flow.packets_out + Segs::ONE);
        }
    }
}

impl WindowControl for NewReno {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            let max = if self.timed_out { Segs::ONE } else { self.max_per_ack };
            window.slow_start(acked.min(max));
        } else {
            window.cong_avoid_ai(window.cwnd.0, acked);
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        reno::ssthresh(window)
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    const RTT: Span = Span::from_millis(100);
    const NEWRENO: NewReno = NewReno { max_per_ack: Segs(2), timed_out: false };

    #[test]
    fn an_ack_of_eight_segments_raises_cwnd_by_two() {
        let mut acks = Acks::after_handshake(20, RTT, NEWRENO);
        acks.ack(8, RTT);
        assert_eq!(acks.cwnd(), 22);
    }

    #[test]
    fn after_a_timeout_an_ack_raises_cwnd_by_one_until_recovery_ends() {
        let mut acks = Acks::after_handshake(20, RTT, NEWRENO);
        acks.time_out();
        acks.ack(2, RTT);
        assert_eq!(acks.cwnd(), 2);
        acks.enter(CaState::Open);
        acks.ack(2, RTT);
        assert_eq!(acks.cwnd(), 4);
    }

    #[test]
    fn avoidance_adds_one_segment_per_round_trip_also_with_delayed_acks() {
        let mut acks = Acks { per_ack: 2, ..Acks::in_avoidance(20, NEWRENO) };
        assert_eq!(acks.rounds(2, RTT), [21, 22]);
    }

    #[test]
    fn recovery_ends_without_a_burst() {
        let mut acks = Acks::in_avoidance(40, NEWRENO);
        (acks.window.ssthresh, acks.window.cwnd) = (Segs(20), Segs(20));
        acks.flow.packets_out = Segs(5);
        acks.control.cwnd_event(CwndEvent::CompleteCwr, &acks.flow, &mut acks.window);
        assert_eq!(acks.cwnd(), 6);
    }

    #[test]
    fn a_second_hole_does_not_cut_the_window_again_at_the_end_of_recovery() {
        let mut acks = Acks::in_avoidance(40, NEWRENO);
        (acks.window.ssthresh, acks.window.cwnd) = (Segs(20), Segs(20));
        (acks.flow.packets_out, acks.flow.in_flight) = (Segs(30), Segs(2));
        acks.control.cwnd_event(CwndEvent::CompleteCwr, &acks.flow, &mut acks.window);
        assert_eq!(acks.cwnd(), 20);
    }
}
