//! Requests and answers over one TCP connection: a client that asks, reads the answer to its last byte, pauses, and asks
//! again; and the server.
//!
//! Both know the sizes of all answers, so messages need no headers. The latency of a request is the time from the
//! client's `send()` to the `recv()` that returns the last byte of the answer; the connection is open by then.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::sent::Sockets;
use super::{Application, Live, TableKind, Tables, bulk, locked, spawn};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::job::Requests;
use crate::network::Network;
use crate::sys;
use crate::tcp_info::SocketTables;

const REQUESTS: TableKind =
    TableKind { name: "requests", columns: &["t_ns", "flow", "seq", "bytes", "latency_ns"] };
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[REQUESTS];
/// Bytes of a `recv` and, at most, of a `send`.
const MOST: u64 = 16 << 20;

/// A request; its number is its position.
#[derive(Clone, Copy)]
struct Asked {
    at_ns: u64,
    /// `None` until it is answered.
    latency_ns: Option<u64>,
}

/// What the client has measured.
#[derive(Default)]
struct Measured {
    requests: Vec<Asked>,
    failure: Option<String>,
}

/// A client and a server in progress, as far as they are here.
pub struct RunningRequests {
    requests: Arc<Requests>,
    client: Option<OwnedFd>,
    listener: Option<OwnedFd>,
    is_client: bool,
    /// The sockets of the client and of the server that have begun.
    ends: [Sockets; 2],
    bins: Arc<Mutex<Vec<u64>>>,
    measured: Arc<Mutex<Measured>>,
}

impl RunningRequests {
    /// Opens the sockets that are here.
    pub fn prepare(requests: &Requests, bins: usize, network: &Network) -> Result<Self, Failure> {
        let nothing = [requests.size].iter().chain(&requests.answers).any(|&bytes| bytes == 0);
        if nothing || requests.answers.is_empty() || requests.pauses_ns.is_empty() {
            let name = &requests.name;
            return Err(Failure::new(format!("{name}: requests and answers have bytes and pauses")));
        }
        let connection = requests.connection();
        let is_client = network.has(requests.from);
        let client = is_client.then(|| bulk::open_sender(&connection, network)).transpose()?;
        let is_server = network.has(requests.to);
        let listener = is_server.then(|| bulk::open_receiver(&connection, network)).transpose()?;
        Ok(Self {
            requests: Arc::new(requests.clone()),
            client,
            listener,
            is_client,
            ends: ["client", "server"].map(Sockets::of),
            bins: Arc::new(Mutex::new(vec![0; bins])),
            measured: Arc::default(),
        })
    }
}

impl Application for RunningRequests {
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        if let Some(listener) = self.listener.take().map(Arc::new) {
            let (requests, server) = (self.requests.clone(), self.ends[1].clone());
            spawn(move || {
                let accepted = bulk::accept(&requests.connection(), &listener);
                // A connection that breaks is reported by the client.
                let _ = accepted.and_then(|socket| serve(&requests, &server.add(socket)));
            })?;
        }
        let Some(client) = self.client.take().map(|socket| self.ends[0].add(socket)) else { return Ok(()) };
        let (requests, bins, measured) = (self.requests.clone(), self.bins.clone(), self.measured.clone());
        spawn(move || {
            clock.sleep_until(requests.start_ns);
            let count = |read| bulk::count(read, &bins, clock, interval_ns);
            if let Err(error) = ask(&requests, &client, clock, &measured, count) {
                locked(&measured).failure = Some(error.to_string());
            }
        })
    }

    fn failure(&self) -> Option<Failure> {
        let measured = locked(&self.measured);
        measured.failure.as_ref().map(|failure| Failure::new(format!("{}: {failure}", self.requests.name)))
    }

    fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        self.ends.iter().try_for_each(|end| end.sample(t_ns, &self.requests.name, tables))
    }

    fn live(&self, live: &mut Live) {
        if self.is_client {
            live.bytes.insert(self.requests.name.clone(), locked(&self.bins).iter().sum());
        }
    }

    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        let name = &self.requests.name;
        for (bin, bytes) in locked(&self.bins).iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let t_ns = (bin as u64 + 1) * interval_ns;
            tables.row_at(&bulk::FLOWS, t_ns).cell(t_ns).name(name).cell(bytes);
        }
        for (number, asked) in locked(&self.measured).requests.iter().enumerate() {
            let mut row = tables.row_at(&REQUESTS, asked.at_ns);
            row.cell(asked.at_ns).name(name).cell(number).cell(self.requests.answer(number));
            row.maybe(asked.latency_ns);
        }
        Ok(())
    }
}

impl Requests {
    fn answer(&self, number: usize) -> u64 {
        self.answers[number % self.answers.len()]
    }

    fn pause_ns(&self, number: usize) -> u64 {
        self.pauses_ns[number % self.pauses_ns.len()]
    }

    /// Room for the longest message, of which all have the same content.
    fn data(&self) -> Vec<u8> {
        let longest = self.answers.iter().copied().fold(self.size, u64::max);
        vec![0; usize::try_from(longest.min(MOST)).unwrap_or(usize::MAX)]
    }
}

/// The client, until the first request that would be at or after the stop.
fn ask(
    requests: &Requests,
    socket: &OwnedFd,
    clock: Clock,
    measured: &Mutex<Measured>,
    mut count: impl FnMut(u64),
) -> io::Result<()> {
    bulk::connect(&requests.connection(), socket)?;
    let data = requests.data();
    for number in 0..requests.count.unwrap_or(usize::MAX) {
        let asked_ns = clock.now_ns();
        if asked_ns >= requests.stop_ns {
            break;
        }
        locked(measured).requests.push(Asked { at_ns: asked_ns, latency_ns: None });
        send(socket, requests.size, &data)?;
        let mut left = requests.answer(number);
        while left > 0 {
            let read = read(socket, left)?;
            count(read);
            left -= read;
        }
        let now_ns = clock.now_ns();
        locked(measured).requests[number].latency_ns = Some(now_ns - asked_ns);
        if requests.count != Some(number + 1) {
            clock.sleep_until(now_ns + requests.pause_ns(number));
        }
    }
    sys::shut_down_sending(socket);
    Ok(())
}

/// The server, until the client closes. The socket stays open for samples.
fn serve(requests: &Requests, socket: &OwnedFd) -> io::Result<()> {
    let served = answer_all(requests, socket);
    sys::shut_down_sending(socket);
    served
}

fn answer_all(requests: &Requests, socket: &OwnedFd) -> io::Result<()> {
    let data = requests.data();
    for number in 0.. {
        let mut left = requests.size;
        while left > 0 {
            match read(socket, left) {
                Ok(read) => left -= read,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        if left > 0 {
            break;
        }
        send(socket, requests.answer(number), &data)?;
    }
    Ok(())
}

fn send(socket: &OwnedFd, mut bytes: u64, data: &[u8]) -> io::Result<()> {
    while bytes > 0 {
        let next = usize::try_from(bytes).unwrap_or(usize::MAX).min(data.len());
        bytes -= sys::send(socket, &data[..next])? as u64;
    }
    Ok(())
}

fn read(socket: &OwnedFd, bytes: u64) -> io::Result<u64> {
    match sys::discard(socket, usize::try_from(bytes.min(MOST)).unwrap_or(usize::MAX))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        read => Ok(read as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PORT, own_address};
    use super::*;
    use crate::table::Ordered;

    fn requests() -> Requests {
        let address = own_address();
        let job = format!(
            r#"{{"name": "page", "from": 0, "to": 0, "address": "{address}", "port": {PORT}, "start_ns": 0,
                "stop_ns": 900000000000, "size": 300, "answers": [70000, 5], "pauses_ns": [1000000], "count": 4,
                "congestion_control": "cubic", "pacing_shift": null, "token": "geheimgeheim"}}"#
        );
        serde_json::from_str(&job).unwrap()
    }

    #[test]
    fn each_request_gets_its_answer_and_has_a_latency() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        let mut running = RunningRequests::prepare(&requests(), 10, &network).unwrap();
        let clock = Clock::starting_at(sys::monotonic_ns());
        running.start(clock, 100_000_000_000).unwrap();
        let answered = || {
            assert!(running.failure().is_none());
            let mut tables = Tables::empty();
            running.measured(100_000_000_000, &mut tables).unwrap();
            let mut tables = tables.0.into_iter().map(Ordered::finish);
            let text = tables.find(|table| table.name() == "requests").unwrap().take();
            let rows = text.lines().skip(1).filter(|line| !line.ends_with(','));
            rows.map(|line| line.split(',').nth(3).unwrap().to_owned()).collect::<Vec<_>>()
        };
        while answered().len() < 4 {
            assert!(clock.now_ns() < 900_000_000_000);
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        assert_eq!(answered()[..4], ["70000", "5", "70000", "5"]);
        // The connection was over before it was first sampled.
        let mut sockets = SocketTables::of_senders();
        running.sample(1, &mut sockets).unwrap();
        let rows = sockets.exchanges.take();
        let sent =
            |end: &str| rows.lines().find_map(|row| row.split_once(&format!("{end},"))?.1.split(',').next());
        assert!(["client", "server"].into_iter().all(|end| sent(end).unwrap() != "0"), "{rows}");
    }

    #[test]
    fn an_answer_without_bytes_is_refused() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        let empty = Requests { answers: vec![0], ..requests() };
        assert!(RunningRequests::prepare(&empty, 10, &network).is_err());
    }
}
