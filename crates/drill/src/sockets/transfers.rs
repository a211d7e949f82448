//! Calls that write and read.

use tailback_script::message::{Control, Message, Stamp};
use tailback_units::Bytes;

use crate::connection::{Connection, ConnectionState};
use crate::kernel::{Kernel, on_script};
use crate::script::Value;
use crate::skbs::Ending;
use crate::sockets::arguments::{Arguments, TRANSFER_MAX};
use crate::sockets::{CallError, Outcome, Progress, Returned, Sockets, Waiting, failed, unsupported};
use crate::stamping::Stamping;

/// Calls.
impl Sockets {
    pub(super) fn write(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let Transfer { sound, faults, flags } = transfer(arguments)?;
        // First the flags: those of a socket that never blocks count, too.
        let non_blocking = take_flag(&flags, WRITE_FLAGS)? || self.descriptor(arguments)?.non_blocking;
        let Some(index) = self.connection(arguments)? else { return failed("EPIPE") };
        let has = |wanted: &str| flags.iter().any(|flag| flag == wanted);
        let ending = match (has("MSG_MORE"), has("MSG_EOR")) {
            (false, false) => Ending::Pushed,
            (true, false) => Ending::More,
            (false, true) => Ending::Record,
            (true, true) => return unsupported("MSG_MORE and MSG_EOR at once are not modelled"),
        };
        // A buffer is copied as a whole: after a fault nothing of it is sent.
        let left = if faults { kernel.connections[index].skbs.in_full_buffers(sound) } else { sound };
        let waiting = Waiting::Write { index, done: 0, left, ending };
        match self.begin(arguments.0, waiting, (non_blocking, kernel))? {
            Progress::Returned(Returned { value: 0, .. }) if faults => failed("EFAULT"),
            progress => Ok(progress),
        }
    }

    pub(super) fn read(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let Transfer { sound, faults, flags } = transfer(arguments)?;
        // First the flags: those of a socket that never blocks count, too.
        let non_blocking = take_flag(&flags, READ_FLAGS)? || self.descriptor(arguments)?.non_blocking;
        let Some(index) = self.connection(arguments)? else { return failed("ENOTCONN") };
        if flags.iter().any(|flag| flag == "MSG_ERRQUEUE") {
            return read_error_queue(&mut kernel.connections[index].stamping, sound);
        }
        let faults = faults && sound == 0;
        if faults && kernel.connections[index].endpoint.readable_bytes().0 > 0 {
            return failed("EFAULT");
        }
        match self.begin(arguments.0, Waiting::Read { index, max: sound }, (non_blocking, kernel))? {
            Progress::Waits(_) if faults => unsupported("a read to NULL that waits is not modelled"),
            progress => Ok(progress),
        }
    }
}

/// Flags without effect here, apart from `MSG_DONTWAIT`.
const WRITE_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL", "MSG_MORE", "MSG_EOR"];
const READ_FLAGS: &[&str] = &["0", "...", "MSG_NOSIGNAL", "MSG_ERRQUEUE"];

/// True if the flags include `MSG_DONTWAIT`; refuses flags that are not modelled.
fn take_flag(flags: &[String], harmless: &[&str]) -> Result<bool, CallError> {
    let other = flags.iter().find(|flag| *flag != "MSG_DONTWAIT" && !harmless.contains(&flag.as_str()));
    match other {
        Some(flag) => unsupported(format!("the flag {flag} is not modelled")),
        None => Ok(flags.iter().any(|flag| flag == "MSG_DONTWAIT")),
    }
}

/// A read or write.
struct Transfer {
    /// Bytes up to the first buffer at NULL.
    sound: u64,
    /// There is one.
    faults: bool,
    flags: Vec<String>,
}

impl Transfer {
    fn new((sound, faults): (u64, bool), flags: Vec<String>) -> Self {
        Transfer { sound, faults, flags }
    }
}

/// A read or write with its arguments.
fn transfer(arguments: &Arguments<'_>) -> Result<Transfer, CallError> {
    let single = || {
        let length = arguments.length(2)?;
        let faults = length > 0 && is_null(arguments.get(1)?);
        Ok::<_, CallError>(if faults { (0, true) } else { (length, false) })
    };
    match arguments.0.name.as_str() {
        "read" | "write" => Ok(Transfer::new(single()?, Vec::new())),
        "send" | "recv" | "sendto" | "recvfrom" => Ok(Transfer::new(single()?, arguments.words(3)?)),
        "readv" | "writev" => Ok(Transfer::new(vectors(arguments.get(1)?)?, Vec::new())),
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
            Ok(Transfer::new(vectors(parts)?, arguments.words(2)?))
        }
    }
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Word(word) if word == "NULL")
}

/// Bytes of `[{..., 1000}, {..., 500}]` up to the first part at NULL, and whether there is one.
fn vectors(value: &Value) -> Result<(u64, bool), CallError> {
    let Value::List(items) = value else { return unsupported("the vector is not modelled") };
    let mut sound = 0;
    for item in items {
        let Value::Structure(fields) = item else { return unsupported("the vector is not modelled") };
        match fields.as_slice() {
            [(_, base), (_, Value::Integer(length))] if (0..=TRANSFER_MAX).contains(length) => {
                if is_null(base) && *length > 0 {
                    return Ok((sound, true));
                }
                sound += *length as u64;
            }
            _ => return unsupported("the vector is not modelled"),
        }
    }
    Ok((sound, false))
}

pub(super) fn go_on_writing(waiting: Waiting, kernel: &mut Kernel) -> Progress {
    let Waiting::Write { index, done, left, ending } = waiting else { return Progress::Waits(waiting) };
    let connection = &mut kernel.connections[index];
    if connection.state == ConnectionState::Reset || connection.shut {
        let errno = connection.error.take().unwrap_or("EPIPE");
        return Progress::Returned(if done > 0 {
            Returned::value(done as i64)
        } else {
            Returned::error(errno)
        });
    }
    let connected = connection.state == ConnectionState::Established;
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

pub(super) fn go_on_reading(index: usize, max: u64, kernel: &mut Kernel) -> Option<Returned> {
    let now = kernel.now;
    let connection = &mut kernel.connections[index];
    if connection.endpoint.readable_bytes().0 > 0 {
        let bytes = connection.endpoint.read_at_most(Bytes(max), now);
        if connection.state != ConnectionState::Reset {
            kernel.drain(index);
        }
        return Some(Returned::message(bytes.0 as i64, message(&kernel.connections[index])));
    }
    if let Some(errno) = connection.error.take() {
        return Some(if errno == "EPIPE" { Returned::value(0) } else { Returned::error(errno) });
    }
    let over =
        connection.endpoint.at_end() || connection.read_shut || connection.state == ConnectionState::Reset;
    over.then(|| Returned::message(0, message(&kernel.connections[index])))
}

/// What `recvmsg` returns in addition to data.
fn message(connection: &Connection) -> Message {
    let endpoint = &connection.endpoint;
    // The FIN counts as one byte, so that the application comes for the end. [linux-6.12 tcp.c tcp_inq_hint]
    let unread = endpoint.readable_bytes().0 + u64::from(endpoint.at_end());
    let control = if connection.reports_unread { vec![Control::Unread(unread)] } else { Vec::new() };
    Message { flags: Vec::new(), control }
}

/// The oldest entry of the error queue. [linux-6.12 ip_sockglue.c ip_recv_error]
fn read_error_queue(stamping: &mut Stamping, max: u64) -> Outcome {
    if max > 0 && !stamping.flags.stamp_only {
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
