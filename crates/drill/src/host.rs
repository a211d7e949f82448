//! The host under test as commands configure it: sysctls, module parameters, the device and its discipline.
//!
//! A sysctl is either modelled, or without effect on what a script of one conversation can see, or accepted at its
//! usual value only. Any other is refused: nothing is ignored silently.

use std::collections::BTreeMap;

use tailback_tcp::{Arrival, EcnUse, Offers, Settings, Sysctl};
use tailback_units::{Parameters, TimerRounding};

/// Bytes of a receive and of a send buffer in the production settings that `defaults.sh` of packetdrill makes.
/// [packetdrill]
const PRODUCTION_RMEM: [u64; 3] = [4096, 540_000, 15 * 1024 * 1024];
const PRODUCTION_WMEM: [u64; 3] = [4096, 256 * 1024, 4_194_304];

/// The discipline below TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Discipline {
    /// A queue that is always empty: packets leave when they are sent.
    #[default]
    Fifo,
    /// Packets leave at their departure times.
    Fq,
    /// A queue with no room: what is sent is dropped.
    Full,
}

/// How an MTU differs from the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MtuChange {
    /// Of the route to the peer.
    Route(u32),
    /// Of the device.
    Device(u32),
}

/// The host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) tcp: Settings,
    pub(crate) congestion_control: String,
    /// Module parameters by control.
    pub(crate) parameters: BTreeMap<String, Parameters>,
    pub(crate) discipline: Discipline,
    /// SYN cookies are always used (`net.ipv4.tcp_syncookies` is 2).
    pub(crate) answers_by_cookie: bool,
    /// What a command changed, for the conversations that there are.
    pub(crate) mtu_change: Option<MtuChange>,
    /// Several segments may leave as one packet (TSO, GSO).
    pub(crate) segmentation_offload: bool,
}

impl Host {
    /// A Linux host with its defaults.
    pub(crate) fn new(tcp: Settings) -> Self {
        // A script has no control over its position on the kernel's timer wheel; its times are those of one level.
        // Segments arrive by a TUN device, as packetdrill writes them.
        let tcp = Settings { timer_rounding: TimerRounding::Jiffy, arrival: Arrival::Tun, ..tcp };
        Host {
            tcp,
            congestion_control: "cubic".to_owned(),
            parameters: BTreeMap::new(),
            discipline: Discipline::Fifo,
            answers_by_cookie: false,
            mtu_change: None,
            segmentation_offload: true,
        }
    }

    /// TCP makes buffers of several segments: since Linux 4.17 always, and below the discipline they are cut if the
    /// device cannot. [linux-4.17 tcp_output.c]
    pub(crate) fn builds_trains(&self) -> bool {
        let follows_device = ["linux-3.10", "linux-4.14", "freebsd-9"].contains(&self.tcp.stack.name);
        self.segmentation_offload || !follows_device
    }

    /// Applies packetdrill's `defaults.sh`, as far as it differs from the kernel's own defaults.
    pub(crate) fn set_production_defaults(&mut self) {
        self.tcp.rmem = PRODUCTION_RMEM;
        self.tcp.wmem = PRODUCTION_WMEM;
        self.tcp.slow_start_after_idle = false;
        self.tcp.tail_loss_probe = true;
        self.tcp.pacing_ss_ratio = 200;
        self.tcp.pacing_ca_ratio = 120;
        self.tcp.offers = Offers { timestamps: true, sack: true, ..self.tcp.offers };
        self.tcp.ecn = EcnUse::Never;
        self.congestion_control = "cubic".to_owned();
        self.discipline = Discipline::Fifo;
    }

    /// Sets a sysctl, or returns why it cannot.
    pub(crate) fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        let refused = || format!("sysctl {name}={value} is not modelled");
        let Some(short) = name.strip_prefix("net.ipv4.") else {
            return if WITHOUT_EFFECT.contains(&name) { Ok(()) } else { Err(refused()) };
        };
        if WITHOUT_EFFECT.contains(&short) {
            return Ok(());
        }
        if let Some((_, usual)) = USUAL_ONLY.iter().find(|(known, _)| *known == short) {
            return if usual.contains(&value) { Ok(()) } else { Err(refused()) };
        }
        self.set_modelled(short, value).ok_or_else(refused)
    }

    fn set_modelled(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "tcp_syncookies" => self.answers_by_cookie = number(value, 2)? == 2,
            "tcp_fastopen" => fastopen(value)?,
            "tcp_notsent_lowat" if value == "-1" => self.tcp.notsent_lowat = u64::from(u32::MAX),
            "tcp_congestion_control" => {
                tailback_cc::registry::find(value)?;
                self.congestion_control = value.to_owned();
            }
            _ => {
                let values: Vec<u64> =
                    value.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
                Sysctl::find(&format!("net.ipv4.{name}"))?.set(&mut self.tcp, &values).ok()?;
            }
        }
        Some(())
    }

    /// Sets a parameter of a congestion control's module.
    pub(crate) fn set_parameter(&mut self, control: &str, name: &str, value: &str) -> Result<(), String> {
        let number = value.parse().map_err(|_| format!("{control}: {name}={value} is not a number"))?;
        let mut parameters = self.parameters.get(control).cloned().unwrap_or_default();
        parameters.set(name, number);
        tailback_cc::registry::build(control, &parameters).map_err(|error| error.to_string())?;
        self.parameters.insert(control.to_owned(), parameters);
        Ok(())
    }
}

/// Without effect on what a script of one conversation sees here.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_fastopen_key",
    "tcp_max_syn_backlog",
    "tcp_fack",
    "tcp_low_latency",
    "tcp_mem",
    "tcp_adv_win_scale",
    "tcp_tw_reuse",
    "tcp_allowed_congestion_control",
    "ip_local_port_range",
    "net.core.somaxconn",
    "net.mptcp.enabled",
];

/// Accepted at the value that is modelled.
const USUAL_ONLY: &[(&str, &[&str])] = &[
    ("tcp_rfc1337", &["0"]),
    ("tcp_app_win", &["31"]),
    ("tcp_backlog_ack_defer", &["1"]),
    ("tcp_pingpong_thresh", &["1"]),
    ("tcp_rto_max_ms", &["120000"]),
    ("tcp_syn_linear_timeouts", &["4"]),
    ("tcp_retrans_collapse", &["1"]),
    ("tcp_retries1", &["3"]),
    ("tcp_workaround_signed_windows", &["0"]),
    ("tcp_abort_on_overflow", &["0"]),
    ("tcp_stdurg", &["0"]),
];

/// Fast Open options of packets and sockets are refused where a script uses them. A listener that accepts data without
/// a cookie and without the socket option is not modelled. [linux-6.12 tcp.h TFO_SERVER_*]
fn fastopen(value: &str) -> Option<()> {
    const WITHOUT_COOKIE_OR_OPTION: u32 = 0x2 | 0x200 | 0x400;
    let bits = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number(value, u32::MAX)?,
    };
    (bits & WITHOUT_COOKIE_OR_OPTION != WITHOUT_COOKIE_OR_OPTION).then_some(())
}

fn number(value: &str, max: u32) -> Option<u32> {
    value.parse().ok().filter(|number| *number <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysctl_is_modelled_unseen_at_its_usual_value_or_refused() {
        let mut host = Host::new(Settings::default());
        assert_eq!(host.set_sysctl("net.ipv4.tcp_rmem", "4096 100000 200000"), Ok(()));
        assert_eq!(host.tcp.rmem[1], 100_000);
        assert_eq!(host.set_sysctl("net.ipv4.tcp_syncookies", "1"), Ok(()));
        assert_eq!(host.set_sysctl("net.ipv4.tcp_frto", "2"), Ok(()));
        assert_eq!(host.set_sysctl("net.ipv4.tcp_fastopen", "0x70403"), Ok(()));
        assert_eq!(host.set_sysctl("net.ipv4.tcp_syn_retries", "1"), Ok(()));
        assert_eq!(host.tcp.syn_retries, 1);
        for (name, value) in [
            ("tcp_frto", "3"),
            ("tcp_made_up", "1"),
            ("tcp_rmem", "9 8 7"),
            ("tcp_sack", "x"),
            ("tcp_syncookies", "3"),
            ("tcp_mtu_probing", "3"),
            ("tcp_fastopen", "0x602"),
        ] {
            assert!(host.set_sysctl(&format!("net.ipv4.{name}"), value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn a_parameter_of_a_control_must_be_one_of_its_own() {
        let mut host = Host::new(Settings::default());
        assert_eq!(host.set_parameter("cubic", "hystart", "0"), Ok(()));
        assert!(host.set_parameter("cubic", "made_up", "0").is_err());
        assert!(host.set_parameter("made_up", "hystart", "0").is_err());
    }
}
