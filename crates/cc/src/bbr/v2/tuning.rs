//! The parameters of BBR versions 2 and 3, and the differences between the versions.

use tailback_units::{Parameter, ParameterError, Parameters, Span};

use super::{Gain, Gains};
use crate::module_param::{number, packets};

/// Module parameters with their defaults; the versions differ in that of `full_loss_cnt`. [bbr-v2 module_param]
/// [bbr-v3 tcp_bbr.c]
pub(crate) const fn parameters(full_loss_cnt: u64) -> [Parameter; 10] {
    [
        number("loss_thresh", 5, 0, 256, "loss rate above which the data in flight is too much, in 1/256"),
        number("beta", 76, 0, 255, "reduction of the bounds on loss, in 1/256"),
        number("inflight_headroom", 38, 0, 255, "share of inflight_hi left to other flows, in 1/256"),
        number("probe_rtt_win_ms", 5_000, 1, 1_000_000, "time between two PROBE_RTT, in ms"),
        number("probe_rtt_mode_ms", 200, 1, 100_000, "length of PROBE_RTT, in ms"),
        number("probe_rtt_cwnd_gain", 128, 1, 65_536, "window of PROBE_RTT in 1/256 BDP"),
        number(
            "bw_probe_max_rounds",
            63,
            1,
            255,
            "maximum number of rounds between two probes for bandwidth",
        ),
        number(
            "bw_probe_base_us",
            2_000_000,
            1,
            1_000_000_000,
            "time between two probes for bandwidth, in µs",
        ),
        number(
            "bw_probe_rand_us",
            1_000_000,
            1,
            1_000_000_000,
            "upper limit of a random addition to that time, in µs",
        ),
        packets("full_loss_cnt", full_loss_cnt, 1, "loss events in a round that end STARTUP"),
    ]
}

pub(crate) fn tuning(given: &Parameters, table: &[Parameter]) -> Result<Tuning, ParameterError> {
    let get = |name| given.get(name, table);
    let count = |name| get(name).map(|value| value as u32);
    Ok(Tuning {
        loss_thresh: get("loss_thresh")?,
        keep: 256 - get("beta")?,
        headroom: get("inflight_headroom")?,
        probe_rtt_win: Span::from_millis(get("probe_rtt_win_ms")?),
        probe_rtt_mode: Span::from_millis(get("probe_rtt_mode_ms")?),
        probe_rtt_gain: Gain(count("probe_rtt_cwnd_gain")?),
        max_rounds: count("bw_probe_max_rounds")?,
        probe_base_us: get("bw_probe_base_us")?,
        probe_rand_us: count("bw_probe_rand_us")?,
        full_loss_cnt: count("full_loss_cnt")?,
    })
}

/// The module parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    pub(super) loss_thresh: u64,
    /// 1 − β, in 1/256.
    pub(super) keep: u64,
    pub(super) headroom: u64,
    pub(super) probe_rtt_win: Span,
    pub(super) probe_rtt_mode: Span,
    pub(super) probe_rtt_gain: Gain,
    pub(super) max_rounds: u32,
    pub(super) probe_base_us: u64,
    pub(super) probe_rand_us: u32,
    pub(super) full_loss_cnt: u32,
}

/// What ends a probe for bandwidth, apart from loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProbeEnd {
    /// 1.25 BDP are in flight.
    Inflight,
    /// The bandwidth has not grown for three rounds.
    FullPipe,
}

/// The differences between the versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    pub(crate) startup: Gains,
    pub(crate) drain: Gains,
    pub(crate) down: Gains,
    pub(crate) up: Gains,
    pub(crate) probe_end: ProbeEnd,
    /// DRAIN lasts so many round trips at most; 0: as long as it takes.
    pub(crate) drain_rounds: u32,
}
