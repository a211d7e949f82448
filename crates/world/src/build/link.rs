//! Builds what the devices of a link need: transmitter, path, and changes by the schedule.

use std::collections::BTreeMap;

use tailback_engine::Streams;
use tailback_qdisc::{Policer, PolicerSpec};
use tailback_units::{Bytes, Rate, Span};

use crate::device::OnPath;
use crate::error::parameter_error;
use crate::napi::{Napi, ReceiveOffload};
use crate::nic::Nic;
use crate::opportunities::Opportunities;
use crate::path::{Carrier, Path, Treatment};
use crate::scenario::{self, Link, Police, Scenario};
use crate::schedule::Change;
use crate::{BuildError, DeviceId};

/// What sends at one end of a link; none of a link that hands over at once.
pub(crate) fn nic(scenario: &Scenario, link: &Link, end: usize) -> Option<Nic> {
    if let Some(trace) = link.trace[end] {
        let stamps = scenario.traces[trace].stamps_ms.as_slice().into();
        return Some(Nic::with_opportunities(Opportunities::new(stamps)));
    }
    let rate = link.rate_bps[end].map(Rate::from_bits_per_sec);
    rate.map(|rate| Nic::new(rate, link.ring[end], link.bql[end]).with_overhead(link.overhead))
}

/// How the host at one end takes what arrives there, if not packet by packet.
pub(crate) fn napi(scenario: &Scenario, link: &Link, end: usize) -> Option<Napi> {
    let gro = scenario.hosts[usize::from(link.ends[end])].gro;
    let offload = if gro { ReceiveOffload::Gro } else { ReceiveOffload::Off };
    Napi::new(Span::from_nanos(link.interrupt_ns[end]), offload)
}

/// What follows the wire of one end, if it ever does more than take a fixed time.
pub(crate) fn path(
    link: &Link,
    place: (usize, usize),
    name: &str,
    streams: &mut Streams,
) -> Result<Option<Box<OnPath>>, BuildError> {
    let (index, end) = place;
    let changes = |change: &&scenario::Change| change.end == end && is_of_path(change);
    let constant = link.netem[end].is_empty() && !link.schedule.iter().any(|change| changes(&change));
    if constant && link.police[end].is_none() {
        return Ok(None);
    }
    let path = tried(treatment(link, end), &format!("links[{index}].netem[{end}]"))?;
    let policer = link.police[end].map(policer);
    Ok(Some(Box::new(OnPath { path, draws: streams.stream(name, "path"), policer })))
}

/// What the schedule of a link does to its devices, in order.
pub(crate) fn schedule(link: &Link, index: usize) -> Result<Vec<(u64, Change)>, BuildError> {
    let mut now = [treatment(link, 0), treatment(link, 1)];
    let mut found = Vec::with_capacity(link.schedule.len());
    for (number, change) in link.schedule.iter().enumerate() {
        let treatment = &mut now[change.end];
        treatment.delay_ns = change.delay_ns.unwrap_or(treatment.delay_ns);
        treatment.netem = change.netem.as_ref().unwrap_or(&treatment.netem).clone();
        tried(treatment.clone(), &format!("links[{index}].schedule[{number}].netem"))?;
        found.push((
            change.at_ns,
            Change {
                device: DeviceId::of_wire(index, change.end),
                rate: change.rate_bps.map(Rate::from_bits_per_sec),
                treatment: is_of_path(change).then(|| treatment.clone()),
                carrier: change.up.map(|up| if up { Carrier::Up } else { Carrier::Down }),
            },
        ));
    }
    Ok(found)
}

fn policer(given: Police) -> Policer {
    Policer::new(PolicerSpec {
        rate: Rate::from_bits_per_sec(given.rate_bps),
        burst: Bytes(given.burst),
        mtu: given.mtu,
        peakrate: given.peakrate_bps.map(Rate::from_bits_per_sec),
    })
}

fn treatment(link: &Link, end: usize) -> Treatment {
    let netem: BTreeMap<String, u64> = link.netem[end].clone();
    Treatment { delay_ns: link.delay_ns[end], netem, mtu: link.mtu }
}

fn is_of_path(change: &scenario::Change) -> bool {
    change.delay_ns.is_some() || change.netem.is_some() || change.up.is_some()
}

fn tried(treatment: Treatment, options: &str) -> Result<Path, BuildError> {
    Path::new(treatment).map_err(|error| parameter_error(error, options))
}
