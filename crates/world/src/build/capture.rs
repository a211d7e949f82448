//! Prepares the captures of a scenario: their files, their interfaces, and what a packet does not carry, the options of
//! the SYN of each socket.

use tailback_packet::HostId;
use tailback_tcp::Offers;
use tailback_traffic::Traffic;
use tailback_units::SimTime;

use super::radio;
use super::sysctl::settings;
use crate::capture::{CapturedSocket, Captures, Keeps};
use crate::packet_log::PacketLog;
use crate::scenario::{Scenario, SysctlValue};
use crate::topology::Topology;
use crate::{BuildError, DeviceId};

/// `net.ipv4.tcp_rmem[2]`. [linux-6.12 tcp.c tcp_init]
const MAX_BUFFER: u64 = 6_291_456;
/// [rfc7323 §2.3]
const MAX_SCALE: u8 = 14;

/// The captures of the scenario.
pub(super) fn captures(scenario: &Scenario, topology: &Topology) -> Result<Captures, BuildError> {
    let record = &scenario.record;
    if record.pcap.is_empty() && record.packets_ns.is_none() {
        return Ok(Captures::default());
    }
    let has_content = scenario.traffic.iter().any(|traffic| matches!(traffic, Traffic::Endpoint(_)));
    let keeps = if has_content { Keeps::Content } else { Keeps::Headers };
    let mut captures = Captures::new(topology.devices(), sockets(scenario)?, keeps);
    for &host in &record.pcap {
        captures.add(&scenario.hosts[usize::from(host)].name, interfaces(scenario, topology, host));
    }
    Ok(match record.packets_ns {
        None => captures,
        Some(window) => {
            let window = window.map(SimTime::from_nanos);
            captures.with_log(PacketLog::new(window, hosts_of_devices(scenario, topology)))
        }
    })
}

/// The host of each device.
fn hosts_of_devices(scenario: &Scenario, topology: &Topology) -> Vec<HostId> {
    let mut hosts = vec![HostId(0); topology.devices()];
    for (link, each) in scenario.links.iter().enumerate() {
        for end in 0..2 {
            hosts[DeviceId::of_wire(link, end).index()] = HostId(each.ends[end]);
        }
    }
    for (index, cell) in scenario.cells.iter().enumerate() {
        for number in 0..=cell.stations.len() {
            hosts[topology.radio(index, number).index()] = HostId(radio::host(cell, number));
        }
    }
    hosts
}

/// The devices of a host, and what each sends towards: a neighbour, or a cell.
fn interfaces<'a>(
    scenario: &'a Scenario,
    topology: &'a Topology,
    host: u16,
) -> impl Iterator<Item = (DeviceId, &'a str)> {
    let wires = scenario.links.iter().enumerate().flat_map(move |(index, link)| {
        let ends = (0..2).filter(move |&end| link.ends[end] == host);
        ends.map(move |end| (DeviceId::of_wire(index, end), usize::from(link.ends[1 - end])))
    });
    let radios = scenario.cells.iter().enumerate().flat_map(move |(index, cell)| {
        let here = (0..=cell.stations.len()).filter(move |&number| radio::host(cell, number) == host);
        here.map(move |number| (topology.radio(index, number), cell.name.as_str()))
    });
    wires.map(|(device, peer)| (device, scenario.hosts[peer].name.as_str())).chain(radios)
}

/// Each socket, in the order of their numbers.
fn sockets(scenario: &Scenario) -> Result<Vec<CapturedSocket>, BuildError> {
    let offers: Vec<Offers> = scenario
        .hosts
        .iter()
        .enumerate()
        .map(|(number, host)| settings(host, &format!("hosts[{number}]")).map(|settings| settings.offers))
        .collect::<Result<_, _>>()?;
    let offered = |host: HostId| offers[usize::from(host.0)];
    let all: Vec<_> = scenario.conversations().flat_map(|conversation| conversation.sockets()).collect();
    let pairs = all.chunks_exact(2).flat_map(|pair| {
        let [client, server] = [pair[0].1, pair[1].1];
        let agreed = offered(client).and(offered(server));
        let socket = |host, syn| CapturedSocket { host, syn, agreed, scale: window_scale(scenario, host) };
        [socket(client, offered(client)), socket(server, agreed)]
    });
    Ok(pairs.collect())
}

/// The shift with which the largest receive buffer fits into 16 bits. [linux-6.12 tcp_output.c tcp_select_initial_window]
fn window_scale(scenario: &Scenario, host: HostId) -> u8 {
    let sysctl = scenario.hosts[usize::from(host.0)].sysctl.get("net.ipv4.tcp_rmem");
    let mut space = match sysctl {
        Some(SysctlValue::Triple([_, _, largest])) => *largest,
        _ => MAX_BUFFER,
    };
    let mut shift = 0;
    while space > 65535 && shift < MAX_SCALE {
        space >>= 1;
        shift += 1;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn windows_are_shifted_as_far_as_the_buffer_needs() {
        let mut scenario = example::chain("");
        assert_eq!(window_scale(&scenario, HostId(0)), 7);
        let small = SysctlValue::Triple([4096, 8192, 65535]);
        scenario.hosts[0].sysctl.insert("net.ipv4.tcp_rmem".into(), small);
        assert_eq!(window_scale(&scenario, HostId(0)), 0);
    }
}
