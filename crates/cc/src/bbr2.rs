//! BBR version 2: BBR's model of bandwidth and delay, with bounds on bandwidth and data in flight derived from loss.
//!
//! max_bw = largest delivery rate of this and the previous probing cycle;  bandwidth = min(max_bw, bw_lo)
//! pacing rate = pacing_gain·bandwidth·0.99;  cwnd = cwnd_gain·BDP + extra acked, within inflight_lo and inflight_hi
//!
//! state     pacing_gain / cwnd_gain
//! STARTUP   2.887 / 2.887 until three rounds bring less than 25 % more, or a round has 8 losses and more than 2 %
//! DRAIN     0.344 / 2.887 until one BDP is in flight
//! DOWN      0.75 / 2      until the data in flight is at most 85 % of inflight_hi and at most one BDP
//! CRUISE    1 / 2         until 2–3 s after DOWN began, or for as many rounds as a BDP has segments (at most 63)
//! REFILL    1 / 2         one round without bw_lo and inflight_lo
//! UP        1.25 / 2      until 1.25 BDP are in flight, or inflight_hi is if the last probe lost too much;
//!                         inflight_hi rises by 1, 2, 4 …
//! PROBE_RTT 1 / 1         every 5 s: half a BDP for 200 ms and one round
//!
//! Loss above 2 % of the data in flight when a segment was sent: inflight_hi = that level, at least 0.7·target
//! Loss in a round of DOWN or CRUISE: bw_lo = max(latest, 0.7·bw_lo), inflight_lo likewise, until the next REFILL
//!
//! Sources: [bbr-v2 tcp_bbr2.c v2alpha], [bbr-v2, draft-cardwell-iccrg-bbr-congestion-control].
//!
//! It has not been compared with an implementation, only with its sources.
//!
//! Deviations: no ECN (which is off by default), no fast path for ACKs that change nothing. [`bbr3`](crate::bbr3) is
//! the same state machine with another [`Profile`].

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::bandwidth::Gain;
use crate::bbr::model::{CWND_GAIN, DRAIN_GAIN, Gains, HIGH_GAIN};
use crate::bbr::v2::{Bbr2, ProbeEnd, Profile, parameters, tuning};
use crate::{EcnNeed, Prototype, Row};

/// Module parameters with their defaults. [bbr-v2 module_param]
pub(crate) const PARAMETERS: &[Parameter] = &parameters(8);

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr2",
    summary: "BBR with bounds on bandwidth and data in flight that loss sets (version 2)",
    source: include_str!("bbr2.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::model(Bbr2::new(VERSION_2, tuning(given, PARAMETERS)?)))
}

/// [bbr-v2 bbr_high_gain, bbr_drain_gain, bbr_pacing_gain]
pub(crate) const VERSION_2: Profile = Profile {
    startup: Gains { pacing: HIGH_GAIN, cwnd: HIGH_GAIN },
    drain: Gains { pacing: DRAIN_GAIN, cwnd: HIGH_GAIN },
    down: Gains { pacing: Gain(256 * 3 / 4), cwnd: CWND_GAIN },
    up: Gains { pacing: Gain(256 * 5 / 4), cwnd: CWND_GAIN },
    probe_end: ProbeEnd::Inflight,
    drain_rounds: 0,
};
