//! The applications of a run, which are those of every backend ([`tailback_traffic`]): their sockets, the threads that
//! call them, and what they have measured. All calls block in threads of their own, since busy waiting would stop virtual
//! time.

mod datagrams;
mod measured;
mod outlet;
mod sent;
mod sink;
mod sockets;
mod state;
mod stream;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use tailback_traffic::{Connections, End, Head, Machine, Purpose};

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Conversation, Job};
use crate::kernel_module;
use crate::network::Network;
use crate::sys;
use crate::table::{Ordered, Row, Table};
use crate::tcp_info::{Sample, SocketTables};

use datagrams::Datagrams;
use measured::TABLES;
use sent::Sockets;
use sink::Sink;
use state::{Shared, Time};
use stream::{Client, Server, Stream};

const STACK: usize = 128 * 1024;

/// A conversation in progress, as far as its ends are on this machine.
struct Running {
    conversation: Arc<Conversation>,
    shared: Arc<Shared>,
    sockets: Opened,
    /// The ends that are here.
    ends: Vec<End>,
    time: Option<Time>,
}

/// The sockets of a conversation that are on this machine.
enum Opened {
    Tcp(Tcp),
    Datagrams(Datagrams),
}

/// The TCP sockets of a conversation.
struct Tcp {
    /// Until the start.
    client: Option<Client>,
    server: Option<Server>,
    sampled: Sampled,
}

/// The sockets of TCP that are sampled.
enum Sampled {
    /// The sender and the receiver of bulk data.
    Bulk {
        sender: Option<Arc<OwnedFd>>,
        receiver: Arc<Mutex<Option<Arc<OwnedFd>>>>,
        /// Whether the sample after the end of the sender has been taken.
        ended: AtomicBool,
        /// It sends a number of bytes.
        has_bytes: bool,
        /// What reads at the receiver, if that counts nothing itself.
        sink: Option<Arc<Sink>>,
    },
    /// The client's and the server's of requests.
    Requests([Sockets; 2]),
}

impl Running {
    /// Opens the sockets that are here; `None` if neither end is.
    fn prepare(
        conversation: &Conversation,
        duration_ns: u64,
        bins: usize,
        network: &Network,
    ) -> Result<Option<Self>, Failure> {
        let mut conversation = conversation.clone();
        conversation.traffic.stop_by(duration_ns);
        let name = conversation.name();
        conversation.traffic.check().map_err(|refused| {
            Failure::new(format!("{name}: {}: {}; {}", refused.key, refused.problem, refused.remedy))
        })?;
        let (is_client, is_server) = (network.has(conversation.from()), network.has(conversation.to()));
        if !is_client && !is_server {
            return Ok(None);
        }
        let connections = conversation.traffic.carrier().sockets();
        let servers = (0..if is_server { connections } else { 0 }).map(End::Server);
        let ends = is_client.then_some(End::Client).into_iter().chain(servers).collect();
        let machine = Machine::of(&conversation.traffic);
        let (sockets, outlets) = match conversation.connections() {
            Some(connections) => {
                (Opened::Tcp(Tcp::prepare(&conversation, &connections, network)?), [None, None])
            }
            None => {
                let datagrams = Datagrams::prepare(&conversation, network)?;
                let outlets = datagrams.outlets();
                (Opened::Datagrams(datagrams), outlets)
            }
        };
        let shared = Arc::new(Shared::new(machine, connections, outlets, bins));
        Ok(Some(Self { conversation: Arc::new(conversation), shared, sockets, ends, time: None }))
    }

    /// Starts its threads, which wait for their time.
    fn start(&mut self, time: Time, duration_ns: u64) -> Result<(), Failure> {
        self.time = Some(time);
        let (conversation, shared) = (self.conversation.clone(), self.shared.clone());
        match &mut self.sockets {
            Opened::Datagrams(datagrams) => datagrams.start(&conversation, &shared, time),
            Opened::Tcp(tcp) => {
                let closes_ns = conversation.traffic.closes_ns().filter(|&at_ns| at_ns <= duration_ns);
                let stream = Stream { conversation, shared, time };
                let server = tcp.server.take().map_or(Ok(()), |server| server.start(&stream));
                server.and_then(|()| {
                    tcp.client.take().map_or(Ok(()), |client| client.start(&stream, closes_ns))
                })
            }
        }
    }

    /// The first error of its threads.
    fn failure(&self) -> Option<Failure> {
        let measured = locked(&self.shared.measured);
        let failure = measured.failure.as_ref()?;
        Some(Failure::new(format!("{}: {failure}", self.conversation.name())))
    }

    /// Samples its sockets at `t_ns`.
    fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        match &self.sockets {
            Opened::Tcp(tcp) => {
                tcp.sampled.sample(&self.conversation, t_ns, tables)?;
                self.count_received(t_ns)
            }
            Opened::Datagrams(_) => Ok(()),
        }
    }

    /// Counts what has arrived in the bin that ends at `t_ns`, if its reader counts nothing.
    fn count_received(&self, t_ns: u64) -> Result<(), Failure> {
        let Opened::Tcp(Tcp { sampled: Sampled::Bulk { receiver, sink: Some(sink), .. }, .. }) =
            &self.sockets
        else {
            return Ok(());
        };
        let (Some(socket), Some(time)) = (locked(receiver).clone(), self.time) else { return Ok(()) };
        let bytes = sink
            .count(&socket)
            .doing(format!("reading TCP_INFO of the receiver of {}", self.conversation.name()))?;
        let bin = usize::try_from(t_ns.div_ceil(time.interval_ns)).unwrap_or(usize::MAX).saturating_sub(1);
        locked(&self.shared.measured).bin(bin, |bin| bin.bytes += bytes);
        Ok(())
    }

    /// Adds what it has measured so far.
    fn live(&self, live: &mut Live) {
        let name = self.conversation.name();
        let bytes = locked(&self.shared.measured).bytes();
        if bytes > 0 || self.counts_here() {
            live.bytes.insert(name.to_owned(), bytes);
        }
        let round_trip = self.shared.of_machine(Machine::round_trip);
        live.rtt_ns.extend(round_trip.map(|span| (name.to_owned(), span.as_nanos())));
    }

    /// The end that reads from a connection is here.
    fn counts_here(&self) -> bool {
        let is_here = |connections: Connections| match connections.purpose {
            Purpose::Bulk { .. } => self.ends.contains(&End::Server(0)),
            Purpose::Requests { .. } => self.ends.contains(&End::Client),
        };
        self.conversation.connections().is_some_and(is_here)
    }

    /// Adds its rows at the end of the run.
    fn measured(&self, duration_ns: u64, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        let name = self.conversation.name();
        self.count_received(duration_ns)?;
        let at_the_end = self.time.map(|time| self.shared.rows_at_the_end(&self.ends, time));
        let measured = locked(&self.shared.measured);
        measured.write_bins(name, interval_ns, tables);
        for (at, row) in measured.rows.iter().chain(at_the_end.iter().flatten()) {
            measured::write(name, *at, row, tables);
        }
        let Opened::Tcp(Tcp { sampled: Sampled::Bulk { sender, has_bytes, .. }, .. }) = &self.sockets else {
            return Ok(());
        };
        if let Some(sender) = sender {
            measured::write_segments(name, sample_of(sender, name)?.data_segments(), tables);
        }
        if *has_bytes {
            measured.write_completion(name, tables);
        }
        Ok(())
    }
}

impl Tcp {
    fn prepare(
        conversation: &Conversation,
        connections: &Connections,
        network: &Network,
    ) -> Result<Self, Failure> {
        let name = conversation.name();
        if let Purpose::Requests { size, head: Head::Size } = connections.purpose
            && size < stream::HEAD as u64
        {
            return Err(Failure::new(format!("{name}: requests have at least {} bytes", stream::HEAD)));
        }
        let here = if network.has(conversation.from()) { connections.count } else { 0 };
        let clients = (0..here).map(|_| sockets::open_client(conversation, connections, network));
        let clients = clients.collect::<Result<Vec<_>, _>>()?;
        let is_server = network.has(conversation.to());
        let listener =
            is_server.then(|| sockets::open_server(conversation, connections, network)).transpose()?;
        let ends = ["client", "server"].map(Sockets::of);
        let clients: Vec<_> = clients.into_iter().map(|socket| ends[0].add(socket)).collect();
        let receiver = Arc::default();
        let is_bulk = matches!(connections.purpose, Purpose::Bulk { .. });
        let sink = (is_bulk && kernel_module::is_guest()).then(Arc::default);
        let server = listener
            .map(|listener| Server::of(listener, ends[1].clone(), Arc::clone(&receiver), sink.clone()));
        let sampled = match connections.purpose {
            Purpose::Bulk { bytes } => {
                let (sender, has_bytes) = (clients.first().cloned(), bytes.is_some());
                Sampled::Bulk { sender, receiver, ended: AtomicBool::default(), has_bytes, sink }
            }
            Purpose::Requests { .. } => Sampled::Requests(ends),
        };
        let client = (!clients.is_empty()).then(|| Client::of(clients, connections)).transpose();
        Ok(Self { client: client.doing(format!("preparing {name}"))?, server, sampled })
    }
}

impl Sampled {
    fn sample(
        &self,
        conversation: &Conversation,
        t_ns: u64,
        tables: &mut SocketTables,
    ) -> Result<(), Failure> {
        let name = conversation.name();
        let (sender, receiver, ended) = match self {
            Sampled::Requests(ends) => return ends.iter().try_for_each(|end| end.sample(t_ns, name, tables)),
            Sampled::Bulk { sender, receiver, ended, .. } => (sender, receiver, ended),
        };
        if conversation.traffic.start_ns() >= t_ns {
            return Ok(());
        }
        if let Some(sender) = sender.as_ref().filter(|_| !ended.load(Ordering::Relaxed)) {
            let sample = sample_of(sender, name)?;
            if is_due(&sample, ended) {
                sample.row(t_ns, name, &mut tables.senders);
            }
        }
        let receiver = locked(receiver).clone();
        if let (Some(table), Some(socket)) = (&mut tables.receivers, receiver) {
            let sample = Sample::of(&socket).doing(format!("reading TCP_INFO of the receiver of {name}"))?;
            sample.receiver_row(t_ns, name, table);
        }
        Ok(())
    }
}

/// True while a flow sends, and once more at the first sample after its end, which has its final counters. A flow may begin
/// and end between two samples.
fn is_due(sample: &Sample, ended: &AtomicBool) -> bool {
    sample.is_sending() || (sample.data_segments() > 0 && !ended.swap(true, Ordering::Relaxed))
}

/// `TCP_INFO` of a socket.
fn sample_of(socket: &OwnedFd, name: &str) -> Result<Sample, Failure> {
    Sample::of(socket).doing(format!("reading TCP_INFO of {name}"))
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
        Self(TABLES.iter().map(|kind| Ordered::new(kind.name, kind.columns)).collect())
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
    conversations: Vec<Running>,
    duration_ns: u64,
}

impl Traffic {
    /// Opens every socket that is here; nothing is sent yet.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        sys::allow_many_files().doing("raising the limit of open files")?;
        let bins = usize::try_from(job.duration_ns.div_ceil(job.interval_ns)).unwrap_or(usize::MAX);
        let conversations =
            job.traffic.iter().map(|each| Running::prepare(each, job.duration_ns, bins, network));
        let conversations = conversations.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(Self { conversations, duration_ns: job.duration_ns })
    }

    /// Starts all applications.
    pub fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        let time = Time { clock, interval_ns };
        self.conversations.iter_mut().try_for_each(|each| each.start(time, self.duration_ns))
    }

    /// The first error of an application.
    pub fn failure(&self) -> Option<Failure> {
        self.conversations.iter().find_map(Running::failure)
    }

    /// Samples all sockets at `t_ns`.
    pub fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        self.conversations.iter().try_for_each(|each| each.sample(t_ns, tables))
    }

    /// What the applications have measured so far.
    pub fn live(&self) -> Live {
        let mut live = Live::default();
        self.conversations.iter().for_each(|each| each.live(&mut live));
        live
    }

    /// What the applications have measured, as tables.
    pub fn measured(&self, interval_ns: u64) -> Result<Vec<Table>, Failure> {
        let mut tables = Tables::empty();
        self.conversations
            .iter()
            .try_for_each(|each| each.measured(self.duration_ns, interval_ns, &mut tables))?;
        Ok(tables.0.into_iter().map(Ordered::finish).collect())
    }
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
mod tests;
