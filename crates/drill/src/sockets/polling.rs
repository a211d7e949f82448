//! `poll`: immediate, with a time-out, or until an event.

use tailback_units::{SimTime, Span};

use crate::connection::ConnectionState;
use crate::kernel::Kernel;
use crate::script::{Call, Value};
use crate::sockets::arguments::{Arguments, shown};
use crate::sockets::{
    CallError, Descriptor, Outcome, Progress, Role, Sockets, Waiting, returned, unsupported,
};

/// The events that are modelled; urgent data, of which `POLLPRI` tells, never arrives.
const EVENTS: &[&str] = &["POLLIN", "POLLPRI", "POLLOUT", "POLLRDHUP", "POLLERR", "POLLHUP"];

impl Sockets {
    pub(super) fn poll(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let until = match arguments.integer(2)? {
            timeout @ 0.. => Some(kernel.now + Span::from_millis(timeout as u64)),
            _ => None,
        };
        self.go_on_polling(arguments.0, until, kernel)
    }

    /// Checks the events of a `poll` again.
    pub(super) fn go_on_polling(
        &mut self,
        call: &Call,
        until: Option<SimTime>,
        kernel: &mut Kernel,
    ) -> Outcome {
        let Value::List(entries) = Arguments(call).get(0)? else {
            return unsupported("poll without a list is not modelled");
        };
        let found =
            entries.iter().map(|entry| self.present_events(entry, kernel)).collect::<Result<Vec<_>, _>>()?;
        let ready = found.iter().filter(|events| !events.is_empty()).count() as i64;
        if ready == 0 && until.is_none_or(|until| kernel.now < until) {
            kernel.wake_at = until;
            return Ok(Progress::Waits(Waiting::Poll { until }));
        }
        kernel.wake_at = None;
        for (entry, found) in entries.iter().zip(&found) {
            compare(entry, found)?;
        }
        returned(ready)
    }

    /// The requested events of an entry that are present.
    fn present_events(&self, entry: &Value, kernel: &Kernel) -> Result<Vec<&'static str>, CallError> {
        let Value::Structure(fields) = entry else { return unsupported("this pollfd is not modelled") };
        let field = |wanted: &str| field(fields, wanted);
        let Some(Value::Integer(number)) = field("fd") else {
            return unsupported("a pollfd without fd is not modelled");
        };
        let (Some(events), Some(descriptor)) = (field("events"), self.descriptors.get(number)) else {
            return unsupported(format!(
                "poll of {number}, which is no descriptor of this script, is not modelled"
            ));
        };
        for words in [Some(events), field("revents")].into_iter().flatten() {
            let other = flags(words).into_iter().find(|word| !EVENTS.contains(&word.as_str()));
            if let Some(other) = other.filter(|_| *words != Value::Anything) {
                return unsupported(format!("poll: `{other}` is not modelled"));
            }
        }
        let mut found = self.events(descriptor, kernel);
        found.retain(|event| flags(events).contains(*event) || *event == "POLLERR" || *event == "POLLHUP");
        Ok(found)
    }

    pub(super) fn events(&self, descriptor: &Descriptor, kernel: &Kernel) -> Vec<&'static str> {
        let Role::Connected(index) = descriptor.role else {
            let waiting = kernel
                .connections
                .iter()
                .any(|one| !one.accepted && one.state == ConnectionState::Established);
            let listening = descriptor.role == Role::Listening;
            return if listening && waiting { vec!["POLLIN"] } else { Vec::new() };
        };
        let connection = &kernel.connections[index];
        let over = connection.endpoint.at_end()
            || connection.read_shut
            || connection.state == ConnectionState::Reset;
        let mut found = Vec::new();
        if over || connection.endpoint.readable_bytes().0 > 0 {
            found.push("POLLIN");
        }
        if connection.state == ConnectionState::Reset
            || (connection.state == ConnectionState::Established && kernel.writable(index))
        {
            found.push("POLLOUT");
        }
        if over {
            found.push("POLLRDHUP");
        }
        if connection.state == ConnectionState::Reset {
            found.push("POLLHUP");
        }
        if connection.error.is_some() || connection.stamping.has_reports() {
            found.push("POLLERR");
        }
        found
    }
}

/// Compares `revents` of an entry with the events that are present.
fn compare(entry: &Value, found: &[&'static str]) -> Result<(), CallError> {
    let Value::Structure(fields) = entry else { return unsupported("this pollfd is not modelled") };
    if field(fields, "revents") == Some(&Value::Anything) {
        return Ok(());
    }
    let wanted = field(fields, "revents").map_or_else(Vec::new, |value| flags(value).into_iter().collect());
    let same = wanted.len() == found.len() && wanted.iter().all(|event| found.contains(&event.as_str()));
    let message = || format!("poll: expected revents={}, got {}", wanted.join("|"), found.join("|"));
    if same { Ok(()) } else { Err(CallError::Failed(message())) }
}

pub(super) fn field<'a>(fields: &'a [(String, Value)], wanted: &str) -> Option<&'a Value> {
    fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value)
}

pub(super) fn flags(value: &Value) -> std::collections::BTreeSet<String> {
    match value {
        Value::Union(parts) => parts.iter().map(shown).collect(),
        Value::Integer(0) => std::collections::BTreeSet::new(),
        other => [shown(other)].into(),
    }
}
