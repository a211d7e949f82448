//! BBR version 3: version 2 with gentler probes, which end when the bandwidth stops growing.
//!
//! Differences from [`bbr2`](crate::bbr2), of which it uses the state machine; values of version 2 in parentheses:
//!
//! STARTUP   2.77 / 2 (2.887 / 2.887); ends after 6 (8) loss events in a round, with inflight_hi at least what the
//!           round delivered
//! DRAIN     0.344 / 2 (0.344 / 2.887)
//! DOWN      0.91 / 2 (0.75 / 2)
//! UP        1.25 / 2.25 (1.25 / 2); ends when the delivery rate grows by less than 25 % in three rounds (when 1.25 BDP
//!           are in flight); the count restarts while inflight_hi limits the flow
//! A full pipe is detected from the samples of each ACK (from the maximum bandwidth).
//!
//! Sources: [bbr-v3 tcp_bbr.c], [draft-ietf-ccwg-bbr].
//!
//! It has not been compared with an implementation, only with its sources.
//!
//! Deviations: no ECN (which needs a route marked as having shallow ECN queues), no path rehash; losses repaired by a
//! tail loss probe are not counted.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::bandwidth::Gain;
use crate::bbr::model::{CWND_GAIN, DRAIN_GAIN, Gains};
use crate::bbr::v2::{Bbr2, ProbeEnd, Profile, parameters, tuning};
use crate::{Prototype, Row};

/// The constants that may be set, by their names in version 2. [bbr-v3 tcp_bbr.c]
pub(crate) const PARAMETERS: &[Parameter] = &parameters(6);

/// [bbr-v3 bbr_startup_pacing_gain, bbr_startup_cwnd_gain, bbr_drain_gain, bbr_pacing_gain, bbr_cwnd_gain]
pub(crate) const VERSION_3: Profile = Profile {
    startup: Gains { pacing: Gain(256 * 277 / 100 + 1), cwnd: CWND_GAIN },
    drain: Gains { pacing: DRAIN_GAIN, cwnd: CWND_GAIN },
    down: Gains { pacing: Gain(256 * 91 / 100), cwnd: CWND_GAIN },
    up: Gains { pacing: Gain(256 * 5 / 4), cwnd: Gain(256 * 9 / 4) },
    probe_end: ProbeEnd::FullPipe,
};

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr3",
    summary: "BBR version 2 with gentler probes, which end when the bandwidth stops growing (version 3)",
    source: include_str!("bbr3.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: false,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::model(Bbr2::new(VERSION_3, tuning(given, PARAMETERS)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_gains_are_the_published_ones() {
        let Profile { startup, down, up, .. } = VERSION_3;
        assert_eq!((startup.pacing.0, startup.cwnd.0), (710, 512));
        assert_eq!((down.pacing.0, up.pacing.0, up.cwnd.0), (232, 320, 576));
    }
}
