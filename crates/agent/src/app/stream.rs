//! Conversations over TCP: a thread for each connection at each end, which does what the application asks for with
//! blocking calls, and tells it what has happened.
//!
//! ```text
//! to do       connect, send, close: in this order, and then told that it is done
//! nothing     read what arrives, at most 1 MiB at a time; the first thread of a client also waits for its timer
//! ```
//! A server closes when its client has closed, as most programs do: its FIN carries the acknowledgement of the last byte.
//! From that the client learns that its data has arrived. The first 8 bytes of a request may say how long its answer is.
//! Sockets stay open for samples.

use std::cell::{Cell, OnceCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tailback_traffic::{Connections, End, Event, Head, Purpose, Socket};
use tailback_units::SimTime;

use super::sent::Sockets;
use super::sink::Sink;
use super::sockets::{Accepting, connect, set_no_delay};
use super::state::{Happened, Orders, Shared, Time, When};
use super::{locked, spawn};
use crate::failure::Failure;
use crate::job::Conversation;
use crate::sys;

/// Bytes of a `recv` and, at most, of a `send`.
const MOST: usize = 1 << 20;
/// What is sent.
static ZEROS: [u8; MOST] = [0; MOST];
/// Bytes of the number that a request begins with.
pub const HEAD: usize = size_of::<u64>();

/// What the threads of both ends have.
#[derive(Clone)]
pub struct Stream {
    pub conversation: Arc<Conversation>,
    pub shared: Arc<Shared>,
    pub time: Time,
}

/// How the data of a connection is made and read.
#[derive(Clone, Copy)]
enum Framing {
    /// Its content does not matter.
    None,
    /// Requests of so many bytes begin with a number.
    Requests(usize),
}

impl Framing {
    fn of(connections: &Connections) -> Self {
        match connections.purpose {
            Purpose::Requests { size, head: Head::Size } => {
                Framing::Requests(usize::try_from(size).unwrap_or(usize::MAX))
            }
            Purpose::Requests { head: Head::Nothing, .. } | Purpose::Bulk { .. } => Framing::None,
        }
    }
}

/// The client's sockets, before its start.
pub struct Client {
    sockets: Vec<Arc<OwnedFd>>,
    /// By which the thread of a connection is woken to do what another asks for; none if there is only one.
    wakes: Vec<OwnedFd>,
    stopped: AtomicBool,
    framing: Framing,
}

impl Client {
    pub fn of(sockets: Vec<Arc<OwnedFd>>, connections: &Connections) -> io::Result<Self> {
        let wakes = if sockets.len() > 1 { sockets.len() } else { 0 };
        let wakes = (0..wakes).map(|_| sys::event()).collect::<io::Result<_>>()?;
        let stopped = AtomicBool::default();
        Ok(Self { sockets, wakes, stopped, framing: Framing::of(connections) })
    }

    /// Starts the threads.
    pub fn start(self, stream: &Stream, closes_ns: Option<u64>) -> Result<(), Failure> {
        let client = Arc::new(self);
        for number in 0..client.sockets.len() {
            let (client, stream) = (client.clone(), stream.clone());
            spawn(move || Thread::new(&client, &stream, number).run())?;
        }
        let (Some(closes_ns), stream) = (closes_ns, stream.clone()) else { return Ok(()) };
        spawn(move || client.stop_at(&stream, closes_ns))
    }

    /// Ends what is sent at this time of the run.
    fn stop_at(&self, stream: &Stream, closes_ns: u64) {
        stream.time.clock.sleep_until(closes_ns);
        self.stopped.store(true, Ordering::Relaxed);
        self.sockets.iter().for_each(|socket| sys::shut_down_sending(socket));
    }
}

/// The thread of one of the client's connections.
struct Thread<'a> {
    client: &'a Client,
    stream: &'a Stream,
    number: usize,
    connected: Cell<bool>,
    /// From the first time that it waits for the timer of its application.
    timer: OnceCell<OwnedFd>,
}

/// What a thread has found.
enum Found {
    /// So many bytes; none at the end of the data.
    Read(usize),
    /// The timer has expired.
    Timer,
    /// Another thread has asked for something.
    Asked,
}

impl<'a> Thread<'a> {
    fn new(client: &'a Client, stream: &'a Stream, number: usize) -> Self {
        Thread { client, stream, number, connected: Cell::new(false), timer: OnceCell::new() }
    }

    fn run(&self) {
        if self.number == 0 {
            self.stream.time.clock.sleep_until(self.stream.conversation.traffic.start_ns());
            self.tell(Event::Started, 0);
        }
        match self.serve_orders() {
            Err(error) if self.was_stopped(&error) => {
                self.tell(Event::Timer, 0);
                self.await_end();
            }
            Err(error) => locked(&self.stream.shared.measured).failure = Some(error.to_string()),
            Ok(()) => self.await_end(),
        }
    }

    /// The sending side was shut down at the stop, perhaps before the first answer: each SYN was lost.
    /// [linux-6.12 af_inet.c inet_shutdown]
    fn was_stopped(&self, error: &io::Error) -> bool {
        let is_its_error = !self.connected.get() || error.kind() == io::ErrorKind::BrokenPipe;
        is_its_error && self.client.stopped.load(Ordering::Relaxed)
    }

    fn socket(&self) -> &OwnedFd {
        &self.client.sockets[self.number]
    }

    fn tell(&self, event: Event, read: usize) {
        let socket = Socket(self.number as u32);
        let when = When::Now(self.stream.time.clock);
        let happened = Happened { end: End::Client, socket, event, when, read: read as u64 };
        self.stream.shared.tell(happened, self.stream.time.interval_ns);
        for (number, wake) in
            self.client.wakes.iter().enumerate().filter(|(number, _)| *number != self.number)
        {
            if self.stream.shared.has_orders(number) {
                sys::signal(wake);
            }
        }
    }

    /// Does what the application asks for, until it closes.
    fn serve_orders(&self) -> io::Result<()> {
        let socket = Socket(self.number as u32);
        loop {
            let todo = self.stream.shared.orders(End::Client, socket, Todo::take);
            match todo {
                Todo::Connect => {
                    connect(&self.stream.conversation, self.socket())?;
                    self.connected.set(true);
                    self.tell(Event::Writable, 0);
                }
                Todo::Send { bytes, heads } => {
                    send(self.socket(), bytes, &heads, self.client.framing)?;
                    self.tell(Event::Writable, 0);
                }
                Todo::Close => {
                    sys::shut_down_sending(self.socket());
                    return Ok(());
                }
                Todo::Nothing => match self.wait()? {
                    Found::Read(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Found::Read(bytes) => self.tell(Event::Readable, bytes),
                    Found::Timer => self.tell(Event::Timer, 0),
                    Found::Asked => {}
                },
            }
        }
    }

    /// Waits for data, for the timer, and for what other threads ask for.
    fn wait(&self) -> io::Result<Found> {
        let wake = self.client.wakes.get(self.number);
        let at = if self.number == 0 { self.stream.shared.timer() } else { None };
        if wake.is_none() && at.is_none() {
            return self.read().map(Found::Read);
        }
        let timer = at.map(|at| self.timer_at(at)).transpose()?;
        let data = self.connected.get().then(|| self.socket());
        let [has_data, is_due, was_asked] = sys::wait_for_any([data, timer, wake])?;
        if is_due {
            self.stream.shared.take_timer();
            return Ok(Found::Timer);
        }
        if was_asked && let Some(wake) = wake {
            sys::take_signal(wake);
            return Ok(Found::Asked);
        }
        if has_data { self.read().map(Found::Read) } else { Ok(Found::Asked) }
    }

    /// Reads as much as the application takes at a time.
    fn read(&self) -> io::Result<usize> {
        let most = self.stream.shared.of_machine(|machine| machine.most_to_read(Socket(self.number as u32)));
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(MOST);
        sys::discard(self.socket(), most.min(MOST))
    }

    /// What can be read from `at` on.
    fn timer_at(&self, at: SimTime) -> io::Result<&OwnedFd> {
        if self.timer.get().is_none() {
            // Of this thread alone.
            let _ = self.timer.set(sys::timer()?);
        }
        let timer = self.timer.get().ok_or(io::ErrorKind::NotFound)?;
        sys::set_timer(timer, self.stream.time.clock.on_monotonic(at.as_nanos()))?;
        Ok(timer)
    }

    /// Reads until the server closes, which has then read everything; or the connection ends in another way.
    fn await_end(&self) {
        while let Ok(read) = sys::discard(self.socket(), MOST) {
            if read == 0 {
                return self.tell(Event::Finished, 0);
            }
            self.tell(Event::Readable, read);
        }
    }
}

/// The next thing to do.
enum Todo {
    Connect,
    Send { bytes: u64, heads: Vec<u64> },
    Close,
    Nothing,
}

impl Todo {
    fn take(orders: &mut Orders) -> Self {
        if std::mem::take(&mut orders.connect) {
            return Todo::Connect;
        }
        match std::mem::take(&mut orders.send) {
            0 if orders.close => Todo::Close,
            0 => Todo::Nothing,
            bytes => Todo::Send { bytes, heads: orders.heads.drain(..).collect() },
        }
    }
}

/// Sends so many bytes: requests with these heads, or data whose content does not matter.
fn send(socket: &OwnedFd, bytes: u64, heads: &[u64], framing: Framing) -> io::Result<()> {
    match framing {
        Framing::Requests(size) if !heads.is_empty() => {
            let requests: Vec<u8> = heads.iter().flat_map(|&head| request(size, head)).collect();
            send_all(socket, &requests)
        }
        _ => send_zeros(socket, bytes),
    }
}

/// A request of `size` bytes that begins with `head`.
fn request(size: usize, head: u64) -> Vec<u8> {
    let mut data = vec![0; size];
    data[..HEAD].copy_from_slice(&head.to_be_bytes());
    data
}

fn send_all(socket: &OwnedFd, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        data = &data[sys::send(socket, data)?..];
    }
    Ok(())
}

fn send_zeros(socket: &OwnedFd, mut bytes: u64) -> io::Result<()> {
    while bytes > 0 {
        let next = usize::try_from(bytes).unwrap_or(usize::MAX).min(MOST);
        bytes -= sys::send(socket, &ZEROS[..next])? as u64;
    }
    Ok(())
}

/// The server: a thread for each connection.
pub struct Server {
    listener: OwnedFd,
    sockets: Sockets,
    /// The only socket of a receiver of bulk data, for samples.
    accepted: Arc<Mutex<Option<Arc<OwnedFd>>>>,
    /// What reads from it, if this is a guest.
    sink: Option<Arc<Sink>>,
}

impl Server {
    pub fn of(
        listener: OwnedFd,
        sockets: Sockets,
        accepted: Arc<Mutex<Option<Arc<OwnedFd>>>>,
        sink: Option<Arc<Sink>>,
    ) -> Self {
        Self { listener, sockets, accepted, sink }
    }

    /// Starts the thread that accepts connections.
    pub fn start(self, stream: &Stream) -> Result<(), Failure> {
        let stream = stream.clone();
        spawn(move || self.accept(&stream))
    }

    /// Accepts as many connections as the conversation has. The last is served by this thread.
    fn accept(self, stream: &Stream) {
        let Some(connections) = stream.conversation.connections() else { return };
        let accepting = Accepting::at(self.listener, stream.conversation.token.as_deref());
        for number in 0..connections.count {
            // A connection that breaks is reported by its client.
            let Ok(socket) = accepting.next() else { return };
            if set_no_delay(&socket, &connections).is_err() {
                continue;
            }
            let socket = self.sockets.add(socket);
            *locked(&self.accepted) = Some(socket.clone());
            let (stream, framing, sink) = (stream.clone(), Framing::of(&connections), self.sink.clone());
            let serving = Serving { stream, number, socket, framing, sink };
            if number + 1 == connections.count {
                return serving.run();
            }
            let _ = spawn(move || serving.run());
        }
    }
}

/// A connection of the server.
struct Serving {
    stream: Stream,
    number: u32,
    socket: Arc<OwnedFd>,
    framing: Framing,
    sink: Option<Arc<Sink>>,
}

impl Serving {
    fn run(self) {
        match &self.sink {
            Some(sink) => sink.drain(&self.socket),
            // A connection that breaks is reported by its client.
            None => drop(self.serve()),
        }
        sys::shut_down_sending(&self.socket);
    }

    /// Until the client closes.
    fn serve(&self) -> io::Result<()> {
        let mut heads = Heads::of(self.framing);
        loop {
            let todo = self.stream.shared.orders(self.end(), Socket::FIRST, Todo::take);
            match todo {
                Todo::Send { bytes, heads } => {
                    send(&self.socket, bytes, &heads, self.framing)?;
                    self.tell(Event::Writable, 0);
                }
                Todo::Close => return Ok(()),
                Todo::Connect | Todo::Nothing => match heads.read(&self.socket)? {
                    0 => return Ok(()),
                    read => {
                        self.stream.shared.orders(self.end(), Socket::FIRST, |orders| {
                            heads.found.drain(..).for_each(|head| orders.was_told(head));
                        });
                        self.tell(Event::Readable, read);
                    }
                },
            }
        }
    }

    fn end(&self) -> End {
        End::Server(self.number)
    }

    fn tell(&self, event: Event, read: usize) {
        let when = When::Now(self.stream.time.clock);
        let happened = Happened { end: self.end(), socket: Socket::FIRST, event, when, read: read as u64 };
        self.stream.shared.tell(happened, self.stream.time.interval_ns);
    }
}

/// Reads what a server is sent.
struct Heads {
    /// The request that is being read, and how much of it was; empty if the content does not matter.
    request: Vec<u8>,
    filled: usize,
    /// The heads of requests that were read.
    found: Vec<u64>,
}

impl Heads {
    fn of(framing: Framing) -> Self {
        let size = if let Framing::Requests(size) = framing { size } else { 0 };
        Self { request: vec![0; size], filled: 0, found: Vec::new() }
    }

    /// Reads what there is, of one request at most.
    fn read(&mut self, socket: &OwnedFd) -> io::Result<usize> {
        if self.request.is_empty() {
            return sys::discard(socket, MOST);
        }
        let read = sys::receive(socket, &mut self.request[self.filled..])?;
        self.filled += read;
        if self.filled == self.request.len() {
            self.filled = 0;
            self.found.extend(self.request.first_chunk().map(|head| u64::from_be_bytes(*head)));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_begins_with_its_number() {
        assert_eq!(request(12, 0x102), [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0]);
    }
}
