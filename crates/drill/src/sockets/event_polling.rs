//! `epoll`: the requested events of a descriptor, and whether it was woken since the last wait.
//!
//! ```text
//! ready:   at EPOLL_CTL_ADD and _MOD if a requested event is present, then whenever its socket is woken:
//!          by data (EPOLLIN), by room after there was none (EPOLLOUT), by an error, by a change of state
//! wait:    reports each descriptor that is ready and has a requested event; it stays ready, but with EPOLLET it must
//!          be woken again, and with EPOLLONESHOT it must be requested again
//! ```
//! [linux-6.12 eventpoll.c ep_insert, ep_poll_callback, ep_send_events]

use tailback_units::{SimTime, Span};

use crate::connection::ConnectionState;
use crate::kernel::Kernel;
use crate::script::{Call, Value};
use crate::sockets::arguments::{Arguments, shown};
use crate::sockets::polling::{field, flags};
use crate::sockets::{
    CallError, Descriptor, Outcome, Progress, Returned, Role, Sockets, Waiting, failed, returned, unsupported,
};

/// The events that can be requested.
const REQUESTABLE: &[&str] = &["EPOLLIN", "EPOLLOUT", "EPOLLRDHUP", "EPOLLERR", "EPOLLHUP"];
/// How events are reported.
const REPORTING_FLAGS: &[&str] = &["EPOLLET", "EPOLLONESHOT", "EPOLLEXCLUSIVE", "EPOLLWAKEUP"];

/// The fields of an event beside `events`.
type Data = Vec<(String, Value)>;

/// A descriptor in the list of an epoll.
#[derive(Clone, Debug)]
pub(super) struct Interest {
    wanted: Vec<String>,
    /// The data that the application attached, such as `fd=4`.
    data: Data,
    ready: bool,
    seen: Seen,
}

/// What wakes the waiters of a socket when it changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Seen {
    received: u64,
    room: u64,
    errors: usize,
    state: Option<(ConnectionState, bool)>,
}

impl Interest {
    fn has(&self, name: &str) -> bool {
        self.wanted.iter().any(|known| known == name)
    }

    /// The socket was woken for a requested event.
    fn notice(&mut self, now: Seen) {
        let before = std::mem::replace(&mut self.seen, now);
        let asked = self.wanted.iter().any(|name| !REPORTING_FLAGS.contains(&name.as_str()));
        let woken = before.state != now.state
            || before.errors < now.errors
            || (before.received < now.received && self.has("EPOLLIN"))
            || (before.room < now.room && self.has("EPOLLOUT"));
        self.ready |= asked && woken;
    }
}

impl Sockets {
    pub(super) fn open_event_poll(&self) -> Outcome {
        let options = crate::connection::SocketOptions::default();
        let descriptor = Descriptor { role: Role::EventPoll, options, non_blocking: false };
        Ok(Progress::Returned(Returned::descriptor(descriptor)))
    }

    pub(super) fn control_event_poll(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (number, of) = (arguments.integer(0)?, arguments.integer(2)?);
        if self.descriptor(arguments)?.role != Role::EventPoll {
            return failed("EINVAL");
        }
        if !self.descriptors.contains_key(&of) {
            return failed("EBADF");
        }
        let known = self.interests.contains_key(&(number, of));
        match (shown(arguments.get(1)?).as_str(), known) {
            ("EPOLL_CTL_ADD", true) => failed("EEXIST"),
            ("EPOLL_CTL_DEL" | "EPOLL_CTL_MOD", false) => failed("ENOENT"),
            ("EPOLL_CTL_DEL", true) => {
                self.interests.remove(&(number, of));
                returned(0)
            }
            ("EPOLL_CTL_ADD", false) | ("EPOLL_CTL_MOD", true) => {
                let mut interest = interest_of(arguments.get(3)?)?;
                interest.seen = self.seen(of, kernel);
                interest.ready = !self.reported(of, &interest, kernel).is_empty();
                self.interests.insert((number, of), interest);
                returned(0)
            }
            (other, _) => unsupported(format!("epoll_ctl({other}) is not modelled")),
        }
    }

    pub(super) fn wait_for_events(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        if self.descriptor(arguments)?.role != Role::EventPoll {
            return failed("EINVAL");
        }
        let until = match arguments.integer(3)? {
            timeout @ 0.. => Some(kernel.now + Span::from_millis(timeout as u64)),
            _ => None,
        };
        self.go_on_waiting_for_events(arguments.0, until, kernel)
    }

    /// Checks the events of an `epoll_wait` again.
    pub(super) fn go_on_waiting_for_events(
        &mut self,
        call: &Call,
        until: Option<SimTime>,
        kernel: &mut Kernel,
    ) -> Outcome {
        let arguments = Arguments(call);
        let number = arguments.integer(0)?;
        let found = self.collect(number, kernel);
        if found.is_empty() && until.is_none_or(|until| kernel.now < until) {
            kernel.wake_at = until;
            return Ok(Progress::Waits(Waiting::EventPoll { until }));
        }
        kernel.wake_at = None;
        match found.as_slice() {
            [] => returned(0),
            [(events, data)] => {
                compare(arguments.get(1)?, events, data)?;
                returned(1)
            }
            _ => unsupported("an epoll_wait that tells of several descriptors at once is not modelled"),
        }
    }

    /// The requested events that each ready descriptor has.
    fn collect(&mut self, number: i64, kernel: &mut Kernel) -> Vec<(Vec<String>, Data)> {
        let of: Vec<i64> =
            self.interests.keys().filter(|(poll, _)| *poll == number).map(|key| key.1).collect();
        let mut found = Vec::new();
        for of in of {
            let seen = self.seen(of, kernel);
            let Some(mut interest) = self.interests.get(&(number, of)).cloned() else { continue };
            interest.notice(seen);
            if std::mem::take(&mut interest.ready) {
                let events = self.reported(of, &interest, kernel);
                if !events.is_empty() {
                    interest.ready = !interest.has("EPOLLET") && !interest.has("EPOLLONESHOT");
                    if interest.has("EPOLLONESHOT") {
                        interest.wanted.retain(|name| REPORTING_FLAGS.contains(&name.as_str()));
                    }
                    found.push((events, interest.data.clone()));
                }
            }
            self.interests.insert((number, of), interest);
        }
        found
    }

    /// The requested events that a descriptor has. A socket without room will wake the epoll when it has some.
    /// [linux-6.12 tcp.c tcp_poll]
    fn reported(&self, of: i64, interest: &Interest, kernel: &mut Kernel) -> Vec<String> {
        let Some(descriptor) = self.descriptors.get(&of) else { return Vec::new() };
        let found = self.events(descriptor, kernel);
        if let Role::Connected(index) = descriptor.role {
            kernel.connections[index].found_full |= !found.contains(&"POLLOUT");
        }
        let names = found.iter().map(|name| format!("E{name}"));
        names.filter(|name| interest.has(name) || matches!(name.as_str(), "EPOLLERR" | "EPOLLHUP")).collect()
    }

    fn seen(&self, of: i64, kernel: &Kernel) -> Seen {
        let Some(descriptor) = self.descriptors.get(&of) else { return Seen::default() };
        let Role::Connected(index) = descriptor.role else {
            let waiting =
                kernel.connections.iter().filter(|one| one.state == ConnectionState::Established).count();
            return Seen { received: waiting as u64, ..Seen::default() };
        };
        let connection = &kernel.connections[index];
        Seen {
            received: connection.endpoint.positions().0,
            room: connection.room_made,
            errors: connection.stamping.reported(),
            state: Some((connection.state, connection.endpoint.at_end())),
        }
    }

    /// A descriptor that is closed leaves all lists.
    pub(super) fn leave_event_polls(&mut self, number: i64) {
        self.interests.retain(|(poll, of), _| *poll != number && *of != number);
    }
}

/// `{events=EPOLLIN|EPOLLET, fd=4}`.
fn interest_of(value: &Value) -> Result<Interest, CallError> {
    let Value::Structure(fields) = value else { return unsupported("this epoll_event is not modelled") };
    let Some(events) = field(fields, "events") else {
        return unsupported("an epoll_event without events is not modelled");
    };
    let wanted: Vec<String> = flags(events).into_iter().collect();
    match wanted
        .iter()
        .find(|name| !REQUESTABLE.contains(&name.as_str()) && !REPORTING_FLAGS.contains(&name.as_str()))
    {
        Some(other) => unsupported(format!("epoll_ctl: `{other}` is not modelled")),
        None => Ok(Interest { wanted, data: data(fields), ready: false, seen: Seen::default() }),
    }
}

fn data(fields: &[(String, Value)]) -> Data {
    fields.iter().filter(|(name, _)| name != "events").cloned().collect()
}

/// Compares an event of the script with the reported one.
fn compare(wanted: &Value, events: &[String], reported: &[(String, Value)]) -> Result<(), CallError> {
    let Value::Structure(fields) = wanted else { return unsupported("this epoll_event is not modelled") };
    let named = field(fields, "events").map_or_else(Default::default, flags);
    if let Some(other) = named.iter().find(|name| !REQUESTABLE.contains(&name.as_str())) {
        return unsupported(format!("epoll_wait: `{other}` is not modelled"));
    }
    let same = named.len() == events.len() && events.iter().all(|event| named.contains(event));
    if same && data(fields) == reported {
        return Ok(());
    }
    Err(CallError::Failed(format!("epoll_wait: expected {}, got events={}", shown(wanted), events.join("|"))))
}
