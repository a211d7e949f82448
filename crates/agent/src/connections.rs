//! The TCP connections of programs, which the agent has no sockets of: the kernel lists them, with their `TCP_INFO`, and
//! tells of each that has gone, with its last counters.
//!
//! [linux-6.12 include/uapi/linux/inet_diag.h, sock_diag.h]
//! A connection is what two ends on hosts of the experiment have; which of the two sends is known when the run is over.
//! A row of `program_tcp_info.csv` is of the end that had sent more until then. In the tables, `7:0` is what end 0 of the
//! connection 7 sends; `python/tailback/backends/linux/programs.py` gives them names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::failure::{Failure, While};
use crate::job::{Job, Role};
use crate::netlink::{self, attribute};
use crate::network::Network;
use crate::program::{Programs, of_stat};
use crate::sys::{self, child};
use crate::table::Table;
use crate::tcp_info::{COLUMNS, Sample};

const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Length of the name of a socket in a request.
const SOCKET_ID: usize = 48;
/// The groups that hear of TCP sockets that go, of IPv4 and of IPv6, as bits.
const DESTROYED: u32 = 1 << 0 | 1 << 2;
/// All states but LISTEN, TIME_WAIT, CLOSE and those of requests.
const CONNECTED: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// Attributes of an answer.
const INFO: u16 = 2;
const VEGAS: u16 = 3;
const MEMORY: u16 = 7;
const BBR: u16 = 16;

/// Length of the head of an answer, and places in it.
const MESSAGE: usize = 72;
const PORTS: usize = 4;
const SOURCE: usize = 8;
const TARGET: usize = 24;
const INODE: usize = 68;

/// Bytes of messages of sockets that go between two samples.
const ROOM: libc::c_int = 8 << 20;
/// Connections of a run that are told apart.
const MOST: usize = 100_000;

type End = (IpAddr, u16);

/// One end of a connection.
#[derive(Default)]
struct Half {
    /// Its host, once seen.
    host: Option<usize>,
    /// The program that owns its socket, if known.
    program: Option<usize>,
    /// Bytes that arrived there.
    received: u64,
    /// Bytes of them that are in a row.
    counted: u64,
    /// Segments with data that it has sent.
    segments: u64,
}

/// A connection.
struct Connection {
    ends: [End; 2],
    halves: [Half; 2],
    first_ns: u64,
    changed: bool,
}

/// The sockets by which a host's connections are seen.
struct Watched {
    host: usize,
    diag: OwnedFd,
    gone: OwnedFd,
}

/// The connections of programs.
pub struct Connections {
    hosts: Vec<Watched>,
    /// Programs by host.
    programs: BTreeMap<usize, Vec<(usize, Role)>>,
    /// Servers of the agent itself.
    own: Vec<End>,
    numbers: BTreeMap<[End; 2], usize>,
    each: Vec<Connection>,
    samples: Table,
    bytes: Table,
    buffer: Vec<u8>,
}

/// What the kernel says of a socket.
struct Seen {
    ends: [End; 2],
    inode: u32,
    sample: Sample,
}

impl Connections {
    /// Opens the sockets in the hosts of programs.
    pub fn prepare(job: &Job, network: &Network, programs: &Programs) -> Result<Self, Failure> {
        let mut by_host: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for (number, (host, role)) in programs.hosts().into_iter().enumerate() {
            by_host.entry(host).or_default().push((number, role));
        }
        // The other end may be on a host without programs.
        let all = 0..if programs.is_empty() { 0 } else { job.hosts.len() };
        let hosts = all.map(|host| {
            network
                .within(host, || watched(host))?
                .doing(format!("watching the connections of {}", job.hosts[host]))
        });
        Ok(Self {
            hosts: hosts.collect::<Result<_, Failure>>()?,
            programs: by_host,
            own: job.traffic.iter().map(|each| (each.address, each.port)).collect(),
            numbers: BTreeMap::new(),
            each: Vec::new(),
            samples: Table::new("program_tcp_info", &COLUMNS),
            bytes: Table::new("program_flows", &["t_ns", "flow", "bytes"]),
            buffer: vec![0; 1 << 16],
        })
    }

    /// Samples all connections at `t_ns`.
    pub fn sample(&mut self, t_ns: u64, programs: &Programs) -> io::Result<()> {
        let mut groups = None;
        for place in 0..self.hosts.len() {
            for (seen, is_gone) in self.seen_by(place)? {
                let host = self.hosts[place].host;
                let Some((number, end)) = self.numbered(&seen, t_ns) else { continue };
                let program = self.program_of(host, seen.inode, number, end, || {
                    groups.get_or_insert_with(|| programs.groups()).clone()
                });
                let connection = &mut self.each[number];
                let half = &mut connection.halves[end];
                (half.host, half.program) = (Some(host), half.program.or(program));
                half.received = half.received.max(seen.sample.bytes_received());
                half.segments = half.segments.max(seen.sample.data_segments());
                let [mine, other] = [end, 1 - end].map(|end| connection.halves[end].segments);
                if mine > 0 && mine >= other && (seen.sample.is_sending() || is_gone) {
                    seen.sample.row(t_ns, &format!("{number}:{end}"), &mut self.samples);
                }
                connection.changed = true;
            }
        }
        self.note_bytes(t_ns);
        Ok(())
    }

    /// What has arrived since the last sample.
    fn note_bytes(&mut self, t_ns: u64) {
        for (number, connection) in self.each.iter_mut().enumerate() {
            if !std::mem::take(&mut connection.changed) {
                continue;
            }
            for (end, half) in connection.halves.iter_mut().enumerate() {
                let new = half.received - std::mem::replace(&mut half.counted, half.received);
                if new > 0 {
                    self.bytes.row().cell(t_ns).name(&format!("{number}:{}", 1 - end)).cell(new);
                }
            }
        }
    }

    /// The sockets of a host that are there, then those that have gone since the last time.
    fn seen_by(&mut self, place: usize) -> io::Result<Vec<(Seen, bool)>> {
        let Watched { diag, gone, .. } = &self.hosts[place];
        let mut found = Vec::new();
        sys::send(diag, &request())?;
        loop {
            let length = sys::receive(diag, &mut self.buffer)?;
            let more = netlink::read_as(TCPDIAG_GETSOCK, &self.buffer[..length], &mut |message| {
                found.extend(seen(message).map(|seen| (seen, false)));
            })?;
            if more == netlink::Dump::Ended {
                break;
            }
        }
        while let Some(length) = child::receive_at_once(gone, &mut self.buffer)? {
            netlink::read_as(SOCK_DIAG_BY_FAMILY, &self.buffer[..length], &mut |message| {
                found.extend(seen(message).map(|seen| (seen, true)));
            })?;
        }
        Ok(found)
    }

    /// The number of a connection and which of its ends was seen; `None` for those of the agent and within a host.
    fn numbered(&mut self, seen: &Seen, t_ns: u64) -> Option<(usize, usize)> {
        if seen.ends.iter().any(|end| end.0.is_loopback() || self.own.contains(end)) {
            return None;
        }
        let mut ends = seen.ends;
        ends.sort();
        let number = match self.numbers.get(&ends) {
            Some(&number) => number,
            None if self.each.len() >= MOST => return None,
            None => {
                let number = self.each.len();
                self.numbers.insert(ends, number);
                self.each.push(Connection {
                    ends,
                    halves: Default::default(),
                    first_ns: t_ns,
                    changed: false,
                });
                number
            }
        };
        Some((number, usize::from(ends[1] == seen.ends[0])))
    }

    /// The program that owns a socket: the only one of its host, or the one in whose processes it is open.
    fn program_of(
        &self,
        host: usize,
        inode: u32,
        number: usize,
        end: usize,
        groups: impl FnOnce() -> Vec<(usize, u32)>,
    ) -> Option<usize> {
        let there = self.programs.get(&host)?;
        if let [(only, _)] = there[..] {
            return Some(only);
        }
        if self.each[number].halves[end].program.is_some() || inode == 0 {
            return None;
        }
        groups().into_iter().find(|&(_, group)| has_open(group, inode)).map(|(program, _)| program)
    }

    /// Writes the tables.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let columns = [
            "connection",
            "t_ns",
            "program",
            "from",
            "to",
            "from_port",
            "to_port",
            "sent",
            "answered",
            "segments",
        ];
        let mut table = Table::new("program_connections", &columns);
        for (number, connection) in self.each.iter().enumerate() {
            let Some((client, program)) = self.client_of(connection) else { continue };
            let server = 1 - client;
            let [from, to] = [client, server].map(|end| connection.halves[end].host);
            let mut row = table.row();
            row.cell(format_args!("{number}:{client}")).cell(connection.first_ns).cell(program);
            row.maybe(from).maybe(to).cell(connection.ends[client].1).cell(connection.ends[server].1);
            row.cell(connection.halves[server].received).cell(connection.halves[client].received);
            row.cell(connection.halves.iter().map(|half| half.segments).sum::<u64>());
        }
        [&table, &self.samples, &self.bytes].iter().try_for_each(|table| table.write(folder))
    }

    /// The end of the program that connects, and that program: not a server, if one of the two is none.
    fn client_of(&self, connection: &Connection) -> Option<(usize, usize)> {
        let is_server = |program: usize| {
            self.programs.values().flatten().any(|&(number, role)| number == program && role == Role::Server)
        };
        let known = |end: usize| {
            let half = &connection.halves[end];
            let only = || self.programs.get(&half.host?)?.iter().find(|(_, role)| *role == Role::Client);
            Some((end, half.program.or_else(|| only().map(|&(number, _)| number))?))
        };
        let ends: Vec<_> = [0, 1].into_iter().filter_map(known).collect();
        ends.iter().find(|(_, program)| !is_server(*program)).or(ends.first()).copied()
    }
}

fn watched(host: usize) -> io::Result<Watched> {
    let open = || sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_SOCK_DIAG);
    let gone = open()?;
    // Only an administrator of the machine may have more than the usual; then that is what there is.
    let _ = sys::set_option(&gone, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ROOM);
    child::hear_groups(&gone, DESTROYED)?;
    Ok(Watched { host, diag: open()?, gone })
}

/// A request for the TCP sockets of both families. The newer kind of request is for one: the kernel would go through all
/// that it has room for twice.
fn request() -> Vec<u8> {
    let wanted = [INFO, VEGAS, MEMORY].map(|attribute| 1_u8 << (attribute - 1)).iter().sum();
    let mut body = vec![0, 0, 0, wanted];
    body.extend([0; SOCKET_ID]);
    body.extend(CONNECTED.to_ne_bytes());
    body.extend([0; 4]);
    netlink::message(TCPDIAG_GETSOCK, netlink::REQUEST_AND_DUMP, &body)
}

/// What a message says of a socket; `None` if that is too little, as of one in TIME_WAIT.
fn seen(message: &[u8]) -> Option<Seen> {
    let (head, attributes) = message.split_at_checked(MESSAGE)?;
    let is_v6 = i32::from(head[0]) == libc::AF_INET6;
    let end = |port: usize, address: usize| {
        let port = u16::from_be_bytes([head[port], head[port + 1]]);
        (address_at(&head[address..address + 16], is_v6), port)
    };
    let info = attribute(attributes, INFO)?.to_vec();
    let part = |kind: u16| attribute(attributes, kind).unwrap_or_default().to_vec();
    let inode = u32::from_ne_bytes(head[INODE..INODE + 4].try_into().ok()?);
    Some(Seen {
        ends: [end(PORTS, SOURCE), end(PORTS + 2, TARGET)],
        inode,
        sample: Sample::of_parts(info, part(MEMORY), part(BBR)),
    })
}

/// An address; one of IPv4 that stands in one of IPv6 is that of IPv4.
fn address_at(bytes: &[u8], is_v6: bool) -> IpAddr {
    let whole: [u8; 16] = bytes.try_into().unwrap_or_default();
    match is_v6 {
        true => Ipv6Addr::from(whole).to_canonical(),
        false => IpAddr::from([whole[0], whole[1], whole[2], whole[3]]),
    }
}

/// Whether a process of a group has this socket open.
fn has_open(group: u32, inode: u32) -> bool {
    /// The place of the group behind the state.
    const GROUP: usize = 2;
    let name = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&process| of_stat(process, GROUP) == Some(group)).any(|process| {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.to_str() == Some(&name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(family: libc::c_int, source: &[u8], info: &[u8]) -> Vec<u8> {
        let mut message = vec![family as u8, 1, 0, 0];
        message.extend([0x14, 0x51, 0x80, 0x00]);
        let mut addresses = source.to_vec();
        addresses.resize(16, 0);
        addresses.extend([10, 0, 0, 1]);
        message.extend(addresses);
        message.resize(INODE, 0);
        message.extend(77_u32.to_ne_bytes());
        message.extend(netlink::attributed(INFO, info));
        message
    }

    #[test]
    fn a_socket_has_its_ends_and_its_info() {
        let found = seen(&answer(libc::AF_INET, &[10, 0, 0, 2], &[1; 232])).unwrap();
        assert_eq!(found.ends[0], (IpAddr::from([10, 0, 0, 2]), 5201));
        assert_eq!(found.ends[1], (IpAddr::from([10, 0, 0, 1]), 32768));
        assert_eq!((found.inode, found.sample.data_segments()), (77, 0x0101_0101));
    }

    #[test]
    fn a_socket_of_ipv6_with_an_address_of_ipv4_is_one_of_ipv4() {
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2];
        let found = seen(&answer(libc::AF_INET6, &mapped, &[0; 232])).unwrap();
        assert_eq!(found.ends[0].0, IpAddr::from([10, 0, 0, 2]));
    }

    #[test]
    fn a_socket_without_info_is_left_out() {
        assert!(seen(&[0; MESSAGE]).is_none());
        assert!(seen(&[0; 8]).is_none());
    }
}
