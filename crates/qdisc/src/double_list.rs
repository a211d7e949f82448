//! A doubly linked list of indices, with the links in a separate table: any index can be removed in constant time.
//!
//! Several lists can share a table if each index is on at most one of them. `index_list` needs half the memory, but
//! removes only from the head.

use crate::index_list::NONE;

/// The neighbours of an index on its list; [`NONE`] at either end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours {
    before: u32,
    after: u32,
}

impl Neighbours {
    /// On no list.
    pub const NOBODY: Neighbours = Neighbours { before: NONE, after: NONE };
}

/// First and last index of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleList {
    head: u32,
    tail: u32,
}

impl Default for DoubleList {
    fn default() -> Self {
        DoubleList { head: NONE, tail: NONE }
    }
}

impl DoubleList {
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub fn push_back(&mut self, links: &mut [Neighbours], index: u32) {
        links[index as usize] = Neighbours { before: self.tail, after: NONE };
        match self.first() {
            Some(_) => links[self.tail as usize].after = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Removes `index`, which is on this list.
    #[inline]
    pub fn remove(&mut self, links: &mut [Neighbours], index: u32) {
        let Neighbours { before, after } = links[index as usize];
        match before {
            NONE => self.head = after,
            _ => links[before as usize].after = after,
        }
        match after {
            NONE => self.tail = before,
            _ => links[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(links: &mut [Neighbours]) -> DoubleList {
        let mut list = DoubleList::default();
        [3, 0, 2, 1].into_iter().for_each(|index| list.push_back(links, index));
        list
    }

    fn drained(list: &mut DoubleList, links: &mut [Neighbours]) -> Vec<u32> {
        std::iter::from_fn(|| list.first().inspect(|&first| list.remove(links, first))).collect()
    }

    #[test]
    fn any_index_can_be_removed_and_the_others_keep_their_order() {
        for (leaving, left) in [(3, [0, 2, 1]), (2, [3, 0, 1]), (1, [3, 0, 2])] {
            let mut links = vec![Neighbours::NOBODY; 4];
            let mut list = filled(&mut links);
            list.remove(&mut links, leaving);
            assert_eq!(drained(&mut list, &mut links), left);
        }
    }

    #[test]
    fn a_removed_index_can_join_another_list_of_the_same_table() {
        let mut links = vec![Neighbours::NOBODY; 4];
        let (mut list, mut other) = (filled(&mut links), DoubleList::default());
        for index in [1, 0] {
            list.remove(&mut links, index);
            other.push_back(&mut links, index);
        }
        assert_eq!(drained(&mut list, &mut links), [3, 2]);
        assert_eq!(drained(&mut other, &mut links), [1, 0]);
        list.push_back(&mut links, 1);
        assert_eq!(list.first(), Some(1), "an emptied list can be filled again");
    }
}
