//! Runs a packetdrill script against the kernel's own TCP in a guest in virtual time, as packetdrill does: with system
//! calls, and segments through a TUN device. The language, the times and the comparison are those of `crates/script`.
//!
//! `script.json` in the folder of the run is the script; `report.json` is the result.

mod calls;
mod commands;
mod counters;
mod names;
mod readings;
mod system;
mod under_test;
#[cfg(test)]
mod walk;
mod wire;
mod worker;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tailback_script::player::play;
use tailback_script::{Finding, Head, IpVersion, Report, Verdict};

use crate::failure::{Failure, While};
use crate::network;
use crate::sys;
use under_test::Kernel;
use wire::Addresses;

/// What scripts call the device.
const DEVICE: &str = "tun0";
const IP: &str = "/sbin/ip";

/// The addresses of packetdrill, of the side under test and of its peer. [packetdrill]
const ADDRESSES: Addresses =
    Addresses { local: Ipv4Addr::new(192, 168, 0, 1), remote: Ipv4Addr::new(192, 0, 2, 1) };
const LOCAL: &str = "192.168.0.1/16";
const PEERS: &str = "192.0.2.0/24";
const MTU: u32 = 1_500;

/// The script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    text: String,
    tolerance_usecs: Option<u64>,
}

/// The result, in the form in which the simulator's core passes it to Python.
#[derive(Serialize)]
struct Outcome {
    verdict: &'static str,
    findings: Vec<(u32, String)>,
    snippets: Vec<(u32, String, std::collections::BTreeMap<&'static str, u64>)>,
    events: usize,
}

/// Whether the folder of the run holds a script and not an experiment.
pub fn is_in(folder: &Path) -> bool {
    folder.join("script.json").exists()
}

/// Plays the script of `folder`.
pub fn whole(folder: &Path) -> Result<(), Failure> {
    let order = fs::read_to_string(folder.join("script.json")).doing("reading script.json")?;
    let order: Order =
        serde_json::from_str(&order).map_err(|error| Failure::new(format!("script.json: {error}")))?;
    let report = match tailback_script::read(&order.text, order.tolerance_usecs) {
        Ok((_, head)) if head.ip == IpVersion::V6 => {
            Report::before_run(Verdict::Unsupported(vec![Finding::new(
                head.ip_line,
                "IPv6 is not supported on a kernel: it is built without",
            )]))
        }
        Ok((script, head)) => {
            let mut kernel = Kernel::new(device(&head)?, ADDRESSES, &head)?;
            play(&script, head.pace, &mut kernel)
        }
        Err(report) => report,
    };
    let outcome = serde_json::to_vec(&outcome(report))
        .map_err(|error| Failure::new(format!("report.json: {error}")))?;
    sys::write_durably(&folder.join("report.json"), &outcome).doing("writing report.json")
}

/// The device, with the addresses and the route that scripts take for granted.
fn device(head: &Head) -> Result<fs::File, Failure> {
    let device = system::tun(DEVICE).doing("making a TUN device")?;
    let mtu = head.mtu.unwrap_or(MTU).to_string();
    let commands: [&[&str]; 4] = [
        &["link", "set", "dev", DEVICE, "mtu", &mtu],
        &["address", "add", LOCAL, "dev", DEVICE],
        &["link", "set", "dev", DEVICE, "up"],
        &["route", "add", PEERS, "dev", DEVICE],
    ];
    for words in commands {
        let words: Vec<String> = [IP].iter().chain(words).map(|word| (*word).to_owned()).collect();
        network::run(&words)?;
    }
    Ok(device)
}

fn outcome(report: Report) -> Outcome {
    let (verdict, findings) = report.verdict.word_and_findings();
    let snippets = report.snippets.into_iter();
    Outcome {
        verdict,
        findings: findings.into_iter().map(|finding| (finding.line.0, finding.message)).collect(),
        snippets: snippets
            .map(|snippet| (snippet.line.0, snippet.code, snippet.variables.into_iter().collect()))
            .collect(),
        events: report.events,
    }
}
