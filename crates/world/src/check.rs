//! Checks a scenario before a world is built from it: references that exist, sizes that are not zero, times in order.

use std::fmt::Display;

use tailback_traffic::Traffic;

use crate::BuildError;
use crate::scenario::{AttachedQdisc, Cell, Change, Link, Scenario, Trace, TrafficPath};
use crate::topology::Topology;

/// Shortest MTU of IPv4. [rfc791 §3.2]
const MIN_MTU: u32 = 68;
/// Longest IPv4 packet.
const MAX_MTU: u32 = 65_535;
/// Values of DSCP. [rfc2474 §3]
const CODE_POINTS: u8 = 64;

type Checked = Result<(), BuildError>;

/// Returns the first error of a scenario.
pub(crate) fn check(scenario: &Scenario) -> Checked {
    positive(scenario.duration_ns, "duration_ns")?;
    positive(scenario.record.interval_ns, "record.interval_ns")?;
    for (index, link) in scenario.links.iter().enumerate() {
        check_link(link, scenario, &format_args!("links[{index}]"))?;
    }
    for (index, trace) in scenario.traces.iter().enumerate() {
        check_trace(trace, &format_args!("traces[{index}]"))?;
    }
    for (index, cell) in scenario.cells.iter().enumerate() {
        check_cell(cell, scenario, &format_args!("cells[{index}]"))?;
    }
    let topology = Topology::of(scenario);
    check_routes(scenario, &topology)?;
    check_qdiscs(scenario, &topology)?;
    for (index, &host) in scenario.record.pcap.iter().enumerate() {
        let there = usize::from(host) < scenario.hosts.len();
        ensure(there, format_args!("record.pcap[{index}]"), "no such host", "write the position of a host")?;
    }
    if let Some([begins, ends]) = scenario.record.packets_ns {
        ensure(begins <= ends, "record.packets_ns", "ends before it begins", "write [from, to]")?;
    }
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        check_traffic(traffic, scenario, TrafficPath(index))?;
    }
    Ok(())
}

fn check_link(link: &Link, scenario: &Scenario, path: &dyn Display) -> Checked {
    two_hosts(link.ends, scenario, format_args!("{path}.ends"))?;
    for end in 0..2 {
        check_end(link, end, scenario, path)?;
    }
    for (number, change) in link.schedule.iter().enumerate() {
        let before = number.checked_sub(1).map_or(0, |number| link.schedule[number].at_ns);
        check_change(change, before, link, &format_args!("{path}.schedule[{number}]"))?;
    }
    let mtu_fits = (MIN_MTU..=MAX_MTU).contains(&link.mtu);
    ensure(
        mtu_fits,
        format_args!("{path}.mtu"),
        format_args!("{} is no MTU of IPv4", link.mtu),
        format_args!("write {MIN_MTU} to {MAX_MTU}"),
    )
}

fn check_end(link: &Link, end: usize, scenario: &Scenario, path: &dyn Display) -> Checked {
    positive(link.rate_bps[end].unwrap_or(1), format_args!("{path}.rate_bps"))?;
    positive(u64::from(link.ring[end]), format_args!("{path}.ring"))?;
    if let Some(police) = link.police[end] {
        let sizes = [police.rate_bps, police.burst, u64::from(police.mtu), police.peakrate_bps.unwrap_or(1)];
        for (size, name) in sizes.into_iter().zip(["rate_bps", "burst", "mtu", "peakrate_bps"]) {
            positive(size, format_args!("{path}.police[{end}].{name}"))?;
        }
    }
    let Some(trace) = link.trace[end] else { return Ok(()) };
    let path = format!("{path}.trace[{end}]");
    ensure(trace < scenario.traces.len(), &path, "no such trace", "write the position of a trace")?;
    ensure(link.rate_bps[end].is_none(), path, "it has a rate too", "leave one of the two out")
}

fn check_change(change: &Change, before: u64, link: &Link, path: &dyn Display) -> Checked {
    ensure(change.end < 2, format_args!("{path}.end"), "a link has two ends", "write 0 or 1")?;
    ensure(
        before <= change.at_ns,
        format_args!("{path}.at_ns"),
        "before the change above it",
        "write changes in the order of time",
    )?;
    let Some(rate) = change.rate_bps else { return Ok(()) };
    positive(rate, format_args!("{path}.rate_bps"))?;
    let rated = link.rate_bps[change.end].is_some();
    ensure(
        rated,
        format_args!("{path}.rate_bps"),
        "the link has no rate to change",
        "give the link a rate from the start",
    )
}

fn check_trace(trace: &Trace, path: &dyn Display) -> Checked {
    let stamps = &trace.stamps_ms;
    let lasts = stamps.last().is_some_and(|&last| last > 0);
    ensure(lasts, path, "it takes no time", "give it an opportunity after 0 ms")?;
    ensure(stamps.is_sorted(), path, "not in order", "sort its instants")
}

fn check_cell(cell: &Cell, scenario: &Scenario, path: &dyn Display) -> Checked {
    let has_stations = !cell.stations.is_empty();
    ensure(
        has_stations,
        format_args!("{path}.stations"),
        "this cell has no station",
        "write one station or more",
    )?;
    for (number, station) in cell.stations.iter().enumerate() {
        two_hosts(
            [cell.access_point, station.host],
            scenario,
            format_args!("{path}.stations[{number}].host"),
        )?;
        let sorted = station.schedule.is_sorted_by_key(|change| change.at_ns);
        ensure(
            sorted,
            format_args!("{path}.stations[{number}].schedule"),
            "not in the order of time",
            "sort its changes by `at_ns`",
        )?;
    }
    Ok(())
}

fn check_routes(scenario: &Scenario, topology: &Topology) -> Checked {
    for (index, route) in scenario.routes.iter().enumerate() {
        let path = format!("routes[{index}]");
        two_hosts([route.host, route.to], scenario, &path)?;
        ensure(
            topology.device_of(route.host, route.link).is_some(),
            format_args!("{path}.link"),
            "no link of this host",
            "write the position of one of its links",
        )?;
    }
    Ok(())
}

fn check_qdiscs(scenario: &Scenario, topology: &Topology) -> Checked {
    let device = |attached: &AttachedQdisc| topology.device_of(attached.host, attached.link);
    for (index, attached) in scenario.qdiscs.iter().enumerate() {
        let path = format!("qdiscs[{index}]");
        let there = usize::from(attached.link) < topology.links.len();
        ensure(there, format_args!("{path}.link"), "no such link", "write the position of a link")?;
        let ours = device(attached);
        ensure(
            ours.is_some(),
            format_args!("{path}.host"),
            "not an end of this link",
            "write one of the link's ends",
        )?;
        let alone = scenario.qdiscs[..index].iter().all(|other| device(other) != ours);
        ensure(alone, &path, "this device has a discipline already", "leave one of the two out")?;
    }
    Ok(())
}

fn check_traffic(traffic: &Traffic, scenario: &Scenario, path: TrafficPath) -> Checked {
    two_hosts(traffic.ends(), scenario, path)?;
    let code_point = traffic.dscp() < CODE_POINTS;
    ensure(code_point, format_args!("{path}.dscp"), "not a code point", "write 0 to 63")?;
    traffic.check().map_err(|refused| {
        BuildError::new(format_args!("{path}.{}", refused.key), refused.problem, refused.remedy)
    })
}

fn two_hosts(ends: [u16; 2], scenario: &Scenario, path: impl Display) -> Checked {
    for end in ends {
        let known = usize::from(end) < scenario.hosts.len();
        ensure(known, &path, format_args!("no host {end}"), "write the position of a host")?;
    }
    ensure(ends[0] != ends[1], path, "the same host twice", "write two different hosts")
}

fn positive(value: u64, path: impl Display) -> Checked {
    ensure(value > 0, path, "it is 0", "write a number above 0")
}

/// An error unless `holds`. Paths and texts are formatted only for the error: most values of a scenario are right.
fn ensure(holds: bool, path: impl Display, problem: impl Display, remedy: impl Display) -> Checked {
    if holds { Ok(()) } else { Err(BuildError::new(path, problem, remedy)) }
}
