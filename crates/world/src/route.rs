//! Static routes: from each host, the next hop towards each other host.

use tailback_packet::HostId;

/// The next hop for every pair of hosts: the end of a link while a world is built, then the device there.
#[derive(Debug)]
pub(crate) struct Routes<Hop> {
    hosts: usize,
    /// Row = host, column = destination; `None` on the diagonal and between unconnected hosts.
    next: Vec<Option<Hop>>,
}

impl<Hop: Copy> Routes<Hop> {
    /// No route at all.
    pub(crate) fn none() -> Self {
        Routes { hosts: 0, next: Vec::new() }
    }

    /// Routes that are yet to be set.
    pub(crate) fn unset(hosts: usize) -> Self {
        Routes { hosts, next: vec![None; hosts * hosts] }
    }

    /// From now on `host` sends to `hop` what is for `destination`.
    pub(crate) fn set(&mut self, host: HostId, destination: HostId, hop: Hop) {
        self.next[usize::from(host.0) * self.hosts + usize::from(destination.0)] = Some(hop);
    }

    /// Where `host` sends what is for `destination`.
    #[inline]
    pub(crate) fn next(&self, host: HostId, destination: HostId) -> Option<Hop> {
        self.next[usize::from(host.0) * self.hosts + usize::from(destination.0)]
    }

    /// As [`Routes::next`] once the network is built.
    #[inline]
    pub(crate) fn towards(&self, host: HostId, destination: HostId) -> Hop {
        self.next(host, destination).expect("every conversation has a path: the world was built so")
    }

    /// These routes with other names for their hops.
    pub(crate) fn map<Other>(self, name: impl Fn(Hop) -> Other) -> Routes<Other> {
        let next = self.next.into_iter().map(|hop| hop.map(&name)).collect();
        Routes { hosts: self.hosts, next }
    }
}
