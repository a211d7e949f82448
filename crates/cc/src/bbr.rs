//! BBR version 1: paces at the measured bandwidth of the bottleneck and limits the data in flight to a multiple of the
//! measured bandwidth-delay product (BDP).
//!
//! bandwidth = windowed max of delivery rates over 10 rounds      [linux-6.12 tcp_bbr.c bbr_update_bw]
//! min_rtt   = windowed min of RTTs over 10 s                     [linux-6.12 tcp_bbr.c bbr_update_min_rtt]
//! pacing rate = pacing_gain · bandwidth · 0.99                   [linux-6.12 tcp_bbr.c bbr_bw_to_pacing_rate]
//! cwnd        = cwnd_gain · bandwidth · min_rtt + extra acked + 3 skbs, even, at least 4
//!                                                                [linux-6.12 tcp_bbr.c bbr_set_cwnd]
//! state     pacing_gain / cwnd_gain
//! STARTUP   2.887 / 2.887, until the bandwidth grows by less than 25 % in three rounds
//! DRAIN     0.344 / 2.887, until one BDP is in flight
//! PROBE_BW  1.25, 0.75, then six times 1 / 2; a phase lasts about min_rtt; the first phase is random, but not 0.75
//! PROBE_RTT 1 / 1, a window of 4 for 200 ms and one round, when min_rtt has not been measured again for 10 s
//!
//! Loss and ECN do not reduce the rate. Lost segments are subtracted from cwnd; in its first round, recovery sends one
//! segment per segment delivered; at its end the previous cwnd is restored. [`aggregation`] makes room for bursts of
//! ACKs (since Linux 5.1; `ack_aggregation`). Before Linux 4.16 (without `skb_room`) the three
//! skbs are no larger than the device takes: with offloads off three segments, whatever the pacing rate. [`policer`]
//! detects token buckets (long-term sampling). [`bbr_dev`](crate::bbr_dev), [`bbrp`](crate::bbrp) and
//! [`bbrplus`](crate::bbrplus) are variants.
//! Sources: [bbr, Cardwell et al. 2016], [linux-6.12 tcp_bbr.c].
//!
//! Deviations from Linux: the random first phase of PROBE_BW is drawn in advance, so that no event of the sender needs
//! random numbers; bandwidths and extra packets do not wrap at 32 and 16 bits; the sender itself applies
//! `sk_max_pacing_rate`.

pub(crate) mod aggregation;
pub(crate) mod bandwidth;
pub(crate) mod model;
mod policer;
pub(crate) mod v1;
pub(crate) mod v2;

use tailback_units::{Parameter, ParameterError, Parameters};

use self::v1::{Bbr, SkbRoom, Variant};
use crate::module_param::flag;
use crate::{EcnNeed, Prototype, Row};

/// Whether cwnd makes room for bursts of ACKs.
pub(crate) const ACK_AGGREGATION: Parameter =
    flag("ack_aggregation", 1, "make room for bursts of ACKs; 0 by default in stacks before Linux 5.1");
/// Whether the skbs that cwnd makes room for may be larger than the device takes.
pub(crate) const SKB_ROOM: Parameter = flag(
    "skb_room",
    1,
    "make room for three skbs as the pacing rate fills them; 0 by default in stacks before Linux 4.16: no larger than the device takes",
);

/// The kernel module has no parameters; these distinguish versions of Linux.
const PARAMETERS: &[Parameter] = &[ACK_AGGREGATION, SKB_ROOM];

/// The registry row.
pub const ROW: Row = Row {
    name: "bbr",
    summary: "paces at the measured bandwidth, with at most about two BDPs in flight (version 1)",
    source: include_str!("bbr.rs"),
    parameters: PARAMETERS,
    sndbuf_factor: 3,
    wants_pacing: true,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let ack_aggregation = given.get(ACK_AGGREGATION.name, PARAMETERS)? != 0;
    let skb_room = skb_room(given, PARAMETERS)?;
    Ok(Prototype::model(Bbr::of(Variant { ack_aggregation, skb_room, ..Variant::default() })))
}

/// The value of [`SKB_ROOM`], one of the parameters `known`.
pub(crate) fn skb_room(given: &Parameters, known: &'static [Parameter]) -> Result<SkbRoom, ParameterError> {
    let large = given.get(SKB_ROOM.name, known)? != 0;
    Ok(if large { SkbRoom::PacingShift } else { SkbRoom::Device })
}
