//! BBRp: BBR version 1 with a probing cycle that paces faster than the measured bandwidth, for Wi-Fi.
//!
//! pacing gains of PROBE_BW = p·(1.25, 0.75, 1, 1, 1, 1, 1, 1);  the window stays 2·bandwidth·min_rtt + …
//!
//! BBR paces at its estimate. Few packets then wait in the Wi-Fi driver, aggregates stay small, and so does the
//! estimate. Faster pacing lets the driver build larger aggregates, which raises the bandwidth itself. cwnd still
//! limits the data in flight.
//! Sources: [bbrp, Grazia, Klapez and Casoni 2020] (the abstract only).
//!
//! Deviations: the paper's array of gains is not known to us; p is a parameter (default 200 %), p = 100 % is `bbr`.
//! It has not been compared with an implementation.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::v1::{Bbr, Variant};
use crate::bbr::{SKB_ROOM, skb_room};
use crate::module_param::number;
use crate::{EcnNeed, Prototype, Row};

const PARAMETERS: &[Parameter] =
    &[number("pacing_scale", 200, 1, 10_000, "factor of the pacing gains of PROBE_BW, in percent"), SKB_ROOM];

/// The registry row.
pub const ROW: Row = Row {
    name: "bbrp",
    summary: "BBR with larger pacing gains in its probing cycle, for Wi-Fi",
    source: include_str!("bbrp.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let cycle_percent = given.get("pacing_scale", PARAMETERS)? as u32;
    let skb_room = skb_room(given, PARAMETERS)?;
    Ok(Prototype::model(Bbr::of(Variant { cycle_percent, skb_room, ..Variant::default() })))
}
