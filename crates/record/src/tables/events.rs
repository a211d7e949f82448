//! Events of packets and flows.

use tailback_units::SimTime;

use crate::Name;
use crate::table::table;

table! {
    ///
    /// Something that happened to a packet or a flow.
    Events of EventsRow, "events":
    /// When.
    t: SimTime as Seconds,
    /// What: `drop`, `mark`, `ca_state`, `rto`, `tlp`, `undo`, `cc_state`, `flow_start`, `flow_end`.
    what: &'static str as Word,
    /// The device or host.
    r#where: Name as Named,
    /// The flow; null if it concerns none.
    flow: Option<Name> as Named,
    /// Drop reason, new state, ...; null if there is none.
    reason: Option<&'static str> as Word,
    /// A number that depends on `what`; null if there is none.
    value: Option<f64> as Plain,
}
