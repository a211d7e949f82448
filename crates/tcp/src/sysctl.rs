//! The sysctls of a host's TCP, a row each: name, values, default and meaning, the Linux that introduced it, and the
//! setting that follows from it. Experiment files, drill scripts, `tailback list sysctl` and `explain` read these rows.
//!
//! Values are numbers without units, as in `sysctl -w`. Other sysctls are refused, because they would have no effect.
//! [linux-6.12 sysctl_net_ipv4.c] [linux-6.12 ip-sysctl.rst]. Deviation: `tcp_recovery` without RACK is refused, except where
//! Linux detects losses by RACK nonetheless.

use tailback_units::Span;

use crate::config::{EcnUse, LossDetection, MtuProbing, OptionUse, Settings, WindowShrinking};
use crate::metrics::SavedMetrics;
use crate::stack::{CountingRecovery, Txhash};

/// One sysctl: `count` numbers from `least` to `most`, of buffers in ascending order.
pub struct Sysctl {
    /// The full name of the sysctl.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// The default, as in `sysctl -w`: that of Linux 6.12, or of the Linux that introduced it. Hosts of an experiment have
    /// `tcp_no_metrics_save` at 1, unlike Linux.
    pub default: &'static str,
    /// Least value.
    pub least: u64,
    /// Greatest value.
    pub most: u64,
    /// How many values it takes.
    pub count: usize,
    /// What it is for.
    pub meaning: &'static str,
    /// The Linux that introduced it; `None` if all stacks have it.
    pub since: Option<(u32, u32)>,
    /// The least of the values that a later Linux introduced, and which.
    pub newer: Option<(u64, (u32, u32))>,
    set: Set,
    refuses: Refuses,
}

/// How values within the bounds change the settings.
enum Set {
    One(fn(&mut Settings, u64)),
    Three(fn(&mut Settings, [u64; 3])),
}

/// Why a stack does not take a value within the bounds.
type Refuses = fn(&Settings, u64) -> Option<&'static str>;

impl Sysctl {
    const fn number(
        name: &'static str,
        unit: &'static str,
        default: &'static str,
        bounds: (u64, u64),
        meaning: &'static str,
        set: fn(&mut Settings, u64),
    ) -> Sysctl {
        let (least, most) = bounds;
        let set = Set::One(set);
        Sysctl {
            name,
            unit,
            default,
            least,
            most,
            count: 1,
            meaning,
            since: None,
            newer: None,
            set,
            refuses: |_, _| None,
        }
    }

    const fn flag(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
        set: fn(&mut Settings, u64),
    ) -> Sysctl {
        Sysctl::number(name, "flag", default, (0, 1), meaning, set)
    }

    const fn buffer(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
        set: fn(&mut Settings, [u64; 3]),
    ) -> Sysctl {
        let row = Sysctl::number(name, "B", default, (1, INT_MAX), meaning, |_, _| {});
        Sysctl { count: 3, set: Set::Three(set), ..row }
    }

    const fn since(self, major: u32, minor: u32) -> Sysctl {
        Sysctl { since: Some((major, minor)), ..self }
    }

    const fn newer(self, value: u64, major: u32, minor: u32) -> Sysctl {
        Sysctl { newer: Some((value, (major, minor))), ..self }
    }

    const fn unless(self, refuses: Refuses) -> Sysctl {
        Sysctl { refuses, ..self }
    }

    /// The sysctl of this name.
    pub fn find(name: &str) -> Option<&'static Sysctl> {
        SYSCTLS.iter().find(|sysctl| sysctl.name == name)
    }

    /// Sets it; the error says what it takes with the stack of `settings`.
    pub fn set(&self, settings: &mut Settings, values: &[u64]) -> Result<(), String> {
        if let Some((major, minor)) = self.since.filter(|&since| !settings.stack.is_since(since)) {
            return Err(format!("leave it out: Linux {major}.{minor} introduced it"));
        }
        let newer = self.newer.filter(|&(least, since)| {
            !settings.stack.is_since(since)
                && values.iter().any(|&value| (least..=self.most).contains(&value))
        });
        if let Some((least, (major, minor))) = newer {
            let most = least - 1;
            return Err(format!("write a value up to {most}: Linux {major}.{minor} introduced larger ones"));
        }
        let bounded = values.iter().all(|value| (self.least..=self.most).contains(value));
        match (&self.set, values) {
            (Set::One(set), &[value]) if bounded => {
                if let Some(remedy) = (self.refuses)(settings, value) {
                    return Err(remedy.to_owned());
                }
                set(settings, value);
            }
            (Set::Three(set), &[least, initial, most]) if bounded && values.is_sorted() => {
                set(settings, [least, initial, most]);
            }
            _ => return Err(self.takes()),
        }
        Ok(())
    }

    fn takes(&self) -> String {
        let Sysctl { least, most, default, .. } = self;
        let what = match self.set {
            Set::One(_) => "a whole number".to_owned(),
            Set::Three(_) => "three whole numbers in ascending order".to_owned(),
        };
        format!("write {what} between {least} and {most}, such as {default}")
    }
}

/// Largest value of a sysctl that is an `int`.
const INT_MAX: u64 = i32::MAX as u64;
const UINT_MAX: u64 = u32::MAX as u64;

/// Before Linux 6.17 `tcp_recovery` without its first bit chose a recovery that counts duplicates.
fn counts_duplicates(settings: &Settings, bits: u64) -> Option<&'static str> {
    let counts = bits & 1 == 0 && settings.stack.counting_recovery != CountingRecovery::Removed;
    counts.then_some(
        "write 1, 3, 5 or 7: losses are detected by RACK, which the first bit chooses before Linux 6.17",
    )
}

/// Every sysctl that is modelled.
#[rustfmt::skip]
pub const SYSCTLS: &[Sysctl] = &[
    Sysctl::number(
        "net.ipv4.tcp_pacing_ca_ratio", "%", "120", (1, 1000), "pacing rate in % of cwnd/srtt in avoidance",
        |settings, value| settings.pacing_ca_ratio = value as u32,
    ).since(4, 3),
    Sysctl::number(
        "net.ipv4.tcp_pacing_ss_ratio", "%", "200", (1, 1000), "pacing rate in % of cwnd/srtt in slow start",
        |settings, value| settings.pacing_ss_ratio = value as u32,
    ).since(4, 3),
    Sysctl::number(
        "net.ipv4.tcp_limit_output_bytes", "B", "1048576", (1, INT_MAX), "maximum bytes of one socket below TCP",
        |settings, value| settings.limit_output_bytes = value,
    ),
    Sysctl::buffer(
        "net.ipv4.tcp_rmem", "4096 131072 6291456", "receive buffer: minimum, initial, maximum",
        |settings, values| settings.rmem = values,
    ),
    Sysctl::buffer(
        "net.ipv4.tcp_wmem", "4096 16384 4194304", "send buffer: minimum, initial, maximum",
        |settings, values| settings.wmem = values,
    ),
    Sysctl::number(
        "net.ipv4.tcp_ecn", "0–5", "2", (0, 5),
        "ECN: 0 off, 1 request and accept it, 2 accept it; since 6.18: 3 request and accept AccECN, 4 accept AccECN and \
         request ECN, 5 accept AccECN",
        |settings, value| {
            settings.ecn = [
                EcnUse::Never, EcnUse::Always, EcnUse::WhenAsked,
                EcnUse::Accurate, EcnUse::AccurateAskingClassic, EcnUse::AccurateWhenAsked,
            ][value as usize];
        },
    ).newer(3, 6, 18),
    Sysctl::flag(
        "net.ipv4.tcp_ecn_fallback", "1", "a SYN that is sent again does not request ECN; a path that mangles ECN is not used",
        |settings, value| settings.ecn_fallback = value == 1,
    ).since(4, 1),
    Sysctl::number(
        "net.ipv4.tcp_ecn_option", "0–3", "2", (0, 3),
        "option of AccECN: 0 never, 1 after changes and by the beacon, 2 where it fits, 3 even if it seems to be dropped",
        |settings, value| {
            settings.ecn_option =
                [OptionUse::Never, OptionUse::Minimum, OptionUse::Full, OptionUse::Persistent][value as usize];
        },
    ).since(6, 18),
    Sysctl::number(
        "net.ipv4.tcp_ecn_option_beacon", "per RTT", "3", (0, 255), "options of AccECN per round trip, at least",
        |settings, value| settings.ecn_option_beacon = value as u32,
    ).since(6, 18),
    Sysctl::flag(
        "net.ipv4.tcp_slow_start_after_idle", "1", "cwnd decays after an idle time of one RTO",
        |settings, value| settings.slow_start_after_idle = value == 1,
    ),
    Sysctl::flag(
        "net.ipv4.tcp_no_metrics_save", "1",
        "0, as in Linux: a host saves a connection's RTT, reordering and (before 5.6) ssthresh for later connections",
        |settings, value| settings.saved_metrics = (value == 0).then(SavedMetrics::default),
    ),
    Sysctl::flag(
        "net.ipv4.tcp_no_ssthresh_metrics_save", "1",
        "0: a host saves ssthresh since 5.6, too, if tcp_no_metrics_save is 0",
        |settings, value| settings.saves_ssthresh = value == 0,
    ).since(5, 6),
    Sysctl::flag(
        "net.core.txrehash", "1", "a timeout draws another hash of the socket, and its packets go to another queue",
        |settings, value| settings.txhash = if value == 1 { Txhash::Redrawn } else { Txhash::Kept },
    ).since(5, 18),
    Sysctl::flag(
        "net.ipv4.tcp_sack", "1", "selective acknowledgements, if both ends have them",
        |settings, value| settings.offers.sack = value == 1,
    ),
    Sysctl::flag(
        "net.ipv4.tcp_dsack", "1", "data that arrives twice is reported",
        |settings, value| settings.dsack = value == 1,
    ),
    Sysctl::number(
        "net.ipv4.tcp_timestamps", "0–2", "1", (0, 2), "time stamps, if both ends have them: 0 off, 1 and 2 on",
        |settings, value| settings.offers.timestamps = value > 0,
    ),
    Sysctl::flag(
        "net.ipv4.tcp_window_scaling", "1", "windows above 64 KiB, if both ends have them",
        |settings, value| settings.offers.window_scaling = value == 1,
    ),
    Sysctl::number(
        "net.ipv4.tcp_recovery", "bits", "1", (0, 7),
        "1: RACK detects losses; 2 more: its window does not grow with DSACKs; 4 more: it ignores the number of SACKs",
        |settings, value| {
            settings.loss_detection = LossDetection { adapts_window: value & 2 == 0, uses_threshold: value & 4 == 0 };
        },
    ).since(4, 4).unless(counts_duplicates),
    Sysctl::number(
        "net.ipv4.tcp_early_retrans", "0–4", "3", (0, 4), "tail loss probes: 3 and 4 on, others off",
        |settings, value| settings.tail_loss_probe = value >= 3,
    ),
    Sysctl::number(
        "net.ipv4.tcp_frto", "0–2", "2", (0, 2), "F-RTO undoes spurious timeouts: 0 off, 1 and 2 on",
        |settings, value| settings.frto = value > 0,
    ),
    Sysctl::number(
        "net.ipv4.tcp_reordering", "segments", "3", (1, 1000), "degree of reordering assumed at first",
        |settings, value| settings.reordering = value as u32,
    ),
    Sysctl::number(
        "net.ipv4.tcp_max_reordering", "segments", "300", (1, 100_000), "largest degree of reordering",
        |settings, value| settings.max_reordering = value as u32,
    ).since(3, 19),
    Sysctl::number(
        "net.ipv4.tcp_rto_min_us", "µs", "200000", (1, 120_000_000), "least retransmission timeout above the RTT",
        |settings, value| settings.rto_min = Span::from_micros(value),
    ).since(6, 11),
    Sysctl::number(
        "net.ipv4.tcp_rto_max_ms", "ms", "120000", (1000, 120_000), "greatest retransmission timeout",
        |settings, value| settings.rto_max = Span::from_millis(value),
    ).since(6, 15),
    Sysctl::number(
        "net.ipv4.tcp_min_rtt_wlen", "s", "300", (0, 86_400), "time for which a minimum RTT is remembered",
        |settings, value| settings.min_rtt_window = Span::from_secs(value),
    ).since(4, 4),
    Sysctl::number(
        "net.ipv4.tcp_retries2", "timeouts", "15", (1, 255), "timeouts after which a connection is aborted",
        |settings, value| settings.retries = value as u32,
    ),
    Sysctl::number(
        "net.ipv4.tcp_syn_retries", "SYNs", "6", (1, 127), "SYNs sent again, after the linear ones",
        |settings, value| settings.syn_retries = value as u32,
    ),
    Sysctl::number(
        "net.ipv4.tcp_syn_linear_timeouts", "SYNs", "4", (0, 127), "SYN timeouts that are not doubled",
        |settings, value| settings.syn_linear_timeouts = value as u32,
    ).since(6, 5),
    Sysctl::number(
        "net.ipv4.tcp_pingpong_thresh", "answers", "1", (1, 255),
        "answers within the delay of an ACK that make a connection interactive",
        |settings, value| settings.pingpong_threshold = value as u32,
    ).since(6, 7),
    Sysctl::number(
        "net.ipv4.tcp_synack_retries", "SYN-ACKs", "5", (0, 255), "SYN-ACKs sent again",
        |settings, value| settings.synack_retries = value as u32,
    ),
    Sysctl::flag(
        "net.ipv4.tcp_thin_linear_timeouts", "0",
        "the first six timeouts of a flow with fewer than four segments in flight are not doubled",
        |settings, value| settings.thin_linear_timeouts = value == 1,
    ),
    Sysctl::number(
        "net.ipv4.tcp_comp_sack_nr", "ACKs", "44", (0, 255), "duplicate ACKs that become one, at most",
        |settings, value| settings.compression.acks = value as u8,
    ).since(4, 18),
    Sysctl::number(
        "net.ipv4.tcp_comp_sack_rtt_percent", "%", "33", (1, 1000), "delay of duplicate ACKs in % of the RTT",
        |settings, value| settings.compression.share = value as u32,
    ).since(6, 19),
    Sysctl::number(
        "net.ipv4.tcp_comp_sack_delay_ns", "ns", "1000000", (0, 1_000_000_000), "delay of duplicate ACKs, at most",
        |settings, value| settings.compression.delay = Span::from_nanos(value),
    ).since(4, 18),
    Sysctl::number(
        "net.ipv4.tcp_comp_sack_slack_ns", "ns", "100000", (0, 1_000_000_000), "how much later their timer may fire",
        |settings, value| settings.compression.slack = Span::from_nanos(value),
    ).since(5, 8),
    Sysctl::flag(
        "net.ipv4.tcp_moderate_rcvbuf", "1", "the receive buffer grows with what the application reads",
        |settings, value| settings.moderate_rcvbuf = value == 1,
    ),
    Sysctl::number(
        "net.ipv4.tcp_rcvbuf_low_rtt", "µs", "1000", (0, INT_MAX), "RTT below which the receive buffer grows less",
        |settings, value| settings.rcvbuf_low_rtt = Span::from_micros(value),
    ).since(6, 19),
    Sysctl::flag(
        "net.ipv4.tcp_shrink_window", "0", "a window may shrink if memory is short",
        |settings, value| {
            settings.window_shrinking = if value == 1 { WindowShrinking::WhenScaled } else { WindowShrinking::Never };
        },
    ).since(6, 1),
    Sysctl::number(
        "net.ipv4.tcp_notsent_lowat", "B", "4294967295", (0, UINT_MAX),
        "unsent bytes up to which an application may write, without the socket option",
        |settings, value| settings.notsent_lowat = value,
    ).since(3, 12),
    Sysctl::flag(
        "net.ipv4.tcp_autocorking", "1", "a short write waits for a transmit completion",
        |settings, value| settings.autocorking = value == 1,
    ).since(3, 14),
    Sysctl::number(
        "net.ipv4.tcp_tso_win_divisor", "share", "3", (0, INT_MAX),
        "the share of the window for which an skb is not deferred",
        |settings, value| settings.tso_win_divisor = value as u32,
    ),
    Sysctl::number(
        "net.ipv4.tcp_min_tso_segs", "segments", "2", (1, 255), "least number of segments of an skb",
        |settings, value| settings.min_tso_segs = value as u32,
    ).since(3, 12),
    Sysctl::number(
        "net.ipv4.tcp_tso_rtt_log", "log2 µs", "9", (0, 31),
        "skbs are larger at a minimum RTT below 2 to this power of µs; 0: they do not depend on it",
        |settings, value| settings.stack.tso_rtt_log = (value > 0).then_some(value as u32),
    ).since(5, 18),
    Sysctl::number(
        "net.ipv4.tcp_mtu_probing", "0–2", "0", (0, 2),
        "search for the path MTU: 0 never, 1 after a black hole, 2 always",
        |settings, value| {
            settings.mtu_probing = [MtuProbing::Off, MtuProbing::AfterBlackHole, MtuProbing::Always][value as usize];
        },
    ),
    Sysctl::number(
        "net.ipv4.tcp_base_mss", "B", "1024", (48, 32_767), "size of segments with which that search begins",
        |settings, value| settings.base_mss = value as u32,
    ),
    Sysctl::number(
        "net.ipv4.tcp_invalid_ratelimit", "ms", "500", (0, INT_MAX),
        "least time between ACKs of unacceptable segments",
        |settings, value| settings.invalid_ratelimit = Span::from_millis(value),
    ).since(4, 0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{FREEBSD_9, LINUX_7_3};

    fn set(settings: &mut Settings, name: &str, values: &[u64]) -> Result<(), String> {
        Sysctl::find(name).unwrap().set(settings, values)
    }

    #[test]
    fn each_name_is_there_once() {
        let mut names: Vec<_> = SYSCTLS.iter().map(|sysctl| sysctl.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SYSCTLS.len());
    }

    #[test]
    fn the_default_of_a_row_is_that_of_the_settings() {
        for sysctl in SYSCTLS {
            let newest = sysctl.since.is_some_and(|since| since > (6, 12));
            let mut settings = if newest { Settings::of(LINUX_7_3) } else { Settings::default() };
            let before = format!("{settings:?}");
            let values: Vec<u64> = sysctl.default.split(' ').map(|word| word.parse().unwrap()).collect();
            sysctl.set(&mut settings, &values).unwrap();
            assert_eq!(format!("{settings:?}"), before, "{}", sysctl.name);
        }
    }

    #[test]
    fn a_value_outside_of_its_range_is_refused_and_changes_nothing() {
        let mut settings = Settings::default();
        let before = format!("{settings:?}");
        for sysctl in SYSCTLS {
            assert!(sysctl.set(&mut settings, &[]).is_err(), "{}", sysctl.name);
            assert!(sysctl.set(&mut settings, &[u64::MAX]).is_err(), "{}", sysctl.name);
            assert!(sysctl.set(&mut settings, &[3, 2, 1]).is_err(), "{}", sysctl.name);
        }
        assert_eq!(format!("{settings:?}"), before);
    }

    #[test]
    fn bits_of_recovery_are_read_one_by_one_and_only_rack_detects_losses() {
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, "net.ipv4.tcp_recovery", &[5]), Ok(()));
        assert!(settings.loss_detection.adapts_window && !settings.loss_detection.uses_threshold);
        assert!(set(&mut settings, "net.ipv4.tcp_recovery", &[0]).unwrap_err().contains("1, 3, 5 or 7"));
    }

    #[test]
    fn a_sysctl_that_the_stack_does_not_have_is_refused_with_the_version_that_introduced_it() {
        for sysctl in SYSCTLS {
            let Some(since) = sysctl.since else { continue };
            let values: Vec<u64> = sysctl.default.split(' ').map(|word| word.parse().unwrap()).collect();
            for &stack in crate::STACKS {
                let taken = sysctl.set(&mut Settings::of(stack), &values);
                assert_eq!(taken.is_ok(), stack.is_since(since), "{} {}", sysctl.name, stack.name);
            }
        }
        let refused = set(&mut Settings::of(FREEBSD_9), "net.ipv4.tcp_rto_min_us", &[5000]).unwrap_err();
        assert_eq!(refused, "leave it out: Linux 6.11 introduced it");
    }

    #[test]
    fn a_value_that_the_stack_does_not_have_is_refused_with_the_version_that_introduced_it() {
        for &stack in crate::STACKS {
            let taken = set(&mut Settings::of(stack), "net.ipv4.tcp_ecn", &[3]);
            assert_eq!(taken.is_ok(), stack.is_since((6, 18)), "{}", stack.name);
            assert_eq!(set(&mut Settings::of(stack), "net.ipv4.tcp_ecn", &[2]), Ok(()), "{}", stack.name);
        }
        let refused = set(&mut Settings::default(), "net.ipv4.tcp_ecn", &[5]).unwrap_err();
        assert_eq!(refused, "write a value up to 2: Linux 6.18 introduced larger ones");
    }

    #[test]
    fn without_its_first_bit_recovery_is_refused_until_6_17_removed_what_it_chose() {
        assert_eq!(set(&mut Settings::of(LINUX_7_3), "net.ipv4.tcp_recovery", &[0]), Ok(()));
    }
}
