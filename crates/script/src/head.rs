//! The option lines at the head of a script.

use crate::script::{OptionLine, Script};
use crate::{Finding, LineNumber};

/// Default tolerance of times in microseconds. [packetdrill]
const TOLERANCE_DEFAULT: u64 = 4_000;

/// The options of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// How far times may be off.
    pub pace: Pace,
    /// `gso_size` of segments that arrive (`--mss`).
    pub gso_size: Option<u16>,
    /// Of the device.
    pub mtu: Option<u32>,
    /// What carries the segments.
    pub ip: IpVersion,
    /// The line that names the version of IP.
    pub ip_line: LineNumber,
}

/// How far times may be off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Microseconds.
    pub tolerance: u64,
    /// Percent of the time since the event before.
    pub percent: u64,
    /// What is compared.
    pub packets: Packets,
}

/// How packets that leave are compared with a segment of the script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packets {
    /// Consecutive packets are joined until they are as long as the script's segment.
    Joined,
    /// One by one (`--strict_segments`).
    Single,
}

/// What carries the segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Options that set the addresses of packets: they have no effect here.
const ADDRESSING: &[&str] = &[
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "speed",
    "send_omit_free",
    "non_fatal",
    "dry_run",
    "verbose",
    "debug",
];

impl Head {
    /// The head of `script`; `tolerance_usecs` overrides its own.
    pub fn of(script: &Script, tolerance_usecs: Option<u64>) -> Result<Self, Vec<Finding>> {
        let pace = Pace { tolerance: TOLERANCE_DEFAULT, percent: 0, packets: Packets::Joined };
        let mut head = Head { pace, gso_size: None, mtu: None, ip: IpVersion::V4, ip_line: LineNumber(1) };
        let taken = script.options.iter().map(|option| head.take(option));
        let refused: Vec<Finding> = taken.filter_map(Result::err).collect();
        head.pace.tolerance = tolerance_usecs.unwrap_or(head.pace.tolerance);
        if refused.is_empty() { Ok(head) } else { Err(refused) }
    }

    fn take(&mut self, option: &OptionLine) -> Result<(), Finding> {
        let message = format!("the option --{}={} is not modelled", option.name, option.value);
        let refused = || Finding::new(option.line, &message);
        let number =
            |max: u64| option.value.parse().ok().filter(|value: &u64| *value <= max).ok_or_else(refused);
        match option.name.as_str() {
            "tolerance_usecs" => self.pace.tolerance = number(1_000_000_000)?,
            "tolerance_percent" => self.pace.percent = number(1_000)?,
            "mss" => self.gso_size = Some(number(65_535)? as u16),
            "strict_segments" if option.value.is_empty() => self.pace.packets = Packets::Single,
            "mtu" => {
                self.mtu = Some(number(65_535).ok().filter(|mtu| *mtu >= 576).ok_or_else(refused)? as u32);
            }
            "ip_version" => {
                self.ip_line = option.line;
                self.ip = match option.value.as_str() {
                    "ipv4" => IpVersion::V4,
                    "ipv6" => IpVersion::V6,
                    _ => return Err(refused()),
                };
            }
            // The clock of timestamps that is modelled.
            "tcp_ts_tick_usecs" if matches!(option.value.as_str(), "0" | "1000") => {}
            name if ADDRESSING.contains(&name) => {}
            _ => return Err(refused()),
        }
        Ok(())
    }
}
