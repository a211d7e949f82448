//! noq-proto as endpoints of a network: a client that uploads on one stream, and its server.
//!
//! ```text
//! Transport ── noq_proto::{Endpoint, Connection} ── tailback_net::Endpoint ── the network
//! ```
//! noq has grown from quinn, and this file from its adapter, in the folder beside it. What differs: a connection has paths, each a
//! pair of addresses ([`FourTuple`]), of which this one has the first alone; the seed of its random numbers is part of the
//! endpoint's settings; its BBR is version 3. Keys and ciphertext do not come from the run's streams, so that two runs have the
//! same datagrams in size and time, but not in content.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint as Noq,
    EndpointConfig, Event, FourTuple, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tailback_net::{Ecn, Endpoint, Network, Outgoing, Received};

/// The most datagrams that noq writes into one buffer.
const BATCH: NonZeroUsize = NonZeroUsize::new(10).unwrap();
/// What the application writes at a time.
const CHUNK: [u8; 16 << 10] = [0; 16 << 10];

/// A congestion control of noq.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// RFC 9438.
    Cubic,
    /// RFC 9002.
    NewReno,
    /// draft-ietf-ccwg-bbr.
    Bbr3,
}

/// A client that uploads all the time, and its server, for the traffic `name` of a network.
pub fn upload(network: &Network, name: &str, control: Control) -> [Transport; 2] {
    let (certificate, key) = certificate();
    let transport = Arc::new(transport(control));
    let start = Instant::now();
    let addresses: [SocketAddr; 2] = ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:4433".parse().unwrap()];
    let mut serving = ServerConfig::with_single_cert(vec![certificate.clone()], key).unwrap();
    serving.transport = transport.clone();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut asking = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    asking.transport_config(transport);
    let noq = |serving, end: &str| {
        let seed = network.seed(&format!("{name}/{end}"));
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        Noq::new(Arc::new(config), serving, true)
    };
    let mut client = Transport::new(noq(None, "client"), start, addresses[1]);
    client.connects = Some(asking);
    client.uploads = true;
    [client, Transport::new(noq(Some(Arc::new(serving)), "server"), start, addresses[0])]
}

fn certificate() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["server".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    (made.cert.der().clone(), key)
}

fn transport(control: Control) -> TransportConfig {
    let mut config = TransportConfig::default();
    // No limit of flow control: what is compared is the congestion control.
    let large = VarInt::from_u32(64 << 20);
    config.stream_receive_window(large).receive_window(large).send_window(64 << 20);
    match control {
        Control::Cubic => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        Control::NewReno => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        Control::Bbr3 => config.congestion_controller_factory(Arc::new(Bbr3Config::default())),
    };
    config
}

/// One end: noq's endpoint and its connection.
pub struct Transport {
    noq: Noq,
    start: Instant,
    peer: SocketAddr,
    connects: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    uploads: bool,
    /// Why the connection has ended.
    lost: Option<String>,
    /// Answers of the endpoint itself, which need no connection.
    answers: Vec<Outgoing>,
    buffer: Vec<u8>,
}

impl Transport {
    fn new(noq: Noq, start: Instant, peer: SocketAddr) -> Self {
        let (connects, connection, stream, uploads) = (None, None, None, false);
        Transport {
            noq,
            start,
            peer,
            connects,
            connection,
            stream,
            uploads,
            lost: None,
            answers: vec![],
            buffer: vec![],
        }
    }

    fn instant(&self, now: Duration) -> Instant {
        self.start + now
    }

    /// Events between connection and endpoint, and those for the application.
    fn run_application(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.noq.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.uploads => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = connection.streams().accept(Dir::Uni);
                }
                Event::ConnectionLost { reason } => self.lost = Some(reason.to_string()),
                _ => {}
            }
        }
        let Some(stream) = self.stream else { return };
        if self.uploads {
            while connection.send_stream(stream).write(&CHUNK).is_ok_and(|written| written == CHUNK.len()) {}
        } else {
            let mut stream = connection.recv_stream(stream);
            if let Ok(mut chunks) = stream.read(true) {
                while let Ok(Some(_)) = chunks.next(usize::MAX) {}
                let _ = chunks.finalize();
            }
        }
    }
}

impl Endpoint for Transport {
    fn receive(&mut self, now: Duration, datagram: Received<'_>) {
        let (at, ecn) = (self.instant(now), codepoint(datagram.ecn));
        let mut answer = Vec::new();
        match self.noq.handle(at, FourTuple::from(self.peer), ecn, BytesMut::from(datagram.data), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.noq.accept(incoming, at, &mut answer, None).ok();
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push(Outgoing::new(answer));
            }
            None => {}
        }
        self.run_application();
    }

    fn expired(&mut self, now: Duration) {
        let at = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(at);
        }
        self.run_application();
    }

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        let at = self.instant(now);
        if let Some(config) = self.connects.take() {
            self.connection = Some(self.noq.connect(at, config, self.peer, "server").unwrap());
        }
        if let Some(answer) = self.answers.pop() {
            return Some(answer);
        }
        self.run_application();
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        let transmit = connection.poll_transmit(at, BATCH, &mut self.buffer)?;
        let ecn = transmit.ecn.map_or(Ecn::NotEct, ecn_of);
        let data = self.buffer[..transmit.size].to_vec();
        Some(Outgoing { data, ecn, departure: None, segment: transmit.segment_size })
    }

    fn timeout(&mut self) -> Option<Duration> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|at| at.saturating_duration_since(self.start))
    }

    fn failure(&mut self) -> Option<String> {
        self.lost.take()
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn ecn_of(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}
