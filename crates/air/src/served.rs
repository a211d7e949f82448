//! Serves the calls of one driver until it closes the connection.
//!
//! A call comes with the time. Events of the air that are due by then happen first, each at its own time, so that the
//! air does not depend on how exactly the driver's timer meets a deadline.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tailback_packet::{DropReason, Packet};
use tailback_qdisc::Effects;
use tailback_record::{EventsRow, Name, Record, Tables, Wifi};
use tailback_units::SimTime;
use tailback_wifi::{AccessCategory, Context, Outcome, Output, Ppdu, StationId};
use tailback_world::{Air, BuildError, Scenario, wifi_row};

use crate::line::Line;
use crate::message::{Kind, Message, NEVER, PROTOCOL};
use crate::source::{Driver, SharedLine};

/// Why the air ended before the driver closed the connection.
#[derive(Debug, thiserror::Error)]
pub enum AirError {
    /// The scenario cannot be built.
    #[error(transparent)]
    Scenario(#[from] BuildError),
    /// The connection failed.
    #[error("the connection to the driver: {0}")]
    Connection(#[from] io::Error),
    /// The driver speaks another protocol.
    #[error(
        "the driver speaks version {0} of the protocol, the air version {PROTOCOL}: build the kernel anew"
    )]
    Version(u64),
    /// The driver said something that has no place there.
    #[error("the driver said {0:?}, which is no call for this air")]
    Call(Message),
}

/// Serves the driver at the other end of `stream` with the air of `scenario`. The tables with rows are `wifi`, one for each
/// PPDU, and `events`: the frames that a radio gave up, or its receiver did not wait for.
pub fn serve<S: Read + Write + Send + 'static>(scenario: &Scenario, stream: S) -> Result<Tables, AirError> {
    let line = Arc::new(Mutex::new(Line::new(stream)));
    let mut service = Service::new(scenario, line)?;
    while let Some(call) = { service.line().receive() } {
        service.handle(call)?;
    }
    let failure = service.line().take_failure();
    match failure {
        // The kernel may end in the middle of a call.
        Some(error) if !is_end(&error) => Err(error.into()),
        _ => Ok(service.record.finish()),
    }
}

fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

struct Service<S> {
    air: Air,
    line: SharedLine<S>,
    now: SimTime,
    effects: Effects,
    output: Output,
    record: Record,
    /// The name of the host of each radio.
    names: Vec<Name>,
    /// The name of the device of each radio.
    devices: Vec<Name>,
}

impl<S: Read + Write + Send + 'static> Service<S> {
    fn new(scenario: &Scenario, line: SharedLine<S>) -> Result<Self, BuildError> {
        let air = Air::build(scenario, &|radio| Box::new(Driver::new(radio, line.clone())))?;
        let mut record = Record { wifi: Some(Wifi::default()), ..Record::default() };
        let hosts: Vec<&str> =
            air.hosts.iter().map(|host| scenario.hosts[usize::from(host.0)].name.as_str()).collect();
        let names = hosts.iter().map(|host| record.names.give(host)).collect();
        let cells = scenario.cells.iter().flat_map(|cell| vec![&cell.name; cell.stations.len() + 1]);
        let devices = hosts
            .iter()
            .zip(cells)
            .map(|(host, cell)| record.names.give(&format!("{host} -> {cell}")))
            .collect();
        Ok(Service {
            air,
            line,
            now: SimTime::ZERO,
            effects: Effects::default(),
            output: Output::default(),
            record,
            names,
            devices,
        })
    }

    fn line(&self) -> MutexGuard<'_, Line<S>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&mut self, call: Message) -> Result<(), AirError> {
        match call.kind {
            Kind::Hello if call.number == PROTOCOL => {}
            Kind::Hello => return Err(AirError::Version(call.number)),
            Kind::Advance => self.advance(call.number),
            Kind::Wake => {
                let known = usize::from(call.radio) < self.names.len();
                let category = AccessCategory::ALL.get(usize::from(call.category)).filter(|_| known);
                let category = *category.ok_or(AirError::Call(call))?;
                self.advance(call.number);
                let mut context =
                    Context { now: self.now, draws: &mut self.air.draws, effects: &mut self.effects };
                self.air.channel.wake(StationId(call.radio), category, &mut context);
                self.tell_outcomes();
            }
            _ => return Err(AirError::Call(call)),
        }
        let deadline = self.air.channel.deadline();
        let number = if deadline == SimTime::NEVER { NEVER } else { deadline.as_nanos() };
        self.line().tell(Message { number, ..Message::of(Kind::Done) });
        Ok(())
    }

    fn advance(&mut self, to_ns: u64) {
        let to = SimTime::from_nanos(to_ns).max(self.now);
        while self.air.channel.deadline() <= to {
            self.now = self.air.channel.deadline();
            self.air.change_signals(self.now);
            let mut context =
                Context { now: self.now, draws: &mut self.air.draws, effects: &mut self.effects };
            self.air.channel.advance(&mut context);
            self.tell_outcomes();
        }
        self.air.change_signals(to);
        self.now = to;
    }

    fn tell_outcomes(&mut self) {
        let mut output = std::mem::take(&mut self.output);
        self.air.channel.swap_output(&mut output);
        let mut received = output.received.drain(..);
        for outcome in output.outcomes.drain(..) {
            match outcome {
                Outcome::Received(to, packets, _) => {
                    let line = &mut self.line();
                    received
                        .by_ref()
                        .take(packets as usize)
                        .for_each(|packet| tell_received(line, to, &packet));
                }
                Outcome::Sent(ppdu) => self.note(&ppdu),
                Outcome::Dropped(radio, packet, reason) => {
                    self.note_drop(radio, reason);
                    tell_dropped(&mut self.line(), &packet);
                }
                Outcome::Credit(_, token, _) => {
                    self.line().tell(Message { token: token.0, bytes: 1, ..Message::of(Kind::Status) });
                }
                Outcome::Accepts(_) | Outcome::Marked(..) => {}
            }
        }
        drop(received);
        self.output = output;
    }

    fn note(&mut self, ppdu: &Ppdu) {
        let [from, to] = [ppdu.from, ppdu.to].map(|station| self.names[usize::from(station.0)]);
        let row = wifi_row(ppdu, from, to);
        self.record.wifi.get_or_insert_default().push(row);
    }

    fn note_drop(&mut self, radio: StationId, reason: DropReason) {
        self.record.events.push(EventsRow {
            t: self.now,
            what: "drop",
            r#where: self.devices[usize::from(radio.0)],
            flow: None,
            reason: Some(reason.name()),
            value: None,
        });
    }
}

fn tell_received<S: Read + Write>(line: &mut Line<S>, to: StationId, packet: &Packet) {
    line.tell(Message { radio: to.0, token: packet.from.0, ..Message::of(Kind::Received) });
}

fn tell_dropped<S: Read + Write>(line: &mut Line<S>, packet: &Packet) {
    let token = packet.from.0;
    if packet.charged {
        line.tell(Message { token, ..Message::of(Kind::Status) });
    }
    line.tell(Message { token, ..Message::of(Kind::Lost) });
}
