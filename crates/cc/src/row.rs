//! The fields of a registry row.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::Prototype;

/// One row of the registry, for one file of this crate.
pub struct Row {
    /// The name as in `net.ipv4.tcp_congestion_control`.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// The text of its file; [`crate::head`] extracts its opening: idea, formulas, sources, deviations.
    pub source: &'static str,
    /// Module parameters.
    pub parameters: &'static [Parameter],
    /// Send-buffer factor (`sndbuf_expand`).
    pub sndbuf_factor: u32,
    /// It needs pacing by TCP (`sk_pacing_status` becomes NEEDED).
    pub wants_pacing: bool,
    /// It enables ECN regardless of the sysctl (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Builds the control that those of all connections with these parameters are copies of.
    pub build: fn(&Parameters) -> Result<Prototype, ParameterError>,
}
