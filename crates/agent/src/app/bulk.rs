//! Bulk TCP: a sender writes 128 KiB at a time. At its stop the sending side is shut down, and queued data drains. A
//! receiver discards what it reads and counts it per bin.
//!
//! A flow with a number of bytes is complete when they are acknowledged. The sender learns it from the receiver's FIN,
//! which carries that acknowledgement.
//!
//! On a machine that others can reach, a receiver listens only at the address of its flow, and accepts only a connection
//! that begins with the token of the run; any other is closed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::{fs, io, thread};

use super::{Application, Live, TableKind, Tables, locked, mark, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Flow;
use crate::network::Network;
use crate::sys;
use crate::tcp_info::{Sample, SocketTables};

/// Bytes received, by bin; datagrams count here, too.
pub const FLOWS: TableKind = TableKind { name: "flows", columns: &["t_ns", "flow", "bytes"] };
const SEGMENTS: TableKind = TableKind { name: "segments", columns: &["flow", "data_segs_out"] };
/// Flows with a number of bytes: when they connected, and how long until all was acknowledged.
const COMPLETIONS: TableKind = TableKind { name: "completions", columns: &["t_ns", "flow", "completion_ns"] };
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[FLOWS, SEGMENTS, COMPLETIONS];
/// Bytes of a `send` and of a `recv`.
const WRITE: usize = 128 * 1024;
const READ: usize = 1 << 20;
/// `TCP_NOTSENT_LOWAT` of linux/tcp.h.
const TCP_NOTSENT_LOWAT: libc::c_int = 25;
const PACING_SHIFT: &str = "/sys/module/sock/parameters/pacing_shift";

/// A flow in progress.
pub struct RunningFlow {
    flow: Flow,
    /// The sending socket, if the sender is here.
    sender: Option<Arc<OwnedFd>>,
    listener: Option<Arc<OwnedFd>>,
    accepted: Arc<Mutex<Option<Arc<OwnedFd>>>>,
    bins: Arc<Mutex<Vec<u64>>>,
    failure: Arc<Mutex<Option<String>>>,
    /// When it connected and when all was acknowledged.
    lifetime: Arc<Mutex<Lifetime>>,
    /// Whether the sample after the end has been taken.
    ended: AtomicBool,
}

/// The life of a flow; `None` for what did not happen.
#[derive(Clone, Copy, Default)]
struct Lifetime {
    began_ns: Option<u64>,
    completed_ns: Option<u64>,
}

impl RunningFlow {
    /// Opens the sockets that are here.
    pub fn prepare(flow: &Flow, bins: usize, network: &Network) -> Result<Self, Failure> {
        let sender = network.has(flow.from).then(|| open_sender(flow, network)).transpose()?;
        let listener = network.has(flow.to).then(|| open_receiver(flow, network)).transpose()?;
        Ok(Self {
            flow: flow.clone(),
            sender: sender.map(Arc::new),
            listener: listener.map(Arc::new),
            accepted: Arc::default(),
            bins: Arc::new(Mutex::new(vec![0; bins])),
            failure: Arc::default(),
            lifetime: Arc::default(),
            ended: AtomicBool::default(),
        })
    }

    /// True while the flow sends, and once more at the first sample after its end, which has its final counters. A flow
    /// may begin and end between two samples.
    fn is_due(&self, sample: &Sample) -> bool {
        sample.is_sending() || (sample.data_segments() > 0 && !self.ended.swap(true, Ordering::Relaxed))
    }

    /// `TCP_INFO` of the sender; `None` if it is on another machine.
    fn sender_sample(&self) -> Result<Option<Sample>, Failure> {
        let Some(sender) = &self.sender else { return Ok(None) };
        Sample::of(sender).doing(format!("reading TCP_INFO of {}", self.flow.name)).map(Some)
    }
}

impl Application for RunningFlow {
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        if let Some(listener) = self.listener.clone() {
            let (flow, bins, accepted) = (self.flow.clone(), self.bins.clone(), self.accepted.clone());
            spawn(move || {
                receive(&flow, &listener, &accepted, |read| count(read, &bins, clock, interval_ns))
            })?;
        }
        let Some(sender) = self.sender.clone() else { return Ok(()) };
        let (flow, failure, lifetime) = (self.flow.clone(), self.failure.clone(), self.lifetime.clone());
        let stop = Arc::new(AtomicBool::default());
        let stopped = stop.clone();
        spawn(move || {
            clock.sleep_until(flow.start_ns);
            locked(&lifetime).began_ns = Some(clock.now_ns());
            match send(&flow, &sender, &stopped) {
                Ok(()) if receiver_has_all(&sender) => {
                    locked(&lifetime).completed_ns = Some(clock.now_ns());
                }
                Ok(()) => {}
                Err(error) => *locked(&failure) = Some(error.to_string()),
            }
        })?;
        let (Some(stop_ns), Some(sender)) = (self.flow.stop_ns, self.sender.clone()) else { return Ok(()) };
        spawn(move || {
            clock.sleep_until(stop_ns);
            stop.store(true, Ordering::Relaxed);
            sys::shut_down_sending(&sender);
        })
    }

    fn failure(&self) -> Option<Failure> {
        let failure = locked(&self.failure);
        failure.as_ref().map(|failure| Failure::new(format!("{}: {failure}", self.flow.name)))
    }

    fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        if self.flow.start_ns >= t_ns {
            return Ok(());
        }
        let name = &self.flow.name;
        let sampled = if self.ended.load(Ordering::Relaxed) { None } else { self.sender_sample()? };
        if let Some(sample) = sampled.filter(|sample| self.is_due(sample)) {
            sample.row(t_ns, name, &mut tables.senders);
        }
        let receiver = locked(&self.accepted).clone();
        if let (Some(table), Some(socket)) = (&mut tables.receivers, receiver) {
            let sample = Sample::of(&socket).doing(format!("reading TCP_INFO of the receiver of {name}"))?;
            sample.receiver_row(t_ns, name, table);
        }
        Ok(())
    }

    fn live(&self, live: &mut Live) {
        if self.listener.is_some() {
            live.bytes.insert(self.flow.name.clone(), locked(&self.bins).iter().sum());
        }
    }

    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        let bins = locked(&self.bins);
        for (bin, bytes) in bins.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let t_ns = (bin as u64 + 1) * interval_ns;
            tables.row_at(&FLOWS, t_ns).cell(t_ns).name(&self.flow.name).cell(bytes);
        }
        if let Some(sample) = self.sender_sample()? {
            tables.row(&SEGMENTS).name(&self.flow.name).cell(sample.data_segments());
        }
        let life = *locked(&self.lifetime);
        if let (Some(began_ns), Some(_)) = (life.began_ns, self.flow.bytes) {
            let lasted_ns = life.completed_ns.map(|completed_ns| completed_ns - began_ns);
            tables.row_at(&COMPLETIONS, began_ns).cell(began_ns).name(&self.flow.name).maybe(lasted_ns);
        }
        Ok(())
    }
}

/// Sockets that are opened from now on begin with the `sk_pacing_shift` of the flow.
fn set_pacing_shift(flow: &Flow) -> Result<(), Failure> {
    let Some(shift) = flow.pacing_shift else { return Ok(()) };
    fs::write(PACING_SHIFT, shift.to_string()).doing(format!("writing {PACING_SHIFT}"))
}

/// Opens the socket that connects.
pub fn open_sender(flow: &Flow, network: &Network) -> Result<OwnedFd, Failure> {
    set_pacing_shift(flow)?;
    let name = &flow.name;
    let family = sys::family_of(flow.address);
    let sender = network.within(flow.from, || sys::socket(family, libc::SOCK_STREAM, 0))?;
    let sender = sender.doing(format!("opening the sender of {name}"))?;
    sys::set_congestion_control(&sender, &flow.congestion_control)
        .doing(format!("giving {name} the congestion control {}", flow.congestion_control))?;
    set_sender_options(&sender, flow).doing(format!("setting socket options of {name}"))?;
    Ok(sender)
}

/// Any address of the same kind.
fn any_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn mark_flow(socket: &OwnedFd, flow: &Flow) -> io::Result<()> {
    match (flow.address, flow.dscp) {
        (IpAddr::V6(_), Some(dscp)) => {
            sys::set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::c_int::from(dscp) << 2)
        }
        (_, dscp) => mark(socket, dscp),
    }
}

/// Opens the socket that listens.
pub fn open_receiver(flow: &Flow, network: &Network) -> Result<OwnedFd, Failure> {
    set_pacing_shift(flow)?;
    let name = &flow.name;
    // A kernel that was used for other runs may still have their connections in TIME_WAIT.
    let (address, port) = match flow.token {
        Some(_) => (flow.address, sys::Port::Reused),
        None => (any_like(flow.address), sys::Port::Fresh),
    };
    let listener = network.within(flow.to, || sys::listen(SocketAddr::new(address, flow.port), port))?;
    let listener = listener.doing(format!("opening the receiver of {name} at {address}:{}", flow.port))?;
    set_receiver_options(&listener, flow).doing(format!("setting socket options of {name}"))?;
    // The accepted socket inherits it: DCTCP needs a receiver that echoes each mark.
    sys::set_congestion_control(&listener, &flow.congestion_control)
        .doing(format!("giving the receiver of {name} {}", flow.congestion_control))?;
    Ok(listener)
}

/// Buffers are set with `SO_SNDBUFFORCE`, which `net.core.wmem_max` does not limit.
fn set_sender_options(socket: &OwnedFd, flow: &Flow) -> io::Result<()> {
    mark_flow(socket, flow)?;
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

/// Sets options of the listening socket; the accepted one inherits them before it advertises its first window.
fn set_receiver_options(socket: &OwnedFd, flow: &Flow) -> io::Result<()> {
    mark_flow(socket, flow)?;
    if let Some(bytes) = flow.rcvbuf {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)?;
    }
    if flow.rcvlowat > 1 {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, flow.rcvlowat)?;
    }
    Ok(())
}

/// Connects, and sends the token if the run has one.
pub fn connect(flow: &Flow, socket: &OwnedFd) -> io::Result<()> {
    sys::connect(socket, SocketAddr::new(flow.address, flow.port))?;
    flow.token.as_ref().map_or(Ok(()), |token| sys::send(socket, token.as_bytes()).map(drop))
}

/// Sends until all is sent or `stopped`, which may also be before the first answer: each SYN was lost.
fn send(flow: &Flow, socket: &OwnedFd, stopped: &AtomicBool) -> io::Result<()> {
    match connect(flow, socket) {
        // [linux-6.12 af_inet.c inet_shutdown]
        Err(_) if stopped.load(Ordering::Relaxed) => return Ok(()),
        outcome => outcome?,
    }
    let data = vec![0; WRITE];
    let mut left = flow.bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let next = usize::try_from(left).unwrap_or(WRITE).min(WRITE);
        match sys::send(socket, &data[..next]) {
            Ok(sent) => left -= sent as u64,
            // The sending side was shut down at the stop.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    sys::shut_down_sending(socket);
    Ok(())
}

/// Waits until the receiver closes; false if the connection ends in another way.
fn receiver_has_all(socket: &OwnedFd) -> bool {
    sys::discard(socket, READ).is_ok_and(|read| read == 0)
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
            // As most programs, it closes at the end; its FIN carries the ACK, which would otherwise be delayed. The
            // socket stays open for samples.
            sys::shut_down_sending(&socket);
            return;
        }
        counted(read as u64);
    }
}

/// The first connection that begins with the token, if the run has one.
pub fn accept(flow: &Flow, listener: &Arc<OwnedFd>) -> io::Result<OwnedFd> {
    let Some(token) = flow.token.clone() else { return sys::accept(listener) };
    let (found, first) = mpsc::channel();
    let listener = listener.clone();
    thread::spawn(move || {
        while let Ok(socket) = sys::accept(&listener) {
            let (found, token) = (found.clone(), token.clone());
            // Each in its own thread: a connection that sends nothing must not block the real one.
            thread::spawn(
                move || if has_token(&socket, token.as_bytes()) { found.send(socket) } else { Ok(()) },
            );
        }
    });
    first.recv().map_err(io::Error::other)
}

/// How long to wait for the token; its segment may be lost several times.
const TOKEN_TIMEOUT_S: i64 = 60;

/// Whether a connection begins with the token.
pub fn has_token(socket: &OwnedFd, token: &[u8]) -> bool {
    let first_bytes = || -> io::Result<Vec<u8>> {
        sys::limit_waiting(socket, TOKEN_TIMEOUT_S)?;
        let mut bytes = Vec::new();
        while bytes.len() < token.len() {
            let mut more = vec![0; token.len() - bytes.len()];
            let read = sys::receive(socket, &mut more)?;
            if read == 0 {
                break;
            }
            bytes.extend(&more[..read]);
        }
        sys::limit_waiting(socket, 0)?;
        Ok(bytes)
    };
    first_bytes().is_ok_and(|bytes| bytes == token)
}

/// Counts bytes that were read now in their bin.
pub fn count(read: u64, bins: &Mutex<Vec<u64>>, clock: Clock, interval_ns: u64) {
    let bin = usize::try_from(clock.now_ns() / interval_ns).unwrap_or(usize::MAX);
    if let Some(count) = locked(bins).get_mut(bin) {
        *count += read;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn flow_to(address: SocketAddr) -> Flow {
        let job = r#"{"name": "f", "from": 0, "to": 0, "address": "127.0.0.1", "port": 0, "start_ns": 0, "stop_ns": null,
            "bytes": null, "congestion_control": "cubic", "pacing_shift": null, "max_pacing_rate_bps": null,
            "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null, "token": null}"#;
        Flow { address: address.ip(), port: address.port(), ..serde_json::from_str(job).unwrap() }
    }

    #[test]
    fn a_flow_that_stops_before_it_is_connected_has_not_failed() {
        // A listener whose queue is full ignores SYNs.
        let listener = sys::listen_with("127.0.0.1:0".parse().unwrap(), sys::Port::Fresh, 0).unwrap();
        let address = std::net::TcpListener::from(listener.try_clone().unwrap()).local_addr().unwrap();
        let _first = std::net::TcpStream::connect(address).unwrap();
        let flow = flow_to(address);
        let socket = Arc::new(sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap());
        let (stop, closing) = (Arc::new(AtomicBool::default()), socket.clone());
        let stopped = stop.clone();
        let sending = thread::spawn(move || send(&flow, &socket, &stopped));
        stop.store(true, Ordering::Relaxed);
        while !sending.is_finished() {
            sys::shut_down_sending(&closing);
            thread::yield_now();
        }
        assert!(sending.join().unwrap().is_ok());
    }

    #[test]
    fn a_receiver_accepts_only_connections_with_the_token_of_the_run() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let flow = Flow { token: Some("abcd".into()), ..flow_to(address) };
        let listener = Arc::new(OwnedFd::from(listener));
        let mut strangers: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        strangers[1].write_all(b"abcx").unwrap();
        strangers[2].write_all(b"abcdefgh").unwrap();
        let accepted = accept(&flow, &listener).unwrap();
        let mut rest = [0; 4];
        assert_eq!(sys::receive(&accepted, &mut rest).unwrap(), 4);
        assert_eq!(&rest, b"efgh");
    }
}
