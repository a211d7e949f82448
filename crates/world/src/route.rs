//! Static routes: from each host, where to send towards each other host. Without one of its own a packet takes the way of
//! fewest links; of several such, the one whose links come first in the scenario.

use std::collections::VecDeque;

use tailback_packet::HostId;

use crate::scenario::{Link, RouteSpec};
use crate::topology::LinkEnd;

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

    /// Where `host` sends what is for `destination`.
    #[inline]
    pub(crate) fn next(&self, host: HostId, destination: HostId) -> Option<Hop> {
        self.next[usize::from(host.0) * self.hosts + usize::from(destination.0)]
    }

    /// The same routes, with other names for their hops.
    pub(crate) fn map<Other>(self, name: impl Fn(Hop) -> Other) -> Routes<Other> {
        let next = self.next.into_iter().map(|hop| hop.map(&name)).collect();
        Routes { hosts: self.hosts, next }
    }
}

impl Routes<LinkEnd> {
    /// Shortest ways over `links`, but for those `given`.
    pub(crate) fn new(hosts: usize, links: &[Link], given: &[RouteSpec]) -> Self {
        let mut neighbours = vec![Vec::new(); hosts];
        for (link, ends) in links.iter().map(|link| link.ends).enumerate() {
            for end in 0..2 {
                neighbours[usize::from(ends[end])].push((LinkEnd::of(link, end), ends[1 - end]));
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
                Some(LinkEnd::of(link, end));
        }
        routes
    }

    /// Breadth first from `from`, remembering by which of its links each host was reached.
    fn spread(&mut self, from: usize, neighbours: &[Vec<(LinkEnd, u16)>]) {
        let mut reached: VecDeque<(usize, Option<LinkEnd>)> = VecDeque::from([(from, None)]);
        let row = from * self.hosts;
        while let Some((host, first)) = reached.pop_front() {
            for &(end, peer) in &neighbours[host] {
                let peer = usize::from(peer);
                if peer != from && self.next[row + peer].is_none() {
                    let first = first.unwrap_or(end);
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

    fn next(routes: &Routes<LinkEnd>, host: u16, destination: u16) -> Option<LinkEnd> {
        routes.next(HostId(host), HostId(destination))
    }

    #[test]
    fn a_packet_across_a_chain_takes_each_link_in_turn() {
        let routes = Routes::new(3, &[Link::between(0, 1), Link::between(1, 2)], &[]);
        assert_eq!(next(&routes, 0, 2), Some(LinkEnd::of(0, 0)));
        assert_eq!(next(&routes, 1, 2), Some(LinkEnd::of(1, 0)));
        assert_eq!(next(&routes, 2, 0), Some(LinkEnd::of(1, 1)));
        assert_eq!(next(&routes, 1, 1), None);
    }

    #[test]
    fn hosts_without_a_path_have_no_route() {
        assert_eq!(next(&Routes::new(3, &[Link::between(0, 1)], &[]), 0, 2), None);
    }

    /// 0 – 1 – 3 and 0 – 2 – 3.
    const DIAMOND: [(u16, u16); 4] = [(0, 1), (0, 2), (1, 3), (2, 3)];

    fn diamond(given: &[RouteSpec]) -> Routes<LinkEnd> {
        Routes::new(4, &DIAMOND.map(|(one, other)| Link::between(one, other)), given)
    }

    #[test]
    fn of_two_ways_as_short_the_one_whose_links_come_first_is_taken() {
        assert_eq!(next(&diamond(&[]), 0, 3), Some(LinkEnd::of(0, 0)));
    }

    #[test]
    fn a_route_that_is_given_goes_before_the_shortest_way_and_holds_for_its_host_only() {
        let routes = diamond(&[RouteSpec { host: 3, to: 0, link: 3 }]);
        assert_eq!(next(&routes, 3, 0), Some(LinkEnd::of(3, 1)));
        assert_eq!(next(&routes, 3, 1), Some(LinkEnd::of(2, 1)));
        assert_eq!(next(&routes, 0, 3), Some(LinkEnd::of(0, 0)));
    }
}
