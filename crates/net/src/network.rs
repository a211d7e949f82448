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
    /// What the socket did not take.
    refused: VecDeque<Datagram>,
    /// It may have something to send.
    is_due: bool,
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
        let ports = self.world.ports(name).ok_or_else(|| Error::NoSuchEndpoints {
            name: name.to_owned(),
            known: self.names.join(", "),
        })?;
        if self.attached.iter().any(|each| each.name == name) {
            return Err(Error::Attached { name: name.to_owned(), problem: "they are attached already" });
        }
        let both: [Box<dyn Endpoint>; 2] = [Box::new(first), Box::new(second)];
        self.attached.extend(ports.into_iter().zip(both).map(|(port, endpoint)| Attached {
            name: name.to_owned(),
            port,
            endpoint,
            refused: VecDeque::new(),
            is_due: true,
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
        for happening in self.world.happenings() {
            match happening {
                Happening::Arrived { port, ecn, data } => {
                    if let Some(to) = at(&mut self.attached, port) {
                        to.endpoint.receive(now, Received { data: &data, ecn });
                        (to.is_due, to.calls) = (true, 0);
                    }
                }
                Happening::Writable { port } => {
                    if let Some(to) = at(&mut self.attached, port) {
                        (to.is_due, to.calls) = (true, 0);
                    }
                }
            }
        }
    }

    /// Calls the endpoints that have something to do now.
    fn call_all(&mut self) -> Result<(), Error> {
        let now = self.world.now();
        for each in &mut self.attached {
            if let Some(asked) = each.endpoint.timeout().filter(|&asked| time(asked) <= now) {
                each.endpoint.expired(duration(now));
                each.is_due = true;
                each.calls += 1;
                if each.calls > CALLS_AT_ONE_INSTANT {
                    return Err(Error::StandsStill { name: each.name.clone(), now: duration(now), asked });
                }
            }
            if std::mem::take(&mut each.is_due) {
                each.send_all(&mut self.world)?;
            }
        }
        Ok(())
    }

    /// When the next endpoint wants to be called.
    fn next_call(&mut self) -> SimTime {
        let now = self.world.now();
        let mut next = self.world.end();
        for each in &mut self.attached {
            let Some(at) = each.endpoint.timeout().map(time) else { continue };
            if at > now {
                each.calls = 0;
            }
            next = next.min(at.max(now));
        }
        next
    }
}

impl Attached {
    /// Sends what the endpoint gives, until it has no more or its socket is full.
    fn send_all(&mut self, world: &mut World) -> Result<(), Error> {
        loop {
            while let Some(datagram) = self.refused.pop_front() {
                let Datagram { data, ecn, departure } = datagram;
                let bytes = data.len();
                match world.send_datagram(self.port, data, ecn, departure) {
                    Ok(()) => self.calls = 0,
                    Err(SendError::WouldBlock(data)) => {
                        self.refused.push_front(Datagram { data, ecn, departure });
                        return Ok(());
                    }
                    Err(SendError::TooLong { most }) => {
                        let (name, now) = (self.name.clone(), duration(world.now()));
                        return Err(Error::TooLong { name, now, bytes, most });
                    }
                }
            }
            let Some(outgoing) = self.endpoint.transmit(duration(world.now())) else { return Ok(()) };
            self.refused.extend(datagrams(outgoing));
        }
    }
}

fn datagrams(outgoing: Outgoing) -> Vec<Datagram> {
    let Outgoing { data, ecn, departure, segment } = outgoing;
    let departure = departure.map(time);
    match segment.filter(|&segment| segment > 0 && segment < data.len()) {
        None => vec![Datagram { data: data.into(), ecn, departure }],
        Some(segment) => {
            data.chunks(segment).map(|part| Datagram { data: part.into(), ecn, departure }).collect()
        }
    }
}

fn at(attached: &mut [Attached], port: Port) -> Option<&mut Attached> {
    attached.iter_mut().find(|each| each.port == port)
}

fn time(at: Duration) -> SimTime {
    SimTime::from_nanos(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
}

fn duration(at: SimTime) -> Duration {
    Duration::from_nanos(at.as_nanos())
}
