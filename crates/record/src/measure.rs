//! How a value of a row becomes a cell: its unit and its kind.
//!
//! `Measure<V>` reads "in seconds", "in bytes": it turns a `V` into a [`Cell`]. An optional value is measured
//! like the value itself and may be null.

use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use crate::{Cells, Kind, Name};

/// What a column stores per row.
pub trait Cell: Copy {
    /// What it is.
    const KIND: Kind;
    /// Whether it may be null.
    const NULLABLE: bool = false;
    /// The column of these cells.
    const COLUMN: fn(Vec<Self>) -> Cells;
}

/// A unit in which values of type `V` are written.
pub trait Measure<V> {
    /// What the column stores.
    type Cell: Cell;
    /// The unit as it appears in the field metadata; empty for text and plain numbers.
    const UNIT: &'static str;
    /// The value in this unit.
    fn cell(value: V) -> Self::Cell;
}

macro_rules! measure {
    ($(#[$doc:meta])* $name:ident, $unit:literal: $value:ty => $cell:ty, |$in:ident| $convert:expr) => {
        measure!(@one $(#[$doc])* $name, $unit: $value => $cell, |$in| $convert);

        impl Measure<Option<$value>> for $name {
            type Cell = Option<$cell>;
            const UNIT: &'static str = $unit;
            fn cell(value: Option<$value>) -> Option<$cell> {
                value.map(<$name as Measure<$value>>::cell)
            }
        }
    };
    (@one $(#[$doc:meta])* $name:ident, $unit:literal: $value:ty => $cell:ty, |$in:ident| $convert:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl Measure<$value> for $name {
            type Cell = $cell;
            const UNIT: &'static str = $unit;
            fn cell($in: $value) -> $cell {
                $convert
            }
        }
    };
}

measure!(
    /// Seconds since the start of the run.
    Seconds, "s": SimTime => f64, |at| at.as_secs_f64());
measure!(
    /// Milliseconds, with their fraction.
    Milliseconds, "ms": Span => f64, |span| span.as_nanos() as f64 / 1e6);
measure!(
    /// A mean of milliseconds.
    InMilliseconds, "ms": f64 => f64, |value| value);
measure!(
    /// Whole microseconds, rounded down: the resolution of `struct tcp_info`.
    Microseconds, "µs": Span => u64, |span| span.as_micros());
measure!(
    /// Microseconds, with their fraction.
    FractionalMicroseconds, "µs": Span => f64, |span| span.as_nanos() as f64 / 1e3);
measure!(
    /// Bytes.
    InBytes, "B": Bytes => u64, |bytes| bytes.get());
measure!(
    /// Segments.
    Segments, "segments": Segs => u64, |segs| u64::from(segs.get()));
measure!(@one
    /// A threshold in segments; null when infinite.
    SegmentsOrInfinite, "segments": Segs => Option<u64>, |segs| (segs != Segs::INFINITE).then_some(u64::from(segs.get())));
measure!(
    /// A number of segments that outgrows 32 bits in a long run.
    SegmentCount, "segments": u64 => u64, |count| count);
measure!(
    /// A number of packets.
    Packets, "packets": u64 => u64, |count| count);
measure!(
    /// Bytes per second.
    BytesPerSecond, "B/s": Rate => u64, |rate| rate.bytes_per_sec());
measure!(
    /// Bits per second.
    BitsPerSecond, "bit/s": Rate => u64, |rate| rate.bits_per_sec());
measure!(@one
    /// Bytes per second; null when unlimited.
    BytesPerSecondOrUnlimited, "B/s": Rate => Option<u64>, |rate| (!rate.is_unlimited()).then_some(rate.bytes_per_sec()));
measure!(
    /// A whole number without a unit: a sequence number, a depth.
    Ordinal, "": u64 => u64, |number| number);
measure!(
    /// A ratio, or a number whose meaning depends on the row.
    Plain, "": f64 => f64, |number| number);
measure!(
    /// A name of the experiment file.
    Named, "": Name => Name, |name| name);
measure!(
    /// A word of the simulator's own vocabulary.
    Word, "": &'static str => &'static str, |word| word);

macro_rules! cells {
    ($($cell:ty: $kind:ident, $column:ident, or null $maybe:ident;)+) => {
        $(
            impl Cell for $cell {
                const KIND: Kind = Kind::$kind;
                const COLUMN: fn(Vec<Self>) -> Cells = Cells::$column;
            }

            impl Cell for Option<$cell> {
                const KIND: Kind = Kind::$kind;
                const NULLABLE: bool = true;
                const COLUMN: fn(Vec<Self>) -> Cells = Cells::$maybe;
            }
        )+
    };
}

cells! {
    f64: Float, Float, or null MaybeFloat;
    u64: Whole, Whole, or null MaybeWhole;
    &'static str: Text, Word, or null MaybeWord;
    Name: Text, Named, or null MaybeNamed;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_threshold_is_null() {
        assert_eq!(SegmentsOrInfinite::cell(Segs::INFINITE), None);
        assert_eq!(SegmentsOrInfinite::cell(Segs(7)), Some(7));
    }

    #[test]
    fn an_unlimited_rate_is_null() {
        assert_eq!(BytesPerSecondOrUnlimited::cell(Rate::UNLIMITED), None);
        assert_eq!(BytesPerSecondOrUnlimited::cell(Rate::from_bytes_per_sec(9)), Some(9));
    }

    #[test]
    fn milliseconds_keep_their_fraction() {
        assert_eq!(Milliseconds::cell(Span::from_micros(1_250)), 1.25);
    }
}
