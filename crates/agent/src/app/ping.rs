//! Ping: echo requests from an ICMP datagram socket, and their replies. [ping(7) of Linux, rfc792]

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::{Application, Live, TableKind, Tables, locked, mark, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Ping;
use crate::network::Network;
use crate::sys;

const PING: TableKind = TableKind { name: "ping", columns: &["t_ns", "ping", "seq", "rtt_ns"] };
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[PING];
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ICMP_HEADER: usize = 8;

/// A series of echo requests in progress.
pub struct RunningPing {
    ping: Ping,
    socket: Arc<OwnedFd>,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// One echo request.
#[derive(Clone, Copy)]
struct Request {
    /// When it was sent.
    sent_ns: u64,
    /// Time until the answer; `None` if there was none.
    rtt_ns: Option<u64>,
}

impl RunningPing {
    /// Opens the socket on its host; `None` if that is another machine.
    pub fn prepare(ping: &Ping, network: &Network) -> Result<Option<Self>, Failure> {
        if !network.has(ping.from) {
            return Ok(None);
        }
        let socket =
            network.within(ping.from, || sys::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP))?;
        let socket = socket.doing(format!("opening {}", ping.name))?;
        mark(&socket, ping.dscp).doing(format!("marking {}", ping.name))?;
        sys::connect(&socket, SocketAddrV4::new(ping.address, 0)).doing(format!("aiming {}", ping.name))?;
        Ok(Some(Self { ping: ping.clone(), socket: Arc::new(socket), requests: Arc::default() }))
    }
}

impl Application for RunningPing {
    fn start(&mut self, clock: Clock, _interval_ns: u64) -> Result<(), Failure> {
        let (socket, requests) = (self.socket.clone(), self.requests.clone());
        spawn(move || await_replies(&socket, &requests, clock))?;
        let (ping, socket, requests) = (self.ping.clone(), self.socket.clone(), self.requests.clone());
        spawn(move || ask(&ping, &socket, &requests, clock))
    }

    fn live(&self, live: &mut Live) {
        let newest = locked(&self.requests).iter().rev().find_map(|request| request.rtt_ns);
        live.rtt_ns.extend(newest.map(|rtt_ns| (self.ping.name.clone(), rtt_ns)));
    }

    fn measured(&self, _interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        for (seq, request) in locked(&self.requests).iter().enumerate() {
            let mut row = tables.row_at(&PING, request.sent_ns);
            row.cell(request.sent_ns).name(&self.ping.name).cell(seq).maybe(request.rtt_ns);
        }
        Ok(())
    }
}

fn ask(ping: &Ping, socket: &OwnedFd, requests: &Mutex<Vec<Request>>, clock: Clock) {
    let mut due_ns = ping.start_ns;
    while due_ns < ping.stop_ns {
        clock.sleep_until(due_ns);
        let number = {
            let mut requests = locked(requests);
            requests.push(Request { sent_ns: clock.now_ns(), rtt_ns: None });
            requests.len() - 1
        };
        // A request for which the own queue has no room is lost like any other.
        let _ = sys::send(socket, &echo_request(number, ping.size));
        due_ns += ping.interval_ns;
    }
}

fn echo_request(number: usize, size: usize) -> Vec<u8> {
    let mut message = vec![0; size.max(ICMP_HEADER)];
    message[0] = ECHO_REQUEST;
    message[6..8].copy_from_slice(&(number as u16).to_be_bytes());
    message
}

fn await_replies(socket: &OwnedFd, requests: &Mutex<Vec<Request>>, clock: Clock) {
    let mut message = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok(length) = sys::receive(socket, &mut message) else { continue };
        if length >= ICMP_HEADER && message[0] == ECHO_REPLY {
            let sequence = u16::from_be_bytes([message[6], message[7]]);
            note_reply(&mut locked(requests), sequence, clock.now_ns());
        }
    }
}

/// Assigns a reply to the newest request whose number has these lower 16 bits.
fn note_reply(requests: &mut [Request], sequence: u16, now_ns: u64) {
    let newest = requests.iter_mut().enumerate().rev().find(|(number, _)| *number as u16 == sequence);
    if let Some((_, request)) = newest {
        request.rtt_ns.get_or_insert(now_ns - request.sent_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_belongs_to_the_newest_request_of_its_sequence_number() {
        let mut requests = vec![Request { sent_ns: 5, rtt_ns: None }; 65_537];
        note_reply(&mut requests, 0, 12);
        assert_eq!((requests[0].rtt_ns, requests[65_536].rtt_ns), (None, Some(7)));
    }

    #[test]
    fn an_echo_request_has_its_size_and_number() {
        let message = echo_request(0x1_0203, 64);
        assert_eq!((message.len(), message[0], message[6], message[7]), (64, 8, 2, 3));
    }
}
