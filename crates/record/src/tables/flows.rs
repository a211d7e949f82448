//! Goodput: what receiving applications read.

use tailback_units::{Bytes, SimTime};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// Bytes that a receiving application read in one bin; a bin without bytes has no row.
    Flows of FlowsRow, "flows":
    /// End of the bin.
    t: SimTime as Seconds,
    /// The flow.
    flow: Name as Named,
    /// Bytes read within the bin.
    bytes: Bytes as InBytes,
}
