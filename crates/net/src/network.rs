//! The network and its endpoints: time passes in steps from one instant at which an endpoint has something to do to the
//! next.

use std::collections::VecDeque;
use std::time::Duration;

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::Ecn;
use tailback_record::{EndpointsRow, Name, TcpInfoRow};
use tailback_units::{Bytes, Rate, SimTime, Span};
use tailback_world::{Arrival, Outcome, OwnControls, Port, Scenario, SendError, Watch, World};

use crate::endpoint::{Endpoint, Info, Outgoing, Received};
use crate::{Error, Plan, Report};

/// Calls of an endpoint at one instant, without a datagram, after which it counts as one that never stops.
const CALLS_AT_ONE_INSTANT: u32 = 1_000;

/// 32 random bytes, for a transport that draws random numbers of its own.
pub type Seed = [u8; 32];

/// A network with a time, which begins at 0.
pub struct Network {
    world: World,
    streams: Streams,
    /// The traffic of endpoints: its name, and when it starts.
    traffic: Vec<(String, SimTime)>,
    attached: Vec<Attached>,
    /// Of the record.
    interval: Span,
    /// When endpoints are asked next what they report.
    asked_next: SimTime,
}

/// An endpoint at its port.
struct Attached {
    name: String,
    port: Port,
    endpoint: Box<dyn Endpoint>,
    /// What is still to be given to the socket.
    waiting: VecDeque<Datagram>,
    /// It may have something to send.
    is_due: bool,
    /// It is not called before it has begun.
    has_begun: bool,
    /// When it wants to be called, or begins.
    wanted: SimTime,
    /// Calls at this instant that changed nothing.
    calls: u32,
}

/// Whether a socket takes a further datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Socket {
    HasRoom,
    Full,
}

/// The time of the run, for the network and for endpoints.
#[derive(Clone, Copy, Debug)]
struct Now {
    at: SimTime,
    since_start: Duration,
}

impl Now {
    fn of(at: SimTime) -> Self {
        Now { at, since_start: duration(at) }
    }
}

struct Datagram {
    data: Box<[u8]>,
    ecn: Ecn,
    departure: Option<SimTime>,
}

impl Network {
    /// The network of a plan.
    pub fn of_plan(plan: &Plan) -> Result<Self, Error> {
        Network::of_json(&plan.to_json())
    }

    /// The network of a run of an experiment file: its resolved scenario in JSON, as in `manifest.json` of a run.
    pub fn of_json(json: &str) -> Result<Self, Error> {
        Network::of_scenario(&Scenario::from_json(json)?, &())
    }

    /// The network of a resolved scenario, where `own` builds the congestion controls that the user wrote.
    pub fn of_scenario(scenario: &Scenario, own: &dyn OwnControls) -> Result<Self, Error> {
        let world = World::build_with(scenario, own)?;
        let of_endpoints = scenario.traffic.iter().filter(|each| world.ports(each.name()).is_some());
        let traffic = of_endpoints.map(|each| (each.name().to_owned(), SimTime::from_nanos(each.start_ns())));
        Ok(Network {
            traffic: traffic.collect(),
            streams: Streams::new(scenario.seed),
            attached: Vec::new(),
            interval: Span::from_nanos(scenario.record.interval_ns),
            asked_next: SimTime::NEVER,
            world,
        })
    }

    /// Gives the traffic `name` its two endpoints: that of its first host and that of its second.
    pub fn attach(
        &mut self,
        name: &str,
        first: impl Endpoint + 'static,
        second: impl Endpoint + 'static,
    ) -> Result<(), Error> {
        let (ports, start) = self.traffic_of(name)?;
        if self.attached.iter().any(|each| each.name == name) {
            return Err(Error::Attached { name: name.to_owned(), problem: "they are attached already" });
        }
        let both: [Box<dyn Endpoint>; 2] = [Box::new(first), Box::new(second)];
        self.attached.extend(ports.into_iter().zip(both).map(|(port, endpoint)| Attached {
            name: name.to_owned(),
            port,
            endpoint,
            waiting: VecDeque::new(),
            is_due: false,
            has_begun: false,
            wanted: start,
            calls: 0,
        }));
        Ok(())
    }

    /// The most bytes of a datagram of the traffic `name`.
    pub fn most(&self, name: &str) -> Result<u32, Error> {
        let ([port, _], _) = self.traffic_of(name)?;
        Ok(self.world.most(port))
    }

    /// When the traffic `name` starts: its endpoints are not called before.
    pub fn start(&self, name: &str) -> Result<Duration, Error> {
        Ok(duration(self.traffic_of(name)?.1))
    }

    fn traffic_of(&self, name: &str) -> Result<([Port; 2], SimTime), Error> {
        let start = self.traffic.iter().find(|(each, _)| each == name).map(|&(_, start)| start);
        self.world.ports(name).zip(start).ok_or_else(|| {
            let known = self.traffic.iter().map(|(each, _)| each.as_str()).collect::<Vec<_>>().join(", ");
            Error::NoSuchEndpoints { name: name.to_owned(), known }
        })
    }

    /// From now on what endpoints report of themselves ([`Endpoint::info`]) becomes rows of the table `endpoints`, at the
    /// interval of the record.
    pub fn record_info(&mut self) {
        self.asked_next = self.world.now() + self.interval;
    }

    /// Random bytes for `part` of a transport: they depend on the seed of the run and on the name alone.
    pub fn seed(&self, part: &str) -> Seed {
        let mut seed = Seed::default();
        self.streams.stream(part, "endpoint").fill_bytes(&mut seed);
        seed
    }

    /// `TCP_INFO` of the sender of a flow of TCP now; none before it has a socket.
    pub fn tcp_info(&mut self, flow: &str) -> Option<TcpInfoRow> {
        self.world.tcp_info(flow)
    }

    /// The time of the run.
    pub fn now(&self) -> Duration {
        duration(self.world.now())
    }

    /// The end of the run.
    pub fn end(&self) -> Duration {
        duration(self.world.end())
    }

    /// Everything happens up to `until`, or to the end of the run.
    pub fn run_until(&mut self, until: Duration) -> Result<(), Error> {
        self.run_watched(until, &())
    }

    /// The same; `watch` may stop it.
    pub fn run_watched(&mut self, until: Duration, watch: &dyn Watch) -> Result<(), Error> {
        let until = time(until).min(self.world.end());
        loop {
            let now = Now::of(self.world.now());
            self.tell(now.since_start);
            let next_call = self.call_all(now)?;
            self.ask_all(now)?;
            if now.at >= until {
                return Ok(());
            }
            self.world.advance_watched(next_call.min(self.asked_next).min(until), watch)?;
        }
    }

    /// Runs to the end, and gives the results.
    pub fn finish(self) -> Result<Report, Error> {
        Ok(Report::of(self.outcome(&())?))
    }

    /// Runs to the end, and gives all that was recorded; `watch` may stop it.
    pub fn outcome(mut self, watch: &dyn Watch) -> Result<Outcome, Error> {
        self.run_watched(self.end(), watch)?;
        Ok(self.world.finish())
    }

    /// Tells the endpoints what has happened.
    fn tell(&mut self, now: Duration) {
        let Network { world, attached, .. } = self;
        while let Some(Arrival { port, ecn, data }) = world.next_arrival() {
            let Some(place) = attached.iter().position(|each| each.port == port) else { continue };
            let to = &mut attached[place];
            to.endpoint.receive(now, Received { data: &data, ecn });
            to.hears();
            // They were attached as a pair.
            attached[place ^ 1].endpoint.returned(data.into_vec());
        }
        while let Some(port) = world.next_writable() {
            let Some(to) = attached.iter_mut().find(|each| each.port == port) else { continue };
            to.hears();
        }
    }

    /// Calls the endpoints that have something to do now. When the next endpoint begins or wants to be called.
    fn call_all(&mut self, now: Now) -> Result<SimTime, Error> {
        let mut next = SimTime::NEVER;
        for each in &mut self.attached {
            if each.wanted <= now.at {
                each.time_has_come(now)?;
            }
            if each.is_due {
                each.act(&mut self.world, now)?;
            }
            next = next.min(each.wanted);
        }
        Ok(next)
    }

    /// Records what the endpoints report, if it is time.
    fn ask_all(&mut self, now: Now) -> Result<(), Error> {
        if now.at < self.asked_next {
            return Ok(());
        }
        self.asked_next = now.at + self.interval;
        for each in self.attached.iter_mut().filter(|each| each.has_begun) {
            if let Some(info) = each.endpoint.info(now.since_start) {
                self.world.record_endpoint(each.port, |t, flow, end| row(&info, t, flow, end));
            }
            each.check(now)?;
        }
        Ok(())
    }
}

impl Attached {
    /// An endpoint that cannot go on ends the run.
    fn check(&mut self, now: Now) -> Result<(), Error> {
        match self.endpoint.failure() {
            Some(reason) => Err(self.failed(now, reason)),
            None => Ok(()),
        }
    }

    #[cold]
    fn failed(&self, now: Now, reason: String) -> Error {
        Error::Failed { name: self.name.clone(), now: now.since_start, reason }
    }

    /// Something has happened to it.
    fn hears(&mut self) {
        (self.is_due, self.calls) = (self.has_begun, 0);
    }

    /// The time has come at which it begins, or wanted to be called.
    fn time_has_come(&mut self, now: Now) -> Result<(), Error> {
        self.is_due = true;
        if !std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        self.endpoint.expired(now.since_start);
        self.calls += 1;
        if self.calls > CALLS_AT_ONE_INSTANT {
            let (name, asked) = (self.name.clone(), duration(self.wanted));
            return Err(Error::StandsStill { name, now: now.since_start, asked });
        }
        Ok(())
    }

    /// It does what it has to do now.
    fn act(&mut self, world: &mut World, now: Now) -> Result<(), Error> {
        self.is_due = false;
        self.send_all(world, now)?;
        self.wanted = self.endpoint.timeout().map_or(SimTime::NEVER, time);
        if self.waits_for_room(now) {
            self.wanted = SimTime::NEVER;
        }
        if self.wanted > now.at {
            self.calls = 0;
        }
        self.check(now)
    }

    /// It has been called at this instant and wants to send, which it cannot: it is called when its socket has room again.
    fn waits_for_room(&self, now: Now) -> bool {
        self.wanted <= now.at && self.calls > 0 && !self.waiting.is_empty()
    }

    /// Sends what the endpoint gives, until it has no more or its socket is full.
    fn send_all(&mut self, world: &mut World, now: Now) -> Result<(), Error> {
        if self.send_waiting(world, now)? == Socket::Full {
            return Ok(());
        }
        while let Some(outgoing) = self.endpoint.transmit(now.since_start) {
            if self.send(outgoing, world, now)? == Socket::Full {
                break;
            }
        }
        Ok(())
    }

    /// Sends what was given before.
    fn send_waiting(&mut self, world: &mut World, now: Now) -> Result<Socket, Error> {
        while let Some(datagram) = self.waiting.pop_front() {
            if self.send_datagram(datagram, world, now)? == Socket::Full {
                return Ok(Socket::Full);
            }
        }
        Ok(Socket::HasRoom)
    }

    /// Sends a datagram, or several in one buffer, when nothing waits.
    fn send(&mut self, outgoing: Outgoing, world: &mut World, now: Now) -> Result<Socket, Error> {
        let Outgoing { data, ecn, departure, segment } = outgoing;
        let departure = departure.map(time);
        match segment.filter(|&segment| segment > 0 && segment < data.len()) {
            None => self.send_datagram(Datagram { data: data.into(), ecn, departure }, world, now),
            Some(segment) => {
                let parts = data.chunks(segment).map(|part| Datagram { data: part.into(), ecn, departure });
                self.waiting.extend(parts);
                self.send_waiting(world, now)
            }
        }
    }

    /// Gives a datagram to the socket, or lets it wait as the first if that is full.
    fn send_datagram(&mut self, datagram: Datagram, world: &mut World, now: Now) -> Result<Socket, Error> {
        let Datagram { data, ecn, departure } = datagram;
        let bytes = data.len();
        match world.send_datagram(self.port, data, ecn, departure) {
            Ok(()) => {
                self.calls = 0;
                Ok(Socket::HasRoom)
            }
            Err(SendError::WouldBlock(data)) => {
                self.waiting.push_front(Datagram { data, ecn, departure });
                Ok(Socket::Full)
            }
            Err(SendError::TooLong { most }) => {
                Err(Error::TooLong { name: self.name.clone(), now: now.since_start, bytes, most })
            }
        }
    }
}

fn row(info: &Info, t: SimTime, flow: Name, end: &'static str) -> EndpointsRow {
    let span = |value: Duration| Span::from_nanos(time(value).as_nanos());
    EndpointsRow {
        t,
        flow,
        end,
        cwnd_bytes: info.cwnd.map(Bytes),
        datagram_bytes: info.datagram.map(Bytes),
        in_flight_bytes: info.in_flight.map(Bytes),
        rtt: info.rtt.map(span),
        min_rtt: info.min_rtt.map(span),
        pacing_rate: info.pacing_bps.map(Rate::from_bits_per_sec),
        read_bytes: info.read.map(Bytes),
        lost: info.lost,
    }
}

/// Times that no run reaches are the latest.
fn time(at: Duration) -> SimTime {
    let seconds = at.as_secs().checked_mul(1_000_000_000);
    SimTime::from_nanos(seconds.map_or(u64::MAX, |nanos| nanos.saturating_add(u64::from(at.subsec_nanos()))))
}

fn duration(at: SimTime) -> Duration {
    Duration::from_nanos(at.as_nanos())
}
