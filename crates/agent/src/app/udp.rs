//! UDP at a fixed rate: a sender and a receiver, each of which counts per bin. The receiver also keeps the delays, those
//! that are alike together, or each of them if the job asks for that.
//!
//! ```text
//! data of a datagram: first half of the run's token, 8 bytes; when it was sent, ns of the run, 8 bytes; zeros
//! ```
//! The receiver counts datagrams with the token only. All machines use the same time base, so that it can compute the
//! one-way delay. A datagram is due each 8 · size / rate; those that are due while the socket has no room are not sent
//! later. If the thread only wakes late, all that are due are sent at once.

use std::io::ErrorKind;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

use tailback_units::{DelayCell, Delays, SimTime};

use super::{Application, Live, TOKEN, TableKind, Tables, bulk, half, locked, mark, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Datagrams, Recorded};
use crate::network::Network;
use crate::sys;

/// Minimum size of a datagram.
const HEADER: usize = TOKEN + 8;
const DATAGRAMS: TableKind = TableKind {
    name: "datagrams",
    columns: &["t_ns", "flow", "sent", "received", "delay_sum_ns", "longest_ns"],
};
const ARRIVALS: TableKind = TableKind { name: "arrivals", columns: &["t_ns", "flow", "delay_ns"] };
const DELAYS: TableKind = TableKind {
    name: "delays",
    columns: &["t_ns", "flow", "packets", "sum_ns", "shortest_ns", "longest_ns"],
};
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[DATAGRAMS, ARRIVALS, DELAYS];

/// Counts of one bin at one end.
#[derive(Clone, Copy, Default)]
struct Bin {
    sent: u64,
    received: u64,
    bytes: u64,
    delay_sum_ns: i64,
    longest_ns: Option<i64>,
}

/// A datagram that arrived.
#[derive(Clone, Copy)]
struct Arrival {
    at_ns: u64,
    delay_ns: i64,
}

/// The delays of the datagrams that arrived.
enum Arrivals {
    Each(Vec<Arrival>),
    Alike { over: Vec<DelayCell>, delays: Delays },
}

impl Arrivals {
    fn recorded_as(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Each => Arrivals::Each(Vec::new()),
            Recorded::Counts => Arrivals::Alike { over: Vec::new(), delays: Delays::default() },
        }
    }

    fn note(&mut self, arrival: Arrival) {
        match self {
            Arrivals::Each(each) => each.push(arrival),
            Arrivals::Alike { over, delays } => {
                delays.count(SimTime::from_nanos(arrival.at_ns), arrival.delay_ns, |cell| over.push(cell));
            }
        }
    }

    fn rows(&self, flow: &str, tables: &mut Tables) {
        match self {
            Arrivals::Each(each) => {
                for arrival in each {
                    let mut row = tables.row_at(&ARRIVALS, arrival.at_ns);
                    row.cell(arrival.at_ns).name(flow).cell(arrival.delay_ns);
                }
            }
            Arrivals::Alike { over, delays } => {
                let mut all = over.clone();
                // Of a copy: the run may go on.
                delays.clone().take(|cell| all.push(cell));
                for cell in all {
                    let t_ns = cell.last.as_nanos();
                    let mut row = tables.row_at(&DELAYS, t_ns);
                    row.cell(t_ns).name(flow).cell(cell.count).cell(cell.sum_ns);
                    row.cell(cell.shortest_ns).cell(cell.longest_ns);
                }
            }
        }
    }
}

/// A flow of datagrams in progress, as far as its ends are here.
pub struct RunningDatagrams {
    flow: Datagrams,
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    bins: Arc<Mutex<Vec<Bin>>>,
    arrivals: Arc<Mutex<Arrivals>>,
}

impl RunningDatagrams {
    /// Opens the sockets that are here.
    pub fn prepare(flow: &Datagrams, bins: usize, network: &Network) -> Result<Self, Failure> {
        if flow.size < HEADER || flow.rate_bps == 0 {
            return Err(Failure::new(format!(
                "{}: datagrams have at least {HEADER} bytes and a rate",
                flow.name
            )));
        }
        let sender = network.has(flow.from).then(|| open_sender(flow, network)).transpose()?;
        let receiver = network.has(flow.to).then(|| open_receiver(flow, network)).transpose()?;
        Ok(Self {
            flow: flow.clone(),
            sender,
            receiver,
            bins: Arc::new(Mutex::new(vec![Bin::default(); bins])),
            arrivals: Arc::new(Mutex::new(Arrivals::recorded_as(flow.record))),
        })
    }

    fn received_bytes(&self) -> u64 {
        locked(&self.bins).iter().map(|bin| bin.bytes).sum()
    }
}

impl Application for RunningDatagrams {
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        if let Some(socket) = self.receiver.take() {
            let (token, bins) = (token_of(&self.flow), self.bins.clone());
            let arrivals = self.arrivals.clone();
            spawn(move || {
                receive(&socket, token, clock, |arrival, length| {
                    bin(&bins, arrival.at_ns, interval_ns).note(|bin| bin.count(arrival, length));
                    locked(&arrivals).note(arrival);
                })
            })?;
        }
        if let Some(socket) = self.sender.take() {
            let (flow, bins) = (self.flow.clone(), self.bins.clone());
            spawn(move || {
                send(&flow, &socket, clock, |now_ns| {
                    bin(&bins, now_ns, interval_ns).note(|bin| bin.sent += 1)
                })
            })?;
        }
        Ok(())
    }

    fn live(&self, live: &mut Live) {
        let bytes = self.received_bytes();
        if bytes > 0 {
            live.bytes.insert(self.flow.name.clone(), bytes);
        }
    }

    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        let bins = locked(&self.bins);
        for (number, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.sent + bin.received > 0) {
            let t_ns = (number as u64 + 1) * interval_ns;
            let mut row = tables.row_at(&DATAGRAMS, t_ns);
            row.cell(t_ns).name(&self.flow.name).cell(bin.sent).cell(bin.received);
            row.cell(bin.delay_sum_ns).maybe(bin.longest_ns);
            drop(row);
            if bin.bytes > 0 {
                tables.row_at(&bulk::FLOWS, t_ns).cell(t_ns).name(&self.flow.name).cell(bin.bytes);
            }
        }
        locked(&self.arrivals).rows(&self.flow.name, tables);
        Ok(())
    }
}

impl Bin {
    fn count(&mut self, arrival: Arrival, length: usize) {
        self.received += 1;
        self.bytes += length as u64;
        self.delay_sum_ns = self.delay_sum_ns.saturating_add(arrival.delay_ns);
        let longest = self.longest_ns.map_or(arrival.delay_ns, |longest| longest.max(arrival.delay_ns));
        self.longest_ns = Some(longest);
    }
}

fn open_sender(flow: &Datagrams, network: &Network) -> Result<OwnedFd, Failure> {
    let name = &flow.name;
    let socket = network.within(flow.from, || sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0))?;
    let socket = socket.doing(format!("opening the sender of {name}"))?;
    sys::connect(&socket, SocketAddrV4::new(flow.address, flow.port).into())
        .doing(format!("aiming {name}"))?;
    if let Some(bytes) = flow.sndbuf {
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
            .doing(format!("setting socket options of {name}"))?;
    }
    mark(&socket, flow.dscp).doing(format!("marking {name}"))?;
    Ok(socket)
}

fn open_receiver(flow: &Datagrams, network: &Network) -> Result<OwnedFd, Failure> {
    let bound = network.within(flow.to, || sys::bound(0, SocketAddrV4::new(flow.address, flow.port)))?;
    bound.doing(format!("opening the receiver of {} at {}:{}", flow.name, flow.address, flow.port))
}

fn token_of(flow: &Datagrams) -> [u8; TOKEN] {
    half(flow.token.as_deref().unwrap_or_default())
}

/// The datagrams since a time, the first of which was due then.
struct Due {
    from_ns: u64,
    number: u64,
}

impl Due {
    fn next_ns(&self, flow: &Datagrams) -> u64 {
        let bits = u128::from(self.number) * flow.size as u128 * 8;
        let after_ns = bits * 1_000_000_000 / u128::from(flow.rate_bps);
        self.from_ns.saturating_add(u64::try_from(after_ns).unwrap_or(u64::MAX))
    }
}

/// Sends each datagram when it is due, or when the socket has room again.
fn send(flow: &Datagrams, socket: &OwnedFd, clock: Clock, mut sent: impl FnMut(u64)) {
    let mut data = vec![0; flow.size];
    data[..TOKEN].copy_from_slice(&token_of(flow));
    let mut due = Due { from_ns: flow.start_ns, number: 0 };
    loop {
        let due_ns = due.next_ns(flow);
        if due_ns >= flow.stop_ns {
            return;
        }
        clock.sleep_until(due_ns);
        let now_ns = clock.now_ns();
        data[TOKEN..HEADER].copy_from_slice(&now_ns.to_be_bytes());
        // Any other error is that of an earlier datagram; this one is lost like any other.
        if sys::send_at_once(socket, &data).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            sys::wait_for_room(socket);
            due = Due { from_ns: clock.now_ns(), number: 0 };
            continue;
        }
        sent(now_ns);
        due.number += 1;
    }
}

fn receive(socket: &OwnedFd, token: [u8; TOKEN], clock: Clock, mut count: impl FnMut(Arrival, usize)) {
    let mut data = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok(length) = sys::receive(socket, &mut data) else { continue };
        if length < HEADER || data[..TOKEN] != token {
            continue;
        }
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&data[TOKEN..HEADER]);
        let now_ns = clock.now_ns();
        let delay_ns = now_ns.cast_signed().saturating_sub(u64::from_be_bytes(stamp).cast_signed());
        count(Arrival { at_ns: now_ns, delay_ns }, length);
    }
}

/// The bin of a time, under its lock; none after the end of the run.
struct Noted<'a> {
    bins: MutexGuard<'a, Vec<Bin>>,
    number: usize,
}

impl Noted<'_> {
    fn note(&mut self, note: impl FnOnce(&mut Bin)) {
        if let Some(bin) = self.bins.get_mut(self.number) {
            note(bin);
        }
    }
}

fn bin(bins: &Mutex<Vec<Bin>>, now_ns: u64, interval_ns: u64) -> Noted<'_> {
    Noted { bins: locked(bins), number: usize::try_from(now_ns / interval_ns).unwrap_or(usize::MAX) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PORT, own_address};
    use super::*;

    #[test]
    fn datagrams_are_sent_at_their_rate_and_those_without_the_token_are_not_counted() {
        let names = ["here".to_owned()];
        let network = Network::of_machine(&names, 0).unwrap();
        let flow = Datagrams {
            name: "f".into(),
            from: 0,
            to: 0,
            address: own_address(),
            port: PORT,
            start_ns: 0,
            stop_ns: 100_000_000,
            rate_bps: 800_000,
            size: 100,
            sndbuf: None,
            dscp: Some(46),
            token: Some("geheimgeheim".into()),
            record: Recorded::Each,
        };
        // Bins for a quarter of an hour: on a busy machine the threads may wake late.
        let mut running = RunningDatagrams::prepare(&flow, 90_000, &network).unwrap();
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&[b'x'; 50], (flow.address, PORT)).unwrap();
        let clock = Clock::starting_at(sys::monotonic_ns());
        running.start(clock, 10_000_000).unwrap();
        let sent = || -> u64 {
            let mut tables = Tables::empty();
            running.measured(10_000_000, &mut tables).unwrap();
            let mut tables = tables.0.into_iter().map(crate::table::Ordered::finish);
            let text = tables.find(|table| table.name() == "datagrams").unwrap().take();
            text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap()).sum()
        };
        // 100 bytes each millisecond for a tenth of a second.
        while sent() < 100 || running.received_bytes() < 10_000 {
            assert!(clock.now_ns() < 900_000_000_000, "{} and {} bytes", sent(), running.received_bytes());
            clock.sleep_until(clock.now_ns() + 10_000_000);
        }
        assert_eq!((sent(), running.received_bytes()), (100, 10_000));
        let mut tables = Tables::empty();
        running.measured(10_000_000, &mut tables).unwrap();
        let mut tables = tables.0.into_iter().map(crate::table::Ordered::finish);
        let arrivals = tables.find(|table| table.name() == "arrivals").unwrap().take();
        assert_eq!(arrivals.lines().count(), 1 + 100);
    }

    #[test]
    fn delays_that_are_alike_are_a_row_and_those_of_the_slot_in_progress_are_not_left_out() {
        let mut arrivals = Arrivals::recorded_as(Recorded::Counts);
        for (at_ns, delay_ns) in [(1_000, 5_000_000), (2_000, 5_010_000), (3_000, -70), (20_000_000, 9)] {
            arrivals.note(Arrival { at_ns, delay_ns });
        }
        let rows = || {
            let mut tables = Tables::empty();
            arrivals.rows("f", &mut tables);
            let mut tables = tables.0.into_iter().map(crate::table::Ordered::finish);
            tables.find(|table| table.name() == "delays").unwrap().take()
        };
        let written =
            "2000,\"f\",2,10010000,5000000,5010000\n3000,\"f\",1,-70,-70,-70\n20000000,\"f\",1,9,9,9\n";
        assert_eq!(rows().split_once('\n').unwrap().1, written);
        assert_eq!(rows().split_once('\n').unwrap().1, written, "a second time");
    }
}
