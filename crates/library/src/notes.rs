//! What endpoints say during a run: lines for people, and events of qlog.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most lines that a run keeps, and the most events.
const MOST: usize = 1_000_000;
/// The most bytes of all of them.
const MOST_BYTES: usize = 256 << 20;
/// The most characters of a line, of a reason, and of the name of an event.
pub(crate) const LONGEST: usize = 1_000;
const LONGEST_NAME: usize = 100;

/// A text of a library as one line that a terminal can show: no control characters, and no longer than this.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let printable = |each: char| if each.is_control() { char::REPLACEMENT_CHARACTER } else { each };
    let mut line: String = text.trim_end().chars().take(most).map(printable).collect();
    if text.trim_end().chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

/// One end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At the host that the flow goes from.
    From,
    /// At the host that it goes to.
    To,
}

impl End {
    /// Its number.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The other one.
    pub fn other(self) -> End {
        match self {
            End::From => End::To,
            End::To => End::From,
        }
    }

    /// Its word in tables.
    pub fn word(self) -> &'static str {
        match self {
            End::From => "from",
            End::To => "to",
        }
    }
}

/// An event of qlog.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The flow.
    pub flow: String,
    /// Which of its endpoints.
    pub end: End,
    /// When it was.
    pub at: Duration,
    /// Its name, as `recovery:metrics_updated`.
    pub name: String,
    /// Its data, a JSON object.
    pub data: String,
}

/// What is kept.
#[derive(Debug, Default)]
struct Kept {
    lines: Vec<String>,
    events: Vec<Event>,
    bytes: usize,
}

/// What all endpoints of a run say.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Kept>>);

impl Notes {
    /// Keeps a line, or the beginning of a long one.
    pub fn say(&self, line: &str) {
        let (line, mut kept) = (shown(line, LONGEST), self.kept());
        if kept.lines.len() < MOST && kept.has_room(line.len()) {
            kept.lines.push(line);
        }
    }

    /// Keeps an event; says what is wrong with it.
    pub fn event(&self, event: Event) -> Result<(), String> {
        let name = shown(&event.name, LONGEST_NAME);
        if name != event.name {
            return Err(format!(
                "the name of its event `{name}` is no line of at most {LONGEST_NAME} characters"
            ));
        }
        match serde_json::from_str(&event.data) {
            Ok(serde_json::Value::Object(_)) => {}
            Ok(_) => return Err(format!("the data of its event `{name}` is no JSON object")),
            Err(error) => return Err(format!("the data of its event `{name}` is not JSON: {error}")),
        }
        let mut kept = self.kept();
        if kept.events.len() < MOST && kept.has_room(event.data.len()) {
            kept.events.push(event);
        }
        Ok(())
    }

    /// Takes all.
    pub fn take(&self) -> (Vec<String>, Vec<Event>) {
        let kept = std::mem::take(&mut *self.kept());
        (kept.lines, kept.events)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Whether so many bytes more are kept, which are then counted.
    fn has_room(&mut self, bytes: usize) -> bool {
        let enough = self.bytes + bytes <= MOST_BYTES;
        self.bytes += if enough { bytes } else { 0 };
        enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{End, Event, Kept, LONGEST, LONGEST_NAME, MOST_BYTES, Notes, shown};

    fn event(name: &str, data: String) -> Event {
        Event { flow: "mine".to_owned(), end: End::From, at: Duration::ZERO, name: name.to_owned(), data }
    }

    #[test]
    fn what_a_library_says_is_one_line_that_a_terminal_shows() {
        assert_eq!(shown("a\u{1b}[2J\nb\n", 10), "a\u{fffd}[2J\u{fffd}b");
        assert_eq!(shown("abcdef", 3), "abc…");
    }

    #[test]
    fn a_long_line_keeps_its_beginning_and_a_long_name_is_refused() {
        let notes = Notes::default();
        notes.say(&"x".repeat(2 * LONGEST));
        assert!(notes.event(event(&"n".repeat(LONGEST_NAME + 1), "{}".to_owned())).is_err());
        assert_eq!(notes.take().0[0].chars().count(), LONGEST + 1);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut kept = Kept::default();
        assert!(kept.has_room(MOST_BYTES));
        assert!(!kept.has_room(1));
    }
}
