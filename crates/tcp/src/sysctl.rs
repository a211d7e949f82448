//! The sysctls of a host's TCP: their names, the values that each takes, and the settings that follow from them.
//!
//! [linux-6.12 sysctl_net_ipv4.c] [linux-6.12 ip-sysctl.rst]. Deviation: `tcp_recovery` without RACK is refused, except where
//! Linux detects losses by RACK nonetheless.

use tailback_units::Span;

use crate::config::{EcnUse, LossDetection, MtuProbing, Settings, WindowShrinking};
use crate::metrics::SavedMetrics;
use crate::stack::{CountingRecovery, SsthreshMetric, Txhash};

/// How values change the settings; `None` if they are not values of this sysctl.
type Set = fn(&mut Settings, &[u64]) -> Option<()>;

/// One sysctl.
pub struct Sysctl {
    /// The full name of the sysctl.
    pub name: &'static str,
    /// The values that it takes, for messages.
    pub takes: &'static str,
    set: Set,
}

impl Sysctl {
    /// The sysctl of this name.
    pub fn find(name: &str) -> Option<&'static Sysctl> {
        SYSCTLS.iter().find(|sysctl| sysctl.name == name)
    }

    /// Sets it; `None` if `values` are not values that it takes with the stack of `settings`.
    pub fn set(&self, settings: &mut Settings, values: &[u64]) -> Option<()> {
        let since = INTRODUCED.iter().find(|(name, _)| *name == self.name);
        if since.is_some_and(|&(_, version)| !settings.stack.is_since(version)) {
            return None;
        }
        (self.set)(settings, values)
    }
}

const FLAG: &str = "0 or 1";
const SECOND_NS: u64 = 1_000_000_000;
/// Largest value of a sysctl that is an `int`.
const INT_MAX: u64 = i32::MAX as u64;

/// The versions of Linux that introduced sysctls which some stack lacks, besides those that a field of the stack tells of.
const INTRODUCED: &[(&str, (u32, u32))] = &[
    ("net.ipv4.tcp_tso_rtt_log", (5, 18)),
    ("net.ipv4.tcp_syn_linear_timeouts", (6, 5)),
    ("net.ipv4.tcp_pingpong_thresh", (6, 7)),
    ("net.ipv4.tcp_rto_min_us", (6, 11)),
    ("net.ipv4.tcp_rto_max_ms", (6, 15)),
    ("net.ipv4.tcp_comp_sack_rtt_percent", (6, 19)),
    ("net.ipv4.tcp_rcvbuf_low_rtt", (6, 19)),
];

/// Every sysctl that is modelled.
pub const SYSCTLS: &[Sysctl] = &[
    Sysctl {
        name: "net.ipv4.tcp_pacing_ca_ratio",
        takes: "a whole number of percent from 1 to 1000",
        set: |settings, values| put(&mut settings.pacing_ca_ratio, within_u32(values, 1, 1000)),
    },
    Sysctl {
        name: "net.ipv4.tcp_pacing_ss_ratio",
        takes: "a whole number of percent from 1 to 1000",
        set: |settings, values| put(&mut settings.pacing_ss_ratio, within_u32(values, 1, 1000)),
    },
    Sysctl {
        name: "net.ipv4.tcp_limit_output_bytes",
        takes: "a number of bytes",
        set: |settings, values| put(&mut settings.limit_output_bytes, within(values, 0, INT_MAX)),
    },
    Sysctl {
        name: "net.ipv4.tcp_slow_start_after_idle",
        takes: FLAG,
        set: |settings, values| put(&mut settings.slow_start_after_idle, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_no_metrics_save",
        takes: "0 (connections leave metrics to later ones) or 1",
        set: |settings, values| {
            let saves = !flag(values)?;
            settings.saved_metrics = saves.then(SavedMetrics::default);
            Some(())
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_no_ssthresh_metrics_save",
        takes: "0 (ssthresh is among the saved metrics) or 1; before Linux 5.6 leave it out, for ssthresh is always",
        set: |settings, values| {
            let by_request = settings.stack.ssthresh_metric == SsthreshMetric::OnRequest;
            settings.saves_ssthresh = !flag(values).filter(|_| by_request)?;
            Some(())
        },
    },
    Sysctl {
        name: "net.core.txrehash",
        takes: "0 (a socket keeps its hash) or 1 (a timeout draws another); leave it out on stacks that keep it",
        set: |settings, values| {
            let redraws = flag(values).filter(|_| settings.stack.txhash == Txhash::Redrawn)?;
            settings.txhash = if redraws { Txhash::Redrawn } else { Txhash::Kept };
            Some(())
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_ecn",
        takes: "0 (never), 1 (ask and answer) or 2 (answer)",
        set: |settings, values| {
            let uses = [EcnUse::Never, EcnUse::Always, EcnUse::WhenAsked];
            put(&mut settings.ecn, within(values, 0, 2).map(|value| uses[value as usize]))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_rmem",
        takes: "three numbers of bytes that do not decrease: least, default, largest",
        set: |settings, values| put(&mut settings.rmem, triple(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_wmem",
        takes: "three numbers of bytes that do not decrease: least, default, largest",
        set: |settings, values| put(&mut settings.wmem, triple(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_moderate_rcvbuf",
        takes: FLAG,
        set: |settings, values| put(&mut settings.moderate_rcvbuf, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_rcvbuf_low_rtt",
        takes: "a number of µs; leave it out before Linux 6.19, which introduced it",
        set: |settings, values| {
            put(&mut settings.rcvbuf_low_rtt, within(values, 0, INT_MAX).map(Span::from_micros))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_shrink_window",
        takes: FLAG,
        set: |settings, values| {
            let shrinks = flag(values)?;
            settings.window_shrinking =
                if shrinks { WindowShrinking::WhenScaled } else { WindowShrinking::Never };
            Some(())
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_notsent_lowat",
        takes: "a number of bytes",
        set: |settings, values| put(&mut settings.notsent_lowat, within(values, 0, u64::from(u32::MAX))),
    },
    Sysctl {
        name: "net.ipv4.tcp_autocorking",
        takes: FLAG,
        set: |settings, values| put(&mut settings.autocorking, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_timestamps",
        takes: "0 (off), 1 or 2 (on)",
        set: |settings, values| {
            put(&mut settings.offers.timestamps, within(values, 0, 2).map(|value| value > 0))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_sack",
        takes: FLAG,
        set: |settings, values| put(&mut settings.offers.sack, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_window_scaling",
        takes: FLAG,
        set: |settings, values| put(&mut settings.offers.window_scaling, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_dsack",
        takes: FLAG,
        set: |settings, values| put(&mut settings.dsack, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_recovery",
        takes: "1 (RACK), 3, 5 or 7: 2 more for a window that does not grow with DSACKs, 4 more for one that ignores \
                the number of SACKs; without the first, since Linux 6.17, the same",
        set: |settings, values| {
            let removed = settings.stack.counting_recovery == CountingRecovery::Removed;
            let bits = within(values, 0, 7).filter(|bits| removed || bits & 1 != 0)?;
            settings.loss_detection =
                LossDetection { adapts_window: bits & 2 == 0, uses_threshold: bits & 4 == 0 };
            Some(())
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_early_retrans",
        takes: "0 to 4: tail loss probes with 3 and 4",
        set: |settings, values| {
            put(&mut settings.tail_loss_probe, within(values, 0, 4).map(|level| level >= 3))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_frto",
        takes: "0 (off), 1 or 2 (on)",
        set: |settings, values| put(&mut settings.frto, within(values, 0, 2).map(|value| value > 0)),
    },
    Sysctl {
        name: "net.ipv4.tcp_reordering",
        takes: "a number of segments from 1 to 1000",
        set: |settings, values| put(&mut settings.reordering, within_u32(values, 1, 1000)),
    },
    Sysctl {
        name: "net.ipv4.tcp_max_reordering",
        takes: "a number of segments from 1 to 100000",
        set: |settings, values| put(&mut settings.max_reordering, within_u32(values, 1, 100_000)),
    },
    Sysctl {
        name: "net.ipv4.tcp_rto_min_us",
        takes: "a number of µs from 1 to 120000000; leave it out before Linux 6.11, which introduced it",
        set: |settings, values| {
            put(&mut settings.rto_min, within(values, 1, 120_000_000).map(Span::from_micros))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_rto_max_ms",
        takes: "a number of ms from 1000 to 120000; leave it out before Linux 6.15, which introduced it",
        set: |settings, values| {
            put(&mut settings.rto_max, within(values, 1000, 120_000).map(Span::from_millis))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_min_rtt_wlen",
        takes: "a number of seconds from 0 to 86400",
        set: |settings, values| {
            put(&mut settings.min_rtt_window, within(values, 0, 86_400).map(Span::from_secs))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_retries2",
        takes: "a number of timeouts from 1 to 255",
        set: |settings, values| put(&mut settings.retries, within_u32(values, 1, 255)),
    },
    Sysctl {
        name: "net.ipv4.tcp_syn_retries",
        takes: "a number from 1 to 127",
        set: |settings, values| put(&mut settings.syn_retries, within_u32(values, 1, 127)),
    },
    Sysctl {
        name: "net.ipv4.tcp_syn_linear_timeouts",
        takes: "a number from 0 to 127; leave it out before Linux 6.5, which introduced it",
        set: |settings, values| put(&mut settings.syn_linear_timeouts, within_u32(values, 0, 127)),
    },
    Sysctl {
        name: "net.ipv4.tcp_pingpong_thresh",
        takes: "a number of answers from 1 to 255; leave it out before Linux 6.7, which introduced it",
        set: |settings, values| put(&mut settings.pingpong_threshold, within_u32(values, 1, 255)),
    },
    Sysctl {
        name: "net.ipv4.tcp_synack_retries",
        takes: "a number from 0 to 255",
        set: |settings, values| put(&mut settings.synack_retries, within_u32(values, 0, 255)),
    },
    Sysctl {
        name: "net.ipv4.tcp_thin_linear_timeouts",
        takes: FLAG,
        set: |settings, values| put(&mut settings.thin_linear_timeouts, flag(values)),
    },
    Sysctl {
        name: "net.ipv4.tcp_comp_sack_nr",
        takes: "a number of ACKs from 0 to 255",
        set: |settings, values| {
            put(&mut settings.compression.acks, within(values, 0, 255).map(|acks| acks as u8))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_comp_sack_rtt_percent",
        takes: "a number of percent from 1 to 1000; leave it out before Linux 6.19, which introduced it",
        set: |settings, values| put(&mut settings.compression.share, within_u32(values, 1, 1000)),
    },
    Sysctl {
        name: "net.ipv4.tcp_comp_sack_delay_ns",
        takes: "a number of nanoseconds up to a second",
        set: |settings, values| {
            put(&mut settings.compression.delay, within(values, 0, SECOND_NS).map(Span::from_nanos))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_comp_sack_slack_ns",
        takes: "a number of nanoseconds up to a second",
        set: |settings, values| {
            put(&mut settings.compression.slack, within(values, 0, SECOND_NS).map(Span::from_nanos))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_tso_win_divisor",
        takes: "a number",
        set: |settings, values| put(&mut settings.tso_win_divisor, within_u32(values, 0, INT_MAX as u32)),
    },
    Sysctl {
        name: "net.ipv4.tcp_min_tso_segs",
        takes: "a number of segments from 1 to 255",
        set: |settings, values| put(&mut settings.min_tso_segs, within_u32(values, 1, 255)),
    },
    Sysctl {
        name: "net.ipv4.tcp_tso_rtt_log",
        takes: "a number from 0 (skbs do not depend on the RTT) to 31; leave it out before Linux 5.18",
        set: |settings, values| {
            let log = within(values, 0, 31)? as u32;
            settings.stack.tso_rtt_log = (log > 0).then_some(log);
            Some(())
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_mtu_probing",
        takes: "0 (never), 1 (after a black hole) or 2 (always)",
        set: |settings, values| {
            let searches = [MtuProbing::Off, MtuProbing::AfterBlackHole, MtuProbing::Always];
            put(&mut settings.mtu_probing, within(values, 0, 2).map(|value| searches[value as usize]))
        },
    },
    Sysctl {
        name: "net.ipv4.tcp_base_mss",
        takes: "a number of bytes from 48 to 32767",
        set: |settings, values| put(&mut settings.base_mss, within_u32(values, 48, 32_767)),
    },
    Sysctl {
        name: "net.ipv4.tcp_invalid_ratelimit",
        takes: "a number of milliseconds",
        set: |settings, values| {
            put(&mut settings.invalid_ratelimit, within(values, 0, INT_MAX).map(Span::from_millis))
        },
    },
];

/// Writes a value into its setting, if there is one.
fn put<T>(setting: &mut T, value: Option<T>) -> Option<()> {
    *setting = value?;
    Some(())
}

fn within(values: &[u64], least: u64, most: u64) -> Option<u64> {
    match values {
        &[value] if (least..=most).contains(&value) => Some(value),
        _ => None,
    }
}

fn within_u32(values: &[u64], least: u32, most: u32) -> Option<u32> {
    within(values, least.into(), most.into()).map(|value| value as u32)
}

fn flag(values: &[u64]) -> Option<bool> {
    within(values, 0, 1).map(|value| value == 1)
}

fn triple(values: &[u64]) -> Option<[u64; 3]> {
    values.try_into().ok().filter(|values: &[u64; 3]| values.is_sorted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{FREEBSD_9, LINUX_5_10, LINUX_7_3};

    fn set(settings: &mut Settings, name: &str, values: &[u64]) -> Option<()> {
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
    fn a_value_outside_of_its_range_is_refused_and_changes_nothing() {
        let mut settings = Settings::default();
        let before = format!("{settings:?}");
        for sysctl in SYSCTLS {
            assert!(sysctl.set(&mut settings, &[]).is_none(), "{}", sysctl.name);
            assert!(sysctl.set(&mut settings, &[u64::MAX]).is_none(), "{}", sysctl.name);
            assert!(sysctl.set(&mut settings, &[3, 2, 1]).is_none(), "{}", sysctl.name);
        }
        assert_eq!(format!("{settings:?}"), before);
    }

    #[test]
    fn bits_of_recovery_are_read_one_by_one_and_only_rack_detects_losses() {
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, "net.ipv4.tcp_recovery", &[5]), Some(()));
        assert!(settings.loss_detection.adapts_window && !settings.loss_detection.uses_threshold);
        assert_eq!(set(&mut settings, "net.ipv4.tcp_recovery", &[0]), None);
    }

    #[test]
    fn a_sysctl_that_the_stack_does_not_have_is_refused() {
        for &(name, _) in INTRODUCED {
            let value = if name.ends_with("rto_min_us") { 5000 } else { 1000 };
            let value = if name.ends_with("_log") || name.contains("thresh") { 9 } else { value };
            let value = if name.contains("linear") { 2 } else { value };
            for (stack, taken) in [(LINUX_5_10, None), (FREEBSD_9, None), (LINUX_7_3, Some(()))] {
                assert_eq!(set(&mut Settings::of(stack), name, &[value]), taken, "{name} {}", stack.name);
            }
        }
        assert_eq!(set(&mut Settings::default(), "net.ipv4.tcp_rto_min_us", &[5000]), Some(()));
        assert_eq!(set(&mut Settings::default(), "net.ipv4.tcp_rto_max_ms", &[5000]), None);
    }

    #[test]
    fn without_its_first_bit_recovery_is_refused_until_6_17_removed_what_it_chose() {
        assert_eq!(set(&mut Settings::of(LINUX_7_3), "net.ipv4.tcp_recovery", &[0]), Some(()));
    }
}
