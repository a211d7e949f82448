//! The fields of a registry row.

use tailback_units::{Parameter, ParameterError, Parameters};

use crate::Prototype;

/// The ECN that a control enables regardless of the sysctl.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnNeed {
    /// None.
    #[default]
    No,
    /// Classic ECN with a receiver that echoes each mark, and ECT(0) on every packet (`TCP_CONG_NEEDS_ECN`).
    Classic,
    /// AccECN, and ECT(1) on every packet; without AccECN, none (`TCP_CONG_NEEDS_ACCECN`, `TCP_CONG_ECT_1_NEGOTIATION`,
    /// `TCP_CONG_NO_FALLBACK_RFC3168`).
    L4s,
}

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
    /// The ECN that it enables regardless of the sysctl.
    pub needs_ecn: EcnNeed,
    /// Builds the control that those of all connections with these parameters are copies of.
    pub build: fn(&Parameters) -> Result<Prototype, ParameterError>,
}
