//! The order of the last transmission, in which RACK examines the records.
//!
//! The links are apart from the records, because most of the time there are none.

use std::ops::Range;

use super::{Index, NO_RECORD, RetransmitQueue};

/// The neighbours of a record in the time order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    earlier: Index,
    later: Index,
}

impl Link {
    const NONE: Link = Link { earlier: NO_RECORD, later: NO_RECORD };
}

impl RetransmitQueue {
    /// Moves a retransmitted record to the end of the time order.
    pub(crate) fn move_to_newest(&mut self, index: Index) {
        self.leave_time_order(index);
        self.link_newest(index);
    }

    /// Removes a record from the time order when it is SACKed or marked lost.
    pub(crate) fn leave_time_order(&mut self, index: Index) {
        if !self.is_linked() {
            self.link_all();
        }
        self.linked_before = self.end;
        self.unlink(index);
    }

    /// The time order is kept by links.
    #[inline]
    pub(super) fn is_linked(&self) -> bool {
        self.first < self.linked_before
    }

    /// Links all records in the order of their numbers.
    fn link_all(&mut self) {
        self.clear_links();
        for index in self.first..self.end {
            self.link_newest(index);
        }
    }

    /// Makes room for a link of each record, and links none.
    fn clear_links(&mut self) {
        (self.oldest, self.newest) = (NO_RECORD, NO_RECORD);
        self.links.clear();
        self.links.resize(self.ring.0.len(), Link::NONE);
    }

    /// The ring was enlarged: moves the links to the new places of their records.
    #[cold]
    pub(super) fn enlarge_links(&mut self, former_size: usize) {
        let former = std::mem::replace(&mut self.links, vec![Link::NONE; self.ring.0.len()]);
        for index in self.first..self.end {
            *self.link_mut(index) = former[index as usize & (former_size - 1)];
        }
    }

    /// The time order is that of the numbers again. Their memory stays: where a segment was lost, others will be.
    #[cold]
    pub(super) fn remove_links(&mut self) {
        self.links.clear();
    }

    fn link(&self, index: Index) -> Link {
        self.links[self.ring.place(index)]
    }

    fn link_mut(&mut self, index: Index) -> &mut Link {
        let place = self.ring.place(index);
        &mut self.links[place]
    }

    /// Restores the time order after the records of `run` have become `count`.
    pub(super) fn relink(&mut self, order: &[Index], run: Range<Index>, count: u64) {
        self.clear_links();
        self.linked_before = self.end;
        for &index in order {
            if index == run.start {
                (run.start..run.start + count).for_each(|index| self.link_newest(index));
            } else if index >= run.end {
                self.link_newest(index - run.end + run.start + count);
            } else if index < run.start {
                self.link_newest(index);
            }
        }
    }

    pub(super) fn unlink(&mut self, index: Index) {
        let Link { earlier, later } = self.link(index);
        if earlier == NO_RECORD && later == NO_RECORD && self.oldest != index {
            return;
        }
        match earlier {
            NO_RECORD => self.oldest = later,
            other => self.link_mut(other).later = later,
        }
        match later {
            NO_RECORD => self.newest = earlier,
            other => self.link_mut(other).earlier = earlier,
        }
        *self.link_mut(index) = Link::NONE;
    }

    #[inline(never)]
    pub(super) fn link_newest(&mut self, index: Index) {
        let newest = self.newest;
        *self.link_mut(index) = Link { earlier: newest, later: NO_RECORD };
        match newest {
            NO_RECORD => self.oldest = index,
            other => self.link_mut(other).later = index,
        }
        self.newest = index;
    }

    /// The record transmitted longest ago.
    pub(crate) fn oldest(&self) -> Option<Index> {
        match self.is_linked() {
            true => (self.oldest != NO_RECORD).then_some(self.oldest),
            false => (!self.is_empty()).then_some(self.first),
        }
    }

    /// The record transmitted next after `index`.
    pub(crate) fn after_in_time(&self, index: Index) -> Option<Index> {
        let later = if self.is_linked() { self.link(index).later } else { index + 1 };
        (later < self.end).then_some(later)
    }
}
