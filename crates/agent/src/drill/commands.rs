//! Commands in backquotes, in the guest. No shell is run: sysctls and parameters are written to their files; `tc` and
//! `ip` are the host's programs, with the arguments of the script.

use std::fs;

use tailback_script::command;

use crate::clock::Clock;
use crate::network;
use crate::sys;

const IP: &str = "/sbin/ip";
const TC: &str = "/sbin/tc";

/// What `defaults.sh` of packetdrill sets that is not the kernel's own default. [packetdrill]
const PRODUCTION: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_early_retrans", "3"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
];

/// The words of `tc` and `ip` that a script may use. They concern devices and routes; none of them runs another
/// program or reads a file.
const TC_OBJECTS: [&str; 3] = ["qdisc", "class", "filter"];
const IP_OBJECTS: [&str; 6] = ["link", "route", "addr", "address", "neigh", "tcp_metrics"];

/// Executes a command, or returns why it cannot.
pub fn execute(command: &str) -> Result<(), String> {
    command::simple(command).iter().try_for_each(|simple| execute_simple(simple))
}

fn execute_simple(command: &str) -> Result<(), String> {
    let words = command::words(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = || format!("the command `{command}` is not supported on a kernel");
    let Some((&program, arguments)) = words.split_first() else { return Ok(()) };
    match (program.rsplit('/').next().unwrap_or(program), arguments) {
        ("defaults.sh", []) => {
            PRODUCTION.iter().try_for_each(|(name, value)| sysctl(name, value))?;
            run(TC, &["qdisc", "replace", "dev", super::DEVICE, "root", "pfifo"])
        }
        ("sysctl", settings) => settings
            .iter()
            .filter(|word| !matches!(**word, "-q" | "-w" | "-qw" | "-e"))
            .try_for_each(|setting| {
                let (name, value) = setting.split_once('=').ok_or_else(refused)?;
                sysctl(&name.replace('/', "."), value)
            }),
        ("set_sysctls.py", settings) => settings.iter().try_for_each(|setting| {
            let (path, value) = setting.split_once('=').ok_or_else(refused)?;
            write(path, value)
        }),
        ("echo", [value @ .., ">", path]) => write(path, &value.join(" ")),
        ("echo", [value @ .., last]) if last.starts_with('>') => write(&last[1..], &value.join(" ")),
        ("tc", [object, ..]) if TC_OBJECTS.contains(object) => run(TC, arguments),
        ("ip", [object, ..]) if IP_OBJECTS.contains(object) => run(IP, arguments),
        ("ethtool", ["-K", device, features @ ..]) => offloads(device, features).ok_or_else(refused)?,
        ("sleep", [seconds]) => sleep(seconds).ok_or_else(refused),
        ("true" | ":" | "sync", _) => Ok(()),
        // The changes that set_sysctls.py would undo end with the guest.
        (name, _) if name.starts_with("sysctl_restore_") => Ok(()),
        _ => Err(refused()),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let words: Vec<String> = [program].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
    network::run(&words).map_err(|failure| failure.to_string())
}

fn sysctl(name: &str, value: &str) -> Result<(), String> {
    write(&format!("/proc/sys/{}", name.replace('.', "/")), value)
}

/// Writes a new value to a file of the kernel.
fn write(path: &str, value: &str) -> Result<(), String> {
    let is_setting =
        (path.starts_with("/proc/sys/") || path.starts_with("/sys/module/")) && !path.contains("..");
    if !is_setting {
        return Err(format!("writing to `{path}` is not supported on a kernel: sysctls and parameters only"));
    }
    fs::write(path, value)
        .map_err(|error| format!("this kernel does not take `{value}` for `{path}`: {error}"))
}

fn offloads(device: &str, features: &[&str]) -> Option<Result<(), String>> {
    for feature in features.chunks(2) {
        let (name, on) = match feature {
            [name, "on"] => (*name, true),
            [name, "off"] => (*name, false),
            _ => return None,
        };
        let feature = match name {
            "tso" | "tx-tcp-segmentation" => sys::Feature::Tso,
            "gso" => sys::Feature::Gso,
            "gro" => sys::Feature::Gro,
            _ => return None,
        };
        if let Err(error) = sys::set_feature(device, feature, on) {
            return Some(Err(format!("`{name}` of {device} cannot be set: {error}")));
        }
    }
    Some(Ok(()))
}

fn sleep(seconds: &str) -> Option<()> {
    let seconds: f64 = seconds.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds))?;
    let now = sys::monotonic_ns();
    Clock::starting_at(now).sleep_until((seconds * 1e9) as u64);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_settings_of_the_kernel_is_written_and_no_other_program_is_run() {
        for command in [
            "echo x > /etc/passwd",
            "echo x > /proc/sys/../../etc/passwd",
            "rm -rf x",
            "ip netns exec x sh",
            "tc -batch x",
            "sh -c true",
            "nstat -az",
        ] {
            assert!(execute(command).is_err(), "{command}");
        }
    }
}
