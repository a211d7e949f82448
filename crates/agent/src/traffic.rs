//! The traffic: a thread per end of each flow, all with blocking calls (busy waiting would stop virtual time).
//!
//! A sender writes 128 KiB at a time; at its stop the sending side is shut down and what is queued drains. A receiver
//! throws away what it reads and counts it per bin. Ping is an ICMP datagram socket [ping(7) of Linux, rfc792].
//!
//! On a machine that others reach too, a receiver listens at the address of its flow only, and a connection counts once
//! it has begun with the token of the run; any other is closed.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::{fs, io};

use crate::clock::Clock;
use crate::datagrams::RunningDatagrams;
use crate::failure::{Failure, While};
use crate::job::{Conversation, Flow, Job, Ping};
use crate::network::Network;
use crate::sys;

/// What an application hands to `send` and asks of `recv` at a time.
const WRITE: usize = 128 * 1024;
const READ: usize = 1 << 20;
/// `TCP_NOTSENT_LOWAT` of linux/tcp.h.
const TCP_NOTSENT_LOWAT: libc::c_int = 25;
const STACK: usize = 128 * 1024;

const PACING_SHIFT: &str = "/sys/module/sock/parameters/pacing_shift";
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ICMP_HEADER: usize = 8;

/// A flow under way.
pub struct RunningFlow {
    /// What it is.
    pub flow: Flow,
    /// The sending socket, where the sender is here.
    pub sender: Option<Arc<OwnedFd>>,
    listener: Option<Arc<OwnedFd>>,
    accepted: Arc<Mutex<Option<Arc<OwnedFd>>>>,
    bins: Arc<Mutex<Vec<u64>>>,
    failure: Arc<Mutex<Option<String>>>,
}

/// A series of echo requests under way.
pub struct RunningPing {
    /// What it is.
    pub ping: Ping,
    socket: Arc<OwnedFd>,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// One echo request.
#[derive(Clone, Copy)]
pub struct Request {
    /// When it was sent.
    pub sent_ns: u64,
    /// Time until the answer; `None` if there was none.
    pub rtt_ns: Option<u64>,
}

/// All sockets are there; nothing is sent yet.
pub struct Traffic {
    /// The flows in the order of the job.
    pub flows: Vec<RunningFlow>,
    /// The flows of datagrams, likewise.
    pub datagrams: Vec<RunningDatagrams>,
    /// The pings, likewise.
    pub pings: Vec<RunningPing>,
}

impl Traffic {
    /// Opens every socket on its host, of those that are here.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        let bins = usize::try_from(job.duration_ns.div_ceil(job.interval_ns)).unwrap_or(usize::MAX);
        let mut prepared = Self { flows: Vec::new(), datagrams: Vec::new(), pings: Vec::new() };
        for conversation in &job.traffic {
            match conversation {
                Conversation::Tcp(flow) => prepared.flows.push(RunningFlow::prepare(flow, bins, network)?),
                Conversation::Udp(flow) => {
                    prepared.datagrams.push(RunningDatagrams::prepare(flow, bins, network)?)
                }
                Conversation::Ping(ping) if network.has(ping.from) => {
                    prepared.pings.push(RunningPing::prepare(ping, network)?)
                }
                Conversation::Ping(_) => {}
            }
        }
        Ok(prepared)
    }

    /// Starts the threads, which wait for their time.
    pub fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        for flow in &self.flows {
            flow.start(clock, interval_ns)?;
        }
        for flow in &mut self.datagrams {
            flow.start(clock, interval_ns)?;
        }
        for ping in &self.pings {
            ping.start(clock)?;
        }
        Ok(())
    }

    /// The first thing that went wrong.
    pub fn failure(&self) -> Option<Failure> {
        let words =
            |flow: &RunningFlow| Some(format!("{}: {}", flow.flow.name, locked(&flow.failure).as_ref()?));
        self.flows.iter().find_map(words).map(Failure::new)
    }
}

impl RunningFlow {
    fn prepare(flow: &Flow, bins: usize, network: &Network) -> Result<Self, Failure> {
        let sender = network.has(flow.from).then(|| open_sender(flow, network)).transpose()?;
        let listener = network.has(flow.to).then(|| open_receiver(flow, network)).transpose()?;
        Ok(Self {
            flow: flow.clone(),
            sender: sender.map(Arc::new),
            listener: listener.map(Arc::new),
            accepted: Arc::default(),
            bins: Arc::new(Mutex::new(vec![0; bins])),
            failure: Arc::default(),
        })
    }

    fn start(&self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        if let Some(listener) = self.listener.clone() {
            let (flow, bins, accepted) = (self.flow.clone(), self.bins.clone(), self.accepted.clone());
            spawn(move || {
                receive(&flow, &listener, &accepted, |read| count(read, &bins, clock, interval_ns))
            })?;
        }
        let Some(sender) = self.sender.clone() else { return Ok(()) };
        let (flow, failure) = (self.flow.clone(), self.failure.clone());
        spawn(move || {
            clock.sleep_until(flow.start_ns);
            if let Err(error) = send(&flow, &sender) {
                *locked(&failure) = Some(error.to_string());
            }
        })?;
        let (Some(stop_ns), Some(sender)) = (self.flow.stop_ns, self.sender.clone()) else { return Ok(()) };
        spawn(move || {
            clock.sleep_until(stop_ns);
            sys::shut_down_sending(&sender);
        })
    }

    /// The connected socket of the receiver, once there is one.
    pub fn receiver(&self) -> Option<Arc<OwnedFd>> {
        locked(&self.accepted).clone()
    }

    /// Whether the receiver is here.
    pub fn receives(&self) -> bool {
        self.listener.is_some()
    }

    /// Bytes read in each bin.
    pub fn bins(&self) -> MutexGuard<'_, Vec<u64>> {
        locked(&self.bins)
    }
}

fn open_sender(flow: &Flow, network: &Network) -> Result<OwnedFd, Failure> {
    if let Some(shift) = flow.pacing_shift {
        fs::write(PACING_SHIFT, shift.to_string()).doing(format!("writing {PACING_SHIFT}"))?;
    }
    let name = &flow.name;
    let sender = network.within(flow.from, || sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0))?;
    let sender = sender.doing(format!("opening the sender of {name}"))?;
    sys::set_congestion_control(&sender, &flow.congestion_control)
        .doing(format!("giving {name} the congestion control {}", flow.congestion_control))?;
    set_sender_options(&sender, flow).doing(format!("setting socket options of {name}"))?;
    Ok(sender)
}

fn open_receiver(flow: &Flow, network: &Network) -> Result<OwnedFd, Failure> {
    let name = &flow.name;
    // A kernel that other runs used before remembers their connections.
    let (address, port) = match flow.token {
        Some(_) => (flow.address, sys::Port::Reused),
        None => (Ipv4Addr::UNSPECIFIED, sys::Port::Fresh),
    };
    let listener = network.within(flow.to, || sys::listen(SocketAddrV4::new(address, flow.port), port))?;
    let listener = listener.doing(format!("opening the receiver of {name} at {address}:{}", flow.port))?;
    set_receiver_options(&listener, flow).doing(format!("setting socket options of {name}"))?;
    // The receiver inherits it: DCTCP needs a receiver that echoes each mark.
    sys::set_congestion_control(&listener, &flow.congestion_control)
        .doing(format!("giving the receiver of {name} {}", flow.congestion_control))?;
    Ok(listener)
}

/// Buffers by force: `net.core.wmem_max` is the limit of ordinary users.
fn set_sender_options(socket: &OwnedFd, flow: &Flow) -> io::Result<()> {
    mark(socket, flow.dscp)?;
    if let Some(rate_bps) = flow.max_pacing_rate_bps {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate_bps / 8)?;
    }
    if let Some(bytes) = flow.sndbuf {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)?;
    }
    if let Some(bytes) = flow.notsent_lowat {
        sys::set_option(socket, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes)?;
    }
    flow.mss.map_or(Ok(()), |bytes| sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes))
}

/// On the listening socket, from which the connected one inherits them before its first window goes out.
fn set_receiver_options(socket: &OwnedFd, flow: &Flow) -> io::Result<()> {
    if let Some(bytes) = flow.rcvbuf {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)?;
    }
    if flow.rcvlowat > 1 {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, flow.rcvlowat)?;
    }
    Ok(())
}

/// The code point is the upper six bits of the byte; the lower two are ECN's.
fn mark(socket: &OwnedFd, dscp: Option<u8>) -> io::Result<()> {
    dscp.map_or(Ok(()), |dscp| {
        sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, libc::c_int::from(dscp) << 2)
    })
}

fn send(flow: &Flow, socket: &OwnedFd) -> io::Result<()> {
    sys::connect(socket, SocketAddrV4::new(flow.address, flow.port))?;
    if let Some(token) = &flow.token {
        sys::send(socket, token.as_bytes())?;
    }
    let data = vec![0; WRITE];
    let mut left = flow.bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let next = usize::try_from(left).unwrap_or(WRITE).min(WRITE);
        match sys::send(socket, &data[..next]) {
            Ok(sent) => left -= sent as u64,
            // Shut down at its stop.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    sys::shut_down_sending(socket);
    Ok(())
}

fn receive(
    flow: &Flow,
    listener: &Arc<OwnedFd>,
    accepted: &Mutex<Option<Arc<OwnedFd>>>,
    mut counted: impl FnMut(u64),
) {
    let Ok(socket) = accept(flow, listener).map(Arc::new) else { return };
    *locked(accepted) = Some(socket.clone());
    while let Ok(read) = sys::discard(&socket, READ) {
        if read == 0 {
            return;
        }
        counted(read as u64);
    }
}

/// The first connection that begins with the token, where there is one.
fn accept(flow: &Flow, listener: &Arc<OwnedFd>) -> io::Result<OwnedFd> {
    let Some(token) = flow.token.clone() else { return sys::accept(listener) };
    let (found, first) = mpsc::channel();
    let listener = listener.clone();
    thread::spawn(move || {
        while let Ok(socket) = sys::accept(&listener) {
            let (found, token) = (found.clone(), token.clone());
            // Each by itself: who says nothing must not keep the sender waiting.
            thread::spawn(
                move || if has_token(&socket, token.as_bytes()) { found.send(socket) } else { Ok(()) },
            );
        }
    });
    first.recv().map_err(io::Error::other)
}

/// For how long a connection may say nothing; the segment with the token may be lost several times.
const PATIENCE_S: i64 = 60;

fn has_token(socket: &OwnedFd, token: &[u8]) -> bool {
    let said = || -> io::Result<Vec<u8>> {
        sys::limit_waiting(socket, PATIENCE_S)?;
        let mut said = Vec::new();
        while said.len() < token.len() {
            let mut more = vec![0; token.len() - said.len()];
            let read = sys::receive(socket, &mut more)?;
            if read == 0 {
                break;
            }
            said.extend(&more[..read]);
        }
        sys::limit_waiting(socket, 0)?;
        Ok(said)
    };
    said().is_ok_and(|said| said == token)
}

fn count(read: u64, bins: &Mutex<Vec<u64>>, clock: Clock, interval_ns: u64) {
    let bin = usize::try_from(clock.now_ns() / interval_ns).unwrap_or(usize::MAX);
    if let Some(count) = locked(bins).get_mut(bin) {
        *count += read;
    }
}

impl RunningPing {
    fn prepare(ping: &Ping, network: &Network) -> Result<Self, Failure> {
        let socket =
            network.within(ping.from, || sys::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP))?;
        let socket = socket.doing(format!("opening {}", ping.name))?;
        mark(&socket, ping.dscp).doing(format!("marking {}", ping.name))?;
        sys::connect(&socket, SocketAddrV4::new(ping.address, 0)).doing(format!("aiming {}", ping.name))?;
        Ok(Self { ping: ping.clone(), socket: Arc::new(socket), requests: Arc::default() })
    }

    fn start(&self, clock: Clock) -> Result<(), Failure> {
        let (socket, requests) = (self.socket.clone(), self.requests.clone());
        spawn(move || await_replies(&socket, &requests, clock))?;
        let (ping, socket, requests) = (self.ping.clone(), self.socket.clone(), self.requests.clone());
        spawn(move || ask(&ping, &socket, &requests, clock))
    }

    /// The requests sent so far.
    pub fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        locked(&self.requests)
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
        // A request that the own queue has no room for is lost like any other.
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
        // An ICMP error is reported once by the call that meets it; the next one waits again.
        let Ok(length) = sys::receive(socket, &mut message) else { continue };
        if length >= ICMP_HEADER && message[0] == ECHO_REPLY {
            let sequence = u16::from_be_bytes([message[6], message[7]]);
            note_reply(&mut locked(requests), sequence, clock.now_ns());
        }
    }
}

/// The newest request with these 16 bits of its number is the one answered.
fn note_reply(requests: &mut [Request], sequence: u16, now_ns: u64) {
    let newest = requests.iter_mut().enumerate().rev().find(|(number, _)| *number as u16 == sequence);
    if let Some((_, request)) = newest {
        request.rtt_ns.get_or_insert(now_ns - request.sent_ns);
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop).doing("starting a thread")
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_the_token_of_the_run_opens_a_receiver() {
        let job = r#"{"name": "f", "from": 0, "to": 0, "address": "127.0.0.1", "port": 0, "start_ns": 0, "stop_ns": null,
            "bytes": null, "congestion_control": "cubic", "pacing_shift": null, "max_pacing_rate_bps": null,
            "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null, "token": "abcd"}"#;
        let flow: Flow = serde_json::from_str(job).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let listener = Arc::new(OwnedFd::from(listener));
        let mut strangers: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        strangers[1].write_all(b"abcx").unwrap();
        strangers[2].write_all(b"abcdefgh").unwrap();
        let accepted = accept(&flow, &listener).unwrap();
        let mut rest = [0; 4];
        assert_eq!(sys::receive(&accepted, &mut rest).unwrap(), 4);
        assert_eq!(&rest, b"efgh");
    }

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
