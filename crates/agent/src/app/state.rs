//! The applications of a conversation and what they have asked for: threads tell them what has happened, and do what they
//! ask for, outside of the lock.

use std::collections::VecDeque;
use std::sync::Mutex;

use tailback_traffic::{Calls, Datagram, End, Event, Machine, Row, Sent, Socket};
use tailback_units::{Bytes, SimTime};

use super::locked;
use super::measured::Measured;
use super::outlet::Outlet;
use crate::clock::Clock;

/// What an application has asked for at a TCP socket and is not done yet.
#[derive(Default)]
pub struct Orders {
    /// To connect.
    pub connect: bool,
    /// To send so many bytes.
    pub send: u64,
    /// The numbers that the messages of these bytes begin with, if they do.
    pub heads: VecDeque<u64>,
    /// To close, when all is sent.
    pub close: bool,
    /// The heads of messages that were read.
    told: VecDeque<u64>,
}

impl Orders {
    /// There is something to do.
    fn are_open(&self) -> bool {
        self.connect || self.send > 0 || self.close
    }
}

/// The state of a conversation.
pub struct State {
    machine: Machine,
    /// By connection, of the client's and of the server's sockets.
    orders: [Vec<Orders>; 2],
    timer: Option<SimTime>,
    /// By which the client sends datagrams, and the server.
    outlets: [Option<Outlet>; 2],
    /// The socket of datagrams has no room.
    is_blocked: bool,
}

/// What the threads of a conversation share.
pub struct Shared {
    state: Mutex<State>,
    /// What was measured.
    pub measured: Mutex<Measured>,
}

/// The clock of a run, and the length of its bins.
#[derive(Clone, Copy)]
pub struct Time {
    /// The clock.
    pub clock: Clock,
    /// The length of a bin.
    pub interval_ns: u64,
}

impl Time {
    /// Now.
    pub fn now(self) -> SimTime {
        SimTime::from_nanos(self.clock.now_ns())
    }
}

/// When something happened.
#[derive(Clone, Copy)]
pub enum When {
    /// At this time.
    At(SimTime),
    /// What the clock shows whenever the application asks. Only then does somebody look at it, since in virtual time each
    /// look takes 256 ns.
    Now(Clock),
}

impl When {
    fn get(self) -> SimTime {
        match self {
            When::At(at) => at,
            When::Now(clock) => SimTime::from_nanos(clock.now_ns()),
        }
    }
}

/// Something that has happened at a socket.
#[derive(Clone, Copy)]
pub struct Happened {
    /// Whose socket.
    pub end: End,
    /// Its number.
    pub socket: Socket,
    /// What.
    pub event: Event,
    /// When.
    pub when: When,
    /// Bytes that were read.
    pub read: u64,
}

impl Happened {
    /// An event without data.
    pub fn at(at: SimTime, end: End, socket: Socket, event: Event) -> Self {
        Self { end, socket, event, when: When::At(at), read: 0 }
    }
}

impl Shared {
    /// Nothing has happened yet.
    pub fn new(machine: Machine, connections: u32, outlets: [Option<Outlet>; 2], bins: usize) -> Self {
        let orders = [(); 2].map(|()| (0..connections).map(|_| Orders::default()).collect());
        let state = State { machine, orders, timer: None, outlets, is_blocked: false };
        Self { state: Mutex::new(state), measured: Mutex::new(Measured::new(bins)) }
    }

    /// Tells the application what has happened.
    pub fn tell(&self, happened: Happened, interval_ns: u64) {
        let mut state = locked(&self.state);
        let State { machine, orders, timer, outlets, is_blocked } = &mut *state;
        let mut measured = locked(&self.measured);
        let Happened { end, event, socket, .. } = happened;
        let (orders, outlet) = (&mut orders[side(end)], &mut outlets[side(end)]);
        let mut calls =
            Syscalls { happened, interval_ns, orders, timer, outlet, is_blocked, measured: &mut measured };
        machine.on(end, event, socket, &mut calls);
    }

    /// The rows that the applications of these ends add at the end of the run, of which this may not be the last.
    pub fn rows_at_the_end(&self, ends: &[End], time: Time) -> Vec<(SimTime, Row)> {
        let mut machine = locked(&self.state).machine.clone();
        let mut measured = Measured::new(0);
        for &end in ends {
            let mut calls = Syscalls {
                happened: Happened::at(time.now(), end, Socket::FIRST, Event::Ended),
                interval_ns: time.interval_ns,
                orders: &mut Vec::new(),
                timer: &mut None,
                outlet: &mut None,
                is_blocked: &mut false,
                measured: &mut measured,
            };
            machine.on(end, Event::Ended, Socket::FIRST, &mut calls);
        }
        measured.rows
    }

    /// Looks at the applications.
    pub fn of_machine<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&locked(&self.state).machine)
    }

    /// Looks at what is to be done at a TCP socket, or changes it.
    pub fn orders<T>(&self, end: End, socket: Socket, look: impl FnOnce(&mut Orders) -> T) -> T {
        let mut state = locked(&self.state);
        look(of_end(&mut state.orders[side(end)], end, socket))
    }

    /// Whether the thread of one of the client's connections has something to do. The first waits for the timer.
    pub fn has_orders(&self, number: usize) -> bool {
        let state = locked(&self.state);
        state.orders[0][number].are_open() || (number == 0 && state.timer.is_some())
    }

    /// When the timer is to expire.
    pub fn timer(&self) -> Option<SimTime> {
        locked(&self.state).timer
    }

    /// The timer expires: it is set no more.
    pub fn take_timer(&self) -> Option<SimTime> {
        locked(&self.state).timer.take()
    }

    /// The socket of datagrams had no room; it is asked once.
    pub fn take_blocked(&self) -> bool {
        std::mem::take(&mut locked(&self.state).is_blocked)
    }

    /// Looks at what sends the client's datagrams.
    pub fn of_outlet<T>(&self, look: impl FnOnce(&Outlet) -> T) -> Option<T> {
        locked(&self.state).outlets[0].as_ref().map(look)
    }
}

/// The place of an end: the client's, or the server's.
fn side(end: End) -> usize {
    usize::from(end != End::Client)
}

fn of_end(orders: &mut [Orders], end: End, socket: Socket) -> &mut Orders {
    let number = match end {
        End::Client => socket.0,
        End::Server(connection) => connection,
    };
    &mut orders[number as usize]
}

/// The calls of one application while it is told something.
struct Syscalls<'a> {
    happened: Happened,
    interval_ns: u64,
    orders: &'a mut Vec<Orders>,
    timer: &'a mut Option<SimTime>,
    outlet: &'a mut Option<Outlet>,
    is_blocked: &'a mut bool,
    measured: &'a mut Measured,
}

impl Syscalls<'_> {
    fn orders(&mut self, socket: Socket) -> &mut Orders {
        of_end(self.orders, self.happened.end, socket)
    }

    fn bin(&self) -> usize {
        usize::try_from(self.happened.when.get().as_nanos() / self.interval_ns).unwrap_or(usize::MAX)
    }
}

impl Calls for Syscalls<'_> {
    fn now(&self) -> SimTime {
        self.happened.when.get()
    }

    fn set_timer(&mut self, at: SimTime) {
        *self.timer = Some(at);
    }

    fn connect(&mut self, socket: Socket) {
        self.orders(socket).connect = true;
    }

    /// The thread has read.
    fn read(&mut self, _socket: Socket) -> Bytes {
        Bytes(std::mem::take(&mut self.happened.read))
    }

    /// The thread sends it, as long as that takes, and then tells that there is room.
    fn send(&mut self, socket: Socket, bytes: u64) -> Sent {
        self.orders(socket).send += bytes;
        Sent { taken: bytes, blocked: true }
    }

    fn tell(&mut self, socket: Socket, number: u64) {
        self.orders(socket).heads.push_back(number);
    }

    fn told(&mut self, socket: Socket) -> Option<u64> {
        self.orders(socket).told.pop_front()
    }

    fn close(&mut self, socket: Socket) {
        self.orders(socket).close = true;
    }

    fn send_datagram(&mut self, datagram: Datagram, next: Option<SimTime>) -> bool {
        let Some(outlet) = self.outlet else { return false };
        if !outlet.send(datagram, self.happened.when.get()) {
            // A server waits for no room: what it says is old by then.
            *self.is_blocked |= self.happened.end == End::Client;
            return false;
        }
        *self.timer = next.or(*self.timer);
        true
    }

    fn begin(&mut self) {
        self.measured.begun = Some(self.happened.when.get());
    }

    fn complete(&mut self) {
        self.measured.completed = Some(self.happened.when.get());
    }

    fn count_read(&mut self, bytes: Bytes) {
        let bin = self.bin();
        self.measured.bin(bin, |bin| bin.bytes += bytes.get());
    }

    fn count_sent(&mut self) {
        let bin = self.bin();
        self.measured.bin(bin, |bin| bin.sent += 1);
    }

    fn count_arrived(&mut self, bytes: Bytes, delay_ns: i64) {
        let bin = self.bin();
        self.measured.bin(bin, |bin| bin.count_arrived(bytes, delay_ns));
    }

    fn record(&mut self, row: Row) {
        self.measured.rows.push((self.happened.when.get(), row));
    }
}

impl Orders {
    /// A message was read that begins with this number.
    pub fn was_told(&mut self, number: u64) {
        self.told.push_back(number);
    }
}
