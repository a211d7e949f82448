//! System calls: descriptors, socket options, and calls that block.
//!
//! A call either returns at once or waits; the runner asks a waiting one again after whatever happens. What a call
//! would need beyond the machines is refused as unsupported.

use std::collections::BTreeMap;

use tailback_units::{Bytes, Rate, Span};

use crate::connection::Phase;
use crate::kernel::{Ending, Kernel};
use crate::script::{Call, Value};

/// `net.core.rmem_max` and `wmem_max`: what an application may ask for. [linux-6.12 sock.c]
const BUFFER_MAX: i64 = 212_992;
/// Smallest buffers. [linux-6.12 sock.h SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF]
const SNDBUF_MIN: i64 = 4608;
const RCVBUF_MIN: i64 = 2304;
/// Bytes of one read or write at most: none of a script is as long.
const TRANSFER_MAX: i64 = 1 << 32;

/// What an application chose for a socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketOptions {
    pub(crate) mss: Option<u32>,
    pub(crate) sndbuf: Option<u64>,
    pub(crate) rcvbuf: Option<u64>,
    pub(crate) congestion_control: Option<String>,
    no_delay: bool,
    /// `SO_LINGER` with no time: closing resets.
    resets_on_close: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Unconnected,
    Listening,
    Connected(usize),
}

#[derive(Clone, Debug)]
struct Descriptor {
    role: Role,
    options: SocketOptions,
    non_blocking: bool,
}

/// The descriptors of the application, by the script's numbers.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    descriptors: BTreeMap<i64, Descriptor>,
}

/// What a call returned.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) value: i64,
    pub(crate) errno: Option<&'static str>,
    /// It is a new descriptor, whose number the script chooses.
    opens: Option<Box<Descriptor>>,
}

impl Returned {
    fn value(value: i64) -> Self {
        Returned { value, errno: None, opens: None }
    }

    fn error(errno: &'static str) -> Self {
        Returned { value: -1, errno: Some(errno), opens: None }
    }

    fn descriptor(descriptor: Descriptor) -> Self {
        Returned { value: 0, errno: None, opens: Some(Box::new(descriptor)) }
    }

    /// The value is a descriptor's number.
    pub(crate) fn is_descriptor(&self) -> bool {
        self.opens.is_some()
    }
}

/// A call that has not returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    Accept { listener: i64, non_blocking: bool },
    Connect(usize),
    Write { index: usize, done: u64, left: u64, ending: Ending },
    Read { index: usize, most: u64 },
}

/// A call's progress.
pub(crate) enum Progress {
    Returned(Returned),
    Waits(Waiting),
}

/// Why a call was not carried out.
#[derive(Debug)]
pub(crate) enum CallError {
    Unsupported(String),
    Failed(String),
}

type Outcome = Result<Progress, CallError>;

fn returned(value: i64) -> Outcome {
    Ok(Progress::Returned(Returned::value(value)))
}

fn failed(errno: &'static str) -> Outcome {
    Ok(Progress::Returned(Returned::error(errno)))
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Unsupported(what.into()))
}

/// The arguments of a call.
struct Arguments<'a>(&'a Call);

impl<'a> Arguments<'a> {
    fn get(&self, place: usize) -> Result<&'a Value, CallError> {
        let missing = || CallError::Failed(format!("{} needs at least {} arguments", self.0.name, place + 1));
        self.0.arguments.get(place).ok_or_else(missing)
    }

    fn integer(&self, place: usize) -> Result<i64, CallError> {
        match self.get(place)? {
            Value::Integer(value) => Ok(*value),
            other => Err(CallError::Failed(format!("{}: `{}` is not a number", self.0.name, shown(other)))),
        }
    }

    fn length(&self, place: usize) -> Result<u64, CallError> {
        let length = self.integer(place)?;
        match (0..=TRANSFER_MAX).contains(&length) {
            true => Ok(length as u64),
            false => Err(CallError::Failed(format!("{}: a length of {length}", self.0.name))),
        }
    }

    /// The words of `A|B|C`; a number is one of its own.
    fn words(&self, place: usize) -> Result<Vec<String>, CallError> {
        Ok(match self.get(place)? {
            Value::Union(parts) => parts.iter().map(shown).collect(),
            other => vec![shown(other)],
        })
    }

    /// The number in `[5]`.
    fn in_brackets(&self, place: usize) -> Result<Option<i64>, CallError> {
        Ok(match self.get(place)? {
            Value::List(items) => match items.as_slice() {
                [Value::Integer(value)] => Some(*value),
                _ => None,
            },
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Anything => "...".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Word(text) | Value::Text(text) => text.clone(),
        Value::Union(parts) => parts.iter().map(shown).collect::<Vec<_>>().join("|"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Structure(fields) => {
            let field = |(name, value): &(String, Value)| format!("{name}={}", shown(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Calls.
impl Sockets {
    /// What the application chose for the socket that listens, if one does.
    pub(crate) fn listener(&self) -> Option<&SocketOptions> {
        let mut listening = self.descriptors.values().filter(|descriptor| descriptor.role == Role::Listening);
        listening.next().map(|descriptor| &descriptor.options)
    }

    /// Carries a call out, as far as it goes without waiting.
    pub(crate) fn call(&mut self, call: &Call, kernel: &mut Kernel) -> Outcome {
        let arguments = Arguments(call);
        match call.name.as_str() {
            "socket" => socket(&arguments),
            "bind" => self.descriptor(&arguments).map(|_| ()).and_then(|()| returned(0)),
            "listen" => self.listen(&arguments),
            "accept" | "accept4" => self.accept(&arguments, kernel),
            "connect" => self.connect(&arguments, kernel),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.write(&arguments, kernel),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.read(&arguments, kernel),
            "close" => self.close(&arguments, kernel),
            "shutdown" => self.shutdown(&arguments, kernel),
            "fcntl" => self.fcntl(&arguments),
            "ioctl" => self.ioctl(&arguments, kernel),
            "poll" => self.poll(&arguments, kernel),
            "setsockopt" => self.set_option(&arguments, kernel),
            "getsockopt" => self.get_option(&arguments, kernel),
            name => unsupported(format!("the system call `{name}` is not modelled")),
        }
    }

    /// The new descriptor of a call that opens one gets its number.
    pub(crate) fn name(&mut self, number: i64, returned: Returned) {
        if let Some(descriptor) = returned.opens {
            self.descriptors.insert(number, *descriptor);
        }
    }

    fn descriptor(&mut self, arguments: &Arguments<'_>) -> Result<&mut Descriptor, CallError> {
        let number = arguments.integer(0)?;
        let unknown = || CallError::Failed(format!("{number} is not a descriptor of this script"));
        self.descriptors.get_mut(&number).ok_or_else(unknown)
    }

    /// The conversation of a descriptor; `None` if it has none.
    fn connection(&mut self, arguments: &Arguments<'_>) -> Result<Option<usize>, CallError> {
        Ok(match self.descriptor(arguments)?.role {
            Role::Connected(index) => Some(index),
            _ => None,
        })
    }

    fn listen(&mut self, arguments: &Arguments<'_>) -> Outcome {
        let descriptor = self.descriptor(arguments)?;
        if let Role::Connected(_) = descriptor.role {
            return failed("EINVAL");
        }
        descriptor.role = Role::Listening;
        returned(0)
    }

    fn accept(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let listener = arguments.integer(0)?;
        let (role, returns_at_once) = {
            let descriptor = self.descriptor(arguments)?;
            (descriptor.role, descriptor.non_blocking)
        };
        if role != Role::Listening {
            return failed("EINVAL");
        }
        let flags = if arguments.0.name == "accept4" { arguments.words(3)? } else { Vec::new() };
        let waiting =
            Waiting::Accept { listener, non_blocking: flags.iter().any(|flag| flag == "SOCK_NONBLOCK") };
        self.begin(waiting, returns_at_once, kernel)
    }

    fn connect(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let descriptor = self.descriptor(arguments)?;
        match descriptor.role {
            Role::Unconnected => {}
            Role::Listening => return failed("EISCONN"),
            Role::Connected(index) => {
                let phase = kernel.connections[index].phase;
                return failed(if phase == Phase::SynSent { "EALREADY" } else { "EISCONN" });
            }
        }
        let index = kernel.connect(&descriptor.options).map_err(|why| CallError::Unsupported(why.0))?;
        descriptor.role = Role::Connected(index);
        kernel.connections[index].accepted = true;
        let non_blocking = descriptor.non_blocking;
        let no_delay = descriptor.options.no_delay;
        if no_delay {
            kernel.connections[index].endpoint.set_no_delay(kernel.now);
        }
        if non_blocking { failed("EINPROGRESS") } else { Ok(Progress::Waits(Waiting::Connect(index))) }
    }

    fn write(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (length, flags) = transfer(arguments)?;
        let non_blocking = self.descriptor(arguments)?.non_blocking || take_flag(&flags, WRITE_FLAGS)?;
        let Some(index) = self.connection(arguments)? else { return failed("EPIPE") };
        let ending = if flags.iter().any(|flag| flag == "MSG_MORE") { Ending::More } else { Ending::Pushed };
        self.begin(Waiting::Write { index, done: 0, left: length, ending }, non_blocking, kernel)
    }

    fn read(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (most, flags) = transfer(arguments)?;
        let non_blocking = self.descriptor(arguments)?.non_blocking || take_flag(&flags, READ_FLAGS)?;
        let Some(index) = self.connection(arguments)? else { return failed("ENOTCONN") };
        self.begin(Waiting::Read { index, most }, non_blocking, kernel)
    }

    /// First try of a call that may wait.
    fn begin(&mut self, waiting: Waiting, non_blocking: bool, kernel: &mut Kernel) -> Outcome {
        match self.go_on(waiting, kernel) {
            Progress::Waits(Waiting::Write { done, .. }) if non_blocking && done > 0 => returned(done as i64),
            Progress::Waits(_) if non_blocking => failed("EAGAIN"),
            progress => Ok(progress),
        }
    }

    /// A call that waits tries again.
    pub(crate) fn go_on(&mut self, waiting: Waiting, kernel: &mut Kernel) -> Progress {
        let done = match waiting {
            Waiting::Accept { listener, non_blocking } => {
                self.go_on_accepting(listener, non_blocking, kernel)
            }
            Waiting::Connect(index) => go_on_connecting(index, kernel),
            Waiting::Write { .. } => return go_on_writing(waiting, kernel),
            Waiting::Read { index, most } => go_on_reading(index, most, kernel),
        };
        done.map_or(Progress::Waits(waiting), Progress::Returned)
    }

    fn go_on_accepting(
        &mut self,
        listener: i64,
        non_blocking: bool,
        kernel: &mut Kernel,
    ) -> Option<Returned> {
        let index = kernel.connections.iter().position(|connection| {
            !connection.accepted && !matches!(connection.phase, Phase::SynSent | Phase::SynReceived)
        })?;
        let options = self.descriptors.get(&listener)?.options.clone();
        kernel.connections[index].accepted = true;
        Some(Returned::descriptor(Descriptor { role: Role::Connected(index), options, non_blocking }))
    }

    fn close(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let number = arguments.integer(0)?;
        let descriptor = self.descriptor(arguments)?.clone();
        self.descriptors.remove(&number);
        if let Role::Connected(index) = descriptor.role {
            close_connection(index, &descriptor.options, kernel);
        }
        returned(0)
    }

    fn shutdown(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let how = arguments.words(1)?;
        let Some(index) = self.connection(arguments)? else { return failed("ENOTCONN") };
        match how[0].as_str() {
            "SHUT_RD" | "0" => {
                kernel.connections[index].deaf = true;
                returned(0)
            }
            "SHUT_WR" | "SHUT_RDWR" | "1" | "2" => {
                kernel.connections[index].deaf |= how[0] == "SHUT_RDWR" || how[0] == "2";
                shut(index, kernel);
                returned(0)
            }
            _ => failed("EINVAL"),
        }
    }

    fn fcntl(&mut self, arguments: &Arguments<'_>) -> Outcome {
        let command = arguments.words(1)?;
        match command[0].as_str() {
            "F_GETFL" => {
                let wanted = &arguments.0.result;
                // O_RDWR is 2, O_NONBLOCK 2048; scripts write either names or numbers.
                let flags = if self.descriptor(arguments)?.non_blocking { 2 | 2048 } else { 2 };
                let named = shown(wanted).contains("O_RDWR");
                let non_blocking = shown(wanted).contains("O_NONBLOCK") == (flags != 2);
                returned(if named && non_blocking { RESULT_AS_NAMED } else { flags })
            }
            "F_SETFL" => {
                let flags = arguments.words(2)?;
                self.descriptor(arguments)?.non_blocking = flags.iter().any(|flag| flag == "O_NONBLOCK");
                returned(0)
            }
            other => unsupported(format!("fcntl({other}) is not modelled")),
        }
    }

    fn ioctl(&mut self, arguments: &Arguments<'_>, kernel: &Kernel) -> Outcome {
        let request = arguments.words(1)?;
        let Some(index) = self.connection(arguments)? else { return failed("EINVAL") };
        let connection = &kernel.connections[index];
        let info = connection.endpoint.tcp_info(kernel.now);
        let actual = match request[0].as_str() {
            "SIOCINQ" | "FIONREAD" => connection.endpoint.readable_bytes().0,
            "SIOCOUTQNSD" => info.notsent_bytes.0,
            other => return unsupported(format!("ioctl({other}) is not modelled")),
        };
        expect_value(arguments, 2, actual as i64)?;
        returned(0)
    }
}

/// A result that the script writes in names and that was found right.
pub(crate) const RESULT_AS_NAMED: i64 = i64::MAX;

/// Flags that change nothing here, beside `MSG_DONTWAIT`.
const WRITE_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL", "MSG_MORE"];
const READ_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL"];

/// True if the flags ask not to wait; refuses those that are not modelled.
fn take_flag(flags: &[String], harmless: &[&str]) -> Result<bool, CallError> {
    let other = flags.iter().find(|flag| *flag != "MSG_DONTWAIT" && !harmless.contains(&flag.as_str()));
    match other {
        Some(flag) => unsupported(format!("the flag {flag} is not modelled")),
        None => Ok(flags.iter().any(|flag| flag == "MSG_DONTWAIT")),
    }
}

/// Length and flags of a read or write.
fn transfer(arguments: &Arguments<'_>) -> Result<(u64, Vec<String>), CallError> {
    match arguments.0.name.as_str() {
        "read" | "write" => Ok((arguments.length(2)?, Vec::new())),
        "send" | "recv" | "sendto" | "recvfrom" => Ok((arguments.length(2)?, arguments.words(3)?)),
        "readv" | "writev" => Ok((vectors(arguments.get(1)?)?, Vec::new())),
        _ => {
            let Value::Structure(fields) = arguments.get(1)? else {
                return unsupported("the msghdr is not modelled");
            };
            let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
            if field("msg_control").is_some_and(|value| *value != Value::List(Vec::new())) {
                return unsupported("control messages are not modelled");
            }
            let Some(parts) = field("msg_iov") else {
                return unsupported("a msghdr without msg_iov is not modelled");
            };
            Ok((vectors(parts)?, arguments.words(2)?))
        }
    }
}

/// Bytes of `[{..., 1000}, {..., 500}]`.
fn vectors(value: &Value) -> Result<u64, CallError> {
    let Value::List(items) = value else { return unsupported("the vector is not modelled") };
    let length = |item: &Value| match item {
        Value::Structure(fields) => match fields.get(1) {
            Some((_, Value::Integer(length))) if (0..=TRANSFER_MAX).contains(length) => Ok(*length as u64),
            _ => unsupported("the vector is not modelled"),
        },
        _ => unsupported("the vector is not modelled"),
    };
    items.iter().map(length).sum()
}

/// The sending side ends: what was held back leaves, and a FIN.
fn shut(index: usize, kernel: &mut Kernel) {
    kernel.release_short_end(index);
    kernel.connections[index].shut = true;
    kernel.connections[index].endpoint.close(kernel.now);
    kernel.drain(index);
}

fn go_on_connecting(index: usize, kernel: &mut Kernel) -> Option<Returned> {
    let connection = &mut kernel.connections[index];
    match connection.phase {
        Phase::SynSent | Phase::SynReceived => None,
        Phase::Established => Some(Returned::value(0)),
        Phase::Reset => Some(Returned::error(connection.error.take().unwrap_or("ECONNREFUSED"))),
    }
}

fn go_on_writing(waiting: Waiting, kernel: &mut Kernel) -> Progress {
    let Waiting::Write { index, done, left, ending } = waiting else { return Progress::Waits(waiting) };
    let connection = &mut kernel.connections[index];
    if connection.phase == Phase::Reset || connection.shut {
        let errno = connection.error.take().unwrap_or("EPIPE");
        return Progress::Returned(if done > 0 {
            Returned::value(done as i64)
        } else {
            Returned::error(errno)
        });
    }
    let connected = connection.phase == Phase::Established;
    let mut taken = 0;
    if connected && (done == 0 || kernel.writable(index)) {
        taken = kernel.write(index, left, ending);
    }
    let (done, left) = (done + taken, left - taken);
    match left {
        0 => Progress::Returned(Returned::value(done as i64)),
        left => Progress::Waits(Waiting::Write { index, done, left, ending }),
    }
}

fn go_on_reading(index: usize, most: u64, kernel: &mut Kernel) -> Option<Returned> {
    let now = kernel.now;
    let connection = &mut kernel.connections[index];
    if connection.endpoint.readable_bytes().0 > 0 {
        let bytes = connection.endpoint.read_at_most(Bytes(most), now);
        if connection.phase != Phase::Reset {
            kernel.drain(index);
        }
        return Some(Returned::value(bytes.0 as i64));
    }
    if let Some(errno) = connection.error.take() {
        return Some(if errno == "EPIPE" { Returned::value(0) } else { Returned::error(errno) });
    }
    let over = connection.endpoint.at_end() || connection.deaf || connection.phase == Phase::Reset;
    over.then(|| Returned::value(0))
}

/// Closing with unread data resets. [rfc2525 §2.17] [linux-6.12 tcp.c __tcp_close]
fn close_connection(index: usize, options: &SocketOptions, kernel: &mut Kernel) {
    let connection = &mut kernel.connections[index];
    connection.orphaned = true;
    connection.shut = true;
    let unread = connection.endpoint.readable_bytes().0 > 0;
    match connection.phase {
        Phase::Established if unread || options.resets_on_close => {
            let (rcv_nxt, snd_nxt) = connection.endpoint.positions();
            kernel.send_reset(index, snd_nxt, Some(rcv_nxt));
        }
        Phase::Established => shut(index, kernel),
        // The SYN is not sent again; what answers it is refused.
        Phase::SynSent => connection.phase = Phase::Reset,
        Phase::SynReceived | Phase::Reset => {}
    }
}

fn socket(arguments: &Arguments<'_>) -> Outcome {
    let family = arguments.words(0)?;
    let kind = arguments.words(1)?;
    if !kind.iter().any(|word| word == "SOCK_STREAM") || !matches!(family[0].as_str(), "..." | "AF_INET") {
        return unsupported(format!("socket({}, {}): TCP over IPv4 only", family.join("|"), kind.join("|")));
    }
    let protocol = arguments.words(2)?;
    if !matches!(protocol[0].as_str(), "IPPROTO_TCP" | "0" | "...") {
        return unsupported(format!("socket(…, {}): TCP only", protocol.join("|")));
    }
    let non_blocking = kind.iter().any(|word| word == "SOCK_NONBLOCK");
    let options = SocketOptions::default();
    let descriptor = Descriptor { role: Role::Unconnected, options, non_blocking };
    Ok(Progress::Returned(Returned::descriptor(descriptor)))
}

/// Options.
impl Sockets {
    fn set_option(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let name = shown(arguments.get(2)?);
        let number = arguments.in_brackets(3)?;
        let descriptor = self.descriptor(arguments)?;
        let connected = match descriptor.role {
            Role::Connected(index) => Some(index),
            _ => None,
        };
        let refused =
            || CallError::Unsupported(format!("setsockopt({name}) with this value is not modelled"));
        match name.as_str() {
            "SO_REUSEADDR" | "SO_REUSEPORT" | "SO_PRIORITY" | "SO_MARK" | "SO_INCOMING_CPU" => {}
            // The first keep-alive is due after two hours.
            "SO_KEEPALIVE" => {}
            "TCP_CORK" => {
                let index = connected.ok_or_else(refused)?;
                kernel.connections[index].corked = number.ok_or_else(refused)? != 0;
                if !kernel.connections[index].corked {
                    kernel.release_short_end(index);
                }
            }
            "TCP_NOTSENT_LOWAT" => {
                let (index, bytes) = (connected.ok_or_else(refused)?, number.ok_or_else(refused)?);
                let unset = if bytes == 0 { kernel.host.notsent_lowat } else { u64::from(bytes as u32) };
                kernel.connections[index].notsent_lowat = unset;
            }
            "SO_MAX_PACING_RATE" => {
                let (index, rate) = (connected.ok_or_else(refused)?, number.ok_or_else(refused)?);
                let rate = Rate::from_bytes_per_sec(u64::from(rate as u32));
                kernel.connections[index].endpoint.set_max_pacing_rate(rate);
            }
            "TCP_USER_TIMEOUT" => {
                let (index, timeout) = (connected.ok_or_else(refused)?, number.ok_or_else(refused)?);
                let Ok(timeout) = u32::try_from(timeout) else { return failed("EINVAL") };
                let span = Span::from_millis(timeout.into());
                kernel.connections[index].endpoint.set_user_timeout((timeout > 0).then_some(span));
            }
            "SO_LINGER" => {
                descriptor.options.resets_on_close = linger(arguments.get(3)?).ok_or_else(refused)?
            }
            "SO_SNDBUF" => {
                let size = doubled(number.ok_or_else(refused)?, SNDBUF_MIN);
                descriptor.options.sndbuf = Some(size);
                if let Some(index) = connected {
                    kernel.connections[index].sndbuf = Some(size);
                }
            }
            "SO_RCVBUF" if connected.is_none() => {
                descriptor.options.rcvbuf = Some(doubled(number.ok_or_else(refused)?, RCVBUF_MIN));
            }
            "TCP_MAXSEG" if connected.is_none() => {
                let mss = number.filter(|mss| (88..=32_767).contains(mss));
                let Some(mss) = mss else { return failed("EINVAL") };
                descriptor.options.mss = Some(mss as u32);
            }
            "TCP_CONGESTION" if connected.is_none() => {
                let control = shown(arguments.get(3)?);
                if tailback_cc::registry::find(&control).is_none() {
                    return unsupported(format!("the congestion control {control} is not modelled"));
                }
                descriptor.options.congestion_control = Some(control);
            }
            "TCP_NODELAY" => set_no_delay(descriptor, number.ok_or_else(refused)?, kernel)?,
            "TCP_QUICKACK" => {
                let index = connected.filter(|_| number == Some(1)).ok_or_else(refused)?;
                kernel.connections[index].endpoint.quick_ack();
                kernel.drain(index);
            }
            _ => return Err(refused()),
        }
        returned(0)
    }

    fn get_option(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let name = shown(arguments.get(2)?);
        let descriptor = self.descriptor(arguments)?;
        let options = descriptor.options.clone();
        let connected = match descriptor.role {
            Role::Connected(index) => Some(index),
            _ => None,
        };
        let unknown = || CallError::Unsupported(format!("getsockopt({name}) is not modelled"));
        if name == "TCP_CONGESTION" {
            let control =
                options.congestion_control.unwrap_or_else(|| kernel.host.congestion_control.clone());
            let wanted = arguments.get(3)?;
            return match *wanted == Value::Anything || shown(wanted) == control {
                true => returned(0),
                false => Err(CallError::Failed(format!("{name}: expected {}, got {control}", shown(wanted)))),
            };
        }
        let actual = match (name.as_str(), connected) {
            ("SO_ERROR", Some(index)) => errno_number(kernel.connections[index].error.take()),
            ("SO_SNDBUF", Some(index)) => kernel.sndbuf(index) as i64,
            ("SO_SNDBUF", None) => options.sndbuf.unwrap_or(kernel.host.tcp.wmem[1]) as i64,
            ("SO_RCVBUF", None) => options.rcvbuf.unwrap_or(kernel.host.tcp.rmem[1]) as i64,
            ("TCP_MAXSEG", Some(index)) => {
                i64::from(kernel.connections[index].endpoint.tcp_info(kernel.now).snd_mss)
            }
            ("TCP_NODELAY", _) => i64::from(options.no_delay),
            ("TCP_CORK", Some(index)) => i64::from(kernel.connections[index].corked),
            ("TCP_NOTSENT_LOWAT", Some(index)) => kernel.connections[index].notsent_lowat as i64,
            _ => return Err(unknown()),
        };
        expect_value(arguments, 3, actual)?;
        returned(0)
    }
}

/// Holds what a call writes into the place of an argument against what the script has there.
fn expect_value(arguments: &Arguments<'_>, place: usize, actual: i64) -> Result<(), CallError> {
    let wanted = arguments.get(place)?;
    match arguments.in_brackets(place)? {
        Some(number) if number == actual => Ok(()),
        None if *wanted == Value::Anything => Ok(()),
        _ => {
            let (name, wanted) = (&arguments.0.name, shown(wanted));
            Err(CallError::Failed(format!("{name}: expected {wanted}, got [{actual}]")))
        }
    }
}

/// `SO_SNDBUF` and `SO_RCVBUF` count the kernel's own memory too: it doubles what it is told.
fn doubled(asked: i64, least: i64) -> u64 {
    (asked.clamp(0, BUFFER_MAX) * 2).max(least) as u64
}

/// `{onoff=1, linger=0}` resets on close; off changes nothing; to linger is not modelled.
fn linger(value: &Value) -> Option<bool> {
    let Value::Structure(fields) = value else { return None };
    let of = |wanted: &str| {
        fields.iter().find_map(|(name, value)| match value {
            Value::Integer(number) if name == wanted => Some(*number),
            _ => None,
        })
    };
    match (of("onoff")?, of("linger")?) {
        (0, _) => Some(false),
        (_, 0) => Some(true),
        _ => None,
    }
}

fn set_no_delay(descriptor: &mut Descriptor, value: i64, kernel: &mut Kernel) -> Result<(), CallError> {
    if value == 0 {
        return match descriptor.options.no_delay {
            true => unsupported("taking TCP_NODELAY back is not modelled"),
            false => Ok(()),
        };
    }
    descriptor.options.no_delay = true;
    if let Role::Connected(index) = descriptor.role {
        kernel.release_short_end(index);
        kernel.connections[index].endpoint.set_no_delay(kernel.now);
        kernel.drain(index);
    }
    Ok(())
}

/// Numbers of Linux on most machines.
fn errno_number(name: Option<&str>) -> i64 {
    match name {
        Some("ECONNREFUSED") => 111,
        Some("ECONNRESET") => 104,
        Some("ETIMEDOUT") => 110,
        Some("EPIPE") => 32,
        _ => 0,
    }
}

/// `poll` that need not wait.
impl Sockets {
    fn poll(&mut self, arguments: &Arguments<'_>, kernel: &Kernel) -> Outcome {
        let Value::List(entries) = arguments.get(0)? else {
            return unsupported("poll without a list is not modelled");
        };
        let mut ready = 0;
        for entry in entries {
            ready += i64::from(self.poll_one(entry, kernel)?);
        }
        if ready == 0 && arguments.integer(2)? != 0 {
            return unsupported("poll that waits is not modelled");
        }
        returned(ready)
    }

    fn poll_one(&self, entry: &Value, kernel: &Kernel) -> Result<bool, CallError> {
        let Value::Structure(fields) = entry else { return unsupported("this pollfd is not modelled") };
        let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let Some(Value::Integer(number)) = field("fd") else {
            return unsupported("a pollfd without fd is not modelled");
        };
        let (Some(events), Some(descriptor)) = (field("events"), self.descriptors.get(number)) else {
            return Err(CallError::Failed(format!("poll: {number} is not a descriptor of this script")));
        };
        let mut found = self.events(descriptor, kernel);
        found.retain(|event| flags(events).contains(*event) || *event == "POLLERR" || *event == "POLLHUP");
        let wanted = field("revents").map_or_else(Vec::new, |value| flags(value).into_iter().collect());
        let same = wanted.len() == found.len() && wanted.iter().all(|event| found.contains(&event.as_str()));
        match same {
            true => Ok(!found.is_empty()),
            false => Err(CallError::Failed(format!(
                "poll: expected revents={}, got {}",
                wanted.join("|"),
                found.join("|")
            ))),
        }
    }

    fn events(&self, descriptor: &Descriptor, kernel: &Kernel) -> Vec<&'static str> {
        let Role::Connected(index) = descriptor.role else {
            let waiting =
                kernel.connections.iter().any(|one| !one.accepted && one.phase == Phase::Established);
            let listening = descriptor.role == Role::Listening;
            return if listening && waiting { vec!["POLLIN"] } else { Vec::new() };
        };
        let connection = &kernel.connections[index];
        let over = connection.endpoint.at_end() || connection.deaf || connection.phase == Phase::Reset;
        let mut found = Vec::new();
        if over || connection.endpoint.readable_bytes().0 > 0 {
            found.push("POLLIN");
        }
        if connection.phase == Phase::Reset
            || (connection.phase == Phase::Established && kernel.writable(index))
        {
            found.push("POLLOUT");
        }
        if over {
            found.push("POLLRDHUP");
        }
        if connection.phase == Phase::Reset {
            found.push("POLLHUP");
        }
        if connection.error.is_some() {
            found.push("POLLERR");
        }
        found
    }
}

fn flags(value: &Value) -> std::collections::BTreeSet<String> {
    match value {
        Value::Union(parts) => parts.iter().map(shown).collect(),
        Value::Integer(0) => std::collections::BTreeSet::new(),
        other => [shown(other)].into(),
    }
}
