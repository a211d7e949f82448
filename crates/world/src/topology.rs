//! Links, and the devices that send into them. A wire has a device at each of its ends. The path from a station to its
//! access point is a link too, but a radio is one device, however many links it has: `wlan0`, with one root discipline.
//! The route to a packet's destination decides to which station it goes, as for any next hop.
//!
//! Links are numbered wires first, then one for each station, cell by cell, with the access point at end 0; devices
//! wire by wire, end 0 before end 1, then the radios cell by cell, the access point's first.

use crate::DeviceId;
use crate::scenario::{Cell, Link, Scenario};

/// Longest IP packet of a radio.
pub(crate) const RADIO_MTU: u32 = 1500;

/// Where a host sends into a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkEnd(u32);

/// The links of a scenario and the devices at their ends.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) links: Vec<Link>,
    /// The device that sends at each end of each link.
    devices: Vec<DeviceId>,
    cells: Vec<CellPlace>,
}

/// Where a cell is among the links and devices.
#[derive(Debug)]
struct CellPlace {
    /// The link of its first station.
    first_link: usize,
    /// The device of its access point; those of its stations follow.
    access_point: DeviceId,
}

impl LinkEnd {
    /// End 0 or 1 of `link`.
    pub(crate) fn of(link: usize, end: usize) -> Self {
        LinkEnd(u32::try_from(2 * link + end).expect("a world has fewer than two billion links"))
    }

    fn link(self) -> usize {
        self.0 as usize / 2
    }

    fn end(self) -> usize {
        self.0 as usize % 2
    }
}

impl Topology {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let wires = scenario.links.len();
        let mut topology = Topology {
            links: scenario.links.clone(),
            devices: (0..wires).flat_map(|link| [0, 1].map(|end| DeviceId::of_wire(link, end))).collect(),
            cells: Vec::with_capacity(scenario.cells.len()),
        };
        let mut next = topology.devices.len() as u32;
        for cell in &scenario.cells {
            topology.add_cell(cell, DeviceId(next));
            next += cell.stations.len() as u32 + 1;
        }
        topology
    }

    fn add_cell(&mut self, cell: &Cell, access_point: DeviceId) {
        let place = CellPlace { first_link: self.links.len(), access_point };
        for (number, station) in cell.stations.iter().enumerate() {
            self.links.push(Link { mtu: RADIO_MTU, ..Link::between(cell.access_point, station.host) });
            self.devices.extend([access_point, place.radio(number + 1)]);
        }
        self.cells.push(place);
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> usize {
        let wires = self.cells.first().map_or(self.links.len(), |cell| cell.first_link);
        let access_points = self.cells.len();
        2 * wires + (self.links.len() - wires) + access_points
    }

    /// The device that sends at this end of a link.
    pub(crate) fn device(&self, end: LinkEnd) -> DeviceId {
        self.devices[end.0 as usize]
    }

    /// The device by which `host` sends into `link`, where there are such.
    pub(crate) fn device_of(&self, host: u16, link: u16) -> Option<DeviceId> {
        let link = usize::from(link);
        let end = self.links.get(link)?.ends.iter().position(|&end| end == host)?;
        Some(self.device(LinkEnd::of(link, end)))
    }

    /// The device of a radio by its number in its cell; 0 is the access point's.
    pub(crate) fn radio(&self, cell: usize, number: usize) -> DeviceId {
        self.cells[cell].radio(number)
    }

    /// The host at the other end.
    pub(crate) fn peer(&self, end: LinkEnd) -> u16 {
        self.links[end.link()].ends[1 - end.end()]
    }

    /// The longest IP packet of a link.
    pub(crate) fn mtu(&self, end: LinkEnd) -> u32 {
        self.links[end.link()].mtu
    }

    /// The number in its cell of the radio at the other end of a link of `cell`.
    pub(crate) fn radio_at_other_end(&self, cell: usize, end: LinkEnd) -> usize {
        if end.end() == 0 { end.link() - self.cells[cell].first_link + 1 } else { 0 }
    }
}

impl CellPlace {
    fn radio(&self, number: usize) -> DeviceId {
        DeviceId(self.access_point.0 + number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn all_links_of_an_access_point_leave_by_its_one_radio() {
        let topology = Topology::of(&example::cell(2, "ath9k", ""));
        assert_eq!(topology.links.iter().map(|link| link.ends).collect::<Vec<_>>(), [[0, 3], [0, 1], [0, 2]]);
        let devices = [(0, 1), (0, 2), (1, 1), (2, 2)].map(|(host, link)| topology.device_of(host, link));
        assert_eq!(devices, [2, 2, 3, 4].map(|number| Some(DeviceId(number))));
        assert_eq!([0, 1, 2].map(|number| topology.radio(0, number)), [2, 3, 4].map(DeviceId));
        let ends = [LinkEnd::of(1, 0), LinkEnd::of(2, 0), LinkEnd::of(2, 1)];
        assert_eq!(ends.map(|end| topology.radio_at_other_end(0, end)), [1, 2, 0]);
        assert_eq!(topology.device_of(2, 1), None);
        assert_eq!(topology.devices(), 5);
    }
}
