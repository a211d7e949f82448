//! Static routes: from each host, the device towards each other host. Without one of its own a packet takes the way of
//! fewest links; of several such, the one whose links come first in the scenario.

use std::collections::VecDeque;

use tailback_packet::HostId;

use crate::DeviceId;
use crate::scenario::{Link, RouteSpec};

/// The next hop for every pair of hosts.
#[derive(Debug)]
pub(crate) struct Routes {
    hosts: usize,
    /// Row = host, column = destination; `None` on the diagonal and between unconnected hosts.
    next: Vec<Option<DeviceId>>,
}

impl Routes {
    /// Shortest ways over `links`, but for those `given`.
    pub(crate) fn new(hosts: usize, links: &[Link], given: &[RouteSpec]) -> Self {
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
        for route in given {
            let link = usize::from(route.link);
            let end = usize::from(links[link].ends[1] == route.host);
            routes.next[usize::from(route.host) * hosts + usize::from(route.to)] =
                Some(DeviceId::of(link, end));
        }
        routes
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

#[cfg(test)]
mod tests {
    use super::*;

    fn next(routes: &Routes, host: u16, destination: u16) -> Option<DeviceId> {
        routes.next(HostId(host), HostId(destination))
    }

    #[test]
    fn a_packet_across_a_chain_takes_each_link_in_turn() {
        let routes = Routes::new(3, &[Link::between(0, 1), Link::between(1, 2)], &[]);
        assert_eq!(next(&routes, 0, 2), Some(DeviceId::of(0, 0)));
        assert_eq!(next(&routes, 1, 2), Some(DeviceId::of(1, 0)));
        assert_eq!(next(&routes, 2, 0), Some(DeviceId::of(1, 1)));
        assert_eq!(next(&routes, 1, 1), None);
    }

    #[test]
    fn hosts_without_a_path_have_no_route() {
        assert_eq!(next(&Routes::new(3, &[Link::between(0, 1)], &[]), 0, 2), None);
    }

    /// 0 – 1 – 3 and 0 – 2 – 3.
    const DIAMOND: [(u16, u16); 4] = [(0, 1), (0, 2), (1, 3), (2, 3)];

    fn diamond(given: &[RouteSpec]) -> Routes {
        Routes::new(4, &DIAMOND.map(|(one, other)| Link::between(one, other)), given)
    }

    #[test]
    fn of_two_ways_as_short_the_one_whose_links_come_first_is_taken() {
        assert_eq!(next(&diamond(&[]), 0, 3), Some(DeviceId::of(0, 0)));
    }

    #[test]
    fn a_route_that_is_given_goes_before_the_shortest_way_and_holds_for_its_host_only() {
        let routes = diamond(&[RouteSpec { host: 3, to: 0, link: 3 }]);
        assert_eq!(next(&routes, 3, 0), Some(DeviceId::of(3, 1)));
        assert_eq!(next(&routes, 3, 1), Some(DeviceId::of(2, 1)));
        assert_eq!(next(&routes, 0, 3), Some(DeviceId::of(0, 0)));
    }
}
