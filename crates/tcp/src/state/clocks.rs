//! The times for which the sender was busy, and limited by what.

use tailback_units::{SimTime, Span};

/// Time with something to send, and of it the time held by the peer's window or by the send buffer. The latter begins
/// with a send that leaves no unsent data while the application waits for room; it does not begin without a send.
/// [linux-6.12 tcp.h enum tcp_chrono] [linux-6.12 tcp_output.c tcp_chrono_start, tcp_chrono_stop, tcp_cwnd_validate]
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
    /// After a run of the transmit loop. `is_busy`: data is to be sent or to be acknowledged; `held_by_window`: the window
    /// of the peer holds it. [linux-6.12 tcp_output.c tcp_write_xmit]
    #[inline]
    pub(crate) fn update(&mut self, is_busy: bool, held_by_window: bool, now: SimTime) {
        let remains = self.running == Some(Chrono::Busy) && is_busy && !held_by_window;
        if !remains {
            self.switch(is_busy, held_by_window, now);
        }
    }

    #[inline(never)]
    fn switch(&mut self, is_busy: bool, held_by_window: bool, now: SimTime) {
        if is_busy {
            self.start(Chrono::Busy, now);
        }
        match held_by_window {
            true => self.start(Chrono::ReceiveWindow, now),
            false => self.stop(Chrono::ReceiveWindow, is_busy, now),
        }
    }

    /// Starts the clock `what`, unless one that takes precedence runs.
    pub(crate) fn start(&mut self, what: Chrono, now: SimTime) {
        if Some(what) > self.running {
            self.run(Some(what), now);
        }
    }

    /// The sender is no longer limited by `what`: it is only busy, or has nothing to send.
    pub(crate) fn stop(&mut self, what: Chrono, is_busy: bool, now: SimTime) {
        if !is_busy {
            self.run(None, now);
        } else if self.running == Some(what) {
            self.run(Some(Chrono::Busy), now);
        }
    }

    /// Switches to the clock `what` (or to none).
    fn run(&mut self, what: Option<Chrono>, now: SimTime) {
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
