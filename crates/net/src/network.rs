//! The network and its endpoints: time passes in steps from one instant at which an endpoint has something to do to the
//! next.

use std::collections::VecDeque;
use std::time::Duration;

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::Ecn;
use tailback_record::{EndpointsRow, Name, TcpInfoRow};
use tailback_units::{Bytes, Rate, SimTime, Span};
use tailback_world::{Happening, Outcome, OwnControls, Port, Scenario, SendError, Watch, World};

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
    /// It is not called before.
    begins: SimTime,
    /// When it wants to be called.
    wanted: SimTime,
    /// Calls at this instant that changed nothing.
    calls: u32,
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
            is_due: true,
            begins: start,
            wanted: SimTime::NEVER,
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
            self.tell()?;
            self.call_all()?;
            self.ask_all()?;
            if self.world.now() >= until {
                return Ok(());
            }
            let next = self.next_call().min(self.asked_next).min(until);
            self.world.advance_watched(next, watch)?;
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
    fn tell(&mut self) -> Result<(), Error> {
        let now = self.now();
        let Network { world, attached, .. } = self;
        for happening in world.happenings() {
            let (Happening::Arrived { port, .. } | Happening::Writable { port }) = happening;
            let Some(to) = attached.iter_mut().find(|each| each.port == port) else { continue };
            if let Happening::Arrived { ecn, data, .. } = happening {
                to.endpoint.receive(now, Received { data: &data, ecn });
                to.check(now)?;
            }
            (to.is_due, to.calls) = (true, 0);
        }
        Ok(())
    }

    /// Calls the endpoints that have something to do now.
    fn call_all(&mut self) -> Result<(), Error> {
        let now = self.world.now();
        for each in self.attached.iter_mut().filter(|each| each.begins <= now) {
            if each.wanted <= now {
                each.endpoint.expired(duration(now));
                each.check(duration(now))?;
                each.is_due = true;
                each.calls += 1;
                if each.calls > CALLS_AT_ONE_INSTANT {
                    let (name, asked) = (each.name.clone(), duration(each.wanted));
                    return Err(Error::StandsStill { name, now: duration(now), asked });
                }
            }
            if std::mem::take(&mut each.is_due) {
                each.send_all(&mut self.world)?;
                each.wanted = each.endpoint.timeout().map_or(SimTime::NEVER, time);
                each.check(duration(now))?;
                if each.waits_for_room(now) {
                    each.wanted = SimTime::NEVER;
                }
                if each.wanted > now {
                    each.calls = 0;
                }
            }
        }
        Ok(())
    }

    /// When the next endpoint begins or wants to be called.
    fn next_call(&self) -> SimTime {
        let now = self.world.now();
        let wanted =
            self.attached.iter().map(|each| if each.begins > now { each.begins } else { each.wanted });
        wanted.min().unwrap_or(SimTime::NEVER)
    }

    /// Records what the endpoints report, if it is time.
    fn ask_all(&mut self) -> Result<(), Error> {
        let now = self.world.now();
        if now < self.asked_next {
            return Ok(());
        }
        self.asked_next = now + self.interval;
        for each in self.attached.iter_mut().filter(|each| each.begins <= now) {
            if let Some(info) = each.endpoint.info(duration(now)) {
                self.world.record_endpoint(each.port, |t, flow, end| row(&info, t, flow, end));
            }
            each.check(duration(now))?;
        }
        Ok(())
    }
}

impl Attached {
    /// An endpoint that cannot go on ends the run.
    fn check(&mut self, now: Duration) -> Result<(), Error> {
        match self.endpoint.failure() {
            Some(reason) => Err(Error::Failed { name: self.name.clone(), now, reason }),
            None => Ok(()),
        }
    }

    /// It has been called at this instant and wants to send, which it cannot: it is called when its socket has room again.
    fn waits_for_room(&self, now: SimTime) -> bool {
        self.wanted <= now && self.calls > 0 && !self.waiting.is_empty()
    }

    /// What is to be sent next, datagram by datagram.
    fn queue(&mut self, outgoing: Outgoing) {
        let Outgoing { data, ecn, departure, segment } = outgoing;
        let departure = departure.map(time);
        match segment.filter(|&segment| segment > 0 && segment < data.len()) {
            None => self.waiting.push_back(Datagram { data: data.into(), ecn, departure }),
            Some(segment) => {
                let parts = data.chunks(segment).map(|part| Datagram { data: part.into(), ecn, departure });
                self.waiting.extend(parts);
            }
        }
    }

    /// Sends what the endpoint gives, until it has no more or its socket is full.
    fn send_all(&mut self, world: &mut World) -> Result<(), Error> {
        loop {
            while let Some(datagram) = self.waiting.pop_front() {
                let Datagram { data, ecn, departure } = datagram;
                let bytes = data.len();
                match world.send_datagram(self.port, data, ecn, departure) {
                    Ok(()) => self.calls = 0,
                    Err(SendError::WouldBlock(data)) => {
                        self.waiting.push_front(Datagram { data, ecn, departure });
                        return Ok(());
                    }
                    Err(SendError::TooLong { most }) => {
                        let (name, now) = (self.name.clone(), duration(world.now()));
                        return Err(Error::TooLong { name, now, bytes, most });
                    }
                }
            }
            let now = duration(world.now());
            let outgoing = self.endpoint.transmit(now);
            self.check(now)?;
            let Some(outgoing) = outgoing else { return Ok(()) };
            self.queue(outgoing);
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
