//! Names of the experiment file, stored once; rows have their index.

use fnv::FnvBuildHasher;
use indexmap::IndexSet;

/// A flow, a ping, a device or a host of this run, as an index into [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(u32);

/// The names of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Names(IndexSet<String, FnvBuildHasher>);

impl Names {
    /// The index of `text`, the same each time it is given.
    pub fn give(&mut self, text: &str) -> Name {
        let index = self.0.get_index_of(text).unwrap_or_else(|| self.0.insert_full(text.to_owned()).0);
        Name(u32::try_from(index).expect("a run has fewer than four billion names"))
    }

    /// The text behind `name`.
    pub fn text(&self, name: Name) -> &str {
        &self.0[name.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_occurs_twice_is_stored_once() {
        let mut names = Names::default();
        let (upload, ping) = (names.give("upload"), names.give("ping"));
        assert_eq!(names.give("upload"), upload);
        assert_ne!(upload, ping);
        assert_eq!(names.text(ping), "ping");
    }
}
