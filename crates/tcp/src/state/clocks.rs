//! What the sender waited for, and how long.

use tailback_units::{SimTime, Span};

/// Time with something to send, and of it the time held by the peer's window or by the send buffer.
/// [linux-6.12 tcp.h enum tcp_chrono]
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyClocks {
    running: Option<Chrono>,
    since: SimTime,
    spent: [Span; 3],
}

/// Why the sender is busy; a later one takes precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Chrono {
    Busy = 0,
    ReceiveWindow = 1,
    SendBuffer = 2,
}

impl BusyClocks {
    /// From now on `what` runs (or nothing).
    pub(crate) fn run(&mut self, what: Option<Chrono>, now: SimTime) {
        if self.running == what {
            return;
        }
        if let Some(old) = self.running {
            self.spent[old as usize] += now.since(self.since);
        }
        self.running = what;
        self.since = now;
    }

    /// Time of one clock until now.
    pub(crate) fn spent(&self, what: Chrono, now: SimTime) -> Span {
        let current = if self.running == Some(what) { now.since(self.since) } else { Span::ZERO };
        self.spent[what as usize] + current
    }

    /// All of them: what `tcpi_busy_time` shows.
    pub(crate) fn total(&self, now: SimTime) -> Span {
        [Chrono::Busy, Chrono::ReceiveWindow, Chrono::SendBuffer]
            .into_iter()
            .fold(Span::ZERO, |sum, what| sum + self.spent(what, now))
    }
}
