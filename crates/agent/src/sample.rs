//! The samplers: one thread samples each socket and each discipline once per interval, at exact times.

use std::collections::BTreeMap;
use std::path::Path;

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Device, Job};
use crate::netlink::{Discipline, Marks, Netlink, ROOT};
use crate::network::Network;
use crate::sys;
use crate::table::Table;
use crate::tcp_info::{self, Sample};
use crate::traffic::{RunningFlow, Traffic};

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

/// Kinds that hold no packets.
const NOT_QUEUES: [&str; 3] = ["noqueue", "ingress", "clsact"];

/// Devices of one host by their number.
struct Watched {
    netlink: Netlink,
    devices: BTreeMap<u32, Device>,
}

/// Takes the samples and holds the tables.
pub struct Sampler {
    hosts: Vec<Watched>,
    marks: Marks,
    tcp_info: Table,
    receivers: Option<Table>,
    qdisc: Table,
}

impl Sampler {
    /// Opens the sockets through which samples are read.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        let here = (0..job.hosts.len()).filter(|&host| network.has(host));
        let hosts = here.map(|host| watched(job, network, host)).collect::<Result<_, _>>()?;
        Ok(Self {
            hosts,
            marks: job.marks.clone(),
            tcp_info: Table::new("tcp_info", &tcp_info::COLUMNS),
            receivers: None,
            qdisc: Table::new("qdisc", &QDISC_COLUMNS),
        })
    }

    /// Samples the sockets that receive, too.
    pub fn with_receivers(self) -> Self {
        Self { receivers: Some(Table::new("tcp_info_receiver", &tcp_info::RECEIVER_COLUMNS)), ..self }
    }

    /// Takes the samples of one moment.
    pub fn sample(&mut self, t_ns: u64, traffic: &Traffic) -> Result<(), Failure> {
        for flow in traffic.flows.iter().filter(|flow| flow.flow.start_ns < t_ns) {
            if let Some(sample) = asked(flow)?
                && sample.is_sending()
            {
                sample.row(t_ns, &flow.flow.name, &mut self.tcp_info);
            }
            if let (Some(table), Some(socket)) = (&mut self.receivers, flow.receiver()) {
                let sample = Sample::of(&socket, "")
                    .doing(format!("reading TCP_INFO of the receiver of {}", flow.flow.name))?;
                sample.receiver_row(t_ns, &flow.flow.name, table);
            }
        }
        for host in &mut self.hosts {
            let disciplines = host.netlink.disciplines(&self.marks).doing("reading the disciplines")?;
            for discipline in &disciplines {
                note(discipline, t_ns, &host.devices, &mut self.qdisc);
            }
        }
        Ok(())
    }

    /// The rows of samples since the last time, by table.
    pub fn take(&mut self) -> Vec<(&'static str, String)> {
        let tables = [Some(&mut self.tcp_info), self.receivers.as_mut(), Some(&mut self.qdisc)];
        tables.into_iter().flatten().map(|table| (table.name(), table.take())).collect()
    }

    /// Writes the tables of the samples and of the applications.
    pub fn write(&self, folder: &Path, job: &Job, traffic: &Traffic) -> Result<(), Failure> {
        self.tcp_info.write(folder)?;
        self.qdisc.write(folder)?;
        flows(job, traffic).write(folder)?;
        pings(traffic).write(folder)?;
        segments(traffic)?.write(folder)
    }
}

/// Runs until the end, taking samples and noting how far it is; `progress` is called with the time every percent.
pub fn run(
    job: &Job,
    clock: Clock,
    traffic: &Traffic,
    sampler: &mut Sampler,
    progress: impl Fn(u64),
) -> Result<(), Failure> {
    let percent = (job.duration_ns / 100).max(1);
    let mut shown = 0;
    for t_ns in (1..=job.duration_ns / job.interval_ns).map(|number| number * job.interval_ns) {
        clock.sleep_until(t_ns);
        sampler.sample(t_ns, traffic)?;
        traffic.failure().map_or(Ok(()), Err)?;
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
    let netlink = network.within(host, Netlink::open)?.doing("opening netlink")?;
    Ok(Watched { netlink, devices: devices.doing(format!("finding the devices of {}", job.hosts[host]))? })
}

/// What applications saw, as tables: bytes read, pings, segments sent.
pub fn seen(job: &Job, traffic: &Traffic) -> Result<Vec<Table>, Failure> {
    Ok(vec![flows(job, traffic), pings(traffic), segments(traffic)?])
}

/// `None` where the sender is elsewhere.
fn asked(flow: &RunningFlow) -> Result<Option<Sample>, Failure> {
    let Some(sender) = &flow.sender else { return Ok(None) };
    Sample::of(sender, &flow.flow.congestion_control)
        .doing(format!("reading TCP_INFO of {}", flow.flow.name))
        .map(Some)
}

fn note(discipline: &Discipline, t_ns: u64, devices: &BTreeMap<u32, Device>, table: &mut Table) {
    if NOT_QUEUES.contains(&discipline.kind.as_str()) {
        return;
    }
    let Some(device) = devices.get(&discipline.interface) else { return };
    // The lower eight bits of a handle's major number are the depth from 1 on (`linux/trees.py`); a discipline hangs on
    // a class of the one above it.
    let depth = if discipline.parent == ROOT { 0 } else { discipline.parent >> 16 & 0xff };
    let Some(depth) = depth.checked_sub(device.hidden) else { return };
    let mut row = table.row();
    row.cell(t_ns).name(&device.name).cell(&discipline.kind).cell(depth + device.below);
    row.cell(discipline.backlog_bytes).cell(discipline.backlog_packets);
    row.cell(discipline.sent_bytes).cell(discipline.sent_packets).cell(discipline.dropped);
    row.cell(discipline.overlimits).cell(discipline.requeues).maybe(discipline.marked);
}

fn flows(job: &Job, traffic: &Traffic) -> Table {
    let mut table = Table::new("flows", &["t_ns", "flow", "bytes"]);
    let here = traffic.flows.iter().filter(|flow| flow.receives());
    let counted: Vec<_> = here.map(|flow| (&flow.flow.name, flow.bins().clone())).collect();
    let bins = counted.iter().map(|(_, bins)| bins.len()).max().unwrap_or(0);
    for bin in 0..bins {
        for (name, bytes) in
            counted.iter().map(|(name, bins)| (name, bins[bin])).filter(|(_, bytes)| *bytes > 0)
        {
            table.row().cell((bin as u64 + 1) * job.interval_ns).name(name).cell(bytes);
        }
    }
    table
}

fn pings(traffic: &Traffic) -> Table {
    let mut table = Table::new("ping", &["t_ns", "ping", "seq", "rtt_ns"]);
    let mut rows: Vec<_> = Vec::new();
    for ping in &traffic.pings {
        rows.extend(
            ping.requests()
                .iter()
                .enumerate()
                .map(|(seq, request)| (request.sent_ns, &ping.ping, seq, *request)),
        );
    }
    rows.sort_by_key(|(sent_ns, ..)| *sent_ns);
    for (sent_ns, ping, seq, request) in rows {
        table.row().cell(sent_ns).name(&ping.name).cell(seq).maybe(request.rtt_ns);
    }
    table
}

fn segments(traffic: &Traffic) -> Result<Table, Failure> {
    let mut table = Table::new("segments", &["flow", "data_segs_out"]);
    for flow in &traffic.flows {
        if let Some(sample) = asked(flow)? {
            table.row().name(&flow.flow.name).cell(sample.data_segments());
        }
    }
    Ok(table)
}
