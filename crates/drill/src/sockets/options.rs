//! `setsockopt` and `getsockopt`.

use tailback_script::errno;
use tailback_units::{Rate, Span};

use crate::kernel::Kernel;
use crate::script::Value;
use crate::sockets::arguments::{Arguments, expect_value, shown};
use crate::sockets::{CallError, Descriptor, Outcome, Role, Sockets, failed, returned, unsupported};
use crate::stamping::StampFlags;

/// `net.core.rmem_max` and `wmem_max`: maximum buffer that an application can set. [linux-6.12 sock.c]
const BUFFER_MAX: i64 = 212_992;
/// Minimum and maximum of `TCP_MAXSEG`. [linux-6.12 tcp.h TCP_MIN_MSS, MAX_TCP_WINDOW]
const MAXSEG: std::ops::RangeInclusive<i64> = 88..=32_767;
/// The MSS of a socket that has no peer. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const MSS_DEFAULT: u32 = 536;
/// Ends of the names `IP_PMTUDISC_…`, `IPV6_PMTUDISC_…`.
const PMTU_WORDS: &[&str] = &[
    "_PMTUDISC_DONT",
    "_PMTUDISC_WANT",
    "_PMTUDISC_DO",
    "_PMTUDISC_PROBE",
    "_PMTUDISC_INTERFACE",
    "_PMTUDISC_OMIT",
];
/// Smallest buffers. [linux-6.12 sock.h SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF]
const SNDBUF_MIN: i64 = 4608;
const RCVBUF_MIN: i64 = 2304;

/// One call of `setsockopt`.
struct Setting<'a> {
    name: String,
    value: &'a Value,
    /// The number in `[5]`; `None` if the value is not a number.
    number: Option<i64>,
    /// The index of the socket's connection; `None` if it has none.
    connected: Option<usize>,
}

impl Setting<'_> {
    fn refused(&self) -> CallError {
        CallError::Unsupported(format!("setsockopt({}) with this value is not modelled", self.name))
    }

    fn number(&self) -> Result<i64, CallError> {
        self.number.ok_or_else(|| self.refused())
    }

    fn connection(&self) -> Result<usize, CallError> {
        self.connected.ok_or_else(|| self.refused())
    }
}

impl Sockets {
    pub(super) fn set_option(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
        let (name, value) = (shown(arguments.get(2)?), arguments.get(3)?);
        let number = arguments.in_brackets(3)?;
        let descriptor = self.descriptor(arguments)?;
        let connected = match descriptor.role {
            Role::Connected(index) => Some(index),
            _ => None,
        };
        let setting = Setting { name, value, number, connected };
        match setting.name.split('_').next() {
            Some("SO") => set_socket_option(&setting, descriptor, kernel),
            Some("TCP") => set_tcp_option(&setting, descriptor, kernel),
            Some("IP" | "IPV6") => set_ip_option(&setting),
            _ => Err(setting.refused()),
        }
    }

    pub(super) fn get_option(&mut self, arguments: &Arguments<'_>, kernel: &mut Kernel) -> Outcome {
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
            ("SO_ERROR", Some(index)) => {
                kernel.connections[index].error.take().and_then(errno::number).map_or(0, i64::from)
            }
            ("SO_SNDBUF", Some(index)) => kernel.sndbuf(index) as i64,
            ("SO_SNDBUF", None) => options.sndbuf.unwrap_or(kernel.host.tcp.wmem[1]) as i64,
            ("SO_RCVBUF", None) => options.rcvbuf.unwrap_or(kernel.host.tcp.rmem[1]) as i64,
            ("TCP_MAXSEG", Some(index)) => {
                i64::from(kernel.connections[index].endpoint.tcp_info(kernel.now).snd_mss)
            }
            // [linux-6.12 tcp.c do_tcp_getsockopt]
            ("TCP_MAXSEG", None) => i64::from(options.mss.unwrap_or(MSS_DEFAULT)),
            ("TCP_INQ", _) => i64::from(options.reports_unread),
            ("TCP_NODELAY", _) => i64::from(options.no_delay),
            ("TCP_CORK", Some(index)) => i64::from(kernel.connections[index].corked),
            ("TCP_NOTSENT_LOWAT", Some(index)) => kernel.connections[index].notsent_lowat as i64,
            _ => return Err(unknown()),
        };
        expect_value(arguments, 3, actual)?;
        returned(0)
    }
}

/// Options of the level `SOL_SOCKET`.
fn set_socket_option(setting: &Setting<'_>, descriptor: &mut Descriptor, kernel: &mut Kernel) -> Outcome {
    match setting.name.as_str() {
        "SO_REUSEADDR" | "SO_REUSEPORT" | "SO_PRIORITY" | "SO_MARK" | "SO_INCOMING_CPU" => {}
        // The first keep-alive is due after two hours.
        "SO_KEEPALIVE" => {}
        "SO_TIMESTAMPING" => {
            let flags = stamp_flags(setting.value).ok_or_else(|| setting.refused())?;
            if flags.keys_from_write && !flags.keys {
                return failed("EINVAL");
            }
            let Some(index) = setting.connected else {
                // [linux-6.12 sock.c sock_set_timestamping]
                return if flags.keys { failed("EINVAL") } else { Err(setting.refused()) };
            };
            let connection = &mut kernel.connections[index];
            let (acknowledged, written) = connection.skbs.edges();
            connection.stamping.set(flags, acknowledged, written);
        }
        "SO_MAX_PACING_RATE" => {
            let (index, rate) = (setting.connection()?, setting.number()?);
            let rate = Rate::from_bytes_per_sec(u64::from(rate as u32));
            kernel.connections[index].endpoint.set_max_pacing_rate(rate);
        }
        "SO_LINGER" => {
            let resets = linger(setting.value).ok_or_else(|| setting.refused())?;
            descriptor.options.resets_on_close = resets;
        }
        "SO_SNDBUF" => {
            let size = doubled(setting.number()?, SNDBUF_MIN);
            descriptor.options.sndbuf = Some(size);
            if let Some(index) = setting.connected {
                kernel.connections[index].sndbuf = Some(size);
            }
        }
        "SO_RCVBUF" => {
            let size = doubled(setting.number()?, RCVBUF_MIN);
            descriptor.options.rcvbuf = Some(size);
            if let Some(index) = setting.connected {
                kernel.connections[index].endpoint.set_receive_buffer(size);
            }
        }
        _ => return Err(setting.refused()),
    }
    returned(0)
}

/// Options of the level `SOL_TCP`.
fn set_tcp_option(setting: &Setting<'_>, descriptor: &mut Descriptor, kernel: &mut Kernel) -> Outcome {
    match setting.name.as_str() {
        "TCP_CORK" => {
            let index = setting.connection()?;
            kernel.cork(index, setting.number()? != 0);
        }
        "TCP_INQ" => {
            // [linux-6.12 tcp.c do_tcp_setsockopt]
            let Some(value) = setting.number.filter(|value| (0..=1).contains(value)) else {
                return failed("EINVAL");
            };
            descriptor.options.reports_unread = value == 1;
            if let Some(index) = setting.connected {
                kernel.connections[index].reports_unread = value == 1;
            }
        }
        "TCP_NOTSENT_LOWAT" => {
            let (index, bytes) = (setting.connection()?, setting.number()?);
            kernel.connections[index].notsent_lowat = u64::from(bytes as u32);
        }
        "TCP_USER_TIMEOUT" => {
            let (index, timeout) = (setting.connection()?, setting.number()?);
            let Ok(timeout) = u32::try_from(timeout) else { return failed("EINVAL") };
            let span = Span::from_millis(timeout.into());
            kernel.connections[index].endpoint.set_user_timeout((timeout > 0).then_some(span));
        }
        "TCP_MAXSEG" => {
            // A connected socket keeps its MSS. [linux-6.12 tcp.c tcp_sock_set_maxseg]
            let mss = setting.number.filter(|mss| *mss == 0 || MAXSEG.contains(mss));
            let Some(mss) = mss else { return failed("EINVAL") };
            descriptor.options.mss = (mss > 0).then_some(mss as u32);
        }
        "TCP_CONGESTION" if setting.connected.is_none() => {
            let control = shown(setting.value);
            if tailback_cc::registry::find(&control).is_none() {
                return unsupported(format!("the congestion control {control} is not modelled"));
            }
            descriptor.options.congestion_control = Some(control);
        }
        "TCP_NODELAY" => set_no_delay(descriptor, setting.number()?, kernel)?,
        "TCP_QUICKACK" => {
            let index = setting.connected.filter(|_| setting.number == Some(1));
            let index = index.ok_or_else(|| setting.refused())?;
            kernel.connections[index].endpoint.quick_ack();
            kernel.drain(index);
        }
        _ => return Err(setting.refused()),
    }
    returned(0)
}

/// Options of the levels `SOL_IP` and `SOL_IPV6`: they are checked, and change nothing here.
fn set_ip_option(setting: &Setting<'_>) -> Outcome {
    let is_modelled = match setting.name.as_str() {
        // No script sees the field, and a new route is as the old one.
        "IP_TOS" | "IPV6_TCLASS" => setting.number.is_some_and(|octet| (0..=255).contains(&octet)),
        // No ICMP messages are modelled.
        "IP_MTU_DISCOVER" | "IPV6_MTU_DISCOVER" => {
            let word = shown(setting.value);
            let word = word.trim_matches(['[', ']']);
            setting.number.is_some_and(|value| (0..=5).contains(&value))
                || PMTU_WORDS.iter().any(|ending| word.ends_with(ending))
        }
        _ => false,
    };
    if is_modelled { returned(0) } else { Err(setting.refused()) }
}

/// `SO_SNDBUF` and `SO_RCVBUF` include kernel memory: the kernel doubles the value of the application.
fn doubled(asked: i64, min: i64) -> u64 {
    (asked.clamp(0, BUFFER_MAX) * 2).max(min) as u64
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
        kernel.connections[index].endpoint.set_no_delay(kernel.now);
        kernel.drain(index);
    }
    Ok(())
}

/// `[SOF_TIMESTAMPING_TX_ACK|…]`; `None` if one of the flags is not modelled.
fn stamp_flags(value: &Value) -> Option<StampFlags> {
    let Value::List(items) = value else { return None };
    let [item] = items.as_slice() else { return None };
    let words: Vec<String> = match item {
        Value::Union(parts) => parts.iter().map(shown).collect(),
        Value::Integer(0) => Vec::new(),
        one => vec![shown(one)],
    };
    let mut flags = StampFlags::default();
    for word in &words {
        let flag = match word.strip_prefix("SOF_TIMESTAMPING_")? {
            "TX_SCHED" => &mut flags.scheduled,
            "TX_SOFTWARE" => &mut flags.sent,
            "TX_ACK" => &mut flags.acknowledged,
            "SOFTWARE" => &mut flags.times,
            "OPT_ID" => &mut flags.keys,
            "OPT_ID_TCP" => &mut flags.keys_from_write,
            "OPT_TSONLY" => &mut flags.stamp_only,
            _ => return None,
        };
        *flag = true;
    }
    Some(flags)
}
