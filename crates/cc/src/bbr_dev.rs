//! BBR-DEV: BBR version 1 with the patches of 2018 that make room for bursts of ACKs, on any stack.
//!
//! cwnd = 2·bandwidth·min_rtt + extra acked + 3 skbs, extra acked = maximum surplus of the last 10 rounds
//!
//! The patches became part of Linux 5.1. On later stacks `bbr_dev` and [`bbr`](crate::bbr) are the same; on 4.14 and
//! 5.0 only `bbr_dev` has them. They matter on Wi-Fi, where a window of two BDPs is too small for frame aggregation.
//! Sources: [linux-5.1 tcp_bbr.c bbr_update_ack_aggregation].
//!
//! Deviations: those of `bbr`. Other patches of that series are not modelled. It has not been compared with an
//! implementation.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::bbr::v1::{Bbr, Variant};
use crate::bbr::{SKB_ROOM, skb_room};
use crate::{EcnNeed, Prototype, Row};

const PARAMETERS: &[Parameter] = &[SKB_ROOM];

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr_dev",
    summary: "BBR with room for bursts of ACKs also on stacks before 5.1 (the patches of 2018)",
    source: include_str!("bbr_dev.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let skb_room = skb_room(given, PARAMETERS)?;
    Ok(Prototype::model(Bbr::of(Variant { skb_room, ..Variant::default() })))
}
