//! Fairness of hosts: whether a queue is for a flow or a host, and by how many bulk flows a host's share is divided.

use super::tins::{Flow, Tin};

/// What a queue is for, and whose bulk flows share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Isolation {
    pub(super) by_flow: bool,
    pub(super) by_source: bool,
    pub(super) by_destination: bool,
    pub(super) source_shares: bool,
    pub(super) destination_shares: bool,
}

impl Isolation {
    pub(super) fn of(index: u64) -> Self {
        let is = |list: &[u64]| list.contains(&index);
        Isolation {
            by_flow: is(&[0, 5, 6, 7]),
            by_source: is(&[2, 4]),
            by_destination: is(&[3, 4]),
            source_shares: is(&[0, 6]),
            destination_shares: is(&[0, 7]),
        }
    }
}

impl Tin {
    /// Number of bulk flows of the busier of the hosts of a flow, among hosts that share.
    pub(super) fn host_load(&self, flow: &Flow, isolation: &Isolation) -> i64 {
        let of = |side: usize, shares: bool| {
            if shares { self.hosts[side][usize::from(flow.hosts[side])] } else { 0 }
        };
        i64::from(of(0, isolation.source_shares).max(of(1, isolation.destination_shares)).max(1))
    }

    /// Counts a flow that has become a bulk flow, or is no longer one.
    pub(super) fn count_bulk(&mut self, index: u32, more: bool) {
        for side in 0..2 {
            let count = &mut self.hosts[side][usize::from(self.flows[index as usize].hosts[side])];
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        }
        self.bulk_flows = if more { self.bulk_flows + 1 } else { self.bulk_flows - 1 };
    }
}
