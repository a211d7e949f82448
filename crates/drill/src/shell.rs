//! Commands in backquotes. No shell is run: the few commands by which scripts configure a host are recognised, any
//! other is reported as unsupported.
//!
//! ```text
//! defaults.sh                         the production settings of packetdrill, wherever it lies
//! sysctl [-q] [-w] NAME=VALUE …       also set_sysctls.py /proc/sys/…=VALUE, echo VALUE > /proc/sys/…
//! echo V > /sys/module/tcp_CC/parameters/NAME
//! tc qdisc add|replace|change dev tun0 root fq|pfifo|pfifo_fast|…     `pfifo limit 0` drops everything
//! tc qdisc delete dev tun0 root       packets leave when they are sent
//! ip route add|change|replace PEER via X dev tun0 [advmss N] [mtu [lock] N] [initcwnd N]
//! ip link set dev tun0 mtu N
//! ethtool -K tun0 tso on|off gso on|off
//! sleep SECONDS
//! ```

use tailback_script::command;
use tailback_units::Span;

use crate::host::{Discipline, Host, MtuChange};

/// Executes a command on `host`; returns how long it sleeps.
pub(crate) fn execute(command: &str, host: &mut Host) -> Result<Span, String> {
    let mut slept = Span::ZERO;
    for simple in command::simple(command) {
        slept += run_simple(&simple, host)?;
    }
    Ok(slept)
}

fn run_simple(command: &str, host: &mut Host) -> Result<Span, String> {
    let words = command::words(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = || format!("the command `{command}` is not modelled");
    let Some((&program, arguments)) = words.split_first() else { return Ok(Span::ZERO) };
    match program.rsplit('/').next().unwrap_or(program) {
        "defaults.sh" if arguments.is_empty() => host.set_production_defaults(),
        "sysctl" => sysctls(arguments, host)?,
        "set_sysctls.py" => proc_settings(arguments, host)?,
        "echo" => echo(arguments, host).ok_or_else(refused)??,
        "tc" => qdisc(arguments, host).ok_or_else(refused)?,
        "ethtool" => offloads(arguments, host).ok_or_else(refused)?,
        "sleep" => return seconds(arguments).ok_or_else(refused),
        "ip" => link_or_route(arguments, host).ok_or_else(refused)?,
        // What set_sysctls.py leaves behind to undo its work.
        name if name.starts_with("sysctl_restore_") => {}
        "true" | ":" | "sync" => {}
        _ => return Err(refused()),
    }
    Ok(Span::ZERO)
}

fn sysctls(arguments: &[&str], host: &mut Host) -> Result<(), String> {
    for argument in arguments.iter().filter(|argument| !matches!(**argument, "-q" | "-w" | "-qw" | "-e")) {
        let (name, value) =
            argument.split_once('=').ok_or_else(|| format!("sysctl `{argument}`: expected NAME=VALUE"))?;
        host.set_sysctl(&name.replace('/', "."), value)?;
    }
    Ok(())
}

/// `/proc/sys/net/ipv4/tcp_ecn=0`.
fn proc_settings(arguments: &[&str], host: &mut Host) -> Result<(), String> {
    for argument in arguments {
        let setting = argument.split_once('=').and_then(|(path, value)| Some((proc_name(path)?, value)));
        let (name, value) = setting.ok_or_else(|| format!("`{argument}`: expected /proc/sys/…=VALUE"))?;
        host.set_sysctl(&name, value)?;
    }
    Ok(())
}

fn proc_name(path: &str) -> Option<String> {
    path.strip_prefix("/proc/sys/").map(|name| name.replace('/', "."))
}

/// `VALUE > PATH`; `None` if it is anything else.
fn echo(arguments: &[&str], host: &mut Host) -> Option<Result<(), String>> {
    let (value, path) = match arguments {
        [value @ .., ">", path] => (value.join(" "), *path),
        [value @ .., last] => (value.join(" "), last.strip_prefix('>')?),
        [] => return None,
    };
    if let Some(name) = proc_name(path) {
        return Some(host.set_sysctl(&name, &value));
    }
    let (module, parameter) = path.strip_prefix("/sys/module/tcp_")?.split_once("/parameters/")?;
    Some(host.set_parameter(module, parameter, &value))
}

/// Disciplines that pass packets on at once as long as the link is idle, which a script's always is.
const PASSING: &[&str] = &["pfifo", "bfifo", "pfifo_fast", "fq_codel", "codel", "sfq", "pie", "noqueue"];

fn qdisc(arguments: &[&str], host: &mut Host) -> Option<()> {
    if let ["qdisc", "delete" | "del", "dev", _, "root"] = arguments {
        host.discipline = Discipline::Fifo;
        return Some(());
    }
    let ["qdisc", "add" | "replace" | "change", "dev", _, "root", options @ ..] = arguments else {
        return None;
    };
    host.discipline = match options {
        ["fq"] => Discipline::Fq,
        ["pfifo" | "bfifo", "limit", "0"] => Discipline::Full,
        [kind, ..] if PASSING.contains(kind) => Discipline::Fifo,
        _ => return None,
    };
    Some(())
}

fn offloads(arguments: &[&str], host: &mut Host) -> Option<()> {
    let ["-K", _, features @ ..] = arguments else { return None };
    for feature in features.chunks(2) {
        match feature {
            ["tso" | "gso" | "tx-tcp-segmentation", "off"] => host.segmentation_offload = false,
            ["tso" | "gso" | "tx-tcp-segmentation", "on"] => host.segmentation_offload = true,
            ["gro" | "lro" | "tx" | "rx" | "sg", "on" | "off"] => {}
            _ => return None,
        }
    }
    Some(())
}

/// `ip link set dev tun0 mtu 1400`, `ip route add 192.0.2.1 via 192.168.0.2 dev tun0 mtu lock 640 …`: there is one
/// peer, and so one route.
fn link_or_route(arguments: &[&str], host: &mut Host) -> Option<()> {
    let arguments = arguments.strip_prefix(&["-6"]).or(arguments.strip_prefix(&["-4"])).unwrap_or(arguments);
    match arguments {
        ["tcp_metrics", "flush", ..] => Some(()),
        ["link", "set", "dev", _, "mtu", mtu] | ["link", "set", _, "mtu", mtu] => {
            host.tcp.mtu = packet_size(mtu)?;
            host.mtu_change = Some(MtuChange::Device(host.tcp.mtu));
            Some(())
        }
        ["route", "add" | "change" | "replace", _, "via", _, "dev", _, metrics @ ..] => route(metrics, host),
        _ => None,
    }
}

/// `advmss 600 mtu lock 640 initcwnd 11`.
fn route(metrics: &[&str], host: &mut Host) -> Option<()> {
    match metrics {
        [] => Some(()),
        ["mtu", "lock", mtu, rest @ ..] | ["mtu", mtu, rest @ ..] => {
            host.tcp.mtu = packet_size(mtu)?;
            host.mtu_change = Some(MtuChange::Route(host.tcp.mtu));
            route(rest, host)
        }
        ["advmss", mss, rest @ ..] => {
            host.tcp.advmss = Some(packet_size(mss)?);
            route(rest, host)
        }
        ["initcwnd", segments, rest @ ..] => {
            host.tcp.stack.initial_window =
                segments.parse().ok().filter(|count| (1..=65_535).contains(count))?;
            route(rest, host)
        }
        _ => None,
    }
}

fn packet_size(text: &str) -> Option<u32> {
    text.parse().ok().filter(|bytes| (536..=65_535).contains(bytes))
}

fn seconds(arguments: &[&str]) -> Option<Span> {
    let [text] = arguments else { return None };
    let seconds: f64 = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds))?;
    Some(Span::from_micros((seconds * 1e6) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_tcp::Settings;

    fn after(command: &str) -> Result<Host, String> {
        let mut host = Host::new(Settings::default());
        execute(command, &mut host).map(|_| host)
    }

    #[test]
    fn the_commands_of_scripts_set_the_host_up() {
        let command = "../common/defaults.sh\n# a remark\nsysctl -q net.ipv4.tcp_rmem=\"4096 100000 $((2*1024*1024))\" \
                       > /dev/null 2>&1\ntc qdisc replace dev tun0 root fq; sysctl -q net.ipv4.tcp_sack=0\n\
                       echo 0 > /sys/module/tcp_cubic/parameters/hystart\nethtool -K tun0 tso off gso off";
        let host = after(command).expect("all of it is modelled");
        assert_eq!(host.tcp.rmem, [4096, 100_000, 2 * 1024 * 1024]);
        assert_eq!(
            (host.discipline, host.tcp.offers.sack, host.segmentation_offload),
            (Discipline::Fq, false, false)
        );
        assert_eq!(host.parameters["cubic"].given("hystart"), Some(0));
        assert!(
            after("./set_sysctls.py /proc/sys/net/ipv4/tcp_min_tso_segs=10")
                .is_ok_and(|h| h.tcp.min_tso_segs == 10)
        );
    }

    #[test]
    fn any_other_command_is_refused() {
        for command in [
            "rm -rf x",
            "sysctl -q net.ipv4.made_up=1",
            "tc qdisc replace dev tun0 root tbf rate 1mbit",
            "ip route add x",
            "ip route add 1.2.3.4 via 1.2.3.5 dev tun0 mtu 1400 rtt 5ms",
            "echo hello",
            "sysctl -q net.ipv4.tcp_rmem=\"1 2 $((1+1))\"",
            "defaults.sh now",
        ] {
            assert!(after(command).is_err(), "{command}");
        }
    }

    #[test]
    fn a_script_may_sleep() {
        let mut host = Host::new(Settings::default());
        assert_eq!(execute("sleep 0.5; sleep 1", &mut host), Ok(Span::from_millis(1_500)));
    }
}
