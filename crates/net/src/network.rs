//! The network and its endpoints: time passes in steps from one instant at which an endpoint has something to do to the
//! next.

use std::collections::VecDeque;
use std::time::Duration;

use rand_core::Rng;
use tailback_engine::Streams;
use tailback_packet::Ecn;
use tailback_units::SimTime;
use tailback_world::{Happening, Port, Scenario, SendError, World};

use crate::endpoint::{Endpoint, Outgoing, Received};
use crate::{Error, Plan, Report};

/// Calls of an endpoint at one instant, without a datagram, after which it counts as one that never stops.
const CALLS_AT_ONE_INSTANT: u32 = 1_000;

/// 32 random bytes, for a transport that draws random numbers of its own.
pub type Seed = [u8; 32];

/// A network with a time, which begins at 0.
pub struct Network {
    world: World,
    streams: Streams,
    names: Vec<String>,
    attached: Vec<Attached>,
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
        let scenario = Scenario::from_json(json)?;
        let world = World::build(&scenario)?;
        let names = scenario.traffic.iter().map(|traffic| traffic.name().to_owned());
        let names = names.filter(|name| world.ports(name).is_some()).collect();
        Ok(Network { world, streams: Streams::new(scenario.seed), names, attached: Vec::new() })
    }

    /// Gives the traffic `name` its two endpoints: that of its first host and that of its second.
    pub fn attach(
        &mut self,
        name: &str,
        first: impl Endpoint + 'static,
        second: impl Endpoint + 'static,
    ) -> Result<(), Error> {
        let ports = self
            .world
            .ports(name)
            .ok_or_else(|| Error::NoSuchEndpoints { name: name.to_owned(), known: self.names.join(", ") })?;
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
            wanted: SimTime::ZERO,
            calls: 0,
        }));
        Ok(())
    }

    /// Random bytes for `part` of a transport: they depend on the seed of the run and on the name alone.
    pub fn seed(&self, part: &str) -> Seed {
        let mut seed = Seed::default();
        self.streams.stream(part, "endpoint").fill_bytes(&mut seed);
        seed
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
        let until = time(until).min(self.world.end());
        loop {
            self.tell();
            self.call_all()?;
            if self.world.now() >= until {
                return Ok(());
            }
            let next = self.next_call().min(until);
            self.world.advance_to(next)?;
        }
    }

    /// Runs to the end, and gives the results.
    pub fn finish(mut self) -> Result<Report, Error> {
        self.run_until(self.end())?;
        Ok(Report::of(self.world.finish()))
    }

    /// Tells the endpoints what has happened.
    fn tell(&mut self) {
        let now = self.now();
        let Network { world, attached, .. } = self;
        for happening in world.happenings() {
            let (Happening::Arrived { port, .. } | Happening::Writable { port }) = happening;
            let Some(to) = attached.iter_mut().find(|each| each.port == port) else { continue };
            if let Happening::Arrived { ecn, data, .. } = happening {
                to.endpoint.receive(now, Received { data: &data, ecn });
            }
            (to.is_due, to.calls) = (true, 0);
        }
    }

    /// Calls the endpoints that have something to do now.
    fn call_all(&mut self) -> Result<(), Error> {
        let now = self.world.now();
        for each in &mut self.attached {
            if each.wanted <= now {
                each.endpoint.expired(duration(now));
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
                if each.wanted > now {
                    each.calls = 0;
                }
            }
        }
        Ok(())
    }

    /// When the next endpoint wants to be called.
    fn next_call(&self) -> SimTime {
        self.attached.iter().map(|each| each.wanted).min().unwrap_or(SimTime::NEVER)
    }
}

impl Attached {
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
            let Some(outgoing) = self.endpoint.transmit(duration(world.now())) else { return Ok(()) };
            self.queue(outgoing);
        }
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
