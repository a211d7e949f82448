//! Ping over UDP: datagrams that a server on the other host sends back, as irtt does.
//!
//! ```text
//! data of a datagram: [first half of the run's token, 8 bytes] number of the request, 4 bytes, then zeros
//! ```
//! The token is there on machines that others can reach: a server answers its own run only.

use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::ping::{Requests, Times};
use super::{Application, Live, Tables, half, mark, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Echo;
use crate::network::Network;
use crate::sys;

/// Bytes of the header of UDP, which the size of a request includes.
const UDP_HEADER: usize = 8;
/// Bytes of the number of a request.
const NUMBER: usize = 4;

/// A series of requests and the server that answers it, as far as they are here.
pub struct RunningEcho {
    echo: Echo,
    client: Option<Arc<OwnedFd>>,
    server: Option<UdpSocket>,
    requests: Requests,
}

impl RunningEcho {
    /// Opens the sockets that are here.
    pub fn prepare(echo: &Echo, network: &Network) -> Result<Self, Failure> {
        if echo.size < UDP_HEADER + token_of(echo).len() + NUMBER {
            return Err(Failure::new(format!("{}: a request has no room for its number", echo.name)));
        }
        let client = network.has(echo.from).then(|| open_client(echo, network)).transpose()?;
        let server = network.has(echo.to).then(|| open_server(echo, network)).transpose()?;
        Ok(Self {
            echo: echo.clone(),
            client: client.map(Arc::new),
            server: server.map(UdpSocket::from),
            requests: Requests::default(),
        })
    }
}

impl Application for RunningEcho {
    fn start(&mut self, clock: Clock, _interval_ns: u64) -> Result<(), Failure> {
        if let Some(server) = self.server.take() {
            let token = token_of(&self.echo);
            spawn(move || serve(&server, &token))?;
        }
        let Some(client) = self.client.clone() else { return Ok(()) };
        let (echo, requests, socket) = (self.echo.clone(), self.requests.clone(), client.clone());
        spawn(move || await_answers(&socket, &token_of(&echo), &requests, clock))?;
        let (echo, requests) = (self.echo.clone(), self.requests.clone());
        let times = Times { start_ns: echo.start_ns, stop_ns: echo.stop_ns, interval_ns: echo.interval_ns };
        spawn(move || {
            requests.send_each(times, clock, |number| {
                // A request for which the own queue has no room is lost like any other.
                let _ = sys::send(&client, &request(&echo, number));
            });
        })
    }

    fn live(&self, live: &mut Live) {
        self.requests.live(&self.echo.name, live);
    }

    fn measured(&self, _interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        self.requests.write(&self.echo.name, tables);
        Ok(())
    }
}

fn open_client(echo: &Echo, network: &Network) -> Result<OwnedFd, Failure> {
    let name = &echo.name;
    let socket = network.within(echo.from, || sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0))?;
    let socket = socket.doing(format!("opening {name}"))?;
    sys::connect(&socket, SocketAddrV4::new(echo.address, echo.port).into())
        .doing(format!("aiming {name}"))?;
    mark(&socket, echo.dscp).doing(format!("marking {name}"))?;
    Ok(socket)
}

fn open_server(echo: &Echo, network: &Network) -> Result<OwnedFd, Failure> {
    let bound = network.within(echo.to, || sys::bound(0, SocketAddrV4::new(echo.address, echo.port)))?;
    let bound =
        bound.doing(format!("opening the server of {} at {}:{}", echo.name, echo.address, echo.port))?;
    mark(&bound, echo.dscp).doing(format!("marking the answers of {}", echo.name))?;
    Ok(bound)
}

fn token_of(echo: &Echo) -> Vec<u8> {
    echo.token.as_ref().map(|token| half(token).to_vec()).unwrap_or_default()
}

fn request(echo: &Echo, number: usize) -> Vec<u8> {
    let mut data = token_of(echo);
    data.extend((number as u32).to_be_bytes());
    data.resize(echo.size - UDP_HEADER, 0);
    data
}

/// Sends each datagram of this run back to where it came from.
fn serve(server: &UdpSocket, token: &[u8]) {
    let mut data = vec![0; 1 << 16];
    loop {
        // An ICMP error is reported once; the next call waits again.
        let Ok((length, client)) = server.recv_from(&mut data) else { continue };
        if data[..length].starts_with(token) {
            // An answer for which the own queue has no room is lost like any other.
            let _ = server.send_to(&data[..length], client);
        }
    }
}

fn await_answers(socket: &OwnedFd, token: &[u8], requests: &Requests, clock: Clock) {
    let mut data = vec![0; 1 << 16];
    loop {
        let Ok(length) = sys::receive(socket, &mut data) else { continue };
        let number = data[..length].strip_prefix(token).and_then(|rest| rest.first_chunk::<NUMBER>());
        if let Some(number) = number {
            requests.answered(u32::from_be_bytes(*number) as usize, usize::MAX, clock.now_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TOKEN;
    use super::super::tests::{PORT, own_address};
    use super::*;

    fn echo(token: Option<&str>) -> Echo {
        Echo {
            name: "udp-ping".into(),
            from: 0,
            to: 0,
            address: own_address(),
            port: PORT,
            start_ns: 0,
            stop_ns: 5_000_000,
            interval_ns: 1_000_000,
            size: 64,
            dscp: Some(46),
            token: token.map(str::to_owned),
        }
    }

    #[test]
    fn a_request_has_its_size_without_the_header() {
        assert_eq!(request(&echo(None), 0x102).len(), 56);
        assert_eq!(request(&echo(None), 0x102)[..4], [0, 0, 1, 2]);
        assert_eq!(request(&echo(Some("geheimgeheim")), 7)[..12], *b"geheimge\0\0\0\x07");
        let short = Echo { size: TOKEN + UDP_HEADER + NUMBER - 1, ..echo(Some("geheimgeheim")) };
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        assert!(RunningEcho::prepare(&short, &network).is_err());
    }

    #[test]
    fn requests_with_the_token_are_answered_and_others_are_not() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        let echo = echo(Some("geheimgeheim"));
        let mut running = RunningEcho::prepare(&echo, &network).unwrap();
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&[b'x'; 50], (echo.address, echo.port)).unwrap();
        let clock = Clock::starting_at(sys::monotonic_ns());
        running.start(clock, 1_000_000).unwrap();
        let answered = || {
            let mut tables = Tables::empty();
            running.measured(1_000_000, &mut tables).unwrap();
            let mut tables = tables.0.into_iter().map(crate::table::Ordered::finish);
            let text = tables.find(|table| table.name() == "ping").unwrap().take();
            text.lines().skip(1).filter(|line| !line.ends_with(',')).count()
        };
        while answered() < 5 {
            assert!(clock.now_ns() < 900_000_000_000, "{} answers", answered());
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        stranger.set_nonblocking(true).unwrap();
        assert!(stranger.recv_from(&mut [0; 64]).is_err());
    }
}
