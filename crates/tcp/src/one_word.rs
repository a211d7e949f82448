//! Values that may be absent, in one word each.

use std::fmt::{self, Debug, Formatter};

use tailback_units::{SimTime, Span};

/// A value or none, where an [`Option`] takes two words: a run may have tens of thousands of sockets, and each has many of these.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneWord<T>(T);

/// A type with a value that never occurs, and so stands for none.
pub(crate) trait Word: Copy + Eq {
    const NONE: Self;
}

impl Word for u64 {
    const NONE: u64 = u64::MAX;
}

impl Word for SimTime {
    const NONE: SimTime = SimTime::NEVER;
}

impl Word for Span {
    const NONE: Span = Span::MAX;
}

impl<T: Word> OneWord<T> {
    pub(crate) const NONE: OneWord<T> = OneWord(T::NONE);

    /// This value, which is not the one that stands for none.
    #[inline]
    pub(crate) fn some(value: T) -> Self {
        debug_assert!(value != T::NONE, "it would count as none");
        OneWord(value)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<T> {
        self.is_some().then_some(self.0)
    }

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0 != T::NONE
    }

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == T::NONE
    }

    /// The value, which is then `value` if there was none.
    pub(crate) fn get_or_set(&mut self, value: T) -> T {
        if self.is_none() {
            *self = OneWord::some(value);
        }
        self.0
    }

    /// Leaves none.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        std::mem::take(self).get()
    }
}

impl<T: Word> Default for OneWord<T> {
    fn default() -> Self {
        OneWord::NONE
    }
}

impl<T: Word> From<Option<T>> for OneWord<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(OneWord::NONE, OneWord::some)
    }
}

impl<T: Word + Debug> Debug for OneWord<T> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        self.get().fmt(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_what_an_option_holds() {
        for value in [None, Some(0), Some(7)] {
            let mut word = OneWord::from(value);
            assert_eq!(
                (word.get(), word.is_some(), word.is_none()),
                (value, value.is_some(), value.is_none())
            );
            assert_eq!(
                (word.get_or_set(3), word.take(), word.take()),
                (value.unwrap_or(3), Some(value.unwrap_or(3)), None)
            );
        }
        assert_eq!(size_of::<OneWord<SimTime>>(), 8);
    }
}
