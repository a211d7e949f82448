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
//! The constants are those of Google's source. Where the draft has others they are parameters, and all of the draft's are
//! `bbr3 drain_gain 128 drain_rounds 3 down_gain 230`:
//!
//! ```text
//!                            source                   draft
//! pacing gain of DRAIN       0.344 (`drain_gain` 88)  0.5 (128)
//! longest DRAIN, round trips no limit                 3 (`drain_rounds` 3)
//! pacing gain of DOWN        0.91 (`down_gain` 232)   0.9 (230)
//! ```
//!
//! [bbr-v3 bbr_drain_gain, bbr_pacing_gain] [draft-ietf-ccwg-bbr]
//!
//! A full pipe is detected from the samples of each ACK (from the maximum bandwidth).
//!
//! Sources: [bbr-v3 tcp_bbr.c], [draft-ietf-ccwg-bbr].
//!
//! Compared with Google's file as a module, ACK by ACK: docs/modules.md.
//!
//! Deviations: no ECN (which needs a route marked as having shallow ECN queues), no path rehash; losses repaired by a
//! tail loss probe are not counted.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::bandwidth::Gain;
use crate::bbr::model::{CWND_GAIN, DRAIN_GAIN, Gains};
use crate::bbr::v2::{Bbr2, ProbeEnd, Profile, parameters, tuning};
use crate::module_param::number;
use crate::{EcnNeed, Prototype, Row};

/// The constants that may be set, by their names in version 2 and in the draft. [bbr-v3 tcp_bbr.c] [draft-ietf-ccwg-bbr]
pub(crate) const PARAMETERS: &[Parameter] = &with_those_of_the_draft(parameters(6));

const fn with_those_of_the_draft(source: [Parameter; 10]) -> [Parameter; 13] {
    let [a, b, c, d, e, f, g, h, i, j] = source;
    let gain =
        number("drain_gain", DRAIN_GAIN.0 as u64, 1, 256, "pacing gain of DRAIN in 1/256; in the draft 128");
    let rounds =
        number("drain_rounds", 0, 0, 1_000, "round trips of DRAIN at most, 0: no limit; in the draft 3");
    let down = number(
        "down_gain",
        VERSION_3.down.pacing.0 as u64,
        1,
        256,
        "pacing gain of DOWN in 1/256; in the draft 230",
    );
    [a, b, c, d, e, f, g, h, i, j, gain, rounds, down]
}

/// [bbr-v3 bbr_startup_pacing_gain, bbr_startup_cwnd_gain, bbr_drain_gain, bbr_pacing_gain, bbr_cwnd_gain]
pub(crate) const VERSION_3: Profile = Profile {
    startup: Gains { pacing: Gain(256 * 277 / 100 + 1), cwnd: CWND_GAIN },
    drain: Gains { pacing: DRAIN_GAIN, cwnd: CWND_GAIN },
    down: Gains { pacing: Gain(256 * 91 / 100), cwnd: CWND_GAIN },
    up: Gains { pacing: Gain(256 * 5 / 4), cwnd: Gain(256 * 9 / 4) },
    probe_end: ProbeEnd::FullPipe,
    drain_rounds: 0,
};

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr3",
    summary: "BBR version 2 with gentler probes, which end when the bandwidth stops growing (version 3)",
    source: include_str!("bbr3.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let get = |name| given.get(name, PARAMETERS).map(|value| value as u32);
    let drain = Gains { pacing: Gain(get("drain_gain")?), ..VERSION_3.drain };
    let down = Gains { pacing: Gain(get("down_gain")?), ..VERSION_3.down };
    let profile = Profile { drain, down, drain_rounds: get("drain_rounds")?, ..VERSION_3 };
    Ok(Prototype::model(Bbr2::new(profile, tuning(given, PARAMETERS)?)))
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

    #[test]
    fn the_constants_of_the_draft_are_parameters_and_those_of_the_source_their_defaults() {
        let default = |name| PARAMETERS.iter().find(|row| row.name == name).and_then(|row| row.default);
        let source = ["drain_gain", "drain_rounds", "down_gain"].map(default);
        assert_eq!(source, [Some(88), Some(0), Some(232)]);
        let mut draft = Parameters::default();
        draft.set("drain_gain", 128);
        draft.set("drain_rounds", 3);
        draft.set("down_gain", 230);
        assert!(build(&draft).is_ok());
    }
}
