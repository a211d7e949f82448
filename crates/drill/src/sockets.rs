//! System calls: descriptors, socket options, and calls that block.
//!
//! A call returns at once or blocks; the runner tries a blocked one again after each event. A call that needs more than
//! is modelled is refused as unsupported.

mod arguments;
mod event_polling;
mod options;
mod polling;
mod transfers;

use std::collections::BTreeMap;

use tailback_script::message::Message;
pub(crate) use tailback_script::player::CallError;
use tailback_script::player::RESULT_AS_NAMED;
use tailback_units::SimTime;

use crate::connection::{ConnectionState, SocketOptions};
use crate::kernel::Kernel;
use crate::script::{Call, Value};
use crate::skbs::Ending;
use crate::sockets::arguments::{Arguments, expect_value, shown};
use crate::sockets::event_polling::Interest;
use crate::sockets::transfers::{go_on_reading, go_on_writing};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Unconnected,
    Listening,
    Connected(usize),
    /// Of `epoll`.
    EventPoll,
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
    /// By the numbers of an epoll and of a descriptor in its list.
    interests: BTreeMap<(i64, i64), Interest>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) value: i64,
    pub(crate) errno: Option<&'static str>,
    /// It is a new descriptor, whose number the script chooses.
    opens: Option<Box<Descriptor>>,
    /// What came with the data of a `recvmsg`.
    pub(crate) message: Option<Box<Message>>,
}

impl Returned {
    fn value(value: i64) -> Self {
        Returned { value, errno: None, opens: None, message: None }
    }

    fn error(errno: &'static str) -> Self {
        Returned { value: -1, errno: Some(errno), opens: None, message: None }
    }

    fn descriptor(descriptor: Descriptor) -> Self {
        Returned { value: 0, errno: None, opens: Some(Box::new(descriptor)), message: None }
    }

    fn message(value: i64, message: Message) -> Self {
        Returned { message: Some(Box::new(message)), ..Returned::value(value) }
    }

    /// The value is a descriptor's number.
    pub(crate) fn is_descriptor(&self) -> bool {
        self.opens.is_some()
    }
}

/// A call that has not returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    Accept {
        listener: i64,
        non_blocking: bool,
    },
    Connect(usize),
    Write {
        index: usize,
        done: u64,
        left: u64,
        ending: Ending,
    },
    Read {
        index: usize,
        max: u64,
    },
    /// `poll`; `None` = without a time-out.
    Poll {
        until: Option<SimTime>,
    },
    /// `epoll_wait`; `None` = without a time-out.
    EventPoll {
        until: Option<SimTime>,
    },
}

/// A call's progress.
pub(crate) enum Progress {
    Returned(Returned),
    Waits(Waiting),
}

type Outcome = Result<Progress, CallError>;

fn returned(value: i64) -> Outcome {
    Ok(Progress::Returned(Returned::value(value)))
}

/// `O_NONBLOCK` and `SOCK_NONBLOCK`. [linux-6.12 asm-generic/fcntl.h]
const O_NONBLOCK: i64 = 0o4000;
const IOCTLS: &[&str] = &["SIOCINQ", "FIONREAD", "SIOCOUTQNSD"];

fn failed(errno: &'static str) -> Outcome {
    Ok(Progress::Returned(Returned::error(errno)))
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Unsupported(what.into()))
}

/// Calls.
impl Sockets {
    /// The options of the listening socket, if there is one.
    pub(crate) fn listener(&self) -> Option<&SocketOptions> {
        let mut listening = self.descriptors.values().filter(|descriptor| descriptor.role == Role::Listening);
        listening.next().map(|descriptor| &descriptor.options)
    }

    /// Executes a call, as far as it does not block.
    pub(crate) fn call(&mut self, call: &Call, kernel: &mut Kernel) -> Outcome {
        let arguments = Arguments(call);
        if self.is_closed(&arguments) {
            return failed("EBADF");
        }
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
            "epoll_create" => self.open_event_poll(),
            "epoll_ctl" => self.control_event_poll(&arguments, kernel),
            "epoll_wait" => self.wait_for_events(&arguments, kernel),
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

    /// A descriptor that the script does not have, or no longer.
    fn is_closed(&self, arguments: &Arguments<'_>) -> bool {
        let first = arguments.0.arguments.first();
        let has_one = !matches!(arguments.0.name.as_str(), "socket" | "poll" | "epoll_create");
        has_one && matches!(first, Some(Value::Integer(number)) if !self.descriptors.contains_key(number))
    }

    fn descriptor(&mut self, arguments: &Arguments<'_>) -> Result<&mut Descriptor, CallError> {
        let number = arguments.integer(0)?;
        let unknown = || CallError::Unsupported(format!("{number} is not a descriptor of this script"));
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
        let non_blocking =
            arguments.0.name == "accept4" && arguments.has_flag(3, "SOCK_NONBLOCK", O_NONBLOCK)?;
        let waiting = Waiting::Accept { listener, non_blocking };
        self.begin(arguments.0, waiting, (returns_at_once, kernel))
    }

    fn connect(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        if let Some(Value::Word(address)) = arguments.0.arguments.get(1) {
            return unsupported(format!("connect to `{address}` is not modelled"));
        }
        let descriptor = self.descriptor(arguments)?;
        match descriptor.role {
            Role::Unconnected => {}
            Role::Listening => return failed("EISCONN"),
            Role::EventPoll => return failed("ENOTSOCK"),
            Role::Connected(index) => {
                let state = kernel.connections[index].state;
                return failed(if state == ConnectionState::SynSent { "EALREADY" } else { "EISCONN" });
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

    /// First try of a call that may wait.
    fn begin(
        &mut self,
        call: &Call,
        waiting: Waiting,
        (non_blocking, kernel): (bool, &mut Kernel),
    ) -> Outcome {
        match self.go_on(call, waiting, kernel)? {
            Progress::Waits(Waiting::Write { index, done, .. }) if non_blocking && done > 0 => {
                kernel.end_write(index);
                returned(done as i64)
            }
            Progress::Waits(_) if non_blocking => failed("EAGAIN"),
            progress => Ok(progress),
        }
    }

    /// A call that waits tries again.
    pub(crate) fn go_on(&mut self, call: &Call, waiting: Waiting, kernel: &mut Kernel) -> Outcome {
        let done = match waiting {
            Waiting::Accept { listener, non_blocking } => {
                self.go_on_accepting(listener, non_blocking, kernel)
            }
            Waiting::Connect(index) => go_on_connecting(index, kernel),
            Waiting::Write { .. } => return Ok(go_on_writing(waiting, kernel)),
            Waiting::Poll { until } => return self.go_on_polling(call, until, kernel),
            Waiting::EventPoll { until } => return self.go_on_waiting_for_events(call, until, kernel),
            Waiting::Read { index, max } => go_on_reading(index, max, kernel),
        };
        Ok(done.map_or(Progress::Waits(waiting), Progress::Returned))
    }

    fn go_on_accepting(
        &mut self,
        listener: i64,
        non_blocking: bool,
        kernel: &mut Kernel,
    ) -> Option<Returned> {
        let index = kernel.connections.iter().position(|connection| {
            !connection.accepted
                && !matches!(connection.state, ConnectionState::SynSent | ConnectionState::SynReceived)
        })?;
        let options = self.descriptors.get(&listener)?.options.clone();
        kernel.connections[index].accepted = true;
        kernel.connections[index].endpoint.set_accepted(true);
        Some(Returned::descriptor(Descriptor { role: Role::Connected(index), options, non_blocking }))
    }

    fn close(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let number = arguments.integer(0)?;
        let descriptor = self.descriptor(arguments)?.clone();
        self.descriptors.remove(&number);
        self.leave_event_polls(number);
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
                kernel.connections[index].read_shut = true;
                returned(0)
            }
            "SHUT_WR" | "SHUT_RDWR" | "1" | "2" => {
                kernel.connections[index].read_shut |= how[0] == "SHUT_RDWR" || how[0] == "2";
                shut(index, kernel);
                returned(0)
            }
            other => unsupported(format!("shutdown({other}) is not modelled")),
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
                let non_blocking = arguments.has_flag(2, "O_NONBLOCK", O_NONBLOCK)?;
                self.descriptor(arguments)?.non_blocking = non_blocking;
                returned(0)
            }
            other => unsupported(format!("fcntl({other}) is not modelled")),
        }
    }

    fn ioctl(&mut self, arguments: &Arguments<'_>, kernel: &Kernel) -> Outcome {
        let request = arguments.words(1)?;
        if !IOCTLS.contains(&request[0].as_str()) {
            return unsupported(format!("ioctl({}) is not modelled", request[0]));
        }
        let Some(index) = self.connection(arguments)? else { return failed("EINVAL") };
        let connection = &kernel.connections[index];
        let info = connection.endpoint.tcp_info(kernel.now);
        let actual = match request[0].as_str() {
            "SIOCOUTQNSD" => info.notsent_bytes.0,
            _ => connection.endpoint.readable_bytes().0,
        };
        expect_value(arguments, 2, actual as i64)?;
        returned(0)
    }
}

/// Shuts down the sending side: sends data that waited for more, and a FIN.
fn shut(index: usize, kernel: &mut Kernel) {
    let connection = &mut kernel.connections[index];
    connection.shut_sending();
    connection.endpoint.close(kernel.now);
    kernel.drain(index);
}

fn go_on_connecting(index: usize, kernel: &mut Kernel) -> Option<Returned> {
    let connection = &mut kernel.connections[index];
    match connection.state {
        ConnectionState::SynSent | ConnectionState::SynReceived => None,
        ConnectionState::Established => Some(Returned::value(0)),
        ConnectionState::Reset => Some(Returned::error(connection.error.take().unwrap_or("ECONNREFUSED"))),
    }
}

/// Closing with unread data resets. [rfc2525 §2.17] [linux-6.12 tcp.c __tcp_close]
fn close_connection(index: usize, options: &SocketOptions, kernel: &mut Kernel) {
    let connection = &mut kernel.connections[index];
    connection.orphaned = true;
    connection.shut_sending();
    let unread = connection.endpoint.readable_bytes().0 > 0;
    match connection.state {
        ConnectionState::Established if unread || options.resets_on_close => {
            let (rcv_nxt, snd_nxt) = connection.endpoint.positions();
            kernel.send_reset(index, snd_nxt, Some(rcv_nxt));
        }
        ConnectionState::Established => shut(index, kernel),
        // The SYN is not retransmitted; a reply to it is refused.
        ConnectionState::SynSent => connection.state = ConnectionState::Reset,
        ConnectionState::SynReceived | ConnectionState::Reset => {}
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
