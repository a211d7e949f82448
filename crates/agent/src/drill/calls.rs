//! The system calls of scripts: converts arguments to numbers and memory, and compares results with the script.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::RawFd;

use tailback_script::errno;
use tailback_script::message::{Control, Message, Stamp, StampKind};
use tailback_script::player::{CallError, RESULT_AS_NAMED};
use tailback_script::script::{Call, Value, shown};

use super::names::number;
use super::system::{self, Part, Received};
use super::worker::{self, Answer};

/// Maximum number of bytes of a read or write: the guest has 2 GB of memory.
const TRANSFER_MAX: i64 = 256 << 20;

/// The port that the side under test listens on, and the one that its peer listens on.
pub const PORT: u16 = 8080;

/// The effect of a successful call on the descriptors of the script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    None,
    /// The descriptor it opens is a connection.
    Accepts,
    Connects(i64),
    Listens(i64),
}

/// The descriptors of the script, by its numbers.
#[derive(Debug)]
pub struct Descriptors {
    live: BTreeMap<i64, RawFd>,
    /// The one whose `tcp_info` code reads.
    current: Option<i64>,
    listening: Option<i64>,
    /// The descriptor that was just opened is a connection.
    accepted: bool,
    peer: Ipv4Addr,
    /// CLOCK_REALTIME at the start of the script, for time stamps.
    pub zero_realtime_ns: u64,
}

type Outcome = Result<Answer, CallError>;

fn unsupported<T>(what: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Unsupported(what.into()))
}

fn failed<T>(what: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Failed(what.into()))
}

fn answer(done: io::Result<i64>) -> Outcome {
    let plain = |value, errno| Answer { value, errno, opened: None, message: None };
    match done {
        Ok(value) => Ok(plain(value, None)),
        Err(refusal) => {
            let code = refusal.raw_os_error().unwrap_or(0);
            match errno::name(code) {
                Some(name) => Ok(plain(-1, Some(name))),
                None => unsupported(format!("the kernel's error {code} has no name here: {refusal}")),
            }
        }
    }
}

fn opened(done: io::Result<i64>) -> Outcome {
    let opened = done.as_ref().ok().map(|descriptor| *descriptor as RawFd);
    Ok(Answer { opened, ..answer(done)? })
}

impl Descriptors {
    /// An empty table; `peer` is the address that a script connects to.
    pub fn new(peer: Ipv4Addr) -> Self {
        let live = BTreeMap::new();
        Descriptors { live, current: None, listening: None, accepted: false, peer, zero_realtime_ns: 0 }
    }

    /// The script calls a new descriptor `number`; code reads the newest connection.
    pub fn open(&mut self, number: i64, descriptor: RawFd) {
        self.live.insert(number, descriptor);
        if self.accepted {
            self.current = Some(number);
        }
    }

    /// The descriptor whose `tcp_info` code reads.
    pub fn current(&self) -> Option<RawFd> {
        self.live.get(&self.current?).copied()
    }

    /// A socket of the script listens.
    pub fn listens(&self) -> bool {
        self.listening.is_some()
    }

    /// Applies the effect of a successful call.
    pub fn apply(&mut self, effect: Effect) {
        self.accepted = effect == Effect::Accepts;
        match effect {
            Effect::None | Effect::Accepts => {}
            Effect::Connects(number) => self.current = Some(number),
            Effect::Listens(number) => self.listening = Some(number),
        }
    }

    /// A wrong number is passed on: the kernel refuses it.
    fn live(&self, value: &Value) -> Result<RawFd, CallError> {
        Ok(self.live.get(&number(value)?).copied().unwrap_or(-1))
    }

    /// Makes `call` ready.
    pub fn prepare(&mut self, call: &Call) -> Result<(worker::Call, Effect), CallError> {
        let arguments = Arguments(call);
        let first = || arguments.get(0).and_then(number);
        let effect = match call.name.as_str() {
            "connect" => Effect::Connects(first()?),
            "listen" => Effect::Listens(first()?),
            "accept" | "accept4" => Effect::Accepts,
            _ => Effect::None,
        };
        let ready = match call.name.as_str() {
            "socket" => socket(&arguments)?,
            "bind" | "listen" | "accept" | "accept4" | "connect" | "close" | "shutdown" => {
                self.connections(&arguments)?
            }
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.sends(&arguments)?,
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.receives(&arguments)?,
            "fcntl" | "ioctl" => self.controls(&arguments)?,
            "poll" => self.poll(&arguments)?,
            "epoll_create" => {
                let size = arguments.int(0)?;
                Box::new(move || opened(system::epoll_create(size)))
            }
            "epoll_ctl" => self.control_event_poll(&arguments)?,
            "epoll_wait" => self.wait_for_events(&arguments)?,
            "setsockopt" => self.set_option(&arguments)?,
            "getsockopt" => self.get_option(&arguments)?,
            name => return unsupported(format!("the system call `{name}` is not supported on a kernel")),
        };
        Ok((ready, effect))
    }
}

/// The arguments of a call.
struct Arguments<'a>(&'a Call);

impl<'a> Arguments<'a> {
    fn get(&self, place: usize) -> Result<&'a Value, CallError> {
        let missing = || {
            let least = place + 1;
            CallError::Unsupported(format!(
                "{} with fewer than {least} arguments is not supported on a kernel",
                self.0.name
            ))
        };
        self.0.arguments.get(place).ok_or_else(missing)
    }

    /// `...` is 0.
    fn int(&self, place: usize) -> Result<i32, CallError> {
        match self.get(place)? {
            Value::Anything => Ok(0),
            value => Ok(number(value)? as i32),
        }
    }

    fn length(&self, place: usize) -> Result<usize, CallError> {
        length(number(self.get(place)?)?)
    }

    /// The memory at `place`, of the length at the place after it.
    fn part(&self, place: usize) -> Result<Part, CallError> {
        part(self.get(place)?, self.length(place + 1)?)
    }

    fn name(&self) -> &'a str {
        &self.0.name
    }
}

fn length(number: i64) -> Result<usize, CallError> {
    match (0..=TRANSFER_MAX).contains(&number) {
        true => Ok(number as usize),
        false => unsupported(format!("a length of {number}: 0 to {TRANSFER_MAX} are supported on a kernel")),
    }
}

fn part(pointer: &Value, length: usize) -> Result<Part, CallError> {
    match pointer {
        Value::Word(word) if word == "NULL" => Ok(Part::Null(length)),
        Value::Integer(0) => Ok(Part::Null(length)),
        Value::Anything | Value::Text(_) | Value::List(_) => Ok(Part::Bytes(vec![0; length])),
        other => unsupported(format!("the buffer `{}` is not supported on a kernel", shown(other))),
    }
}

fn field<'a>(fields: &'a [(String, Value)], wanted: &str) -> Option<&'a Value> {
    fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value)
}

fn socket(arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
    let domain = match arguments.get(0)? {
        Value::Anything => libc::AF_INET,
        value => number(value)? as i32,
    };
    let (kind, protocol) = (arguments.int(1)?, arguments.int(2)?);
    if domain != libc::AF_INET || !matches!(protocol, 0 | libc::IPPROTO_TCP) {
        return unsupported("sockets other than those of TCP over IPv4 are not supported on a kernel");
    }
    Ok(Box::new(move || opened(system::socket(domain, kind, protocol))))
}

/// Opening and closing.
impl Descriptors {
    fn connections(&mut self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let script = number(arguments.get(0)?)?;
        let live = self.live(arguments.get(0)?)?;
        let peer = SocketAddrV4::new(self.peer, PORT);
        Ok(match arguments.name() {
            "bind" => {
                let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
                Box::new(move || answer(system::bind(live, any)))
            }
            "listen" => {
                let backlog = arguments.int(1)?;
                Box::new(move || answer(system::listen(live, backlog)))
            }
            "accept" => Box::new(move || opened(system::accept(live, 0))),
            "accept4" => {
                let flags = arguments.int(3)?;
                Box::new(move || opened(system::accept(live, flags)))
            }
            "connect" => Box::new(move || answer(system::connect(live, peer))),
            "close" => {
                self.live.remove(&script);
                self.listening = self.listening.filter(|listening| *listening != script);
                Box::new(move || answer(system::close(live)))
            }
            _ => {
                let how = arguments.int(1)?;
                Box::new(move || answer(system::shutdown(live, how)))
            }
        })
    }
}

/// Data.
impl Descriptors {
    fn sends(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let live = self.live(arguments.get(0)?)?;
        Ok(match arguments.name() {
            "write" => {
                let mut part = arguments.part(1)?;
                Box::new(move || answer(system::write(live, &mut part)))
            }
            "send" | "sendto" => {
                let (mut part, flags) = (arguments.part(1)?, arguments.int(3)?);
                Box::new(move || answer(system::send(live, &mut part, flags)))
            }
            "writev" => {
                let mut parts = parts(arguments.get(1)?)?;
                Box::new(move || answer(system::write_vector(live, &mut parts)))
            }
            _ => {
                let header = header(arguments)?;
                if field(header, "msg_control").is_some_and(|value| *value != Value::List(Vec::new())) {
                    return unsupported("control messages that are sent are not supported on a kernel");
                }
                let (mut parts, flags) = (message_parts(header)?, arguments.int(2)?);
                Box::new(move || answer(system::send_message(live, &mut parts, flags)))
            }
        })
    }

    fn receives(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let live = self.live(arguments.get(0)?)?;
        Ok(match arguments.name() {
            "read" => {
                let mut part = arguments.part(1)?;
                Box::new(move || answer(system::read(live, &mut part)))
            }
            "recv" | "recvfrom" => {
                let (mut part, flags) = (arguments.part(1)?, arguments.int(3)?);
                Box::new(move || answer(system::receive(live, &mut part, flags)))
            }
            "readv" => {
                let mut parts = parts(arguments.get(1)?)?;
                Box::new(move || answer(system::read_vector(live, &mut parts)))
            }
            _ => {
                let (mut parts, flags) = (message_parts(header(arguments)?)?, arguments.int(2)?);
                let zero_ns = self.zero_realtime_ns;
                Box::new(move || match system::receive_message(live, &mut parts, flags) {
                    Ok(received) => {
                        let message = Some(message(&received, zero_ns)?);
                        Ok(Answer { message, ..answer(Ok(received.result))? })
                    }
                    Err(refusal) => answer(Err(refusal)),
                })
            }
        })
    }
}

fn header<'a>(arguments: &Arguments<'a>) -> Result<&'a [(String, Value)], CallError> {
    match arguments.get(1)? {
        Value::Structure(fields) => Ok(fields),
        _ => unsupported("a msghdr that is not written out is not supported on a kernel"),
    }
}

fn message_parts(header: &[(String, Value)]) -> Result<Vec<Part>, CallError> {
    field(header, "msg_iov").map_or_else(|| Ok(Vec::new()), parts)
}

/// The memory of `[{..., 1000}, {..., 500}]`.
fn parts(value: &Value) -> Result<Vec<Part>, CallError> {
    let Value::List(items) = value else { return unsupported("the vector is not supported on a kernel") };
    let one = |item: &Value| match item {
        Value::Structure(fields) if fields.len() == 2 => part(&fields[0].1, length(number(&fields[1].1)?)?),
        _ => unsupported("the vector is not supported on a kernel"),
    };
    items.iter().map(one).collect()
}

const TCP_CM_INQ: i32 = 36;
/// `SCM_TIMESTAMPING` has the number of the option that enables it.
const SCM_TIMESTAMPING: i32 = libc::SO_TIMESTAMPING;
/// Offsets in `struct sock_extended_err`. [linux-6.12 errqueue.h]
const EE_INFO: usize = 8;
const EE_DATA: usize = 12;

/// Flags and control messages by name.
fn message(received: &Received, zero_ns: u64) -> Result<Message, CallError> {
    const FLAGS: [(&str, i32); 5] = [
        ("MSG_ERRQUEUE", libc::MSG_ERRQUEUE),
        ("MSG_TRUNC", libc::MSG_TRUNC),
        ("MSG_CTRUNC", libc::MSG_CTRUNC),
        ("MSG_EOR", libc::MSG_EOR),
        ("MSG_OOB", libc::MSG_OOB),
    ];
    let flags = FLAGS.iter().filter(|(_, flag)| received.flags & flag != 0).map(|(name, _)| *name).collect();
    let control = received.control.iter().map(|(level, kind, data)| control(*level, *kind, data, zero_ns));
    Ok(Message { flags, control: control.collect::<Result<_, _>>()? })
}

fn control(level: i32, kind: i32, data: &[u8], zero_ns: u64) -> Result<Control, CallError> {
    let word =
        |at: usize| data.get(at..at + 4).map(|octets| u32::from_ne_bytes(octets.try_into().expect("four")));
    let long =
        |at: usize| data.get(at..at + 8).map(|octets| u64::from_ne_bytes(octets.try_into().expect("eight")));
    let found = match (level, kind) {
        (libc::SOL_TCP, TCP_CM_INQ) => word(0).map(|bytes| Control::Unread(bytes.into())),
        (libc::SOL_SOCKET, SCM_TIMESTAMPING) => long(0).zip(long(8)).map(|(seconds, nanos)| {
            let at_ns = seconds * 1_000_000_000 + nanos;
            Control::StampedAt((at_ns as i64 - zero_ns as i64).div_euclid(1_000))
        }),
        (libc::SOL_IP, libc::IP_RECVERR) => word(EE_INFO).zip(word(EE_DATA)).and_then(|(info, key)| {
            let kind = match info {
                0 => StampKind::Sent,
                1 => StampKind::Scheduled,
                2 => StampKind::Acknowledged,
                _ => return None,
            };
            Some(Control::Stamp(Stamp { kind, key }))
        }),
        _ => None,
    };
    let unknown =
        || CallError::Unsupported(format!("the control message {kind} of level {level} has no name here"));
    found.ok_or_else(unknown)
}

/// Control.
impl Descriptors {
    fn controls(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let live = self.live(arguments.get(0)?)?;
        let command = arguments.int(1)?;
        if arguments.name() == "fcntl" {
            if !matches!(command, libc::F_GETFL | libc::F_SETFL) {
                return unsupported("fcntl other than F_GETFL and F_SETFL is not supported on a kernel");
            }
            let argument = if command == libc::F_SETFL { arguments.int(2)? } else { 0 };
            let named = match &arguments.0.result {
                Value::Integer(_) => None,
                names => Some(number(names)?),
            };
            return Ok(Box::new(move || {
                let answer = answer(system::fcntl(live, command, argument))?;
                match named {
                    Some(wanted) if wanted == answer.value => Ok(Answer { value: RESULT_AS_NAMED, ..answer }),
                    Some(wanted) => failed(format!("fcntl: expected {wanted:#o}, got {:#o}", answer.value)),
                    None => Ok(answer),
                }
            }));
        }
        let wanted = arguments.get(2)?.clone();
        Ok(Box::new(move || match system::ioctl(live, command as u32) {
            Ok((value, written)) => {
                expect("ioctl", &wanted, written.into())?;
                answer(Ok(value))
            }
            Err(refusal) => answer(Err(refusal)),
        }))
    }

    fn control_event_poll(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let (poll, operation) = (self.live(arguments.get(0)?)?, arguments.int(1)?);
        let (live, mut event) = (self.live(arguments.get(2)?)?, event(arguments.get(3)?)?);
        Ok(Box::new(move || answer(system::epoll_control(poll, operation, live, &mut event))))
    }

    fn wait_for_events(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let (poll, wanted) = (self.live(arguments.get(0)?)?, event(arguments.get(1)?)?);
        let (max, timeout) = (arguments.int(2)?, arguments.int(3)?);
        if max != 1 {
            return unsupported("an epoll_wait for more than one event is not supported on a kernel");
        }
        Ok(Box::new(move || {
            let mut got = libc::epoll_event { events: 0, u64: 0 };
            let answer = answer(system::epoll_wait(poll, &mut got, timeout))?;
            let fields = |event: libc::epoll_event| (event.events, event.u64);
            if answer.value == 1 && fields(got) != fields(wanted) {
                let ((events, data), (of_script, data_of_script)) = (fields(got), fields(wanted));
                return failed(format!(
                    "epoll_wait: expected events={of_script:#x} with {data_of_script}, got {events:#x} with {data}"
                ));
            }
            Ok(answer)
        }))
    }

    fn poll(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let Value::List(items) = arguments.get(0)? else {
            return unsupported("poll without a list is not supported on a kernel");
        };
        let mut entries = Vec::new();
        let mut wanted = Vec::new();
        for item in items {
            let Value::Structure(fields) = item else {
                return unsupported("this pollfd is not supported on a kernel");
            };
            let (Some(descriptor), Some(events)) = (field(fields, "fd"), field(fields, "events")) else {
                return unsupported("a pollfd without fd or events is not supported on a kernel");
            };
            let events = number(events)? as i16;
            entries.push(libc::pollfd { fd: self.live(descriptor)?, events, revents: 0 });
            wanted.push(match field(fields, "revents") {
                None => Some(0),
                Some(Value::Anything) => None,
                Some(value) => Some(number(value)? as i16),
            });
        }
        let timeout = arguments.int(2)?;
        Ok(Box::new(move || {
            let answer = answer(system::poll(&mut entries, timeout))?;
            for (entry, wanted) in entries.iter().zip(&wanted) {
                if wanted.is_some_and(|wanted| wanted != entry.revents) {
                    let wanted = wanted.unwrap_or(0);
                    return failed(format!("poll: expected revents={wanted:#x}, got {:#x}", entry.revents));
                }
            }
            Ok(answer)
        }))
    }
}

/// `{events=EPOLLIN, fd=4}`; the kernel ignores the data beside the events.
fn event(value: &Value) -> Result<libc::epoll_event, CallError> {
    let Value::Structure(fields) = value else {
        return unsupported("this epoll_event is not supported on a kernel");
    };
    let Some(events) = field(fields, "events") else {
        return unsupported("an epoll_event without events is not supported on a kernel");
    };
    let data = ["fd", "ptr", "u32", "u64"].iter().find_map(|name| field(fields, name));
    let data = data.map(number).transpose()?.unwrap_or(0);
    Ok(libc::epoll_event { events: number(events)? as u32, u64: data as u64 })
}

/// Compares the value that a call writes to an argument with the one in the script.
fn expect(name: &str, wanted: &Value, actual: i64) -> Result<(), CallError> {
    let number = match wanted {
        Value::Anything => return Ok(()),
        Value::List(items) if items.len() == 1 => number(&items[0])?,
        other => number(other)?,
    };
    match number == actual {
        true => Ok(()),
        false => failed(format!("{name}: expected {}, got [{actual}]", shown(wanted))),
    }
}

/// As [`expect`] for an `int`, of which -1 and 0xffffffff are the same.
fn expect_int(name: &str, wanted: &Value, actual: i32) -> Result<(), CallError> {
    let signed = expect(name, wanted, actual.into());
    if signed.is_err() { expect(name, wanted, i64::from(actual as u32)).or(signed) } else { signed }
}

/// Options.
impl Descriptors {
    fn set_option(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let live = self.live(arguments.get(0)?)?;
        let (level, name) = (arguments.int(1)?, arguments.int(2)?);
        let length = match arguments.get(4)? {
            Value::Integer(length) => *length,
            _ => 4,
        };
        let octets = octets(arguments.get(3)?, length)?;
        Ok(Box::new(move || answer(system::set_option(live, level, name, &octets))))
    }

    fn get_option(&self, arguments: &Arguments<'_>) -> Result<worker::Call, CallError> {
        let live = self.live(arguments.get(0)?)?;
        let (level, name) = (arguments.int(1)?, arguments.int(2)?);
        let wanted = arguments.get(3)?.clone();
        let of = shown(arguments.get(2)?);
        Ok(Box::new(move || match system::option(live, level, name) {
            Ok(octets) => {
                expect_octets(&of, &wanted, &octets)?;
                answer(Ok(0))
            }
            Err(refusal) => answer(Err(refusal)),
        }))
    }
}

/// The value of an option as the kernel reads it.
fn octets(value: &Value, length: i64) -> Result<Vec<u8>, CallError> {
    match value {
        Value::Text(text) => Ok(text.as_bytes().to_vec()),
        Value::Structure(fields) => {
            let of = |name: &str| field(fields, name).map(number).transpose();
            let two_ints = |a: i64, b: i64| [(a as i32).to_ne_bytes(), (b as i32).to_ne_bytes()].concat();
            let two_longs = |a: i64, b: i64| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
            match (of("onoff")?, of("linger")?, of("tv_sec")?, of("tv_usec")?) {
                (Some(on), Some(linger), ..) => Ok(two_ints(on, linger)),
                (.., Some(seconds), Some(micros)) => Ok(two_longs(seconds, micros)),
                _ => unsupported(format!("the option value {} is not supported on a kernel", shown(value))),
            }
        }
        value => {
            let number = number(value)?;
            match length {
                1 => Ok(vec![number as u8]),
                8 => Ok(number.to_ne_bytes().to_vec()),
                length @ 0..4 => Ok(number.to_ne_bytes()[..length as usize].to_vec()),
                _ => Ok((number as i32).to_ne_bytes().to_vec()),
            }
        }
    }
}

fn expect_octets(name: &str, wanted: &Value, octets: &[u8]) -> Result<(), CallError> {
    let int =
        |at: usize| octets.get(at..at + 4).map(|four| i32::from_ne_bytes(four.try_into().expect("four")));
    match wanted {
        Value::Anything => Ok(()),
        Value::Text(text) => {
            let got = String::from_utf8_lossy(octets);
            let got = got.trim_end_matches('\0');
            match text == got {
                true => Ok(()),
                false => failed(format!("{name}: expected {text}, got {got}")),
            }
        }
        Value::Structure(fields) if octets.len() == 8 => {
            let of = |name: &str| field(fields, name).map(number).transpose();
            let got = (int(0).map(i64::from), int(4).map(i64::from));
            match (of("onoff")?, of("linger")?) == got {
                true => Ok(()),
                false => failed(format!(
                    "{name}: expected {}, got {{onoff={}, linger={}}}",
                    shown(wanted),
                    got.0.unwrap_or(0),
                    got.1.unwrap_or(0)
                )),
            }
        }
        wanted => match octets.len() {
            1 => expect(name, wanted, octets[0].into()),
            4 => expect_int(name, wanted, int(0).unwrap_or(0)),
            8 => expect(name, wanted, i64::from_ne_bytes(octets.try_into().expect("eight"))),
            length => unsupported(format!("{name}: a value of {length} octets is not supported on a kernel")),
        },
    }
}
