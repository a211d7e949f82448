//! Ping: echo requests from an ICMP datagram socket, and their replies. [ping(7) of Linux, rfc792]

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::{Application, Live, TableKind, Tables, locked, mark, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Ping;
use crate::network::Network;
use crate::sys;

const PING: TableKind = TableKind { name: "ping", columns: &["t_ns", "ping", "seq", "rtt_ns"] };
/// The tables of this kind, and of echoes over UDP.
pub const TABLES: &[TableKind] = &[PING];
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ICMP_HEADER: usize = 8;

/// A series of echo requests in progress.
pub struct RunningPing {
    ping: Ping,
    socket: Arc<OwnedFd>,
    requests: Requests,
}

/// One echo request.
#[derive(Clone, Copy)]
struct Request {
    /// When it was sent.
    sent_ns: u64,
    /// Time until the answer; `None` if there was none.
    rtt_ns: Option<u64>,
}

/// The requests of a series, by number.
#[derive(Clone, Default)]
pub struct Requests(Arc<Mutex<Vec<Request>>>);

/// When the requests of a series are sent.
#[derive(Clone, Copy)]
pub struct Times {
    /// The first.
    pub start_ns: u64,
    /// None at or after this.
    pub stop_ns: u64,
    /// From one to the next.
    pub interval_ns: u64,
}

impl RunningPing {
    /// Opens the socket on its host; `None` if that is another machine.
    pub fn prepare(ping: &Ping, network: &Network) -> Result<Option<Self>, Failure> {
        if !network.has(ping.from) {
            return Ok(None);
        }
        let socket = network.within(ping.from, || {
            sys::bound(libc::IPPROTO_ICMP, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, ping.identifier))
        })?;
        let socket = socket.doing(format!("opening {}", ping.name))?;
        mark(&socket, ping.dscp).doing(format!("marking {}", ping.name))?;
        sys::connect(&socket, SocketAddrV4::new(ping.address, 0).into())
            .doing(format!("aiming {}", ping.name))?;
        Ok(Some(Self { ping: ping.clone(), socket: Arc::new(socket), requests: Requests::default() }))
    }
}

impl Application for RunningPing {
    fn start(&mut self, clock: Clock, _interval_ns: u64) -> Result<(), Failure> {
        let (socket, requests) = (self.socket.clone(), self.requests.clone());
        spawn(move || await_replies(&socket, &requests, clock))?;
        let (ping, socket, requests) = (self.ping.clone(), self.socket.clone(), self.requests.clone());
        let times = Times { start_ns: ping.start_ns, stop_ns: ping.stop_ns, interval_ns: ping.interval_ns };
        spawn(move || {
            requests.send_each(times, clock, |number| {
                // A request for which the own queue has no room is lost like any other.
                let _ = sys::send(&socket, &echo_request(number, ping.size));
            });
        })
    }

    fn live(&self, live: &mut Live) {
        self.requests.live(&self.ping.name, live);
    }

    fn measured(&self, _interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        self.requests.write(&self.ping.name, tables);
        Ok(())
    }
}

impl Requests {
    /// Calls `send` with the number of each request when it is due.
    pub fn send_each(&self, times: Times, clock: Clock, mut send: impl FnMut(usize)) {
        let mut due_ns = times.start_ns;
        while due_ns < times.stop_ns {
            clock.sleep_until(due_ns);
            let number = {
                let mut requests = locked(&self.0);
                requests.push(Request { sent_ns: clock.now_ns(), rtt_ns: None });
                requests.len() - 1
            };
            send(number);
            due_ns += times.interval_ns;
        }
    }

    /// The answer to the newest request whose number has these bits below `mask`; only the first counts.
    pub fn answered(&self, number: usize, mask: usize, now_ns: u64) {
        let mut requests = locked(&self.0);
        let newest = requests.iter_mut().enumerate().rev().find(|(each, _)| each & mask == number);
        if let Some((_, request)) = newest {
            request.rtt_ns.get_or_insert(now_ns - request.sent_ns);
        }
    }

    /// The newest round trip, for display.
    pub fn live(&self, name: &str, live: &mut Live) {
        let newest = locked(&self.0).iter().rev().find_map(|request| request.rtt_ns);
        live.rtt_ns.extend(newest.map(|rtt_ns| (name.to_owned(), rtt_ns)));
    }

    /// A row for each request.
    pub fn write(&self, name: &str, tables: &mut Tables) {
        for (seq, request) in locked(&self.0).iter().enumerate() {
            let mut row = tables.row_at(&PING, request.sent_ns);
            row.cell(request.sent_ns).name(name).cell(seq).maybe(request.rtt_ns);
        }
    }
}

fn echo_request(number: usize, size: usize) -> Vec<u8> {
    let mut message = vec![0; size.max(ICMP_HEADER)];
    message[0] = ECHO_REQUEST;
    message[6..8].copy_from_slice(&(number as u16).to_be_bytes());
    message
}

fn await_replies(socket: &OwnedFd, requests: &Requests, clock: Clock) {
    let mut message = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok(length) = sys::receive(socket, &mut message) else { continue };
        if length >= ICMP_HEADER && message[0] == ECHO_REPLY {
            let sequence = u16::from_be_bytes([message[6], message[7]]);
            requests.answered(sequence.into(), usize::from(u16::MAX), clock.now_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_belongs_to_the_newest_request_of_its_sequence_number() {
        let requests = Requests::default();
        *locked(&requests.0) = vec![Request { sent_ns: 5, rtt_ns: None }; 65_537];
        requests.answered(0, usize::from(u16::MAX), 12);
        let seen = locked(&requests.0);
        assert_eq!((seen[0].rtt_ns, seen[65_536].rtt_ns), (None, Some(7)));
    }

    #[test]
    fn an_echo_request_has_its_size_and_number() {
        let message = echo_request(0x1_0203, 64);
        assert_eq!((message.len(), message[0], message[6], message[7]), (64, 8, 2, 3));
    }
}
