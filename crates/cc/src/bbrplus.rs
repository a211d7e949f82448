//! BBR+: BBR version 1 with a scaled pacing rate in all states once the pipe is full, for Wi-Fi.
//!
//! pacing rate = p·pacing_gain·bandwidth·0.99;  the window stays 2·bandwidth·min_rtt + …
//!
//! The idea is that of [`bbrp`](crate::bbrp). Here the factor is not part of the cycle, so the length of the phases
//! depends on BBR's own gains. With p above 1, cwnd limits the flow instead of the rate, and a standing queue of about
//! one BDP remains.
//! Sources: [bbrplus, Grazia 2020] (the abstract only), [ton22 fig. 11] (1p, 2p, 3p).
//!
//! With p = 100 % it is [`bbr`](crate::bbr) on every stack: what the patch changes is the pacing rate alone. [ton22 §V, §VI.E]
//!
//! Deviations: the paper's default is not known to us; p is a parameter (default 200 %). Whether the paper scales the rate in
//! all states or in PROBE_BW alone is not said either. It has not been compared with an implementation.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::v1::{Bbr, Variant};
use crate::bbr::{ACK_AGGREGATION, SKB_ROOM, skb_room};
use crate::module_param::number;
use crate::{EcnNeed, Prototype, Row};

const PARAMETERS: &[Parameter] = &[
    number("pacing_scale", 200, 1, 10_000, "factor of the pacing rate once the pipe is full, in percent"),
    ACK_AGGREGATION,
    SKB_ROOM,
];

/// The registry row.
pub const ROW: Row = Row {
    name: "bbrplus",
    summary: "BBR with a scaled pacing rate once the pipe is full, for Wi-Fi (BBR+)",
    source: include_str!("bbrplus.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let pacing_percent = given.get("pacing_scale", PARAMETERS)? as u32;
    let ack_aggregation = given.get(ACK_AGGREGATION.name, PARAMETERS)? != 0;
    let skb_room = skb_room(given, PARAMETERS)?;
    let variant = Variant { pacing_percent, ack_aggregation, skb_room, ..Variant::default() };
    Ok(Prototype::model(Bbr::of(variant)))
}
