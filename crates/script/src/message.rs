//! What `recvmsg` returns besides data: flags and control messages, compared with the script. [packetdrill]

use crate::script::{Call, Value, shown};

/// The flags and messages of a `recvmsg`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// `msg_flags`, by name.
    pub flags: Vec<&'static str>,
    /// Control messages, in order.
    pub control: Vec<Control>,
}

/// A control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// `TCP_CM_INQ`: bytes that are still to be read.
    Unread(u64),
    /// `SCM_TIMESTAMPING`: when, microseconds since the start of the script.
    StampedAt(i64),
    /// `IP_RECVERR`: which stamp it is.
    Stamp(Stamp),
}

/// An entry of the error queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// What the entry reports.
    pub kind: StampKind,
    /// The byte it belongs to.
    pub key: u32,
}

/// The event of a timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StampKind {
    /// The packet entered the discipline.
    Scheduled,
    /// The device has it.
    Sent,
    /// The last byte of the write is acknowledged.
    Acknowledged,
}

/// What differs between the message header that the script expects and the actual one; `None` if they are equal.
pub fn difference(call: &Call, message: &Message, tolerance_usecs: u64) -> Option<String> {
    let Some(Value::Structure(fields)) = call.arguments.get(1) else { return None };
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    if let Some(wanted) = field("msg_flags")
        && !same_flags(wanted, &message.flags)
    {
        let got = if message.flags.is_empty() { "0".to_owned() } else { message.flags.join("|") };
        return Some(format!("msg_flags: expected {}, got {got}", shown(wanted)));
    }
    let wanted = field("msg_control")?;
    let Value::List(items) = wanted else { return None };
    let same = items.len() == message.control.len()
        && items.iter().zip(&message.control).all(|(item, control)| control.is(item, tolerance_usecs));
    let got: Vec<String> = message.control.iter().map(Control::shown).collect();
    (!same).then(|| format!("msg_control: expected {}, got [{}]", shown(wanted), got.join(", ")))
}

fn same_flags(wanted: &Value, got: &[&str]) -> bool {
    let wanted: Vec<String> = match wanted {
        Value::Union(parts) => parts.iter().map(shown).collect(),
        Value::Integer(0) => Vec::new(),
        Value::Anything => return true,
        one => vec![shown(one)],
    };
    wanted.len() == got.len() && wanted.iter().all(|flag| got.contains(&flag.as_str()))
}

impl Control {
    /// `{cmsg_level=…, cmsg_type=…, cmsg_data=…}` is this message. Names that the runner of the kernel's scripts defines
    /// for either version of IP are known.
    fn is(&self, wanted: &Value, tolerance_usecs: u64) -> bool {
        let Value::Structure(fields) = wanted else { return false };
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let (Some(level), Some(kind), Some(data)) =
            (field("cmsg_level"), field("cmsg_type"), field("cmsg_data"))
        else {
            return false;
        };
        let named = |levels: &[&str], kinds: &[&str]| {
            levels.contains(&shown(level).as_str()) && kinds.contains(&shown(kind).as_str())
        };
        match self {
            Control::Unread(bytes) => {
                named(&["SOL_TCP"], &["TCP_CM_INQ"]) && *data == Value::Integer(*bytes as i64)
            }
            Control::StampedAt(at) => {
                named(&["SOL_SOCKET"], &["SCM_TIMESTAMPING"]) && is_time(data, *at, tolerance_usecs)
            }
            Control::Stamp(report) => {
                let levels = ["SOL_IP", "SOL_IPV6", "CMSG_LEVEL_IP"];
                let kinds = ["IP_RECVERR", "IPV6_RECVERR", "CMSG_TYPE_RECVERR"];
                named(&levels, &kinds) && is_report(data, report)
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Control::Unread(bytes) => format!("{{TCP_CM_INQ, {bytes}}}"),
            Control::StampedAt(at) => format!("{{SCM_TIMESTAMPING, {} us}}", at),
            Control::Stamp(report) => format!("{{{}, ee_data={}}}", report.kind.name(), report.key),
        }
    }
}

/// `{scm_sec=0, scm_nsec=20000000}` since the start of the script.
fn is_time(wanted: &Value, at: i64, tolerance_usecs: u64) -> bool {
    let Value::Structure(fields) = wanted else { return *wanted == Value::Anything };
    let number = |name: &str| {
        fields.iter().find_map(|(known, value)| match value {
            Value::Integer(number) if known == name => Some(*number),
            _ => None,
        })
    };
    let (Some(seconds), Some(nanos)) = (number("scm_sec"), number("scm_nsec")) else { return false };
    let wanted = seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(nanos / 1_000));
    wanted.is_some_and(|wanted| wanted.abs_diff(at) <= tolerance_usecs)
}

/// `struct sock_extended_err` of a stamp.
fn is_report(wanted: &Value, report: &Stamp) -> bool {
    let Value::Structure(fields) = wanted else { return *wanted == Value::Anything };
    fields.iter().all(|(name, value)| {
        *value == Value::Anything
            || match name.as_str() {
                "ee_errno" => shown(value) == "ENOMSG",
                "ee_origin" => shown(value) == "SO_EE_ORIGIN_TIMESTAMPING",
                "ee_type" | "ee_code" | "ee_pad" => *value == Value::Integer(0),
                "ee_info" => shown(value) == report.kind.name(),
                "ee_data" => *value == Value::Integer(i64::from(report.key)),
                _ => false,
            }
    })
}

impl StampKind {
    /// The name that scripts have for it.
    fn name(self) -> &'static str {
        match self {
            StampKind::Scheduled => "SCM_TSTAMP_SCHED",
            StampKind::Sent => "SCM_TSTAMP_SND",
            StampKind::Acknowledged => "SCM_TSTAMP_ACK",
        }
    }
}
