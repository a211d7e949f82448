//! `poll` that need not wait.

use crate::connection::Phase;
use crate::kernel::Kernel;
use crate::script::Value;
use crate::sockets::arguments::{Arguments, shown};
use crate::sockets::{CallError, Descriptor, Outcome, Role, Sockets, returned, unsupported};

impl Sockets {
    pub(super) fn poll(&mut self, arguments: &Arguments<'_>, kernel: &Kernel) -> Outcome {
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
        if connection.error.is_some() || connection.stamping.has_reports() {
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
