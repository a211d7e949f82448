//! The SACK blocks of an ACK, kept until the next one.

use tailback_packet::{SACK_BLOCKS_MAX, SackBlock};

/// SACK blocks of one ACK in ascending order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AscendingBlocks {
    blocks: [SackBlock; SACK_BLOCKS_MAX],
    count: u8,
}

impl AscendingBlocks {
    /// Inserts a block, behind those that begin where it does; there is room for all blocks of an ACK.
    pub(crate) fn insert(&mut self, block: SackBlock) {
        let mut place = usize::from(self.count);
        while place > 0 && self.blocks[place - 1].start > block.start {
            self.blocks[place] = self.blocks[place - 1];
            place -= 1;
        }
        self.blocks[place] = block;
        self.count += 1;
    }

    /// The lowest first.
    pub(crate) fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}
