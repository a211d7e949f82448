//! The TCP sockets of a conversation: opening, options, and the token of a run.
//!
//! On a machine that others can reach, a server listens only at the address of its conversation, and accepts only a
//! connection that begins with the token of the run; any other is closed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver};
use std::{fs, io, thread};

use tailback_traffic::Connections;

use super::mark;
use crate::failure::{Failure, While};
use crate::job::Conversation;
use crate::network::Network;
use crate::sys;

/// `TCP_NOTSENT_LOWAT` of linux/tcp.h.
const TCP_NOTSENT_LOWAT: libc::c_int = 25;
const PACING_SHIFT: &str = "/sys/module/sock/parameters/pacing_shift";

/// Sockets that are opened from now on begin with the `sk_pacing_shift` of the conversation.
fn set_pacing_shift(conversation: &Conversation) -> Result<(), Failure> {
    let Some(shift) = conversation.pacing_shift else { return Ok(()) };
    fs::write(PACING_SHIFT, shift.to_string()).doing(format!("writing {PACING_SHIFT}"))
}

/// Opens a socket that connects.
pub fn open_client(
    conversation: &Conversation,
    connections: &Connections,
    network: &Network,
) -> Result<OwnedFd, Failure> {
    set_pacing_shift(conversation)?;
    let (name, control) = (conversation.name(), conversation.control(connections));
    let family = sys::family_of(conversation.address);
    let client = network.within(conversation.from(), || sys::socket(family, libc::SOCK_STREAM, 0))?;
    let client = client.doing(format!("opening the sender of {name}"))?;
    sys::set_congestion_control(&client, control)
        .doing(format!("giving {name} the congestion control {control}"))?;
    set_client_options(&client, conversation, connections)
        .doing(format!("setting socket options of {name}"))?;
    Ok(client)
}

/// Opens the socket that listens.
pub fn open_server(
    conversation: &Conversation,
    connections: &Connections,
    network: &Network,
) -> Result<OwnedFd, Failure> {
    set_pacing_shift(conversation)?;
    let (name, control) = (conversation.name(), conversation.control(connections));
    // A kernel that was used for other runs may still have their connections in TIME_WAIT.
    let (address, port) = match conversation.token {
        Some(_) => (conversation.address, sys::Port::Reused),
        None => (any_like(conversation.address), sys::Port::Fresh),
    };
    let at = SocketAddr::new(address, conversation.port);
    let listener = network.within(conversation.to(), || sys::listen(at, port))?;
    let listener = listener.doing(format!("opening the receiver of {name} at {at}"))?;
    set_server_options(&listener, conversation, connections)
        .doing(format!("setting socket options of {name}"))?;
    // The accepted socket inherits it: DCTCP needs a receiver that echoes each mark.
    sys::set_congestion_control(&listener, control)
        .doing(format!("giving the receiver of {name} {control}"))?;
    Ok(listener)
}

/// Any address of the same kind.
fn any_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn mark_connection(socket: &OwnedFd, conversation: &Conversation) -> io::Result<()> {
    match (conversation.address, conversation.dscp()) {
        (IpAddr::V6(_), Some(dscp)) => {
            sys::set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::c_int::from(dscp) << 2)
        }
        (_, dscp) => mark(socket, dscp),
    }
}

/// Sets an option whose argument is a number of bytes, if it is given.
pub fn set_bytes(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    bytes: Option<u64>,
) -> io::Result<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    sys::set_option(socket, level, name, libc::c_int::try_from(bytes).map_err(io::Error::other)?)
}

/// Buffers are set with `SO_SNDBUFFORCE`, which `net.core.wmem_max` does not limit.
fn set_client_options(
    socket: &OwnedFd,
    conversation: &Conversation,
    connections: &Connections,
) -> io::Result<()> {
    mark_connection(socket, conversation)?;
    let options = connections.socket;
    if let Some(rate_bps) = options.max_pacing_rate_bps {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate_bps / 8)?;
    }
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, options.sndbuf)?;
    set_bytes(socket, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, options.notsent_lowat)?;
    set_bytes(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, options.mss.map(u64::from))?;
    set_no_delay(socket, connections)
}

/// Sets options of the listening socket; the accepted one inherits them before it advertises its first window.
fn set_server_options(
    socket: &OwnedFd,
    conversation: &Conversation,
    connections: &Connections,
) -> io::Result<()> {
    mark_connection(socket, conversation)?;
    let options = connections.socket;
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, options.rcvbuf)?;
    let low = Some(options.rcvlowat).filter(|&bytes| bytes > 1);
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, low)
}

/// Short messages do not wait for acknowledgements, where applications ask for that.
pub fn set_no_delay(socket: &OwnedFd, connections: &Connections) -> io::Result<()> {
    if !connections.no_delay() {
        return Ok(());
    }
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1 as libc::c_int)
}

/// Connects, and sends the token if the run has one.
pub fn connect(conversation: &Conversation, socket: &OwnedFd) -> io::Result<()> {
    sys::connect(socket, SocketAddr::new(conversation.address, conversation.port))?;
    conversation.token.as_ref().map_or(Ok(()), |token| sys::send(socket, token.as_bytes()).map(drop))
}

/// The connections of a listening socket: those that begin with the token, if the run has one.
pub enum Accepting {
    /// All.
    Any(OwnedFd),
    /// Those that another thread has found to begin with the token.
    WithToken(Receiver<OwnedFd>),
}

impl Accepting {
    /// Of `listener`.
    pub fn at(listener: OwnedFd, token: Option<&str>) -> Self {
        let Some(token) = token.map(str::to_owned) else { return Accepting::Any(listener) };
        let (found, first) = mpsc::channel();
        thread::spawn(move || {
            while let Ok(socket) = sys::accept(&listener) {
                let (found, token) = (found.clone(), token.clone());
                // Each in its own thread: a connection that sends nothing must not block the real one.
                thread::spawn(
                    move || if has_token(&socket, token.as_bytes()) { found.send(socket) } else { Ok(()) },
                );
            }
        });
        Accepting::WithToken(first)
    }

    /// Waits for the next connection.
    pub fn next(&self) -> io::Result<OwnedFd> {
        match self {
            Accepting::Any(listener) => sys::accept(listener),
            Accepting::WithToken(found) => found.recv().map_err(io::Error::other),
        }
    }
}

/// How long to wait for the token; its segment may be lost several times.
const TOKEN_TIMEOUT_S: i64 = 60;

/// Whether a connection begins with the token.
fn has_token(socket: &OwnedFd, token: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_server_accepts_only_connections_with_the_token_of_the_run() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut strangers: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        strangers[1].write_all(b"abcx").unwrap();
        strangers[2].write_all(b"abcdefgh").unwrap();
        let accepted = Accepting::at(OwnedFd::from(listener), Some("abcd")).next().unwrap();
        let mut rest = [0; 4];
        assert_eq!(sys::receive(&accepted, &mut rest).unwrap(), 4);
        assert_eq!(&rest, b"efgh");
    }
}
