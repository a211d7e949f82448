//! What the receiver reports by SACK: the blocks of data that it holds, and data that arrived twice.

use tailback_packet::{SackBlock, SackBlocks};

/// SACK blocks that are stored. [linux-6.12 tcp.h TCP_NUM_SACKS] [rfc2018 §3]
pub(super) const SACKS_KEPT: u8 = 4;

/// The blocks, those changed last first, and a duplicate to be reported once. A socket has no memory for them until
/// data is out of order.
#[derive(Debug, Default)]
pub(super) struct SackList {
    held: Option<Box<Held>>,
    /// Number of blocks.
    count: u8,
    has_duplicate: bool,
    /// Duplicates are not reported (`net.ipv4.tcp_dsack` is 0).
    omits_duplicates: bool,
}

#[derive(Debug, Default)]
struct Held {
    blocks: [SackBlock; SACKS_KEPT as usize],
    duplicate: SackBlock,
}

impl SackList {
    /// There is nothing to report.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.has_duplicate & (self.count == 0)
    }

    /// The blocks.
    fn blocks(&self) -> &[SackBlock] {
        self.held.as_ref().map_or(&[], |held| &held.blocks[..usize::from(self.count)])
    }

    /// The number of the first block that `other` overlaps or adjoins; that of the blocks if there is none.
    pub(super) fn first_touched_by(&self, other: SackBlock) -> usize {
        let touches = |block: &SackBlock| other.start <= block.end && other.end >= block.start;
        self.blocks().iter().position(touches).unwrap_or(usize::from(self.count))
    }

    /// An empty list; `reports_duplicates`: `net.ipv4.tcp_dsack`.
    pub(super) fn new(reports_duplicates: bool) -> Self {
        SackList { omits_duplicates: !reports_duplicates, ..SackList::default() }
    }

    /// The end of the block that ends last.
    pub(super) fn highest(&self) -> Option<u64> {
        self.blocks().iter().map(|block| block.end).max()
    }

    /// These bytes arrived twice.
    pub(super) fn set_duplicate(&mut self, block: SackBlock) {
        if self.omits_duplicates {
            return;
        }
        self.held.get_or_insert_default().duplicate = block;
        self.has_duplicate = true;
    }

    /// These bytes arrived twice; ignored if a duplicate is known that is not reported yet.
    pub(super) fn set_duplicate_if_none(&mut self, block: SackBlock) {
        if !self.has_duplicate {
            self.set_duplicate(block);
        }
    }

    /// The data was discarded, or is at its end.
    pub(super) fn clear(&mut self) {
        (self.count, self.has_duplicate) = (0, false);
    }

    /// Data before `next` is acknowledged.
    pub(super) fn forget_before(&mut self, next: u64) {
        if self.count > 0 {
            self.keep(|block| block.end > next, 0, usize::from(SACKS_KEPT));
        }
    }

    /// A block is new or has changed: it is the first from now on, in the place of those that it touches.
    pub(super) fn put_first(&mut self, block: SackBlock) {
        let is_apart = |old: &SackBlock| old.end < block.start || old.start > block.end;
        let count = usize::from(self.count);
        let held = self.held.get_or_insert_default();
        let has_grown = count > 0 && held.blocks[0].start == block.start;
        if !(has_grown && held.blocks[1..count].iter().all(is_apart)) {
            self.keep(is_apart, 1, usize::from(SACKS_KEPT) - 1);
            self.count += 1;
        }
        if let Some(held) = &mut self.held {
            held.blocks[0] = block;
        }
    }

    /// Keeps at most `max` of the blocks for which `keeps` is true, from place `first` on.
    fn keep(&mut self, keeps: impl Fn(&SackBlock) -> bool, first: usize, max: usize) {
        let Some(held) = &mut self.held else { return };
        let before = held.blocks;
        let mut kept = 0;
        for block in &before[..usize::from(self.count)] {
            if kept < max && keeps(block) {
                held.blocks[first + kept] = *block;
                kept += 1;
            }
        }
        self.count = kept as u8;
    }

    /// The blocks of an ACK, at most `max`; a duplicate is reported once.
    pub(super) fn report(&mut self, max: u8) -> SackBlocks {
        let Some(held) = &self.held else { return SackBlocks::NONE };
        let duplicate = std::mem::take(&mut self.has_duplicate).then_some(held.duplicate);
        SackBlocks::of(duplicate, &held.blocks[..usize::from(self.count)], usize::from(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start, end }
    }

    fn list(blocks: &[SackBlock]) -> SackList {
        let mut list = SackList::default();
        blocks.iter().rev().for_each(|&block| list.put_first(block));
        list
    }

    #[test]
    fn the_block_that_changed_last_is_the_first_and_the_fifth_is_forgotten() {
        let mut list = list(&[block(90, 100), block(70, 80), block(50, 60), block(30, 40)]);
        list.put_first(block(10, 20));
        assert_eq!(list.blocks(), [block(10, 20), block(90, 100), block(70, 80), block(50, 60)]);
    }

    #[test]
    fn a_block_that_joins_two_takes_their_place() {
        let mut list = list(&[block(90, 100), block(70, 80), block(50, 60)]);
        list.put_first(block(50, 80));
        assert_eq!(list.blocks(), [block(50, 80), block(90, 100)]);
        list.put_first(block(50, 85));
        assert_eq!(list.blocks(), [block(50, 85), block(90, 100)], "it has grown where it is");
        list.put_first(block(50, 100));
        assert_eq!(list.blocks(), [block(50, 100)]);
    }

    #[test]
    fn acknowledged_blocks_are_forgotten() {
        let mut list = list(&[block(90, 100), block(30, 40), block(50, 60)]);
        list.forget_before(60);
        assert_eq!(list.blocks(), [block(90, 100)]);
        list.forget_before(100);
        assert!(list.is_empty());
    }

    #[test]
    fn a_duplicate_is_reported_once_before_the_blocks() {
        let mut list = list(&[block(90, 100), block(70, 80), block(50, 60)]);
        list.set_duplicate(block(1, 2));
        list.set_duplicate_if_none(block(3, 4));
        assert_eq!(list.report(3).as_slice(), [block(1, 2), block(90, 100), block(70, 80)]);
        assert_eq!(list.report(3).as_slice(), [block(90, 100), block(70, 80), block(50, 60)]);
        list.set_duplicate_if_none(block(3, 4));
        list.clear();
        assert!(list.is_empty() && list.report(3).is_empty());
    }

    #[test]
    fn a_block_is_touched_by_what_overlaps_or_adjoins_it() {
        let list = list(&[block(90, 100), block(70, 80)]);
        let touched =
            [block(100, 110), block(60, 70), block(81, 89)].map(|other| list.first_touched_by(other));
        assert_eq!(touched, [0, 1, 2]);
    }
}
