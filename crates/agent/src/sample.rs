//! The samplers: one thread samples each socket and each discipline once per interval, at exact times.

use std::collections::BTreeMap;
use std::path::Path;

use crate::app::Traffic;
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Device, Job, Reason};
use crate::netlink::{Discipline, Marks, Netlink, ROOT};
use crate::network::Network;
use crate::sys;
use crate::table::Table;
use crate::tcp_info::SocketTables;
use crate::wireless::QueueReader;

const QDISC_COLUMNS: [&str; 12] = [
    "t_ns",
    "device",
    "kind",
    "depth",
    "backlog_bytes",
    "backlog_packets",
    "sent_bytes",
    "sent_packets",
    "dropped",
    "overlimits",
    "requeues",
    "marked",
];

const LOSSES_COLUMNS: [&str; 4] = ["t_ns", "device", "lost", "reason"];

const RADIOS_COLUMNS: [&str; 5] = ["t_ns", "device", "what", "reason", "count"];

/// Kinds that hold no packets.
const NOT_QUEUES: [&str; 3] = ["noqueue", "ingress", "clsact"];

/// Devices of one host by their number.
struct Watched {
    netlink: Netlink,
    devices: BTreeMap<u32, Device>,
    /// By the number of the device where packets are lost: the device that sent them, and why they are lost.
    lossy: BTreeMap<u32, (String, Reason)>,
    /// Devices with a radio, by their names in tables.
    radios: Vec<(String, QueueReader)>,
}

/// Takes the samples and holds the tables.
pub struct Sampler {
    hosts: Vec<Watched>,
    marks: Marks,
    sockets: SocketTables,
    qdisc: Table,
    losses: Table,
    radios: Table,
}

impl Sampler {
    /// Opens the sockets through which samples are read.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        let here = (0..job.hosts.len()).filter(|&host| network.has(host));
        let hosts = here.map(|host| watched(job, network, host)).collect::<Result<_, _>>()?;
        Ok(Self {
            hosts,
            marks: job.marks.clone(),
            sockets: SocketTables::of_senders(),
            qdisc: Table::new("qdisc", &QDISC_COLUMNS),
            losses: Table::new("losses", &LOSSES_COLUMNS),
            radios: Table::new("radios", &RADIOS_COLUMNS),
        })
    }

    /// Samples the sockets that receive, too.
    pub fn with_receivers(self) -> Self {
        Self { sockets: self.sockets.with_receivers(), ..self }
    }

    /// Takes the samples of one moment.
    pub fn sample(&mut self, t_ns: u64, traffic: &Traffic) -> Result<(), Failure> {
        traffic.sample(t_ns, &mut self.sockets)?;
        for host in &mut self.hosts {
            let disciplines = host.netlink.disciplines(&self.marks).doing("reading the disciplines")?;
            for discipline in &disciplines {
                note(discipline, t_ns, &host.devices, &mut self.qdisc);
            }
            for (device, lost, reason) in losses(&disciplines, &host.lossy) {
                self.losses.row().cell(t_ns).name(device).cell(lost).cell(reason.name());
            }
            for (device, reader) in &mut host.radios {
                let counts = reader.read().doing("reading the queues of a radio")?;
                for (what, reason, count) in [
                    ("drop", "aqm", counts.dropped),
                    ("drop", "overlimit", counts.overlimit),
                    ("mark", "aqm", counts.marked),
                ] {
                    if count > 0 {
                        self.radios.row().cell(t_ns).name(device).cell(what).cell(reason).cell(count);
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows of samples since the last time, by table.
    pub fn take(&mut self) -> Vec<(&'static str, String)> {
        let Self { sockets, qdisc, losses, radios, .. } = self;
        let SocketTables { senders, receivers, exchanges } = sockets;
        let sockets = [Some(senders), receivers.as_mut(), Some(exchanges)];
        sockets
            .into_iter()
            .flatten()
            .chain([qdisc, losses, radios])
            .map(|table| (table.name(), table.take()))
            .collect()
    }

    /// Writes the tables of the samples and of the applications.
    pub fn write(&self, folder: &Path, job: &Job, traffic: &Traffic) -> Result<(), Failure> {
        self.sockets.senders.write(folder)?;
        self.sockets.exchanges.write(folder)?;
        self.qdisc.write(folder)?;
        self.losses.write(folder)?;
        self.radios.write(folder)?;
        traffic.measured(job.interval_ns)?.iter().try_for_each(|table| table.write(folder))
    }
}

/// The longest interval at which progress is told: what watches a run sees that its time stands still.
const TOLD_NS: u64 = 100_000_000;

/// Runs until the end; `sample` is called when a sample is due, `progress` every percent, and at least so often.
pub fn run(
    job: &Job,
    clock: Clock,
    mut sample: impl FnMut(u64) -> Result<(), Failure>,
    progress: impl Fn(u64),
) -> Result<(), Failure> {
    let percent = (job.duration_ns / 100).clamp(1, TOLD_NS);
    let mut shown = 0;
    for t_ns in (1..=job.duration_ns / job.interval_ns).map(|number| number * job.interval_ns) {
        clock.sleep_until(t_ns);
        sample(t_ns)?;
        if t_ns / percent > shown {
            shown = t_ns / percent;
            progress(t_ns);
        }
    }
    clock.sleep_until(job.duration_ns);
    Ok(())
}

fn watched(job: &Job, network: &Network, host: usize) -> Result<Watched, Failure> {
    let devices = network.within(host, || {
        let mine = job.devices.iter().filter(|device| device.host == host);
        mine.map(|device| Ok((sys::interface_index(&device.interface)?, device.clone())))
            .collect::<std::io::Result<_>>()
    })?;
    let lossy = network.within(host, || {
        let mine = job.lossy.iter().filter(|lossy| lossy.host == host);
        mine.map(|lossy| Ok((sys::interface_index(&lossy.interface)?, (lossy.name.clone(), lossy.reason))))
            .collect::<std::io::Result<_>>()
    })?;
    let lossy = lossy.doing(format!("finding the lossy links of {}", job.hosts[host]))?;
    let radios = network.within(host, || {
        let mine = job.radios.iter().filter(|radio| radio.host == host);
        mine.map(|radio| {
            let reader = QueueReader::open(sys::interface_index(&radio.interface)?)?;
            Ok((radio.name.clone(), reader))
        })
        .collect::<std::io::Result<_>>()
    })?;
    let radios = radios.doing(format!("finding the radios of {}", job.hosts[host]))?;
    let netlink = network.within(host, Netlink::open)?.doing("opening netlink")?;
    Ok(Watched {
        netlink,
        devices: devices.doing(format!("finding the devices of {}", job.hosts[host]))?,
        lossy,
        radios,
    })
}

/// Packets that each of the lossy directions has lost so far. The root counts what a netem below it drops, and the ingress
/// what its filters drop. [linux-6.12 dev.c sch_handle_ingress]
fn losses<'a>(
    disciplines: &'a [Discipline],
    lossy: &'a BTreeMap<u32, (String, Reason)>,
) -> impl Iterator<Item = (&'a str, u32, Reason)> {
    disciplines.iter().filter_map(|found| {
        let (device, reason) = lossy.get(&found.interface)?;
        let drops = match reason {
            Reason::LinkLoss => found.parent == ROOT,
            Reason::Policed => found.kind == "ingress",
        };
        drops.then_some((device.as_str(), found.dropped, *reason))
    })
}

fn note(discipline: &Discipline, t_ns: u64, devices: &BTreeMap<u32, Device>, table: &mut Table) {
    if NOT_QUEUES.contains(&discipline.kind.as_str()) {
        return;
    }
    let Some(device) = devices.get(&discipline.interface) else { return };
    // The lower eight bits of a handle's major number are the depth from 1 on (`linux/trees.py`); the parent of a
    // discipline is a class of the one above it.
    let depth = if discipline.parent == ROOT { 0 } else { discipline.parent >> 16 & 0xff };
    let Some(depth) = depth.checked_sub(device.hidden) else { return };
    let mut row = table.row();
    row.cell(t_ns).name(&device.name).cell(&discipline.kind).cell(depth + device.below);
    row.cell(discipline.backlog_bytes).cell(discipline.backlog_packets);
    row.cell(discipline.sent_bytes).cell(discipline.sent_packets).cell(discipline.dropped);
    row.cell(discipline.overlimits).cell(discipline.requeues).maybe(discipline.marked);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_losses_of_a_link_are_those_of_the_root_of_its_ifb() {
        let of =
            |interface, parent, dropped| Discipline { interface, parent, dropped, ..Discipline::default() };
        let disciplines = [of(2, ROOT, 5), of(2, 0x1_0001, 3), of(3, ROOT, 9)];
        let lossy = BTreeMap::from([(2, ("a -> b".to_owned(), Reason::LinkLoss))]);
        assert_eq!(losses(&disciplines, &lossy).collect::<Vec<_>>(), [("a -> b", 5, Reason::LinkLoss)]);
    }

    #[test]
    fn the_drops_of_a_policer_are_those_of_the_ingress_of_its_device() {
        let of = |kind: &str, parent, dropped| Discipline {
            interface: 2,
            kind: kind.to_owned(),
            parent,
            dropped,
            ..Discipline::default()
        };
        let disciplines = [of("fq_codel", ROOT, 7), of("ingress", 0xffff_fff1, 4)];
        let lossy = BTreeMap::from([(2, ("a -> b".to_owned(), Reason::Policed))]);
        assert_eq!(losses(&disciplines, &lossy).collect::<Vec<_>>(), [("a -> b", 4, Reason::Policed)]);
    }
}
