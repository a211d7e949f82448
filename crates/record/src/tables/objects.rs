//! Objects of web pages and when they were loaded.

use tailback_units::{Bytes, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One object of a page.
    Objects of ObjectsRow, "objects":
    /// When the page was wanted.
    t: SimTime as Seconds,
    /// The page.
    page: Name as Named,
    /// The number of the object on the page.
    object: u64 as Ordinal,
    /// Bytes of its response.
    bytes: Bytes as InBytes,
    /// From `t` until its last byte was read; null if that did not happen.
    loaded_ms: Option<Span> as Milliseconds,
}
