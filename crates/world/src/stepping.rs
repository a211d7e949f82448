//! The world in steps, for whoever drives it: time passes to the next instant at which an endpoint is to be told something,
//! and endpoints send at that instant (`endpoints.rs`).

use tailback_packet::{Ecn, Packet, Payload, SocketId};
use tailback_record::EndpointsRow;
use tailback_units::{Bytes, SimTime};

use crate::conversation::Sampled;
use crate::endpoints::{Arrival, Port, SendError};
use crate::socket::EndpointSocket;
use crate::world::World;
use crate::{Event, RunError, Watch};

impl World {
    /// The ports of the `endpoint` traffic of this name: that of its first host, that of its second.
    pub fn ports(&self, name: &str) -> Option<[Port; 2]> {
        self.endpoints.pairs.iter().find(|pair| pair.name == name).map(|pair| pair.ports)
    }

    /// The time of the run.
    pub fn now(&self) -> SimTime {
        self.context.now
    }

    /// The end of the run.
    pub fn end(&self) -> SimTime {
        self.end
    }

    /// Processes all events up to `until`, or to the instant at which endpoints are to be told something, or to the end of
    /// the run; the time is then what it returns.
    pub fn advance_to(&mut self, until: SimTime) -> Result<SimTime, RunError> {
        self.advance_watched(until, &())
    }

    /// The same; `watch` may stop it.
    pub fn advance_watched(&mut self, until: SimTime, watch: &dyn Watch) -> Result<SimTime, RunError> {
        let until = until.min(self.end).max(self.context.now);
        let last =
            if until == self.end { SimTime::from_nanos(until.as_nanos().saturating_sub(1)) } else { until };
        while self.endpoints.is_told_nothing() {
            self.endpoints.pause_before(until, &mut self.context);
            if !self.process_next(last, watch)? {
                self.context.now = until;
                break;
            }
        }
        self.steps.check()?;
        Ok(self.context.now)
    }

    /// The most bytes of a datagram of a port.
    pub fn most(&self, port: Port) -> u32 {
        self.endpoints.most(port)
    }

    /// Records what an endpoint reports of itself; `row` makes its row of the time, the name of its flow, and its end.
    pub fn record_endpoint(
        &mut self,
        port: Port,
        row: impl FnOnce(SimTime, tailback_record::Name, &'static str) -> EndpointsRow,
    ) {
        let end = if is_first(port.0) { "from" } else { "to" };
        let row = row(self.context.now, self.context.journal.conversation(port.0), end);
        self.context.journal.record.endpoints.get_or_insert_default().push(row);
    }

    /// Takes the first datagram that has arrived at an endpoint. [`World::advance_to`] goes on once all are taken, and what
    /// [`World::next_writable`] has.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        self.endpoints.arrived.pop_front()
    }

    /// Takes the first socket that refused a datagram and takes one again.
    pub fn next_writable(&mut self) -> Option<Port> {
        self.endpoints.writable.pop_front().map(Port)
    }

    /// Sends a datagram now. It leaves no earlier than at `departure`, where a discipline keeps such times (`fq`, `etf`):
    /// `SO_TXTIME`.
    pub fn send_datagram(
        &mut self,
        port: Port,
        data: Box<[u8]>,
        ecn: Ecn,
        departure: Option<SimTime>,
    ) -> Result<(), SendError> {
        let World { sockets, network, context, endpoints, conversations, .. } = self;
        let (conversation, EndpointSocket { udp, pair }) = sockets.endpoint(port.0);
        let most = endpoints.pairs[*pair].most;
        let size = u32::try_from(data.len()).ok().filter(|&size| size <= most);
        let size = size.ok_or(SendError::TooLong { most })?;
        let device = &mut network.devices[udp.device.index()];
        // What has left by now is credited at once, if nobody waits for that.
        if device.wire.next_departure <= context.now
            && let Some((sender, truesize)) = device.complete_to_credit(context.now, context)
            && !(sender == port.0 && udp.credit_at_rest(truesize))
        {
            context.credit(sender, truesize);
        }
        if udp.is_full() {
            return match self.has_room(port.0) {
                true => self.send_datagram(port, data, ecn, departure),
                false => Err(SendError::WouldBlock(data)),
            };
        }
        let now = context.now;
        let mut packet = context.spare_box();
        *packet = udp.datagram(size, Payload::Content { sent: now, data }, now);
        packet.ecn = ecn;
        packet.departure = departure.map_or(now, |at| at.max(now));
        if is_first(port.0)
            && let Sampled::Datagrams(counts) = &mut conversations[conversation.0 as usize].sampled
        {
            counts.sent += 1;
        }
        context.enters(&packet, 1);
        device.forward(packet, context);
        self.settle();
        Ok(())
    }

    /// The next event happens, unless it lies after `last`.
    #[inline(never)]
    fn process_next(&mut self, last: SimTime, watch: &dyn Watch) -> Result<bool, RunError> {
        if !self.context.calendar.pass_to_next(last) {
            return Ok(false);
        }
        let Some(event) = self.context.calendar.present() else { return Ok(false) };
        self.context.now = self.context.calendar.now();
        if event == Event::Pause {
            self.endpoints.pause = None;
        }
        if self.events.count() {
            self.check_between_events(event, watch)?;
        }
        self.dispatch(event, watch)?;
        Ok(true)
    }

    /// A datagram of an endpoint has arrived at the other.
    pub(crate) fn arrived_at_endpoint(&mut self, mut packet: Box<Packet>) {
        let Payload::Content { sent, data } = &mut packet.payload else { return };
        let (sent, data) = (*sent, std::mem::take(data));
        let World { sockets, context, endpoints, conversations, .. } = self;
        if !is_first(packet.to) {
            let delay = context.now.since(sent);
            let (conversation, socket) = sockets.endpoint(packet.to);
            let conversation = &mut conversations[conversation.0 as usize];
            conversation.datagram_arrived(Bytes(data.len() as u64), delay);
            let (pair, record) = (&mut endpoints.pairs[socket.pair], &mut context.journal.record);
            pair.count_delay(delay, conversation.name, context.now, record);
        }
        endpoints.arrived.push_back(Arrival { port: Port(packet.to), ecn: packet.ecn, data });
        context.keep_box(packet);
    }
}

/// The socket of the first host of its pair.
fn is_first(socket: SocketId) -> bool {
    socket.0.is_multiple_of(2)
}
