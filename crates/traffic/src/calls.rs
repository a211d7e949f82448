//! What an application does: the system calls of a simulated host or of a kernel, and what it has measured.
//!
//! An application has sockets of its own, numbered from 0, and one timer. A call never waits: what a `send()` did not take
//! follows when the socket has room. The simulator implements the calls by its sockets, the agent by those of Linux.

use tailback_units::{Bytes, DelayCell, Rate, SimTime, Span};

/// A socket of an application, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Socket(pub u32);

impl Socket {
    /// The first, which is the only one of most applications.
    pub const FIRST: Socket = Socket(0);
}

/// The result of [`Calls::send`].
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Bytes that the socket took.
    pub taken: u64,
    /// The socket takes no more now; [`Event::Writable`] follows.
    pub blocked: bool,
}

/// A datagram to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// The number that the application gives it, in its order.
    pub number: u32,
    /// Bytes, as the kind counts them: the data of UDP; of an echo with the header.
    pub size: u32,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// Data.
    Data {
        /// When it was sent, by the clock of its sender.
        sent: SimTime,
        /// The number that its sender gave it.
        number: u32,
    },
    /// The answer to the echo request with this number.
    Answer(u32),
}

/// What an application is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The conversation starts: only its client is told.
    Started,
    /// The timer expires, or it is the time to close ([`Kind::closes_ns`](crate::Kind::closes_ns)).
    Timer,
    /// A TCP socket has data, or the end of the data.
    Readable,
    /// A socket is connected, or one that was blocked has room again.
    Writable,
    /// All that a closed TCP socket had sent was acknowledged.
    Finished,
    /// A datagram or the answer to an echo request has arrived.
    Arrived(Arrived),
    /// The run has ended: the application records what it has not recorded yet.
    Ended,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// A request, its answer or the lack of it.
    Request {
        /// When it was sent.
        asked: SimTime,
        /// The number of the request on its connection.
        number: u64,
        /// Bytes of the answer.
        bytes: Bytes,
        /// Until the last byte of the answer was read.
        latency: Option<Span>,
    },
    /// An object of a page.
    Object {
        /// When the page was wanted.
        start: SimTime,
        /// The number of the object in the page.
        number: u64,
        /// Bytes of the object.
        bytes: Bytes,
        /// From `start` until its last byte was read.
        loaded: Option<Span>,
    },
    /// A segment of a video.
    Segment {
        /// The number of the segment in the video.
        number: u64,
        /// When the player asked for it.
        asked: SimTime,
        /// The bitrate of its rung.
        bitrate: Rate,
        /// The size of the segment.
        bytes: Bytes,
        /// Video in the buffer when the player asked for it.
        buffer: Span,
        /// Time until its last byte was read; none if that did not happen.
        fetched: Option<Span>,
        /// How long the video did not play in this time.
        waited: Span,
    },
    /// An echo request.
    Echo {
        /// The number of the request.
        number: u32,
        /// When it was sent.
        sent: SimTime,
        /// Until its answer arrived.
        round_trip: Option<Span>,
    },
    /// A datagram that arrived now, with its one-way delay in ns, which is negative if the clocks differ by more.
    Datagram(i64),
    /// Datagrams whose delays are alike.
    Delays(DelayCell),
}

/// The system calls of an application, and where it records what it measures.
pub trait Calls {
    /// The time of the run.
    fn now(&self) -> SimTime;

    /// The timer of the application is to expire at `at`. It has one.
    fn set_timer(&mut self, at: SimTime);

    /// The application waits for those that share its [barrier](crate::Kind::barrier): the timer expires so long after the
    /// last of them came. A backend without barriers lets nobody wait.
    fn await_others(&mut self, pause: Span) {
        let at = self.now() + pause;
        self.set_timer(at);
    }

    /// The others wait for this application no more.
    fn leave_others(&mut self) {}

    /// `connect()`; [`Event::Writable`] follows.
    fn connect(&mut self, socket: Socket);

    /// `read()` of the data that is there.
    fn read(&mut self, socket: Socket) -> Bytes;

    /// `send()` of `bytes` on a TCP socket.
    fn send(&mut self, socket: Socket, bytes: u64) -> Sent;

    /// The message that is sent next begins with this number: the head of a request. The data of all other messages does
    /// not matter.
    fn tell(&mut self, socket: Socket, number: u64);

    /// The number that the oldest message begins with that was read and not asked for yet.
    fn told(&mut self, socket: Socket) -> Option<u64>;

    /// `close()` of a TCP socket.
    fn close(&mut self, socket: Socket);

    /// `send()` of a datagram on the only socket. If it is taken, the timer is set to `next`; if not, because the socket
    /// has no room, [`Event::Writable`] follows.
    fn send_datagram(&mut self, datagram: Datagram, next: Option<SimTime>) -> bool;

    /// The flow begins: it connects now.
    fn begin(&mut self) {}

    /// The flow is complete: its last byte was acknowledged now.
    fn complete(&mut self) {}

    /// Data was read that counts as goodput.
    fn count_read(&mut self, bytes: Bytes);

    /// A datagram was sent.
    fn count_sent(&mut self);

    /// A datagram of this size arrived, after this time in ns.
    fn count_arrived(&mut self, bytes: Bytes, delay_ns: i64);

    /// Records a row.
    fn record(&mut self, row: Row);
}

/// What runs at one end of a conversation. A kind implements only the events that it needs.
pub trait Application {
    /// Something has happened; it is about `socket` if about any.
    fn on<C: Calls>(&mut self, event: Event, socket: Socket, calls: &mut C);

    /// It records what it measures of its sockets: it has begun, and is not over.
    fn is_active(&self) -> bool {
        true
    }

    /// How many bytes it takes from `socket` at a time, where a program reads; `None`: all there are. The simulator reads all
    /// that have come at one time.
    fn most_to_read(&self, socket: Socket) -> Option<u64> {
        let _ = socket;
        None
    }

    /// It does nothing any more and has recorded everything.
    fn is_over(&self) -> bool {
        false
    }

    /// Bytes of memory that grow with the run; `None` if none does.
    fn held(&self) -> Option<usize> {
        None
    }

    /// The newest round trip that it has measured, to be shown while the run is in progress.
    fn round_trip(&self) -> Option<Span> {
        None
    }
}

/// An end where no application runs: the host itself answers, or a server that sends each datagram back.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Application for Nothing {
    fn on<C: Calls>(&mut self, _event: Event, _socket: Socket, _calls: &mut C) {}
}
