//! Names of the experiment file, kept once; rows carry their index.

/// A flow, a ping, a device or a host of this run, as an index into [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(u32);

/// The names of one run.
#[derive(Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The index of `text`, the same each time it is given. Meant for building a world, not for its main loop:
    /// it compares with every name so far.
    pub fn give(&mut self, text: &str) -> Name {
        let known = self.0.iter().position(|name| name == text);
        let index = known.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        });
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
    fn a_name_given_twice_is_one_name() {
        let mut names = Names::default();
        let (upload, ping) = (names.give("upload"), names.give("ping"));
        assert_eq!(names.give("upload"), upload);
        assert_ne!(upload, ping);
        assert_eq!(names.text(ping), "ping");
    }
}
