//! A singly linked list of indices, with the links in a table beside or inside of what is listed: four bytes per index and
//! no allocation.
//!
//! Several lists can share a table if each index is on at most one of them.

/// No index.
pub(crate) const NONE: u32 = u32::MAX;

/// A table of links.
pub(crate) trait Links {
    /// The index after `index` on its list.
    fn after(&self, index: u32) -> u32;
    /// Sets it.
    fn link(&mut self, index: u32, next: u32);
}

impl Links for Vec<u32> {
    #[inline]
    fn after(&self, index: u32) -> u32 {
        self[index as usize]
    }

    #[inline]
    fn link(&mut self, index: u32, next: u32) {
        self[index as usize] = next;
    }
}

/// First and last index of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexList {
    head: u32,
    tail: u32,
}

impl Default for IndexList {
    fn default() -> Self {
        IndexList { head: NONE, tail: NONE }
    }
}

impl IndexList {
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// It has exactly one index.
    #[inline]
    pub fn has_one(&self) -> bool {
        self.head == self.tail && self.head != NONE
    }

    #[inline]
    pub fn push_back<L: Links>(&mut self, links: &mut L, index: u32) {
        links.link(index, NONE);
        match self.first() {
            Some(_) => links.link(self.tail, index),
            None => self.head = index,
        }
        self.tail = index;
    }

    #[inline]
    pub fn pop_front<L: Links>(&mut self, links: &L) -> Option<u32> {
        let first = self.first()?;
        self.head = links.after(first);
        Some(first)
    }

    /// The first goes to the end.
    #[inline]
    pub fn rotate<L: Links>(&mut self, links: &mut L) {
        if self.head != self.tail {
            let first = self.head;
            self.head = links.after(first);
            links.link(first, NONE);
            links.link(self.tail, first);
            self.tail = first;
        }
    }

    pub fn len<L: Links>(&self, links: &L) -> usize {
        std::iter::successors(self.first(), |&at| Some(links.after(at)).filter(|&next| next != NONE)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_share_a_table_of_links() {
        let mut links = vec![NONE; 4];
        let (mut odd, mut even) = (IndexList::default(), IndexList::default());
        [1, 3].into_iter().for_each(|index| odd.push_back(&mut links, index));
        [0, 2].into_iter().for_each(|index| even.push_back(&mut links, index));
        assert_eq!((odd.len(&links), even.len(&links)), (2, 2));
        assert_eq!(
            [odd.pop_front(&links), odd.pop_front(&links), odd.pop_front(&links)],
            [Some(1), Some(3), None]
        );
        assert_eq!([even.pop_front(&links), even.pop_front(&links)], [Some(0), Some(2)]);
    }

    #[test]
    fn an_emptied_list_can_be_filled_again() {
        let mut links = vec![NONE; 2];
        let mut list = IndexList::default();
        list.push_back(&mut links, 0);
        list.pop_front(&links);
        list.push_back(&mut links, 1);
        list.push_back(&mut links, 0);
        assert_eq!([list.pop_front(&links), list.pop_front(&links)], [Some(1), Some(0)]);
    }
}
