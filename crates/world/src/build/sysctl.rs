//! The TCP settings that follow from the sysctls of a host.

use std::collections::BTreeMap;

use tailback_tcp::{STACKS, SYSCTLS, Settings, Sysctl};

use crate::BuildError;
use crate::scenario::{Host, Offloads, SysctlValue};

/// Most segments of an skb that a device takes. [linux-6.12 netdevice.h GSO_MAX_SEGS]
const GSO_MAX_SEGS: u32 = 65_535;

/// The settings of TCP on `host`, whose key in the scenario is `path`.
pub(crate) fn settings(host: &Host, path: &str) -> Result<Settings, BuildError> {
    let Some(&stack) = STACKS.iter().find(|stack| stack.name == host.stack) else {
        let known = STACKS.iter().map(|stack| stack.name).collect::<Vec<_>>().join(", ");
        let remedy = format!("write one of: {known}");
        return Err(BuildError::new(format!("{path}.stack"), format!("no stack `{}`", host.stack), remedy));
    };
    let gso_max_segs = if host.offloads == Offloads::Off { 1 } else { GSO_MAX_SEGS };
    let settings = Settings { gso_max_segs, initial_ssthresh: host.ssthresh, ..Settings::of(stack) };
    apply(settings, &host.sysctl, &format!("{path}.sysctl"))
}

fn apply(
    mut settings: Settings,
    sysctl: &BTreeMap<String, SysctlValue>,
    path: &str,
) -> Result<Settings, BuildError> {
    for (name, value) in sysctl {
        let path = format!("{path}[\"{name}\"]");
        let Some(row) = Sysctl::find(name) else {
            let known = SYSCTLS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
            return Err(BuildError::new(
                path,
                "not a sysctl the simulator has",
                format!("write one of: {known}"),
            ));
        };
        row.set(&mut settings, value.numbers()).map_err(|remedy| {
            let fault =
                format!("{value} is not a value that it takes with the stack `{}`", settings.stack.name);
            BuildError::new(path, fault, remedy)
        })?;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use tailback_tcp::Txhash;

    use super::*;

    fn host(stack: &str, name: &str, value: SysctlValue) -> Host {
        let sysctl = [(name.to_owned(), value)].into();
        Host {
            name: "client".into(),
            stack: stack.into(),
            sysctl,
            offloads: Offloads::Off,
            gro: false,
            ssthresh: 0,
        }
    }

    #[test]
    fn a_sysctl_changes_its_setting_and_no_other() {
        let host = host("linux-6.12", "net.ipv4.tcp_pacing_ca_ratio", SysctlValue::Number(140));
        let set = settings(&host, "hosts[0]").unwrap();
        assert_eq!((set.pacing_ca_ratio, set.pacing_ss_ratio), (140, 200));
    }

    #[test]
    fn metrics_are_saved_only_if_asked_for() {
        let name = "net.ipv4.tcp_no_metrics_save";
        for (value, saves) in [(0, true), (1, false)] {
            let host = host("linux-5.4", name, SysctlValue::Number(value));
            assert_eq!(settings(&host, "hosts[0]").unwrap().saved_metrics.is_some(), saves);
        }
    }

    #[test]
    fn a_timeout_draws_another_hash_unless_the_stack_or_a_sysctl_says_that_it_stays() {
        let name = "net.core.txrehash";
        let of =
            |stack: &str, value: u64| settings(&host(stack, name, SysctlValue::Number(value)), "hosts[0]");
        assert_eq!(of("linux-6.12", 0).unwrap().txhash, Txhash::Kept);
        assert_eq!(of("linux-6.12", 1).unwrap().txhash, Txhash::Redrawn);
        let refused = of("linux-3.10", 1).unwrap_err().to_string();
        assert!(refused.contains("leave it out: Linux 5.18 introduced it"), "{refused}");
        let by_default = Host { sysctl: BTreeMap::new(), ..host("linux-3.10", name, SysctlValue::Number(1)) };
        assert_eq!(settings(&by_default, "hosts[0]").unwrap().txhash, Txhash::Kept);
    }

    #[test]
    fn ssthresh_is_among_the_metrics_before_5_6_and_later_by_a_sysctl_of_its_own() {
        let name = "net.ipv4.tcp_no_ssthresh_metrics_save";
        let later = host("linux-6.12", name, SysctlValue::Number(0));
        assert!(settings(&later, "hosts[0]").unwrap().saves_ssthresh);
        assert!(!settings(&Host { sysctl: BTreeMap::new(), ..later }, "hosts[0]").unwrap().saves_ssthresh);
        let earlier = host("linux-5.4", name, SysctlValue::Number(0));
        assert!(settings(&earlier, "hosts[0]").is_err());
        assert!(settings(&Host { sysctl: BTreeMap::new(), ..earlier }, "hosts[0]").unwrap().saves_ssthresh);
    }

    #[test]
    fn an_unknown_sysctl_is_refused_with_those_there_are() {
        let error = settings(&host("linux-6.12", "net.ipv4.tcp_fack", SysctlValue::Number(1)), "hosts[0]")
            .unwrap_err();
        assert_eq!(error.path, "hosts[0].sysctl[\"net.ipv4.tcp_fack\"]");
        assert!(error.remedy.contains("net.ipv4.tcp_pacing_ca_ratio"), "{error}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_the_right_one() {
        let error = settings(&host("linux-6.12", "net.ipv4.tcp_rmem", SysctlValue::Number(1)), "hosts[0]")
            .unwrap_err();
        assert!(error.remedy.starts_with("write three whole numbers"), "{error}");
    }

    #[test]
    fn an_unknown_stack_is_refused() {
        let error = settings(&host("plan9", "", SysctlValue::Number(1)), "hosts[1]").unwrap_err();
        assert_eq!(
            error.to_string(),
            "hosts[1].stack: no stack `plan9`; write one of: linux-6.12, linux-7.3, linux-6.6, linux-6.1, linux-5.10.262, linux-5.10, linux-5.4, linux-5.0, linux-4.14, linux-3.10, freebsd-9"
        );
    }
}
