//! BBR version 3: version 2 with gentler probes that end when they bring no more bandwidth.
//!
//! Against [`bbr2`](crate::bbr2), whose machine it is:
//!
//! STARTUP   2.77 / 2 (was 2.887 / 2.887), left after 6 loss events of a round (8), with inflight_hi at least what a
//!           round delivered
//! DRAIN     0.344 / 2;  DOWN 0.91 (0.75);  UP 1.25 / 2.25 (cwnd gain 2)
//! UP        ends when three rounds bring less than 25 % more delivery rate (was: 1.25 BDP in flight); while inflight_hi
//!           is the limit the search starts anew
//! full pipe is judged by the samples of each ACK, not by the largest bandwidth
//!
//! Sources: [bbr-v3 tcp_bbr.c], [draft-ietf-ccwg-bbr].
//!
//! Compared with no implementation, only with what its sources say.
//!
//! Deviations: no ECN (needs a route marked as having shallow ECN queues), no path rehash, a loss that a tail loss probe
//! repaired is not counted.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::bandwidth::Gain;
use crate::bbr::model::{CWND_GAIN, DRAIN_GAIN, Gains};
use crate::bbr::v2::{Bbr2, ProbeEnd, Profile, parameters, tuning};
use crate::{Control, Row};

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
    summary: "BBR version 2 with gentler probes that end when they bring no more (version 3)",
    source: include_str!("bbr3.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: false,
    build,
};

fn build(given: &Parameters) -> Result<Control, ParameterError> {
    Ok(Control::Model(Box::new(Bbr2::new(VERSION_3, tuning(given, PARAMETERS)?))))
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
