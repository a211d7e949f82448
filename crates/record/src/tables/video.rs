//! Segments of videos: their bitrates, and how long the player waited.

use tailback_units::{Bytes, Rate, SimTime, Span};

use crate::Name;
use crate::table::table;

table! {
    ///
    /// One segment of a video.
    Video of VideoRow, "video":
    /// When the player asked for it.
    t: SimTime as Seconds,
    /// The video.
    video: Name as Named,
    /// The number of the segment in the video.
    segment: u64 as Ordinal,
    /// Bits per second of its rung.
    bitrate: Rate as BitsPerSecond,
    /// Bytes of the segment.
    bytes: Bytes as InBytes,
    /// Video in the buffer at `t`.
    buffer_ms: Span as Milliseconds,
    /// Time until its last byte was read; null if that did not happen.
    fetch_ms: Option<Span> as Milliseconds,
    /// How long the video did not play in this time.
    waited_ms: Span as Milliseconds,
}
