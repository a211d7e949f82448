//! Conversations of datagrams: UDP in one direction, perhaps with reports of its receiver, and echo requests of ICMP or UDP.
//! What they contain is in [`outlet`](super::outlet).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tailback_traffic::{Carrier, End, Event, Socket};

use super::outlet::{Content, Outlet};
use super::sockets::set_bytes;
use super::state::{Happened, Shared, Time};
use super::{mark, spawn};
use crate::failure::{Failure, While};
use crate::job::Conversation;
use crate::network::Network;
use crate::sys;

/// The sockets of a conversation that are here.
pub struct Datagrams {
    content: Content,
    client: Option<Arc<OwnedFd>>,
    server: Option<Arc<OwnedFd>>,
    /// The receiver sends datagrams back.
    reports: bool,
}

impl Datagrams {
    /// Opens the sockets that are here.
    pub fn prepare(conversation: &Conversation, network: &Network) -> Result<Self, Failure> {
        let (content, name) = (Content::of(conversation), conversation.name());
        let size = match conversation.traffic.carrier() {
            Carrier::Datagrams { size, .. } | Carrier::Echo { size, .. } => size as usize,
            Carrier::Tcp(_) | Carrier::Endpoints { .. } => 0,
        };
        if content.length(size) < content.least() {
            let least = size - content.length(size) + content.least();
            return Err(Failure::new(format!("{name}: a datagram of it has at least {least} bytes")));
        }
        let client = network.has(conversation.from()).then(|| open_client(conversation, &content, network));
        let answers_itself = matches!(content, Content::Icmp);
        let is_here = network.has(conversation.to()) && !answers_itself;
        let server = is_here.then(|| open_server(conversation, &content, network));
        let [client, server] = [client.transpose()?, server.transpose()?].map(|socket| socket.map(Arc::new));
        let reports = matches!(conversation.traffic.carrier(), Carrier::Datagrams { reports: Some(_), .. });
        Ok(Self { content, client, server, reports })
    }

    /// By which the client sends, and the server that reports.
    pub fn outlets(&self) -> [Option<Outlet>; 2] {
        let server = if self.reports { self.server.clone() } else { None };
        [self.client.clone(), server].map(|end| end.map(|socket| Outlet::new(socket, self.content.clone())))
    }

    /// Starts the threads.
    pub fn start(
        &mut self,
        conversation: &Conversation,
        shared: &Arc<Shared>,
        time: Time,
    ) -> Result<(), Failure> {
        let is_answered = self.reports || !matches!(self.content, Content::Stamp(_));
        if let Some(server) = self.server.take() {
            let (content, shared, reports) = (self.content.clone(), shared.clone(), self.reports);
            spawn(move || match &content {
                Content::Number(token) => send_back(&server, token),
                _ => {
                    if reports {
                        answer_to_the_first(&server, &content);
                    }
                    receive(&server, &content, &shared, End::Server(0), time);
                }
            })?;
        }
        let Some(client) = self.client.clone() else { return Ok(()) };
        if is_answered {
            let (client, content, shared) = (client.clone(), self.content.clone(), shared.clone());
            spawn(move || receive(&client, &content, &shared, End::Client, time))?;
        }
        let (shared, start_ns) = (shared.clone(), conversation.traffic.start_ns());
        spawn(move || send(start_ns, &client, &shared, time))
    }
}

fn open_client(
    conversation: &Conversation,
    content: &Content,
    network: &Network,
) -> Result<OwnedFd, Failure> {
    let (name, address) = (conversation.name(), v4(conversation.address)?);
    let is_icmp = matches!(content, Content::Icmp);
    let socket = network.within(conversation.from(), || match is_icmp {
        true => sys::bound(libc::IPPROTO_ICMP, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, conversation.port)),
        false => sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0),
    })?;
    let socket = socket.doing(format!("opening the sender of {name}"))?;
    let port = if is_icmp { 0 } else { conversation.port };
    sys::connect(&socket, SocketAddrV4::new(address, port).into()).doing(format!("aiming {name}"))?;
    if let Carrier::Datagrams { sndbuf, .. } = conversation.traffic.carrier() {
        set_bytes(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, sndbuf)
            .doing(format!("setting socket options of {name}"))?;
    }
    mark(&socket, conversation.dscp()).doing(format!("marking {name}"))?;
    Ok(socket)
}

fn open_server(
    conversation: &Conversation,
    content: &Content,
    network: &Network,
) -> Result<OwnedFd, Failure> {
    let (name, at) = (conversation.name(), SocketAddrV4::new(v4(conversation.address)?, conversation.port));
    let bound = network.within(conversation.to(), || sys::bound(0, at))?;
    let bound = bound.doing(format!("opening the receiver of {name} at {at}"))?;
    let reports = matches!(conversation.traffic.carrier(), Carrier::Datagrams { reports: Some(_), .. });
    if reports || matches!(content, Content::Number(_)) {
        mark(&bound, conversation.dscp()).doing(format!("marking the answers of {name}"))?;
    }
    Ok(bound)
}

fn v4(address: IpAddr) -> Result<Ipv4Addr, Failure> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => Err(Failure::new(format!("{address}: datagrams have addresses of IPv4"))),
    }
}

/// Tells the client when its timer expires, and when the socket that was full has room again.
fn send(start_ns: u64, socket: &OwnedFd, shared: &Shared, time: Time) {
    time.clock.sleep_until(start_ns);
    let mut event = Event::Started;
    loop {
        shared.tell(Happened::at(time.now(), End::Client, Socket::FIRST, event), time.interval_ns);
        if shared.take_blocked() {
            sys::wait_for_room(socket);
            event = Event::Writable;
        } else if let Some(at) = shared.take_timer() {
            time.clock.sleep_until(at.as_nanos());
            event = Event::Timer;
        } else {
            return;
        }
    }
}

/// Tells an application what arrives.
fn receive(socket: &OwnedFd, content: &Content, shared: &Shared, end: End, time: Time) {
    let mut data = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok(length) = sys::receive(socket, &mut data) else { continue };
        let at = time.now();
        let whole = |arrived| match end {
            End::Client => shared.of_outlet(|outlet| outlet.whole(arrived)).flatten(),
            End::Server(_) => Some(arrived),
        };
        if let Some(arrived) = content.read(&data[..length]).and_then(whole) {
            shared.tell(Happened::at(at, end, Socket::FIRST, Event::Arrived(arrived)), time.interval_ns);
        }
    }
}

/// Aims the socket at whoever sends the first datagram of this run, which stays in the queue.
fn answer_to_the_first(server: &OwnedFd, content: &Content) {
    let Ok(server) = server.try_clone().map(UdpSocket::from) else { return };
    let mut data = vec![0; 1 << 16];
    loop {
        let Ok((length, client)) = server.peek_from(&mut data) else { continue };
        if content.read(&data[..length]).is_some() {
            // Of a socket that cannot be aimed, reports are lost.
            let _: io::Result<()> = server.connect(client);
            return;
        }
        let _: io::Result<usize> = server.recv(&mut data);
    }
}

/// Sends each datagram of this run back to where it came from.
fn send_back(server: &Arc<OwnedFd>, token: &[u8]) {
    let Ok(server) = server.try_clone().map(UdpSocket::from) else { return };
    let mut data = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok((length, client)) = server.recv_from(&mut data) else { continue };
        if data[..length].starts_with(token) {
            // An answer for which the own queue has no room is lost like any other.
            let _: io::Result<usize> = server.send_to(&data[..length], client);
        }
    }
}
