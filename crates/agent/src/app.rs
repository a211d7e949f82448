//! The applications of a run: a file, an arm of `application` and a row of `TABLES` per kind of traffic. All calls block
//! in threads of their own, since busy waiting would stop virtual time.

mod bulk;
mod echo;
mod fetch;
mod page;
mod ping;
mod request;
mod sent;
mod udp;
mod video;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard};
use std::thread;

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Conversation, Job};
use crate::network::Network;
use crate::sys;
use crate::table::{Ordered, Row, Table};
use crate::tcp_info::SocketTables;

const STACK: usize = 128 * 1024;

/// The tables that applications fill, by kind of traffic.
const TABLES: [&[TableKind]; 6] =
    [bulk::TABLES, page::TABLES, ping::TABLES, request::TABLES, udp::TABLES, video::TABLES];

/// The application of `conversation`, with its sockets open; `None` if neither end is on this machine.
fn application(
    conversation: &Conversation,
    bins: usize,
    network: &Network,
) -> Result<Option<Box<dyn Application>>, Failure> {
    Ok(match conversation {
        Conversation::Tcp(flow) => Some(Box::new(bulk::RunningFlow::prepare(flow, bins, network)?)),
        Conversation::Ping(ping) => {
            ping::RunningPing::prepare(ping, network)?.map(|ping| Box::new(ping) as Box<dyn Application>)
        }
        Conversation::Echo(echo) => Some(Box::new(echo::RunningEcho::prepare(echo, network)?)),
        Conversation::Page(page) => Some(Box::new(page::RunningPage::prepare(page, bins, network)?)),
        Conversation::Request(requests) => {
            Some(Box::new(request::RunningRequests::prepare(requests, bins, network)?))
        }
        Conversation::Udp(flow) => Some(Box::new(udp::RunningDatagrams::prepare(flow, bins, network)?)),
        Conversation::Video(video) => Some(Box::new(video::RunningVideo::prepare(video, bins, network)?)),
    })
}

/// A conversation, as far as its ends are on this machine.
pub trait Application: Send {
    /// Starts its threads, which wait for their time.
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure>;

    /// The first error of its threads.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// Samples its sockets at `t_ns`.
    fn sample(&self, _t_ns: u64, _tables: &mut SocketTables) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds what it has measured so far.
    fn live(&self, live: &mut Live);

    /// Adds its rows at the end of the run.
    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure>;
}

/// What is shown while a run is in progress, by the name of the conversation.
#[derive(Default)]
pub struct Live {
    /// Bytes received.
    pub bytes: BTreeMap<String, u64>,
    /// The newest RTT of a ping.
    pub rtt_ns: BTreeMap<String, u64>,
}

/// A table that a kind of traffic fills.
pub struct TableKind {
    /// The name of the table.
    pub name: &'static str,
    /// The names of its columns, in order.
    pub columns: &'static [&'static str],
}

/// The tables that applications fill, in the order of [`TABLES`].
pub struct Tables(Vec<Ordered>);

impl Tables {
    fn empty() -> Self {
        let kinds = TABLES.iter().copied().flatten();
        Self(kinds.map(|kind| Ordered::new(kind.name, kind.columns)).collect())
    }

    /// Begins a row of `kind`, which is sorted by `t_ns`.
    pub fn row_at(&mut self, kind: &TableKind, t_ns: u64) -> Row<'_> {
        let table = self.0.iter_mut().find(|table| table.name() == kind.name);
        table.expect("`TABLES` has the tables of all kinds").row_at(t_ns)
    }

    /// Begins a row of a table that is sorted by conversation.
    pub fn row(&mut self, kind: &TableKind) -> Row<'_> {
        self.row_at(kind, 0)
    }
}

/// The applications of a run, in the order of the job.
pub struct Traffic {
    applications: Vec<Box<dyn Application>>,
}

impl Traffic {
    /// Opens every socket that is here; nothing is sent yet.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        sys::allow_many_files().doing("raising the limit of open files")?;
        let bins = usize::try_from(job.duration_ns.div_ceil(job.interval_ns)).unwrap_or(usize::MAX);
        let applications = job.traffic.iter().map(|conversation| application(conversation, bins, network));
        Ok(Self { applications: applications.filter_map(Result::transpose).collect::<Result<_, _>>()? })
    }

    /// Starts all applications.
    pub fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        self.applications.iter_mut().try_for_each(|application| application.start(clock, interval_ns))
    }

    /// The first error of an application.
    pub fn failure(&self) -> Option<Failure> {
        self.applications.iter().find_map(|application| application.failure())
    }

    /// Samples all sockets at `t_ns`.
    pub fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        self.applications.iter().try_for_each(|application| application.sample(t_ns, tables))
    }

    /// What the applications have measured so far.
    pub fn live(&self) -> Live {
        let mut live = Live::default();
        self.applications.iter().for_each(|application| application.live(&mut live));
        live
    }

    /// What the applications have measured, as tables.
    pub fn measured(&self, interval_ns: u64) -> Result<Vec<Table>, Failure> {
        let mut tables = Tables::empty();
        self.applications
            .iter()
            .try_for_each(|application| application.measured(interval_ns, &mut tables))?;
        Ok(tables.0.into_iter().map(Ordered::finish).collect())
    }
}

/// Bytes of the token of a run in each datagram.
const TOKEN: usize = 8;

/// The first half of a token of a run; zeros behind a short one.
fn half(token: &str) -> [u8; TOKEN] {
    let mut half = [0; TOKEN];
    half.iter_mut().zip(token.bytes()).for_each(|(place, byte)| *place = byte);
    half
}

/// The code point is the upper six bits of the byte; the lower two are ECN's.
fn mark(socket: &OwnedFd, dscp: Option<u8>) -> io::Result<()> {
    dscp.map_or(Ok(()), |dscp| {
        sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, libc::c_int::from(dscp) << 2)
    })
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop).doing("starting a thread")
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    /// At each of those addresses.
    pub const PORT: u16 = 15_201;

    /// An address of this machine that no other test uses. A free port of a shared address may be taken by others
    /// before it is used.
    pub fn own_address() -> Ipv4Addr {
        static GIVEN: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        Ipv4Addr::new(127, high, low, GIVEN.fetch_add(1, Ordering::Relaxed))
    }

    #[test]
    fn tests_have_addresses_of_their_own() {
        let sockets = [(); 3].map(|()| sys::bound(0, SocketAddrV4::new(own_address(), PORT)));
        assert!(sockets.iter().all(Result::is_ok));
    }
}
