//! Accounts for every packet of a run: it is delivered, dropped, or still in the network when the run ends.

use std::fmt;

/// Counts of packets and events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Packets made by sockets and pings.
    pub created: u64,
    /// Packets that reached a socket or a ping.
    pub delivered: u64,
    /// Packets dropped anywhere.
    pub dropped: u64,
    /// Packets in disciplines, rings, wires and backlogs.
    pub inside: u64,
}

impl Ledger {
    /// No packet vanished and none appeared.
    pub fn balances(&self) -> bool {
        self.created == self.ended_or_inside()
    }

    fn ended_or_inside(&self) -> u64 {
        self.delivered + self.dropped + self.inside
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { created, delivered, dropped, inside } = self;
        write!(
            f,
            "{created} were sent, {delivered} delivered, {dropped} dropped, and {inside} are in the network"
        )?;
        let (there, created) = (self.ended_or_inside(), *created);
        match there < created {
            true => write!(f, ": {} have vanished", created - there),
            false => write!(f, ": {} too many", there - created),
        }
    }
}

/// What a run cost, beside the time of the computer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Simulated nanoseconds.
    pub sim_ns: u64,
    /// Events taken from the calendar.
    pub events: u64,
    /// Packets handed to a device.
    pub packets: u64,
    /// TCP data segments sent, retransmissions included.
    pub segments: u64,
}
