//! The length that a size table gives a packet, in the three bytes that the layout of a packet has to spare.

/// A length of up to 16 MB; none, unless a size table has set one.
///
/// The last byte, which alone says that there is none, is the highest of the length and one more: 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLength([u8; 3]);

impl QueueLength {
    /// No size table has been used.
    pub const NONE: Self = QueueLength([0; 3]);

    const MAX: u32 = (255 << 16) - 1;

    /// A length of at least one byte.
    pub fn of(length: u32) -> Self {
        let [low, middle, high, _] = length.clamp(1, Self::MAX).to_le_bytes();
        QueueLength([low, middle, high + 1])
    }

    /// The length, if there is one.
    #[inline]
    pub fn get(self) -> Option<u32> {
        let [low, middle, more] = self.0;
        more.checked_sub(1).map(|high| u32::from_le_bytes([low, middle, high, 0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;

    #[test]
    fn a_length_is_kept_and_none_is_none() {
        assert_eq!(QueueLength::NONE.get(), None);
        assert_eq!(QueueLength::of(72_345).get(), Some(72_345));
        assert_eq!(
            (QueueLength::of(0).get(), QueueLength::of(u32::MAX).get()),
            (Some(1), Some((255 << 16) - 1))
        );
    }

    #[test]
    fn a_packet_with_a_length_of_a_table_has_it_for_disciplines() {
        let mut packet = Packet { ip_length: 1500, segments: 1, ..Packet::empty() };
        assert_eq!(packet.frame_length(), 1514);
        packet.queue_length = QueueLength::of(1749);
        assert_eq!((packet.frame_length(), packet.buffer_length()), (1749, 1514));
    }
}
