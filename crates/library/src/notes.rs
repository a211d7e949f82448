//! What endpoints say during a run: lines for people, and events of qlog.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most lines that a run keeps, and the most events.
const MOST: usize = 1_000_000;

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

/// What all endpoints of a run say.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<(Vec<String>, Vec<Event>)>>);

impl Notes {
    /// Keeps a line.
    pub fn say(&self, line: String) {
        let (lines, _) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MOST {
            lines.push(line);
        }
    }

    /// Keeps an event; says what is wrong with it.
    pub fn event(&self, event: Event) -> Result<(), String> {
        match serde_json::from_str(&event.data) {
            Ok(serde_json::Value::Object(_)) => {}
            Ok(_) => return Err(format!("the data of its event `{}` is no JSON object", event.name)),
            Err(error) => return Err(format!("the data of its event `{}` is not JSON: {error}", event.name)),
        }
        let (_, events) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MOST {
            events.push(event);
        }
        Ok(())
    }

    /// Takes all.
    pub fn take(&self) -> (Vec<String>, Vec<Event>) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
