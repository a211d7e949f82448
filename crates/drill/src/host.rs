//! The host under test as commands configure it: sysctls, module parameters, the device and its discipline.
//!
//! A sysctl is either modelled, or without effect on what a script of one conversation can see, or accepted at its
//! usual value only. Any other is refused: nothing is ignored silently.

use std::collections::BTreeMap;

use tailback_tcp::{Arrival, MtuProbing, Settings, WindowShrinking};
use tailback_units::{Parameters, Span, TimerRounding};

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

/// `net.ipv4.tcp_ecn`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EcnPolicy {
    Off,
    /// Requests it.
    Requests,
    /// Accepts it if requested.
    Accepts,
}

/// Another MTU than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MtuChange {
    /// Of the route to the peer.
    Route(u32),
    /// Of the device.
    Device(u32),
}

/// `net.ipv4.tcp_mtu_probing`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MtuSearch {
    Never,
    AfterBlackHole,
    Always,
}

/// The host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) tcp: Settings,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) window_scaling: bool,
    pub(crate) ecn: EcnPolicy,
    pub(crate) congestion_control: String,
    /// Module parameters by control.
    pub(crate) parameters: BTreeMap<String, Parameters>,
    pub(crate) discipline: Discipline,
    /// SYN cookies are always used (`net.ipv4.tcp_syncookies` is 2).
    pub(crate) answers_by_cookie: bool,
    /// `net.ipv4.tcp_notsent_lowat`.
    pub(crate) notsent_lowat: u64,
    mtu_search: MtuSearch,
    /// `net.ipv4.tcp_base_mss`.
    base_mss: u32,
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
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: EcnPolicy::Accepts,
            congestion_control: "cubic".to_owned(),
            parameters: BTreeMap::new(),
            discipline: Discipline::Fifo,
            answers_by_cookie: false,
            notsent_lowat: u64::from(u32::MAX),
            mtu_search: MtuSearch::Never,
            base_mss: 1024,
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

    /// How sockets that are opened now search for the MTU of their path.
    pub(crate) fn mtu_probing(&self) -> MtuProbing {
        let base_mss = self.base_mss;
        match self.mtu_search {
            MtuSearch::Never => MtuProbing::Off,
            MtuSearch::AfterBlackHole => MtuProbing::AfterBlackHole { base_mss },
            MtuSearch::Always => MtuProbing::Always { base_mss },
        }
    }

    /// Applies packetdrill's `defaults.sh`, as far as it differs from the kernel's own defaults.
    pub(crate) fn set_production_defaults(&mut self) {
        self.tcp.rmem = PRODUCTION_RMEM;
        self.tcp.wmem = PRODUCTION_WMEM;
        self.tcp.slow_start_after_idle = false;
        self.tcp.tail_loss_probe = true;
        self.tcp.pacing_ss_ratio = 200;
        self.tcp.pacing_ca_ratio = 120;
        (self.timestamps, self.sack) = (true, true);
        self.ecn = EcnPolicy::Off;
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
            "tcp_timestamps" => self.timestamps = flag(value)?,
            "tcp_sack" => self.sack = flag(value)?,
            "tcp_window_scaling" => self.window_scaling = flag(value)?,
            "tcp_slow_start_after_idle" => self.tcp.slow_start_after_idle = flag(value)?,
            "tcp_moderate_rcvbuf" => self.tcp.moderate_rcvbuf = flag(value)?,
            "tcp_mtu_probing" => self.mtu_search = mtu_search(value)?,
            "tcp_base_mss" => self.base_mss = number(value, 32_767).filter(|mss| *mss >= 48)?,
            "tcp_early_retrans" => self.tcp.tail_loss_probe = tail_loss_probe(value)?,
            "tcp_rmem" => self.tcp.rmem = triple(value)?,
            "tcp_wmem" => self.tcp.wmem = triple(value)?,
            "tcp_pacing_ss_ratio" => self.tcp.pacing_ss_ratio = number(value, 1_000)?,
            "tcp_pacing_ca_ratio" => self.tcp.pacing_ca_ratio = number(value, 1_000)?,
            "tcp_limit_output_bytes" => self.tcp.limit_output_bytes = number(value, i32::MAX as u32)?.into(),
            "tcp_tso_win_divisor" => self.tcp.tso_win_divisor = number(value, i32::MAX as u32)?,
            "tcp_min_tso_segs" => {
                self.tcp.min_tso_segs = number(value, 255).filter(|segments| *segments > 0)?
            }
            "tcp_tso_rtt_log" => self.tcp.stack.tso_rtt_log = Some(number(value, 31)?).filter(|log| *log > 0),
            "tcp_invalid_ratelimit" => {
                self.tcp.invalid_ratelimit = Span::from_millis(number(value, i32::MAX as u32)?.into());
            }
            "tcp_syn_retries" => self.tcp.syn_retries = number(value, 127).filter(|tries| *tries > 0)?,
            "tcp_syncookies" => self.answers_by_cookie = number(value, 2)? == 2,
            "tcp_synack_retries" => self.tcp.synack_retries = number(value, 255)?,
            "tcp_shrink_window" => {
                self.tcp.window_shrinking =
                    if flag(value)? { WindowShrinking::WhenScaled } else { WindowShrinking::Never };
            }
            "tcp_fastopen" => fastopen(value)?,
            "tcp_notsent_lowat" if value == "-1" => self.notsent_lowat = u64::from(u32::MAX),
            "tcp_notsent_lowat" => self.notsent_lowat = number(value, u32::MAX)?.into(),
            "tcp_ecn" => self.ecn = ecn(value)?,
            "tcp_congestion_control" => {
                tailback_cc::registry::find(value)?;
                self.congestion_control = value.to_owned();
            }
            _ => return None,
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
    ("tcp_frto", &["1", "2"]),
    ("tcp_max_reordering", &["300"]),
    ("tcp_min_rtt_wlen", &["300"]),
    ("tcp_rfc1337", &["0"]),
    ("tcp_dsack", &["1"]),
    ("tcp_recovery", &["1"]),
    ("tcp_reordering", &["3"]),
    ("tcp_app_win", &["31"]),
    ("tcp_thin_linear_timeouts", &["0"]),
    ("tcp_comp_sack_nr", &["44"]),
    ("tcp_comp_sack_delay_ns", &["1000000"]),
    ("tcp_comp_sack_slack_ns", &["100000"]),
    ("tcp_backlog_ack_defer", &["1"]),
    ("tcp_pingpong_thresh", &["1"]),
    ("tcp_autocorking", &["1"]),
    ("tcp_rto_min_us", &["200000"]),
    ("tcp_rto_max_ms", &["120000"]),
    ("tcp_syn_linear_timeouts", &["4"]),
    ("tcp_retrans_collapse", &["1"]),
    ("tcp_retries1", &["3"]),
    ("tcp_retries2", &["15"]),
    ("tcp_workaround_signed_windows", &["0"]),
    ("tcp_abort_on_overflow", &["0"]),
    ("tcp_stdurg", &["0"]),
];

fn flag(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn mtu_search(value: &str) -> Option<MtuSearch> {
    match value {
        "0" => Some(MtuSearch::Never),
        "1" => Some(MtuSearch::AfterBlackHole),
        "2" => Some(MtuSearch::Always),
        _ => None,
    }
}

/// 0 is off, 3 and 4 are on; 1 and 2 are of kernels that had early retransmit.
fn tail_loss_probe(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "3" | "4" => Some(true),
        _ => None,
    }
}

fn ecn(value: &str) -> Option<EcnPolicy> {
    match value {
        "0" => Some(EcnPolicy::Off),
        "1" => Some(EcnPolicy::Requests),
        "2" => Some(EcnPolicy::Accepts),
        _ => None,
    }
}

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

/// `least default most`, in bytes.
fn triple(value: &str) -> Option<[u64; 3]> {
    let words: Vec<u64> = value.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sizes: [u64; 3] = words.try_into().ok()?;
    let possible = sizes.iter().all(|size| (1..=BUFFER_MAX).contains(size)) && sizes.is_sorted();
    possible.then_some(sizes)
}

/// A GiB: larger buffers are not socket buffers.
const BUFFER_MAX: u64 = 1 << 30;

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
            ("tcp_frto", "0"),
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
