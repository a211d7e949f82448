//! The order of the last transmission, in which RACK examines the records.
//!
//! The links are apart from the records, because most of the time there are none.

use std::ops::Range;

use super::{Index, NO_RECORD, RetransmitQueue};

/// The neighbours of a record in the time order.
#[derive(Clone, Copy, Debug)]
struct Link {
    earlier: Index,
    later: Index,
}

impl Link {
    const NONE: Link = Link { earlier: NO_RECORD, later: NO_RECORD };
}

/// What a queue knows of its records in addition, once one of them was SACKed, lost or retransmitted. Its memory then
/// stays: where a segment was lost, others will be.
#[derive(Debug)]
pub(super) struct TimeOrder {
    /// Each at the place of its record in the ring. They count while [`RetransmitQueue::is_linked`].
    links: Vec<Link>,
    oldest: Index,
    newest: Index,
    /// The record that was merged last, and the first record of its skb.
    pub(super) last_merged: (Index, Index),
}

impl Default for TimeOrder {
    fn default() -> Self {
        TimeOrder {
            links: Vec::new(),
            oldest: NO_RECORD,
            newest: NO_RECORD,
            last_merged: (NO_RECORD, NO_RECORD),
        }
    }
}

impl TimeOrder {
    #[inline]
    fn place(&self, index: Index) -> usize {
        index as usize & self.links.len().wrapping_sub(1)
    }

    #[inline]
    fn link(&self, index: Index) -> Link {
        self.links[self.place(index)]
    }

    #[inline]
    fn link_mut(&mut self, index: Index) -> &mut Link {
        let place = self.place(index);
        &mut self.links[place]
    }

    /// Makes room for a link of each record in a ring of this size, and links none.
    fn clear(&mut self, size: usize) {
        (self.oldest, self.newest) = (NO_RECORD, NO_RECORD);
        self.links.clear();
        self.links.resize(size, Link::NONE);
    }

    fn append(&mut self, index: Index) {
        let newest = self.newest;
        *self.link_mut(index) = Link { earlier: newest, later: NO_RECORD };
        match newest {
            NO_RECORD => self.oldest = index,
            other => self.link_mut(other).later = index,
        }
        self.newest = index;
    }

    fn remove(&mut self, index: Index) {
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
}

impl RetransmitQueue {
    /// Moves a retransmitted record to the end of the time order.
    pub(crate) fn move_to_newest(&mut self, index: Index) {
        self.leave_time_order(index);
        self.order().append(index);
    }

    /// Removes a record from the time order when it is SACKed or marked lost.
    pub(crate) fn leave_time_order(&mut self, index: Index) {
        if !self.is_linked() {
            self.link_all();
        }
        self.linked_before = self.end;
        self.order().remove(index);
    }

    /// The time order is kept by links.
    #[inline]
    pub(super) fn is_linked(&self) -> bool {
        self.first < self.linked_before
    }

    #[inline]
    pub(super) fn order(&mut self) -> &mut TimeOrder {
        self.time_order.get_or_insert_default()
    }

    /// Links all records in the order of their numbers.
    fn link_all(&mut self) {
        let (size, records) = (self.ring.0.len(), self.first..self.end);
        let order = self.order();
        order.clear(size);
        records.for_each(|index| order.append(index));
    }

    /// The ring was enlarged: moves the links to the new places of their records.
    #[cold]
    pub(super) fn enlarge_links(&mut self) {
        let (size, records) = (self.ring.0.len(), self.first..self.end);
        let order = self.order();
        let former = std::mem::replace(&mut order.links, vec![Link::NONE; size]);
        for index in records {
            *order.link_mut(index) = former[index as usize & (former.len() - 1)];
        }
    }

    /// Restores the time order after the records of `run` have become `count`.
    pub(super) fn relink(&mut self, indices: &[Index], run: Range<Index>, count: u64) {
        self.linked_before = self.end;
        let size = self.ring.0.len();
        let order = self.order();
        order.clear(size);
        for &index in indices {
            if index == run.start {
                (run.start..run.start + count).for_each(|index| order.append(index));
            } else if index >= run.end {
                order.append(index - run.end + run.start + count);
            } else if index < run.start {
                order.append(index);
            }
        }
    }

    #[inline(never)]
    pub(super) fn unlink(&mut self, index: Index) {
        self.order().remove(index);
    }

    #[inline(never)]
    pub(super) fn link_newest(&mut self, index: Index) {
        self.order().append(index);
    }

    /// The record transmitted longest ago.
    pub(crate) fn oldest(&self) -> Option<Index> {
        match &self.time_order {
            Some(order) if self.is_linked() => Some(order.oldest).filter(|&oldest| oldest != NO_RECORD),
            _ => (!self.is_empty()).then_some(self.first),
        }
    }

    /// The record transmitted next after `index`.
    pub(crate) fn after_in_time(&self, index: Index) -> Option<Index> {
        let later = match &self.time_order {
            Some(order) if self.is_linked() => order.link(index).later,
            _ => index + 1,
        };
        (later < self.end).then_some(later)
    }
}
