//! Sockets on their hosts: the conversation of each, and its state on the host.

mod draws;
mod echo;
mod udp;

use tailback_engine::{Alarm, Fired};
use tailback_packet::{HostId, SocketId};
use tailback_tcp::{Endpoint, ReceiveOnly, Sender, Taken, Wakeup};
use tailback_units::{Bytes, SimTime};

use crate::context::Context;
use crate::timers::Place;
use crate::{ConversationId, DeviceId, Event};

pub(crate) use draws::{Drawing, NoDraws};
pub(crate) use echo::EchoSocket;
pub(crate) use udp::{EndpointSocket, SEND_BUFFER, UdpSocket};

/// One end of a conversation.
pub(crate) struct Socket {
    pub(crate) conversation: ConversationId,
    pub(crate) transport: Transport,
}

/// The state of a socket on its host.
pub(crate) enum Transport {
    /// Of TCP, and may send data.
    Tcp(Box<TcpSocket>),
    /// Of TCP, and only receives.
    Receiver(Box<TcpSocket<ReceiveOnly>>),
    Udp(Box<UdpSocket>),
    /// Of UDP, for an endpoint outside of the world.
    Endpoint(Box<EndpointSocket>),
    /// Sends echo requests.
    Echo(Box<EchoSocket>),
    /// None: it only receives.
    Stateless,
    /// A socket of TCP that is made when its application starts.
    Planned,
    /// A socket of TCP of which nothing is left.
    Ended,
}

/// A TCP socket. One that only receives has no [`Sender`] but a [`ReceiveOnly`].
///
/// It begins with a cache line, because jemalloc aligns all that is larger than 256 bytes so. An alignment that is asked
/// for takes several times the instructions.
pub(crate) struct TcpSocket<S: Drawing = Sender> {
    pub(crate) endpoint: Endpoint<S>,
    pub(crate) host: HostId,
    /// The device its packets leave by.
    pub(crate) device: DeviceId,
    pub(crate) alarm: Alarm,
    /// The place of the socket's deadline among those of other sockets.
    pub(crate) timer: Place,
    pub(crate) draws: S::Draws,
    /// Wake-ups of its application that are not yet processed.
    pub(crate) woken: Wakeup,
    /// What was read in the place of its application, which has not counted it yet.
    pub(crate) uncounted: Bytes,
    /// Reading and counting is all that its application does with data: then the world reads in its place. It is the
    /// receiving end, of whose ACKs no rows are wanted.
    pub(crate) only_counts: bool,
    /// The small queue of the socket is full, and it is counted at its device as waiting.
    pub(crate) awaits_credit: bool,
    /// Type-of-service octet of the socket's packets.
    pub(crate) tos: u8,
    /// It is the sending end: `tcp_info` of each ACK is of interest.
    pub(crate) sends: bool,
}

impl<S: Drawing> TcpSocket<S> {
    /// Reads what [`Endpoint::take_to_read`] took, in the place of an application that only counts it.
    #[inline(always)]
    pub(crate) fn read_taken(&mut self, taken: Taken, now: SimTime) {
        debug_assert!(self.only_counts, "its application would count them");
        self.uncounted += Bytes(u64::from(taken.bytes()));
        self.endpoint.read_taken(taken, now);
    }

    /// `read()` of all available data.
    #[inline]
    pub(crate) fn read(&mut self, now: SimTime) -> Bytes {
        let bytes = self.endpoint.read(now);
        if self.endpoint.at_end() {
            self.endpoint.close_at_end();
        }
        bytes
    }

    /// It has nothing to do, and nobody waits for it.
    fn rests(&self) -> bool {
        let rests = self.endpoint.deadline().is_none() && !self.endpoint.wants_to_send();
        rests && self.woken.is_none() && !self.awaits_credit
    }

    /// Reads all available data in the place of an application that only counts it.
    #[inline]
    pub(crate) fn read_and_count(&mut self, now: SimTime) {
        let bytes = self.read(now);
        if self.only_counts {
            self.uncounted += bytes;
        }
    }
}

/// Evaluates an expression for a TCP socket of either kind; another with any other socket.
macro_rules! for_tcp {
    ($transport:expr, $socket:ident => $of_either:expr, $other:expr) => {
        match $transport {
            Transport::Tcp($socket) => $of_either,
            Transport::Receiver($socket) => $of_either,
            _ => $other,
        }
    };
}
pub(crate) use for_tcp;

/// So many sockets, with their packets, stay in the processor's cache.
const FEW: usize = 256;

/// All sockets of a world, by number.
pub(crate) struct Sockets {
    all: Vec<Socket>,
    /// They are more than [`FEW`].
    exceed_cache: bool,
}

impl Sockets {
    /// No socket yet; `count` will be added.
    pub(crate) fn with_room(count: usize) -> Self {
        Sockets { all: Vec::with_capacity(count), exceed_cache: false }
    }

    /// Adds the socket with the next number.
    pub(crate) fn push(&mut self, number: SocketId, socket: Socket) {
        assert_eq!(number.0 as usize, self.all.len(), "sockets are added in the order of their numbers");
        self.all.push(socket);
        self.exceed_cache = self.all.len() > FEW;
    }

    /// With those of the future and of the past they do not stay in the processor's cache. This is asked at each arrival.
    pub(crate) fn exceed_cache(&self) -> bool {
        self.exceed_cache
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: SocketId) -> &mut Socket {
        &mut self.all[id.0 as usize]
    }

    /// The conversation that `id` belongs to.
    #[inline]
    pub(crate) fn conversation(&self, id: SocketId) -> ConversationId {
        self.all[id.0 as usize].conversation
    }

    /// A socket that is known to be one of TCP that may send data.
    pub(crate) fn tcp(&mut self, id: SocketId) -> &mut TcpSocket {
        match &mut self.all[id.0 as usize].transport {
            Transport::Tcp(socket) => socket,
            _ => not_of_kind(id, "sending TCP"),
        }
    }

    /// A socket that is known to be one of TCP that only receives.
    pub(crate) fn receiver(&mut self, id: SocketId) -> &mut TcpSocket<ReceiveOnly> {
        match &mut self.all[id.0 as usize].transport {
            Transport::Receiver(socket) => socket,
            _ => not_of_kind(id, "receiving TCP"),
        }
    }

    /// It is one of TCP that only receives.
    pub(crate) fn is_receiver(&self, id: SocketId) -> bool {
        matches!(self.all[id.0 as usize].transport, Transport::Receiver(_))
    }

    /// The host and the device of a socket that is known to be one of TCP.
    pub(crate) fn place(&self, id: SocketId) -> (HostId, DeviceId) {
        for_tcp!(&self.all[id.0 as usize].transport, socket => (socket.host, socket.device), not_of_kind(id, "TCP"))
    }

    /// Charges sockets for trains that were segmented; before the credits of the segments are returned.
    #[inline(never)]
    pub(crate) fn charge_for_segments(&mut self, context: &mut Context) {
        for (id, extra) in context.segmented.drain(..) {
            self.tcp(id).endpoint.segmented(extra);
        }
    }

    /// The alarm of a socket fired. True if its timer expires now; its deadline may have moved since the alarm was set.
    pub(crate) fn timer_fired(&mut self, id: SocketId, context: &mut Context) -> bool {
        let (now, transport) = (context.now, &mut self.get_mut(id).transport);
        let fired =
            for_tcp!(transport, socket => socket.alarm.fired(now, socket.endpoint.deadline()), return false);
        if let Fired::Early(at) = fired {
            context.wake_at(at, Event::Timer(id));
        }
        fired == Fired::Due
    }

    /// Nothing happens at a socket any more, unless its application acts.
    pub(crate) fn is_quiet(&mut self, id: SocketId, context: &Context) -> bool {
        let rests = for_tcp!(&self.get_mut(id).transport, socket => socket.rests(), false);
        rests && context.in_network(id) == 0
    }

    /// The place of the timer of a socket that is known to be one of TCP.
    pub(crate) fn timer(&self, id: SocketId) -> Place {
        for_tcp!(&self.all[id.0 as usize].transport, socket => socket.timer, not_of_kind(id, "TCP"))
    }

    /// What was read in the place of the application of `id` since the last call.
    pub(crate) fn count_read(&mut self, id: SocketId) -> Bytes {
        for_tcp!(
            &mut self.all[id.0 as usize].transport,
            socket => std::mem::take(&mut socket.uncounted),
            not_of_kind(id, "TCP")
        )
    }

    /// What was read in the place of the application of `id`, and is not counted yet.
    #[cfg(test)]
    pub(crate) fn uncounted(&self, id: SocketId) -> Bytes {
        for_tcp!(&self.all[id.0 as usize].transport, socket => socket.uncounted, Bytes::ZERO)
    }

    /// The socket of TCP with this number, if it is there and may send data.
    #[inline]
    pub(crate) fn tcp_if_there(&mut self, id: SocketId) -> Option<&mut TcpSocket> {
        match &mut self.all[id.0 as usize].transport {
            Transport::Tcp(socket) => Some(socket),
            _ => None,
        }
    }

    /// Credits a socket for packets of so much memory if nothing follows from it. False and nothing otherwise.
    #[inline]
    pub(crate) fn credit_at_rest(&mut self, id: SocketId, truesize: u32) -> bool {
        match &mut self.all[id.0 as usize].transport {
            Transport::Tcp(socket) => socket.endpoint.credit_at_rest(truesize),
            Transport::Udp(socket) => socket.credit_at_rest(truesize),
            Transport::Endpoint(socket) => socket.udp.credit_at_rest(truesize),
            _ => false,
        }
    }

    /// A socket that is known to be one of UDP that sends.
    #[inline]
    pub(crate) fn udp(&mut self, id: SocketId) -> &mut UdpSocket {
        match &mut self.all[id.0 as usize].transport {
            Transport::Udp(socket) => socket,
            Transport::Endpoint(socket) => &mut socket.udp,
            _ => not_of_kind(id, "UDP"),
        }
    }

    /// A socket that is known to be one of an endpoint outside of the world, and its conversation.
    #[inline]
    pub(crate) fn endpoint(&mut self, id: SocketId) -> (ConversationId, &mut EndpointSocket) {
        let socket = &mut self.all[id.0 as usize];
        match &mut socket.transport {
            Transport::Endpoint(endpoint) => (socket.conversation, endpoint),
            _ => not_of_kind(id, "endpoint"),
        }
    }
}

#[cold]
pub(crate) fn not_of_kind(id: SocketId, kind: &str) -> ! {
    panic!("socket {} is not a {kind} socket", id.0)
}

// A run may have tens of thousands of them.
const _: () = assert!(size_of::<TcpSocket>() <= 28 * 64 && size_of::<TcpSocket<ReceiveOnly>>() <= 10 * 64);
