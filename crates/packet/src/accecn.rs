//! The option of accurate ECN: how many bytes of payload have arrived with each code point. [rfc9768 §3.2.3]
//!
//! ```text
//! kind 172   e0b  ceb  e1b        kind 174   e1b  ceb  e0b        24 bits each; fields may be missing at the end
//! ```

use crate::Ecn;

/// Bytes of the option without fields: its kind and its length.
const BASE: u32 = 2;
/// Bytes of a field.
const FIELD: u32 = 3;
/// The bits of a counter that a field has.
const FIELD_BITS: u32 = 0xff_ffff;

/// The option as a segment carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcnOption {
    order: FieldOrder,
    /// How many of the fields it has.
    count: u8,
    fields: [u32; AccEcnOption::FIELDS],
}

/// The order of the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldOrder {
    /// Kind 172: bytes with ECT(0) first.
    Ect0First,
    /// Kind 174: bytes with ECT(1) first.
    Ect1First,
}

impl FieldOrder {
    /// The code points that the fields count.
    pub const fn code_points(self) -> [Ecn; AccEcnOption::FIELDS] {
        match self {
            FieldOrder::Ect0First => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            FieldOrder::Ect1First => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }

    /// The kind of the option.
    pub const fn kind(self) -> u8 {
        match self {
            FieldOrder::Ect0First => 172,
            FieldOrder::Ect1First => 174,
        }
    }

    /// The order that an option of this kind has, if it is one of accurate ECN.
    pub const fn of_kind(kind: u8) -> Option<FieldOrder> {
        match kind {
            172 => Some(FieldOrder::Ect0First),
            174 => Some(FieldOrder::Ect1First),
            _ => None,
        }
    }
}

impl AccEcnOption {
    /// Fields at most.
    pub const FIELDS: usize = 3;

    /// The option with the first fields of its order; of each number the low 24 bits.
    pub fn new(order: FieldOrder, numbers: &[u32]) -> Self {
        let mut fields = [0; AccEcnOption::FIELDS];
        let count = numbers.len().min(fields.len());
        for (field, number) in fields.iter_mut().zip(numbers) {
            *field = number & FIELD_BITS;
        }
        AccEcnOption { order, count: count as u8, fields }
    }

    /// The order of its fields.
    pub fn order(&self) -> FieldOrder {
        self.order
    }

    /// Its fields.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.count)]
    }

    /// Bytes of an option with so many fields, without padding.
    pub const fn length(fields: u8) -> u32 {
        BASE + FIELD * fields as u32
    }

    /// The bytes on the wire, without padding.
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = vec![self.order.kind(), AccEcnOption::length(self.count) as u8];
        self.fields().iter().for_each(|field| octets.extend(&field.to_be_bytes()[1..]));
        octets
    }

    /// Padding to whole words: of the two bytes that would pad `next`, the options after it, it takes what it needs, so that
    /// these are fewer. Returns the bytes after the option, and those before the next one. [linux-7.3 tcp_output.c
    /// tcp_options_write]
    pub fn padding(&self, next: u32) -> (u32, u32) {
        let over = AccEcnOption::length(self.count) % 4;
        if over > next { (4 - over, next) } else { (0, next - over) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_has_the_lengths_and_the_kinds_of_the_standard() {
        let option = AccEcnOption::new(FieldOrder::Ect1First, &[1, 0x0102_0304, 3]);
        assert_eq!(option.octets(), [174, 11, 0, 0, 1, 2, 3, 4, 0, 0, 3]);
        assert_eq!([0, 1, 2, 3].map(AccEcnOption::length), [2, 5, 8, 11]);
        for order in [FieldOrder::Ect0First, FieldOrder::Ect1First] {
            assert_eq!(FieldOrder::of_kind(order.kind()), Some(order));
        }
        assert_eq!(FieldOrder::of_kind(173), None);
    }

    #[test]
    fn an_option_takes_the_place_of_padding_if_that_makes_the_header_shorter() {
        let padding = |fields: &[u32], next| AccEcnOption::new(FieldOrder::Ect1First, fields).padding(next);
        assert_eq!(padding(&[1, 2, 3], 2), (1, 2));
        assert_eq!(padding(&[1, 2], 2), (0, 2));
        assert_eq!(padding(&[1], 2), (0, 1));
        assert_eq!(padding(&[], 2), (0, 0));
        assert_eq!(padding(&[], 0), (2, 0));
    }
}
