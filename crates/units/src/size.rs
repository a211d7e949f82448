//! Sizes: bytes, and segments as TCP counts them.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

macro_rules! size {
    ($(#[$doc:meta])* $name:ident($inner:ty), $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// None.
            pub const ZERO: $name = $name(0);

            /// The plain number.
            pub const fn get(self) -> $inner {
                self.0
            }

            /// `self - other`, or zero.
            pub const fn saturating_sub(self, other: $name) -> $name {
                $name(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = $name;
            /// Panics below zero: a negative size is a defect of the caller.
            fn sub(self, other: $name) -> $name {
                $name(self.0.checked_sub(other.0).expect("a size is never negative"))
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: $name) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = $name>>(iter: I) -> $name {
                iter.fold($name::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{}", $unit), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

size!(
    /// A number of bytes.
    Bytes(u64),
    "b"
);
size!(
    /// A number of segments (the kernel's "packets" in cwnd and flight size).
    Segs(u32),
    "p"
);

impl Segs {
    /// One segment.
    pub const ONE: Segs = Segs(1);
    /// `ssthresh` before any loss. [linux-6.12 tcp.h TCP_INFINITE_SSTHRESH]
    pub const INFINITE: Segs = Segs(0x7fff_ffff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "never negative")]
    fn a_size_below_zero_is_a_defect() {
        let _ = Segs(1) - Segs(2);
    }
}
