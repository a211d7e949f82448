//! The order of the last transmission, in which RACK examines the records.

use std::ops::Range;

use super::{Index, NO_RECORD, RetransmitQueue};

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
        (self.oldest, self.newest) = (NO_RECORD, NO_RECORD);
        for index in self.first..self.end {
            self.link_newest(index);
        }
    }

    /// Restores the time order after the records of `run` have become `count`.
    pub(super) fn relink(&mut self, order: &[Index], run: Range<Index>, count: u64) {
        for index in self.first..self.end {
            let segment = self.get_mut(index);
            (segment.earlier, segment.later) = (NO_RECORD, NO_RECORD);
        }
        (self.oldest, self.newest) = (NO_RECORD, NO_RECORD);
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
        let (earlier, later) = (self.get(index).earlier, self.get(index).later);
        if earlier == NO_RECORD && later == NO_RECORD && self.oldest != index {
            return;
        }
        match earlier {
            NO_RECORD => self.oldest = later,
            other => self.get_mut(other).later = later,
        }
        match later {
            NO_RECORD => self.newest = earlier,
            other => self.get_mut(other).earlier = earlier,
        }
        let segment = self.get_mut(index);
        segment.earlier = NO_RECORD;
        segment.later = NO_RECORD;
    }

    #[inline(never)]
    pub(super) fn link_newest(&mut self, index: Index) {
        let newest = self.newest;
        let segment = self.get_mut(index);
        segment.earlier = newest;
        segment.later = NO_RECORD;
        match newest {
            NO_RECORD => self.oldest = index,
            other => self.get_mut(other).later = index,
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
        let later = if self.is_linked() { self.get(index).later } else { index + 1 };
        (later < self.end).then_some(later)
    }
}
