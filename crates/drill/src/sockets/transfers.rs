//! Calls that write and read.

use tailback_script::message::{Control, Message, Stamp};
use tailback_units::Bytes;

use crate::connection::{Connection, Phase};
use crate::kernel::{Ending, Kernel, on_script};
use crate::script::Value;
use crate::sockets::arguments::{Arguments, TRANSFER_MAX};
use crate::sockets::{CallError, Outcome, Progress, Returned, Sockets, Waiting, failed, unsupported};
use crate::stamping::Stamping;

/// Calls.
impl Sockets {
    pub(super) fn write(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (length, flags) = transfer(arguments)?;
        let non_blocking = self.descriptor(arguments)?.non_blocking || take_flag(&flags, WRITE_FLAGS)?;
        let Some(index) = self.connection(arguments)? else { return failed("EPIPE") };
        let ending = if flags.iter().any(|flag| flag == "MSG_MORE") { Ending::More } else { Ending::Pushed };
        self.begin(Waiting::Write { index, done: 0, left: length, ending }, non_blocking, kernel)
    }

    pub(super) fn read(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (most, flags) = transfer(arguments)?;
        let non_blocking = self.descriptor(arguments)?.non_blocking || take_flag(&flags, READ_FLAGS)?;
        let Some(index) = self.connection(arguments)? else { return failed("ENOTCONN") };
        if flags.iter().any(|flag| flag == "MSG_ERRQUEUE") {
            return read_error_queue(&mut kernel.connections[index].stamping, most);
        }
        self.begin(Waiting::Read { index, most }, non_blocking, kernel)
    }
}

/// Flags that change nothing here, beside `MSG_DONTWAIT`.
const WRITE_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL", "MSG_MORE"];
const READ_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL", "MSG_ERRQUEUE"];

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
            let sends = arguments.0.name == "sendmsg";
            if sends && field("msg_control").is_some_and(|value| *value != Value::List(Vec::new())) {
                return unsupported("control messages that are sent are not modelled");
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

pub(super) fn go_on_writing(waiting: Waiting, kernel: &mut Kernel) -> Progress {
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

pub(super) fn go_on_reading(index: usize, most: u64, kernel: &mut Kernel) -> Option<Returned> {
    let now = kernel.now;
    let connection = &mut kernel.connections[index];
    if connection.endpoint.readable_bytes().0 > 0 {
        let bytes = connection.endpoint.read_at_most(Bytes(most), now);
        if connection.phase != Phase::Reset {
            kernel.drain(index);
        }
        return Some(Returned::message(bytes.0 as i64, message(&kernel.connections[index])));
    }
    if let Some(errno) = connection.error.take() {
        return Some(if errno == "EPIPE" { Returned::value(0) } else { Returned::error(errno) });
    }
    let over = connection.endpoint.at_end() || connection.deaf || connection.phase == Phase::Reset;
    over.then(|| Returned::message(0, message(&kernel.connections[index])))
}

/// What `recvmsg` tells of a socket beside the data.
fn message(connection: &Connection) -> Message {
    let endpoint = &connection.endpoint;
    // The FIN counts as one byte, so that the application comes for the end. [linux-6.12 tcp.c tcp_inq_hint]
    let unread = endpoint.readable_bytes().0 + u64::from(endpoint.at_end());
    let control = if connection.tells_unread { vec![Control::Unread(unread)] } else { Vec::new() };
    Message { flags: Vec::new(), control }
}

/// The oldest entry of the error queue. [linux-6.12 ip_sockglue.c ip_recv_error]
fn read_error_queue(stamping: &mut Stamping, most: u64) -> Outcome {
    if most > 0 && !stamping.flags.stamp_only {
        return unsupported("reading the copy of a packet from the error queue is not modelled");
    }
    let Some(report) = stamping.take() else { return failed("EAGAIN") };
    let flags: &[&str] =
        if stamping.flags.stamp_only { &["MSG_ERRQUEUE"] } else { &["MSG_ERRQUEUE", "MSG_TRUNC"] };
    let stamp = Control::Stamp(Stamp { kind: report.kind, key: report.key });
    let control = if stamping.flags.times {
        vec![Control::StampedAt(on_script(report.at)), stamp]
    } else {
        vec![stamp]
    };
    Ok(Progress::Returned(Returned::message(0, Message { flags: flags.to_vec(), control })))
}
