//! Names of the experiment file, stored once; rows have their index.

use std::collections::BTreeMap;

/// A flow, a ping, a device or a host of this run, as an index into [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(u32);

/// The names of one run.
#[derive(Debug)]
pub struct Names {
    texts: Vec<String>,
    /// `None` when all names are given.
    known: Option<BTreeMap<String, Name>>,
}

impl Default for Names {
    fn default() -> Self {
        Names { texts: Vec::new(), known: Some(BTreeMap::new()) }
    }
}

impl Names {
    /// The index of `text`, the same each time it is given.
    pub fn give(&mut self, text: &str) -> Name {
        let known = self.known.as_mut().expect("all names are given before a run begins");
        if let Some(&name) = known.get(text) {
            return name;
        }
        let name = Name(u32::try_from(self.texts.len()).expect("a run has fewer than four billion names"));
        self.texts.push(text.to_owned());
        known.insert(text.to_owned(), name);
        name
    }

    /// All names are given: frees what finds the index of a text.
    pub fn complete(&mut self) {
        self.known = None;
    }

    /// The text behind `name`.
    pub fn text(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
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
