//! Static routes on a tree of links: from each host, the device towards each other host.

use std::collections::VecDeque;

use tailback_packet::HostId;

use crate::scenario::Link;
use crate::{BuildError, DeviceId};

/// The next hop for every pair of hosts.
#[derive(Debug)]
pub(crate) struct Routes {
    hosts: usize,
    /// Row = host, column = destination; `None` on the diagonal and between unconnected hosts.
    next: Vec<Option<DeviceId>>,
}

impl Routes {
    /// Shortest paths over `links`, which form a forest.
    pub(crate) fn new(hosts: usize, links: &[Link]) -> Result<Self, BuildError> {
        refuse_cycles(hosts, links)?;
        let mut neighbours = vec![Vec::new(); hosts];
        for (link, ends) in links.iter().map(|link| link.ends).enumerate() {
            for end in 0..2 {
                neighbours[usize::from(ends[end])].push((DeviceId::of(link, end), ends[1 - end]));
            }
        }
        let mut routes = Routes { hosts, next: vec![None; hosts * hosts] };
        for from in 0..hosts {
            routes.spread(from, &neighbours);
        }
        Ok(routes)
    }

    /// The device of `host` on the way to `destination`.
    #[inline]
    pub(crate) fn next(&self, host: HostId, destination: HostId) -> Option<DeviceId> {
        self.next[usize::from(host.0) * self.hosts + usize::from(destination.0)]
    }

    /// Breadth first from `from`, remembering by which of its devices each host was reached.
    fn spread(&mut self, from: usize, neighbours: &[Vec<(DeviceId, u16)>]) {
        let mut reached: VecDeque<(usize, Option<DeviceId>)> = VecDeque::from([(from, None)]);
        let row = from * self.hosts;
        while let Some((host, first)) = reached.pop_front() {
            for &(device, peer) in &neighbours[host] {
                let peer = usize::from(peer);
                if peer != from && self.next[row + peer].is_none() {
                    let first = first.unwrap_or(device);
                    self.next[row + peer] = Some(first);
                    reached.push_back((peer, Some(first)));
                }
            }
        }
    }
}

/// Each link must join two parts that nothing joined before.
fn refuse_cycles(hosts: usize, links: &[Link]) -> Result<(), BuildError> {
    let mut part: Vec<usize> = (0..hosts).collect();
    for (index, link) in links.iter().enumerate() {
        let [one, other] = link.ends.map(|end| part[usize::from(end)]);
        if one == other {
            let path = format!("links[{index}].ends");
            return Err(BuildError::new(
                path,
                "this link closes a cycle",
                "leave it out: routes are those of a tree",
            ));
        }
        part.iter_mut().filter(|part| **part == other).for_each(|part| *part = one);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(one: u16, other: u16) -> Link {
        Link { ends: [one, other], rate_bps: None, delay_ns: [0, 0], mtu: 1500, ring: 256, bql: true }
    }

    #[test]
    fn a_packet_across_a_chain_takes_each_link_in_turn() {
        let routes = Routes::new(3, &[link(0, 1), link(1, 2)]).unwrap();
        assert_eq!(routes.next(HostId(0), HostId(2)), Some(DeviceId::of(0, 0)));
        assert_eq!(routes.next(HostId(1), HostId(2)), Some(DeviceId::of(1, 0)));
        assert_eq!(routes.next(HostId(2), HostId(0)), Some(DeviceId::of(1, 1)));
        assert_eq!(routes.next(HostId(1), HostId(1)), None);
    }

    #[test]
    fn hosts_without_a_path_have_no_route() {
        let routes = Routes::new(3, &[link(0, 1)]).unwrap();
        assert_eq!(routes.next(HostId(0), HostId(2)), None);
    }

    #[test]
    fn a_cycle_is_refused_at_the_link_that_closes_it() {
        let error = Routes::new(3, &[link(0, 1), link(1, 2), link(2, 0)]).unwrap_err();
        assert_eq!(error.path, "links[2].ends");
    }
}
