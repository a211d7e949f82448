//! The routes of a scenario. Without a route a packet takes the path of fewest links; among several, the one whose
//! links come first in the scenario.

use std::collections::VecDeque;

use tailback_packet::HostId;

use crate::route::Routes;
use crate::scenario::{Link, RouteSpec};
use crate::topology::LinkEnd;

/// Shortest ways over `links`, but for those `given`.
pub(super) fn routes(hosts: usize, links: &[Link], given: &[RouteSpec]) -> Routes<LinkEnd> {
    let mut neighbours = vec![Vec::new(); hosts];
    for (link, ends) in links.iter().map(|link| link.ends).enumerate() {
        for end in 0..2 {
            neighbours[usize::from(ends[end])].push((LinkEnd::of(link, end), ends[1 - end]));
        }
    }
    let mut routes = Routes::unset(hosts);
    for from in 0..hosts {
        spread(&mut routes, HostId(from as u16), &neighbours);
    }
    for route in given {
        let link = usize::from(route.link);
        let end = usize::from(links[link].ends[1] == route.host);
        routes.set(HostId(route.host), HostId(route.to), LinkEnd::of(link, end));
    }
    routes
}

/// Searches breadth-first from `from`; returns the first link of the path to each host.
fn spread(routes: &mut Routes<LinkEnd>, from: HostId, neighbours: &[Vec<(LinkEnd, u16)>]) {
    let mut reached: VecDeque<(u16, Option<LinkEnd>)> = VecDeque::from([(from.0, None)]);
    while let Some((host, first)) = reached.pop_front() {
        for &(end, peer) in &neighbours[usize::from(host)] {
            let peer = HostId(peer);
            if peer != from && routes.next(from, peer).is_none() {
                let first = first.unwrap_or(end);
                routes.set(from, peer, first);
                reached.push_back((peer.0, Some(first)));
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
        let routes = super::routes(3, &[Link::between(0, 1), Link::between(1, 2)], &[]);
        assert_eq!(next(&routes, 0, 2), Some(LinkEnd::of(0, 0)));
        assert_eq!(next(&routes, 1, 2), Some(LinkEnd::of(1, 0)));
        assert_eq!(next(&routes, 2, 0), Some(LinkEnd::of(1, 1)));
        assert_eq!(next(&routes, 1, 1), None);
    }

    #[test]
    fn hosts_without_a_path_have_no_route() {
        assert_eq!(next(&super::routes(3, &[Link::between(0, 1)], &[]), 0, 2), None);
    }

    /// 0 – 1 – 3 and 0 – 2 – 3.
    const DIAMOND: [(u16, u16); 4] = [(0, 1), (0, 2), (1, 3), (2, 3)];

    fn diamond(given: &[RouteSpec]) -> Routes<LinkEnd> {
        super::routes(4, &DIAMOND.map(|(one, other)| Link::between(one, other)), given)
    }

    #[test]
    fn of_two_shortest_paths_the_one_whose_links_come_first_is_taken() {
        assert_eq!(next(&diamond(&[]), 0, 3), Some(LinkEnd::of(0, 0)));
    }

    #[test]
    fn a_given_route_precedes_the_shortest_path_for_its_host_only() {
        let routes = diamond(&[RouteSpec { host: 3, to: 0, link: 3 }]);
        assert_eq!(next(&routes, 3, 0), Some(LinkEnd::of(3, 1)));
        assert_eq!(next(&routes, 3, 1), Some(LinkEnd::of(2, 1)));
        assert_eq!(next(&routes, 0, 3), Some(LinkEnd::of(0, 0)));
    }
}
